// SPDX-License-Identifier: GPL-2.0

//! Objects of a device by handle, no more of them than a limit.
//!
//! A handle is an index and a generation. Taking an object out raises the
//! generation of its place, so that an old handle is recognised instead of naming
//! whatever came after. Places are reused in the order in which they became free:
//! with a table of any size it takes long until a generation comes round.
//!
//! Memory grows with use, up to the limit, and only in [`Table::make_room`] and
//! [`Table::reserve`]; neither looking up nor putting in nor taking out allocates.

use super::status::Status;
use crate::host::{
    AllocError,
    List, //
};

/// Names an object in one table; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u32);

const GENERATION_BITS: u32 = 8;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;

/// No place: the end of a list of places.
const NONE: u32 = u32::MAX;

impl Handle {
    /// Most objects that a table can tell apart.
    pub const MOST: u32 = 1 << (32 - GENERATION_BITS);

    /// The handle with this value, as a guest wrote it.
    pub const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    /// The value that a guest knows it by.
    pub const fn raw(self) -> u32 {
        self.0
    }

    /// The place in the table.
    pub const fn index(self) -> u32 {
        self.0 >> GENERATION_BITS
    }

    const fn new(index: u32, generation: u8) -> Self {
        Self((index << GENERATION_BITS) | generation as u32)
    }

    const fn generation(self) -> u32 {
        self.0 & GENERATION_MASK
    }
}

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// There are as many as there may be.
    Limit,
    /// The host has no memory.
    Memory,
}

impl From<Full> for Status {
    fn from(full: Full) -> Self {
        match full {
            Full::Limit => Status::Quota,
            Full::Memory => Status::Io,
        }
    }
}

impl From<AllocError> for Status {
    fn from(_: AllocError) -> Self {
        Status::Io
    }
}

#[derive(Debug)]
struct Slot<T> {
    value: Option<T>,
    /// 1 to 255: a handle is never zero.
    generation: u8,
    next_free: u32,
}

/// Objects by handle.
#[derive(Debug)]
pub struct Table<T> {
    slots: List<Slot<T>>,
    limit: u32,
    used: u32,
    /// The place that has been free for longest.
    free: u32,
    last_free: u32,
}

impl<T> Table<T> {
    /// An empty one for at most `limit` objects, which takes no memory yet.
    pub fn new(limit: u32) -> Self {
        Self {
            slots: List::new(),
            limit: limit.min(Handle::MOST),
            used: 0,
            free: NONE,
            last_free: NONE,
        }
    }

    /// How many objects there are.
    pub fn len(&self) -> u32 {
        self.used
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Gets all memory that the table can ever need.
    pub fn reserve(&mut self) -> Result<(), Full> {
        while self.places() < self.limit {
            self.grow()?;
        }
        Ok(())
    }

    /// Sees to it that the next [`Table::insert`] succeeds.
    pub fn make_room(&mut self) -> Result<(), Full> {
        if self.free != NONE {
            return Ok(());
        }
        self.grow()
    }

    /// Puts an object into a free place; returns it if there is none.
    pub fn insert(&mut self, value: T) -> Result<Handle, T> {
        let index = self.free;
        let Some(slot) = place(&mut self.slots, index) else {
            return Err(value);
        };
        slot.value = Some(value);
        self.free = slot.next_free;
        if self.free == NONE {
            self.last_free = NONE;
        }
        self.used = self.used.saturating_add(1);
        Ok(Handle::new(index, slot.generation))
    }

    /// Takes an object out; its handle means nothing from then on.
    pub fn remove(&mut self, handle: Handle) -> Option<T> {
        let slot = self.slot_mut(handle)?;
        let value = slot.value.take()?;
        slot.generation = slot.generation.checked_add(1).unwrap_or(1);
        self.used = self.used.saturating_sub(1);
        self.set_free(handle.index());
        Some(value)
    }

    /// The object, if the handle is of one that is there.
    pub fn get(&self, handle: Handle) -> Option<&T> {
        let index = usize::try_from(handle.index()).ok()?;
        let slot = self.slots.get(index)?;
        if u32::from(slot.generation) != handle.generation() {
            return None;
        }
        slot.value.as_ref()
    }

    /// The object, if the handle is of one that is there.
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        self.slot_mut(handle)?.value.as_mut()
    }

    /// The object in a place.
    pub fn at(&self, index: u32) -> Option<&T> {
        let index = usize::try_from(index).ok()?;
        self.slots.get(index)?.value.as_ref()
    }

    /// The object in a place.
    pub fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        place(&mut self.slots, index)?.value.as_mut()
    }

    /// The handle of the object in a place.
    pub fn handle_at(&self, index: u32) -> Option<Handle> {
        let slot = self.slots.get(usize::try_from(index).ok()?)?;
        slot.value.as_ref()?;
        Some(Handle::new(index, slot.generation))
    }

    /// How many places there are at the moment, free or not.
    pub fn places(&self) -> u32 {
        // no more than the limit, which is a u32
        u32::try_from(self.slots.len()).unwrap_or(self.limit)
    }

    /// All objects.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        (0u32..).zip(self.slots.iter()).filter_map(|(index, slot)| {
            let value = slot.value.as_ref()?;
            Some((Handle::new(index, slot.generation), value))
        })
    }

    /// All objects.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Handle, &mut T)> {
        (0u32..)
            .zip(self.slots.iter_mut())
            .filter_map(|(index, slot)| {
                let value = slot.value.as_mut()?;
                Some((Handle::new(index, slot.generation), value))
            })
    }

    fn slot_mut(&mut self, handle: Handle) -> Option<&mut Slot<T>> {
        let slot = place(&mut self.slots, handle.index())?;
        (u32::from(slot.generation) == handle.generation()).then_some(slot)
    }

    /// One more place, free.
    fn grow(&mut self) -> Result<(), Full> {
        let index = self.places();
        if index >= self.limit {
            return Err(Full::Limit);
        }
        self.slots
            .push(Slot {
                value: None,
                generation: 1,
                next_free: NONE,
            })
            .map_err(|_| Full::Memory)?;
        self.set_free(index);
        Ok(())
    }

    fn set_free(&mut self, index: u32) {
        if let Some(slot) = place(&mut self.slots, index) {
            slot.next_free = NONE;
        }
        match place(&mut self.slots, self.last_free) {
            Some(last) => last.next_free = index,
            None => self.free = index,
        }
        self.last_free = index;
    }
}

fn place<T>(slots: &mut [Slot<T>], index: u32) -> Option<&mut Slot<T>> {
    slots.get_mut(usize::try_from(index).ok()?)
}
