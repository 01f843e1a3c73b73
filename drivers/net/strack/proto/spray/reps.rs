// SPDX-License-Identifier: GPL-2.0

//! REPS: recycled entropies, with freezing.
//!
//! A path whose packet arrived without a mark is used again, each arrival for one
//! turn; when there is none, another path is tried. So traffic gathers where there is
//! room, with a few bytes of state however many paths there are.
//!
//! A packet that is lost without any delay tells of a failure. Trying other paths
//! would then cost more of them, so for some time only paths that worked lately are
//! used, again and again ("frozen"). After it other paths are tried first.

use super::{
    cache::Cache,
    Feedback,
    Oblivious,
    Paths,
    Policy, //
};
use crate::proto::{
    Ns,
    MSEC, //
};

/// How long it stays frozen.
const FROZEN: Ns = 10 * MSEC;

/// Turns after that on other paths.
const EXPLORED: u8 = 16;

/// The policy `reps`.
#[derive(Clone, Debug)]
pub(super) struct Reps {
    order: Oblivious,
    cache: Cache,
    frozen_until: Ns,
    explore: u8,
}

impl Reps {
    pub(super) fn new(paths: &Paths, seed: u64) -> Self {
        Self {
            order: Oblivious::new(paths, seed),
            cache: Cache::new(),
            frozen_until: 0,
            explore: 0,
        }
    }
}

impl Policy for Reps {
    fn turn(&mut self, paths: &Paths) -> u16 {
        self.order.turn(paths)
    }

    fn next(&mut self, paths: &mut Paths, now: Ns) -> u16 {
        let known = if now < self.frozen_until {
            self.cache.reuse(paths)
        } else if self.explore > 0 {
            self.explore -= 1;
            None
        } else {
            self.cache.take(paths)
        };
        known.unwrap_or_else(|| self.order.next(paths, now))
    }

    fn feedback(&mut self, _paths: &mut Paths, path: u16, kind: Feedback, now: Ns) {
        match kind {
            Feedback::Ok | Feedback::Late(_) => self.cache.put(path),
            Feedback::Alive => {}
            Feedback::Ecn(_) | Feedback::Nack | Feedback::Overflow => self.cache.discard(path),
            Feedback::Timeout => {
                self.cache.discard(path);
                if now >= self.frozen_until {
                    self.frozen_until = now.saturating_add(FROZEN);
                    self.explore = EXPLORED;
                }
            }
        }
    }
}
