// SPDX-License-Identifier: GPL-2.0

//! Reset, and memory that is unmapped below live objects.

use super::{
    bench::*,
    pinner::{region, MIB},
};
use vstellar_core::{
    access::Access,
    control::Op,
    device::{config, Policy, CONFIG_SIZE},
    memory::keeper::{unmap, Keeper},
    span::Span,
    status::Status,
    table::Handle,
};

#[test]
fn a_reset_ends_all_and_may_come_twice() {
    let (mut bench, cq) = Bench::ready();
    bench.stream(cq, 1);
    bench.listener(80);
    bench.ok(Op::Quiesce, 0, &wire());
    bench.device.fatal();
    bench.device.reset(&bench.host);
    assert_eq!(bench.account(), ([0; 3], 0, 0));
    bench.device.reset(&bench.host);
    assert!(!bench.device.has_event() && !bench.device.is_quiesced());
    // the mappings are there, the driver is not
    assert_eq!(bench.host.with(|memory| memory.regions()), 2);
    assert_eq!(bench.refused(Op::DevStats, 0, &wire()), Status::State);
    bench.finish();
}

/// A device with its doorbells, its queue and its endpoint in a mapping each.
fn apart() -> (Bench, u32, u32) {
    let mut bench = Bench::greeted(Policy::new());
    bench.host.with(|memory| {
        memory.unmap(Span::ALL);
        for at in [AREA, RINGS, RINGS + MIB, DATA] {
            let len = if at == RINGS + MIB { 4 * MIB } else { MIB };
            memory.map(region(at, len, Access::READ_WRITE, at)).unwrap();
        }
    });
    let cq = bench.with_cq();
    let ep = bench.stream(cq, 1);
    (bench, cq, ep)
}

fn unmap_at(bench: &mut Bench, at: u64) -> u32 {
    let (host, device) = (&bench.host, &mut bench.device);
    let mut count = 0;
    let span = Span::new(at, 1).unwrap();
    unmap(host, span, || count = device.revoke(host)).unwrap();
    count
}

#[test]
fn unmapping_a_ring_fails_its_endpoint() {
    let (mut bench, _, ep) = apart();
    assert_eq!(unmap_at(&mut bench, DATA), 0);
    assert_eq!(bench.state(ep), 0);
    assert_eq!(unmap_at(&mut bench, RINGS + MIB), 2);
    assert_eq!(bench.state(ep), 6);
    // whoever serves it has to look, although nobody kicks for that
    let endpoint = bench.device.endpoint(Handle::from_raw(ep)).unwrap();
    assert!(std::mem::take(&mut endpoint.unflushed));
    assert_eq!(bench.host.rings.get(), 2);
    // and does not do it twice
    assert_eq!(bench.device.revoke(&bench.host), 0);
    bench.ok(Op::EpDestroy, ep, &wire().put32(0).put32(0));
    bench.finish();
}

#[test]
fn unmapping_a_completion_queue_fails_those_that_use_it() {
    let (mut bench, cq, ep) = apart();
    assert_eq!(unmap_at(&mut bench, RINGS), 1);
    assert_eq!(bench.state(ep), 6);
    // its slot says so, and nobody else can use it
    assert_eq!(bench.host.ram.get32(AREA + 4096 + 80), 6);
    let another = super::bench::ep(cq, 2);
    assert_eq!(bench.refused(Op::EpCreate, 0, &another), Status::State);
    bench.ok(Op::EpDestroy, ep, &wire().put32(0).put32(0));
    bench.ok(Op::CqDestroy, cq, &wire());
    bench.finish();
}

/// Each completion that cannot be written says so, and the endpoints are gone through for the first.
#[test]
fn a_completion_queue_fails_once() {
    let (mut bench, cq) = Bench::ready();
    let ep = bench.stream(cq, 1);
    let state = AREA + 4096 + 80;
    assert!(bench.device.cq_failed(Handle::from_raw(cq)));
    assert_eq!((bench.state(ep), bench.host.ram.get32(state)), (6, 6));
    bench.host.ram.put32(state, 0);
    assert!(!bench.device.cq_failed(Handle::from_raw(cq)));
    assert_eq!(bench.host.ram.get32(state), 0);
    bench.finish();
}

#[test]
fn unmapping_the_doorbells_is_fatal() {
    let (mut bench, cq, ep) = apart();
    assert_eq!(unmap_at(&mut bench, AREA), 1);
    let event = bench.device.take_event().unwrap();
    assert_eq!(event.as_slice()[0], 7);
    // objects can still be taken away
    bench.ok(Op::EpDestroy, ep, &wire().put32(0).put32(0));
    bench.ok(Op::CqDestroy, cq, &wire());
    bench.finish();
}

#[test]
fn the_configuration_space_is_laid_out_as_documented() {
    let policy = Policy {
        ip: 0x0102_0304 << 96,
        first_port: 4000,
        last_port: 5000,
        ..Policy::new()
    };
    let config = config(&limits(), &policy, 8 * MIB, 1460, 1);
    assert_eq!(config.as_slice().len(), CONFIG_SIZE);
    let bytes = config.into_array();
    let get16 = |at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap());
    let get32 = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let get64 = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!(&bytes[..4], b"VSTL");
    assert_eq!((get16(4), get16(6), get32(8)), (1, 1, 1));
    assert_eq!((get32(0x0c), get32(0x10), get32(0x14)), (8, 4, 3));
    assert_eq!(
        (get16(0x18), get16(0x1a), get16(0x1c), get16(0x1e)),
        (8, 8, 16, 128)
    );
    assert_eq!((get64(0x20), get64(0x28)), (4 * MIB, 8 * MIB));
    assert_eq!((get32(0x30), get32(0x34)), (21, 3));
    assert_eq!(bytes[0x38..0x3c], [1, 2, 3, 4]);
    assert_eq!((get16(0x48), get16(0x4a), get32(0x4c)), (4000, 5000, 1460));
}
