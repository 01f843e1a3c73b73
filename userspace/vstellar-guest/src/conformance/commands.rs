// SPDX-License-Identifier: GPL-2.0
//! Requests that are wrong whatever the device has: header, lengths, reserved fields.

use super::answers;
use super::want;
use super::Conformance;
use super::Test;
use crate::driver::slot;
use crate::driver::Driver;
use crate::driver::DOORBELLS;
use crate::driver::EP_STATE;
use crate::driver::USUAL_RAM;
use crate::endpoint::ring;
use crate::machine::bit;
use crate::machine::scaled;
use crate::machine::Machine;
use crate::machine::EVENT;
use crate::machine::MANDATORY;
use crate::machine::PATIENCE;
use crate::ram::addr;
use crate::ram::Ram;
use crate::wire;
use crate::wire::wire;
use crate::wire::EpCreate;
use crate::wire::Wire;
use anyhow::ensure;
use anyhow::Result;
use std::time::Instant;
use vstellar_core::abi;
use vstellar_core::control::Op;
use vstellar_core::status::Status;

pub(super) const TESTS: &[(&str, Test)] = &[
    (
        "a driver greets first, once, and in a language that is spoken",
        hello,
    ),
    ("a wrong header is refused", header),
    ("a payload of another length is refused", lengths),
    ("reserved fields are zero", reserved),
    ("a response has room or there is none", room),
    ("commands of other features are not supported", features),
    ("work stops and goes on", quiesce),
    ("counters count", stats),
    (
        "an event for which there is no buffer comes later",
        no_buffers,
    ),
];

/// All commands with a payload that is right as far as it stands alone.
fn all() -> Vec<(Op, Wire)> {
    let small = wire().u32(0).u32(0);
    vec![
        (Op::Hello, wire::hello()),
        (Op::DbAttach, wire().u64(addr(DOORBELLS)).u32(2).u32(0)),
        (Op::DbDetach, wire()),
        (Op::CqCreate, wire::cq(addr(0x10_0000), 4, 0, 0, 0)),
        (Op::CqDestroy, wire()),
        (Op::EpCreate, EpCreate::LISTENER.encode()),
        (Op::EpBind, wire::own_address(0)),
        (Op::EpListen, wire().u32(1).u32(0)),
        (Op::EpConnect, wire::own_address(1).u32(0).u32(0)),
        (Op::EpAccept, small.clone()),
        (Op::EpShutdown, small.clone()),
        (Op::EpDestroy, small.clone()),
        (Op::EpSetopt, wire().u32(8).u32(4).u32(1)),
        (Op::EpGetopt, wire().u32(8).u32(4)),
        (Op::EpQuery, wire()),
        (
            Op::MrReg,
            wire::mr(0, abi::MR_READ, 0, &[(addr(0x20_0000), 64)]),
        ),
        (Op::MrDereg, small),
        (Op::MrAdvise, wire().u32(0).u32(1).u64(0).u64(1)),
        (Op::DevStats, wire()),
        (Op::Quiesce, wire()),
        (Op::Resume, wire()),
    ]
}

fn hello(world: &Conformance) -> Result<()> {
    let machine = Machine::start(&world.device, Ram::new(USUAL_RAM)?, world.features())?;
    let mut driver = Driver::silent(machine);
    ensure!(all().len() == Op::ALL.len(), "a command was forgotten");
    for (op, payload) in all() {
        if op != Op::Hello {
            answers(&mut driver, "before HELLO", op, 0, &payload, Status::State)?;
        }
    }
    let old = wire().u32(0).u32(0).put(&[0; 16]);
    answers(&mut driver, "too old", Op::Hello, 0, &old, Status::Version)?;
    let first = driver.order(Op::Hello, 0, &wire::hello())?;
    answers(
        &mut driver,
        "again",
        Op::Hello,
        0,
        &wire::hello(),
        Status::State,
    )?;
    // the state that it has is that of before a reset
    driver.machine.restart(world.features())?;
    let second = driver.order(Op::Hello, 0, &wire::hello())?;
    ensure!(
        first.payload == second.payload,
        "another boot_id after a reset"
    );
    Ok(())
}

fn header(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    for op in [0, 2, 0x7777, u16::MAX] {
        let answer = driver.command(op, 0, &[])?;
        want(&format!("command {op:#x}"), answer.status, Status::NotSupp)?;
    }
    let flags = wire()
        .u16(wire::code(Op::DevStats))
        .u16(1)
        .u32(5)
        .u32(0)
        .u32(0);
    let answer = driver.raw(&flags.0, 144)?;
    want("flags", answer.status, Status::Inval)?;
    ensure!(answer.cookie == 5, "another cookie");
    let longer = wire()
        .u16(wire::code(Op::DevStats))
        .u16(0)
        .u32(5)
        .u32(0)
        .u32(4);
    want(
        "a length without payload",
        driver.raw(&longer.0, 144)?.status,
        Status::Inval,
    )?;
    let shorter = longer.u32(0).u32(0);
    want(
        "more than the length",
        driver.raw(&shorter.0, 144)?.status,
        Status::Inval,
    )?;
    want(
        "half a header",
        driver.raw(&[0x50, 0, 0, 0, 1, 0], 144)?.status,
        Status::Inval,
    )?;
    let handle = driver.command(wire::code(Op::DevStats), 1, &[])?;
    want(
        "an object where there is none",
        handle.status,
        Status::Inval,
    )?;
    let nobody = driver.command(wire::code(Op::EpQuery), 0xffff_fff1, &[])?;
    want("a handle of nothing", nobody.status, Status::NoEnt)?;
    // too long for what is gathered of one
    let long = wire::request(wire::code(Op::DevStats), 9, 0, &[0; abi::CTRL_MAX - 16 + 4]);
    let answer = driver.raw(&long.0, 144)?;
    ensure!(
        answer.status != 0,
        "a request of more than a page was carried out"
    );
    Ok(())
}

/// Whether something that follows the payload is a value or a segment, which have their own rule.
fn has_tail(op: Op) -> bool {
    matches!(op, Op::EpSetopt | Op::MrReg)
}

fn lengths(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    for (op, payload) in all() {
        let longer = payload.clone().u32(0);
        answers(&mut driver, "longer", op, 0, &longer, Status::Inval)?;
        if let Some(len) = payload.0.len().checked_sub(4) {
            let shorter = wire().put(&payload.0[..len]);
            answers(&mut driver, "shorter", op, 0, &shorter, Status::Inval)?;
        }
        if has_tail(op) {
            let none = wire().put(&payload.0[..8]);
            answers(&mut driver, "without its end", op, 0, &none, Status::Inval)?;
        }
    }
    Ok(())
}

/// Where reserved fields, and flags that do not exist, are in the payload of each command.
const RESERVED: &[(Op, &[usize])] = &[
    (Op::Hello, &[4]),
    (Op::DbAttach, &[12]),
    (Op::CqCreate, &[11]),
    (Op::EpCreate, &[3, 12]),
    (Op::EpBind, &[4]),
    (Op::EpListen, &[4]),
    (Op::EpConnect, &[4, 28]),
    (Op::EpAccept, &[4]),
    (Op::EpShutdown, &[3, 4]),
    (Op::EpDestroy, &[3, 4]),
    (Op::MrReg, &[19, 23, 28]),
    (Op::MrDereg, &[4]),
    (Op::MrAdvise, &[7]),
];

fn reserved(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let all = all();
    for (op, places) in RESERVED {
        for place in *places {
            let payload = all
                .iter()
                .find(|(other, _)| other == op)
                .map(|(_, payload)| payload);
            let mut wrong = payload.cloned().unwrap_or_default();
            wrong.0[*place] = 0x80;
            answers(
                &mut driver,
                &format!("byte {place}"),
                *op,
                0,
                &wrong,
                Status::Inval,
            )?;
        }
    }
    Ok(())
}

fn room(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let stats = wire::request(wire::code(Op::DevStats), 3, 0, &[]);
    want(
        "no room for it",
        driver.raw(&stats.0, 143)?.status,
        Status::Inval,
    )?;
    let written = driver.raw_bytes(&stats.0, 8)?;
    ensure!(written.len() <= 8, "{} bytes in a room of 8", written.len());
    let create = EpCreate::LISTENER.encode();
    let request = wire::request(wire::code(Op::EpCreate), 4, 0, &create.0);
    let refused = driver.raw_bytes(&request.0, 12)?;
    ensure!(
        refused.len() <= 12,
        "{} bytes in a room of 12",
        refused.len()
    );
    Ok(())
}

fn features(world: &Conformance) -> Result<()> {
    let mut driver = Driver::start(&world.device, MANDATORY)?;
    let listener = EpCreate::LISTENER.encode();
    answers(
        &mut driver,
        "without F_STREAM",
        Op::EpCreate,
        0,
        &listener,
        Status::NotSupp,
    )?;
    let region = wire::mr(0, abi::MR_READ, 0, &[(addr(0x20_0000), 64)]);
    answers(
        &mut driver,
        "without F_MR",
        Op::MrReg,
        0,
        &region,
        Status::NotSupp,
    )?;
    answers(
        &mut driver,
        "without F_STATS",
        Op::DevStats,
        0,
        &wire(),
        Status::NotSupp,
    )?;
    answers(
        &mut driver,
        "without F_QUIESCE",
        Op::Quiesce,
        0,
        &wire(),
        Status::NotSupp,
    )?;
    driver.restart(MANDATORY | bit(abi::F_STREAM) | bit(abi::F_MR))?;
    let lazy = wire::mr(0, abi::MR_READ, abi::MR_LAZY, &[(addr(0x20_0000), 64)]);
    answers(
        &mut driver,
        "without F_LAZY_PIN",
        Op::MrReg,
        0,
        &lazy,
        Status::NotSupp,
    )?;
    let messages = EpCreate {
        kind: abi::EP_MSG,
        ..EpCreate::LISTENER
    };
    answers(
        &mut driver,
        "messages",
        Op::EpCreate,
        0,
        &messages.encode(),
        Status::NotSupp,
    )?;
    let other = EpCreate {
        kind: 9,
        ..EpCreate::LISTENER
    };
    answers(
        &mut driver,
        "of no type",
        Op::EpCreate,
        0,
        &other.encode(),
        Status::NotSupp,
    )?;
    let endpoint = driver.create_ep(&EpCreate::LISTENER)?;
    for (what, option) in [("without F_CC", 1), ("without F_PATHS", 2)] {
        let get = wire().u32(option).u32(16);
        answers(
            &mut driver,
            what,
            Op::EpGetopt,
            endpoint,
            &get,
            Status::NotSupp,
        )?;
    }
    Ok(())
}

fn quiesce(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    answers(
        &mut driver,
        "at work",
        Op::Resume,
        0,
        &wire(),
        Status::State,
    )?;
    driver.order(Op::Quiesce, 0, &wire())?;
    answers(&mut driver, "again", Op::Quiesce, 0, &wire(), Status::State)?;
    let mut pair = crate::endpoint::Pair::new(&mut driver, world.own);
    ensure!(pair.is_err(), "a quiesced device connects");
    driver.restart(world.features())?;
    pair = crate::endpoint::Pair::new(&mut driver, world.own);
    pair.map(drop)
}

fn stats(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let before = driver.order(Op::DevStats, 0, &wire())?;
    driver.command(0x7777, 0, &[])?;
    let after = driver.order(Op::DevStats, 0, &wire())?;
    ensure!(
        after.u64(0) == before.u64(0) + 2,
        "commands: {}",
        after.u64(0)
    );
    ensure!(
        after.u64(1) == before.u64(1) + 1,
        "refused: {}",
        after.u64(1)
    );
    Ok(())
}

/// A driver that has no buffers for events is told once it has some, and that it was late.
fn no_buffers(world: &Conformance) -> Result<()> {
    let machine = Machine::start(&world.device, Ram::new(USUAL_RAM)?, world.features())?;
    let mut driver = Driver::silent(machine);
    driver.order(Op::Hello, 0, &wire::hello())?;
    driver.attach_doorbells()?;
    let cq = driver.create_cq(ring(0), 4, 0)?;
    let create = EpCreate {
        flags: 0,
        cqs: [cq; 2],
        rings: [addr(ring(1)), addr(ring(2))],
        log2: [3; 2],
        slot: 1,
        ..EpCreate::LISTENER
    };
    let endpoint = driver.create_ep(&create)?;
    let nobody = wire::connect(std::net::SocketAddr::new(world.own, 7999), 0);
    driver.order(Op::EpConnect, endpoint, &nobody)?;
    let ram = driver.ram();
    let state = || u32::from_le(ram.load::<u32>(slot(1, EP_STATE))) & 0xff;
    let over = Instant::now() + scaled(PATIENCE);
    while state() != 6 {
        ensure!(Instant::now() < over, "its state is {}", state());
        // commands are answered meanwhile
        driver.stats()?;
    }
    // The state is written before the event is tried; the next command is taken after that.
    driver.stats()?;
    driver.post_event(0);
    driver.machine.queues[EVENT].notify()?;
    let event = driver.receive_event(PATIENCE)?;
    ensure!(
        event.kind == abi::EV_EP_STATE && event.handle == endpoint && event.arg & 0xff == 6,
        "{event:?}"
    );
    ensure!(event.lost > 0, "as if it had not been late: {event:?}");
    Ok(())
}
