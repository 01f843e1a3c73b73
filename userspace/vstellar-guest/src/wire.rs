// SPDX-License-Identifier: GPL-2.0
//! Commands, work entries and events as they stand in memory.
//!
//! The numbers are those of the device model ([`vstellar_core::abi`]), which its own tests compare
//! with the C header; the layouts are written down here once more, so that driver and device agree
//! only if both keep to the header.

use anyhow::ensure;
use anyhow::Result;
use std::net::IpAddr;
use std::net::SocketAddr;
use vstellar_core::abi;
use vstellar_core::bytes::Fields;
use vstellar_core::control::Op;

/// A structure that is put together field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wire(pub(crate) Vec<u8>);

/// A structure without fields yet.
pub(crate) fn wire() -> Wire {
    Wire::default()
}

impl Wire {
    pub(crate) fn put(mut self, bytes: &[u8]) -> Wire {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn u8(self, value: u8) -> Wire {
        self.put(&[value])
    }

    pub(crate) fn u16(self, value: u16) -> Wire {
        self.put(&value.to_le_bytes())
    }

    pub(crate) fn u32(self, value: u32) -> Wire {
        self.put(&value.to_le_bytes())
    }

    pub(crate) fn u64(self, value: u64) -> Wire {
        self.put(&value.to_le_bytes())
    }
}

/// Bytes of the header of a request and of a response.
pub(crate) const HEADER: usize = 16;

/// Bytes of the longest response.
pub(crate) const RESPONSE_MAX: usize = HEADER + 128;

/// A request with a right header.
pub(crate) fn request(op: u16, cookie: u32, handle: u32, payload: &[u8]) -> Wire {
    wire()
        .u16(op)
        .u16(0)
        .u32(cookie)
        .u32(handle)
        .u32(payload.len() as u32)
        .put(payload)
}

/// What the device has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) cookie: u32,
    pub(crate) status: u16,
    pub(crate) handle: u32,
    pub(crate) payload: Vec<u8>,
}

impl Response {
    /// Takes apart the bytes that the device has written.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Response> {
        let mut fields = Fields::new(bytes);
        let (Ok(cookie), Ok(status), Ok(flags), Ok(handle), Ok(len)) = (
            fields.take32(),
            fields.take16(),
            fields.take16(),
            fields.take32(),
            fields.take32(),
        ) else {
            anyhow::bail!("a response of {} bytes", bytes.len());
        };
        ensure!(flags == 0, "a response with flags {flags:#x}");
        ensure!(
            fields.rest().len() == len as usize,
            "a response of {} bytes says it has {len}",
            fields.rest().len()
        );
        ensure!(status <= 19 || status == 255, "status {status}");
        ensure!(
            status == 0 || len == 0,
            "refused ({status}), with a payload"
        );
        Ok(Response {
            cookie,
            status,
            handle,
            payload: fields.rest().to_vec(),
        })
    }

    /// The `index`-th number of 32 bits in the payload.
    pub(crate) fn u32(&self, index: usize) -> u32 {
        let bytes = self.payload.get(4 * index..4 * index + 4);
        u32::from_le_bytes(bytes.map_or([0; 4], |bytes| bytes.try_into().expect("four bytes")))
    }

    /// The `index`-th number of 64 bits in the payload.
    pub(crate) fn u64(&self, index: usize) -> u64 {
        u64::from(self.u32(2 * index)) | (u64::from(self.u32(2 * index + 1)) << 32)
    }
}

pub(crate) fn hello() -> Wire {
    wire().u32(1).u32(0).put(b"vstellar-guest\0\0")
}

pub(crate) fn cq(ring: u64, log2: u16, flags: u16, slot: u32, cookie: u64) -> Wire {
    wire().u64(ring).u16(log2).u16(flags).u32(slot).u64(cookie)
}

/// The fields of EP_CREATE, so that a test can have one of them wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EpCreate {
    pub(crate) kind: u16,
    pub(crate) flags: u16,
    pub(crate) cqs: [u32; 2],
    pub(crate) reserved: u32,
    pub(crate) rings: [u64; 2],
    pub(crate) log2: [u16; 2],
    pub(crate) slot: u32,
    pub(crate) cookie: u64,
}

impl EpCreate {
    /// One that only listens.
    pub(crate) const LISTENER: EpCreate = EpCreate {
        kind: abi::EP_STREAM,
        flags: abi::EP_LISTENER,
        cqs: [0; 2],
        reserved: 0,
        rings: [0; 2],
        log2: [0; 2],
        slot: abi::NO_SLOT,
        cookie: 0,
    };

    pub(crate) fn encode(&self) -> Wire {
        wire()
            .u16(self.kind)
            .u16(self.flags)
            .u32(self.cqs[0])
            .u32(self.cqs[1])
            .u32(self.reserved)
            .u64(self.rings[0])
            .u64(self.rings[1])
            .u16(self.log2[0])
            .u16(self.log2[1])
            .u32(self.slot)
            .u64(self.cookie)
            .u32(1000)
            .u32(1)
    }
}

/// An address of an endpoint.
pub(crate) fn address(addr: SocketAddr) -> Wire {
    let ip = match addr.ip() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    wire()
        .u16(abi::AF_INET6)
        .u16(addr.port())
        .u32(0)
        .put(&ip.octets())
}

/// The device's own address, and a port.
pub(crate) fn own_address(port: u16) -> Wire {
    wire().u16(abi::AF_INET6).u16(port).u32(0).put(&[0; 16])
}

pub(crate) fn connect(addr: SocketAddr, timeout_ms: u32) -> Wire {
    address(addr).u32(timeout_ms).u32(0)
}

/// A memory region of some segments, each where it begins and how long it is.
pub(crate) fn mr(va: u64, access: u32, flags: u32, segments: &[(u64, u64)]) -> Wire {
    let len = segments.iter().map(|(_, len)| len).sum();
    let reg = wire().u64(va).u64(len).u32(access).u32(flags);
    let reg = reg.u32(segments.len() as u32).u32(0);
    segments
        .iter()
        .fold(reg, |reg, (addr, len)| reg.u64(*addr).u64(*len))
}

/// A segment of a work entry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sge {
    pub(crate) addr: u64,
    pub(crate) len: u32,
    pub(crate) key: u32,
}

/// The fields of a send entry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sqe {
    pub(crate) op: u8,
    pub(crate) flags: u8,
    pub(crate) nsge: u8,
    pub(crate) reserved: u8,
    pub(crate) imm: u32,
    pub(crate) wr_id: u64,
    pub(crate) remote: (u64, u32),
    pub(crate) total: u32,
    pub(crate) sge: [Sge; 2],
}

impl Sqe {
    /// A send of one segment that wants a completion.
    pub(crate) fn send(wr_id: u64, sge: Sge) -> Sqe {
        Sqe {
            op: abi::OP_SEND,
            flags: abi::SQE_SIGNALED,
            nsge: 1,
            wr_id,
            total: sge.len,
            sge: [sge, Sge::default()],
            ..Sqe::default()
        }
    }

    /// The end of the sending direction.
    pub(crate) fn fin(wr_id: u64) -> Sqe {
        Sqe {
            op: abi::OP_FIN,
            flags: abi::SQE_SIGNALED,
            wr_id,
            ..Sqe::default()
        }
    }

    pub(crate) fn encode(&self) -> Wire {
        let head = wire().u8(self.op).u8(self.flags).u8(self.nsge);
        let head = head.u8(self.reserved).u32(self.imm).u64(self.wr_id);
        let head = head.u64(self.remote.0).u32(self.remote.1).u32(self.total);
        self.sge.iter().fold(head, |wire, sge| {
            wire.u64(sge.addr).u32(sge.len).u32(sge.key)
        })
    }
}

/// An entry of a receive queue.
pub(crate) fn rqe(wr_id: u64, sge: Sge) -> Wire {
    wire()
        .u64(wr_id)
        .u64(sge.addr)
        .u32(sge.len)
        .u32(sge.key)
        .u64(0)
}

/// A completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cqe {
    pub(crate) wr_id: u64,
    pub(crate) len: u32,
    pub(crate) status: u16,
    pub(crate) op: u8,
    pub(crate) flags: u8,
    pub(crate) ep: u32,
}

/// Bytes of entries.
pub(crate) const SQE: u64 = 64;
pub(crate) const RQE: u64 = 32;
pub(crate) const CQE: u64 = 32;
pub(crate) const EVENT: u64 = 32;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: u16,
    pub(crate) handle: u32,
    pub(crate) cookie: u64,
    pub(crate) arg: u64,
    pub(crate) seq: u32,
    pub(crate) lost: u32,
}

impl Event {
    pub(crate) fn parse(bytes: &[u8; EVENT as usize]) -> Result<Event> {
        let mut fields = Fields::new(bytes);
        let mut take = || {
            let kind = fields.take16()?;
            fields.take16()?;
            Ok::<_, vstellar_core::status::Status>(Event {
                kind,
                handle: fields.take32()?,
                cookie: fields.take64()?,
                arg: fields.take64()?,
                seq: fields.take32()?,
                lost: fields.take32()?,
            })
        };
        let event = take().map_err(|_| anyhow::anyhow!("an event that is too short"))?;
        ensure!(
            (1..=7).contains(&event.kind),
            "an event of kind {}",
            event.kind
        );
        Ok(event)
    }
}

/// The number of a command.
pub(crate) const fn code(op: Op) -> u16 {
    op as u16
}
