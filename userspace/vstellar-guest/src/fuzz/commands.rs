// SPDX-License-Identifier: GPL-2.0
//! Commands that are nearly right: built from what there is, then damaged.

use super::places::data;
use super::places::GUARD;
use super::random::Random;
use super::work::FIRST_RING;
use super::work::FIRST_SLOT;
use super::work::USED_SLOTS;
use crate::driver::BUFFERS;
use crate::driver::DB_PAGES;
use crate::driver::DOORBELLS;
use crate::driver::RINGS;
use crate::driver::USUAL_RAM;
use crate::endpoint::ring;
use crate::endpoint::RING_BYTES;
use crate::ram::addr;
use crate::wire;
use crate::wire::code;
use crate::wire::wire;
use crate::wire::EpCreate;
use crate::wire::Response;
use crate::wire::Wire;
use std::net::IpAddr;
use std::net::SocketAddr;
use vstellar_core::abi;
use vstellar_core::control::Op;

/// What the device has said that there is.
#[derive(Default)]
pub(super) struct Known {
    pub(super) endpoints: Vec<u32>,
    pub(super) queues: Vec<u32>,
    pub(super) keys: Vec<u32>,
}

/// Handles that are remembered: more would be of things that are gone.
const MOST: usize = 64;

/// Rings that there is memory for.
const ALL_RINGS: u32 = ((BUFFERS - RINGS) / RING_BYTES) as u32;

/// A command, and what it was made as.
pub(super) struct Made {
    pub(super) op: Op,
    pub(super) bytes: Vec<u8>,
    pub(super) damaged: bool,
}

impl Known {
    /// Makes a command; half of them are damaged.
    pub(super) fn make(&self, random: &mut Random, own: IpAddr, cookie: u32) -> Made {
        let op = Op::ALL[random.below(Op::ALL.len() as u64) as usize];
        // what ends all is less often wanted
        let op = match op {
            Op::DbDetach | Op::Quiesce | Op::Hello if !random.one_in(8) => Op::EpCreate,
            op => op,
        };
        let handle = match op {
            Op::CqDestroy => random.pick(&self.queues),
            Op::EpBind
            | Op::EpListen
            | Op::EpConnect
            | Op::EpAccept
            | Op::EpShutdown
            | Op::EpDestroy
            | Op::EpSetopt
            | Op::EpGetopt
            | Op::EpQuery => random.pick(&self.endpoints),
            _ => None,
        };
        let payload = self.payload(random, op, own);
        let mut bytes = wire::request(code(op), cookie, handle.unwrap_or(0), &payload.0).0;
        let right = bytes.clone();
        if !random.one_in(3) {
            random.damage(&mut bytes);
        }
        match random.below(32) {
            0 => bytes.truncate(random.below(bytes.len() as u64 + 1) as usize),
            1 => bytes.extend((0..random.below(64)).map(|n| n as u8)),
            _ => {}
        }
        // a chain has no empty parts
        if bytes.is_empty() {
            bytes.push(0);
        }
        Made {
            op,
            damaged: bytes != right,
            bytes,
        }
    }

    fn payload(&self, random: &mut Random, op: Op, own: IpAddr) -> Wire {
        let small = |random: &mut Random| random.below(4) as u32;
        match op {
            Op::Hello => wire::hello(),
            Op::DbAttach => wire().u64(addr(DOORBELLS)).u32(DB_PAGES).u32(0),
            Op::CqCreate => {
                let log2 = random.below(10) as u16;
                wire::cq(ring_at(random), log2, small(random) as u16, slot(random), 1)
            }
            Op::EpCreate if random.one_in(3) => EpCreate::LISTENER.encode(),
            Op::EpCreate => EpCreate {
                kind: abi::EP_STREAM,
                flags: 0,
                cqs: [0; 2].map(|_| random.pick(&self.queues).unwrap_or(0)),
                reserved: 0,
                rings: [0; 2].map(|_| ring_at(random)),
                log2: [0; 2].map(|_| random.below(7) as u16),
                slot: slot(random),
                cookie: random.next(),
            }
            .encode(),
            Op::EpBind => wire::own_address(port(random)),
            Op::EpListen => wire().u32(1 + small(random)).u32(0),
            Op::EpConnect => {
                let peer = SocketAddr::new(own, port(random));
                wire::connect(peer, random.below(2) as u32 * small(random) * 100)
            }
            Op::EpAccept => wire().u32(random.pick(&self.endpoints).unwrap_or(0)).u32(0),
            Op::EpShutdown => wire().u32(small(random) % 4).u32(0),
            Op::EpDestroy => wire().u32(small(random) % 2).u32(0),
            Op::EpSetopt => match random.below(2) {
                0 => wire()
                    .u32(1 + random.below(11) as u32)
                    .u32(4)
                    .u32(random.number() as u32),
                _ => wire()
                    .u32(1 + 2 * random.below(2) as u32)
                    .u32(6)
                    .put(b"strack"),
            },
            Op::EpGetopt => wire().u32(1 + random.below(11) as u32).u32(64),
            Op::MrReg => {
                let segments: Vec<_> = (0..=random.below(4))
                    .map(|_| (memory_at(random), 1 + random.below(8192)))
                    .collect();
                let flags = random.below(2) as u32 * abi::MR_LAZY;
                wire::mr(
                    random.number() << 12,
                    1 + random.below(3) as u32,
                    flags,
                    &segments,
                )
            }
            Op::MrDereg => wire().u32(random.pick(&self.keys).unwrap_or(0)).u32(0),
            Op::MrAdvise => {
                let key = random.pick(&self.keys).unwrap_or(0);
                let advice = wire().u32(key).u32(1 + small(random) % 2);
                advice.u64(random.below(4096)).u64(1 + random.below(4096))
            }
            Op::DbDetach | Op::CqDestroy | Op::EpQuery | Op::DevStats => wire(),
            Op::Quiesce | Op::Resume => wire(),
        }
    }

    /// Remembers what has come of a command.
    pub(super) fn learn(&mut self, op: Op, answer: &Response) {
        if answer.status != 0 {
            return;
        }
        match op {
            Op::CqCreate => push(&mut self.queues, answer.handle),
            Op::EpCreate => push(&mut self.endpoints, answer.handle),
            Op::MrReg => push(&mut self.keys, answer.u32(0)),
            Op::CqDestroy => self.queues.retain(|handle| *handle != answer.handle),
            Op::EpDestroy => self.endpoints.retain(|handle| *handle != answer.handle),
            _ => {}
        }
    }
}

fn push(list: &mut Vec<u32>, handle: u32) {
    if list.len() == MOST {
        list.remove(0);
    }
    list.push(handle);
}

fn port(random: &mut Random) -> u16 {
    match random.below(4) {
        0 => random.number() as u16,
        // few, so that some are in use
        _ => 7000 + random.below(8) as u16,
    }
}

fn slot(random: &mut Random) -> u32 {
    FIRST_SLOT + random.below(u64::from(USED_SLOTS - FIRST_SLOT)) as u32
}

fn ring_at(random: &mut Random) -> u64 {
    match random.below(16) {
        0 => memory_at(random),
        _ => {
            let number = random.below(u64::from(ALL_RINGS - FIRST_RING));
            addr(ring(FIRST_RING + number as u32))
        }
    }
}

/// An address of memory that is there, or nearly.
pub(super) fn memory_at(random: &mut Random) -> u64 {
    match random.below(16) {
        0 => data(random.number()),
        1 => data(USUAL_RAM).wrapping_sub(random.below(8192)),
        2 => GUARD + random.below(8192),
        3 => random.number(),
        _ => data(BUFFERS + random.below(USUAL_RAM - BUFFERS)),
    }
}
