// SPDX-License-Identifier: GPL-2.0

//! What of a send queue is on loan to the transport.
//!
//! With F_ZC the transport sends from the driver's own pages instead of a copy, and needs them until the
//! peer has acknowledged the bytes and no packet refers to them any more. What it took at once is a
//! *loan*. Loans come back in any order, long after the call; entries are completed in theirs. So the
//! stream has a position ([`Lending::taken`]), a loan begins at one, and an entry ends at one: it is
//! complete when no loan is out that begins before. What was copied is with the transport at once, but
//! waits behind loans of earlier bytes all the same.
//!
//! ```text
//!   bytes    ░░░░░░░░░░▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓────────────
//!            copied    loan 7 (out)  loan 8    not taken
//!   entries  ├──1──┤├──2──┤├────3────┤├───4───┤
//!            complete      waiting     waiting, even when loan 8 is back before loan 7
//! ```
//!
//! Whether to lend is decided here as well ([`Lending::plan`]). It does not pay for few bytes. And it does
//! not where the kernel copies the packets in the end, as it does for receivers on the same host. So there is
//! one loan at first, and more when it has come back and was not copied; after one that was, the next batches
//! are copied, and then it begins anew.

use super::{
    super::fifo::Fifo,
    Status, //
};
use crate::host::AllocError;

/// Least bytes that are worth a loan.
pub const LEAST: u64 = 16 << 10;

/// Most bytes of one. A send queue is to have several on their way: what comes back late comes back whole.
pub const MOST: usize = 64 << 10;

/// Most loans of one endpoint that are out.
const LOANS: u32 = 64;

/// Most entries of one endpoint that wait for them.
const WAITING: u32 = 256;

/// Batches that are copied after a loan that was.
pub const DISTRUST: u32 = 64;

/// Whether a device lends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Policy {
    /// It does not offer to.
    #[default]
    Off,
    /// Where it pays.
    Adaptive,
    /// Whatever it is, even where the kernel copies it.
    Always,
}

impl Policy {
    /// Bytes from which on it does.
    const fn least(self) -> u64 {
        match self {
            Self::Off => u64::MAX,
            Self::Adaptive => LEAST,
            Self::Always => 1,
        }
    }
}

/// What to do with the bytes that are next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Copy them, and whatever follows.
    Copy,
    /// Copy them, and what follows until something has so many bytes that it is worth a loan.
    CopyUntil(u64),
    /// Lend them, and what follows that has so many bytes, [`MOST`] at most in all.
    Lend(u64),
    /// They would have been lent, but as much is on loan as may be.
    Refuse,
}

impl Plan {
    /// Whether an entry of so many bytes goes with those before it.
    pub const fn takes(self, len: u64) -> bool {
        match self {
            Self::Copy | Self::Refuse => true,
            Self::CopyUntil(least) => len < least,
            Self::Lend(least) => len >= least,
        }
    }
}

/// An entry that was carried out, as far as its completion needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// That of the entry.
    pub wr_id: u64,
    /// Bytes sent.
    pub len: u32,
    /// What has come of it.
    pub status: Status,
    /// `OP_*`.
    pub op: u8,
    /// Complete it even if all is well.
    pub signaled: bool,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    entry: Carried,
    /// Where it ends in the stream.
    end: u64,
}

#[derive(Clone, Copy, Debug)]
struct Loan {
    number: u64,
    /// Where it begins in the stream.
    start: u64,
    back: bool,
}

/// The loans of one send queue, and the entries that wait for them.
#[derive(Debug)]
pub struct Lending {
    policy: Policy,
    waiting: Fifo<Waiting>,
    /// There is room for whatever the ring has.
    roomy: bool,
    loans: Fifo<Loan>,
    /// Bytes of the stream that the transport has taken.
    taken: u64,
    /// The last loan that came back was not copied, or it does not matter.
    trust: bool,
    /// Batches to be copied.
    distrust: u32,
    /// The connection has ended before its time.
    cut: bool,
}

impl Lending {
    /// Of a send queue of that many entries.
    pub fn new(policy: Policy, depth: u32) -> Result<Self, AllocError> {
        Ok(Self {
            policy,
            waiting: Fifo::new(depth.min(WAITING))?,
            roomy: depth <= WAITING,
            loans: Fifo::new(LOANS)?,
            taken: 0,
            trust: policy == Policy::Always,
            distrust: 0,
            cut: false,
        })
    }

    /// Bytes that the transport has taken so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether so many entries more may be carried out now. If not, the next loan that comes back makes
    /// room.
    pub fn has_room(&self, entries: usize) -> bool {
        self.roomy || self.waiting.room() >= entries
    }

    /// Whether nothing is on loan, and no entry waits.
    pub fn is_idle(&self) -> bool {
        self.loans.is_empty() && self.waiting.is_empty()
    }

    /// What to do with `len` bytes of an entry. The device has `out` bytes on loan, of `limit`.
    pub fn plan(&self, len: u64, out: u64, limit: u64) -> Plan {
        let least = self.policy.least();
        let most_are_out = if self.trust {
            self.loans.room() == 0
        } else {
            !self.loans.is_empty()
        };
        if self.policy == Policy::Off || self.distrust > 0 || most_are_out {
            return Plan::Copy;
        }
        if len < least {
            return Plan::CopyUntil(least);
        }
        if out.saturating_add(MOST as u64) > limit {
            return Plan::Refuse;
        }
        Plan::Lend(least)
    }

    /// The transport has taken so many bytes, and has all that it needs of them.
    pub fn copied(&mut self, bytes: u64) {
        self.taken = self.taken.saturating_add(bytes);
        if bytes >= self.policy.least() {
            self.distrust = self.distrust.saturating_sub(1);
        }
    }

    /// The transport has taken so many bytes, and needs the memory. `number` is of this loan and no other.
    pub fn lent(&mut self, number: u64, bytes: u64) {
        let loan = Loan {
            number,
            start: self.taken,
            back: false,
        };
        self.taken = self.taken.saturating_add(bytes);
        // there was room when this was planned
        let _ = self.loans.push(loan);
    }

    /// The transport does not need the memory of a loan any more; `copied` says that it was copied after
    /// all. What is not known was of somebody who is gone.
    pub fn returned(&mut self, number: u64, copied: bool) {
        let Some(loan) = self.loans.iter_mut().find(|loan| loan.number == number) else {
            return;
        };
        loan.back = true;
        self.learn(copied);
        while self.loans.first().is_some_and(|loan| loan.back) {
            self.loans.pop();
        }
    }

    /// A loan is back, or has come back at once.
    pub fn learn(&mut self, copied: bool) {
        if self.policy == Policy::Always {
            return;
        }
        self.trust = !copied;
        if copied {
            self.distrust = DISTRUST;
        }
    }

    /// An entry was carried out, and ends where the transport has got to; returns it if there is no room
    /// ([`Lending::has_room`] was not asked).
    pub fn push(&mut self, entry: Carried) -> Result<(), Carried> {
        let end = self.taken;
        let pushed = self.waiting.push(Waiting { entry, end });
        pushed.map_err(|waiting| waiting.entry)
    }

    /// The connection was reset, or has failed: what waits for loans is cancelled when they are back, because
    /// they come back from there whether or not the peer has got the bytes.
    pub fn cut(&mut self) {
        self.cut = true;
    }

    /// The next entry that is complete.
    pub fn pop(&mut self) -> Option<Carried> {
        let end = self.waiting.first()?.end;
        if self.loans.first().is_some_and(|loan| loan.start < end) {
            return None;
        }
        let mut entry = self.waiting.pop()?.entry;
        if self.cut && entry.status == Status::Ok {
            entry.status = Status::Canceled;
            entry.len = 0;
        }
        Some(entry)
    }
}
