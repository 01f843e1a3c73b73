// SPDX-License-Identifier: GPL-2.0

//! Probes that ask for the tail.
//!
//! When nothing was heard for a while after the last packet, the packets in flight or
//! their acknowledgements may be lost. A probe on the path of a packet arrives after it,
//! unless that is lost, and costs a round trip where a timeout costs several. One probe
//! speaks of one path only. So the paths of the oldest packets are all asked together,
//! and each answer tells of its own.

use crate::proto::{
    wire::AckHeader,
    Ns, //
};

/// Most paths that are asked together.
const MOST: usize = 8;

/// The latest probes for the tail.
#[derive(Clone, Debug)]
pub struct Probes {
    sent_at: Ns,
    entropies: [u16; MOST],
    chosen: usize,
    sent: usize,
    /// Bit i: the probe on `entropies[i]` was answered.
    answered: u8,
}

impl Probes {
    /// None sent.
    pub const fn new() -> Self {
        Self {
            sent_at: 0,
            entropies: [0; MOST],
            chosen: 0,
            sent: 0,
            answered: 0,
        }
    }

    /// Asks the first `most` different paths of `packets`, which are the entropy values
    /// of packets in flight, oldest first.
    pub fn choose(&mut self, packets: impl Iterator<Item = u16>, most: u16) {
        *self = Self {
            sent_at: self.sent_at,
            ..Self::new()
        };
        let most = usize::from(most).min(MOST);
        for entropy in packets {
            if self.chosen == most {
                break;
            }
            if self.chosen().contains(&entropy) {
                continue;
            }
            if let Some(slot) = self.entropies.get_mut(self.chosen) {
                *slot = entropy;
                self.chosen += 1;
            }
        }
    }

    fn chosen(&self) -> &[u16] {
        self.entropies.get(..self.chosen).unwrap_or(&[])
    }

    /// The path of the probe that is sent next.
    pub fn next(&mut self, now: Ns) -> Option<u16> {
        let entropy = self.chosen().get(self.sent).copied()?;
        if self.sent == 0 {
            self.sent_at = now;
        }
        self.sent += 1;
        Some(entropy)
    }

    /// When the latest left, if any did.
    pub fn sent_at(&self) -> Ns {
        self.sent_at
    }

    /// Whether there are more to send.
    pub fn is_pending(&self) -> bool {
        self.sent < self.chosen
    }

    /// When the probe left that `ack` answers, if it answers one, for the first time.
    pub fn answered(&mut self, ack: &AckHeader) -> Option<Ns> {
        let sent = self.chosen().get(..self.sent)?;
        let index = sent.iter().position(|&entropy| entropy == ack.entropy)?;
        // The time as it stands in headers.
        let same = Ns::from(ack.echo_time) == self.sent_at & Ns::from(u32::MAX);
        let bit = 1 << index;
        if !same || self.answered & bit != 0 {
            return None;
        }
        self.answered |= bit;
        Some(self.sent_at)
    }
}

impl Default for Probes {
    fn default() -> Self {
        Self::new()
    }
}
