// SPDX-License-Identifier: GPL-2.0

//! What a connection and its host say to each other.

use crate::proto::{
    counter::Counter,
    psn::Psn,
    stream::State,
    window::Derived,
    Ns, //
};

/// What an end chose for the packets it wants to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    /// Connection identifier, not zero.
    pub cid: u32,
    /// Verification tag.
    pub tag: u32,
}

/// What the host knows about a packet besides its header.
#[derive(Clone, Copy, Debug)]
pub struct RxMeta {
    /// It carried a congestion mark.
    pub ce: bool,
    /// UDP source port it came from.
    pub entropy: u16,
    /// Bytes behind the header.
    pub payload: u16,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing changed. The connection has counted the reason already.
    Drop(Counter),
    /// Nothing is left to do with the packet.
    Handled,
    /// The payload is new: keep it under this PSN until it has been read.
    Deliver {
        /// PSN of the packet.
        psn: Psn,
        /// Payload bytes.
        len: u16,
    },
}

/// Something to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Transmit {
    /// UDP source port.
    pub entropy: u16,
    /// Whether switches may mark it (ECT).
    pub ect: bool,
    /// The packet or packets.
    pub what: What,
}

/// What is to be sent.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// A packet that is nothing but a header.
    Control {
        /// Its length in bytes.
        len: u8,
        /// The header, and zeroes behind it.
        bytes: [u8; 64],
    },
    /// DATA packets, whose headers `Connection::data_header` supplies.
    ///
    /// Several are consecutive first transmissions of equal length, the last of
    /// which may be shorter.
    Data {
        /// The first of them.
        first: Psn,
        /// How many.
        count: u16,
        /// It is one packet that was sent before.
        retx: bool,
    },
}

/// No more packets can be queued, for now or because this direction has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Why a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer did not want it.
    Refused,
    /// The peer gave it up or has forgotten it.
    Reset,
    /// The peer stopped answering, or never did.
    TimedOut,
    /// The peer does not speak our protocol, or says that we broke it.
    Protocol,
    /// ICMP says that the peer cannot be reached.
    Unreachable,
    /// Given up by this end.
    Aborted,
}

/// A set of things that have happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events(u16);

impl Events {
    /// The handshake is done.
    pub const CONNECTED: Self = Self(1 << 0);
    /// There is more to read.
    pub const READABLE: Self = Self(1 << 1);
    /// More was acknowledged: buffers can be freed and packets queued.
    pub const ACKED: Self = Self(1 << 2);
    /// The peer's stream has ended; everything in it can be read.
    pub const PEER_FIN: Self = Self(1 << 3);
    /// The peer has all of our stream, and knows that it has ended.
    pub const FIN_ACKED: Self = Self(1 << 4);
    /// All is done; only late packets are still answered.
    pub const TIME_WAIT: Self = Self(1 << 5);
    /// The connection does not exist any more.
    pub const CLOSED: Self = Self(1 << 6);
    /// It did not end well.
    pub const FAILED: Self = Self(1 << 7);

    /// Whether all of `other` are in the set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether nothing is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds all of `other`.
    pub fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Everything about a connection that is worth looking at.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// State.
    pub state: State,
    /// Number of paths.
    pub paths: u16,
    /// Paths withdrawn for the time being.
    pub paths_bad: u16,
    /// Entropy values of these paths and of those that stand by.
    pub entropies: u16,
    /// Largest payload of a packet we send, in bytes.
    pub mss: u16,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Payload bytes in flight.
    pub inflight: u64,
    /// Packets in flight.
    pub inflight_packets: u32,
    /// Packets queued and not sent yet.
    pub backlog: u32,
    /// Smoothed RTT.
    pub srtt: Ns,
    /// Mean deviation of the RTT.
    pub rttvar: Ns,
    /// RTT of the idle fabric.
    pub base_rtt: Ns,
    /// Retransmission timeout, with back-off.
    pub rto: Ns,
    /// Timeouts in a row without progress.
    pub retries: u8,
    /// DATA packets sent again.
    pub retransmits: u64,
    /// Retransmissions that turned out to be needless.
    pub spurious: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Packets called lost before their timeout.
    pub fast_retx: u64,
    /// Congestion marks the peer has reported to us.
    pub ce_marks: u64,
    /// DATA packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Payload bytes sent, each counted once.
    pub bytes_sent: u64,
    /// DATA packets received, each counted once.
    pub packets_received: u64,
    /// Payload bytes received, each counted once.
    pub bytes_received: u64,
    /// DATA packets received once more.
    pub duplicates: u64,
    /// Most packets ever held out of order.
    pub ooo_high_water: u32,
    /// Packets the peer lets us send beyond those sent already.
    pub send_credit: u32,
    /// Bytes the peer lets us send beyond those sent already.
    pub send_window: u64,
    /// Bytes we let the peer send beyond those received in order.
    pub rcv_window: u32,
    /// DATA packets of ours that the peer has seen and could not take.
    pub refused: u64,
    /// How hard the peer asks us to slow down, 0 to 127.
    pub penalty: u16,
    /// What the congestion window derives from its constants.
    pub window: Derived,
    /// Packets beyond a hole that make it suspicious, and the age from which it is a loss
    /// then.
    pub reorder_packets: u64,
    /// See `reorder_packets`.
    pub reorder_age: Ns,
    /// How much these limits and the timeout are stretched, percent.
    pub reorder_stretch: u16,
    /// Silence after which the packets in flight are asked for.
    pub probe_wait: Ns,
}
