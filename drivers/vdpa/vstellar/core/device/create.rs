// SPDX-License-Identifier: GPL-2.0

//! Making objects that have rings, and taking them away.

use super::super::{
    abi,
    access::Access,
    control::{
        CqCreate,
        EpCreate,
        EpOption,
        EpRings, //
    },
    doorbell::{
        SlotOwner,
        Slots, //
    },
    span::Span,
    status::{
        Result,
        Status, //
    },
    table::Handle,
    work::{
        CompletionQueue,
        Lending,
        WorkQueue, //
    },
};
use super::{
    buffers::{
        Buffers,
        Share, //
    },
    options::OptionSet,
    Cq,
    Device,
    Doorbell,
    Endpoint,
    EpState,
    Host,
    Payload,
    Pending,
    Queues,
    Ring,
    Work, //
};

impl<H: Host> Device<H> {
    pub(super) fn db_attach(
        &mut self,
        host: &H,
        span: Span,
        npages: u32,
        payload: &mut Payload,
    ) -> Result {
        self.need(abi::F_SHADOW_DB)?;
        if self.doorbell.is_some() {
            return Err(Status::State);
        }
        let slots = Slots::new(npages, self.limits.db_pages)?;
        let area = self.open_ring(host, span, Access::READ_WRITE)?;
        *payload = Payload::new().put32(slots.count()).put32(0);
        self.doorbell = Some(Doorbell { area, slots });
        Ok(())
    }

    pub(super) fn db_detach(&mut self, host: &H) -> Result {
        let doorbell = self.doorbell.as_ref().ok_or(Status::State)?;
        if doorbell.slots.used() > 0 {
            return Err(Status::Busy);
        }
        if let Some(doorbell) = self.doorbell.take() {
            close_ring(host, doorbell.area);
        }
        Ok(())
    }

    pub(super) fn cq_create(&mut self, host: &H, create: &CqCreate) -> Result<Handle> {
        self.check_slot(create.slot)?;
        self.cqs.make_room()?;
        let ring = self.open_ring(host, create.ring, Access::WRITE)?;
        let cq = Cq {
            cookie: create.cookie,
            events: create.events,
            slot: create.slot,
            ring,
            queue: CompletionQueue::new(create.log2),
            lost: 0,
            failed: false,
            pending: Pending::default(),
        };
        match self.cqs.insert(cq) {
            Ok(handle) => {
                self.assign(create.slot, SlotOwner::Cq(handle));
                Ok(handle)
            }
            Err(cq) => {
                close_ring(host, cq.ring);
                Err(Status::Quota)
            }
        }
    }

    pub(super) fn cq_destroy(&mut self, host: &H, handle: Handle) -> Result {
        let cq = self.cqs.get(handle).ok_or(Status::NoEnt)?;
        if cq.queue.is_reserved() {
            return Err(Status::Busy);
        }
        self.drop_cq(host, handle);
        Ok(())
    }

    pub(super) fn drop_cq(&mut self, host: &H, handle: Handle) {
        if let Some(cq) = self.cqs.remove(handle) {
            self.forget_events(cq.pending);
            self.unassign(cq.slot);
            close_ring(host, cq.ring);
        }
    }

    pub(super) fn ep_create(&mut self, host: &H, create: &EpCreate) -> Result<Handle> {
        self.need(if create.messages {
            abi::F_MSG
        } else {
            abi::F_STREAM
        })?;
        self.endpoints.make_room()?;
        if let Some(rings) = &create.rings {
            self.check_rings(rings)?;
        }
        let queues = match &create.rings {
            Some(rings) => Some(self.open_queues(host, rings)?),
            None => None,
        };
        let (socket, share, buffers) = match self.new_socket(host, create.messages) {
            Ok(made) => made,
            Err(status) => {
                close_queues(host, queues);
                return Err(status);
            }
        };
        let endpoint = Endpoint {
            messages: create.messages,
            cookie: create.cookie,
            uid_tag: create.uid_tag,
            netns_tag: create.netns_tag,
            queues,
            socket,
            tx_bytes: 0,
            rx_bytes: 0,
            unflushed: false,
            state: EpState::Created,
            error: Status::Ok,
            peer_fin: false,
            sent_fin: false,
            accept_armed: true,
            pending: Pending::default(),
            share,
            options: OptionSet::default(),
        };
        let handle = match self.endpoints.insert(endpoint) {
            Ok(handle) => handle,
            Err(endpoint) => {
                close_queues(host, endpoint.queues);
                host.close(endpoint.socket, true, &mut self.emtt);
                return Err(Status::Quota);
            }
        };
        self.buffers = buffers;
        if let Some(rings) = &create.rings {
            self.assign(rings.slot, SlotOwner::Ep(handle));
            self.reserve(rings);
        }
        Ok(handle)
    }

    /// A socket whose buffers are as large as it likes, or as there is room for; what they have of the
    /// spare, and what is left of it.
    fn new_socket(&mut self, host: &H, messages: bool) -> Result<(H::Socket, Share, Buffers)> {
        let mut socket = host.socket(messages)?;
        let (mut share, mut buffers) = (Share::default(), self.buffers);
        let resized = host.buffers(&socket).and_then(|[send, receive]| {
            let allowed = [
                buffers.grant(&mut share.send, send),
                buffers.grant(&mut share.receive, receive),
            ];
            resize(host, &mut socket, allowed)
        });
        match resized {
            Ok(()) => Ok((socket, share, buffers)),
            Err(status) => {
                host.close(socket, true, &mut self.emtt);
                Err(status)
            }
        }
    }

    /// All that can be wrong with the rings of an endpoint but for their memory.
    fn check_rings(&self, rings: &EpRings) -> Result {
        self.check_slot(rings.slot)?;
        if rings.sq_log2 > self.limits.sq_log2
            || rings.rq_log2 > self.limits.rq_log2
            || rings.sq.overlaps(&rings.rq)
        {
            return Err(Status::Inval);
        }
        let (sends, receives) = depths(rings);
        let send_cq = self.cqs.get(rings.send_cq).ok_or(Status::NoEnt)?;
        let recv_cq = self.cqs.get(rings.recv_cq).ok_or(Status::NoEnt)?;
        if send_cq.failed || recv_cq.failed {
            return Err(Status::State);
        }
        if rings.send_cq == rings.recv_cq {
            return send_cq.queue.check_room(sends.saturating_add(receives));
        }
        send_cq.queue.check_room(sends)?;
        recv_cq.queue.check_room(receives)
    }

    fn open_queues(&self, host: &H, rings: &EpRings) -> Result<Queues<H::Ring>> {
        let lending = self.has(abi::F_ZC).then(|| {
            let (sends, _) = depths(rings);
            Lending::new(self.limits.lending, sends)
        });
        let lending = lending.transpose()?;
        let send = self.open_ring(host, rings.sq, Access::READ)?;
        let receive = match self.open_ring(host, rings.rq, Access::READ) {
            Ok(receive) => receive,
            Err(status) => {
                close_ring(host, send);
                return Err(status);
            }
        };
        let work = |ring, log2, cq| Work {
            ring,
            queue: WorkQueue::new(log2),
            cq,
        };
        Ok(Queues {
            send: work(send, rings.sq_log2, rings.send_cq),
            receive: work(receive, rings.rq_log2, rings.recv_cq),
            lending,
            slot: rings.slot,
        })
    }

    /// Room for all entries in the completion queues, which was checked.
    fn reserve(&mut self, rings: &EpRings) {
        let (sends, receives) = depths(rings);
        for (cq, entries) in [(rings.send_cq, sends), (rings.recv_cq, receives)] {
            if let Some(cq) = self.cqs.get_mut(cq) {
                // it was checked, and nothing has come between
                let _ = cq.queue.reserve(entries);
            }
        }
    }

    pub(super) fn ep_destroy(&mut self, host: &H, handle: Handle, abort: bool) -> Result {
        self.endpoints.get(handle).ok_or(Status::NoEnt)?;
        // what was not sent yet is in buffers that the driver would reuse
        if !abort && self.has_unsent(handle) {
            return Err(Status::Busy);
        }
        self.drop_endpoint(host, handle, abort);
        Ok(())
    }

    /// Whether there are entries to be sent. Those that the device was told of just now count as well: what
    /// was kicked is looked at later than commands.
    fn has_unsent(&mut self, handle: Handle) -> bool {
        let slot = |endpoint: &Endpoint<_, _>| Some(endpoint.queues.as_ref()?.slot);
        let slot = self.endpoints.get(handle).and_then(slot);
        let told = slot.and_then(|slot| self.slot(slot)?.sq_pi().ok());
        let endpoint = self.endpoints.get_mut(handle);
        let Some(queues) = endpoint.and_then(|endpoint| endpoint.queues.as_mut()) else {
            return false;
        };
        if let Some(told) = told {
            // one that is not believed ends the endpoint when it is served
            let _ = queues.send.queue.offer(told);
        }
        queues.send.queue.uncompleted() > 0
    }

    pub(super) fn drop_endpoint(&mut self, host: &H, handle: Handle, abort: bool) {
        let Some(endpoint) = self.endpoints.remove(handle) else {
            return;
        };
        self.forget_events(endpoint.pending);
        self.buffers.release(endpoint.share);
        host.close(endpoint.socket, abort, &mut self.emtt);
        if let Some(queues) = &endpoint.queues {
            self.unassign(queues.slot);
            for work in [&queues.send, &queues.receive] {
                if let Some(cq) = self.cqs.get_mut(work.cq) {
                    cq.queue.unreserve(work.queue.depth());
                }
            }
        }
        close_queues(host, endpoint.queues);
    }

    /// Memory for a ring: in one mapping, with that right, and of no other ring.
    fn open_ring(&self, host: &H, span: Span, access: Access) -> Result<Ring<H::Ring>> {
        if self.rings().any(|other| other.span.overlaps(&span)) {
            return Err(Status::Busy);
        }
        let (region, _) = host.with(|memory| memory.region(&span, access))?;
        let ring = host.open_ring(span, access)?;
        Ok(Ring {
            span,
            region,
            ring: Some(ring),
        })
    }

    /// All rings, and the doorbell area.
    fn rings(&self) -> impl Iterator<Item = &Ring<H::Ring>> {
        let queues = self
            .endpoints
            .iter()
            .filter_map(|(_, ep)| ep.queues.as_ref());
        let works = queues.flat_map(|queues| [&queues.send.ring, &queues.receive.ring]);
        let cqs = self.cqs.iter().map(|(_, cq)| &cq.ring);
        let area = self.doorbell.iter().map(|doorbell| &doorbell.area);
        works.chain(cqs).chain(area)
    }

    fn check_slot(&self, slot: u32) -> Result {
        let doorbell = self.doorbell.as_ref().ok_or(Status::State)?;
        doorbell.slots.check_free(slot)
    }

    /// Gives a slot, which was checked, to an object, and writes the device's half of it.
    fn assign(&mut self, slot: u32, owner: SlotOwner) {
        if let Some(doorbell) = &mut self.doorbell {
            // it was checked, and nothing has come between
            let _ = doorbell.slots.assign(slot, owner);
        }
        if let Some(line) = self.slot(slot) {
            // an area that cannot be written is noticed when it is used
            let _ = line.clear();
        }
    }

    fn unassign(&mut self, slot: u32) {
        if let Some(doorbell) = &mut self.doorbell {
            doorbell.slots.unassign(slot);
        }
    }
}

/// Makes the send and the receive buffer of a socket that large, if they are not.
pub(super) fn resize<H: Host>(host: &H, socket: &mut H::Socket, sizes: [u32; 2]) -> Result {
    let options = [EpOption::Sndbuf, EpOption::Rcvbuf];
    let present = host.buffers(socket)?;
    for ((option, size), present) in options.into_iter().zip(sizes).zip(present) {
        if size != present {
            host.set_option(socket, option, &size.to_le_bytes())?;
        }
    }
    Ok(())
}

/// Entries of the send and the receive queue.
fn depths(rings: &EpRings) -> (u32, u32) {
    let depth = |log2| 1u32.checked_shl(u32::from(log2)).unwrap_or(0);
    (depth(rings.sq_log2), depth(rings.rq_log2))
}

pub(super) fn close_ring<H: Host>(host: &H, ring: Ring<H::Ring>) {
    if let Some(ring) = ring.ring {
        host.close_ring(ring);
    }
}

fn close_queues<H: Host>(host: &H, queues: Option<Queues<H::Ring>>) {
    if let Some(queues) = queues {
        close_ring(host, queues.send.ring);
        close_ring(host, queues.receive.ring);
    }
}
