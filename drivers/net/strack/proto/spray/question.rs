// SPDX-License-Identifier: GPL-2.0

//! Calling all paths into question.
//!
//! A spine that dies takes a share of all paths with it. To find each of them by
//! losing packets on it takes many timeouts: a window may be smaller than the number
//! of paths, and once it is full of packets that are lost, nothing moves until the
//! next timeout. So when packets were lost on several paths, or one packet on two of them,
//! all paths are asked at once whether they work:
//!
//! ```text
//!  losses on 3 paths   1/8 have answered           one timeout
//!  ------+---------------------+------------------------+--------------
//!        | probes on all paths |                        |
//!        | data waits          | on those that answered | all but those
//!        |                     |                        | without answer
//! ```
//!
//! Who is withdrawn by mistake, because an answer was lost, comes back with the next
//! probe. If hardly a path turns out to be dead, it takes longer until the next time.
//!
//! An end that sends nothing but ACKs asks as well, when a packet that it has
//! acknowledged comes again: it may be paths of its ACKs that are dead.

use super::{
    pace::Pace,
    MAX_PATHS, //
};
use crate::proto::{
    Ns,
    MSEC, //
};

/// Doubted paths that call all into question.
pub(super) const DOUBTS: u16 = 3;

/// With fewer paths it is not worth the trouble.
pub(super) const FEWEST_PATHS: u16 = 8;

/// This part of the paths has to answer before data is sent on those that did.
const QUORUM: u16 = 8;

/// Least time between two questions in timeouts, and what it grows to at most if that
/// is not more already.
const PAUSE: Ns = 8;
const LONGEST_PAUSE: Ns = 128 * MSEC;

const WORDS: usize = MAX_PATHS as usize / 64;

/// What is being asked.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// When whoever has not answered is withdrawn; `None` while nothing is asked.
    until: Option<Ns>,
    /// The paths that have answered, and how many they are.
    heard: [u64; WORDS],
    answers: u16,
    /// Where probing continues.
    pub(super) next: u16,
    /// Not before, and the time to the one after that in timeouts.
    not_before: Ns,
    pause: Ns,
}

impl Question {
    pub(super) const fn new() -> Self {
        Self {
            until: None,
            heard: [0; WORDS],
            answers: 0,
            next: 0,
            not_before: 0,
            pause: PAUSE,
        }
    }

    /// Whether it is time to ask again.
    pub(super) fn may_begin(&self, now: Ns) -> bool {
        self.until.is_none() && now >= self.not_before
    }

    /// All of `paths` have `wait` timeouts to answer, the last one too.
    pub(super) fn begin(&mut self, now: Ns, timeout: Ns, wait: Ns, paths: u16) {
        let answering = timeout.saturating_mul(wait);
        let asking = Pace::duration(paths);
        let end = now.saturating_add(answering).saturating_add(asking);
        self.until = Some(end);
        self.heard = [0; WORDS];
        self.answers = 0;
        self.next = 0;
        let least = timeout.saturating_mul(PAUSE);
        let pause = timeout.saturating_mul(self.pause).min(LONGEST_PAUSE);
        self.not_before = now.saturating_add(pause.max(least));
    }

    /// The time for answers is over. `productive` if that was worth it.
    pub(super) fn end(&mut self, productive: bool) {
        self.until = None;
        self.pause = if productive {
            PAUSE
        } else {
            (2 * self.pause).min(PAUSE << 10)
        };
    }

    pub(super) fn until(&self) -> Option<Ns> {
        self.until
    }

    /// A sign of life of a path.
    pub(super) fn hear(&mut self, path: u16) {
        if self.until.is_none() || self.heard(path) {
            return;
        }
        if let Some(word) = self.heard.get_mut(usize::from(path / 64)) {
            *word |= 1 << (path % 64);
            self.answers += 1;
        }
    }

    pub(super) fn heard(&self, path: u16) -> bool {
        let word = self.heard.get(usize::from(path / 64));
        word.is_some_and(|word| (word >> (path % 64)) & 1 != 0)
    }

    /// Whether too few out of `paths` have answered yet to use only those.
    pub(super) fn open(&self, paths: u16) -> bool {
        self.until.is_some() && self.answers < paths.div_ceil(QUORUM)
    }

    /// Whether a path of `paths` may be used as far as this is concerned.
    pub(super) fn admits(&self, path: u16, paths: u16) -> bool {
        self.until.is_none() || self.heard(path) || self.open(paths)
    }
}
