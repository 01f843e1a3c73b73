// SPDX-License-Identifier: GPL-2.0

//! The timers of a connection.
//!
//! The host keeps one timer, for the earliest of them all. They are set generously
//! and looked at again when they fire: the time at which the oldest packet in
//! flight times out, for one, is only worked out when it may have come.

use super::Connection;
use crate::proto::{
    stream::State,
    Ns, //
};

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// INIT or ACCEPT is due again.
    Handshake,
    /// A packet may have been in flight for too long.
    Retransmit,
    /// Nothing was heard after the last packet: ask.
    TailProbe,
    /// What a probe has overtaken may be lost.
    Verdict,
    /// The peer had no room for a packet, or the network has none for so many tries: nothing is
    /// sent for a while.
    Rest,
    /// The peer's window is closed: ask whether it still is.
    Persist,
    /// The peer is idle: ask whether it is alive.
    KeepAlive,
    /// Late packets are not answered any more.
    TimeWait,
}

const COUNT: usize = Timer::TimeWait as usize + 1;

/// When each timer fires, if it is set.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    at: [Option<Ns>; COUNT],
}

impl Timers {
    pub(super) const fn new() -> Self {
        Self { at: [None; COUNT] }
    }

    pub(super) fn get(&self, timer: Timer) -> Option<Ns> {
        self.at.get(timer as usize).copied().flatten()
    }

    pub(super) fn set(&mut self, timer: Timer, at: Ns) {
        self.write(timer, Some(at));
    }

    /// Sets the timer if it is not set, or set for later.
    pub(super) fn set_by(&mut self, timer: Timer, at: Ns) {
        let sooner = self.get(timer).map_or(at, |set| set.min(at));
        self.write(timer, Some(sooner));
    }

    pub(super) fn stop(&mut self, timer: Timer) {
        self.write(timer, None);
    }

    pub(super) fn stop_all(&mut self) {
        *self = Self::new();
    }

    fn write(&mut self, timer: Timer, at: Option<Ns>) {
        if let Some(slot) = self.at.get_mut(timer as usize) {
            *slot = at;
        }
    }

    /// Stops the timer if its time has come, and says whether that was so.
    fn expired(&mut self, timer: Timer, now: Ns) -> bool {
        let expired = self.get(timer).is_some_and(|at| at <= now);
        if expired {
            self.stop(timer);
        }
        expired
    }

    fn earliest(&self) -> Option<Ns> {
        self.at.iter().flatten().copied().min()
    }
}

impl Connection {
    /// When [`Self::on_timer`] wants to be called, if ever.
    pub fn deadline(&self) -> Option<Ns> {
        if self.state == State::Closed {
            return None;
        }
        let probe = if self.asks_paths() {
            self.spray.probe_deadline()
        } else {
            None
        };
        [self.timers.earliest(), self.acks.deadline(), probe]
            .into_iter()
            .flatten()
            .min()
    }

    /// The time is `now`. What is due is sent by [`Self::poll_transmit`].
    pub fn on_timer(&mut self, now: Ns) {
        self.acks.on_timer(now);
        self.spray.on_timer(now);
        if self.timers.expired(Timer::Handshake, now) {
            self.on_handshake_timer(now);
        }
        if self.timers.expired(Timer::Retransmit, now) {
            self.on_retransmit_timer(now);
        }
        // The verdict on the latest probes comes before the next ones.
        if self.timers.expired(Timer::Verdict, now) {
            self.on_verdict_timer(now);
        }
        if self.timers.expired(Timer::TailProbe, now) {
            self.on_tail_timer(now);
        }
        // What may be sent after it is found when the host asks for packets.
        self.timers.expired(Timer::Rest, now);
        if self.timers.expired(Timer::Persist, now) {
            self.on_persist_timer(now);
        }
        if self.timers.expired(Timer::KeepAlive, now) {
            self.on_keepalive_timer(now);
        }
        if self.timers.expired(Timer::TimeWait, now) {
            self.close_quietly();
        }
    }
}
