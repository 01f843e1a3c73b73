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
//! Withdrawn paths are probed, all in one series, after 1 ms and then at intervals that
//! double up to 64 ms, but no more than a few in a timeout; new trouble or a path that comes back starts over at 1 ms, once
//! per 64 ms. That goes on while there is traffic. At least one path in sixteen,
//! rounded up, stays in use whatever happens: fewer say nothing about a fabric. It is
//! not more, because when three of four spines die, the hash may have put less than a
//! quarter of the paths on the one that is left, and every dead path kept in use costs
//! timeouts.
//!
//! What an administrator denies is not used either, and not probed.
//!
//! A path is a place in the order of a policy. It has an entropy value of its own, but
//! while that is withdrawn or denied a spare one may take the place, see
//! [`super::spares`].

use super::{
    pace::{
        Pace,
        GAP, //
    },
    path::{
        Memory,
        Path, //
    },
    per_path::{
        Context,
        CONTEXTS, //
    },
    question::{
        Question,
        DOUBTS,
        FEWEST_PATHS, //
    },
    Feedback,
    PathState, //
};
use crate::{
    host::{
        AllocError,
        Buffer, //
    },
    proto::{
        config::Config,
        counter::Counter,
        Ns,
        MSEC, //
    },
};
use core::num::NonZeroU16;

/// Most paths a connection can have.
pub const MAX_PATHS: u16 = 256;

/// Smallest entropy value: the first of the dynamic ports.
pub const MIN_ENTROPY: u16 = 49152;

/// Timeouts in a row after which a path is withdrawn.
pub(super) const WITHDRAW_AFTER: u8 = 2;

/// One path in so many stays in use.
const KEPT: u16 = 16;

const PROBE_FIRST: Ns = MSEC;
const PROBE_LONGEST: Ns = 64 * MSEC;

/// The paths of a connection.
pub struct Paths {
    base: u16,
    pub(super) count: u16,
    /// Entropy values that are in use only instead of others. They follow the paths.
    pub(super) spares: u16,
    /// Paths whose own entropy value is withdrawn.
    withdrawn: u16,
    /// Paths whose own entropy value is denied.
    denied: u16,
    /// Spares that stand by for a path, but have not answered a probe yet.
    pub(super) on_trial: u16,
    /// Entropy values with a timeout that are not withdrawn.
    doubted: u16,
    question: Question,
    /// All entropy values, the spares behind the paths; room for the most there can be.
    pub(super) pool: Buffer<Path>,
    /// Where the search for a spare goes on.
    pub(super) next_spare: u16,
    /// The next to be tried in silence.
    pub(super) tried_next: u16,
    /// When the next series of probes begins.
    probe_at: Ns,
    /// Time to the series after that.
    probe_interval: Ns,
    /// Where the current series continues.
    probe_next: u16,
    /// When intervals may be short again.
    restart_from: Ns,
    /// How fast paths are probed, and how fast withdrawn ones are.
    pace: Pace,
    trickle: Pace,
    /// There was traffic since the last series.
    traffic: bool,
    /// The windows of the policy that has one for each path.
    pub(super) contexts: Buffer<Context>,
}

impl Paths {
    /// As many paths with consecutive entropy values as `config` asks for.
    pub(super) fn new(config: &Config) -> Result<Self, AllocError> {
        // However many paths there will be, the first one keeps its entropy value.
        let highest = u16::MAX - (MAX_PATHS - 1);
        Ok(Self {
            base: config.entropy_base.clamp(MIN_ENTROPY, highest),
            count: 1,
            spares: 0,
            withdrawn: 0,
            denied: 0,
            on_trial: 0,
            doubted: 0,
            question: Question::new(),
            pool: Buffer::new(usize::from(MAX_PATHS), Path::default())?,
            next_spare: 0,
            tried_next: 0,
            probe_at: 0,
            probe_interval: PROBE_FIRST,
            probe_next: 0,
            restart_from: 0,
            pace: Pace::new(),
            trickle: Pace::new(),
            traffic: false,
            contexts: Buffer::new(CONTEXTS, Context::new(config))?,
        })
    }

    /// Has another number of paths and spares from now on. Whatever a policy remembers
    /// is forgotten; what is withdrawn stays so.
    pub(super) fn resize(&mut self, count: u16, spares: u16, now: Ns) {
        let before = usize::from(self.count);
        self.count = count.clamp(1, MAX_PATHS);
        self.spares = spares.min(MAX_PATHS - self.count);
        let after = usize::from(self.count);
        for (i, path) in self.pool.iter_mut().enumerate() {
            // What is known of a spare is out of date, and nothing is of a new path.
            let timeouts = if i < before.min(after) {
                path.timeouts
            } else {
                0
            };
            *path = Path {
                timeouts,
                denied: path.denied,
                ..Path::default()
            };
        }
        let denied = self.pool.iter().take(after).filter(|path| path.denied);
        self.denied = u16::try_from(denied.count()).unwrap_or(MAX_PATHS);
        if let (true, Some(first)) = (self.denied == self.count, self.pool.first_mut()) {
            // Somebody has to carry the packets.
            first.denied = false;
            self.denied -= 1;
        }
        self.question = Question::new();
        self.on_trial = 0;
        self.next_spare = 0;
        self.probe_next = 0;
        self.recount();
        self.fill_places();
        if self.withdrawn + self.on_trial > 0 {
            self.probe_soon(now);
        }
    }

    /// Counts again which paths are withdrawn, so that not too many are.
    fn recount(&mut self) {
        self.withdrawn = 0;
        self.doubted = 0;
        for path in 0..self.count {
            let timeouts = self.timeouts(path);
            if let Some(path) = self.pool.get_mut(usize::from(path)) {
                path.timeouts = 0;
            }
            if timeouts < WITHDRAW_AFTER || self.may_withdraw() {
                self.set_timeouts(path, timeouts);
            }
        }
    }

    /// Number of paths.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// Number of entropy values, those included that are only in use instead of others.
    pub fn entropies(&self) -> u16 {
        self.count + self.spares
    }

    /// Number of withdrawn paths.
    pub fn withdrawn(&self) -> u16 {
        self.withdrawn
    }

    /// The first entropy value.
    pub fn base(&self) -> u16 {
        self.base
    }

    /// Entropy value of a path.
    pub fn entropy(&self, path: u16) -> u16 {
        let path = self.wrap(path);
        self.base + self.carrier(path).unwrap_or(path)
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
        self.carrier(path).is_some()
    }

    /// Whether nobody denies the entropy value that a path would use.
    pub(super) fn permitted(&self, path: u16) -> bool {
        let own = self.pool.get(usize::from(path));
        self.usable(path) || own.is_some_and(|path| !path.denied)
    }

    /// Who carries the packets of a path: itself or the spare in its place.
    fn carrier(&self, path: u16) -> Option<u16> {
        let own = self.pool.get(usize::from(path))?;
        if own.timeouts < WITHDRAW_AFTER && !own.denied {
            return self.question.admits(path).then_some(path);
        }
        let spare = own.partner?;
        let works = self.timeouts(spare) < WITHDRAW_AFTER;
        (works && self.question.admits(spare)).then_some(spare)
    }

    /// The path that an entropy value is in use for, or was last.
    pub(super) fn path_of(&self, entropy: u16) -> Option<u16> {
        let index = self.index_of(entropy)?;
        if index < self.count {
            Some(index)
        } else {
            self.pool.get(usize::from(index))?.partner
        }
    }

    fn index_of(&self, entropy: u16) -> Option<u16> {
        let index = entropy.checked_sub(self.base)?;
        (index < self.entropies()).then_some(index)
    }

    /// What has become of the entropy value that many behind the first.
    pub fn state(&self, index: u16) -> Option<PathState> {
        if index >= self.entropies() {
            return None;
        }
        let known = self.pool.get(usize::from(index))?;
        let state = if known.denied {
            PathState::Denied
        } else if index >= self.count && known.partner.is_none() {
            PathState::Spare
        } else if known.timeouts >= WITHDRAW_AFTER {
            PathState::AssumedBad
        } else if self
            .path_of(self.base + index)
            .is_some_and(|path| self.skips(path))
        {
            PathState::Skip
        } else {
            PathState::Good
        };
        Some(state)
    }

    /// What a policy remembers of a path.
    pub(super) fn memory(&self, path: u16) -> Memory {
        let known = self.pool.get(usize::from(path));
        known.map_or_else(Memory::default, |path| path.memory)
    }

    /// The same, to change it.
    pub(super) fn memory_mut(&mut self, path: u16) -> Option<&mut Memory> {
        let known = self.pool.get_mut(usize::from(path))?;
        Some(&mut known.memory)
    }

    /// Whether a path is going to miss its next turn.
    pub(super) fn skips(&self, path: u16) -> bool {
        self.memory(path).skip > 0
    }

    pub(super) fn timeouts(&self, index: u16) -> u8 {
        let known = self.pool.get(usize::from(index));
        known.map_or(WITHDRAW_AFTER, |path| path.timeouts)
    }

    /// Changes the timeouts in a row, and what is counted of them.
    pub(super) fn set_timeouts(&mut self, index: u16, timeouts: u8) {
        let own = index < self.count;
        let Some(path) = self.pool.get_mut(usize::from(index)) else {
            return;
        };
        let before = core::mem::replace(&mut path.timeouts, timeouts);
        let doubted = |timeouts| u16::from((1..WITHDRAW_AFTER).contains(&timeouts));
        let withdrawn = |timeouts| u16::from(timeouts >= WITHDRAW_AFTER);
        self.doubted = self.doubted + doubted(timeouts) - doubted(before);
        let total = if own {
            &mut self.withdrawn
        } else {
            &mut self.on_trial
        };
        *total = *total + withdrawn(timeouts) - withdrawn(before);
    }

    fn may_withdraw(&self) -> bool {
        let used = self.count - self.withdrawn;
        used > self.denied + self.count.div_ceil(KEPT)
    }

    /// Whether an entropy value carries packets, as far as is known.
    fn in_use(&self, index: u16) -> bool {
        let known = self.pool.get(usize::from(index));
        known.is_some_and(|path| {
            let stands_in = index < self.count || path.partner.is_some();
            stands_in && !path.denied && path.timeouts < WITHDRAW_AFTER
        })
    }

    /// Whether packets may leave with an entropy value, as far as is known.
    pub(super) fn carries(&self, entropy: u16) -> bool {
        let index = self.index_of(entropy);
        index.is_some_and(|index| self.in_use(index))
    }

    pub(super) fn feedback(&mut self, entropy: u16, kind: Feedback, now: Ns) -> Option<Counter> {
        let index = self.index_of(entropy)?;
        let known = self.pool.get(usize::from(index))?;
        let idle = index >= self.count && known.partner.is_none();
        if known.denied || idle {
            return None;
        }
        let was_withdrawn = known.timeouts >= WITHDRAW_AFTER;
        if !kind.is_loss() {
            self.set_timeouts(index, 0);
            self.question.hear(index);
            if !was_withdrawn {
                return None;
            }
            self.trickle.earn();
            self.probe_soon(now);
            return Some(self.take_back(index));
        }
        let doubted = known.timeouts == WITHDRAW_AFTER - 1;
        let own = index < self.count;
        if was_withdrawn || doubted && own && !self.may_withdraw() {
            return None;
        }
        self.set_timeouts(index, known.timeouts + 1);
        if !doubted {
            return None;
        }
        if own {
            self.find_spare(index);
        }
        self.probe_soon(now);
        Some(Counter::PathWithdrawn)
    }

    /// Lets an entropy value be used or not, whatever is known of it. False if no path
    /// would be left.
    #[must_use]
    pub(super) fn deny(&mut self, index: u16, deny: bool, now: Ns) -> bool {
        if index >= self.entropies() {
            return false;
        }
        let own = index < self.count;
        let last = self.denied + 1 == self.count;
        let Some(path) = self.pool.get_mut(usize::from(index)) else {
            return false;
        };
        if path.denied == deny {
            return true;
        }
        if own && deny && last {
            return false;
        }
        path.denied = deny;
        if !own {
            self.release(index);
            self.fill_places();
        } else if deny {
            self.denied += 1;
            self.set_timeouts(index, 0);
            self.find_spare(index);
            self.keep_one();
        } else {
            self.denied -= 1;
            self.take_back(index);
        }
        self.probe_soon(now);
        true
    }

    /// Takes back a withdrawn path if all others are denied.
    fn keep_one(&mut self) {
        if self.withdrawn + self.denied < self.count {
            return;
        }
        let mut own = 0..self.count;
        if let Some(path) = own.find(|&path| self.timeouts(path) >= WITHDRAW_AFTER) {
            self.set_timeouts(path, 0);
            self.take_back(path);
        }
    }

    /// Calls all paths into question if several are doubted.
    pub(super) fn suspect(&mut self, now: Ns, timeout: Ns) {
        if self.doubted >= DOUBTS {
            self.ask(now, timeout, 1);
        }
    }

    /// Calls all paths into question: each has `wait` timeouts to answer a probe.
    pub(super) fn ask(&mut self, now: Ns, timeout: Ns, wait: Ns) {
        if self.count >= FEWEST_PATHS && self.question.may_begin(now) {
            let asked = (0..self.entropies()).filter(|&index| self.in_use(index));
            let asked = u16::try_from(asked.count()).unwrap_or(MAX_PATHS);
            self.question.begin(now, timeout, wait, asked);
        }
    }

    /// Whether all paths are in question.
    pub(super) fn in_question(&self) -> bool {
        self.question.is_open()
    }

    /// Whether they are, and not even those that were asked first have had their time.
    pub(super) fn just_asked(&self, now: Ns) -> bool {
        self.question.is_fresh(now)
    }

    /// Whether hardly any path has answered yet.
    pub(super) fn unanswered(&self) -> bool {
        self.question.lacks_answers()
    }

    /// Withdraws the paths that have not answered if the time is over. Returns how
    /// many that were.
    pub(super) fn judge(&mut self, now: Ns) -> u16 {
        if self.question.until().is_none_or(|until| now < until) {
            return 0;
        }
        let mut found = 0;
        for index in 0..self.entropies() {
            if !self.in_use(index) || self.question.heard(index) {
                continue;
            }
            if index < self.count && !self.may_withdraw() {
                continue;
            }
            self.set_timeouts(index, WITHDRAW_AFTER);
            if index < self.count {
                self.find_spare(index);
            }
            found += 1;
        }
        self.question.end(now, found);
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
        self.trickle.on_timer(now);
    }

    pub(super) fn due_probe(&mut self, now: Ns, timeout: Ns) -> Option<u16> {
        if self.pace.resumes_at().is_some() {
            return None;
        }
        let (index, gap) = self.asked(now).or_else(|| self.probed(now, timeout))?;
        self.pace.spend(now, gap);
        Some(self.base + index)
    }

    /// The next entropy value that is in question, and the time to the next few.
    fn asked(&mut self, now: Ns) -> Option<(u16, Ns)> {
        let rest = self.question.next()?..self.entropies();
        let mut rest = rest.filter(|&index| self.in_use(index) && !self.question.heard(index));
        let (index, last) = (rest.next(), rest.next().is_none());
        if last {
            self.question.all_asked(now);
        }
        let index = index?;
        Some((index, self.question.asked(index)))
    }

    /// The next withdrawn entropy value, or spare on trial, of a series that is due, and
    /// the time to the next few of whatever kind.
    fn probed(&mut self, now: Ns, timeout: Ns) -> Option<(u16, Ns)> {
        let probed = self.withdrawn + self.on_trial > 0;
        if !probed || now < self.probe_at || self.trickle.resumes_at().is_some() {
            return None;
        }
        if self.probe_next == 0 {
            self.change_spares();
        }
        let mut rest = self.probe_next..self.entropies();
        let next = rest.find(|&index| self.timeouts(index) >= WITHDRAW_AFTER);
        match next {
            Some(index) => {
                self.probe_next = index + 1;
                self.tried(index);
                self.trickle.spend(now, timeout.max(GAP));
            }
            None => {
                self.traffic = false;
                self.probe_next = 0;
                self.probe_at = now.saturating_add(self.probe_interval);
                self.probe_interval = (2 * self.probe_interval).min(PROBE_LONGEST);
            }
        }
        next.map(|index| (index, GAP))
    }

    pub(super) fn probe_deadline(&self) -> Option<Ns> {
        let resume = self.pace.resumes_at().unwrap_or(0);
        let trickle = self.trickle.resumes_at().unwrap_or(0);
        let probed = self.withdrawn + self.on_trial > 0;
        let probe = probed.then_some(self.probe_at.max(resume).max(trickle));
        let ask = self.question.next().map(|_| resume);
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
