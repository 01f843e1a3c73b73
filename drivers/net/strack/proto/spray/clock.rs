// SPDX-License-Identifier: GPL-2.0

//! Arrivals as a clock: a packet that arrived lets another one leave on its path.
//!
//! So each path gets as many packets as it delivers, and nobody has to know how fast it
//! is. One with a mark earns half a packet only, so a path that marks loses its share
//! bit by bit; all at once would just move the queue elsewhere, and back again.
//!
//! Paths that have earned a packet stand in line, each once, however much it has earned.

use super::Paths;

/// What a packet costs, what its arrival earns, and with a mark.
const PACKET: u16 = 2;
const ARRIVED: u16 = 2;
const MARKED: u16 = 1;

/// Most that a path can save up: the window was larger once.
const MOST: u16 = 64 * PACKET;

/// The ends of the line. What paths have earned is in [`super::path::Memory`], and so is
/// who comes after whom.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    first: u16,
    last: u16,
    len: u16,
}

impl Clock {
    pub(super) const fn new() -> Self {
        Self {
            first: 0,
            last: 0,
            len: 0,
        }
    }

    /// The next path in line that can be used.
    pub(super) fn take(&mut self, paths: &mut Paths) -> Option<u16> {
        while let Some(path) = self.pop(paths) {
            let usable = paths.usable(path);
            if let Some(memory) = paths.memory_mut(path) {
                memory.queued = false;
                if usable && memory.credit >= PACKET {
                    return Some(path);
                }
            }
        }
        None
    }

    /// Packets leave on a path, whether it had earned them or not.
    pub(super) fn spend(&mut self, paths: &mut Paths, path: u16, packets: u32) {
        let packets = u16::try_from(packets).unwrap_or(MOST);
        if let Some(memory) = paths.memory_mut(path) {
            memory.credit = memory.credit.saturating_sub(packets.saturating_mul(PACKET));
        }
        self.queue(paths, path);
    }

    /// A packet has arrived without a mark.
    pub(super) fn arrived(&mut self, paths: &mut Paths, path: u16) {
        self.earn(paths, path, ARRIVED);
    }

    /// A packet has arrived with a mark.
    pub(super) fn marked(&mut self, paths: &mut Paths, path: u16) {
        self.earn(paths, path, MARKED);
    }

    /// A path loses all it has.
    pub(super) fn forfeit(paths: &mut Paths, path: u16) {
        if let Some(memory) = paths.memory_mut(path) {
            memory.credit = 0;
        }
    }

    fn earn(&mut self, paths: &mut Paths, path: u16, amount: u16) {
        if let Some(memory) = paths.memory_mut(path) {
            memory.credit = memory.credit.saturating_add(amount).min(MOST);
        }
        self.queue(paths, path);
    }

    /// Puts a path into the line if it has earned a packet and is not there.
    fn queue(&mut self, paths: &mut Paths, path: u16) {
        let Some(memory) = paths.memory_mut(path) else {
            return;
        };
        if memory.credit < PACKET || memory.queued {
            return;
        }
        memory.queued = true;
        if self.len == 0 {
            self.first = path;
        } else if let Some(last) = paths.memory_mut(self.last) {
            last.next = path;
        }
        self.last = path;
        self.len += 1;
    }

    fn pop(&mut self, paths: &Paths) -> Option<u16> {
        if self.len == 0 {
            return None;
        }
        let path = self.first;
        self.first = paths.memory(path).next;
        self.len -= 1;
        Some(path)
    }
}
