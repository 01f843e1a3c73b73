// SPDX-License-Identifier: GPL-2.0

//! Receive queues: a few buffers that go round.
//!
//! A buffer is posted, filled by the device with some of the stream, read by the program, and posted
//! again, always in the same order. So three indices that run freely say of each buffer whose it is.
//!
//! A device that has run out of buffers has to be kicked when there is one again. A reader that is
//! slower than the network would do that for each that it has read; so buffers are posted when half of
//! them are free. A reader who waits for more than there is must then be told when the device has no
//! buffer left, and not only when all are filled ([`ReceiveQueue::is_stuck`]).

use super::{
    abi,
    bytes::Bytes,
    send::wr_id,
    Broken, //
};

/// Bytes of an entry.
pub const RQE_SIZE: usize = 32;

/// Buffers, and entries.
pub const DEPTH: u32 = 8;

/// A receive queue.
#[derive(Debug)]
pub struct ReceiveQueue {
    /// Of the socket, for its completions.
    key: u32,
    /// IOVA of the first buffer; the others follow.
    addr: u64,
    /// Bytes of each.
    size: u32,
    /// Buffers posted, filled and read, since the beginning.
    posted: u32,
    filled: u32,
    read: u32,
    /// Bytes in each that is filled.
    lens: [u32; DEPTH as usize],
    /// Bytes read of the one that is next.
    skip: u32,
    /// Bytes that can be read.
    readable: u32,
}

/// Bytes in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where they begin, from the first buffer on.
    pub offset: u32,
    /// How many.
    pub len: u32,
}

impl ReceiveQueue {
    /// One of the socket named `key` with buffers of `size` bytes at the IOVA `addr`, none of them
    /// posted.
    pub const fn new(key: u32, addr: u64, size: u32) -> Self {
        Self {
            key,
            addr,
            size,
            posted: 0,
            filled: 0,
            read: 0,
            lens: [0; DEPTH as usize],
            skip: 0,
            readable: 0,
        }
    }

    /// Buffers posted: the doorbell's `rq_pi`, and the place of the next entry modulo [`DEPTH`].
    pub const fn posted(&self) -> u32 {
        self.posted
    }

    /// Bytes that can be read.
    pub const fn readable(&self) -> u32 {
        self.readable
    }

    fn free(&self) -> u32 {
        DEPTH.saturating_sub(self.posted.wrapping_sub(self.read))
    }

    /// Whether nothing more comes before some of what is there was read.
    pub const fn is_stuck(&self) -> bool {
        self.readable > 0 && self.filled == self.posted
    }

    /// Whether it is time to post those that are free.
    pub fn should_post(&self) -> bool {
        self.free() >= DEPTH / 2
    }

    /// Gives the next buffer to the device, if one is free.
    pub fn post(&mut self) -> Option<[u8; RQE_SIZE]> {
        if self.free() == 0 {
            return None;
        }
        let offset = self.offset(self.posted);
        let entry = Bytes::new()
            .put64(wr_id(self.key, self.posted))
            .put64(self.addr.wrapping_add(u64::from(offset)))
            .put32(self.size)
            .put32(abi::LKEY_IOVA)
            .into_array();
        self.posted = self.posted.wrapping_add(1);
        Some(entry)
    }

    fn offset(&self, index: u32) -> u32 {
        (index % DEPTH).saturating_mul(self.size)
    }

    /// The device has put `len` bytes into buffer `number`.
    pub fn fill(&mut self, number: u32, len: u32) -> Result<(), Broken> {
        if number != self.filled || self.filled == self.posted || len > self.size {
            return Err(Broken);
        }
        let place = self.lens.get_mut((number % DEPTH) as usize);
        *place.ok_or(Broken)? = len;
        self.filled = self.filled.wrapping_add(1);
        self.readable = self.readable.saturating_add(len);
        Ok(())
    }

    /// Bytes behind the next `skip`, as many as lie together. None if there are none.
    pub fn peek(&self, skip: u32) -> Option<Piece> {
        let mut skip = skip.saturating_add(self.skip);
        let mut index = self.read;
        while index != self.filled {
            let len = self.len_of(index);
            if skip < len {
                return Some(Piece {
                    offset: self.offset(index).saturating_add(skip),
                    len: self.len_together(index).saturating_sub(skip),
                });
            }
            skip -= len;
            index = index.wrapping_add(1);
        }
        None
    }

    /// Bytes in a buffer that is filled.
    fn len_of(&self, index: u32) -> u32 {
        let len = self.lens.get((index % DEPTH) as usize);
        len.copied().unwrap_or(0)
    }

    /// Bytes in it and in those that are filled after it, as long as each is full and the next one lies behind
    /// it.
    fn len_together(&self, first: u32) -> u32 {
        let (mut index, mut len) = (first, self.len_of(first));
        while self.len_of(index) == self.size && index % DEPTH != DEPTH - 1 {
            index = index.wrapping_add(1);
            if index == self.filled {
                break;
            }
            len = len.saturating_add(self.len_of(index));
        }
        len
    }

    /// The next `len` bytes were read.
    pub fn consume(&mut self, len: u32) {
        let mut left = len.min(self.readable);
        self.readable -= left;
        while self.read != self.filled {
            let place = self.lens.get((self.read % DEPTH) as usize);
            let rest = place.map_or(0, |len| len.saturating_sub(self.skip));
            if left < rest {
                self.skip = self.skip.saturating_add(left);
                return;
            }
            left -= rest;
            self.skip = 0;
            self.read = self.read.wrapping_add(1);
        }
    }
}
