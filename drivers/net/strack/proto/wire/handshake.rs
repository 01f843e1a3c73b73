// SPDX-License-Identifier: GPL-2.0

//! INIT, CHALLENGE and ACCEPT.
//!
//! ```text
//! 16            20            24     26     28     30     32
//! +-------------+-------------+------+------+------+------+
//! |    scid     |    stag     |sport |dport | maxp |  0   |
//! +-------------+-------------+------+------+------+------+
//! |   credit    |   window    |        cookie time        |
//! +-------------+-------------+---------------------------+
//! |         cookie MAC        |             0             |
//! +---------------------------+---------------------------+
//! 48                          56                          64
//! ```
//!
//! The three share one layout; what a type has no use for is zero. All are of
//! the same size, so that a listener never answers with more bytes than it got.

use super::{
    check,
    field::{
        get16,
        get32,
        get64,
        is_zero,
        put16,
        put32,
        put64, //
    },
    packet_type,
    Common,
    HANDSHAKE_HEADER, //
};
use crate::proto::{
    counter::Counter,
    psn::Psn, //
};

/// Smallest value an end may announce as the largest payload it takes.
///
/// A peer that insists on tiny packets costs more than it is worth.
pub const MIN_MAX_PAYLOAD: u16 = 64;

/// Header of an INIT packet, from client to listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InitHeader {
    /// Type of the socket: 1 = byte stream.
    pub sock_type: u16,
    /// First PSN the client will use.
    pub psn: Psn,
    /// Connection identifier the client chose for packets to it.
    pub scid: u32,
    /// Verification tag the client chose for packets to it.
    pub stag: u32,
    /// Port of the client.
    pub src_port: u16,
    /// Port of the listener.
    pub dst_port: u16,
    /// Largest payload of a DATA packet the client takes, in bytes.
    pub max_payload: u16,
    /// Packets the client takes before it gives new credit.
    pub credit: u32,
    /// Bytes the client takes before it gives a new window.
    pub window: u32,
    /// Time in the cookie, 0 without cookie.
    pub cookie_time: u64,
    /// The cookie's keyed hash, 0 without cookie.
    pub cookie_mac: u64,
}

impl InitHeader {
    pub(super) fn parse(common: &Common, header: &[u8; HANDSHAKE_HEADER]) -> Result<Self, Counter> {
        let scid = get32(header, 16);
        let max_payload = get16(header, 28);
        common.check_flags(0)?;
        check(
            common.dcid == 0 && common.tag == 0 && scid != 0,
            Counter::WireId,
        )?;
        let reserved = is_zero(header, 30, 32) && is_zero(header, 56, 64);
        check(reserved, Counter::WireReserved)?;
        check(max_payload >= MIN_MAX_PAYLOAD, Counter::WireMaxPayload)?;
        Ok(Self {
            sock_type: common.aux,
            psn: common.psn,
            scid,
            stag: get32(header, 20),
            src_port: get16(header, 24),
            dst_port: get16(header, 26),
            max_payload,
            credit: get32(header, 32),
            window: get32(header, 36),
            cookie_time: get64(header, 40),
            cookie_mac: get64(header, 48),
        })
    }

    pub(super) fn emit(&self, out: &mut [u8; HANDSHAKE_HEADER]) {
        let common = Common {
            flags: 0,
            aux: self.sock_type,
            dcid: 0,
            tag: 0,
            psn: self.psn,
        };
        common.emit(packet_type::INIT, out);
        put32(out, 16, self.scid);
        put32(out, 20, self.stag);
        put16(out, 24, self.src_port);
        put16(out, 26, self.dst_port);
        put16(out, 28, self.max_payload);
        put32(out, 32, self.credit);
        put32(out, 36, self.window);
        put64(out, 40, self.cookie_time);
        put64(out, 48, self.cookie_mac);
    }
}

/// Header of a CHALLENGE packet, from listener to client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChallengeHeader {
    /// The client's connection identifier.
    pub dcid: u32,
    /// The client's verification tag.
    pub tag: u32,
    /// Time in the cookie.
    pub cookie_time: u64,
    /// The cookie's keyed hash.
    pub cookie_mac: u64,
}

impl ChallengeHeader {
    pub(super) fn parse(common: &Common, header: &[u8; HANDSHAKE_HEADER]) -> Result<Self, Counter> {
        common.check_flags(0)?;
        common.check_dcid()?;
        let reserved = common.aux == 0 && is_zero(header, 12, 40) && is_zero(header, 56, 64);
        check(reserved, Counter::WireReserved)?;
        Ok(Self {
            dcid: common.dcid,
            tag: common.tag,
            cookie_time: get64(header, 40),
            cookie_mac: get64(header, 48),
        })
    }

    pub(super) fn emit(&self, out: &mut [u8; HANDSHAKE_HEADER]) {
        let common = Common {
            flags: 0,
            aux: 0,
            dcid: self.dcid,
            tag: self.tag,
            psn: Psn::new(0),
        };
        common.emit(packet_type::CHALLENGE, out);
        put64(out, 40, self.cookie_time);
        put64(out, 48, self.cookie_mac);
    }
}

/// Header of an ACCEPT packet, from server to client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptHeader {
    /// The client's connection identifier.
    pub dcid: u32,
    /// The client's verification tag.
    pub tag: u32,
    /// Type of the socket, as in the INIT.
    pub sock_type: u16,
    /// First PSN the server will use.
    pub psn: Psn,
    /// Connection identifier the server chose for packets to it.
    pub scid: u32,
    /// Verification tag the server chose for packets to it.
    pub stag: u32,
    /// Largest payload of a DATA packet the server takes, in bytes.
    pub max_payload: u16,
    /// Packets the server takes before it gives new credit.
    pub credit: u32,
    /// Bytes the server takes before it gives a new window.
    pub window: u32,
}

impl AcceptHeader {
    pub(super) fn parse(common: &Common, header: &[u8; HANDSHAKE_HEADER]) -> Result<Self, Counter> {
        let scid = get32(header, 16);
        let max_payload = get16(header, 28);
        common.check_flags(0)?;
        common.check_dcid()?;
        check(scid != 0, Counter::WireId)?;
        let reserved =
            is_zero(header, 24, 28) && is_zero(header, 30, 32) && is_zero(header, 40, 64);
        check(reserved, Counter::WireReserved)?;
        check(max_payload >= MIN_MAX_PAYLOAD, Counter::WireMaxPayload)?;
        Ok(Self {
            dcid: common.dcid,
            tag: common.tag,
            sock_type: common.aux,
            psn: common.psn,
            scid,
            stag: get32(header, 20),
            max_payload,
            credit: get32(header, 32),
            window: get32(header, 36),
        })
    }

    pub(super) fn emit(&self, out: &mut [u8; HANDSHAKE_HEADER]) {
        let common = Common {
            flags: 0,
            aux: self.sock_type,
            dcid: self.dcid,
            tag: self.tag,
            psn: self.psn,
        };
        common.emit(packet_type::ACCEPT, out);
        put32(out, 16, self.scid);
        put32(out, 20, self.stag);
        put16(out, 28, self.max_payload);
        put32(out, 32, self.credit);
        put32(out, 36, self.window);
    }
}
