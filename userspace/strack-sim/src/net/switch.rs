// SPDX-License-Identifier: GPL-2.0
//! Switches: which link a packet leaves by.
//!
//! In a fat tree there is one way down and a choice on the way up. The choice is a
//! hash of the five-tuple, with a seed of the switch's own: with a common seed the
//! switches of two tiers would agree, and part of the links would stay idle. For
//! comparison a switch can also spray packets itself.

use super::link::Link;
use super::packet::Packet;
use super::LinkId;
use crate::random::mix;
use serde::Deserialize;

/// How a switch chooses among equal links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// By a hash of the five-tuple.
    #[default]
    Ecmp,
    /// One after the other, packet by packet.
    RoundRobin,
    /// At random, packet by packet.
    Random,
    /// The one with the shortest queue.
    Shortest,
}

/// A switch.
#[derive(Debug)]
pub struct Switch {
    /// Seed of its hash function.
    pub seed: u64,
    /// The positions below it: from the first to before the last.
    pub below: (u32, u32),
    /// Positions below each of its links down.
    pub stride: u32,
    /// Links down, in the order of the positions below them.
    pub down: Vec<LinkId>,
    /// Links up, all equal.
    pub up: Vec<LinkId>,
    /// Packets sent up.
    turn: u64,
}

impl Switch {
    /// A switch without links.
    pub fn new(seed: u64, below: (u32, u32), stride: u32) -> Self {
        Self {
            seed,
            below,
            stride,
            down: Vec::new(),
            up: Vec::new(),
            turn: 0,
        }
    }

    /// The link for a packet to the host at `position`.
    pub fn route(
        &mut self,
        choice: Choice,
        packet: &Packet,
        position: u32,
        links: &[Link],
    ) -> LinkId {
        let (first, last) = self.below;
        if (first..last).contains(&position) {
            return self.down[((position - first) / self.stride) as usize];
        }
        let ways = self.up.len() as u64;
        let way = match choice {
            Choice::Ecmp => flow_hash(self.seed, packet) % ways,
            Choice::RoundRobin => {
                self.turn += 1;
                self.turn % ways
            }
            Choice::Random => {
                self.turn += 1;
                mix(self.seed ^ mix(self.turn)) % ways
            }
            Choice::Shortest => {
                // Ties are broken in turn, or the first link would get all.
                self.turn += 1;
                let length = |way: &u64| links[self.up[*way as usize] as usize].waiting();
                let in_turn = (0..ways).map(|way| (way + self.turn) % ways);
                in_turn.min_by_key(length).unwrap_or(0)
            }
        };
        self.up[way as usize]
    }
}

/// A hash of the five-tuple. The protocol and the destination port are the same in
/// all packets of a transport, except that the end a packet is for stands for the
/// port where connections differ by nothing else.
pub fn flow_hash(seed: u64, packet: &Packet) -> u64 {
    let addresses = (u64::from(packet.src) << 32) | u64::from(packet.dst);
    let ports = (u64::from(packet.port) << 32) | u64::from(packet.end);
    mix(seed ^ mix(addresses ^ mix(ports ^ seed)))
}
