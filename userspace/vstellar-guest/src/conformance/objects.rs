// SPDX-License-Identifier: GPL-2.0
//! Objects with rings: doorbell area, completion queues, endpoints.

use super::answers;
use super::Conformance;
use super::Test;
use crate::driver::Driver;
use crate::driver::DB_PAGES;
use crate::driver::DOORBELLS;
use crate::driver::SLOTS;
use crate::driver::USUAL_RAM;
use crate::endpoint::ring;
use crate::machine::FEATURES;
use crate::ram::addr;
use crate::wire;
use crate::wire::wire;
use crate::wire::EpCreate;
use crate::wire::Wire;
use anyhow::ensure;
use anyhow::Result;
use vstellar_core::abi;
use vstellar_core::control::Op;
use vstellar_core::status::Status;

pub(super) const TESTS: &[(&str, Test)] = &[
    ("the doorbell area", doorbells),
    ("completion queues", queues),
    ("endpoints", endpoints),
    ("rings do not overlap", overlap),
    (
        "handles are of one device, one kind and one object",
        handles,
    ),
    ("no more objects than the device may have", quotas),
];

fn attach(at: u64, pages: u32) -> Wire {
    wire().u64(at).u32(pages).u32(0)
}

fn doorbells(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let right = attach(addr(DOORBELLS), DB_PAGES);
    answers(&mut driver, "again", Op::DbAttach, 0, &right, Status::State)?;
    driver.create_cq(ring(0), 4, 0)?;
    answers(
        &mut driver,
        "in use",
        Op::DbDetach,
        0,
        &wire(),
        Status::Busy,
    )?;
    driver.restart(world.features())?;
    driver.order(Op::DbDetach, 0, &wire())?;
    answers(
        &mut driver,
        "again",
        Op::DbDetach,
        0,
        &wire(),
        Status::State,
    )?;
    let cq = wire::cq(addr(ring(0)), 4, 0, 0, 0);
    answers(
        &mut driver,
        "without an area",
        Op::CqCreate,
        0,
        &cq,
        Status::State,
    )?;
    let end = addr(USUAL_RAM);
    let wrong = [
        (
            "not at a page",
            attach(addr(DOORBELLS) + 8, 2),
            Status::Inval,
        ),
        ("without slots", attach(addr(DOORBELLS), 1), Status::Inval),
        ("without pages", attach(addr(DOORBELLS), 0), Status::Inval),
        (
            "of too many pages",
            attach(addr(DOORBELLS), 65),
            Status::Inval,
        ),
        (
            "of all pages",
            attach(addr(DOORBELLS), u32::MAX),
            Status::Inval,
        ),
        (
            "around the end of addresses",
            attach(!0xfff, 2),
            Status::Inval,
        ),
        ("where nothing is", attach(end, 2), Status::Fault),
        ("across the end", attach(end - 0x1000, 2), Status::Fault),
    ];
    for (what, payload, status) in wrong {
        answers(&mut driver, what, Op::DbAttach, 0, &payload, status)?;
    }
    driver.order(Op::DbAttach, 0, &right)?;
    Ok(())
}

fn queues(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let (at, end) = (addr(ring(0)), addr(USUAL_RAM));
    let cq = |at, log2, slot| wire::cq(at, log2, 0, slot, 0);
    let wrong = [
        ("not at a page", cq(at + 32, 4, 0), Status::Inval),
        ("too deep", cq(at, 17, 0), Status::Inval),
        ("of no depth", cq(at, u16::MAX, 0), Status::Inval),
        ("unknown flags", wire::cq(at, 4, 2, 0, 0), Status::Inval),
        ("a slot beyond", cq(at, 4, SLOTS), Status::Inval),
        ("no slot", cq(at, 4, abi::NO_SLOT), Status::Inval),
        ("where nothing is", cq(end, 4, 0), Status::Fault),
        ("across the end", cq(end - 0x1000, 8, 0), Status::Fault),
        (
            "around the end of addresses",
            cq(!0xfff, 8, 0),
            Status::Inval,
        ),
    ];
    for (what, payload, status) in wrong {
        answers(&mut driver, what, Op::CqCreate, 0, &payload, status)?;
    }
    let made = driver.create_cq(ring(0), 4, 0)?;
    let other = cq(addr(ring(1)), 4, 0);
    answers(
        &mut driver,
        "a slot in use",
        Op::CqCreate,
        0,
        &other,
        Status::Busy,
    )?;
    let create = endpoint(made);
    let user = driver.create_ep(&create)?;
    answers(
        &mut driver,
        "in use",
        Op::CqDestroy,
        made,
        &wire(),
        Status::Busy,
    )?;
    driver.order(Op::EpDestroy, user, &wire().u32(0).u32(0))?;
    driver.order(Op::CqDestroy, made, &wire())?;
    answers(
        &mut driver,
        "again",
        Op::CqDestroy,
        made,
        &wire(),
        Status::NoEnt,
    )?;
    // its slot and its memory are free
    driver.create_cq(ring(0), 4, 0)?;
    Ok(())
}

/// An endpoint with rings of 8 entries.
fn endpoint(cq: u32) -> EpCreate {
    EpCreate {
        flags: 0,
        cqs: [cq; 2],
        rings: [addr(ring(1)), addr(ring(2))],
        log2: [3; 2],
        slot: 1,
        ..EpCreate::LISTENER
    }
}

fn endpoints(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let cq = driver.create_cq(ring(0), 5, 0)?;
    let right = endpoint(cq);
    let (end, listener) = (addr(USUAL_RAM), EpCreate::LISTENER);
    let rings = |sq, rq| [sq, rq];
    let (sq, rq) = (right.rings[0], right.rings[1]);
    let wrong = [
        (
            "unknown flags",
            EpCreate { flags: 2, ..right },
            Status::Inval,
        ),
        (
            "no completion queue",
            EpCreate {
                cqs: [cq, 0],
                ..right
            },
            Status::NoEnt,
        ),
        (
            "a queue of nothing",
            EpCreate {
                cqs: [cq + 0x100, cq],
                ..right
            },
            Status::NoEnt,
        ),
        (
            "reserved",
            EpCreate {
                reserved: 1,
                ..right
            },
            Status::Inval,
        ),
        (
            "odd SQ",
            EpCreate {
                rings: rings(sq + 64, rq),
                ..right
            },
            Status::Inval,
        ),
        (
            "odd RQ",
            EpCreate {
                rings: rings(sq, rq + 32),
                ..right
            },
            Status::Inval,
        ),
        (
            "no SQ",
            EpCreate {
                rings: rings(end, rq),
                ..right
            },
            Status::Fault,
        ),
        (
            "no RQ",
            EpCreate {
                rings: rings(sq, end),
                ..right
            },
            Status::Fault,
        ),
        (
            "one ring for both",
            EpCreate {
                rings: rings(sq, sq),
                ..right
            },
            Status::Inval,
        ),
        (
            "too deep",
            EpCreate {
                log2: [13, 3],
                ..right
            },
            Status::Inval,
        ),
        (
            "deeper than can be",
            EpCreate {
                log2: [3, 17],
                ..right
            },
            Status::Inval,
        ),
        (
            "more than the queue has room for",
            EpCreate {
                log2: [5, 3],
                ..right
            },
            Status::NoSpc,
        ),
        (
            "a slot beyond",
            EpCreate {
                slot: SLOTS,
                ..right
            },
            Status::Inval,
        ),
        ("a slot in use", EpCreate { slot: 0, ..right }, Status::Busy),
        (
            "a listener with rings",
            EpCreate {
                rings: right.rings,
                ..listener
            },
            Status::Inval,
        ),
        (
            "a listener with queues",
            EpCreate {
                cqs: [cq; 2],
                ..listener
            },
            Status::Inval,
        ),
        (
            "a listener with a slot",
            EpCreate {
                slot: 1,
                ..listener
            },
            Status::Inval,
        ),
    ];
    for (what, create, status) in wrong {
        answers(&mut driver, what, Op::EpCreate, 0, &create.encode(), status)?;
    }
    let made = driver.create_ep(&right)?;
    // 16 of 32 entries are reserved
    let second = EpCreate {
        rings: [addr(ring(3)), addr(ring(4))],
        slot: 2,
        ..right
    };
    driver.create_ep(&second)?;
    let third = EpCreate {
        rings: [addr(ring(5)), addr(ring(6))],
        slot: 3,
        ..right
    };
    answers(
        &mut driver,
        "a full queue",
        Op::EpCreate,
        0,
        &third.encode(),
        Status::NoSpc,
    )?;
    driver.order(Op::EpDestroy, made, &wire().u32(0).u32(0))?;
    driver.create_ep(&third)?;
    Ok(())
}

fn overlap(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let cq = driver.create_cq(ring(0), 7, 0)?;
    let same = wire::cq(addr(ring(0)), 4, 0, 1, 0);
    answers(
        &mut driver,
        "with a queue",
        Op::CqCreate,
        0,
        &same,
        Status::Busy,
    )?;
    let area = wire::cq(addr(DOORBELLS), 4, 0, 1, 0);
    answers(
        &mut driver,
        "with the doorbells",
        Op::CqCreate,
        0,
        &area,
        Status::Busy,
    )?;
    let right = endpoint(cq);
    let on_queue = EpCreate {
        rings: [addr(ring(0)), right.rings[1]],
        ..right
    };
    answers(
        &mut driver,
        "with a queue",
        Op::EpCreate,
        0,
        &on_queue.encode(),
        Status::Busy,
    )?;
    for rings in [
        [addr(DOORBELLS), right.rings[1]],
        [right.rings[0], addr(DOORBELLS) + 0x1000],
    ] {
        let on_doorbells = EpCreate { rings, ..right }.encode();
        answers(
            &mut driver,
            "with the doorbells",
            Op::EpCreate,
            0,
            &on_doorbells,
            Status::Busy,
        )?;
    }
    driver.create_ep(&right)?;
    let on_endpoint = EpCreate {
        rings: [addr(ring(3)), right.rings[1]],
        slot: 2,
        ..right
    };
    let payload = on_endpoint.encode();
    answers(
        &mut driver,
        "with an endpoint",
        Op::EpCreate,
        0,
        &payload,
        Status::Busy,
    )
}

fn handles(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let mut other = Driver::start(&world.other, FEATURES)?;
    let cq = driver.create_cq(ring(0), 5, 0)?;
    let made = driver.create_ep(&endpoint(cq))?;
    // an object of this device is nothing to another
    answers(
        &mut other,
        "of another device",
        Op::EpQuery,
        made,
        &wire(),
        Status::NoEnt,
    )?;
    answers(
        &mut other,
        "of another device",
        Op::CqDestroy,
        cq,
        &wire(),
        Status::NoEnt,
    )?;
    let foreign = endpoint(cq).encode();
    answers(
        &mut other,
        "another's queue",
        Op::EpCreate,
        0,
        &foreign,
        Status::NoEnt,
    )?;
    let destroy = wire().u32(0).u32(0);
    driver.order(Op::EpDestroy, made, &destroy)?;
    answers(
        &mut driver,
        "again",
        Op::EpDestroy,
        made,
        &destroy,
        Status::NoEnt,
    )?;
    let again = driver.create_ep(&endpoint(cq))?;
    ensure!(again != made, "a handle has come back");
    answers(
        &mut driver,
        "of before",
        Op::EpQuery,
        made,
        &wire(),
        Status::NoEnt,
    )?;
    driver.order(Op::EpQuery, again, &wire())?;
    Ok(())
}

/// The device may have two of everything.
fn quotas(world: &Conformance) -> Result<()> {
    let mut driver = Driver::start(&world.small, FEATURES)?;
    driver.create_cq(ring(0), 4, 0)?;
    let second = driver.create_cq(ring(1), 4, 1)?;
    let third = wire::cq(addr(ring(2)), 4, 0, 2, 0);
    answers(
        &mut driver,
        "a third",
        Op::CqCreate,
        0,
        &third,
        Status::Quota,
    )?;
    driver.order(Op::CqDestroy, second, &wire())?;
    driver.order(Op::CqCreate, 0, &third)?;

    let listener = EpCreate::LISTENER.encode();
    driver.create_ep(&EpCreate::LISTENER)?;
    let second = driver.create_ep(&EpCreate::LISTENER)?;
    answers(
        &mut driver,
        "a third",
        Op::EpCreate,
        0,
        &listener,
        Status::Quota,
    )?;
    driver.order(Op::EpDestroy, second, &wire().u32(0).u32(0))?;
    driver.create_ep(&EpCreate::LISTENER)?;

    let region = wire::mr(0, abi::MR_READ, 0, &[(addr(0), 64)]);
    driver.order(Op::MrReg, 0, &region)?;
    let second = driver.order(Op::MrReg, 0, &region)?.u32(0);
    answers(&mut driver, "a third", Op::MrReg, 0, &region, Status::Quota)?;
    driver.order(Op::MrDereg, 0, &wire().u32(second).u32(0))?;
    driver.order(Op::MrReg, 0, &region)?;
    Ok(())
}
