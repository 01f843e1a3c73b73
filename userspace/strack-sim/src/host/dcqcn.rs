// SPDX-License-Identifier: GPL-2.0
//! DCQCN (SIGCOMM 2015): the rate control of RoCEv2.
//!
//! The receiver answers marked packets with at most one congestion notification per
//! 50 us. Each cuts the rate in proportion to `alpha`, an average of how often that
//! happens. Without notifications the rate comes back: five steps half of the way to
//! where it was (fast recovery), then by additive and at last by hyper steps. A step
//! is due after so much time and, independently, after so many bytes.
//!
//! The constants are those of the paper, with the additive step scaled from its
//! 40 Gb/s to the speed of the link.

use crate::time::Ps;
use crate::time::USEC;

/// Time between two notifications for a connection.
pub const NOTIFY_EVERY: Ps = 50 * USEC;

const ALPHA_TIMER: Ps = 55 * USEC;
const RATE_TIMER: Ps = 55 * USEC;
const RATE_BYTES: u64 = 10_000_000;
const GAIN: f64 = 1.0 / 256.0;
const FAST_STEPS: u32 = 5;
/// Additive step at the paper's link speed, in bits per second.
const ADDITIVE: f64 = 40e6;
const PAPER_LINK: f64 = 40e9;
const HYPER: f64 = 10.0;
/// The rate does not fall below this part of the link.
const SLOWEST: f64 = 1.0 / 1000.0;

/// The rate of one connection.
#[derive(Debug)]
pub struct Dcqcn {
    link: f64,
    rate: f64,
    target: f64,
    alpha: f64,
    /// Rate steps since the last cut, by time and by bytes.
    by_time: u32,
    by_bytes: u32,
    bytes: u64,
    /// The timers, which run from the first cut until the rate is back.
    alpha_at: Option<Ps>,
    rate_at: Option<Ps>,
}

impl Dcqcn {
    /// A connection begins at the speed of its link.
    pub fn new(link: u64) -> Self {
        let link = link as f64;
        Self {
            link,
            rate: link,
            target: link,
            alpha: 1.0,
            by_time: 0,
            by_bytes: 0,
            bytes: 0,
            alpha_at: None,
            rate_at: None,
        }
    }

    /// Bits per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// A notification has arrived.
    pub fn on_notification(&mut self, now: Ps) {
        self.target = self.rate;
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(self.link * SLOWEST);
        self.alpha = (1.0 - GAIN) * self.alpha + GAIN;
        self.by_time = 0;
        self.by_bytes = 0;
        self.bytes = 0;
        self.alpha_at = Some(now + ALPHA_TIMER);
        self.rate_at = Some(now + RATE_TIMER);
    }

    /// So many bytes were sent.
    pub fn on_sent(&mut self, bytes: u64) {
        if self.rate_at.is_none() {
            return;
        }
        self.bytes += bytes;
        if self.bytes >= RATE_BYTES {
            self.bytes = 0;
            self.by_bytes += 1;
            self.step();
        }
    }

    /// When [`Self::on_timer`] wants to be called.
    pub fn deadline(&self) -> Option<Ps> {
        [self.alpha_at, self.rate_at].into_iter().flatten().min()
    }

    /// The time of [`Self::deadline`] may have come.
    pub fn on_timer(&mut self, now: Ps) {
        if let Some(at) = self.alpha_at.filter(|&at| at <= now) {
            self.alpha *= 1.0 - GAIN;
            self.alpha_at = Some(at + ALPHA_TIMER);
        }
        if let Some(at) = self.rate_at.filter(|&at| at <= now) {
            self.rate_at = Some(at + RATE_TIMER);
            self.by_time += 1;
            self.step();
        }
    }

    fn step(&mut self) {
        let (least, most) = (
            self.by_time.min(self.by_bytes),
            self.by_time.max(self.by_bytes),
        );
        let additive = ADDITIVE * self.link / PAPER_LINK;
        if least > FAST_STEPS {
            self.target += additive * HYPER;
        } else if most > FAST_STEPS {
            self.target += additive;
        }
        self.target = self.target.min(self.link);
        self.rate = (self.rate + self.target) / 2.0;
        if self.rate > self.link * 0.999 {
            self.rate = self.link;
            self.rate_at = None;
            if self.alpha < GAIN {
                self.alpha_at = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first cut halves the rate, and five fast steps bring nearly all of it back.
    #[test]
    fn a_single_cut_and_its_recovery() {
        let mut dcqcn = Dcqcn::new(40_000_000_000);
        dcqcn.on_notification(0);
        assert_eq!(dcqcn.rate(), 20e9);
        for step in 1..=5 {
            dcqcn.on_timer(step * RATE_TIMER);
        }
        // 20 * (1 - 1/32) of the way.
        assert!((dcqcn.rate() - 39.375e9).abs() < 1e6, "{}", dcqcn.rate());
        // Then the target rises by the additive step.
        dcqcn.target = 30e9;
        dcqcn.rate = 30e9;
        dcqcn.on_timer(6 * RATE_TIMER);
        assert!((dcqcn.rate() - 30.02e9).abs() < 1e3, "{}", dcqcn.rate());
    }

    #[test]
    fn alpha_decays_without_notifications() {
        let mut dcqcn = Dcqcn::new(40_000_000_000);
        dcqcn.on_notification(0);
        for step in 1..=256 {
            dcqcn.on_timer(step * ALPHA_TIMER);
        }
        assert!(
            (dcqcn.alpha - (-1.0_f64).exp()).abs() < 0.01,
            "{}",
            dcqcn.alpha
        );
    }
}
