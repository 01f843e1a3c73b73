// SPDX-License-Identifier: GPL-2.0

//! What happens to packets on their way.
//!
//! Each direction has the sender's access link and, behind it, parallel links among
//! which the entropy value chooses. Each link has a delay and may have a rate, with
//! a queue in front of it that marks and drops.

use crate::rng::{
    mix,
    Rng, //
};
use strack_proto::{
    Ns,
    SEC, //
};

/// Bytes of UDP, IP and Ethernet around each packet.
const OVERHEAD: u64 = 8 + 40 + 14;

#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) delay: Ns,
    /// Largest random delay on top; packets overtake each other on this link.
    pub(crate) jitter: Ns,
    /// Bytes per second; 0 is infinitely fast.
    pub(crate) rate: u64,
    /// Bytes that pass at once after a pause, as with a token bucket.
    pub(crate) burst: u64,
    /// Everything is held up for a random time up to this, now and then.
    pub(crate) stall: Ns,
    pub(crate) stall_ppm: u64,
    /// Bytes that can wait.
    pub(crate) queue: u64,
    /// Marks from here, with a probability that rises to `mark_ppm` at `mark_all`,
    /// and certainly from there on; from 0 on without a rate, too.
    pub(crate) mark_from: u64,
    pub(crate) mark_all: u64,
    pub(crate) mark_ppm: u64,
    /// Random loss and duplication.
    pub(crate) loss_ppm: u64,
    pub(crate) dup_ppm: u64,
    /// Takes packets and gives nothing back during this time.
    pub(crate) hole: Option<(Ns, Ns)>,
    /// When the link has sent what waits for it.
    pub(crate) free_at: Ns,
    pub(crate) stalled_until: Ns,
    /// Most bytes that ever waited.
    pub(crate) high_water: u64,
    pub(crate) dropped: u64,
    pub(crate) carried: u64,
}

impl Link {
    pub(crate) fn new(delay: Ns) -> Self {
        Self {
            delay,
            jitter: 0,
            rate: 0,
            burst: 0,
            stall: 0,
            stall_ppm: 0,
            queue: u64::MAX,
            mark_from: u64::MAX,
            mark_all: u64::MAX,
            mark_ppm: 0,
            loss_ppm: 0,
            dup_ppm: 0,
            hole: None,
            free_at: 0,
            stalled_until: 0,
            high_water: 0,
            dropped: 0,
            carried: 0,
        }
    }

    /// Takes a packet of `len` bytes. Returns when copies of it come out at the
    /// other end, and whether they are marked.
    pub(crate) fn carry(&mut self, now: Ns, len: usize, rng: &mut Rng) -> (Vec<Ns>, bool) {
        let size = len as u64 + OVERHEAD;
        let dead = self
            .hole
            .is_some_and(|(from, to)| (from..to).contains(&now));
        if dead || rng.chance(self.loss_ppm) {
            self.dropped += 1;
            return (Vec::new(), false);
        }
        let mut marked = self.mark_all == 0;
        let mut out = now;
        if rng.chance(self.stall_ppm) {
            self.stalled_until = now + rng.below(self.stall);
        }
        if self.rate > 0 {
            let start = self.free_at.max(now);
            let waiting = (start - now).saturating_mul(self.rate) / SEC;
            if waiting + size > self.queue {
                self.dropped += 1;
                return (Vec::new(), false);
            }
            self.high_water = self.high_water.max(waiting + size);
            marked = self.marks(waiting, rng);
            let saved = self.burst * SEC / self.rate;
            self.free_at = self.free_at.max(now.saturating_sub(saved)) + size * SEC / self.rate;
            out = self.free_at.max(now);
        }
        out = out.max(self.stalled_until);
        self.carried += size;
        let copies = 1 + usize::from(rng.chance(self.dup_ppm));
        let arrivals = (0..copies).map(|_| {
            let jitter = if self.jitter > 0 {
                rng.below(self.jitter)
            } else {
                0
            };
            out + self.delay + jitter
        });
        (arrivals.collect(), marked)
    }

    fn marks(&self, waiting: u64, rng: &mut Rng) -> bool {
        if waiting < self.mark_from {
            return false;
        }
        if waiting >= self.mark_all {
            return true;
        }
        let span = self.mark_all - self.mark_from;
        rng.chance(self.mark_ppm * (waiting - self.mark_from) / span)
    }
}

/// One direction of the network.
#[derive(Debug)]
pub(crate) struct Direction {
    pub(crate) access: Link,
    pub(crate) paths: Vec<Link>,
    /// Entropy values are hashed to paths with this seed; without, they take paths
    /// in turn.
    pub(crate) hash: Option<u64>,
}

impl Direction {
    pub(crate) fn new(paths: Vec<Link>) -> Self {
        Self {
            access: Link::new(0),
            paths,
            hash: None,
        }
    }

    pub(crate) fn path(&self, entropy: u16) -> usize {
        let value = match self.hash {
            Some(seed) => mix(seed ^ mix(u64::from(entropy))),
            None => u64::from(entropy),
        };
        (value % self.paths.len() as u64) as usize
    }
}
