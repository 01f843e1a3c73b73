// SPDX-License-Identifier: GPL-2.0

//! PVDMA: memory of the guest, pinned when it is first used.
//!
//! Mapping a guest's memory enters a [`Region`] and does nothing else, so a guest
//! of any size starts in no time. The first access to an address pins the *block*
//! of 2 MiB around it, which then stays in the map cache: the buffers of
//! applications are used again and again, and a further access costs one look-up.
//! A quota bounds what is pinned, and the block that was idle for longest makes
//! room for a new one.
//!
//! Pinning sleeps and takes locks that the caller of `unmap` may hold, so it
//! cannot happen inside of this state. [`Memory`] is therefore a state machine
//! between calls that are short and never block, never allocate, and can be made
//! under a spinlock:
//!
//! 1. [`Memory::resolve`] finds a block and counts a [`Use`], or says what to do
//!    first: pin this ([`Fault`]), unpin what is loose, or wait for another.
//! 2. [`Memory::complete`] takes the result of pinning.
//! 3. [`Memory::release`] ends a use, [`Memory::take_loose`] hands out what has to
//!    be unpinned, and [`Memory::unpinned`] hears that it was.
//!
//! [`keeper`] puts these together for a host that can sleep.
//!
//! What holds at any time: pages are charged before they are pinned and until they
//! are unpinned, and the charge never exceeds the quota; a block with a user is
//! never unpinned; a block whose region is gone is never used anew; and whatever is
//! held and in use, the device can reach its virtqueues, because nothing else may have
//! what the quota keeps for them ([`quota`]).

use super::{
    access::Access,
    span::Span,
    status::Status,
    table::{
        Full,
        Handle, //
    },
};

mod block;
pub mod keeper;
mod quota;
mod region;
mod resolve;
mod unmap;

pub use block::BLOCK_SHIFT;
pub use keeper::Keeper;
pub use quota::{
    Quota,
    Room, //
};
pub use region::{
    MapError,
    Owner,
    Region, //
};
pub use resolve::{
    Cached,
    Completion,
    Fault,
    Purpose,
    Resolution,
    Want, //
};

use block::{
    Blocks,
    State, //
};
use region::Regions;

/// Names a region for as long as it is mapped.
pub type RegionId = Handle;

/// Names a block for as long as it is pinned.
pub type BlockId = Handle;

/// Why memory cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryError {
    /// It is not mapped, or not any more.
    Unmapped,
    /// It is mapped without that right.
    Denied,
    /// The quota is in use.
    Quota,
    /// The host could not pin it.
    Failed,
    /// The device is being stopped.
    Stopped,
}

impl From<MemoryError> for Status {
    fn from(error: MemoryError) -> Self {
        match error {
            MemoryError::Unmapped | MemoryError::Failed => Status::Fault,
            MemoryError::Denied => Status::Perm,
            MemoryError::Quota => Status::Quota,
            MemoryError::Stopped => Status::Canceled,
        }
    }
}

/// How much a device may map and pin.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Regions.
    pub regions: u32,
    /// What is in use or in the cache. As many blocks are remembered at most.
    pub quota: Quota,
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Uses of a block that was in the cache, one for each piece of memory that something names: pieces that
    /// were found together count as if each had been looked up.
    pub hits: u64,
    /// Uses for which a block had to be pinned.
    pub misses: u64,
    /// Of these, those that could not be.
    pub failures: u64,
    /// Blocks that made room for others.
    pub evictions: u64,
    /// Most pages ever charged.
    pub peak: u64,
}

/// A block in use. Whoever has it gives it to [`Memory::release`]; until then the block is pinned.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the block stays pinned, and unmapping waits, until this is released"]
pub struct Use {
    block: BlockId,
    wrote: bool,
}

impl Use {
    /// The block: a hint for the next look-up.
    pub fn block(&self) -> BlockId {
        self.block
    }
}

/// A block that a ring or a memory region wants to stay. Unlike a [`Use`] it does not hinder unmapping.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the block is not evicted until this is given back"]
pub struct Hold {
    block: BlockId,
}

impl Hold {
    /// The block: a hint for look-ups.
    pub fn block(&self) -> BlockId {
        self.block
    }
}

/// Addresses of one block that may be used now.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the block stays pinned, and unmapping waits, until its use is released"]
pub struct Piece {
    /// The block.
    pub held: Use,
    /// The addresses; they begin where the resolved ones do and may end before.
    pub span: Span,
    /// From the first byte of the block.
    pub offset: u64,
}

/// Pages to be unpinned. Their charge is given back by [`Memory::unpinned`].
#[derive(Debug)]
#[must_use = "the pages stay pinned and charged"]
pub struct Loose<P> {
    /// What pinning them gave.
    pub pages: P,
    /// The device has written to them.
    pub dirty: bool,
    /// What to return when they are unpinned.
    pub charge: Charge,
}

/// Pages that count against the quota.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the pages stay charged"]
pub struct Charge(u64);

/// Regions and blocks of one device. `B` finds memory, `P` is pinned memory.
#[derive(Debug)]
pub struct Memory<B, P> {
    regions: Regions<B>,
    blocks: Blocks<P>,
    quota: Quota,
    /// Pages being pinned, pinned, or being unpinned.
    charged: u64,
    /// Of these, those that are loose or handed out to be unpinned.
    leaving: u64,
    uses: u64,
    progress: u64,
    counters: Counters,
}

impl<B, P> Memory<B, P> {
    /// Nothing mapped. All memory this will ever need is allocated here.
    pub fn new(limits: Limits) -> Result<Self, Full> {
        Ok(Self {
            regions: Regions::new(limits.regions)?,
            blocks: Blocks::new(u32::try_from(limits.quota.all.blocks).unwrap_or(u32::MAX))?,
            quota: limits.quota,
            charged: 0,
            leaving: 0,
            uses: 0,
            progress: 0,
            counters: Counters::default(),
        })
    }

    /// Enters a region.
    pub fn map(&mut self, region: Region<B>) -> Result<RegionId, MapError> {
        self.regions.insert(region)
    }

    /// How many regions there are.
    pub fn regions(&self) -> u32 {
        self.regions.len()
    }

    /// The region that has all of `span` and allows `access` there.
    pub fn region(&self, span: &Span, access: Access) -> Result<(RegionId, Owner), MemoryError> {
        let found = self.regions.find(span.first());
        let (id, region) = found.ok_or(MemoryError::Unmapped)?;
        if !region.span.covers(span) {
            return Err(MemoryError::Unmapped);
        }
        if !region.access.allows(access) {
            return Err(MemoryError::Denied);
        }
        Ok((id, region.owner))
    }

    /// Whether nothing is mapped, and nothing pinned.
    pub fn is_empty(&self) -> bool {
        self.regions.len() == 0 && self.charged == 0
    }

    /// Goes on counting where another has ended that is empty.
    pub fn succeed(&mut self, before: &Self) {
        self.counters = before.counters;
        self.progress = before.progress.wrapping_add(1);
    }

    /// Whether the region is still mapped.
    pub fn is_mapped(&self, region: RegionId) -> bool {
        self.regions.get(region).is_some()
    }

    /// Pages charged: being pinned, pinned, or being unpinned.
    pub fn charged(&self) -> u64 {
        self.charged
    }

    /// Pages that may be charged.
    pub fn quota(&self) -> u64 {
        self.quota.all.pages
    }

    /// Another quota; what is pinned beyond it goes as it becomes idle and room is needed. There are no
    /// more places for blocks by it.
    pub fn set_quota(&mut self, quota: Quota) {
        self.quota = quota;
    }

    /// What has happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// So many pieces more were found with the one that was looked up.
    pub fn found_together(&mut self, pieces: u64) {
        self.counters.hits = self.counters.hits.saturating_add(pieces);
    }

    /// Changes whenever someone who waits should look again.
    pub fn progress(&self) -> u64 {
        self.progress
    }

    /// The pages of a block in use.
    pub fn pages(&self, held: &Use) -> Option<&P> {
        match &self.blocks.get(held.block)?.state {
            State::Pinned(pages) | State::Dying(pages) => Some(pages),
            _ => None,
        }
    }

    /// How many pages a block in use has.
    pub fn size(&self, held: &Use) -> u64 {
        let block = self.blocks.get(held.block);
        block.map_or(0, |block| block.span.pages())
    }

    /// Whether the region of a block in use was unmapped, and someone waits for it.
    pub fn is_dying(&self, held: &Use) -> bool {
        let block = self.blocks.get(held.block);
        block.is_none_or(|block| matches!(block.state, State::Dying(_)))
    }

    fn advance(&mut self) {
        self.progress = self.progress.wrapping_add(1);
    }
}
