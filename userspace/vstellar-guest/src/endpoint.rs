// SPDX-License-Identifier: GPL-2.0
//! Endpoints and completion queues as the driver has them: rings, indices, doorbells.

use crate::driver::slot;
use crate::driver::Driver;
use crate::driver::CQ_ARM;
use crate::driver::CQ_CI;
use crate::driver::RINGS;
use crate::driver::RQ_EVT;
use crate::driver::RQ_PI;
use crate::driver::SQ_EVT;
use crate::driver::SQ_PI;
use crate::machine::EVENT;
use crate::machine::KICK;
use crate::ram::addr;
use crate::ram::Ram;
use crate::wire;
use crate::wire::connect;
use crate::wire::Cqe;
use crate::wire::EpCreate;
use crate::wire::Wire;
use anyhow::ensure;
use anyhow::Result;
use std::net::SocketAddr;
use std::sync::atomic::fence;
use std::sync::atomic::Ordering;
use vstellar_core::abi;
use vstellar_core::bytes::Fields;
use vstellar_core::control::Op;

/// Room for the rings of one object.
pub(crate) const RING_BYTES: u64 = 0x4000;

/// Where the `index`-th ring of those that have room is.
pub(crate) fn ring(index: u32) -> u64 {
    RINGS + u64::from(index) * RING_BYTES
}

/// A completion queue.
pub(crate) struct Completions {
    ram: Ram,
    pub(crate) handle: u32,
    pub(crate) slot: u32,
    ring: u64,
    log2: u16,
    /// Completions taken.
    pub(crate) taken: u32,
}

impl Completions {
    pub(crate) fn new(driver: &mut Driver, ring: u64, log2: u16, slot: u32) -> Result<Completions> {
        driver.ram().zero(ring, usize::try_from(wire::CQE << log2)?);
        Completions::over(driver, ring, log2, slot)
    }

    /// The same in memory that is left as it is.
    pub(crate) fn over(
        driver: &mut Driver,
        ring: u64,
        log2: u16,
        slot: u32,
    ) -> Result<Completions> {
        let ram = driver.ram();
        reset_slot(&ram, slot);
        Ok(Completions {
            handle: driver.create_cq(ring, log2, slot)?,
            ram,
            slot,
            ring,
            log2,
            taken: 0,
        })
    }

    /// The next completion, if there is one.
    pub(crate) fn take(&mut self) -> Option<Cqe> {
        let phase = u8::from((self.taken >> self.log2) & 1 == 0);
        let place = u64::from(self.taken) & ((1 << self.log2) - 1);
        let at = self.ring + place * wire::CQE;
        let flags: u8 = self.ram.load(at + 15);
        if flags & abi::CQE_PHASE != phase {
            return None;
        }
        let mut bytes = [0; wire::CQE as usize];
        self.ram.read(at, &mut bytes);
        self.taken = self.taken.wrapping_add(1);
        self.ram.store(slot(self.slot, CQ_CI), self.taken.to_le());
        let mut fields = Fields::new(&bytes);
        let mut parse = || {
            Ok::<_, vstellar_core::status::Status>(Cqe {
                wr_id: fields.take64()?,
                len: fields.take32()?,
                status: fields.take16()?,
                op: fields.take8()?,
                flags: fields.take8()?,
                ep: fields.take32()?,
            })
        };
        parse().ok()
    }

    /// The next completion, once there is one.
    pub(crate) fn wait(&mut self, driver: &mut Driver) -> Result<Cqe> {
        loop {
            if let Some(cqe) = self.take() {
                return Ok(cqe);
            }
            self.ram.store(slot(self.slot, CQ_ARM), self.taken.to_le());
            fence(Ordering::SeqCst);
            if let Some(cqe) = self.take() {
                return Ok(cqe);
            }
            let handle = self.handle;
            driver.event(|event| event.kind == abi::EV_CQ_READY && event.handle == handle)?;
        }
    }
}

/// Both halves of a slot as an object finds it.
fn reset_slot(ram: &Ram, number: u32) {
    ram.zero(slot(number, 0), 128);
}

/// An endpoint with rings.
pub(crate) struct Endpoint {
    ram: Ram,
    pub(crate) handle: u32,
    pub(crate) slot: u32,
    pub(crate) sq: u64,
    pub(crate) rq: u64,
    log2: u16,
    /// Entries put into the queues, and how many of them the device was told of.
    pub(crate) sent: u32,
    pub(crate) posted: u32,
    told: [u32; 2],
}

/// What an endpoint is made of beside its completion queues.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) sq: u64,
    pub(crate) rq: u64,
    pub(crate) log2: u16,
    pub(crate) slot: u32,
}

impl Endpoint {
    pub(crate) fn new(driver: &mut Driver, shape: Shape, cqs: [u32; 2]) -> Result<Endpoint> {
        let ram = driver.ram();
        reset_slot(&ram, shape.slot);
        let create = EpCreate {
            flags: 0,
            cqs,
            rings: [addr(shape.sq), addr(shape.rq)],
            log2: [shape.log2; 2],
            slot: shape.slot,
            cookie: u64::from(shape.slot),
            ..EpCreate::LISTENER
        };
        Ok(Endpoint {
            handle: driver.create_ep(&create)?,
            ram,
            slot: shape.slot,
            sq: shape.sq,
            rq: shape.rq,
            log2: shape.log2,
            sent: 0,
            posted: 0,
            told: [0; 2],
        })
    }

    /// How many entries each of its queues has.
    pub(crate) fn depth(&self) -> u32 {
        1 << self.log2
    }

    /// Puts an entry into the send queue.
    pub(crate) fn put_send(&mut self, entry: &Wire) {
        let place = u64::from(self.sent & (self.depth() - 1)) * wire::SQE;
        self.ram.write(self.sq + place, &entry.0);
        self.sent = self.sent.wrapping_add(1);
    }

    /// Puts an entry into the receive queue.
    pub(crate) fn put_receive(&mut self, entry: &Wire) {
        let place = u64::from(self.posted & (self.depth() - 1)) * wire::RQE;
        self.ram.write(self.rq + place, &entry.0);
        self.posted = self.posted.wrapping_add(1);
    }

    /// Tells the device of what was put, with a kick if it wants one.
    pub(crate) fn tell(&mut self, driver: &mut Driver) -> Result<()> {
        let told = std::mem::replace(&mut self.told, [self.sent, self.posted]);
        let queues = [
            (SQ_PI, SQ_EVT, told[0], self.sent),
            (RQ_PI, RQ_EVT, told[1], self.posted),
        ];
        for (index, _, old, new) in queues {
            if old != new {
                self.ram.store(slot(self.slot, index), new.to_le());
            }
        }
        fence(Ordering::SeqCst);
        let mut wanted = false;
        for (_, event, old, new) in queues {
            let event = u32::from_le(self.ram.load(slot(self.slot, event)));
            wanted |= new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old);
        }
        if wanted {
            driver.ring_bell(self.slot)?;
        }
        Ok(())
    }

    /// Begins to connect, and waits for what comes of it.
    pub(crate) fn connect(&self, driver: &mut Driver, peer: SocketAddr) -> Result<()> {
        driver.order(Op::EpConnect, self.handle, &connect(peer, 0))?;
        let word = driver.await_state(self.handle, &[4, 6])?;
        ensure!(word & 0xff == 4, "not connected: status {}", word >> 32);
        Ok(())
    }
}

/// Two endpoints of a device that are connected to each other, and one completion queue.
pub(crate) struct Pair {
    pub(crate) cq: Completions,
    pub(crate) ends: [Endpoint; 2],
    pub(crate) listener: u32,
}

/// Logarithm of the entries of each ring of a [`Pair`].
pub(crate) const PAIR_LOG2: u16 = 4;

/// Of those of its completion queue: room for both ends, and for a test's own.
pub(crate) const PAIR_CQ_LOG2: u16 = PAIR_LOG2 + 3;

/// Rings and slots of a [`Pair`].
pub(crate) const PAIR_RINGS: u32 = 5;
pub(crate) const PAIR_SLOTS: u32 = 3;

impl Pair {
    /// Connects the device, whose address that is, to itself.
    pub(crate) fn new(driver: &mut Driver, own: std::net::IpAddr) -> Result<Pair> {
        Pair::nth(driver, own, 0)
    }

    /// The same with rings and slots that no other number has.
    pub(crate) fn nth(driver: &mut Driver, own: std::net::IpAddr, number: u32) -> Result<Pair> {
        let (rings, slots) = (number * PAIR_RINGS, number * PAIR_SLOTS);
        let cq = Completions::new(driver, ring(rings), PAIR_CQ_LOG2, slots)?;
        Pair::completing_into(driver, own, number, cq)
    }

    /// The same with a completion queue that was made for it, in the slot of this number.
    pub(crate) fn completing_into(
        driver: &mut Driver,
        own: std::net::IpAddr,
        number: u32,
        cq: Completions,
    ) -> Result<Pair> {
        let (rings, slots) = (number * PAIR_RINGS, number * PAIR_SLOTS);
        let (listener, port) = driver.listen(0)?;
        let mut end = |index: u32| {
            let shape = Shape {
                sq: ring(rings + 1 + 2 * index),
                rq: ring(rings + 2 + 2 * index),
                log2: PAIR_LOG2,
                slot: slots + 1 + index,
            };
            Endpoint::new(driver, shape, [cq.handle; 2])
        };
        let ends = [end(0)?, end(1)?];
        ends[0].connect(driver, SocketAddr::new(own, port))?;
        driver.accept(listener, ends[1].handle)?;
        Ok(Pair { cq, ends, listener })
    }
}

/// Kicks that a driver has made since it began.
pub(crate) fn kicks(driver: &Driver) -> u64 {
    driver.machine.queues[KICK].kicks
}

/// Kicks for events.
pub(crate) fn event_kicks(driver: &Driver) -> u64 {
    driver.machine.queues[EVENT].kicks
}
