// SPDX-License-Identifier: GPL-2.0

//! ACK: all the receiver knows, in every one of them.
//!
//! ```text
//! 16            20            24            28            32
//! +-------------+-------------+-------------+-------------+
//! | trigger PSN |  echo time  |   credit    |  SACK base  |
//! +-------------+-------------+-------------+-------------+
//! |        SACK bitmap        |   payload bytes in total  |
//! +------+------+-------------+-------------+------+------+
//! | ooo  | dups | service time|   window    | pen. |  0   |
//! +------+------+-------------+-------------+------+------+
//! 48     50     52            56            60     62     64
//! ```
//!
//! Counters are totals, never differences, so a lost ACK costs nothing.

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
    flags,
    packet_type,
    Common,
    ACK_HEADER, //
};
use crate::proto::{
    counter::Counter,
    psn::Psn, //
};

/// Bits in a SACK bitmap.
pub const SACK_BITS: u32 = u64::BITS;

/// Largest receiver penalty.
pub const MAX_PENALTY: u16 = 127;

/// Header of an ACK packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckHeader {
    /// `flags::ACK_*`.
    pub flags: u8,
    /// Entropy value of the packet that triggered the ACK.
    pub entropy: u16,
    /// Connection identifier, chosen by the receiver of the ACK.
    pub dcid: u32,
    /// Verification tag, chosen by the receiver of the ACK.
    pub tag: u32,
    /// The next PSN expected: all before it were received.
    pub cumulative: Psn,
    /// PSN of the packet that triggered the ACK.
    pub trigger: Psn,
    /// Transmission time in the packet that triggered the ACK.
    pub echo_time: u32,
    /// The first PSN that would not be accepted.
    pub credit: Psn,
    /// PSN that bit 0 of the bitmap stands for.
    pub sack_base: Psn,
    /// Bit i set: `sack_base` + i was received. Not set: no information.
    pub sack: u64,
    /// Payload bytes received so far, each counted once.
    pub received_bytes: u64,
    /// Packets received beyond the cumulative PSN.
    pub ooo_count: u16,
    /// Duplicates received so far, low 16 bits.
    pub dup_count: u16,
    /// Time from the arrival of the triggering packet to this ACK in ns.
    pub service_time: u32,
    /// Bytes acceptable beyond the stream offset at the cumulative PSN.
    pub window: u32,
    /// How hard the receiver asks the sender to slow down, 0 to 127.
    pub penalty: u16,
}

impl AckHeader {
    pub(super) fn parse(common: &Common, header: &[u8; ACK_HEADER]) -> Result<Self, Counter> {
        let sack_base = get32(header, 28);
        let sack = get64(header, 32);
        let penalty = get16(header, 60);
        let has_sack = common.flags & flags::ACK_SACK != 0;
        common.check_flags(flags::ACK_ALL)?;
        common.check_dcid()?;
        check(is_zero(header, 62, 64), Counter::WireReserved)?;
        check(has_sack || sack == 0, Counter::WireAckSack)?;
        check(penalty <= MAX_PENALTY, Counter::WireAckPenalty)?;
        Ok(Self {
            flags: common.flags,
            entropy: common.aux,
            dcid: common.dcid,
            tag: common.tag,
            cumulative: common.psn,
            trigger: Psn::new(get32(header, 16)),
            echo_time: get32(header, 20),
            credit: Psn::new(get32(header, 24)),
            sack_base: Psn::new(sack_base),
            sack,
            received_bytes: get64(header, 40),
            ooo_count: get16(header, 48),
            dup_count: get16(header, 50),
            service_time: get32(header, 52),
            window: get32(header, 56),
            penalty,
        })
    }

    pub(super) fn emit(&self, out: &mut [u8; ACK_HEADER]) {
        let common = Common {
            flags: self.flags,
            aux: self.entropy,
            dcid: self.dcid,
            tag: self.tag,
            psn: self.cumulative,
        };
        common.emit(packet_type::ACK, out);
        put32(out, 16, self.trigger.raw());
        put32(out, 20, self.echo_time);
        put32(out, 24, self.credit.raw());
        put32(out, 28, self.sack_base.raw());
        put64(out, 32, self.sack);
        put64(out, 40, self.received_bytes);
        put16(out, 48, self.ooo_count);
        put16(out, 50, self.dup_count);
        put32(out, 52, self.service_time);
        put32(out, 56, self.window);
        put16(out, 60, self.penalty);
    }
}
