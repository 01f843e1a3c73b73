// SPDX-License-Identifier: GPL-2.0

//! One entropy value: what is known of it, and what a policy remembers of it.

/// What has become of an entropy value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathState {
    /// In use.
    Good,
    /// In use, but it misses its next turns because packets on it were marked or lost.
    Skip,
    /// Withdrawn, because packets on it were lost one after the other, and probed.
    AssumedBad,
    /// An administrator does not want it used.
    Denied,
    /// Not in use: it may take the place of one that was withdrawn or denied.
    Spare,
}

/// What policies remember of a path, each for itself; forgotten when another takes over.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// Smoothed RTT in nanoseconds; 0 before the first sample.
    pub(super) rtt: u32,
    /// What the path has saved up for packets to come.
    pub(super) credit: u16,
    /// Turns it is going to miss.
    pub(super) skip: u8,
    /// It stands in line, and who comes after it unless it is the last.
    pub(super) queued: bool,
    pub(super) next: u16,
}

/// Weight of the past in a smoothed RTT: that of so many samples less one.
const SMOOTHING: u32 = 4;

impl Memory {
    /// Takes in an RTT.
    pub(super) fn measure(&mut self, rtt: u64) {
        let rtt = u32::try_from(rtt).unwrap_or(u32::MAX).max(1);
        self.rtt = if self.rtt == 0 {
            rtt
        } else {
            (self.rtt - self.rtt / SMOOTHING).saturating_add(rtt / SMOOTHING)
        };
    }
}

/// An entropy value of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Path {
    /// Timeouts in a row. A spare that nobody has tried has as many as a path that is
    /// withdrawn.
    pub(super) timeouts: u8,
    /// An administrator does not want it used.
    pub(super) denied: bool,
    /// Of a path: the spare that is to take its place. Of a spare: that path.
    pub(super) partner: Option<u16>,
    /// What the policy remembers of the path and whoever takes its place.
    pub(super) memory: Memory,
}
