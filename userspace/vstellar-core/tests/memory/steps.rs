// SPDX-License-Identifier: GPL-2.0

//! One rule a test.

use super::pinner::*;
use vstellar_core::{
    access::Access,
    memory::{
        keeper::{acquire, hold, reclaim, release, unmap, Keeper, PinError},
        Completion, MapError, MemoryError, Owner, Piece, Quota, Region, Resolution, Want,
    },
    span::{bytes_of, whole_pages, Span},
    table::Handle,
};

fn span(addr: u64, len: u64) -> Span {
    Span::new(addr, len).unwrap()
}

fn get(host: &Single, addr: u64, len: u64, access: Access) -> Result<Piece, MemoryError> {
    acquire(host, &Want::new(span(addr, len), access))
}

fn with_ram(quota_blocks: u64) -> Single {
    let host = Single::new(quota_blocks * BLOCK_PAGES);
    let ram = region(0, 64 * MIB, Access::READ_WRITE, 1);
    host.with(|memory| memory.map(ram)).unwrap();
    host
}

#[test]
fn nothing_is_mapped_in_the_beginning() {
    let host = Single::new(100 * BLOCK_PAGES);
    for addr in [0, 4096, 1 << 40, u64::MAX] {
        assert_eq!(
            get(&host, addr, 1, Access::READ),
            Err(MemoryError::Unmapped)
        );
    }
}

#[test]
fn mapping_pins_nothing_and_the_first_use_one_block() {
    let host = with_ram(4);
    assert_eq!(host.pinned.borrow().pages, 0);
    let piece = get(&host, BLOCK + 5, 100, Access::READ).unwrap();
    assert_eq!((piece.offset, piece.span), (5, span(BLOCK + 5, 100)));
    assert_eq!(host.pinned.borrow().pages, BLOCK_PAGES);
    release(&host, piece.held);
    let counters = host.with(|memory| memory.counters());
    assert_eq!((counters.hits, counters.misses), (0, 1));

    for _ in 0..1000 {
        let piece = get(&host, BLOCK + 4096, 4096, Access::WRITE).unwrap();
        release(&host, piece.held);
    }
    let counters = host.with(|memory| memory.counters());
    assert_eq!((counters.hits, counters.misses), (1000, 1));
    assert_eq!(host.pinned.borrow().pages, BLOCK_PAGES);
}

#[test]
fn what_is_cached_is_found_without_a_use_of_it() {
    let host = with_ram(4);
    let read = Want::new(span(BLOCK - 10, 100), Access::READ);
    host.with(|memory| assert!(memory.cached(&read).is_none()));
    let piece = acquire(&host, &read).unwrap();
    let block = piece.held.block();
    host.with(|memory| {
        let found = memory.cached(&read).unwrap();
        assert_eq!((found.block, found.offset), (block, BLOCK - 10));
        assert_eq!(found.span, span(BLOCK - 10, 10));
        memory.found_together(5);
        assert_eq!((memory.counters().hits, memory.counters().misses), (6, 1));
        // another mapping than the one it was in
        let elsewhere = Want {
            region: Some(Handle::from_raw(0x701)),
            hint: Some(block),
            ..read
        };
        assert!(memory.cached(&elsewhere).is_none());
    });
    // nothing waits for it but the piece, and no longer than that
    host.with(|memory| memory.unmap(span(0, 64 * MIB)));
    host.with(|memory| assert!(memory.cached(&read).is_none()));
    release(&host, piece.held);
    assert_eq!(host.pinned.borrow().pages, 0);
}

#[test]
fn what_is_cached_is_as_protected_as_what_is_not() {
    let host = Single::new(4 * BLOCK_PAGES);
    host.with(|memory| memory.map(region(0, BLOCK, Access::READ, 1)).unwrap());
    let piece = get(&host, 0, 1, Access::READ).unwrap();
    let want = |access| Want::new(span(0, 1), access);
    host.with(|memory| {
        assert!(memory.cached(&want(Access::READ)).is_some());
        assert!(memory.cached(&want(Access::WRITE)).is_none());
    });
    release(&host, piece.held);
}

#[test]
fn what_the_device_wrote_to_what_is_cached_is_dirty() {
    let host = with_ram(4);
    let piece = get(&host, 0, 1, Access::READ).unwrap();
    release(&host, piece.held);
    let write = Want::new(span(0, 1), Access::WRITE);
    host.with(|memory| assert!(memory.cached(&write).is_some()));
    unmap(&host, span(0, 64 * MIB), || {}).unwrap();
    assert_eq!(host.pinned.borrow().dirtied, 1);
}

#[test]
fn a_piece_ends_with_its_block() {
    let host = with_ram(4);
    let piece = get(&host, BLOCK - 10, 100, Access::READ).unwrap();
    assert_eq!(piece.span, span(BLOCK - 10, 10));
    release(&host, piece.held);
}

#[test]
fn a_block_ends_with_its_region() {
    let host = Single::new(4 * BLOCK_PAGES);
    host.with(|memory| {
        memory.map(region(0, 4096, Access::READ_WRITE, 1)).unwrap();
        memory.map(region(8192, 4096, Access::READ, 2)).unwrap();
    });
    let one = get(&host, 0, 1 << 20, Access::WRITE).unwrap();
    let two = get(&host, 8192, 1 << 20, Access::READ).unwrap();
    assert_eq!((one.span.len(), two.span.len()), (4096, 4096));
    assert_ne!(one.held.block(), two.held.block());
    assert_eq!(host.pinned.borrow().pages, 2);
    assert_eq!(
        get(&host, 4096, 1, Access::READ),
        Err(MemoryError::Unmapped)
    );
    release(&host, one.held);
    release(&host, two.held);
}

#[test]
fn rights_are_those_of_the_region() {
    let host = Single::new(4 * BLOCK_PAGES);
    host.with(|memory| memory.map(region(0, BLOCK, Access::READ, 1)).unwrap());
    // neither before the block is cached nor after
    assert_eq!(get(&host, 0, 1, Access::WRITE), Err(MemoryError::Denied));
    let piece = get(&host, 0, 1, Access::READ).unwrap();
    assert_eq!(get(&host, 0, 1, Access::WRITE), Err(MemoryError::Denied));
    let check = |len, access| host.with(|memory| memory.region(&span(0, len), access));
    assert!(check(BLOCK, Access::READ).is_ok());
    assert_eq!(check(BLOCK, Access::WRITE), Err(MemoryError::Denied));
    assert_eq!(check(BLOCK + 1, Access::READ), Err(MemoryError::Unmapped));
    release(&host, piece.held);
}

#[test]
fn regions_do_not_overlap_and_are_pages() {
    let host = Single::new(BLOCK_PAGES);
    host.with(|memory| {
        let mut map = |addr, len| memory.map(region(addr, len, Access::READ, 1));
        assert!(map(0x10000, 0x10000).is_ok());
        assert_eq!(map(0x1f000, 0x1000), Err(MapError::Overlap));
        assert_eq!(map(0xf000, 0x2000), Err(MapError::Overlap));
        assert_eq!(map(0, 0x100000), Err(MapError::Overlap));
        assert_eq!(map(0x20000, 0x800), Err(MapError::Alignment));
        assert_eq!(map(0x20800, 0x1000), Err(MapError::Alignment));
        assert!(map(0x20000, 0x1000).is_ok());
        assert!(map(0xf000, 0x1000).is_ok());
        assert_eq!(memory.regions(), 3);
    });
}

#[test]
fn there_are_no_more_regions_than_allowed() {
    let host = Single::new(BLOCK_PAGES);
    host.with(|memory| {
        for i in 0..16 {
            memory.map(region(i * 8192, 4096, Access::READ, i)).unwrap();
        }
        let more = region(1 << 30, 4096, Access::READ, 99);
        assert_eq!(memory.map(more), Err(MapError::Limit));
        assert_eq!(memory.unmap(span(3 * 8192, 1)), 1);
        let more = region(1 << 30, 4096, Access::READ, 99);
        assert!(memory.map(more).is_ok());
    });
}

#[test]
fn the_idlest_block_makes_room() {
    let host = with_ram(2);
    for block in [0, 1, 0, 2] {
        let piece = get(&host, block * BLOCK, 1, Access::READ).unwrap();
        release(&host, piece.held);
    }
    // block 1 has gone: 0 is a hit, 1 a miss
    let before = host.with(|memory| memory.counters());
    assert_eq!((before.misses, before.evictions), (3, 1));
    let piece = get(&host, 0, 1, Access::READ).unwrap();
    release(&host, piece.held);
    assert_eq!(host.with(|memory| memory.counters()).misses, 3);
    let piece = get(&host, BLOCK, 1, Access::READ).unwrap();
    release(&host, piece.held);
    assert_eq!(host.with(|memory| memory.counters()).misses, 4);
    assert_eq!(host.pinned.borrow().pages, 2 * BLOCK_PAGES);
}

#[test]
fn a_block_in_use_does_not_make_room() {
    let host = with_ram(2);
    let one = get(&host, 0, 1, Access::READ).unwrap();
    let two = get(&host, BLOCK, 1, Access::READ).unwrap();
    let third = || get(&host, 2 * BLOCK, 1, Access::READ);
    assert_eq!(third(), Err(MemoryError::Quota));
    // nor one that is held
    let hold = host.with(|memory| memory.hold(&one.held)).unwrap();
    release(&host, one.held);
    assert_eq!(third(), Err(MemoryError::Quota));
    host.with(|memory| memory.unhold(hold));
    let third = third().unwrap();
    release(&host, two.held);
    release(&host, third.held);
}

/// A host counts in bytes, whatever its pages are.
#[test]
fn a_quota_in_bytes() {
    let undivided = |bytes| Quota::undivided(room(whole_pages(bytes)));
    let host = with_ram(0);
    host.with(|memory| memory.set_quota(undivided(2 * BLOCK - 1)));
    let one = get(&host, 0, 1, Access::READ).unwrap();
    let two = get(&host, BLOCK, 1, Access::READ);
    assert_eq!(two, Err(MemoryError::Quota));
    assert_eq!(host.with(|memory| bytes_of(memory.charged())), BLOCK);
    host.with(|memory| memory.set_quota(undivided(2 * BLOCK)));
    let two = get(&host, BLOCK, 1, Access::READ).unwrap();
    assert_eq!(host.with(|memory| bytes_of(memory.charged())), 2 * BLOCK);
    release(&host, one.held);
    release(&host, two.held);
    assert_eq!(bytes_of(whole_pages(u64::MAX) + 1), u64::MAX);
}

#[test]
fn there_are_no_more_blocks_than_allowed() {
    let host = Single::new(1000 * BLOCK_PAGES);
    let ram = region(0, 64 * MIB, Access::READ, 1);
    host.with(|memory| memory.map(ram)).unwrap();
    let mut uses: Vec<_> = (0..8)
        .map(|i| get(&host, i * BLOCK, 1, Access::READ).unwrap().held)
        .collect();
    let ninth = || get(&host, 8 * BLOCK, 1, Access::READ);
    assert_eq!(ninth(), Err(MemoryError::Quota));
    release(&host, uses.pop().unwrap());
    uses.push(ninth().unwrap().held);
    assert_eq!(host.pinned.borrow().pages, 8 * BLOCK_PAGES);
    for held in uses {
        release(&host, held);
    }
}

#[test]
fn a_block_larger_than_the_quota_is_refused() {
    let host = Single::new(BLOCK_PAGES - 1);
    host.with(|memory| memory.map(region(0, BLOCK, Access::READ, 1)).unwrap());
    assert_eq!(get(&host, 0, 1, Access::READ), Err(MemoryError::Quota));
    assert_eq!(host.with(|memory| memory.charged()), 0);
    // and nothing is evicted in vain
    let small = region(1 << 30, 4096, Access::READ, 2);
    host.with(|memory| memory.map(small)).unwrap();
    release(&host, get(&host, 1 << 30, 1, Access::READ).unwrap().held);
    assert_eq!(get(&host, 0, 1, Access::READ), Err(MemoryError::Quota));
    assert_eq!(host.pinned.borrow().pages, 1);
}

#[test]
fn unmapping_waits_for_the_last_use() {
    let host = with_ram(4);
    let piece = get(&host, 0, 1, Access::WRITE).unwrap();
    let again = get(&host, 0, 1, Access::READ).unwrap();
    let all = Span::ALL;
    assert_eq!(host.with(|memory| memory.unmap(all)), 1);
    assert_eq!(get(&host, 0, 1, Access::READ), Err(MemoryError::Unmapped));
    assert!(host.with(|memory| memory.is_draining(all)));
    assert!(host.with(|memory| memory.is_dying(&piece.held)));
    // the block can still be reached by those who use it
    assert!(host.with(|memory| memory.pages(&piece.held).is_some()));
    release(&host, again.held);
    assert!(host.with(|memory| memory.is_draining(all)));
    assert_eq!(host.pinned.borrow().pages, BLOCK_PAGES);
    release(&host, piece.held);
    assert!(!host.with(|memory| memory.is_draining(all)));
    let pinned = host.pinned.borrow();
    assert_eq!((pinned.pages, pinned.dirtied), (0, 1));
}

#[test]
fn unmapping_calls_for_the_rings_between() {
    let host = with_ram(4);
    let ring = get(&host, 0, 1, Access::WRITE).unwrap();
    unmap(&host, Span::ALL, || release(&host, ring.held)).unwrap();
    assert_eq!(host.pinned.borrow().pages, 0);
    // what nobody lets go of cannot be waited for here
    host.with(|memory| memory.map(region(0, BLOCK, Access::READ, 1)).unwrap());
    let ring = get(&host, 0, 1, Access::READ).unwrap();
    let result = unmap(&host, Span::ALL, || ());
    assert_eq!(result, Err(MemoryError::Stopped));
    release(&host, ring.held);
}

#[test]
fn unmapping_the_kernels_own_memory_does_not_wait() {
    let host = Single::new(BLOCK_PAGES);
    let page = Region {
        owner: Owner::HostKernel,
        ..region(0x1234, 100, Access::READ, 1)
    };
    host.with(|memory| memory.map(page)).unwrap();
    let piece = get(&host, 0x1234, 100, Access::READ).unwrap();
    unmap(&host, span(0x1234, 100), || ()).unwrap();
    assert_eq!(host.pinned.borrow().pages, 1);
    release(&host, piece.held);
    assert_eq!(host.pinned.borrow().pages, 0);
}

#[test]
fn unmapping_ends_holds() {
    let host = with_ram(4);
    let mut holds = Vec::new();
    hold(&host, span(0, 2 * BLOCK), Access::READ, |hold| {
        holds.push(hold);
        Ok(())
    })
    .unwrap();
    assert_eq!(holds.len(), 2);
    unmap(&host, Span::ALL, || ()).unwrap();
    assert_eq!(host.pinned.borrow().pages, 0);
    // the same addresses anew; a late unhold does not touch them
    host.with(|memory| memory.map(region(0, 2 * BLOCK, Access::READ, 2)).unwrap());
    let piece = get(&host, 0, 1, Access::READ).unwrap();
    let hold = host.with(|memory| memory.hold(&piece.held)).unwrap();
    release(&host, piece.held);
    for stale in holds {
        host.with(|memory| memory.unhold(stale));
    }
    assert_eq!(host.with(|memory| memory.drop_cached(Span::ALL)), 0);
    host.with(|memory| memory.unhold(hold));
    assert_eq!(host.with(|memory| memory.drop_cached(Span::ALL)), 1);
    reclaim(&host);
    assert_eq!(host.pinned.borrow().pages, 0);
}

#[test]
fn a_hint_is_believed_only_if_it_is_true() {
    let host = with_ram(4);
    let piece = get(&host, 0, 1, Access::READ).unwrap();
    let hint = Some(piece.held.block());
    release(&host, piece.held);
    // of another address, and of a block that has gone
    let hinted = |addr| Want {
        hint,
        ..Want::new(span(addr, 1), Access::READ)
    };
    let other = acquire(&host, &hinted(BLOCK)).unwrap();
    assert_ne!(Some(other.held.block()), hint);
    assert_eq!(other.span.first(), BLOCK);
    release(&host, other.held);
    unmap(&host, Span::ALL, || ()).unwrap();
    let gone = acquire(&host, &hinted(0));
    assert_eq!(gone, Err(MemoryError::Unmapped));
}

#[test]
fn addresses_mapped_anew_are_not_those_of_before() {
    let host = Single::new(4 * BLOCK_PAGES);
    let map = |backing| {
        let ram = region(0, 2 * BLOCK, Access::READ, backing);
        host.with(|memory| memory.map(ram)).unwrap()
    };
    let before = map(1);
    let want = |region, addr| Want {
        region: Some(region),
        ..Want::new(span(addr, 1), Access::READ)
    };
    release(&host, acquire(&host, &want(before, 0)).unwrap().held);
    unmap(&host, Span::ALL, || ()).unwrap();
    assert!(!host.with(|memory| memory.is_mapped(before)));
    let after = map(2);
    // in the cache and not
    release(&host, get(&host, 0, 1, Access::READ).unwrap().held);
    for addr in [0, BLOCK] {
        let stale = acquire(&host, &want(before, addr));
        assert_eq!(stale, Err(MemoryError::Unmapped));
        release(&host, acquire(&host, &want(after, addr)).unwrap().held);
    }
}

#[test]
fn what_cannot_be_pinned_is_not_charged() {
    let host = with_ram(4);
    for (refused, error) in [
        (PinError::Fault, MemoryError::Failed),
        (PinError::Quota, MemoryError::Quota),
        (PinError::Stopped, MemoryError::Stopped),
    ] {
        *host.refuse.borrow_mut() = Some(refused);
        assert_eq!(get(&host, 0, 1, Access::READ), Err(error));
        assert_eq!(host.with(|memory| memory.charged()), 0);
    }
    *host.refuse.borrow_mut() = None;
    let piece = get(&host, 0, 1, Access::READ).unwrap();
    release(&host, piece.held);
    assert_eq!(host.with(|memory| memory.counters()).failures, 3);
}

#[test]
fn the_cache_keeps_to_what_the_host_lets_it_pin() {
    let host = with_ram(8);
    host.limit.set(3 * BLOCK_PAGES);
    let used = get(&host, 0, 1, Access::READ).unwrap();
    for block in 1..6 {
        release(
            &host,
            get(&host, block * BLOCK, 1, Access::READ).unwrap().held,
        );
    }
    assert_eq!(host.pinned.borrow().pages, 3 * BLOCK_PAGES);
    let counters = host.with(|memory| memory.counters());
    assert_eq!((counters.evictions, counters.failures), (3, 0));
    // somebody else has pinned more meanwhile
    host.limit.set(2 * BLOCK_PAGES);
    let other = get(&host, 6 * BLOCK, 1, Access::READ).unwrap();
    assert_eq!(host.pinned.borrow().pages, 2 * BLOCK_PAGES);
    // and what is in use stays
    assert_eq!(
        get(&host, 7 * BLOCK, 1, Access::READ),
        Err(MemoryError::Quota)
    );
    assert_eq!(host.with(|memory| memory.charged()), 2 * BLOCK_PAGES);
    release(&host, used.held);
    release(&host, get(&host, 7 * BLOCK, 1, Access::READ).unwrap().held);
    release(&host, other.held);
}

#[test]
fn another_goes_on_counting_where_one_has_ended() {
    let host = with_ram(4);
    let piece = get(&host, 0, 1, Access::WRITE).unwrap();
    assert!(host.with(|memory| !memory.is_empty()));
    host.with(|memory| memory.unmap(Span::ALL));
    // in use, and then waiting to be unpinned
    assert!(host.with(|memory| !memory.is_empty()));
    host.with(|memory| memory.release(piece.held));
    assert!(host.with(|memory| !memory.is_empty()));
    reclaim(&host);
    assert!(host.with(|memory| memory.is_empty()));

    let next = Single::new(BLOCK_PAGES);
    host.with(|before| next.with(|memory| memory.succeed(before)));
    next.with(|memory| memory.map(region(0, BLOCK, Access::READ, 1)))
        .unwrap();
    release(&next, get(&next, 0, 1, Access::READ).unwrap().held);
    let counters = next.with(|memory| memory.counters());
    assert_eq!((counters.misses, counters.peak), (2, BLOCK_PAGES));
}

#[test]
fn others_wait_for_a_pin_under_way() {
    let host = with_ram(1);
    host.with(|memory| {
        let resolve = |memory: &mut TestMemory, addr| {
            memory
                .resolve(&Want::new(span(addr, 1), Access::READ))
                .unwrap()
        };
        let Resolution::Fault(fault) = resolve(memory, 0) else {
            panic!("not in the cache yet");
        };
        let seen = memory.progress();
        // the same block; and another, for which there is no quota: it is charged already
        assert!(matches!(resolve(memory, 4096), Resolution::Wait));
        let other = memory.resolve(&Want::new(span(BLOCK, 1), Access::READ));
        assert!(matches!(other, Err(MemoryError::Quota)));
        let Completion::Ready(piece) = memory.complete(fault, Ok(7)) else {
            panic!("it was pinned");
        };
        assert_ne!(memory.progress(), seen);
        let Resolution::Ready(same) = resolve(memory, 4096) else {
            panic!("it is in the cache");
        };
        assert_eq!(same.held.block(), piece.held.block());
        memory.release(same.held);
        memory.release(piece.held);
    });
}

#[test]
fn a_pin_under_way_is_cancelled_by_unmapping() {
    let host = with_ram(1);
    host.with(|memory| {
        let Resolution::Fault(fault) = memory
            .resolve(&Want::new(span(0, 1), Access::READ))
            .unwrap()
        else {
            panic!("not in the cache yet");
        };
        memory.unmap(Span::ALL);
        // nothing to wait for, nobody has access; the same addresses can be mapped anew
        assert!(!memory.is_draining(Span::ALL));
        memory.map(region(0, BLOCK, Access::READ, 2)).unwrap();
        let Completion::Cancelled(loose) = memory.complete(fault, Ok(7)) else {
            panic!("it was unmapped");
        };
        // still charged until it is unpinned
        let anew = memory
            .resolve(&Want::new(span(0, 1), Access::READ))
            .unwrap();
        assert!(matches!(anew, Resolution::Wait));
        memory.unpinned(loose.charge);
        let anew = memory
            .resolve(&Want::new(span(0, 1), Access::READ))
            .unwrap();
        assert!(matches!(anew, Resolution::Fault(fault) if fault.backing == 2));
    });
}
