// SPDX-License-Identifier: GPL-2.0

//! Completion queues, as they are read.
//!
//! The phase bit of an entry is 1 in the first turn through the ring, 0 in the second, and so on. It
//! stands in the last 16 bits that the device writes, so whoever has seen it change may copy the rest.

use super::{
    abi,
    bytes::Fields,
    status::Result, //
};

/// Bytes of an entry.
pub const CQE_SIZE: usize = 32;

/// Where its operation and flags are.
pub const OP_AND_FLAGS: usize = 14;

/// What became of a work entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// That of the entry.
    pub wr_id: u64,
    /// Bytes sent or received.
    pub len: u32,
    /// `VIRTIO_VSTELLAR_OK`, or why not.
    pub status: u16,
    /// It was one of a receive queue.
    pub receive: bool,
    /// The peer's direction has ended.
    pub fin: bool,
}

impl Completion {
    /// Takes the copy of an entry apart.
    pub fn parse(entry: &[u8; CQE_SIZE]) -> Result<Self> {
        let mut fields = Fields::new(entry);
        let (wr_id, len, status) = (fields.take64()?, fields.take32()?, fields.take16()?);
        let (op, flags) = (fields.take8()?, fields.take8()?);
        Ok(Self {
            wr_id,
            len,
            status,
            receive: op == abi::OP_RECV,
            fin: flags & abi::CQE_FIN != 0,
        })
    }
}

/// Where the driver is in a completion queue.
#[derive(Clone, Debug)]
pub struct CompletionReader {
    log2: u32,
    taken: u32,
}

impl CompletionReader {
    /// At the beginning of a ring of `1 << log2` entries, all of them zero.
    pub const fn new(log2: u32) -> Self {
        Self { log2, taken: 0 }
    }

    /// Completions taken; the doorbell's `cq_ci`, and the one to wait for.
    pub const fn taken(&self) -> u32 {
        self.taken
    }

    /// Whether the entry that is next was written, by its `op` and `flags`.
    pub fn is_new(&self, op_and_flags: u16) -> bool {
        let [_, flags] = op_and_flags.to_le_bytes();
        let first_turn = self.taken.checked_shr(self.log2).unwrap_or(0) & 1 == 0;
        (flags & abi::CQE_PHASE != 0) == first_turn
    }

    /// It was taken.
    pub fn advance(&mut self) {
        self.taken = self.taken.wrapping_add(1);
    }
}
