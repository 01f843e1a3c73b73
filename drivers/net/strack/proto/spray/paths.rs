// SPDX-License-Identifier: GPL-2.0

//! The paths of a connection and their health.
//!
//! A link that died takes packets and gives nothing back until routing notices,
//! which may take seconds. A path is therefore withdrawn after two timeouts in a
//! row without a sign of life in between:
//!
//! ```text
//!            timeout             timeout
//!   good ------------> doubted ------------> withdrawn
//!    ^  <------------     |                      |
//!    |      arrival                              |
//!    +-------------------------------------------+
//!                 arrival (of a probe)
//! ```
//!
//! Withdrawn paths are probed, all in one series, after 1 ms and then at intervals
//! that double up to 64 ms; new trouble or a path that comes back starts over
//! at 1 ms, once per 64 ms. That goes on while there is traffic. At least one path in sixteen,
//! rounded up, stays in use whatever happens: fewer say nothing about a fabric. It is
//! not more, because when three of four spines die, the hash may have put less than a
//! quarter of the paths on the one that is left, and every dead path kept in use
//! costs timeouts.

use super::{
    pace::Pace,
    question::{
        Question,
        DOUBTS,
        FEWEST_PATHS, //
    },
    Feedback, //
};
use crate::proto::{
    counter::Counter,
    Ns,
    MSEC, //
};
use core::num::NonZeroU16;

/// Most paths a connection can have.
pub const MAX_PATHS: u16 = 256;

/// Smallest entropy value: the first of the dynamic ports.
pub const MIN_ENTROPY: u16 = 49152;

/// Timeouts in a row after which a path is withdrawn.
const WITHDRAW_AFTER: u8 = 2;

/// One path in so many stays in use.
const KEPT: u16 = 16;

const PROBE_FIRST: Ns = MSEC;
const PROBE_LONGEST: Ns = 64 * MSEC;

/// The paths of a connection.
#[derive(Clone, Debug)]
pub struct Paths {
    base: u16,
    count: u16,
    withdrawn: u16,
    /// Paths with a timeout that are not withdrawn.
    doubted: u16,
    question: Question,
    /// Timeouts in a row per path; withdrawn at [`WITHDRAW_AFTER`].
    timeouts: [u8; MAX_PATHS as usize],
    /// When the next series of probes begins.
    probe_at: Ns,
    /// Time to the series after that.
    probe_interval: Ns,
    /// Where the current series continues.
    probe_next: u16,
    /// When intervals may be short again.
    restart_from: Ns,
    pace: Pace,
    /// There was traffic since the last series.
    traffic: bool,
}

impl Paths {
    /// `count` paths with consecutive entropy values from `base` on.
    pub(super) fn new(count: u16, base: u16) -> Self {
        let count = count.clamp(1, MAX_PATHS);
        Self {
            base: base.clamp(MIN_ENTROPY, u16::MAX - (count - 1)),
            count,
            withdrawn: 0,
            doubted: 0,
            question: Question::new(),
            timeouts: [0; MAX_PATHS as usize],
            probe_at: 0,
            probe_interval: PROBE_FIRST,
            probe_next: 0,
            restart_from: 0,
            pace: Pace::new(),
            traffic: false,
        }
    }

    /// Number of paths.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// Number of withdrawn paths.
    pub fn withdrawn(&self) -> u16 {
        self.withdrawn
    }

    /// Entropy value of a path.
    pub fn entropy(&self, path: u16) -> u16 {
        self.base + self.wrap(path)
    }

    /// Brings any number into the range of path numbers.
    pub(super) fn wrap(&self, path: u16) -> u16 {
        path % self.divisor()
    }

    /// The number of paths, for the compiler to see that it is not zero.
    fn divisor(&self) -> NonZeroU16 {
        NonZeroU16::new(self.count).unwrap_or(NonZeroU16::MIN)
    }

    /// Whether a path is neither withdrawn nor being asked whether it works.
    pub fn usable(&self, path: u16) -> bool {
        !self.is_withdrawn(path) && self.question.admits(path, self.count)
    }

    fn is_withdrawn(&self, path: u16) -> bool {
        self.timeouts
            .get(usize::from(path))
            .is_none_or(|&timeouts| timeouts >= WITHDRAW_AFTER)
    }

    fn may_withdraw(&self) -> bool {
        self.count - self.withdrawn > self.count.div_ceil(KEPT)
    }

    pub(super) fn feedback(&mut self, entropy: u16, kind: Feedback, now: Ns) -> Option<Counter> {
        let path = entropy.checked_sub(self.base)?;
        if path >= self.count {
            return None;
        }
        let may_withdraw = self.may_withdraw();
        let timeouts = self.timeouts.get_mut(usize::from(path))?;
        let was_withdrawn = *timeouts >= WITHDRAW_AFTER;
        match kind {
            Feedback::Ok | Feedback::Ecn | Feedback::Nack => {
                let was_doubted = !was_withdrawn && *timeouts > 0;
                *timeouts = 0;
                self.question.hear(path);
                self.doubted -= u16::from(was_doubted);
                if !was_withdrawn {
                    return None;
                }
                self.withdrawn -= 1;
                self.probe_soon(now);
                Some(Counter::PathRestored)
            }
            Feedback::Timeout => {
                let doubted = *timeouts == WITHDRAW_AFTER - 1;
                if was_withdrawn || doubted && !may_withdraw {
                    return None;
                }
                *timeouts += 1;
                if !doubted {
                    self.doubted += 1;
                    return None;
                }
                self.doubted -= 1;
                self.withdrawn += 1;
                self.probe_soon(now);
                Some(Counter::PathWithdrawn)
            }
        }
    }

    /// Calls all paths into question if several are doubted.
    pub(super) fn suspect(&mut self, now: Ns, timeout: Ns) {
        if self.doubted >= DOUBTS {
            self.ask(now, timeout, 1);
        }
    }

    /// Calls all paths into question: they have `wait` timeouts to answer a probe.
    pub(super) fn ask(&mut self, now: Ns, timeout: Ns, wait: Ns) {
        if self.count >= FEWEST_PATHS && self.question.may_begin(now) {
            self.question.begin(now, timeout, wait, self.count);
        }
    }

    /// Whether all paths are in question.
    pub(super) fn in_question(&self) -> bool {
        self.question.until().is_some()
    }

    /// Whether hardly any path has answered yet.
    pub(super) fn unanswered(&self) -> bool {
        self.question.open(self.count)
    }

    /// Withdraws the paths that have not answered if the time is over. Returns how
    /// many that were.
    pub(super) fn judge(&mut self, now: Ns) -> u16 {
        if self.question.until().is_none_or(|until| now < until) {
            return 0;
        }
        let before = self.withdrawn;
        for path in 0..self.count {
            if !self.may_withdraw() {
                break;
            }
            if self.is_withdrawn(path) || self.question.heard(path) {
                continue;
            }
            if let Some(timeouts) = self.timeouts.get_mut(usize::from(path)) {
                self.doubted -= u16::from(*timeouts > 0);
                *timeouts = WITHDRAW_AFTER;
                self.withdrawn += 1;
            }
        }
        let found = self.withdrawn - before;
        self.question.end(found >= self.count / 8);
        if found > 0 {
            self.probe_soon(now);
        }
        found
    }

    /// Asks for another series of probes, without data in flight.
    pub(super) fn keep_asking(&mut self) {
        self.traffic = true;
    }

    pub(super) fn asks(&self) -> bool {
        self.traffic || self.in_question()
    }

    pub(super) fn on_timer(&mut self, now: Ns) {
        self.pace.on_timer(now);
    }

    pub(super) fn due_probe(&mut self, now: Ns) -> Option<u16> {
        if self.pace.resumes_at().is_some() {
            return None;
        }
        let path = self.asked().or_else(|| self.probed(now))?;
        self.pace.spend(now);
        Some(self.entropy(path))
    }

    /// The next path that is in question.
    fn asked(&mut self) -> Option<u16> {
        if !self.in_question() {
            return None;
        }
        let mut rest = self.question.next..self.count;
        let asked = rest.find(|&path| !self.is_withdrawn(path) && !self.question.heard(path));
        self.question.next = asked.map_or(self.count, |path| path + 1);
        asked
    }

    /// The next withdrawn path of a series that is due.
    fn probed(&mut self, now: Ns) -> Option<u16> {
        if self.withdrawn == 0 || now < self.probe_at {
            return None;
        }
        let path = (self.probe_next..self.count).find(|&path| self.is_withdrawn(path));
        match path {
            Some(path) => {
                self.probe_next = path + 1;
                Some(path)
            }
            None => {
                self.traffic = false;
                self.pace = Pace::new();
                self.probe_next = 0;
                self.probe_at = now.saturating_add(self.probe_interval);
                self.probe_interval = (2 * self.probe_interval).min(PROBE_LONGEST);
                None
            }
        }
    }

    pub(super) fn probe_deadline(&self) -> Option<Ns> {
        let resume = self.pace.resumes_at().unwrap_or(0);
        let probe = (self.withdrawn > 0).then_some(self.probe_at.max(resume));
        let asking = self.in_question() && self.question.next < self.count;
        let ask = asking.then_some(resume);
        [probe, ask, self.question.until()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Starts over with short intervals. Not too often, or else a path that comes and
    /// goes, or a peer that pretends so, would keep them short.
    fn probe_soon(&mut self, now: Ns) {
        if now < self.restart_from {
            return;
        }
        self.restart_from = now.saturating_add(PROBE_LONGEST);
        self.probe_interval = PROBE_FIRST;
        self.probe_next = 0;
        self.probe_at = now.saturating_add(PROBE_FIRST);
    }
}
