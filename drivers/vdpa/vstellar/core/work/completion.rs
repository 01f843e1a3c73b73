// SPDX-License-Identifier: GPL-2.0

//! Completion queues: the only ring that the device writes.
//!
//! A phase bit tells the driver what is new: it is 1 in the first turn through the
//! ring, 0 in the second, and so on, and is written after the rest of the entry.
//!
//! An endpoint is made only if its queues have room for all entries of both its
//! rings besides those of other endpoints ([`CompletionQueue::reserve`]). A driver
//! that does not put in more entries than it has taken completions therefore never
//! overruns a queue; one that does has its queue put out of order.

use super::{
    super::{
        abi,
        bytes::Bytes,
        event_index::passed32,
        memory::MemoryError, //
    },
    entry_at,
    Overrun,
    Result,
    Shared,
    Status, //
};

/// Bytes of an entry.
pub const CQE_SIZE: usize = 32;

/// Where its operation and flags are, the last that is written.
const OP_AND_FLAGS: u64 = 14;

/// What became of a work entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// That of the entry.
    pub wr_id: u64,
    /// Bytes sent or received.
    pub len: u32,
    /// Outcome.
    pub status: Status,
    /// `OP_*`.
    pub op: u8,
    /// `CQE_*` without the phase.
    pub flags: u8,
    /// Handle of the endpoint.
    pub ep: u32,
    /// From the peer.
    pub imm: u32,
}

/// Why a completion was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostError {
    /// The driver has not taken enough of those before.
    Full,
    /// The ring is gone.
    Memory(MemoryError),
}

/// The indices of a completion queue.
#[derive(Clone, Debug)]
pub struct CompletionQueue {
    depth: u32,
    written: u32,
    /// Completions taken, as far as the driver was believed.
    consumed: u32,
    /// `written` when the driver was last thought of.
    told: u32,
    reserved: u32,
}

impl CompletionQueue {
    /// An empty queue of `1 << log2` entries; its creator has checked `log2`.
    pub fn new(log2: u16) -> Self {
        Self {
            depth: 1u32.checked_shl(u32::from(log2)).unwrap_or(0),
            written: 0,
            consumed: 0,
            told: 0,
            reserved: 0,
        }
    }

    /// Whether there is room for `entries` more beside those reserved.
    pub fn check_room(&self, entries: u32) -> Result {
        if entries <= self.depth.saturating_sub(self.reserved) {
            Ok(())
        } else {
            Err(Status::NoSpc)
        }
    }

    /// Reserves room for the entries of a work queue.
    pub fn reserve(&mut self, entries: u32) -> Result {
        self.check_room(entries)?;
        self.reserved = self.reserved.saturating_add(entries);
        Ok(())
    }

    /// Gives it back.
    pub fn unreserve(&mut self, entries: u32) {
        self.reserved = self.reserved.saturating_sub(entries);
    }

    /// Whether work queues have room here.
    pub fn is_reserved(&self) -> bool {
        self.reserved > 0
    }

    /// Takes notice of the driver's index.
    pub fn consume(&mut self, index: u32) -> core::result::Result<(), Overrun> {
        let left = self.written.wrapping_sub(index);
        if left > self.written.wrapping_sub(self.consumed) {
            return Err(Overrun);
        }
        self.consumed = index;
        Ok(())
    }

    /// Whether there is room for one more. If not, see what the driver has consumed.
    pub fn has_room(&self) -> bool {
        self.written.wrapping_sub(self.consumed) < self.depth
    }

    /// Writes a completion.
    pub fn post(
        &mut self,
        ring: &impl Shared,
        completion: &Completion,
    ) -> core::result::Result<(), PostError> {
        if !self.has_room() {
            return Err(PostError::Full);
        }
        let at = entry_at(self.written, self.depth, CQE_SIZE as u64);
        let second_turn = self.written & self.depth != 0;
        let phase = if second_turn { 0 } else { abi::CQE_PHASE };
        write(ring, at, completion, phase).map_err(PostError::Memory)?;
        self.written = self.written.wrapping_add(1);
        Ok(())
    }

    /// How many were written.
    pub fn written(&self) -> u32 {
        self.written
    }

    /// Whether the driver wants an event for what was written since this was last asked. `arm` reads
    /// its wish, after what was written can be seen.
    pub fn wants_event(
        &mut self,
        ring: &impl Shared,
        arm: impl FnOnce() -> core::result::Result<u32, MemoryError>,
    ) -> core::result::Result<bool, MemoryError> {
        let told = core::mem::replace(&mut self.told, self.written);
        if told == self.written {
            return Ok(false);
        }
        ring.fence();
        Ok(passed32(arm()?, told, self.written))
    }
}

fn write(
    ring: &impl Shared,
    at: u64,
    completion: &Completion,
    phase: u8,
) -> core::result::Result<(), MemoryError> {
    let entry = |phase: u8| {
        let flags = (completion.flags & !abi::CQE_PHASE) | phase;
        u16::from_le_bytes([completion.op, flags])
    };
    // all of it as of the turn before, in which nobody takes it for new
    let bytes: Bytes<CQE_SIZE> = Bytes::new()
        .put64(completion.wr_id)
        .put32(completion.len)
        .put16(completion.status.code())
        .put16(entry(phase ^ abi::CQE_PHASE))
        .put32(completion.ep)
        .put32(completion.imm);
    ring.write(at, &bytes.into_array())?;
    // and one access, after all others
    ring.store16(at.saturating_add(OP_AND_FLAGS), entry(phase))
}
