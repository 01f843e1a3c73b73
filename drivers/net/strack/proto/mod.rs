// SPDX-License-Identifier: GPL-2.0

//! The STrack protocol as a state machine.
//!
//! Nothing in here performs I/O: packets, time and application writes go in;
//! packets to send, the next deadline and events come out. The payload never
//! passes through this code, it deals in packet sequence numbers and lengths
//! and leaves the bytes with its host. That makes the very same files usable in
//! the kernel module and in an ordinary user space crate, where they are unit
//! tested, fuzzed and simulated.
//!
//! Rules that hold for all of it: no allocation after a connection was created,
//! no floating point, no clock of its own, no `unsafe`. Arithmetic on sequence
//! numbers wraps on purpose, all other arithmetic saturates or is checked, and
//! nothing a peer sends can make it panic.
//!
//! The only thing expected from the host is the module `crate::host`: a fixed
//! size buffer, memory for one value, and a keyed hash.

#![forbid(unsafe_code)]

pub mod ack;
pub mod config;
pub mod connection;
pub mod counter;
pub mod flow;
pub mod handshake;
pub mod loss;
pub mod params;
pub mod psn;
pub mod rtt;
pub mod spray;
pub mod stream;
pub mod window;
pub mod wire;

/// A point in time or a duration in nanoseconds, from a monotonic clock.
pub type Ns = u64;

/// One microsecond.
pub const USEC: Ns = 1_000;

/// One millisecond.
pub const MSEC: Ns = 1_000_000;

/// One second.
pub const SEC: Ns = 1_000_000_000;
