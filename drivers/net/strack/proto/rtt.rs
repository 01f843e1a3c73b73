// SPDX-License-Identifier: GPL-2.0

//! Round trip times.
//!
//! Samples arrive already freed of the time the receiver held the packet back
//! and only from packets whose acknowledgement is unambiguous. From them come
//! the smoothed RTT and its variation for the retransmission timeout (RFC 6298),
//! the base RTT, that is the RTT of the idle fabric, and the queueing delay
//! above it. A single sample says little on sprayed paths, where one slow path
//! or one late interrupt spoils it, so the delay is that of the median of the
//! last three.

use super::{
    Ns,
    SEC, //
};

/// Age at which a base RTT that was not seen again is forgotten: between one and
/// two of these.
const BASE_WINDOW: Ns = 10 * SEC;

/// The queueing delay is the median of so many samples.
const MEDIAN_OF: u16 = 3;

/// Most values that a median is taken of.
const MOST: usize = 5;

/// The median of the last few values.
#[derive(Clone, Copy, Debug)]
pub struct Median {
    // The newest first; all alike after the first value.
    last: [Ns; MOST],
    size: u8,
    any: bool,
}

impl Median {
    /// No value yet. The median will be that of `size` values, one to five.
    pub const fn new(size: u16) -> Self {
        let size = if size == 0 {
            1
        } else if size as usize > MOST {
            MOST as u8
        } else {
            size as u8
        };
        Self {
            last: [0; MOST],
            size,
            any: false,
        }
    }

    /// Takes a new value and returns the median with it.
    ///
    /// The very first value counts as often as it takes.
    pub fn push(&mut self, value: Ns) -> Ns {
        if self.any {
            self.last.rotate_right(1);
            self.last[0] = value;
        } else {
            self.any = true;
            self.last = [value; MOST];
        }
        self.get()
    }

    /// The median (the lower one of an even number), or 0 before the first value.
    pub fn get(&self) -> Ns {
        let values = self.last.get(..self.size.into()).unwrap_or(&[]);
        // The one that as many others are below as above, the older of equals first.
        let wanted = values.len().saturating_sub(1) / 2;
        let rank = |(i, value): (usize, &Ns)| {
            let below = |&(j, other): &(usize, &Ns)| other < value || other == value && j > i;
            values.iter().enumerate().filter(below).count()
        };
        let mut ranked = values.iter().enumerate();
        let median = ranked.find(|&one| rank(one) == wanted);
        median.map_or(0, |(_, &value)| value)
    }
}

/// RTT estimates of one connection.
#[derive(Clone, Debug)]
pub struct Rtt {
    srtt: Ns,
    rttvar: Ns,
    latest: Ns,
    median: Median,
    // Smallest sample of the running and of the previous window of time.
    min_now: Ns,
    min_before: Ns,
    window_start: Ns,
    sampled: bool,
}

impl Rtt {
    /// No estimate yet.
    pub const fn new() -> Self {
        Self {
            srtt: 0,
            rttvar: 0,
            latest: 0,
            median: Median::new(MEDIAN_OF),
            min_now: Ns::MAX,
            min_before: Ns::MAX,
            window_start: 0,
            sampled: false,
        }
    }

    /// Takes a sample measured at `now`.
    pub fn on_sample(&mut self, now: Ns, rtt: Ns) {
        if !self.sampled {
            self.sampled = true;
            self.srtt = rtt;
            self.rttvar = rtt / 2;
            self.window_start = now;
        } else {
            let error = self.srtt.abs_diff(rtt);
            self.rttvar = self.rttvar - self.rttvar / 4 + error / 4;
            self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
        }
        self.latest = rtt;
        self.median.push(rtt);
        if now.saturating_sub(self.window_start) > BASE_WINDOW {
            self.window_start = now;
            self.min_before = self.min_now;
            self.min_now = rtt;
        }
        self.min_now = self.min_now.min(rtt);
    }

    /// Whether there was a sample; all estimates are 0 before.
    pub fn sampled(&self) -> bool {
        self.sampled
    }

    /// Smoothed RTT.
    pub fn srtt(&self) -> Ns {
        self.srtt
    }

    /// Mean deviation of the RTT.
    pub fn rttvar(&self) -> Ns {
        self.rttvar
    }

    /// The latest sample.
    pub fn latest(&self) -> Ns {
        self.latest
    }

    /// RTT of the idle fabric: the smallest sample of the last 10 to 20 seconds.
    pub fn base(&self) -> Ns {
        if self.sampled {
            self.min_now.min(self.min_before)
        } else {
            0
        }
    }

    /// Queueing delay: the median of the last three samples above the base.
    pub fn delay_median(&self) -> Ns {
        self.median.get().saturating_sub(self.base())
    }

    /// Retransmission timeout, between `floor` and `ceiling`.
    ///
    /// Without a sample it is `floor`; the caller has a better initial value.
    pub fn rto(&self, floor: Ns, ceiling: Ns) -> Ns {
        self.srtt
            .saturating_add(self.rttvar.saturating_mul(4))
            .max(floor)
            .min(ceiling)
    }
}

impl Default for Rtt {
    fn default() -> Self {
        Self::new()
    }
}
