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
    quota::Room,
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

/// Blocks that make room at a time.
const EVICT_MOST: u32 = 16;

/// For whom memory is to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// For what the driver has named in a command or an entry.
    Driver,
    /// For the device itself: virtqueues, and what is in them. What the quota keeps for that is enough
    /// because such a use ends before any other begins.
    Own,
}

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
    /// For whom.
    pub purpose: Purpose,
}

impl Want {
    /// Addresses of which nothing is known, for the driver.
    pub fn new(span: Span, access: Access) -> Self {
        Self {
            span,
            access,
            region: None,
            hint: None,
            purpose: Purpose::Driver,
        }
    }

    /// The same for the device itself.
    pub fn own(span: Span, access: Access) -> Self {
        Self {
            purpose: Purpose::Own,
            ..Self::new(span, access)
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

        self.check_use(want, block.room())?;
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
        let block = self.blocks.get(id)?;
        want.check(block.region, block.access).ok()?;
        if !matches!(block.state, State::Pinned(_)) {
            return None;
        }
        let span = want.span.intersection(&block.span)?;
        self.counters.hits = self.counters.hits.saturating_add(1);
        self.uses = self.uses.wrapping_add(1);
        let block = self.blocks.touch(id, self.uses, want.access.writes())?;
        let State::Pinned(pages) = &block.state else {
            return None;
        };
        Some(Cached {
            block: id,
            pages,
            span,
            offset: at.saturating_sub(block.span.first()),
        })
    }

    fn use_known(&mut self, id: BlockId, want: &Want) -> Result<Resolution<B>, MemoryError> {
        let Some(block) = self.blocks.get(id) else {
            return Err(MemoryError::Unmapped);
        };
        want.check(block.region, block.access)?;
        if !matches!(block.state, State::Pinned(_)) {
            return Ok(Resolution::Wait);
        }
        if block.is_idle() {
            self.check_use(want, block.room())?;
        }
        self.counters.hits = self.counters.hits.saturating_add(1);
        let piece = self.start_use(id, want.span, want.access.writes());
        piece.map(Resolution::Ready).ok_or(MemoryError::Unmapped)
    }

    /// Whether a block that was idle, or not there, may be in use.
    fn check_use(&self, want: &Want, room: Room) -> Result<(), MemoryError> {
        let busy = self.blocks.load().busy.and(room);
        if want.purpose == Purpose::Own || self.quota.may_use(busy) {
            return Ok(());
        }
        Err(MemoryError::Quota)
    }

    /// Sees to it that a block of `pages` can be charged and has a place, or says what to do first.
    fn make_room(&mut self, pages: u64) -> Result<Option<Resolution<B>>, MemoryError> {
        let fits = |memory: &Self, charged: u64| {
            let total = charged.checked_add(pages);
            total.is_some_and(|total| total <= memory.quota.all.pages)
        };
        let has_place = self.blocks.has_place();
        if has_place && fits(self, self.charged) {
            return Ok(None);
        }
        if pages > self.quota.all.pages {
            return Err(MemoryError::Quota);
        }
        // One at least if it is places that are missing, unless some come free anyway. And not too many at
        // once, each of which is looked for among all: the caller asks again.
        for _ in 0..EVICT_MOST {
            let room = fits(self, self.charged.saturating_sub(self.leaving));
            if room && (has_place || self.leaving > 0) || !self.evict() {
                break;
            }
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
        let Some(block) = self.blocks.get(id) else {
            return Completion::Failed(MemoryError::Unmapped);
        };
        let pages = block.span.pages();
        let cancelled = matches!(block.state, State::Cancelled);
        match pinned {
            Ok(pinned) if cancelled => {
                self.blocks.remove(id);
                self.leaving = self.leaving.saturating_add(pages);
                Completion::Cancelled(Loose {
                    pages: pinned,
                    dirty: false,
                    charge: Charge(pages),
                })
            }
            Ok(pinned) => {
                self.blocks
                    .change(id, |block| block.state = State::Pinned(pinned));
                match self.start_use(id, fault.wanted, fault.wrote) {
                    Some(piece) => Completion::Ready(piece),
                    None => Completion::Failed(MemoryError::Unmapped),
                }
            }
            Err(error) => {
                if !cancelled {
                    self.blocks.unlink(id);
                }
                self.blocks.remove(id);
                self.charged = self.charged.saturating_sub(pages);
                self.counters.failures = self.counters.failures.saturating_add(1);
                Completion::Failed(error.into())
            }
        }
    }

    fn start_use(&mut self, id: BlockId, span: Span, wrote: bool) -> Option<Piece> {
        let now = self.uses.wrapping_add(1);
        let started = self.blocks.change(id, |block| {
            let piece = span.intersection(&block.span)?;
            block.users = block.users.checked_add(1)?;
            block.last_use = now;
            Some((piece, block.span.first()))
        });
        let (piece, first) = started.flatten()?;
        self.uses = now;
        Some(Piece {
            held: Use { block: id, wrote },
            span: piece,
            offset: piece.first().saturating_sub(first),
        })
    }
}

impl<B, P> Memory<B, P> {
    /// Ends a use. `true` if something became loose by it.
    pub fn release(&mut self, held: Use) -> bool {
        let ended = self.blocks.change(held.block, |block| {
            block.users = block.users.saturating_sub(1);
            block.dirty |= held.wrote;
            block.users == 0 && matches!(block.state, State::Dying(_))
        });
        let was_last = ended.unwrap_or(false);
        if was_last {
            self.loosen(held.block);
        }
        was_last
    }

    /// Asks for a block in use to stay when it is not any more, if as much may be kept. Means nothing if the
    /// block was unmapped.
    pub fn hold(&mut self, held: &Use) -> Result<Hold, MemoryError> {
        let block = self.blocks.get(held.block);
        if let Some(block) = block.filter(|block| !block.is_kept()) {
            let kept = self.blocks.load().kept.and(block.room());
            if !self.quota.may_keep(kept) {
                return Err(MemoryError::Quota);
            }
        }
        self.blocks.change(held.block, |block| {
            block.holds = block.holds.saturating_add(1);
        });
        Ok(Hold { block: held.block })
    }

    /// Ends a hold. Means nothing if the block was unmapped meanwhile.
    pub fn unhold(&mut self, hold: Hold) {
        self.blocks.change(hold.block, |block| {
            block.holds = block.holds.saturating_sub(1);
        });
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

    /// Lets go of the block that was idle for longest; `false` if there is none.
    pub(super) fn evict(&mut self) -> bool {
        let Some(oldest) = self.blocks.oldest_idle() else {
            return false;
        };
        self.drop_idle(oldest);
        self.counters.evictions = self.counters.evictions.saturating_add(1);
        true
    }

    /// A block that nobody uses leaves the cache.
    pub(super) fn drop_idle(&mut self, id: BlockId) {
        self.blocks.unlink(id);
        self.loosen(id);
    }

    pub(super) fn loosen(&mut self, id: BlockId) {
        let block = self.blocks.get(id);
        let pages = block.map_or(0, |block| block.span.pages());
        if self.blocks.loosen(id) {
            self.leaving = self.leaving.saturating_add(pages);
        }
        self.advance();
    }
}
