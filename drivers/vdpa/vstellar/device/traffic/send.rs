// SPDX-License-Identifier: GPL-2.0

//! Send queues.

use super::{
    batch,
    Turn,
    CALLS, //
};
use crate::{
    device::work::Left,
    model::{
        access::Access,
        control::Direction,
        device::{
            EpState,
            Transport, //
        },
        status::{
            Result,
            Status, //
        },
        work::{
            lending,
            Carried,
            Lending,
            Plan,
            Segment,
            SendEntry,
            SendOp,
            SendRules,
            SGE_MAX, //
        },
    },
    sockets::{
        self,
        Sending, //
    },
    sys::loan::Loan, //
};
use kernel::prelude::*;

/// Most bytes of an entry.
const ENTRY_MAX: u32 = 1 << 30;

/// Bytes of a segment in a table.
const SGE_SIZE: usize = 16;

/// How far an entry has come.
enum Step {
    /// The direction has ended.
    Ended,
    /// So many bytes of the batch that it begins are the transport's.
    Sent(u64),
    /// Its socket will say when it goes on.
    Wait,
}

impl Turn<'_> {
    /// Carries out what the driver has put into the send queue.
    pub(super) fn send(&mut self) -> Result<Left> {
        for _ in 0..CALLS {
            if !self.may_carry_out()? {
                return Ok(Left::Nothing);
            }
            let endpoint = self.endpoint()?;
            if matches!(
                endpoint.state(),
                EpState::Created | EpState::Bound | EpState::Connecting | EpState::Error
            ) {
                return Ok(Left::Nothing);
            }
            let Some(sending) = self.current_send()? else {
                return Ok(Left::Nothing);
            };
            // what comes after the end of its direction harms nothing else
            if let Err(status) = self.endpoint()?.check_send() {
                self.endpoint()?.socket.sending = None;
                self.sent(&sending.entry, status)?;
                continue;
            }
            match self.carry_out(&sending) {
                Ok(Step::Wait) => return Ok(Left::Nothing),
                Ok(Step::Ended) => {
                    self.endpoint()?.socket.sending = None;
                    self.sent(&sending.entry, Status::Ok)?;
                    self.model.finished(self.handle);
                }
                Ok(Step::Sent(bytes)) => self.settle_sent(&sending, bytes)?,
                Err(status) => {
                    self.endpoint()?.socket.sending = None;
                    self.sent(&sending.entry, status)?;
                    return Err(status);
                }
            }
        }
        Ok(Left::More)
    }

    /// The entry that the send queue is at.
    fn current_send(&mut self) -> Result<Option<Sending>> {
        if let Some(sending) = self.endpoint()?.socket.sending {
            return Ok(Some(sending));
        }
        let rules = self.rules();
        let work = &mut self.queues()?.send;
        let Some(index) = work.queue.peek(0) else {
            return Ok(None);
        };
        let ring = work.ring.ring.as_ref().ok_or(Status::Fault)?;
        let bytes = work.queue.read(ring, index)?;
        work.queue.take();
        let mut parsed = SendEntry::parse(&bytes, &rules);
        if let Ok(SendEntry {
            table: Some(table), ..
        }) = parsed
        {
            parsed = parsed.and_then(|entry| self.with_table(&entry, &table));
        }
        match parsed {
            Ok(entry) => {
                let sending = Sending { entry, done: 0 };
                self.endpoint()?.socket.sending = Some(sending);
                Ok(Some(sending))
            }
            Err(status) => {
                self.done(Carried {
                    wr_id: SendEntry::wr_id(&bytes),
                    len: 0,
                    status,
                    op: 0,
                    signaled: true,
                })?;
                Err(status)
            }
        }
    }

    fn rules(&self) -> SendRules {
        SendRules {
            messages: false,
            remote: false,
            max_sge: self.model.limits().max_sge,
            max_len: ENTRY_MAX,
        }
    }

    fn with_table(&mut self, entry: &SendEntry, table: &Segment) -> Result<SendEntry> {
        let len = usize::try_from(table.span.len()).map_err(|_| Status::Inval)?;
        // a table that is too long was refused
        let mut copy = [0; SGE_MAX as usize * SGE_SIZE];
        let copy = copy.get_mut(..len).ok_or(Status::Inval)?;
        self.read_segment(table, 0, copy)?;
        entry.with_table(copy)
    }

    /// Carries out an entry, and maybe some of those that come after it.
    fn carry_out(&mut self, sending: &Sending) -> Result<Step> {
        let Sending { entry, done } = sending;
        if entry.op == SendOp::Fin {
            let platform = self.platform;
            let socket = &mut self.endpoint()?.socket;
            platform.shutdown(socket, Direction::Write)?;
            return Ok(Step::Ended);
        }
        self.batch.clear(self.platform);
        let plan = self.plan(entry.len.saturating_sub(*done))?;
        if matches!(plan, Plan::Lend(_)) {
            self.batch.limit(lending::MOST);
        }
        let gathered = self.gather(entry, *done, plan);
        let sent = gathered.and_then(|more| match plan {
            Plan::Lend(_) => self.lend(more),
            _ => self.copy(more, plan == Plan::Refuse),
        });
        self.batch.release(self.platform);
        sent
    }

    /// The transport copies the batch; if it was `refused` as a loan, that is counted.
    fn copy(&mut self, more: bool, refused: bool) -> Result<Step> {
        let Some(bytes) = self.hand_over(more, None)? else {
            return Ok(Step::Wait);
        };
        let counters = self.model.counters();
        counters.loans_refused = counters.loans_refused.saturating_add(refused.into());
        if let Some(lending) = self.lending()? {
            lending.copied(bytes as u64);
        }
        Ok(Step::Sent(bytes as u64))
    }

    /// The transport sends from the memory of the batch.
    fn lend(&mut self, more: bool) -> Result<Step> {
        let bank = self.platform.bank();
        let Some(loan) = bank.loan(self.handle.raw()) else {
            return self.copy(more, false);
        };
        let Some(bytes) = self.hand_over(more, Some(&loan))? else {
            return Ok(Step::Wait);
        };
        let made = loan.make(bytes);
        let counters = self.model.counters();
        counters.lent = counters.lent.saturating_add(made.bytes);
        if !made.out && made.copied {
            counters.lent_copied = counters.lent_copied.saturating_add(made.bytes);
        }
        if let Some(lending) = self.lending()? {
            if made.out {
                lending.lent(made.number, made.bytes);
            } else {
                lending.copied(made.bytes);
                lending.learn(made.copied);
            }
        }
        Ok(Step::Sent(made.bytes))
    }

    /// Gives the transport the batch; how much it took, or none if it has no room.
    fn hand_over(&mut self, more: bool, loan: Option<&Loan>) -> Result<Option<usize>> {
        let pieces = self.batch.pieces();
        let endpoint = self.model.endpoint(self.handle).ok_or(Status::NoEnt)?;
        match endpoint.socket.inner.send(pieces, more, loan) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error == EAGAIN => Ok(None),
            Err(error) => {
                self.cut();
                Err(sockets::status(error))
            }
        }
    }

    /// The socket is not connected any more.
    pub(super) fn cut(&mut self) {
        if let Ok(Some(lending)) = self.lending() {
            lending.cut();
        }
    }

    /// What to do with `len` bytes that are next.
    fn plan(&mut self, len: u32) -> Result<Plan> {
        let (limit, out) = (self.model.limits().loans, self.platform.bank().lent());
        let Some(lending) = self.lending()? else {
            return Ok(Plan::Copy);
        };
        Ok(lending.plan(u64::from(len), out, limit))
    }

    pub(super) fn lending(&mut self) -> Result<Option<&mut Lending>> {
        Ok(self.queues()?.lending.as_mut())
    }

    /// Whether there is room to remember the entries of a batch until loans are back.
    pub(super) fn may_carry_out(&mut self) -> Result<bool> {
        let lending = self.lending()?;
        Ok(lending.is_none_or(|lending| lending.has_room(batch::ENTRIES)))
    }

    /// Adds what is left of an entry to the batch, and what comes after it. `true` if there is more.
    fn gather(&mut self, entry: &SendEntry, done: u32, plan: Plan) -> Result<bool> {
        if !self.gather_entry(entry, done)? {
            return Ok(true);
        }
        let rules = self.rules();
        let mut more = entry.more;
        while let Some(next) = self.peek_send(&rules) {
            // One that is wrong will be looked at again, and refused: nothing more is sent then, and what
            // comes before it must not be held back for it.
            let Ok(next) = next else {
                return Ok(more);
            };
            let alone =
                next.op != SendOp::Send || next.table.is_some() || !plan.takes(u64::from(next.len));
            if alone || self.batch.is_full() {
                return Ok(true);
            }
            // there is room for as many as it takes
            if self.batch.sends.push_within_capacity(next).is_err() {
                return Ok(true);
            }
            match self.gather_entry(&next, 0) {
                Ok(true) => more = next.more,
                Ok(false) => return Ok(true),
                Err(_) => {
                    self.batch.sends.pop();
                    return Ok(more);
                }
            }
        }
        Ok(more)
    }

    /// Adds what comes after the first `done` bytes of an entry. `true` if that was all of it.
    fn gather_entry(&mut self, entry: &SendEntry, done: u32) -> Result<bool> {
        let mut skip = u64::from(done);
        let mut added = false;
        for segment in entry.segments.iter() {
            let len = segment.span.len();
            if skip >= len {
                skip -= len;
                continue;
            }
            match self.add_segment(segment, skip, Access::READ) {
                Ok(n) if n == len - skip => {}
                Ok(_) => return Ok(false),
                Err(_) if added => return Ok(false),
                Err(status) => return Err(status),
            }
            added = true;
            skip = 0;
        }
        Ok(true)
    }

    /// The entry after those of the batch.
    fn peek_send(&mut self, rules: &SendRules) -> Option<Result<SendEntry>> {
        let ahead = self.batch.sends.len() as u32;
        let work = &self.queues().ok()?.send;
        let index = work.queue.peek(ahead)?;
        let ring = work.ring.ring.as_ref()?;
        let entry = work.queue.read(ring, index).map_err(Status::from);
        Some(entry.and_then(|bytes| SendEntry::parse(&bytes, rules)))
    }

    /// `sent` bytes of the batch, which began with what was left of an entry, are the transport's.
    fn settle_sent(&mut self, first: &Sending, sent: u64) -> Result {
        let endpoint = self.endpoint()?;
        endpoint.tx_bytes = endpoint.tx_bytes.saturating_add(sent);
        let counters = self.model.counters();
        counters.tx_bytes = counters.tx_bytes.saturating_add(sent);
        let [bytes, _] = &mut self.bytes;
        *bytes = bytes.saturating_add(sent);

        let mut left = u32::try_from(sent).unwrap_or(u32::MAX);
        let rest = first.entry.len.saturating_sub(first.done);
        if left < rest {
            if let Some(sending) = &mut self.endpoint()?.socket.sending {
                sending.done = sending.done.saturating_add(left);
            }
            return Ok(());
        }
        left -= rest;
        self.endpoint()?.socket.sending = None;
        self.sent(&first.entry, Status::Ok)?;
        let mut index = 0;
        while left > 0 {
            // the copy that was checked, whatever the ring has by now
            let Some(entry) = self.batch.sends.get(index).copied() else {
                return Ok(());
            };
            self.queues()?.send.queue.take();
            if left < entry.len {
                self.endpoint()?.socket.sending = Some(Sending { entry, done: left });
                return Ok(());
            }
            left -= entry.len;
            self.sent(&entry, Status::Ok)?;
            index += 1;
        }
        Ok(())
    }

    /// An entry has come to its end.
    pub(super) fn sent(&mut self, entry: &SendEntry, status: Status) -> Result {
        self.done(Carried {
            wr_id: entry.wr_id,
            len: if status == Status::Ok { entry.len } else { 0 },
            status,
            op: entry.op.code(),
            signaled: entry.signaled,
        })
    }
}
