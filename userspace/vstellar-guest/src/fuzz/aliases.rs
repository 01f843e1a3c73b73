// SPDX-License-Identifier: GPL-2.0
//! A guest that has the device write over its own virtqueues, or send what is in there.
//!
//! Rings of completions lie over those of the virtqueues, and so do buffers. What becomes of this device
//! is anything: it answers, or not, or wants to be reset. As a reset sets the virtqueues up anew, it is as
//! new afterwards; and the kernel and other devices, which whoever runs this looks at, have noticed nothing.

use super::Session;
use super::WHILE;
use crate::driver::DOORBELLS;
use crate::endpoint::Completions;
use crate::endpoint::Pair;
use crate::endpoint::PAIR_CQ_LOG2;
use crate::endpoint::PAIR_LOG2;
use crate::machine::CONTROL;
use crate::machine::EVENT;
use crate::wire::rqe;
use crate::wire::Sge;
use crate::wire::Sqe;
use anyhow::Context;
use anyhow::Result;

/// Bytes of a page.
const PAGE: u64 = 0x1000;

/// Pages of virtqueues, events and commands.
const PAGES: u64 = DOORBELLS / PAGE;

impl Session<'_> {
    /// A connection of the device to itself that has entries for memory of the virtqueues.
    pub(super) fn aliases(&mut self) -> Result<()> {
        let pair = self.undisturbed(Self::pair_over_itself);
        let mut pair = pair.context("rings over virtqueues")?;
        let mut inputs = 0;
        for end in &mut pair.ends {
            for _ in 0..1 + self.random.below(1 << PAIR_LOG2) {
                let entry = Sqe::send(self.random.next(), self.own_piece());
                end.put_send(&entry.encode());
                let entry = rqe(self.random.next(), self.own_piece());
                end.put_receive(&entry);
                inputs += 2;
            }
            end.tell(&mut self.driver)?;
        }
        self.count("aliases", inputs);
        // the device is told to look at queues of which nobody knows what is in there
        for queue in [CONTROL, EVENT] {
            self.driver.machine.queues[queue].kick()?;
        }
        self.driver.machine.wait_broken(WHILE)?;
        self.restart()
    }

    fn pair_over_itself(&mut self) -> Result<Pair> {
        let at = PAGE * self.random.below(PAGES - 1);
        let cq = Completions::over(&mut self.driver, at, PAIR_CQ_LOG2, 0)?;
        Pair::completing_into(&mut self.driver, self.own, 0, cq)
    }

    /// Memory that is the device's to look at for commands.
    fn own_piece(&mut self) -> Sge {
        let at = self.random.below(DOORBELLS - PAGE);
        Sge {
            addr: self.driver.machine.ram.addr(at),
            len: 1 + self.random.below(PAGE) as u32,
            key: 0,
        }
    }
}
