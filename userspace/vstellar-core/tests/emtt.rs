// SPDX-License-Identifier: GPL-2.0

//! eMTT: keys, ranges, rights, generations, and what becomes of a region when its memory goes.

#[path = "memory/pinner.rs"]
#[allow(dead_code)]
mod pinner;

use pinner::*;
use proptest::prelude::*;
use vstellar_core::{
    access::Access,
    emtt::{Emtt, MemoryRegion, MrUse},
    memory::{
        keeper::{acquire, hold, release, unmap, Keeper},
        MemoryError, Owner, Piece,
    },
    span::Span,
    status::Status,
};

fn span(addr: u64, len: u64) -> Span {
    Span::new(addr, len).unwrap()
}

/// A region at `va` of these IOVAs, mapped in `host`.
fn build(host: &Single, va: u64, access: Access, segments: &[(u64, u64)]) -> MemoryRegion {
    let len = segments.iter().map(|(_, len)| len).sum();
    let mut region = MemoryRegion::new(span(va, len), access);
    for &(iova, len) in segments {
        let iova = span(iova, len);
        let found = host.with(|memory| memory.region(&iova, access.local()));
        let (id, owner) = found.unwrap();
        region.add(iova, id, owner).unwrap();
    }
    region
}

fn with_ram() -> Single {
    let host = Single::new(8 * BLOCK_PAGES);
    let ram = region(0, 64 * MIB, Access::READ_WRITE, 1);
    host.with(|memory| memory.map(ram)).unwrap();
    host
}

fn register(emtt: &mut Emtt, region: MemoryRegion) -> (u32, u32) {
    emtt.make_room(region.segments() as u64).unwrap();
    emtt.register(region)
        .expect("there is room, and it is complete")
}

/// Uses the beginning of `addrs`, as a work entry does.
fn touch(host: &Single, emtt: &mut Emtt, used: &MrUse, addrs: Span) -> Result<Piece, Status> {
    let located = emtt.locate(used, &addrs)?;
    let piece = acquire(host, &located.want)?;
    emtt.remember(used, &located, piece.held.block());
    Ok(piece)
}

const VA: u64 = 0x7f00_0000_0000;

#[test]
fn an_address_is_found_in_its_segment() {
    let (host, mut emtt) = (with_ram(), Emtt::new(4, 100));
    let segments = [(10 * BLOCK + 5, 100), (3 * BLOCK - 50, 100), (0, BLOCK + 1)];
    let region = build(&host, VA, Access::READ_WRITE, &segments);
    let (key, rkey) = register(&mut emtt, region);
    assert_eq!(rkey, 0);
    let all = emtt.get(key).unwrap().addrs();
    let used = emtt.enter(key, &all, Access::READ).unwrap();
    for (offset, len, iova, contiguous) in [
        (0, 1, 10 * BLOCK + 5, 1),
        (10, 90, 10 * BLOCK + 15, 90),
        (10, 91, 10 * BLOCK + 15, 90),
        (100, 200, 3 * BLOCK - 50, 100),
        (199, 2, 3 * BLOCK + 49, 1),
        (200, BLOCK, 0, BLOCK),
        (200 + BLOCK, 1, BLOCK, 1),
    ] {
        let located = emtt.locate(&used, &span(VA + offset, len)).unwrap();
        assert_eq!(located.want.span, span(iova, contiguous));
        let piece = acquire(&host, &located.want).unwrap();
        assert_eq!(piece.span.first(), iova);
        release(&host, piece.held);
    }
    emtt.leave(used);
}

#[test]
fn a_range_is_inside_and_a_right_is_given() {
    let (host, mut emtt) = (with_ram(), Emtt::new(4, 100));
    let region = build(&host, VA, Access::READ, &[(0, 4096)]);
    let (key, _) = register(&mut emtt, region);
    let mut enter = |addr, len, access| {
        let used = emtt.enter(key, &span(addr, len), access)?;
        emtt.leave(used);
        Ok(())
    };
    assert_eq!(enter(VA, 4096, Access::READ), Ok(()));
    assert_eq!(enter(VA, 4097, Access::READ), Err(Status::Fault));
    assert_eq!(enter(VA - 1, 2, Access::READ), Err(Status::Fault));
    assert_eq!(enter(VA + 4096, 1, Access::READ), Err(Status::Fault));
    assert_eq!(enter(0, 1, Access::READ), Err(Status::Fault));
    assert_eq!(enter(VA, 1, Access::WRITE), Err(Status::Perm));
    let remote = Access::READ | Access::REMOTE_READ;
    assert_eq!(enter(VA, 1, remote), Err(Status::Perm));
    let used = emtt.enter(key, &span(VA, 1), Access::READ).unwrap();
    let outside = emtt.locate(&used, &span(VA + 4096, 1));
    assert_eq!(outside.err(), Some(Status::Fault));
    emtt.leave(used);
}

#[test]
fn a_peer_needs_a_right_of_its_own() {
    let (host, mut emtt) = (with_ram(), Emtt::new(4, 100));
    let access = Access::READ_WRITE | Access::REMOTE_WRITE;
    let region = build(&host, VA, access, &[(0, 4096)]);
    let (key, rkey) = register(&mut emtt, region);
    assert_eq!(key, rkey);
    let write = Access::WRITE | Access::REMOTE_WRITE;
    let used = emtt.enter(rkey, &span(VA, 1), write).unwrap();
    emtt.leave(used);
    let read = Access::READ | Access::REMOTE_READ;
    assert_eq!(emtt.enter(rkey, &span(VA, 1), read), Err(Status::Perm));
}

#[test]
fn an_old_key_is_no_key() {
    let (host, mut emtt) = (with_ram(), Emtt::new(2, 100));
    let new = || build(&host, VA, Access::READ, &[(0, 4096)]);
    let (old, _) = register(&mut emtt, new());
    emtt.deregister(old).unwrap();
    for _ in 0..10 {
        let (key, _) = register(&mut emtt, new());
        assert_ne!(key, old);
        let stale = emtt.enter(old, &span(VA, 1), Access::READ);
        assert_eq!(stale, Err(Status::NoEnt));
        assert_eq!(emtt.deregister(old).err(), Some(Status::NoEnt));
        emtt.deregister(key).unwrap();
    }
    for key in [0, 1, 0x100, 0x101, u32::MAX] {
        assert_eq!(
            emtt.enter(key, &span(VA, 1), Access::READ),
            Err(Status::NoEnt)
        );
    }
}

#[test]
fn there_are_no_more_than_allowed() {
    let (host, mut emtt) = (with_ram(), Emtt::new(2, 100));
    let new = || build(&host, VA, Access::READ, &[(0, 4096)]);
    for _ in 0..2 {
        register(&mut emtt, new());
    }
    assert_eq!(emtt.make_room(1), Err(Status::Quota));
    assert!(emtt.register(new()).is_err());
}

#[test]
fn there_are_no_more_segments_than_allowed() {
    let (host, mut emtt) = (with_ram(), Emtt::new(9, 5));
    let new = |count| build(&host, VA, Access::READ, &vec![(0, 4096); count]);
    let (three, _) = register(&mut emtt, new(3));
    register(&mut emtt, new(2));
    assert_eq!(emtt.make_room(1), Err(Status::Quota));
    emtt.deregister(three).unwrap();
    assert_eq!(emtt.make_room(4), Err(Status::Quota));
    assert_eq!(emtt.make_room(3), Ok(()));
    emtt.evict().unwrap();
    assert_eq!(emtt.make_room(5), Ok(()));
}

#[test]
fn a_region_in_use_stays() {
    let (host, mut emtt) = (with_ram(), Emtt::new(2, 100));
    let region = build(&host, VA, Access::READ, &[(0, 4096)]);
    let (key, _) = register(&mut emtt, region);
    let used = emtt.enter(key, &span(VA, 1), Access::READ).unwrap();
    assert_eq!(emtt.deregister(key).err(), Some(Status::Busy));
    emtt.leave(used);
    assert!(emtt.deregister(key).is_ok());
}

#[test]
fn memory_is_behind_all_addresses_and_no_more() {
    let (host, mut emtt) = (with_ram(), Emtt::new(2, 100));
    let (id, owner) = host
        .with(|memory| memory.region(&span(0, 1), Access::READ))
        .unwrap();
    let mut region = MemoryRegion::new(span(VA, 100), Access::READ);
    region.add(span(0, 60), id, owner).unwrap();
    emtt.make_room(1).unwrap();
    let mut region = emtt.register(region).expect_err("it is not complete");
    assert_eq!(region.add(span(0, 41), id, owner), Err(Status::Inval));
    let other = region.add(span(0, 40), id, Owner::HostKernel);
    assert_eq!(other, Err(Status::Inval));
    region.add(span(0, 40), id, owner).unwrap();
    assert_eq!(region.owner(), Owner::Guest);
    assert!(emtt.register(region).is_ok());
}

#[test]
fn a_region_ends_with_its_mapping() {
    let (host, mut emtt) = (with_ram(), Emtt::new(2, 100));
    let region = build(&host, VA, Access::READ, &[(0, 4096)]);
    let (key, _) = register(&mut emtt, region);
    let used = emtt.enter(key, &span(VA, 1), Access::READ).unwrap();
    let piece = touch(&host, &mut emtt, &used, span(VA, 1)).unwrap();
    release(&host, piece.held);
    unmap(&host, Span::ALL, || ()).unwrap();
    let gone = touch(&host, &mut emtt, &used, span(VA, 1));
    assert_eq!(gone, Err(Status::Fault));
    // nor does it come back with the addresses
    let ram = self::region(0, 64 * MIB, Access::READ_WRITE, 2);
    host.with(|memory| memory.map(ram)).unwrap();
    let gone = touch(&host, &mut emtt, &used, span(VA, 1));
    assert_eq!(gone, Err(Status::Fault));
    emtt.leave(used);
}

#[test]
fn a_block_that_was_let_go_is_found_again() {
    let (host, mut emtt) = (with_ram(), Emtt::new(2, 100));
    let region = build(&host, VA, Access::READ, &[(0, 4 * BLOCK)]);
    let (key, _) = register(&mut emtt, region);
    let used = emtt.enter(key, &span(VA, 4 * BLOCK), Access::READ).unwrap();
    for round in 0..3 {
        for block in 0..4 {
            let addr = VA + block * BLOCK + round;
            let piece = touch(&host, &mut emtt, &used, span(addr, 1)).unwrap();
            assert_eq!(piece.span.first(), addr - VA);
            release(&host, piece.held);
        }
        if round == 1 {
            host.with(|memory| memory.drop_cached(Span::ALL));
        }
    }
    let counters = host.with(|memory| memory.counters());
    assert_eq!((counters.misses, counters.hits), (8, 4));
    emtt.leave(used);
}

#[test]
fn what_is_held_stays_until_it_is_given_back() {
    let (host, mut emtt) = (with_ram(), Emtt::new(2, 100));
    let mut region = build(&host, VA, Access::READ, &[(BLOCK - 1, 2), (5 * BLOCK, 1)]);
    for index in 0..region.segments() {
        let iova = region.segment(index).unwrap();
        hold(&host, iova, Access::READ, |hold| region.keep(hold)).unwrap();
    }
    // it has three windows and no more
    let refused = hold(&host, span(0, 1), Access::READ, |hold| region.keep(hold));
    assert_eq!(refused, Err(MemoryError::Quota));
    let (key, _) = register(&mut emtt, region);
    assert_eq!(host.with(|memory| memory.drop_cached(Span::ALL)), 0);
    // and is found without a look-up
    let used = emtt.enter(key, &span(VA, 3), Access::READ).unwrap();
    for addr in VA..VA + 3 {
        let located = emtt.locate(&used, &span(addr, 1)).unwrap();
        let piece = acquire(&host, &located.want).unwrap();
        assert_eq!(located.want.hint, Some(piece.held.block()));
        release(&host, piece.held);
    }
    assert_eq!(host.with(|memory| memory.counters()).misses, 3);
    emtt.leave(used);
    let mut region = emtt.deregister(key).unwrap();
    while let Some(hold) = region.take_hold() {
        host.with(|memory| memory.unhold(hold));
    }
    assert_eq!(host.with(|memory| memory.drop_cached(Span::ALL)), 3);
}

proptest! {
    /// Whatever the segments, each byte of the region is the byte it was said to be.
    #[test]
    fn bytes_are_where_they_were_put(
        segments in prop::collection::vec((0u64..(60 * MIB), 1u64..(3 * MIB)), 1..12),
        probes in prop::collection::vec((any::<u64>(), 1u64..(5 * MIB)), 20),
    ) {
        let (host, mut emtt) = (with_ram(), Emtt::new(1, 100));
        let region = build(&host, VA, Access::READ, &segments);
        let total = region.addrs().len();
        let (key, _) = register(&mut emtt, region);
        for (offset, len) in probes {
            let offset = offset % total;
            let addrs = span(VA + offset, len.min(total - offset));
            let used = emtt.enter(key, &addrs, Access::READ).unwrap();
            let (mut at, mut start) = (offset, 0);
            let mut rest = addrs.len();
            while rest > 0 {
                let (iova, len) = loop {
                    let (iova, len) = segments[start];
                    if at < len { break (iova + at, len - at) }
                    at -= len;
                    start += 1;
                };
                let from = VA + offset + (addrs.len() - rest);
                let piece = touch(&host, &mut emtt, &used, span(from, rest)).unwrap();
                prop_assert_eq!(piece.span.first(), iova);
                let used_len = piece.span.len();
                prop_assert!(used_len <= len.min(rest));
                release(&host, piece.held);
                at += used_len;
                rest -= used_len;
            }
            emtt.leave(used);
        }
    }
}
