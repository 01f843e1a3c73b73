// SPDX-License-Identifier: GPL-2.0

//! Options: form, feature, limits of the operator.

use super::bench::*;
use vstellar_core::{
    control::{EpOption, Op},
    device::Policy,
    status::Status,
    table::Handle,
};

fn set(option: u32, value: &[u8]) -> Wire {
    wire().put32(option).put32(value.len() as u32).put(value)
}

fn get(option: EpOption, room: u32) -> Wire {
    wire().put32(option as u32).put32(room)
}

fn with_listener(policy: Policy) -> (Bench, u32) {
    let mut bench = Bench::greeted(policy);
    let ep = bench.ok(Op::EpCreate, 0, &listener()).handle.raw();
    (bench, ep)
}

#[test]
fn a_number_is_clamped_to_what_is_allowed() {
    let (mut bench, ep) = with_listener(Policy {
        max_paths: 64,
        max_buffer: 1 << 20,
        dscp: 1 | (1 << 46),
        ..Policy::new()
    });
    for (option, asked, effective) in [
        (EpOption::Paths, 128, 64),
        (EpOption::Paths, 5, 5),
        (EpOption::Sndbuf, u32::MAX, 1 << 20),
        (EpOption::Rcvbuf, 4096, 4096),
        (EpOption::Tclass, (46 << 2) | 3, 46 << 2),
        (EpOption::Tclass, 45 << 2, 0),
        (EpOption::Tclass, u32::MAX, 0),
        (EpOption::RtoMin, 250, 250),
        (EpOption::Nodelay, 1, 1),
        (EpOption::Keepalive, 0, 0),
    ] {
        let value = set(option as u32, &u32::to_le_bytes(asked));
        let reply = bench.ok(Op::EpSetopt, ep, &value);
        let effective = u32::to_le_bytes(effective);
        assert_eq!(reply.payload.as_slice(), effective, "{option:?}");
        let reply = bench.ok(Op::EpGetopt, ep, &get(option, 4));
        assert_eq!(reply.payload.as_slice(), effective);
    }
    bench.finish();
}

#[test]
fn a_name_is_passed_on() {
    let (mut bench, ep) = with_listener(Policy::new());
    for name in ["strack", "round_robin", "bits", "a23456789012345"] {
        let profile = EpOption::Profile;
        let reply = bench.ok(Op::EpSetopt, ep, &set(profile as u32, name.as_bytes()));
        assert_eq!(reply.payload.as_slice(), name.as_bytes());
        let reply = bench.ok(Op::EpGetopt, ep, &get(profile, 64));
        assert_eq!(reply.payload.as_slice(), name.as_bytes());
        let short = get(profile, name.len() as u32 - 1);
        assert_eq!(bench.refused(Op::EpGetopt, ep, &short), Status::Inval);
    }
    bench.host.fail("set_option", Status::NoEnt);
    let unknown = set(EpOption::PathPolicy as u32, b"crooked");
    assert_eq!(bench.refused(Op::EpSetopt, ep, &unknown), Status::NoEnt);
    bench.finish();
}

#[test]
fn values_have_the_form_of_their_option() {
    let (mut bench, ep) = with_listener(Policy::new());
    let mut refused = |option: u32, value: &[u8]| {
        let value = set(option, value);
        bench.refused(Op::EpSetopt, ep, &value)
    };
    for len in [0, 1, 3, 5, 64] {
        assert_eq!(
            refused(EpOption::Paths as u32, &vec![0; len]),
            Status::Inval
        );
    }
    for name in [
        &b""[..],
        b"sixteen_letters_",
        b"a b",
        b"a\0b",
        b"\xff",
        b"a/b",
    ] {
        assert_eq!(refused(EpOption::Profile as u32, name), Status::Inval);
    }
    for option in [0, 4, 10, 12, u32::MAX] {
        assert_eq!(refused(option, &[0; 4]), Status::NoEnt);
    }
    let long = wire().put32(2).put32(65).put(&[0; 65]);
    assert_eq!(bench.refused(Op::EpSetopt, ep, &long), Status::Inval);
    let shorter = wire().put32(2).put32(4).put(&[0; 3]);
    assert_eq!(bench.refused(Op::EpSetopt, ep, &shorter), Status::Inval);
    let room = wire().put32(2).put32(65);
    assert_eq!(bench.refused(Op::EpGetopt, ep, &room), Status::Inval);
    bench.finish();
}

#[test]
fn options_of_features_need_them() {
    let (mut bench, ep) = with_listener(Policy::new());
    bench.device.set_features(0);
    for (option, value) in [
        (EpOption::Profile, &b"strack"[..]),
        (EpOption::PathPolicy, b"reps"),
        (EpOption::Paths, &[1, 0, 0, 0]),
    ] {
        let value = set(option as u32, value);
        assert_eq!(bench.refused(Op::EpSetopt, ep, &value), Status::NotSupp);
        let get = get(option, 64);
        assert_eq!(bench.refused(Op::EpGetopt, ep, &get), Status::NotSupp);
    }
    bench.finish();
}

#[test]
fn an_endpoint_that_failed_takes_no_options() {
    let (mut bench, ep) = with_listener(Policy::new());
    bench.device.failed(Handle::from_raw(ep), Status::ConnReset);
    let value = set(EpOption::Nodelay as u32, &[1, 0, 0, 0]);
    assert_eq!(bench.refused(Op::EpSetopt, ep, &value), Status::State);
    bench.finish();
}
