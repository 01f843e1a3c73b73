// SPDX-License-Identifier: GPL-2.0

//! What can be tuned about one connection.
//!
//! The host fills this in from its own knobs (sysctls, socket options, route)
//! before a connection is created. The defaults are those of the `stellar`
//! profile on a 10 Gb/s data centre fabric.

use super::{
    loss,
    spray::MIN_ENTROPY,
    window,
    Ns,
    MSEC,
    SEC,
    USEC, //
};

/// A named set of algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Oblivious spraying, one window per connection, short retransmission
    /// timeout, every retransmission on another path.
    Stellar,
    /// Spraying that keeps away from paths that are marked or slow, spares for those that
    /// are dead, and losses found before the timeout wherever they are.
    Strack,
}

impl Profile {
    /// All profiles by name.
    pub const ALL: [(&'static str, Self); 2] =
        [("stellar", Self::Stellar), ("strack", Self::Strack)];

    /// Its name.
    pub fn name(self) -> &'static str {
        name_of(&Self::ALL, self)
    }

    /// The profile with this name.
    pub fn by_name(name: &[u8]) -> Option<Self> {
        by_name(&Self::ALL, name)
    }
}

/// How the path of the next packet is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathPolicy {
    /// All packets on one path, as ECMP treats a TCP connection.
    Single,
    /// One path after the other in a fixed order.
    RoundRobin,
    /// Each path once per round, in a new random order each round.
    Oblivious,
    /// The same, but a path that was marked misses its next turn.
    Bitmap,
    /// Paths whose packets arrived without a mark are used again.
    Reps,
    /// The latter as long as there are such paths, else the former.
    Mixed,
    /// The path with the shortest round trip.
    BestRtt,
    /// The shorter the round trip, the more turns.
    Dwrr,
    /// A packet that arrived lets the next leave on its path.
    MpRdma,
    /// Four paths, each with a congestion window of its own.
    PerPath,
}

impl PathPolicy {
    /// All policies by name.
    pub const ALL: [(&'static str, Self); 10] = [
        ("single", Self::Single),
        ("round_robin", Self::RoundRobin),
        ("oblivious", Self::Oblivious),
        ("bitmap", Self::Bitmap),
        ("reps", Self::Reps),
        ("mixed", Self::Mixed),
        ("best_rtt", Self::BestRtt),
        ("dwrr", Self::Dwrr),
        ("mprdma", Self::MpRdma),
        ("per_path", Self::PerPath),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        name_of(&Self::ALL, self)
    }

    /// The policy with this name.
    pub fn by_name(name: &[u8]) -> Option<Self> {
        by_name(&Self::ALL, name)
    }
}

fn name_of<T: Copy + PartialEq>(all: &[(&'static str, T)], wanted: T) -> &'static str {
    let found = all.iter().find(|&&(_, one)| one == wanted);
    found.map_or("", |&(name, _)| name)
}

fn by_name<T: Copy>(all: &[(&'static str, T)], wanted: &[u8]) -> Option<T> {
    let found = all.iter().find(|(name, _)| name.as_bytes() == wanted);
    found.map(|&(_, one)| one)
}

/// When and how often an idle peer is asked whether it is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence from the peer after which the first probe is sent.
    pub idle: Ns,
    /// Time between two probes.
    pub interval: Ns,
    /// Unanswered probes after which the connection fails.
    pub probes: u8,
}

/// The parameters of one connection.
#[derive(Clone, Debug)]
pub struct Config {
    /// Set of algorithms.
    pub profile: Profile,
    /// How the path of the next packet is chosen.
    pub policy: PathPolicy,
    /// Number of paths, 1 to 256.
    pub paths: u16,
    /// Entropy values that stand by to take the place of dead paths. Together with the
    /// paths there are no more than 256.
    pub spares: u16,
    /// Largest payload of one DATA packet in bytes.
    pub mss: u16,
    /// Shortest retransmission timeout.
    pub rto_min: Ns,
    /// Longest retransmission timeout.
    pub rto_max: Ns,
    /// Retransmission timeout of the handshake and until the first RTT sample.
    pub rto_initial: Ns,
    /// Timeouts in a row without progress after which the connection fails.
    pub retries: u8,
    /// Packets that can be outstanding in each direction: a power of two from
    /// 64 to 4096.
    pub window_packets: u32,
    /// Speed of the sender's access link in bytes per second.
    pub link_bytes_per_sec: u64,
    /// Round trip time of an idle fabric; a hint until one was measured.
    pub base_rtt: Ns,
    /// Smallest queueing delay the window aims at.
    ///
    /// Hosts without hardware timestamps add jitter of their own to every round
    /// trip, and a window below it leaves no trains for the network stack to
    /// work on: what is gained in delay is lost in cost per byte.
    pub min_target: Ns,
    /// Congestion window before anything is known about the fabric, in bytes. See
    /// [`Self::hinted_window`].
    pub initial_window: u64,
    /// Bytes the receiver is prepared to hold for the application.
    pub rcv_window: u32,
    /// Received payload bytes after which an acknowledgement is due.
    pub ack_every_bytes: u32,
    /// Received packets after which an acknowledgement is due.
    pub ack_every_packets: u16,
    /// Longest time an acknowledgement is held back.
    pub max_ack_delay: Ns,
    /// Most packets sent in a row with the same entropy value.
    pub burst_max: u16,
    /// Whether and how an idle peer is probed.
    pub keepalive: Option<KeepAlive>,
    /// How long the end that closed first still answers for the connection.
    pub time_wait: Ns,
    /// Seed of everything random in the connection that needs no secrecy.
    pub seed: u64,
    /// First entropy value (UDP source port), at least 49152.
    pub entropy_base: u16,
    /// Constants of the congestion window.
    pub nscc: window::Params,
    /// Constants of loss recovery.
    pub loss: loss::Params,
}

/// The least and the most that hints can say about the initial window.
const HINTED_WINDOW: (u64, u64) = (16 * 1024, 64 * 1024);

/// What a profile keeps in reserve.
const SPARES: u16 = 16;

impl Config {
    /// The longest timeout: not less than the shortest, or than the first.
    pub fn longest_timeout(&self) -> Ns {
        self.rto_max.max(self.rto_min).max(self.rto_initial)
    }

    /// The initial window for the link and the RTT that are configured: their
    /// bandwidth-delay product, but at least 16 and at most 64 KiB. It starts a short transfer
    /// at full speed, and does not overrun a shallow queue when the hints are wrong or when
    /// many begin together.
    pub fn hinted_window(&self) -> u64 {
        let (least, most) = HINTED_WINDOW;
        window::bytes_in(self.link_bytes_per_sec, self.base_rtt).clamp(least, most)
    }

    /// Sets all that a profile stands for.
    pub fn set_profile(&mut self, profile: Profile) {
        self.profile = profile;
        (self.policy, self.spares) = match profile {
            Profile::Stellar => (PathPolicy::Oblivious, 0),
            Profile::Strack => (PathPolicy::Mixed, SPARES),
        };
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            profile: Profile::Stellar,
            policy: PathPolicy::Oblivious,
            paths: 128,
            spares: 0,
            mss: 1420,
            rto_min: 250 * USEC,
            rto_max: 2 * SEC,
            rto_initial: MSEC,
            retries: 15,
            window_packets: 1024,
            link_bytes_per_sec: 1_250_000_000,
            base_rtt: 100 * USEC,
            min_target: 100 * USEC,
            initial_window: HINTED_WINDOW.1,
            rcv_window: 4 * 1024 * 1024,
            ack_every_bytes: 16 * 1024,
            ack_every_packets: 8,
            max_ack_delay: 50 * USEC,
            burst_max: 44,
            keepalive: None,
            time_wait: SEC,
            seed: 0,
            entropy_base: MIN_ENTROPY,
            nscc: window::Params::default(),
            loss: loss::Params::default(),
        }
    }
}
