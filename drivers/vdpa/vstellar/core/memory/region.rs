// SPDX-License-Identifier: GPL-2.0

//! What the guest has mapped: which addresses the device may use at all.
//!
//! Regions come from the host's `dma_map` or from the map operations of the same
//! kernel, and from nowhere else: a device without regions has no access to
//! anything, there is no identity mapping. They do not overlap. Mapping costs a
//! place in a sorted list and touches no page.
//!
//! The handle of a region changes when the region goes, which is how everything
//! that was derived from it is revoked.

use super::super::{
    access::Access,
    span::Span,
    table::{
        Full,
        Handle,
        Table, //
    }, //
};
use crate::host::List;

/// Whose memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A guest's, reached through the program that runs it. It has to be pinned, and that program may
    /// take it away at any time; unmapping waits until the device does not use it.
    Guest,
    /// The host kernel's own, with a driver in the same kernel. It is there without being pinned, and
    /// unmapping does not wait: that driver unmaps what the device has given back.
    HostKernel,
}

/// One mapping.
#[derive(Debug)]
pub struct Region<B> {
    /// Its addresses.
    pub span: Span,
    /// What the device may do there.
    pub access: Access,
    /// Whose memory it is.
    pub owner: Owner,
    /// What the host needs to find the memory, for the first address of `span`.
    pub backing: B,
}

/// Why a region was not entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapError {
    /// Some of it is mapped already.
    Overlap,
    /// Memory of a guest is mapped in whole pages.
    Alignment,
    /// There are as many regions as there may be.
    Limit,
}

/// The regions of a device.
#[derive(Debug)]
pub(super) struct Regions<B> {
    table: Table<Region<B>>,
    /// Handles in the order of addresses; the first as many as the table has.
    order: List<Handle>,
}

impl<B> Regions<B> {
    /// None, and memory for `limit`.
    pub(super) fn new(limit: u32) -> Result<Self, Full> {
        let mut table = Table::new(limit);
        table.reserve()?;
        let mut order = List::new();
        for _ in 0..table.places() {
            order.push(Handle::from_raw(0)).map_err(|_| Full::Memory)?;
        }
        Ok(Self { table, order })
    }

    pub(super) fn len(&self) -> u32 {
        self.table.len()
    }

    pub(super) fn insert(&mut self, region: Region<B>) -> Result<Handle, MapError> {
        let span = region.span;
        if region.owner == Owner::Guest && !span.is_page_aligned() {
            return Err(MapError::Alignment);
        }
        if self.first_overlap(&span).is_some() {
            return Err(MapError::Overlap);
        }
        let position = self.position(span.first());
        let handle = self.table.insert(region).map_err(|_| MapError::Limit)?;
        // the last of these was not in use yet: the table has just grown by one
        if let Some(behind) = self.order.get_mut(position..self.table.len() as usize) {
            behind.rotate_right(1);
            if let Some(place) = behind.first_mut() {
                *place = handle;
            }
        }
        Ok(handle)
    }

    /// Takes out one region that overlaps `span`.
    pub(super) fn take_overlap(&mut self, span: &Span) -> Option<(Handle, Region<B>)> {
        let position = self.first_overlap(span)?;
        let count = self.table.len() as usize;
        let handle = *self.order.get(position)?;
        let region = self.table.remove(handle)?;
        if let Some(behind) = self.order.get_mut(position..count) {
            behind.rotate_left(1);
        }
        Some((handle, region))
    }

    pub(super) fn get(&self, handle: Handle) -> Option<&Region<B>> {
        self.table.get(handle)
    }

    pub(super) fn find(&self, addr: u64) -> Option<(Handle, &Region<B>)> {
        let position = self.position(addr.checked_add(1)?).checked_sub(1)?;
        let handle = *self.order.get(position)?;
        let region = self.table.get(handle)?;
        region.span.contains(addr).then_some((handle, region))
    }

    /// How many regions begin below `addr`.
    fn position(&self, addr: u64) -> usize {
        let order = self.order.get(..self.table.len() as usize);
        order.unwrap_or_default().partition_point(|&handle| {
            self.table
                .get(handle)
                .is_some_and(|region| region.span.first() < addr)
        })
    }

    fn first_overlap(&self, span: &Span) -> Option<usize> {
        let next = self.position(span.first());
        let before = next.checked_sub(1);
        [before, Some(next)]
            .into_iter()
            .flatten()
            .filter(|&position| position < self.table.len() as usize)
            .find(|&position| {
                let region = self.order.get(position).and_then(|&h| self.table.get(h));
                region.is_some_and(|region| region.span.overlaps(span))
            })
    }
}
