// SPDX-License-Identifier: GPL-2.0
//! Memory regions.

use super::answers;
use super::Conformance;
use super::Test;
use crate::driver::Driver;
use crate::driver::BUFFERS;
use crate::driver::USUAL_RAM;
use crate::machine::FEATURES;
use crate::ram::addr;
use crate::wire::mr;
use crate::wire::wire;
use crate::wire::Wire;
use anyhow::ensure;
use anyhow::Result;
use vstellar_core::abi;
use vstellar_core::control::Op;
use vstellar_core::status::Status;

pub(super) const TESTS: &[(&str, Test)] = &[
    ("memory regions", regions),
    ("tables of segments", tables),
    ("advice about memory", advice),
    ("regions within the quota of pinned memory", quota),
];

/// MR_REG of one segment, with fields of its own.
fn reg(len: u64, access: u32, flags: u32, nseg: u32, segment: (u64, u64)) -> Wire {
    let reg = wire().u64(0).u64(len).u32(access).u32(flags);
    reg.u32(nseg).u32(0).u64(segment.0).u64(segment.1)
}

fn regions(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let (at, end) = (addr(BUFFERS), addr(USUAL_RAM));
    let read = abi::MR_READ;
    let none = wire().u64(0).u64(64).u32(read).u32(0).u32(0).u32(0);
    let wrong = [
        ("of no byte", reg(0, read, 0, 1, (at, 0)), Status::Inval),
        (
            "an empty segment",
            mr(0, read, 0, &[(at, 64), (at, 0)]),
            Status::Inval,
        ),
        (
            "less than its segment",
            reg(32, read, 0, 1, (at, 64)),
            Status::Inval,
        ),
        (
            "more than its segment",
            reg(128, read, 0, 1, (at, 64)),
            Status::Inval,
        ),
        (
            "more than may be",
            reg(1 << 31, read, 0, 1, (at, 1 << 31)),
            Status::Inval,
        ),
        ("of no segment", none, Status::Inval),
        (
            "of more segments than come",
            reg(64, read, 0, 2, (at, 64)),
            Status::Inval,
        ),
        (
            "of many more",
            reg(64, read, 0, u32::MAX, (at, 64)),
            Status::Inval,
        ),
        ("for nothing", reg(64, 0, 0, 1, (at, 64)), Status::Inval),
        (
            "unknown access",
            reg(64, 0x11, 0, 1, (at, 64)),
            Status::Inval,
        ),
        (
            "unknown flags",
            reg(64, read, 4, 1, (at, 64)),
            Status::Inval,
        ),
        (
            "only for the peer",
            reg(64, abi::MR_REMOTE_READ, 0, 1, (at, 64)),
            Status::Inval,
        ),
        (
            "more for the peer",
            reg(64, read | abi::MR_REMOTE_WRITE, 0, 1, (at, 64)),
            Status::Inval,
        ),
        (
            "where nothing is",
            reg(64, read, 0, 1, (end, 64)),
            Status::Fault,
        ),
        (
            "across the end",
            reg(64, read, 0, 1, (end - 32, 64)),
            Status::Fault,
        ),
        (
            "around the end",
            reg(64, read, 0, 1, (u64::MAX - 8, 64)),
            Status::Inval,
        ),
        (
            "addresses around the end",
            mr(u64::MAX - 8, read, 0, &[(at, 64)]),
            Status::Inval,
        ),
    ];
    for (what, payload, status) in wrong {
        answers(&mut driver, what, Op::MrReg, 0, &payload, status)?;
    }
    let remote = read | abi::MR_WRITE | abi::MR_REMOTE_READ;
    let keys = driver.order(
        Op::MrReg,
        0,
        &mr(0, remote, 0, &[(at, 64), (at + 4096, 64)]),
    )?;
    ensure!(keys.u32(0) != 0 && keys.u32(1) != 0, "no keys");
    let local = driver.order(Op::MrReg, 0, &mr(0, read, abi::MR_LAZY, &[(at, 64)]))?;
    ensure!(
        local.u32(0) != keys.u32(0) && local.u32(1) == 0,
        "keys {:?}",
        local.payload
    );
    let dereg = |key| wire().u32(key).u32(0);
    answers(
        &mut driver,
        "of nothing",
        Op::MrDereg,
        0,
        &dereg(0),
        Status::NoEnt,
    )?;
    driver.order(Op::MrDereg, 0, &dereg(keys.u32(0)))?;
    answers(
        &mut driver,
        "again",
        Op::MrDereg,
        0,
        &dereg(keys.u32(0)),
        Status::NoEnt,
    )?;
    // what stood on memory that went does not come to life with other memory there
    driver.machine.unmap_ram()?;
    driver.machine.map_ram()?;
    driver.restart(world.features())?;
    let old = dereg(local.u32(0));
    answers(
        &mut driver,
        "of before the reset",
        Op::MrDereg,
        0,
        &old,
        Status::NoEnt,
    )
}

fn tables(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let table = BUFFERS + 0x10_0000;
    let entries = (0..300u64).fold(wire(), |wire, index| {
        wire.u64(addr(BUFFERS) + index * 64).u64(64)
    });
    driver.ram().write(table, &entries.0);
    let of = |nseg: u32, at: u64, bytes: u64| {
        let len = u64::from(nseg.min(300)) * 64;
        reg(len, abi::MR_READ, abi::MR_TABLE, nseg, (at, bytes))
    };
    let wrong = [
        ("of no segment", of(0, addr(table), 0), Status::Inval),
        (
            "of another length",
            of(300, addr(table), 300 * 16 - 1),
            Status::Inval,
        ),
        (
            "of too many",
            of(4097, addr(table), 4097 * 16),
            Status::Inval,
        ),
        (
            "of all there can be",
            of(u32::MAX, addr(table), u64::from(u32::MAX) * 16),
            Status::Inval,
        ),
        (
            "where nothing is",
            of(300, addr(USUAL_RAM), 300 * 16),
            Status::Fault,
        ),
        (
            "across the end",
            of(300, addr(USUAL_RAM) - 32, 300 * 16),
            Status::Fault,
        ),
    ];
    for (what, payload, status) in wrong {
        answers(&mut driver, what, Op::MrReg, 0, &payload, status)?;
    }
    driver.order(Op::MrReg, 0, &of(300, addr(table), 300 * 16))?;
    // a table that is not of segments
    driver.ram().zero(table, 64);
    answers(
        &mut driver,
        "with an empty segment",
        Op::MrReg,
        0,
        &of(300, addr(table), 300 * 16),
        Status::Inval,
    )
}

fn advice(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let far = addr(8 << 20);
    let region = mr(0, abi::MR_READ, abi::MR_LAZY, &[(far, 4 << 20)]);
    let key = driver.order(Op::MrReg, 0, &region)?.u32(0);
    let advise = |key, advice, offset, len| wire().u32(key).u32(advice).u64(offset).u64(len);
    let wrong = [
        ("of nothing", advise(key + 0x100, 1, 0, 64), Status::NoEnt),
        ("of no kind", advise(key, 3, 0, 64), Status::Inval),
        ("of no byte", advise(key, 1, 0, 0), Status::Inval),
        ("beyond", advise(key, 1, 4 << 20, 64), Status::Fault),
        (
            "across the end",
            advise(key, 1, (4 << 20) - 32, 64),
            Status::Fault,
        ),
        (
            "around the end",
            advise(key, 1, u64::MAX - 8, 64),
            Status::Inval,
        ),
    ];
    for (what, payload, status) in wrong {
        answers(&mut driver, what, Op::MrAdvise, 0, &payload, status)?;
    }
    let before = driver.stats()?.pinned();
    driver.order(Op::MrAdvise, 0, &advise(key, 1, 0, 4 << 20))?;
    let pinned = driver.stats()?.pinned();
    ensure!(
        pinned == before + (4 << 20),
        "{pinned} bytes are pinned, after {before}"
    );
    driver.order(Op::MrAdvise, 0, &advise(key, 2, 0, 4 << 20))?;
    let after = driver.stats()?.pinned();
    ensure!(after == before, "{after} bytes are pinned, not {before}");
    Ok(())
}

/// The device may pin three blocks, one of which the rings are in, and one of which is its own.
fn quota(world: &Conformance) -> Result<()> {
    let mut driver = Driver::start(&world.small, FEATURES)?;
    let region = |flags| mr(0, abi::MR_READ, flags, &[(addr(4 << 20), 4 << 20)]);
    answers(
        &mut driver,
        "of two blocks",
        Op::MrReg,
        0,
        &region(0),
        Status::Quota,
    )?;
    let key = driver.order(Op::MrReg, 0, &region(abi::MR_LAZY))?.u32(0);
    let held = mr(0, abi::MR_READ, 0, &[(addr(8 << 20), 2 << 20)]);
    let held = driver.order(Op::MrReg, 0, &held)?.u32(0);
    let advise = wire().u32(key).u32(1).u64(0).u64(64);
    answers(
        &mut driver,
        "another block",
        Op::MrAdvise,
        0,
        &advise,
        Status::Quota,
    )?;
    driver.order(Op::MrDereg, 0, &wire().u32(held).u32(0))?;
    driver.order(Op::MrAdvise, 0, &advise)?;
    ensure!(driver.stats()?.peak() <= 6 << 20, "more was pinned");
    driver.order(Op::MrDereg, 0, &wire().u32(key).u32(0))?;
    // what cannot be pinned at once is not tried
    let large = mr(0, abi::MR_READ, abi::MR_LAZY, &[(addr(4 << 20), 8 << 20)]);
    let key = driver.order(Op::MrReg, 0, &large)?.u32(0);
    let pins = driver.stats()?.misses();
    let advise = wire().u32(key).u32(1).u64(0).u64(8 << 20);
    answers(
        &mut driver,
        "four blocks",
        Op::MrAdvise,
        0,
        &advise,
        Status::Quota,
    )?;
    ensure!(driver.stats()?.misses() == pins, "blocks were pinned");
    Ok(())
}
