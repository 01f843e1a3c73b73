// SPDX-License-Identifier: GPL-2.0

//! The path with the shortest round trip, until another one is clearly shorter.
//!
//! All packets take one path, but every sixteenth turn another one is measured: nothing
//! is known of a path that is not used. A path is left for one that is better by an
//! eighth; with less, two paths of the same length would be used in turn for no reason,
//! with more, the queue that the connection builds itself would keep it where it is.
//!
//! It is one of the contenders in the comparison of the Stellar paper: it piles up a
//! queue wherever it goes.

use super::{
    Oblivious,
    Paths,
    Policy, //
};
use crate::proto::{
    window::Acked,
    Ns, //
};

/// One turn in so many is for another path.
const EXPLORE_EVERY: u8 = 16;

/// Another path has to be better by this part.
const MARGIN: u32 = 8;

/// The policy `best_rtt`.
#[derive(Clone, Debug)]
pub(super) struct BestRtt {
    order: Oblivious,
    current: u16,
    /// Turns in which all paths are tried once.
    first_round: u16,
    explore_in: u8,
}

impl BestRtt {
    pub(super) fn new(paths: &Paths, seed: u64) -> Self {
        Self {
            order: Oblivious::new(paths, seed),
            current: 0,
            first_round: paths.count(),
            explore_in: EXPLORE_EVERY,
        }
    }

    /// The measured and usable path with the shortest round trip.
    fn best(paths: &Paths) -> Option<(u16, u32)> {
        let measured = (0..paths.count()).map(|path| (path, paths.memory(path).rtt));
        measured
            .filter(|&(path, rtt)| rtt > 0 && paths.usable(path))
            .min_by_key(|&(_, rtt)| rtt)
    }
}

/// Whether a round trip is worth leaving another one for.
fn clearly_shorter(rtt: u32, than: u32) -> bool {
    rtt < than - than / MARGIN
}

impl Policy for BestRtt {
    fn turn(&mut self, paths: &Paths) -> u16 {
        self.order.turn(paths)
    }

    fn next(&mut self, paths: &mut Paths, now: Ns) -> u16 {
        if self.first_round > 0 {
            self.first_round -= 1;
            return self.order.next(paths, now);
        }
        self.explore_in -= 1;
        if self.explore_in == 0 {
            self.explore_in = EXPLORE_EVERY;
            return self.order.next(paths, now);
        }
        if !paths.usable(self.current) {
            self.current = match Self::best(paths) {
                Some((path, _)) => path,
                None => self.order.next(paths, now),
            };
        }
        self.current
    }

    fn measured(&mut self, paths: &mut Paths, path: u16, acked: &Acked, _now: Ns) {
        let (Some(memory), Some(rtt)) = (paths.memory_mut(path), acked.rtt) else {
            return;
        };
        memory.measure(rtt);
        let rtt = memory.rtt;
        let current = paths.memory(self.current).rtt;
        let challenger = if path == self.current {
            Self::best(paths)
        } else {
            paths.usable(path).then_some((path, rtt))
        };
        if let Some((path, rtt)) = challenger {
            if current == 0 || clearly_shorter(rtt, current) {
                self.current = path;
            }
        }
    }
}
