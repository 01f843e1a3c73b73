// SPDX-License-Identifier: GPL-2.0

//! Counters and their collection.

use std::collections::HashSet;
use strack_proto::counter::{
    Counter,
    Counts, //
};

fn drained(counts: &mut Counts) -> Vec<(Counter, u32)> {
    let mut seen = Vec::new();
    counts.drain(|counter, n| seen.push((counter, n)));
    seen
}

#[test]
fn names_are_unique_and_in_order() {
    let names: HashSet<_> = Counter::ALL.iter().map(|counter| counter.name()).collect();
    assert_eq!(names.len(), Counter::ALL.len());
    for (index, &counter) in Counter::ALL.iter().enumerate() {
        assert_eq!(counter as usize, index);
        assert!(counter.name().chars().all(|c| c.is_ascii_alphanumeric()));
        assert!(counter.name().starts_with(|c: char| c.is_ascii_uppercase()));
    }
}

#[test]
fn drain_takes_all_once() {
    let mut counts = Counts::new();
    assert!(drained(&mut counts).is_empty());
    for (n, &counter) in (1..).zip(Counter::ALL) {
        counts.add(counter);
        counts.add_n(counter, n);
    }
    let expected: Vec<_> = Counter::ALL.iter().copied().zip(2..).collect();
    assert_eq!(drained(&mut counts), expected);
    assert!(drained(&mut counts).is_empty());
    counts.add(Counter::Timeouts);
    assert_eq!(drained(&mut counts), [(Counter::Timeouts, 1)]);
}

#[test]
fn overflow_saturates() {
    let mut counts = Counts::default();
    counts.add_n(Counter::Timeouts, u32::MAX);
    counts.add(Counter::Timeouts);
    assert_eq!(drained(&mut counts), [(Counter::Timeouts, u32::MAX)]);
}
