// SPDX-License-Identifier: GPL-2.0

//! Doorbell area, completion queues, endpoints: made, refused, taken away.

use super::{bench::*, pinner::MIB};
use vstellar_core::{
    abi, control::Op, device::Policy, doorbell::SlotOwner, shared::Shared, status::Status,
    table::Handle,
};

fn attach(addr: u64, npages: u32) -> super::bench::Wire {
    wire().put64(addr).put32(npages).put32(0)
}

#[test]
fn the_doorbell_area_is_attached_once() {
    let mut bench = Bench::greeted(Policy::new());
    let reply = bench.ok(Op::DbAttach, 0, &attach(AREA, 3));
    assert_eq!(reply.payload.as_slice(), [64, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        bench.refused(Op::DbAttach, 0, &attach(DATA, 3)),
        Status::State
    );
    bench.ok(Op::DbDetach, 0, &wire());
    assert_eq!(bench.refused(Op::DbDetach, 0, &wire()), Status::State);
    bench.ok(Op::DbAttach, 0, &attach(DATA, 2));
    bench.finish();
}

#[test]
fn the_doorbell_area_is_pages_and_within_the_limit() {
    let mut bench = Bench::greeted(Policy::new());
    let inval = Status::Inval;
    assert_eq!(bench.refused(Op::DbAttach, 0, &attach(AREA + 8, 3)), inval);
    assert_eq!(bench.refused(Op::DbAttach, 0, &attach(AREA, 0)), inval);
    assert_eq!(bench.refused(Op::DbAttach, 0, &attach(AREA, 1)), inval);
    assert_eq!(bench.refused(Op::DbAttach, 0, &attach(AREA, 4)), inval);
    assert_eq!(
        bench.refused(Op::DbAttach, 0, &attach(AREA, u32::MAX)),
        inval
    );
    assert_eq!(bench.refused(Op::DbAttach, 0, &attach(!0 << 12, 2)), inval);
    let flags = wire().put64(AREA).put32(2).put32(1);
    assert_eq!(bench.refused(Op::DbAttach, 0, &flags), inval);
    bench.finish();
}

#[test]
fn the_doorbell_area_is_memory_that_can_be_written() {
    let mut bench = Bench::greeted(Policy::new());
    assert_eq!(
        bench.refused(Op::DbAttach, 0, &attach(READ_ONLY, 2)),
        Status::Perm
    );
    assert_eq!(
        bench.refused(Op::DbAttach, 0, &attach(UNMAPPED, 2)),
        Status::Fault
    );
    // in two mappings
    let across = attach(READ_ONLY - 0x1000, 2);
    assert_eq!(bench.refused(Op::DbAttach, 0, &across), Status::Fault);
    bench.finish();
}

#[test]
fn the_doorbell_area_stays_while_a_slot_is_in_use() {
    let (mut bench, cq) = Bench::ready();
    assert_eq!(bench.refused(Op::DbDetach, 0, &wire()), Status::Busy);
    bench.ok(Op::CqDestroy, cq, &wire());
    bench.ok(Op::DbDetach, 0, &wire());
    bench.finish();
}

#[test]
fn a_completion_queue_needs_doorbells_and_a_slot() {
    let mut bench = Bench::greeted(Policy::new());
    assert_eq!(
        bench.refused(Op::CqCreate, 0, &cq(RINGS, 4, 0)),
        Status::State
    );
    bench.ok(Op::DbAttach, 0, &attach(AREA, 2));
    assert_eq!(
        bench.refused(Op::CqCreate, 0, &cq(RINGS, 4, 32)),
        Status::Inval
    );
    let handle = bench.ok(Op::CqCreate, 0, &cq(RINGS, 4, 31)).handle;
    assert_eq!(
        bench.refused(Op::CqCreate, 0, &cq(DATA, 4, 31)),
        Status::Busy
    );
    let slots = &bench.device.doorbell().unwrap().slots;
    assert_eq!(slots.owner(31), Some(SlotOwner::Cq(handle)));
    bench.finish();
}

#[test]
fn a_ring_is_pages_of_writable_memory() {
    let (mut bench, _) = Bench::ready();
    let mut refused = |ring, log2| bench.refused(Op::CqCreate, 0, &cq(ring, log2, 1));
    assert_eq!(refused(DATA + 32, 4), Status::Inval);
    assert_eq!(refused(DATA, abi::CQ_LOG2_MAX + 1), Status::Inval);
    assert_eq!(refused(DATA, 64), Status::Inval);
    assert_eq!(refused(DATA, u16::MAX), Status::Inval);
    assert_eq!(refused(!0 << 12, 12), Status::Inval);
    assert_eq!(refused(READ_ONLY, 4), Status::Perm);
    assert_eq!(refused(UNMAPPED, 4), Status::Fault);
    // its beginning is mapped
    assert_eq!(refused(READ_ONLY - 0x1000, 8), Status::Fault);
    let flags = wire().put64(DATA).put16(4).put16(2).put32(1).put64(0);
    assert_eq!(bench.refused(Op::CqCreate, 0, &flags), Status::Inval);
    bench.finish();
}

#[test]
fn rings_do_not_overlap() {
    let (mut bench, queue) = Bench::ready();
    let ring = RINGS + MIB;
    let ep = |rings| ep_with(queue, queue, rings, [8, 4], 1);
    // the area, another queue, and each other; 256 send entries are four pages
    for rings in [
        [AREA, ring],
        [ring, AREA + 0x2000],
        [RINGS, ring],
        [ring, RINGS + 0x7000],
        [ring, ring],
        [ring, ring + 0x3000],
    ] {
        let status = bench.refused(Op::EpCreate, 0, &ep(rings));
        assert!(matches!(status, Status::Busy | Status::Inval), "{rings:?}");
    }
    bench.ok(Op::EpCreate, 0, &ep([ring, ring + 0x4000]));
    assert_eq!(
        bench.refused(Op::CqCreate, 0, &cq(ring, 4, 2)),
        Status::Busy
    );
    assert_eq!(
        bench.refused(Op::CqCreate, 0, &cq(ring + 0x4000, 4, 2)),
        Status::Busy
    );
    bench.finish();
}

#[test]
fn there_are_no_more_objects_than_allowed() {
    let (mut bench, queue) = Bench::ready();
    for slot in 1..3 {
        let ring = DATA + u64::from(slot) * 0x1000;
        bench.ok(Op::CqCreate, 0, &cq(ring, 4, slot));
    }
    assert_eq!(
        bench.refused(Op::CqCreate, 0, &cq(DATA, 4, 3)),
        Status::Quota
    );
    for slot in 3..11 {
        bench.stream(queue, slot);
    }
    assert_eq!(
        bench.refused(Op::EpCreate, 0, &ep(queue, 11)),
        Status::Quota
    );
    bench.finish();
}

#[test]
fn pinned_memory_is_within_the_quota() {
    let mut bench = Bench::greeted(Policy::new());
    bench.ok(Op::DbAttach, 0, &attach(AREA, 2));
    // four blocks: the area's, and those of the rings
    let ring = |block: u64| 2 * MIB * block;
    for (slot, block) in [(0, 1), (1, 2)] {
        bench.ok(Op::CqCreate, 0, &cq(ring(block), 4, slot));
    }
    // a ring in two blocks needs one more than there is; half of it is given back
    let across = cq(ring(5) - 0x1000, 8, 2);
    assert_eq!(bench.refused(Op::CqCreate, 0, &across), Status::Quota);
    bench.ok(Op::CqCreate, 0, &cq(ring(3), 4, 2));
    bench.finish();
}

#[test]
fn handles_are_of_objects_that_are_there() {
    let (mut bench, queue) = Bench::ready();
    let endpoint = bench.stream(queue, 1);
    for handle in [0, 2, 0x100, queue + 0x100, queue + 1, u32::MAX] {
        assert_eq!(bench.refused(Op::CqDestroy, handle, &wire()), Status::NoEnt);
        let abort = wire().put32(1).put32(0);
        assert_eq!(bench.refused(Op::EpDestroy, handle, &abort), Status::NoEnt);
        assert_eq!(bench.refused(Op::EpQuery, handle, &wire()), Status::NoEnt);
    }
    bench.ok(Op::EpDestroy, endpoint, &wire().put32(0).put32(0));
    assert_eq!(bench.refused(Op::EpQuery, endpoint, &wire()), Status::NoEnt);
    let again = bench.stream(queue, 1);
    assert_ne!(again, endpoint);
    assert_eq!(bench.refused(Op::EpQuery, endpoint, &wire()), Status::NoEnt);
    bench.finish();
}

#[test]
fn an_endpoint_has_room_in_its_completion_queues() {
    let (mut bench, _) = Bench::ready();
    let small = bench.ok(Op::CqCreate, 0, &cq(DATA, 5, 1)).handle.raw();
    let other = bench
        .ok(Op::CqCreate, 0, &cq(DATA + 0x1000, 4, 2))
        .handle
        .raw();
    let ring = RINGS + MIB;
    let ep = |send, recv, logs| ep_with(send, recv, [ring, ring + 0x4000], logs, 3);
    assert_eq!(
        bench.refused(Op::EpCreate, 0, &ep(small, small, [5, 0])),
        Status::NoSpc
    );
    assert_eq!(
        bench.refused(Op::EpCreate, 0, &ep(small, other, [5, 5])),
        Status::NoSpc
    );
    let made = bench
        .ok(Op::EpCreate, 0, &ep(small, small, [4, 4]))
        .handle
        .raw();
    let next = ep_with(small, other, [DATA + 0x8000, DATA + 0x9000], [0, 0], 4);
    assert_eq!(bench.refused(Op::EpCreate, 0, &next), Status::NoSpc);
    // queues that are in use stay, and rooms come back
    assert_eq!(bench.refused(Op::CqDestroy, small, &wire()), Status::Busy);
    bench.ok(Op::EpDestroy, made, &wire().put32(0).put32(0));
    bench.ok(Op::EpCreate, 0, &next);
    bench.finish();
}

#[test]
fn an_endpoint_is_of_a_known_kind_with_rings_within_the_limits() {
    let (mut bench, queue) = Bench::ready();
    let good = ep(queue, 1);
    let mut with = |at: usize, bytes: &[u8]| {
        let mut changed = good.as_slice().to_vec();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        let changed = wire().put(&changed);
        bench.refused(Op::EpCreate, 0, &changed)
    };
    assert_eq!(with(0, &[0]), Status::NotSupp);
    assert_eq!(with(0, &[3]), Status::NotSupp);
    // messages were not negotiated
    assert_eq!(with(0, &[2]), Status::NotSupp);
    assert_eq!(with(2, &[2]), Status::Inval);
    assert_eq!(with(12, &[1]), Status::Inval);
    assert_eq!(with(4, &[0]), Status::NoEnt);
    assert_eq!(with(8, &[0]), Status::NoEnt);
    assert_eq!(with(16, &[1]), Status::Inval);
    assert_eq!(with(24, &[1]), Status::Inval);
    for log2 in [9, 15, 16, 17, 255] {
        assert_eq!(with(32, &[log2]), Status::Inval);
        assert_eq!(with(34, &[log2]), Status::Inval);
    }
    assert_eq!(with(36, &[0]), Status::Busy);
    assert_eq!(with(36, &[64]), Status::Inval);
    assert_eq!(with(36, &[0xff; 4]), Status::Inval);
    bench.finish();
}

#[test]
fn a_listener_has_nothing_else() {
    let mut bench = Bench::greeted(Policy::new());
    let good = listener();
    for at in [4, 8, 12, 16, 24, 32, 34, 36] {
        let mut changed = good.as_slice().to_vec();
        changed[at] ^= 1;
        let changed = wire().put(&changed);
        assert_eq!(bench.refused(Op::EpCreate, 0, &changed), Status::Inval);
    }
    // and needs no doorbells
    bench.ok(Op::EpCreate, 0, &good);
    bench.finish();
}

#[test]
fn an_endpoint_without_a_socket_gives_all_back() {
    let (mut bench, queue) = Bench::ready();
    bench.host.fail("socket", Status::Io);
    assert_eq!(bench.refused(Op::EpCreate, 0, &ep(queue, 1)), Status::Io);
    bench.stream(queue, 1);
    // and one whose second ring cannot be had its first
    let rings = [DATA, UNMAPPED];
    let wrong = ep_with(queue, queue, rings, [4, 4], 2);
    assert_eq!(bench.refused(Op::EpCreate, 0, &wrong), Status::Fault);
    bench.finish();
}

#[test]
fn what_was_not_sent_keeps_an_endpoint_unless_it_is_aborted() {
    let (mut bench, queue) = Bench::ready();
    let handle = bench.stream(queue, 1);
    let endpoint = bench.device.endpoint(Handle::from_raw(handle)).unwrap();
    let send = &mut endpoint.queues.as_mut().unwrap().send.queue;
    send.offer(1).unwrap();
    send.take().unwrap();
    let destroy = |flags| wire().put32(flags).put32(0);
    assert_eq!(
        bench.refused(Op::EpDestroy, handle, &destroy(0)),
        Status::Busy
    );
    assert_eq!(
        bench.refused(Op::EpDestroy, handle, &destroy(2)),
        Status::Inval
    );
    bench.ok(Op::EpDestroy, handle, &destroy(1));
    assert_eq!(*bench.host.asked.borrow(), "close, abort true");
    bench.finish();
}

#[test]
fn a_new_object_has_a_clean_slot() {
    let (mut bench, queue) = Bench::ready();
    let line = AREA + 4096 + 128 + 64;
    bench.host.write(line, &[0xff; 28]).unwrap();
    bench.stream(queue, 1);
    assert_eq!(bench.host.ram.get::<28>(line), [0; 28]);
    bench.finish();
}
