// SPDX-License-Identifier: GPL-2.0

//! The other side of the queue: what a driver does, after the virtio specification.

use super::ram::Ram;
use vstellar_core::{
    queue::{Layout, SplitQueue},
    shared::Shared,
};

pub const DESC: u64 = 0x1000;
pub const AVAIL: u64 = 0x3000;
pub const USED: u64 = 0x4000;
pub const DATA: u64 = 0x8000;

pub fn layout(size: u16) -> Layout {
    Layout {
        size,
        desc: DESC,
        avail: AVAIL,
        used: USED,
    }
}

pub fn queue(size: u16, event_index: bool) -> SplitQueue {
    SplitQueue::new(layout(size), 256, event_index, 0).unwrap()
}

#[derive(Clone, Copy)]
pub struct Descriptor {
    pub addr: u64,
    pub len: u32,
    pub flags: u16,
    pub next: u16,
}

pub const NEXT: u16 = 1;
pub const WRITE: u16 = 2;
pub const INDIRECT: u16 = 4;

pub fn put_descriptor(ram: &Ram, index: u16, descriptor: Descriptor) {
    let at = DESC + 16 * u64::from(index);
    ram.put(at, &descriptor.addr.to_le_bytes());
    ram.put32(at + 8, descriptor.len);
    ram.put16(at + 12, descriptor.flags);
    ram.put16(at + 14, descriptor.next);
}

/// A driver's state: which descriptors are free, how far it is.
pub struct Driver {
    pub size: u16,
    free: Vec<u16>,
    chains: Vec<Option<Vec<u16>>>,
    pub avail: u16,
    pub used: u16,
}

impl Driver {
    pub fn new(size: u16) -> Self {
        Self {
            size,
            free: (0..size).rev().collect(),
            chains: vec![None; usize::from(size)],
            avail: 0,
            used: 0,
        }
    }

    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Makes a chain of buffers (address, length, for the device to write) available.
    pub fn add(&mut self, ram: &Ram, buffers: &[(u64, u32, bool)]) -> u16 {
        let at = self.free.len() - buffers.len();
        let chain = self.free.split_off(at);
        for (i, &(addr, len, write)) in buffers.iter().enumerate() {
            let next = chain.get(i + 1).copied();
            let flags = next.map_or(0, |_| NEXT) | if write { WRITE } else { 0 };
            let next = next.unwrap_or(0xdead);
            put_descriptor(
                ram,
                chain[i],
                Descriptor {
                    addr,
                    len,
                    flags,
                    next,
                },
            );
        }
        let head = chain[0];
        self.chains[usize::from(head)] = Some(chain);
        self.offer(ram, head);
        head
    }

    /// Makes whatever `head` is available.
    pub fn offer(&mut self, ram: &Ram, head: u16) {
        let slot = u64::from(self.avail % self.size);
        ram.put16(AVAIL + 4 + 2 * slot, head);
        self.avail = self.avail.wrapping_add(1);
        ram.put16(AVAIL + 2, self.avail);
    }

    /// Takes a chain back: its head and how much was written.
    pub fn take(&mut self, ram: &Ram) -> Option<(u16, u32)> {
        if ram.get16(USED + 2) == self.used {
            return None;
        }
        let slot = u64::from(self.used % self.size);
        let head = ram.get32(USED + 4 + 8 * slot) as u16;
        let written = ram.get32(USED + 8 + 8 * slot);
        let chain = self.chains[usize::from(head)].take().expect("was given");
        self.free.extend(chain);
        self.used = self.used.wrapping_add(1);
        Some((head, written))
    }

    pub fn set_used_event(&self, ram: &Ram, value: u16) {
        ram.put16(AVAIL + 4 + 2 * u64::from(self.size), value);
    }

    pub fn avail_event(&self, ram: &Ram) -> u16 {
        ram.load16(USED + 4 + 8 * u64::from(self.size)).unwrap()
    }
}
