// SPDX-License-Identifier: GPL-2.0
//! Hosts: what sits at the ends of the network.
//!
//! A connection has two ends, one that sends messages and one that receives them,
//! and both are driven like the protocol itself: packets and time go in, packets
//! come out when the network card asks for some. The card asks whenever its queue is
//! nearly empty and serves the connections of its host in turn. A connection thus
//! never queues in its own host, and its round trip times are those of the network.

pub mod dcqcn;
pub mod mprdma;
pub mod reader;
pub mod roce;
pub mod strack;
pub mod stream;
pub mod tally;
pub mod tcp;

use crate::net::Packet;
use crate::time::Ps;
use std::collections::BTreeMap;

/// Bytes of UDP, IPv4 and Ethernet headers with checksum around each packet.
pub const UDP_OVERHEAD: u32 = 8 + 20 + 18;

/// What the transport wrote into a packet.
#[derive(Clone, Debug)]
pub enum Body {
    /// A packet of the protocol: its header as on the wire, and how many bytes follow.
    Strack {
        /// The header.
        header: [u8; 64],
        /// Its length.
        len: u8,
        /// Bytes of payload.
        payload: u16,
    },
    /// A packet of RoCEv2.
    Roce(roce::Header),
    /// A packet of MP-RDMA.
    MpRdma(mprdma::Header),
    /// A packet of TCP.
    Tcp(tcp::Header),
}

/// A transport with all its parameters, from which connections are made.
// There are a few of them in a run.
#[expect(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Transport {
    /// The protocol of this project.
    Strack(strack::Setup),
    /// RoCEv2.
    Roce(roce::Setup),
    /// MP-RDMA.
    MpRdma(mprdma::Setup),
    /// DCTCP or MPTCP.
    Tcp(tcp::Setup),
}

impl Transport {
    /// Makes a connection between two places.
    pub fn connect(&self, seeds: [u64; 2], places: [Place; 2], now: Ps) -> [Box<dyn End>; 2] {
        match self {
            Self::Strack(setup) => {
                let [sender, receiver] = strack::connect(setup, seeds, places, now);
                [Box::new(sender), Box::new(receiver)]
            }
            Self::Roce(setup) => {
                let (sender, receiver) = roce::connect(setup, seeds, places);
                [Box::new(sender), Box::new(receiver)]
            }
            Self::MpRdma(setup) => {
                let (sender, receiver) = mprdma::connect(setup, seeds, places);
                [Box::new(sender), Box::new(receiver)]
            }
            Self::Tcp(setup) => {
                let (sender, receiver) = tcp::connect(setup, seeds, places);
                [Box::new(sender), Box::new(receiver)]
            }
        }
    }
}

/// Where an end of a connection is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its host.
    pub host: u32,
    /// The host of the other end.
    pub peer: u32,
    /// Number of the other end.
    pub peer_end: u32,
}

/// What has become of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// All of it has arrived (from the receiving end).
    Received(u32),
    /// All of it is acknowledged (from the sending end).
    Acked(u32),
    /// The connection has failed.
    Failed,
}

/// What an end has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndCounts {
    /// Data packets sent.
    pub sent: u64,
    /// Data packets sent again.
    pub resent: u64,
    /// Data packets received that had been received before.
    pub duplicates: u64,
    /// Bytes of payload received for the first time.
    pub arrived: u64,
    /// Data packets that lost their payload to a switch.
    pub trimmed: u64,
    /// Expiries of a retransmission timer.
    pub timeouts: u64,
    /// Marks that the sending end was told of.
    pub marks: u64,
    /// Most packets held out of order.
    pub reordered: u64,
    /// Smallest round trip time known, in nanoseconds.
    pub base_rtt: u64,
    /// Window at the end, in bytes.
    pub window: u64,
}

impl EndCounts {
    /// Adds the counts of another end.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.resent += other.resent;
        self.duplicates += other.duplicates;
        self.arrived += other.arrived;
        self.trimmed += other.trimmed;
        self.timeouts += other.timeouts;
        self.marks += other.marks;
        self.reordered = self.reordered.max(other.reordered);
        self.base_rtt = self.base_rtt.max(other.base_rtt);
        self.window = self.window.max(other.window);
    }
}

/// One end of a connection.
pub trait End {
    /// A message of `bytes` is to be sent (by the sending end), or will come (at the
    /// receiving end). Both ends are told at the same time and in the same order.
    fn post(&mut self, now: Ps, message: u32, bytes: u64);

    /// A packet has arrived.
    fn receive(&mut self, now: Ps, packet: &Packet);

    /// The time of [`Self::deadline`] may have come.
    fn wake(&mut self, _now: Ps) {}

    /// Appends the next packet or packets to send; none if there is nothing to send.
    fn poll(&mut self, now: Ps, out: &mut Vec<Packet>);

    /// When [`Self::wake`] wants to be called.
    fn deadline(&self) -> Option<Ps> {
        None
    }

    /// Appends what has become of messages since the last call.
    fn notices(&mut self, out: &mut Vec<Notice>);

    /// What was counted.
    fn counts(&self) -> EndCounts;

    /// Adds the transport's own counters to those of other ends, by name. Called once.
    fn counters(&mut self, _all: &mut BTreeMap<&'static str, u64>) {}
}
