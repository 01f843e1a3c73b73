// SPDX-License-Identifier: GPL-2.0

//! Timeouts without any progress: what else is tried while they back off.
//!
//! Where most of a fabric is dead, a packet that is sent again takes one path of many, and is
//! lost more often than not, or else its ACKs are. One try for each timeout is not enough then,
//! since the time between them doubles. So other paths are tried together with it, by packets
//! without payload, each time those that come next:
//!
//! ```text
//!  timeout            answer                timeout
//!  ---+----------------+----------------------+------------------------+----
//!     | packet again,  | packet again on      | the same, but what is  | backed off
//!     | probes on a    | the path that        | heard does not make it | as before
//!     | few more paths | answered             | shorter once more      |
//! ```
//!
//! An answer shows that there is no silence any more, so the next timeout is not backed off. But
//! it does not show that data gets through: a queue that is full may have room for a probe, and
//! a link may be too narrow. So that is done once, and does not count as another timeout; then
//! backing off goes on where it was.

use super::{
    output::clock32,
    recovery::Recovery,
    Connection,
    Transmit, //
};
use crate::proto::{
    counter::Counter,
    loss::Cause,
    wire::{
        flags,
        AckHeader, //
    },
    Ns, //
};

/// Timeouts in silence from which on other paths are tried.
const FROM: u8 = 2;

/// What is being tried.
pub(super) struct Silence {
    // Paths still to be tried.
    left: u16,
    // When the first of them was, until one has answered.
    tried_at: Option<Ns>,
    // The path that has answered, for what is sent again next.
    way: Option<u16>,
    // How long to wait after an answer.
    wait: Wait,
}

/// How long to wait for progress.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// As long as silence demands.
    BackedOff,
    /// One timeout, since there was an answer.
    Short,
    /// As long as silence demands: that was in vain.
    Again,
}

impl Silence {
    pub(super) const fn new() -> Self {
        Self {
            left: 0,
            tried_at: None,
            way: None,
            wait: Wait::BackedOff,
        }
    }

    /// Whether the current timeout is not backed off.
    pub(super) fn is_over(&self) -> bool {
        self.wait == Wait::Short
    }

    /// The path that was found, if that was just now.
    pub(super) fn way(&self) -> Option<u16> {
        self.way
    }

    /// The same, which is used now.
    pub(super) fn take_way(&mut self) -> Option<u16> {
        self.way.take()
    }

    /// The time for progress is over. Says whether it was as long as silence demands.
    pub(super) fn waited(&mut self) -> bool {
        let short = self.is_over();
        self.wait = if short { Wait::Again } else { Wait::BackedOff };
        !short
    }
}

impl Recovery {
    /// There is progress.
    pub(super) fn end_silence(&mut self, now: Ns) {
        self.expiries = 0;
        self.silence = Silence::new();
        self.last_progress = now;
    }
}

impl Connection {
    /// A timeout has brought no progress: other paths are tried besides.
    pub(super) fn try_other_paths(&mut self) {
        if self.recovery.expiries >= FROM {
            self.recovery.silence.left = self.config.loss.probe_paths;
            self.recovery.silence.tried_at = None;
        }
    }

    /// The next of these tries. They come after the packet that is sent again: an answer that
    /// does not know of it shall mean something.
    pub(super) fn poll_try(&mut self, now: Ns) -> Option<Transmit> {
        let oldest = self.tx.get(self.tx.una()).map(|slot| slot.entropy);
        let silence = &mut self.recovery.silence;
        silence.left = silence.left.checked_sub(1)?;
        let entropy = self.spray.next_try(oldest)?;
        silence.tried_at = silence.tried_at.or(Some(now));
        self.counts.add(Counter::ProbePath);
        Some(self.probe_on(now, entropy))
    }

    /// An ACK may be the first answer to what was tried in silence. If it knows nothing of the
    /// oldest packet, that is sent again where the answer came from.
    pub(super) fn take_try_answer(&mut self, now: Ns, ack: &AckHeader) {
        let Some(tried_at) = self.recovery.silence.tried_at else {
            return;
        };
        // The time as it stands in headers.
        let later = ack.echo_time.wrapping_sub(clock32(tried_at)) <= u32::MAX / 2;
        let answers = ack.flags & flags::ACK_PROBE != 0 && later;
        if !answers || ack.cumulative != self.tx.una() || !self.spray.carries(ack.entropy) {
            return;
        }
        self.recovery.silence.tried_at = None;
        let oldest = self.tx.in_flight_from(self.tx.una());
        // The path it was on last may let a probe through and no more.
        if oldest.is_some_and(|(_, slot)| slot.entropy == ack.entropy) {
            return;
        }
        let oldest = oldest.filter(|(_, slot)| slot.sent_at <= tried_at);
        if let Some((psn, _)) = oldest {
            self.lose(psn, Cause::Overtaken, now);
        }
        if self.tx.lost() > 0 {
            self.recovery.must_resend = self.recovery.must_resend.max(1);
            let silence = &mut self.recovery.silence;
            silence.way = Some(ack.entropy);
            if silence.wait == Wait::BackedOff {
                silence.wait = Wait::Short;
            }
        }
    }
}
