// SPDX-License-Identifier: GPL-2.0

//! Taking breath in a series of probes.
//!
//! A probe is small, but with hundreds of paths a series of them occupies a CPU for
//! longer than the shortest timeout. So a few leave at a time, and the next few not
//! before the timer has run, with which everything else that is due gets its turn.
//!
//! Withdrawn paths are not in a hurry, and perhaps it is not they but a network that has
//! too much to do: of those only a few are probed in each timeout, which grows as long as
//! nothing at all comes back. But each answer is worth two more probes.

use crate::proto::{
    Ns,
    USEC, //
};

/// Probes that leave together.
const BATCH: u16 = 8;

/// Probes that may leave for each answer.
const EARNED: u16 = 2;

/// Least time between two batches.
pub(super) const GAP: Ns = 8 * USEC;

/// Where a series is.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// Probes left in this batch.
    left: u16,
    /// When the next batch may leave, if none is left in this one.
    at: Ns,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self { left: BATCH, at: 0 }
    }

    /// When the timer has to run for the next batch.
    pub(super) fn resumes_at(&self) -> Option<Ns> {
        (self.left == 0).then_some(self.at)
    }

    /// The timer has run.
    pub(super) fn on_timer(&mut self, now: Ns) {
        if now >= self.at {
            self.left = BATCH;
        }
    }

    /// A probe was answered.
    pub(super) fn earn(&mut self) {
        self.left = (self.left + EARNED).min(BATCH);
    }

    /// A probe leaves, after which others have to wait for `gap` if it is the last of its
    /// batch.
    pub(super) fn spend(&mut self, now: Ns, gap: Ns) {
        self.left = self.left.saturating_sub(1);
        self.at = now.saturating_add(gap);
    }
}
