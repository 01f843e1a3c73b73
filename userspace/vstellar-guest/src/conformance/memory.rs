// SPDX-License-Identifier: GPL-2.0
//! Mapping, and pinning on first use.

use super::must_fail;
use super::want;
use super::Conformance;
use super::Test;
use crate::driver::Driver;
use crate::driver::BUFFERS;
use crate::driver::COMMANDS;
use crate::driver::DB_PAGES;
use crate::driver::USUAL_RAM;
use crate::machine::pinned_kb;
use crate::machine::scaled;
use crate::machine::Machine;
use crate::machine::CONTROL;
use crate::machine::FEATURES;
use crate::machine::MOMENT;
use crate::machine::PATIENCE;
use crate::queue::Used;
use crate::queue::DESC_NEXT;
use crate::queue::DESC_WRITE;
use crate::ram::addr;
use crate::ram::Ram;
use crate::ram::BASE;
use crate::sys;
use crate::sys::Mapping;
use crate::wire;
use crate::wire::Response;
use anyhow::ensure;
use anyhow::Result;
use std::path::Path;
use std::thread;
use std::time::Instant;
use vhost::vdpa::VhostVdpa;
use virtio_queue::desc::split::Descriptor;
use vstellar_core::control::Op;
use vstellar_core::status::Status;

pub(super) const TESTS: &[(&str, Test)] = &[
    ("memory is mapped by its rights", map),
    ("without memory no address means anything", nothing_mapped),
    ("memory is pinned when it is used", pinned),
    ("no more is pinned than the device may", quota),
    ("rings and regions leave room for the virtqueues", filled),
    (
        "the device does not write where it may only read",
        read_only,
    ),
    ("memory that is not there is not written", not_there),
    ("memory of another device is not there", of_another),
    ("memory whose file was cut off is not there", cut_off),
    (
        "what is written to memory that was only reserved stays",
        reserved,
    ),
];

/// Where the configuration space says how much may be pinned.
const PIN_QUOTA: u32 = 40;

/// What is pinned at once.
const BLOCK: u64 = 2 << 20;

fn map(world: &Conformance) -> Result<()> {
    let machine = Machine::open(&world.device, Ram::new(USUAL_RAM)?)?;
    let ram = machine.ram.host_address()?;
    machine.map(BASE, BLOCK, ram, false)?;
    must_fail("the same again", machine.map(BASE, BLOCK, ram, false))?;
    must_fail(
        "an odd address",
        machine.map(BASE + BLOCK + 8, BLOCK, ram, false),
    )?;
    must_fail("an address beyond", machine.map(1 << 63, BLOCK, ram, false))?;
    // what was unmapped can be mapped, and what was not mapped be unmapped
    machine.unmap(BASE, BLOCK)?;
    machine.map(BASE, BLOCK, ram, false)?;
    machine.unmap(0, BASE + USUAL_RAM)?;
    machine.unmap(0, BASE + USUAL_RAM)?;

    // a file that was sealed against writing, by who may write to it
    let sealed = sys::memfd(c"sealed")?;
    sealed.set_len(BLOCK)?;
    sys::seal(&sealed, libc::F_SEAL_FUTURE_WRITE)?;
    let mapping = Mapping::new(Some(&sealed), BLOCK as usize)?;
    must_fail(
        "a sealed file, to write",
        machine.map(BASE, BLOCK, mapping.start(), false),
    )?;
    machine.map(BASE, BLOCK, mapping.start(), true)?;
    machine.unmap(BASE, BLOCK)?;

    // and the other way round: it cannot be sealed while the device may write
    let later = sys::memfd(c"sealed later")?;
    later.set_len(BLOCK)?;
    let mapping = Mapping::new(Some(&later), BLOCK as usize)?;
    machine.map(BASE, BLOCK, mapping.start(), false)?;
    drop(mapping);
    let seal = || sys::seal(&later, libc::F_SEAL_WRITE);
    must_fail("a seal", seal().map_err(Into::into))?;
    machine.unmap(BASE, BLOCK)?;
    // the device lets go of the file a moment later, and tells nobody
    let end = Instant::now() + scaled(PATIENCE);
    while seal().is_err() {
        ensure!(Instant::now() < end, "the file cannot be sealed any more");
        thread::yield_now();
    }

    // private memory is left out, and nobody is told; the device has no access then
    let private = Mapping::new(None, BLOCK as usize)?;
    machine.map(BASE, BLOCK, private.start(), false)?;
    ensure!(pinned_kb()? == 0, "{} kB are pinned", pinned_kb()?);
    Ok(())
}

/// Nothing is mapped: no address means anything, not even a physical one.
fn nothing_mapped(world: &Conformance) -> Result<()> {
    let mut machine = Machine::start(&world.device, Ram::new(USUAL_RAM)?, world.features())?;
    machine.unmap_ram()?;
    machine.queues[CONTROL].offer(0);
    machine.queues[CONTROL].kick()?;
    ensure!(machine.wait_broken(MOMENT)?, "the queue was found");
    ensure!(!machine.queues[CONTROL].has_used(), "a chain came back");
    Ok(())
}

/// Only what was used is pinned, and for as long as it is mapped.
fn pinned(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    driver.stats()?;
    // the rings and the commands are in the first block
    ensure!(
        pinned_kb()? == BLOCK >> 10,
        "{} kB are pinned",
        pinned_kb()?
    );
    driver.machine.unmap_ram()?;
    ensure!(
        pinned_kb()? == 0,
        "unmapped, and {} kB are pinned",
        pinned_kb()?
    );
    Ok(())
}

/// Uses more than may be pinned: what was not used for longest makes room.
fn quota(world: &Conformance) -> Result<()> {
    use_all(&world.small, (3 * BLOCK) >> 10)
}

/// The device may pin three blocks. Rings and a region have two, and the virtqueues are in neither of
/// these: the third stays theirs.
fn filled(world: &Conformance) -> Result<()> {
    let machine = Machine::start(&world.small, Ram::new(USUAL_RAM)?, FEATURES)?;
    let mut driver = Driver::silent(machine);
    driver.order(Op::Hello, 0, &wire::hello())?;
    let at = |block: u64| addr(block * BLOCK);
    let attach = wire::wire().u64(at(1)).u32(DB_PAGES).u32(0);
    driver.order(Op::DbAttach, 0, &attach)?;
    let region = |block| wire::mr(0, vstellar_core::abi::MR_READ, 0, &[(at(block), BLOCK)]);
    let held = driver.order(Op::MrReg, 0, &region(2))?.u32(0);
    let cq = wire::cq(at(3), 4, 0, 0, 0);
    for _ in 0..3 {
        let quota = Status::Quota;
        super::answers(
            &mut driver,
            "a further one",
            Op::MrReg,
            0,
            &region(3),
            quota,
        )?;
        super::answers(&mut driver, "a further block", Op::CqCreate, 0, &cq, quota)?;
        for place in 0..USUAL_RAM / BLOCK {
            let answer = answered_at(&mut driver, place * BLOCK + 0x1_0000)?;
            want("a response elsewhere", answer.status, Status::Ok)?;
        }
    }
    // where one went another has room
    driver.order(Op::MrDereg, 0, &wire::wire().u32(held).u32(0))?;
    driver.order(Op::CqCreate, 0, &cq)?;
    let stats = driver.stats()?;
    ensure!(
        stats.peak() <= 3 * BLOCK && stats.failures() == 0,
        "{} bytes were pinned, {} were not",
        stats.peak(),
        stats.failures()
    );
    Ok(())
}

/// Uses more of memory than may be pinned.
pub(crate) fn use_all(device: &Path, most_kb: u64) -> Result<()> {
    let machine = Machine::start(device, Ram::new(USUAL_RAM)?, FEATURES)?;
    let mut quota = [0; 8];
    machine.vdpa().get_config(PIN_QUOTA, &mut quota)?;
    let quota = u64::from_le_bytes(quota);
    ensure!(quota == most_kb << 10, "it says {quota} bytes");
    let mut driver = Driver::silent(machine);
    driver.order(Op::Hello, 0, &wire::hello())?;
    for at in (0..3 * USUAL_RAM).step_by(BLOCK as usize) {
        // a response in each block in turn
        let answer = answered_at(&mut driver, at % USUAL_RAM + 0x1_0000)?;
        want("a response elsewhere", answer.status, Status::Ok)?;
        ensure!(pinned_kb()? <= most_kb, "{} kB are pinned", pinned_kb()?);
    }
    let stats = driver.stats()?;
    ensure!(
        stats.evictions() > 0 && stats.failures() == 0,
        "nothing made room"
    );
    ensure!(
        stats.peak() <= most_kb << 10,
        "{} bytes were pinned",
        stats.peak()
    );
    Ok(())
}

/// DEV_STATS, with its response at a place.
fn answered_at(driver: &mut Driver, at: u64) -> Result<Response> {
    let used = stats_at(driver, addr(at))?;
    let mut written = vec![0; used.len as usize];
    driver.ram().read(at, &mut written);
    Response::parse(&written)
}

/// DEV_STATS, with its response at an address.
fn stats_at(driver: &mut Driver, at: u64) -> Result<Used> {
    let request = wire::request(wire::code(Op::DevStats), 7, 0, &[]);
    driver.ram().write(COMMANDS, &request.0);
    let queue = &mut driver.machine.queues[CONTROL];
    let len = request.0.len() as u32;
    queue.describe(0, Descriptor::new(addr(COMMANDS), len, DESC_NEXT, 1));
    let room = wire::RESPONSE_MAX as u32;
    queue.describe(1, Descriptor::new(at, room, DESC_WRITE, 0));
    queue.offer(0);
    queue.kick()?;
    driver.machine.wait(CONTROL, PATIENCE)?.came()
}

/// A response, and rings that the device writes, in memory that it may only read.
fn read_only(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let only = sys::memfd(c"only")?;
    only.set_len(BLOCK)?;
    let mapping = Mapping::new(Some(&only), BLOCK as usize)?;
    let far = BASE + 2 * USUAL_RAM;
    driver.machine.map(far, BLOCK, mapping.start(), true)?;
    let cq = wire::cq(far, 4, 0, 0, 0);
    super::answers(
        &mut driver,
        "ring to be read only",
        Op::CqCreate,
        0,
        &cq,
        Status::Perm,
    )?;
    let region = wire::mr(0, vstellar_core::abi::MR_WRITE, 0, &[(far, 4096)]);
    super::answers(
        &mut driver,
        "to be read only",
        Op::MrReg,
        0,
        &region,
        Status::Perm,
    )?;
    let region = wire::mr(0, vstellar_core::abi::MR_READ, 0, &[(far, 4096)]);
    super::answers(&mut driver, "to be read", Op::MrReg, 0, &region, Status::Ok)?;
    // a response there comes back empty, and the device goes on
    respond_at(&mut driver, far)?;
    driver.stats()?;
    Ok(())
}

fn not_there(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    respond_at(&mut driver, BASE + USUAL_RAM)?;
    // half of it is there
    respond_at(&mut driver, BASE + USUAL_RAM - 8)?;
    // the request is not
    let request = Descriptor::new(BASE - 64, 16, DESC_NEXT, 1);
    let response = Descriptor::new(addr(BUFFERS), 144, DESC_WRITE, 0);
    driver.machine.queues[CONTROL].describe(0, request);
    driver.machine.queues[CONTROL].describe(1, response);
    driver.machine.queues[CONTROL].offer(0);
    driver.machine.queues[CONTROL].kick()?;
    came_back_empty(&driver.machine.wait(CONTROL, PATIENCE)?.came()?)?;
    driver.stats()?;
    Ok(())
}

/// A command whose response would be at an address that cannot be written.
fn respond_at(driver: &mut Driver, at: u64) -> Result<()> {
    came_back_empty(&stats_at(driver, at)?)
}

fn came_back_empty(used: &Used) -> Result<()> {
    ensure!(used.len == 0, "{} bytes were written", used.len);
    Ok(())
}

/// What only another device was given, by the same process even.
fn of_another(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let other = Machine::open(&world.other, Ram::new(USUAL_RAM)?)?;
    let far = BASE + 2 * USUAL_RAM;
    other.map(far, BLOCK, other.ram.host_address()?, false)?;
    let region = wire::mr(0, vstellar_core::abi::MR_READ, 0, &[(far, 4096)]);
    super::answers(&mut driver, "there", Op::MrReg, 0, &region, Status::Fault)?;
    let cq = wire::cq(far, 4, 0, 0, 0);
    super::answers(&mut driver, "there", Op::CqCreate, 0, &cq, Status::Fault)?;
    respond_at(&mut driver, far)?;
    let mut bytes = [0; wire::RESPONSE_MAX];
    other.ram.read(0, &mut bytes);
    ensure!(bytes == [0; wire::RESPONSE_MAX], "it was written");
    driver.stats()?;
    Ok(())
}

/// A file of the machine's gets shorter: what is pinned stays, and the rest is not pinned any more.
fn cut_off(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let file = sys::memfd(c"cut off")?;
    file.set_len(2 * BLOCK)?;
    let mapping = Mapping::new(Some(&file), 2 * BLOCK as usize)?;
    let far = BASE + 2 * USUAL_RAM;
    driver.machine.map(far, 2 * BLOCK, mapping.start(), true)?;
    let lazy = vstellar_core::abi::MR_LAZY;
    let region = wire::mr(0, vstellar_core::abi::MR_READ, lazy, &[(far, 2 * BLOCK)]);
    let key = driver.order(Op::MrReg, 0, &region)?.u32(0);
    let prefetch = |offset| wire::wire().u32(key).u32(1).u64(offset).u64(64);
    driver.order(Op::MrAdvise, 0, &prefetch(0))?;
    let pinned = pinned_kb()?;
    file.set_len(0)?;
    driver.order(Op::MrAdvise, 0, &prefetch(64))?;
    super::answers(
        &mut driver,
        "cut off",
        Op::MrAdvise,
        0,
        &prefetch(BLOCK),
        Status::Fault,
    )?;
    ensure!(pinned_kb()? == pinned, "{} kB are pinned", pinned_kb()?);
    driver.machine.unmap(far, 2 * BLOCK)?;
    let left = pinned - (BLOCK >> 10);
    ensure!(pinned_kb()? == left, "{} kB stay pinned", pinned_kb()?);
    Ok(())
}

/// Memory of the machine's that is there and was never looked at: what the device writes first is not
/// cleared by who looks at it then.
fn reserved(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    let file = sys::memfd(c"reserved")?;
    sys::reserve(&file, BLOCK)?;
    let mapping = Mapping::new(Some(&file), BLOCK as usize)?;
    let far = BASE + 2 * USUAL_RAM;
    driver.machine.map(far, BLOCK, mapping.start(), false)?;
    let places = [0, 0x5000, BLOCK - 0x1000];
    for at in places {
        let used = stats_at(&mut driver, far + at)?;
        ensure!(used.len > 0, "nothing was written");
    }
    let mut bytes = mapping.bytes();
    for at in places {
        let (response, rest) = bytes[at as usize..].split_at_mut(wire::RESPONSE_MAX);
        let answer = Response::parse(response)?;
        ensure!(answer.cookie == 7, "what was written at {at:#x} has gone");
        want("statistics", answer.status, Status::Ok)?;
        response.fill(0);
        ensure!(
            rest[..1024].iter().all(|&byte| byte == 0),
            "it was not empty"
        );
    }
    Ok(())
}
