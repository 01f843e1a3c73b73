// SPDX-License-Identifier: GPL-2.0
//! Random choices of a fuzzer: numbers that are on the edge more often than others.

use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use rand_core::SeedableRng;

/// Choices that are the same for the same seed.
pub(super) struct Random(ChaCha8Rng);

/// Numbers at which something ends.
const EDGES: [u64; 14] = [
    0,
    1,
    2,
    7,
    16,
    63,
    64,
    0xff,
    0xfff,
    0x1000,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    u64::MAX,
];

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Less than `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// One time in so many.
    pub(super) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let index = self.below(from.len() as u64) as usize;
        from.get(index).copied()
    }

    /// A number, often one at which something ends.
    pub(super) fn number(&mut self) -> u64 {
        match self.below(3) {
            0 => self.next(),
            1 => self.below(64),
            _ => EDGES[self.below(EDGES.len() as u64) as usize],
        }
    }

    /// Damages some bytes: a bit, a byte, a number of up to eight bytes.
    pub(super) fn damage(&mut self, bytes: &mut [u8]) {
        if bytes.is_empty() {
            return;
        }
        for _ in 0..=self.below(2) {
            let at = self.below(bytes.len() as u64) as usize;
            match self.below(3) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.next() as u8,
                _ => {
                    // as fields are aligned
                    let len = 1 << self.below(4);
                    let at = at / len * len;
                    let number = self.number().to_le_bytes();
                    for (to, from) in bytes[at..].iter_mut().zip(&number[..len]) {
                        *to = *from;
                    }
                }
            }
        }
    }
}
