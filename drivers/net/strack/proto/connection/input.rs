// SPDX-License-Identifier: GPL-2.0

//! Packets that arrive.
//!
//! Nothing in a packet is trusted. Each check comes before the first change, and a
//! packet that fails one is counted and forgotten.

use super::{
    timer::Timer,
    Connection,
    Events,
    Failure,
    Handshake,
    RxMeta,
    Verdict,
    STREAM, //
};
use crate::proto::{
    ack::{
        Arrival,
        Echo,
        Incoming, //
    },
    counter::Counter,
    stream::State,
    wire::{
        flags,
        AcceptHeader,
        ChallengeHeader,
        DataHeader,
        Packet,
        ResetCode,
        ResetHeader,
        VersionHeader,
        VERSION, //
    },
    Ns, //
};

impl Connection {
    /// A packet arrived whose connection identifier is ours.
    ///
    /// With [`Verdict::Deliver`] the host has to keep its payload.
    pub fn on_packet(&mut self, now: Ns, packet: &Packet, meta: RxMeta) -> Verdict {
        let result = match packet {
            Packet::Data(header) => self.on_data(now, header, meta),
            Packet::Probe(header) => self.on_probe(now, header, meta),
            Packet::Ack(header) => self.on_ack(now, header),
            Packet::Challenge(header) => self.on_challenge(now, header),
            Packet::Accept(header) => self.on_accept(now, header),
            Packet::Reset(header) => self.on_reset(header),
            Packet::Version(header) => self.on_version(header),
            Packet::Init(_) => Err(Counter::DropState),
        };
        match result {
            Ok(verdict) => verdict,
            Err(counter) => {
                self.counts.add(counter);
                Verdict::Drop(counter)
            }
        }
    }

    /// The INIT that created this connection came again, its cookie verified.
    pub fn on_init(&mut self, _now: Ns) {
        if self.handshake == Handshake::Accepting && self.state != State::Closed {
            self.handshake_due = true;
        }
    }

    /// Whether a packet is for us.
    fn check_ids(&self, dcid: u32, tag: u32) -> Result<(), Counter> {
        check(
            dcid == self.local.cid && tag == self.local.tag,
            Counter::DropTag,
        )
    }

    /// Whether a packet that needs a connection finds one.
    pub(super) fn check_connected(&self, dcid: u32, tag: u32) -> Result<(), Counter> {
        self.check_ids(dcid, tag)?;
        match self.state {
            State::Connecting => Err(Counter::DropEarly),
            State::Closed => Err(Counter::DropState),
            _ => Ok(()),
        }
    }

    /// A packet has passed all checks: the peer is alive.
    pub(super) fn heard(&mut self, now: Ns) {
        self.last_heard = now;
        self.keepalive_probes = 0;
        self.soft_error = false;
        if self.handshake == Handshake::Accepting {
            self.handshake = Handshake::Done;
            self.handshake_due = false;
            self.timers.stop(Timer::Handshake);
            self.note_handshake_rtt(now);
        }
    }

    fn on_data(&mut self, now: Ns, header: &DataHeader, meta: RxMeta) -> Result<Verdict, Counter> {
        self.check_connected(header.dcid, header.tag)?;
        check(header.scid == self.remote.cid, Counter::DropTag)?;
        let fin = header.flags & flags::DATA_FIN != 0;
        let packet = Incoming {
            psn: header.psn,
            offset: header.offset,
            len: meta.payload,
            fin,
        };
        let was_finished = self.rx.finished();
        let arrival = self.rx.take(&packet, &self.recv_credit)?;
        self.heard(now);

        let mut echo = self.echo(now, header, meta);
        let mut at_once = fin || meta.ce || self.rx.packets() <= 1;
        at_once |= header.flags & (flags::DATA_ACK_REQ | flags::DATA_RETX) != 0;
        match arrival {
            Arrival::Duplicate => {
                self.counts.add(Counter::DupReceived);
                echo.flags |= flags::ACK_DUP;
                self.acks.on_data(echo, 0, true);
                if header.flags & flags::DATA_RETX != 0 {
                    self.doubt_ack_paths(now);
                }
                if self.state == State::TimeWait {
                    self.restart_time_wait(now);
                }
                return Ok(Verdict::Handled);
            }
            Arrival::OutOfOrder => {}
            Arrival::InOrder { closed_gap } => {
                at_once |= closed_gap;
                self.events.insert(Events::READABLE);
            }
        }
        self.rx_no_room = false;
        self.spray.keep_asking();
        self.acks.on_data(echo, meta.payload, at_once);
        if self.rx.finished() && !was_finished {
            self.on_peer_fin(now);
        }
        Ok(Verdict::Deliver {
            psn: header.psn,
            len: meta.payload,
        })
    }

    fn on_probe(&mut self, now: Ns, header: &DataHeader, meta: RxMeta) -> Result<Verdict, Counter> {
        self.check_connected(header.dcid, header.tag)?;
        check(header.scid == self.remote.cid, Counter::DropTag)?;
        self.heard(now);
        let mut echo = self.echo(now, header, meta);
        echo.flags |= flags::ACK_PROBE;
        self.acks.on_alone(echo);
        Ok(Verdict::Handled)
    }

    /// What an ACK is to say about a DATA or PROBE packet.
    pub(super) fn echo(&mut self, now: Ns, header: &DataHeader, meta: RxMeta) -> Echo {
        let mut echoed = 0;
        if meta.ce {
            self.counts.add(Counter::CeReceived);
            echoed |= flags::ACK_CE;
        }
        if header.flags & flags::DATA_RETX != 0 {
            echoed |= flags::ACK_RETX;
        }
        Echo {
            psn: header.psn,
            entropy: header.entropy,
            tx_time: header.tx_time,
            arrived: now,
            flags: echoed,
        }
    }

    fn on_challenge(&mut self, now: Ns, header: &ChallengeHeader) -> Result<Verdict, Counter> {
        self.check_ids(header.dcid, header.tag)?;
        let Handshake::Asking { cookie_time, .. } = self.handshake else {
            return Err(Counter::DropState);
        };
        check(self.state == State::Connecting, Counter::DropState)?;
        // An INIT that was repeated brings a second CHALLENGE, which says no more
        // than the first until the listener's clock has moved on.
        check(header.cookie_time > cookie_time, Counter::DropState)?;
        self.counts.add(Counter::ChallengeReceived);
        self.handshake = Handshake::Asking {
            cookie_time: header.cookie_time,
            cookie_mac: header.cookie_mac,
        };
        self.last_heard = now;
        if cookie_time == 0 {
            // A step forward, not a repetition.
            self.handshake_tries = 0;
            self.handshake_due = true;
        }
        Ok(Verdict::Handled)
    }

    fn on_accept(&mut self, now: Ns, header: &AcceptHeader) -> Result<Verdict, Counter> {
        self.check_ids(header.dcid, header.tag)?;
        if self.state.is_connected() {
            // The server has not heard that we are.
            let same = header.scid == self.remote.cid && header.stag == self.remote.tag;
            check(same, Counter::DropState)?;
            self.acks.request();
            return Ok(Verdict::Handled);
        }
        let Handshake::Asking { cookie_time, .. } = self.handshake else {
            return Err(Counter::DropState);
        };
        let asked = self.state == State::Connecting && cookie_time != 0;
        check(asked && header.sock_type == STREAM, Counter::DropState)?;
        self.remote.cid = header.scid;
        self.remote.tag = header.stag;
        self.handshake = Handshake::Done;
        self.handshake_due = false;
        self.timers.stop(Timer::Handshake);
        self.note_handshake_rtt(now);
        self.start_streams(header.psn, header.max_payload, header.credit, header.window);
        self.on_connected(now);
        self.acks.request();
        Ok(Verdict::Handled)
    }

    fn on_reset(&mut self, header: &ResetHeader) -> Result<Verdict, Counter> {
        let tag = if header.flags & flags::RESET_REFLECT == 0 {
            self.local.tag
        } else {
            // Who reflects has seen a packet of ours, and we have sent none before
            // we were connected.
            check(self.state.is_connected(), Counter::DropTag)?;
            self.remote.tag
        };
        check(
            header.dcid == self.local.cid && header.tag == tag,
            Counter::DropTag,
        )?;
        check(self.state != State::Closed, Counter::DropState)?;
        self.counts.add(Counter::ResetReceived);
        match (self.state, header.code) {
            (State::TimeWait, _) => self.close_quietly(),
            // The peer left after it had everything; only its last ACK was lost.
            (State::LastAck | State::Closing, ResetCode::NoConnection)
                if self.only_fin_unacked() =>
            {
                self.close_quietly();
            }
            (State::Connecting, _) => self.fail(Failure::Refused),
            (_, ResetCode::Protocol) => self.fail(Failure::Protocol),
            _ => self.fail(Failure::Reset),
        }
        Ok(Verdict::Handled)
    }

    /// Whether the peer has acknowledged all but the end of our stream.
    fn only_fin_unacked(&self) -> bool {
        let last = self.tx.tail().sub(1);
        let empty = self.tx.get(last).is_some_and(|slot| slot.len == 0);
        empty && self.tx.una() == last
    }

    fn on_version(&mut self, header: &VersionHeader) -> Result<Verdict, Counter> {
        self.check_ids(header.dcid, header.tag)?;
        check(self.state == State::Connecting, Counter::DropState)?;
        let known = header.versions.iter().take(usize::from(header.count));
        let ours = known
            .into_iter()
            .any(|&version| version == u16::from(VERSION));
        check(!ours, Counter::DropState)?;
        self.counts.add(Counter::VersionReceived);
        self.fail(Failure::Protocol);
        Ok(Verdict::Handled)
    }
}

/// `Ok` if `good`, else the counter of the check that failed.
pub(super) fn check(good: bool, counter: Counter) -> Result<(), Counter> {
    if good {
        Ok(())
    } else {
        Err(counter)
    }
}
