// SPDX-License-Identifier: GPL-2.0
//! What a cut spine, and its repair, did to all flows together.
//!
//! Capacity is in use from the first moment on at which the next [`WINDOW_NS`] carry
//! [`ENOUGH`] of it. What has arrived counts, whether it could be read yet or not, and
//! each byte once.

use crate::flows::Flows;
use crate::flows::Sample;
use crate::raw::mbits;

/// So long a rate has to be kept up. That is some 200 packets: with much fewer, chance
/// would decide.
pub(crate) const WINDOW_NS: u64 = 20_000_000;

/// Part of the capacity that counts as all of it.
const ENOUGH: f64 = 0.9;

/// The course of a run.
pub(crate) struct Course<'a>(&'a [Sample]);

impl<'a> Course<'a> {
    /// Of a run that somebody looked at.
    pub(crate) fn of(run: &'a Flows) -> Course<'a> {
        Course(&run.samples)
    }

    /// Mb/s of payload in the window that begins with this sample.
    fn rate(&self, first: usize) -> Option<f64> {
        let from = self.0.get(first)?;
        let end = from.0 + WINDOW_NS;
        let to = self.0[first..].iter().find(|sample| sample.0 >= end)?;
        Some(mbits(to.1 - from.1, to.0 - from.0))
    }

    /// Milliseconds and Mb/s, window after window.
    pub(crate) fn curve(&self) -> Vec<(f64, f64)> {
        let middle = |sample: &Sample| (sample.0 + WINDOW_NS / 2) as f64 / 1e6;
        let all = self.0.iter().enumerate();
        all.filter_map(|(k, sample)| Some((middle(sample), self.rate(k)?)))
            .collect()
    }

    /// The sample from which on so many Mb/s of payload are in use, not before this time.
    fn in_use(&self, from_ns: u64, capacity: f64) -> Option<usize> {
        (0..self.0.len()).find(|&k| {
            let rate = self.rate(k);
            self.0[k].0 >= from_ns && rate.is_some_and(|rate| rate >= ENOUGH * capacity)
        })
    }

    /// Nanoseconds from then until so much is in use; until the end if it never is.
    pub(crate) fn until_in_use(&self, from_ns: u64, capacity: f64) -> u64 {
        let sample = match self.in_use(from_ns, capacity) {
            Some(k) => self.0.get(k),
            None => self.0.last(),
        };
        sample.map_or(0, |sample| sample.0.saturating_sub(from_ns))
    }

    /// Packets sent again in percent of those sent, from when on so much is in use to the
    /// end; all of them if that never is.
    pub(crate) fn resent_after(&self, from_ns: u64, capacity: f64) -> f64 {
        let (Some(first), Some(last)) = (self.in_use(from_ns, capacity), self.0.last()) else {
            return 100.0;
        };
        let first = self.0[first];
        100.0 * (last.3 - first.3) as f64 / (last.2 - first.2).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 300 ms at 48 kB each, nothing for 30 ms from the 100th on, and then half as much
    /// until the 200th; each packet is sent again in the pause.
    fn course() -> Vec<Sample> {
        let mut samples = vec![Sample(0, 0, 0, 0)];
        for ms in 1..=300u64 {
            let mut next = samples[samples.len() - 1];
            next.0 = ms * 1_000_000;
            next.2 += 12;
            match ms {
                101..=130 => next.3 += 12,
                131..=200 => next.1 += 24_000,
                _ => next.1 += 48_000,
            }
            samples.push(next);
        }
        samples
    }

    #[test]
    fn the_pause_is_until_a_whole_window_is_good() {
        let samples = course();
        let course = Course(&samples);
        // 192 Mb/s; two of the window's twenty milliseconds may be empty
        assert_eq!(course.until_in_use(100_000_000, 192.0), 28_000_000);
        // the first four of the window's twenty may be of the slow time
        assert_eq!(course.until_in_use(150_000_000, 384.0), 46_000_000);
    }

    #[test]
    fn what_never_comes_takes_until_the_end() {
        let samples = course();
        let course = Course(&samples);
        assert_eq!(course.until_in_use(100_000_000, 1000.0), 200_000_000);
        assert_eq!(course.resent_after(100_000_000, 1000.0), 100.0);
    }

    #[test]
    fn resent_is_counted_from_then_on() {
        let samples = course();
        let course = Course(&samples);
        // two of 172 milliseconds
        let percent = course.resent_after(100_000_000, 192.0);
        assert!((percent - 100.0 * 2.0 / 172.0).abs() < 1e-9);
        assert_eq!(course.resent_after(150_000_000, 192.0), 0.0);
    }

    #[test]
    fn the_curve_is_of_whole_windows() {
        let samples = course();
        let curve = Course(&samples).curve();
        assert_eq!(curve.len(), 281);
        assert_eq!(curve[0], (10.0, 384.0));
    }
}
