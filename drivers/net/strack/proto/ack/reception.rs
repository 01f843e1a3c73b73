// SPDX-License-Identifier: GPL-2.0

//! Which packets have arrived.
//!
//! A ring of bits, one for each packet from the next one expected to the end of
//! the window, and beside each the piece of the stream the packet carries.
//! Neighbouring packets must carry neighbouring pieces: each packet is checked
//! against its neighbours when it arrives, and so by the time a gap closes all
//! pieces in it fit. A packet that does not fit is refused, and what has been
//! accepted before it stands.

use crate::{
    host::{
        AllocError,
        Buffer, //
    },
    proto::{
        counter::Counter,
        flow::RecvCredit,
        psn::Psn, //
    },
};

/// Bits in a SACK bitmap.
const SACK_BITS: u32 = 64;

/// The piece of the stream that one packet carries.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    end: u64,
}

/// A DATA packet to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// Its PSN.
    pub psn: Psn,
    /// Stream offset of its first byte.
    pub offset: u64,
    /// Payload bytes.
    pub len: u16,
    /// Whether the stream ends with it.
    pub fin: bool,
}

/// What an acceptable packet turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It was received before.
    Duplicate,
    /// It is new and does not continue what is in order.
    OutOfOrder,
    /// It is new and next in order.
    InOrder {
        /// Packets were waiting for it, and none waits any more.
        closed_gap: bool,
    },
}

/// All that has been received from the peer.
pub struct Reception {
    bits: Buffer<u64>,
    pieces: Buffer<Piece>,
    capacity: u32,
    max_payload: u16,
    isn: Psn,
    nxt: Psn,
    // One beyond the highest PSN received.
    high: Psn,
    nxt_offset: u64,
    fin: Option<Psn>,
    ooo: u32,
    ooo_high_water: u32,
    packets: u64,
    bytes: u64,
    duplicates: u64,
    // Words of `bits` with packets that no SACK has reported yet.
    unreported: u64,
    // The word reported last, and how many SACKs there have been.
    reported: u32,
    sacks: u32,
}

impl Reception {
    /// Nothing received yet, `isn` comes first. Takes packets of up to
    /// `max_payload` bytes, and up to `capacity` of them (a power of two, at least
    /// 64) from the next one expected on.
    pub fn new(capacity: u32, isn: Psn, max_payload: u16) -> Result<Self, AllocError> {
        let empty = Piece { start: 0, end: 0 };
        Ok(Self {
            bits: Buffer::new((capacity / u64::BITS) as usize, 0)?,
            pieces: Buffer::new(capacity as usize, empty)?,
            capacity,
            max_payload,
            isn,
            nxt: isn,
            high: isn,
            nxt_offset: 0,
            fin: None,
            ooo: 0,
            ooo_high_water: 0,
            packets: 0,
            bytes: 0,
            duplicates: 0,
            unreported: 0,
            reported: 0,
            sacks: 0,
        })
    }

    /// Learns the peer's first PSN, before anything was received.
    pub fn start(&mut self, isn: Psn) {
        self.isn = isn;
        self.nxt = isn;
        self.high = isn;
    }

    /// The peer's first PSN.
    pub fn isn(&self) -> Psn {
        self.isn
    }

    /// The next PSN in order: all before it were received.
    pub fn nxt(&self) -> Psn {
        self.nxt
    }

    /// Stream offset at which the next packet in order starts.
    pub fn nxt_offset(&self) -> u64 {
        self.nxt_offset
    }

    /// Packets received beyond the next one in order.
    pub fn ooo(&self) -> u32 {
        self.ooo
    }

    /// Largest number of packets ever held out of order.
    pub fn ooo_high_water(&self) -> u32 {
        self.ooo_high_water
    }

    /// Packets received, each counted once.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Payload bytes received, each counted once.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets received once more.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Whether everything up to the end of the stream is in order.
    pub fn finished(&self) -> bool {
        self.fin.is_some_and(|fin| fin.lt(self.nxt))
    }

    /// Takes a packet within `credit`. An error names the check that failed and
    /// leaves everything as it was.
    pub fn take(&mut self, packet: &Incoming, credit: &RecvCredit) -> Result<Arrival, Counter> {
        if self.is_duplicate(packet.psn) {
            self.duplicates += 1;
            return Ok(Arrival::Duplicate);
        }
        let piece = self.check(packet, credit)?;

        self.set(packet.psn, true);
        self.unreported |= 1 << self.word_of(packet.psn);
        let index = self.index(packet.psn);
        if let Some(slot) = self.pieces.get_mut(index) {
            *slot = piece;
        }
        if packet.fin {
            self.fin = Some(packet.psn);
        }
        if packet.psn.ge(self.high) {
            self.high = packet.psn.next();
        }
        self.packets += 1;
        self.bytes += u64::from(packet.len);
        self.ooo += 1;
        if packet.psn != self.nxt {
            self.ooo_high_water = self.ooo_high_water.max(self.ooo);
            return Ok(Arrival::OutOfOrder);
        }
        let waited = self.ooo > 1;
        self.advance();
        Ok(Arrival::InOrder {
            closed_gap: waited && self.ooo == 0,
        })
    }

    /// Whether a packet was received before, as far as that is remembered.
    pub fn is_duplicate(&self, psn: Psn) -> bool {
        let old = psn.lt(self.nxt) && self.nxt.dist_from(psn) <= 2 * self.capacity;
        old || self.piece(psn).is_some()
    }

    /// The piece a new packet carries, if it may be taken.
    fn check(&self, packet: &Incoming, credit: &RecvCredit) -> Result<Piece, Counter> {
        let Incoming {
            psn,
            offset,
            len,
            fin,
        } = *packet;
        let ahead = psn.dist_from(self.nxt);
        check(ahead < self.capacity, Counter::DropCredit)?;
        check(psn.lt(credit.psn()), Counter::DropCredit)?;
        check(len <= self.max_payload, Counter::DropOversize)?;
        check(len > 0 || fin, Counter::DropOffset)?;
        let end = offset.checked_add(u64::from(len));
        let end = end.ok_or(Counter::DropOffset)?;
        check(end <= credit.offset(), Counter::DropWindow)?;

        if let Some(last) = self.fin {
            check(psn.lt(last) && !fin, Counter::DropAfterFin)?;
        }
        check(!fin || psn.next().ge(self.high), Counter::DropAfterFin)?;

        // Every packet before it that is still missing has at least one byte.
        let least = self.nxt_offset.saturating_add(u64::from(ahead));
        let follows = if ahead == 0 {
            offset == self.nxt_offset
        } else {
            let before = self.piece(psn.sub(1));
            offset >= least && before.is_none_or(|before| before.end == offset)
        };
        let after = self.piece(psn.next());
        let precedes = after.is_none_or(|after| after.start == end);
        check(follows && precedes, Counter::DropOffset)?;
        Ok(Piece { start: offset, end })
    }

    /// Moves the next packet in order past all that have arrived.
    fn advance(&mut self) {
        while let Some(piece) = self.piece(self.nxt) {
            self.nxt_offset = piece.end;
            self.set(self.nxt, false);
            self.nxt = self.nxt.next();
            self.ooo -= 1;
        }
        if self.high.lt(self.nxt) {
            self.high = self.nxt;
        }
    }

    /// Base and bits of a SACK bitmap, or nothing if there is nothing to say.
    ///
    /// A bitmap covers one of the 64-packet words of the ring. When there is more
    /// than one with packets in it, they take turns: those with something that was
    /// not reported yet, and every fourth time all, since an ACK may be lost.
    pub fn sack(&mut self) -> Option<(Psn, u64)> {
        if self.ooo == 0 {
            return None;
        }
        self.sacks = self.sacks.wrapping_add(1);
        let words = self.capacity / SACK_BITS;
        let first = self.word_of(self.nxt);
        // How many words ahead of the first the last packet is.
        let span = (self.high.dist_from(self.nxt) + self.nxt.raw() % SACK_BITS - 1) / SACK_BITS;
        let all = self.sacks % 4 == 0;
        let mut ahead = (self.reported + words - first) % words;
        for _ in 0..=span {
            ahead = if ahead >= span { 0 } else { ahead + 1 };
            let word = (first + ahead) % words;
            let news = (self.unreported >> word) & 1 != 0;
            let base = self
                .nxt
                .sub(self.nxt.raw() % SACK_BITS)
                .add(ahead * SACK_BITS);
            let bits = self.bits_from(base);
            if bits != 0 && (all || news) {
                return Some(self.report(word, base, bits));
            }
        }
        let base = self.nxt.sub(self.nxt.raw() % SACK_BITS);
        Some(self.report(first, base, self.bits_from(base)))
    }

    fn report(&mut self, word: u32, base: Psn, bits: u64) -> (Psn, u64) {
        self.unreported &= !(1 << word);
        self.reported = word;
        (base, bits)
    }

    /// The bits of the 64 packets from `base` on, a multiple of 64.
    fn bits_from(&self, base: Psn) -> u64 {
        let mut bits = self.word(base);
        // In the first word, what is before the next packet in order belongs to the
        // other end of the window.
        if base.lt(self.nxt) {
            bits &= u64::MAX << self.nxt.dist_from(base);
        }
        // Likewise at the end.
        let left = self.nxt.add(self.capacity).dist_from(base);
        if left < SACK_BITS {
            bits &= (1 << left) - 1;
        }
        bits
    }

    /// Which word of the ring the bit of `psn` is in.
    fn word_of(&self, psn: Psn) -> u32 {
        (psn.raw() & (self.capacity - 1)) / SACK_BITS
    }

    /// The word of the ring that holds the bit of `psn`.
    fn word(&self, psn: Psn) -> u64 {
        let index = self.word_of(psn) as usize;
        self.bits.get(index).copied().unwrap_or(0)
    }

    /// The piece in the packet `psn` if it waits out of order.
    fn piece(&self, psn: Psn) -> Option<Piece> {
        let bit = (self.word(psn) >> (psn.raw() % u64::BITS)) & 1;
        if bit == 0 || !psn.in_window(self.nxt, self.capacity) {
            return None;
        }
        self.pieces.get(self.index(psn)).copied()
    }

    fn set(&mut self, psn: Psn, received: bool) {
        let index = self.word_of(psn) as usize;
        let mask = 1 << (psn.raw() % u64::BITS);
        if let Some(word) = self.bits.get_mut(index) {
            if received {
                *word |= mask;
            } else {
                *word &= !mask;
            }
        }
    }

    fn index(&self, psn: Psn) -> usize {
        (psn.raw() & (self.capacity - 1)) as usize
    }
}

fn check(good: bool, counter: Counter) -> Result<(), Counter> {
    if good {
        Ok(())
    } else {
        Err(counter)
    }
}
