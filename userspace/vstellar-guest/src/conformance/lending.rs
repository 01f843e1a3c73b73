// SPDX-License-Identifier: GPL-2.0
//! Send buffers that the transport may use until their entries are completed, and those that it copies.

use super::answers;
use super::entries::by_address;
use super::entries::pattern;
use super::entries::INTO;
use super::want;
use super::Conformance;
use super::Test;
use crate::driver::Driver;
use crate::driver::BUFFERS;
use crate::endpoint::Pair;
use crate::wire::rqe;
use crate::wire::wire;
use crate::wire::Cqe;
use crate::wire::Sqe;
use anyhow::ensure;
use anyhow::Result;
use vstellar_core::abi;
use vstellar_core::control::Op;
use vstellar_core::status::Status;

pub(super) const TESTS: &[(&str, Test)] = &[
    ("entries of all sizes are completed in order", in_order),
    (
        "the peer resets the connection, and entries are completed",
        reset,
    ),
    ("aborted without lending", not_lent),
];

/// With F_ZC.
pub(super) const LENT: &[(&str, Test)] = &[(
    "an endpoint is aborted, and its entries are completed",
    aborted,
)];

/// Bytes of the entries, which are some that are worth a loan and some that are not.
const LENS: [u32; 12] = [
    1, 40_000, 100, 70_000, 5, 20_000, 16_384, 16_383, 9, 65_536, 3, 30_000,
];

/// Every one but these asks to be completed.
const QUIET: [usize; 3] = [1, 2, 7];

/// A buffer to receive into.
const ROOM: u32 = 32_768;

fn in_order(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let mut pair = Pair::new(&mut driver, world.own)?;
    let total = LENS.iter().sum::<u32>() as usize;
    let data = pattern(total);
    driver.ram().write(BUFFERS, &data);
    let mut at = BUFFERS;
    for (number, len) in (0..).zip(LENS) {
        let mut entry = Sqe::send(number, by_address(at, len));
        if QUIET.contains(&(number as usize)) {
            entry.flags = 0;
        }
        pair.ends[0].put_send(&entry.encode());
        at += u64::from(len);
    }
    pair.ends[0].put_send(&Sqe::fin(99).encode());
    pair.ends[0].tell(&mut driver)?;
    pair.ends[1].put_receive(&rqe(0, by_address(INTO, ROOM)));
    pair.ends[1].tell(&mut driver)?;
    let signaled = (0..LENS.len()).filter(|number| !QUIET.contains(number));
    let mut expected: Vec<(u64, u32)> = signaled.map(|n| (n as u64, LENS[n])).collect();
    expected.push((99, 0));
    let (mut came, mut told, mut ended) = (Vec::new(), Vec::new(), false);
    while !ended || told.len() < expected.len() {
        let cqe = pair.cq.wait(&mut driver)?;
        want("completion", cqe.status, Status::Ok)?;
        if cqe.op != abi::OP_RECV {
            told.push((cqe.wr_id, cqe.len));
            continue;
        }
        ended = cqe.flags & abi::CQE_FIN != 0;
        let mut bytes = vec![0; cqe.len as usize];
        driver.ram().read(INTO, &mut bytes);
        came.extend(bytes);
        if !ended {
            pair.ends[1].put_receive(&rqe(0, by_address(INTO, ROOM)));
            pair.ends[1].tell(&mut driver)?;
        }
    }
    ensure!(told == expected, "{told:?} instead of {expected:?}");
    ensure!(came == data, "other bytes came");
    Ok(())
}

/// Entries that a peer who reads nothing does not take all of. How many.
fn fill(driver: &mut Driver, pair: &mut Pair) -> Result<u64> {
    let count = u64::from(pair.ends[0].depth());
    for number in 0..count {
        let payload = by_address(BUFFERS, 500_000);
        pair.ends[0].put_send(&Sqe::send(number, payload).encode());
    }
    pair.ends[0].tell(driver)?;
    Ok(count)
}

/// Each entry is completed once, in order: some may have been sent, the others are not.
fn completed(driver: &mut Driver, pair: &mut Pair, count: u64) -> Result<()> {
    let mut over = false;
    for number in 0..count {
        let cqe = pair.cq.wait(driver)?;
        ensure!(
            cqe.ep == pair.ends[0].handle && cqe.op != abi::OP_RECV,
            "{cqe:?}"
        );
        ensure!(cqe.wr_id == number, "{cqe:?} instead of {number}");
        let sent = cqe.status == Status::Ok.code();
        ensure!(!sent || !over, "{cqe:?} after one that was not sent");
        over |= !sent;
    }
    ensure!(over, "all of it was sent");
    let more: Option<Cqe> = pair.cq.take();
    ensure!(more.is_none(), "completed twice: {more:?}");
    Ok(())
}

fn aborted(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let mut pair = Pair::new(&mut driver, world.own)?;
    let [first, listener] = [pair.ends[0].handle, pair.listener];
    let abort = wire().u32(abi::SHUT_ABORT).u32(0);
    answers(
        &mut driver,
        "a listener",
        Op::EpShutdown,
        listener,
        &abort,
        Status::State,
    )?;
    let count = fill(&mut driver, &mut pair)?;
    driver.order(Op::EpShutdown, first, &abort)?;
    let word = driver.await_state(first, &[6])?;
    want("the endpoint", (word >> 32) as u16, Status::Canceled)?;
    completed(&mut driver, &mut pair, count)?;
    // again is as good, and nothing is left that it would have to wait for
    driver.order(Op::EpShutdown, first, &abort)?;
    driver.order(Op::EpDestroy, first, &wire().u32(0).u32(0))?;
    // the peer hears of it
    driver.await_state(pair.ends[1].handle, &[6])?;
    Ok(())
}

fn reset(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let mut pair = Pair::new(&mut driver, world.own)?;
    let [first, second] = [&pair.ends[0], &pair.ends[1]].map(|end| end.handle);
    let count = fill(&mut driver, &mut pair)?;
    let destroy = |flags| wire().u32(flags).u32(0);
    driver.order(Op::EpDestroy, second, &destroy(abi::DESTROY_ABORT))?;
    driver.await_state(first, &[6])?;
    completed(&mut driver, &mut pair, count)?;
    driver.order(Op::EpDestroy, first, &destroy(0))?;
    Ok(())
}

fn not_lent(world: &Conformance) -> Result<()> {
    let mut driver = Driver::start(&world.device, crate::machine::FEATURES)?;
    let pair = Pair::new(&mut driver, world.own)?;
    let abort = wire().u32(abi::SHUT_ABORT).u32(0);
    let first = pair.ends[0].handle;
    answers(
        &mut driver,
        "without F_ZC",
        Op::EpShutdown,
        first,
        &abort,
        Status::NotSupp,
    )?;
    super::connections::send_and_receive(&mut driver, &mut { pair })
}
