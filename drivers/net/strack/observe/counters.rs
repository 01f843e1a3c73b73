// SPDX-License-Identifier: GPL-2.0

//! The counters of a network namespace.
//!
//! There are two kinds in one array: what the protocol counts ([`Counter`]), and what only exists in
//! the kernel around it ([`Event`]). Each CPU has an array of its own, so counting is one addition
//! without a lock; reading adds them up. They are shown as the kernel shows SCTP's, a name and a value
//! on each line of `/proc/net/strack/snmp`.
//!
//! Anybody may read that file, also one who sends packets to himself with numbers that he has made up.
//! So a packet with the id of a connection and another tag is counted as one whose id nobody has: else
//! the counters would tell him which ids there are ([`shown_as`]).

use crate::{
    proto::counter::{
        Counter,
        Counts, //
    },
    sys::{
        counters::CounterArray,
        netns::NetHandle, //
    },
};
use kernel::prelude::*;

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Something that happened around the protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Event {
            $($(#[$doc])* $name,)*
        }

        impl Event {
            /// All of them, in the order of their discriminants.
            pub(crate) const ALL: &'static [Event] = &[$(Event::$name),*];

            /// The name under which it is exported.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Event::$name => stringify!($name),)*
                }
            }
        }
    };
}

events! {
    // The carrier, coming in.
    /// Skbs received, each a packet or a train of them.
    RxSkbs,
    /// Packets in them.
    RxPackets,
    /// Bytes of UDP payload in them.
    RxBytes,
    /// Datagrams with a wrong UDP checksum.
    RxChecksum,
    /// Datagrams without UDP checksum.
    RxNoChecksum,
    /// Datagrams sent to more hosts than this one, or by IPv6 between v4-mapped addresses.
    RxNotHost,
    /// Datagrams with nothing in them, or less than they claimed.
    RxShort,
    /// Packets dropped because those that wait to be read take all memory that the socket may have.
    RxNoRoom,
    /// Packets dropped because all sockets together, or those of a cgroup, have all memory they may.
    RxNoMemory,

    // The carrier, going out.
    /// Skbs sent, each a packet or a train of them.
    TxSkbs,
    /// Packets in them.
    TxPackets,
    /// Bytes of UDP payload in them.
    TxBytes,
    /// Packets not sent for want of memory.
    TxNoMemory,
    /// Packets not sent for want of a route.
    TxNoRoute,
    /// Trains not sent because one IP packet does not hold them.
    TxTooLong,

    // ICMP.
    /// Errors that told of a smaller path MTU.
    IcmpFragNeeded,
    /// Errors that told of a peer out of reach.
    IcmpUnreachable,
    /// Errors that quoted nothing we know to have sent.
    IcmpIgnored,

    // Sockets.
    /// Bytes of payload that packets were made of without copying them.
    ZeroCopyBytes,
    /// Handshakes dropped because a listener's queue was full.
    ListenOverflow,
    /// Handshakes dropped for want of memory, or because the listener's cgroup may have no more.
    ListenNoMemory,
    /// Connections reset when they were closed because too many had no socket, or too much memory.
    OrphanOverflow,
    /// Connections ended without TIME_WAIT because too many were in it.
    TimeWaitOverflow,
}

const COUNTERS: usize = Counter::ALL.len();
const EVENTS: usize = Event::ALL.len();

/// Counters of both kinds.
pub(crate) const TOTAL: usize = COUNTERS + EVENTS;

/// The counter that one of the protocol's is shown as.
const fn shown_as(counter: Counter) -> Counter {
    match counter {
        Counter::DropTag => Counter::DropNoConnection,
        other => other,
    }
}

/// The lines of the file: for each its place in the array, and the name.
pub(crate) fn lines() -> impl Iterator<Item = (usize, &'static str)> {
    let counters = Counter::ALL
        .iter()
        .filter(|&&counter| shown_as(counter) == counter)
        .map(|&counter| (usize::from(counter as u8), counter.name()));
    let events = Event::ALL
        .iter()
        .map(|&event| (COUNTERS + usize::from(event as u8), event.name()));
    Iterator::chain(counters, events)
}

/// The counters of one namespace, and their file.
pub(crate) struct Counters(CounterArray);

impl Counters {
    /// All counters at zero, with a file that shows them. Process context.
    pub(crate) fn new(net: &NetHandle) -> Result<Counters> {
        CounterArray::new(net).map(Counters)
    }

    /// Takes the file away. Process context.
    pub(crate) fn unpublish(&self) {
        self.0.unpublish();
    }

    /// Adds to a counter of the protocol.
    #[inline]
    pub(crate) fn add(&self, counter: Counter, n: u64) {
        self.0.add(usize::from(shown_as(counter) as u8), n);
    }

    /// Adds what a connection has counted, and sets that back to zero.
    pub(crate) fn collect(&self, counts: &mut Counts) {
        counts.drain(|counter, n| self.add(counter, n.into()));
    }

    /// Counts an event.
    #[inline]
    pub(crate) fn event(&self, event: Event) {
        self.event_n(event, 1);
    }

    /// Counts an event `n` times.
    #[inline]
    pub(crate) fn event_n(&self, event: Event, n: u64) {
        self.0.add(COUNTERS + usize::from(event as u8), n);
    }
}
