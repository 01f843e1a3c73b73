// SPDX-License-Identifier: GPL-2.0

//! Whom a round visits.

use proptest::prelude::*;
use std::collections::BTreeSet;
use vstellar_core::table::Handle;
use vstellar_core::work::Roster;

/// The endpoint with that number, of those that come one after the other in a place of the table.
fn handle(number: u32, generation: u8) -> Handle {
    Handle::from_raw((number << 8) | u32::from(generation))
}

/// A round; `watch` says of each whether it is watched, or that it is gone. Who was visited, in order.
fn round(roster: &mut Roster, all: bool, watch: impl Fn(u32) -> Option<bool>) -> Vec<u32> {
    let mut seen = Vec::new();
    let mut place = 0;
    while let Some(handle) = roster.get(place, all) {
        seen.push(handle.index());
        match watch(handle.index()) {
            Some(watched) => place = roster.visited(place, watched),
            None => roster.forget(place),
        }
        assert!(seen.len() < 1000, "no end");
    }
    seen
}

fn filled(count: u32) -> Roster {
    let mut roster = Roster::new();
    for number in 1..=count {
        roster.add(handle(number, 1)).unwrap();
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

/// What a driver does while the device is quiesced, and visits nobody.
#[test]
fn whoever_is_gone_makes_way_for_the_next() {
    let mut roster = filled(100);
    round(&mut roster, true, |number| Some(number % 40 == 0));
    for generation in 2..=u8::MAX {
        // one of them was watched
        for number in 70..=80 {
            roster.add(handle(number, generation)).unwrap();
        }
    }
    assert_eq!(round(&mut roster, false, |_| Some(true)), [40]);
    let mut seen = Vec::new();
    let mut place = 0;
    while let Some(handle) = roster.get(place, true) {
        seen.push(handle);
        place = roster.visited(place, false);
    }
    seen.sort_by_key(|handle| handle.index());
    let there = (1..=100).map(|number| match number {
        70..=80 => handle(number, u8::MAX),
        _ => handle(number, 1),
    });
    assert_eq!(seen, there.collect::<Vec<_>>());
}

proptest! {
    /// Whatever is watched, whoever goes, and whoever comes in his place: a round visits everybody it has
    /// to, and nobody often.
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
        let mut generation = 1;
        for (all, fates) in rounds {
            let fate = |raw: u32| match fates[raw as usize - 1] {
                0 => None,
                fate => Some(fate % 2 == 0),
            };
            // a place in the table is another's now, whether a round has found out or not
            for number in (1..=count).filter(|number| fates[*number as usize - 1] == 7) {
                generation = generation % u8::MAX + 1;
                roster.add(handle(number, generation)).unwrap();
                there.insert(number);
                watched.remove(&number);
            }
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
