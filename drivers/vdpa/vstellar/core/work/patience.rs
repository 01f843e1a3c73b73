// SPDX-License-Identifier: GPL-2.0

//! How long a queue that has run out of entries is looked at before its driver has to kick.
//!
//! A kick costs a virtual machine an exit, and a driver that was at work brings more before long. So
//! a queue that was busy is *watched* for a while: the device looks there by itself, soon at first and
//! then less often, and asks for kicks only when nothing has come. This is no busy loop: between two
//! looks the device sleeps.
//!
//! What is brought meanwhile waits for the next look, so the while is bound to what came before: half as
//! long as the queue was busy, [`LONGEST`] at most. A message now and then is therefore kicked for at
//! once, however large; and [`LOAD`] bytes have to come within each while, or it ends. A device spends a
//! look each [`SHORTEST`] at most, and none from [`LONGEST`] after the last load on.

/// Nanoseconds until the first look, and the least that a watch is worth while for.
pub const SHORTEST: u64 = 20_000;

/// Nanoseconds between looks at most.
pub const PAUSE: u64 = 160_000;

/// Nanoseconds that a queue is watched after the last load.
pub const LONGEST: u64 = 1_000_000;

/// Bytes that are a load.
pub const LOAD: u64 = 16 << 10;

/// Of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Patience {
    /// Since when it is busy, or watched.
    since: Option<u64>,
    /// Bytes since there was last a load of them.
    bytes: u64,
    /// When to ask for a kick.
    until: u64,
    /// How long to sleep before the next look.
    pause: u64,
    /// It has run out of entries, and is looked at.
    watched: bool,
}

impl Patience {
    /// A queue whose driver has been asked to kick.
    pub const fn new() -> Self {
        Self {
            since: None,
            bytes: 0,
            until: 0,
            pause: 0,
            watched: false,
        }
    }

    /// Whether the queue has to be looked at, because nobody says that there is something.
    pub const fn is_watched(&self) -> bool {
        self.watched
    }

    /// Whether it is time to call [`Patience::rest`] when there are no entries.
    pub const fn is_busy(&self) -> bool {
        self.since.is_some()
    }

    /// The queue has entries, and is busy since the time `now` unless it was before.
    pub fn begin(&mut self, now: u64) {
        self.watched = false;
        if self.since.is_none() {
            self.since = Some(now);
        }
    }

    /// So many bytes of its entries were carried out.
    pub fn carried(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// The queue has run out of entries. In how many nanoseconds to look again; none says that it is time to
    /// ask for a kick.
    pub fn rest(&mut self, now: u64) -> Option<u64> {
        let since = self.since?;
        if self.bytes >= LOAD {
            let busy = now.saturating_sub(since);
            self.bytes = 0;
            self.until = now.saturating_add((busy / 2).min(LONGEST));
            self.pause = SHORTEST;
        }
        let left = self.until.saturating_sub(now);
        if left < SHORTEST {
            *self = Self::new();
            return None;
        }
        let pause = self.pause.min(left);
        self.pause = self.pause.saturating_mul(2).min(PAUSE);
        self.watched = true;
        Some(pause)
    }
}
