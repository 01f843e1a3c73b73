// SPDX-License-Identifier: GPL-2.0

//! Whether a free-running index has passed the value that the other side asked to hear about.
//!
//! Virtio's rule (`vring_need_event`), on the 16 bits of virtqueues and the 32 bits
//! of doorbells: of the values `old` to `new - 1` that the index has left behind,
//! one is `event`.

/// For virtqueues.
pub const fn passed16(event: u16, old: u16, new: u16) -> bool {
    new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old)
}

/// For doorbells.
pub const fn passed32(event: u32, old: u32, new: u32) -> bool {
    new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old)
}
