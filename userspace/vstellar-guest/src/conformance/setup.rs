// SPDX-License-Identifier: GPL-2.0
//! Configuration space, features, queues, and what ends a driver's work.

use super::must_fail;
use super::Conformance;
use super::Test;
use crate::driver::Driver;
use crate::driver::COMMANDS;
use crate::driver::COMMAND_BYTES;
use crate::driver::USUAL_RAM;
use crate::machine::bit;
use crate::machine::pinned_kb;
use crate::machine::scaled;
use crate::machine::Machine;
use crate::machine::Waited;
use crate::machine::ACCESS_PLATFORM;
use crate::machine::CONTROL;
use crate::machine::DRIVER_OK;
use crate::machine::EVENT_IDX;
use crate::machine::FEATURES;
use crate::machine::FEATURES_OK;
use crate::machine::MANDATORY;
use crate::machine::MOMENT;
use crate::machine::PATIENCE;
use crate::machine::SIZE_MAX;
use crate::machine::STEPS;
use crate::machine::VERSION_1;
use crate::ram::addr;
use crate::ram::Ram;
use crate::wire;
use anyhow::bail;
use anyhow::ensure;
use anyhow::Result;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;
use vhost::vdpa::VhostVdpa;
use vstellar_core::abi;
use vstellar_core::bytes::Fields;
use vstellar_core::control::Op;
use vstellar_core::device::CONFIG_SIZE;

pub(super) const TESTS: &[(&str, Test)] = &[
    ("the configuration can be read", config),
    ("features are negotiated", features),
    ("queues are set up", queues),
    ("suspended and resumed", suspend),
    ("others are heard between long commands", between_commands),
    ("event indices of the queues are honoured", event_index),
    ("reset under load", reset),
    ("memory taken away under load", unmap),
];

/// How often something is done under load.
const ROUNDS: u32 = 100;

fn open(world: &Conformance) -> Result<Machine> {
    Machine::open(&world.device, Ram::new(USUAL_RAM)?)
}

fn config(world: &Conformance) -> Result<()> {
    let machine = open(world)?;
    let vdpa = machine.vdpa();
    ensure!(vdpa.get_device_id()? == 60, "device ID");
    ensure!(vdpa.get_config_size()? as usize == CONFIG_SIZE, "size");
    ensure!(vdpa.get_vqs_count()? == 3, "queues");
    let mut space = [0; CONFIG_SIZE];
    vdpa.get_config(0, &mut space)?;
    let mut fields = Fields::new(&space);
    let mut next = || fields.take32().expect("the space is longer");
    ensure!(next() == abi::MAGIC, "magic");
    ensure!(next() == 0x1_0001, "revisions");
    ensure!(next() == abi::S_LINK_UP, "status");
    // endpoints, memory regions, completion queues, depths, segments and stride
    let limits = [next(), next(), next(), next(), next()];
    ensure!(limits[..3] == [4096, 1024, 64], "limits {limits:?}");
    ensure!(limits[4] >> 16 == u32::from(abi::DB_STRIDE), "stride");
    let beyond = vdpa.get_config(CONFIG_SIZE as u32 + 1, &mut [0]);
    must_fail("a look beyond it", beyond.map_err(Into::into))
}

fn features(world: &Conformance) -> Result<()> {
    let machine = open(world)?;
    // a step that is not taken is seen by reading it back
    for (written, read) in [
        (STEPS, STEPS),
        (STEPS | FEATURES_OK, STEPS),
        (STEPS | DRIVER_OK, STEPS),
    ] {
        machine.set_status(written)?;
        ensure!(machine.status()? == read, "status {:#x}", machine.status()?);
    }
    let wrong = [
        ("without VERSION_1", FEATURES & !VERSION_1),
        ("without doorbells", VERSION_1),
        ("packed rings", FEATURES | bit(34)),
        ("indirect descriptors", FEATURES | bit(28)),
        ("doorbells in shared memory", FEATURES | bit(6)),
        ("messages", FEATURES | bit(abi::F_MSG)),
    ];
    for (what, features) in wrong {
        must_fail(what, machine.set_features(features))?;
    }
    // offered where the operator has allowed it, and nobody has to take it
    let lends = machine.set_features(FEATURES | bit(abi::F_ZC));
    ensure!(
        lends.is_ok() == world.zerocopy,
        "zero copy: {lends:?}, and wanted: {}",
        world.zerocopy
    );
    // a machine without an IOMMU: its addresses are what is mapped
    machine.set_features(FEATURES & !ACCESS_PLATFORM)?;
    machine.set_features(FEATURES)?;
    machine.set_status(STEPS | FEATURES_OK)?;
    ensure!(
        machine.status()? == STEPS | FEATURES_OK,
        "features not taken"
    );
    must_fail("another choice", machine.set_features(MANDATORY))?;
    machine.set_status(0)?;
    ensure!(machine.status()? == 0, "not reset");
    machine.set_features(MANDATORY)
}

fn queues(world: &Conformance) -> Result<()> {
    let mut machine = Machine::start(&world.device, Ram::new(USUAL_RAM)?, world.features())?;
    let mut odd = machine.queues[CONTROL].layout();
    odd.desc_table_addr += 8;
    must_fail(
        "a change while it is in use",
        machine.set_vring_addr(CONTROL, &odd),
    )?;
    must_fail("a fourth queue", machine.set_vring_num(3, 8))?;
    machine.reset()?;
    must_fail("an odd address", machine.set_vring_addr(CONTROL, &odd))?;
    // a monitor may give all of them the same size
    machine.set_status(STEPS)?;
    machine.set_features(FEATURES)?;
    machine.set_status(STEPS | FEATURES_OK)?;
    machine.set_up(CONTROL, SIZE_MAX, false)?;
    machine.set_status(STEPS | FEATURES_OK | DRIVER_OK)?;
    let queue = &mut machine.queues[CONTROL];
    queue.describe_command(0, (COMMANDS, 16), (COMMANDS + COMMAND_BYTES / 2, 16));
    queue.offer(0);
    queue.kick()?;
    machine.wait(CONTROL, PATIENCE)?.came()?;
    machine.reset()?;
    must_fail(
        "a queue that is too large",
        machine.set_vring_num(CONTROL, 2 * SIZE_MAX),
    )
}

/// A suspended device takes nothing, and misses nothing.
fn suspend(world: &Conformance) -> Result<()> {
    let mut driver = world.driver()?;
    driver.stats()?;
    for _ in 0..10 {
        driver.machine.suspend()?;
        // the command of before once more
        driver.machine.queues[CONTROL].offer(0);
        driver.machine.queues[CONTROL].kick()?;
        let waited = driver.machine.wait(CONTROL, MOMENT / 10)?;
        ensure!(waited == Waited::Nothing, "suspended, but {waited:?}");
        driver.machine.resume()?;
        driver.machine.wait(CONTROL, PATIENCE)?.came()?;
    }
    // its machine may set it back, as one does that restores an earlier state
    driver.machine.suspend()?;
    driver.machine.rewind(CONTROL)?;
    driver.machine.resume()?;
    driver.stats()?;
    Ok(())
}

/// As many commands as the queue has room for, each of which takes long, are no reason for others to wait
/// for all of them. Whoever asks for the status waits for the device's work.
fn between_commands(world: &Conformance) -> Result<()> {
    const COUNT: u16 = 32;
    let (ram, len) = (64 << 20, 60 << 20);
    let mut driver = Driver::with_ram(&world.device, Ram::new(ram)?, world.features())?;
    let region = wire::mr(0, abi::MR_READ, abi::MR_LAZY, &[(addr(ram - len), len)]);
    let key = driver.order(Op::MrReg, 0, &region)?.u32(0);
    let ram = driver.ram();
    // which may be too late for all of them, if this process was not let run
    for _ in 0..20 {
        let queue = &mut driver.machine.queues[CONTROL];
        for index in 0..COUNT {
            // pin all of it, let go of all of it
            let advice = wire::wire().u32(key).u32(1 + u32::from(index % 2));
            let advice = advice.u64(0).u64(len);
            let request = wire::request(wire::code(Op::MrAdvise), 0, 0, &advice.0);
            let at = COMMANDS + u64::from(index) * COMMAND_BYTES;
            ram.write(at, &request.0);
            let request = (at, request.0.len() as u32);
            queue.describe_command(2 * index, request, (at + COMMAND_BYTES / 2, 16));
            queue.prepare(2 * index);
        }
        queue.publish(queue.next);
        queue.kick()?;
        let end = Instant::now() + scaled(PATIENCE);
        while !queue.has_used() {
            ensure!(Instant::now() < end, "no command is answered");
            thread::yield_now();
        }
        driver.machine.status()?;
        let answered = driver.machine.queues[CONTROL].came_back();
        for _ in 0..COUNT {
            let used = driver.machine.wait(CONTROL, PATIENCE)?.came()?;
            ensure!(used.len == 16, "{} bytes were written", used.len);
        }
        if answered < COUNT {
            return Ok(());
        }
    }
    bail!("nobody was heard before all commands were answered")
}

/// Every command is answered although not every one is kicked, and with fewer calls than answers.
fn event_index(world: &Conformance) -> Result<()> {
    let mut driver = Driver::start(&world.device, world.features() | EVENT_IDX)?;
    for _ in 0..200 {
        driver.stats()?;
    }
    Ok(())
}

/// Does `f` while all queues of the device are kicked all the time.
fn kicked(driver: &mut Driver, f: impl FnOnce(&mut Driver) -> Result<()>) -> Result<()> {
    let stop = AtomicBool::new(false);
    let queues = driver.machine.queues.iter();
    let kicks: Vec<_> = queues
        .map(|queue| queue.kick.try_clone())
        .collect::<Result<_, _>>()?;
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for kick in &kicks {
                    // a counter that is full is as good
                    let _ = kick.write(1);
                }
            }
        });
        let result = f(driver);
        stop.store(true, Ordering::Relaxed);
        result
    })
}

/// Reset while commands are on their way and everything is kicked.
fn reset(world: &Conformance) -> Result<()> {
    kicked(&mut world.driver()?, |driver| {
        for _ in 0..ROUNDS {
            driver.stats()?;
            // one more, whose answer is not waited for
            driver.machine.queues[CONTROL].offer(0);
            driver.restart(world.features())?;
        }
        Ok(())
    })
}

/// The machine takes memory away while it is in use, and gives it back.
fn unmap(world: &Conformance) -> Result<()> {
    kicked(&mut world.driver()?, |driver| {
        for _ in 0..ROUNDS {
            driver.machine.queues[CONTROL].offer(0);
            driver.machine.queues[CONTROL].kick()?;
            driver.machine.unmap_ram()?;
            ensure!(
                pinned_kb()? == 0,
                "unmapped, and {} kB pinned",
                pinned_kb()?
            );
            driver.machine.map_ram()?;
            driver.restart(world.features())?;
        }
        Ok(())
    })
}
