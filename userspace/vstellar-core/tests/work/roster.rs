// SPDX-License-Identifier: GPL-2.0

//! Whom a round visits.

use proptest::prelude::*;
use std::collections::BTreeSet;
use vstellar_core::table::Handle;
use vstellar_core::work::Roster;

/// A round; `watch` says of each whether it is watched, or that it is gone. Who was visited, in order.
fn round(roster: &mut Roster, all: bool, watch: impl Fn(u32) -> Option<bool>) -> Vec<u32> {
    let mut seen = Vec::new();
    let mut place = 0;
    while let Some(handle) = roster.get(place, all) {
        seen.push(handle.raw());
        match watch(handle.raw()) {
            Some(watched) => place = roster.visited(place, watched),
            None => roster.forget(place),
        }
        assert!(seen.len() < 1000, "no end");
    }
    seen
}

fn filled(count: u32) -> Roster {
    let mut roster = Roster::new();
    for raw in 1..=count {
        roster.add(Handle::from_raw(raw)).unwrap();
    }
    roster
}

#[test]
fn only_the_watched_ones_are_looked_at() {
    let mut roster = filled(100);
    assert_eq!(round(&mut roster, false, |_| Some(true)), []);
    let first = round(&mut roster, true, |raw| Some(raw % 40 == 0));
    assert_eq!(first, (1..=100).collect::<Vec<_>>());
    assert_eq!(round(&mut roster, false, |_| Some(true)), [40, 80]);
    assert_eq!(round(&mut roster, false, |raw| Some(raw == 80)), [40, 80]);
    assert_eq!(round(&mut roster, false, |_| None), [80]);
    assert_eq!(round(&mut roster, false, |_| None), []);
    assert_eq!(round(&mut roster, true, |_| None).len(), 99);
    assert_eq!(round(&mut roster, true, |_| None), []);
}

proptest! {
    /// Whatever is watched, and whoever goes: a round visits everybody it has to, and nobody often.
    #[test]
    fn nobody_is_left_out(
        count in 1u32..20,
        rounds in prop::collection::vec(
            (any::<bool>(), prop::collection::vec(0u8..8, 20)),
            1..20,
        ),
    ) {
        let mut roster = filled(count);
        let mut there: BTreeSet<u32> = (1..=count).collect();
        let mut watched = BTreeSet::new();
        for (all, fates) in rounds {
            let fate = |raw: u32| match fates[raw as usize - 1] {
                0 => None,
                fate => Some(fate % 2 == 0),
            };
            let seen = round(&mut roster, all, fate);
            let due = if all { there.clone() } else { watched.clone() };
            prop_assert_eq!(seen.iter().copied().collect::<BTreeSet<_>>(), due.clone());
            prop_assert!(due.iter().all(|raw| seen.iter().filter(|one| *one == raw).count() <= 2));
            for raw in due {
                watched.remove(&raw);
                match fate(raw) {
                    None => {
                        there.remove(&raw);
                    }
                    Some(true) => {
                        watched.insert(raw);
                    }
                    Some(false) => {}
                }
            }
        }
    }
}
