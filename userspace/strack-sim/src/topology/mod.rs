// SPDX-License-Identifier: GPL-2.0
//! Fat trees: how hosts and switches are cabled.
//!
//! ```text
//!  2 tiers                          3 tiers
//!      spine0  spine1 ...               core0 core1 | core2 core3      groups, one for
//!        | \  / |                          \   /        \   /          each agg of a pod
//!        |  \/  |                          agg0         agg1   ...
//!        |  /\  |                            |  \      / |
//!      tor0    tor1   ...                   tor0       tor1    ...     pod
//!       /|\     /|\                          /|\        /|\
//!      hosts   hosts                        hosts      hosts
//! ```
//!
//! A host's *position* is its place in the tree, from left to right. Usually that is
//! its number. With rails, the hosts of a server (its accelerators) each have a ToR
//! of their own, which they share with those of the same rank in other servers. With
//! planes, the whole tree exists several times, and each host has a port into each.

use crate::net::Link;
use crate::net::LinkId;
use crate::net::Net;
use crate::net::Node;
use crate::net::Packets;
use crate::net::QueueRules;
use crate::net::Switch;
use crate::random::Random;
use crate::random::Stream;
use crate::scenario::bad;
use crate::scenario::BadInput;
use crate::scenario::Scenario;
use crate::time::Ps;
use crate::time::SEC;
use crate::unit::Rate;
use crate::unit::Time;
use serde::Deserialize;

/// The cabling that is wanted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Topology {
    /// Tiers of switches, 2 or 3.
    pub tiers: u32,
    /// Hosts.
    pub hosts: u32,
    /// Hosts below each ToR; by default as many as its uplinks in a tree of equal
    /// switches.
    pub hosts_per_tor: Option<u32>,
    /// Uplinks of each ToR, each to a switch of its own.
    pub uplinks: Option<u32>,
    /// ToRs of a pod (3 tiers).
    pub tors_per_pod: Option<u32>,
    /// Uplinks of each agg (3 tiers).
    pub core_uplinks: Option<u32>,
    /// Rate of the hosts' links.
    pub rate: Rate,
    /// Rate of the links between switches; by default that of the hosts.
    pub fabric_rate: Option<Rate>,
    /// Delay of each link.
    pub delay: Time,
    /// Accelerators of each server, each with a ToR of its own.
    pub rails: u32,
    /// Trees side by side.
    pub planes: u32,
}

impl Default for Topology {
    fn default() -> Self {
        Self {
            tiers: 3,
            hosts: 128,
            hosts_per_tor: None,
            uplinks: None,
            tors_per_pod: None,
            core_uplinks: None,
            rate: Rate(100_000_000_000),
            fabric_rate: None,
            delay: Time(1_000_000),
            rails: 1,
            planes: 1,
        }
    }
}

/// A tree with all its numbers, found possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    hosts: u32,
    tiers: u32,
    hosts_per_tor: u32,
    uplinks: u32,
    tors: u32,
    tors_per_pod: u32,
    core_uplinks: u32,
}

/// A byte takes a picosecond, which is what time is counted in.
const FASTEST: Rate = Rate(8_000_000_000_000);

const LONGEST_DELAY: Time = Time(SEC);

/// Most cables of a network: each costs memory.
const MOST_CABLES: u64 = 4_000_000;

impl Shape {
    /// Cables of one plane.
    fn cables(&self) -> u64 {
        let wide = u64::from;
        let above_tors = wide(self.tors) * wide(self.uplinks);
        let above_aggs = if self.tiers == 3 {
            let pods = wide(self.tors / self.tors_per_pod);
            (pods * wide(self.uplinks)).saturating_mul(self.core_uplinks.into())
        } else {
            0
        };
        above_aggs.saturating_add(wide(self.hosts) + above_tors)
    }
}

impl Topology {
    fn shape(&self) -> Result<Shape, BadInput> {
        let hosts = self.hosts;
        let positive = |name: &str, n: u32| {
            if n == 0 {
                return bad(format!("topology.{name} is zero"));
            }
            Ok(n)
        };
        positive("hosts", hosts)?;
        positive("rails", self.rails)?;
        positive("planes", self.planes)?;
        if self.rate.0 == 0 || self.fabric_rate.is_some_and(|rate| rate.0 == 0) {
            return bad("topology: a link of rate zero carries nothing".to_string());
        }
        let fastest = self.rate.max(self.fabric_rate.unwrap_or(self.rate));
        if fastest > FASTEST || self.delay > LONGEST_DELAY {
            return bad("topology: links have up to 8T, and a delay of up to 1s".to_string());
        }
        let (hosts_per_tor, tors_per_pod) = match self.tiers {
            2 => {
                if self.tors_per_pod.is_some() || self.core_uplinks.is_some() {
                    return bad("topology: pods and a core need 3 tiers".to_string());
                }
                (self.hosts_per_tor.unwrap_or_else(|| root(hosts, 2)), 1)
            }
            3 => {
                // As many ports up as down at each switch: k^3/4 hosts.
                let half = root(hosts.saturating_mul(4), 3) / 2;
                let half = half.max(1);
                (
                    self.hosts_per_tor.unwrap_or(half),
                    self.tors_per_pod.unwrap_or(half),
                )
            }
            tiers => return bad(format!("topology: {tiers} tiers; there can be 2 or 3")),
        };
        positive("hosts-per-tor", hosts_per_tor)?;
        positive("tors-per-pod", tors_per_pod)?;
        let of_pod = u64::from(hosts_per_tor) * u64::from(tors_per_pod);
        if u64::from(hosts) % of_pod != 0 {
            return bad(format!(
                "topology: {hosts} hosts cannot be divided among ToRs of {hosts_per_tor} hosts\
                 {}",
                if self.tiers == 3 {
                    format!(" in pods of {tors_per_pod}")
                } else {
                    String::new()
                }
            ));
        }
        let uplinks = positive("uplinks", self.uplinks.unwrap_or(hosts_per_tor))?;
        let core_uplinks = self.core_uplinks.unwrap_or(tors_per_pod);
        let shape = Shape {
            hosts,
            tiers: self.tiers,
            hosts_per_tor,
            uplinks,
            tors: hosts / hosts_per_tor,
            tors_per_pod,
            core_uplinks: positive("core-uplinks", core_uplinks)?,
        };
        if shape.cables().saturating_mul(self.planes.into()) > MOST_CABLES {
            return bad(format!("topology: more than {MOST_CABLES} cables"));
        }
        if hosts % self.rails != 0 || (self.rails > 1 && shape.tors % self.rails != 0) {
            return bad(format!(
                "topology: {hosts} hosts below {} ToRs have no {} rails",
                shape.tors, self.rails
            ));
        }
        Ok(shape)
    }

    /// Links on the longest way between two hosts.
    pub fn longest_way(&self) -> u64 {
        2 * u64::from(self.tiers)
    }

    /// Round trip time of a packet of `data` bytes on the longest idle way, answered
    /// by one of `answer` bytes.
    pub fn idle_rtt(&self, data: u64, answer: u64) -> Ps {
        let fabric = self.fabric_rate.unwrap_or(self.rate).0;
        let inner = self.longest_way() - 2;
        let way = |bytes: u64| {
            let bits = bytes * 8_000_000_000_000;
            self.longest_way() * self.delay.0 + 2 * (bits / self.rate.0) + inner * (bits / fabric)
        };
        way(data) + way(answer)
    }

    /// Bytes that are on their way between two hosts at full speed, without any
    /// queue and without counting the time that switches need to take a packet in.
    pub fn pipe(&self) -> u64 {
        let rtt = 2 * self.longest_way() * self.delay.0;
        (u128::from(self.rate.0) * u128::from(rtt) / 8_000_000_000_000) as u64
    }
}

/// The largest number whose `power` is not more than `n`.
fn root(n: u32, power: u32) -> u32 {
    (1..)
        .take_while(|&r: &u64| r.pow(power) <= u64::from(n))
        .last()
        .unwrap_or(1) as u32
}

/// Puts a network together.
struct Builder {
    net: Net,
    rules: QueueRules,
    random: Random,
    host_rate: u64,
    fabric_rate: u64,
    delay: Ps,
}

/// The network of a scenario.
pub fn build(scenario: &Scenario) -> Result<Net, BadInput> {
    let topology = &scenario.topology;
    let shape = topology.shape()?;
    let rules = scenario.queue.rules(topology)?;
    let mut builder = Builder {
        net: Net {
            links: Vec::new(),
            names: Vec::new(),
            switches: Vec::new(),
            uplinks: vec![Vec::new(); shape.hosts as usize],
            positions: positions(shape, topology.rails),
            choice: scenario.queue.choice,
            pfc: scenario.queue.pfc(topology)?,
            packets: Packets::default(),
            random: Random::new(scenario.seed, Stream::Links),
        },
        rules,
        random: Random::new(scenario.seed, Stream::Switches),
        host_rate: topology.rate.0,
        fabric_rate: topology.fabric_rate.unwrap_or(topology.rate).0,
        delay: topology.delay.0,
    };
    for plane in 0..topology.planes {
        let prefix = if topology.planes > 1 {
            format!("plane{plane}.")
        } else {
            String::new()
        };
        builder.plane(shape, &prefix);
    }
    Ok(builder.net)
}

/// Position of each host.
fn positions(shape: Shape, rails: u32) -> Vec<u32> {
    // Server by server, each of its accelerators below another ToR.
    let groups = shape.tors / rails.max(1);
    (0..shape.hosts)
        .map(|host| {
            if rails <= 1 {
                return host;
            }
            let (server, rail) = (host / rails, host % rails);
            let (group, place) = (server / shape.hosts_per_tor, server % shape.hosts_per_tor);
            debug_assert!(group < groups);
            (group * rails + rail) * shape.hosts_per_tor + place
        })
        .collect()
}

impl Builder {
    fn switch(&mut self, below: (u32, u32), stride: u32) -> u32 {
        let seed = self.random.bits();
        self.net.switches.push(Switch::new(seed, below, stride));
        (self.net.switches.len() - 1) as u32
    }

    fn link(&mut self, from: Node, to: Node, rate: u64, rules: QueueRules, name: String) -> LinkId {
        let link = Link::new(from, to, rate, self.delay, rules);
        self.net.links.push(link);
        self.net.names.push(name);
        (self.net.links.len() - 1) as LinkId
    }

    /// A cable between a lower and an upper switch: a link each way.
    fn cable(&mut self, lower: (u32, &str), upper: (u32, &str)) {
        let (low, high) = (Node::Switch(lower.0), Node::Switch(upper.0));
        let (rate, rules) = (self.fabric_rate, self.rules);
        let up = self.link(low, high, rate, rules, format!("{}:{}", lower.1, upper.1));
        let down = self.link(high, low, rate, rules, format!("{}:{}", upper.1, lower.1));
        self.net.switches[lower.0 as usize].up.push(up);
        self.net.switches[upper.0 as usize].down.push(down);
    }

    /// One whole tree.
    fn plane(&mut self, shape: Shape, prefix: &str) {
        let per_tor = shape.hosts_per_tor;
        let tors: Vec<_> = (0..shape.tors)
            .map(|tor| self.switch((tor * per_tor, (tor + 1) * per_tor), 1))
            .collect();
        let mut at_position = vec![0; shape.hosts as usize];
        for (host, &position) in self.net.positions.iter().enumerate() {
            at_position[position as usize] = host as u32;
        }
        for (position, host) in (0..).zip(at_position) {
            let tor = position / per_tor;
            let (above, below) = (Node::Switch(tors[tor as usize]), Node::Host(host));
            let rate = self.host_rate;
            let names = (format!("host{host}"), format!("{prefix}tor{tor}"));
            let name = format!("{}:{}", names.0, names.1);
            let up = self.link(below, above, rate, QueueRules::HOST, name);
            let name = format!("{}:{}", names.1, names.0);
            let rules = self.rules;
            let down = self.link(above, below, rate, rules, name);
            self.net.uplinks[host as usize].push(up);
            self.net.switches[tors[tor as usize] as usize]
                .down
                .push(down);
        }
        if shape.tiers == 2 {
            self.spines(shape, prefix, &tors);
        } else {
            self.pods(shape, prefix, &tors);
        }
    }

    fn spines(&mut self, shape: Shape, prefix: &str, tors: &[u32]) {
        for spine in 0..shape.uplinks {
            let switch = self.switch((0, shape.hosts), shape.hosts_per_tor);
            let name = format!("{prefix}spine{spine}");
            for (tor, &lower) in tors.iter().enumerate() {
                self.cable((lower, &format!("{prefix}tor{tor}")), (switch, &name));
            }
        }
    }

    fn pods(&mut self, shape: Shape, prefix: &str, tors: &[u32]) {
        let per_pod = shape.tors_per_pod * shape.hosts_per_tor;
        let cores: Vec<_> = (0..shape.uplinks * shape.core_uplinks)
            .map(|_| self.switch((0, shape.hosts), per_pod))
            .collect();
        for (pod, pod_tors) in (0_u32..).zip(tors.chunks(shape.tors_per_pod as usize)) {
            for group in 0..shape.uplinks {
                let below = (pod * per_pod, (pod + 1) * per_pod);
                let agg = self.switch(below, shape.hosts_per_tor);
                let name = format!("{prefix}agg{}", pod * shape.uplinks + group);
                for (tor, &lower) in (pod * shape.tors_per_pod..).zip(pod_tors) {
                    self.cable((lower, &format!("{prefix}tor{tor}")), (agg, &name));
                }
                for core in group * shape.core_uplinks..(group + 1) * shape.core_uplinks {
                    let core_name = format!("{prefix}core{core}");
                    self.cable((agg, &name), (cores[core as usize], &core_name));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
