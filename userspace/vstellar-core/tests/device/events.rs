// SPDX-License-Identifier: GPL-2.0

//! What the device tells by itself, and how little it keeps of it.

use super::{bench::*, host::PEER};
use vstellar_core::{
    abi, bytes::Fields, control::Op, device::Policy, status::Status, table::Handle,
};

#[derive(Debug, PartialEq)]
struct Event {
    kind: u16,
    handle: u32,
    cookie: u64,
    arg: u64,
    seq: u32,
    lost: u32,
}

fn take(bench: &mut Bench) -> Option<Event> {
    let has = bench.device.has_event();
    let event = bench.device.take_event();
    assert_eq!(has, event.is_some());
    let event = event?;
    let mut fields = Fields::new(event.as_slice());
    let kind = fields.take16().unwrap();
    assert_eq!(fields.take16(), Ok(0));
    let event = Event {
        kind,
        handle: fields.take32().unwrap(),
        cookie: fields.take64().unwrap(),
        arg: fields.take64().unwrap(),
        seq: fields.take32().unwrap(),
        lost: fields.take32().unwrap(),
    };
    fields.end().unwrap();
    Some(event)
}

fn connected(bench: &mut Bench, cq: u32, slot: u32) -> u32 {
    let ep = bench.stream(cq, slot);
    let connect = addr(PEER.ip, 7000).put32(0).put32(0);
    bench.ok(Op::EpConnect, ep, &connect);
    bench.device.connected(Handle::from_raw(ep), Ok(()));
    ep
}

#[test]
fn a_change_of_state_is_told_as_it_is_by_then() {
    let (mut bench, cq) = Bench::ready();
    assert_eq!(take(&mut bench), None);
    let ep = connected(&mut bench, cq, 1);
    let handle = Handle::from_raw(ep);
    // three changes, of which only the last can be told
    bench.device.ended(handle);
    bench.device.failed(handle, Status::ConnReset);
    let event = take(&mut bench).unwrap();
    assert_eq!((event.kind, event.handle, event.cookie), (2, ep, 0xe9));
    assert_eq!(event.arg, (18 << 32) | 6 | u64::from(abi::EP_PEER_FIN));
    assert_eq!((event.seq, event.lost), (0, 0));
    assert_eq!(take(&mut bench), None);
    bench.finish();
}

#[test]
fn what_finds_no_buffer_waits_and_is_counted() {
    let (mut bench, cq) = Bench::ready();
    let first = connected(&mut bench, cq, 1);
    bench.device.event_lost();
    let second = connected(&mut bench, cq, 2);
    bench.device.event_lost();
    let events = [take(&mut bench).unwrap(), take(&mut bench).unwrap()];
    assert_eq!(
        (events[0].handle, events[0].lost, events[0].seq),
        (first, 2, 0)
    );
    assert_eq!(
        (events[1].handle, events[1].lost, events[1].seq),
        (second, 0, 1)
    );
    assert_eq!(bench.device.counters().events_lost, 2);
    bench.finish();
}

#[test]
fn endpoints_take_turns() {
    let (mut bench, cq) = Bench::ready();
    let eps: Vec<_> = (1..4).map(|slot| connected(&mut bench, cq, slot)).collect();
    let mut told = Vec::new();
    for _ in 0..6 {
        told.push(take(&mut bench).unwrap().handle);
        // the first two have something new each time
        bench.device.paths_changed(Handle::from_raw(eps[0]));
        bench.device.paths_changed(Handle::from_raw(eps[1]));
    }
    assert_eq!(told[..3], eps[..]);
    assert_eq!(told[3..5], eps[..2]);
    bench.finish();
}

#[test]
fn a_queue_is_ready_once_and_only_if_wanted() {
    let (mut bench, queue) = Bench::ready();
    let ready = Handle::from_raw(queue);
    for _ in 0..3 {
        bench.device.cq_ready(ready);
    }
    let event = take(&mut bench).unwrap();
    assert_eq!((event.kind, event.handle, event.cookie), (1, queue, 0xc0));
    assert_eq!(take(&mut bench), None);
    let silent = wire().put64(DATA).put16(4).put16(0).put32(1).put64(0);
    let silent = bench.ok(Op::CqCreate, 0, &silent).handle;
    bench.device.cq_ready(silent);
    bench.device.cq_ready(Handle::from_raw(0));
    assert_eq!(take(&mut bench), None);
    bench.finish();
}

#[test]
fn a_listener_calls_once_until_there_is_nothing_to_accept() {
    let (mut bench, cq) = Bench::ready();
    let listening = bench.listener(80);
    let handle = Handle::from_raw(listening);
    bench.host.waiting.set(1);
    bench.device.pending(handle);
    bench.device.pending(handle);
    let event = take(&mut bench).unwrap();
    assert_eq!(
        (event.kind, event.handle, event.cookie),
        (3, listening, 0x11)
    );
    bench.device.pending(handle);
    assert_eq!(take(&mut bench), None);
    let ep = bench.stream(cq, 1);
    let accept = |ep: u32| wire().put32(ep).put32(0);
    bench.ok(Op::EpAccept, listening, &accept(ep));
    bench.device.pending(handle);
    assert_eq!(take(&mut bench), None);
    let ep = bench.stream(cq, 2);
    assert_eq!(
        bench.refused(Op::EpAccept, listening, &accept(ep)),
        Status::Again
    );
    bench.device.pending(handle);
    assert_eq!(take(&mut bench).unwrap().kind, 3);
    bench.finish();
}

/// The device may have no more connections for now. Nobody is left behind, even if none comes any more.
#[test]
fn a_listener_calls_again_when_more_may_be_accepted() {
    let mut bench = Bench::greeted(Policy {
        connections: 2,
        ..Policy::new()
    });
    let cq = bench.with_cq();
    let listeners = [bench.listener(80), bench.listener(81)];
    let mut eps = (1..5)
        .map(|slot| bench.stream(cq, slot))
        .collect::<Vec<_>>();
    bench.host.waiting.set(4);
    let call = |bench: &mut Bench| {
        for listener in listeners {
            bench.device.pending(Handle::from_raw(listener));
        }
        let events = std::iter::from_fn(|| take(bench));
        events.map(|event| event.handle).collect::<Vec<_>>()
    };
    let mut accept = |bench: &mut Bench, listener: usize| {
        let payload = wire().put32(*eps.last().unwrap()).put32(0);
        let reply = bench.call(Op::EpAccept, listeners[listener], &payload);
        if reply.status == Status::Ok {
            eps.pop();
        }
        reply.status
    };
    assert_eq!(call(&mut bench), listeners);
    assert_eq!(accept(&mut bench, 0), Status::Ok);
    assert_eq!(accept(&mut bench, 0), Status::Ok);
    bench.now += SECOND / 8;
    assert_eq!(accept(&mut bench, 0), Status::Again);
    assert_eq!(*bench.host.asked.borrow(), "look in 375");
    assert_eq!(accept(&mut bench, 1), Status::Again);
    bench.now += 3 * SECOND / 8;
    assert_eq!(call(&mut bench), listeners);
    assert_eq!(accept(&mut bench, 0), Status::Ok);
    assert_eq!(accept(&mut bench, 1), Status::Again);
    bench.now += SECOND / 2;
    // the first has not come back to hear that there is nothing
    assert_eq!(call(&mut bench), listeners[1..]);
    assert_eq!(accept(&mut bench, 1), Status::Ok);
    bench.finish();
}

#[test]
fn a_listener_is_not_looked_at_in_vain() {
    for (connections, asked) in [(0, ""), (1, "look in 1000"), (1000, "look in 10")] {
        let mut bench = Bench::greeted(Policy {
            connections,
            ..Policy::new()
        });
        let cq = bench.with_cq();
        let listener = bench.listener(80);
        let ep = bench.stream(cq, 1);
        let accept = wire().put32(ep).put32(0);
        bench.host.asked.take();
        while bench.host.asked.borrow().is_empty() && bench.device.counters().refused < 2000 {
            bench.refused(Op::EpAccept, listener, &accept);
        }
        assert_eq!(*bench.host.asked.borrow(), asked);
        bench.finish();
    }
}

#[test]
fn events_of_the_device_come_first() {
    let (mut bench, cq) = Bench::ready();
    let ep = connected(&mut bench, cq, 1);
    bench.device.paths_changed(Handle::from_raw(ep));
    bench.device.fatal();
    bench.device.quota_reached();
    bench.device.transport_reset();
    let kinds: Vec<_> = std::iter::from_fn(|| take(&mut bench))
        .map(|e| e.kind)
        .collect();
    assert_eq!(kinds, [5, 6, 7, 2, 4]);
    bench.finish();
}

#[test]
fn an_object_that_goes_takes_its_events_along() {
    let (mut bench, cq) = Bench::ready();
    let ep = connected(&mut bench, cq, 1);
    bench.device.cq_ready(Handle::from_raw(cq));
    bench.ok(Op::EpDestroy, ep, &wire().put32(1).put32(0));
    bench.ok(Op::CqDestroy, cq, &wire());
    assert_eq!(take(&mut bench), None);
    bench.finish();
}
