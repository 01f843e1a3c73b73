// SPDX-License-Identifier: GPL-2.0

//! Probes for the tail: when they are sent, and what their answers show to be lost.
//!
//! See [`crate::proto::loss::Probes`] for what a probe tells. The order of things is
//!
//! ```text
//!   packet        tail_wait          answer      probe_grace
//!  ---+----------------------------+----+-------------------------+----
//!     | sent                  probes    | overtaken              verdict:
//!     |                       on paths  | by its probe           lost, unless it
//!     |                       of what   |                        has come meanwhile
//!     |                       is late   |
//! ```
//!
//! Paths that do not answer are judged when the slowest answer would have come, and the next
//! probes do not leave before that, since the latest are all that is remembered.

use super::{
    output::Probe,
    timer::Timer,
    Connection, //
};
use crate::proto::{
    loss::Cause,
    params::percent,
    wire::AckHeader,
    Ns, //
};

impl Connection {
    /// Whether many paths are asked together what became of their packets. At the start no
    /// profile can leave that to the timeout, since it is long.
    pub(super) fn asks_many(&self) -> bool {
        self.recovers_early() || self.is_starting()
    }

    /// Whether there is something to ask for, and it is known when. After a timeout in silence
    /// the next try tells more than a probe.
    fn has_tail(&self) -> bool {
        self.rtt.sampled() && self.recovery.expiries == 0 && self.tx.in_flight() > 0
    }

    pub(super) fn arm_tail_probe(&mut self, now: Ns) {
        self.timers.stop(Timer::TailProbe);
        if !self.has_tail() {
            return;
        }
        let wait = self.tail_wait();
        if wait < self.rto() {
            let since = self.silent_since(now);
            let mut at = since.saturating_add(wait).max(now);
            if self.recovers_early() {
                at = at.max(self.silence_judged());
            }
            self.timers.set(Timer::TailProbe, at);
        }
    }

    /// When the silence of the paths that were asked last says something. That is forgotten
    /// with the next probes.
    fn silence_judged(&self) -> Ns {
        let longest = self.recovery.patience.answer(&self.rtt);
        self.recovery.tail.sent_at().saturating_add(longest)
    }

    /// All probes have left. Where a link is dead they may be lost, or else their answers, and
    /// that is no reason to wait for the timeout.
    ///
    /// They do not leave all at once: what they ask for may have arrived meanwhile.
    pub(super) fn arm_next_probes(&mut self, now: Ns) {
        if self.recovers_early() && self.has_tail() {
            let wait = self.backed_off(self.tail_wait(), self.recovery.unanswered);
            let at = now.saturating_add(wait).max(self.silence_judged());
            self.recovery.unanswered = self.recovery.unanswered.saturating_add(1);
            self.timers.set(Timer::TailProbe, at);
        }
    }

    /// Silence after which a probe is sent.
    fn tail_wait(&self) -> Ns {
        let target = self.target_delay();
        let wait = self.recovery.patience.probe(&self.rtt, target);
        if self.recovers_early() {
            return wait;
        }
        let long = self.rtt.base().saturating_mul(3);
        if self.is_starting() {
            // The RTT is that of full queues, which nothing comes out of any more.
            long.max(self.rtt.base().saturating_add(target))
        } else if self.tx.backlog() > 0 {
            wait.max(long)
        } else {
            wait
        }
    }

    /// Since when it is surprising not to have heard of a packet in flight, now that
    /// something has been sent or heard.
    ///
    /// Each packet counts for itself: that others have arrived is no reason to wait
    /// longer for it. But the same is not asked twice at once. The profile *stellar*
    /// counts on the timeout for that.
    fn silent_since(&self, now: Ns) -> Ns {
        if !self.recovers_early() {
            return now;
        }
        let oldest = self.tx.in_flight_from(self.tx.una());
        let sent = oldest.map_or(now, |(_, slot)| slot.sent_at);
        sent.max(self.recovery.tail.sent_at())
    }

    pub(super) fn on_tail_timer(&mut self, now: Ns) {
        if let Some(end) = self.rests_for_room(now) {
            self.timers.set(Timer::TailProbe, end);
            return;
        }
        let (paths, age, other) = if self.asks_many() {
            // What left right behind the oldest packet is not worth a round of its own.
            let age = self.tail_wait().saturating_sub(self.probe_grace());
            (self.config.loss.probe_paths, age, self.other_to_ask())
        } else {
            (1, 0, None)
        };
        let packets = self.tx.in_flight_slots(self.tx.una());
        let overdue = packets.filter(|(_, slot)| now.saturating_sub(slot.sent_at) >= age);
        let entropies = overdue.map(|(_, slot)| slot.entropy);
        if self.recovery.tail.choose(entropies, paths, other) {
            self.probe_due = Some(Probe::Tail);
        } else {
            // Nothing is overdue yet: it was meanwhile that packets came to be waited for longer.
            self.arm_tail_probe(now);
        }
    }

    /// The path that is asked besides those of what is late, so that their silence means something.
    /// The profile *stellar* makes nothing of silence.
    fn other_to_ask(&self) -> Option<u16> {
        let heard_on = self.recovery.heard_on.filter(|_| self.recovers_early());
        // An administrator may have denied it since.
        heard_on.filter(|&entropy| self.spray.carries(entropy))
    }

    /// An ACK may answer a probe for packets in flight: what was sent before that on the
    /// same path, and has not arrived, is lost.
    ///
    /// The profile *stellar* leaves all but the oldest to the timeout, and is not as careful.
    pub(super) fn take_probe_answer(&mut self, now: Ns, ack: &AckHeader) {
        // If no other ACK knew more, and the packets known to have arrived make up the count
        // of this one, then all that had arrived is known.
        let newest = ack.received_bytes == self.recovery.received_bytes;
        let counted = u32::from(ack.ooo_count) == self.tx.delivered();
        let current = ack.cumulative == self.tx.una();
        let early = self.asks_many();
        let complete = early && newest && counted && current;
        let answer = self.recovery.tail.on_answer(now, ack, complete);
        if answer.is_none() {
            return;
        }
        self.recovery.unanswered = 0;
        if !current {
            return;
        }
        if early {
            let at = now.saturating_add(self.probe_grace());
            self.timers.set_by(Timer::Verdict, at);
        } else {
            self.lose_overtaken_by_probes(now, now);
        }
    }

    /// How much longer a packet has than the probe that should have arrived behind it.
    pub(super) fn probe_grace(&self) -> Ns {
        percent(self.rtt.base(), self.config.loss.probe_grace_percent)
    }

    /// What was overtaken by a probe has had its time.
    pub(super) fn on_verdict_timer(&mut self, now: Ns) {
        let grace = self.probe_grace();
        let until = now.saturating_sub(grace);
        self.lose_overtaken_by_probes(now, until);
        if self.recovery.tail.all_lost(until) {
            self.lose_the_rest(now);
        }
        let answered = self.recovery.tail.answered_after(until);
        let next = answered.map(|at| at.saturating_add(grace));
        // How long the slowest answer takes is not known at the start.
        let silent = if self.recovers_early() && !self.is_starting() {
            self.lose_silent(now)
        } else {
            None
        };
        if let Some(at) = [next, silent].into_iter().flatten().min() {
            self.timers.set(Timer::Verdict, at);
        } else {
            // The window may be closed for what was found lost: then nothing is sent, and so
            // nothing heard, before more is known. Or it is the end, and the answer did not tell
            // of everything: an ACK has room for 64 packets, and others may have been lost.
            self.arm_tail_probe(now);
        }
    }

    /// Calls packets lost that have not arrived and whose paths do not answer. Returns when
    /// to look again, if some may still answer.
    fn lose_silent(&mut self, now: Ns) -> Option<Ns> {
        // The timeout leaves time for this.
        let at = self.silence_judged();
        let mut from = self.tx.una();
        while let Some((psn, slot)) = self.tx.in_flight_from(from) {
            from = psn.next();
            if !self.recovery.tail.silent(slot.sent_at, slot.entropy) {
                continue;
            }
            if now < at {
                return Some(at);
            }
            self.lose(psn, Cause::Overtaken, now);
        }
        None
    }

    /// Calls packets lost that were overtaken by a probe answered at `until` at the latest.
    fn lose_overtaken_by_probes(&mut self, now: Ns, until: Ns) {
        let first = self.tx.una();
        let mut from = first;
        while let Some((psn, slot)) = self.tx.in_flight_from(from) {
            from = psn.next();
            let (sent_at, entropy) = (slot.sent_at, slot.entropy);
            let age = now.saturating_sub(sent_at);
            let slow = age <= self.recovery.patience.overtaken_by_probe();
            let tail = &self.recovery.tail;
            if !slow && tail.overtook(sent_at, entropy, psn == first, until) {
                self.lose(psn, Cause::Probe, now);
            }
        }
    }

    /// Eight paths were asked, all answer, and each has lost a packet:
    /// a queue that they share has overflown. So those that left with them on other paths
    /// are not asked for one by one.
    fn lose_the_rest(&mut self, now: Ns) {
        let age = self.recovery.patience.overtaken_by_probe();
        let asked = self.recovery.tail.sent_at();
        let mut from = self.tx.una();
        while let Some((psn, slot)) = self.tx.in_flight_from(from) {
            from = psn.next();
            if slot.sent_at < asked && now.saturating_sub(slot.sent_at) > age {
                self.lose(psn, Cause::Probe, now);
            }
        }
    }
}
