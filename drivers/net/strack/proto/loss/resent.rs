// SPDX-License-Identifier: GPL-2.0

//! The packets that were sent again last.
//!
//! That a retransmission was needless shows when the receiver gets the packet a
//! second time, which can be long after it was acknowledged and its slot reused.

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

/// A packet that was sent again.
#[derive(Clone, Copy, Debug)]
pub struct Again {
    /// Which one.
    pub psn: Psn,
    /// When it was sent first.
    pub first_sent: Ns,
    needless: bool,
}

/// The packets that were sent again last.
pub struct Resent {
    packets: Buffer<Option<Again>>,
    next: usize,
}

impl Resent {
    /// None yet.
    pub fn new() -> Result<Self, AllocError> {
        Ok(Self {
            packets: Buffer::new(REMEMBERED, None)?,
            next: 0,
        })
    }

    /// `psn`, first sent at `first_sent`, is sent again.
    pub fn push(&mut self, psn: Psn, first_sent: Ns) {
        if self.find(psn).is_some() {
            return;
        }
        if let Some(slot) = self.packets.get_mut(self.next) {
            *slot = Some(Again {
                psn,
                first_sent,
                needless: false,
            });
        }
        self.next = (self.next + 1) % REMEMBERED;
    }

    /// The packet `psn`, if it was sent again lately.
    pub fn find(&self, psn: Psn) -> Option<Again> {
        let mut known = self.packets.iter().flatten();
        known.find(|again| again.psn == psn).copied()
    }

    /// Sending `psn` again was needless. Returns whether that is news.
    pub fn set_needless(&mut self, psn: Psn) -> bool {
        let mut known = self.packets.iter_mut().flatten();
        match known.find(|again| again.psn == psn) {
            Some(again) => !core::mem::replace(&mut again.needless, true),
            None => false,
        }
    }
}
