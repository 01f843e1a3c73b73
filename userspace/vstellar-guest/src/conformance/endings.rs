// SPDX-License-Identifier: GPL-2.0
//! What becomes of entries when their endpoint ends: all are completed, and nothing is sent or received after
//! that, whether the driver, the peer, or the loss of memory is the reason.

use super::entries::by_address;
use super::entries::pattern;
use super::entries::transfer;
use super::entries::INTO;
use super::want;
use super::Conformance;
use super::Test;
use crate::driver::slot;
use crate::driver::Driver;
use crate::driver::BUFFERS;
use crate::driver::CQ_CI;
use crate::driver::RQ_CI;
use crate::driver::USUAL_RAM;
use crate::endpoint::ring;
use crate::endpoint::Completions;
use crate::endpoint::Endpoint;
use crate::endpoint::Pair;
use crate::endpoint::Shape;
use crate::endpoint::PAIR_LOG2;
use crate::endpoint::PAIR_RINGS;
use crate::endpoint::PAIR_SLOTS;
use crate::machine::pinned_kb;
use crate::machine::scaled;
use crate::machine::PATIENCE;
use crate::ram::addr;
use crate::sys;
use crate::sys::Mapping;
use crate::wire;
use crate::wire::rqe;
use crate::wire::wire;
use crate::wire::Sqe;
use crate::wire::RQE;
use anyhow::ensure;
use anyhow::Context;
use anyhow::Result;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::time::Instant;
use vstellar_core::abi;
use vstellar_core::control::Op;
use vstellar_core::status::Status;

pub(super) const TESTS: &[(&str, Test)] = &[
    ("entries outlive no connection", canceled),
    ("an endpoint stays until its entries are sent", unsent),
    ("endpoints that fail with a completion queue", all_fail),
    ("rings taken away below an endpoint", taken_away),
    ("one ring taken away below an endpoint", one_taken_away),
    ("reset, and memory taken away, while bytes move", moving),
];

/// The peer goes; what was to be received is told, and an endpoint with unsent entries is not let go.
fn canceled(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let mut pair = Pair::new(&mut driver, world.own)?;
    pair.ends[1].put_receive(&rqe(9, by_address(INTO, 64)));
    pair.ends[1].tell(&mut driver)?;
    let abort = wire().u32(abi::DESTROY_ABORT).u32(0);
    driver.order(Op::EpDestroy, pair.ends[0].handle, &abort)?;
    let cqe = pair.cq.wait(&mut driver)?;
    ensure!(cqe.wr_id == 9 && cqe.ep == pair.ends[1].handle, "{cqe:?}");
    ensure!(cqe.status != 0, "received, but from whom?");
    driver.await_state(pair.ends[1].handle, &[6])?;
    Ok(())
}

/// Destroys an endpoint as soon as its entries are completed.
fn go(driver: &mut Driver, endpoint: u32) -> Result<()> {
    let end = Instant::now() + scaled(PATIENCE);
    loop {
        let status = driver.status(Op::EpDestroy, endpoint, &wire().u32(0).u32(0))?;
        if status != Status::Busy.code() {
            return want("to be destroyed", status, Status::Ok);
        }
        ensure!(Instant::now() < end, "its entries are not completed");
    }
}

/// What the device was told of, it has looked at when this returns: a round answers commands first.
fn looked_at(driver: &mut Driver) -> Result<()> {
    driver.stats()?;
    driver.stats()?;
    Ok(())
}

/// Entries that a peer who reads nothing does not take all of.
fn stuck(driver: &mut Driver, end: &mut Endpoint) -> Result<()> {
    for number in 0..u64::from(end.depth()) {
        end.put_send(&Sqe::send(number, by_address(BUFFERS, 500_000)).encode());
    }
    end.tell(driver)
}

/// Has nothing of an endpoint on loan, if the device lends.
fn abort(world: &Conformance, driver: &mut Driver, endpoint: u32) -> Result<()> {
    if world.zerocopy {
        let abort = wire().u32(abi::SHUT_ABORT).u32(0);
        driver.order(Op::EpShutdown, endpoint, &abort)?;
    }
    Ok(())
}

/// Another endpoint finds out that the completion queue of all is of no use. Nobody kicks for those that were
/// visited before it, and nothing happens to their sockets.
fn all_fail(world: &Conformance) -> Result<()> {
    const BUFFERS_PUT: u32 = 3;
    let mut driver = world.driver()?;
    let ram = driver.ram();
    let mut pair = Pair::new(&mut driver, world.own)?;
    for end in &mut pair.ends {
        for number in 0..u64::from(BUFFERS_PUT) {
            end.put_receive(&rqe(number, by_address(INTO, 64)));
        }
        end.tell(&mut driver)?;
    }
    // what is sent by a listener is completed at once
    let shape = Shape {
        sq: ring(PAIR_RINGS),
        rq: ring(PAIR_RINGS + 1),
        log2: PAIR_LOG2,
        slot: PAIR_SLOTS,
    };
    looked_at(&mut driver)?;
    let mut last = Endpoint::new(&mut driver, shape, [pair.cq.handle; 2])?;
    driver.order(Op::EpBind, last.handle, &wire::own_address(0))?;
    driver.order(Op::EpListen, last.handle, &wire().u32(1).u32(0))?;
    ram.store(slot(pair.cq.slot, CQ_CI), u32::MAX.to_le());
    last.put_send(&Sqe::send(1, by_address(BUFFERS, 64)).encode());
    last.tell(&mut driver)?;
    driver.await_state(last.handle, &[6])?;
    let over = Instant::now() + scaled(PATIENCE);
    for end in &pair.ends {
        driver.await_state(end.handle, &[6])?;
        while u32::from_le(ram.load(slot(end.slot, RQ_CI))) != BUFFERS_PUT {
            ensure!(Instant::now() < over, "buffers are not completed");
            driver.stats()?;
        }
    }
    Ok(())
}

/// The ring of receive entries is unmapped while entries of both rings wait.
fn one_taken_away(world: &Conformance) -> Result<()> {
    const RING: u64 = 2 * USUAL_RAM;
    let mut driver = world.driver()?;
    let ram = driver.ram();
    let file = sys::memfd(c"ring")?;
    file.set_len(1 << 21)?;
    let mapping = Mapping::new(Some(&file), 1 << 21)?;
    driver
        .machine
        .map(addr(RING), 1 << 21, mapping.start(), false)?;
    let mut cq = Completions::new(&mut driver, ring(0), PAIR_LOG2 + 2, 0)?;
    let mut end = |rq, slot| {
        let shape = Shape {
            sq: ring(2 * slot),
            rq,
            log2: PAIR_LOG2,
            slot,
        };
        Endpoint::new(&mut driver, shape, [cq.handle; 2])
    };
    let (mut first, second) = (end(RING, 1)?, end(ring(1), 2)?);
    let (listener, port) = driver.listen(0)?;
    first.connect(&mut driver, SocketAddr::new(world.own, port))?;
    driver.accept(listener, second.handle)?;
    for number in 0..3 {
        let entry = rqe(number, by_address(INTO, 64));
        file.write_all_at(&entry.0, number * RQE)?;
    }
    first.posted = 3;
    stuck(&mut driver, &mut first)?;
    looked_at(&mut driver)?;

    driver.machine.unmap(addr(RING), 1 << 21)?;
    let word = driver.await_state(first.handle, &[6])?;
    want("the endpoint", (word >> 32) as u16, Status::Fault)?;
    abort(world, &mut driver, first.handle)?;
    let (mut sends, mut receives) = (0, 0);
    while sends < u64::from(first.depth()) || receives == 0 {
        let cqe = cq.wait(&mut driver)?;
        if cqe.op == abi::OP_RECV {
            want("the buffer that waits", cqe.status, Status::Canceled)?;
            receives += 1;
        } else {
            ensure!(cqe.wr_id == sends, "{cqe:?} instead of {sends}");
            sends += 1;
        }
    }
    // the others cannot be read any more, and are done all the same
    driver.stats()?;
    let done = u32::from_le(ram.load(slot(first.slot, RQ_CI)));
    ensure!(done == 3, "{done} buffers are completed");
    ensure!(receives == 1 && cq.take().is_none(), "and told of");
    go(&mut driver, first.handle)
}

/// Entries that the device was told of and has not looked at: it is quiesced, or commands come first.
fn unsent(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let mut pair = Pair::new(&mut driver, world.own)?;
    let first = pair.ends[0].handle;
    let destroy = wire().u32(0).u32(0);
    driver.ram().write(BUFFERS, &pattern(64));
    driver.order(Op::Quiesce, 0, &wire())?;
    pair.ends[0].put_send(&Sqe::send(5, by_address(BUFFERS, 64)).encode());
    pair.ends[0].tell(&mut driver)?;
    super::answers(
        &mut driver,
        "an entry to be sent",
        Op::EpDestroy,
        first,
        &destroy,
        Status::Busy,
    )?;
    driver.order(Op::Resume, 0, &wire())?;
    pair.ends[0].put_send(&Sqe::send(6, by_address(BUFFERS, 64)).encode());
    pair.ends[0].tell(&mut driver)?;
    go(&mut driver, first)?;
    for number in [5, 6] {
        let cqe = pair.cq.take().context("not completed")?;
        ensure!(cqe.wr_id == number && cqe.status == 0, "{cqe:?}");
    }
    // all of it comes, and then the end
    let mut came = 0;
    loop {
        pair.ends[1].put_receive(&rqe(9, by_address(INTO, 128)));
        pair.ends[1].tell(&mut driver)?;
        let cqe = pair.cq.wait(&mut driver)?;
        want("a buffer", cqe.status, Status::Ok)?;
        if cqe.len == 0 {
            break;
        }
        came += cqe.len;
    }
    ensure!(came == 128, "{came} bytes came");
    Ok(())
}

fn taken_away(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let _pair = Pair::new(&mut driver, world.own)?;
    driver.machine.unmap_ram()?;
    // not even a command can be taken
    driver.machine.queues[crate::machine::CONTROL].kick()?;
    ensure!(driver.machine.wait_broken(PATIENCE)?, "it needs no reset");
    driver.machine.map_ram()?;
    driver.restart(world.features())?;
    let mut pair = Pair::new(&mut driver, world.own)?;
    transfer(&mut driver, &mut pair, b"afterwards")?;
    Ok(())
}

/// How often something is done while bytes move.
const ROUNDS: u32 = 20;

/// The device is reset, or loses its memory, with entries of all kinds on their way.
fn moving(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    for round in 0..ROUNDS {
        let mut pair = Pair::new(&mut driver, world.own)?;
        for (end, index) in pair.ends.iter_mut().zip(0..) {
            let place = BUFFERS + index * 0x10_0000;
            for number in 0..u64::from(end.depth()) {
                let payload = |skip| by_address(place + skip + number * 8192, 8192);
                end.put_send(&Sqe::send(number, payload(0)).encode());
                end.put_receive(&rqe(number, payload(0x8_0000)));
            }
            end.tell(&mut driver)?;
        }
        // at another point in each round
        for _ in 0..round {
            driver.stats()?;
        }
        if round % 2 == 0 {
            driver.machine.unmap_ram()?;
            ensure!(pinned_kb()? == 0, "{} kB stay pinned", pinned_kb()?);
            driver.machine.map_ram()?;
        }
        driver.restart(world.features())?;
    }
    let mut pair = Pair::new(&mut driver, world.own)?;
    transfer(&mut driver, &mut pair, b"afterwards")
}
