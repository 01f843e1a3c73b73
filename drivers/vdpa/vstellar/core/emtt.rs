// SPDX-License-Identifier: GPL-2.0

//! eMTT: the extended memory translation table.
//!
//! A memory region is a run of addresses that work entries use, with a key. What
//! extends this table beyond one of addresses is that an entry leads to memory
//! that is pinned already, and says whose it is: a work entry costs an index and a
//! generation, a range and a right to check, and a division by the size of a
//! block. No tree is walked, no page table, and no look-up by IOVA is made, unless
//! the block was let go (of a region that is pinned lazily) and has to be found
//! again.
//!
//! A memory region ends with the mappings below it. It knows them by handle, so
//! that it notices, and does not come to life again when the same addresses are
//! mapped anew.
//!
//! Each device has its own table and cannot name an entry of another's.

use super::{
    access::Access,
    memory::{
        BlockId,
        Hold,
        Owner,
        RegionId,
        Want,
        BLOCK_SHIFT, //
    },
    span::Span,
    status::{
        Result,
        Status, //
    },
    table::{
        Handle,
        Table, //
    },
};
use crate::host::List;

#[derive(Debug)]
struct Segment {
    /// Offset of its first byte in the memory region.
    start: u64,
    span: Span,
    region: RegionId,
    /// Where its blocks begin among those of the memory region.
    first_block: usize,
}

/// What is known of the block in a window.
#[derive(Debug)]
enum Place {
    Unknown,
    /// It was this one the last time.
    Seen(BlockId),
    /// It stays for as long as it is mapped.
    Held(Hold),
}

/// A run of addresses and the memory behind them.
#[derive(Debug)]
pub struct MemoryRegion {
    addrs: Span,
    access: Access,
    owner: Owner,
    segments: List<Segment>,
    /// Bytes that the segments have so far.
    filled: u64,
    /// The block of each window of each segment.
    blocks: List<Place>,
    /// How many of them are held; these come first.
    held: usize,
    users: u32,
}

impl MemoryRegion {
    /// Addresses without memory yet.
    pub fn new(addrs: Span, access: Access) -> Self {
        Self {
            addrs,
            access,
            owner: Owner::Guest,
            segments: List::new(),
            filled: 0,
            blocks: List::new(),
            held: 0,
            users: 0,
        }
    }

    /// Puts memory of one mapping behind the next addresses.
    pub fn add(&mut self, span: Span, region: RegionId, owner: Owner) -> Result {
        let filled = self.filled.checked_add(span.len()).ok_or(Status::Inval)?;
        if filled > self.addrs.len() {
            return Err(Status::Inval);
        }
        // no segment is without memory, so the first one tells; a mixture would have no one owner
        if self.filled > 0 && owner != self.owner {
            return Err(Status::Inval);
        }
        let first_block = self.blocks.len();
        for _ in 0..=block_number(&span, span.last()) {
            self.blocks.push(Place::Unknown)?;
        }
        self.segments.push(Segment {
            start: self.filled,
            span,
            region,
            first_block,
        })?;
        self.owner = owner;
        self.filled = filled;
        Ok(())
    }

    /// Whether there is memory behind all addresses.
    pub fn is_complete(&self) -> bool {
        self.filled == self.addrs.len()
    }

    /// Its addresses.
    pub fn addrs(&self) -> Span {
        self.addrs
    }

    /// Whose memory it is.
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// Keeps the hold of the next block of it, from the first one on; returns it if there is none.
    pub fn keep(&mut self, hold: Hold) -> core::result::Result<(), Hold> {
        match self.blocks.get_mut(self.held) {
            Some(place) => {
                *place = Place::Held(hold);
                self.held = self.held.saturating_add(1);
                Ok(())
            }
            None => Err(hold),
        }
    }

    /// Takes back a hold, if there is one left.
    pub fn take_hold(&mut self) -> Option<Hold> {
        self.held = self.held.checked_sub(1)?;
        let place = self.blocks.get_mut(self.held)?;
        match core::mem::replace(place, Place::Unknown) {
            Place::Held(hold) => Some(hold),
            _ => None,
        }
    }

    /// What it may be used for.
    pub fn access(&self) -> Access {
        self.access
    }

    /// How many segments it has.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// The IOVAs of a segment.
    pub fn segment(&self, index: usize) -> Option<Span> {
        self.segments.get(index).map(|segment| segment.span)
    }
}

/// A memory region in use. Whoever has it gives it to [`Emtt::leave`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the memory region cannot be deregistered until this is given back"]
pub struct MrUse {
    key: Handle,
    access: Access,
}

/// Where addresses of a memory region are.
#[derive(Debug)]
pub struct Located {
    /// What to ask the device's memory for.
    pub want: Want,
    place: usize,
}

/// The memory regions of a device.
#[derive(Debug)]
pub struct Emtt {
    table: Table<MemoryRegion>,
    /// Segments of all of them, and how many these may be.
    segments: usize,
    most_segments: usize,
}

impl Emtt {
    /// None, and never more than `limit`, with no more than `segments` in all.
    pub fn new(limit: u32, segments: u32) -> Self {
        Self {
            table: Table::new(limit),
            segments: 0,
            most_segments: segments as usize,
        }
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.table.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Sees to it that the next memory region can be entered, if it has `segments`.
    pub fn make_room(&mut self, segments: u64) -> Result {
        let left = self.most_segments.saturating_sub(self.segments);
        if segments > left as u64 {
            return Err(Status::Quota);
        }
        Ok(self.table.make_room()?)
    }

    /// Enters a memory region; returns its keys for this device and for the peer. Returns the region
    /// if there is no room or it is not complete.
    pub fn register(
        &mut self,
        region: MemoryRegion,
    ) -> core::result::Result<(u32, u32), MemoryRegion> {
        if !region.is_complete() {
            return Err(region);
        }
        let (remote, segments) = (region.access.is_remote(), region.segments.len());
        let key = self.table.insert(region)?.raw();
        self.segments = self.segments.saturating_add(segments);
        Ok((key, if remote { key } else { 0 }))
    }

    /// Takes a memory region out, unless a work entry uses it. Its holds are the caller's to give back.
    pub fn deregister(&mut self, key: u32) -> Result<MemoryRegion> {
        let key = Handle::from_raw(key);
        let region = self.table.get(key).ok_or(Status::NoEnt)?;
        if region.users > 0 {
            return Err(Status::Busy);
        }
        self.remove(key).ok_or(Status::NoEnt)
    }

    fn remove(&mut self, key: Handle) -> Option<MemoryRegion> {
        let region = self.table.remove(key)?;
        self.segments = self.segments.saturating_sub(region.segments.len());
        Some(region)
    }

    /// Takes any memory region out, in use or not: for a device that stops.
    pub fn evict(&mut self) -> Option<MemoryRegion> {
        let key = self.table.iter().map(|(key, _)| key).next()?;
        self.remove(key)
    }

    /// The memory region with this key.
    pub fn get(&self, key: u32) -> Result<&MemoryRegion> {
        self.table.get(Handle::from_raw(key)).ok_or(Status::NoEnt)
    }

    /// Begins to use `addrs` of a memory region for `access`.
    pub fn enter(&mut self, key: u32, addrs: &Span, access: Access) -> Result<MrUse> {
        let key = Handle::from_raw(key);
        let region = self.table.get_mut(key).ok_or(Status::NoEnt)?;
        if !region.access.allows(access) {
            return Err(Status::Perm);
        }
        if !region.addrs.covers(addrs) {
            return Err(Status::Fault);
        }
        region.users = region.users.checked_add(1).ok_or(Status::Quota)?;
        Ok(MrUse {
            key,
            access: access.local(),
        })
    }

    /// Ends a use.
    pub fn leave(&mut self, used: MrUse) {
        if let Some(region) = self.table.get_mut(used.key) {
            region.users = region.users.saturating_sub(1);
        }
    }

    /// Where the beginning of `addrs` is, and as much of the rest as is contiguous.
    pub fn locate(&self, used: &MrUse, addrs: &Span) -> Result<Located> {
        let region = self.table.get(used.key).ok_or(Status::Fault)?;
        if !region.addrs.covers(addrs) {
            return Err(Status::Fault);
        }
        let offset = addrs.first().saturating_sub(region.addrs.first());
        let next = region.segments.partition_point(|one| one.start <= offset);
        let segment = next.checked_sub(1).and_then(|i| region.segments.get(i));
        let segment = segment.ok_or(Status::Fault)?;

        let first = segment
            .span
            .first()
            .checked_add(offset.saturating_sub(segment.start));
        let span = first.and_then(|first| Span::new(first, addrs.len()));
        let span = span.and_then(|span| span.intersection(&segment.span));
        let span = span.ok_or(Status::Fault)?;

        let number = block_number(&segment.span, span.first());
        let number = usize::try_from(number).map_err(|_| Status::Fault)?;
        let place = segment.first_block.saturating_add(number);
        let hint = match region.blocks.get(place) {
            Some(Place::Seen(block)) => Some(*block),
            Some(Place::Held(hold)) => Some(hold.block()),
            _ => None,
        };
        Ok(Located {
            want: Want {
                region: Some(segment.region),
                hint,
                ..Want::new(span, used.access)
            },
            place,
        })
    }

    /// Remembers the block that was found for it.
    pub fn remember(&mut self, used: &MrUse, located: &Located, block: BlockId) {
        let region = self.table.get_mut(used.key);
        let place = region.and_then(|region| region.blocks.get_mut(located.place));
        if let Some(place @ (Place::Unknown | Place::Seen(_))) = place {
            *place = Place::Seen(block);
        }
    }
}

/// Which window of `span` has `addr`, counted from its first one.
fn block_number(span: &Span, addr: u64) -> u64 {
    (addr >> BLOCK_SHIFT).saturating_sub(span.first() >> BLOCK_SHIFT)
}
