// SPDX-License-Identifier: GPL-2.0

//! A queue of limited length. First in, first out, each in one step and without allocating.

use kernel::{
    alloc::{
        Flags,
        KVVec, //
    },
    prelude::*, //
};

/// A queue of `T`s.
pub(crate) struct Fifo<T> {
    /// A power of two of them, or none.
    slots: KVVec<Option<T>>,
    /// Slot of the item that waits longest.
    head: usize,
    len: usize,
}

impl<T> Fifo<T> {
    /// A queue that holds at least `len` items. Process context.
    pub(crate) fn new(len: usize, flags: Flags) -> Result<Self> {
        let len = len.checked_next_power_of_two().ok_or(EINVAL)?;
        let mut slots = KVVec::with_capacity(len, flags)?;
        for _ in 0..len {
            slots.push(None, flags)?;
        }
        Ok(Fifo {
            slots,
            head: 0,
            len: 0,
        })
    }

    /// A queue that holds nothing.
    pub(crate) fn none() -> Self {
        Fifo {
            slots: KVVec::new(),
            head: 0,
            len: 0,
        }
    }

    /// Items in it.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Items it has room for, those in it included.
    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The item that waits longest.
    pub(crate) fn first(&self) -> Option<&T> {
        self.slots.get(self.head)?.as_ref()
    }

    /// All items, the one that waits longest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).filter_map(|place| self.slots.get(self.index(place))?.as_ref())
    }

    /// Slot of the item that has `place` others before it.
    fn index(&self, place: usize) -> usize {
        self.head.wrapping_add(place) & self.slots.len().wrapping_sub(1)
    }

    /// Appends an item, or gives it back when the queue is full.
    pub(crate) fn push(&mut self, item: T) -> Result<(), T> {
        if self.len == self.slots.len() {
            return Err(item);
        }
        let index = self.index(self.len);
        match self.slots.get_mut(index) {
            Some(slot) => {
                *slot = Some(item);
                self.len += 1;
                Ok(())
            }
            None => Err(item),
        }
    }

    /// Takes the item that waits longest.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let item = self.slots.get_mut(self.head)?.take()?;
        self.head = self.index(1);
        self.len -= 1;
        Some(item)
    }
}
