// SPDX-License-Identifier: GPL-2.0

//! Probes that ask for the tail.
//!
//! When nothing was heard for a while after the last packet, the packets in flight or
//! their acknowledgements may be lost. A probe on the path of a packet arrives after it,
//! unless that is lost, and costs a round trip where a timeout costs several. One probe
//! speaks of one path only. So the paths of the oldest packets are all asked together,
//! and each answer tells of its own.
//!
//! Where both are lost the path is dead, and no answer is the answer. To tell that from a
//! network that is silent altogether, a path that was heard of lately is asked as well:
//! what its answer does not know of, and the probe on its own path does not find in the
//! time that the slowest path takes, is lost.
//!
//! Where all of eight paths answer that were asked and each has lost a packet, it is not one of
//! them that did: the windows of many senders have overflown a queue that all paths
//! share, as they do when they begin together. What left at the same time need not be asked for.
//!
//! A packet and the probe behind it may wait in one queue, arrive together, and be swapped
//! by whatever swaps packets on one path. So the packet has a little longer.

use crate::proto::{
    wire::AckHeader,
    Ns, //
};

/// Most paths of packets in flight that are asked together, and one more.
const MOST: usize = 8;
const SLOTS: usize = MOST + 1;

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Answer {
    at: Ns,
    /// Everything that had arrived is known to have, so all others are missing. Else only the
    /// first packet is.
    complete: bool,
}

/// The latest probes for the tail.
#[derive(Clone, Debug)]
pub struct Probes {
    // When the first of them left, and the last.
    sent_at: Ns,
    last_at: Ns,
    entropies: [u16; SLOTS],
    chosen: usize,
    sent: usize,
    /// A packet that left before the probe on its path was lost.
    lost: [bool; SLOTS],
    /// Answers to the probes on `entropies`.
    answers: [Option<Answer>; SLOTS],
}

impl Probes {
    /// None sent.
    pub const fn new() -> Self {
        Self {
            sent_at: 0,
            last_at: 0,
            entropies: [0; SLOTS],
            chosen: 0,
            sent: 0,
            lost: [false; SLOTS],
            answers: [None; SLOTS],
        }
    }

    /// Asks the first `most` different paths of `packets`, which are the entropy values
    /// of packets in flight, oldest first, and `other`. If there are none, nothing is forgotten
    /// of the latest probes. Says whether there are any.
    pub fn choose(
        &mut self,
        packets: impl Iterator<Item = u16>,
        most: u16,
        other: Option<u16>,
    ) -> bool {
        let mut packets = packets.peekable();
        if packets.peek().is_none() {
            return false;
        }
        *self = Self {
            sent_at: self.sent_at,
            ..Self::new()
        };
        let most = usize::from(most).min(MOST);
        for entropy in packets {
            if self.chosen == most {
                break;
            }
            self.add(entropy);
        }
        if let Some(other) = other {
            self.add(other);
        }
        true
    }

    /// Asks one more path, if there is room and it is not asked yet.
    fn add(&mut self, entropy: u16) {
        if self.chosen().contains(&entropy) {
            return;
        }
        if let Some(slot) = self.entropies.get_mut(self.chosen) {
            *slot = entropy;
            self.chosen += 1;
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
        self.last_at = now;
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
    /// `complete` says that everything that had arrived by then is known to have.
    pub fn on_answer(&mut self, now: Ns, ack: &AckHeader, complete: bool) -> Option<Ns> {
        let sent = self.chosen().get(..self.sent)?;
        let index = sent.iter().position(|&entropy| entropy == ack.entropy)?;
        // The time as it stands in headers.
        let since = Ns::from(ack.echo_time).wrapping_sub(self.sent_at) & Ns::from(u32::MAX);
        let one_of_them = since <= self.last_at.saturating_sub(self.sent_at);
        let answer = self.answers.get_mut(index)?;
        if !one_of_them || answer.is_some() {
            return None;
        }
        *answer = Some(Answer { at: now, complete });
        Some(self.sent_at)
    }

    /// Whether a packet in flight, sent at `sent_at` with `entropy`, was overtaken by a
    /// probe that was answered at `until` at the latest. `first` says that all before it
    /// have arrived.
    pub fn overtook(&self, sent_at: Ns, entropy: u16, first: bool, until: Ns) -> bool {
        let mut answers = self.entropies.iter().zip(&self.answers);
        let answer = answers.find(|(&probed, _)| probed == entropy);
        let answer = answer.and_then(|(_, answer)| *answer);
        sent_at < self.sent_at
            && answer.is_some_and(|answer| answer.at <= until && (first || answer.complete))
    }

    /// Whether the path of a packet in flight, sent at `sent_at` with `entropy`, was asked
    /// in vain, while the answer of another one shows that the packet has not arrived.
    pub fn silent(&self, sent_at: Ns, entropy: u16) -> bool {
        let asked = self.chosen().get(..self.sent).unwrap_or(&[]);
        let index = asked.iter().position(|&probed| probed == entropy);
        let own = index.map(|index| self.answers.get(index).copied().flatten());
        let mut answers = self.answers.iter().flatten();
        own == Some(None) && sent_at < self.sent_at && answers.any(|answer| answer.complete)
    }

    /// A packet sent at `sent_at` with `entropy` was lost. Says whether the probe on its path
    /// was answered, so that the path works.
    pub fn on_loss(&mut self, sent_at: Ns, entropy: u16) -> bool {
        let asked = self.chosen().get(..self.sent).unwrap_or(&[]);
        let Some(index) = asked.iter().position(|&probed| probed == entropy) else {
            return false;
        };
        if let Some(lost) = self.lost.get_mut(index) {
            *lost |= sent_at < self.sent_at;
        }
        self.answers.get(index).is_some_and(Option::is_some)
    }

    /// Whether each of eight paths had answered by `until`, and lost a packet.
    pub fn all_lost(&self, until: Ns) -> bool {
        let answered = |answer: &Option<Answer>| {
            answer.is_some_and(|answer| answer.complete && answer.at <= until)
        };
        let mut paths = self.answers.iter().zip(&self.lost).take(MOST);
        paths.all(|(answer, &lost)| answered(answer) && lost)
    }

    /// The first answer after `time`.
    pub fn answered_after(&self, time: Ns) -> Option<Ns> {
        let times = self.answers.iter().flatten().map(|answer| answer.at);
        times.filter(|&at| at > time).min()
    }
}

impl Default for Probes {
    fn default() -> Self {
        Self::new()
    }
}
