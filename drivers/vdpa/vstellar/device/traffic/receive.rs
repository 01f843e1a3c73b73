// SPDX-License-Identifier: GPL-2.0

//! Receive queues.

use super::{
    Turn,
    BUDGET, //
};
use crate::{
    device::work::Left,
    model::{
        abi,
        status::{
            Result,
            Status, //
        },
        work::ReceiveEntry, //
    },
    sockets, //
};
use kernel::prelude::*;

impl Turn<'_> {
    /// Fills the buffers that the driver has put into the receive queue.
    pub(super) fn receive(&mut self) -> Result<Left> {
        for _ in 0..BUDGET {
            if self.endpoint()?.check_receive().is_err() {
                return Ok(Left::Nothing);
            }
            let Some(entry) = self.current_receive()? else {
                return Ok(Left::Nothing);
            };
            let room = usize::try_from(entry.segment.span.len()).unwrap_or(usize::MAX);
            let room = room.min(self.buffer.len());
            let into = self.buffer.get_mut(..room).unwrap_or_default();
            let endpoint = self.model.endpoint(self.handle).ok_or(Status::NoEnt)?;
            let received = match endpoint.socket.inner.recv(into) {
                Ok(received) => received,
                Err(error) if error == EAGAIN => return Ok(Left::Nothing),
                Err(error) => return Err(sockets::status(error)),
            };
            endpoint.socket.receiving = None;
            let result = self.deliver(&entry, received);
            let status = result.err().unwrap_or(Status::Ok);
            let flags = if received == 0 { abi::CQE_FIN } else { 0 };
            let (len, op) = (received as u32, abi::OP_RECV);
            self.complete(false, entry.wr_id, len, status, op, flags)?;
            result?;
            if received == 0 {
                self.model.ended(self.handle);
            }
        }
        Ok(Left::More)
    }

    /// The entry that the receive queue is at.
    fn current_receive(&mut self) -> Result<Option<ReceiveEntry>> {
        if let Some(entry) = self.endpoint()?.socket.receiving {
            return Ok(Some(entry));
        }
        let work = &mut self.queues()?.receive;
        let Some(index) = work.queue.take() else {
            return Ok(None);
        };
        let ring = work.ring.ring.as_ref().ok_or(Status::Fault)?;
        let bytes = work.queue.read(ring, index)?;
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

    /// Copies received bytes to where they are wanted.
    fn deliver(&mut self, entry: &ReceiveEntry, received: usize) -> Result {
        let buffer = core::mem::take(&mut self.buffer);
        let data = buffer.get(..received).unwrap_or_default();
        let result = self.write_segment(&entry.segment, data);
        self.buffer = buffer;
        result?;
        let endpoint = self.endpoint()?;
        endpoint.rx_bytes = endpoint.rx_bytes.saturating_add(received as u64);
        let counters = self.model.counters();
        counters.rx_bytes = counters.rx_bytes.saturating_add(received as u64);
        Ok(())
    }
}
