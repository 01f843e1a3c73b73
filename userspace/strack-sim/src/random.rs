// SPDX-License-Identifier: GPL-2.0
//! Random numbers that are the same in every run.
//!
//! Each user draws from a stream of its own, named by a number, so that one that
//! draws more does not change what another one gets.

use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use rand_core::SeedableRng;

/// Who draws; the numbers are part of every result and do not change.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// Marks and losses of links.
    Links = 1,
    /// Seeds of the switches' hash functions.
    Switches = 2,
    /// Who sends what to whom, and when.
    Workload = 3,
    /// Seeds of the connections.
    Connections = 4,
    /// The model without a network.
    Model = 5,
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// The stream of one user under a seed.
    pub fn new(seed: u64, stream: Stream) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream as u64);
        Self(generator)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `limit`, which is not zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        // What the product's upper half is short of uniform is below 2^-32 here.
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// A number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether something of probability `p` happens.
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.unit() < p
    }

    /// Brings `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

/// Mixes all bits of a number, as a switch does with a header.
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_repeat() {
        let draw = |stream| Random::new(7, stream).bits();
        assert_eq!(draw(Stream::Links), draw(Stream::Links));
        assert_ne!(draw(Stream::Links), draw(Stream::Workload));
    }

    #[test]
    fn below_is_below_and_reaches_all() {
        let mut random = Random::new(1, Stream::Model);
        let mut seen = [0; 5];
        for _ in 0..1000 {
            seen[random.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 150), "{seen:?}");
    }
}
