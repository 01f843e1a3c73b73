// SPDX-License-Identifier: GPL-2.0

//! Entropy values that stand in for others, that are denied, and that come and go.

use proptest::prelude::*;
use std::collections::HashSet;
use strack_proto::{
    config::{
        Config,
        PathPolicy, //
    },
    counter::Counter,
    spray::{
        Feedback,
        PathState,
        Spraying, //
    },
    window::Acked,
    Ns,
    MSEC, //
};

const BASE: u16 = 50_000;

fn config(paths: u16, spares: u16) -> Config {
    Config {
        policy: PathPolicy::Mixed,
        paths,
        spares,
        entropy_base: BASE,
        ..Config::default()
    }
}

fn spraying(paths: u16, spares: u16) -> Spraying {
    Spraying::new(&config(paths, spares)).expect("memory")
}

fn used(spray: &mut Spraying, now: Ns) -> Vec<u16> {
    let packets = 8 * spray.paths().entropies();
    let used: HashSet<_> = (0..packets).map(|_| spray.next(now) - BASE).collect();
    let mut used: Vec<_> = used.into_iter().collect();
    used.sort_unstable();
    used
}

fn withdraw(spray: &mut Spraying, index: u16, now: Ns) {
    for _ in 0..2 {
        spray.feedback(BASE + index, Feedback::Timeout, now);
    }
    assert_eq!(spray.paths().state(index), Some(PathState::AssumedBad));
}

/// The probes of the next series, by index, and when it was.
fn series(spray: &mut Spraying) -> (Ns, Vec<u16>) {
    let now = spray.probe_deadline().expect("a series");
    spray.on_timer(now);
    let mut probes = Vec::new();
    let mut at = now;
    loop {
        while let Some(entropy) = spray.due_probe(at, 0) {
            probes.push(entropy - BASE);
        }
        match spray.probe_deadline() {
            Some(next) if next < now + MSEC / 2 => at = next,
            _ => return (at, probes),
        }
        spray.on_timer(at);
    }
}

#[test]
fn a_spare_takes_the_place_after_it_has_answered() {
    let mut spray = spraying(8, 4);
    assert_eq!(used(&mut spray, 0), (0..8).collect::<Vec<_>>());
    assert_eq!(spray.paths().state(8), Some(PathState::Spare));
    withdraw(&mut spray, 2, 0);
    assert_eq!(used(&mut spray, 0), [0, 1, 3, 4, 5, 6, 7]);
    assert_eq!(spray.paths().state(8), Some(PathState::AssumedBad));
    let (now, probes) = series(&mut spray);
    assert_eq!(probes, [2, 8]);
    let event = spray.feedback(BASE + 8, Feedback::Alive, now);
    assert_eq!(event, Some(Counter::PathReplaced));
    assert_eq!(used(&mut spray, now), [0, 1, 3, 4, 5, 6, 7, 8]);
    assert_eq!(spray.paths().state(8), Some(PathState::Good));
    assert_eq!(spray.withdrawn(), 1);
    // The path itself is still probed, and has its place back when it answers.
    let (now, probes) = series(&mut spray);
    assert_eq!(probes, [2]);
    let event = spray.feedback(BASE + 2, Feedback::Alive, now);
    assert_eq!(event, Some(Counter::PathRestored));
    assert_eq!(used(&mut spray, now), (0..8).collect::<Vec<_>>());
    assert_eq!(spray.paths().state(8), Some(PathState::Spare));
    assert_eq!(spray.probe_deadline(), None);
}

/// Its turns are those of the path: no marks from before, and its own count.
#[test]
fn a_spare_starts_without_marks() {
    let mut spray = spraying(8, 4);
    withdraw(&mut spray, 2, 0);
    spray.feedback(BASE + 8, Feedback::Alive, 0);
    let mut turns = [0; 12];
    for _ in 0..8 {
        turns[usize::from(spray.next(0) - BASE)] += 1;
    }
    assert_eq!(turns, [1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0]);
    spray.feedback(BASE + 8, Feedback::Ecn(0), 0);
    assert_eq!(spray.paths().state(8), Some(PathState::Skip));
    assert!((0..7).all(|_| spray.next(0) != BASE + 8));
}

/// A spare that does not answer either gives way to the next one.
#[test]
fn spares_are_tried_one_after_the_other() {
    let mut spray = spraying(8, 3);
    withdraw(&mut spray, 2, 0);
    for spare in [8, 9, 10, 8, 9] {
        let (_, probes) = series(&mut spray);
        assert_eq!(probes, [2, spare]);
    }
    let (now, _) = series(&mut spray);
    spray.feedback(BASE + 10, Feedback::Alive, now);
    assert_eq!(used(&mut spray, now), [0, 1, 3, 4, 5, 6, 7, 10]);
    // Two paths never have the same one.
    for path in 3..6 {
        withdraw(&mut spray, path, now);
    }
    let (now, probes) = series(&mut spray);
    assert_eq!(probes, [2, 3, 4, 5, 8, 9]);
    for spare in [8, 9] {
        spray.feedback(BASE + spare, Feedback::Alive, now);
    }
    assert_eq!(used(&mut spray, now), [0, 1, 6, 7, 8, 9, 10]);
}

/// A spare that dies is withdrawn as any other.
#[test]
fn spares_die_too() {
    let mut spray = spraying(8, 4);
    withdraw(&mut spray, 2, 0);
    spray.feedback(BASE + 8, Feedback::Alive, 0);
    withdraw(&mut spray, 8, MSEC);
    assert_eq!(used(&mut spray, MSEC), [0, 1, 3, 4, 5, 6, 7]);
    let (_, probes) = series(&mut spray);
    assert_eq!(probes, [2, 8]);
    let (now, probes) = series(&mut spray);
    assert_eq!(probes, [2, 9]);
    spray.feedback(BASE + 9, Feedback::Alive, now);
    assert_eq!(used(&mut spray, now), [0, 1, 3, 4, 5, 6, 7, 9]);
}

/// Everyone in use is asked, also who stands in for others.
#[test]
fn spares_are_asked() {
    let mut spray = spraying(16, 4);
    withdraw(&mut spray, 2, 0);
    spray.feedback(BASE + 16, Feedback::Alive, 0);
    spray.ask(0, MSEC, 1);
    let (_, probes) = series(&mut spray);
    let asked: Vec<_> = (0..17).filter(|&index| index != 2).collect();
    assert_eq!(probes, asked);
    for &index in &asked[..15] {
        spray.feedback(BASE + index, Feedback::Alive, 0);
    }
    assert_eq!(spray.judge(2 * MSEC), 1);
    assert_eq!(spray.paths().state(16), Some(PathState::AssumedBad));
    assert!(!used(&mut spray, 2 * MSEC).contains(&16));
}

#[test]
fn denied_paths_are_not_used() {
    let mut spray = spraying(8, 0);
    for index in 0..7 {
        assert!(spray.carries(BASE + index));
        assert!(spray.deny(index, true, 0));
        assert!(!spray.carries(BASE + index));
        assert_eq!(spray.paths().state(index), Some(PathState::Denied));
        let left: Vec<_> = (index + 1..8).collect();
        assert_eq!(used(&mut spray, 0), left);
    }
    // Nobody but the last path is left, neither for retransmissions.
    assert!(!spray.deny(7, true, 0));
    assert_eq!(spray.next_avoiding(0, BASE + 7), BASE + 7);
    assert!(!spray.deny(8, true, 0));
    // Nothing makes them come back by themselves.
    for index in 0..7 {
        spray.feedback(BASE + index, Feedback::Ok, 0);
    }
    assert_eq!(spray.probe_deadline(), None);
    assert_eq!(used(&mut spray, 0), [7]);
    assert!(spray.deny(3, false, 0));
    assert!(spray.deny(3, false, 0));
    assert_eq!(used(&mut spray, 0), [3, 7]);
}

#[test]
fn spares_stand_in_for_denied_paths() {
    let mut spray = spraying(4, 2);
    assert!(spray.deny(1, true, 0));
    let (now, probes) = series(&mut spray);
    assert_eq!(probes, [4]);
    spray.feedback(BASE + 4, Feedback::Alive, now);
    assert_eq!(used(&mut spray, now), [0, 2, 3, 4]);
    // A spare can be denied as well; another one takes over.
    assert!(spray.deny(4, true, now));
    let (now, probes) = series(&mut spray);
    assert_eq!(probes, [5]);
    spray.feedback(BASE + 5, Feedback::Alive, now);
    assert_eq!(used(&mut spray, now), [0, 2, 3, 5]);
    assert!(spray.deny(1, false, now));
    assert_eq!(used(&mut spray, now), [0, 1, 2, 3]);
    assert_eq!(spray.paths().state(4), Some(PathState::Denied));
    assert_eq!(spray.paths().state(5), Some(PathState::Spare));
}

/// Who stands in for a withdrawn path goes on when that is denied as well, and is a spare again in the end.
#[test]
fn a_withdrawn_path_that_is_denied_keeps_its_spare() {
    let mut spray = spraying(4, 2);
    withdraw(&mut spray, 1, 0);
    let (now, _) = series(&mut spray);
    spray.feedback(BASE + 4, Feedback::Alive, now);
    assert_eq!(used(&mut spray, now), [0, 2, 3, 4]);
    assert!(spray.deny(1, true, now));
    assert_eq!(used(&mut spray, now), [0, 2, 3, 4]);
    assert_eq!(spray.paths().state(5), Some(PathState::Spare));
    assert!(spray.deny(1, false, now));
    assert_eq!(used(&mut spray, now), [0, 1, 2, 3]);
    assert_eq!(spray.paths().state(4), Some(PathState::Spare));
}

/// When all others are denied, a path that is withdrawn has to do.
#[test]
fn a_withdrawn_path_is_better_than_a_denied_one() {
    let mut spray = spraying(4, 0);
    withdraw(&mut spray, 2, 0);
    for index in [0, 1, 3] {
        assert!(spray.deny(index, true, 0));
    }
    assert_eq!(used(&mut spray, 0), [2]);
    assert_eq!(spray.withdrawn(), 0);
}

#[test]
fn what_is_known_survives_another_number_of_paths() {
    let mut spray = spraying(8, 4);
    withdraw(&mut spray, 2, 0);
    withdraw(&mut spray, 7, 0);
    assert!(spray.deny(5, true, 0));
    spray.reconfigure(&config(16, 4), 0);
    let known = |spray: &Spraying| (0..20).map(|i| spray.paths().state(i)).collect::<Vec<_>>();
    let states = known(&spray);
    assert_eq!(states[2], Some(PathState::AssumedBad));
    assert_eq!(states[7], Some(PathState::AssumedBad));
    assert_eq!(states[5], Some(PathState::Denied));
    assert_eq!(spray.withdrawn(), 2);
    let usable: Vec<_> = (0..16).filter(|i| ![2, 5, 7].contains(i)).collect();
    assert_eq!(used(&mut spray, 0), usable);
    // With fewer paths, what is left out is forgotten.
    spray.reconfigure(&config(7, 0), 0);
    assert_eq!(spray.withdrawn(), 1);
    assert_eq!(used(&mut spray, 0), [0, 1, 3, 4, 6]);
    spray.reconfigure(&config(8, 0), 0);
    assert_eq!(used(&mut spray, 0), [0, 1, 3, 4, 6, 7]);
    // They are still probed, and come back.
    let (now, probes) = series(&mut spray);
    assert_eq!(probes, [2]);
    spray.feedback(BASE + 2, Feedback::Alive, now);
    assert_eq!(used(&mut spray, now), [0, 1, 2, 3, 4, 6, 7]);
    // The only path cannot be denied.
    spray.reconfigure(&config(6, 0), now);
    for index in 0..4 {
        assert!(spray.deny(index, true, now));
    }
    spray.reconfigure(&config(1, 0), now);
    assert_eq!(used(&mut spray, now), [0]);
}

#[test]
fn no_more_than_256_in_all() {
    let spray = spraying(250, 100);
    assert_eq!(spray.paths().entropies(), 256);
    assert_eq!(spray.entropies().count(), 256);
    assert_eq!(spray.paths().state(256), None);
    assert_eq!(spraying(256, 100).paths().entropies(), 256);
}

fn policy() -> impl Strategy<Value = PathPolicy> {
    let all: Vec<_> = PathPolicy::ALL
        .into_iter()
        .map(|(_, policy)| policy)
        .collect();
    prop::sample::select(all)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever is reported, denied and changed: what is used exists and is not denied,
    /// and is not what was lost if there is a choice.
    #[test]
    fn always_a_permitted_path(
        policies in prop::collection::vec(policy(), 4),
        sizes in prop::collection::vec((1u16..=256, 0u16..40), 4),
        steps in prop::collection::vec((0u8..40, any::<u16>()), 0..600),
    ) {
        let mut config = config(sizes[0].0, sizes[0].1);
        config.policy = policies[0];
        let mut spray = Spraying::new(&config).expect("memory");
        for (now, (step, value)) in (0..).step_by(200_000).zip(steps) {
            let pool = spray.paths().entropies();
            let index = value % pool;
            match step {
                0 => {
                    let choice = usize::from(value) % 4;
                    config.policy = policies[choice];
                    (config.paths, config.spares) = sizes[choice];
                    spray.reconfigure(&config, now);
                }
                1..=4 => {
                    let done = spray.deny(index, step < 4, now);
                    let denied = spray.paths().state(index) == Some(PathState::Denied);
                    prop_assert_eq!(denied, done && step < 4);
                }
                5 => spray.ask(now, MSEC, 1),
                6 => drop(spray.judge(now)),
                7..=12 => {
                    spray.on_timer(now);
                    if let Some(probe) = spray.due_probe(now, 0) {
                        prop_assert!(probe >= BASE && probe < BASE + pool);
                        if value % 3 == 0 {
                            spray.feedback(probe, Feedback::Alive, now);
                        }
                    }
                }
                13..=17 => drop(spray.feedback(BASE + index, Feedback::Ok, now)),
                18..=20 => drop(spray.feedback(BASE + index, Feedback::Ecn(0), now)),
                21..=30 => drop(spray.feedback(BASE + index, Feedback::Timeout, now)),
                31 => spray.lost(BASE + index, 1000, now),
                32..=34 => {
                    let acked = Acked {
                        marked: (value % 2 == 0).then_some(1000),
                        rtt: Some(u64::from(value) * 100),
                        ..Acked::default()
                    };
                    spray.echoed(BASE + index, &acked, 1000, now);
                }
                _ => {}
            }
            let first = spray.next(now);
            spray.sent(first, 1, 1000);
            prop_assert!(permitted(&spray, first));
            let again = spray.next_avoiding(now, first);
            prop_assert!(permitted(&spray, again));
            let paths = spray.paths();
            let mut others = (0..paths.count()).map(|path| paths.entropy(path));
            let choice = others.any(|other| other != first && permitted(&spray, other));
            prop_assert_eq!(again != first, choice);
            let paths = spray.paths().count();
            prop_assert!(spray.withdrawn() < paths || spray.withdrawn() == 0);
        }
    }
}

/// Whether an entropy value may be in use.
fn permitted(spray: &Spraying, entropy: u16) -> bool {
    let state = spray.paths().state(entropy.wrapping_sub(BASE));
    !matches!(state, None | Some(PathState::Denied | PathState::Spare))
}
