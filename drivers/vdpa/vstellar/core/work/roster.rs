// SPDX-License-Identifier: GPL-2.0

//! Which endpoints are visited in a round: all of them, or those with a watched queue ([`super::patience`]).
//!
//! When someone has called, any endpoint may have something to do. When a timer says that it is time to
//! look at what is watched, only those are visited, however many others there are. Therefore the watched
//! ones come first.
//!
//! Nobody says when an endpoint goes: a visit finds that out, and so does the one that has its place in the
//! device's table next. There are never more than the table has places, even while nobody is visited.

use crate::{
    host::{
        AllocError,
        List, //
    },
    model::table::Handle, //
};

/// No place in the roster.
const NOWHERE: usize = usize::MAX;

/// The endpoints of a device: all there are, and maybe some that are gone.
#[derive(Debug, Default)]
pub struct Roster {
    handles: List<Handle>,
    /// Where the one is that has this place in the device's table, or had it.
    places: List<usize>,
    /// How many of the first ones are watched.
    watched: usize,
}

impl Roster {
    /// None.
    pub const fn new() -> Self {
        Self {
            handles: List::new(),
            places: List::new(),
            watched: 0,
        }
    }

    /// An endpoint was made; nobody watches it.
    pub fn add(&mut self, endpoint: Handle) -> Result<(), AllocError> {
        while self.places.len() <= endpoint.index() as usize {
            self.places.push(NOWHERE)?;
        }
        // whoever had its place in the table is gone
        if let Some(former) = self.place_of(endpoint).filter(|place| *place != NOWHERE) {
            self.forget(former);
        }
        self.handles.push(endpoint)?;
        self.note(self.handles.len().saturating_sub(1));
        Ok(())
    }

    /// The one at a place, of all or of the watched ones.
    pub fn get(&self, place: usize, all: bool) -> Option<Handle> {
        if !all && place >= self.watched {
            return None;
        }
        self.handles.get(place).copied()
    }

    /// The one at this place was visited, and is to be watched or not. Returns the place to visit next:
    /// nobody is left out, but one that is not watched any more may be visited once more.
    pub fn visited(&mut self, place: usize, watched: bool) -> usize {
        if watched && place >= self.watched {
            // who was there was visited before
            self.exchange(place, self.watched);
            self.watched = self.watched.saturating_add(1);
        } else if !watched && place < self.watched {
            self.watched = self.watched.saturating_sub(1);
            if place != self.watched {
                self.exchange(place, self.watched);
                return place;
            }
        }
        place.saturating_add(1)
    }

    /// The one at this place is gone. Who is there now is to be visited next.
    pub fn forget(&mut self, mut place: usize) {
        if place < self.watched {
            self.watched = self.watched.saturating_sub(1);
            self.exchange(place, self.watched);
            place = self.watched;
        }
        self.exchange(place, self.handles.len().saturating_sub(1));
        if let Some(gone) = self.handles.pop() {
            self.set_place(gone, NOWHERE);
        }
    }

    fn exchange(&mut self, one: usize, other: usize) {
        if one.max(other) < self.handles.len() {
            self.handles.swap(one, other);
            self.note(one);
            self.note(other);
        }
    }

    /// Whoever is at this place is found there.
    fn note(&mut self, place: usize) {
        if let Some(handle) = self.handles.get(place).copied() {
            self.set_place(handle, place);
        }
    }

    fn place_of(&self, handle: Handle) -> Option<usize> {
        self.places.get(handle.index() as usize).copied()
    }

    fn set_place(&mut self, handle: Handle, place: usize) {
        if let Some(known) = self.places.get_mut(handle.index() as usize) {
            *known = place;
        }
    }
}
