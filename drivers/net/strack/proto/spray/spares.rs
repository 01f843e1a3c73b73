// SPDX-License-Identifier: GPL-2.0

//! Entropy values that take the place of others.
//!
//! With few paths each one that is withdrawn is missed: the rest of them may be spread
//! over the links that are left most unevenly. So a spare entropy value takes its
//! place. A spare is as likely to lead into the same hole as any other, so it is probed
//! first, together with the path that it is for, and who answers first carries the
//! packets. One that does not answer gives way to the next spare when the next series
//! of probes begins:
//!
//! ```text
//!          path withdrawn            answers a probe
//!  spare -----------------> on trial ---------------> in use
//!    ^                        |  ^                      |
//!    +------------------------+  +----------------------+
//!    |    no answer                   two timeouts      |
//!    +--------------------------------------------------+
//!                    the path itself is back
//! ```

use super::{
    path::Memory,
    paths::{
        Paths,
        WITHDRAW_AFTER, //
    },
};
use crate::proto::counter::Counter;

/// Timeouts of a spare that has been probed and has not answered yet.
const TRIED: u8 = WITHDRAW_AFTER + 1;

impl Paths {
    /// A spare shall take the place of `path`, if none has it yet and there is one left.
    pub(super) fn find_spare(&mut self, path: u16) {
        let known = self.pool.get(usize::from(path));
        if known.is_none_or(|path| path.partner.is_some()) {
            return;
        }
        let (first, end) = (self.count, self.entropies());
        let from = self.next_spare.clamp(first, end);
        let idle = |&spare: &u16| {
            let known = self.pool.get(usize::from(spare));
            known.is_some_and(|spare| spare.partner.is_none() && !spare.denied)
        };
        let Some(spare) = (from..end).chain(first..from).find(idle) else {
            return;
        };
        self.next_spare = spare + 1;
        self.pair(path, Some(spare));
        self.pair(spare, Some(path));
        self.set_timeouts(spare, WITHDRAW_AFTER);
    }

    /// All paths that want a spare and have none get one, as long as there are any.
    pub(super) fn fill_places(&mut self) {
        for path in 0..self.count {
            let known = self.pool.get(usize::from(path));
            let vacant = known.is_some_and(|path| path.denied || path.timeouts >= WITHDRAW_AFTER);
            if vacant {
                self.find_spare(path);
            }
        }
    }

    /// An entropy value that was withdrawn, denied or on trial can be used.
    pub(super) fn take_back(&mut self, index: u16) -> Counter {
        let partner = self
            .pool
            .get(usize::from(index))
            .and_then(|path| path.partner);
        // Whatever was remembered concerned who had the place before.
        let (path, counter) = match partner {
            Some(path) if index >= self.count => (path, Counter::PathReplaced),
            Some(spare) => {
                self.release(spare);
                (index, Counter::PathRestored)
            }
            None => (index, Counter::PathRestored),
        };
        if let Some(memory) = self.memory_mut(path) {
            *memory = Memory {
                queued: memory.queued,
                next: memory.next,
                ..Memory::default()
            };
        }
        counter
    }

    /// A spare is not needed any more.
    pub(super) fn release(&mut self, spare: u16) {
        let path = self
            .pool
            .get(usize::from(spare))
            .and_then(|spare| spare.partner);
        if let Some(path) = path {
            self.pair(path, None);
        }
        self.pair(spare, None);
        self.set_timeouts(spare, 0);
    }

    /// A series of probes begins: who has not answered the last one gives way to others.
    pub(super) fn change_spares(&mut self) {
        if self.on_trial == 0 {
            return;
        }
        for spare in self.count..self.entropies() {
            let path = self
                .pool
                .get(usize::from(spare))
                .and_then(|spare| spare.partner);
            if let (Some(path), TRIED..) = (path, self.timeouts(spare)) {
                self.release(spare);
                self.find_spare(path);
            }
        }
    }

    /// A probe leaves.
    pub(super) fn tried(&mut self, index: u16) {
        if index >= self.count {
            self.set_timeouts(index, TRIED);
        }
    }

    fn pair(&mut self, index: u16, partner: Option<u16>) {
        if let Some(path) = self.pool.get_mut(usize::from(index)) {
            path.partner = partner;
        }
    }
}
