// SPDX-License-Identifier: GPL-2.0

//! Connections that have lost their socket: how long they may go on, and with what.
//!
//! A program that closes a socket leaves the rest to its connection: what is queued is still sent, and
//! the peer may still finish. Nobody can be asked about that any more, and a slow peer could make it
//! last. So it counts ([`crate::engine::quota`]), and its time is limited.

use crate::{
    engine::{
        conn::Inner,
        net::NetNs,
        quota::{
            Kind,
            Place, //
        },
    },
    observe::counters::Event,
    proto::{
        connection::State,
        Ns,
        SEC, //
    },
    sys::memory,
};
use kernel::sync::Arc;

/// How long a connection without a socket waits for the peer to make progress, as
/// `tcp_fin_timeout`.
const ORPHAN_TIMEOUT: Ns = 60 * SEC;

/// How long it lives in all, however the peer goes on: what is queued at a close leaves in that time by
/// any path worth the name, and who takes longer keeps memory that no program answers for.
const ORPHAN_LIFE: Ns = 600 * SEC;

/// Memory of a connection whose queues are empty, bytes.
const BARE_MEMORY: usize = 120 << 10;

/// Of one that has none any more, in TIME_WAIT.
const REST_MEMORY: usize = 64 << 10;

/// Memory in the send queue that an orphan may have whatever the others have, bytes: that of a packet of
/// any usual MTU, which may lie in pages that count in full, and of the order of `SOCK_MIN_SNDBUF`, which
/// is that of TCP.
const BARE_QUEUE: usize = 16 << 10;

impl Inner {
    /// Whether hardly any memory would be set free by giving it up.
    fn is_bare(&self) -> bool {
        self.tx_mem <= BARE_QUEUE
    }

    /// When a connection that nobody owns any more is given up: a peer may neither leave its own
    /// direction open nor its window closed for ever.
    pub(super) fn orphan_deadline(&self) -> Option<Ns> {
        let since = self.orphaned?;
        match self.proto.state() {
            State::TimeWait | State::Closed => None,
            _ => {
                let idle = self.progress_at.saturating_add(ORPHAN_TIMEOUT);
                Some(idle.min(since.saturating_add(ORPHAN_LIFE)))
            }
        }
    }

    /// Whether that time has come, or memory has run out: then theirs goes that nobody will miss.
    pub(super) fn is_orphan_over(&self, ns: &NetNs, now: Ns) -> bool {
        let Some(at) = self.orphan_deadline() else {
            return false;
        };
        let poor = !self.is_bare() && memory::is_over();
        if poor {
            ns.event(Event::OrphanOverflow);
        }
        poor || at <= now
    }

    /// Whether the connection may go on without its socket.
    pub(super) fn may_be_orphan(&mut self, ns: &Arc<NetNs>) -> bool {
        match self.proto.state() {
            State::TimeWait | State::Closed => true,
            _ => {
                let memory = BARE_MEMORY.saturating_add(self.tx_mem);
                self.take_place(ns, Kind::Orphan, memory, self.is_bare())
            }
        }
    }

    /// Changes its place among those without a socket, with `memory` bytes, or without any if `bare`;
    /// whether there was one.
    fn take_place(&mut self, ns: &Arc<NetNs>, kind: Kind, memory: usize, bare: bool) -> bool {
        if !self.place.as_ref().is_some_and(|place| place.is(kind)) {
            // What it has so far may be what it needs now.
            self.place = None;
            self.place = Place::take(ns, kind, memory, bare);
        }
        self.place.is_some()
    }

    /// Whether there is a place for the connection in TIME_WAIT.
    pub(super) fn may_wait(&mut self, ns: &Arc<NetNs>) -> bool {
        self.take_place(ns, Kind::TimeWait, REST_MEMORY, false)
    }
}
