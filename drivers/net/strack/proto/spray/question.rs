// SPDX-License-Identifier: GPL-2.0

//! Calling all paths into question.
//!
//! A spine that dies takes a share of all paths with it. To find each of them by
//! losing packets on it takes many timeouts: a window may be smaller than the number
//! of paths, and once it is full of packets that are lost, nothing moves until the
//! next timeout. So when packets were lost on several paths, or one packet on two of them, or one
//! and the probe behind it, while another path answers, paths are asked whether they work:
//!
//! ```text
//!  losses on 3 paths   1/8 have answered                   a timeout after the last
//!  ------+---------------------+-------------------------------------+--------------
//!        | probes on 1/4 of    | on the others, a few at a time      |
//!        | the paths           |                                     |
//!        | data waits          | on those that answered              | all but those
//!        |                     |                                     | without answer
//! ```
//!
//! A few good paths are enough to go on with, so the others are not worth a burst: a
//! dead spine concerns all connections of a host at once, and each has hundreds of
//! paths.
//!
//! Who is withdrawn by mistake, because an answer was lost, comes back with the next
//! probe. If hardly a path turns out to be dead, it takes longer until the next time.
//!
//! An end that sends nothing but ACKs asks as well, when a packet that it has
//! acknowledged comes again: it may be paths of its ACKs that are dead.

use super::{
    pace::GAP,
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

/// This part of the paths asked has to answer before data is sent on those that did.
const QUORUM: u16 = 8;

/// This part of the paths is asked at once, and no fewer than so many.
const PROMPT: u16 = 4;
const PROMPT_LEAST: u16 = 32;

/// Timeouts between two batches of probes on the others, once enough have answered, and
/// this part of one until then.
const CALM: Ns = 1;
const HASTE: Ns = 4;

/// Least time between two questions in timeouts, and what it grows to at most if that
/// is not more already.
const PAUSE: Ns = 4;
const LONGEST_PAUSE: Ns = 128 * MSEC;

const WORDS: usize = MAX_PATHS as usize / 64;

/// What is being asked.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// Since when something is asked.
    since: Option<Ns>,
    /// When whoever has not answered is withdrawn; `None` while not all were asked.
    until: Option<Ns>,
    /// How long a path has to answer, and the timeout that this is based on.
    answering: Ns,
    timeout: Ns,
    /// The paths that have answered, and how many they are.
    heard: [u64; WORDS],
    answers: u16,
    /// How many are asked.
    total: u16,
    /// Where probing continues, and how many probes may leave at once before it is.
    next: u16,
    prompt: u16,
    /// Not before, and the time to the one after that in timeouts.
    not_before: Ns,
    pause: Ns,
}

impl Question {
    pub(super) const fn new() -> Self {
        Self {
            since: None,
            until: None,
            answering: 0,
            timeout: 0,
            heard: [0; WORDS],
            answers: 0,
            total: 0,
            next: 0,
            prompt: 0,
            not_before: 0,
            pause: PAUSE,
        }
    }

    /// Whether something is being asked.
    pub(super) fn is_open(&self) -> bool {
        self.since.is_some()
    }

    /// Whether it is time to ask again.
    pub(super) fn may_begin(&self, now: Ns) -> bool {
        !self.is_open() && now >= self.not_before
    }

    /// `total` paths are asked, and each has `wait` timeouts to answer.
    pub(super) fn begin(&mut self, now: Ns, timeout: Ns, wait: Ns, total: u16) {
        self.total = total;
        self.since = Some(now);
        self.until = None;
        self.timeout = timeout;
        self.answering = timeout.saturating_mul(wait);
        self.heard = [0; WORDS];
        self.answers = 0;
        self.next = 0;
        self.prompt = (total / PROMPT).max(PROMPT_LEAST);
    }

    /// The first index from which on somebody may still have to be asked.
    pub(super) fn next(&self) -> Option<u16> {
        (self.is_open() && self.until.is_none()).then_some(self.next)
    }

    /// That path is asked now. Returns the time to the next few probes.
    pub(super) fn asked(&mut self, index: u16) -> Ns {
        self.next = index + 1;
        self.prompt = self.prompt.saturating_sub(1);
        if self.prompt > 0 {
            GAP
        } else if self.lacks_answers() {
            (self.timeout / HASTE).max(GAP)
        } else {
            self.timeout.saturating_mul(CALM).max(GAP)
        }
    }

    /// Everybody has been asked.
    pub(super) fn all_asked(&mut self, now: Ns) {
        self.until = Some(now.saturating_add(self.answering));
    }

    /// The time for answers is over. So many have not answered.
    pub(super) fn end(&mut self, now: Ns, dead: u16) {
        self.since = None;
        self.until = None;
        let least = self.timeout.saturating_mul(PAUSE);
        let pause = self.timeout.saturating_mul(self.pause).min(LONGEST_PAUSE);
        self.not_before = now.saturating_add(pause.max(least));
        self.pause = if dead >= (self.total / QUORUM).max(1) {
            PAUSE
        } else {
            (2 * self.pause).min(PAUSE << 10)
        };
    }

    /// When the time for answers is over, once that is known.
    pub(super) fn until(&self) -> Option<Ns> {
        self.until
    }

    /// Whether the paths that were asked first may still answer.
    pub(super) fn is_fresh(&self, now: Ns) -> bool {
        self.since
            .is_some_and(|since| now < since.saturating_add(self.answering))
    }

    /// A sign of life of a path.
    pub(super) fn hear(&mut self, path: u16) {
        if !self.is_open() || self.heard(path) {
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

    /// Whether too few have answered yet to use only those.
    pub(super) fn lacks_answers(&self) -> bool {
        self.is_open() && self.answers < self.total.div_ceil(QUORUM)
    }

    /// Whether a path may be used as far as this is concerned.
    pub(super) fn admits(&self, path: u16) -> bool {
        !self.is_open() || self.heard(path) || self.lacks_answers()
    }
}
