// SPDX-License-Identifier: GPL-2.0

//! The packets that were sent again last.
//!
//! That a retransmission was needless shows when the receiver gets the packet a
//! second time, which can be long after it was acknowledged and its slot reused.
//!
//! The ACK of a duplicate says which packet it was, but may be lost or merged with
//! another. Each ACK also says how many duplicates there were in all. Those that no ACK
//! has named are put down to the packets that were sent again first.

use super::Cause;
use crate::{
    host::{
        AllocError,
        Buffer, //
    },
    proto::{
        psn::Psn,
        Ns, //
    },
};

/// How many are remembered.
const REMEMBERED: usize = 64;

/// For how long one is: later copies and ACKs of it are lost or dropped for their age, while
/// 2^32 packets, after which another has its PSN, take longer on any link there is.
const LATELY: Ns = 60_000_000_000;

/// A packet that was sent again.
#[derive(Clone, Copy, Debug)]
pub struct Again {
    /// Which one.
    pub psn: Psn,
    /// When it was sent first.
    pub first_sent: Ns,
    /// When it was sent again.
    pub again_sent: Ns,
    /// Why.
    pub cause: Cause,
    needless: bool,
}

impl Again {
    /// Whether this is the packet that has the PSN `psn` now.
    fn is(&self, now: Ns, psn: Psn) -> bool {
        self.psn == psn && now.saturating_sub(self.again_sent) < LATELY
    }

    /// The least age at which the first copy arrived, if sending the packet again was
    /// needless: the receiver had said that it was missing, so it was late.
    ///
    /// After a timeout it is as likely that ACKs were lost.
    pub fn late_by(&self) -> Option<Ns> {
        match self.cause {
            Cause::Overtaken | Cause::Probe => {
                Some(self.again_sent.saturating_sub(self.first_sent))
            }
            Cause::Timeout | Cause::Refused => None,
        }
    }
}

/// The packets that were sent again last.
pub struct Resent {
    packets: Buffer<Option<Again>>,
    next: usize,
    // Duplicates the receiver has counted, and how many of these have been put down to a
    // packet without having been named.
    duplicates: u16,
    guessed: u16,
}

impl Resent {
    /// None yet.
    pub fn new() -> Result<Self, AllocError> {
        Ok(Self {
            packets: Buffer::new(REMEMBERED, None)?,
            next: 0,
            duplicates: 0,
            guessed: 0,
        })
    }

    /// `psn`, first sent at `first_sent`, is sent again.
    pub fn push(&mut self, now: Ns, psn: Psn, first_sent: Ns, cause: Cause) {
        if self.find(now, psn).is_some() {
            return;
        }
        if let Some(slot) = self.packets.get_mut(self.next) {
            *slot = Some(Again {
                psn,
                first_sent,
                again_sent: now,
                cause,
                needless: false,
            });
        }
        self.next = (self.next + 1) % REMEMBERED;
    }

    /// The packet `psn`, if it was sent again lately.
    pub fn find(&self, now: Ns, psn: Psn) -> Option<Again> {
        let mut known = self.packets.iter().flatten();
        known.find(|again| again.is(now, psn)).copied()
    }

    /// Sending `psn` again was needless. Returns it if that is news.
    pub fn set_needless(&mut self, now: Ns, psn: Psn) -> Option<Again> {
        let mut known = self.packets.iter_mut().flatten();
        let again = known.find(|again| again.is(now, psn))?;
        if core::mem::replace(&mut again.needless, true) {
            return None;
        }
        if self.guessed > 0 {
            // Counted already, for another packet.
            self.guessed -= 1;
            return None;
        }
        Some(*again)
    }

    /// The receiver has counted so many duplicates in all. Returns how many of these are
    /// news; `named` says that the ACK names one of them.
    pub fn on_duplicates(&mut self, total: u16, named: bool) -> u16 {
        let more = total.wrapping_sub(self.duplicates);
        if more > u16::MAX / 2 {
            // An ACK that was overtaken.
            return 0;
        }
        self.duplicates = total;
        more.saturating_sub(u16::from(named))
    }

    /// A duplicate that no ACK has named: puts it down to the packet before `una` that
    /// was sent again first, if there is one.
    pub fn guess_needless(&mut self, una: Psn) -> Option<Again> {
        let first = self.next;
        let oldest = (0..REMEMBERED)
            .map(|i| (first + i) % REMEMBERED)
            .find(|&i| {
                let slot = self.packets.get(i).copied().flatten();
                slot.is_some_and(|again| !again.needless && again.psn.lt(una))
            })?;
        let again = self.packets.get_mut(oldest)?.as_mut()?;
        again.needless = true;
        self.guessed = self.guessed.saturating_add(1);
        Some(*again)
    }
}
