// SPDX-License-Identifier: GPL-2.0
//! Work entries and doorbells, of connections of the device to itself.

use super::commands;
use super::places::data;
use super::Session;
use crate::driver::slot;
use crate::driver::BUFFERS;
use crate::driver::EP_STATE;
use crate::driver::SLOTS;
use crate::endpoint::Pair;
use crate::endpoint::PAIR_LOG2;
use crate::endpoint::PAIR_RINGS;
use crate::endpoint::PAIR_SLOTS;
use crate::wire::code;
use crate::wire::rqe;
use crate::wire::Sge;
use crate::wire::Sqe;
use crate::wire::Wire;
use anyhow::ensure;
use anyhow::Context;
use anyhow::Result;
use vstellar_core::control::Op;

/// Connections at a time: a wrong entry ends its own.
const PAIRS: u32 = 4;

/// Rings and slots from these on are for objects that commands make.
pub(super) const FIRST_RING: u32 = PAIRS * PAIR_RINGS;
pub(super) const FIRST_SLOT: u32 = PAIRS * PAIR_SLOTS;

/// Slots that are in use now and then.
pub(super) const USED_SLOTS: u32 = 2 * FIRST_SLOT;

/// The state of an endpoint that is connected.
const CONNECTED: u32 = 4;

impl Session<'_> {
    /// Work entries, some of them damaged.
    pub(super) fn entries(&mut self) -> Result<()> {
        if !self.is_tame() {
            return self.commands();
        }
        self.pairs()?;
        let mut pairs = std::mem::take(&mut self.pairs);
        for pair in &mut pairs {
            for end in &mut pair.ends {
                for _ in 0..self.random.below(1 << PAIR_LOG2) {
                    let entry = Sqe::send(self.random.next(), self.segment()).encode();
                    let entry = self.damage_some(entry);
                    end.put_send(&entry);
                }
                for _ in 0..self.random.below(1 << PAIR_LOG2) {
                    let entry = rqe(self.random.next(), self.segment());
                    let entry = self.damage_some(entry);
                    end.put_receive(&entry);
                }
                end.tell(&mut self.driver)?;
            }
        }
        self.goes_on().context("after an entry")?;
        for pair in &mut pairs {
            while pair.cq.take().is_some() {}
        }
        self.pairs = pairs;
        Ok(())
    }

    /// The device answers a command, and has looked at what it was kicked for before.
    pub(super) fn goes_on(&mut self) -> Result<()> {
        // which is before it has answered the second one; and it does not look while it is quiesced
        for _ in 0..2 {
            self.driver.command(code(Op::Resume), 0, &[])?;
        }
        self.driver.discard_events()?;
        ensure!(!self.driver.machine.is_broken()?, "the device is broken");
        Ok(())
    }

    /// Connections of the device to itself that work: those that do still, or new ones.
    fn pairs(&mut self) -> Result<()> {
        let ram = self.driver.ram();
        let connected = |number| u32::from_le(ram.load(slot(number, EP_STATE))) & 0xff == CONNECTED;
        self.pairs
            .retain(|pair| pair.ends.iter().all(|end| connected(end.slot)));
        if !self.pairs.is_empty() {
            return Ok(());
        }
        self.pairs = self.undisturbed(|session| {
            (0..PAIRS)
                .map(|number| Pair::nth(&mut session.driver, session.own, number))
                .collect::<Result<_>>()
                .context("a new connection")
        })?;
        Ok(())
    }

    fn segment(&mut self) -> Sge {
        let key = match self.random.below(8) {
            0 => self.random.pick(&self.known.keys).unwrap_or(1),
            _ => 0,
        };
        Sge {
            addr: match self.random.below(16) {
                0 => commands::memory_at(&mut self.random),
                _ => data(BUFFERS + self.random.below(1 << 20)),
            },
            len: 1 + self.random.below(4096) as u32,
            key,
        }
    }

    /// Damages some of the entries: not all, since what comes after a wrong one is not looked at.
    fn damage_some(&mut self, mut entry: Wire) -> Wire {
        if self.random.one_in(8) {
            self.random.damage(&mut entry.0);
            self.count("entries", 1);
        } else {
            self.right += 1;
        }
        entry
    }

    /// Indices and bits that mean nothing.
    pub(super) fn doorbells(&mut self) -> Result<()> {
        let count = 1 + self.random.below(16);
        for _ in 0..count {
            let number = self.random.below(u64::from(USED_SLOTS)) as u32;
            let field = 4 * self.random.below(4);
            let value = self.random.number() as u32;
            let ram = &self.driver.machine.ram;
            let value = match self.random.below(2) {
                0 => value,
                // near what is there
                _ => u32::from_le(ram.load(slot(number, field))).wrapping_add(value % 32),
            };
            ram.store(slot(number, field), value.to_le());
            let bell = match self.random.below(8) {
                0 => self.random.below(u64::from(SLOTS) * 64) as u32,
                _ => number,
            };
            self.driver.ring_bell(bell)?;
        }
        self.count("doorbells", count);
        if self.is_tame() {
            self.goes_on().context("after a doorbell")?;
        }
        Ok(())
    }
}
