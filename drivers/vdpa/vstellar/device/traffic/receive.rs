// SPDX-License-Identifier: GPL-2.0

//! Receive queues.

use super::{
    Turn,
    CALLS, //
};
use crate::{
    device::work::Left,
    model::{
        abi,
        access::Access,
        status::{
            Result,
            Status, //
        },
        work::{
            ReceiveEntry,
            Segment, //
        }, //
    },
    sockets,
    sys::socket::Socket, //
};
use kernel::prelude::*;

/// What has become of a batch.
enum Step {
    /// So many bytes are in its buffers, of as many as had room; none at the end of the stream.
    Received { bytes: u64, room: u64 },
    /// Its socket will say when it goes on.
    Wait,
    /// The buffer of its first entry cannot be had.
    Refused(Status),
}

/// Whether a call would return something.
fn is_due(socket: &Socket) -> bool {
    let ready = socket.poll();
    ready.readable() || ready.failed()
}

impl Turn<'_> {
    /// Fills the buffers that the driver has put into the receive queue.
    pub(super) fn receive(&mut self) -> Result<Left> {
        // the buffers were not enough for what there was
        let mut full = false;
        for _ in 0..CALLS {
            if self.endpoint()?.check_receive().is_err() {
                return Ok(Left::Nothing);
            }
            let Some(entry) = self.current_receive()? else {
                return Ok(Left::Nothing);
            };
            // nothing is looked up for what has not come: the socket wakes the device
            let socket = &self.endpoint()?.socket.inner;
            if !full && !is_due(socket) {
                return Ok(Left::Nothing);
            }
            match self.fill(&entry)? {
                Step::Received { bytes, room } => {
                    full = bytes == room;
                    self.settle_received(&entry, bytes)?;
                    self.endpoint()?.socket.much_received = bytes >= entry.segment.span.len();
                }
                Step::Wait => {
                    self.endpoint()?.socket.much_received = false;
                    return Ok(Left::Nothing);
                }
                Step::Refused(status) => {
                    self.endpoint()?.socket.receiving = None;
                    self.complete(false, entry.wr_id, 0, status, abi::OP_RECV, 0)?;
                    return Err(status);
                }
            }
        }
        Ok(Left::More)
    }

    /// Fills the buffer of an entry, and maybe some of those that come after it.
    fn fill(&mut self, entry: &ReceiveEntry) -> Result<Step> {
        self.batch.clear(self.platform);
        let many = self.endpoint()?.socket.much_received;
        let step = match self.gather_buffers(entry, many) {
            Ok(()) => self.receive_batch(),
            Err(status) => Ok(Step::Refused(status)),
        };
        self.batch.release(self.platform);
        step
    }

    fn receive_batch(&mut self) -> Result<Step> {
        let endpoint = self.model.endpoint(self.handle).ok_or(Status::NoEnt)?;
        match endpoint.socket.inner.recv(self.batch.pieces()) {
            Ok(received) => Ok(Step::Received {
                bytes: received as u64,
                room: self.batch.pieces().bytes() as u64,
            }),
            Err(error) if error == EAGAIN => Ok(Step::Wait),
            Err(error) => Err(sockets::status(error)),
        }
    }

    /// Adds a buffer to the batch, and those that come after it if `many` are wanted.
    ///
    /// Buffers that lie one behind the other are looked up as one run: those of a driver mostly do. What
    /// is wrong with one that comes later is found out when it is its turn, and nothing is received into
    /// any after that.
    fn gather_buffers(&mut self, entry: &ReceiveEntry, many: bool) -> Result {
        let mut run = entry.segment;
        let mut first = true;
        loop {
            let next = if many { self.next_buffer(&run) } else { None };
            if let Some(longer) = next.and_then(|next| run.followed_by(&next)) {
                run = longer;
                self.batch.join_last();
                continue;
            }
            let added = match self.add_segment(&run, 0, Access::WRITE) {
                // it need not be the buffer of the entry that is wrong
                Err(_) if first && run != entry.segment => {
                    return self.add_segment(&entry.segment, 0, Access::WRITE).map(drop);
                }
                Err(status) if first => return Err(status),
                added => added,
            };
            if added.is_err() || added.is_ok_and(|added| added < run.span.len()) {
                return Ok(());
            }
            let Some(next) = next else {
                return Ok(());
            };
            run = next;
            first = false;
        }
    }

    /// The buffer that comes after those of the batch, the last of which are `run`, if there is room.
    fn next_buffer(&mut self, run: &Segment) -> Option<Segment> {
        if !self.batch.has_room_after(run.span.len()) {
            return None;
        }
        let next = self.peek_receive()?.ok()?;
        self.batch.receives.push_within_capacity(next).ok()?;
        Some(next.segment)
    }

    fn peek_receive(&mut self) -> Option<Result<ReceiveEntry>> {
        let ahead = self.batch.receives.len() as u32;
        let work = &self.queues().ok()?.receive;
        let index = work.queue.peek(ahead)?;
        let ring = work.ring.ring.as_ref()?;
        let bytes = work.queue.read(ring, index).map_err(Status::from);
        Some(bytes.and_then(|bytes| ReceiveEntry::parse(&bytes)))
    }

    /// `received` bytes are in the buffers of the batch, or it was none because the stream has ended.
    fn settle_received(&mut self, first: &ReceiveEntry, received: u64) -> Result {
        let endpoint = self.endpoint()?;
        endpoint.rx_bytes = endpoint.rx_bytes.saturating_add(received);
        let counters = self.model.counters();
        counters.rx_bytes = counters.rx_bytes.saturating_add(received);
        let [_, bytes] = &mut self.bytes;
        *bytes = bytes.saturating_add(received);

        let mut left = received;
        let mut entry = *first;
        let mut index = 0;
        let mut joined = 0;
        let flags = if received == 0 { abi::CQE_FIN } else { 0 };
        loop {
            let len = entry.segment.span.len().min(left);
            left -= len;
            self.endpoint()?.socket.receiving = None;
            // no longer than an entry
            self.complete_one(
                false,
                entry.wr_id,
                len as u32,
                Status::Ok,
                abi::OP_RECV,
                flags,
            )?;
            let next = self.batch.receives.get(index).copied();
            let Some(next) = next.filter(|_| left > 0) else {
                break;
            };
            self.queues()?.receive.queue.take();
            joined += u64::from(self.batch.is_joined(index));
            entry = next;
            index += 1;
        }
        self.tell_done(false)?;
        if joined > 0 {
            self.platform.found_together(joined);
        }
        if received == 0 {
            self.model.ended(self.handle);
        }
        Ok(())
    }

    /// The entry that the receive queue is at.
    fn current_receive(&mut self) -> Result<Option<ReceiveEntry>> {
        if let Some(entry) = self.endpoint()?.socket.receiving {
            return Ok(Some(entry));
        }
        let work = &mut self.queues()?.receive;
        let Some(index) = work.queue.peek(0) else {
            return Ok(None);
        };
        let ring = work.ring.ring.as_ref().ok_or(Status::Fault)?;
        let bytes = work.queue.read(ring, index)?;
        work.queue.take();
        match ReceiveEntry::parse(&bytes) {
            Ok(entry) => {
                self.endpoint()?.socket.receiving = Some(entry);
                Ok(Some(entry))
            }
            Err(status) => {
                let (wr_id, op) = (ReceiveEntry::wr_id(&bytes), abi::OP_RECV);
                self.complete(false, wr_id, 0, status, op, 0)?;
                Err(status)
            }
        }
    }
}
