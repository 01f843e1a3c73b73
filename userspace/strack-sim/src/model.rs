// SPDX-License-Identifier: GPL-2.0
//! What can be said without a network.
//!
//! *Balls in bins*: `C` connections of `k` paths throw `C k` balls into the `A` uplinks
//! of a switch. *Loss dilution*: one of the uplinks loses a part `p` of its packets; how
//! much of that does one connection see? And the goodput of the schemes for lost packets
//! in closed form, against which simulated transports are checked.

use crate::random::Random;
use crate::random::Stream;

/// How unevenly uplinks are loaded, each figure relative to the mean load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Imbalance {
    /// Standard deviation.
    pub deviation: f64,
    /// Largest minus smallest load.
    pub range: f64,
    /// Largest load.
    pub hottest: f64,
    /// Part of the uplinks without any load.
    pub idle: f64,
}

impl Imbalance {
    /// The imbalance of these loads.
    pub fn of(loads: &[f64]) -> Self {
        let n = loads.len().max(1) as f64;
        let mean = loads.iter().sum::<f64>() / n;
        if mean == 0.0 {
            return Self::default();
        }
        let square: f64 = loads.iter().map(|load| (load - mean).powi(2)).sum();
        let most = loads.iter().copied().fold(0.0, f64::max);
        let least = loads.iter().copied().fold(f64::INFINITY, f64::min);
        Self {
            deviation: (square / n).sqrt() / mean,
            range: (most - least) / mean,
            hottest: most / mean,
            idle: loads.iter().filter(|&&load| load == 0.0).count() as f64 / n,
        }
    }

    fn add(&mut self, other: Self) {
        self.deviation += other.deviation;
        self.range += other.range;
        self.hottest += other.hottest;
        self.idle += other.idle;
    }

    fn divide(&mut self, by: f64) {
        self.deviation /= by;
        self.range /= by;
        self.hottest /= by;
        self.idle /= by;
    }
}

/// The mean of `draws` draws of `connections` times `paths` balls into `uplinks` bins.
pub fn balls_in_bins(
    connections: u32,
    paths: u32,
    uplinks: u32,
    draws: u32,
    seed: u64,
) -> Imbalance {
    balls_in_table(connections, paths, uplinks, uplinks, draws, seed)
}

/// The same for a switch whose hash points into a table of `buckets`, in which the uplinks
/// take turns: where that is no multiple of their number, some stand there more often.
pub fn balls_in_table(
    connections: u32,
    paths: u32,
    uplinks: u32,
    buckets: u32,
    draws: u32,
    seed: u64,
) -> Imbalance {
    let mut random = Random::new(seed, Stream::Model);
    let mut sum = Imbalance::default();
    for _ in 0..draws {
        let mut loads = vec![0.0; uplinks as usize];
        for _ in 0..connections * paths {
            let bucket = random.below(u64::from(buckets));
            loads[(bucket % u64::from(uplinks)) as usize] += 1.0;
        }
        sum.add(Imbalance::of(&loads));
    }
    sum.divide(f64::from(draws));
    sum
}

/// The standard deviation that balls in bins have, relative to the mean.
pub fn expected_deviation(connections: u32, paths: u32, uplinks: u32) -> f64 {
    (f64::from(uplinks) / (f64::from(connections) * f64::from(paths))).sqrt()
}

/// Part of a connection's packets on one of the uplinks, if it uses that at all.
pub fn share_if_used(paths: u32, uplinks: u32) -> f64 {
    let uplinks = f64::from(uplinks);
    1.0 / (uplinks * used(paths, uplinks))
}

/// Probability that a connection uses a certain uplink.
fn used(paths: u32, uplinks: f64) -> f64 {
    1.0 - ((uplinks - 1.0) / uplinks).powi(paths as i32)
}

/// How many different uplinks `paths` random paths lead over.
pub fn uplinks_reached(paths: u32, uplinks: u32) -> f64 {
    f64::from(uplinks) * used(paths, f64::from(uplinks))
}

/// Goodput of go-back-N, relative to the rate, when a part `p` of the packets is lost
/// and `window` packets are on their way.
pub fn go_back_n(p: f64, window: f64) -> f64 {
    (1.0 - p) / (1.0 - p + p * window)
}

/// Probability that some of `packets` packets have to be sent again `times` times.
pub fn needs_rounds(p: f64, packets: u32, times: u32) -> f64 {
    1.0 - (1.0 - p.powi(times as i32)).powi(packets as i32)
}

/// Packets sent again for each one sent, when a part `f` of all paths is dead and
/// nothing is learned from that.
pub fn black_hole_resends(f: f64) -> f64 {
    f / (1.0 - f)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures that were published or computed by hand.
    #[test]
    fn known_figures_come_out() {
        let near = |value: f64, wanted: f64| {
            assert!((value / wanted - 1.0).abs() < 0.03, "{value} {wanted}");
        };
        near(expected_deviation(16, 4, 60), 0.968);
        near(expected_deviation(16, 128, 60), 0.171);
        near(share_if_used(128, 60), 0.019);
        near(uplinks_reached(32, 8), 7.9);
        near(uplinks_reached(128, 60), 53.0);
        near(go_back_n(0.001, 64.0), 0.94);
        near(go_back_n(0.01, 64.0), 0.61);
        near(go_back_n(0.03, 64.0), 0.34);
        near(needs_rounds(0.01, 490, 2), 0.048);
        near(needs_rounds(0.03, 490, 2), 0.357);
        near(black_hole_resends(0.125), 0.143);
    }

    #[test]
    fn drawn_imbalance_is_the_expected_one() {
        for paths in [4, 16, 64, 256] {
            let drawn = balls_in_bins(16, paths, 60, 200, 1).deviation;
            let expected = expected_deviation(16, paths, 60);
            assert!((drawn / expected - 1.0).abs() < 0.05, "{paths}: {drawn}");
        }
    }

    #[test]
    fn a_table_that_cannot_be_even_is_not() {
        // 16 of 60 uplinks stand in it five times, the others four times.
        let drawn = balls_in_table(1000, 256, 60, 256, 4, 1);
        assert!((drawn.range - 60.0 / 256.0).abs() < 0.08, "{drawn:?}");
        let even = balls_in_table(1000, 256, 60, 240, 4, 1);
        assert!(even.range < 0.1, "{even:?}");
    }

    #[test]
    fn even_loads_have_no_imbalance() {
        let even = Imbalance::of(&[3.0; 4]);
        assert_eq!((even.deviation, even.range, even.hottest), (0.0, 0.0, 1.0));
        let one = Imbalance::of(&[4.0, 0.0, 0.0, 0.0]);
        assert_eq!((one.range, one.hottest, one.idle), (4.0, 4.0, 0.75));
    }
}
