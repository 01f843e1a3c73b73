// SPDX-License-Identifier: GPL-2.0

//! Which path the next packet takes.
//!
//! A path is nothing but an entropy value in the UDP source port: the fabric
//! hashes it to a route. There is no sequence space, window or timer per path,
//! so a policy is only an order in which paths take their turn. [`Paths`] keeps
//! what all policies share: the entropy values, and which of them lead into a
//! black hole and are left out for the time being.

mod oblivious;
mod pace;
mod paths;
mod question;
mod round_robin;
mod single;

pub use self::{
    oblivious::Oblivious,
    paths::{
        Paths,
        MAX_PATHS,
        MIN_ENTROPY, //
    },
    round_robin::RoundRobin,
    single::Single, //
};

use super::{
    config::PathPolicy,
    counter::Counter,
    Ns, //
};

/// What became of a packet, reported for the entropy value it was sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// It arrived.
    Ok,
    /// It arrived with a congestion mark.
    Ecn,
    /// A switch trimmed it: it was lost, but the path works.
    Nack,
    /// Nothing was heard of it in time.
    Timeout,
}

/// A policy for choosing paths.
///
/// Implementations supply the order; the rest follows from it.
pub trait Spray {
    /// The paths and their health.
    fn paths(&self) -> &Paths;

    /// The paths and their health, to change them.
    fn paths_mut(&mut self) -> &mut Paths;

    /// The path whose turn it is, as an index below `paths().count()`.
    ///
    /// Twice as many calls as there are paths name each of them at least once.
    fn turn(&mut self) -> u16;

    /// Entropy value for the next packet.
    fn next(&mut self, _now: Ns) -> u16 {
        let path = self.take_turn(|paths, path| paths.usable(path));
        self.paths().entropy(path)
    }

    /// Entropy value for the retransmission of a packet that was sent with `lost`.
    ///
    /// Never returns `lost` if there is more than one path.
    fn next_avoiding(&mut self, _now: Ns, lost: u16) -> u16 {
        let path = self.take_turn(|paths, path| paths.usable(path) && paths.entropy(path) != lost);
        if self.paths().entropy(path) != lost {
            return self.paths().entropy(path);
        }
        // `lost` is the last usable path. A path that is probably dead is still
        // the better choice than the one that just lost the packet.
        let path = self.take_turn(|paths, path| paths.entropy(path) != lost);
        self.paths().entropy(path)
    }

    /// Reports what became of a packet that was sent with `entropy`.
    ///
    /// Returns what happened to the path, if anything did.
    fn feedback(&mut self, entropy: u16, kind: Feedback, now: Ns) -> Option<Counter> {
        self.paths_mut().feedback(entropy, kind, now)
    }

    /// The first path in the order for which `good` holds, or else just the next.
    fn take_turn(&mut self, good: impl Fn(&Paths, u16) -> bool) -> u16 {
        // Two rounds: the current one may be past the only good path.
        for _ in 0..2 * self.paths().count() {
            let path = self.turn();
            if good(self.paths(), path) {
                return path;
            }
        }
        self.turn()
    }
}

/// The policy of a connection.
#[derive(Clone, Debug)]
pub enum Spraying {
    /// All packets on one path.
    Single(Single),
    /// One path after the other.
    RoundRobin(RoundRobin),
    /// Each path once per round in random order.
    Oblivious(Oblivious),
}

impl Spraying {
    /// A policy over `paths` entropy values that start with `base`.
    ///
    /// `paths` is brought into 1 to 256 and `base` to where all entropy values are
    /// dynamic ports, 49152 to 65535.
    pub fn new(policy: PathPolicy, paths: u16, base: u16, seed: u64) -> Self {
        let paths = Paths::new(paths, base);
        match policy {
            PathPolicy::Single => Self::Single(Single::new(paths, seed)),
            PathPolicy::RoundRobin => Self::RoundRobin(RoundRobin::new(paths, seed)),
            PathPolicy::Oblivious => Self::Oblivious(Oblivious::new(paths, seed)),
        }
    }

    /// All entropy values.
    pub fn entropies(&self) -> impl Iterator<Item = u16> + '_ {
        let paths = self.paths();
        (0..paths.count()).map(|path| paths.entropy(path))
    }

    /// A packet was lost: all paths are asked whether they work if several are doubted.
    /// They have one `timeout` to answer.
    pub fn suspect(&mut self, now: Ns, timeout: Ns) {
        self.paths_mut().suspect(now, timeout);
    }

    /// All paths are asked whether they work, if that was not done just before. They
    /// have `wait` times `timeout` to answer.
    pub fn ask(&mut self, now: Ns, timeout: Ns, wait: Ns) {
        self.paths_mut().ask(now, timeout, wait);
    }

    /// Whether it is being found out which paths work.
    pub fn in_question(&self) -> bool {
        self.paths().in_question()
    }

    /// Whether hardly any path has answered yet: better wait than send data.
    pub fn unanswered(&self) -> bool {
        self.paths().unanswered()
    }

    /// Withdraws the paths that were asked and did not answer in time. Returns how
    /// many that were.
    pub fn judge(&mut self, now: Ns) -> u16 {
        self.paths_mut().judge(now)
    }

    /// Entropy value of a path on which a probe is due, because it is withdrawn or
    /// in question.
    ///
    /// Call until `None`: some are probed together, the next after [`Self::on_timer`].
    pub fn due_probe(&mut self, now: Ns) -> Option<u16> {
        self.paths_mut().due_probe(now)
    }

    /// The time of [`Self::probe_deadline`] may have come.
    pub fn on_timer(&mut self, now: Ns) {
        self.paths_mut().on_timer(now);
    }

    /// Packets arrive over other paths than these: what this end sends is worth
    /// another series of probes even if it waits for no acknowledgement.
    pub fn keep_asking(&mut self) {
        self.paths_mut().keep_asking();
    }

    /// Whether there is reason to probe other than data in flight.
    pub fn asks(&self) -> bool {
        self.paths().asks()
    }

    /// When the next probe is due or a path has had its time to answer one.
    pub fn probe_deadline(&self) -> Option<Ns> {
        self.paths().probe_deadline()
    }

    /// Number of withdrawn paths.
    pub fn withdrawn(&self) -> u16 {
        self.paths().withdrawn()
    }
}

impl Spray for Spraying {
    fn paths(&self) -> &Paths {
        match self {
            Self::Single(policy) => policy.paths(),
            Self::RoundRobin(policy) => policy.paths(),
            Self::Oblivious(policy) => policy.paths(),
        }
    }

    fn paths_mut(&mut self) -> &mut Paths {
        match self {
            Self::Single(policy) => policy.paths_mut(),
            Self::RoundRobin(policy) => policy.paths_mut(),
            Self::Oblivious(policy) => policy.paths_mut(),
        }
    }

    fn turn(&mut self) -> u16 {
        match self {
            Self::Single(policy) => policy.turn(),
            Self::RoundRobin(policy) => policy.turn(),
            Self::Oblivious(policy) => policy.turn(),
        }
    }

    fn next(&mut self, now: Ns) -> u16 {
        match self {
            Self::Single(policy) => policy.next(now),
            Self::RoundRobin(policy) => policy.next(now),
            Self::Oblivious(policy) => policy.next(now),
        }
    }
}
