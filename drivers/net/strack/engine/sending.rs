// SPDX-License-Identifier: GPL-2.0

//! The send buffer of a connection, as writers and the protocol see it.
//!
//! A writer copies payload to pages without the connection's lock, asks here for room, and queues the
//! packets. The last packet may be partial. As long as it is held back, a later write can add to it;
//! [`Hold`] says why it is.

use crate::{
    carrier::route::Route,
    engine::{
        buffers::{
            TxPacket,
            HEADROOM,
            MAX_PAYLOAD, //
        },
        conn::Inner, //
    },
    proto::{
        wire::MIN_MAX_PAYLOAD,
        Ns,
        MSEC, //
    },
    sys::{
        pages::PageBuf,
        sock::Sock,
        zcopy::{
            Loan,
            Ubuf, //
        },
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// How long `MSG_MORE` holds a partial packet back at most, as for TCP.
const MORE_TIMEOUT: Ns = 200 * MSEC;

/// Why the last, partial packet is not sent yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// It is.
    Not,
    /// More of the same write follows.
    Writing,
    /// `MSG_MORE` at this time: a later write follows, or [`MORE_TIMEOUT`] passes.
    More(Ns),
    /// Packets before it are not acknowledged yet, and `STRACK_NODELAY` is off.
    Nagle,
}

/// The last packet, while a writer adds to it.
pub(crate) struct Tail {
    /// Its page.
    pub(crate) page: PageBuf,
    /// Where in the page the next byte goes.
    pub(crate) start: usize,
    /// Bytes there is room for.
    pub(crate) room: usize,
}

/// The last packet, while a writer lends it more.
pub(crate) struct LentTail {
    /// What its payload lies in.
    pub(crate) loan: Arc<Loan>,
    /// Where in the loan the payload begins, pieces.
    pub(crate) first: u16,
    /// Payload bytes.
    pub(crate) len: u16,
    /// Bytes of memory kept for them.
    pub(crate) kept: u16,
    /// Bytes there is room for.
    pub(crate) room: usize,
}

/// Room in a send buffer of `sndbuf` bytes, `SO_SNDBUF`, that keeps `used`; negative when over full.
fn room(sndbuf: i32, used: usize) -> isize {
    let limit = isize::try_from(sndbuf).unwrap_or(0);
    limit.saturating_sub(isize::try_from(used).unwrap_or(isize::MAX))
}

/// Whether so much room is left that a writer should be woken, or told so by poll: a third of the
/// buffer, as `sk_stream_is_writeable()` has it.
pub(crate) fn has_room(sndbuf: i32, used: usize) -> bool {
    let room = room(sndbuf, used);
    room > 0 && room >= isize::try_from(used / 2).unwrap_or(isize::MAX)
}

impl Inner {
    /// Largest payload of a new packet, bytes.
    pub(crate) fn mss(&self) -> u16 {
        self.proto.mss()
    }

    /// Largest payload of a data packet on `route`, bytes: what the path takes, and a page run holds.
    ///
    /// `ENETUNREACH` for a path too narrow to be of use.
    pub(crate) fn usable_payload(route: &Route) -> Result<u16> {
        match route.max_payload().min(MAX_PAYLOAD) {
            len if len < MIN_MAX_PAYLOAD => Err(ENETUNREACH),
            len => Ok(len),
        }
    }

    /// Room in the send buffer, bytes; negative when over full.
    pub(crate) fn tx_room(&self, sock: &Sock) -> isize {
        room(sock.sndbuf(), self.tx_mem)
    }

    /// Whether a writer should be woken: the buffer has room, and so has the window of packet numbers.
    pub(crate) fn writeable(&self, sock: &Sock) -> bool {
        has_room(sock.sndbuf(), self.tx_mem) && self.tx_slots() > 0
    }

    /// Packets that can still be queued. One slot is kept for the end of the stream.
    pub(crate) fn tx_slots(&self) -> u32 {
        let used = self.proto.next_queue_psn().dist_from(self.proto.una());
        self.window.saturating_sub(used).saturating_sub(1)
    }

    /// Queues a packet; the caller has looked for [`Inner::tx_slots`]. False when our stream has
    /// ended.
    #[inline(always)] // for each packet
    pub(crate) fn queue(&mut self, packet: TxPacket) -> bool {
        let Ok(psn) = self.proto.queue(packet.len) else {
            return false;
        };
        self.tx_bytes = self.tx_bytes.saturating_add(usize::from(packet.len));
        self.tx_mem = self.tx_mem.saturating_add(packet.memory());
        self.tx.put(psn, packet);
        true
    }

    /// Holds the last packet back, or no longer.
    pub(crate) fn hold_tail(&mut self, hold: Hold) {
        let hold = match hold {
            // Only the first of several writes starts the clock.
            Hold::More(_) if matches!(self.hold, Hold::More(_)) => self.hold,
            Hold::Nagle if self.proto.una() == self.proto.snd_nxt() => Hold::Not,
            other => other,
        };
        self.hold = hold;
        self.proto.hold_tail(hold != Hold::Not);
    }

    /// Whether the last packet is held back for this reason.
    pub(crate) fn is_held(&self, reason: Hold) -> bool {
        self.hold == reason
    }

    /// When the packet that is held back is sent all the same.
    pub(super) fn hold_deadline(&self) -> Option<Ns> {
        match self.hold {
            Hold::More(since) => Some(since.saturating_add(MORE_TIMEOUT)),
            _ => None,
        }
    }

    /// The last packet, if there is room in it for more and it has not been sent. It is not sent
    /// before [`Inner::give_tail`].
    pub(crate) fn take_tail(&mut self, sock: &Sock) -> Option<Tail> {
        let room = usize::from(self.proto.tail_room());
        if room == 0 || self.tx_room(sock) <= 0 {
            return None;
        }
        let packet = self.tx.get(self.proto.next_queue_psn().sub(1))?;
        let room = room.min(packet.room());
        if room == 0 {
            return None;
        }
        let tail = Tail {
            page: packet.page.clone(),
            start: usize::from(packet.start) + HEADROOM + usize::from(packet.len),
            room,
        };
        self.hold_tail(Hold::Writing);
        Some(tail)
    }

    /// `add` bytes have been added to the packet of [`Inner::take_tail`]. False when the connection
    /// has ended meanwhile, and the bytes with it.
    pub(crate) fn give_tail(&mut self, add: usize) -> bool {
        let psn = self.proto.next_queue_psn().sub(1);
        let (Some(packet), Ok(more)) = (self.tx.get_mut(psn), u16::try_from(add)) else {
            return false;
        };
        if !self.proto.extend_tail(more) {
            return false;
        }
        packet.len = packet.len.saturating_add(more);
        self.tx_bytes = self.tx_bytes.saturating_add(add);
        true
    }

    /// The last packet, if its payload is lent by the same `ubuf`, there is room in it for more and it
    /// has not been sent. It is not sent before [`Inner::give_lent_tail`].
    pub(crate) fn take_lent_tail(&mut self, sock: &Sock, ubuf: Option<&Ubuf>) -> Option<LentTail> {
        let room = usize::from(self.proto.tail_room());
        if room == 0 || self.tx_room(sock) <= 0 {
            return None;
        }
        let packet = self.tx.get(self.proto.next_queue_psn().sub(1))?;
        let loan = packet.loan.as_ref().filter(|loan| loan.ubuf() == ubuf)?;
        let tail = LentTail {
            loan: loan.clone(),
            first: packet.first,
            len: packet.len,
            kept: packet.kept,
            room,
        };
        self.hold_tail(Hold::Writing);
        Some(tail)
    }

    /// The payload of the packet of [`Inner::take_lent_tail`] lies in `loan` now, from its beginning
    /// on, has become longer by `add` bytes, and keeps `kept` bytes of memory. False when the connection
    /// has ended meanwhile.
    pub(crate) fn give_lent_tail(&mut self, add: usize, kept: u16, loan: &Arc<Loan>) -> bool {
        if !self.give_tail(add) {
            return false;
        }
        let psn = self.proto.next_queue_psn().sub(1);
        let Some(packet) = self.tx.get_mut(psn) else {
            return false;
        };
        let before = packet.memory();
        packet.kept = kept;
        packet.first = 0;
        packet.loan = Some(loan.clone());
        self.tx_mem = self
            .tx_mem
            .saturating_sub(before)
            .saturating_add(packet.memory());
        true
    }

    /// Our stream ends with what is queued.
    pub(crate) fn shut_send(&mut self) {
        self.shut = true;
        self.hold_tail(Hold::Not);
        self.proto.shutdown_send();
    }

    /// Lets go of acknowledged packets. Says whether there were any.
    pub(super) fn release_acked(&mut self, now: Ns) -> bool {
        let una = self.proto.una();
        let mut any = false;
        while self.tx_head.lt(una) {
            if let Some(packet) = self.tx.take(self.tx_head) {
                self.tx_bytes = self.tx_bytes.saturating_sub(usize::from(packet.len));
                self.tx_mem = self.tx_mem.saturating_sub(packet.memory());
                self.acked_bytes = self.acked_bytes.saturating_add(u64::from(packet.len));
            }
            self.acked_packets = self.acked_packets.saturating_add(1);
            self.tx_head = self.tx_head.next();
            any = true;
        }
        if any {
            self.progress_at = now;
        }
        any
    }
}
