// SPDX-License-Identifier: GPL-2.0
//! Simulated time.
//!
//! It is counted in picoseconds: a byte at 100 Gb/s takes 80 of them, and 64 bits
//! last for 200 days. The protocol's own clock counts nanoseconds, so what it sees
//! is rounded down, as a timestamp would be.

/// A point in time, or a duration, in picoseconds.
pub type Ps = u64;

/// One nanosecond.
pub const NSEC: Ps = 1_000;

/// One microsecond.
pub const USEC: Ps = 1_000_000;

/// One millisecond.
pub const MSEC: Ps = 1_000_000_000;

/// One second.
pub const SEC: Ps = 1_000_000_000_000;

/// Microseconds, for people.
pub fn in_usec(time: Ps) -> f64 {
    time as f64 / USEC as f64
}
