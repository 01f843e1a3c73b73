// SPDX-License-Identifier: GPL-2.0

//! Packets that arrive without a mark, but later than others.
//!
//! A queue marks when it is long, and some fabrics never mark. Well before that, a path
//! with a queue is slower than the others: a packet that took clearly longer than the
//! average counts against its path as a mark does, and the more so the longer it took.
//! That the average itself is high is a matter for the window.

use crate::proto::Ns;

/// Weight of a sample in the average.
const WEIGHT: u64 = 16;

/// Most turns that one packet costs its path.
const MOST: u64 = 4;

/// The average round trip.
#[derive(Clone, Debug)]
pub(super) struct Lateness {
    average: Ns,
}

impl Lateness {
    pub(super) const fn new() -> Self {
        Self { average: 0 }
    }

    /// Takes in a round trip. Returns how many turns it should cost the path. Up to
    /// `slack` more than the average is nothing: hosts jitter.
    pub(super) fn measure(&mut self, rtt: Ns, slack: Ns) -> u8 {
        if self.average == 0 {
            self.average = rtt.max(1);
            return 0;
        }
        let excess = rtt.saturating_sub(self.average);
        let more = rtt / WEIGHT;
        self.average = (self.average - self.average / WEIGHT)
            .saturating_add(more)
            .max(1);
        if excess <= slack {
            return 0;
        }
        let turns = (excess / self.average + 1).min(MOST);
        u8::try_from(turns).unwrap_or(1)
    }
}
