// SPDX-License-Identifier: GPL-2.0

//! The sender's ring: one slot for each packet between the oldest that is not
//! acknowledged and the last one queued.
//!
//! ```text
//!        una              nxt             tail
//! --------+----------------+---------------+--------
//!  history|  sent: in flight, lost or       | queued, never sent
//!         |  delivered out of order         |
//! ```
//!
//! A slot outlives its acknowledgement until its place in the ring is needed
//! again, so that an ACK that arrives late can be checked against what was sent.

use super::Cause;
use crate::{
    host::{
        AllocError,
        Buffer, //
    },
    proto::{
        psn::Psn,
        Ns, //
    },
};

/// What the sender knows about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxState {
    /// Never sent.
    Queued,
    /// Sent and not heard of since.
    InFlight,
    /// Called lost, due to be sent again.
    Lost(Cause),
    /// The receiver has it.
    Delivered,
}

/// One packet the sender is or was responsible for.
#[derive(Clone, Copy, Debug)]
pub struct TxSlot {
    /// Offset of the first payload byte in the stream.
    pub offset: u64,
    /// When it was sent first.
    pub first_sent: Ns,
    /// When it was sent last.
    pub sent_at: Ns,
    /// Payload bytes.
    pub len: u16,
    /// Entropy value of the last transmission.
    pub entropy: u16,
    /// How often it was sent.
    pub transmissions: u8,
    /// What became of it.
    pub state: TxState,
    /// `flags::DATA_*` of its header, without RETX.
    pub flags: u8,
}

impl TxSlot {
    const EMPTY: Self = Self {
        offset: 0,
        first_sent: 0,
        sent_at: 0,
        len: 0,
        entropy: 0,
        transmissions: 0,
        state: TxState::Delivered,
        flags: 0,
    };

    /// Offset behind the last payload byte in the stream.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(u64::from(self.len))
    }
}

/// All packets the sender is responsible for.
pub struct Outstanding {
    slots: Buffer<TxSlot>,
    capacity: u32,
    una: Psn,
    nxt: Psn,
    tail: Psn,
    // Stream offset behind the last packet queued.
    tail_offset: u64,
    in_flight_bytes: u64,
    in_flight: u32,
    lost: u32,
    // No packet before this one is lost.
    lost_from: Psn,
}

impl Outstanding {
    /// An empty ring of `capacity` slots, a power of two, that starts with `isn`.
    pub fn new(capacity: u32, isn: Psn) -> Result<Self, AllocError> {
        Ok(Self {
            slots: Buffer::new(capacity as usize, TxSlot::EMPTY)?,
            capacity,
            una: isn,
            nxt: isn,
            tail: isn,
            tail_offset: 0,
            in_flight_bytes: 0,
            in_flight: 0,
            lost: 0,
            lost_from: isn,
        })
    }

    /// Number of slots.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The oldest packet that is not acknowledged cumulatively.
    pub fn una(&self) -> Psn {
        self.una
    }

    /// The first packet that was never sent.
    pub fn nxt(&self) -> Psn {
        self.nxt
    }

    /// The number the next packet queued will get.
    pub fn tail(&self) -> Psn {
        self.tail
    }

    /// Packets queued and never sent.
    pub fn backlog(&self) -> u32 {
        self.tail.dist_from(self.nxt)
    }

    /// Packets in flight.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Packets that the receiver has out of order.
    pub fn delivered(&self) -> u32 {
        let sent = self.nxt.dist_from(self.una);
        sent.saturating_sub(self.in_flight)
            .saturating_sub(self.lost)
    }

    /// Payload bytes in flight.
    pub fn in_flight_bytes(&self) -> u64 {
        self.in_flight_bytes
    }

    /// Packets waiting to be sent again.
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// Stream offset behind the last packet queued.
    pub fn tail_offset(&self) -> u64 {
        self.tail_offset
    }

    /// Stream offset behind the last packet sent.
    pub fn sent_offset(&self) -> u64 {
        self.offset_of(self.nxt).unwrap_or(self.tail_offset)
    }

    /// Stream offset at which the packet `psn` starts, if that is still known.
    pub fn offset_of(&self, psn: Psn) -> Option<u64> {
        if psn == self.tail {
            Some(self.tail_offset)
        } else {
            self.recent(psn).map(|slot| slot.offset)
        }
    }

    /// The slot of `psn` if it is between `una` and the tail.
    pub fn get(&self, psn: Psn) -> Option<&TxSlot> {
        if psn.in_window(self.una, self.tail.dist_from(self.una)) {
            self.slots.get(self.index(psn))
        } else {
            None
        }
    }

    /// The slot of `psn`, which may be acknowledged already but not overwritten.
    pub fn recent(&self, psn: Psn) -> Option<&TxSlot> {
        let age = self.tail.dist_from(psn);
        if age == 0 || age > self.capacity {
            return None;
        }
        let slot = self.slots.get(self.index(psn))?;
        // Before the ring has gone round once, slots are empty rather than old.
        let used = slot.state == TxState::Queued || slot.transmissions > 0;
        used.then_some(slot)
    }

    /// Queues a packet of `len` bytes; `None` when the ring is full.
    ///
    /// The last slot is kept free for a FIN without payload.
    pub fn push(&mut self, len: u16) -> Option<Psn> {
        if self.tail.dist_from(self.una) >= self.capacity - 1 {
            return None;
        }
        Some(self.append(len, 0))
    }

    /// Makes the last packet a FIN, or appends an empty one if it was sent.
    pub fn push_fin(&mut self, fin: u8) {
        let last = self.tail.sub(1);
        if self.backlog() > 0 {
            let index = self.index(last);
            if let Some(slot) = self.slots.get_mut(index) {
                slot.flags |= fin;
            }
        } else {
            self.append(0, fin);
        }
    }

    fn append(&mut self, len: u16, flags: u8) -> Psn {
        let psn = self.tail;
        let index = self.index(psn);
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = TxSlot {
                offset: self.tail_offset,
                len,
                state: TxState::Queued,
                flags,
                ..TxSlot::EMPTY
            };
        }
        self.tail = psn.next();
        self.tail_offset = self.tail_offset.saturating_add(u64::from(len));
        psn
    }

    /// The last packet queued, if it was never sent.
    pub fn unsent_tail(&self) -> Option<&TxSlot> {
        if self.backlog() == 0 {
            return None;
        }
        self.slots.get(self.index(self.tail.sub(1)))
    }

    /// Adds `add` bytes to the last packet queued, if it was never sent.
    pub fn grow_tail(&mut self, add: u16) {
        if self.backlog() == 0 {
            return;
        }
        let index = self.index(self.tail.sub(1));
        if let Some(slot) = self.slots.get_mut(index) {
            if let Some(len) = slot.len.checked_add(add) {
                slot.len = len;
                self.tail_offset = self.tail_offset.saturating_add(u64::from(add));
            }
        }
    }

    /// The next packet in line is sent for the first time.
    pub fn send_next(&mut self, now: Ns, entropy: u16) {
        if self.backlog() == 0 {
            return;
        }
        let index = self.index(self.nxt);
        if let Some(slot) = self.slots.get_mut(index) {
            slot.first_sent = now;
            slot.sent_at = now;
            slot.entropy = entropy;
            slot.transmissions = 1;
            slot.state = TxState::InFlight;
            self.in_flight += 1;
            self.in_flight_bytes += u64::from(slot.len);
        }
        self.nxt = self.nxt.next();
    }

    /// Sets header flags of a packet.
    pub fn set_flags(&mut self, psn: Psn, flags: u8) {
        let index = self.index(psn);
        if let Some(slot) = self.slots.get_mut(index) {
            slot.flags |= flags;
        }
    }

    /// The first lost packet, and why it is called lost.
    pub fn first_lost(&mut self) -> Option<(Psn, Cause)> {
        if self.lost == 0 {
            return None;
        }
        let mut psn = if self.lost_from.lt(self.una) {
            self.una
        } else {
            self.lost_from
        };
        while psn.lt(self.nxt) {
            match self.get(psn).map(|slot| slot.state) {
                Some(TxState::Lost(cause)) => {
                    self.lost_from = psn;
                    return Some((psn, cause));
                }
                _ => psn = psn.next(),
            }
        }
        None
    }

    /// A lost packet is sent again.
    pub fn send_again(&mut self, psn: Psn, now: Ns, entropy: u16) {
        let index = self.index(psn);
        if let Some(slot) = self.slots.get_mut(index) {
            if !matches!(slot.state, TxState::Lost(_)) {
                return;
            }
            slot.sent_at = now;
            slot.entropy = entropy;
            slot.transmissions = slot.transmissions.saturating_add(1);
            slot.state = TxState::InFlight;
            self.lost -= 1;
            self.in_flight += 1;
            self.in_flight_bytes += u64::from(slot.len);
        }
    }

    /// Calls a packet in flight lost and returns its slot.
    pub fn lose(&mut self, psn: Psn, cause: Cause) -> Option<TxSlot> {
        self.get(psn)?;
        let index = self.index(psn);
        let slot = self.slots.get_mut(index)?;
        if slot.state != TxState::InFlight {
            return None;
        }
        slot.state = TxState::Lost(cause);
        self.in_flight -= 1;
        self.in_flight_bytes -= u64::from(slot.len);
        if self.lost == 0 || psn.lt(self.lost_from) {
            self.lost_from = psn;
        }
        self.lost += 1;
        Some(*slot)
    }

    /// The receiver has `psn`. Returns its slot as it was before if that is news.
    pub fn deliver(&mut self, psn: Psn) -> Option<TxSlot> {
        self.get(psn)?;
        let index = self.index(psn);
        let slot = self.slots.get_mut(index)?;
        let before = *slot;
        match before.state {
            TxState::Queued | TxState::Delivered => return None,
            TxState::InFlight => {
                self.in_flight -= 1;
                self.in_flight_bytes -= u64::from(before.len);
            }
            TxState::Lost(_) => self.lost -= 1,
        }
        slot.state = TxState::Delivered;
        Some(before)
    }

    /// Forgets everything before `cumulative`, all of which was delivered.
    pub fn advance(&mut self, cumulative: Psn) {
        if cumulative.gt(self.una) && cumulative.le(self.nxt) {
            self.una = cumulative;
        }
    }

    /// The first packet from `from` on that is in flight.
    pub fn in_flight_from(&self, from: Psn) -> Option<(Psn, &TxSlot)> {
        let mut psn = from;
        while psn.lt(self.nxt) {
            match self.get(psn) {
                Some(slot) if slot.state == TxState::InFlight => return Some((psn, slot)),
                _ => psn = psn.next(),
            }
        }
        None
    }

    /// All packets in flight from `from` on.
    pub fn in_flight_slots(&self, from: Psn) -> impl Iterator<Item = (Psn, &TxSlot)> {
        let mut next = from;
        core::iter::from_fn(move || {
            let (psn, slot) = self.in_flight_from(next)?;
            next = psn.next();
            Some((psn, slot))
        })
    }

    fn index(&self, psn: Psn) -> usize {
        (psn.raw() & (self.capacity - 1)) as usize
    }
}
