// SPDX-License-Identifier: GPL-2.0

//! Sender side of reliability: what is outstanding, and when to call it lost.
//!
//! Sprayed packets overtake each other all the time, so order says nothing.
//! A packet is called lost for one of three reasons, fastest first:
//!
//! * the receiver holds far more packets beyond a hole than the reordering of
//!   the fabric explains, and the hole is older than the slowest path needs;
//! * a probe that left later on the same path has been answered and the hole is
//!   still there;
//! * the packet is older than the retransmission timeout.
//!
//! [`Outstanding`] keeps one slot per packet and knows what is in flight,
//! [`Patience`] learns how late a packet may be before it counts as lost, and
//! [`Blame`] tells congestion from dead paths.

mod blame;
mod outstanding;
mod patience;
mod resent;

pub use self::{
    blame::Blame,
    outstanding::{
        Outstanding,
        TxSlot,
        TxState, //
    },
    patience::Patience,
    resent::Resent, //
};

/// Why a packet was called lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Too many later packets have arrived.
    Overtaken,
    /// A probe overtook it on its own path.
    Probe,
    /// It was not acknowledged in time.
    Timeout,
}
