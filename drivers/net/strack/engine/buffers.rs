// SPDX-License-Identifier: GPL-2.0

//! Where the bytes of a connection are while the protocol deals in packet numbers.
//!
//! Both directions are rings indexed by PSN, as long as the protocol's window, so that placing a
//! packet, finding it and letting go of it are one step each and nothing is allocated per packet.
//!
//! A packet to send lies in a page with room for its header in front of its payload. The first
//! transmission writes the header there and sends a run of neighbouring packets as one fragment; a
//! retransmission, whose predecessor may still wait in a queue, brings a header of its own. Where
//! sendmsg() was allowed not to copy, only the header lies there, and the payload in pages of the
//! caller's ([`Loan`]). A packet received is a place in the skb it came in.

use crate::{
    proto::psn::Psn,
    proto::wire,
    sys::{
        gfp_connection,
        pages::{
            PageBuf,
            RUN, //
        },
        skb::Skb,
        zcopy::{
            Loan,
            Piece, //
        },
    },
};
use kernel::{
    alloc::KVVec,
    prelude::*,
    sync::Arc, //
};

/// Bytes in front of a payload, for the header.
pub(crate) const HEADROOM: usize = wire::DATA_HEADER;

/// Largest payload there is room for in a run of pages: the same whatever the size of these, so that hosts
/// do not differ in it.
pub(crate) const MAX_PAYLOAD: u16 = (RUN - HEADROOM) as u16;

/// A packet to send.
pub(crate) struct TxPacket {
    /// The page, shared with the neighbours.
    pub(crate) page: PageBuf,
    /// Where in the page the header goes; the payload follows, if it is not lent.
    pub(crate) start: u16,
    /// Payload bytes.
    pub(crate) len: u16,
    /// Bytes of memory kept for the payload: what there is room for, or what is kept of a caller's.
    pub(crate) kept: u16,
    /// Where in the loan a lent payload begins, pieces.
    pub(crate) first: u16,
    /// The pages of a caller that a lent payload lies in, shared with the neighbours.
    pub(crate) loan: Option<Arc<Loan>>,
}

// A window has thousands of them, and where they lie in the ring should be a shift.
const _: () = assert!(size_of::<Option<TxPacket>>() == 32);
const _: () = assert!(RUN - HEADROOM <= u16::MAX as usize);

impl TxPacket {
    /// Bytes of memory that the packet keeps.
    pub(crate) fn memory(&self) -> usize {
        HEADROOM + usize::from(self.kept)
    }

    /// Bytes that can be added to the payload where it lies; none to what is lent.
    pub(crate) fn room(&self) -> usize {
        match self.loan {
            None => usize::from(self.kept.saturating_sub(self.len)),
            Some(_) => 0,
        }
    }

    /// The pieces of a lent payload.
    pub(crate) fn pieces<'a>(&self, loan: &'a Loan) -> &'a [Piece] {
        loan.packet(self.first, self.len)
    }
}

/// A packet received.
pub(crate) struct RxPacket {
    /// The skb, shared with the other packets that came in it.
    pub(crate) skb: Skb,
    /// Where in it the payload is.
    pub(crate) start: u32,
    /// Payload bytes.
    pub(crate) len: u16,
    /// What is given back when it has been read.
    pub(crate) charge: Charge,
}

/// How the memory of an skb is paid for: in full, by the packet in it that is read last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charge {
    /// By another one, or not at all yet.
    Nothing,
    /// By this one, so many bytes.
    Within(u32),
    /// By this one, beyond what all sockets may have together or their cgroup.
    Beyond(u32),
}

/// A ring of things by PSN.
pub(crate) struct Ring<T> {
    slots: KVVec<Option<T>>,
}

impl<T> Ring<T> {
    /// An empty ring of `len` slots, a power of two. Process context.
    pub(crate) fn new(len: usize) -> Result<Self> {
        let mut slots = KVVec::with_capacity(len, gfp_connection())?;
        for _ in 0..len {
            slots.push(None, gfp_connection())?;
        }
        Ok(Ring { slots })
    }

    /// A ring of no slots, in which nothing is kept.
    pub(crate) fn empty() -> Self {
        Ring {
            slots: KVVec::new(),
        }
    }

    /// Number of slots.
    pub(crate) fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    fn index(&self, psn: Psn) -> usize {
        psn.raw() as usize & self.slots.len().saturating_sub(1)
    }

    /// Puts `item` under `psn`, in place of what was there.
    pub(crate) fn put(&mut self, psn: Psn, item: T) {
        let index = self.index(psn);
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = Some(item);
        }
    }

    /// What is under `psn`.
    pub(crate) fn get(&self, psn: Psn) -> Option<&T> {
        self.slots.get(self.index(psn))?.as_ref()
    }

    /// What is under `psn`, to change it.
    pub(crate) fn get_mut(&mut self, psn: Psn) -> Option<&mut T> {
        let index = self.index(psn);
        self.slots.get_mut(index)?.as_mut()
    }

    /// Takes what is under `psn`.
    pub(crate) fn take(&mut self, psn: Psn) -> Option<T> {
        let index = self.index(psn);
        self.slots.get_mut(index)?.take()
    }

    /// Takes everything.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = T> + '_ {
        self.slots.iter_mut().filter_map(Option::take)
    }
}
