// SPDX-License-Identifier: GPL-2.0

//! STrack's bitmap: a path that was marked misses its next turn.
//!
//! Without feedback this is oblivious spraying. Each mark costs the path one turn, so
//! it is tried again a round later; packets that are lost cost it more. What it has to
//! miss is bounded, and one path is let off per packet: when all are marked, it is the
//! window that has to react, and packets leave in the usual order.

use super::{
    Feedback,
    Oblivious,
    Paths,
    Policy, //
};
use crate::proto::Ns;

/// Most turns a path misses in a row.
const MOST: u8 = 15;

/// Turns that feedback costs.
const MARKED: u8 = 1;
const CONGESTED: u8 = 4;

/// The policy `bitmap`.
#[derive(Clone, Debug)]
pub(super) struct Bitmap {
    order: Oblivious,
}

impl Bitmap {
    pub(super) fn new(paths: &Paths, seed: u64) -> Self {
        Self {
            order: Oblivious::new(paths, seed),
        }
    }

    /// A path is to miss so many turns more.
    pub(super) fn penalise(paths: &mut Paths, path: u16, turns: u8) {
        if let Some(memory) = paths.memory_mut(path) {
            memory.skip = memory.skip.saturating_add(turns).min(MOST);
        }
    }

    /// A packet leaves on a path that was chosen otherwise: a turn passes all the same.
    pub(super) fn pass(&mut self, paths: &mut Paths) {
        let path = self.order.turn(paths);
        if let Some(memory) = paths.memory_mut(path) {
            memory.skip = memory.skip.saturating_sub(1);
        }
    }
}

impl Policy for Bitmap {
    fn turn(&mut self, paths: &Paths) -> u16 {
        self.order.turn(paths)
    }

    fn next(&mut self, paths: &mut Paths, now: Ns) -> u16 {
        let mut let_off = false;
        for _ in 0..=paths.count() {
            let path = self.order.next(paths, now);
            let Some(memory) = paths.memory_mut(path) else {
                break;
            };
            if memory.skip == 0 {
                return path;
            }
            if !let_off {
                memory.skip -= 1;
                let_off = true;
            }
        }
        self.order.next(paths, now)
    }

    fn feedback(&mut self, paths: &mut Paths, path: u16, kind: Feedback, _now: Ns) {
        match kind {
            Feedback::Ok | Feedback::Late(_) | Feedback::Alive => {}
            Feedback::Ecn(_) => Self::penalise(paths, path, MARKED),
            Feedback::Nack | Feedback::Overflow => Self::penalise(paths, path, CONGESTED),
            Feedback::Timeout => Self::penalise(paths, path, MOST),
        }
    }
}
