// SPDX-License-Identifier: GPL-2.0

//! Packets that arrive and cannot be taken.
//!
//! A switch that trims cuts off the payload of what it has no room for and lets the
//! header pass, and a receiver may have no memory for a packet although credit was
//! given. In both cases the receiver knows what is missing and says so at once, in an
//! ACK of its own with the flag NACK. The sender need not find out:
//!
//! * After a trim the packet is sent again at once. The path works, but is crowded, and
//!   the window may be far too wide. If it is as narrow as it can be, each further try
//!   waits for longer: many senders have less than a packet for each round trip, and whoever
//!   tries all the time has used up all tries before there is room.
//! * Without room (the penalty is the largest there is) sending again at once would
//!   meet the same. All data waits for a while, and for twice as long each time that
//!   nothing was taken after it: memory that others have may be theirs for long. The peer
//!   is alive, so nothing is counted as a timeout, and nobody is asked for it meanwhile.
//!
//! The peer is also asked to slow down before it comes to that, see [`Connection::penalty`].

use super::{
    input::check,
    output::clock32,
    timer::Timer,
    Connection,
    RxMeta,
    Verdict, //
};
use crate::proto::{
    config::Profile,
    counter::Counter,
    loss::{
        Cause,
        TxState, //
    },
    spray::Feedback,
    wire::{
        flags,
        AckHeader,
        DataHeader,
        MAX_PENALTY, //
    },
    Ns,
    USEC, //
};

/// So often a packet that is trimmed is sent again at once, even if nothing else is in flight.
const FREE_TRIES: u8 = 2;

/// How often the time between later tries doubles.
const MOST_DOUBLED: u32 = 4;

/// How often the time doubles that a peer without room is left alone: to 64 ms, by default.
const MOST_RESTS: u8 = 6;

/// Why a packet that has arrived is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A switch has cut off its payload.
    Trimmed,
    /// The host has no room for it.
    NoRoom,
}

impl Connection {
    /// A DATA packet has arrived that cannot be taken. To be called instead of
    /// [`Self::on_packet`].
    pub fn refuse(&mut self, now: Ns, header: &DataHeader, meta: RxMeta, why: Refusal) -> Verdict {
        match self.try_refuse(now, header, meta, why) {
            Ok(()) => Verdict::Handled,
            Err(counter) => {
                self.counts.add(counter);
                Verdict::Drop(counter)
            }
        }
    }

    fn try_refuse(
        &mut self,
        now: Ns,
        header: &DataHeader,
        meta: RxMeta,
        why: Refusal,
    ) -> Result<(), Counter> {
        self.check_connected(header.dcid, header.tag)?;
        check(header.scid == self.remote.cid, Counter::DropTag)?;
        self.heard(now);
        self.rx_no_room |= why == Refusal::NoRoom;
        let mut echo = self.echo(now, header, meta);
        echo.flags |= flags::ACK_NACK;
        self.acks.on_alone(echo);
        self.counts.add(Counter::Refused);
        Ok(())
    }

    /// How hard the peer is asked to slow down.
    ///
    /// Byte credit alone lets a sender that is faster than the reader run at full speed
    /// into a closed window, again and again.
    pub(super) fn penalty(&self) -> u16 {
        if self.rx_no_room {
            return MAX_PENALTY;
        }
        if self.config.profile != Profile::Strack {
            return 0;
        }
        let params = &self.config.nscc;
        let buffer = u64::from(self.config.rcv_window).max(1);
        let waiting = self.recv_credit.unread(self.rx.bytes());
        let filled = waiting.saturating_mul(100) / buffer;
        let from = u64::from(params.penalty_from_percent);
        let Some(above) = filled.min(100).checked_sub(from).filter(|&above| above > 0) else {
            return 0;
        };
        // At most `penalty_max`.
        (u64::from(params.penalty_max) * above / (100 - from).max(1)) as u16
    }

    /// An ACK says that the packet it answers was not taken.
    pub(super) fn on_nack(&mut self, now: Ns, ack: &AckHeader) {
        let psn = ack.trigger;
        let current = self.tx.get(psn).is_some_and(|slot| {
            // Not of a copy that was sent before.
            let this = clock32(slot.sent_at) == ack.echo_time && slot.entropy == ack.entropy;
            // One that is refused for ever is left to the timeout, as any other is.
            let again = slot.transmissions <= self.config.retries;
            slot.state == TxState::InFlight && this && again
        });
        let no_room = ack.penalty == MAX_PENALTY;
        if no_room {
            self.recovery.end_silence(now);
            self.rest_for_room(now);
        }
        if !current {
            return;
        }
        let Some(slot) = self.tx.lose(psn, Cause::Refused) else {
            return;
        };
        let len = u64::from(slot.len);
        self.stats.refused += 1;
        self.spray.lost(slot.entropy, len, now);
        if no_room {
            self.path_feedback(slot.entropy, Feedback::Ok, now);
            self.window.on_loss(now, len);
        } else {
            self.stats.fast_retx += 1;
            self.path_feedback(slot.entropy, Feedback::Nack, now);
            self.window.on_trimmed(len);
            self.rest_between_tries(now, slot.transmissions);
        }
    }

    /// The peer has no room. What was refused while all data waits already was sent before.
    fn rest_for_room(&mut self, now: Ns) {
        if !self.rests() {
            self.recovery.refusals = self.recovery.refusals.saturating_add(1);
        }
        let doubled = self.recovery.refusals.saturating_sub(1).min(MOST_RESTS);
        let wait = Ns::from(self.config.loss.refused_wait_us) * USEC;
        let wait = wait.saturating_mul(1 << doubled);
        self.timers.set(Timer::Rest, now.saturating_add(wait));
    }

    /// Until when the peer is left alone, if that is still to come: silence means nothing then.
    pub(super) fn rests_for_room(&self, now: Ns) -> Option<Ns> {
        let end = self.timers.get(Timer::Rest)?;
        (self.recovery.refusals > 0 && end > now).then_some(end)
    }

    /// A packet was trimmed `tries` times in a row. If the window cannot become smaller than
    /// it is, the tries become fewer.
    fn rest_between_tries(&mut self, now: Ns, tries: u8) {
        let again = u32::from(tries.saturating_sub(FREE_TRIES));
        if again > 0 && self.cwnd() < 2 * u64::from(self.mss) {
            let round_trip = self.rtt.srtt().max(self.window.base_rtt());
            let doubled = again.saturating_sub(1).min(MOST_DOUBLED);
            let wait = round_trip.saturating_mul(1 << doubled);
            self.timers.set(Timer::Rest, now.saturating_add(wait));
        }
    }

    /// Whether there was no room for a packet a moment ago.
    pub(super) fn rests(&self) -> bool {
        self.timers.get(Timer::Rest).is_some()
    }
}
