// SPDX-License-Identifier: GPL-2.0

//! One path after the other in a fixed order. Perfectly even, but senders that
//! start together stay in step with each other.

use super::{
    Paths,
    Policy, //
};

/// The policy `round_robin`.
#[derive(Clone, Debug)]
pub(super) struct RoundRobin {
    turn: u16,
}

impl RoundRobin {
    pub(super) fn new(paths: &Paths, seed: u64) -> Self {
        Self {
            turn: paths.wrap(seed as u16),
        }
    }
}

impl Policy for RoundRobin {
    fn turn(&mut self, paths: &Paths) -> u16 {
        let path = self.turn;
        self.turn = paths.wrap(path + 1);
        path
    }
}
