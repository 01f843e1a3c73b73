// SPDX-License-Identifier: GPL-2.0

//! A host without pages and without a network, which keeps account of what it gave.

use super::{
    pinner::{limits, Pinned, TestMemory},
    ram::Ram,
};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
};
use vstellar_core::{
    access::Access,
    control::{Address, Direction, EpOption, Value},
    device::{Accepted, Mapping, SocketInfo, Transport},
    emtt::Emtt,
    memory::{
        keeper::{keep, release, Keeper, PinError},
        Fault, Hold, MemoryError, Use, Want,
    },
    shared::Shared,
    span::Span,
    status::{Result, Status},
};

pub struct TestHost {
    pub ram: Rc<Ram>,
    pub memory: RefCell<TestMemory>,
    pub pinned: RefCell<Pinned>,
    /// Rings and sockets that are open.
    pub rings: Cell<u32>,
    pub sockets: Cell<u32>,
    /// What the next call of this name fails with.
    pub fail: RefCell<BTreeMap<&'static str, Status>>,
    /// Ports that are taken, connections that wait, and what was asked for last.
    pub ports: RefCell<Vec<u16>>,
    pub waiting: Cell<u32>,
    /// Bytes of a buffer that was not made larger or smaller.
    pub buffer: Cell<u32>,
    pub asked: RefCell<String>,
}

/// Bytes of memory.
pub const RAM: usize = 16 << 20;

impl TestHost {
    pub fn new(quota_pages: u64) -> Self {
        Self {
            ram: Rc::new(Ram::new(RAM)),
            memory: RefCell::new(TestMemory::new(limits(quota_pages)).unwrap()),
            pinned: RefCell::default(),
            rings: Cell::new(0),
            sockets: Cell::new(0),
            fail: RefCell::default(),
            ports: RefCell::default(),
            waiting: Cell::new(0),
            buffer: Cell::new(4096),
            asked: RefCell::default(),
        }
    }

    pub fn fail(&self, call: &'static str, status: Status) {
        self.fail.borrow_mut().insert(call, status);
    }

    fn check(&self, call: &'static str) -> Result {
        match self.fail.borrow_mut().remove(call) {
            Some(status) => Err(status),
            None => Ok(()),
        }
    }

    fn let_go(&self, blocks: Vec<(Use, Hold)>) {
        for (held, hold) in blocks {
            self.with(|memory| memory.unhold(hold));
            release(self, held);
        }
    }

    fn new_socket(&self) -> Socket {
        self.sockets.set(self.sockets.get() + 1);
        Socket {
            local: Address::ANY,
            bound: false,
            options: BTreeMap::new(),
        }
    }
}

impl Keeper for TestHost {
    type Backing = u64;
    type Pages = u64;

    fn with<R>(&self, f: impl FnOnce(&mut TestMemory) -> R) -> R {
        f(&mut self.memory.borrow_mut())
    }

    fn pin(&self, fault: &Fault<u64>) -> std::result::Result<u64, PinError> {
        Ok(self.pinned.borrow_mut().pin(fault.len))
    }

    fn unpin(&self, pages: u64, dirty: bool) {
        self.pinned.borrow_mut().unpin(pages, dirty);
    }

    fn wait(&self, _seen: u64) -> std::result::Result<(), MemoryError> {
        Err(MemoryError::Stopped)
    }

    fn wake(&self) {}
}

type Outcome<T = ()> = std::result::Result<T, MemoryError>;

impl Shared for TestHost {
    fn read(&self, at: u64, into: &mut [u8]) -> Outcome {
        if let Some(span) = Span::new(at, into.len() as u64) {
            self.with(|memory| memory.region(&span, Access::READ))?;
        }
        self.ram.read(at, into)
    }

    fn write(&self, at: u64, from: &[u8]) -> Outcome {
        self.ram.write(at, from)
    }

    fn load16(&self, at: u64) -> Outcome<u16> {
        self.ram.load16(at)
    }

    fn load32(&self, at: u64) -> Outcome<u32> {
        self.ram.load32(at)
    }

    fn store16(&self, at: u64, value: u16) -> Outcome {
        self.ram.store16(at, value)
    }

    fn store32(&self, at: u64, value: u32) -> Outcome {
        self.ram.store32(at, value)
    }

    fn take32(&self, at: u64) -> Outcome<u32> {
        self.ram.take32(at)
    }

    fn fence(&self) {}
}

/// A part of the memory, addressed from zero, and pinned.
pub struct TestRing {
    ram: Rc<Ram>,
    span: Span,
    blocks: Vec<(Use, Hold)>,
}

impl TestRing {
    fn at(&self, offset: u64, len: u64) -> Outcome<u64> {
        let at = self.span.first().checked_add(offset);
        let span = at.and_then(|at| Span::new(at, len));
        let inside = span.filter(|span| self.span.covers(span));
        inside.map(|span| span.first()).ok_or(MemoryError::Unmapped)
    }
}

impl Shared for TestRing {
    fn read(&self, at: u64, into: &mut [u8]) -> Outcome {
        self.ram.read(self.at(at, into.len() as u64)?, into)
    }

    fn write(&self, at: u64, from: &[u8]) -> Outcome {
        self.ram.write(self.at(at, from.len() as u64)?, from)
    }

    fn load16(&self, at: u64) -> Outcome<u16> {
        self.ram.load16(self.at(at, 2)?)
    }

    fn load32(&self, at: u64) -> Outcome<u32> {
        self.ram.load32(self.at(at, 4)?)
    }

    fn store16(&self, at: u64, value: u16) -> Outcome {
        self.ram.store16(self.at(at, 2)?, value)
    }

    fn store32(&self, at: u64, value: u32) -> Outcome {
        self.ram.store32(self.at(at, 4)?, value)
    }

    fn take32(&self, at: u64) -> Outcome<u32> {
        self.ram.take32(self.at(at, 4)?)
    }

    fn fence(&self) {}
}

impl Mapping for TestHost {
    type Ring = TestRing;

    fn open_ring(&self, span: Span, access: Access) -> Outcome<TestRing> {
        let mut blocks = Vec::new();
        let mut next = Some(span);
        while let Some(rest) = next {
            match keep(self, &Want::new(rest, access)) {
                Ok((piece, hold)) => {
                    next = Span::between(piece.span.last() + 1, span.last());
                    blocks.push((piece.held, hold));
                }
                Err(error) => {
                    self.let_go(blocks);
                    return Err(error);
                }
            }
        }
        self.rings.set(self.rings.get() + 1);
        Ok(TestRing {
            ram: self.ram.clone(),
            span,
            blocks,
        })
    }

    fn close_ring(&self, ring: TestRing) {
        self.rings.set(self.rings.get() - 1);
        self.let_go(ring.blocks);
    }
}

pub struct Socket {
    local: Address,
    /// Its port is its own, and not that of a listener.
    bound: bool,
    options: BTreeMap<u32, Vec<u8>>,
}

pub const PEER: Address = Address {
    ip: (0xfd00 << 112) | 7,
    port: 7000,
};

impl Transport for TestHost {
    type Socket = Socket;

    fn socket(&self, _messages: bool) -> Result<Socket> {
        self.check("socket")?;
        Ok(self.new_socket())
    }

    fn bind(&self, socket: &mut Socket, local: &Address) -> Result<Address> {
        self.check("bind")?;
        let mut chosen = *local;
        if chosen.port == 0 {
            chosen.port = 50000;
        }
        if self.ports.borrow().contains(&chosen.port) {
            return Err(Status::AddrInUse);
        }
        self.ports.borrow_mut().push(chosen.port);
        socket.local = chosen;
        socket.bound = true;
        Ok(chosen)
    }

    fn listen(&self, _socket: &mut Socket, backlog: u32) -> Result {
        *self.asked.borrow_mut() = format!("listen {backlog}");
        self.check("listen")
    }

    fn connect(&self, socket: &mut Socket, peer: &Address, timeout_ms: u32) -> Result {
        let from = socket.local.port;
        *self.asked.borrow_mut() = format!("connect {} from {from} in {timeout_ms}", peer.port);
        self.check("connect")
    }

    fn accept(&self, socket: &mut Socket) -> Result<Accepted<Socket>> {
        self.check("accept")?;
        let left = self.waiting.get().checked_sub(1).ok_or(Status::Again)?;
        self.waiting.set(left);
        Ok(Accepted {
            socket: self.new_socket(),
            peer: PEER,
            local: socket.local,
        })
    }

    fn look_in(&self, _socket: &mut Socket, ms: u32) {
        *self.asked.borrow_mut() = format!("look in {ms}");
    }

    fn shutdown(&self, _socket: &mut Socket, direction: Direction) -> Result {
        *self.asked.borrow_mut() = format!("shutdown {direction:?}");
        self.check("shutdown")
    }

    fn abort(&self, _socket: &mut Socket) -> Result {
        *self.asked.borrow_mut() = "abort".into();
        self.check("abort")
    }

    fn set_option(&self, socket: &mut Socket, option: EpOption, value: &[u8]) -> Result<Value> {
        self.check("set_option")?;
        socket.options.insert(option as u32, value.to_vec());
        Ok(Value::new().put(value))
    }

    fn option(&self, socket: &Socket, option: EpOption) -> Result<Value> {
        let value = socket.options.get(&(option as u32));
        let value = value.ok_or(Status::NotSupp)?;
        Ok(Value::new().put(value))
    }

    fn buffers(&self, socket: &Socket) -> Result<[u32; 2]> {
        self.check("buffers")?;
        Ok([EpOption::Sndbuf, EpOption::Rcvbuf].map(|option| {
            let value = socket.options.get(&(option as u32));
            let bytes = value.and_then(|value| value.as_slice().try_into().ok());
            bytes.map_or(self.buffer.get(), u32::from_le_bytes)
        }))
    }

    fn info(&self, socket: &Socket) -> SocketInfo {
        SocketInfo {
            local: socket.local,
            peer: PEER,
            paths: 128,
            mss: 4000,
            srtt: 123_456,
            retransmits: 3,
        }
    }

    fn close(&self, socket: Socket, abort: bool, _emtt: &mut Emtt) {
        if socket.bound {
            let mut ports = self.ports.borrow_mut();
            ports.retain(|port| *port != socket.local.port);
        }
        *self.asked.borrow_mut() = format!("close, abort {abort}");
        self.sockets.set(self.sockets.get() - 1);
    }
}
