// SPDX-License-Identifier: GPL-2.0

//! What one call of a socket sends, or receives: several entries, and the memory that they name.
//!
//! Bytes go straight between the guest's pages and the transport's. For as long as the call takes, each
//! page has a reference, and its block is in use, so that a machine's memory is not unmapped before.
//! The call does not wait for a peer, and the batch is empty again when it is over. If the memory is lent,
//! packets have references of their own by then, and the block is not in use any more.

use super::Turn;
use crate::{
    model::{
        access::Access,
        memory::{
            BlockId,
            MemoryError,
            Use,
            Want, //
        },
        status::{
            Result,
            Status, //
        },
        work::{
            ReceiveEntry,
            Segment,
            SendEntry, //
        },
    },
    platform::Platform,
    sys::{
        page::Pieces,
        socket::PIECES_MAX, //
    }, //
};
use kernel::{
    alloc::flags::__GFP_NOWARN,
    prelude::*, //
};

/// Entries at most, with the one that a queue is at.
pub(super) const ENTRIES: usize = 16;

/// Those that come after it; no more than the bits of a word.
const BEHIND: usize = ENTRIES - 1;

/// Pieces of memory at most: as many pages make 256 KiB.
const PIECES: usize = PIECES_MAX;

/// Bytes at most: a piece of a huge page is large, and a call of the socket copies all of them.
const BYTES: usize = 1 << 20;

/// Entries, and the memory of them.
pub(super) struct Batch {
    pieces: Pieces,
    uses: KVec<Use>,
    /// Bytes at most, of this one.
    limit: usize,
    /// What comes after the entry that a queue is at.
    pub(super) sends: KVec<SendEntry>,
    pub(super) receives: KVec<ReceiveEntry>,
    /// Of those to be received, which were looked up with the one before; a bit each.
    joined: u32,
}

impl Batch {
    /// An empty one, without memory for any.
    pub(super) fn new() -> Batch {
        Batch {
            pieces: Pieces::new(),
            uses: KVec::new(),
            limit: BYTES,
            sends: KVec::new(),
            receives: KVec::new(),
            joined: 0,
        }
    }

    /// Gets memory, if it has none.
    pub(super) fn prepare(&mut self) -> core::result::Result<(), kernel::alloc::AllocError> {
        if self.sends.capacity() > 0 {
            return Ok(());
        }
        let flags = GFP_KERNEL | __GFP_NOWARN;
        self.pieces.reserve(PIECES, flags)?;
        self.uses.reserve(PIECES, flags)?;
        self.receives.reserve(BEHIND, flags)?;
        self.sends.reserve(BEHIND, flags)
    }

    /// Whether there is no room for a further entry.
    pub(super) fn is_full(&self) -> bool {
        self.room() == 0 || self.sends.len() >= BEHIND
    }

    /// Whether there is room for a further buffer after so many bytes.
    pub(super) fn has_room_after(&self, bytes: u64) -> bool {
        self.receives.len() < BEHIND && bytes < self.room() as u64
    }

    /// How many bytes there is room for.
    fn room(&self) -> usize {
        if self.pieces.is_full() {
            return 0;
        }
        self.limit.saturating_sub(self.pieces.bytes())
    }

    /// No more than so many bytes, until it is cleared.
    pub(super) fn limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }

    /// The memory.
    pub(super) fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    /// Adds the beginning of what is wanted, as much as is in one block; says how much.
    fn add(
        &mut self,
        platform: &Platform,
        want: &Want,
    ) -> core::result::Result<(usize, BlockId), MemoryError> {
        if self.uses.len() == self.uses.capacity() {
            return Err(MemoryError::Quota);
        }
        let (len, held) = platform.add_piece(want, &mut self.pieces)?;
        let block = held.block();
        if let Err(full) = self.uses.push_within_capacity(held) {
            // there was room: what is not in use must not be sent
            self.pieces.clear();
            platform.release([full.0]);
            return Err(MemoryError::Quota);
        }
        Ok((len, block))
    }

    /// The memory is not used any more.
    pub(super) fn release(&mut self, platform: &Platform) {
        self.pieces.clear();
        platform.release(core::iter::from_fn(|| self.uses.pop()));
    }

    /// Forgets the entries and the memory.
    pub(super) fn clear(&mut self, platform: &Platform) {
        self.release(platform);
        self.limit = BYTES;
        self.sends.clear();
        self.receives.clear();
        self.joined = 0;
    }

    /// The last one to be received is looked up with the one before.
    pub(super) fn join_last(&mut self) {
        let last = self.receives.len().saturating_sub(1);
        self.joined |= 1u32.checked_shl(last as u32).unwrap_or(0);
    }

    /// Whether this one was.
    pub(super) fn is_joined(&self, index: usize) -> bool {
        index < BEHIND && self.joined >> index & 1 != 0
    }
}

impl Turn<'_> {
    /// Adds a segment to the batch, from after its first `skip` bytes, as far as there is room for it;
    /// says how far. What cannot be had behind something that can is left for the next time.
    pub(super) fn add_segment(
        &mut self,
        segment: &Segment,
        skip: u64,
        access: Access,
    ) -> Result<u64> {
        let mut done = skip;
        while done < segment.span.len() && self.batch.room() > 0 {
            match self.add_piece(segment, done, access) {
                Ok(len) => done = done.saturating_add(len as u64),
                Err(_) if done > skip => break,
                Err(status) => return Err(status),
            }
        }
        Ok(done.saturating_sub(skip))
    }

    fn add_piece(&mut self, segment: &Segment, skip: u64, access: Access) -> Result<usize> {
        let len = segment.span.len().saturating_sub(skip);
        let len = usize::try_from(len).map_err(|_| Status::Inval)?;
        let addrs = super::payload::part(segment, skip, len.min(self.batch.room()))?;
        let (platform, batch) = (self.platform, &mut *self.batch);
        super::payload::piece(self.model, segment.key, &addrs, access, |want| {
            batch.add(platform, want)
        })
    }
}
