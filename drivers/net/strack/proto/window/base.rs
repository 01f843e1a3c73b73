// SPDX-License-Identifier: GPL-2.0

//! The RTT of the idle fabric, from which NSCC tells what is queueing delay.
//!
//! The smallest sample seen is right as long as one of them met no queue. Three
//! things get in the way:
//!
//! * The configured value may be too low for the fabric. It is a hint: the first
//!   sample replaces it, also by a larger one, unless that packet was marked and
//!   thus known to have been in a queue.
//! * All samples may have met a queue. So the base RTT is verified now and then,
//!   with the window reduced for two RTTs: after 32 RTTs, after 8 if it is more
//!   than a quarter above the configured one, and then at intervals that double
//!   up to 512. Flows that began together measured each other's queues, but they
//!   verify together, too. It costs long transfers half a percent. Where marks tell of a
//!   queue, narrow windows become a single packet meanwhile, and it takes three RTTs, or many
//!   flows would leave each other no empty queue to measure; and who goes on with a base RTT
//!   that is too high sees little delay for ever after, and gets more than the others.
//!   Where none was marked, and most packets took longer than the shortest, that one hardly
//!   met a queue: narrow windows skip the first times, which would cost a short transfer
//!   that is alone several percent.
//! * The route may become longer. All of the difference then looks like a queue
//!   and the window shrinks to as good as nothing. If that does not help for some RTTs and
//!   packets, that is if every single packet takes long, although few are in flight and no
//!   switch reports congestion, the base RTT is measured anew. Of few packets in others'
//!   queue it may well be that none is marked for some RTTs.
//!
//! A full packet takes longer than a small one on every link it crosses, so
//! samples of small packets only count until there is one of a full packet.

use super::params::Params;
use crate::proto::Ns;

/// Verifying takes one of so many RTTs at most.
const VERIFY_SHARE: u16 = 4;

/// A mark says that there is a queue for so many RTTs: not every packet of one is marked.
const QUEUED_ROUNDS: u8 = 8;

/// Where the base RTT comes from, from the least to the most trustworthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Config,
    SmallPacket,
    FullPacket,
}

/// What verifying asks of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verify {
    Begin {
        /// Packets have been marked.
        marked: bool,
    },
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct BaseRtt {
    value: Ns,
    source: Source,

    configured: Ns,
    /// RTTs for which a late mark still says that there is a queue.
    queued_rounds: u8,

    verifying: bool,
    /// A packet was marked and late since the last time.
    marked: bool,
    /// RTTs until verifying begins or ends.
    verify_rounds: u16,
    verify_interval: u16,

    /// RTTs and packets with a window that does not shrink further, and the smallest sample of
    /// them.
    floor_rounds: u16,
    floor_packets: u16,
    floor_min: Ns,
}

impl BaseRtt {
    pub(super) fn new(params: &Params, configured: Ns) -> Self {
        Self {
            value: configured,
            source: Source::Config,
            configured,
            queued_rounds: 0,
            verifying: false,
            marked: false,
            verify_rounds: params.verify_first_rtts,
            verify_interval: params.verify_first_rtts,
            floor_rounds: 0,
            floor_packets: 0,
            floor_min: Ns::MAX,
        }
    }

    pub(super) fn get(&self) -> Ns {
        self.value
    }

    /// What queueing delay is measured from.
    ///
    /// A flow that begins when others have a queue finds the base RTT too long. If packets are
    /// marked and late, most of it may be a queue, but `most` at most: not what is not above the
    /// configured one, nor what is little beside `aim`, the delay that others may aim at.
    pub(super) fn undelayed(&self, aim: Ns, most: Ns) -> Ns {
        if self.queued_rounds == 0 {
            return self.value;
        }
        let part = self.value.max(aim) / 4;
        let least = part
            .max(self.configured)
            .max(self.value.saturating_sub(most));
        self.value.min(least)
    }

    pub(super) fn verifying(&self) -> bool {
        self.verifying
    }

    /// Takes a sample and returns whether the base RTT changed.
    pub(super) fn on_sample(
        &mut self,
        params: &Params,
        rtt: Ns,
        full_packet: bool,
        marked: bool,
    ) -> bool {
        let source = if full_packet {
            Source::FullPacket
        } else {
            Source::SmallPacket
        };
        let lower = rtt < self.value;
        let replace = match source.cmp(&self.source) {
            core::cmp::Ordering::Less => false,
            core::cmp::Ordering::Equal => lower,
            core::cmp::Ordering::Greater => lower || !marked,
        };
        if replace {
            if rtt / 5 > self.value / 4 {
                self.verify_interval = params.verify_soon_rtts;
                self.verify_rounds = params.verify_soon_rtts;
            }
            self.value = rtt;
            self.source = source;
        }
        replace
    }

    /// A packet was marked and late.
    pub(super) fn on_queue(&mut self) {
        self.queued_rounds = QUEUED_ROUNDS;
        self.marked |= !self.verifying;
    }

    /// An RTT is over; `likely` says that there is no reason to doubt the base RTT but marks.
    pub(super) fn on_round(&mut self, params: &Params, likely: bool) -> Option<Verify> {
        self.queued_rounds = self.queued_rounds.saturating_sub(1);
        self.verify_rounds = self.verify_rounds.saturating_sub(1);
        if self.verify_rounds > 0 {
            return None;
        }
        let early = self.verify_interval <= params.verify_first_rtts;
        if early && likely && !self.marked && !self.verifying {
            let doubled = self.verify_interval.saturating_mul(2);
            self.verify_interval = doubled.min(params.verify_longest_rtts.max(1));
            self.verify_rounds = self.verify_interval;
            return None;
        }
        self.verifying = !self.verifying;
        if self.verifying {
            self.verify_rounds = self.verify_rtts(params);
            Some(Verify::Begin {
                marked: self.marked,
            })
        } else {
            let least = VERIFY_SHARE * self.verify_rtts(params);
            let longest = params.verify_longest_rtts.max(least);
            self.marked = false;
            self.verify_interval = (2 * self.verify_interval).clamp(least, longest);
            self.verify_rounds = self.verify_interval;
            Some(Verify::End)
        }
    }

    fn verify_rtts(&self, params: &Params) -> u16 {
        if self.marked {
            params.verify_marked_rtts
        } else {
            params.verify_rtts
        }
    }

    /// The window does not shrink further and the delay is as high as before.
    ///
    /// Returns whether the base RTT changed.
    pub(super) fn on_floor(&mut self, params: &Params, rtt: Ns, round_over: bool) -> bool {
        self.floor_min = self.floor_min.min(rtt);
        self.floor_rounds = self.floor_rounds.saturating_add(round_over.into());
        self.floor_packets = self.floor_packets.saturating_add(1);
        let few = self.floor_packets < params.remeasure_packets;
        if few || self.floor_rounds < params.remeasure_rtts {
            return false;
        }
        self.value = self.floor_min;
        self.off_floor();
        true
    }

    /// It is not so any more.
    pub(super) fn off_floor(&mut self) {
        self.floor_rounds = 0;
        self.floor_packets = 0;
        self.floor_min = Ns::MAX;
    }
}
