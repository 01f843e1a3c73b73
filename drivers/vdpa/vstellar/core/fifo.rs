// SPDX-License-Identifier: GPL-2.0

//! A queue of a fixed length: what goes in first comes out first.
//!
//! All memory is there from the beginning, so neither end ever allocates.

use crate::host::{
    AllocError,
    List, //
};

/// The queue.
#[derive(Debug)]
pub struct Fifo<T> {
    places: List<Option<T>>,
    first: usize,
    len: usize,
}

impl<T: Copy> Fifo<T> {
    /// An empty one with room for `room`, which its creator has held against a limit.
    pub fn new(room: u32) -> Result<Self, AllocError> {
        let mut places = List::new();
        for _ in 0..room {
            places.push(None)?;
        }
        Ok(Self {
            places,
            first: 0,
            len: 0,
        })
    }

    /// How many are in it.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many more there is room for.
    pub fn room(&self) -> usize {
        self.places.len().saturating_sub(self.len)
    }

    /// Puts one in; returns it if there is no room.
    pub fn push(&mut self, value: T) -> Result<(), T> {
        if self.room() == 0 {
            return Err(value);
        }
        let place = self.place(self.len);
        match self.places.get_mut(place) {
            Some(free) => *free = Some(value),
            None => return Err(value),
        }
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    /// The one that comes out next.
    pub fn first(&self) -> Option<&T> {
        self.places.get(self.first)?.as_ref()
    }

    /// Takes it out.
    pub fn pop(&mut self) -> Option<T> {
        let value = self.places.get_mut(self.first)?.take()?;
        self.first = self.place(1);
        self.len = self.len.saturating_sub(1);
        Some(value)
    }

    /// All of them, in no particular order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().filter_map(Option::as_mut)
    }

    /// Where the one is that comes after the next `skip`.
    fn place(&self, skip: usize) -> usize {
        let place = self.first.saturating_add(skip);
        place.checked_rem(self.places.len()).unwrap_or(0)
    }
}
