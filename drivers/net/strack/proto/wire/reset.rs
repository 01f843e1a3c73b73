// SPDX-License-Identifier: GPL-2.0

//! RESET and VERSION: the two ways of saying no.
//!
//! A RESET normally carries the tag its receiver chose, which only the peer
//! knows. An end that gets a DATA or PROBE packet for a connection it does not
//! know cannot know that tag either. It reflects: the RESET goes to the
//! identifier the stray packet gave as its sender's and carries the tag the
//! stray packet carried. Its receiver believes it only if that is the tag it
//! puts on its own packets, so both kinds prove that their sender saw the
//! connection's packets.
//!
//! VERSION belongs to what never changes between versions: it is sent with
//! version 1 in its first byte by every version.

use super::{
    check,
    field::{
        get16,
        get32,
        is_zero,
        put16, //
    },
    flags,
    packet_type,
    Common,
    HANDSHAKE_HEADER,
    RESET_HEADER,
    VERSION,
    VERSION_HEADER, //
};
use crate::proto::{
    counter::Counter,
    psn::Psn, //
};

/// Why a connection is reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u16)]
pub enum ResetCode {
    /// Nobody listens, or the listener does not take it.
    #[default]
    Refused = 1,
    /// The application gave the connection up.
    Aborted = 2,
    /// There is no such connection.
    NoConnection = 3,
    /// The peer broke the protocol.
    Protocol = 4,
    /// Out of memory, or of whatever else is limited.
    Limit = 5,
    /// The connection was closed and takes no more data.
    Closed = 6,
}

impl ResetCode {
    fn from_wire(code: u16) -> Option<Self> {
        Some(match code {
            1 => Self::Refused,
            2 => Self::Aborted,
            3 => Self::NoConnection,
            4 => Self::Protocol,
            5 => Self::Limit,
            6 => Self::Closed,
            _ => return None,
        })
    }
}

/// Header of a RESET packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResetHeader {
    /// `flags::RESET_*`.
    pub flags: u8,
    /// Connection identifier, chosen by the receiver.
    pub dcid: u32,
    /// The receiver's tag, or with REFLECT the tag of the stray packet.
    pub tag: u32,
    /// Why.
    pub code: ResetCode,
    /// The sender's next PSN, or with REFLECT the PSN of the stray packet.
    pub psn: Psn,
}

impl ResetHeader {
    pub(super) fn parse(common: &Common, header: &[u8; RESET_HEADER]) -> Result<Self, Counter> {
        common.check_flags(flags::RESET_ALL)?;
        common.check_dcid()?;
        check(is_zero(header, 16, 24), Counter::WireReserved)?;
        let code = ResetCode::from_wire(common.aux).ok_or(Counter::WireResetCode)?;
        Ok(Self {
            flags: common.flags,
            dcid: common.dcid,
            tag: common.tag,
            code,
            psn: common.psn,
        })
    }

    pub(super) fn emit(&self, out: &mut [u8; RESET_HEADER]) {
        let common = Common {
            flags: self.flags,
            aux: self.code as u16,
            dcid: self.dcid,
            tag: self.tag,
            psn: self.psn,
        };
        common.emit(packet_type::RESET, out);
    }
}

/// Header of a VERSION packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionHeader {
    /// The client's connection identifier.
    pub dcid: u32,
    /// The client's verification tag.
    pub tag: u32,
    /// How many versions are listed, 1 to 8.
    pub count: u16,
    /// The versions the listener knows; the rest is zero.
    pub versions: [u16; 8],
}

impl VersionHeader {
    /// The answer to a packet with an unknown version, if it is due one.
    ///
    /// Only an INIT is answered, and only one that is at least as long as those
    /// of version 1, so that the answer is never longer than the question.
    pub fn answer(head: &[u8], total_len: usize) -> Option<Self> {
        let head: &[u8; HANDSHAKE_HEADER] = head.get(..total_len).unwrap_or(head).first_chunk()?;
        let unknown = head[0] >> 4 != VERSION;
        let init = head[0] & 0x0f == packet_type::INIT;
        let scid = get32(head, 16);
        if !unknown || !init || scid == 0 {
            return None;
        }
        Some(Self {
            dcid: scid,
            tag: get32(head, 20),
            count: 1,
            versions: [u16::from(VERSION), 0, 0, 0, 0, 0, 0, 0],
        })
    }

    pub(super) fn parse(common: &Common, header: &[u8; VERSION_HEADER]) -> Result<Self, Counter> {
        common.check_flags(0)?;
        common.check_dcid()?;
        let count = common.aux;
        check((1..=8).contains(&count), Counter::WireVersionCount)?;
        let unused = is_zero(header, 16 + 2 * usize::from(count), VERSION_HEADER);
        check(common.psn.raw() == 0 && unused, Counter::WireReserved)?;
        Ok(Self {
            dcid: common.dcid,
            tag: common.tag,
            count,
            versions: core::array::from_fn(|i| get16(header, 16 + 2 * i)),
        })
    }

    pub(super) fn emit(&self, out: &mut [u8; VERSION_HEADER]) {
        let common = Common {
            flags: 0,
            aux: self.count,
            dcid: self.dcid,
            tag: self.tag,
            psn: Psn::new(0),
        };
        common.emit(packet_type::VERSION, out);
        for (i, &version) in self.versions.iter().enumerate() {
            put16(out, 16 + 2 * i, version);
        }
    }
}
