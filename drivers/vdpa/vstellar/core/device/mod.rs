// SPDX-License-Identifier: GPL-2.0

//! One device: its objects, and what may be done with them.
//!
//! [`Device::execute`] carries out a command: it holds what [`super::control`] has
//! parsed against the objects there are, the limits, the features that were
//! negotiated and the [`Policy`] of the operator, and only then touches anything.
//! A command that is refused has changed nothing.
//!
//! The device is driven by one caller at a time, which may sleep: commands pin
//! memory and open sockets through the [`Host`].

use super::{
    control::{
        Command,
        Reply,
        Request,
        REPLY_MAX, //
    },
    doorbell::{
        Slot,
        Slots, //
    },
    emtt::Emtt,
    span::bytes_of,
    status::{
        Result,
        Status, //
    },
    table::{
        Handle,
        Table, //
    },
    work::lending, //
};

mod buffers;
mod config;
mod connect;
mod create;
mod endpoint;
mod event;
mod host;
mod notify;
mod options;
mod policy;
mod region;
mod stop;

pub use buffers::FLOOR as BUFFER_FLOOR;
pub use config::{
    config,
    CONFIG_SIZE, //
};
pub use endpoint::{
    Cq,
    Endpoint,
    EpState,
    Queues,
    Ring,
    Work, //
};
pub use event::EVENT_SIZE;
pub use host::{
    Accepted,
    Host,
    Mapping,
    SocketInfo,
    Transport, //
};
pub use policy::{
    Policy,
    Rule, //
};

use buffers::Buffers;
use event::{
    Pending,
    Sequence, //
};
use policy::Rate;

/// What a command returns in its response.
type Payload = super::bytes::Bytes<REPLY_MAX>;

/// How much of everything a device may have.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Least revision of a driver that is served.
    pub min_driver_revision: u16,
    /// Endpoints.
    pub endpoints: u32,
    /// Completion queues.
    pub cqs: u32,
    /// Memory regions.
    pub mrs: u32,
    /// Segments of all of them.
    pub segments: u32,
    /// Entries of a send queue, as the logarithm.
    pub sq_log2: u16,
    /// Entries of a receive queue, as the logarithm.
    pub rq_log2: u16,
    /// Segments of a work entry.
    pub max_sge: u16,
    /// Bytes of a memory region.
    pub mr_len: u64,
    /// Pages of the doorbell area.
    pub db_pages: u32,
    /// Bytes that all buffers of sockets have beyond the least that each has.
    pub buffers: u64,
    /// Whether send buffers are lent to the transport.
    pub lending: lending::Policy,
    /// Bytes that may be on loan.
    pub loans: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            min_driver_revision: 1,
            endpoints: 4096,
            cqs: 64,
            mrs: 1024,
            segments: 32768,
            sq_log2: 12,
            rq_log2: 12,
            max_sge: super::work::SGE_MAX,
            mr_len: 1 << 30,
            db_pages: 64,
            buffers: 256 << 20,
            lending: lending::Policy::Off,
            loans: 64 << 20,
        }
    }
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Commands answered.
    pub commands: u64,
    /// Of these, with another status than OK.
    pub refused: u64,
    /// Notifications of the kick queue.
    pub kicks: u64,
    /// Events written.
    pub events: u64,
    /// Times that there was no buffer for one.
    pub events_lost: u64,
    /// Work entries taken.
    pub entries: u64,
    /// Completions written.
    pub completions: u64,
    /// Payload bytes sent.
    pub tx_bytes: u64,
    /// Payload bytes received.
    pub rx_bytes: u64,
    /// Connections established, either way.
    pub connections: u64,
    /// Payload bytes lent to the transport.
    pub lent: u64,
    /// Of these, those that the kernel has copied after all.
    pub lent_copied: u64,
    /// Times that bytes were copied because too much was on loan.
    pub loans_refused: u64,
}

/// The doorbell area.
#[derive(Debug)]
pub struct Doorbell<R> {
    /// Where it is.
    pub area: Ring<R>,
    /// Whose the slots are.
    pub slots: Slots,
}

/// A device. `H` is its host, which every call that needs it is given.
pub struct Device<H: Host> {
    limits: Limits,
    policy: Policy,
    boot_id: u64,
    features: u64,
    greeted: Option<[u8; 16]>,
    quiesced: bool,
    doorbell: Option<Doorbell<H::Ring>>,
    cqs: Table<Cq<H::Ring>>,
    endpoints: Table<Endpoint<H::Ring, H::Socket>>,
    emtt: Emtt,
    buffers: Buffers,
    rate: Rate,
    /// Where the search for a free port goes on.
    next_port: u16,
    /// Events that are about no object.
    pending: Pending,
    /// Objects with events, and the endpoint that the next search for one begins with.
    eventful: u32,
    next_eventful: u32,
    sequence: Sequence,
    counters: Counters,
}

impl<H: Host> Device<H> {
    /// A device without objects.
    pub fn new(limits: Limits, policy: Policy, boot_id: u64) -> Self {
        Self {
            limits,
            boot_id,
            features: 0,
            greeted: None,
            quiesced: false,
            doorbell: None,
            cqs: Table::new(limits.cqs),
            endpoints: Table::new(limits.endpoints),
            emtt: Emtt::new(limits.mrs, limits.segments),
            buffers: Buffers::new(limits.buffers),
            rate: Rate::new(),
            next_port: policy.first_port,
            policy,
            pending: Pending::default(),
            eventful: 0,
            next_eventful: 0,
            sequence: Sequence::default(),
            counters: Counters::default(),
        }
    }

    /// The features that driver and device have in common.
    pub fn set_features(&mut self, features: u64) {
        self.features = features;
    }

    fn has(&self, feature: u32) -> bool {
        self.features.checked_shr(feature).unwrap_or(0) & 1 == 1
    }

    fn need(&self, feature: u32) -> Result {
        if self.has(feature) {
            Ok(())
        } else {
            Err(Status::NotSupp)
        }
    }

    /// Its limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What it may do.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The name that the driver has told, padded with zeros.
    pub fn driver_name(&self) -> Option<&[u8; 16]> {
        self.greeted.as_ref()
    }

    /// Whether work entries are to be left alone.
    pub fn is_quiesced(&self) -> bool {
        self.quiesced
    }

    /// The doorbell area.
    pub fn doorbell(&self) -> Option<&Doorbell<H::Ring>> {
        self.doorbell.as_ref()
    }

    /// A completion queue.
    pub fn cq(&mut self, handle: Handle) -> Option<&mut Cq<H::Ring>> {
        self.cqs.get_mut(handle)
    }

    /// An endpoint.
    pub fn endpoint(&mut self, handle: Handle) -> Option<&mut Endpoint<H::Ring, H::Socket>> {
        self.endpoints.get_mut(handle)
    }

    /// The memory regions.
    pub fn emtt(&mut self) -> &mut Emtt {
        &mut self.emtt
    }

    /// What has happened so far.
    pub fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }

    /// How many endpoints, completion queues and memory regions there are.
    pub fn objects(&self) -> [u32; 3] {
        [self.endpoints.len(), self.cqs.len(), self.emtt.len()]
    }

    /// Carries out a request, for whose response there are `room` bytes, at time `now` (nanoseconds).
    pub fn execute(&mut self, host: &H, request: &[u8], room: u64, now: u64) -> Reply {
        let reply = match Request::parse(request, room) {
            Ok(request) => self.answer(host, &request, now),
            Err(refused) => refused.into(),
        };
        self.counters.commands = self.counters.commands.saturating_add(1);
        if reply.status != Status::Ok {
            self.counters.refused = self.counters.refused.saturating_add(1);
        }
        reply
    }

    fn answer(&mut self, host: &H, request: &Request<'_>, now: u64) -> Reply {
        let mut handle = request.handle;
        let mut payload = Payload::new();
        let result = self.run(host, &mut handle, &request.command, &mut payload, now);
        Reply {
            cookie: request.cookie,
            status: result.err().unwrap_or(Status::Ok),
            handle: if result.is_ok() {
                handle
            } else {
                request.handle
            },
            payload,
        }
    }

    /// Carries out a command; `handle` is the object of the request, and becomes that of the response.
    fn run(
        &mut self,
        host: &H,
        handle: &mut Handle,
        command: &Command<'_>,
        payload: &mut Payload,
        now: u64,
    ) -> Result {
        let object = *handle;
        if let Command::Hello { revision, name } = command {
            return self.hello(*revision, name, payload);
        }
        if self.greeted.is_none() {
            return Err(Status::State);
        }
        match command {
            Command::Hello { .. } => Ok(()),
            Command::DbAttach { area, npages } => self.db_attach(host, *area, *npages, payload),
            Command::DbDetach => self.db_detach(host),
            Command::CqCreate(create) => {
                *handle = self.cq_create(host, create)?;
                Ok(())
            }
            Command::CqDestroy => self.cq_destroy(host, object),
            Command::EpCreate(create) => {
                *handle = self.ep_create(host, create)?;
                Ok(())
            }
            Command::EpBind(local) => self.ep_bind(host, object, local, payload),
            Command::EpListen { backlog } => self.ep_listen(host, object, *backlog),
            Command::EpConnect { peer, timeout_ms } => {
                self.ep_connect(host, object, peer, *timeout_ms, now)
            }
            Command::EpAccept { endpoint } => self.ep_accept(host, object, *endpoint, payload, now),
            Command::EpShutdown(direction) => self.ep_shutdown(host, object, *direction),
            Command::EpAbort => self.ep_abort(host, object),
            Command::EpDestroy { abort } => self.ep_destroy(host, object, *abort),
            Command::EpSetopt { option, value } => {
                self.ep_setopt(host, object, *option, value, payload)
            }
            Command::EpGetopt { option, room } => {
                self.ep_getopt(host, object, *option, *room, payload)
            }
            Command::EpQuery => self.ep_query(host, object, payload),
            Command::MrReg(reg) => self.mr_reg(host, reg, payload),
            Command::MrDereg { key } => self.mr_dereg(host, *key),
            Command::MrAdvise { key, advice, range } => self.mr_advise(host, *key, *advice, range),
            Command::DevStats => self.dev_stats(host, payload),
            Command::Quiesce => self.set_quiesced(true),
            Command::Resume => self.set_quiesced(false),
        }
    }

    fn hello(&mut self, revision: u32, name: &[u8; 16], payload: &mut Payload) -> Result {
        if self.greeted.is_some() {
            return Err(Status::State);
        }
        if revision < u32::from(self.limits.min_driver_revision) {
            return Err(Status::Version);
        }
        self.greeted = Some(*name);
        *payload = Payload::new().put64(self.boot_id);
        Ok(())
    }

    fn set_quiesced(&mut self, quiesced: bool) -> Result {
        self.need(super::abi::F_QUIESCE)?;
        if self.quiesced == quiesced {
            return Err(Status::State);
        }
        self.quiesced = quiesced;
        Ok(())
    }

    fn dev_stats(&self, host: &H, payload: &mut Payload) -> Result {
        self.need(super::abi::F_STATS)?;
        let (memory, pinned) = host.with(|memory| (memory.counters(), memory.charged()));
        let counters = &self.counters;
        *payload = [
            counters.commands,
            counters.refused,
            counters.kicks,
            counters.events,
            counters.events_lost,
            counters.entries,
            counters.completions,
            counters.tx_bytes,
            counters.rx_bytes,
            memory.hits,
            memory.misses,
            memory.failures,
            memory.evictions,
            bytes_of(pinned),
            bytes_of(memory.peak),
            counters.connections,
        ]
        .into_iter()
        .fold(Payload::new(), Payload::put64);
        Ok(())
    }

    /// The doorbell slot of an object, if the area is there.
    fn slot(&self, slot: u32) -> Option<Slot<'_, H::Ring>> {
        let area = self.doorbell.as_ref()?.area.ring.as_ref()?;
        Some(Slot::new(area, slot))
    }
}
