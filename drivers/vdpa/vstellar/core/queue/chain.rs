// SPDX-License-Identifier: GPL-2.0

//! Descriptor chains: one request and the room for its response.
//!
//! A chain is walked once, each descriptor copied once, and what comes out is a
//! short list that cannot change any more. A loop needs no detection of its own: it
//! is a chain longer than any that is allowed.

use super::{
    super::{
        bytes::Fields,
        memory::MemoryError,
        shared::Shared,
        span::Span,
        status::Status, //
    },
    Violation, //
};

/// Most descriptors of a chain.
pub const CHAIN_MAX: usize = 8;

/// Bytes of a descriptor.
const DESC_SIZE: u64 = 16;

const DESC_F_NEXT: u16 = 1;
const DESC_F_WRITE: u16 = 1 << 1;
const DESC_F_INDIRECT: u16 = 1 << 2;

/// A chain that was taken from a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    head: u16,
    buffers: [Span; CHAIN_MAX],
    /// How many of `buffers` the device may read.
    readable: usize,
    /// How many there are; those after `readable` may be written.
    count: usize,
}

impl Chain {
    /// Walks the chain that begins at descriptor `head` of the `size` that are at `table`.
    pub(super) fn walk(
        shared: &impl Shared,
        table: u64,
        size: u16,
        head: u16,
    ) -> Result<Self, Violation> {
        let mut chain = Self {
            head,
            buffers: [Span::ALL; CHAIN_MAX],
            readable: 0,
            count: 0,
        };
        let mut next = Some(head);
        while let Some(index) = next {
            if index >= size {
                return Err(Violation::Index);
            }
            if chain.count >= usize::from(size) {
                return Err(Violation::Length);
            }
            let mut copy = [0; DESC_SIZE as usize];
            // within the table, which does not wrap
            let at = table.saturating_add(u64::from(index).saturating_mul(DESC_SIZE));
            shared.read(at, &mut copy)?;
            next = chain.add(&copy)?;
        }
        Ok(chain)
    }

    /// Adds a descriptor; returns which one follows.
    fn add(&mut self, descriptor: &[u8; DESC_SIZE as usize]) -> Result<Option<u16>, Violation> {
        // there are as many bytes as fields, so this cannot fail
        let parsed = parse(descriptor).map_err(|_| Violation::Descriptor);
        let (addr, len, flags, next) = parsed?;
        if flags & DESC_F_INDIRECT != 0 {
            return Err(Violation::Indirect);
        }
        if flags & !(DESC_F_NEXT | DESC_F_WRITE) != 0 {
            return Err(Violation::Descriptor);
        }
        let buffer = Span::new(addr, u64::from(len)).ok_or(Violation::Descriptor)?;
        let place = self.buffers.get_mut(self.count).ok_or(Violation::Length)?;
        *place = buffer;
        if flags & DESC_F_WRITE == 0 {
            if self.readable != self.count {
                return Err(Violation::Order);
            }
            self.readable = self.readable.saturating_add(1);
        }
        self.count = self.count.saturating_add(1);
        Ok((flags & DESC_F_NEXT != 0).then_some(next))
    }

    /// The descriptor it began with, which names it in the used ring.
    pub fn head(&self) -> u16 {
        self.head
    }

    /// What the device may read.
    pub fn readable(&self) -> &[Span] {
        self.buffers.get(..self.readable).unwrap_or_default()
    }

    /// What the device may write.
    pub fn writable(&self) -> &[Span] {
        self.buffers
            .get(self.readable..self.count)
            .unwrap_or_default()
    }

    /// How many bytes the device may read.
    pub fn readable_len(&self) -> u64 {
        total(self.readable())
    }

    /// How many bytes the device may write.
    pub fn writable_len(&self) -> u64 {
        total(self.writable())
    }

    /// Copies all that may be read, once, to the beginning of `into`; returns how much it was, or
    /// `None` if it is more than that.
    pub fn gather(
        &self,
        shared: &impl Shared,
        into: &mut [u8],
    ) -> Result<Option<usize>, MemoryError> {
        if self.readable_len() > into.len() as u64 {
            return Ok(None);
        }
        let (mut rest, mut copied) = (into, 0usize);
        for buffer in self.readable() {
            // it fits, see above
            let Some((part, behind)) = rest.split_at_mut_checked(buffer.len() as usize) else {
                return Ok(None);
            };
            shared.read(buffer.first(), part)?;
            copied = copied.saturating_add(part.len());
            rest = behind;
        }
        Ok(Some(copied))
    }

    /// Copies `from` to the beginning of what may be written; returns how much of it found room.
    pub fn scatter(&self, shared: &impl Shared, from: &[u8]) -> Result<u32, MemoryError> {
        let (mut rest, mut copied) = (from, 0u32);
        for buffer in self.writable() {
            let len = usize::try_from(buffer.len()).unwrap_or(usize::MAX);
            let (part, behind) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            if part.is_empty() {
                break;
            }
            shared.write(buffer.first(), part)?;
            // a descriptor's length is a u32, and so is that of a part of it
            copied = copied.saturating_add(part.len() as u32);
            rest = behind;
        }
        Ok(copied)
    }
}

/// Address, length, flags, and the next descriptor.
fn parse(descriptor: &[u8]) -> Result<(u64, u32, u16, u16), Status> {
    let mut fields = Fields::new(descriptor);
    let (addr, len) = (fields.take64()?, fields.take32()?);
    Ok((addr, len, fields.take16()?, fields.take16()?))
}

fn total(buffers: &[Span]) -> u64 {
    buffers
        .iter()
        .fold(0, |sum: u64, buffer| sum.saturating_add(buffer.len()))
}
