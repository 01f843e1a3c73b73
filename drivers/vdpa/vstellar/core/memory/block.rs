// SPDX-License-Identifier: GPL-2.0

//! The map cache: blocks of 2 MiB, found by address.
//!
//! A block is what is pinned at once: an aligned window of addresses, clipped to
//! the region it lies in, so that it never covers what was not mapped as RAM.
//! Blocks hang in a hash table by their window; several regions in one window
//! have a block each, which share a chain.
//!
//! ```text
//!              pin begins            pin done             last user gone
//!   (no block) ──────────► Pinning ──────────► Pinned ──┐ and evicted
//!                             │ unmapped         │      ├──────────► Loose ─► unpinned
//!                             ▼                  ▼      │
//!                         Cancelled            Dying ───┘
//!                       (pin result is       (unmapped
//!                        returned at once)    while in use)
//! ```
//!
//! Only a Pinned block can be used anew. A Loose one waits for someone who may
//! sleep to unpin it.
//!
//! What is in use, and what is held, is counted along with each change of a block,
//! for the quota to be compared with.

use super::{
    super::{
        access::Access,
        span::Span,
        table::{
            Full,
            Handle,
            Table, //
        }, //
    },
    quota::Room,
    region::Owner, //
};
use crate::host::List;

/// Bytes of a block, as a logarithm.
pub const BLOCK_SHIFT: u32 = 21;

/// The end of a chain.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) enum State<P> {
    Pinning,
    Cancelled,
    Pinned(P),
    Dying(P),
    Loose(P),
}

#[derive(Debug)]
pub(super) struct Block<P> {
    pub(super) span: Span,
    pub(super) region: Handle,
    pub(super) owner: Owner,
    pub(super) access: Access,
    pub(super) state: State<P>,
    /// Uses that unmapping has to wait for.
    pub(super) users: u32,
    /// Rings and memory regions that want it to stay, until it is unmapped.
    pub(super) holds: u32,
    /// The device has written to it.
    pub(super) dirty: bool,
    /// When it was used last, counted in uses.
    pub(super) last_use: u64,
    next: u32,
}

impl<P> Block<P> {
    pub(super) fn pinning(span: Span, region: Handle, owner: Owner, access: Access) -> Self {
        Self {
            span,
            region,
            owner,
            access,
            state: State::Pinning,
            users: 0,
            holds: 0,
            dirty: false,
            last_use: 0,
            next: NONE,
        }
    }

    /// Whether look-ups find it.
    pub(super) fn is_cached(&self) -> bool {
        matches!(self.state, State::Pinning | State::Pinned(_))
    }

    pub(super) fn is_idle(&self) -> bool {
        self.users == 0 && self.holds == 0 && matches!(self.state, State::Pinned(_))
    }

    /// Whether it is to stay.
    pub(super) fn is_kept(&self) -> bool {
        self.holds > 0 && matches!(self.state, State::Pinned(_))
    }

    /// What it takes.
    pub(super) fn room(&self) -> Room {
        Room::of_block(self.span.pages())
    }

    /// What of that cannot make room for others, and what is to stay.
    fn load(&self) -> Load {
        let counted = |is_counted| {
            if is_counted {
                self.room()
            } else {
                Room::default()
            }
        };
        Load {
            busy: counted(!self.is_idle() && !matches!(self.state, State::Loose(_))),
            kept: counted(self.is_kept()),
        }
    }
}

/// What blocks take that are not idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    /// Being pinned, in use, or held.
    pub(super) busy: Room,
    /// Held.
    pub(super) kept: Room,
}

impl Load {
    fn add(&mut self, other: Load) {
        self.busy = self.busy.and(other.busy);
        self.kept = self.kept.and(other.kept);
    }

    fn take(&mut self, other: Load) {
        self.busy = self.busy.without(other.busy);
        self.kept = self.kept.without(other.kept);
    }
}

#[derive(Debug)]
pub(super) struct Blocks<P> {
    table: Table<Block<P>>,
    heads: List<u32>,
    loose: u32,
    /// Of all blocks together.
    load: Load,
}

/// The window that an address is in.
pub(super) fn window(addr: u64) -> Span {
    let first = (addr >> BLOCK_SHIFT) << BLOCK_SHIFT;
    Span::between(first, first | ((1 << BLOCK_SHIFT) - 1)).unwrap_or(Span::ALL)
}

impl<P> Blocks<P> {
    /// None, and memory for `limit`.
    pub(super) fn new(limit: u32) -> Result<Self, Full> {
        let mut table = Table::new(limit);
        table.reserve()?;
        let mut heads = List::new();
        for _ in 0..table.places().max(1).next_power_of_two() {
            heads.push(NONE).map_err(|_| Full::Memory)?;
        }
        Ok(Self {
            table,
            heads,
            loose: NONE,
            load: Load::default(),
        })
    }

    /// All blocks.
    pub(super) fn table(&self) -> &Table<Block<P>> {
        &self.table
    }

    pub(super) fn get(&self, handle: Handle) -> Option<&Block<P>> {
        self.table.get(handle)
    }

    /// What of them cannot make room for others.
    pub(super) fn load(&self) -> Load {
        self.load
    }

    /// Whether there is a place for one more.
    pub(super) fn has_place(&mut self) -> bool {
        self.table.make_room().is_ok()
    }

    /// Changes a block. What is loose is changed by [`Blocks::loosen`] alone.
    pub(super) fn change<R>(
        &mut self,
        handle: Handle,
        f: impl FnOnce(&mut Block<P>) -> R,
    ) -> Option<R> {
        let block = self.table.get_mut(handle)?;
        let before = block.load();
        let result = f(block);
        let after = block.load();
        if before != after {
            self.load.take(before);
            self.load.add(after);
        }
        Some(result)
    }

    /// A block was looked at: for how long it has been idle begins anew.
    pub(super) fn touch(&mut self, handle: Handle, now: u64, wrote: bool) -> Option<&Block<P>> {
        let block = self.table.get_mut(handle)?;
        block.last_use = now;
        block.dirty |= wrote;
        Some(block)
    }

    /// Takes a block out of the table, which is out of the cache.
    pub(super) fn remove(&mut self, handle: Handle) -> Option<Block<P>> {
        let block = self.table.remove(handle)?;
        self.load.take(block.load());
        Some(block)
    }

    /// The block that has `addr`: the one that was used for it before, or what the cache says.
    pub(super) fn lookup(&self, addr: u64, hint: Option<Handle>) -> Option<Handle> {
        let hinted = hint.filter(|&hint| {
            self.table.get(hint).is_some_and(|block| {
                matches!(block.state, State::Pinned(_)) && block.span.contains(addr)
            })
        });
        hinted.or_else(|| self.find(addr, |block| block.span.contains(addr)))
    }

    /// The block of `region` in the window of `addr`.
    pub(super) fn of_region(&self, addr: u64, region: Handle) -> Option<Handle> {
        self.find(addr, |block| block.region == region)
    }

    fn find(&self, addr: u64, wanted: impl Fn(&Block<P>) -> bool) -> Option<Handle> {
        let mut index = *self.heads.get(self.bucket(addr))?;
        while let Some(block) = self.table.at(index) {
            if wanted(block) {
                return self.table.handle_at(index);
            }
            index = block.next;
        }
        None
    }

    /// Enters a block into the cache; `None` if there is no place.
    pub(super) fn insert(&mut self, mut block: Block<P>) -> Option<Handle> {
        let bucket = self.bucket(block.span.first());
        let head = self.heads.get_mut(bucket)?;
        block.next = *head;
        let load = block.load();
        let handle = self.table.insert(block).ok()?;
        self.load.add(load);
        *head = handle.index();
        Some(handle)
    }

    /// Takes a block out of the cache; it stays in the table.
    pub(super) fn unlink(&mut self, handle: Handle) {
        let Some(block) = self.table.get(handle) else {
            return;
        };
        let (bucket, next) = (self.bucket(block.span.first()), block.next);
        let Some(head) = self.heads.get_mut(bucket) else {
            return;
        };
        let mut index = *head;
        if index == handle.index() {
            *head = next;
            return;
        }
        while let Some(block) = self.table.at_mut(index) {
            if block.next == handle.index() {
                block.next = next;
                return;
            }
            index = block.next;
        }
    }

    /// Puts a block that is out of the cache to those to be unpinned; `true` if it had pages.
    pub(super) fn loosen(&mut self, handle: Handle) -> bool {
        let loose = self.loose;
        let had_pages = self.change(handle, |block| {
            match core::mem::replace(&mut block.state, State::Cancelled) {
                State::Pinned(pages) | State::Dying(pages) => {
                    block.state = State::Loose(pages);
                    block.next = loose;
                    true
                }
                other => {
                    block.state = other;
                    false
                }
            }
        });
        let had_pages = had_pages.unwrap_or(false);
        if had_pages {
            self.loose = handle.index();
        }
        had_pages
    }

    /// Takes out one of those to be unpinned.
    pub(super) fn take_loose(&mut self) -> Option<Block<P>> {
        let handle = self.table.handle_at(self.loose)?;
        let block = self.remove(handle)?;
        self.loose = block.next;
        Some(block)
    }

    pub(super) fn has_loose(&self) -> bool {
        self.loose != NONE
    }

    /// The block that has been idle for longest.
    pub(super) fn oldest_idle(&self) -> Option<Handle> {
        self.table
            .iter()
            .filter(|(_, block)| block.is_idle())
            .min_by_key(|(_, block)| block.last_use)
            .map(|(handle, _)| handle)
    }

    fn bucket(&self, addr: u64) -> usize {
        // Fibonacci hashing; the number of buckets is a power of two
        let hash = (addr >> BLOCK_SHIFT).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        hash as usize & self.heads.len().wrapping_sub(1)
    }
}
