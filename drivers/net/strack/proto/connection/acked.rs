// SPDX-License-Identifier: GPL-2.0

//! ACKs that arrive.
//!
//! An ACK is first checked as a whole against what was sent: a peer cannot
//! acknowledge what it was never sent, know bytes that do not exist, echo a path
//! or a time that was not in the packet it names, or take credit back. Then what
//! it says is applied. ACKs overtake each other like all packets; all that one
//! says stays true for ever, so an old one is merely no news.

use super::{
    input::check,
    output::clock32,
    Connection,
    Events,
    Verdict, //
};
use crate::proto::{
    counter::Counter,
    flow::{
        MAX_CREDIT,
        MAX_WINDOW, //
    },
    loss::{
        Again,
        TxState, //
    },
    psn::Psn,
    spray::Feedback,
    window::Acked,
    wire::{
        flags,
        AckHeader,
        SACK_BITS, //
    },
    Ns, //
};

/// A packet is late from this part of the target delay above the average on: the window
/// lets queues vary by that much, and hosts jitter.
const LATE_SHARE: Ns = 2;

/// What was learned from the echo in an ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Echo {
    /// RTT of the packet echoed, if it was DATA.
    rtt: Option<Ns>,
    /// Payload bytes of it.
    len: u16,
    /// The packet echoed was sent more than once and that was needless, because its
    /// first copy or more than one has arrived.
    needless: bool,
    /// Age of the first copy of the packet if that is what arrived.
    age: Option<Ns>,
}

/// What was not known of packets before.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    /// Some have arrived.
    progress: bool,
    /// Path and time of those that left together with one that was marked.
    train: Option<(u16, Ns)>,
    /// Bytes of those among them that have arrived.
    marked: u64,
}

impl Connection {
    pub(super) fn on_ack(&mut self, now: Ns, ack: &AckHeader) -> Result<Verdict, Counter> {
        self.check_connected(ack.dcid, ack.tag)?;
        self.check_acked(ack)?;
        let offset_limit = self.check_credit(ack)?;
        let echo = self.check_echo(now, ack)?;
        self.heard(now);
        self.persist_answered();

        let before = self.tx.una();
        let inflight = self.inflight_bytes();
        let news = self.apply_delivered(now, ack);
        self.note_spurious(now, ack, echo);

        let new_bytes = ack
            .received_bytes
            .saturating_sub(self.recovery.received_bytes);
        self.recovery.received_bytes += new_bytes;
        let acked = Acked {
            bytes: new_bytes,
            marked: is_marked(ack).then_some(news.marked.min(new_bytes)),
            rtt: echo.rtt,
            len: echo.len.into(),
            inflight,
        };
        self.apply_echo(now, ack, &acked);

        if self.send_credit.raise(ack.credit, offset_limit) {
            self.credit_grew();
        }
        self.detect_losses(now, ack);
        if news.progress {
            self.on_progress(now);
        }
        if self.tx.una() != before {
            self.events.insert(Events::ACKED);
            if self.fin_queued && self.tx.una() == self.tx.tail() {
                self.on_fin_acked(now);
            }
        }
        Ok(Verdict::Handled)
    }

    /// Whether what it acknowledges was sent.
    fn check_acked(&self, ack: &AckHeader) -> Result<(), Counter> {
        let (una, nxt) = (self.tx.una(), self.tx.nxt());
        let cumulative = ack.cumulative;
        check(cumulative.le(nxt), Counter::DropAckUnsent)?;
        let old = cumulative.lt(una) && una.dist_from(cumulative) > self.tx.capacity();
        check(!old, Counter::DropAckOld)?;

        let beyond = nxt.dist_from(cumulative);
        check(u32::from(ack.ooo_count) <= beyond, Counter::DropAckSack)?;
        if ack.sack != 0 {
            let start = cumulative.sub(SACK_BITS);
            let reach = beyond.saturating_add(SACK_BITS);
            let last = ack.sack_base.add(SACK_BITS - 1 - ack.sack.leading_zeros());
            let inside = ack.sack_base.in_window(start, reach) && last.lt(nxt);
            check(inside, Counter::DropAckSack)?;
            check(!sacks(ack, cumulative), Counter::DropAckSack)?;
        }

        let bytes = ack.received_bytes;
        let (least, most) = match self.tx.offset_of(cumulative) {
            Some(least) => (least, least.saturating_add(self.most_beyond(ack))),
            None => (0, u64::MAX),
        };
        let most = most.min(self.tx.sent_offset());
        check((least..=most).contains(&bytes), Counter::DropAckBytes)
    }

    /// The most bytes that the packets can have that an ACK says have arrived out of order.
    fn most_beyond(&self, ack: &AckHeader) -> u64 {
        let largest = self.config.mss.min(self.peer_max_payload);
        u64::from(ack.ooo_count).saturating_mul(largest.into())
    }

    /// Whether the credit it gives makes sense. Returns the stream offset up to
    /// which data may be sent.
    fn check_credit(&self, ack: &AckHeader) -> Result<u64, Counter> {
        let sane = ack.credit.dist_from(ack.cumulative) <= MAX_CREDIT && ack.window <= MAX_WINDOW;
        check(sane, Counter::DropAckCredit)?;
        let Some(start) = self.tx.offset_of(ack.cumulative) else {
            // Long acknowledged; what it gave has been used up since.
            return Ok(0);
        };
        let limit = start.saturating_add(u64::from(ack.window));
        // An ACK that acknowledges more than all others is the newest of all.
        let newest = ack.cumulative.gt(self.tx.una());
        let shrunk = ack.credit.lt(self.send_credit.psn()) || limit < self.send_credit.offset();
        check(!(newest && shrunk), Counter::DropAckCredit)?;
        Ok(limit)
    }

    /// Whether the packet it echoes was sent like that.
    fn check_echo(&self, now: Ns, ack: &AckHeader) -> Result<Echo, Counter> {
        let mut echo = Echo::default();
        if ack.entropy == 0 {
            // It answers no packet, and so refuses none.
            check(ack.flags & flags::ACK_NACK == 0, Counter::DropAckEcho)?;
            return Ok(echo);
        }
        let known = (self.entropy_first..=self.entropy_last).contains(&ack.entropy);
        check(known, Counter::DropAckEcho)?;
        if ack.flags & flags::ACK_PROBE != 0 {
            check(ack.trigger.le(self.tx.nxt()), Counter::DropAckUnsent)?;
            return Ok(echo);
        }
        check(ack.trigger.lt(self.tx.nxt()), Counter::DropAckUnsent)?;
        let again = ack.flags & flags::ACK_RETX != 0;
        let duplicate = ack.flags & flags::ACK_DUP != 0;
        let refused = ack.flags & flags::ACK_NACK != 0;
        let age = clock32(now).wrapping_sub(ack.echo_time);
        if let Some(slot) = self.tx.recent(ack.trigger) {
            let first = clock32(slot.first_sent);
            let genuine = match (slot.transmissions, again) {
                (1, false) => ack.echo_time == first && ack.entropy == slot.entropy,
                (2.., false) => ack.echo_time == first,
                (2.., true) => Ns::from(age) <= now.saturating_sub(slot.first_sent),
                _ => false,
            };
            check(genuine && ack.service_time <= age, Counter::DropAckEcho)?;
            // Later the 32 bits of the clock are ambiguous.
            let recent = now.saturating_sub(slot.first_sent) <= Ns::from(u32::MAX);
            if recent && !duplicate && !refused {
                echo.rtt = Some(Ns::from(age - ack.service_time));
                echo.len = slot.len;
                echo.age = echo.rtt.filter(|_| !again);
            }
        }
        if let Some(sent) = self
            .recovery
            .resent
            .find(now, ack.trigger)
            .filter(|_| !refused)
        {
            echo.needless = duplicate || !again;
            if !again && ack.echo_time == clock32(sent.first_sent) {
                echo.age = Some(now.saturating_sub(sent.first_sent));
            }
        }
        Ok(echo)
    }

    /// Takes note of everything that has arrived.
    fn apply_delivered(&mut self, now: Ns, ack: &AckHeader) -> News {
        let mut news = News {
            train: self.marked_train(ack),
            ..News::default()
        };
        let first = self.tx.una();
        let mut psn = first;
        while psn.lt(ack.cumulative) {
            self.delivered(now, psn, ack, &mut news);
            psn = psn.next();
        }
        self.tx.advance(ack.cumulative);
        let acked = self.tx.una().dist_from(first);
        self.recovery.patience.on_acked(acked);
        let mut bits = ack.sack;
        while bits != 0 {
            let psn = ack.sack_base.add(bits.trailing_zeros());
            self.delivered(now, psn, ack, &mut news);
            bits &= bits - 1;
        }
        if answers_data(ack) {
            self.delivered(now, ack.trigger, ack, &mut news);
        }
        news
    }

    /// The packets that left together with the one that an ACK answers, if that was marked:
    /// what path they took, and when.
    ///
    /// A host that merges packets as they arrive hands them over all at once, and only if all
    /// of them are marked or none is. There is one ACK then, which answers the last.
    fn marked_train(&self, ack: &AckHeader) -> Option<(u16, Ns)> {
        let answered = (is_marked(ack) && answers_data(ack)).then_some(ack.trigger)?;
        let slot = self.tx.recent(answered)?;
        Some((ack.entropy, slot.first_sent))
    }

    fn delivered(&mut self, now: Ns, psn: Psn, ack: &AckHeader, news: &mut News) {
        let Some(slot) = self.tx.deliver(psn) else {
            return;
        };
        news.progress = true;
        let end = psn.next();
        if self.recovery.delivered_to.is_none_or(|old| end.gt(old)) {
            self.recovery.delivered_to = Some(end);
        }
        if slot.state == TxState::InFlight {
            self.spray.arrived(slot.entropy, u64::from(slot.len));
        }
        // It was sent only once, so its path works; and it was not marked, or else one of
        // those that left together with it would have been echoed.
        let echoed = answers_data(ack) && ack.trigger == psn;
        let train = news.train == Some((slot.entropy, slot.first_sent));
        let marked = train || echoed && is_marked(ack);
        if marked {
            news.marked = news.marked.saturating_add(slot.len.into());
        }
        if slot.transmissions == 1 && !echoed {
            let kind = if marked {
                Feedback::Ecn(0)
            } else {
                Feedback::Ok
            };
            self.path_feedback(slot.entropy, kind, now);
        }
    }

    /// A packet may have been sent again although its first copy was on its way.
    fn note_spurious(&mut self, now: Ns, ack: &AckHeader, echo: Echo) {
        let srtt = self.rtt.srtt();
        let packets = self.cwnd_packets();
        self.recovery.patience.on_ack(now, srtt, packets);
        if let Some(age) = echo.age {
            self.recovery.patience.on_arrival(age);
        }
        if echo.needless {
            if let Some(again) = self.recovery.resent.set_needless(now, ack.trigger) {
                self.needless(now, &again, echo.age.is_some());
            }
        }
        let named = ack.flags & flags::ACK_DUP != 0;
        let more = self.recovery.resent.on_duplicates(ack.dup_count, named);
        for _ in 0..more {
            let Some(again) = self.recovery.resent.guess_needless(self.tx.una()) else {
                break;
            };
            self.needless(now, &again, false);
        }
    }

    /// Sending a packet again turned out to be needless; `seen` says that its first copy
    /// was seen to arrive.
    fn needless(&mut self, now: Ns, again: &Again, seen: bool) {
        self.stats.spurious += 1;
        self.counts.add(Counter::RetransSpurious);
        let late_by = again.late_by();
        if let Some(age) = late_by {
            self.recovery.patience.on_arrival(age);
        }
        let late = seen || late_by.is_some();
        if late && self.recovery.patience.on_late(now, self.rtt.srtt()) {
            self.counts.add(Counter::ReorderRaised);
        }
    }

    /// What the echoed packet met on its way moves window and paths.
    fn apply_echo(&mut self, now: Ns, ack: &AckHeader, acked: &Acked) {
        if is_marked(ack) {
            self.stats.ce_marks += 1;
        }
        let refused = ack.flags & flags::ACK_NACK != 0;
        if refused {
            // What that says of the path is told with the packet.
        } else if answers_data(ack) {
            let slack = self.target_delay() / LATE_SHARE;
            let event = self.spray.echoed(ack.entropy, acked, slack, now);
            if let Some(event) = event {
                self.counts.add(event);
            }
        } else if ack.entropy != 0 {
            self.path_feedback(ack.entropy, Feedback::Alive, now);
        }
        if let Some(rtt) = acked.rtt {
            self.rtt.on_sample(now, rtt);
        }
        if let Some(event) = self.window.on_ack(now, acked) {
            self.note_window(now, event);
        }
        // An old ACK does not know how things stand now.
        if ack.cumulative == self.tx.una() {
            self.stats.penalty = ack.penalty;
            self.window
                .on_penalty(ack.penalty, acked.bytes, acked.inflight);
        }
        if refused {
            self.on_nack(now, ack);
        }
    }
}

/// Whether the packet that an ACK answers was marked.
fn is_marked(ack: &AckHeader) -> bool {
    ack.flags & flags::ACK_CE != 0
}

/// Whether an ACK answers a DATA packet that was taken.
fn answers_data(ack: &AckHeader) -> bool {
    ack.entropy != 0 && ack.flags & (flags::ACK_PROBE | flags::ACK_NACK) == 0
}

/// Whether the SACK bitmap of an ACK says that `psn` was received.
fn sacks(ack: &AckHeader, psn: Psn) -> bool {
    let bit = psn.dist_from(ack.sack_base);
    bit < SACK_BITS && (ack.sack >> bit) & 1 != 0
}
