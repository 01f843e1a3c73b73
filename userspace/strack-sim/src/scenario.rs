// SPDX-License-Identifier: GPL-2.0
//! What is to be simulated.
//!
//! A scenario is a TOML document; everything in it has a default. The command line
//! changes single values of it, and the defaults follow: queue sizes and windows are
//! derived from the fabric unless they are given.

use crate::host;
use crate::host::roce;
use crate::host::strack;
use crate::host::strack::Policy;
use crate::host::strack::Profile;
use crate::host::tcp;
use crate::host::UDP_OVERHEAD;
use crate::net::Choice;
use crate::net::Ecn;
use crate::net::Pfc;
use crate::net::QueueRules;
use crate::random::Random;
use crate::random::Stream;
use crate::schedule::Change;
use crate::time::Ps;
use crate::time::NSEC;
use crate::topology::Topology;
use crate::unit::Size;
use crate::unit::Time;
use crate::workload::matrix;
use crate::workload::pattern;
use crate::workload::pattern::OnOff;
use crate::workload::pattern::Poisson;
use crate::workload::sizes::Sizes;
use crate::workload::Plan;
use serde::Deserialize;
use std::fmt;
use std::path::PathBuf;
use strack_proto::config;
use strack_proto::config::Config;
use strack_proto::config::PathPolicy;
use strack_proto::wire::ACK_HEADER;
use strack_proto::wire::DATA_HEADER;

/// What the user asked for makes no sense; one line says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadInput(pub String);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// An error about input.
pub fn bad<T>(what: String) -> Result<T, BadInput> {
    Err(BadInput(what))
}

/// Everything about one run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Scenario {
    /// Seed of everything random.
    pub seed: u64,
    /// When to give up.
    pub limit: Time,
    /// Hosts, switches and cables.
    pub topology: Topology,
    /// What switches do with packets.
    pub queue: Queue,
    /// How hosts talk.
    pub transport: Transport,
    /// What they say.
    pub workload: Workload,
    /// What else goes on in the network.
    pub background: Vec<Background>,
    /// What happens to links.
    pub schedule: Vec<Change>,
    /// Go on until the background is done, too.
    pub wait_for_background: bool,
}

/// Traffic beside that which is measured.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Background {
    /// How its hosts talk.
    pub transport: Transport,
    /// What they say.
    pub workload: Workload,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            seed: 1,
            limit: Time(10 * crate::time::SEC),
            topology: Topology::default(),
            queue: Queue::default(),
            transport: Transport::default(),
            workload: Workload::default(),
            background: Vec::new(),
            schedule: Vec::new(),
            wait_for_background: false,
        }
    }
}

/// How packets are marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Marking {
    /// Not at all.
    Off,
    /// With a probability that rises with the queue.
    #[default]
    Red,
    /// All of them from `ecn-min` on.
    Step,
}

/// The queues of switches.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Queue {
    /// Bytes that can wait on each link; by default one bandwidth-delay product with
    /// trimming and five without.
    pub capacity: Option<Size>,
    /// How packets are marked.
    pub ecn: Marking,
    /// Where marking begins; by default at 0.2 bandwidth-delay products.
    pub ecn_min: Option<Size>,
    /// From where on all packets are marked; by default 0.8 bandwidth-delay products.
    pub ecn_max: Option<Size>,
    /// Probability of a mark just below `ecn-max`.
    pub ecn_most: f64,
    /// Whether data that does not fit is cut to its header.
    pub trim: bool,
    /// Whether switches stop senders instead of dropping.
    pub pfc: bool,
    /// Bytes from one link at which its sender is stopped; by default 0.8
    /// bandwidth-delay products of one link.
    pub pfc_stop: Option<Size>,
    /// Bytes from one link at which it may go on; by default three quarters of that.
    pub pfc_go: Option<Size>,
    /// How switches choose among equal links.
    pub choice: Choice,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            capacity: None,
            ecn: Marking::default(),
            ecn_min: None,
            ecn_max: None,
            ecn_most: 1.0,
            trim: false,
            pfc: false,
            pfc_stop: None,
            pfc_go: None,
            choice: Choice::default(),
        }
    }
}

impl Queue {
    /// The rules for each link between switches and to hosts.
    pub fn rules(&self, topology: &Topology) -> Result<QueueRules, BadInput> {
        let pipe = topology.pipe();
        let or = |size: Option<Size>, default: u64| size.map_or(default, |size| size.0);
        let capacity = or(self.capacity, if self.trim { pipe } else { 5 * pipe });
        if self.pfc && self.trim {
            return bad("queue: with pfc nothing is left to trim".to_string());
        }
        if self.pfc && self.capacity.is_some() {
            return bad("queue: with pfc the capacity is not the limit, pfc-stop is".to_string());
        }
        if capacity == 0 {
            return bad("queue: a capacity of zero takes no packet".to_string());
        }
        let (min, max) = (or(self.ecn_min, pipe / 5), or(self.ecn_max, pipe / 5 * 4));
        if self.ecn == Marking::Red && min >= max {
            return bad(format!("queue: ecn-min {min} is not below ecn-max {max}"));
        }
        if !(0.0..=1.0).contains(&self.ecn_most) {
            return bad(format!("queue: {} is no probability", self.ecn_most));
        }
        Ok(QueueRules {
            capacity: if self.pfc { u64::MAX } else { capacity },
            ecn: match self.ecn {
                Marking::Off => Ecn::Off,
                Marking::Step => Ecn::Step(min),
                Marking::Red => Ecn::Red {
                    min,
                    max,
                    most: self.ecn_most,
                },
            },
            trim: self.trim,
        })
    }

    /// Priority flow control, if it is wanted.
    pub fn pfc(&self, topology: &Topology) -> Result<Option<Pfc>, BadInput> {
        if !self.pfc {
            if self.pfc_stop.is_some() || self.pfc_go.is_some() {
                return bad("queue: pfc-stop and pfc-go need pfc".to_string());
            }
            return Ok(None);
        }
        let stop = self.pfc_stop.map_or(topology.pipe() / 5 * 4, |size| size.0);
        let go = self.pfc_go.map_or(stop / 4 * 3, |size| size.0);
        if go > stop || go == 0 {
            return bad(format!(
                "queue: pfc-go {go} is zero or above pfc-stop {stop}"
            ));
        }
        Ok(Some(Pfc { stop, go }))
    }
}

/// How hosts talk to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The protocol of this project.
    #[default]
    Strack,
    /// RoCEv2 with DCQCN and go-back-N; usually with `queue.pfc`.
    Roce,
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
    /// Shortest retransmission timeout; by default 250 us, and 1 ms for the others.
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
        }
    }
}

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
                rto: rto_min(crate::time::MSEC),
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
        if self.connections == 0 {
            return bad("transport: no connection between two hosts carries nothing".to_string());
        }
        if !(1..=256).contains(&self.paths) {
            return bad(format!(
                "transport: {} paths; 1 to 256 are possible",
                self.paths
            ));
        }
        Ok(())
    }

    fn strack(&self, topology: &Topology, rto_min: Ps) -> strack::Setup {
        let mss = self.mtu - UDP_OVERHEAD - DATA_HEADER as u32;
        let answer = ACK_HEADER as u32 + UDP_OVERHEAD;
        let idle_rtt = topology.idle_rtt(u64::from(self.mtu), u64::from(answer));
        let bytes_per_sec = topology.rate.0 / 8;
        let pipe = (u128::from(bytes_per_sec) * u128::from(idle_rtt) / u128::from(crate::time::SEC))
            as u64;
        let initial = self.initial_window.map_or(pipe / 2 * 3, |size| size.0);
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
            burst_max: self.burst.max(1),
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
        strack::Setup {
            config,
            priority: self.priority,
            idle_rtt,
        }
    }
}

/// A pattern of traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Each host sends to one other and receives from one other.
    #[default]
    Permutation,
    /// The first host sends to the last.
    Pair,
    /// Many hosts send to one.
    Incast,
    /// An incast, and one message to a neighbour of its target, which is measured.
    Victim,
    /// Each host sends to all others.
    AllToAll,
    /// All-reduce over a ring.
    Ring,
    /// All-reduce over a ring whose hosts are in random order.
    RandomRing,
    /// All-reduce over a binary tree.
    Tree,
    /// Messages at random times.
    Poisson,
    /// A permutation that sends now and then.
    OnOff,
    /// What a connection matrix says.
    Matrix,
}

/// What hosts send.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Workload {
    /// The pattern.
    pub pattern: Pattern,
    /// Bytes of each message, or of each host's part in a collective operation.
    pub size: Size,
    /// Poisson: sizes of messages.
    pub sizes: Sizes,
    /// Incast and victim: hosts that send. Pair: messages side by side.
    pub senders: Option<u32>,
    /// All-to-all: messages that each host sends at a time.
    pub parallel: u32,
    /// Tree: parts that follow each other.
    pub parts: u32,
    /// Poisson: part of the hosts' rate.
    pub load: f64,
    /// Poisson and on-off: how long messages keep coming.
    pub duration: Time,
    /// On-off: time from one message to the next.
    pub period: Time,
    /// Only the first so many hosts take part; by default all.
    pub hosts: Option<u32>,
    /// File with the connection matrix.
    pub file: Option<PathBuf>,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            pattern: Pattern::default(),
            size: Size(2_000_000),
            sizes: Sizes::default(),
            senders: None,
            parallel: 1,
            parts: 16,
            load: 0.5,
            duration: Time(crate::time::MSEC),
            period: Time(100 * crate::time::USEC),
            hosts: None,
            file: None,
        }
    }
}

impl Workload {
    /// All messages.
    pub fn plan(&self, topology: &Topology, random: &mut Random) -> Result<Plan, BadInput> {
        let hosts = self.hosts.unwrap_or(topology.hosts);
        if hosts > topology.hosts {
            return bad(format!(
                "workload: {hosts} hosts, and the topology has {}",
                topology.hosts
            ));
        }
        let bytes = self.size.0;
        if bytes == 0 {
            return bad("workload: messages of size zero".to_string());
        }
        if self.file.is_some() != (self.pattern == Pattern::Matrix) {
            return bad("workload: a file and the pattern 'matrix' belong together".to_string());
        }
        let ring: Vec<u32> = (0..hosts).collect();
        match self.pattern {
            Pattern::Permutation => pattern::permutation(hosts, bytes, random),
            Pattern::Pair => pattern::pair(hosts, bytes, self.senders.unwrap_or(1)),
            Pattern::Incast => pattern::incast(
                hosts,
                bytes,
                self.senders.unwrap_or(hosts.saturating_sub(1)),
            ),
            Pattern::Victim => pattern::victim(hosts, bytes, self.senders.unwrap_or(7)),
            Pattern::AllToAll => pattern::all_to_all(hosts, bytes, self.parallel),
            Pattern::Ring => pattern::ring_all_reduce(&ring, bytes),
            Pattern::RandomRing => {
                let mut ring = ring;
                random.shuffle(&mut ring);
                pattern::ring_all_reduce(&ring, bytes)
            }
            Pattern::Tree => pattern::tree_all_reduce(hosts, bytes, self.parts),
            Pattern::Poisson => Poisson {
                sizes: self.sizes,
                bytes,
                load: self.load,
                rate: topology.rate.0,
                duration: self.duration.0,
            }
            .plan(hosts, random),
            Pattern::OnOff => OnOff {
                bytes,
                period: self.period.0,
                duration: self.duration.0,
            }
            .plan(hosts, random),
            Pattern::Matrix => {
                let path = self.file.clone().unwrap_or_default();
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| BadInput(format!("{}: {error}", path.display())))?;
                let (plan, nodes) = matrix::read(&text)
                    .map_err(|error| BadInput(format!("{}: {error}", path.display())))?;
                if nodes > hosts {
                    return bad(format!(
                        "{}: a matrix for {nodes} hosts, and the topology has {hosts}",
                        path.display()
                    ));
                }
                Ok(plan)
            }
        }
    }
}

impl Scenario {
    /// All messages, those of the background behind the others.
    pub fn plan(&self) -> Result<Plan, BadInput> {
        let mut random = Random::new(self.seed, Stream::Workload);
        let mut plan = self.workload.plan(&self.topology, &mut random)?;
        for (class, background) in (1..).zip(&self.background) {
            let other = background.workload.plan(&self.topology, &mut random)?;
            plan.append(other, class);
        }
        if plan.messages.iter().all(|message| message.class != 0) {
            return bad("workload: no messages in the time there is".to_string());
        }
        Ok(plan)
    }
}

impl Scenario {
    /// Reads a scenario from TOML, with single values replaced: `key.key=value`.
    pub fn read(text: &str, changes: &[String]) -> Result<Self, BadInput> {
        let mut table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| BadInput(one_line(&error)))?;
        for change in changes {
            apply(&mut table, change)?;
        }
        Self::from_table(table)
    }

    /// The scenario in a table.
    pub fn from_table(table: toml::Table) -> Result<Self, BadInput> {
        table
            .try_into()
            .map_err(|error: toml::de::Error| BadInput(one_line(&error)))
    }
}

/// What a TOML error says, on one line.
fn one_line(error: &toml::de::Error) -> String {
    error
        .message()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Replaces one value of a table.
pub fn apply(table: &mut toml::Table, change: &str) -> Result<(), BadInput> {
    let Some((path, value)) = change.split_once('=') else {
        return bad(format!("'{change}' is not 'key=value'"));
    };
    // Whatever is not a number, a boolean or the like is a string.
    let value = format!("value = {value}")
        .parse::<toml::Table>()
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_string()));
    let mut keys: Vec<&str> = path.split('.').collect();
    let last = keys.pop().unwrap_or_default();
    let mut inner = table;
    for key in keys {
        let next = inner
            .entry(key)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
        let Some(next) = next.as_table_mut() else {
            return bad(format!("'{path}': {key} has no parts"));
        };
        inner = next;
    }
    inner.insert(last.to_string(), value);
    Ok(())
}
