// SPDX-License-Identifier: GPL-2.0

//! One path after the other in a fixed order. Perfectly even, but senders that
//! start together stay in step with each other.

use super::{
    Paths,
    Spray, //
};

/// The policy `round_robin`.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    paths: Paths,
    turn: u16,
}

impl RoundRobin {
    pub(super) fn new(paths: Paths, seed: u64) -> Self {
        let turn = paths.wrap(seed as u16);
        Self { paths, turn }
    }
}

impl Spray for RoundRobin {
    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn paths_mut(&mut self) -> &mut Paths {
        &mut self.paths
    }

    fn turn(&mut self) -> u16 {
        let path = self.turn;
        self.turn = self.paths.wrap(path + 1);
        path
    }
}
