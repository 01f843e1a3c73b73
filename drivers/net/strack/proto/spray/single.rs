// SPDX-License-Identifier: GPL-2.0

//! All packets on one path, as ECMP treats a TCP connection: the control for
//! every comparison. The path is left when it was withdrawn, and retransmissions
//! take the one after it.

use super::{
    Paths,
    Policy, //
};
use crate::proto::Ns;

/// The policy `single`.
#[derive(Clone, Debug)]
pub(super) struct Single {
    current: u16,
    turn: u16,
}

impl Single {
    pub(super) fn new(paths: &Paths, seed: u64) -> Self {
        let current = paths.wrap(seed as u16);
        Self {
            current,
            turn: current,
        }
    }
}

impl Policy for Single {
    fn turn(&mut self, paths: &Paths) -> u16 {
        self.turn = paths.wrap(self.turn + 1);
        self.turn
    }

    fn next(&mut self, paths: &mut Paths, _now: Ns) -> u16 {
        if !paths.usable(self.current) {
            self.current = self.take_turn(paths, |paths, path| paths.usable(path));
        }
        self.current
    }

    fn control(&mut self, paths: &mut Paths, now: Ns) -> u16 {
        self.next(paths, now)
    }
}
