// SPDX-License-Identifier: GPL-2.0

//! Headers on the wire.
//!
//! All packets travel in UDP datagrams to one well-known destination port; the
//! UDP source port is the entropy value that selects the path. Every header
//! starts with the same 16 bytes and has a fixed size per type:
//!
//! ```text
//!  0      1      2             4             8            12            16
//! +------+------+-------------+-------------+-------------+-------------+
//! |ver|ty| flags|     aux     |    dcid     |     tag     |     psn     |
//! +------+------+-------------+-------------+-------------+-------------+
//! ```
//!
//! Parsing is strict: an undefined flag or a reserved field that is not zero
//! makes the packet invalid. New fields need a new version, and versions are
//! negotiated, so nothing is gained by being lenient. As a consequence a header
//! that parses is reproduced byte for byte by emitting it.
//!
//! Only what can be judged from the packet alone is judged here, each check
//! under a [`Counter`] of its own. Everything is in network byte order.

mod ack;
mod data;
mod field;
mod handshake;
mod quoted;
mod reset;

pub use self::{
    ack::{
        AckHeader,
        MAX_PENALTY,
        SACK_BITS, //
    },
    data::DataHeader,
    handshake::{
        AcceptHeader,
        ChallengeHeader,
        InitHeader,
        MIN_MAX_PAYLOAD, //
    },
    quoted::{
        quoted,
        Quoted, //
    },
    reset::{
        ResetCode,
        ResetHeader,
        VersionHeader, //
    },
};

use self::field::{
    get16,
    get32,
    put16,
    put32, //
};
use super::{
    counter::Counter,
    psn::Psn, //
};

/// UDP destination port of all packets.
pub const UDP_PORT: u16 = 4793;

/// The version of the protocol that is implemented here.
pub const VERSION: u8 = 1;

/// Size of the largest header in bytes.
pub const MAX_HEADER: usize = 64;

/// Size of a DATA or PROBE header in bytes.
pub const DATA_HEADER: usize = 32;

/// Size of an ACK header in bytes.
pub const ACK_HEADER: usize = 64;

/// Size of an INIT, CHALLENGE or ACCEPT header in bytes.
pub const HANDSHAKE_HEADER: usize = 64;

/// Size of a RESET header in bytes.
pub const RESET_HEADER: usize = 24;

/// Size of a VERSION header in bytes.
pub const VERSION_HEADER: usize = 32;

const COMMON_HEADER: usize = 16;

/// Packet types, the low half of the first byte.
mod packet_type {
    pub(super) const DATA: u8 = 1;
    pub(super) const PROBE: u8 = 2;
    pub(super) const ACK: u8 = 3;
    pub(super) const INIT: u8 = 4;
    pub(super) const CHALLENGE: u8 = 5;
    pub(super) const ACCEPT: u8 = 6;
    pub(super) const RESET: u8 = 7;
    pub(super) const VERSION: u8 = 8;
}

/// Flags of the packet types that have some.
pub mod flags {
    /// DATA: the receiver shall acknowledge at once.
    pub const DATA_ACK_REQ: u8 = 0x01;
    /// DATA: not the first transmission of this PSN.
    pub const DATA_RETX: u8 = 0x02;
    /// DATA: the stream ends with this packet.
    pub const DATA_FIN: u8 = 0x04;
    /// DATA: the sender has nothing more to send for now.
    pub const DATA_PUSH: u8 = 0x08;
    /// All flags of DATA and PROBE.
    pub const DATA_ALL: u8 = 0x0f;

    /// ACK: the packet that triggered it carried a congestion mark.
    pub const ACK_CE: u8 = 0x01;
    /// ACK: the packet that triggered it was a retransmission.
    pub const ACK_RETX: u8 = 0x02;
    /// ACK: answer to a PROBE.
    pub const ACK_PROBE: u8 = 0x04;
    /// ACK: the SACK base and bitmap are meaningful.
    pub const ACK_SACK: u8 = 0x08;
    /// ACK: the packet that triggered it had been received before.
    pub const ACK_DUP: u8 = 0x10;
    /// ACK: the packet that triggered it has not been taken.
    pub const ACK_NACK: u8 = 0x20;
    /// All flags of ACK.
    pub const ACK_ALL: u8 = 0x3f;

    /// RESET: sent by someone who does not know the connection, see there.
    pub const RESET_REFLECT: u8 = 0x01;
    /// All flags of RESET.
    pub const RESET_ALL: u8 = 0x01;
}

/// The first 16 bytes of every header, without version and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Common {
    flags: u8,
    aux: u16,
    dcid: u32,
    tag: u32,
    psn: Psn,
}

impl Common {
    fn parse(header: &[u8; COMMON_HEADER]) -> Self {
        Self {
            flags: header[1],
            aux: get16(header, 2),
            dcid: get32(header, 4),
            tag: get32(header, 8),
            psn: Psn::new(get32(header, 12)),
        }
    }

    fn emit<const N: usize>(&self, packet_type: u8, out: &mut [u8; N]) {
        *out = [0; N];
        out[0] = (VERSION << 4) | packet_type;
        out[1] = self.flags;
        put16(out, 2, self.aux);
        put32(out, 4, self.dcid);
        put32(out, 8, self.tag);
        put32(out, 12, self.psn.raw());
    }

    fn check_flags(&self, allowed: u8) -> Result<(), Counter> {
        check(self.flags & !allowed == 0, Counter::WireFlags)
    }

    fn check_dcid(&self) -> Result<(), Counter> {
        check(self.dcid != 0, Counter::WireId)
    }
}

/// A parsed header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Payload, or the end of the stream.
    Data(DataHeader),
    /// Request for an ACK.
    Probe(DataHeader),
    /// All the receiver knows.
    Ack(AckHeader),
    /// Client asks for a connection.
    Init(InitHeader),
    /// Listener asks the client to prove its address.
    Challenge(ChallengeHeader),
    /// Server accepts the connection.
    Accept(AcceptHeader),
    /// The connection does not exist or ceases to.
    Reset(ResetHeader),
    /// Listener does not know the version of an INIT.
    Version(VersionHeader),
}

impl Packet {
    /// Writes the header to the start of `out` and returns its size in bytes.
    pub fn emit(&self, out: &mut [u8; MAX_HEADER]) -> usize {
        match self {
            Self::Data(header) => emit_part(out, |part| header.emit(part)),
            Self::Probe(header) => emit_part(out, |part| header.emit_probe(part)),
            Self::Ack(header) => emit_part(out, |part| header.emit(part)),
            Self::Init(header) => emit_part(out, |part| header.emit(part)),
            Self::Challenge(header) => emit_part(out, |part| header.emit(part)),
            Self::Accept(header) => emit_part(out, |part| header.emit(part)),
            Self::Reset(header) => emit_part(out, |part| header.emit(part)),
            Self::Version(header) => emit_part(out, |part| header.emit(part)),
        }
    }
}

fn emit_part<const N: usize>(out: &mut [u8; MAX_HEADER], emit: impl FnOnce(&mut [u8; N])) -> usize {
    if let Some(part) = out.first_chunk_mut() {
        emit(part);
    }
    N
}

/// Parses the header of one packet and returns it with its size in bytes.
///
/// `head` is the beginning of the UDP payload, as much of it as there is but at
/// most [`MAX_HEADER`] bytes; `total_len` is the length of all of it. An error
/// names the counter of the check that failed.
pub fn parse(head: &[u8], total_len: usize) -> Result<(Packet, usize), Counter> {
    let head = head.get(..total_len).unwrap_or(head);
    let start = head.first_chunk().ok_or(Counter::WireTruncated)?;
    check(start[0] >> 4 == VERSION, Counter::WireVersion)?;
    let common = Common::parse(start);
    match start[0] & 0x0f {
        packet_type::DATA => {
            let header = DataHeader::parse(&common, whole(head)?)?;
            let fin = header.flags & flags::DATA_FIN != 0;
            check(fin || total_len > DATA_HEADER, Counter::WireDataEmpty)?;
            Ok((Packet::Data(header), DATA_HEADER))
        }
        packet_type::PROBE => {
            let header = DataHeader::parse(&common, alone(head, total_len)?)?;
            Ok((Packet::Probe(header), DATA_HEADER))
        }
        packet_type::ACK => {
            let header = AckHeader::parse(&common, alone(head, total_len)?)?;
            Ok((Packet::Ack(header), ACK_HEADER))
        }
        packet_type::INIT => {
            let header = InitHeader::parse(&common, alone(head, total_len)?)?;
            Ok((Packet::Init(header), HANDSHAKE_HEADER))
        }
        packet_type::CHALLENGE => {
            let header = ChallengeHeader::parse(&common, alone(head, total_len)?)?;
            Ok((Packet::Challenge(header), HANDSHAKE_HEADER))
        }
        packet_type::ACCEPT => {
            let header = AcceptHeader::parse(&common, alone(head, total_len)?)?;
            Ok((Packet::Accept(header), HANDSHAKE_HEADER))
        }
        packet_type::RESET => {
            let header = ResetHeader::parse(&common, alone(head, total_len)?)?;
            Ok((Packet::Reset(header), RESET_HEADER))
        }
        packet_type::VERSION => {
            let header = VersionHeader::parse(&common, alone(head, total_len)?)?;
            Ok((Packet::Version(header), VERSION_HEADER))
        }
        _ => Err(Counter::WireType),
    }
}

/// The first `N` bytes of `head`, which shall be a whole header.
fn whole<const N: usize>(head: &[u8]) -> Result<&[u8; N], Counter> {
    head.first_chunk().ok_or(Counter::WireHeaderCut)
}

/// The same for a header that has nothing behind it.
fn alone<const N: usize>(head: &[u8], total_len: usize) -> Result<&[u8; N], Counter> {
    let header = whole(head)?;
    check(total_len == N, Counter::WireTrailing)?;
    Ok(header)
}

fn check(good: bool, counter: Counter) -> Result<(), Counter> {
    if good {
        Ok(())
    } else {
        Err(counter)
    }
}
