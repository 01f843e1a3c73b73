// SPDX-License-Identifier: GPL-2.0
//! The driver's side of a split virtqueue.
//!
//! `virtio-queue` is the device's side of one; its descriptors are used, and the rest is a few
//! numbers. A driver that plays by the rules needs no more than [`Queue::offer`] and
//! [`Queue::take`]; a test that does not writes descriptors and indices as it likes.

use crate::ram::Ram;
use anyhow::Result;
use std::sync::atomic::fence;
use std::sync::atomic::Ordering;
use vhost::VringConfigData;
use virtio_queue::desc::split::Descriptor;
use vm_memory::ByteValued;
use vmm_sys_util::eventfd::EventFd;
use vmm_sys_util::eventfd::EFD_CLOEXEC;
use vmm_sys_util::eventfd::EFD_NONBLOCK;

pub(crate) const DESC_NEXT: u16 = 1;
pub(crate) const DESC_WRITE: u16 = 2;
pub(crate) const DESC_INDIRECT: u16 = 4;

/// Bytes that the rings of a queue may take.
pub(crate) const QUEUE_BYTES: u64 = 0x4000;

/// One queue.
pub(crate) struct Queue {
    ram: Ram,
    pub(crate) size: u16,
    desc: u64,
    avail: u64,
    used: u64,
    /// Chains made available, and chains that came back.
    pub(crate) next: u16,
    pub(crate) seen: u16,
    /// What had been made available when it was kicked last.
    kicked: u16,
    event_index: bool,
    pub(crate) kick: EventFd,
    pub(crate) call: EventFd,
    /// How often it was kicked.
    pub(crate) kicks: u64,
}

/// A chain that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) id: u32,
    /// Bytes that the device has written.
    pub(crate) len: u32,
}

impl Queue {
    /// The `index`-th queue of a device, of `size` entries.
    pub(crate) fn new(ram: &Ram, index: u64, size: u16) -> Result<Queue> {
        let event = || EventFd::new(EFD_CLOEXEC | EFD_NONBLOCK);
        let mut queue = Queue {
            ram: ram.clone(),
            size,
            desc: index * QUEUE_BYTES,
            avail: 0,
            used: 0,
            next: 0,
            seen: 0,
            kicked: 0,
            event_index: false,
            kick: event()?,
            call: event()?,
            kicks: 0,
        };
        queue.reset(size, false);
        Ok(queue)
    }

    /// Empty, as before anything was made available.
    pub(crate) fn reset(&mut self, size: u16, event_index: bool) {
        self.size = size;
        self.avail = self.desc + 16 * u64::from(size);
        self.used = (self.avail + 6 + 2 * u64::from(size)).next_multiple_of(4);
        (self.next, self.seen, self.kicked) = (0, 0, 0);
        self.event_index = event_index;
        self.ram.zero(self.desc, QUEUE_BYTES as usize);
        // one that nobody has read
        let _ = self.call.read();
    }

    /// Empty, as it was set up.
    pub(crate) fn rewind(&mut self) {
        self.reset(self.size, self.event_index);
    }

    /// Where its parts are, for the device.
    pub(crate) fn layout(&self) -> VringConfigData {
        VringConfigData {
            queue_max_size: self.size,
            queue_size: self.size,
            flags: 0,
            desc_table_addr: self.ram.addr(self.desc),
            used_ring_addr: self.ram.addr(self.used),
            avail_ring_addr: self.ram.addr(self.avail),
            log_addr: None,
        }
    }

    /// Where descriptor `index` is; there is no check, tests go beyond.
    pub(crate) fn place_of(&self, index: u16) -> u64 {
        self.desc + 16 * u64::from(index)
    }

    pub(crate) fn describe(&self, index: u16, descriptor: Descriptor) {
        self.ram.write(self.place_of(index), descriptor.as_slice());
    }

    /// A chain of a part that the device reads and one that it writes, at `head` and after it.
    pub(crate) fn describe_command(&self, head: u16, request: (u64, u32), response: (u64, u32)) {
        let part = |(at, len), flags, next| Descriptor::new(self.ram.addr(at), len, flags, next);
        self.describe(head, part(request, DESC_NEXT, head + 1));
        self.describe(head + 1, part(response, DESC_WRITE, 0));
    }

    /// Makes a chain available.
    pub(crate) fn offer(&mut self, head: u16) {
        self.prepare(head);
        self.publish(self.next);
    }

    /// Puts a chain into the ring without telling.
    pub(crate) fn prepare(&mut self, head: u16) {
        let place = 4 + 2 * u64::from(self.next % self.size);
        self.ram.write(self.avail + place, &head.to_le_bytes());
        self.next = self.next.wrapping_add(1);
    }

    /// The head of the chain that was or will be the `index`-th to be made available.
    pub(crate) fn head(&self, index: u16) -> u16 {
        let place = 4 + 2 * u64::from(index % self.size);
        u16::from_le(self.ram.load(self.avail + place))
    }

    /// Says how many chains were made available.
    pub(crate) fn publish(&self, index: u16) {
        self.ram.store(self.avail + 2, index.to_le());
    }

    /// Kicks the device, if it wants to be.
    pub(crate) fn notify(&mut self) -> Result<()> {
        fence(Ordering::SeqCst);
        let (old, new) = (self.kicked, self.next);
        if self.event_index {
            let place = self.used + 4 + 8 * u64::from(self.size);
            let event = u16::from_le(self.ram.load(place));
            if new.wrapping_sub(event).wrapping_sub(1) >= new.wrapping_sub(old) {
                return Ok(());
            }
        }
        self.kick()
    }

    /// Kicks the device.
    pub(crate) fn kick(&mut self) -> Result<()> {
        self.kicked = self.next;
        self.kicks += 1;
        Ok(self.kick.write(1)?)
    }

    /// Asks to be told of the next chain that comes back. `false` if there is one already.
    pub(crate) fn arm(&self) -> bool {
        if self.event_index {
            let place = self.avail + 4 + 2 * u64::from(self.size);
            self.ram.store(place, self.seen.to_le());
            fence(Ordering::SeqCst);
        }
        !self.has_used()
    }

    /// How many chains came back and were not taken.
    pub(crate) fn came_back(&self) -> u16 {
        u16::from_le(self.ram.load(self.used + 2)).wrapping_sub(self.seen)
    }

    /// Whether a chain came back.
    pub(crate) fn has_used(&self) -> bool {
        self.came_back() != 0
    }

    /// The next chain that came back.
    pub(crate) fn take(&mut self) -> Option<Used> {
        if !self.has_used() {
            return None;
        }
        let place = self.used + 4 + 8 * u64::from(self.seen % self.size);
        self.seen = self.seen.wrapping_add(1);
        Some(Used {
            id: u32::from_le(self.ram.load(place)),
            len: u32::from_le(self.ram.load(place + 4)),
        })
    }
}
