// SPDX-License-Identifier: GPL-2.0

//! How many connections there may be that no program has any more.
//!
//! They keep memory that no socket pays for, so there are limits for each namespace, and what orphans
//! keep is a part of what the whole host may (`net.strack.mem`).
//!
//! * **Orphans** were closed while something was still to be sent, or the peer still to finish
//!   (`tcp_max_orphans`). Beyond either limit, closing resets the peer at once; but for want of memory
//!   only one that keeps a lot, as with TCP: else somebody who uses memory up could have everybody's
//!   last words cut off, for little that is set free. An orphan counts as what it had when it was
//!   closed until it is gone.
//! * Those in **TIME_WAIT** wait for late packets and do nothing else (`tcp_max_tw_buckets`). Beyond
//!   the limit, or where sockets come under pressure, a connection ends at once. That is safe: its ids
//!   are random and its tag is checked, so late packets do not reach another connection. What is lost
//!   is the answer to a peer whose last packet needs one.
//!
//! Everybody can have namespaces, and set the limits in them. So it is the memory that bounds what those
//! of all of them keep together, and what they are set to has a bound there (sys/sysctl.c). Of orphans
//! that keep so little that they need none, the host has as many as one namespace may by default.

use crate::{
    engine::net::NetNs,
    observe::counters::Event,
    sys::memory::{
        Share,
        Until, //
    },
};
use kernel::sync::{
    atomic::{
        Atomic,
        Relaxed, //
    },
    Arc, //
};

/// What is limited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No socket, and not yet over.
    Orphan,
    /// Over, and waiting for late packets.
    TimeWait,
}

/// How many of each there are in a namespace.
pub(crate) struct Quota {
    orphans: Atomic<i32>,
    time_waits: Atomic<i32>,
}

impl Quota {
    /// None.
    pub(crate) fn new() -> Self {
        Quota {
            orphans: Atomic::new(0),
            time_waits: Atomic::new(0),
        }
    }

    fn count(&self, kind: Kind) -> &Atomic<i32> {
        match kind {
            Kind::Orphan => &self.orphans,
            Kind::TimeWait => &self.time_waits,
        }
    }
}

/// Those of the whole host whose memory counts nowhere.
static UNPAID: Atomic<i32> = Atomic::new(0);

/// One of these, until it is dropped.
struct Unpaid;

impl Unpaid {
    fn take(most: u32) -> Option<Unpaid> {
        let before = UNPAID.fetch_add(1, Relaxed);
        let taken = Unpaid;
        (u32::try_from(before).unwrap_or(0) < most).then_some(taken)
    }
}

impl Drop for Unpaid {
    fn drop(&mut self) {
        UNPAID.fetch_sub(1, Relaxed);
    }
}

/// Where what a connection keeps is counted: given back when it is dropped.
enum Memory {
    Share { _share: Share },
    Unpaid { _unpaid: Unpaid },
}

/// The place of one of them, given back when it is dropped.
pub(crate) struct Place {
    ns: Arc<NetNs>,
    kind: Kind,
    memory: Option<Memory>,
}

impl Place {
    /// Takes a place, if one is free and so are `memory` bytes; else that is counted. One of those that
    /// are `bare` is content without memory that counts.
    pub(crate) fn take(ns: &Arc<NetNs>, kind: Kind, memory: usize, bare: bool) -> Option<Place> {
        let before = ns.quota.count(kind).fetch_add(1, Relaxed);
        let ns = ns.clone();
        let mut place = Place {
            ns,
            kind,
            memory: None,
        };
        let net = &place.ns.net;
        let (most, until, overflow) = match kind {
            Kind::Orphan => (net.max_orphans(), Until::Limit, Event::OrphanOverflow),
            Kind::TimeWait => (
                net.max_time_wait(),
                Until::Pressure,
                Event::TimeWaitOverflow,
            ),
        };
        if u32::try_from(before).unwrap_or(0) < most {
            place.memory = match Share::take(memory, until) {
                Some(share) => Some(Memory::Share { _share: share }),
                None if bare => {
                    Unpaid::take(net.most_rest()).map(|one| Memory::Unpaid { _unpaid: one })
                }
                None => None,
            };
            if place.memory.is_some() {
                return Some(place);
            }
        }
        place.ns.event(overflow);
        None
    }

    /// Whether it is among these.
    pub(crate) fn is(&self, kind: Kind) -> bool {
        self.kind == kind
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.ns.quota.count(self.kind).fetch_sub(1, Relaxed);
    }
}
