// SPDX-License-Identifier: GPL-2.0
//! One direction of a cable, and the queue in front of it.
//!
//! There are two queues: control packets (headers without payload) go first, data
//! waits. Packets are marked when they leave the queue, by how much waits then: a
//! mark set on arrival would be older by the time spent in the queue.

use super::PacketId;
use crate::time::Ps;
use std::collections::VecDeque;

/// When data is marked, by the bytes that wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ecn {
    /// Never.
    Off,
    /// With a probability that rises from 0 at `min` to `most` at `max`, and
    /// always beyond.
    Red {
        /// Bytes up to which nothing is marked.
        min: u64,
        /// Bytes from which everything is.
        max: u64,
        /// Probability just below `max`.
        most: f64,
    },
    /// Everything from this many bytes on.
    Step(u64),
}

impl Ecn {
    /// The probability of a mark when `waiting` bytes wait.
    pub fn probability(&self, waiting: u64) -> f64 {
        match *self {
            Self::Off => 0.0,
            Self::Step(at) => f64::from(u8::from(waiting >= at)),
            Self::Red { min, max, most } => {
                if waiting <= min {
                    0.0
                } else if waiting >= max {
                    1.0
                } else {
                    most * (waiting - min) as f64 / (max - min) as f64
                }
            }
        }
    }
}

/// What the queue of a link does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueRules {
    /// Bytes of data that can wait; the same number of control bytes can, too.
    pub capacity: u64,
    /// When data is marked.
    pub ecn: Ecn,
    /// Data that does not fit loses its payload instead of being dropped.
    pub trim: bool,
}

impl QueueRules {
    /// The queue of a host: its memory.
    pub const HOST: Self = Self {
        capacity: u64::MAX,
        ecn: Ecn::Off,
        trim: false,
    };
}

/// What is at an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A host.
    Host(u32),
    /// A switch.
    Switch(u32),
}

/// What a link has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Bytes of data that were to be put on the wire, with those that found no room.
    pub offered: u64,
    /// Bytes put on the wire.
    pub bytes: u64,
    /// Packets put on the wire.
    pub packets: u64,
    /// Data packets that found the queue full.
    pub dropped: u64,
    /// Data packets that lost their payload instead.
    pub trimmed: u64,
    /// Data packets marked.
    pub marked: u64,
    /// Packets lost on the wire.
    pub lost: u64,
    /// Most data bytes that ever waited.
    pub longest: u64,
    /// Sum over time of data bytes waiting, in bytes times picoseconds.
    pub area: u128,
    /// How often the far end said stop.
    pub pauses: u64,
}

/// One direction of a cable and its queue.
#[derive(Debug)]
pub struct Link {
    /// Where it begins.
    pub from: Node,
    /// Where it ends.
    pub to: Node,
    /// Bits per second.
    pub rate: u64,
    /// From when a bit is sent to when it arrives.
    pub delay: Ps,
    /// Probability that a packet is lost on the wire.
    pub loss: f64,
    /// Whether anything comes out at all; a dead link takes packets like a good one.
    pub up: bool,
    /// What the queue does.
    pub rules: QueueRules,
    /// What happened.
    pub counts: LinkCounts,
    /// The far end has said stop.
    pub paused: bool,
    /// Bytes that came by this link and still wait in the switch at its end.
    pub behind: u64,
    /// We have told the near end to stop.
    pub stopping: bool,
    pub(super) free_at: Ps,
    pub(super) woken: bool,
    control: VecDeque<PacketId>,
    data: VecDeque<PacketId>,
    control_bytes: u64,
    data_bytes: u64,
    changed_at: Ps,
}

impl Link {
    /// A link with nothing in it.
    pub fn new(from: Node, to: Node, rate: u64, delay: Ps, rules: QueueRules) -> Self {
        Self {
            from,
            to,
            rate,
            delay,
            loss: 0.0,
            up: true,
            rules,
            counts: LinkCounts::default(),
            paused: false,
            behind: 0,
            stopping: false,
            free_at: 0,
            woken: false,
            control: VecDeque::new(),
            data: VecDeque::new(),
            control_bytes: 0,
            data_bytes: 0,
            changed_at: 0,
        }
    }

    /// How long `bytes` take to be sent.
    pub fn send_time(&self, bytes: u64) -> Ps {
        bytes * 8_000_000_000_000 / self.rate
    }

    /// Data bytes that wait.
    pub fn data_bytes(&self) -> u64 {
        self.data_bytes
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> u64 {
        self.data_bytes + self.control_bytes
    }

    /// Whether `bytes` more fit into one of the queues.
    pub(super) fn fits(&self, control: bool, bytes: u64) -> bool {
        let waiting = if control {
            self.control_bytes
        } else {
            self.data_bytes
        };
        waiting.saturating_add(bytes) <= self.rules.capacity
    }

    /// Whether there is a packet that may be sent.
    pub(super) fn sendable(&self) -> bool {
        !self.control.is_empty() || (!self.paused && !self.data.is_empty())
    }

    pub(super) fn push(&mut self, now: Ps, packet: PacketId, control: bool, bytes: u64) {
        if control {
            self.control.push_back(packet);
            self.control_bytes += bytes;
            return;
        }
        self.account(now);
        self.data.push_back(packet);
        self.data_bytes += bytes;
        self.counts.longest = self.counts.longest.max(self.data_bytes);
    }

    /// The packet to be sent next, and whether it is control. The caller says with
    /// [`Self::popped`] how long it was.
    pub(super) fn pop(&mut self) -> Option<(PacketId, bool)> {
        if let Some(packet) = self.control.pop_front() {
            return Some((packet, true));
        }
        if self.paused {
            return None;
        }
        Some((self.data.pop_front()?, false))
    }

    pub(super) fn popped(&mut self, now: Ps, control: bool, bytes: u64) {
        if control {
            self.control_bytes -= bytes;
        } else {
            self.account(now);
            self.data_bytes -= bytes;
        }
        self.counts.bytes += bytes;
        self.counts.packets += 1;
    }

    /// Adds up what has waited for how long.
    fn account(&mut self, now: Ps) {
        self.counts.area += u128::from(self.data_bytes) * u128::from(now - self.changed_at);
        self.changed_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_rise_between_the_thresholds() {
        let red = Ecn::Red {
            min: 100,
            max: 200,
            most: 0.5,
        };
        let p = |waiting| red.probability(waiting);
        assert_eq!((p(100), p(150), p(199), p(200)), (0.0, 0.25, 0.495, 1.0));
        let step = Ecn::Step(100);
        assert_eq!((step.probability(99), step.probability(100)), (0.0, 1.0));
    }

    #[test]
    fn a_byte_at_100_gigabits_takes_80_ps() {
        let (a, b) = (Node::Host(0), Node::Switch(0));
        let link = Link::new(a, b, 100_000_000_000, 0, QueueRules::HOST);
        assert_eq!(link.send_time(4150), 332_000);
    }
}
