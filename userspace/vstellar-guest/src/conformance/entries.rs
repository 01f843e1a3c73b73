// SPDX-License-Identifier: GPL-2.0
//! Doorbells and work entries. What is wrong with one ends its endpoint, and nothing else.

use super::want;
use super::Conformance;
use super::Test;
use crate::driver::slot;
use crate::driver::Driver;
use crate::driver::BUFFERS;
use crate::driver::CQ_CI;
use crate::driver::EP_ERROR;
use crate::driver::EP_STATE;
use crate::driver::LOST;
use crate::driver::RQ_PI;
use crate::driver::SQ_CI;
use crate::driver::SQ_PI;
use crate::driver::USUAL_RAM;
use crate::endpoint::Pair;
use crate::endpoint::PAIR_LOG2;
use crate::machine::scaled;
use crate::machine::FEATURES;
use crate::machine::PATIENCE;
use crate::ram::addr;
use crate::wire::mr;
use crate::wire::rqe;
use crate::wire::wire;
use crate::wire::Sge;
use crate::wire::Sqe;
use crate::wire::Wire;
use anyhow::ensure;
use anyhow::Context;
use anyhow::Result;
use std::time::Instant;
use vstellar_core::abi;
use vstellar_core::control::Op;
use vstellar_core::status::Status;

pub(super) const TESTS: &[(&str, Test)] = &[
    ("bytes go from one end to the other", bytes),
    (
        "segments of memory regions, of tables, and by address",
        segments,
    ),
    ("entries that are told of together", together),
    ("indices go forward, and within the ring", indices),
    ("completions are taken before there are more", completions),
    ("completions that nobody takes", untaken),
    ("send entries that break the rules", sends),
    ("receive entries that break the rules", receives),
    ("receive entries that adjoin one that is wrong", adjoining),
    ("keys of another device mean nothing", foreign_keys),
    ("no data moves while it is quiesced", quiesced),
];

/// Where payload is received.
pub(super) const INTO: u64 = BUFFERS + 0x10_0000;

pub(super) fn by_address(at: u64, len: u32) -> Sge {
    Sge {
        addr: addr(at),
        len,
        key: abi::LKEY_IOVA,
    }
}

/// Sends bytes from the first end to the second.
pub(crate) fn transfer(driver: &mut Driver, pair: &mut Pair, bytes: &[u8]) -> Result<()> {
    driver.ram().write(BUFFERS, bytes);
    let entry = Sqe::send(7, by_address(BUFFERS, bytes.len() as u32));
    carry(driver, pair, &entry, bytes)
}

/// Has the first end send an entry that stands for those bytes, and the second receive them.
fn carry(driver: &mut Driver, pair: &mut Pair, entry: &Sqe, bytes: &[u8]) -> Result<()> {
    let ram = driver.ram();
    ram.zero(INTO, bytes.len());
    pair.ends[0].put_send(&entry.encode());
    pair.ends[0].tell(driver)?;
    let mut received = 0;
    let (mut sent, mut posted) = (false, false);
    while !sent || received < bytes.len() {
        let left = (bytes.len() - received) as u32;
        if left > 0 && !posted {
            posted = true;
            let sge = by_address(INTO + received as u64, left);
            pair.ends[1].put_receive(&rqe(9, sge));
            pair.ends[1].tell(driver)?;
        }
        let cqe = pair.cq.wait(driver)?;
        want("completion", cqe.status, Status::Ok)?;
        if cqe.op == abi::OP_RECV {
            ensure!(cqe.ep == pair.ends[1].handle && cqe.wr_id == 9, "{cqe:?}");
            received += cqe.len as usize;
            posted = false;
        } else {
            let right = cqe.ep == pair.ends[0].handle && cqe.wr_id == entry.wr_id;
            ensure!(right && cqe.len as usize == bytes.len(), "{cqe:?}");
            sent = true;
        }
    }
    let mut came = vec![0; bytes.len()];
    ram.read(INTO, &mut came);
    ensure!(came == bytes, "other bytes came");
    Ok(())
}

pub(super) fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(crate::payload::byte_at).collect()
}

fn bytes(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let mut pair = Pair::new(&mut driver, world.own)?;
    for len in [1, 64, 1499, 4096, 100_000] {
        transfer(&mut driver, &mut pair, &pattern(len)).with_context(|| format!("{len} bytes"))?;
    }
    Ok(())
}

fn segments(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let mut pair = Pair::new(&mut driver, world.own)?;
    let data = pattern(3000);
    driver.ram().write(BUFFERS, &data);
    let va = 0x1234_5000;
    // the region turns its halves around
    let halves = [(addr(BUFFERS) + 1000, 2000), (addr(BUFFERS), 1000)];
    let key = driver
        .order(Op::MrReg, 0, &mr(va, abi::MR_READ, 0, &halves))?
        .u32(0);
    let turned: Vec<u8> = [&data[1000..], &data[..1000]].concat();
    let in_region = |skip: u64, len| Sge {
        addr: va + skip,
        len,
        key,
    };
    let entry = Sqe::send(1, in_region(0, 3000));
    carry(&mut driver, &mut pair, &entry, &turned).context("a region")?;

    let two = Sqe {
        nsge: 2,
        total: 1500,
        sge: [in_region(2000, 1000), by_address(BUFFERS, 500)],
        ..Sqe::send(2, Sge::default())
    };
    let expected = [&data[..1000], &data[..500]].concat();
    carry(&mut driver, &mut pair, &two, &expected).context("two segments")?;

    let table = BUFFERS + 0x8000;
    let pieces = (0..5u32).fold(wire(), |wire, index| {
        let piece = by_address(BUFFERS + u64::from(index) * 100, 100);
        wire.u64(piece.addr).u32(piece.len).u32(piece.key)
    });
    driver.ram().write(table, &pieces.0);
    let entry = Sqe {
        nsge: abi::SGE_TABLE,
        total: 500,
        ..Sqe::send(3, by_address(table, 80))
    };
    carry(&mut driver, &mut pair, &entry, &data[..500]).context("a table")
}

/// Several entries, of which each is completed in its turn; what comes before one that is wrong is sent.
fn together(world: &Conformance) -> Result<()> {
    const LENS: [u32; 5] = [64, 1, 4096, 500, 35];
    const ROOM: u32 = 1000;
    let mut driver = world.driver()?;
    let mut pair = Pair::new(&mut driver, world.own)?;
    let total = LENS.iter().sum::<u32>() as usize;
    let data = pattern(total);
    driver.ram().write(BUFFERS, &data);
    for buffer in 0..12 {
        let at = INTO + buffer * u64::from(ROOM);
        pair.ends[1].put_receive(&rqe(buffer, by_address(at, ROOM)));
    }
    pair.ends[1].tell(&mut driver)?;
    let mut at = BUFFERS;
    for (number, len) in (0..).zip(LENS) {
        pair.ends[0].put_send(&Sqe::send(number, by_address(at, len)).encode());
        at += u64::from(len);
    }
    let wrong = Sqe {
        total: 65,
        ..Sqe::send(77, by_address(BUFFERS, 64))
    };
    pair.ends[0].put_send(&wrong.encode());
    pair.ends[0].tell(&mut driver)?;

    let mut came = Vec::new();
    let (mut sent, mut buffers) = (0, 0);
    while sent <= LENS.len() || came.len() < total {
        let cqe = pair.cq.wait(&mut driver)?;
        if cqe.op == abi::OP_RECV {
            want("a buffer", cqe.status, Status::Ok)?;
            ensure!(cqe.wr_id == buffers && cqe.len > 0, "{cqe:?}");
            let mut bytes = vec![0; cqe.len as usize];
            driver
                .ram()
                .read(INTO + buffers * u64::from(ROOM), &mut bytes);
            came.extend(bytes);
            buffers += 1;
        } else if let Some(len) = LENS.get(sent) {
            want("an entry", cqe.status, Status::Ok)?;
            ensure!(cqe.wr_id == sent as u64 && cqe.len == *len, "{cqe:?}");
            sent += 1;
        } else {
            want("the wrong entry", cqe.status, Status::Inval)?;
            ensure!(cqe.wr_id == 77, "{cqe:?}");
            sent += 1;
        }
    }
    ensure!(came == data, "other bytes came");
    failed(&mut driver, &pair, 0, Status::Inval)
}

/// The endpoint has failed for that reason, and a new connection can be made.
fn failed(driver: &mut Driver, pair: &Pair, end: usize, status: Status) -> Result<()> {
    let end = &pair.ends[end];
    let word = driver.await_state(end.handle, &[6])?;
    want("the endpoint", (word >> 32) as u16, status)?;
    let shown: u32 = driver.ram().load(slot(end.slot, EP_ERROR));
    want("its slot", u32::from_le(shown) as u16, status)?;
    ensure!(!driver.machine.is_broken()?, "the device needs a reset");
    Ok(())
}

fn indices(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    for (what, place, value) in [
        ("sends beyond the ring", SQ_PI, 17),
        ("receives beyond the ring", RQ_PI, 17),
        ("sends far beyond", SQ_PI, 0x8000_0000),
        ("sends backwards", SQ_PI, u32::MAX),
        ("receives backwards", RQ_PI, u32::MAX),
    ] {
        driver.restart(world.features())?;
        let mut pair = Pair::new(&mut driver, world.own)?;
        let number = pair.ends[0].slot;
        driver.ram().store(slot(number, place), u32::to_le(value));
        driver.ring_bell(number)?;
        failed(&mut driver, &pair, 0, Status::Inval).context(what)?;
        stands_still(&mut driver, &mut pair).context(what)?;
    }
    Ok(())
}

/// The device does not look at an endpoint that has failed over and over: an entry that it was not kicked
/// for is not seen, and is canceled once it was.
fn stands_still(driver: &mut Driver, pair: &mut Pair) -> Result<()> {
    let end = &mut pair.ends[0];
    end.put_send(&Sqe::send(5, by_address(BUFFERS, 64)).encode());
    driver
        .ram()
        .store(slot(end.slot, SQ_PI), u32::to_le(end.sent));
    // each is a round of the device's work
    for _ in 0..10 {
        driver.stats()?;
    }
    ensure!(pair.cq.take().is_none(), "it still looks at the queue");
    driver.ring_bell(pair.ends[0].slot)?;
    let cqe = pair.cq.wait(driver)?;
    want("the entry behind", cqe.status, Status::Canceled)?;
    ensure!(cqe.wr_id == 5, "{cqe:?}");
    Ok(())
}

fn completions(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    for (what, taken) in [("more than there were", 1), ("backwards", u32::MAX)] {
        driver.restart(world.features())?;
        let mut pair = Pair::new(&mut driver, world.own)?;
        let number = pair.cq.slot;
        driver.ram().store(slot(number, CQ_CI), u32::to_le(taken));
        let entry = Sqe::send(1, by_address(BUFFERS, 64));
        pair.ends[0].put_send(&entry.encode());
        pair.ends[0].tell(&mut driver)?;
        driver
            .await_state(pair.ends[0].handle, &[6])
            .context(what)?;
        let shown: u32 = driver.ram().load(slot(number, EP_STATE));
        ensure!(
            u32::from_le(shown) == 6,
            "{what}: the queue's state is {shown}"
        );
        // both ends complete into it
        driver
            .await_state(pair.ends[1].handle, &[6])
            .context(what)?;
    }
    Ok(())
}

/// A driver has more done than it takes completions: its queue is of no use any more, others are.
fn untaken(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let mut pair = Pair::new(&mut driver, world.own)?;
    let ram = driver.ram();
    let word = |number, field| u32::from_le(ram.load(slot(number, field)));
    let end = pair.ends[0].slot;
    let (room, mut sent) = (1 << (PAIR_LOG2 + 3), 0);
    while word(end, EP_STATE) & 0xff == 4 {
        ensure!(sent <= room, "{sent} completions in a queue of {room}");
        pair.ends[0].put_send(&Sqe::send(1, by_address(BUFFERS, 1)).encode());
        pair.ends[0].tell(&mut driver)?;
        sent += 1;
        // the entry is done, or the endpoint is
        let over = Instant::now() + scaled(PATIENCE);
        while word(end, SQ_CI) != sent && word(end, EP_STATE) & 0xff == 4 {
            ensure!(Instant::now() < over, "entry {sent} is not done");
            driver.stats()?;
        }
    }
    ensure!(sent == room + 1, "failed after {sent} completions");
    let (state, lost) = (word(pair.cq.slot, EP_STATE), word(pair.cq.slot, LOST));
    ensure!(state == 6 && lost == 1, "state {state}, {lost} lost");
    driver.await_state(pair.ends[0].handle, &[6])?;
    driver.await_state(pair.ends[1].handle, &[6])?;
    let mut other = Pair::nth(&mut driver, world.own, 1)?;
    transfer(&mut driver, &mut other, b"another pair's")
}

/// Send entries, each wrong in one thing.
fn wrong_sends(read_key: u32, write_key: u32) -> Vec<(&'static str, Sqe, Status)> {
    let at = by_address(BUFFERS, 64);
    let right = Sqe::send(5, at);
    let with = |sge| Sqe {
        sge: [sge, Sge::default()],
        ..right
    };
    let key = |addr, len, key| Sge { addr, len, key };
    let table = |len| Sqe {
        nsge: abi::SGE_TABLE,
        ..with(by_address(BUFFERS, len))
    };
    let nothing = Sge::default();
    vec![
        ("no operation", Sqe { op: 0, ..right }, Status::NotSupp),
        ("an unknown one", Sqe { op: 77, ..right }, Status::NotSupp),
        (
            "the end of a message",
            Sqe {
                op: abi::OP_SEND_END,
                ..right
            },
            Status::NotSupp,
        ),
        (
            "a completion's",
            Sqe {
                op: abi::OP_RECV,
                ..right
            },
            Status::NotSupp,
        ),
        (
            "to the peer's memory",
            Sqe {
                op: abi::OP_WRITE,
                remote: (64, 1),
                ..right
            },
            Status::NotSupp,
        ),
        (
            "with immediate",
            Sqe {
                op: abi::OP_WRITE_IMM,
                remote: (64, 1),
                ..right
            },
            Status::NotSupp,
        ),
        (
            "from the peer's memory",
            Sqe {
                op: abi::OP_READ,
                remote: (64, 1),
                ..right
            },
            Status::NotSupp,
        ),
        (
            "unknown flags",
            Sqe {
                flags: 0x81,
                ..right
            },
            Status::Inval,
        ),
        (
            "reserved",
            Sqe {
                reserved: 1,
                ..right
            },
            Status::Inval,
        ),
        (
            "a remote address",
            Sqe {
                remote: (8, 0),
                ..right
            },
            Status::Inval,
        ),
        (
            "a remote key",
            Sqe {
                remote: (0, 8),
                ..right
            },
            Status::Inval,
        ),
        ("immediate", Sqe { imm: 1, ..right }, Status::Inval),
        ("three segments", Sqe { nsge: 3, ..right }, Status::Inval),
        ("no segment", Sqe { nsge: 0, ..right }, Status::Inval),
        (
            "more than is said",
            Sqe { total: 65, ..right },
            Status::Inval,
        ),
        (
            "less than is said",
            Sqe { total: 63, ..right },
            Status::Inval,
        ),
        (
            "nothing",
            Sqe {
                total: 0,
                nsge: 0,
                sge: [nothing; 2],
                ..right
            },
            Status::Inval,
        ),
        ("an empty segment", Sqe { nsge: 2, ..right }, Status::Inval),
        (
            "a segment that is not counted",
            Sqe {
                sge: [at, at],
                ..right
            },
            Status::Inval,
        ),
        (
            "too much",
            Sqe {
                total: u32::MAX,
                sge: [by_address(0, u32::MAX), nothing],
                ..right
            },
            Status::Inval,
        ),
        (
            "an end with bytes",
            Sqe {
                op: abi::OP_FIN,
                ..right
            },
            Status::Inval,
        ),
        ("a table of nothing", table(0), Status::Inval),
        ("a table of half segments", table(24), Status::Inval),
        ("a table too long", table(16 * 1024), Status::Inval),
        ("a table of zeros", table(32), Status::Inval),
        (
            "a table where nothing is",
            Sqe {
                nsge: abi::SGE_TABLE,
                ..with(by_address(USUAL_RAM, 32))
            },
            Status::Fault,
        ),
        (
            "where nothing is",
            with(by_address(USUAL_RAM, 64)),
            Status::Fault,
        ),
        (
            "across the end",
            with(by_address(USUAL_RAM - 32, 64)),
            Status::Fault,
        ),
        (
            "around the end",
            with(key(u64::MAX - 8, 64, 0)),
            Status::Inval,
        ),
        (
            "a key of nothing",
            with(key(0, 64, 0x0fff_ff01)),
            Status::NoEnt,
        ),
        (
            "a key of before",
            with(key(0, 64, read_key ^ 1)),
            Status::NoEnt,
        ),
        (
            "a region to be written",
            with(key(0, 64, write_key)),
            Status::Perm,
        ),
        (
            "beyond the region",
            with(key(4096, 64, read_key)),
            Status::Fault,
        ),
        (
            "across its end",
            with(key(4096 - 32, 64, read_key)),
            Status::Fault,
        ),
        (
            "before the region",
            with(key(u64::MAX - 128, 64, read_key)),
            Status::Fault,
        ),
    ]
}

fn sends(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    for index in 0.. {
        driver.restart(world.features())?;
        driver.ram().zero(BUFFERS, 4096);
        let mut pair = Pair::new(&mut driver, world.own)?;
        let region = |access| mr(0, access, 0, &[(addr(BUFFERS), 4096)]);
        let read = driver.order(Op::MrReg, 0, &region(abi::MR_READ))?.u32(0);
        let write = driver.order(Op::MrReg, 0, &region(abi::MR_WRITE))?.u32(0);
        let all = wrong_sends(read, write);
        let Some((what, entry, status)) = all.get(index) else {
            return Ok(());
        };
        pair.ends[0].put_send(&entry.encode());
        // one behind it, which is not carried out
        pair.ends[0].put_send(&Sqe::send(6, by_address(BUFFERS, 64)).encode());
        pair.ends[0].tell(&mut driver)?;
        let cqe = pair.cq.wait(&mut driver)?;
        want(what, cqe.status, *status)?;
        ensure!(cqe.wr_id == 5, "{what}: {cqe:?}");
        failed(&mut driver, &pair, 0, *status).context(*what)?;
        let cqe = pair.cq.wait(&mut driver)?;
        want(what, cqe.status, Status::Canceled)?;
        ensure!(cqe.wr_id == 6, "{what}: {cqe:?}");
    }
    Ok(())
}

/// Receive entries, each wrong in one thing.
fn wrong_receives(read_key: u32) -> Vec<(&'static str, Wire, Status)> {
    let right = by_address(INTO, 64);
    let with = |sge| rqe(5, sge);
    let reserved = Wire([&rqe(5, right).0[..24], &[1; 8]].concat());
    let key = |addr, key| Sge { addr, len: 64, key };
    vec![
        ("empty", with(by_address(INTO, 0)), Status::Inval),
        ("reserved", reserved, Status::Inval),
        (
            "where nothing is",
            with(by_address(USUAL_RAM, 64)),
            Status::Fault,
        ),
        ("around the end", with(key(u64::MAX - 8, 0)), Status::Inval),
        ("a key of nothing", with(key(0, 0x0fff_ff01)), Status::NoEnt),
        ("a region to be read", with(key(0, read_key)), Status::Perm),
    ]
}

fn receives(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    for index in 0.. {
        driver.restart(world.features())?;
        let mut pair = Pair::new(&mut driver, world.own)?;
        let region = mr(0, abi::MR_READ, 0, &[(addr(BUFFERS), 4096)]);
        let key = driver.order(Op::MrReg, 0, &region)?.u32(0);
        let all = wrong_receives(key);
        let Some((what, entry, status)) = all.get(index) else {
            return Ok(());
        };
        pair.ends[1].put_receive(entry);
        pair.ends[1].tell(&mut driver)?;
        pair.ends[0].put_send(&Sqe::send(6, by_address(BUFFERS, 64)).encode());
        pair.ends[0].tell(&mut driver)?;
        failed(&mut driver, &pair, 1, *status).context(*what)?;
        let seen: Vec<_> = std::iter::from_fn(|| pair.cq.take()).collect();
        let found = seen.iter().find(|cqe| cqe.wr_id == 5).context(*what)?;
        want(what, found.status, *status)?;
    }
    Ok(())
}

/// Buffers one behind the other, the last of them beyond what may be written: those before are filled, and
/// nothing else is.
fn adjoining(world: &Conformance) -> Result<()> {
    const BUFFERS_BEFORE: u64 = 4;
    const ROOM: u32 = 1024;
    let all = BUFFERS_BEFORE * u64::from(ROOM);
    let mut driver = world.driver()?;
    let status = Status::Fault;
    for (what, into, in_region) in [
        ("beyond a region", INTO, true),
        ("beyond the memory", USUAL_RAM - all, false),
    ] {
        driver.restart(FEATURES)?;
        let mut pair = Pair::new(&mut driver, world.own)?;
        let ram = driver.ram();
        let key = if in_region {
            let region = mr(addr(into), abi::MR_WRITE, 0, &[(addr(into), all)]);
            ram.zero(into + all, ROOM as usize);
            driver.order(Op::MrReg, 0, &region)?.u32(0)
        } else {
            abi::LKEY_IOVA
        };
        let data = pattern(all as usize + 64);
        ram.write(BUFFERS, &data);
        let send = Sqe::send(77, by_address(BUFFERS, data.len() as u32));
        pair.ends[0].put_send(&send.encode());
        pair.ends[0].tell(&mut driver)?;
        // the transport has all of it; how much lies there when the buffers come does not matter
        while pair.cq.wait(&mut driver)?.wr_id != 77 {}
        for buffer in 0..=BUFFERS_BEFORE {
            let at = into + buffer * u64::from(ROOM);
            let sge = Sge {
                key,
                ..by_address(at, ROOM)
            };
            pair.ends[1].put_receive(&rqe(buffer, sge));
        }
        pair.ends[1].tell(&mut driver)?;
        let mut came = Vec::new();
        for buffer in 0..BUFFERS_BEFORE {
            let cqe = pair.cq.wait(&mut driver)?;
            want(what, cqe.status, Status::Ok)?;
            ensure!(cqe.wr_id == buffer && cqe.len > 0, "{what}: {cqe:?}");
            let mut bytes = vec![0; cqe.len as usize];
            ram.read(into + buffer * u64::from(ROOM), &mut bytes);
            came.extend(bytes);
        }
        ensure!(data.starts_with(&came), "{what}: other bytes came");
        let cqe = pair.cq.wait(&mut driver)?;
        want(what, cqe.status, status)?;
        ensure!(
            cqe.wr_id == BUFFERS_BEFORE && cqe.len == 0,
            "{what}: {cqe:?}"
        );
        failed(&mut driver, &pair, 1, status).context(what)?;
        if in_region {
            let mut behind = vec![1; ROOM as usize];
            ram.read(into + all, &mut behind);
            ensure!(behind.iter().all(|&byte| byte == 0), "{what}: written");
        }
    }
    Ok(())
}

/// Memory that another device has registered, also for its peers, cannot be named here.
fn foreign_keys(world: &Conformance) -> Result<()> {
    let mut other = Driver::start(&world.other, FEATURES)?;
    let access = abi::MR_READ | abi::MR_WRITE | abi::MR_REMOTE_READ | abi::MR_REMOTE_WRITE;
    let region = mr(0, access, 0, &[(addr(BUFFERS), 4096)]);
    let keys = other.order(Op::MrReg, 0, &region)?;
    other.ram().write(BUFFERS, &[0xee; 4096]);
    let (lkey, rkey) = (keys.u32(0), keys.u32(1));
    let mut driver = world.driver()?;
    let local = |key| {
        Sqe::send(
            5,
            Sge {
                addr: 0,
                len: 64,
                key,
            },
        )
    };
    let remote = |op| Sqe {
        op,
        remote: (0, rkey),
        ..Sqe::send(5, by_address(BUFFERS, 64))
    };
    for (what, entry, status) in [
        ("its local key", local(lkey), Status::NoEnt),
        ("its remote key", local(rkey), Status::NoEnt),
        ("to write there", remote(abi::OP_WRITE), Status::NotSupp),
        ("to read there", remote(abi::OP_READ), Status::NotSupp),
    ] {
        driver.restart(world.features())?;
        let mut pair = Pair::new(&mut driver, world.own)?;
        for op in [Op::MrDereg, Op::MrAdvise] {
            let payload = match op {
                Op::MrDereg => wire().u32(lkey).u32(0),
                _ => wire().u32(lkey).u32(1).u64(0).u64(64),
            };
            super::answers(&mut driver, what, op, 0, &payload, Status::NoEnt)?;
        }
        pair.ends[0].put_send(&entry.encode());
        pair.ends[0].tell(&mut driver)?;
        failed(&mut driver, &pair, 0, status).context(what)?;
    }
    let mut bytes = vec![0; 4096];
    other.ram().read(BUFFERS, &mut bytes);
    ensure!(bytes == [0xee; 4096], "its memory was changed");
    Ok(())
}

fn quiesced(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let mut pair = Pair::new(&mut driver, world.own)?;
    driver.order(Op::Quiesce, 0, &wire())?;
    let entry = Sqe::send(5, by_address(BUFFERS, 64));
    pair.ends[0].put_send(&entry.encode());
    pair.ends[0].tell(&mut driver)?;
    driver.ring_bell(pair.ends[0].slot)?;
    // commands are answered meanwhile
    for _ in 0..10 {
        driver.stats()?;
    }
    ensure!(pair.cq.take().is_none(), "sent while quiesced");
    driver.order(Op::Resume, 0, &wire())?;
    let cqe = pair.cq.wait(&mut driver)?;
    ensure!(cqe.wr_id == 5 && cqe.status == 0, "{cqe:?}");
    Ok(())
}
