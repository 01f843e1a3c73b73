// SPDX-License-Identifier: GPL-2.0

//! The receive buffer of a connection, as readers and the protocol see it.
//!
//! Packets are kept where their PSN puts them and become readable when everything before them is
//! there. The reader's place is a packet and a number of bytes into it.

use crate::{
    engine::{
        buffers::RxPacket,
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

    /// Charges the memory of an skb to the packets that were kept of it, by length. What else came in
    /// it, duplicates or packets of no use, keeps no memory of its own but takes as much.
    pub(crate) fn charge_kept(&mut self, skb: &Skb, kept: &[Psn]) {
        let bytes: u64 = kept
            .iter()
            .filter_map(|&psn| self.rx.get(psn))
            .map(|packet| u64::from(packet.len))
            .sum();
        for &psn in kept {
            let Some(packet) = self.rx.get_mut(psn) else {
                continue;
            };
            let share = u64::from(skb.truesize()).saturating_mul(u64::from(packet.len));
            packet.memory = u32::try_from(share / bytes.max(1)).unwrap_or(u32::MAX);
            if let Some(sock) = &self.sock {
                sock.charge_read(packet.memory);
                self.rx_mem = self.rx_mem.saturating_add(packet.memory);
            }
        }
    }

    /// Whether packets received take more memory than the socket may have.
    fn is_over_full(&self) -> bool {
        let limit = self.sock.as_ref().map_or(0, |sock| sock.rcvbuf());
        self.rx_mem >= u32::try_from(limit).unwrap_or(0).max(RX_MEM_LEAST)
    }

    /// Whether there is no memory for a packet. The next one in order gets some whatever happens, if
    /// nothing else can be read that would set memory free. A copy of one that is here takes none, and
    /// its sender has to be told.
    pub(crate) fn lacks_room_for(&self, psn: Psn) -> bool {
        let awaited = psn == self.proto.rcv_nxt() && self.rx_bytes == 0;
        self.is_over_full() && !awaited && !self.proto.has_received(psn)
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

    /// Bytes that poll() holds against `SO_RCVLOWAT`: more than there are when the peer may soon send no
    /// more before some are read, be it for the number of packets or for the memory they take.
    pub(super) fn readable(&self) -> u32 {
        let packets = self
            .rx_head
            .map_or(0, |head| self.rx_counted.dist_from(head));
        let many = packets >= self.rx.len() / 2;
        if self.rx_bytes > 0 && (many || self.is_over_full()) {
            return u32::MAX;
        }
        u32::try_from(self.rx_bytes).unwrap_or(u32::MAX)
    }

    /// Lets go of a packet that has been read.
    pub(super) fn drop_read(&mut self, psn: Psn) {
        let Some(packet) = self.rx.take(psn) else {
            return;
        };
        if let Some(sock) = &self.sock {
            sock.uncharge_read(packet.memory);
            self.rx_mem = self.rx_mem.saturating_sub(packet.memory);
        }
    }

    /// Lets go of all that has not been read: nobody will. The memory stays charged until the
    /// connection parts with its socket.
    pub(super) fn forget_received(&mut self) {
        self.rx.clear();
        self.rx_bytes = 0;
        self.rx_skip = 0;
        if self.rx_head.is_some() {
            self.rx_head = Some(self.rx_counted);
        }
    }

    /// The reader has taken the next `bytes` bytes.
    pub(crate) fn consume(&mut self, bytes: usize) {
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
