// SPDX-License-Identifier: GPL-2.0

//! RTT estimates.

use proptest::prelude::*;
use strack_proto::{
    rtt::{
        Median,
        Rtt, //
    },
    MSEC,
    SEC,
    USEC, //
};

#[test]
fn before_the_first_sample() {
    let rtt = Rtt::new();
    assert!(!rtt.sampled());
    assert_eq!((rtt.srtt(), rtt.base(), rtt.delay_median()), (0, 0, 0));
    assert_eq!(rtt.rto(250 * USEC, 2 * SEC), 250 * USEC);
}

#[test]
fn first_sample() {
    let mut rtt = Rtt::new();
    rtt.on_sample(0, 100 * USEC);
    assert_eq!(rtt.srtt(), 100 * USEC);
    assert_eq!(rtt.rttvar(), 50 * USEC);
    assert_eq!(rtt.base(), 100 * USEC);
    assert_eq!(rtt.delay_median(), 0);
    assert_eq!(rtt.rto(250 * USEC, 2 * SEC), 300 * USEC);
}

#[test]
fn median_ignores_one_outlier() {
    let mut rtt = Rtt::new();
    for sample in [100, 100, 900] {
        rtt.on_sample(0, sample * USEC);
    }
    assert_eq!(rtt.delay_median(), 0);
    assert_eq!(rtt.latest(), 900 * USEC);
    rtt.on_sample(0, 800 * USEC);
    assert_eq!(rtt.delay_median(), 700 * USEC);
}

#[test]
fn rto_stays_within_its_limits() {
    let mut rtt = Rtt::new();
    for _ in 0..100 {
        rtt.on_sample(0, 20 * USEC);
    }
    assert_eq!(rtt.rto(250 * USEC, 2 * SEC), 250 * USEC);
    for _ in 0..100 {
        rtt.on_sample(0, 3 * SEC);
    }
    assert_eq!(rtt.rto(250 * USEC, 2 * SEC), 2 * SEC);
}

#[test]
fn rto_follows_the_variation() {
    let mut rtt = Rtt::new();
    for i in 0..1000 {
        rtt.on_sample(0, if i % 2 == 0 { 1000 } else { 3000 } * USEC);
    }
    assert!(
        (1900..2100).contains(&(rtt.srtt() / USEC)),
        "{}",
        rtt.srtt()
    );
    assert!(
        (900..1200).contains(&(rtt.rttvar() / USEC)),
        "{}",
        rtt.rttvar()
    );
    let rto = rtt.rto(250 * USEC, 2 * SEC);
    assert_eq!(rto, rtt.srtt() + 4 * rtt.rttvar());
}

#[test]
fn base_ages_slowly() {
    let mut rtt = Rtt::new();
    rtt.on_sample(0, 100 * USEC);
    for ms in 1..10_000 {
        rtt.on_sample(ms * MSEC, 150 * USEC);
    }
    assert_eq!(rtt.base(), 100 * USEC);
    for ms in 10_000..25_000 {
        rtt.on_sample(ms * MSEC, 150 * USEC);
    }
    assert_eq!(rtt.base(), 150 * USEC);
    rtt.on_sample(25 * SEC, 90 * USEC);
    assert_eq!(rtt.base(), 90 * USEC);
}

proptest! {
    #[test]
    fn median_of_the_last(
        size in 1..=5u16,
        values in prop::collection::vec(prop_oneof![any::<u64>(), 0..4u64], 5..50),
    ) {
        let mut median = Median::new(size);
        prop_assert_eq!(median.get(), 0);
        prop_assert_eq!(median.push(values[0]), values[0]);
        for &value in &values[1..] {
            median.push(value);
        }
        let size = usize::from(size);
        let mut last = values[values.len() - size..].to_vec();
        last.sort_unstable();
        prop_assert_eq!(median.get(), last[(size - 1) / 2]);
    }

    #[test]
    fn never_panics(samples in prop::collection::vec((any::<u64>(), any::<u64>()), 0..50)) {
        let mut rtt = Rtt::new();
        for (now, sample) in samples {
            rtt.on_sample(now, sample);
            prop_assert!(rtt.base() <= sample);
            prop_assert!((1..=2 * SEC).contains(&rtt.rto(1, 2 * SEC)));
        }
    }
}
