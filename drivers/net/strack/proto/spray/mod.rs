// SPDX-License-Identifier: GPL-2.0

//! Which path the next packet takes.
//!
//! A path is nothing but an entropy value in the UDP source port: the fabric hashes it
//! to a route. There is no sequence space or timer per path, so a policy is only an
//! order in which paths take their turn, and what it learns from the packets that it
//! has sent. [`Paths`] keeps what all policies share: the entropy values, which of them
//! lead into a black hole and are left out for the time being, and a few bytes per path
//! in which a policy remembers what it likes.
//!
//! ```text
//!                       +-----------+   order of turns    +--------+
//!  next packet <------- | Spraying  | <------------------ | Policy |  a file for each
//!  sent, arrived, ----> |           | ------------------> |        |
//!  lost, measured       +-----------+                     +--------+
//!                             |  who can be used               |  what it remembers
//!                             v                                v
//!                       +------------------------------------------+
//!                       | Paths: entropy values, health, spares    |
//!                       +------------------------------------------+
//! ```

mod best_rtt;
mod bitmap;
mod cache;
mod clock;
mod dwrr;
mod late;
mod mixed;
mod mprdma;
mod oblivious;
mod pace;
mod path;
mod paths;
mod per_path;
mod question;
mod reps;
mod round_robin;
mod single;
mod spares;
mod tries;

pub use self::{
    path::PathState,
    paths::{
        Paths,
        MAX_PATHS,
        MIN_ENTROPY, //
    }, //
};

use self::{
    best_rtt::BestRtt,
    bitmap::Bitmap,
    dwrr::Dwrr,
    late::Lateness,
    mixed::Mixed,
    mprdma::MpRdma,
    oblivious::Oblivious,
    per_path::{
        PerPath,
        CONTEXTS, //
    },
    reps::Reps,
    round_robin::RoundRobin,
    single::Single, //
};
use super::{
    config::{
        Config,
        PathPolicy, //
    },
    counter::Counter,
    window::Acked,
    Ns, //
};
use crate::host::AllocError;

/// What became of a packet, reported for the entropy value it was sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// It arrived.
    Ok,
    /// It arrived with a congestion mark, and so much later than others that its path should
    /// miss that many turns for it; none if it was not late.
    Ecn(u8),
    /// It arrived without a mark, but so much later than others that its path should miss
    /// that many turns.
    Late(u8),
    /// A switch trimmed it: it was lost, but the path works.
    Nack,
    /// Nothing was heard of it in time, while other packets were delayed: a queue may
    /// have been full.
    Overflow,
    /// Nothing was heard of it in time, and no queue explains that.
    Timeout,
    /// It was a probe, and it was answered. That says nothing about load.
    Alive,
}

impl Feedback {
    /// Whether the path may be dead.
    fn is_loss(self) -> bool {
        matches!(self, Self::Overflow | Self::Timeout)
    }
}

/// A policy for choosing paths.
///
/// Paths are numbers below `paths.count()`. Only [`Self::turn`] has to be supplied.
trait Policy {
    /// The path whose turn it is.
    ///
    /// Twice as many calls as there are paths name each of them at least once.
    fn turn(&mut self, paths: &Paths) -> u16;

    /// The path for the next packet or train of them.
    fn next(&mut self, paths: &mut Paths, _now: Ns) -> u16 {
        self.take_turn(paths, |paths, path| paths.usable(path))
    }

    /// The path for a packet without data, of which nothing is learned.
    fn control(&mut self, paths: &mut Paths, _now: Ns) -> u16 {
        self.take_turn(paths, |paths, path| paths.usable(path))
    }

    /// Packets leave on a path, all together.
    fn sent(&mut self, _paths: &mut Paths, _path: u16, _packets: u32, _bytes: u64) {}

    /// A packet that left on a path has arrived.
    fn arrived(&mut self, _paths: &mut Paths, _path: u16, _bytes: u64) {}

    /// A packet that left on a path was lost.
    fn lost(&mut self, _paths: &mut Paths, _path: u16, _bytes: u64, _now: Ns) {}

    /// An ACK answers a packet.
    fn measured(&mut self, _paths: &mut Paths, _path: u16, _acked: &Acked, _now: Ns) {}

    /// What became of a packet.
    fn feedback(&mut self, _paths: &mut Paths, _path: u16, _kind: Feedback, _now: Ns) {}

    /// Whether a path has room for `bytes` behind `more` others, if the policy has
    /// windows of its own.
    fn room(&self, _paths: &Paths, _more: u64, _bytes: u64) -> Option<bool> {
        None
    }

    /// Sum of these windows, if there are any.
    fn cwnd(&self, _paths: &Paths) -> Option<u64> {
        None
    }

    /// The first path in the order for which `good` holds, or else one that is permitted.
    fn take_turn(&mut self, paths: &Paths, good: impl Fn(&Paths, u16) -> bool) -> u16 {
        self.find_turn(paths, good)
            .or_else(|| self.find_turn(paths, Paths::permitted))
            .unwrap_or_else(|| self.turn(paths))
    }

    /// The first path in the order for which `good` holds.
    fn find_turn(&mut self, paths: &Paths, good: impl Fn(&Paths, u16) -> bool) -> Option<u16> {
        // Two rounds: the current one may be past the only good path.
        (0..2 * paths.count())
            .map(|_| self.turn(paths))
            .find(|&path| good(paths, path))
    }
}

/// One of the policies.
#[derive(Clone, Debug)]
enum Chosen {
    Single(Single),
    RoundRobin(RoundRobin),
    Oblivious(Oblivious),
    Bitmap(Bitmap),
    Reps(Reps),
    Mixed(Mixed),
    BestRtt(BestRtt),
    Dwrr(Dwrr),
    MpRdma(MpRdma),
    PerPath(PerPath),
}

/// Does `$call` with `$policy`, whichever it is.
macro_rules! with {
    ($chosen:expr, $policy:ident => $call:expr) => {
        match $chosen {
            Chosen::Single($policy) => $call,
            Chosen::RoundRobin($policy) => $call,
            Chosen::Oblivious($policy) => $call,
            Chosen::Bitmap($policy) => $call,
            Chosen::Reps($policy) => $call,
            Chosen::Mixed($policy) => $call,
            Chosen::BestRtt($policy) => $call,
            Chosen::Dwrr($policy) => $call,
            Chosen::MpRdma($policy) => $call,
            Chosen::PerPath($policy) => $call,
        }
    };
}

impl Chosen {
    fn new(policy: PathPolicy, paths: &Paths, seed: u64) -> Self {
        match policy {
            PathPolicy::Single => Self::Single(Single::new(paths, seed)),
            PathPolicy::RoundRobin => Self::RoundRobin(RoundRobin::new(paths, seed)),
            PathPolicy::Oblivious => Self::Oblivious(Oblivious::new(paths, seed)),
            PathPolicy::Bitmap => Self::Bitmap(Bitmap::new(paths, seed)),
            PathPolicy::Reps => Self::Reps(Reps::new(paths, seed)),
            PathPolicy::Mixed => Self::Mixed(Mixed::new(paths, seed)),
            PathPolicy::BestRtt => Self::BestRtt(BestRtt::new(paths, seed)),
            PathPolicy::Dwrr => Self::Dwrr(Dwrr::new(paths, seed)),
            PathPolicy::MpRdma => Self::MpRdma(MpRdma::new(paths, seed)),
            PathPolicy::PerPath => Self::PerPath(PerPath::new(paths, seed)),
        }
    }
}

/// The paths of a connection and the policy that chooses among them.
pub struct Spraying {
    paths: Paths,
    policy: Chosen,
    lateness: Lateness,
}

impl Spraying {
    /// The policy and the paths that `config` asks for.
    ///
    /// The number of paths is brought into 1 to 256, and the first entropy value to where
    /// all of them are dynamic ports, 49152 to 65535.
    pub fn new(config: &Config) -> Result<Self, AllocError> {
        let mut paths = Paths::new(config)?;
        size(&mut paths, config, 0);
        let policy = Chosen::new(config.policy, &paths, config.seed);
        Ok(Self {
            paths,
            policy,
            lateness: Lateness::new(),
        })
    }

    /// Goes on with another policy or number of paths. What is withdrawn or denied stays
    /// so.
    pub fn reconfigure(&mut self, config: &Config, now: Ns) {
        self.paths.contexts.fill(per_path::Context::new(config));
        size(&mut self.paths, config, now);
        self.policy = Chosen::new(config.policy, &self.paths, config.seed);
    }

    /// A full packet has `mss` bytes from now on.
    pub fn set_mss(&mut self, mss: u16) {
        for context in self.paths.contexts.iter_mut() {
            context.set_mss(mss);
        }
    }

    /// The paths and their health.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// All entropy values that may be in use.
    pub fn entropies(&self) -> impl Iterator<Item = u16> + '_ {
        let first = self.paths.base();
        first..=first + (self.paths.entropies() - 1)
    }

    /// Entropy value for the next packet, or the next few.
    pub fn next(&mut self, now: Ns) -> u16 {
        let path = with!(&mut self.policy, policy => policy.next(&mut self.paths, now));
        self.paths.entropy(path)
    }

    /// Entropy value for a packet without data.
    pub fn next_control(&mut self, now: Ns) -> u16 {
        let path = with!(&mut self.policy, policy => policy.control(&mut self.paths, now));
        self.paths.entropy(path)
    }

    /// Entropy value for the retransmission of a packet that was sent with `lost`.
    ///
    /// Never returns `lost` if there is another one that is not denied.
    pub fn next_avoiding(&mut self, _now: Ns, lost: u16) -> u16 {
        let other = |paths: &Paths, path| paths.permitted(path) && paths.entropy(path) != lost;
        let usable = |paths: &Paths, path| paths.usable(path) && paths.entropy(path) != lost;
        let good = |paths: &Paths, path| usable(paths, path) && !paths.skips(path);
        // If `lost` is the last usable path, one that is probably dead is still
        // the better choice than the one that just lost the packet.
        let path = with!(&mut self.policy, policy => policy
            .find_turn(&self.paths, good)
            .or_else(|| policy.find_turn(&self.paths, usable))
            .unwrap_or_else(|| policy.take_turn(&self.paths, other)));
        self.paths.entropy(path)
    }

    /// Packets leave, all with `entropy`.
    pub fn sent(&mut self, entropy: u16, packets: u32, bytes: u64) {
        if let Some(path) = self.paths.path_of(entropy) {
            let paths = &mut self.paths;
            with!(&mut self.policy, policy => policy.sent(paths, path, packets, bytes));
        }
    }

    /// A packet in flight has arrived.
    pub fn arrived(&mut self, entropy: u16, bytes: u64) {
        if let Some(path) = self.paths.path_of(entropy) {
            with!(&mut self.policy, policy => policy.arrived(&mut self.paths, path, bytes));
        }
    }

    /// A packet in flight was lost.
    pub fn lost(&mut self, entropy: u16, bytes: u64, now: Ns) {
        if let Some(path) = self.paths.path_of(entropy) {
            with!(&mut self.policy, policy => policy.lost(&mut self.paths, path, bytes, now));
        }
    }

    /// An ACK answers a packet that was sent with `entropy`. A round trip longer than the
    /// average by no more than `slack` is as good as any.
    pub fn echoed(&mut self, entropy: u16, acked: &Acked, slack: Ns, now: Ns) -> Option<Counter> {
        if let Some(path) = self.paths.path_of(entropy) {
            let paths = &mut self.paths;
            with!(&mut self.policy, policy => policy.measured(paths, path, acked, now));
        }
        let turns = acked.rtt.map_or(0, |rtt| self.lateness.measure(rtt, slack));
        let kind = match turns {
            _ if acked.marked.is_some() => Feedback::Ecn(turns),
            0 => Feedback::Ok,
            _ => Feedback::Late(turns),
        };
        self.feedback(entropy, kind, now)
    }

    /// Reports what became of a packet that was sent with `entropy`.
    ///
    /// Returns what happened to the path, if anything did.
    pub fn feedback(&mut self, entropy: u16, kind: Feedback, now: Ns) -> Option<Counter> {
        if let Some(path) = self.paths.path_of(entropy) {
            with!(&mut self.policy, policy => policy.feedback(&mut self.paths, path, kind, now));
        }
        self.paths.feedback(entropy, kind, now)
    }

    /// Whether a path has room for `bytes` behind `more` others; `None` if that is up to
    /// the window of the connection.
    pub fn room(&self, more: u64, bytes: u64) -> Option<bool> {
        with!(&self.policy, policy => policy.room(&self.paths, more, bytes))
    }

    /// Bytes that may be in flight; `None` if that is up to the window of the connection.
    pub fn cwnd(&self) -> Option<u64> {
        with!(&self.policy, policy => policy.cwnd(&self.paths))
    }

    /// Does without an entropy value, that many behind the first, or uses it again.
    /// False if there is none, or if no path would be left.
    #[must_use]
    pub fn deny(&mut self, index: u16, deny: bool, now: Ns) -> bool {
        self.paths.deny(index, deny, now)
    }

    /// A packet was lost: all paths are asked whether they work if several are doubted.
    /// They have one `timeout` to answer.
    pub fn suspect(&mut self, now: Ns, timeout: Ns) {
        self.paths.suspect(now, timeout);
    }

    /// All paths are asked whether they work, if that was not done just before. They
    /// have `wait` times `timeout` to answer.
    pub fn ask(&mut self, now: Ns, timeout: Ns, wait: Ns) {
        self.paths.ask(now, timeout, wait);
    }

    /// Whether it is being found out which paths work.
    pub fn in_question(&self) -> bool {
        self.paths.in_question()
    }

    /// Whether it is, and hardly anything can be known yet.
    pub fn just_asked(&self, now: Ns) -> bool {
        self.paths.just_asked(now)
    }

    /// Whether hardly any path has answered yet: better wait than send data.
    pub fn unanswered(&self) -> bool {
        self.paths.unanswered()
    }

    /// Withdraws the paths that were asked and did not answer in time. Returns how
    /// many that were.
    pub fn judge(&mut self, now: Ns) -> u16 {
        self.paths.judge(now)
    }

    /// Entropy value of a path on which a probe is due, because it is withdrawn, on trial
    /// or in question.
    ///
    /// Call until `None`: some are probed together, the next after [`Self::on_timer`], those
    /// that are withdrawn not before another `timeout`.
    pub fn due_probe(&mut self, now: Ns, timeout: Ns) -> Option<u16> {
        self.paths.due_probe(now, timeout)
    }

    /// The time of [`Self::probe_deadline`] may have come.
    pub fn on_timer(&mut self, now: Ns) {
        self.paths.on_timer(now);
    }

    /// Packets arrive over other paths than these: what this end sends is worth
    /// another series of probes even if it waits for no acknowledgement.
    pub fn keep_asking(&mut self) {
        self.paths.keep_asking();
    }

    /// Entropy value to try when nothing is heard at all, other than `except`, if there are enough
    /// for that.
    pub fn next_try(&mut self, except: Option<u16>) -> Option<u16> {
        self.paths.next_try(except)
    }

    /// Whether there is reason to probe other than data in flight.
    pub fn asks(&self) -> bool {
        self.paths.asks()
    }

    /// When the next probe is due or a path has had its time to answer one.
    pub fn probe_deadline(&self) -> Option<Ns> {
        self.paths.probe_deadline()
    }

    /// Whether packets may leave with an entropy value: it is neither withdrawn nor denied, nor
    /// a spare that stands by.
    pub fn carries(&self, entropy: u16) -> bool {
        self.paths.carries(entropy)
    }

    /// Number of withdrawn paths.
    pub fn withdrawn(&self) -> u16 {
        self.paths.withdrawn()
    }
}

/// Brings the paths to the number that `config` asks for.
fn size(paths: &mut Paths, config: &Config, now: Ns) {
    if config.policy == PathPolicy::PerPath {
        paths.resize(config.paths.min(CONTEXTS as u16), 0, now);
    } else {
        paths.resize(config.paths, config.spares, now);
    }
}
