// SPDX-License-Identifier: GPL-2.0

//! Shadow doorbells: indices in the driver's memory instead of registers.
//!
//! One page of kick bitmap, then slots of two cache lines: the driver writes the
//! first, the device the second. The device never reads back what it wrote, and
//! believes an index of the driver only as far as its own allow: see
//! [`super::work`].

use super::{
    abi,
    memory::MemoryError,
    shared::Shared,
    span::PAGE_SIZE,
    status::{
        Result,
        Status, //
    },
    table::Handle, //
};
use crate::host::List;

/// Whose slot it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotOwner {
    /// A completion queue's.
    Cq(Handle),
    /// An endpoint's.
    Ep(Handle),
}

/// The slots of a doorbell area, and to whom they belong.
#[derive(Debug)]
pub struct Slots {
    owners: List<Option<SlotOwner>>,
    used: u32,
}

impl Slots {
    /// The slots of an area of `npages`, which is not more than `most`.
    pub fn new(npages: u32, most: u32) -> Result<Self> {
        if npages < 2 || npages > most {
            return Err(Status::Inval);
        }
        let per_page = (PAGE_SIZE as u32) / u32::from(abi::DB_STRIDE);
        let count = npages.saturating_sub(1).saturating_mul(per_page);
        let mut owners = List::new();
        for _ in 0..count.min(abi::DB_SLOTS_MAX) {
            owners.push(None)?;
        }
        Ok(Self { owners, used: 0 })
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        // no more than DB_SLOTS_MAX
        self.owners.len() as u32
    }

    /// How many have an owner.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Whose slot it is.
    pub fn owner(&self, slot: u32) -> Option<SlotOwner> {
        *self.owners.get(slot as usize)?
    }

    /// Whether the slot can be had.
    pub fn check_free(&self, slot: u32) -> Result {
        match self.owners.get(slot as usize) {
            None => Err(Status::Inval),
            Some(Some(_)) => Err(Status::Busy),
            Some(None) => Ok(()),
        }
    }

    /// Gives a slot to an object.
    pub fn assign(&mut self, slot: u32, owner: SlotOwner) -> Result {
        self.check_free(slot)?;
        if let Some(place) = self.owners.get_mut(slot as usize) {
            *place = Some(owner);
            self.used = self.used.saturating_add(1);
        }
        Ok(())
    }

    /// Takes it back.
    pub fn unassign(&mut self, slot: u32) {
        let place = self.owners.get_mut(slot as usize);
        if place.is_some_and(|place| place.take().is_some()) {
            self.used = self.used.saturating_sub(1);
        }
    }
}

/// Words of the bitmap that are looked at in one go.
const WORDS: usize = 64;

/// One turn through the kick bitmap. It visits every word once, whatever the driver does meanwhile.
#[derive(Debug)]
pub struct Sweep {
    /// The word after the one that `bits` were taken from.
    next: u32,
    bits: u32,
    /// The words around it, as they were. Most are zero: only the others are exchanged, which takes their
    /// cache line.
    seen: [u8; WORDS * 4],
}

impl Sweep {
    /// From the beginning.
    pub const fn new() -> Self {
        Self {
            next: 0,
            bits: 0,
            seen: [0; WORDS * 4],
        }
    }

    /// The next slot that was kicked and has an owner; its bit is zero then.
    pub fn next(
        &mut self,
        slots: &Slots,
        area: &impl Shared,
    ) -> core::result::Result<Option<SlotOwner>, MemoryError> {
        let words = slots.count().div_ceil(u32::BITS);
        loop {
            if self.bits == 0 {
                if self.next >= words {
                    return Ok(None);
                }
                let at = u64::from(self.next).saturating_mul(4);
                let place = self.next as usize % WORDS;
                if place == 0 {
                    self.look(at, words.saturating_sub(self.next), area)?;
                }
                self.next = self.next.saturating_add(1);
                let word = self.seen.chunks_exact(4).nth(place);
                if word.is_some_and(|word| word != [0; 4]) {
                    self.bits = area.take32(at)?;
                }
                continue;
            }
            let bit = self.bits.trailing_zeros();
            self.bits &= self.bits.wrapping_sub(1);
            let word = self.next.saturating_sub(1);
            let slot = word.saturating_mul(u32::BITS).saturating_add(bit);
            if let Some(owner) = slots.owner(slot) {
                return Ok(Some(owner));
            }
        }
    }

    /// Reads the next words, of which there are so many.
    fn look(
        &mut self,
        at: u64,
        words: u32,
        area: &impl Shared,
    ) -> core::result::Result<(), MemoryError> {
        let bytes = (words as usize).min(WORDS).saturating_mul(4);
        area.read(at, self.seen.get_mut(..bytes).unwrap_or_default())
    }
}

impl Default for Sweep {
    fn default() -> Self {
        Self::new()
    }
}

// Offsets in a slot.
const SQ_PI: u64 = 0;
const RQ_PI: u64 = 4;
const CQ_CI: u64 = 8;
const CQ_ARM: u64 = 12;
const SQ_CI: u64 = 64;
const RQ_CI: u64 = 68;
const SQ_EVT: u64 = 72;
const RQ_EVT: u64 = 76;
const EP_STATE: u64 = 80;
const ERROR: u64 = 84;
const LOST: u64 = 88;

type Access<T = ()> = core::result::Result<T, MemoryError>;

/// One slot in its area. Reads are acquires, writes are releases.
#[derive(Debug)]
pub struct Slot<'a, S> {
    area: &'a S,
    at: u64,
}

impl<'a, S: Shared> Slot<'a, S> {
    /// Slot `slot` of `area`.
    pub fn new(area: &'a S, slot: u32) -> Self {
        let offset = u64::from(slot).saturating_mul(u64::from(abi::DB_STRIDE));
        Self {
            area,
            at: PAGE_SIZE.saturating_add(offset),
        }
    }

    fn load(&self, field: u64) -> Access<u32> {
        self.area.load32(self.at.saturating_add(field))
    }

    fn store(&self, field: u64, value: u32) -> Access {
        self.area.store32(self.at.saturating_add(field), value)
    }

    /// All of the device's half is zero, as for an object that is new.
    pub fn clear(&self) -> Access {
        for field in [SQ_CI, RQ_CI, SQ_EVT, RQ_EVT, EP_STATE, ERROR, LOST] {
            self.store(field, 0)?;
        }
        Ok(())
    }

    /// Entries put into the send queue.
    pub fn sq_pi(&self) -> Access<u32> {
        self.load(SQ_PI)
    }

    /// Entries put into the receive queue.
    pub fn rq_pi(&self) -> Access<u32> {
        self.load(RQ_PI)
    }

    /// Completions taken.
    pub fn cq_ci(&self) -> Access<u32> {
        self.load(CQ_CI)
    }

    /// Completion that an event is wanted for.
    pub fn cq_arm(&self) -> Access<u32> {
        self.load(CQ_ARM)
    }

    /// Send entries completed.
    pub fn set_sq_ci(&self, value: u32) -> Access {
        self.store(SQ_CI, value)
    }

    /// Receive entries completed.
    pub fn set_rq_ci(&self, value: u32) -> Access {
        self.store(RQ_CI, value)
    }

    /// Asks for a kick when more than `sq` send and `rq` receive entries are there. What is there by
    /// then may not be kicked: look again afterwards.
    pub fn ask_for_kick(&self, sq: u32, rq: u32) -> Access {
        self.store(SQ_EVT, sq)?;
        self.store(RQ_EVT, rq)?;
        self.area.fence();
        Ok(())
    }

    /// State and error of the endpoint or queue.
    pub fn set_state(&self, state: u32, error: Status) -> Access {
        self.store(ERROR, u32::from(error.code()))?;
        self.store(EP_STATE, state)
    }

    /// Completions that could not be written.
    pub fn set_lost(&self, value: u32) -> Access {
        self.store(LOST, value)
    }
}
