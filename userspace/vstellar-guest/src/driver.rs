// SPDX-License-Identifier: GPL-2.0
//! What the guest's driver does: commands, objects, events.
//!
//! Where things are in the guest's memory:
//!
//! | from | what |
//! |---|---|
//! | 0 | the rings of the virtqueues |
//! | [`EVENTS`] | buffers for events |
//! | [`COMMANDS`] | requests and responses of tests, one place for each chain |
//! | [`OWN_COMMAND`] | request and response of the driver |
//! | [`DOORBELLS`] | doorbell area |
//! | [`RINGS`] | rings of endpoints and completion queues |
//! | [`BUFFERS`] | payload |

use crate::machine::Machine;
use crate::machine::CONTROL;
use crate::machine::EVENT;
use crate::machine::KICK;
use crate::machine::PATIENCE;
use crate::machine::SIZES;
use crate::queue::DESC_WRITE;
use crate::ram::addr;
use crate::ram::Ram;
use crate::wire;
use crate::wire::wire;
use crate::wire::Event;
use crate::wire::Response;
use crate::wire::Wire;
use crate::wire::RESPONSE_MAX;
use anyhow::bail;
use anyhow::ensure;
use anyhow::Result;
use std::path::Path;
use std::time::Duration;
use virtio_queue::desc::split::Descriptor;
use vstellar_core::abi;
use vstellar_core::control::Op;
use vstellar_core::status::Status;

pub(crate) const EVENTS: u64 = 0x2_0000;
pub(crate) const COMMANDS: u64 = 0x3_0000;
/// Bytes of a place for a command: a request, and half of it further the response.
pub(crate) const COMMAND_BYTES: u64 = 0x2000;
/// Where a test that damages the memory of its commands leaves those of the driver alone.
const OWN_COMMAND: u64 = COMMANDS + 32 * COMMAND_BYTES;
pub(crate) const DOORBELLS: u64 = 0x8_0000;
/// Pages of the doorbell area, and slots in it.
pub(crate) const DB_PAGES: u32 = 9;
pub(crate) const SLOTS: u32 = 256;
pub(crate) const RINGS: u64 = 0x10_0000;
pub(crate) const BUFFERS: u64 = 0x20_0000;

/// Buffers that are posted for events.
const EVENT_BUFFERS: u16 = 64;

/// Memory of a guest that needs no particular amount.
pub(crate) const USUAL_RAM: u64 = 16 << 20;

/// Bytes of a slot, and where its fields are.
const STRIDE: u64 = abi::DB_STRIDE as u64;
pub(crate) const SQ_PI: u64 = 0;
pub(crate) const RQ_PI: u64 = 4;
pub(crate) const CQ_CI: u64 = 8;
pub(crate) const CQ_ARM: u64 = 12;
pub(crate) const SQ_CI: u64 = 64;
pub(crate) const RQ_CI: u64 = 68;
pub(crate) const SQ_EVT: u64 = 72;
pub(crate) const RQ_EVT: u64 = 76;
pub(crate) const EP_STATE: u64 = 80;
pub(crate) const EP_ERROR: u64 = 84;
pub(crate) const LOST: u64 = 88;

/// Where a field of a doorbell slot is.
pub(crate) fn slot(number: u32, field: u64) -> u64 {
    DOORBELLS + 0x1000 + u64::from(number) * STRIDE + field
}

/// A driver that was greeted, with a doorbell area and buffers for events.
pub(crate) struct Driver {
    pub(crate) machine: Machine,
    cookie: u32,
    /// Events that somebody else waits for.
    waiting: Vec<Event>,
    /// The number of the last event.
    last_event: Option<u32>,
    /// How many there were.
    pub(crate) events: u64,
}

impl Driver {
    /// All of it.
    pub(crate) fn start(path: &Path, features: u64) -> Result<Driver> {
        Driver::with_ram(path, Ram::new(USUAL_RAM)?, features)
    }

    pub(crate) fn with_ram(path: &Path, ram: Ram, features: u64) -> Result<Driver> {
        let mut driver = Driver::silent(Machine::start(path, ram, features)?);
        driver.greet()?;
        Ok(driver)
    }

    /// One that has not said a word.
    pub(crate) fn silent(machine: Machine) -> Driver {
        Driver {
            machine,
            cookie: 0,
            waiting: Vec::new(),
            last_event: None,
            events: 0,
        }
    }

    /// What comes after DRIVER_OK.
    pub(crate) fn greet(&mut self) -> Result<()> {
        self.waiting.clear();
        self.last_event = None;
        for index in 0..EVENT_BUFFERS {
            self.post_event(index);
        }
        self.machine.queues[EVENT].notify()?;
        self.order(Op::Hello, 0, &wire::hello())?;
        self.attach_doorbells()
    }

    pub(crate) fn attach_doorbells(&mut self) -> Result<()> {
        self.ram().zero(DOORBELLS, DB_PAGES as usize * 0x1000);
        let attach = wire().u64(addr(DOORBELLS)).u32(DB_PAGES).u32(0);
        let answer = self.order(Op::DbAttach, 0, &attach)?;
        ensure!(answer.u32(0) == SLOTS, "{} slots", answer.u32(0));
        Ok(())
    }

    /// Resets the device and greets it again.
    pub(crate) fn restart(&mut self, features: u64) -> Result<()> {
        self.machine.restart(features)?;
        self.greet()
    }

    pub(crate) fn ram(&self) -> Ram {
        self.machine.ram.clone()
    }

    /// A command; the response, whatever it says.
    pub(crate) fn command(&mut self, op: u16, handle: u32, payload: &[u8]) -> Result<Response> {
        self.cookie = self.cookie.wrapping_add(1);
        let request = wire::request(op, self.cookie, handle, payload);
        let response = self.raw(&request.0, RESPONSE_MAX as u32)?;
        ensure!(
            response.cookie == self.cookie,
            "the cookie of another request"
        );
        Ok(response)
    }

    /// Bytes for a command, and so much room for the response.
    pub(crate) fn raw(&mut self, request: &[u8], room: u32) -> Result<Response> {
        let written = self.raw_bytes(request, room)?;
        Response::parse(&written)
    }

    /// The same; what the device has written.
    pub(crate) fn raw_bytes(&mut self, request: &[u8], room: u32) -> Result<Vec<u8>> {
        let (at, answer) = (OWN_COMMAND, OWN_COMMAND + COMMAND_BYTES / 2);
        self.ram().write(at, request);
        let queue = &mut self.machine.queues[CONTROL];
        queue.describe_command(0, (at, request.len() as u32), (answer, room));
        queue.offer(0);
        queue.notify()?;
        let used = self.machine.wait(CONTROL, PATIENCE)?.came()?;
        ensure!(used.id == 0, "chain {} came back", used.id);
        ensure!(used.len <= room, "{} bytes in a room of {room}", used.len);
        let mut written = vec![0; used.len as usize];
        self.ram().read(answer, &mut written);
        Ok(written)
    }

    /// The status of a command.
    pub(crate) fn status(&mut self, op: Op, handle: u32, payload: &Wire) -> Result<u16> {
        Ok(self.command(wire::code(op), handle, &payload.0)?.status)
    }

    /// A command that has to be carried out.
    pub(crate) fn order(&mut self, op: Op, handle: u32, payload: &Wire) -> Result<Response> {
        let response = self.command(wire::code(op), handle, &payload.0)?;
        let status = response.status;
        ensure!(
            status == Status::Ok.code(),
            "{op:?} was answered with status {status}"
        );
        Ok(response)
    }

    pub(crate) fn post_event(&mut self, index: u16) {
        let at = self.ram().addr(EVENTS + u64::from(index) * wire::EVENT);
        let queue = &mut self.machine.queues[EVENT];
        let len = wire::EVENT as u32;
        queue.describe(index, Descriptor::new(at, len, DESC_WRITE, 0));
        queue.offer(index);
    }

    /// The next event, within `timeout`; its buffer is posted again.
    pub(crate) fn receive_event(&mut self, timeout: Duration) -> Result<Event> {
        let used = self.machine.wait(EVENT, timeout)?.came()?;
        ensure!(
            u64::from(used.len) == wire::EVENT && used.id < u32::from(SIZES[EVENT]),
            "an event of {} bytes in chain {}",
            used.len,
            used.id
        );
        let mut bytes = [0; wire::EVENT as usize];
        let index = used.id as u16;
        self.ram()
            .read(EVENTS + u64::from(index) * wire::EVENT, &mut bytes);
        self.post_event(index);
        self.machine.queues[EVENT].notify()?;
        self.events += 1;
        let event = Event::parse(&bytes)?;
        let expected = self
            .last_event
            .map_or(event.seq, |last| last.wrapping_add(1));
        ensure!(
            event.seq == expected,
            "event {} instead of {expected}",
            event.seq
        );
        self.last_event = Some(event.seq);
        Ok(event)
    }

    /// Takes the events that there are, and forgets them.
    pub(crate) fn discard_events(&mut self) -> Result<()> {
        self.waiting.clear();
        while self.machine.queues[EVENT].has_used() {
            self.receive_event(PATIENCE)?;
        }
        Ok(())
    }

    /// The next event for which `wanted` is true; the others are kept for those who want them.
    pub(crate) fn event(&mut self, wanted: impl Fn(&Event) -> bool) -> Result<Event> {
        if let Some(index) = self.waiting.iter().position(&wanted) {
            return Ok(self.waiting.remove(index));
        }
        loop {
            let event = self.receive_event(PATIENCE)?;
            if wanted(&event) {
                return Ok(event);
            }
            self.waiting.push(event);
        }
    }

    /// Waits until the endpoint has come to a state; says what its word is then.
    pub(crate) fn await_state(&mut self, endpoint: u32, states: &[u32]) -> Result<u64> {
        loop {
            let event =
                self.event(|event| event.kind == abi::EV_EP_STATE && event.handle == endpoint)?;
            if states.contains(&(event.arg as u32 & 0xff)) {
                return Ok(event.arg);
            }
        }
    }

    /// Sets the bit of a slot and kicks.
    pub(crate) fn ring_bell(&mut self, number: u32) -> Result<()> {
        let place = DOORBELLS + u64::from(number) / 32 * 4;
        self.ram().set_bits(place, 1 << (number % 32));
        self.machine.queues[KICK].kick()
    }

    pub(crate) fn create_cq(&mut self, ring: u64, log2: u16, slot: u32) -> Result<u32> {
        let ring = self.machine.ram.addr(ring);
        let create = wire::cq(ring, log2, abi::CQ_EVENTS, slot, u64::from(slot));
        Ok(self.order(Op::CqCreate, 0, &create)?.handle)
    }

    pub(crate) fn create_ep(&mut self, create: &wire::EpCreate) -> Result<u32> {
        Ok(self.order(Op::EpCreate, 0, &create.encode())?.handle)
    }

    /// A listener at a port of the device's; zero is any. Also which it is.
    pub(crate) fn listen(&mut self, port: u16) -> Result<(u32, u16)> {
        let listener = self.create_ep(&wire::EpCreate::LISTENER)?;
        let bound = self.order(Op::EpBind, listener, &wire::own_address(port))?;
        self.order(Op::EpListen, listener, &wire().u32(64).u32(0))?;
        Ok((listener, (bound.u32(0) >> 16) as u16))
    }

    /// Turns a new endpoint into the next connection of a listener, once there is one.
    pub(crate) fn accept(&mut self, listener: u32, endpoint: u32) -> Result<Response> {
        loop {
            let accept = wire().u32(endpoint).u32(0);
            let answer = self.command(wire::code(Op::EpAccept), listener, &accept.0)?;
            if answer.status == Status::Ok.code() {
                return Ok(answer);
            }
            if answer.status != Status::Again.code() {
                bail!("EpAccept was answered with status {}", answer.status);
            }
            self.event(|event| event.kind == abi::EV_ACCEPT && event.handle == listener)?;
        }
    }

    /// The counters of the device.
    pub(crate) fn stats(&mut self) -> Result<Stats> {
        let answer = self.order(Op::DevStats, 0, &wire())?;
        Ok(Stats(answer))
    }
}

/// `struct virtio_vstellar_stats`.
pub(crate) struct Stats(Response);

impl Stats {
    pub(crate) fn kicks(&self) -> u64 {
        self.0.u64(2)
    }

    pub(crate) fn tx_bytes(&self) -> u64 {
        self.0.u64(7)
    }

    pub(crate) fn hits(&self) -> u64 {
        self.0.u64(9)
    }

    pub(crate) fn misses(&self) -> u64 {
        self.0.u64(10)
    }

    pub(crate) fn failures(&self) -> u64 {
        self.0.u64(11)
    }

    pub(crate) fn evictions(&self) -> u64 {
        self.0.u64(12)
    }

    pub(crate) fn pinned(&self) -> u64 {
        self.0.u64(13)
    }

    pub(crate) fn peak(&self) -> u64 {
        self.0.u64(14)
    }
}
