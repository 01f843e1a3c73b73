// SPDX-License-Identifier: GPL-2.0
//! Chains of descriptors that nobody would make.

use super::commands;
use super::Session;
use super::WHILE;
use crate::driver::COMMANDS;
use crate::driver::COMMAND_BYTES;
use crate::machine::Waited;
use crate::machine::CONTROL;
use crate::machine::PATIENCE;
use crate::machine::SIZES;
use crate::queue::DESC_INDIRECT;
use crate::queue::DESC_NEXT;
use crate::queue::DESC_WRITE;
use anyhow::bail;
use anyhow::ensure;
use anyhow::Result;
use virtio_queue::desc::split::Descriptor;

/// How often in a step: most have the device need a reset, but not all that comes with one.
const ROUNDS: u64 = 8;

impl Session<'_> {
    pub(super) fn chains(&mut self) -> Result<()> {
        let mut broken = false;
        for _ in 0..ROUNDS {
            if self.some_chains()? {
                broken = true;
                self.reset()?;
                self.changer.aim(self.target);
            }
        }
        if broken {
            self.restart()?;
        }
        Ok(())
    }

    /// The device gives back each of some chains, or says that it has to be reset, as it has to if
    /// this returns `true`.
    fn some_chains(&mut self) -> Result<bool> {
        let taken = self.driver.machine.queues[CONTROL].next;
        let count = 1 + self.random.below(3);
        for _ in 0..count {
            for index in 0..1 + self.random.below(10) as u16 {
                let descriptor = self.descriptor(index);
                self.driver.machine.queues[CONTROL].describe(index, descriptor);
            }
            let head = match self.random.below(8) {
                0 => self.random.number() as u16,
                _ => self.random.below(4) as u16,
            };
            self.driver.machine.queues[CONTROL].prepare(head);
        }
        let queue = &mut self.driver.machine.queues[CONTROL];
        let index = match self.random.below(16) {
            0 => self.random.number() as u16,
            _ => queue.next,
        };
        queue.next = index;
        queue.publish(index);
        queue.kick()?;
        self.count("chains", count);
        let wild = !self.is_tame();
        let (told, most) = (index.wrapping_sub(taken), SIZES[CONTROL]);
        if wild {
            // whatever it was, there is no telling
            self.driver.machine.wait(CONTROL, WHILE)?;
            return Ok(true);
        }
        for number in 0..told.min(most + 1) {
            let used = match self.driver.machine.wait(CONTROL, PATIENCE)? {
                Waited::Came(used) => used,
                Waited::Broken => return Ok(true),
                Waited::Nothing => bail!("a chain does not come back"),
            };
            ensure!(told <= most, "more chains than there can be were taken");
            let head = self.driver.machine.queues[CONTROL].head(taken.wrapping_add(number));
            ensure!(
                used.id == u32::from(head) && head < most,
                "chain {} came back, and not {head}",
                used.id
            );
        }
        Ok(false)
    }

    fn descriptor(&mut self, index: u16) -> Descriptor {
        let at = match self.random.below(4) {
            0 => commands::memory_at(&mut self.random),
            _ => {
                let place = COMMANDS + self.random.below(64) * COMMAND_BYTES / 2;
                self.driver.machine.ram.addr(place)
            }
        };
        let len = match self.random.below(4) {
            0 => self.random.number() as u32,
            _ => 16 + self.random.below(128) as u32,
        };
        let flags = match self.random.below(8) {
            0 => DESC_INDIRECT,
            1 => self.random.next() as u16,
            2 | 3 => DESC_WRITE,
            4 => DESC_WRITE | DESC_NEXT,
            5 => 0,
            _ => DESC_NEXT,
        };
        let next = match self.random.below(4) {
            0 => self.random.number() as u16,
            _ => index + 1,
        };
        Descriptor::new(at, len, flags, next)
    }
}
