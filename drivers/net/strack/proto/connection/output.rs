// SPDX-License-Identifier: GPL-2.0

//! Packets to send, most urgent first: what ends or makes a connection, ACKs,
//! probes, retransmissions, new data.

use super::{
    segments,
    timer::Timer,
    Connection,
    Handshake,
    Transmit,
    What,
    STREAM, //
};
use crate::proto::{
    counter::Counter,
    loss::Cause,
    psn::Psn,
    stream::State,
    wire::{
        flags,
        AcceptHeader,
        AckHeader,
        DataHeader,
        InitHeader,
        Packet,
        MAX_HEADER, //
    },
    Ns, //
};

/// A burst on one path is at most this part of the window.
const BURST_SHARE: u64 = 8;

/// Why a probe is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// Did the packets in flight arrive? On the paths of the oldest of them.
    Tail,
    /// Is the window still closed?
    Window,
    /// Is the peer alive?
    KeepAlive,
}

/// How many packets can be sent for the first time, and what ends the run.
struct Run {
    count: u32,
    bytes: u64,
    /// Nothing follows for now, whatever is acknowledged.
    last: bool,
}

impl Connection {
    /// The next thing to send. To be called until there is none.
    pub fn poll_transmit(&mut self, now: Ns) -> Option<Transmit> {
        if let Some(reset) = self.reset_due.take() {
            self.counts.add(Counter::ResetSent);
            return Some(self.control(now, &Packet::Reset(reset)));
        }
        match self.state {
            State::Closed => return None,
            State::Connecting => return self.poll_init(now),
            _ => {}
        }
        if self.handshake_due {
            return Some(self.accept_packet(now));
        }
        if self.acks.is_due() {
            return Some(self.ack_packet(now));
        }
        // A server's data could overtake its ACCEPT, and would be dropped.
        if self.state == State::TimeWait || self.handshake != Handshake::Done {
            return None;
        }
        if let Some(probe) = self.probe_due.take() {
            if let Some(packet) = self.probe_packet(now, probe) {
                return Some(packet);
            }
        }
        // In silence the next try is worth more than asking all paths, which takes time.
        if self.state.sends_data() && self.is_silence() {
            if let Some(again) = self.poll_lost(now) {
                return Some(again);
            }
        }
        if self.asks_paths() {
            let dead = self.spray.judge(now);
            self.counts.add_n(Counter::PathWithdrawn, u32::from(dead));
            let timeout = self.rto();
            if let Some(entropy) = self.spray.due_probe(now, timeout) {
                self.counts.add(Counter::ProbePath);
                return Some(self.probe_on(now, entropy));
            }
        }
        if !self.state.sends_data() {
            return None;
        }
        let knows = self.is_silence() || self.recovery.silence.way().is_some();
        if self.spray.unanswered() && !knows {
            return self.poll_try(now);
        }
        let again = self.poll_lost(now).or_else(|| self.poll_try(now));
        again.or_else(|| self.poll_new(now))
    }

    /// Whether nothing at all was heard since the oldest packet was first sent: then no
    /// path is better than another, and waiting for answers only delays the next try.
    fn is_silence(&self) -> bool {
        let oldest = self.tx.get(self.tx.una());
        oldest.is_some_and(|slot| slot.transmissions > 0 && self.last_heard <= slot.first_sent)
    }

    /// The header of a DATA packet that [`Self::poll_transmit`] has just named.
    pub fn data_header(&self, psn: Psn) -> Option<DataHeader> {
        let slot = self.tx.get(psn)?;
        let retx = match slot.transmissions {
            0 => return None,
            1 => 0,
            _ => flags::DATA_RETX,
        };
        Some(DataHeader {
            flags: slot.flags | retx,
            entropy: slot.entropy,
            dcid: self.remote.cid,
            tag: self.remote.tag,
            psn,
            offset: slot.offset,
            tx_time: clock32(slot.sent_at),
            scid: self.local.cid,
        })
    }

    /// A packet without payload, on whichever path has its turn.
    fn control(&mut self, now: Ns, packet: &Packet) -> Transmit {
        let entropy = self.spray.next_control(now);
        control_on(entropy, packet)
    }

    fn poll_init(&mut self, now: Ns) -> Option<Transmit> {
        let Handshake::Asking {
            cookie_time,
            cookie_mac,
        } = self.handshake
        else {
            return None;
        };
        if !self.handshake_due {
            return None;
        }
        self.counts.add(Counter::InitSent);
        self.handshake_sent_now(now);
        let init = InitHeader {
            sock_type: STREAM,
            psn: self.snd_isn,
            scid: self.local.cid,
            stag: self.local.tag,
            src_port: self.local_port,
            dst_port: self.remote_port,
            max_payload: self.config.mss,
            credit: self.tx.capacity(),
            window: self.recv_credit.window(0),
            cookie_time,
            cookie_mac,
        };
        Some(self.control(now, &Packet::Init(init)))
    }

    fn accept_packet(&mut self, now: Ns) -> Transmit {
        self.counts.add(Counter::AcceptSent);
        self.handshake_sent_now(now);
        let accept = AcceptHeader {
            dcid: self.remote.cid,
            tag: self.remote.tag,
            sock_type: STREAM,
            psn: self.snd_isn,
            scid: self.local.cid,
            stag: self.local.tag,
            max_payload: self.config.mss,
            credit: self.tx.capacity(),
            window: self.recv_credit.window(0),
        };
        self.control(now, &Packet::Accept(accept))
    }

    /// INIT or ACCEPT leaves and is repeated if nothing comes back.
    fn handshake_sent_now(&mut self, now: Ns) {
        if self.handshake_tries > 0 {
            self.counts.add(Counter::HandshakeRetrans);
        } else {
            self.handshake_began = now;
        }
        let wait = self.backed_off(self.config.rto_initial, self.handshake_tries);
        self.handshake_due = false;
        self.handshake_tries = self.handshake_tries.saturating_add(1);
        self.timers.set(Timer::Handshake, now.saturating_add(wait));
    }

    fn ack_packet(&mut self, now: Ns) -> Transmit {
        let echo = self.acks.take();
        let sack = self.rx.sack();
        let cumulative = self.rx.nxt();
        self.recv_credit.told();
        let mut ack = AckHeader {
            flags: 0,
            entropy: 0,
            dcid: self.remote.cid,
            tag: self.remote.tag,
            cumulative,
            trigger: cumulative.sub(1),
            echo_time: 0,
            credit: self.recv_credit.psn(),
            sack_base: cumulative,
            sack: 0,
            received_bytes: self.rx.bytes(),
            ooo_count: u16::try_from(self.rx.ooo()).unwrap_or(u16::MAX),
            dup_count: (self.rx.duplicates() & u64::from(u16::MAX)) as u16,
            service_time: 0,
            window: self.recv_credit.window(self.rx.nxt_offset()),
            penalty: self.penalty(),
        };
        if let Some((base, bits)) = sack {
            ack.flags |= flags::ACK_SACK;
            ack.sack_base = base;
            ack.sack = bits;
        }
        if let Some(echo) = echo {
            let held = now.saturating_sub(echo.arrived);
            ack.flags |= echo.flags;
            ack.entropy = echo.entropy;
            ack.trigger = echo.psn;
            ack.echo_time = echo.tx_time;
            ack.service_time = u32::try_from(held).unwrap_or(u32::MAX);
        }
        self.control(now, &Packet::Ack(ack))
    }

    fn probe_packet(&mut self, now: Ns, probe: Probe) -> Option<Transmit> {
        Some(match probe {
            Probe::Tail => {
                let entropy = self.recovery.tail.next(now)?;
                if self.recovery.tail.is_pending() {
                    self.probe_due = Some(probe);
                } else {
                    self.arm_next_probes(now);
                }
                self.counts.add(Counter::ProbeTail);
                self.probe_on(now, entropy)
            }
            Probe::Window => {
                self.counts.add(Counter::ProbeWindow);
                let entropy = self.spray.next_control(now);
                self.probe_on(now, entropy)
            }
            Probe::KeepAlive => {
                self.counts.add(Counter::ProbeKeepAlive);
                let entropy = self.spray.next_control(now);
                self.probe_on(now, entropy)
            }
        })
    }

    pub(super) fn probe_on(&self, now: Ns, entropy: u16) -> Transmit {
        let probe = DataHeader {
            flags: 0,
            entropy,
            dcid: self.remote.cid,
            tag: self.remote.tag,
            psn: self.tx.nxt(),
            offset: self.tx.sent_offset(),
            tx_time: clock32(now),
            scid: self.local.cid,
        };
        control_on(entropy, &Packet::Probe(probe))
    }

    fn poll_lost(&mut self, now: Ns) -> Option<Transmit> {
        if self.rests() {
            return None;
        }
        let (psn, cause) = self.tx.first_lost()?;
        let slot = *self.tx.get(psn)?;
        if !self.may_send(0, slot.len) && self.recovery.must_resend == 0 {
            return None;
        }
        self.recovery.must_resend = self.recovery.must_resend.saturating_sub(1);
        let way = self.recovery.silence.take_way();
        let entropy = way.unwrap_or_else(|| self.spray.next_avoiding(now, slot.entropy));
        self.tx.set_flags(psn, flags::DATA_ACK_REQ);
        self.tx.send_again(psn, now, entropy);
        self.recovery.resent.push(now, psn, slot.first_sent, cause);
        self.counts.add(match cause {
            Cause::Overtaken => Counter::RetransFast,
            Cause::Probe => Counter::RetransProbe,
            Cause::Timeout => Counter::RetransTimeout,
            Cause::Refused => Counter::RetransRefused,
        });
        self.stats.retransmits += 1;
        self.on_sent(now, entropy, 1, u64::from(slot.len));
        Some(Transmit {
            entropy,
            ect: true,
            what: What::Data {
                first: psn,
                count: 1,
                retx: true,
            },
        })
    }

    fn poll_new(&mut self, now: Ns) -> Option<Transmit> {
        if self.rests() {
            return None;
        }
        let run = self.next_run();
        if run.count == 0 {
            self.arm_persist(now);
            return None;
        }
        let entropy = self.spray.next(now);
        let first = self.tx.nxt();
        for _ in 0..run.count {
            self.tx.send_next(now, entropy);
        }
        let idle = self.tx.backlog() == 0;
        self.recovery.unrequested += run.bytes;
        let soon = self
            .recovery
            .unrequested
            .saturating_add(u64::from(self.mss));
        if run.last || soon > self.cwnd() / BURST_SHARE {
            self.recovery.unrequested = 0;
            let push = if idle { flags::DATA_PUSH } else { 0 };
            let last = self.tx.nxt().sub(1);
            self.tx.set_flags(last, flags::DATA_ACK_REQ | push);
        }
        self.on_sent(now, entropy, run.count, run.bytes);
        Some(Transmit {
            entropy,
            ect: true,
            what: What::Data {
                first,
                count: u16::try_from(run.count).unwrap_or(u16::MAX),
                retx: false,
            },
        })
    }

    /// The longest run of packets that can be sent now on one path.
    fn next_run(&self) -> Run {
        let first = self.tx.nxt();
        let mut run = Run {
            count: 0,
            bytes: 0,
            last: false,
        };
        let Some(size) = self.tx.get(first).map(|slot| slot.len) else {
            return run;
        };
        let limit = self.burst_limit().min(segments(size)).max(1);
        let mut closed = false;
        loop {
            let psn = first.add(run.count);
            let ready = self
                .tx
                .get(psn)
                .filter(|slot| self.send_credit.allows(psn, slot.end()) && !self.is_held(psn));
            let Some(slot) = ready else {
                run.last = true;
                break;
            };
            // One GSO train: equal packets, none of them without payload, but the
            // last may be shorter.
            let joins = run.count == 0 || (!closed && slot.len <= size && slot.len > 0);
            if run.count >= limit || !joins || !self.may_send(run.bytes, slot.len) {
                break;
            }
            run.count += 1;
            run.bytes += u64::from(slot.len);
            closed = slot.len < size;
        }
        run
    }

    /// Most packets to send in a row on one path.
    fn burst_limit(&self) -> u32 {
        let packets = self.cwnd_packets().div_ceil(BURST_SHARE);
        let packets = u32::try_from(packets).unwrap_or(u32::MAX);
        packets.min(u32::from(self.config.burst_max))
    }

    /// Whether a packet waits to become full. Somebody may be filling it at this
    /// moment, so no other rule looks at it.
    fn is_held(&self, psn: Psn) -> bool {
        self.hold_tail && psn.next() == self.tx.tail()
    }

    /// Whether the congestion window has room for `len` bytes besides those in
    /// flight and `more` that are about to be.
    ///
    /// After two timeouts without any answer one packet at a time is enough.
    fn may_send(&self, more: u64, len: u16) -> bool {
        if self.tx.in_flight() == 0 && more == 0 {
            return true;
        }
        if self.recovery.expiries >= 2 {
            return false;
        }
        let len = u64::from(len);
        let inflight = self.inflight_bytes().saturating_add(more);
        let room = self.spray.room(more, len);
        room.unwrap_or_else(|| self.window.can_send(inflight, len))
    }

    fn on_sent(&mut self, now: Ns, entropy: u16, packets: u32, bytes: u64) {
        self.stats.packets_sent += u64::from(packets);
        self.spray.sent(entropy, packets, bytes);
        self.timers.stop(Timer::Persist);
        self.arm_retransmit(now);
        self.arm_tail_probe(now);
    }
}

/// The time as it stands in headers.
pub(super) fn clock32(time: Ns) -> u32 {
    (time & Ns::from(u32::MAX)) as u32
}

fn control_on(entropy: u16, packet: &Packet) -> Transmit {
    let mut bytes = [0; MAX_HEADER];
    let len = packet.emit(&mut bytes);
    Transmit {
        entropy,
        ect: false,
        what: What::Control {
            len: u8::try_from(len).unwrap_or(u8::MAX),
            bytes,
        },
    }
}
