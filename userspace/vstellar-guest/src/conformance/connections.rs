// SPDX-License-Identifier: GPL-2.0
//! The life of an endpoint: addresses, policy, states, options.

use super::answers;
use super::want;
use super::Conformance;
use super::Test;
use crate::driver::slot;
use crate::driver::Driver;
use crate::driver::EP_STATE;
use crate::endpoint::ring;
use crate::endpoint::Completions;
use crate::endpoint::Endpoint;
use crate::endpoint::Pair;
use crate::endpoint::Shape;
use crate::machine::FEATURES;
use crate::wire;
use crate::wire::wire;
use crate::wire::EpCreate;
use crate::wire::Wire;
use anyhow::ensure;
use anyhow::Result;
use std::net::IpAddr;
use std::net::Ipv4Addr;
use std::net::Ipv6Addr;
use std::net::SocketAddr;
use vstellar_core::abi;
use vstellar_core::control::Op;
use vstellar_core::status::Status;

pub(super) const TESTS: &[(&str, Test)] = &[
    ("an endpoint binds to what the device may have", bind),
    ("a listener listens", listen),
    ("an endpoint connects to where it may", connect),
    ("a connection that takes too long fails", timeout),
    ("no more connections a second than the device may", rate),
    ("a listener's connections are accepted", accept),
    ("a connection that was too much is accepted later", too_much),
    ("a connection ends", shutdown),
    ("options are set within bounds", options),
    ("an endpoint tells what it is at", query),
];

fn listener(driver: &mut Driver) -> Result<u32> {
    driver.create_ep(&EpCreate::LISTENER)
}

fn bind(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let endpoint = listener(&mut driver)?;
    let v4 = |a, port| wire::address(SocketAddr::new(Ipv4Addr::from(a).into(), port));
    let other_family = wire().u16(2).put(&wire::own_address(7000).0[2..]);
    let wrong = [
        ("of no family", other_family, Status::NotSupp),
        (
            "an address of another",
            v4([10, 9, 0, 77], 7000),
            Status::AddrNotAvail,
        ),
        ("loopback", v4([127, 0, 0, 1], 7000), Status::AddrNotAvail),
        ("multicast", v4([224, 0, 0, 1], 7000), Status::AddrNotAvail),
        (
            "IPv6 loopback",
            wire::address("[::1]:7000".parse()?),
            Status::AddrNotAvail,
        ),
        ("the first port", wire::own_address(1), Status::Perm),
        ("a privileged port", wire::own_address(80), Status::Perm),
        (
            "the last one of these",
            wire::own_address(1023),
            Status::Perm,
        ),
    ];
    for (what, payload, status) in wrong {
        answers(&mut driver, what, Op::EpBind, endpoint, &payload, status)?;
    }
    // what a driver says of its users gives them no right
    let mut as_root = EpCreate::LISTENER.encode();
    let tags = as_root.0.len() - 8;
    as_root.0[tags..].fill(0);
    let as_root = driver.order(Op::EpCreate, 0, &as_root)?.handle;
    let privileged = wire::own_address(80);
    answers(
        &mut driver,
        "root's",
        Op::EpBind,
        as_root,
        &privileged,
        Status::Perm,
    )?;
    let own = wire::address(SocketAddr::new(world.own, 1024));
    let bound = driver.order(Op::EpBind, endpoint, &own)?;
    ensure!(bound.payload == own.0, "bound to {:?}", bound.payload);
    answers(
        &mut driver,
        "again",
        Op::EpBind,
        endpoint,
        &own,
        Status::State,
    )?;
    let second = listener(&mut driver)?;
    answers(
        &mut driver,
        "a port in use",
        Op::EpBind,
        second,
        &own,
        Status::AddrInUse,
    )?;
    let chosen = driver.order(Op::EpBind, second, &wire::own_address(0))?;
    let port = chosen.u32(0) >> 16;
    ensure!(port >= 1024, "the device chose port {port}");
    Ok(())
}

fn listen(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let endpoint = listener(&mut driver)?;
    let backlog = |n| wire().u32(n).u32(0);
    answers(
        &mut driver,
        "not bound",
        Op::EpListen,
        endpoint,
        &backlog(4),
        Status::State,
    )?;
    driver.order(Op::EpBind, endpoint, &wire::own_address(0))?;
    answers(
        &mut driver,
        "for none",
        Op::EpListen,
        endpoint,
        &backlog(0),
        Status::Inval,
    )?;
    // more than there can be is less
    driver.order(Op::EpListen, endpoint, &backlog(u32::MAX))?;
    driver.order(Op::EpListen, endpoint, &backlog(1))?;
    let connect = wire::connect(SocketAddr::new(world.own, 7000), 0);
    answers(
        &mut driver,
        "a listener",
        Op::EpConnect,
        endpoint,
        &connect,
        Status::State,
    )
}

/// An endpoint with rings, and its completion queue.
fn endpoint(driver: &mut Driver) -> Result<(Completions, Endpoint)> {
    let cq = Completions::new(driver, ring(0), 4, 0)?;
    let shape = Shape {
        sq: ring(1),
        rq: ring(2),
        log2: 3,
        slot: 1,
    };
    let endpoint = Endpoint::new(driver, shape, [cq.handle; 2])?;
    Ok((cq, endpoint))
}

fn connect(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let (_cq, endpoint) = endpoint(&mut driver)?;
    let to = |ip: IpAddr, port| wire::connect(SocketAddr::new(ip, port), 0);
    let flags = wire::address(SocketAddr::new(world.own, 7000))
        .u32(0)
        .u32(1);
    let wrong = [
        ("flags", flags, Status::Inval),
        ("no port", to(world.own, 0), Status::Inval),
        (
            "loopback",
            to(Ipv4Addr::LOCALHOST.into(), 7000),
            Status::NetUnreach,
        ),
        (
            "IPv6 loopback",
            to(Ipv6Addr::LOCALHOST.into(), 7000),
            Status::NetUnreach,
        ),
        (
            "nowhere",
            to(Ipv4Addr::UNSPECIFIED.into(), 7000),
            Status::NetUnreach,
        ),
        (
            "everywhere",
            to(Ipv4Addr::BROADCAST.into(), 7000),
            Status::NetUnreach,
        ),
        (
            "multicast",
            to("ff02::1".parse()?, 7000),
            Status::NetUnreach,
        ),
        (
            "no route",
            to("192.0.2.1".parse()?, 7000),
            Status::NetUnreach,
        ),
    ];
    let handle = endpoint.handle;
    for (what, payload, status) in wrong {
        answers(&mut driver, what, Op::EpConnect, handle, &payload, status)?;
    }
    // none of that has bound it
    driver.order(Op::EpBind, handle, &wire::own_address(0))?;
    let only = listener(&mut driver)?;
    let own = to(world.own, 7999);
    answers(
        &mut driver,
        "without rings",
        Op::EpConnect,
        only,
        &own,
        Status::State,
    )?;
    driver.order(Op::EpConnect, handle, &own)?;
    answers(
        &mut driver,
        "again",
        Op::EpConnect,
        handle,
        &own,
        Status::State,
    )?;
    let word = driver.await_state(handle, &[6])?;
    want("nobody listens", (word >> 32) as u16, Status::ConnRefused)
}

/// Nobody is at that address of the network that the device is in.
const NOBODY: [u8; 4] = [10, 9, 0, 200];

fn timeout(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let (_cq, endpoint) = endpoint(&mut driver)?;
    let nobody = SocketAddr::new(Ipv4Addr::from(NOBODY).into(), 7000);
    driver.order(Op::EpConnect, endpoint.handle, &wire::connect(nobody, 200))?;
    let word = driver.await_state(endpoint.handle, &[6])?;
    want("nobody is there", (word >> 32) as u16, Status::TimedOut)
}

/// The device may make five a second.
fn rate(world: &Conformance) -> Result<()> {
    let mut driver = Driver::start(&world.small, FEATURES)?;
    let (_cq, endpoint) = endpoint(&mut driver)?;
    // no route leads there, so that it stays what it is
    let away = wire::connect("192.0.2.1:7000".parse()?, 0);
    let mut seen = Vec::new();
    for _ in 0..50 {
        seen.push(driver.status(Op::EpConnect, endpoint.handle, &away)?);
    }
    let count = |status: Status| seen.iter().filter(|seen| **seen == status.code()).count();
    let (tried, refused) = (count(Status::NetUnreach), count(Status::Again));
    ensure!(tried + refused == seen.len(), "answered with {seen:?}");
    ensure!(
        tried >= 5 && refused > 0,
        "{tried} tried, {refused} refused"
    );
    Ok(())
}

fn accept(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let mut pair = Pair::new(&mut driver, world.own)?;
    let shape = Shape {
        sq: ring(5),
        rq: ring(6),
        log2: 3,
        slot: 3,
    };
    let new = Endpoint::new(&mut driver, shape, [pair.cq.handle; 2])?;
    let take = |endpoint: u32| wire().u32(endpoint).u32(0);
    let listener = pair.listener;
    let wrong = [
        (
            "an endpoint of nothing",
            listener,
            0x0fff_0001,
            Status::NoEnt,
        ),
        (
            "one that is connected",
            listener,
            pair.ends[0].handle,
            Status::State,
        ),
        (
            "of what does not listen",
            pair.ends[0].handle,
            new.handle,
            Status::State,
        ),
        ("itself", listener, listener, Status::State),
        ("none waits", listener, new.handle, Status::Again),
    ];
    for (what, object, endpoint, status) in wrong {
        answers(
            &mut driver,
            what,
            Op::EpAccept,
            object,
            &take(endpoint),
            status,
        )?;
    }
    let second = self::listener(&mut driver)?;
    answers(
        &mut driver,
        "without rings",
        Op::EpAccept,
        listener,
        &take(second),
        Status::State,
    )?;
    // the connection that there is works still
    send_and_receive(&mut driver, &mut pair)
}

/// The device may have five a second, which are used up when one comes that is the last.
fn too_much(world: &Conformance) -> Result<()> {
    let mut driver = Driver::start(&world.small, FEATURES)?;
    let (listener, port) = driver.listen(0)?;
    let (_cq, new) = endpoint(&mut driver)?;
    let mut other = world.driver()?;
    let (_cq, client) = endpoint(&mut other)?;
    client.connect(&mut other, SocketAddr::new(world.own, port))?;
    driver.event(|event| event.kind == abi::EV_ACCEPT && event.handle == listener)?;
    // as in the test above
    let away = wire::connect("192.0.2.1:7000".parse()?, 0);
    let mut tries = (0..50).map(|_| driver.status(Op::EpConnect, new.handle, &away));
    let none_left = tries.any(|status| status.is_ok_and(|status| status == Status::Again.code()));
    ensure!(none_left, "they are not used up");
    driver.accept(listener, new.handle)?;
    Ok(())
}

/// A few bytes from one end to the other.
pub(super) fn send_and_receive(driver: &mut Driver, pair: &mut Pair) -> Result<()> {
    super::transfer(driver, pair, b"some bytes")
}

fn shutdown(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let pair = Pair::new(&mut driver, world.own)?;
    let [first, second] = [&pair.ends[0], &pair.ends[1]].map(|end| end.handle);
    let how = |how| wire().u32(how).u32(0);
    answers(
        &mut driver,
        "in no way",
        Op::EpShutdown,
        first,
        &how(4),
        Status::Inval,
    )?;
    let listener = pair.listener;
    answers(
        &mut driver,
        "a listener",
        Op::EpShutdown,
        listener,
        &how(1),
        Status::State,
    )?;
    driver.order(Op::EpShutdown, first, &how(2))?;
    let word = driver.await_state(first, &[5])?;
    let both = u64::from(abi::EP_PEER_FIN | abi::EP_SENT_FIN);
    ensure!(word & both == both, "closed, and {word:#x}");
    let shown: u32 = driver.ram().load(slot(pair.ends[0].slot, EP_STATE));
    ensure!(
        u64::from(u32::from_le(shown)) == word & 0xffff_ffff,
        "the slot says {shown:#x}"
    );
    answers(
        &mut driver,
        "again",
        Op::EpShutdown,
        first,
        &how(1),
        Status::State,
    )?;
    answers(
        &mut driver,
        "unknown flags",
        Op::EpDestroy,
        second,
        &how(2),
        Status::Inval,
    )?;
    driver.order(Op::EpDestroy, second, &how(0))?;
    driver.order(Op::EpDestroy, first, &how(abi::DESTROY_ABORT))?;
    Ok(())
}

fn set(option: u32, value: &[u8]) -> Wire {
    wire().u32(option).u32(value.len() as u32).put(value)
}

fn number(option: u32, value: u32) -> Wire {
    set(option, &value.to_le_bytes())
}

/// Options by their numbers.
const PROFILE: u32 = 1;
const PATHS: u32 = 2;
const PATH_POLICY: u32 = 3;
const SNDBUF: u32 = 5;
const RCVBUF: u32 = 6;
const TCLASS: u32 = 7;
const NODELAY: u32 = 8;
const KEEPALIVE: u32 = 9;
const RTO_MIN: u32 = 11;

fn options(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let (_cq, endpoint) = endpoint(&mut driver)?;
    let handle = endpoint.handle;
    let wrong = [
        ("unknown", number(4, 1), Status::NoEnt),
        ("unknown", number(99, 1), Status::NoEnt),
        ("of three bytes", set(PATHS, &[1, 0, 0]), Status::Inval),
        ("of no byte", set(PATHS, &[]), Status::Inval),
        ("of too many", set(PROFILE, &[b'a'; 65]), Status::Inval),
        ("a long name", set(PROFILE, &[b'a'; 16]), Status::Inval),
        (
            "a name with a zero",
            set(PROFILE, b"stellar\0"),
            Status::Inval,
        ),
        ("a name of nothing", set(PROFILE, b"none"), Status::NoEnt),
        ("no path", number(PATHS, 0), Status::Inval),
        ("no time", number(RTO_MIN, 0), Status::Inval),
        ("a class", number(TCLASS, 0), Status::NotSupp),
        ("another length", number(PATHS, 1).u32(0), Status::Inval),
    ];
    for (what, payload, status) in wrong {
        answers(&mut driver, what, Op::EpSetopt, handle, &payload, status)?;
    }
    let numbers = [
        ("paths", PATHS, 16, 16),
        ("too many paths", PATHS, 1000, 128),
        ("no delay", NODELAY, 0, 0),
        ("keepalive", KEEPALIVE, 1, 1),
        ("timeout", RTO_MIN, 1000, 1000),
        // as for any socket
        ("send buffer", SNDBUF, 65536, 2 * 65536),
        ("receive buffer", RCVBUF, 65536, 2 * 65536),
    ];
    for (what, option, wish, effective) in numbers {
        let answer = driver.order(Op::EpSetopt, handle, &number(option, wish))?;
        ensure!(
            answer.payload.len() == 4,
            "{what}: {} bytes",
            answer.payload.len()
        );
        ensure!(
            answer.u32(0) == effective,
            "{what}: {} in effect",
            answer.u32(0)
        );
        let get = wire().u32(option).u32(4);
        let answer = driver.order(Op::EpGetopt, handle, &get)?;
        ensure!(
            answer.u32(0) == effective,
            "{what}: {} is read",
            answer.u32(0)
        );
    }
    for option in [SNDBUF, RCVBUF] {
        let most = driver
            .order(Op::EpSetopt, handle, &number(option, u32::MAX))?
            .u32(0);
        ensure!(most <= 2 * (16 << 20), "a buffer of {most} bytes");
    }
    for (option, name) in [(PROFILE, &b"strack"[..]), (PATH_POLICY, b"round_robin")] {
        let answer = driver.order(Op::EpSetopt, handle, &set(option, name))?;
        ensure!(answer.payload == name, "{:?} in effect", answer.payload);
        let get = wire().u32(option).u32(64);
        ensure!(
            driver.order(Op::EpGetopt, handle, &get)?.payload == name,
            "another name"
        );
        let less = wire().u32(option).u32(3);
        answers(
            &mut driver,
            "no room",
            Op::EpGetopt,
            handle,
            &less,
            Status::Inval,
        )?;
    }
    // a profile is for life
    let pair_endpoint = Pair::new(&mut driver, world.own);
    ensure!(pair_endpoint.is_err(), "two objects of one slot");
    Ok(())
}

fn query(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let mut pair = Pair::new(&mut driver, world.own)?;
    send_and_receive(&mut driver, &mut pair)?;
    let end = pair.ends[0].handle;
    let profile = set(PROFILE, b"strack");
    answers(
        &mut driver,
        "connected",
        Op::EpSetopt,
        end,
        &profile,
        Status::State,
    )?;
    let answer = driver.order(Op::EpQuery, end, &wire())?;
    ensure!(answer.payload.len() == 96, "{} bytes", answer.payload.len());
    ensure!(answer.u32(0) & 0xff == 4, "state {:#x}", answer.u32(0));
    let own = wire::address(SocketAddr::new(world.own, 0));
    ensure!(answer.payload[16..32] == own.0[8..], "another address");
    ensure!(answer.u64(7) == 10, "{} bytes sent", answer.u64(7));
    let (paths, mss, srtt) = (answer.u32(18), answer.u32(19), answer.u64(10));
    ensure!(
        paths > 0 && mss > 0 && srtt > 0,
        "paths {paths}, MSS {mss}, RTT {srtt}"
    );
    Ok(())
}
