// SPDX-License-Identifier: GPL-2.0
//! Sizes of messages in data centres, as the Homa paper (SIGCOMM 2018, figure 1) names
//! them.
//!
//! Each is a list of sizes and of the part of all messages that are not larger; sizes
//! between two of them are equally likely on a logarithmic scale. The points are read
//! from the distributions published with Homa's simulator, thinned out.

use crate::random::Random;
use serde::Deserialize;

/// A distribution of message sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// All the same.
    #[default]
    Fixed,
    /// W2: search application at Google.
    W2,
    /// W3: all of a Google data centre.
    W3,
    /// W4: Hadoop cluster at Facebook.
    W4,
    /// W5: web search, as DCTCP used it.
    W5,
}

/// Bytes and the part of messages up to that size.
type Points = &'static [(f64, f64)];

const W2: Points = &[
    (1.0, 0.0),
    (3.0, 0.132),
    (32.0, 0.189),
    (64.0, 0.326),
    (128.0, 0.342),
    (256.0, 0.464),
    (341.0, 0.687),
    (512.0, 0.910),
    (1024.0, 0.958),
    (2048.0, 0.981),
    (4096.0, 0.9953),
    (8192.0, 0.9984),
    (32_768.0, 0.99914),
    (65_536.0, 0.99935),
    (131_072.0, 0.99987),
    (262_144.0, 0.999975),
    (3_529_904.0, 1.0),
];

const W3: Points = &[
    (1.0, 0.0),
    (2.0, 0.277),
    (4.0, 0.553),
    (32.0, 0.738),
    (64.0, 0.797),
    (256.0, 0.857),
    (512.0, 0.939),
    (1024.0, 0.961),
    (4096.0, 0.9814),
    (16_384.0, 0.9956),
    (65_536.0, 0.9981),
    (131_072.0, 0.9992),
    (262_144.0, 0.99955),
    (524_288.0, 0.99985),
    (12_158_197.0, 1.0),
];

const W4: Points = &[
    (92.0, 0.0074),
    (300.0, 0.052),
    (425.0, 0.223),
    (600.0, 0.459),
    (800.0, 0.576),
    (1277.0, 0.628),
    (7830.0, 0.708),
    (31_946.0, 0.721),
    (44_260.0, 0.758),
    (51_046.0, 0.816),
    (81_565.0, 0.872),
    (133_013.0, 0.907),
    (240_177.0, 0.944),
    (470_507.0, 0.963),
    (1_769_244.0, 0.981),
    (10_000_000.0, 1.0),
];

const W5: Points = &[
    (1460.0, 0.025),
    (8760.0, 0.15),
    (18_980.0, 0.2),
    (27_740.0, 0.3),
    (48_180.0, 0.4),
    (77_380.0, 0.53),
    (194_180.0, 0.6),
    (973_820.0, 0.7),
    (1_946_180.0, 0.8),
    (4_866_180.0, 0.9),
    (10_221_460.0, 0.9025),
    (29_200_000.0, 1.0),
];

impl Sizes {
    fn points(self) -> Points {
        match self {
            Self::Fixed => &[],
            Self::W2 => W2,
            Self::W3 => W3,
            Self::W4 => W4,
            Self::W5 => W5,
        }
    }

    /// The size that `part` of all messages do not exceed; `fixed` if all are the same.
    fn at(self, part: f64, fixed: u64) -> u64 {
        let points = self.points();
        let Some(first) = points.first() else {
            return fixed;
        };
        let mut below = (first.0, 0.0);
        for &(size, up_to) in points {
            if part < up_to {
                let share = (part - below.1) / (up_to - below.1);
                return (below.0 * (size / below.0).powf(share)).round() as u64;
            }
            below = (size, up_to);
        }
        below.0 as u64
    }

    /// Draws a size.
    pub fn draw(self, fixed: u64, random: &mut Random) -> u64 {
        self.at(random.unit(), fixed).max(1)
    }

    /// The mean size, to a thousandth of the distribution.
    pub fn mean(self, fixed: u64) -> f64 {
        // The tail carries most bytes: finer steps there.
        let steps = 100_000;
        let sum: f64 = (0..steps)
            .map(|i| self.at((f64::from(i) + 0.5) / f64::from(steps), fixed) as f64)
            .sum();
        sum / f64::from(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The means that go with the published distributions.
    #[test]
    fn means_are_near_the_published_ones() {
        let published = [
            (Sizes::W2, 441.0),
            (Sizes::W3, 1001.0),
            (Sizes::W4, 127_797.0),
            (Sizes::W5, 1745.0 * 1460.0),
        ];
        for (sizes, mean) in published {
            let ours = sizes.mean(0);
            assert!(
                (0.85..1.2).contains(&(ours / mean)),
                "{sizes:?}: {ours} {mean}"
            );
        }
        assert_eq!(Sizes::Fixed.mean(77), 77.0);
    }

    #[test]
    fn quantiles_are_the_points() {
        assert_eq!(Sizes::W4.at(0.459, 0), 600);
        assert!((29_199_000..=29_200_000).contains(&Sizes::W5.at(0.999_999_9, 0)));
    }
}
