// SPDX-License-Identifier: GPL-2.0

//! How long a packet may be on its way before it counts as lost.
//!
//! On sprayed paths the smoothed RTT is an average over paths, and the slowest
//! path can be far above it without any loss. Two things are therefore allowed for:
//! a path that needs another whole RTT, of which nothing may be known yet, and the
//! slowest packet seen lately. The latter is the maximum of the running and of the
//! previous epoch of some RTTs, over packets whose arrival is known exactly, because
//! an ACK echoes them. That an ACK reports the others too says little about when
//! they arrived: the ACKs before it may have been lost.
//!
//! How many packets can overtake one is bounded by how many there were in flight
//! when it was sent, which may have been more than there are now. The widest window
//! is therefore remembered for as long as the slowest packet.
//!
//! When a packet that was sent again turns out to have been late, the age it reached
//! is learned as well, and all limits are stretched for a while. A retransmission
//! can also be needless because the ACK of the original was lost. Then nothing was
//! late, and to wait longer the next time would not help.
//!
//! Of the first packets all this says little yet: a connection starts until so many of them are
//! acknowledged, and is more patient meanwhile.

use super::params::Params;
use crate::proto::{
    params::percent,
    rtt::Rtt,
    Ns,
    USEC, //
};

/// No stretch, in percent.
const UNSTRETCHED: u16 = 100;

/// How late a packet may be.
#[derive(Clone, Debug)]
pub struct Patience {
    params: Params,
    slowest_now: Ns,
    slowest_before: Ns,
    widest_now: u64,
    widest_before: u64,
    epoch_start: Ns,
    // Packets to be acknowledged until the RTT is known well enough.
    start_left: u16,
    // In percent.
    stretch: u16,
    last_stretched: Ns,
}

impl Patience {
    /// Nothing known yet.
    pub fn new(params: Params, now: Ns) -> Self {
        Self {
            params,
            slowest_now: 0,
            slowest_before: 0,
            widest_now: 0,
            widest_before: 0,
            epoch_start: now,
            start_left: params.start_packets,
            stretch: UNSTRETCHED,
            last_stretched: 0,
        }
    }

    /// So many more packets are acknowledged, all before them having been so already.
    pub fn on_acked(&mut self, packets: u32) {
        let packets = u16::try_from(packets).unwrap_or(u16::MAX);
        self.start_left = self.start_left.saturating_sub(packets);
    }

    /// Whether little is known of the RTT yet. Once that is over, it is for good: packet numbers
    /// come round, and so they cannot tell.
    pub fn is_starting(&self) -> bool {
        self.start_left > 0
    }

    /// A packet has arrived that had been on its way for `age`.
    pub fn on_arrival(&mut self, age: Ns) {
        self.slowest_now = self.slowest_now.max(age);
    }

    /// Time has passed: what is old is forgotten. The window is `window` packets.
    pub fn on_ack(&mut self, now: Ns, srtt: Ns, window: u64) {
        let params = &self.params;
        let least = Ns::from(params.epoch_min_us) * USEC;
        let length = srtt.saturating_mul(params.epoch_rtts.into()).max(least);
        if now.saturating_sub(self.epoch_start) >= length {
            self.slowest_before = self.slowest_now;
            self.slowest_now = 0;
            self.widest_before = self.widest_now;
            self.widest_now = 0;
            self.epoch_start = now;
            let stretch = self.stretch.saturating_sub(params.stretch_decay_percent);
            self.stretch = stretch.max(UNSTRETCHED);
        }
        self.widest_now = self.widest_now.max(window);
    }

    /// A packet that was sent again had only been late. Returns whether the limits
    /// were stretched, which happens once per RTT.
    pub fn on_late(&mut self, now: Ns, srtt: Ns) -> bool {
        if now.saturating_sub(self.last_stretched) <= srtt {
            return false;
        }
        self.last_stretched = now;
        let stretch = self.stretch.saturating_add(self.params.stretch_percent);
        self.stretch = stretch.min(self.params.stretch_max_percent);
        true
    }

    /// Age from which a hole that many later packets have overtaken is a loss.
    pub fn overtaken(&self, rtt: &Rtt, target: Ns) -> Ns {
        let another_rtt = percent(rtt.srtt(), self.params.late_percent).saturating_add(target);
        self.stretched(another_rtt.max(self.well_above_slowest()))
    }

    /// Age from which a packet is a loss whatever else is known: the retransmission
    /// timeout without back-off, once there was an RTT sample.
    ///
    /// It leaves room for a probe to be answered before, which leaves after one RTT
    /// and the target.
    pub fn timeout(&self, rtt: &Rtt, target: Ns, floor: Ns, ceiling: Ns) -> Ns {
        let another_rtt = percent(rtt.srtt(), self.params.timeout_percent).saturating_add(target);
        self.stretched(another_rtt.max(self.well_above_slowest()))
            .max(rtt.rto(floor, ceiling))
            .clamp(floor, ceiling.max(floor))
    }

    /// Silence after the last packet, and until that packet's probe is answered on the
    /// slowest path known.
    pub fn probe_answered(&self, rtt: &Rtt, target: Ns) -> Ns {
        self.probe(rtt, target).saturating_add(self.answer(rtt))
    }

    /// How long the answer to a probe may take, on the slowest path known. What is known of
    /// paths is forgotten, the RTT is not.
    pub fn answer(&self, rtt: &Rtt) -> Ns {
        with_margin(self.slowest().max(rtt.srtt()))
    }

    /// Age up to which a packet may still be on its way though a probe that left later on
    /// its path has arrived: a path can have jitter of its own, and the slowest packet seen
    /// lately is not the slowest there can be, the less so the fewer there were.
    pub fn overtaken_by_probe(&self) -> Ns {
        with_margin(self.slowest())
    }

    /// Silence after which to ask what became of the packets in flight.
    pub fn probe(&self, rtt: &Rtt, target: Ns) -> Ns {
        percent(rtt.srtt(), self.params.probe_percent).saturating_add(target)
    }

    /// How many packets beyond a hole are more than reordering explains: one and a
    /// half windows.
    pub fn overtakers(&self) -> u64 {
        let widest = self.widest_now.max(self.widest_before);
        let limit = percent(widest, self.params.ooo_percent);
        self.stretched(limit.max(self.params.ooo_packets.into()))
    }

    /// How long the slowest packet lately took to be acknowledged.
    fn slowest(&self) -> Ns {
        self.slowest_now.max(self.slowest_before)
    }

    /// How much the limits are stretched, percent.
    pub fn stretch(&self) -> u16 {
        self.stretch
    }

    fn well_above_slowest(&self) -> Ns {
        percent(self.slowest(), self.params.slowest_percent)
    }

    fn stretched(&self, value: u64) -> u64 {
        percent(value, self.stretch)
    }
}

/// A quarter more than the slowest packet seen.
fn with_margin(slowest: Ns) -> Ns {
    slowest.saturating_add(slowest / 4)
}
