// SPDX-License-Identifier: GPL-2.0

//! How many connections may be in TIME_WAIT, where they wait for late packets and do nothing else.
//!
//! They keep memory that no socket pays for any more, so there is a limit for each namespace, as
//! `tcp_max_tw_buckets` is for TCP. A connection beyond it ends at once. That is safe: its ids are
//! random and its tag is checked, so late packets do not reach another connection. What is lost is the
//! answer to a peer whose last packet needs one.

use crate::{
    engine::net::NetNs,
    observe::counters::Event, //
};
use kernel::sync::{
    atomic::{
        Atomic,
        Relaxed, //
    },
    Arc, //
};

/// The connections of a namespace in TIME_WAIT.
pub(crate) struct TimeWaits(Atomic<i32>);

impl TimeWaits {
    /// None.
    pub(crate) fn new() -> Self {
        TimeWaits(Atomic::new(0))
    }
}

/// The place of one of them, given back when it is dropped.
pub(crate) struct Place(Arc<NetNs>);

impl Place {
    /// Takes a place, if one is free; else that is counted.
    pub(crate) fn take(ns: &Arc<NetNs>) -> Option<Place> {
        let before = ns.time_waits.0.fetch_add(1, Relaxed);
        let place = Place(ns.clone());
        if u32::try_from(before).unwrap_or(0) < ns.net.max_time_wait() {
            return Some(place);
        }
        ns.event(Event::TimeWaitOverflow);
        None
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.time_waits.0.fetch_sub(1, Relaxed);
    }
}
