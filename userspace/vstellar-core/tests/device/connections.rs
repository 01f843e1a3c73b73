// SPDX-License-Identifier: GPL-2.0

//! Binding, listening, connecting, accepting, and what the operator does not allow.

use super::{bench::*, host::PEER};
use vstellar_core::{
    abi,
    bytes::Fields,
    control::Op,
    device::{Policy, Rule},
    host::List,
    status::Status,
    table::Handle,
};

const OWN: u128 = (0xfd00 << 112) | 1;
const V4: u128 = 0xffff << 32;

fn connect(ip: u128, port: u16) -> Wire {
    addr(ip, port).put32(300).put32(0)
}

fn accept(endpoint: u32) -> Wire {
    wire().put32(endpoint).put32(0)
}

fn assigned() -> Policy {
    Policy {
        ip: OWN,
        first_port: 4000,
        last_port: 4003,
        ..Policy::new()
    }
}

#[test]
fn an_endpoint_connects() {
    let (mut bench, cq) = Bench::ready();
    let ep = bench.stream(cq, 1);
    assert_eq!(bench.state(ep), 0);
    bench.ok(Op::EpConnect, ep, &connect(PEER.ip, 7000));
    assert_eq!(*bench.host.asked.borrow(), "connect 7000 from 0 in 300");
    assert_eq!(bench.state(ep), 3);
    bench.device.connected(Handle::from_raw(ep), Ok(()));
    assert_eq!(bench.state(ep), 4);
    // the slot says the same
    assert_eq!(bench.host.ram.get32(AREA + 4096 + 128 + 80), 4);
    let again = bench.refused(Op::EpConnect, ep, &connect(PEER.ip, 7000));
    assert_eq!(again, Status::State);
    bench.finish();
}

#[test]
fn a_connection_that_fails_says_why() {
    let (mut bench, cq) = Bench::ready();
    let ep = bench.stream(cq, 1);
    bench.host.fail("connect", Status::NetUnreach);
    let wanted = connect(PEER.ip, 7000);
    assert_eq!(
        bench.refused(Op::EpConnect, ep, &wanted),
        Status::NetUnreach
    );
    assert_eq!(bench.state(ep), 0);
    bench.ok(Op::EpConnect, ep, &wanted);
    bench
        .device
        .connected(Handle::from_raw(ep), Err(Status::ConnRefused));
    let reply = bench.ok(Op::EpQuery, ep, &wire());
    let mut fields = Fields::new(reply.payload.as_slice());
    assert_eq!((fields.take32(), fields.take32()), (Ok(6), Ok(12)));
    assert_eq!(bench.host.ram.get32(AREA + 4096 + 128 + 84), 12);
    // what comes late changes nothing
    bench.device.connected(Handle::from_raw(ep), Ok(()));
    bench.device.ended(Handle::from_raw(ep));
    assert_eq!(bench.state(ep), 6);
    bench.finish();
}

#[test]
fn destinations_are_hosts() {
    let (mut bench, cq) = Bench::ready();
    let ep = bench.stream(cq, 1);
    let mut refused = |ip, port| bench.refused(Op::EpConnect, ep, &connect(ip, port));
    assert_eq!(refused(PEER.ip, 0), Status::Inval);
    for ip in [
        0,
        1,
        (0xff02 << 112) | 1,
        V4,
        V4 | 0x7f00_0001,
        V4 | 0x0000_0001,
        V4 | 0xe000_0001,
        V4 | 0xffff_ffff,
    ] {
        assert_eq!(refused(ip, 7000), Status::NetUnreach, "{ip:x}");
    }
    let mut wrong = connect(PEER.ip, 7000).as_slice().to_vec();
    for (at, status) in [
        (0, Status::NotSupp),
        (4, Status::Inval),
        (28, Status::Inval),
    ] {
        wrong[at] ^= 2;
        let payload = wire().put(&wrong);
        assert_eq!(bench.refused(Op::EpConnect, ep, &payload), status);
        wrong[at] ^= 2;
    }
    bench.ok(Op::EpConnect, ep, &connect(V4 | 0x0a00_0001, 7000));
    bench.finish();
}

#[test]
fn destinations_are_those_that_the_operator_allows() {
    let mut destinations = List::new();
    let mut rule = |prefix, bits, allow| {
        let rule = Rule {
            prefix,
            bits,
            allow,
        };
        destinations.push(rule).unwrap();
    };
    rule(V4 | 0x0a00_0000, 96 + 8, true);
    rule((0xfd00 << 112) | 7, 128, true);
    rule(0, 0, false);
    let mut bench = Bench::greeted(Policy {
        destinations,
        ..Policy::new()
    });
    let cq = bench.with_cq();
    let ep = bench.stream(cq, 1);
    for ip in [V4 | 0x0b00_0001, (0xfd00 << 112) | 6, (0xfd01 << 112) | 7] {
        let refused = bench.refused(Op::EpConnect, ep, &connect(ip, 7000));
        assert_eq!(refused, Status::Perm);
    }
    bench.ok(Op::EpConnect, ep, &connect(V4 | 0x0aff_ffff, 7000));
    let ep = bench.stream(cq, 2);
    bench.ok(Op::EpConnect, ep, &connect((0xfd00 << 112) | 7, 7000));
    bench.finish();
}

#[test]
fn new_connections_have_a_rate() {
    let mut bench = Bench::greeted(Policy {
        connections: 2,
        ..Policy::new()
    });
    let cq = bench.with_cq();
    let eps: Vec<_> = (1..6).map(|slot| bench.stream(cq, slot)).collect();
    let wanted = connect(PEER.ip, 7000);
    bench.ok(Op::EpConnect, eps[0], &wanted);
    bench.ok(Op::EpConnect, eps[1], &wanted);
    assert_eq!(bench.refused(Op::EpConnect, eps[2], &wanted), Status::Again);
    bench.now += SECOND / 2 - 1;
    assert_eq!(bench.refused(Op::EpConnect, eps[2], &wanted), Status::Again);
    bench.now += 1;
    bench.ok(Op::EpConnect, eps[2], &wanted);
    assert_eq!(bench.refused(Op::EpConnect, eps[3], &wanted), Status::Again);
    // accepted ones count as well, and time that was not used is lost after a second
    let listener = bench.listener(80);
    bench.host.waiting.set(2);
    assert_eq!(
        bench.refused(Op::EpAccept, listener, &accept(eps[3])),
        Status::Again
    );
    bench.now += 100 * SECOND;
    bench.ok(Op::EpAccept, listener, &accept(eps[3]));
    bench.ok(Op::EpAccept, listener, &accept(eps[4]));
    let last = bench.stream(cq, 6);
    assert_eq!(bench.refused(Op::EpConnect, last, &wanted), Status::Again);
    bench.finish();
}

#[test]
fn an_address_is_the_devices_and_a_port_in_its_range() {
    let mut bench = Bench::greeted(assigned());
    let ep = bench.ok(Op::EpCreate, 0, &listener()).handle.raw();
    let mut refused = |ip, port| bench.refused(Op::EpBind, ep, &addr(ip, port));
    assert_eq!(refused(OWN + 1, 4000), Status::AddrNotAvail);
    assert_eq!(refused(V4 | 0x0a00_0001, 4000), Status::AddrNotAvail);
    assert_eq!(refused(OWN, 3999), Status::Perm);
    assert_eq!(refused(0, 4004), Status::Perm);
    assert_eq!(refused(0, 80), Status::Perm);
    let reply = bench.ok(Op::EpBind, ep, &addr(0, 4001));
    assert_eq!(reply.payload.as_slice(), addr(OWN, 4001).as_slice());
    assert_eq!(bench.refused(Op::EpBind, ep, &addr(0, 4002)), Status::State);
    // the port is taken now
    let other = bench.ok(Op::EpCreate, 0, &listener()).handle.raw();
    assert_eq!(
        bench.refused(Op::EpBind, other, &addr(OWN, 4001)),
        Status::AddrInUse
    );
    bench.finish();
}

#[test]
fn a_device_without_an_address_binds_what_is_a_hosts() {
    let mut bench = Bench::greeted(Policy::new());
    let ep = bench.ok(Op::EpCreate, 0, &listener()).handle.raw();
    for ip in [1, 0xff02 << 112, V4 | 0x7f00_0001, V4 | 0xe000_0001] {
        let refused = bench.refused(Op::EpBind, ep, &addr(ip, 80));
        assert_eq!(refused, Status::AddrNotAvail, "{ip:x}");
    }
    let reply = bench.ok(Op::EpBind, ep, &addr(V4, 0));
    assert_eq!(reply.payload.as_slice(), addr(V4, 50000).as_slice());
    bench.finish();
}

#[test]
fn a_port_that_is_chosen_is_one_of_the_devices() {
    let mut bench = Bench::greeted(assigned());
    let cq = bench.with_cq();
    let mut ports = Vec::new();
    for slot in 1..5 {
        let ep = bench.stream(cq, slot);
        // by binding and by connecting unbound
        if slot % 2 == 0 {
            bench.ok(Op::EpBind, ep, &addr(0, 0));
        } else {
            bench.ok(Op::EpConnect, ep, &connect(PEER.ip, 7000));
        }
        ports = bench.host.ports.borrow().clone();
    }
    ports.sort();
    assert_eq!(ports, [4000, 4001, 4002, 4003]);
    let ep = bench.stream(cq, 5);
    assert_eq!(
        bench.refused(Op::EpBind, ep, &addr(0, 0)),
        Status::AddrInUse
    );
    let wanted = connect(PEER.ip, 7000);
    assert_eq!(bench.refused(Op::EpConnect, ep, &wanted), Status::AddrInUse);
    bench.finish();
}

/// What the device has chosen for a connection is given back if there is none.
#[test]
fn a_connection_that_is_refused_leaves_no_address() {
    let mut bench = Bench::greeted(assigned());
    let cq = bench.with_cq();
    let wanted = connect(PEER.ip, 7000);
    let refuse = |bench: &mut Bench, ep: u32| {
        bench.host.fail("connect", Status::NetUnreach);
        let refused = bench.refused(Op::EpConnect, ep, &wanted);
        assert_eq!(refused, Status::NetUnreach);
        (bench.state(ep), bench.host.ports.borrow().clone())
    };
    let ep = bench.stream(cq, 1);
    let options = [(2, 7), (5, 65536), (8, 1)];
    for (number, value) in options {
        let set = wire().put32(number).put32(4).put32(value);
        bench.ok(Op::EpSetopt, ep, &set);
    }
    for _ in 0..5 {
        assert_eq!(refuse(&mut bench, ep), (0, vec![]));
    }
    for (number, value) in options {
        let reply = bench.ok(Op::EpGetopt, ep, &wire().put32(number).put32(4));
        assert_eq!(reply.payload.as_slice(), value.to_le_bytes());
    }
    // what the driver has chosen is kept in any case
    bench.ok(Op::EpBind, ep, &addr(0, 4003));
    assert_eq!(refuse(&mut bench, ep), (1, vec![4003]));
    bench.ok(Op::EpDestroy, ep, &wire().put32(1).put32(0));

    // without another socket it keeps the address, and connects from there
    for (failing, port) in [("socket", 4001), ("set_option", 4002)] {
        let ep = bench.stream(cq, 1);
        bench.ok(Op::EpSetopt, ep, &wire().put32(8).put32(4).put32(1));
        bench.host.fail(failing, Status::Io);
        assert_eq!(refuse(&mut bench, ep), (1, vec![port]));
        bench.ok(Op::EpConnect, ep, &wanted);
        bench.ok(Op::EpDestroy, ep, &wire().put32(1).put32(0));
    }
    bench.finish();
}

#[test]
fn a_listener_is_bound_and_accepts() {
    let (mut bench, cq) = Bench::ready();
    let listening = bench.ok(Op::EpCreate, 0, &listener()).handle.raw();
    let listen = |backlog| wire().put32(backlog).put32(0);
    assert_eq!(
        bench.refused(Op::EpListen, listening, &listen(8)),
        Status::State
    );
    bench.ok(Op::EpBind, listening, &addr(0, 80));
    assert_eq!(
        bench.refused(Op::EpListen, listening, &listen(0)),
        Status::Inval
    );
    let ep = bench.stream(cq, 1);
    assert_eq!(
        bench.refused(Op::EpAccept, listening, &accept(ep)),
        Status::State
    );
    bench.ok(Op::EpListen, listening, &listen(8));
    bench.ok(Op::EpListen, listening, &listen(9));
    assert_eq!(*bench.host.asked.borrow(), "listen 9");
    bench.ok(Op::EpListen, listening, &listen(u32::MAX));
    assert_eq!(*bench.host.asked.borrow(), "listen 4096");
    assert_eq!(
        bench.refused(Op::EpAccept, listening, &accept(ep)),
        Status::Again
    );

    bench.host.waiting.set(1);
    let reply = bench.ok(Op::EpAccept, listening, &accept(ep));
    let both = [addr(PEER.ip, 7000), addr(0, 80)];
    let both = [both[0].as_slice(), both[1].as_slice()].concat();
    assert_eq!(reply.payload.as_slice(), both);
    assert_eq!(bench.state(ep), 4);
    // the socket that it had before is closed
    assert_eq!(bench.host.sockets.get(), 2);
    bench.finish();
}

#[test]
fn only_a_new_endpoint_with_rings_accepts_and_connects() {
    let (mut bench, cq) = Bench::ready();
    let listening = bench.listener(80);
    bench.host.waiting.set(9);
    let ep = bench.stream(cq, 1);
    bench.ok(Op::EpConnect, ep, &connect(PEER.ip, 7000));
    assert_eq!(
        bench.refused(Op::EpAccept, listening, &accept(ep)),
        Status::State
    );
    assert_eq!(bench.refused(Op::EpAccept, ep, &accept(ep)), Status::State);
    let bare = bench.ok(Op::EpCreate, 0, &listener()).handle.raw();
    assert_eq!(
        bench.refused(Op::EpAccept, listening, &accept(bare)),
        Status::State
    );
    let wanted = connect(PEER.ip, 7000);
    assert_eq!(bench.refused(Op::EpConnect, bare, &wanted), Status::State);
    assert_eq!(
        bench.refused(Op::EpAccept, listening, &accept(0)),
        Status::NoEnt
    );
    let new = bench.stream(cq, 3);
    assert_eq!(bench.refused(Op::EpAccept, 0, &accept(new)), Status::NoEnt);
    // another kind than the listener's
    bench.device.set_features(FEATURES | (1 << abi::F_MSG));
    let mut message = super::bench::ep(cq, 2).as_slice().to_vec();
    message[0] = 2;
    let message = bench
        .ok(Op::EpCreate, 0, &wire().put(&message))
        .handle
        .raw();
    assert_eq!(
        bench.refused(Op::EpAccept, listening, &accept(message)),
        Status::Inval
    );
    bench.finish();
}

#[test]
fn directions_end_one_by_one() {
    let (mut bench, cq) = Bench::ready();
    let ep = bench.stream(cq, 1);
    let handle = Handle::from_raw(ep);
    let shut = |how| wire().put32(how).put32(0);
    assert_eq!(bench.refused(Op::EpShutdown, ep, &shut(1)), Status::State);
    bench.ok(Op::EpConnect, ep, &connect(PEER.ip, 7000));
    bench.device.connected(handle, Ok(()));
    assert_eq!(bench.refused(Op::EpShutdown, ep, &shut(4)), Status::Inval);
    // to be told of free buffers takes F_ZC
    assert_eq!(
        bench.refused(Op::EpShutdown, ep, &shut(abi::SHUT_ABORT)),
        Status::NotSupp
    );
    let check = |bench: &mut Bench| {
        let endpoint = bench.device.endpoint(handle).unwrap();
        (endpoint.check_send(), endpoint.check_receive())
    };
    assert_eq!(check(&mut bench), (Ok(()), Ok(())));
    bench.ok(Op::EpShutdown, ep, &shut(1));
    assert_eq!(*bench.host.asked.borrow(), "shutdown Write");
    assert_eq!(bench.state(ep), 4 | abi::EP_SENT_FIN);
    assert_eq!(check(&mut bench), (Err(Status::State), Ok(())));
    bench.device.ended(handle);
    assert_eq!(bench.state(ep), 5 | abi::EP_SENT_FIN | abi::EP_PEER_FIN);
    assert_eq!(check(&mut bench), (Err(Status::State), Err(Status::State)));

    let ep = bench.stream(cq, 2);
    bench.ok(Op::EpConnect, ep, &connect(PEER.ip, 7000));
    bench.device.connected(Handle::from_raw(ep), Ok(()));
    bench.ok(Op::EpShutdown, ep, &shut(2));
    assert_eq!(bench.state(ep) & 0xff, 5);
    bench.finish();
}

#[test]
fn an_endpoint_that_was_aborted_stays_for_its_buffers() {
    let (mut bench, cq) = Bench::ready();
    bench.device.set_features(FEATURES | (1 << abi::F_ZC));
    let ep = bench.stream(cq, 1);
    let handle = Handle::from_raw(ep);
    let abort = wire().put32(abi::SHUT_ABORT).put32(0);
    // there is no connection yet
    assert_eq!(bench.refused(Op::EpShutdown, ep, &abort), Status::State);
    bench.ok(Op::EpConnect, ep, &connect(PEER.ip, 7000));
    bench.device.connected(handle, Ok(()));
    let queues = bench.device.endpoint(handle).unwrap().queues.as_mut();
    let send = &mut queues.unwrap().send.queue;
    send.offer(1).unwrap();
    send.take().unwrap();
    bench.host.fail("abort", Status::Io);
    assert_eq!(bench.refused(Op::EpShutdown, ep, &abort), Status::Io);
    assert_eq!(bench.state(ep), 4);
    bench.ok(Op::EpShutdown, ep, &abort);
    assert_eq!(*bench.host.asked.borrow(), "abort");
    assert_eq!(bench.state(ep), 6);
    let endpoint = bench.device.endpoint(handle).unwrap();
    assert_eq!(endpoint.error(), Status::Canceled);
    // once more changes nothing; and it goes when its entries are completed, not before
    bench.ok(Op::EpShutdown, ep, &abort);
    let destroy = wire().put32(0).put32(0);
    assert_eq!(bench.refused(Op::EpDestroy, ep, &destroy), Status::Busy);
    let queues = bench.device.endpoint(handle).unwrap().queues.as_mut();
    queues.unwrap().send.queue.complete().unwrap();
    bench.ok(Op::EpDestroy, ep, &destroy);
    bench.finish();
}

/// Commands come before what was kicked: entries may be there that the device has not looked at.
#[test]
fn an_endpoint_stays_for_entries_that_nobody_has_looked_at() {
    let (mut bench, cq) = Bench::ready();
    let destroy = |flags| wire().put32(flags).put32(0);
    let sq_pi = AREA + 4096 + 128;
    // connecting, and connected
    let ep = bench.stream(cq, 1);
    bench.ok(Op::EpConnect, ep, &connect(PEER.ip, 7000));
    bench.host.ram.put32(sq_pi, 2);
    assert_eq!(bench.refused(Op::EpDestroy, ep, &destroy(0)), Status::Busy);
    bench.device.connected(Handle::from_raw(ep), Ok(()));
    assert_eq!(bench.refused(Op::EpDestroy, ep, &destroy(0)), Status::Busy);
    // they are there, whatever the index says later
    bench.host.ram.put32(sq_pi, 0);
    assert_eq!(bench.refused(Op::EpDestroy, ep, &destroy(0)), Status::Busy);
    bench.ok(Op::EpDestroy, ep, &destroy(1));
    // an index that is not believed is no entry
    let ep = bench.stream(cq, 1);
    bench.host.ram.put32(sq_pi, 17);
    bench.ok(Op::EpDestroy, ep, &destroy(0));
    bench.finish();
}

#[test]
fn a_query_has_addresses_and_numbers() {
    let (mut bench, cq) = Bench::ready();
    let ep = bench.stream(cq, 1);
    bench.ok(Op::EpBind, ep, &addr(OWN, 80));
    bench
        .device
        .endpoint(Handle::from_raw(ep))
        .unwrap()
        .tx_bytes = 5;
    let reply = bench.ok(Op::EpQuery, ep, &wire());
    let expected = wire()
        .put32(1)
        .put32(0)
        .put(addr(OWN, 80).as_slice())
        .put(addr(PEER.ip, 7000).as_slice())
        .put64(5)
        .put64(0)
        .put32(128)
        .put32(4000)
        .put64(123_456)
        .put64(3);
    assert_eq!(reply.payload.as_slice(), expected.as_slice());
    bench.finish();
}
