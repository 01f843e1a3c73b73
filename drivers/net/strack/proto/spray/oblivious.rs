// SPDX-License-Identifier: GPL-2.0

//! Oblivious spraying: every path once per round, each round in a new order.
//!
//! Drawing each path at random would be even only in the long run; a fixed order
//! is even, but keeps senders in step. So a counter runs through the paths and a
//! random one-to-one mapping, drawn anew each round, scrambles it: multiplied by
//! an odd number and XORed with a mask, modulo the next power of two. Values that
//! are no path, if the number of paths is no power of two, are skipped.
//!
//! The policies that adapt take this order where they know nothing better.

use super::{
    Paths,
    Policy, //
};

/// The policy `oblivious`.
#[derive(Clone, Debug)]
pub(super) struct Oblivious {
    /// Number of paths rounded up to a power of two, less one.
    mask: u16,
    /// Position in the round, 0 to `mask`.
    position: u16,
    multiplier: u16,
    xor: u16,
    random: u64,
}

impl Oblivious {
    pub(super) fn new(paths: &Paths, seed: u64) -> Self {
        let mut policy = Self {
            mask: paths.count().next_power_of_two() - 1,
            position: 0,
            multiplier: 1,
            xor: 0,
            random: seed,
        };
        policy.shuffle();
        policy
    }

    /// Draws the order of a new round.
    fn shuffle(&mut self) {
        // SplitMix64: every seed will do, and successive values are unrelated.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        self.multiplier = (z >> 48) as u16 | 1;
        self.xor = z as u16 & self.mask;
    }

    fn step(&mut self) -> u16 {
        let path = (self.position.wrapping_mul(self.multiplier) & self.mask) ^ self.xor;
        if self.position < self.mask {
            self.position += 1;
        } else {
            self.position = 0;
            self.shuffle();
        }
        path
    }
}

impl Policy for Oblivious {
    fn turn(&mut self, paths: &Paths) -> u16 {
        // At least every other value is a path, but not evenly so: the loop runs
        // through one round at most.
        loop {
            let path = self.step();
            if path < paths.count() {
                return path;
            }
        }
    }
}
