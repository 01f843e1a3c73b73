// SPDX-License-Identifier: GPL-2.0

//! What sockets have to say, and the events that come of it.

use super::super::{
    abi,
    bytes::Bytes,
    status::Status,
    table::Handle, //
};
use super::{
    event::{
        Notice,
        Pending,
        EVENT_SIZE, //
    },
    Device,
    EpState,
    Host, //
};

impl<H: Host> Device<H> {
    /// An endpoint that was connecting is connected, or has failed to.
    pub fn connected(&mut self, handle: Handle, result: Result<(), Status>) {
        let Some(endpoint) = self.endpoints.get_mut(handle) else {
            return;
        };
        match result {
            Err(status) => self.failed(handle, status),
            Ok(()) => {
                if endpoint
                    .advance(&[EpState::Connecting], EpState::Connected)
                    .is_ok()
                {
                    self.counters.connections = self.counters.connections.saturating_add(1);
                    self.changed(handle);
                }
            }
        }
    }

    /// A listener has a connection that waits.
    pub fn pending(&mut self, handle: Handle) {
        let Some(endpoint) = self.endpoints.get_mut(handle) else {
            return;
        };
        if core::mem::take(&mut endpoint.accept_armed) {
            self.post_ep(handle, abi::EV_ACCEPT);
        }
    }

    /// Nothing more will be received.
    pub fn ended(&mut self, handle: Handle) {
        if let Some(endpoint) = self.endpoints.get_mut(handle) {
            if endpoint.state == EpState::Connected && !endpoint.peer_fin {
                endpoint.peer_fin = true;
                self.direction_ended(handle);
            }
        }
    }

    /// Nothing more will be sent.
    pub fn finished(&mut self, handle: Handle) {
        if let Some(endpoint) = self.endpoints.get_mut(handle) {
            if endpoint.state == EpState::Connected && !endpoint.sent_fin {
                endpoint.sent_fin = true;
                self.direction_ended(handle);
            }
        }
    }

    fn direction_ended(&mut self, handle: Handle) {
        if let Some(endpoint) = self.endpoints.get_mut(handle) {
            if endpoint.peer_fin && endpoint.sent_fin {
                endpoint.state = EpState::Closed;
            }
        }
        self.changed(handle);
    }

    /// An endpoint is of no use any more.
    pub fn failed(&mut self, handle: Handle, status: Status) {
        if let Some(endpoint) = self.endpoints.get_mut(handle) {
            if endpoint.state != EpState::Error {
                endpoint.state = EpState::Error;
                endpoint.error = status;
                endpoint.unflushed = true;
                self.changed(handle);
            }
        }
    }

    /// The paths of an endpoint have changed.
    pub fn paths_changed(&mut self, handle: Handle) {
        self.post_ep(handle, abi::EV_PATHS);
    }

    /// A completion queue has passed what its driver waits for.
    pub fn cq_ready(&mut self, handle: Handle) {
        if let Some(cq) = self.cqs.get_mut(handle) {
            if cq.events && cq.pending.add(abi::EV_CQ_READY) {
                self.eventful = self.eventful.saturating_add(1);
            }
        }
    }

    /// Memory could not be pinned within the quota.
    pub fn quota_reached(&mut self) {
        self.pending.add(abi::EV_QUOTA);
    }

    /// The device has lost its endpoints.
    pub fn transport_reset(&mut self) {
        self.pending.add(abi::EV_TRANSPORT_RESET);
    }

    /// The device has to be reset.
    pub fn fatal(&mut self) {
        self.pending.add(abi::EV_FATAL);
    }

    /// Whether an event waits for a buffer.
    pub fn has_event(&self) -> bool {
        self.eventful > 0 || !self.pending.is_empty()
    }

    /// Takes an event, for which there is a buffer.
    pub fn take_event(&mut self) -> Option<Bytes<EVENT_SIZE>> {
        let notice = self.next_notice()?;
        self.counters.events = self.counters.events.saturating_add(1);
        Some(self.sequence.encode(&notice))
    }

    /// There is no buffer for an event, which stays.
    pub fn event_lost(&mut self) {
        self.sequence.lose();
        self.counters.events_lost = self.counters.events_lost.saturating_add(1);
    }

    fn next_notice(&mut self) -> Option<Notice> {
        if let Some((kind, _)) = self.pending.take() {
            return Some(Notice {
                kind,
                handle: Handle::from_raw(0),
                cookie: 0,
                arg: 0,
            });
        }
        if self.eventful == 0 {
            return None;
        }
        let (last, notice) = self.cq_notice().or_else(|| self.ep_notice())?;
        if last {
            self.eventful = self.eventful.saturating_sub(1);
        }
        Some(notice)
    }

    /// An event of a completion queue, and whether it was the last of it.
    fn cq_notice(&mut self) -> Option<(bool, Notice)> {
        self.cqs.iter_mut().find_map(|(handle, cq)| {
            let (kind, last) = cq.pending.take()?;
            let notice = Notice {
                kind,
                handle,
                cookie: cq.cookie,
                arg: 0,
            };
            Some((last, notice))
        })
    }

    /// The same of an endpoint. They take turns, so that a lively one does not hide others.
    fn ep_notice(&mut self) -> Option<(bool, Notice)> {
        let places = self.endpoints.places();
        let first = self.next_eventful.min(places);
        for index in (first..places).chain(0..first) {
            let Some(handle) = self.endpoints.handle_at(index) else {
                continue;
            };
            let Some(endpoint) = self.endpoints.at_mut(index) else {
                continue;
            };
            let Some((kind, last)) = endpoint.pending.take() else {
                continue;
            };
            let arg = match kind {
                abi::EV_EP_STATE => {
                    u64::from(endpoint.state_word()) | (u64::from(endpoint.error().code()) << 32)
                }
                _ => 0,
            };
            let cookie = endpoint.cookie;
            self.next_eventful = index.saturating_add(1);
            return Some((
                last,
                Notice {
                    kind,
                    handle,
                    cookie,
                    arg,
                },
            ));
        }
        None
    }

    /// Tells the driver, in the slot and by an event, that an endpoint's state has changed.
    fn changed(&mut self, handle: Handle) {
        self.publish(handle);
        self.post_ep(handle, abi::EV_EP_STATE);
    }

    fn post_ep(&mut self, handle: Handle, kind: u16) {
        if let Some(endpoint) = self.endpoints.get_mut(handle) {
            if endpoint.pending.add(kind) {
                self.eventful = self.eventful.saturating_add(1);
            }
        }
    }

    /// Writes the state of an endpoint into its slot.
    pub(super) fn publish(&mut self, handle: Handle) {
        let Some(endpoint) = self.endpoints.get(handle) else {
            return;
        };
        let slot = endpoint.queues.as_ref().map(|queues| queues.slot);
        if let Some(slot) = slot.and_then(|slot| self.slot(slot)) {
            // an area that cannot be written is noticed when it is used
            let _ = slot.set_state(endpoint.state_word(), endpoint.error());
        }
    }

    /// The events of an object that goes away.
    pub(super) fn forget_events(&mut self, pending: Pending) {
        if !pending.is_empty() {
            self.eventful = self.eventful.saturating_sub(1);
        }
    }
}
