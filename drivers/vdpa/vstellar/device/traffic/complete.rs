// SPDX-License-Identifier: GPL-2.0

//! Completions: that an entry is done, and what the driver is told of it.

use super::{
    Turn,
    BUDGET, //
};
use crate::{
    device::work::Left,
    model::{
        abi,
        device::{
            EpState,
            Work, //
        },
        shared::Shared,
        status::{
            Result,
            Status, //
        },
        table::Handle,
        work::{
            Carried,
            Completion,
            Lending,
            ReceiveEntry,
            SendEntry, //
        },
    },
    ring::Ring,
    sockets::Sending, //
};

impl Turn<'_> {
    /// An entry of the send queue has come to its end, and is completed when those before it are, and
    /// nobody reads its memory any more.
    pub(super) fn done(&mut self, carried: Carried) -> Result {
        let Some(lending) = self.lending()? else {
            return self.tell(&carried);
        };
        // there is room: it was asked for before the entry was taken
        lending.push(carried).map_err(|_| Status::NoSpc)?;
        self.settle()
    }

    /// Completes the entries that waited for loans which are back.
    pub(super) fn settle(&mut self) -> Result {
        while let Some(carried) = self.lending()?.and_then(Lending::pop) {
            self.tell(&carried)?;
        }
        Ok(())
    }

    fn tell(&mut self, carried: &Carried) -> Result {
        let Carried {
            wr_id,
            len,
            status,
            op,
            signaled,
        } = *carried;
        if signaled || status != Status::Ok {
            return self.complete(true, wr_id, len, status, op, 0);
        }
        self.finish(true)
    }

    /// Completes the first entry of a queue that is not, without a word.
    pub(super) fn finish(&mut self, send: bool) -> Result {
        self.count_done(send)?;
        self.tell_done(send)
    }

    /// The first entry of a queue that is not completed is.
    fn count_done(&mut self, send: bool) -> Result {
        if self.work(send)?.queue.complete().is_some() {
            let counters = self.model.counters();
            counters.entries = counters.entries.saturating_add(1);
        }
        Ok(())
    }

    /// Says in its slot how much of a queue is completed.
    pub(super) fn tell_done(&mut self, send: bool) -> Result {
        let number = self.queues()?.slot;
        let completed = self.work(send)?.queue.completed();
        let slot = self.slot(number)?;
        if send {
            slot.set_sq_ci(completed)?;
        } else {
            slot.set_rq_ci(completed)?;
        }
        Ok(())
    }

    fn work(&mut self, send: bool) -> Result<&mut Work<Ring>> {
        let queues = self.queues()?;
        Ok(if send {
            &mut queues.send
        } else {
            &mut queues.receive
        })
    }

    /// Completes the first entry of a queue that is not, and says so.
    pub(super) fn complete(
        &mut self,
        send: bool,
        wr_id: u64,
        len: u32,
        status: Status,
        op: u8,
        flags: u8,
    ) -> Result {
        self.complete_one(send, wr_id, len, status, op, flags)?;
        self.tell_done(send)
    }

    /// The same but for the slot: others follow.
    pub(super) fn complete_one(
        &mut self,
        send: bool,
        wr_id: u64,
        len: u32,
        status: Status,
        op: u8,
        flags: u8,
    ) -> Result {
        let cq = self.work(send)?.cq;
        let completion = Completion {
            wr_id,
            len,
            status,
            op,
            flags,
            ep: self.handle.raw(),
            imm: 0,
        };
        self.post(cq, &completion);
        self.count_done(send)
    }

    fn post(&mut self, handle: Handle, completion: &Completion) {
        if self.try_post(handle, completion).is_ok() {
            let counters = self.model.counters();
            counters.completions = counters.completions.saturating_add(1);
            return;
        }
        if let Some(cq) = self.model.cq(handle) {
            cq.lost = cq.lost.saturating_add(1);
            let (slot, lost) = (cq.slot, cq.lost);
            // a slot that is gone has nobody who reads it
            let _ = self.slot(slot).and_then(|slot| Ok(slot.set_lost(lost)?));
        }
        if self.model.cq_failed(handle) {
            self.others = Left::More;
        }
    }

    fn try_post(&mut self, handle: Handle, completion: &Completion) -> Result {
        // what the driver has taken matters only where there is no room, and is looked at once anyway: that
        // it cannot be is not to go unnoticed
        let has_room = self.model.cq(handle).is_some_and(|cq| cq.queue.has_room());
        if !has_room || self.looked_at != Some(handle) {
            self.consume(handle)?;
        }
        let cq = self.model.cq(handle).ok_or(Status::NoEnt)?;
        let ring = cq.ring.ring.as_ref().ok_or(Status::Fault)?;
        cq.queue.post(ring, completion).map_err(|_| Status::NoSpc)
    }

    /// Takes notice of how many completions the driver has taken.
    fn consume(&mut self, handle: Handle) -> Result {
        let slot = self.model.cq(handle).ok_or(Status::NoEnt)?.slot;
        let consumed = self.slot(slot)?.cq_ci()?;
        let cq = self.model.cq(handle).ok_or(Status::NoEnt)?;
        cq.queue.consume(consumed)?;
        self.looked_at = Some(handle);
        Ok(())
    }

    /// Tells the driver of completions, if it wants to be told.
    pub(super) fn announce(&mut self) {
        let cqs = self
            .queues()
            .map(|queues| [queues.send.cq, queues.receive.cq]);
        for cq in cqs.into_iter().flatten() {
            if self.wants_event(cq).unwrap_or(false) {
                self.model.cq_ready(cq);
            }
        }
    }

    fn wants_event(&mut self, handle: Handle) -> Result<bool> {
        let slot = self.model.cq(handle).ok_or(Status::NoEnt)?.slot;
        let slot = self.slot(slot)?;
        // what was written is seen before the driver's wish is read
        self.platform.fence();
        let arm = slot.cq_arm()?;
        let cq = self.model.cq(handle).ok_or(Status::NoEnt)?;
        let ring = cq.ring.ring.as_ref().ok_or(Status::Fault)?;
        Ok(cq.queue.wants_event(ring, || Ok(arm))?)
    }

    /// Cancels the entries of an endpoint that has failed.
    pub(super) fn flush(&mut self) -> Left {
        let state = self.endpoint().map(|endpoint| endpoint.state());
        if state != Ok(EpState::Error) {
            return Left::Nothing;
        }
        // what is wrong with one does not concern the other, and there is nowhere to say it
        let sends = self.flush_queue(true).unwrap_or(Left::Nothing);
        let receives = self.flush_queue(false).unwrap_or(Left::Nothing);
        sends.and(receives)
    }

    fn flush_queue(&mut self, send: bool) -> Result<Left> {
        let socket = &mut self.endpoint()?.socket;
        if send {
            if let Some(Sending { entry, .. }) = socket.sending.take() {
                self.sent(&entry, Status::Canceled)?;
            }
        } else if let Some(entry) = socket.receiving.take() {
            self.cancel(false, entry.wr_id)?;
        }
        for _ in 0..BUDGET {
            // the others are cancelled when loans are back
            if send && !self.may_carry_out()? {
                return Ok(Left::Nothing);
            }
            let Some(index) = self.work(send)?.queue.peek(0) else {
                return Ok(Left::Nothing);
            };
            match self.wr_id(send, index) {
                Ok(wr_id) => {
                    self.work(send)?.queue.take();
                    self.cancel(send, wr_id)?;
                }
                Err(_) if send && self.has_lent()? => return Ok(Left::Nothing),
                // its ring is gone, and with it what it was: that it is done is all that can be said
                Err(_) => {
                    self.work(send)?.queue.take();
                    self.finish(send)?;
                }
            }
        }
        Ok(Left::More)
    }

    fn cancel(&mut self, send: bool, wr_id: u64) -> Result {
        if !send {
            return self.complete(false, wr_id, 0, Status::Canceled, abi::OP_RECV, 0);
        }
        self.done(Carried {
            wr_id,
            len: 0,
            status: Status::Canceled,
            op: 0,
            signaled: true,
        })
    }

    /// That of the entry with this index.
    fn wr_id(&mut self, send: bool, index: u32) -> Result<u64> {
        let work = self.work(send)?;
        let ring = work.ring.ring.as_ref().ok_or(Status::Fault)?;
        Ok(if send {
            SendEntry::wr_id(&work.queue.read(ring, index)?)
        } else {
            ReceiveEntry::wr_id(&work.queue.read(ring, index)?)
        })
    }

    /// Whether entries wait for loans, each of which is looked at when it is back.
    fn has_lent(&mut self) -> Result<bool> {
        let lending = self.lending()?;
        Ok(lending.is_some_and(|lending| !lending.is_idle()))
    }
}
