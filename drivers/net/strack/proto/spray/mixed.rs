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
//! What is recycled are the paths that were tried: if the first window left a link out, or
//! nearly so, nothing would ever go there, and a window has few packets where paths are
//! many. So while packets wait in queues, one takes another path now and then although one
//! was earned, which makes the others' queues no longer and pays for itself where it finds
//! room: if it comes back much sooner than the others, two more may leave there.
//!
//! It does not freeze as REPS does: dead paths are found by asking all of them, and a
//! link that loses a packet now and then is no reason to keep to a few paths.

use super::{
    bitmap::Bitmap,
    clock::Clock,
    Acked,
    Feedback,
    Paths,
    Policy, //
};
use crate::proto::Ns;

/// One packet, or train, in so many tries another path: a link at a fraction of the others'
/// rate has room for that. The number has no factor in common with usual numbers of paths,
/// or it would always be the same few that are tried.
const EXPLORE: u8 = 13;

/// Packets wait in queues if round trips take so many times the shortest.
const CROWDED: u64 = 2;

/// The policy `mixed`.
#[derive(Clone, Debug)]
pub(super) struct Mixed {
    bitmap: Bitmap,
    clock: Clock,
    /// Turns until another path is tried, and the one that was.
    explore: u8,
    explored: Option<u16>,
    /// The shortest round trip, the average, and whether the latest was much longer than the
    /// shortest.
    shortest: Ns,
    average: Ns,
    crowded: bool,
}

impl Mixed {
    pub(super) fn new(paths: &Paths, seed: u64) -> Self {
        Self {
            bitmap: Bitmap::new(paths, seed),
            clock: Clock::new(),
            explore: EXPLORE,
            explored: None,
            shortest: Ns::MAX,
            average: 0,
            crowded: false,
        }
    }
}

impl Policy for Mixed {
    fn turn(&mut self, paths: &Paths) -> u16 {
        self.bitmap.turn(paths)
    }

    fn next(&mut self, paths: &mut Paths, now: Ns) -> u16 {
        self.explore = self.explore.saturating_sub(u8::from(self.crowded));
        if self.explore == 0 {
            self.explore = EXPLORE;
            let path = self.bitmap.next(paths, now);
            self.explored = Some(path);
            return path;
        }
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

    fn measured(&mut self, paths: &mut Paths, path: u16, acked: &Acked, _now: Ns) {
        if let Some(rtt) = acked.rtt {
            self.shortest = self.shortest.min(rtt);
            self.crowded = rtt / CROWDED > self.shortest;
            if self.explored == Some(path) {
                self.explored = None;
                if self.average / CROWDED > rtt {
                    self.clock.arrived(paths, path);
                }
            }
            self.average = self.average - self.average / 8 + rtt / 8;
        }
    }

    fn feedback(&mut self, paths: &mut Paths, path: u16, kind: Feedback, now: Ns) {
        match kind {
            Feedback::Ok => self.clock.arrived(paths, path),
            Feedback::Ecn(0) => self.clock.marked(paths, path),
            // The queue is far longer than the others': nothing more until it has been drained.
            Feedback::Ecn(turns) => Bitmap::penalise(paths, path, turns),
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
