// SPDX-License-Identifier: GPL-2.0

//! From an address to a block in use.

use super::{
    super::{
        access::Access,
        span::Span, //
    },
    block::{
        window,
        Block,
        State, //
    },
    keeper::PinError,
    BlockId,
    Charge,
    Hold,
    Loose,
    Memory,
    MemoryError,
    Piece,
    RegionId,
    Use, //
};

/// What [`Memory::resolve`] is asked for: a block for the beginning of `span`.
#[derive(Clone, Copy, Debug)]
pub struct Want {
    /// The addresses.
    pub span: Span,
    /// What will be done there.
    pub access: Access,
    /// The region they were in, if that is known: if they are in another by now, they were unmapped.
    pub region: Option<RegionId>,
    /// The block that had them before, if that is known.
    pub hint: Option<BlockId>,
}

impl Want {
    /// Addresses of which nothing is known.
    pub fn new(span: Span, access: Access) -> Self {
        Self {
            span,
            access,
            region: None,
            hint: None,
        }
    }

    fn check(&self, region: RegionId, access: Access) -> Result<(), MemoryError> {
        if self.region.is_some_and(|wanted| wanted != region) {
            return Err(MemoryError::Unmapped);
        }
        if !access.allows(self.access) {
            return Err(MemoryError::Denied);
        }
        Ok(())
    }
}

/// What [`Memory::resolve`] found.
#[derive(Debug)]
pub enum Resolution<B> {
    /// A block, for as many of the addresses as it has.
    Ready(Piece),
    /// No block yet: pin this, then [`Memory::complete`] it.
    Fault(Fault<B>),
    /// Unpin what is loose, then try again.
    Reclaim,
    /// Try again when [`Memory::progress`] has changed.
    Wait,
}

/// What [`Memory::cached`] found.
#[derive(Debug)]
pub struct Cached<'a, P> {
    /// The block: a hint for the next look-up.
    pub block: BlockId,
    /// Its pages.
    pub pages: &'a P,
    /// The addresses; they begin where the wanted ones do and may end before.
    pub span: Span,
    /// From the first byte of the block.
    pub offset: u64,
}

/// Memory to be pinned. It is charged already.
#[derive(Debug)]
#[must_use = "others wait for this block until it is completed"]
pub struct Fault<B> {
    block: BlockId,
    wanted: Span,
    wrote: bool,
    /// Where the region's memory is.
    pub backing: B,
    /// First byte to pin, from the beginning of the region.
    pub offset: u64,
    /// How many bytes.
    pub len: u64,
    /// Pin them for writing.
    pub writable: bool,
}

/// What became of a [`Fault`].
#[derive(Debug)]
pub enum Completion<P> {
    /// The block can be used.
    Ready(Piece),
    /// It cannot.
    Failed(MemoryError),
    /// It was unmapped meanwhile: unpin these.
    Cancelled(Loose<P>),
}

impl<B: Clone, P> Memory<B, P> {
    /// Finds a block and counts a use of it.
    pub fn resolve(&mut self, want: &Want) -> Result<Resolution<B>, MemoryError> {
        let at = want.span.first();
        if let Some(id) = self.blocks.lookup(at, want.hint) {
            return self.use_known(id, want);
        }
        let (region, found) = self.regions.find(at).ok_or(MemoryError::Unmapped)?;
        want.check(region, found.access)?;
        let clipped = window(at).intersection(&found.span);
        let clipped = clipped.ok_or(MemoryError::Unmapped)?;
        let block = Block::pinning(clipped, region, found.owner, found.access);
        let offset = clipped.first().saturating_sub(found.span.first());
        let backing = found.backing.clone();

        let pages = clipped.pages();
        if let Some(first_do) = self.make_room(pages)? {
            return Ok(first_do);
        }
        let writable = block.access.writes();
        let id = self.blocks.insert(block).ok_or(MemoryError::Quota)?;
        self.charged = self.charged.saturating_add(pages);
        self.counters.peak = self.counters.peak.max(self.charged);
        self.counters.misses = self.counters.misses.saturating_add(1);
        Ok(Resolution::Fault(Fault {
            block: id,
            wanted: want.span,
            wrote: want.access.writes(),
            backing,
            offset,
            len: clipped.len(),
            writable,
        }))
    }

    /// The block, if it is pinned, for whoever is done with it before anything else happens to this memory: that
    /// is no use that anybody would have to wait for. Otherwise [`Memory::resolve`] says what to do.
    pub fn cached(&mut self, want: &Want) -> Option<Cached<'_, P>> {
        let at = want.span.first();
        let id = self.blocks.lookup(at, want.hint)?;
        let block = self.blocks.table.get_mut(id)?;
        want.check(block.region, block.access).ok()?;
        let State::Pinned(pages) = &block.state else {
            return None;
        };
        let span = want.span.intersection(&block.span)?;
        self.counters.hits = self.counters.hits.saturating_add(1);
        self.uses = self.uses.wrapping_add(1);
        block.last_use = self.uses;
        block.dirty |= want.access.writes();
        Some(Cached {
            block: id,
            pages,
            span,
            offset: at.saturating_sub(block.span.first()),
        })
    }

    fn use_known(&mut self, id: BlockId, want: &Want) -> Result<Resolution<B>, MemoryError> {
        let Some(block) = self.blocks.table.get(id) else {
            return Err(MemoryError::Unmapped);
        };
        want.check(block.region, block.access)?;
        if !matches!(block.state, State::Pinned(_)) {
            return Ok(Resolution::Wait);
        }
        self.counters.hits = self.counters.hits.saturating_add(1);
        let piece = self.start_use(id, want.span, want.access.writes());
        piece.map(Resolution::Ready).ok_or(MemoryError::Unmapped)
    }

    /// Sees to it that a block of `pages` can be charged and has a place, or says what to do first.
    fn make_room(&mut self, pages: u64) -> Result<Option<Resolution<B>>, MemoryError> {
        let fits = |memory: &Self, charged: u64| {
            let total = charged.checked_add(pages);
            total.is_some_and(|total| total <= memory.quota)
        };
        let has_place = self.blocks.table.make_room().is_ok();
        if has_place && fits(self, self.charged) {
            return Ok(None);
        }
        if pages > self.quota {
            return Err(MemoryError::Quota);
        }
        // One at least if it is places that are missing, unless some come free anyway.
        while !fits(self, self.charged.saturating_sub(self.leaving))
            || (!has_place && self.leaving == 0)
        {
            let Some(oldest) = self.blocks.oldest_idle() else {
                break;
            };
            self.drop_idle(oldest);
            self.counters.evictions = self.counters.evictions.saturating_add(1);
        }
        if self.blocks.has_loose() {
            Ok(Some(Resolution::Reclaim))
        } else if self.leaving > 0 {
            Ok(Some(Resolution::Wait))
        } else {
            Err(MemoryError::Quota)
        }
    }

    /// Takes the result of pinning.
    pub fn complete(&mut self, fault: Fault<B>, pinned: Result<P, PinError>) -> Completion<P> {
        self.advance();
        let id = fault.block;
        let Some(block) = self.blocks.table.get_mut(id) else {
            return Completion::Failed(MemoryError::Unmapped);
        };
        let pages = block.span.pages();
        let cancelled = matches!(block.state, State::Cancelled);
        match pinned {
            Ok(pinned) if cancelled => {
                self.blocks.table.remove(id);
                self.leaving = self.leaving.saturating_add(pages);
                Completion::Cancelled(Loose {
                    pages: pinned,
                    dirty: false,
                    charge: Charge(pages),
                })
            }
            Ok(pinned) => {
                block.state = State::Pinned(pinned);
                match self.start_use(id, fault.wanted, fault.wrote) {
                    Some(piece) => Completion::Ready(piece),
                    None => Completion::Failed(MemoryError::Unmapped),
                }
            }
            Err(error) => {
                if !cancelled {
                    self.blocks.unlink(id);
                }
                self.blocks.table.remove(id);
                self.charged = self.charged.saturating_sub(pages);
                self.counters.failures = self.counters.failures.saturating_add(1);
                Completion::Failed(error.into())
            }
        }
    }

    fn start_use(&mut self, id: BlockId, span: Span, wrote: bool) -> Option<Piece> {
        let block = self.blocks.table.get_mut(id)?;
        let piece = span.intersection(&block.span)?;
        block.users = block.users.checked_add(1)?;
        self.uses = self.uses.wrapping_add(1);
        block.last_use = self.uses;
        Some(Piece {
            held: Use { block: id, wrote },
            span: piece,
            offset: piece.first().saturating_sub(block.span.first()),
        })
    }
}

impl<B, P> Memory<B, P> {
    /// Ends a use. `true` if something became loose by it.
    pub fn release(&mut self, held: Use) -> bool {
        let Some(block) = self.blocks.table.get_mut(held.block) else {
            return false;
        };
        block.users = block.users.saturating_sub(1);
        block.dirty |= held.wrote;
        if block.users > 0 || !matches!(block.state, State::Dying(_)) {
            return false;
        }
        self.loosen(held.block);
        true
    }

    /// Turns a use into a hold.
    pub fn hold(&mut self, held: Use) -> Hold {
        let hold = Hold { block: held.block };
        if let Some(block) = self.blocks.table.get_mut(held.block) {
            block.holds = block.holds.saturating_add(1);
        }
        self.release(held);
        hold
    }

    /// Ends a hold. Means nothing if the block was unmapped meanwhile.
    pub fn unhold(&mut self, hold: Hold) {
        if let Some(block) = self.blocks.table.get_mut(hold.block) {
            block.holds = block.holds.saturating_sub(1);
        }
    }

    /// Pages to be unpinned, if there are any. Call it where sleeping is allowed, after anything that
    /// may have made some loose.
    pub fn take_loose(&mut self) -> Option<Loose<P>> {
        let block = self.blocks.take_loose()?;
        let State::Loose(pages) = block.state else {
            return None;
        };
        Some(Loose {
            pages,
            dirty: block.dirty,
            charge: Charge(block.span.pages()),
        })
    }

    /// Pages were unpinned.
    pub fn unpinned(&mut self, charge: Charge) {
        self.charged = self.charged.saturating_sub(charge.0);
        self.leaving = self.leaving.saturating_sub(charge.0);
        self.advance();
    }

    /// A block that nobody uses leaves the cache.
    pub(super) fn drop_idle(&mut self, id: BlockId) {
        self.blocks.unlink(id);
        self.loosen(id);
    }

    pub(super) fn loosen(&mut self, id: BlockId) {
        let block = self.blocks.table.get(id);
        let pages = block.map_or(0, |block| block.span.pages());
        if self.blocks.loosen(id) {
            self.leaving = self.leaving.saturating_add(pages);
        }
        self.advance();
    }
}
