// SPDX-License-Identifier: GPL-2.0

//! Lost packets: finding them, and what a loss means for path and window.
//!
//! See [`crate::proto::loss`] for the reasons a packet is called lost for. Here is
//! what follows from it: the window shrinks by one packet, the path is suspected,
//! and the packet is due again on another path. Only timeouts without any progress
//! back off, and enough of them end the connection.

use super::{
    output::Probe,
    silence::Silence,
    timer::Timer,
    Connection,
    Handshake, //
};
use crate::host::AllocError;
use crate::proto::{
    config::{
        Config,
        Profile, //
    },
    counter::Counter,
    loss::{
        Blame,
        Cause,
        Patience,
        Probes,
        Resent, //
    },
    psn::Psn,
    spray::Feedback,
    stream::State,
    wire::AckHeader,
    Ns, //
};

/// What the sender knows beyond its packets.
pub(super) struct Recovery {
    pub(super) patience: Patience,
    pub(super) blame: Blame,
    pub(super) resent: Resent,
    // Timeouts in silence, that is without progress.
    pub(super) expiries: u8,
    pub(super) silence: Silence,
    // When something new was last known to have arrived.
    pub(super) last_progress: Ns,
    // When delay has last lowered the window, and when it was last set to what got through.
    pub(super) lowered_at: Ns,
    pub(super) adapted_at: Ns,
    // Retransmissions that a timeout entitles to, whatever the window says.
    pub(super) must_resend: u16,
    // Bytes sent since the peer was last asked for an ACK.
    pub(super) unrequested: u64,
    // Payload bytes the peer is known to have received.
    pub(super) received_bytes: u64,
    // One beyond the highest packet known to have arrived, if any was.
    pub(super) delivered_to: Option<Psn>,
    initial_rto: Ns,
    pub(super) tail: Probes,
    // Rounds of probes that nothing came back from.
    pub(super) unanswered: u8,
    // The path that was heard of last.
    pub(super) heard_on: Option<u16>,
    // Rests in a row after each of which the peer still had no room.
    pub(super) refusals: u8,
    persist_tries: u8,
    persist_unanswered: u8,
}

impl Recovery {
    pub(super) fn new(config: &Config, now: Ns) -> Result<Self, AllocError> {
        Ok(Self {
            patience: Patience::new(config.loss, now),
            blame: Blame::new(config.loss),
            resent: Resent::new()?,
            expiries: 0,
            silence: Silence::new(),
            last_progress: now,
            lowered_at: 0,
            adapted_at: 0,
            must_resend: 0,
            unrequested: 0,
            received_bytes: 0,
            delivered_to: None,
            initial_rto: config.rto_initial,
            tail: Probes::new(),
            unanswered: 0,
            heard_on: None,
            refusals: 0,
            persist_tries: 0,
            persist_unanswered: 0,
        })
    }
}

impl Connection {
    /// Whether losses are looked for wherever they can be found before the timeout.
    pub(super) fn recovers_early(&self) -> bool {
        self.config.profile == Profile::Strack
    }

    /// Whether little is known of the RTT yet.
    pub(super) fn is_starting(&self) -> bool {
        self.recovery.patience.is_starting()
    }

    /// Retransmission timeout with back-off.
    pub(super) fn rto(&self) -> Ns {
        let timeout = self.timeout();
        if self.recovery.silence.is_over() {
            timeout
        } else {
            self.backed_off(timeout, self.recovery.expiries)
        }
    }

    /// Age at which a packet counts as lost.
    ///
    /// The first packets leave all together, before anything is known of how many
    /// of them share a link or of how much the RTT varies: they are given time.
    fn timeout(&self) -> Ns {
        let timeout = if self.rtt.sampled() {
            let (patience, target) = (&self.recovery.patience, self.target_delay());
            let (least, most) = (self.config.rto_min, self.config.longest_timeout());
            let timeout = patience.timeout(&self.rtt, target, least, most);
            if self.recovers_early() {
                let answered = patience.probe_answered(&self.rtt, target);
                let verdict = answered.saturating_add(self.probe_grace());
                timeout.max(verdict.min(most))
            } else {
                timeout
            }
        } else {
            self.recovery.initial_rto
        };
        if !self.is_starting() {
            return timeout;
        }
        let start = Ns::from(self.config.loss.start_timeouts);
        let allowance = start.saturating_mul(self.recovery.initial_rto);
        timeout.max(allowance.min(self.config.longest_timeout()))
    }

    /// `base` doubled `times` times, within the longest timeout.
    pub(super) fn backed_off(&self, base: Ns, times: u8) -> Ns {
        let factor = 1u64.checked_shl(u32::from(times)).unwrap_or(u64::MAX);
        base.saturating_mul(factor)
            .min(self.config.longest_timeout())
    }

    /// The handshake was answered. If it took one try, that was a round trip; if more, the
    /// first of them may have been too early, and nothing is known but that a round trip
    /// takes no longer than all of them (RFC 6298, section 5.7 is as careful).
    pub(super) fn note_handshake_rtt(&mut self, now: Ns) {
        let took = now.saturating_sub(self.handshake_began);
        let enough = if self.handshake_tries == 1 {
            took.saturating_mul(3)
        } else {
            took
        };
        let rto = self.recovery.initial_rto.max(enough);
        self.recovery.initial_rto = rto.min(self.config.longest_timeout());
    }

    pub(super) fn target_delay(&self) -> Ns {
        self.window.target_delay().max(self.config.min_target)
    }

    /// Bytes that may be in flight.
    pub(super) fn cwnd(&self) -> u64 {
        self.spray.cwnd().unwrap_or_else(|| self.window.cwnd())
    }

    /// The congestion window in packets.
    pub(super) fn cwnd_packets(&self) -> u64 {
        (self.cwnd() / u64::from(self.mss.max(1))).max(1)
    }

    /// Payload bytes in flight: those whose packets are, but not more than the peer
    /// still lacks, which it reports ahead of saying which ones.
    pub(super) fn inflight_bytes(&self) -> u64 {
        let missing = self
            .tx
            .sent_offset()
            .saturating_sub(self.recovery.received_bytes);
        self.tx.in_flight_bytes().min(missing)
    }

    /// Whether there is anything the peer does not have yet.
    pub(super) fn has_unacked_data(&self) -> bool {
        self.state.sends_data() && self.tx.una() != self.tx.tail()
    }

    /// Whether it matters which paths work: data is on its way, or ACKs are, for the
    /// peer's.
    pub(super) fn asks_paths(&self) -> bool {
        self.uses_paths() && (self.has_unacked_data() || self.spray.asks())
    }

    fn uses_paths(&self) -> bool {
        let done = self.handshake == Handshake::Done;
        done && self.state.is_connected() && self.state != State::TimeWait
    }

    /// The peer has sent a packet again that had arrived. Perhaps it was impatient, or
    /// else ACKs were lost. Nobody acknowledges those, so which paths they get through
    /// on has to be asked.
    ///
    /// This end may know little of the RTT, and a long wait costs nothing, since paths
    /// that answer are preferred before it is over.
    pub(super) fn doubt_ack_paths(&mut self, now: Ns) {
        if self.uses_paths() {
            let wait = self.config.loss.ack_doubt_timeouts.into();
            let timeout = self.timeout();
            self.spray.ask(now, timeout, wait);
        }
    }

    /// A packet leaves: the timer runs from now on if it does not yet.
    pub(super) fn arm_retransmit(&mut self, now: Ns) {
        let at = now.saturating_add(self.rto());
        self.timers.set_by(Timer::Retransmit, at);
    }

    /// Data waits for credit and nothing is in flight that would bring news of it.
    pub(super) fn arm_persist(&mut self, now: Ns) {
        let idle = self.tx.in_flight() == 0 && self.tx.lost() == 0;
        let next = self.tx.nxt();
        let blocked = self
            .tx
            .get(next)
            .is_some_and(|slot| !self.send_credit.allows(next, slot.end()));
        if idle && blocked && self.timers.get(Timer::Persist).is_none() {
            let wait = self.backed_off(self.rto(), self.recovery.persist_tries);
            self.timers.set(Timer::Persist, now.saturating_add(wait));
        }
    }

    /// The peer is there, whatever its window says.
    pub(super) fn persist_answered(&mut self) {
        self.recovery.persist_unanswered = 0;
    }

    /// The peer has given more credit.
    pub(super) fn credit_grew(&mut self) {
        self.recovery.persist_tries = 0;
        self.timers.stop(Timer::Persist);
    }

    pub(super) fn on_persist_timer(&mut self, now: Ns) {
        if self.recovery.persist_unanswered >= self.config.retries {
            self.time_out();
            return;
        }
        self.recovery.persist_unanswered += 1;
        self.recovery.persist_tries = self.recovery.persist_tries.saturating_add(1);
        self.probe_due = Some(Probe::Window);
        self.arm_persist(now);
    }

    pub(super) fn on_keepalive_timer(&mut self, now: Ns) {
        let Some(keepalive) = self.config.keepalive else {
            return;
        };
        if now.saturating_sub(self.last_heard) < keepalive.idle {
            self.arm_keepalive(now);
        } else if self.keepalive_probes >= keepalive.probes {
            self.time_out();
        } else {
            self.keepalive_probes += 1;
            self.probe_due = Some(Probe::KeepAlive);
            let next = now.saturating_add(keepalive.interval.max(1));
            self.timers.set(Timer::KeepAlive, next);
        }
    }

    /// The oldest packet in flight may have timed out: calls all those lost that are
    /// too old.
    ///
    /// Back-off applies to how often that is done, not to how old a packet can be,
    /// and only in silence: while other packets arrive, it is one path that is dead
    /// and not the network that is overwhelmed.
    pub(super) fn on_retransmit_timer(&mut self, now: Ns) {
        if let Some(end) = self.rests_for_room(now) {
            self.timers.set(Timer::Retransmit, end);
            return;
        }
        if self
            .oldest_in_flight()
            .is_some_and(|sent| sent.saturating_add(self.rto()) <= now)
        {
            self.on_timeout(now);
        }
        if let Some(sent) = self.oldest_in_flight() {
            let at = sent.saturating_add(self.rto());
            self.timers.set(Timer::Retransmit, at);
        }
    }

    /// When the packet that has been in flight for longest was sent.
    fn oldest_in_flight(&self) -> Option<Ns> {
        let mut oldest: Option<Ns> = None;
        let mut from = self.tx.una();
        while let Some((psn, slot)) = self.tx.in_flight_from(from) {
            oldest = Some(oldest.map_or(slot.sent_at, |oldest| oldest.min(slot.sent_at)));
            from = psn.next();
        }
        oldest
    }

    fn on_timeout(&mut self, now: Ns) {
        let timeout = self.timeout();
        let mut from = self.tx.una();
        while let Some((psn, slot)) = self.tx.in_flight_from(from) {
            if now.saturating_sub(slot.sent_at) >= timeout {
                self.lose(psn, Cause::Timeout, now);
            }
            from = psn.next();
        }
        self.counts.add(Counter::Timeouts);
        self.stats.timeouts += 1;
        self.recovery.must_resend = self.config.loss.timeout_packets;
        self.timers.stop(Timer::TailProbe);
        if now.saturating_sub(self.recovery.last_progress) < timeout {
            return;
        }
        if self.recovery.silence.waited() {
            if self.recovery.expiries >= self.config.retries {
                self.time_out();
                return;
            }
            self.recovery.expiries += 1;
            self.window.on_timeout(now);
        }
        self.try_other_paths();
    }

    /// Calls a packet in flight lost.
    ///
    /// One that does not get through at all, although the rest does, is left to the
    /// timeout after some tries: only that backs off and ends the connection.
    pub(super) fn lose(&mut self, psn: Psn, cause: Cause, now: Ns) {
        let tries = self.tx.get(psn).map_or(0, |slot| slot.transmissions);
        if cause != Cause::Timeout && tries > self.config.retries {
            return;
        }
        let Some(slot) = self.tx.lose(psn, cause) else {
            return;
        };
        if cause != Cause::Timeout {
            self.stats.fast_retx += 1;
        }
        let len = u64::from(slot.len);
        // A path whose probe was answered is not dead. Of one that was not asked, because others
        // have told enough, nothing is known.
        let answered = self.recovery.tail.on_loss(slot.sent_at, slot.entropy);
        let by_probe = cause == Cause::Probe && self.asks_many();
        let delayed = self.rtt.delay_median() >= self.target_delay();
        let kind = if by_probe {
            answered.then_some(Feedback::Nack)
        } else if delayed {
            Some(Feedback::Overflow)
        } else {
            Some(Feedback::Timeout)
        };
        self.spray.lost(slot.entropy, len, now);
        if let Some(kind) = kind {
            self.path_feedback(slot.entropy, kind, now);
        }
        if !by_probe && self.recovery.expiries <= 1 {
            let timeout = self.timeout();
            // Neither the packet nor the probe behind it was heard of, but another path's
            // probe was: a link that loses some packets hardly does that, one that died does,
            // and it has taken other paths with it.
            let tail = &self.recovery.tail;
            let silent = self.recovers_early() && tail.silent(slot.sent_at, slot.entropy);
            // The last packets have little to gain from knowing, and would wait for it.
            let silent = silent && self.tx.backlog() > 0;
            if slot.transmissions > 1 || silent {
                self.spray.ask(now, timeout, 1);
            } else {
                self.spray.suspect(now, timeout);
            }
        }
        self.charge_window(now, &slot, delayed);
    }

    /// Tells the path policy what became of a packet.
    pub(super) fn path_feedback(&mut self, entropy: u16, kind: Feedback, now: Ns) {
        if let Some(event) = self.spray.feedback(entropy, kind, now) {
            self.counts.add(event);
        }
    }

    /// An ACK has been taken in: looks for packets that it shows to be lost.
    pub(super) fn detect_losses(&mut self, now: Ns, ack: &AckHeader) {
        self.take_probe_answer(now, ack);
        self.take_try_answer(now, ack);
        if ack.entropy != 0 {
            self.recovery.heard_on = Some(ack.entropy);
        }
        if ack.cumulative == self.tx.una() {
            self.detect_overtaken(now, u64::from(ack.ooo_count));
        }
    }

    /// Calls old holes lost if `ooo` packets have arrived beyond the first of them.
    fn detect_overtaken(&mut self, now: Ns, ooo: u64) {
        let patience = &self.recovery.patience;
        let Some(end) = self.recovery.delivered_to else {
            return;
        };
        if ooo < patience.overtakers() {
            return;
        }
        let age = patience.overtaken(&self.rtt, self.target_delay());
        let mut held = false;
        let mut from = self.tx.una();
        while let Some((psn, slot)) = self.tx.in_flight_from(from) {
            if psn.ge(end) {
                break;
            }
            if now.saturating_sub(slot.sent_at) > age {
                self.lose(psn, Cause::Overtaken, now);
            } else {
                held = true;
            }
            from = psn.next();
        }
        if held {
            self.counts.add(Counter::RetransHeldYoung);
        }
    }

    /// Packets arrived: there is progress.
    pub(super) fn on_progress(&mut self, now: Ns) {
        self.recovery.end_silence(now);
        self.recovery.unanswered = 0;
        self.recovery.refusals = 0;
        if self.tx.in_flight() == 0 {
            self.timers.stop(Timer::Retransmit);
        } else {
            self.arm_retransmit(now);
        }
        self.arm_tail_probe(now);
    }
}
