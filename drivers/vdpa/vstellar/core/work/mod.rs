// SPDX-License-Identifier: GPL-2.0

//! Work entries: what the rings of an endpoint and a completion queue hold.
//!
//! An entry is copied out of its ring once and then checked ([`send`],
//! [`receive`]); whatever the driver does to the ring afterwards does not matter.
//! The indices that say how many entries there are run freely over 32 bits. The
//! device has its own of all of them: [`WorkQueue`] takes the driver's as far as it
//! goes forward and not beyond the ring.

use super::{
    bytes::Fields,
    memory::MemoryError,
    shared::Shared,
    span::Span,
    status::{
        Result,
        Status, //
    }, //
};

pub mod completion;
pub mod lending;
pub mod patience;
pub mod receive;
pub mod roster;
pub mod segment;
pub mod send;

pub use completion::{
    Completion,
    CompletionQueue, //
};
pub use lending::{
    Carried,
    Lending,
    Plan, //
};
pub use patience::Patience;
pub use receive::ReceiveEntry;
pub use roster::Roster;
pub use segment::{
    Segment,
    Segments,
    SGE_MAX, //
};
pub use send::{
    SendEntry,
    SendOp,
    SendRules, //
};

/// An index of the driver that went back, or beyond the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun;

impl From<Overrun> for Status {
    fn from(_: Overrun) -> Self {
        Status::Inval
    }
}

/// The indices of a send or receive queue. Entries are taken in order, and completed in order.
#[derive(Clone, Debug)]
pub struct WorkQueue {
    depth: u32,
    /// Entries there are, as far as the driver was believed.
    offered: u32,
    taken: u32,
    completed: u32,
}

impl WorkQueue {
    /// An empty queue of `1 << log2` entries; its creator has checked `log2`.
    pub fn new(log2: u16) -> Self {
        Self {
            depth: 1u32.checked_shl(u32::from(log2)).unwrap_or(0),
            offered: 0,
            taken: 0,
            completed: 0,
        }
    }

    /// How many entries there is room for.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Takes notice of the driver's index; returns how many entries are there to be taken.
    pub fn offer(&mut self, index: u32) -> core::result::Result<u32, Overrun> {
        let ahead = index.wrapping_sub(self.completed);
        if ahead > self.depth || ahead < self.offered.wrapping_sub(self.completed) {
            return Err(Overrun);
        }
        self.offered = index;
        Ok(index.wrapping_sub(self.taken))
    }

    /// Takes the next entry: its index, if there is one.
    pub fn take(&mut self) -> Option<u32> {
        if self.taken == self.offered {
            return None;
        }
        let index = self.taken;
        self.taken = index.wrapping_add(1);
        Some(index)
    }

    /// Completes the entry that was taken first of those not completed; returns how many are by now.
    pub fn complete(&mut self) -> Option<u32> {
        if self.completed == self.taken {
            return None;
        }
        self.completed = self.completed.wrapping_add(1);
        Some(self.completed)
    }

    /// How many entries are completed.
    pub fn completed(&self) -> u32 {
        self.completed
    }

    /// Entries that are not completed, taken or not.
    pub fn uncompleted(&self) -> u32 {
        self.offered.wrapping_sub(self.completed)
    }

    /// The index beyond which the driver should kick: what it was believed.
    pub fn offered(&self) -> u32 {
        self.offered
    }

    /// The index of the entry that comes after the next `skip` to be taken, if there is one.
    pub fn peek(&self, skip: u32) -> Option<u32> {
        let left = self.offered.wrapping_sub(self.taken);
        (skip < left).then(|| self.taken.wrapping_add(skip))
    }

    /// Copies the entry with this index out of the ring.
    pub fn read<const N: usize>(
        &self,
        ring: &impl Shared,
        index: u32,
    ) -> core::result::Result<[u8; N], MemoryError> {
        let mut entry = [0; N];
        ring.read(entry_at(index, self.depth, N as u64), &mut entry)?;
        Ok(entry)
    }
}

/// Where an entry is in its ring.
fn entry_at(index: u32, depth: u32, bytes: u64) -> u64 {
    u64::from(index & depth.wrapping_sub(1)).saturating_mul(bytes)
}
