// SPDX-License-Identifier: GPL-2.0

//! The device's side of a split virtqueue.
//!
//! It is our own, and not the kernel's `vringh`, which distributions do not build;
//! and as it reads through [`Shared`], descriptors take the same way to memory as
//! payload does. It has what virtio-vstellar needs: chains of at most
//! [`CHAIN_MAX`] descriptors, no indirect ones, event indices in both directions.
//!
//! A driver that breaks the rules breaks the queue: [`SplitQueue::pop`] fails from
//! then on, and the device asks for a reset. Nothing else depends on it.

use super::{
    bytes::Bytes,
    event_index::passed16,
    memory::MemoryError,
    shared::Shared,
    span::Span, //
};

mod chain;

pub use chain::{
    Chain,
    CHAIN_MAX, //
};

/// Where a queue is.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// How many descriptors.
    pub size: u16,
    /// Descriptor table.
    pub desc: u64,
    /// Available ring, which the driver writes.
    pub avail: u64,
    /// Used ring, which the device writes.
    pub used: u64,
}

/// What a driver did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The size is not a power of two, or too large; or a part is not aligned, or wraps.
    Layout,
    /// The available index went further than there are descriptors.
    Available,
    /// A descriptor beyond the table.
    Index,
    /// A chain too long, or a loop.
    Length,
    /// A descriptor to be read after one to be written.
    Order,
    /// An indirect descriptor, which was not offered.
    Indirect,
    /// A descriptor without a byte, or one that wraps, or with an unknown flag.
    Descriptor,
    /// A part of the queue is not in mapped memory.
    Memory(MemoryError),
    /// An earlier violation.
    Broken,
}

impl From<MemoryError> for Violation {
    fn from(error: MemoryError) -> Self {
        Violation::Memory(error)
    }
}

const AVAIL_F_NO_INTERRUPT: u16 = 1;
const USED_F_NO_NOTIFY: u16 = 1;

/// Both rings begin with flags and an index.
const RING_INDEX: u64 = 2;
const RING_ENTRIES: u64 = 4;

/// A queue that the device takes chains from.
#[derive(Debug)]
pub struct SplitQueue {
    layout: Layout,
    event_index: bool,
    /// How many chains were taken, and given back.
    taken: u16,
    used: u16,
    /// `used` when the driver was last thought of.
    told: u16,
    broken: bool,
}

impl SplitQueue {
    /// A queue of at most `largest` descriptors, from which `taken` chains were taken before.
    pub fn new(
        layout: Layout,
        largest: u16,
        event_index: bool,
        taken: u16,
    ) -> Result<Self, Violation> {
        let Layout {
            size,
            desc,
            avail,
            used,
        } = layout;
        let good = size.is_power_of_two()
            && size <= largest
            && fits(desc, 16, 0, 16, size)
            && fits(avail, 2, 6, 2, size)
            && fits(used, 4, 6, 8, size);
        if !good {
            return Err(Violation::Layout);
        }
        Ok(Self {
            layout,
            event_index,
            taken,
            used: taken,
            told: taken,
            broken: false,
        })
    }

    /// How many chains were taken, for who stops the queue and sets it up again.
    pub fn taken(&self) -> u16 {
        self.taken
    }

    /// How many chains were taken and not yet given back.
    pub fn outstanding(&self) -> u16 {
        self.taken.wrapping_sub(self.used)
    }

    /// Whether the driver broke the rules.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Takes the next chain, if there is one.
    pub fn pop(&mut self, shared: &impl Shared) -> Result<Option<Chain>, Violation> {
        if self.broken {
            return Err(Violation::Broken);
        }
        let popped = self.try_pop(shared);
        self.broken = popped.is_err();
        popped
    }

    fn try_pop(&mut self, shared: &impl Shared) -> Result<Option<Chain>, Violation> {
        let Layout {
            size, desc, avail, ..
        } = self.layout;
        let offered = shared.load16(at(avail, RING_INDEX))?;
        // all that were made available, and not only those to be taken yet
        if offered.wrapping_sub(self.used) > size || self.pending(offered) > size {
            return Err(Violation::Available);
        }
        if self.pending(offered) == 0 {
            return Ok(None);
        }
        let head = shared.load16(self.entry(avail, 2, self.taken))?;
        let chain = Chain::walk(shared, desc, size, head)?;
        self.taken = self.taken.wrapping_add(1);
        Ok(Some(chain))
    }

    fn pending(&self, offered: u16) -> u16 {
        offered.wrapping_sub(self.taken)
    }

    /// Gives a chain back, with `written` bytes of it filled.
    pub fn push(
        &mut self,
        shared: &impl Shared,
        head: u16,
        written: u32,
    ) -> Result<(), MemoryError> {
        let ring = self.layout.used;
        let element: Bytes<8> = Bytes::new().put32(u32::from(head)).put32(written);
        shared.write(self.entry(ring, 8, self.used), element.as_slice())?;
        self.used = self.used.wrapping_add(1);
        shared.store16(at(ring, RING_INDEX), self.used)
    }

    /// Whether the driver wants to hear of what was given back since this was last asked.
    pub fn wants_call(&mut self, shared: &impl Shared) -> Result<bool, MemoryError> {
        let Layout { size, avail, .. } = self.layout;
        let told = core::mem::replace(&mut self.told, self.used);
        if told == self.used {
            return Ok(false);
        }
        // what was given back is seen before the driver's wish is read
        shared.fence();
        if self.event_index {
            let event = shared.load16(self.entry_end(avail, 2, size))?;
            return Ok(passed16(event, told, self.used));
        }
        Ok(shared.load16(avail)? & AVAIL_F_NO_INTERRUPT == 0)
    }

    /// Asks the driver for a notification when the next chain is there. `true` if one is already:
    /// then look again, for that may not be notified.
    pub fn enable_kick(&mut self, shared: &impl Shared) -> Result<bool, MemoryError> {
        let Layout {
            size, avail, used, ..
        } = self.layout;
        if self.event_index {
            shared.store16(self.entry_end(used, 8, size), self.taken)?;
        } else {
            shared.store16(used, 0)?;
        }
        // the wish is seen before the index is read
        shared.fence();
        Ok(shared.load16(at(avail, RING_INDEX))? != self.taken)
    }

    /// Tells the driver that notifications are not needed. With event indices there is nothing to do.
    pub fn disable_kick(&mut self, shared: &impl Shared) -> Result<(), MemoryError> {
        if self.event_index {
            return Ok(());
        }
        shared.store16(self.layout.used, USED_F_NO_NOTIFY)
    }

    /// Where entry `index` of a ring is.
    fn entry(&self, ring: u64, bytes: u16, index: u16) -> u64 {
        let slot = index & self.layout.size.wrapping_sub(1);
        self.entry_end(ring, bytes, slot)
    }

    /// Where a ring's entries before `count` end.
    fn entry_end(&self, ring: u64, bytes: u16, count: u16) -> u64 {
        let offset = u64::from(bytes).saturating_mul(u64::from(count));
        at(ring, RING_ENTRIES.saturating_add(offset))
    }
}

/// The layout was checked: no part of it wraps.
fn at(ring: u64, offset: u64) -> u64 {
    ring.saturating_add(offset)
}

/// Whether a part of `extra` bytes and `size` entries of `bytes` each can begin at `addr`.
fn fits(addr: u64, align: u64, extra: u64, bytes: u64, size: u16) -> bool {
    let len = u64::from(size).saturating_mul(bytes).saturating_add(extra);
    addr % align == 0 && Span::new(addr, len).is_some()
}
