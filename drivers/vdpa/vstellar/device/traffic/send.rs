// SPDX-License-Identifier: GPL-2.0

//! Send queues.

use super::{
    Turn,
    BUDGET, //
};
use crate::{
    device::work::Left,
    model::{
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
            Segment,
            Segments,
            SendEntry,
            SendOp,
            SendRules,
            SGE_MAX, //
        },
    },
    sockets::{
        self,
        Sending, //
    }, //
};
use kernel::prelude::*;

/// Most bytes of an entry.
const ENTRY_MAX: u32 = 1 << 30;

/// Bytes of a segment in a table.
const SGE_SIZE: usize = 16;

/// How far an entry has come.
enum Step {
    /// It is done.
    Done,
    /// Its socket will say when it goes on.
    Wait,
}

impl Turn<'_> {
    /// Carries out what the driver has put into the send queue.
    pub(super) fn send(&mut self) -> Result<Left> {
        for _ in 0..BUDGET {
            let endpoint = self.endpoint()?;
            if matches!(
                endpoint.state(),
                EpState::Created | EpState::Bound | EpState::Connecting | EpState::Error
            ) {
                return Ok(Left::Nothing);
            }
            let Some(Sending { entry, done }) = self.current_send()? else {
                return Ok(Left::Nothing);
            };
            // what comes after the end of its direction harms nothing else
            if let Err(status) = self.endpoint()?.check_send() {
                self.endpoint()?.socket.sending = None;
                self.sent(&entry, status)?;
                continue;
            }
            match self.carry_out(&entry, done) {
                Ok(Step::Wait) => return Ok(Left::Nothing),
                Ok(Step::Done) => {
                    self.endpoint()?.socket.sending = None;
                    self.sent(&entry, Status::Ok)?;
                }
                Err(status) => {
                    self.endpoint()?.socket.sending = None;
                    self.sent(&entry, status)?;
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
        let rules = SendRules {
            messages: false,
            remote: false,
            max_sge: self.model.limits().max_sge,
            max_len: ENTRY_MAX,
        };
        let work = &mut self.queues()?.send;
        let Some(index) = work.queue.take() else {
            return Ok(None);
        };
        let ring = work.ring.ring.as_ref().ok_or(Status::Fault)?;
        let bytes = work.queue.read(ring, index)?;
        let parsed = SendEntry::parse(&bytes, &rules);
        let parsed = parsed.and_then(|entry| match entry.table {
            Some(table) => self.with_table(&entry, &table),
            None => Ok(entry),
        });
        match parsed {
            Ok(entry) => {
                let sending = Sending { entry, done: 0 };
                self.endpoint()?.socket.sending = Some(sending);
                Ok(Some(sending))
            }
            Err(status) => {
                self.complete(true, SendEntry::wr_id(&bytes), 0, status, 0, 0)?;
                Err(status)
            }
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

    fn carry_out(&mut self, entry: &SendEntry, done: u32) -> Result<Step> {
        if entry.op == SendOp::Fin {
            let platform = self.platform;
            let socket = &mut self.endpoint()?.socket;
            platform.shutdown(socket, Direction::Write)?;
            return Ok(Step::Done);
        }
        let mut done = done;
        while done < entry.len {
            let n = self.gather(&entry.segments, u64::from(done))?;
            let left = (entry.len - done) as usize > n;
            let (more, data) = (entry.more || left, self.buffer.get(..n).unwrap_or_default());
            let endpoint = self.model.endpoint(self.handle).ok_or(Status::NoEnt)?;
            let sent = match endpoint.socket.inner.send(data, more) {
                Ok(sent) => sent as u32,
                Err(error) if error == EAGAIN => return Ok(Step::Wait),
                Err(error) => return Err(sockets::status(error)),
            };
            done = done.saturating_add(sent).min(entry.len);
            endpoint.tx_bytes = endpoint.tx_bytes.saturating_add(u64::from(sent));
            endpoint.socket.sending = Some(Sending {
                entry: *entry,
                done,
            });
            let counters = self.model.counters();
            counters.tx_bytes = counters.tx_bytes.saturating_add(u64::from(sent));
        }
        Ok(Step::Done)
    }

    /// An entry has come to its end.
    pub(super) fn sent(&mut self, entry: &SendEntry, status: Status) -> Result {
        let (len, op) = match status {
            Status::Ok => (entry.len, entry.op.code()),
            _ => (0, entry.op.code()),
        };
        if entry.signaled || status != Status::Ok {
            self.complete(true, entry.wr_id, len, status, op, 0)?;
        } else {
            self.finish(true)?;
        }
        if entry.op == SendOp::Fin && status == Status::Ok {
            self.model.finished(self.handle);
        }
        Ok(())
    }

    /// Copies what comes after the first `skip` bytes of the segments, as far as there is room.
    fn gather(&mut self, segments: &Segments, skip: u64) -> Result<usize> {
        let mut skip = skip;
        let mut filled = 0;
        let buffer = core::mem::take(&mut self.buffer);
        let result = segments.iter().try_for_each(|segment| {
            let len = segment.span.len();
            if skip >= len {
                skip -= len;
                return Ok(());
            }
            let room = buffer.get_mut(filled..).unwrap_or_default();
            let n = usize::try_from(len - skip)
                .unwrap_or(usize::MAX)
                .min(room.len());
            let room = room.get_mut(..n).unwrap_or_default();
            self.read_segment(segment, skip, room)?;
            filled += n;
            skip = 0;
            Ok(())
        });
        self.buffer = buffer;
        result.map(|()| filled)
    }
}
