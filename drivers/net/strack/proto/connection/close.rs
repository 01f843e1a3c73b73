// SPDX-License-Identifier: GPL-2.0

//! How a connection ends: in order, by force, or because nobody answers.

use super::{
    timer::Timer,
    Connection,
    Events,
    Failure,
    Handshake, //
};
use crate::proto::{
    counter::Counter,
    stream::State,
    wire::{
        flags,
        Quoted,
        ResetCode,
        ResetHeader, //
    },
    Ns, //
};

/// How often late packets can start `TimeWait` anew.
const MAX_TIME_WAIT_RESTARTS: u8 = 8;

/// How long the end that closed last stays for repetitions of the peer's FIN: in
/// retransmission timeouts, enough for four that double.
const LAST_ACK_RTOS: u64 = 16;

impl Connection {
    /// Our stream ends after what is queued.
    pub fn shutdown_send(&mut self) {
        if self.fin_queued || !self.state.can_shut_down() {
            return;
        }
        self.fin_queued = true;
        self.hold_tail = false;
        self.tx.push_fin(flags::DATA_FIN);
        self.state = self.state.on_local_fin();
    }

    /// Gives the connection up at once. The peer is told, if it is known.
    pub fn abort(&mut self, _now: Ns, code: ResetCode) {
        if self.state == State::Closed {
            return;
        }
        self.reset_peer(code);
        self.fail(Failure::Aborted);
    }

    /// Queues a RESET.
    fn reset_peer(&mut self, code: ResetCode) {
        if self.state.is_connected() && self.state != State::TimeWait {
            self.reset_due = Some(ResetHeader {
                flags: 0,
                dcid: self.remote.cid,
                tag: self.remote.tag,
                code,
                psn: self.tx.nxt(),
            });
        }
    }

    /// Whether a packet that an ICMP error quotes is one of this connection.
    pub fn has_sent(&self, quoted: &Quoted) -> bool {
        if quoted.init {
            self.state == State::Connecting && quoted.tag == self.local.tag
        } else {
            self.state != State::Connecting && quoted.tag == self.remote.tag
        }
    }

    /// ICMP says that the peer cannot be reached, for good (`hard`) or for now.
    ///
    /// That ends an attempt to connect. Afterwards it is only remembered, since
    /// anybody can forge it, and names the reason if the connection times out.
    pub fn on_unreachable(&mut self, _now: Ns, hard: bool) {
        match self.state {
            State::Closed | State::TimeWait => {}
            State::Connecting if hard => {
                self.counts.add(Counter::Unreachable);
                self.fail(Failure::Unreachable);
            }
            _ => {
                self.counts.add(Counter::Unreachable);
                self.soft_error = true;
            }
        }
    }

    /// The handshake is done.
    pub(super) fn on_connected(&mut self, now: Ns) {
        self.state = self.state.on_connected();
        self.last_heard = now;
        self.events.insert(Events::CONNECTED);
        self.arm_keepalive(now);
        if self.fin_queued {
            self.state = self.state.on_local_fin();
        }
    }

    /// Our FIN was acknowledged.
    pub(super) fn on_fin_acked(&mut self, now: Ns) {
        if self.state == State::LastAck {
            let repeats = self.rto().saturating_mul(LAST_ACK_RTOS);
            self.time_wait = self.config.time_wait.min(repeats);
        }
        self.state = self.state.on_fin_acked();
        self.events.insert(Events::FIN_ACKED);
        self.on_half_done(now);
    }

    /// All of the peer's stream was received.
    pub(super) fn on_peer_fin(&mut self, now: Ns) {
        self.state = self.state.on_peer_fin();
        self.events.insert(Events::PEER_FIN);
        self.on_half_done(now);
    }

    /// One direction is done. Perhaps both are.
    fn on_half_done(&mut self, now: Ns) {
        if self.state == State::TimeWait {
            self.timers.stop_all();
            self.arm_time_wait(now);
            self.events.insert(Events::TIME_WAIT);
        }
    }

    /// A late packet came in `TimeWait`: the peer missed our last ACK.
    pub(super) fn restart_time_wait(&mut self, now: Ns) {
        if self.time_wait_restarts < MAX_TIME_WAIT_RESTARTS {
            self.time_wait_restarts += 1;
            self.arm_time_wait(now);
        }
    }

    fn arm_time_wait(&mut self, now: Ns) {
        let end = now.saturating_add(self.time_wait);
        self.timers.set(Timer::TimeWait, end);
    }

    /// The end, as it should be.
    pub(super) fn close_quietly(&mut self) {
        self.state = State::Closed;
        self.timers.stop_all();
        self.events.insert(Events::CLOSED);
    }

    /// The end, as it should not be.
    pub(super) fn fail(&mut self, failure: Failure) {
        let failure = match failure {
            Failure::TimedOut if self.soft_error => Failure::Unreachable,
            other => other,
        };
        if self.state == State::Connecting {
            self.counts.add(Counter::OpenFailed);
        }
        self.failure = Some(failure);
        self.close_quietly();
        self.events.insert(Events::FAILED);
    }

    /// The peer has not answered for too long.
    pub(super) fn time_out(&mut self) {
        self.counts.add(Counter::TimedOut);
        self.fail(Failure::TimedOut);
    }

    /// INIT or ACCEPT was not answered in time.
    pub(super) fn on_handshake_timer(&mut self, _now: Ns) {
        if self.handshake == Handshake::Done {
            return;
        }
        if self.handshake_tries > self.config.retries {
            self.time_out();
        } else {
            self.handshake_due = true;
        }
    }

    /// Watches an idle peer from now on, if that is wanted.
    pub(super) fn arm_keepalive(&mut self, now: Ns) {
        self.timers.stop(Timer::KeepAlive);
        let watch = self.state.is_connected() && self.state != State::TimeWait;
        if let (Some(keepalive), true) = (self.config.keepalive, watch) {
            let at = self.last_heard.saturating_add(keepalive.idle);
            self.timers.set(Timer::KeepAlive, at.max(now));
        }
    }
}
