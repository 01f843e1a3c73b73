// SPDX-License-Identifier: GPL-2.0

//! Dynamic weighted round robin: paths take turns in proportion to how short their
//! round trips are.
//!
//! The path with the shortest one gets a turn in every round, one of twice that length in
//! every other. A path saves up a weight of up to sixteen each time the round comes by,
//! and spends sixteen on a turn, so shares are exact and not a matter of chance. With
//! equal paths it is oblivious spraying.
//!
//! One of the contenders in the comparison of the Stellar paper.

use super::{
    Oblivious,
    Paths,
    Policy, //
};
use crate::proto::{
    window::Acked,
    Ns, //
};

/// What a turn costs, and what the best path saves up per round.
const TURN: u16 = 16;

/// The policy `dwrr`.
#[derive(Clone, Debug)]
pub(super) struct Dwrr {
    order: Oblivious,
    /// Turns until the end of the round.
    left: u16,
    /// The shortest round trip of a usable path as the round began; 0 if none is known.
    best: u32,
}

impl Dwrr {
    pub(super) fn new(paths: &Paths, seed: u64) -> Self {
        Self {
            order: Oblivious::new(paths, seed),
            left: 0,
            best: 0,
        }
    }

    fn begin_round(&mut self, paths: &Paths) {
        let usable = (0..paths.count()).filter(|&path| paths.usable(path));
        let rtts = usable.map(|path| paths.memory(path).rtt);
        self.best = rtts.filter(|&rtt| rtt > 0).min().unwrap_or(0);
        self.left = paths.count();
    }

    fn weight(&self, rtt: u32) -> u16 {
        if rtt <= self.best {
            // One that was never measured is among these.
            return TURN;
        }
        let weight = u64::from(self.best) * u64::from(TURN) / u64::from(rtt);
        u16::try_from(weight).unwrap_or(TURN).max(1)
    }
}

impl Policy for Dwrr {
    fn turn(&mut self, paths: &Paths) -> u16 {
        self.order.turn(paths)
    }

    fn next(&mut self, paths: &mut Paths, now: Ns) -> u16 {
        // The best path comes by at least once in two rounds.
        for _ in 0..3 * paths.count() {
            if self.left == 0 {
                self.begin_round(paths);
            }
            self.left -= 1;
            let path = self.order.turn(paths);
            if !paths.usable(path) {
                continue;
            }
            let weight = self.weight(paths.memory(path).rtt);
            if let Some(memory) = paths.memory_mut(path) {
                memory.credit += weight;
                if memory.credit >= TURN {
                    memory.credit -= TURN;
                    return path;
                }
            }
        }
        self.order.next(paths, now)
    }

    fn measured(&mut self, paths: &mut Paths, path: u16, acked: &Acked, _now: Ns) {
        if let (Some(memory), Some(rtt)) = (paths.memory_mut(path), acked.rtt) {
            memory.measure(rtt);
        }
    }
}
