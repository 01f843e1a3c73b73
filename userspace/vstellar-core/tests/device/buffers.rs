// SPDX-License-Identifier: GPL-2.0

//! The buffers of sockets: a floor for each, a spare for all, and nothing that stays behind.

use super::bench::*;
use vstellar_core::{
    control::{EpOption, Op},
    device::{Device, Limits, Policy, BUFFER_FLOOR},
    status::Status,
};

const MIB: u32 = 1 << 20;

/// A device with a spare of 16 MiB, whose sockets would like 4 MiB for each buffer.
fn bench() -> Bench {
    let mut bench = Bench::greeted(Policy::new());
    let limits = Limits {
        buffers: 16 << 20,
        ..limits()
    };
    bench.device = Device::new(limits, Policy::new(), 1);
    bench.device.set_features(FEATURES);
    bench.ok(Op::Hello, 0, &wire().put32(1).put32(0).put(&[0; 16]));
    bench.host.buffer.set(4 * MIB);
    bench
}

fn size(bench: &mut Bench, ep: u32, option: EpOption) -> u32 {
    let get = wire().put32(option as u32).put32(4);
    let value = bench.ok(Op::EpGetopt, ep, &get).payload;
    u32::from_le_bytes(value.as_slice().try_into().unwrap())
}

fn set(bench: &mut Bench, ep: u32, option: EpOption, bytes: u32) -> u32 {
    let wish = wire().put32(option as u32).put32(4).put32(bytes);
    let value = bench.ok(Op::EpSetopt, ep, &wish).payload;
    u32::from_le_bytes(value.as_slice().try_into().unwrap())
}

fn endpoint(bench: &mut Bench) -> u32 {
    bench.ok(Op::EpCreate, 0, &listener()).handle.raw()
}

#[test]
fn one_has_an_eighth_of_what_is_left() {
    let mut bench = bench();
    let first = endpoint(&mut bench);
    assert_eq!(
        size(&mut bench, first, EpOption::Sndbuf),
        2 * MIB + BUFFER_FLOOR
    );
    assert_eq!(
        size(&mut bench, first, EpOption::Rcvbuf),
        14 * MIB / 8 + BUFFER_FLOOR
    );
    bench.ok(Op::EpDestroy, first, &wire().put32(0).put32(0));
    let second = endpoint(&mut bench);
    assert_eq!(
        size(&mut bench, second, EpOption::Sndbuf),
        2 * MIB + BUFFER_FLOOR
    );
    bench.finish();
}

#[test]
fn all_together_have_no_more_than_there_is() {
    let mut bench = bench();
    let mut all = 0u64;
    let mut last = 0;
    for _ in 0..limits().endpoints {
        last = endpoint(&mut bench);
        for option in [EpOption::Sndbuf, EpOption::Rcvbuf] {
            // as often as one likes
            for _ in 0..3 {
                set(&mut bench, last, option, u32::MAX);
            }
            let size = size(&mut bench, last, option);
            assert!(size > BUFFER_FLOOR);
            all += u64::from(size - BUFFER_FLOOR);
        }
    }
    assert!(all <= 16 << 20, "{all}");
    // one that wants less leaves more
    assert_eq!(set(&mut bench, last, EpOption::Sndbuf, 4096), 4096);
    assert_eq!(size(&mut bench, last, EpOption::Sndbuf), 4096);
    bench.finish();
}

#[test]
fn a_listener_pays_for_those_that_wait() {
    let mut bench = bench();
    let ep = endpoint(&mut bench);
    bench.ok(Op::EpBind, ep, &addr(0, 7000));
    bench.ok(Op::EpListen, ep, &wire().put32(1000).put32(0));
    // both buffers of each, an eighth of the spare, and one more waits than the backlog says
    assert_eq!(*bench.host.asked.borrow(), "listen 31");
    for option in [EpOption::Sndbuf, EpOption::Rcvbuf] {
        assert_eq!(size(&mut bench, ep, option), BUFFER_FLOOR);
        assert_eq!(set(&mut bench, ep, option, 8 * MIB), BUFFER_FLOOR);
    }
    bench.ok(Op::EpListen, ep, &wire().put32(2).put32(0));
    assert_eq!(*bench.host.asked.borrow(), "listen 2");
    // what is left: for three that wait
    let other = endpoint(&mut bench);
    let left = 16 * MIB - 3 * 2 * BUFFER_FLOOR;
    assert_eq!(
        size(&mut bench, other, EpOption::Sndbuf),
        left / 8 + BUFFER_FLOOR
    );
    bench.ok(Op::EpDestroy, other, &wire().put32(0).put32(0));
    bench.ok(Op::EpDestroy, ep, &wire().put32(0).put32(0));
    let next = endpoint(&mut bench);
    assert_eq!(
        size(&mut bench, next, EpOption::Sndbuf),
        2 * MIB + BUFFER_FLOOR
    );
    bench.finish();
}

#[test]
fn what_fails_holds_nothing() {
    let mut bench = bench();
    for call in ["set_option", "buffers"] {
        bench.host.fail(call, Status::Io);
        assert_eq!(bench.refused(Op::EpCreate, 0, &listener()), Status::Io);
    }
    let ep = endpoint(&mut bench);
    let before = size(&mut bench, ep, EpOption::Rcvbuf);
    bench.host.fail("set_option", Status::Inval);
    let wish = wire().put32(EpOption::Rcvbuf as u32).put32(4).put32(64);
    assert_eq!(bench.refused(Op::EpSetopt, ep, &wish), Status::Inval);
    assert_eq!(set(&mut bench, ep, EpOption::Rcvbuf, 4 * MIB), before);
    // how large the listener's buffers are is not known, then
    bench.ok(Op::EpBind, ep, &addr(0, 7000));
    bench.host.fail("buffers", Status::Io);
    let listen = wire().put32(1000).put32(0);
    assert_eq!(bench.refused(Op::EpListen, ep, &listen), Status::Io);
    assert_eq!(size(&mut bench, ep, EpOption::Rcvbuf), before);
    bench.finish();
}
