// SPDX-License-Identifier: GPL-2.0

//! When an ACK is due, and which packet it answers.
//!
//! An ACK echoes one packet: its path, congestion mark and transmission time.
//! Packets are acknowledged together, after so many bytes, packets or so much
//! time, but some are worth an ACK at once. Those that become due before the
//! host gets to send are merged into one, which answers the packet that has most
//! to tell: a congestion mark before a duplicate before the newest packet. The
//! answer to a PROBE, or to a packet that was not taken, is always a packet of its own,
//! since it speaks of one path or packet; while the host is busy sending, the latest of
//! them wait. When a sender is in trouble, as
//! retransmissions and probes show, it is answered twice, on two paths: the trouble
//! may be that the path of an ACK is dead. So is one that waits for credit.

use crate::{
    host::{
        AllocError,
        Buffer, //
    },
    proto::{
        config::Config,
        psn::Psn,
        wire::flags,
        Ns, //
    },
};

/// What an ACK tells the sender about the packet it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// PSN of the packet.
    pub psn: Psn,
    /// Entropy value its sender chose.
    pub entropy: u16,
    /// Its transmission time on the sender's clock.
    pub tx_time: u32,
    /// When it arrived.
    pub arrived: Ns,
    /// `flags::ACK_*` that concern it.
    pub flags: u8,
}

impl Echo {
    /// Whether the sender is in trouble, and may be because an ACK was lost.
    fn is_urgent(&self) -> bool {
        self.flags & (flags::ACK_RETX | flags::ACK_PROBE) != 0
    }

    /// How much the sender would miss this one.
    fn weight(&self) -> u8 {
        if self.flags & flags::ACK_CE != 0 {
            2
        } else if self.flags & flags::ACK_DUP != 0 {
            1
        } else {
            0
        }
    }
}

/// Most PROBEs that can wait for their answers: what a peer with many paths sends
/// within some hundred microseconds. The oldest gives way.
const PROBES: usize = 32;

/// The acknowledgements that are pending.
pub struct Schedule {
    every_bytes: u32,
    every_packets: u16,
    max_delay: Ns,
    bytes: u32,
    packets: u16,
    due: bool,
    // It is due once more after that.
    twice: bool,
    // The packet to answer.
    echo: Option<Echo>,
    // PROBEs to answer, in a ring: where the oldest is, and how many.
    probes: Buffer<Option<Echo>>,
    first_probe: usize,
    probe_count: usize,
    // An answer that has been given once and shall be given again.
    repeat: Option<Echo>,
    deadline: Option<Ns>,
}

impl Schedule {
    /// Nothing pending.
    pub fn new(config: &Config) -> Result<Self, AllocError> {
        Ok(Self {
            every_bytes: config.ack_every_bytes,
            every_packets: config.ack_every_packets,
            max_delay: config.max_ack_delay,
            bytes: 0,
            packets: 0,
            due: false,
            twice: false,
            echo: None,
            probes: Buffer::new(PROBES, None)?,
            first_probe: 0,
            probe_count: 0,
            repeat: None,
            deadline: None,
        })
    }

    /// A DATA packet of `len` bytes has arrived and shall be acknowledged, possibly
    /// `at_once`.
    pub fn on_data(&mut self, echo: Echo, len: u16, at_once: bool) {
        self.bytes = self.bytes.saturating_add(u32::from(len));
        self.packets = self.packets.saturating_add(1);
        let replace = match &self.echo {
            Some(old) => echo.weight() >= old.weight(),
            None => true,
        };
        if replace {
            self.echo = Some(echo);
        }
        self.due |= at_once
            || self.bytes >= self.every_bytes
            || self.packets >= self.every_packets
            || self.max_delay == 0;
        if self.deadline.is_none() {
            self.deadline = Some(echo.arrived.saturating_add(self.max_delay));
        }
    }

    /// A packet has arrived whose ACK has to be one of its own: a PROBE, or one that was
    /// not taken.
    pub fn on_alone(&mut self, echo: Echo) {
        if self.probe_count == PROBES {
            self.take_probe();
        }
        let last = (self.first_probe + self.probe_count) % PROBES;
        if let Some(slot) = self.probes.get_mut(last) {
            *slot = Some(echo);
            self.probe_count += 1;
        }
    }

    /// The oldest PROBE that waits for its answer.
    fn take_probe(&mut self) -> Option<Echo> {
        if self.probe_count == 0 {
            return None;
        }
        let first = self.first_probe;
        self.first_probe = (first + 1) % PROBES;
        self.probe_count -= 1;
        self.probes.get_mut(first)?.take()
    }

    /// Something other than a packet makes an ACK due.
    pub fn request(&mut self) {
        self.due = true;
    }

    /// The same, and the peer waits for it: it is told twice, on two paths.
    pub fn request_twice(&mut self) {
        self.due = true;
        self.twice = true;
    }

    /// The time at which pending packets are acknowledged at the latest.
    pub fn deadline(&self) -> Option<Ns> {
        if self.is_due() {
            None
        } else {
            self.deadline
        }
    }

    /// The time is `now`.
    pub fn on_timer(&mut self, now: Ns) {
        self.due |= self.deadline.is_some_and(|deadline| deadline <= now);
    }

    /// Whether an ACK is due.
    pub fn is_due(&self) -> bool {
        self.due || self.probe_count > 0 || self.repeat.is_some()
    }

    /// An ACK that is due leaves now. Returns the packet it answers, if any.
    pub fn take(&mut self) -> Option<Echo> {
        if let Some(again) = self.repeat.take() {
            return Some(again);
        }
        let echo = match self.take_probe() {
            Some(probe) => Some(probe),
            None => {
                self.bytes = 0;
                self.packets = 0;
                self.due = core::mem::take(&mut self.twice);
                self.deadline = None;
                self.echo.take()
            }
        };
        self.repeat = echo.filter(Echo::is_urgent);
        echo
    }
}
