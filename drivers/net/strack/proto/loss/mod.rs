// SPDX-License-Identifier: GPL-2.0

//! Sender side of reliability: what is outstanding, and when to call it lost.
//!
//! Sprayed packets overtake each other all the time, so order says nothing.
//! A packet is called lost for one of four reasons, fastest first:
//!
//! * the receiver says that it came without its payload, or that there was no room for
//!   it;
//! * the receiver holds far more packets beyond a hole than the reordering of
//!   the fabric explains, and the hole is older than the slowest path needs;
//! * a probe that left later on the same path has been answered and the packet is
//!   still missing;
//! * the packet is older than the retransmission timeout.
//!
//! [`Outstanding`] keeps one slot per packet and knows what is in flight,
//! [`Patience`] learns how late a packet may be before it counts as lost, and
//! [`Blame`] tells congestion from dead paths.

mod blame;
mod outstanding;
mod params;
mod patience;
mod probes;
mod resent;

pub use self::{
    blame::Blame,
    outstanding::{
        Outstanding,
        TxSlot,
        TxState, //
    },
    params::Params,
    patience::Patience,
    probes::Probes,
    resent::{
        Again,
        Resent, //
    },
};

/// Why a packet was called lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Too many later packets have arrived, or an answer from another path knows nothing
    /// of it and its own path is silent.
    Overtaken,
    /// A probe overtook it on its own path.
    Probe,
    /// It was not acknowledged in time.
    Timeout,
    /// The receiver has seen it, but could not take it.
    Refused,
}
