// SPDX-License-Identifier: GPL-2.0

//! How long a packet may be on its way before it counts as lost.
//!
//! On sprayed paths the smoothed RTT is an average over paths, and the slowest
//! path can be far above it without any loss. What counts is the slowest path
//! seen lately: the largest age at which a packet that was sent only once was
//! learned to have arrived. It is kept as the maximum of the running and of the
//! previous epoch; an epoch is long enough to have seen every path. Before the
//! first one is over, a path that needs another whole RTT is given the benefit
//! of the doubt.
//!
//! When a retransmission turns out to have been needless, the age the original
//! reached is learned as well, and all limits are stretched for a while.

use crate::proto::{
    rtt::Rtt,
    Ns,
    MSEC,
    SEC, //
};

/// Limits are multiples of this many parts; so many parts is no stretch.
const UNIT: u64 = 8;

/// Most the limits are stretched.
const MAX_STRETCH: u64 = 4 * UNIT;

/// Longest epoch.
const MAX_EPOCH: Ns = SEC;

/// Shortest epoch.
const MIN_EPOCH: Ns = MSEC;

/// How late a packet may be.
#[derive(Clone, Debug)]
pub struct Patience {
    slowest_now: Ns,
    slowest_before: Ns,
    epoch_start: Ns,
    // Packets learned to have arrived in this epoch.
    epoch_packets: u32,
    // Whether a whole epoch has passed, so that every path has been seen.
    surveyed: bool,
    // In parts of UNIT.
    stretch: u64,
    last_stretched: Ns,
}

impl Patience {
    /// Nothing known yet.
    pub fn new(now: Ns) -> Self {
        Self {
            slowest_now: 0,
            slowest_before: 0,
            epoch_start: now,
            epoch_packets: 0,
            surveyed: false,
            stretch: UNIT,
            last_stretched: 0,
        }
    }

    /// A packet sent once was learned to have arrived `age` after it was sent.
    pub fn on_arrival(&mut self, age: Ns) {
        self.slowest_now = self.slowest_now.max(age);
        self.epoch_packets = self.epoch_packets.saturating_add(1);
    }

    /// Starts a new epoch if the running one has seen `enough` packets.
    pub fn on_ack(&mut self, now: Ns, srtt: Ns, enough: u32) {
        let length = now.saturating_sub(self.epoch_start);
        let whole = self.epoch_packets >= enough && length >= srtt.saturating_mul(4).max(MIN_EPOCH);
        if whole || length >= MAX_EPOCH {
            self.surveyed |= whole;
            self.slowest_before = self.slowest_now;
            self.slowest_now = 0;
            self.epoch_start = now;
            self.epoch_packets = 0;
            self.stretch = (self.stretch - 1).max(UNIT);
        }
    }

    /// A retransmission was needless. Returns whether the limits were stretched,
    /// which happens once per RTT.
    pub fn on_spurious(&mut self, now: Ns, srtt: Ns) -> bool {
        if now.saturating_sub(self.last_stretched) <= srtt {
            return false;
        }
        self.last_stretched = now;
        self.stretch = (self.stretch + UNIT / 2).min(MAX_STRETCH);
        true
    }

    /// Forgets which paths were seen: they are about to change.
    pub fn restart_survey(&mut self, now: Ns) {
        self.surveyed = false;
        self.epoch_start = now;
        self.epoch_packets = 0;
    }

    /// Age from which a hole that many later packets have overtaken is a loss.
    pub fn overtaken(&self, rtt: &Rtt, target: Ns) -> Ns {
        let likely = if self.surveyed {
            rtt.srtt().saturating_add(target)
        } else {
            rtt.srtt().saturating_mul(2).saturating_add(target)
        };
        self.stretched(likely.max(self.margin()))
    }

    /// Age from which a packet is a loss whatever else is known. Retransmission
    /// timeout without back-off, once there was an RTT sample.
    pub fn timeout(&self, rtt: &Rtt, target: Ns, floor: Ns, ceiling: Ns) -> Ns {
        // Room for a probe to be answered before: it leaves after one RTT and the target.
        let srtt = rtt.srtt();
        let late = srtt
            .saturating_mul(2)
            .saturating_add(srtt / 4)
            .saturating_add(target);
        self.stretched(late.max(self.margin()))
            .max(rtt.rto(floor, ceiling))
            .clamp(floor, ceiling.max(floor))
    }

    /// In-order limit for `packets`: how many may overtake a hole.
    pub fn packets(&self, packets: u64) -> u64 {
        self.stretched(packets)
    }

    /// The slowest path seen lately.
    pub fn slowest(&self) -> Ns {
        self.slowest_now.max(self.slowest_before)
    }

    /// The slowest path and a quarter.
    fn margin(&self) -> Ns {
        let slowest = self.slowest();
        slowest.saturating_add(slowest / 4)
    }

    fn stretched(&self, value: u64) -> u64 {
        value.saturating_mul(self.stretch) / UNIT
    }
}
