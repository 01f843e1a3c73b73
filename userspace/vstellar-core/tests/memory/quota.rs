// SPDX-License-Identifier: GPL-2.0

//! What is kept and what is in use leaves room for what the device cannot do without.

use super::pinner::*;
use vstellar_core::{
    access::Access,
    memory::{
        keeper::{acquire, hold, keep, release, Keeper},
        Hold, Limits, MemoryError, Piece, Quota, Room, Want,
    },
    span::Span,
};

/// Memory of 64 MiB, of which as many blocks may be pinned.
fn with_quota(blocks: u64) -> Single {
    let quota = Quota::new(room(blocks * BLOCK_PAGES));
    let host = Single::with(Limits { regions: 16, quota });
    let ram = region(0, 64 * MIB, Access::READ_WRITE, 1);
    host.with(|memory| memory.map(ram)).unwrap();
    host
}

fn byte(block: u64) -> Span {
    Span::new(block * BLOCK, 1).unwrap()
}

fn payload(host: &Single, block: u64) -> Result<Piece, MemoryError> {
    acquire(host, &Want::new(byte(block), Access::READ))
}

fn ring(host: &Single, block: u64) -> Result<(Piece, Hold), MemoryError> {
    keep(host, &Want::new(byte(block), Access::READ))
}

/// Uses a virtqueue there.
fn look(host: &Single, block: u64) {
    let piece = acquire(host, &Want::own(byte(block), Access::WRITE)).unwrap();
    release(host, piece.held);
}

fn let_go(host: &Single, (piece, hold): (Piece, Hold)) {
    host.with(|memory| memory.unhold(hold));
    release(host, piece.held);
}

#[test]
fn rings_leave_room_for_virtqueues_and_payload() {
    let host = with_quota(5);
    let mut rings: Vec<_> = (0..3).map(|block| ring(&host, block).unwrap()).collect();
    assert_eq!(ring(&host, 3), Err(MemoryError::Quota));
    for block in 4..12 {
        look(&host, block);
        release(&host, payload(&host, block + 8).unwrap().held);
    }
    // what is in a block with another ring takes nothing
    rings.push(ring(&host, 0).unwrap());
    // one that is refused leaves nothing behind
    assert_eq!(ring(&host, 3), Err(MemoryError::Quota));
    let_go(&host, rings.remove(1));
    rings.push(ring(&host, 3).unwrap());
    assert!(host.pinned.borrow().pages <= 5 * BLOCK_PAGES);
    rings.drain(..).for_each(|ring| let_go(&host, ring));
    host.with(|memory| memory.drop_cached(Span::ALL));
}

#[test]
fn a_region_is_held_as_long_as_that_leaves_room() {
    let host = with_quota(5);
    let mut holds = Vec::new();
    let two = |first: u64| Span::new(first * BLOCK, 2 * BLOCK).unwrap();
    let mut hold = |span| {
        hold(&host, span, Access::READ, |hold| {
            holds.push(hold);
            Ok(())
        })
    };
    hold(two(0)).unwrap();
    // the first block of it could be
    assert_eq!(hold(two(2)), Err(MemoryError::Quota));
    assert_eq!(holds.len(), 3);
    for block in 2..8 {
        look(&host, block);
    }
    for hold in holds {
        host.with(|memory| memory.unhold(hold));
    }
}

#[test]
fn what_is_in_the_cache_is_not_kept_for_nothing() {
    let host = with_quota(5);
    for block in 0..5 {
        release(&host, payload(&host, block).unwrap().held);
    }
    let rings: Vec<_> = (0..5).map_while(|block| ring(&host, block).ok()).collect();
    assert_eq!(rings.len(), 3);
    look(&host, 20);
    rings.into_iter().for_each(|ring| let_go(&host, ring));
}

#[test]
fn payload_leaves_room_for_virtqueues() {
    let host = with_quota(5);
    let mut uses: Vec<_> = (0..4).map(|block| payload(&host, block).unwrap()).collect();
    assert_eq!(payload(&host, 4), Err(MemoryError::Quota));
    for block in 4..8 {
        look(&host, block);
    }
    // nor can it be had by way of what the device has looked at
    assert_eq!(payload(&host, 7), Err(MemoryError::Quota));
    // a block in use may become one that is kept, but no more of them than otherwise
    let holds: Vec<_> = uses
        .iter()
        .map_while(|piece| host.with(|memory| memory.hold(&piece.held)).ok())
        .collect();
    assert_eq!(holds.len(), 3);
    for hold in holds {
        host.with(|memory| memory.unhold(hold));
    }
    uses.drain(..).for_each(|piece| release(&host, piece.held));
}

#[test]
fn places_are_kept_as_pages_are() {
    let quota = Quota::new(Room {
        pages: 1000 * BLOCK_PAGES,
        blocks: 8,
    });
    let host = Single::with(Limits { regions: 16, quota });
    host.with(|memory| memory.map(region(0, 64 * MIB, Access::READ_WRITE, 1)))
        .unwrap();
    let rings: Vec<_> = (0..8).map_while(|block| ring(&host, block).ok()).collect();
    assert_eq!(rings.len(), 6);
    look(&host, 10);
    let piece = payload(&host, 11).unwrap();
    assert_eq!(payload(&host, 12), Err(MemoryError::Quota));
    look(&host, 13);
    release(&host, piece.held);
    rings.into_iter().for_each(|ring| let_go(&host, ring));
}

#[test]
fn with_little_there_is_one_ring_and_with_nothing_none() {
    let host = with_quota(2);
    let one = ring(&host, 0).unwrap();
    assert_eq!(ring(&host, 1), Err(MemoryError::Quota));
    look(&host, 1);
    look(&host, 0);
    let_go(&host, one);

    let host = with_quota(1);
    assert_eq!(ring(&host, 0), Err(MemoryError::Quota));
    look(&host, 0);
    look(&host, 1);
}

#[test]
fn rings_that_were_unmapped_are_not_kept() {
    let host = with_quota(2);
    let gone = ring(&host, 0).unwrap();
    host.with(|memory| memory.unmap(Span::ALL));
    let ram = region(0, 64 * MIB, Access::READ_WRITE, 2);
    host.with(|memory| memory.map(ram)).unwrap();
    // it is in use, though
    assert_eq!(ring(&host, 0), Err(MemoryError::Quota));
    let_go(&host, gone);
    let again = ring(&host, 0).unwrap();
    let_go(&host, again);
}

#[test]
fn an_eighth_is_the_devices_own() {
    let own = |blocks: u64| {
        let quota = Quota::new(Room {
            pages: blocks * BLOCK_PAGES,
            blocks: 2 * blocks,
        });
        (
            quota.own.pages * 8 / BLOCK_PAGES,
            quota.payload.pages * 8 / BLOCK_PAGES,
        )
    };
    assert_eq!(own(0), (0, 0));
    assert_eq!(own(1), (4, 0));
    assert_eq!(own(3), (8, 0));
    assert_eq!(own(4), (8, 8));
    assert_eq!(own(16), (16, 16));
    assert_eq!(own(128), (32, 32));
    assert_eq!(own(4096), (32, 32));
}
