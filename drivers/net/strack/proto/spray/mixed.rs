// SPDX-License-Identifier: GPL-2.0

//! A recycled path if there is one, else what the bitmap says.
//!
//! Recycling finds the paths with room to spare, but takes any other when it has none
//! left; the bitmap remembers which of those were in trouble lately, but does not know
//! which have room. Together they are never far from the better of the two.
//!
//! What is recycled is not a handful of paths, as REPS does it, but every packet that
//! arrived: ACKs tell of many at a time here, and what is forgotten of them has to be
//! drawn anew, which is how queues come about. A packet that is late without being
//! marked counts as marked, because a path can be slow on a fabric that marks late or
//! never.
//!
//! It does not freeze as REPS does: dead paths are found by asking all of them, and a
//! link that loses a packet now and then is no reason to keep to a few paths.

use super::{
    bitmap::Bitmap,
    clock::Clock,
    Feedback,
    Paths,
    Policy, //
};
use crate::proto::Ns;

/// The policy `mixed`.
#[derive(Clone, Debug)]
pub(super) struct Mixed {
    bitmap: Bitmap,
    clock: Clock,
}

impl Mixed {
    pub(super) fn new(paths: &Paths, seed: u64) -> Self {
        Self {
            bitmap: Bitmap::new(paths, seed),
            clock: Clock::new(),
        }
    }
}

impl Policy for Mixed {
    fn turn(&mut self, paths: &Paths) -> u16 {
        self.bitmap.turn(paths)
    }

    fn next(&mut self, paths: &mut Paths, now: Ns) -> u16 {
        match self.clock.take(paths) {
            Some(path) => {
                self.bitmap.pass(paths);
                path
            }
            None => self.bitmap.next(paths, now),
        }
    }

    fn sent(&mut self, paths: &mut Paths, path: u16, packets: u32, _bytes: u64) {
        self.clock.spend(paths, path, packets);
    }

    fn feedback(&mut self, paths: &mut Paths, path: u16, kind: Feedback, now: Ns) {
        match kind {
            Feedback::Ok => self.clock.arrived(paths, path),
            Feedback::Ecn => self.clock.marked(paths, path),
            Feedback::Late(turns) => {
                self.clock.marked(paths, path);
                Bitmap::penalise(paths, path, turns);
            }
            Feedback::Alive => {}
            Feedback::Nack | Feedback::Overflow | Feedback::Timeout => Clock::forfeit(paths, path),
        }
        self.bitmap.feedback(paths, path, kind, now);
    }
}
