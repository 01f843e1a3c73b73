// SPDX-License-Identifier: GPL-2.0

//! When the guest takes away what the device stands on: memory, or the device.

use super::super::{
    status::Status,
    table::Handle, //
};
use super::{
    create::close_ring,
    event::{
        Pending,
        Sequence, //
    },
    region::give_back,
    Device,
    EpState,
    Host,
    Ring, //
};

impl<H: Host> Device<H> {
    /// Ends all objects and forgets the driver, as a reset does. Memory stays mapped. It does not
    /// matter how often it is called.
    pub fn reset(&mut self, host: &H) {
        for index in 0..self.endpoints.places() {
            if let Some(handle) = self.endpoints.handle_at(index) {
                self.drop_endpoint(host, handle, true);
            }
        }
        for index in 0..self.cqs.places() {
            if let Some(handle) = self.cqs.handle_at(index) {
                self.drop_cq(host, handle);
            }
        }
        while let Some(region) = self.emtt.evict() {
            give_back(host, region);
        }
        if let Some(doorbell) = self.doorbell.take() {
            close_ring(host, doorbell.area);
        }
        self.features = 0;
        self.greeted = None;
        self.quiesced = false;
        self.pending = Pending::default();
        self.sequence = Sequence::default();
    }

    /// Lets go of all rings whose mapping is gone; returns how many. Unmapping waits for it.
    ///
    /// An endpoint without its rings has failed, and so have those that complete into a queue without
    /// one; a device without its doorbells has to be reset.
    pub fn revoke(&mut self, host: &H) -> u32 {
        let mut count: u32 = 0;
        let mut revoke = |ring: &mut Ring<H::Ring>| {
            if ring.ring.is_none() || host.with(|memory| memory.is_mapped(ring.region)) {
                return false;
            }
            if let Some(ring) = ring.ring.take() {
                host.close_ring(ring);
            }
            count = count.saturating_add(1);
            true
        };
        let doorbell = self.doorbell.as_mut();
        let fatal = doorbell.is_some_and(|doorbell| revoke(&mut doorbell.area));
        for index in 0..self.endpoints.places() {
            let queues = self
                .endpoints
                .at_mut(index)
                .and_then(|ep| ep.queues.as_mut());
            let Some(queues) = queues else {
                continue;
            };
            let send = revoke(&mut queues.send.ring);
            let receive = revoke(&mut queues.receive.ring);
            if send || receive {
                self.fail_at(index);
            }
        }
        for index in 0..self.cqs.places() {
            if self
                .cqs
                .at_mut(index)
                .is_some_and(|cq| revoke(&mut cq.ring))
            {
                if let Some(cq) = self.cqs.handle_at(index) {
                    self.cq_failed(cq);
                }
            }
        }
        if fatal {
            self.fatal();
        }
        count
    }

    /// A completion queue is of no use any more, and with it the endpoints that complete into it. Says
    /// whether that is news.
    pub fn cq_failed(&mut self, cq: Handle) -> bool {
        let Some(failing) = self.cqs.get_mut(cq) else {
            return false;
        };
        // It is found out by each completion that cannot be written, and nobody has come to use it since.
        if core::mem::replace(&mut failing.failed, true) {
            return false;
        }
        let slot = failing.slot;
        if let Some(line) = self.slot(slot) {
            // an area that cannot be written has nobody who reads it
            let _ = line.set_state(EpState::Error as u32, Status::Fault);
        }
        for index in 0..self.endpoints.places() {
            let queues = self.endpoints.at(index).and_then(|ep| ep.queues.as_ref());
            if queues.is_some_and(|queues| queues.send.cq == cq || queues.receive.cq == cq) {
                self.fail_at(index);
            }
        }
        true
    }

    fn fail_at(&mut self, index: u32) {
        if let Some(handle) = self.endpoints.handle_at(index) {
            self.failed(handle, Status::Fault);
        }
    }
}
