// SPDX-License-Identifier: GPL-2.0

//! What an ICMP error has quoted of a packet of ours.
//!
//! A quotation is the first bytes of a packet as it was sent, so it is read from the sender's side. It
//! proves that whoever made the error has seen the packet on its way, if it has the verification tag in
//! it that a stranger cannot know.

use super::{
    field::get32,
    packet_type,
    DATA_HEADER,
    VERSION, //
};

/// Where INIT has the sender's connection id and tag.
const INIT_SCID: usize = 16;
const INIT_STAG: usize = 20;
/// Where DATA and PROBE have the peer's tag and the sender's connection id.
const DATA_TAG: usize = 8;
const DATA_SCID: usize = 28;

/// A packet of ours, as quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Our connection id.
    pub scid: u32,
    /// In INIT our own tag, which only the path to the peer has seen; else the
    /// peer's.
    pub tag: u32,
    /// It is an INIT.
    pub init: bool,
}

/// Reads the first bytes of a packet that we have sent.
///
/// None for packet types that do not name the sender, and for less than a
/// whole DATA header.
pub fn quoted(head: &[u8]) -> Option<Quoted> {
    let head: &[u8; DATA_HEADER] = head.first_chunk()?;
    if head[0] >> 4 != VERSION {
        return None;
    }
    match head[0] & 0x0f {
        packet_type::DATA | packet_type::PROBE => Some(Quoted {
            scid: get32(head, DATA_SCID),
            tag: get32(head, DATA_TAG),
            init: false,
        }),
        packet_type::INIT => Some(Quoted {
            scid: get32(head, INIT_SCID),
            tag: get32(head, INIT_STAG),
            init: true,
        }),
        _ => None,
    }
}
