// SPDX-License-Identifier: GPL-2.0

//! DATA and PROBE.
//!
//! ```text
//! 16                          24            28            32
//! +---------------------------+-------------+-------------+
//! |       stream offset       |   tx time   |    scid     |
//! +---------------------------+-------------+-------------+
//! ```
//!
//! DATA carries one packet of the stream behind its header. PROBE has the same
//! header and nothing behind it; its PSN is the next new one and is not consumed.

use super::{
    check,
    field::{
        get32,
        get64,
        put32,
        put64, //
    },
    flags,
    packet_type,
    Common,
    DATA_HEADER, //
};
use crate::proto::{
    counter::Counter,
    psn::Psn, //
};

/// Header of a DATA or PROBE packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataHeader {
    /// `flags::DATA_*`.
    pub flags: u8,
    /// Entropy value (UDP source port) the sender chose; echoed in the ACK.
    pub entropy: u16,
    /// Connection identifier, chosen by the receiver.
    pub dcid: u32,
    /// Verification tag, chosen by the receiver.
    pub tag: u32,
    /// Sequence number of this packet.
    pub psn: Psn,
    /// Offset of the first payload byte in the stream.
    pub offset: u64,
    /// Sender's clock in ns, low 32 bits; opaque to the receiver and echoed.
    pub tx_time: u32,
    /// The sender's own connection identifier, so that a packet for a connection
    /// that is gone can be answered.
    pub scid: u32,
}

impl DataHeader {
    pub(super) fn parse(common: &Common, header: &[u8; DATA_HEADER]) -> Result<Self, Counter> {
        let scid = get32(header, 28);
        common.check_flags(flags::DATA_ALL)?;
        common.check_dcid()?;
        check(scid != 0, Counter::WireId)?;
        Ok(Self {
            flags: common.flags,
            entropy: common.aux,
            dcid: common.dcid,
            tag: common.tag,
            psn: common.psn,
            offset: get64(header, 16),
            tx_time: get32(header, 24),
            scid,
        })
    }

    /// Writes the header of a DATA packet.
    pub fn emit(&self, out: &mut [u8; DATA_HEADER]) {
        self.emit_as(packet_type::DATA, out);
    }

    pub(super) fn emit_probe(&self, out: &mut [u8; DATA_HEADER]) {
        self.emit_as(packet_type::PROBE, out);
    }

    fn emit_as(&self, packet_type: u8, out: &mut [u8; DATA_HEADER]) {
        let common = Common {
            flags: self.flags,
            aux: self.entropy,
            dcid: self.dcid,
            tag: self.tag,
            psn: self.psn,
        };
        common.emit(packet_type, out);
        put64(out, 16, self.offset);
        put32(out, 24, self.tx_time);
        put32(out, 28, self.scid);
    }
}
