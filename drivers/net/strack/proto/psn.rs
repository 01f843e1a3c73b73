// SPDX-License-Identifier: GPL-2.0

//! Packet sequence numbers.
//!
//! Every DATA packet of a connection carries the next number of one 32 bit
//! space that starts at a random value and wraps. Two numbers can be ordered as
//! long as they are less than 2^31 apart, which the largest window (4096
//! packets) never comes near. The newtype has no `Ord` on purpose: the only way
//! to compare two sequence numbers is one that survives the wrap.

/// A packet sequence number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Psn(u32);

impl Psn {
    /// Wraps the number as it stands on the wire.
    pub const fn new(raw: u32) -> Self {
        Self(raw)
    }

    /// The number as it stands on the wire.
    pub const fn raw(self) -> u32 {
        self.0
    }

    /// The number that follows this one.
    pub const fn next(self) -> Self {
        self.add(1)
    }

    /// The number `n` packets later.
    pub const fn add(self, n: u32) -> Self {
        Self(self.0.wrapping_add(n))
    }

    /// The number `n` packets earlier.
    pub const fn sub(self, n: u32) -> Self {
        Self(self.0.wrapping_sub(n))
    }

    /// How many packets this number comes after `earlier`.
    ///
    /// The distance wraps: it is close to 2^32 if `earlier` is in fact later.
    pub const fn dist_from(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// Whether this number comes before `other`.
    pub const fn lt(self, other: Self) -> bool {
        self.signed_dist_from(other) < 0
    }

    /// Whether this number comes before `other` or is the same.
    pub const fn le(self, other: Self) -> bool {
        self.signed_dist_from(other) <= 0
    }

    /// Whether this number comes after `other`.
    pub const fn gt(self, other: Self) -> bool {
        self.signed_dist_from(other) > 0
    }

    /// Whether this number comes after `other` or is the same.
    pub const fn ge(self, other: Self) -> bool {
        self.signed_dist_from(other) >= 0
    }

    /// Whether this number is one of the `len` numbers that start with `base`.
    pub const fn in_window(self, base: Self, len: u32) -> bool {
        self.dist_from(base) < len
    }

    const fn signed_dist_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
}
