// SPDX-License-Identifier: GPL-2.0
//! How hosts talk to each other.

use super::bad;
use super::BadInput;
use crate::host;
use crate::host::mprdma;
use crate::host::reader::Habit;
use crate::host::roce;
use crate::host::strack;
use crate::host::strack::Policy;
use crate::host::strack::Profile;
use crate::host::tcp;
use crate::host::UDP_OVERHEAD;
use crate::time::Ps;
use crate::time::NSEC;
use crate::time::SEC;
use crate::topology::Topology;
use crate::unit::Rate;
use crate::unit::Size;
use crate::unit::Time;
use serde::Deserialize;
use strack_proto::config;
use strack_proto::config::Config;
use strack_proto::config::PathPolicy;
use strack_proto::wire::ACK_HEADER;
use strack_proto::wire::DATA_HEADER;

/// How hosts talk to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The protocol of this project.
    #[default]
    Strack,
    /// RoCEv2 with DCQCN and go-back-N; usually with `queue.pfc`.
    Roce,
    /// MP-RDMA with as many paths as there are; usually with `queue.pfc`.
    MpRdma,
    /// DCTCP on one path.
    Dctcp,
    /// MPTCP with as many subflows as there are paths.
    Mptcp,
}

/// The transport and its parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Transport {
    /// Which one.
    pub kind: Kind,
    /// Connections of each pair of hosts; a message is divided among them.
    pub connections: u32,
    /// Bytes of a full packet on the wire.
    pub mtu: u32,
    /// Paths of each connection.
    pub paths: u16,
    /// The protocol's set of algorithms; it stands for a policy and for spare paths.
    pub profile: Profile,
    /// How paths are chosen, if not as the profile says.
    pub policy: Option<Policy>,
    /// Most packets in a row on one path.
    pub burst: u16,
    /// Window at the start; by default one and a half bandwidth-delay products.
    pub initial_window: Option<Size>,
    /// Queueing delay aimed at; by default the idle round trip time.
    pub target: Option<Time>,
    /// RoCEv2: whether marks change the rate.
    pub dcqcn: bool,
    /// Shortest retransmission timeout; by default 250 us, 67 ms for RoCEv2 and MP-RDMA
    /// (the default of perftest, 4.096 us times 2^14: nothing is lost, so whoever waits
    /// is stopped), and 1 ms for the others.
    pub rto_min: Option<Time>,
    /// Retransmission timeout until something is known; by default the shortest.
    pub rto_initial: Option<Time>,
    /// Bytes after which an acknowledgement is due.
    pub ack_bytes: Size,
    /// Longest time an acknowledgement is held back; by default the idle round trip
    /// time.
    pub ack_delay: Option<Time>,
    /// Most packets outstanding; by default four windows.
    pub window_packets: Option<u32>,
    /// Whether packets without payload go ahead of data in the network.
    pub priority: bool,
    /// Bytes that can wait for the receiving application.
    pub receive_window: Option<Size>,
    /// How fast that application reads; by default at once.
    pub read_rate: Option<Rate>,
    /// When it begins to read at once; by default never if it has a rate.
    pub read_slow_until: Option<Time>,
    /// The last so many packets of each message are lost when they are first sent.
    pub lose_last: u32,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            kind: Kind::default(),
            connections: 1,
            mtu: 4150,
            paths: 128,
            profile: Profile(config::Profile::Stellar),
            policy: None,
            burst: 1,
            initial_window: None,
            target: None,
            dcqcn: true,
            rto_min: None,
            rto_initial: None,
            ack_bytes: Size(16 * 1024),
            ack_delay: None,
            window_packets: None,
            priority: true,
            receive_window: None,
            read_rate: None,
            read_slow_until: None,
            lose_last: 0,
        }
    }
}

/// Most connections of a pair of hosts: each costs memory.
const MOST_CONNECTIONS: u32 = 1024;

/// How long hosts wait that expect a network without losses.
const LOSSLESS_RTO: Ps = (4_096 * NSEC) << 14;

impl Transport {
    /// What connections are made with.
    pub fn setup(&self, topology: &Topology) -> Result<host::Transport, BadInput> {
        self.check()?;
        let rto_min = |default: Ps| self.rto_min.map_or(default, |time| time.0);
        Ok(match self.kind {
            Kind::Strack => {
                let rto_min = rto_min(250 * crate::time::USEC);
                host::Transport::Strack(self.strack(topology, rto_min))
            }
            Kind::Roce => host::Transport::Roce(roce::Setup {
                mss: self.mtu - roce::OVERHEAD,
                link: topology.rate.0,
                dcqcn: self.dcqcn,
                rto: rto_min(LOSSLESS_RTO),
                priority: self.priority,
            }),
            Kind::MpRdma => host::Transport::MpRdma(mprdma::Setup {
                mss: self.mtu - mprdma::OVERHEAD,
                paths: self.paths,
                window: (self.window(topology) / u64::from(self.mtu)).max(1) as u32,
                rto: rto_min(LOSSLESS_RTO),
                priority: self.priority,
            }),
            Kind::Dctcp | Kind::Mptcp => host::Transport::Tcp(tcp::Setup {
                mss: self.mtu - tcp::OVERHEAD,
                subflows: if self.kind == Kind::Mptcp {
                    self.paths
                } else {
                    1
                },
                rto_min: rto_min(crate::time::MSEC),
                priority: self.priority,
            }),
        })
    }

    fn check(&self) -> Result<(), BadInput> {
        let headers = UDP_OVERHEAD + DATA_HEADER as u32;
        let mss = self.mtu.saturating_sub(headers);
        if !(256..=9000).contains(&mss) {
            return bad(format!(
                "transport: packets of {} bytes; {} to {} are possible",
                self.mtu,
                256 + headers,
                9000 + headers
            ));
        }
        if !(1..=MOST_CONNECTIONS).contains(&self.connections) {
            return bad(format!(
                "transport: {} connections between two hosts; 1 to {MOST_CONNECTIONS} are possible",
                self.connections
            ));
        }
        self.check_zeros()?;
        self.check_kind()?;
        if self.read_rate == Some(Rate(0)) {
            return bad("transport: who reads at rate zero never has a message".to_string());
        }
        if self.read_slow_until.is_some() && self.read_rate.is_none() {
            return bad("transport: read-slow-until needs a read-rate".to_string());
        }
        if !(1..=256).contains(&self.paths) {
            return bad(format!(
                "transport: {} paths; 1 to 256 are possible",
                self.paths
            ));
        }
        Ok(())
    }

    /// Numbers that must not be zero.
    fn check_zeros(&self) -> Result<(), BadInput> {
        let zeros = [
            ("burst", self.burst == 0),
            ("initial-window", self.initial_window == Some(Size(0))),
            ("receive-window", self.receive_window == Some(Size(0))),
            ("window-packets", self.window_packets == Some(0)),
            ("target", self.target == Some(Time(0))),
            ("rto-min", self.rto_min == Some(Time(0))),
            ("rto-initial", self.rto_initial == Some(Time(0))),
        ];
        match zeros.iter().find(|(_, zero)| *zero) {
            Some((name, _)) => bad(format!("transport.{name} is zero")),
            None => Ok(()),
        }
    }

    /// Settings that another kind of transport has.
    fn check_kind(&self) -> Result<(), BadInput> {
        let of_strack = [
            ("policy", self.policy.is_some()),
            ("profile", self.profile.0 != config::Profile::Stellar),
            ("target", self.target.is_some()),
            ("rto-initial", self.rto_initial.is_some()),
            ("window-packets", self.window_packets.is_some()),
            ("receive-window", self.receive_window.is_some()),
            ("read-rate", self.read_rate.is_some()),
            ("lose-last", self.lose_last > 0),
        ];
        let odd = of_strack.iter().find(|(_, set)| *set);
        if let (Some((name, _)), true) = (odd, self.kind != Kind::Strack) {
            return bad(format!("transport: {name} is for strack only"));
        }
        if !self.dcqcn && self.kind != Kind::Roce {
            return bad("transport: dcqcn is for roce only".to_string());
        }
        Ok(())
    }

    /// Round trip time of a full packet and its acknowledgement when all is idle.
    fn idle_rtt(&self, topology: &Topology) -> Ps {
        let answer = ACK_HEADER as u32 + UDP_OVERHEAD;
        topology.idle_rtt(u64::from(self.mtu), u64::from(answer))
    }

    /// Bytes on their way then.
    fn pipe(&self, topology: &Topology) -> u64 {
        let rtt = u128::from(self.idle_rtt(topology));
        (u128::from(topology.rate.0 / 8) * rtt / u128::from(SEC)) as u64
    }

    /// The window at the start.
    fn window(&self, topology: &Topology) -> u64 {
        self.initial_window
            .map_or(self.pipe(topology) / 2 * 3, |size| size.0)
    }

    fn strack(&self, topology: &Topology, rto_min: Ps) -> strack::Setup {
        let mss = self.mtu - UDP_OVERHEAD - DATA_HEADER as u32;
        let idle_rtt = self.idle_rtt(topology);
        let bytes_per_sec = topology.rate.0 / 8;
        let pipe = self.pipe(topology);
        let initial = self.window(topology);
        let window = (6 * pipe).max(initial) / u64::from(mss);
        let ns = |time: Ps| time / NSEC;
        let rto_min = ns(rto_min);
        let mut config = Config {
            paths: self.paths,
            mss: mss as u16,
            rto_min,
            rto_initial: self.rto_initial.map_or(rto_min, |time| ns(time.0)),
            window_packets: self.window_packets.unwrap_or(window as u32),
            link_bytes_per_sec: bytes_per_sec,
            base_rtt: ns(idle_rtt),
            min_target: ns(self.target.map_or(idle_rtt, |time| time.0)),
            initial_window: initial,
            ack_every_bytes: self.ack_bytes.0 as u32,
            max_ack_delay: ns(self.ack_delay.map_or(idle_rtt, |time| time.0)),
            burst_max: self.burst,
            ..Config::default()
        };
        config.set_profile(self.profile.0);
        if let Some(policy) = self.policy {
            config.policy = policy.0;
        }
        if config.policy == PathPolicy::Single {
            config.paths = 1;
            config.spares = 0;
        }
        config.spares = config.spares.min(256 - config.paths);
        if let Some(bytes) = self.receive_window {
            config.rcv_window = u32::try_from(bytes.0).unwrap_or(u32::MAX);
        }
        strack::Setup {
            config,
            priority: self.priority,
            idle_rtt,
            habit: self.read_rate.map(|rate| Habit {
                rate: rate.0,
                until: self.read_slow_until.map_or(Ps::MAX, |time| time.0),
            }),
            lose_last: self.lose_last,
        }
    }
}
