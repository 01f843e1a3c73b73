// SPDX-License-Identifier: GPL-2.0

//! Payload: the entries of send and receive queues, carried out on the sockets of their endpoints.
//!
//! An endpoint is looked at when its slot was kicked, its socket has something to say, it has failed, or it
//! is watched ([`model::work::patience`]); those that are watched can be visited without the others. Entries
//! are taken and completed in order; the one that a queue is at waits with the socket ([`sockets::Socket`])
//! for room or for data. What lies in a queue at once is sent, or received, at once ([`batch`]).
//! Payload is copied between the guest's pages and the transport's: an entry is done when the transport
//! has its bytes, or the guest has. What is lent instead ([`model::work::lending`]) is done when it is back.

use super::work::Left;
use crate::{
    host::AllocError,
    model::{
        self,
        control::Direction,
        device::{
            EpState,
            Transport, //
        },
        doorbell::{
            Slot,
            SlotOwner,
            Sweep, //
        },
        status::{
            Result,
            Status, //
        },
        table::Handle,
        work::Roster, //
    },
    platform::Platform,
    ring::Ring,
    sockets,
    sys, //
};

mod batch;
mod complete;
mod payload;
mod receive;
mod send;

use batch::Batch;

type Model = model::device::Device<Platform>;

/// Entries of one queue in one round.
const BUDGET: usize = 64;

/// Calls of a socket for one queue in one round, each of a batch of entries.
const CALLS: usize = 16;

/// Loans that come back in one round.
const LOANS: usize = 256;

/// The endpoints of a device, as far as payload is concerned.
pub(super) struct Traffic {
    endpoints: Roster,
    batch: Batch,
}

impl Traffic {
    pub(super) fn new() -> Traffic {
        Traffic {
            endpoints: Roster::new(),
            batch: Batch::new(),
        }
    }

    /// An endpoint was made.
    pub(super) fn add(&mut self, endpoint: Handle) -> core::result::Result<(), AllocError> {
        self.batch.prepare().map_err(|_| AllocError)?;
        self.endpoints.add(endpoint)
    }

    /// Serves those that have something to be done, `all` or only the watched ones.
    pub(super) fn serve(&mut self, model: &mut Model, platform: &Platform, all: bool) -> Left {
        if model.is_quiesced() {
            return Left::Nothing;
        }
        let mut left = Left::Nothing;
        let mut index = 0;
        while let Some(handle) = self.endpoints.get(index, all) {
            let Some(endpoint) = model.endpoint(handle) else {
                self.endpoints.forget(index);
                continue;
            };
            let woken = endpoint.socket.inner.woken();
            let kicked = core::mem::take(&mut endpoint.socket.kicked);
            let called = kicked || woken || endpoint.unflushed;
            if !called && !endpoint.socket.is_watched() {
                index = self.endpoints.visited(index, false);
                continue;
            }
            let mut turn = Turn {
                model,
                platform,
                handle,
                batch: &mut self.batch,
                bytes: [0; 2],
                looked_at: None,
                others: Left::Nothing,
            };
            let rest = turn.serve(woken);
            left = left.and(rest).and(turn.others);
            if rest == Left::More {
                turn.again();
                // whether it is watched is seen when it is done, and until then all are visited
                index += 1;
                continue;
            }
            let watched = model.endpoint(handle).is_some_and(|endpoint| {
                endpoint.unflushed = false;
                endpoint.socket.is_watched()
            });
            index = self.endpoints.visited(index, watched);
        }
        left
    }

    /// Takes notice of loans that came back.
    pub(super) fn collect(&self, model: &mut Model, platform: &Platform) -> Left {
        for _ in 0..LOANS {
            let Some(back) = platform.bank().take() else {
                return Left::Nothing;
            };
            let copied = if back.copied { back.bytes } else { 0 };
            let counters = model.counters();
            counters.lent_copied = counters.lent_copied.saturating_add(copied);
            let Some(endpoint) = model.endpoint(Handle::from_raw(back.endpoint)) else {
                continue;
            };
            if let Some(queues) = &mut endpoint.queues {
                if let Some(lending) = &mut queues.lending {
                    lending.returned(back.number, back.copied);
                    endpoint.socket.kicked = true;
                }
            }
        }
        Left::More
    }

    /// Notes which endpoints were kicked.
    pub(super) fn sweep(&self, model: &mut Model) {
        let mut sweep = Sweep::new();
        loop {
            let owner = model.doorbell().and_then(|doorbell| {
                let area = doorbell.area.ring.as_ref()?;
                // an area that cannot be read is noticed when a slot is
                sweep.next(&doorbell.slots, area).ok().flatten()
            });
            match owner {
                Some(SlotOwner::Ep(handle)) => {
                    if let Some(endpoint) = model.endpoint(handle) {
                        endpoint.socket.kicked = true;
                    }
                }
                Some(SlotOwner::Cq(_)) => {}
                None => return,
            }
        }
    }
}

/// A turn of one endpoint.
struct Turn<'a> {
    model: &'a mut Model,
    platform: &'a Platform,
    handle: Handle,
    batch: &'a mut Batch,
    /// Sent, and received.
    bytes: [u64; 2],
    /// A completion queue whose driver's index was looked at.
    looked_at: Option<Handle>,
    /// Whether there is more to do for those that were visited before: they have failed as well.
    others: Left,
}

impl Turn<'_> {
    fn endpoint(&mut self) -> Result<&mut model::device::Endpoint<Ring, sockets::Socket>> {
        self.model.endpoint(self.handle).ok_or(Status::NoEnt)
    }

    fn slot(&self, slot: u32) -> Result<Slot<'_, Ring>> {
        let area = self.model.doorbell().and_then(|one| one.area.ring.as_ref());
        Ok(Slot::new(area.ok_or(Status::Fault)?, slot))
    }

    fn again(&mut self) {
        if let Ok(endpoint) = self.endpoint() {
            endpoint.socket.kicked = true;
        }
    }

    fn serve(&mut self, woken: bool) -> Left {
        self.hear(woken);
        // an endpoint that only listens has no queues
        let Ok(Some(_)) = self.endpoint().map(|endpoint| endpoint.queues.as_ref()) else {
            return Left::Nothing;
        };
        let offered = self.offer();
        let looks_again = offered.is_ok();
        let settled = self.settle();
        let left = offered.and(settled).and_then(|()| {
            let sent = self.send()?;
            let received = self.receive()?;
            Ok(sent == Left::More || received == Left::More)
        });
        let more = left.unwrap_or_else(|status| {
            self.model.failed(self.handle, status);
            false
        });
        let flushed = self.flush();
        self.announce();
        self.account();
        if more || flushed == Left::More {
            return Left::More;
        }
        self.rest(looks_again).unwrap_or(Left::Nothing)
    }

    /// Says to each queue how much of it was carried out.
    fn account(&mut self) {
        let bytes = self.bytes;
        if let Ok(endpoint) = self.endpoint() {
            for (patience, bytes) in endpoint.socket.patience.iter_mut().zip(bytes) {
                patience.carried(bytes);
            }
        }
    }

    /// Takes notice of what the socket has to say. One that is connected wakes the device when it has.
    fn hear(&mut self, woken: bool) {
        let handle = self.handle;
        let Ok(endpoint) = self.endpoint() else {
            return;
        };
        if !woken && endpoint.state() == EpState::Connected {
            return;
        }
        let ready = endpoint.socket.inner.poll();
        let expired = endpoint.socket.inner.expired();
        let error = if ready.failed() {
            endpoint.socket.inner.error()
        } else {
            Ok(())
        };
        let error = error.map_err(sockets::status);
        match (endpoint.state(), error) {
            (EpState::Connecting, Err(status)) => self.model.connected(handle, Err(status)),
            (EpState::Connecting, Ok(())) if ready.writable() => {
                self.model.connected(handle, Ok(()));
            }
            (EpState::Connecting, Ok(())) if expired => {
                // the transport is not to go on either, and whether it can be told makes no difference
                let platform = self.platform;
                if let Ok(endpoint) = self.endpoint() {
                    let _ = platform.shutdown(&mut endpoint.socket, Direction::Both);
                }
                self.model.connected(handle, Err(Status::TimedOut));
            }
            (EpState::Connected, Err(status)) => {
                self.cut();
                self.model.failed(handle, status);
            }
            (EpState::Listening, _) if ready.readable() => self.model.pending(handle),
            _ => {}
        }
    }

    /// Takes notice of the driver's indices.
    fn offer(&mut self) -> Result {
        let slot = self.queues()?.slot;
        let slot = self.slot(slot)?;
        let (sq, rq) = (slot.sq_pi()?, slot.rq_pi()?);
        let queues = self.queues()?;
        let sends = queues.send.queue.offer(sq)? > 0;
        let receives = queues.receive.queue.offer(rq)? > 0;
        let [send, receive] = &mut self.endpoint()?.socket.patience;
        if sends {
            send.begin(sys::now());
        }
        if receives {
            // half of for ever: buffers are wanted as long as anything comes
            receive.begin(0);
        }
        Ok(())
    }

    fn queues(&mut self) -> Result<&mut model::device::Queues<Ring>> {
        self.endpoint()?.queues.as_mut().ok_or(Status::State)
    }

    /// Asks for kicks from here on, or says when to look again.
    ///
    /// A queue with an entry that waits for its socket, or for a loan, is left behind, as while there is work:
    /// no entry after that can be carried out before the device was woken for it. And so is one that is
    /// watched.
    ///
    /// An index that was not believed stays another than what was seen. To look again would be to do so
    /// for ever, so that waits for a kick.
    fn rest(&mut self, looks_again: bool) -> Result<Left> {
        let held = !self.may_carry_out()?;
        let socket = &mut self.endpoint()?.socket;
        let waits = [held || socket.sending.is_some(), socket.receiving.is_some()];
        let mut left = Left::Nothing;
        let mut behind = waits;
        let mut now = None;
        for (patience, behind) in socket.patience.iter_mut().zip(&mut behind) {
            if *behind || !patience.is_busy() {
                continue;
            }
            let now = *now.get_or_insert_with(sys::now);
            if let Some(pause) = patience.rest(now) {
                left = left.and(Left::Watch(pause));
                *behind = true;
            }
        }
        let queues = self.queues()?;
        let number = queues.slot;
        let (sq, rq) = (queues.send.queue.offered(), queues.receive.queue.offered());
        let ask = |seen: u32, behind: bool| if behind { seen.wrapping_sub(1) } else { seen };
        let slot = self.slot(number)?;
        let [send_behind, receive_behind] = behind;
        slot.ask_for_kick(ask(sq, send_behind), ask(rq, receive_behind))?;
        if !looks_again {
            return Ok(left);
        }
        let [sends, receives] = waits;
        if (!sends && slot.sq_pi()? != sq) || (!receives && slot.rq_pi()? != rq) {
            return Ok(Left::More);
        }
        Ok(left)
    }
}
