// SPDX-License-Identifier: GPL-2.0

//! MP-RDMA's distribution: arrivals are the clock, and what the window allows beyond
//! that goes to paths in oblivious order.
//!
//! A path whose packets come in much later than the average loses what it has earned,
//! which keeps down the number of packets that are held out of order.
//!
//! One of the contenders in the comparison of the Stellar paper. The window is not
//! MP-RDMA's but the connection's.

use super::{
    clock::Clock,
    Feedback,
    Oblivious,
    Paths,
    Policy, //
};
use crate::proto::{
    window::Acked,
    Ns, //
};

/// A round trip of so many average ones is too late.
const LATE: u32 = 2;

/// Weight of a sample in the average.
const WEIGHT: u32 = 16;

/// The policy `mprdma`.
#[derive(Clone, Debug)]
pub(super) struct MpRdma {
    order: Oblivious,
    clock: Clock,
    /// The average round trip.
    average: u32,
}

impl MpRdma {
    pub(super) fn new(paths: &Paths, seed: u64) -> Self {
        Self {
            order: Oblivious::new(paths, seed),
            clock: Clock::new(),
            average: 0,
        }
    }
}

impl Policy for MpRdma {
    fn turn(&mut self, paths: &Paths) -> u16 {
        self.order.turn(paths)
    }

    fn next(&mut self, paths: &mut Paths, now: Ns) -> u16 {
        match self.clock.take(paths) {
            Some(path) => path,
            None => self.order.next(paths, now),
        }
    }

    fn sent(&mut self, paths: &mut Paths, path: u16, packets: u32, _bytes: u64) {
        self.clock.spend(paths, path, packets);
    }

    fn feedback(&mut self, paths: &mut Paths, path: u16, kind: Feedback, _now: Ns) {
        match kind {
            Feedback::Ok | Feedback::Late(_) => self.clock.arrived(paths, path),
            Feedback::Ecn(_) => self.clock.marked(paths, path),
            Feedback::Alive | Feedback::Nack | Feedback::Overflow | Feedback::Timeout => {}
        }
    }

    fn measured(&mut self, paths: &mut Paths, path: u16, acked: &Acked, _now: Ns) {
        let Some(rtt) = acked.rtt.and_then(|rtt| u32::try_from(rtt).ok()) else {
            return;
        };
        if self.average == 0 {
            self.average = rtt;
        }
        if rtt / LATE > self.average {
            Clock::forfeit(paths, path);
        }
        self.average = self.average - self.average / WEIGHT + rtt / WEIGHT;
    }
}
