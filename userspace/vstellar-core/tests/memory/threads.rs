// SPDX-License-Identifier: GPL-2.0

//! The procedures of the keeper with a real lock, real sleep and several threads.

use super::pinner::{limits, region, BLOCK, BLOCK_PAGES};
use std::sync::{
    atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    Arc, Condvar, Mutex,
};
use vstellar_core::{
    access::Access,
    memory::{
        keeper::{acquire, release, unmap, Keeper, PinError},
        Fault, Memory, MemoryError, Region, Want,
    },
    span::Span,
};

/// Memory that the guest may reuse when `valid` is no more.
#[derive(Clone)]
struct Backing(Arc<AtomicBool>);

struct Shared {
    memory: Mutex<Memory<Backing, Backing>>,
    changed: Condvar,
    pinned: AtomicU64,
    most: AtomicU64,
}

impl Keeper for Shared {
    type Backing = Backing;
    type Pages = Backing;

    fn with<R>(&self, f: impl FnOnce(&mut Memory<Backing, Backing>) -> R) -> R {
        f(&mut self.memory.lock().unwrap())
    }

    fn pin(&self, fault: &Fault<Backing>) -> Result<Backing, PinError> {
        let now = self.pinned.fetch_add(fault.len / 4096, SeqCst) + fault.len / 4096;
        self.most.fetch_max(now, SeqCst);
        std::thread::yield_now();
        Ok(fault.backing.clone())
    }

    fn unpin(&self, _pages: Backing, _dirty: bool) {
        // all blocks of this test are whole ones
        self.pinned.fetch_sub(BLOCK_PAGES, SeqCst);
    }

    fn wait(&self, seen: u64) -> Result<(), MemoryError> {
        let mut memory = self.memory.lock().unwrap();
        while memory.progress() == seen {
            memory = self.changed.wait(memory).unwrap();
        }
        Ok(())
    }

    fn wake(&self) {
        // under the lock, so that it cannot come between the look and the sleep of `wait`
        let _memory = self.memory.lock().unwrap();
        self.changed.notify_all();
    }
}

#[test]
fn memory_is_not_used_when_unmapping_has_returned() {
    let blocks = 4;
    let host = Shared {
        memory: Mutex::new(Memory::new(limits(2 * BLOCK_PAGES)).unwrap()),
        changed: Condvar::new(),
        pinned: AtomicU64::new(0),
        most: AtomicU64::new(0),
    };
    let stop = AtomicBool::new(false);
    let used = AtomicU64::new(0);

    std::thread::scope(|scope| {
        for user in 0..3u64 {
            let (host, stop, used) = (&host, &stop, &used);
            scope.spawn(move || {
                let mut n = user;
                while !stop.load(SeqCst) {
                    n = n
                        .wrapping_mul(6364136223846793005)
                        .wrapping_add(1442695040888963407);
                    let span = Span::new((n >> 33) % blocks * BLOCK, 64).unwrap();
                    let Ok(piece) = acquire(host, &Want::new(span, Access::WRITE)) else {
                        std::thread::yield_now();
                        continue;
                    };
                    let backing = host
                        .with(|memory| memory.pages(&piece.held).cloned())
                        .unwrap();
                    for _ in 0..3 {
                        assert!(backing.0.load(SeqCst), "used after it was unmapped");
                        std::thread::yield_now();
                    }
                    used.fetch_add(1, SeqCst);
                    release(host, piece.held);
                }
            });
        }
        let mut rounds = 0;
        while rounds < 300 || used.load(SeqCst) < 1000 {
            let valid = Arc::new(AtomicBool::new(true));
            let shape = region(0, blocks * BLOCK, Access::READ_WRITE, 0);
            let ram = Region {
                span: shape.span,
                access: shape.access,
                owner: shape.owner,
                backing: Backing(valid.clone()),
            };
            host.with(|memory| memory.map(ram)).unwrap();
            std::thread::yield_now();
            unmap(&host, Span::ALL, || ()).unwrap();
            valid.store(false, SeqCst);
            rounds += 1;
        }
        stop.store(true, SeqCst);
    });
    assert_eq!(host.pinned.load(SeqCst), 0);
    assert!(host.most.load(SeqCst) <= 2 * BLOCK_PAGES);
    assert_eq!(host.with(|memory| memory.charged()), 0);
}
