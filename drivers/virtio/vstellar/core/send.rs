// SPDX-License-Identifier: GPL-2.0

//! Send queues: a ring of bytes, and the entries that describe it to the device.
//!
//! Payload is copied once, to the next free bytes of the ring, and one entry names what was copied. The
//! bytes are free again when their entry is complete. The last place for an entry is kept for the end
//! of the stream, which therefore never has to wait for room.
//!
//! To be told of each completion would cost more than it is worth. The device is asked to tell (to
//! *signal*) when a quarter of the bytes or of the places has been used since it was asked last. Of
//! what is outstanding in a queue that is not [`SendQueue::is_writable`] at least one entry is
//! signalled, so a writer that waits for room is always woken.

use super::{
    abi,
    bytes::Bytes,
    Broken, //
};

/// Bytes of an entry.
pub const SQE_SIZE: usize = 64;

/// Most entries that are not complete.
pub const DEPTH: u32 = 64;

/// Most bytes of an entry. Several are to be on their way, even where an entry is complete only when all
/// of it was acknowledged.
pub const ENTRY_MAX: u32 = 64 << 10;

/// Entries after which the device is asked to tell.
const QUIET_ENTRIES: u32 = DEPTH / 4;

/// A send queue.
#[derive(Debug)]
pub struct SendQueue {
    /// Of the socket, for its completions.
    key: u32,
    /// IOVA of the ring of bytes.
    addr: u64,
    /// Its bytes.
    capacity: u32,
    /// Entries made, and completed.
    made: u32,
    done: u32,
    /// Bytes described by them, since the beginning.
    written: u64,
    freed: u64,
    /// `written` after each entry that is not complete.
    ends: [u64; DEPTH as usize],
    /// Entries and bytes since the device was last asked to tell.
    quiet_entries: u32,
    quiet_bytes: u32,
    /// After which entry the stream ends.
    fin: Option<u32>,
}

/// Bytes of the ring that can be filled now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Where they begin in it.
    pub offset: u32,
    /// How many; zero if there are none.
    pub len: u32,
    /// How many there are with those that further entries may have.
    pub all: u32,
}

impl SendQueue {
    /// An empty one of the socket named `key`, for `capacity` bytes at the IOVA `addr`.
    pub const fn new(key: u32, addr: u64, capacity: u32) -> Self {
        Self {
            key,
            addr,
            capacity,
            made: 0,
            done: 0,
            written: 0,
            freed: 0,
            ends: [0; DEPTH as usize],
            quiet_entries: 0,
            quiet_bytes: 0,
            fin: None,
        }
    }

    /// Entries made: the doorbell's `sq_pi`, and the place of the next one modulo [`DEPTH`].
    pub const fn made(&self) -> u32 {
        self.made
    }

    /// Bytes that are not sent.
    pub fn used(&self) -> u32 {
        u32::try_from(self.written.saturating_sub(self.freed)).unwrap_or(u32::MAX)
    }

    fn entries(&self) -> u32 {
        self.made.wrapping_sub(self.done)
    }

    /// Bytes that follow each other in the ring and are free, as many as one entry may have.
    pub fn room(&self) -> Room {
        let offset = self.written.checked_rem(u64::from(self.capacity));
        let offset = offset.and_then(|offset| u32::try_from(offset).ok());
        let offset = offset.unwrap_or(0);
        let places = match self.fin {
            Some(_) => 0,
            None => (DEPTH - 1).saturating_sub(self.entries()),
        };
        if places == 0 {
            return Room {
                offset,
                len: 0,
                all: 0,
            };
        }
        let free = self.capacity.saturating_sub(self.used());
        let behind = self.capacity.saturating_sub(offset);
        let most = (self.capacity / 4).min(ENTRY_MAX);
        let len = free.min(behind).min(most);
        let all = if places > 1 { free } else { len };
        Room { offset, len, all }
    }

    /// Whether a writer should be told that there is room: a third of it.
    pub fn is_writable(&self) -> bool {
        let free = self.capacity.saturating_sub(self.used());
        free >= self.capacity / 3 && self.entries() < DEPTH - QUIET_ENTRIES
    }

    /// Describes the first `len` bytes of the room; `more` will follow soon. None if there are not as
    /// many.
    pub fn push(&mut self, len: u32, more: bool) -> Option<[u8; SQE_SIZE]> {
        let room = self.room();
        if len == 0 || len > room.len {
            return None;
        }
        self.quiet_entries = self.quiet_entries.saturating_add(1);
        self.quiet_bytes = self.quiet_bytes.saturating_add(len);
        let mut flags = if more { abi::SQE_MORE } else { 0 };
        if self.quiet_entries >= QUIET_ENTRIES || self.quiet_bytes >= self.capacity / 4 {
            flags |= abi::SQE_SIGNALED;
            self.quiet_entries = 0;
            self.quiet_bytes = 0;
        }
        let addr = self.addr.wrapping_add(u64::from(room.offset));
        self.written = self.written.saturating_add(u64::from(len));
        Some(self.entry(abi::OP_SEND, flags, addr, len))
    }

    /// Ends the stream after what was pushed. None if it has ended.
    pub fn push_fin(&mut self) -> Option<[u8; SQE_SIZE]> {
        if self.fin.is_some() {
            return None;
        }
        let entry = self.entry(abi::OP_FIN, abi::SQE_SIGNALED, 0, 0);
        self.fin = Some(self.made);
        Some(entry)
    }

    fn entry(&mut self, op: u8, flags: u8, addr: u64, len: u32) -> [u8; SQE_SIZE] {
        if let Some(end) = self.ends.get_mut((self.made % DEPTH) as usize) {
            *end = self.written;
        }
        self.made = self.made.wrapping_add(1);
        Bytes::new()
            .put8(op)
            .put8(flags)
            .put8(if len == 0 { 0 } else { 1 })
            .put8(0)
            .put32(0)
            .put64(wr_id(self.key, self.made))
            .put64(0)
            .put32(0)
            .put32(len)
            .put64(addr)
            .put32(len)
            .put32(abi::LKEY_IOVA)
            .into_array()
    }

    /// The device has completed the first `done` entries.
    pub fn complete(&mut self, done: u32) -> Result<(), Broken> {
        let newly = done.wrapping_sub(self.done);
        if newly == 0 {
            return Ok(());
        }
        if newly > self.entries() {
            return Err(Broken);
        }
        let last = done.wrapping_sub(1);
        self.freed = self
            .ends
            .get((last % DEPTH) as usize)
            .copied()
            .unwrap_or(self.freed);
        self.done = done;
        Ok(())
    }

    /// The device says so in the doorbell's `sq_ci`, which may be behind what its completions have said.
    pub fn catch_up(&mut self, done: u32) {
        // what is not ahead is old, and harmless
        let _ = self.complete(done);
    }

    /// The stream was ended, and the device has taken notice of it.
    pub fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| fin == self.done)
    }

    /// All that was pushed is complete.
    pub fn is_idle(&self) -> bool {
        self.entries() == 0
    }

    /// The stream was ended.
    pub fn has_fin(&self) -> bool {
        self.fin.is_some()
    }
}

/// What names a completion: the key of its socket, and a number. Of a send entry, that is how many are
/// complete with it; of a receive entry, how many were posted before it.
pub const fn wr_id(key: u32, number: u32) -> u64 {
    ((key as u64) << 32) | number as u64
}
