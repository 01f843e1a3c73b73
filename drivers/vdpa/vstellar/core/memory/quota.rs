// SPDX-License-Identifier: GPL-2.0

//! How much may be pinned, and for whom some of it is kept.
//!
//! A device cannot work without its virtqueues: they, and the requests, responses and events in
//! them, are memory as any other, found by address and pinned when it is used. They are used one place
//! at a time, and between that make room for others like everything that is idle. What stays until a
//! driver gives it back (rings, regions that are registered without LAZY) must therefore not have all
//! of the quota, and neither must the payload of a batch of entries:
//!
//! ```text
//!   0 ───────────────────────────────────────────────────► quota
//!   │ rings and regions: what is kept        │ payload │ own │
//!   │ payload: what is in use ─────────────────────────│     │
//!   │ virtqueues, and what is in them ───────────────────────│
//! ```
//!
//! All of it counts whole blocks. Nobody is given a part of the memory; these are only sums that are not
//! exceeded, so that what is idle may be anybody's, up to the quota.

use super::{
    super::span::PAGE_SHIFT,
    BLOCK_SHIFT, //
};

/// Pages of a whole block.
const BLOCK_PAGES: u64 = 1 << (BLOCK_SHIFT - PAGE_SHIFT);

/// Pages, and how many blocks these are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Pages.
    pub pages: u64,
    /// Blocks, some of which may be small.
    pub blocks: u64,
}

impl Room {
    /// What one block takes.
    pub(super) fn of_block(pages: u64) -> Self {
        Self { pages, blocks: 1 }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            pages: self.pages.saturating_add(other.pages),
            blocks: self.blocks.saturating_add(other.blocks),
        }
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self {
            pages: self.pages.saturating_sub(other.pages),
            blocks: self.blocks.saturating_sub(other.blocks),
        }
    }

    /// Whether `all` has as much.
    pub(super) fn is_in(self, all: Self) -> bool {
        self.pages <= all.pages && self.blocks <= all.blocks
    }
}

/// What may be pinned at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// All of it.
    pub all: Room,
    /// Of this, what is there for the device's own uses only.
    pub own: Room,
    /// What is there for payload beside that, whatever is kept.
    pub payload: Room,
}

impl Quota {
    /// Keeps an eighth for the device's own uses, one block at least and four at most: the virtqueues
    /// and their buffers lie in as many, and so need not be pinned again all the time. Payload has the
    /// same, but of less than four blocks nothing, for there would be nothing for rings.
    pub fn new(all: Room) -> Self {
        let own = Room {
            pages: part(all.pages, BLOCK_PAGES),
            blocks: part(all.blocks, 1),
        };
        let payload = if all.pages < BLOCK_PAGES.saturating_mul(4) {
            Room::default()
        } else {
            own
        };
        Self { all, own, payload }
    }

    /// All of it for anyone.
    pub fn undivided(all: Room) -> Self {
        let (own, payload) = (Room::default(), Room::default());
        Self { all, own, payload }
    }

    /// Whether so much may be in use at a time.
    pub(super) fn may_use(&self, busy: Room) -> bool {
        busy.and(self.own).is_in(self.all)
    }

    /// Whether so much may be kept.
    pub(super) fn may_keep(&self, kept: Room) -> bool {
        kept.and(self.own).and(self.payload).is_in(self.all)
    }
}

/// An eighth of `all`, but no less than `one` and no more than four; of very little, the half.
fn part(all: u64, one: u64) -> u64 {
    let most = one.saturating_mul(4).min(all / 2);
    (all / 8).max(one).min(most)
}
