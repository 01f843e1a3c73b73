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
    sys::sock::Sock, //
};

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
        if let Some(sock) = &self.sock {
            sock.charge_read(packet.memory);
            self.rx_mem = self.rx_mem.saturating_add(packet.memory);
        }
        self.rx.put(psn, packet);
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
