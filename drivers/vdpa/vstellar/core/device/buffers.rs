// SPDX-License-Identifier: GPL-2.0

//! What the buffers of a device's sockets may hold together.
//!
//! A buffer is memory of the host that a peer fills, or the guest. Each has [`FLOOR`] bytes
//! whatever the others have, so that there is always room for one more connection. Beyond that the
//! device has a spare that they share: a buffer that is to be larger gets up to an eighth of what is
//! left of it. A few connections so have all that they ask for, many have less, and none is refused.
//!
//! Connections that wait to be accepted have buffers as large as their listener's. These are
//! therefore no larger than the floor, and as many may wait as an eighth of the spare has room for: one
//! more than the backlog says, as with every listener.
//!
//! All sizes are those that a socket is told: it takes as much again to keep account.

/// Bytes of a buffer that need no share of the spare.
pub const FLOOR: u32 = 32 << 10;

/// The part of what is left that one may have.
const PART: u64 = 8;

/// Bytes of both buffers of a connection that waits.
const WAITING: u32 = 2 * FLOOR;

/// What is left of the spare.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffers(u64);

/// What an endpoint has of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    pub(super) send: u32,
    pub(super) receive: u32,
    /// For connections that wait.
    pub(super) waiting: u32,
}

impl Buffers {
    /// All of it.
    pub(super) fn new(spare: u64) -> Self {
        Self(spare)
    }

    /// How large a buffer that is to have `wish` bytes may be, and what it holds for that.
    pub(super) fn grant(&mut self, held: &mut u32, wish: u32) -> u32 {
        self.give_back(*held);
        let most = self.0.checked_div(PART).unwrap_or(0);
        *held = clamp(wish.saturating_sub(FLOOR), most);
        self.0 = self.0.saturating_sub(u64::from(*held));
        wish.min(FLOOR.saturating_add(*held))
    }

    /// The backlog of a listener that is to be `wish`, one at least, and what those hold that wait.
    pub(super) fn backlog(&mut self, held: &mut u32, wish: u32) -> u32 {
        self.give_back(*held);
        let part = self.0.checked_div(PART).unwrap_or(0);
        let most = part.checked_div(u64::from(WAITING)).unwrap_or(0);
        let allowed = clamp(wish, most.saturating_sub(1)).max(1);
        let waiting = allowed.saturating_add(1);
        *held = clamp(waiting.saturating_mul(WAITING), self.0);
        self.0 = self.0.saturating_sub(u64::from(*held));
        allowed
    }

    /// An endpoint has gone.
    pub(super) fn release(&mut self, share: Share) {
        for held in [share.send, share.receive, share.waiting] {
            self.give_back(held);
        }
    }

    fn give_back(&mut self, held: u32) {
        self.0 = self.0.saturating_add(u64::from(held));
    }
}

fn clamp(wish: u32, most: u64) -> u32 {
    wish.min(u32::try_from(most).unwrap_or(u32::MAX))
}
