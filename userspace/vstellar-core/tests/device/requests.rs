// SPDX-License-Identifier: GPL-2.0

//! What is wrong with a request whatever its command.

use super::bench::*;
use vstellar_core::{
    bytes::{Bytes, Fields},
    control::{Op, Reply},
    device::Policy,
    status::Status,
    table::Handle,
};

#[test]
fn a_driver_greets_first_and_once() {
    let mut bench = Bench::silent(Policy::new());
    for op in [Op::DbDetach, Op::DevStats, Op::Quiesce, Op::Resume] {
        assert_eq!(bench.refused(op, 0, &wire()), Status::State);
    }
    assert_eq!(bench.refused(Op::EpCreate, 0, &listener()), Status::State);
    let hello = |revision| wire().put32(revision).put32(0).put(&[b'x'; 16]);
    assert_eq!(bench.refused(Op::Hello, 0, &hello(0)), Status::Version);
    let reply = bench.ok(Op::Hello, 0, &hello(2));
    assert_eq!(reply.payload.as_slice(), 0xb007u64.to_le_bytes());
    assert_eq!(bench.device.driver_name(), Some(&[b'x'; 16]));
    assert_eq!(bench.refused(Op::Hello, 0, &hello(1)), Status::State);
    bench.finish();
}

#[test]
fn a_header_is_whole() {
    let mut bench = Bench::greeted(Policy::new());
    let good = request(Op::DevStats, 0, &[]);
    for len in 0..16 {
        let reply = bench.send(&good[..len]);
        assert_eq!(reply.status, Status::Inval);
        // what there was of it is answered
        assert_eq!(reply.cookie == 0xc00c1e, len >= 8);
    }
    assert_eq!(bench.send(&good).status, Status::Ok);
    bench.finish();
}

#[test]
fn flags_are_zero_and_lengths_are_true() {
    let mut bench = Bench::greeted(Policy::new());
    let good = request(Op::DevStats, 0, &[]);
    let mut with = |at: usize, value: u8| {
        let mut request = good.clone();
        request[at] = value;
        bench.send(&request).status
    };
    assert_eq!(with(2, 1), Status::Inval);
    assert_eq!(with(3, 1), Status::Inval);
    assert_eq!(with(12, 1), Status::Inval);
    // an object where there is none
    assert_eq!(with(8, 1), Status::Inval);
    let longer = [&good[..], &[0]].concat();
    assert_eq!(bench.send(&longer).status, Status::Inval);
    bench.finish();
}

#[test]
fn unknown_commands_are_not_supported() {
    let mut bench = Bench::greeted(Policy::new());
    for op in [0u16, 2, 0x3a, 0x43, 0xffff] {
        let mut unknown = request(Op::DevStats, 0, &[]);
        unknown[..2].copy_from_slice(&op.to_le_bytes());
        assert_eq!(bench.send(&unknown).status, Status::NotSupp);
    }
    bench.finish();
}

#[test]
fn the_response_has_room_before_anything_is_done() {
    let mut bench = Bench::greeted(Policy::new());
    let attach = request(
        Op::DbAttach,
        0,
        wire().put64(0).put32(2).put32(0).as_slice(),
    );
    let reply = bench.device.execute(&bench.host, &attach, 23, 0);
    assert_eq!(reply.status, Status::Inval);
    assert!(bench.device.doorbell().is_none());
    let reply = bench.device.execute(&bench.host, &attach, 24, 0);
    assert_eq!(reply.status, Status::Ok);
    bench.finish();
}

#[test]
fn every_payload_has_the_length_of_its_command() {
    let (mut bench, cq) = Bench::ready();
    let ep = bench.stream(cq, 1);
    for op in Op::ALL {
        let right = match op {
            Op::Hello | Op::CqCreate | Op::EpBind | Op::MrAdvise => Some(24),
            Op::DbAttach => Some(16),
            Op::EpCreate => Some(56),
            Op::EpConnect => Some(32),
            Op::EpListen | Op::EpAccept | Op::EpShutdown | Op::EpDestroy => Some(8),
            Op::EpGetopt | Op::MrDereg => Some(8),
            // with as many segments or bytes as it says
            Op::MrReg | Op::EpSetopt => None,
            _ => Some(0),
        };
        let handle = match op {
            Op::CqDestroy => cq,
            Op::EpAccept | Op::EpBind | Op::EpConnect | Op::EpDestroy | Op::EpGetopt => ep,
            Op::EpListen | Op::EpQuery | Op::EpSetopt | Op::EpShutdown => ep,
            _ => 0,
        };
        for len in 0..60 {
            if Some(len) != right {
                let zeros = vec![0; len];
                let reply = bench.send(&request(op, handle, &zeros));
                assert_ne!(reply.status, Status::Ok, "{op:?} {len}");
            }
        }
    }
    assert_eq!(bench.device.objects(), [1, 1, 0]);
    bench.finish();
}

#[test]
fn a_response_is_laid_out_as_documented() {
    let reply = Reply {
        cookie: 1,
        status: Status::Ok,
        handle: Handle::from_raw(0x201),
        payload: Bytes::new().put64(9),
    };
    let encoded = reply.encode();
    let mut fields = Fields::new(encoded.as_slice());
    let header = (fields.take32(), fields.take16(), fields.take16());
    assert_eq!(header, (Ok(1), Ok(0), Ok(0)));
    assert_eq!((fields.take32(), fields.take32()), (Ok(0x201), Ok(8)));
    assert_eq!((fields.take64(), fields.end()), (Ok(9), Ok(())));
    // without a payload if it failed
    let failed = Reply {
        status: Status::Busy,
        ..reply
    };
    assert_eq!(
        failed.encode().as_slice()[4..],
        [4, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0]
    );
}

#[test]
fn commands_are_counted() {
    let mut bench = Bench::greeted(Policy::new());
    bench.refused(Op::DbDetach, 0, &wire());
    let reply = bench.ok(Op::DevStats, 0, &wire());
    let mut fields = Fields::new(reply.payload.as_slice());
    assert_eq!((fields.take64(), fields.take64()), (Ok(2), Ok(1)));
    assert_eq!(fields.rest().len(), 14 * 8);
    bench.finish();
}

#[test]
fn what_was_not_negotiated_is_not_supported() {
    let mut bench = Bench::greeted(Policy::new());
    bench.device.set_features(0);
    let attach = wire().put64(AREA).put32(2).put32(0);
    assert_eq!(bench.refused(Op::DbAttach, 0, &attach), Status::NotSupp);
    assert_eq!(bench.refused(Op::EpCreate, 0, &listener()), Status::NotSupp);
    assert_eq!(bench.refused(Op::DevStats, 0, &wire()), Status::NotSupp);
    assert_eq!(bench.refused(Op::Quiesce, 0, &wire()), Status::NotSupp);
    bench.finish();
}

#[test]
fn a_device_is_quiesced_and_resumed() {
    let mut bench = Bench::greeted(Policy::new());
    assert_eq!(bench.refused(Op::Resume, 0, &wire()), Status::State);
    bench.ok(Op::Quiesce, 0, &wire());
    assert!(bench.device.is_quiesced());
    assert_eq!(bench.refused(Op::Quiesce, 0, &wire()), Status::State);
    bench.ok(Op::Resume, 0, &wire());
    assert!(!bench.device.is_quiesced());
    bench.finish();
}
