// SPDX-License-Identifier: GPL-2.0

//! What the device tells the driver by itself.
//!
//! An event that has no buffer yet is a bit of its object, so however long the
//! driver posts none, what the host keeps does not grow. What the event says is
//! what is true when it is written.

use super::super::{
    abi,
    bytes::Bytes,
    table::Handle, //
};

/// Bytes of an event.
pub const EVENT_SIZE: usize = 32;

/// Events of one object that wait for a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pending(u8);

impl Pending {
    /// Adds one; `true` if there was none.
    pub(super) fn add(&mut self, kind: u16) -> bool {
        let first = self.0 == 0;
        self.0 |= bit(kind);
        first
    }

    /// Takes one; and whether it was the last.
    pub(super) fn take(&mut self) -> Option<(u16, bool)> {
        if self.0 == 0 {
            return None;
        }
        let kind = self.0.trailing_zeros() as u16;
        self.0 &= self.0.wrapping_sub(1);
        Some((kind, self.0 == 0))
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The types of events are small numbers, and the last of them is `EV_FATAL`.
fn bit(kind: u16) -> u8 {
    1u8.checked_shl(u32::from(kind)).unwrap_or(0)
}

const _: () = assert!(abi::EV_FATAL < 8);

/// What an event says of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    /// `EV_*`.
    pub(super) kind: u16,
    /// The object, if there is one.
    pub(super) handle: Handle,
    /// The driver's cookie of it.
    pub(super) cookie: u64,
    /// By type.
    pub(super) arg: u64,
}

/// How many events there were.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sequence {
    next: u32,
    /// Times without a buffer since the last event.
    lost: u32,
}

impl Sequence {
    /// There was no buffer for an event.
    pub(super) fn lose(&mut self) {
        self.lost = self.lost.saturating_add(1);
    }

    /// An event as the guest gets it.
    pub(super) fn encode(&mut self, notice: &Notice) -> Bytes<EVENT_SIZE> {
        let seq = self.next;
        self.next = seq.wrapping_add(1);
        let lost = core::mem::take(&mut self.lost);
        Bytes::new()
            .put16(notice.kind)
            .put16(0)
            .put32(notice.handle.raw())
            .put64(notice.cookie)
            .put64(notice.arg)
            .put32(seq)
            .put32(lost)
    }
}
