// SPDX-License-Identifier: GPL-2.0

//! Flow control: how much the receiver is prepared to hold.
//!
//! Credit is counted twice, because memory is: in packets, each of which costs
//! its receiver a slot and a buffer however small it is, and in payload bytes.
//! Both limits are absolute (the first PSN and the first stream offset that will
//! not be taken) and only ever grow, so ACKs that arrive late, twice or not at
//! all do no harm.
//!
//! A packet is sent whole or not at all. To keep a window smaller than a packet
//! from stopping the stream, the receiver always grants at least one packet of
//! the largest payload it has agreed to.

use super::psn::Psn;

/// Most credit in packets that is believable.
pub const MAX_CREDIT: u32 = 1 << 16;

/// Most window in bytes that is believable.
pub const MAX_WINDOW: u32 = 1 << 30;

/// What the peer allows us to send.
#[derive(Clone, Copy, Debug)]
pub struct SendCredit {
    psn: Psn,
    offset: u64,
}

impl SendCredit {
    /// The credit given in the handshake: `packets` from `isn` on and `bytes`.
    pub fn new(isn: Psn, packets: u32, bytes: u32) -> Self {
        Self {
            psn: isn.add(packets.min(MAX_CREDIT)),
            offset: u64::from(bytes.min(MAX_WINDOW)),
        }
    }

    /// The first PSN that may not be sent.
    pub fn psn(&self) -> Psn {
        self.psn
    }

    /// The first stream offset that may not be sent.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the packet `psn` that ends at stream offset `end` may be sent.
    pub fn allows(&self, psn: Psn, end: u64) -> bool {
        psn.lt(self.psn) && end <= self.offset
    }

    /// Takes new limits; smaller ones are old news. Returns whether one grew.
    pub fn raise(&mut self, psn: Psn, offset: u64) -> bool {
        let grew = psn.gt(self.psn) || offset > self.offset;
        if psn.gt(self.psn) {
            self.psn = psn;
        }
        self.offset = self.offset.max(offset);
        grew
    }
}

/// What we allow the peer to send.
#[derive(Clone, Copy, Debug)]
pub struct RecvCredit {
    // Packets and bytes to hold for the application, and the largest packet.
    packets: u32,
    bytes: u32,
    max_payload: u16,
    // What the application has read.
    read_psn: Psn,
    read_offset: u64,
    // The limits; never lowered.
    psn: Psn,
    offset: u64,
    // The limits the peer was told last.
    told_psn: Psn,
    told_offset: u64,
}

impl RecvCredit {
    /// Credit for `packets` and `bytes` from the peer's first PSN `isn` on, which
    /// the handshake tells it.
    pub fn new(isn: Psn, packets: u32, bytes: u32, max_payload: u16) -> Self {
        let mut credit = Self {
            packets,
            bytes: effective(bytes, max_payload),
            max_payload,
            read_psn: isn,
            read_offset: 0,
            psn: isn,
            offset: 0,
            told_psn: isn,
            told_offset: 0,
        };
        credit.extend();
        credit.told();
        credit
    }

    /// The peer's first PSN has become known. The window that the handshake told stands,
    /// even if a smaller one is wished for meanwhile.
    pub fn start(&mut self, isn: Psn) {
        self.read_psn = isn;
        self.psn = isn;
        self.extend();
        self.told();
    }

    /// How many of `received` bytes wait for the application.
    pub fn unread(&self, received: u64) -> u64 {
        received.saturating_sub(self.read_offset)
    }

    /// The first PSN that is not acceptable.
    pub fn psn(&self) -> Psn {
        self.psn
    }

    /// The first stream offset that is not acceptable.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The window field of an ACK whose cumulative PSN starts at `offset`.
    pub fn window(&self, offset: u64) -> u32 {
        let window = self.offset.saturating_sub(offset);
        u32::try_from(window).map_or(MAX_WINDOW, |window| window.min(MAX_WINDOW))
    }

    /// An ACK with the current limits leaves.
    pub fn told(&mut self) {
        self.told_psn = self.psn;
        self.told_offset = self.offset;
    }

    /// Holds up to `bytes` from now on; limits already given stand.
    pub fn set_bytes(&mut self, bytes: u32) {
        self.bytes = effective(bytes, self.max_payload);
        self.extend();
    }

    /// The application has read everything before `psn`, and `bytes` more.
    ///
    /// Neither can pass what was received in order: `rcv_nxt` and `rcv_offset`.
    pub fn consumed(&mut self, psn: Psn, bytes: u64, rcv_nxt: Psn, rcv_offset: u64) {
        if psn.gt(self.read_psn) && psn.le(rcv_nxt) {
            self.read_psn = psn;
        }
        let offset = self.read_offset.saturating_add(bytes);
        self.read_offset = offset.min(rcv_offset);
        self.extend();
    }

    /// Whether the limits have grown so much since they were told, or the peer is
    /// so likely to wait for them, that an ACK should tell it now.
    pub fn update_due(&self, rcv_nxt: Psn, rcv_offset: u64) -> bool {
        let psn_growth = self.psn.dist_from(self.told_psn);
        let growth = self.offset - self.told_offset;
        self.opens(rcv_nxt, rcv_offset)
            || growth > 0 && growth >= u64::from(self.bytes / 4)
            || psn_growth > 0 && psn_growth >= self.packets / 4
    }

    /// Whether the peer could not send by the limits that it was told, and can by those
    /// there are now.
    pub fn opens(&self, rcv_nxt: Psn, rcv_offset: u64) -> bool {
        let packet = u64::from(self.max_payload);
        let told = self.told_offset.saturating_sub(rcv_offset);
        let bytes_closed = told < packet && self.offset.saturating_sub(rcv_offset) >= packet;
        let psn_closed = self.told_psn.le(rcv_nxt) && self.psn != self.told_psn;
        let told_all = self.offset == self.told_offset && self.psn == self.told_psn;
        (bytes_closed || psn_closed) && !told_all
    }

    fn extend(&mut self) {
        let psn = self.read_psn.add(self.packets);
        if psn.gt(self.psn) {
            self.psn = psn;
        }
        let offset = self.read_offset.saturating_add(u64::from(self.bytes));
        self.offset = self.offset.max(offset);
    }
}

/// The window that is really held for a wish of `bytes`.
fn effective(bytes: u32, max_payload: u16) -> u32 {
    bytes.clamp(u32::from(max_payload), MAX_WINDOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_never_shrink() {
        let mut credit = SendCredit::new(Psn::new(u32::MAX), 4, 1000);
        assert!(credit.allows(Psn::new(2), 1000));
        assert!(!credit.allows(Psn::new(3), 1000));
        assert!(!credit.allows(Psn::new(2), 1001));
        assert!(!credit.raise(Psn::new(1), 10));
        assert!(credit.raise(Psn::new(9), 10));
        assert!(credit.allows(Psn::new(8), 1000));
    }

    #[test]
    fn growth_by_a_quarter_is_told() {
        let isn = Psn::new(u32::MAX - 3);
        let mut credit = RecvCredit::new(isn, 64, 4000, 100);
        assert!(!credit.update_due(isn, 0));
        let nxt = isn.add(20);
        credit.consumed(isn.add(9), 900, nxt, 2000);
        assert!(!credit.update_due(nxt, 2000));
        credit.consumed(isn.add(10), 100, nxt, 2000);
        assert!(credit.update_due(nxt, 2000));
        credit.told();
        assert!(!credit.update_due(nxt, 2000));
        assert_eq!(credit.window(2000), 3000);
    }

    #[test]
    fn opening_from_zero_is_told() {
        let isn = Psn::new(7);
        let mut credit = RecvCredit::new(isn, 64, 4000, 1000);
        let nxt = isn.add(4);
        assert_eq!(credit.window(4000), 0);
        credit.consumed(isn, 500, nxt, 4000);
        assert!(!credit.update_due(nxt, 4000));
        credit.consumed(isn, 500, nxt, 4000);
        assert!(credit.update_due(nxt, 4000));
    }

    #[test]
    fn a_window_below_one_packet_still_takes_one() {
        let credit = RecvCredit::new(Psn::new(0), 64, 1, 1400);
        assert_eq!(credit.window(0), 1400);
    }

    #[test]
    fn reading_more_than_was_received_is_cut() {
        let isn = Psn::new(0);
        let mut credit = RecvCredit::new(isn, 64, 4000, 1000);
        credit.consumed(isn.add(100), u64::MAX, isn.add(1), 10);
        assert_eq!(credit.window(10), 4000);
        assert_eq!(credit.psn(), isn.add(64));
    }
}
