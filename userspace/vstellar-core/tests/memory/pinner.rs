// SPDX-License-Identifier: GPL-2.0

//! A host that pins nothing but keeps account of it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use vstellar_core::{
    access::Access,
    memory::{
        keeper::{Keeper, PinError},
        Fault, Limits, Memory, MemoryError, Owner, Quota, Region, Room,
    },
    span::Span,
};

pub const MIB: u64 = 1 << 20;
pub const BLOCK: u64 = 2 * MIB;
pub const BLOCK_PAGES: u64 = BLOCK / 4096;

/// What is pinned at the moment, by token.
#[derive(Default)]
pub struct Pinned {
    live: HashMap<u64, u64>,
    next: u64,
    pub pages: u64,
    pub dirtied: u64,
}

impl Pinned {
    pub fn pin(&mut self, len: u64) -> u64 {
        self.next += 1;
        self.live.insert(self.next, len.div_ceil(4096));
        self.pages += len.div_ceil(4096);
        self.next
    }

    pub fn unpin(&mut self, token: u64, dirty: bool) {
        self.pages -= self.live.remove(&token).expect("unpinned once only");
        self.dirtied += u64::from(dirty);
    }

    pub fn has(&self, token: u64) -> bool {
        self.live.contains_key(&token)
    }
}

/// The backing of a region is its number.
pub type TestMemory = Memory<u64, u64>;

pub fn region(addr: u64, len: u64, access: Access, backing: u64) -> Region<u64> {
    Region {
        span: Span::new(addr, len).unwrap(),
        access,
        owner: Owner::Guest,
        backing,
    }
}

/// As many pages, in eight blocks at most.
pub fn room(pages: u64) -> Room {
    Room { pages, blocks: 8 }
}

pub fn limits(pages: u64) -> Limits {
    Limits {
        regions: 16,
        quota: Quota::undivided(room(pages)),
    }
}

/// A keeper for one thread: whoever would have to wait would wait for ever.
pub struct Single {
    pub memory: RefCell<TestMemory>,
    pub pinned: RefCell<Pinned>,
    pub refuse: RefCell<Option<PinError>>,
    /// Pages that the host lets it pin, whatever the quota is.
    pub limit: Cell<u64>,
}

impl Single {
    pub fn new(pages: u64) -> Self {
        Self::with(limits(pages))
    }

    pub fn with(limits: Limits) -> Self {
        Self {
            memory: RefCell::new(TestMemory::new(limits).unwrap()),
            pinned: RefCell::default(),
            refuse: RefCell::new(None),
            limit: Cell::new(u64::MAX),
        }
    }
}

impl Keeper for Single {
    type Backing = u64;
    type Pages = u64;

    fn with<R>(&self, f: impl FnOnce(&mut TestMemory) -> R) -> R {
        f(&mut self.memory.borrow_mut())
    }

    fn pin(&self, fault: &Fault<u64>) -> Result<u64, PinError> {
        let mut pinned = self.pinned.borrow_mut();
        match *self.refuse.borrow() {
            Some(error) => Err(error),
            None if pinned.pages + fault.len / 4096 > self.limit.get() => Err(PinError::Quota),
            None => Ok(pinned.pin(fault.len)),
        }
    }

    fn unpin(&self, pages: u64, dirty: bool) {
        self.pinned.borrow_mut().unpin(pages, dirty);
    }

    fn wait(&self, _seen: u64) -> Result<(), MemoryError> {
        Err(MemoryError::Stopped)
    }

    fn wake(&self) {}
}
