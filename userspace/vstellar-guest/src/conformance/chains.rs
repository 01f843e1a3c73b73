// SPDX-License-Identifier: GPL-2.0
//! Descriptor chains that break the rules. Each breaks the queue, and nothing else.

use super::Conformance;
use super::Test;
use crate::driver::Driver;
use crate::driver::BUFFERS;
use crate::driver::COMMANDS;
use crate::driver::USUAL_RAM;
use crate::machine::Machine;
use crate::machine::CONTROL;
use crate::machine::FEATURES;
use crate::machine::PATIENCE;
use crate::machine::SIZES;
use crate::queue::DESC_INDIRECT;
use crate::queue::DESC_NEXT;
use crate::queue::DESC_WRITE;
use crate::ram::addr;
use crate::ram::Ram;
use anyhow::ensure;
use anyhow::Context;
use anyhow::Result;
use vhost::vdpa::VhostVdpa;
use virtio_queue::desc::split::Descriptor;
use vstellar_core::abi;

pub(super) const TESTS: &[(&str, Test)] = &[
    ("chains that break the rules break the queue", chains),
    ("more chains than the queue has room for break it", overrun),
    ("a chain as long as allowed is taken", longest),
];

/// Descriptors from number 0 on, and the head.
type Chain = (&'static str, &'static [(u64, u32, u16, u16)], u16);

const CHAINS: &[Chain] = &[
    ("loop", &[(COMMANDS, 16, DESC_NEXT, 0)], 0),
    (
        "longer loop",
        &[(COMMANDS, 8, DESC_NEXT, 1), (COMMANDS, 8, DESC_NEXT, 0)],
        0,
    ),
    ("beyond the table", &[(COMMANDS, 16, DESC_NEXT, 64)], 0),
    ("head beyond the table", &[(COMMANDS, 16, 0, 0)], 64),
    ("indirect", &[(COMMANDS, 16, DESC_INDIRECT, 0)], 0),
    ("no byte", &[(COMMANDS, 0, 0, 0)], 0),
    ("wraps", &[(u64::MAX - 4, 16, 0, 0)], 0),
    ("unknown flag", &[(COMMANDS, 16, 0x8000, 0)], 0),
    (
        "to be written before to be read",
        &[
            (BUFFERS, 144, DESC_WRITE | DESC_NEXT, 1),
            (COMMANDS, 16, 0, 0),
        ],
        0,
    ),
    (
        "nine descriptors",
        &[
            (COMMANDS, 2, DESC_NEXT, 1),
            (COMMANDS, 2, DESC_NEXT, 2),
            (COMMANDS, 2, DESC_NEXT, 3),
            (COMMANDS, 2, DESC_NEXT, 4),
            (COMMANDS, 2, DESC_NEXT, 5),
            (COMMANDS, 2, DESC_NEXT, 6),
            (COMMANDS, 2, DESC_NEXT, 7),
            (COMMANDS, 2, DESC_NEXT, 8),
            (COMMANDS, 2, 0, 0),
        ],
        0,
    ),
];

/// Places are offsets in memory, but for those that are not there.
fn describe(machine: &Machine, descriptors: &[(u64, u32, u16, u16)]) {
    for (index, &(at, len, flags, next)) in (0..).zip(descriptors) {
        let at = if at < USUAL_RAM { addr(at) } else { at };
        machine.queues[CONTROL].describe(index, Descriptor::new(at, len, flags, next));
    }
}

/// The device says that it needs a reset, in both places, and works after it.
fn broken(machine: &mut Machine) -> Result<()> {
    ensure!(machine.wait_broken(PATIENCE)?, "taken");
    let mut status = [0; 4];
    machine.vdpa().get_config(8, &mut status)?;
    let status = u32::from_le_bytes(status);
    ensure!(status & abi::S_NEEDS_RESET != 0, "not in the configuration");
    machine.restart(FEATURES)?;
    ensure!(!machine.is_broken()?, "broken after a reset");
    Ok(())
}

fn chains(world: &Conformance) -> Result<()> {
    let mut machine = Machine::start(&world.device, Ram::new(USUAL_RAM)?, FEATURES)?;
    for (what, descriptors, head) in CHAINS {
        describe(&machine, descriptors);
        machine.queues[CONTROL].offer(*head);
        machine.queues[CONTROL].kick()?;
        broken(&mut machine).context(*what)?;
    }
    let mut driver = Driver::silent(machine);
    driver.greet()
}

fn overrun(world: &Conformance) -> Result<()> {
    let mut machine = Machine::start(&world.device, Ram::new(USUAL_RAM)?, FEATURES)?;
    machine.queues[CONTROL].publish(SIZES[CONTROL] + 1);
    machine.queues[CONTROL].kick()?;
    broken(&mut machine)
}

fn longest(world: &Conformance) -> Result<()> {
    let mut machine = Machine::start(&world.device, Ram::new(USUAL_RAM)?, FEATURES)?;
    let pieces: Vec<_> = (0..8u16)
        .map(|index| {
            let (at, len) = (COMMANDS + u64::from(index) * 4, 4);
            match index {
                0..=3 => (at, len, DESC_NEXT, index + 1),
                4..=6 => (BUFFERS, len, DESC_NEXT | DESC_WRITE, index + 1),
                _ => (BUFFERS, len, DESC_WRITE, 0),
            }
        })
        .collect();
    describe(&machine, &pieces);
    machine.queues[CONTROL].offer(0);
    machine.queues[CONTROL].kick()?;
    let used = machine.wait(CONTROL, PATIENCE)?.came()?;
    ensure!(used.len == 16, "a response of {} bytes", used.len);
    Ok(())
}
