// SPDX-License-Identifier: GPL-2.0

//! The receive buffer of a connection, as readers and the protocol see it.
//!
//! Packets are kept where their PSN puts them and become readable when everything before them is
//! there. The reader's place is a packet and a number of bytes into it.
//!
//! An skb may hold many packets, of which some are kept and others, copies of what is here already,
//! are not. It is charged once, in full, before the first of them is kept, and the charge is given
//! back with the one of those that is read last, for that is when the skb is freed. Who cannot
//! be charged is not kept: neither the peer nor the order in which it sends decides how much memory is held.
//!
//! A reader that waits for more than there is (`SO_RCVLOWAT`) may be the one who holds what is lacking.
//! Then more does not come until something is read, and what there is is [`URGENT`].

use crate::{
    engine::{
        buffers::{
            Charge,
            Ring,
            RxPacket, //
        },
        conn::Inner, //
    },
    proto::psn::Psn,
    sys::{
        skb::Skb,
        sock::Sock, //
    },
};

/// Memory for packets received that each socket may have whatever its `SO_RCVBUF` is: what the credit
/// of 1024 packets takes if each has a page of its own. Credit that was given stands, also when the
/// buffer is made smaller afterwards.
const RX_MEM_LEAST: u32 = 4 << 20;

/// Bytes to read, where the reader is not to wait for more.
pub(super) const URGENT: u32 = u32::MAX;

/// What there is too little of for a packet.
#[derive(Clone, Copy)]
pub(crate) enum Lack {
    /// Room in the receive buffer of the socket.
    Buffer,
    /// Memory for all sockets, or in the cgroup of this one.
    Memory,
}

/// An skb while its packets are taken one after the other.
///
/// Whoever mixes packets of several connections in one skb has it charged to each of them, and to one
/// again for each row of packets that another one's interrupt.
pub(crate) struct Keeping {
    truesize: u32,
    charge: Charge,
    /// Why only what is awaited may be kept of it.
    lack: Option<Lack>,
    /// The packet kept that is read last.
    last: Option<Psn>,
}

impl Keeping {
    /// Nothing of `skb` has been kept yet.
    pub(crate) fn new(skb: &Skb) -> Self {
        Keeping {
            truesize: skb.truesize(),
            charge: Charge::Nothing,
            lack: None,
            last: None,
        }
    }

    /// A packet of it has been kept.
    pub(crate) fn kept(&mut self, psn: Psn) {
        if self.last.is_none_or(|last| last.lt(psn)) {
            self.last = Some(psn);
        }
    }
}

impl Inner {
    /// Room in the receive buffer to tell the protocol of: half of `SO_RCVBUF`, the other half is
    /// for what skbs are larger than their payload.
    pub(crate) fn receive_window(sock: &Sock) -> u32 {
        u32::try_from(sock.rcvbuf()).unwrap_or(0) / 2
    }

    /// First packet that cannot be read yet.
    pub(crate) fn rx_end(&self) -> Psn {
        self.rx_counted
    }

    /// Keeps a packet until it is read.
    pub(crate) fn keep(&mut self, psn: Psn, packet: RxPacket) {
        self.rx.put(psn, packet);
    }

    /// Whether a data packet may be kept, `len` bytes of payload in the skb of `keeping`, which is
    /// charged if it has not been.
    ///
    /// The next packet in order gets memory whatever happens, if nothing else can be read that would
    /// set some free: else connections that wait for each other's memory could wait for ever. A copy
    /// of one that is here takes none, and its sender has to be told.
    pub(crate) fn admit(&mut self, keeping: &mut Keeping, psn: Psn, len: u16) -> Result<(), Lack> {
        let awaited = psn == self.proto.rcv_nxt() && self.rx_bytes == 0;
        if len == 0 || self.proto.has_received(psn) {
            return Ok(());
        }
        if keeping.charge == Charge::Nothing {
            self.pay_for(keeping, awaited);
        }
        match keeping.lack {
            // What was paid for in spite of that must leave with the next read.
            Some(lack) if !awaited => Err(lack),
            _ => Ok(()),
        }
    }

    /// Charges an skb, `anyway` if need be.
    fn pay_for(&mut self, keeping: &mut Keeping, anyway: bool) {
        // Without one nothing is kept.
        let Some(sock) = &self.sock else { return };
        let bytes = keeping.truesize;
        keeping.lack = self.is_over_full().then_some(Lack::Buffer);
        if keeping.lack.is_some() && !anyway {
            return;
        }
        keeping.charge = if sock.charge_read(bytes) {
            Charge::Within(bytes)
        } else {
            keeping.lack = Some(Lack::Memory);
            if !anyway {
                return;
            }
            // Once at a time: all of it is read before anything is awaited again.
            sock.charge_read_beyond(bytes);
            Charge::Beyond(bytes)
        };
        self.rx_mem = self.rx_mem.saturating_add(bytes);
    }

    /// The last packet of an skb has been looked at.
    pub(crate) fn end_keeping(&mut self, keeping: &Keeping) {
        match keeping.last.and_then(|psn| self.rx.get_mut(psn)) {
            Some(packet) => packet.charge = keeping.charge,
            None => self.give_back(keeping.charge),
        }
    }

    /// The memory of a packet is needed no longer.
    fn give_back(&mut self, charge: Charge) {
        let (Charge::Within(bytes) | Charge::Beyond(bytes)) = charge else {
            return;
        };
        if let Some(sock) = &self.sock {
            match charge {
                Charge::Beyond(_) => sock.uncharge_read_beyond(bytes),
                _ => sock.uncharge_read(bytes),
            }
        }
        self.rx_mem = self.rx_mem.saturating_sub(bytes);
    }

    /// Whether packets received take more memory than the socket may have.
    fn is_over_full(&self) -> bool {
        let limit = self.sock.as_ref().map_or(0, |sock| sock.rcvbuf());
        self.rx_mem >= u32::try_from(limit).unwrap_or(0).max(RX_MEM_LEAST)
    }

    /// Counts what has come into order since the last time.
    pub(super) fn count_readable(&mut self) {
        if self.rx_head.is_none() {
            return;
        }
        let end = self.proto.rcv_nxt();
        while self.rx_counted.lt(end) {
            if let Some(packet) = self.rx.get(self.rx_counted) {
                self.rx_bytes = self.rx_bytes.saturating_add(usize::from(packet.len));
            }
            self.rx_counted = self.rx_counted.next();
        }
    }

    /// Bytes that poll() holds against `SO_RCVLOWAT`: [`URGENT`] when no more may come before some are
    /// read, be it for the number of packets, for the memory they take, or because of all the others
    /// there was none for a packet.
    pub(super) fn readable(&self) -> u32 {
        let packets = self
            .rx_head
            .map_or(0, |head| self.rx_counted.dist_from(head));
        let many = packets >= self.rx.len() / 2;
        if self.rx_bytes > 0 && (many || self.rx_refused || self.is_over_full()) {
            return URGENT;
        }
        u32::try_from(self.rx_bytes).unwrap_or(URGENT)
    }

    /// Lets go of a packet that has been read.
    pub(super) fn drop_read(&mut self, psn: Psn) {
        if let Some(packet) = self.rx.take(psn) {
            self.give_back(packet.charge);
            packet.skb.consume();
        }
    }

    /// Lets go of all that has not been read: nobody will.
    pub(super) fn forget_received(&mut self) {
        let mut rx = core::mem::replace(&mut self.rx, Ring::empty());
        for packet in rx.take_all() {
            self.give_back(packet.charge);
        }
        self.rx = rx;
        self.rx_bytes = 0;
        self.rx_skip = 0;
        if self.rx_head.is_some() {
            self.rx_head = Some(self.rx_counted);
        }
    }

    /// The reader has taken the next `bytes` bytes.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.rx_refused = false;
        let mut left = bytes;
        while let Some(head) = self.rx_head {
            if head.ge(self.rx_counted) {
                break;
            }
            let len = self.rx.get(head).map_or(0, |packet| packet.len);
            let rest = usize::from(len.saturating_sub(self.rx_skip));
            if rest > left {
                // Less than a packet is left, so it fits.
                self.rx_skip = self
                    .rx_skip
                    .saturating_add(u16::try_from(left).unwrap_or(len));
                break;
            }
            left -= rest;
            self.drop_read(head);
            self.rx_skip = 0;
            self.rx_head = Some(head.next());
        }
        self.rx_bytes = self.rx_bytes.saturating_sub(bytes);
        if let Some(head) = self.rx_head {
            self.proto.consumed(head, u64::try_from(bytes).unwrap_or(0));
        }
    }
}
