// SPDX-License-Identifier: GPL-2.0

//! What a lost packet costs the congestion window.
//!
//! [`Blame`] tells the losses of congestion from those of dead paths. Here is told what the
//! window has to learn from a loss at all: it may be found out long after the queue was full
//! that took the packet, and delay, which is faster, has told of that queue already. A window
//! that was set to what got through has nothing more to learn from what had left before, and one
//! that was lowered has not much. Or else many that begin together go from far too wide windows to
//! far too narrow ones.
//!
//! [`Blame`]: crate::proto::loss::Blame

use super::Connection;
use crate::proto::{
    counter::Counter,
    loss::TxSlot,
    params::percent,
    Ns, //
};

impl Connection {
    /// The window has done what is worth counting.
    pub(super) fn note_window(&mut self, now: Ns, event: Counter) {
        match event {
            Counter::WindowQuickAdapt => self.recovery.adapted_at = now,
            _ => self.recovery.lowered_at = now,
        }
        self.counts.add(event);
    }

    /// The packet in `slot` was lost; `delayed` says whether there is a queue.
    pub(super) fn charge_window(&mut self, now: Ns, slot: &TxSlot, delayed: bool) {
        let len = u64::from(slot.len);
        let due = self.cost_due(now, slot.sent_at);
        let charge = if due == 0 {
            0
        } else {
            let window = self.window.cwnd().max(self.tx.in_flight_bytes());
            let (round, blame) = (self.rtt.srtt(), &mut self.recovery.blame);
            let charge = blame.on_loss(now, round, len, window, delayed);
            let charge = percent(charge, due);
            self.window.on_loss(now, charge);
            charge
        };
        self.window.on_path_loss(len - charge);
    }

    /// How much of its cost the loss of a packet has that left at `sent_at`, percent.
    fn cost_due(&self, now: Ns, sent_at: Ns) -> u16 {
        if self.spray.just_asked(now) || sent_at < self.recovery.adapted_at {
            0
        } else if sent_at < self.recovery.lowered_at {
            self.config.loss.stale_cost_percent
        } else {
            100
        }
    }
}
