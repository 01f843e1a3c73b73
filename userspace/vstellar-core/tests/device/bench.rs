// SPDX-License-Identifier: GPL-2.0

//! A device on its host, and the commands of a driver that keeps the rules.

use super::{
    host::TestHost,
    pinner::{region, BLOCK_PAGES, MIB},
};
use vstellar_core::{
    abi,
    access::Access,
    bytes::{Bytes, Fields},
    control::{Op, Reply},
    device::{Device, Limits, Policy},
    memory::keeper::{unmap, Keeper},
    span::Span,
    status::Status,
};

pub const FEATURES: u64 = (1 << abi::F_STREAM)
    | (1 << abi::F_MR)
    | (1 << abi::F_PATHS)
    | (1 << abi::F_CC)
    | (1 << abi::F_SHADOW_DB)
    | (1 << abi::F_LAZY_PIN)
    | (1 << abi::F_STATS)
    | (1 << abi::F_QUIESCE);

pub const SECOND: u64 = 1_000_000_000;

// Where the driver has put what. The first 12 MiB are mapped for reading and writing, the next
// two for reading only, and the last two not at all.
pub const AREA: u64 = 0;
pub const RINGS: u64 = MIB;
pub const DATA: u64 = 8 * MIB;
pub const READ_ONLY: u64 = 12 * MIB;
pub const UNMAPPED: u64 = 14 * MIB;

pub struct Bench {
    pub host: TestHost,
    pub device: Device<TestHost>,
    pub now: u64,
}

pub fn limits() -> Limits {
    Limits {
        endpoints: 8,
        cqs: 3,
        mrs: 4,
        segments: 1500,
        sq_log2: 8,
        rq_log2: 8,
        mr_len: 4 * MIB,
        db_pages: 3,
        // no one has to share
        buffers: 1 << 40,
        ..Limits::default()
    }
}

/// A command without its fields.
pub type Wire = Bytes<4096>;

pub fn wire() -> Wire {
    Wire::new()
}

pub fn request(op: Op, handle: u32, payload: &[u8]) -> Vec<u8> {
    let header = Bytes::<16>::new()
        .put16(op as u16)
        .put16(0)
        .put32(0xc00c1e)
        .put32(handle)
        .put32(payload.len() as u32);
    [header.as_slice(), payload].concat()
}

impl Bench {
    /// A device that no driver has spoken to yet.
    pub fn silent(policy: Policy) -> Self {
        let host = TestHost::new(4 * BLOCK_PAGES);
        host.with(|memory| {
            let mut map = |at, len, access| memory.map(region(at, len, access, at)).unwrap();
            map(0, READ_ONLY, Access::READ_WRITE);
            map(READ_ONLY, UNMAPPED - READ_ONLY, Access::READ);
        });
        let mut device = Device::new(limits(), policy, 0xb007);
        device.set_features(FEATURES);
        Self {
            host,
            device,
            now: SECOND,
        }
    }

    /// One that has been greeted.
    pub fn greeted(policy: Policy) -> Self {
        let mut bench = Self::silent(policy);
        let hello = wire().put32(1).put32(0).put(b"test driver\0\0\0\0\0");
        bench.ok(Op::Hello, 0, &hello);
        bench
    }

    /// One with doorbells and a completion queue of 1024 in slot 0.
    pub fn ready() -> (Self, u32) {
        let mut bench = Self::greeted(Policy::new());
        let cq = bench.with_cq();
        (bench, cq)
    }

    pub fn with_cq(&mut self) -> u32 {
        self.ok(Op::DbAttach, 0, &wire().put64(AREA).put32(3).put32(0));
        let cq = cq(RINGS, 10, 0);
        self.ok(Op::CqCreate, 0, &cq).handle.raw()
    }

    /// A stream endpoint in a slot, with rings of 16 entries of its own.
    pub fn stream(&mut self, cq: u32, slot: u32) -> u32 {
        let create = ep(cq, slot);
        self.ok(Op::EpCreate, 0, &create).handle.raw()
    }

    pub fn listener(&mut self, port: u16) -> u32 {
        let listener = self.ok(Op::EpCreate, 0, &listener()).handle.raw();
        self.ok(Op::EpBind, listener, &addr(0, port));
        self.ok(Op::EpListen, listener, &wire().put32(8).put32(0));
        listener
    }

    pub fn send(&mut self, request: &[u8]) -> Reply {
        let now = self.now;
        self.device.execute(&self.host, request, 4096, now)
    }

    pub fn call(&mut self, op: Op, handle: u32, payload: &Wire) -> Reply {
        let reply = self.send(&request(op, handle, payload.as_slice()));
        assert_eq!(reply.cookie, 0xc00c1e);
        reply
    }

    pub fn ok(&mut self, op: Op, handle: u32, payload: &Wire) -> Reply {
        let reply = self.call(op, handle, payload);
        assert_eq!(reply.status, Status::Ok, "{op:?}");
        reply
    }

    /// A command that is refused changes nothing.
    pub fn refused(&mut self, op: Op, handle: u32, payload: &Wire) -> Status {
        let before = self.account();
        let reply = self.call(op, handle, payload);
        assert_ne!(reply.status, Status::Ok, "{op:?}");
        assert_eq!(reply.handle.raw(), handle);
        assert_eq!(reply.encode().as_slice().len(), 16);
        assert_eq!(self.account(), before, "{op:?}");
        reply.status
    }

    /// What there is: objects, rings, sockets.
    pub fn account(&self) -> ([u32; 3], u32, u32) {
        let host = &self.host;
        (self.device.objects(), host.rings.get(), host.sockets.get())
    }

    pub fn state(&mut self, ep: u32) -> u32 {
        let reply = self.ok(Op::EpQuery, ep, &wire());
        Fields::new(reply.payload.as_slice()).take32().unwrap()
    }

    /// The end of every test: all comes back.
    pub fn finish(mut self) {
        self.device.reset(&self.host);
        assert_eq!(self.account(), ([0; 3], 0, 0));
        unmap(&self.host, Span::ALL, || ()).unwrap();
        assert_eq!(self.host.pinned.borrow().pages, 0);
    }
}

pub fn addr(ip: u128, port: u16) -> Wire {
    let addr = wire().put16(abi::AF_INET6).put16(port).put32(0);
    addr.put(&ip.to_be_bytes())
}

pub fn cq(ring: u64, log2: u16, slot: u32) -> Wire {
    let cq = wire().put64(ring).put16(log2).put16(abi::CQ_EVENTS);
    cq.put32(slot).put64(0xc0)
}

/// Rings for the endpoint in a slot: 16 entries each, in pages of their own.
pub fn ep(cq: u32, slot: u32) -> Wire {
    let ring = RINGS + MIB + u64::from(slot) * 0x2000;
    ep_with(cq, cq, [ring, ring + 0x1000], [4, 4], slot)
}

pub fn ep_with(send: u32, recv: u32, rings: [u64; 2], logs: [u16; 2], slot: u32) -> Wire {
    wire()
        .put16(abi::EP_STREAM)
        .put16(0)
        .put32(send)
        .put32(recv)
        .put32(0)
        .put64(rings[0])
        .put64(rings[1])
        .put16(logs[0])
        .put16(logs[1])
        .put32(slot)
        .put64(0xe9)
        .put32(1000)
        .put32(5)
}

pub fn listener() -> Wire {
    wire()
        .put16(abi::EP_STREAM)
        .put16(abi::EP_LISTENER)
        .put(&[0; 32])
        .put32(abi::NO_SLOT)
        .put64(0x11)
        .put32(0)
        .put32(0)
}
