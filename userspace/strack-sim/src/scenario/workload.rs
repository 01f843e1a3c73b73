// SPDX-License-Identifier: GPL-2.0
//! What hosts send.

use super::bad;
use super::BadInput;
use crate::random::Random;
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
use std::path::PathBuf;

/// A pattern of traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Each host sends to one other and receives from one other.
    #[default]
    Permutation,
    /// The first host sends to the last.
    Pair,
    /// Each host of the first half sends to one of the second half.
    Across,
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
    /// Rings and tree: parts that follow each other; by default one in a ring, and 16 in a
    /// tree.
    pub parts: Option<u32>,
    /// Poisson: part of the hosts' rate.
    pub load: f64,
    /// Poisson and on-off: how long messages keep coming.
    pub duration: Time,
    /// On-off: time from one message to the next.
    pub period: Time,
    /// Only so many hosts take part; by default all.
    pub hosts: Option<u32>,
    /// The first of them.
    pub first: u32,
    /// From one of them to the next.
    pub stride: u32,
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
            parts: None,
            load: 0.5,
            duration: Time(crate::time::MSEC),
            period: Time(100 * crate::time::USEC),
            hosts: None,
            first: 0,
            stride: 1,
            file: None,
        }
    }
}

impl Workload {
    /// All messages.
    pub fn plan(&self, topology: &Topology, random: &mut Random) -> Result<Plan, BadInput> {
        let hosts = self.hosts.unwrap_or(topology.hosts);
        let last =
            u64::from(self.first) + u64::from(self.stride) * u64::from(hosts.saturating_sub(1));
        if hosts > topology.hosts || last >= u64::from(topology.hosts) {
            return bad(format!(
                "workload: {hosts} hosts up to number {last}, and the topology has {}",
                topology.hosts
            ));
        }
        if self.stride == 0 {
            return bad("workload: a stride of zero is always the same host".to_string());
        }
        let sends = matches!(
            self.pattern,
            Pattern::Pair | Pattern::Incast | Pattern::Victim
        );
        if self.senders.is_some() && !sends {
            return bad("workload: senders are for pair, incast and victim".to_string());
        }
        let collective = matches!(
            self.pattern,
            Pattern::Ring | Pattern::RandomRing | Pattern::Tree
        );
        if self.parts.is_some() && !collective {
            return bad("workload: parts are for rings and trees".to_string());
        }
        let mut plan = self.among(hosts, topology, random)?;
        plan.rename(|host| self.first + self.stride * host);
        Ok(plan)
    }

    /// All messages, if the hosts that take part are numbered from 0 on.
    fn among(
        &self,
        hosts: u32,
        topology: &Topology,
        random: &mut Random,
    ) -> Result<Plan, BadInput> {
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
            Pattern::Across => pattern::across(hosts, bytes),
            Pattern::Incast => pattern::incast(
                hosts,
                bytes,
                self.senders.unwrap_or(hosts.saturating_sub(1)),
            ),
            Pattern::Victim => pattern::victim(hosts, bytes, self.senders.unwrap_or(7)),
            Pattern::AllToAll => pattern::all_to_all(hosts, bytes, self.parallel),
            Pattern::Ring => pattern::ring_all_reduce(&ring, bytes, self.parts.unwrap_or(1)),
            Pattern::RandomRing => {
                let mut ring = ring;
                random.shuffle(&mut ring);
                pattern::ring_all_reduce(&ring, bytes, self.parts.unwrap_or(1))
            }
            Pattern::Tree => pattern::tree_all_reduce(hosts, bytes, self.parts.unwrap_or(16)),
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
