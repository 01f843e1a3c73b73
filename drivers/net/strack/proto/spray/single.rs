// SPDX-License-Identifier: GPL-2.0

//! All packets on one path, as ECMP treats a TCP connection: the control for
//! every comparison. The path is left when it was withdrawn, and retransmissions
//! take the one after it.

use super::{
    Paths,
    Spray, //
};
use crate::proto::Ns;

/// The policy `single`.
#[derive(Clone, Debug)]
pub struct Single {
    paths: Paths,
    current: u16,
    turn: u16,
}

impl Single {
    pub(super) fn new(paths: Paths, seed: u64) -> Self {
        let current = paths.wrap(seed as u16);
        Self {
            paths,
            current,
            turn: current,
        }
    }
}

impl Spray for Single {
    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn paths_mut(&mut self) -> &mut Paths {
        &mut self.paths
    }

    fn turn(&mut self) -> u16 {
        self.turn = self.paths.wrap(self.turn + 1);
        self.turn
    }

    fn next(&mut self, _now: Ns) -> u16 {
        if !self.paths.usable(self.current) {
            self.current = self.take_turn(|paths, path| paths.usable(path));
        }
        self.paths.entropy(self.current)
    }
}
