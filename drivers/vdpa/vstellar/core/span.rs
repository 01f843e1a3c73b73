// SPDX-License-Identifier: GPL-2.0

//! A run of addresses that is never empty and never wraps.
//!
//! It is kept by its first and its last byte, so the whole of an address space is
//! a span as well. Whoever holds one need not check the arithmetic again.

/// Bytes of a page in all rules of the device, as a logarithm.
pub const PAGE_SHIFT: u32 = 12;

/// Bytes of a page in all rules of the device.
pub const PAGE_SIZE: u64 = 1 << PAGE_SHIFT;

/// How many whole pages there are in so many bytes.
pub const fn whole_pages(bytes: u64) -> u64 {
    bytes >> PAGE_SHIFT
}

/// Bytes of so many pages.
pub const fn bytes_of(pages: u64) -> u64 {
    pages.saturating_mul(PAGE_SIZE)
}

/// Addresses from a first to a last one, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    first: u64,
    last: u64,
}

impl Span {
    /// All addresses.
    pub const ALL: Self = Self {
        first: 0,
        last: u64::MAX,
    };

    /// `len` bytes at `addr`, if these are any and the end does not wrap.
    pub const fn new(addr: u64, len: u64) -> Option<Self> {
        let Some(rest) = len.checked_sub(1) else {
            return None;
        };
        match addr.checked_add(rest) {
            Some(last) => Some(Self { first: addr, last }),
            None => None,
        }
    }

    /// From `first` to `last`, if that is not backwards.
    pub const fn between(first: u64, last: u64) -> Option<Self> {
        if first <= last {
            Some(Self { first, last })
        } else {
            None
        }
    }

    /// The first address.
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The last address.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// How many bytes; one less than there are if it is all of the address space.
    // It has no `is_empty` because it never is.
    #[allow(clippy::len_without_is_empty)]
    pub const fn len(&self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }

    /// Whether `addr` is one of them.
    pub const fn contains(&self, addr: u64) -> bool {
        self.first <= addr && addr <= self.last
    }

    /// Whether all of `other` is in it.
    pub const fn covers(&self, other: &Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    /// Whether they have an address in common.
    pub const fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// What they have in common.
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        Self::between(self.first.max(other.first), self.last.min(other.last))
    }

    /// How many pages it touches.
    pub const fn pages(&self) -> u64 {
        (self.last >> PAGE_SHIFT) - (self.first >> PAGE_SHIFT) + 1
    }

    /// Whether it begins and ends with a page.
    pub const fn is_page_aligned(&self) -> bool {
        self.first % PAGE_SIZE == 0 && self.last % PAGE_SIZE == PAGE_SIZE - 1
    }
}
