// SPDX-License-Identifier: GPL-2.0

//! Fairness, order and health of paths.

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
        Spraying, //
    },
    MSEC,
    USEC, //
};

const BASE: u16 = 50_000;

/// Probes that leave together, and the time until the next.
const BATCH: usize = 8;
const GAP: u64 = 8 * USEC;

/// All but the one that has no more than four paths.
fn policies() -> impl Iterator<Item = PathPolicy> {
    let all = PathPolicy::ALL.into_iter().map(|(_, policy)| policy);
    all.filter(|&policy| policy != PathPolicy::PerPath)
}

/// Those that have nothing against any path as long as they hear nothing.
fn even_policies() -> impl Iterator<Item = PathPolicy> {
    policies().filter(|policy| !matches!(policy, PathPolicy::Single | PathPolicy::BestRtt))
}

fn spraying(policy: PathPolicy, paths: u16, base: u16, seed: u64) -> Spraying {
    let config = Config {
        policy,
        paths,
        entropy_base: base,
        seed,
        ..Config::default()
    };
    Spraying::new(&config).expect("memory")
}

fn round(spray: &mut Spraying, paths: u16) -> Vec<u16> {
    (0..paths).map(|_| spray.next(0)).collect()
}

/// Reports timeouts until the path is withdrawn.
fn withdraw(spray: &mut Spraying, entropy: u16, now: u64) {
    assert_eq!(spray.feedback(entropy, Feedback::Timeout, now), None);
    let event = spray.feedback(entropy, Feedback::Timeout, now);
    assert_eq!(event, Some(Counter::PathWithdrawn));
}

/// All probes that leave from `now` on, a few at a time.
fn due(spray: &mut Spraying, mut now: u64) -> Vec<u16> {
    let mut probes = Vec::new();
    spray.on_timer(now);
    loop {
        let batch: Vec<u16> = std::iter::from_fn(|| spray.due_probe(now, GAP)).collect();
        assert!(batch.len() <= BATCH);
        let full = batch.len() == BATCH;
        probes.extend(batch);
        if !full {
            return probes;
        }
        let next = spray.probe_deadline().expect("another batch or an end");
        if next > now + GAP {
            return probes;
        }
        assert_eq!(next, now + GAP);
        now = next;
        spray.on_timer(now);
    }
}

#[test]
fn every_path_once_per_round() {
    for policy in even_policies() {
        for paths in 1..=256 {
            let mut spray = spraying(policy, paths, BASE, u64::from(paths));
            let all: Vec<u16> = spray.entropies().collect();
            assert_eq!(all, (BASE..BASE + paths).collect::<Vec<_>>());
            for _ in 0..5 {
                let mut seen = round(&mut spray, paths);
                seen.sort_unstable();
                assert_eq!(seen, all);
            }
        }
    }
}

/// Losses on three paths call all into question: data takes those that answer, and
/// the others are withdrawn.
#[test]
fn all_are_asked() {
    for policy in even_policies() {
        let mut spray = spraying(policy, 128, BASE, 7);
        let dead = |entropy: u16| entropy % 4 == 0;
        for entropy in [BASE, BASE + 4, BASE + 8] {
            assert!(!spray.in_question());
            assert_eq!(spray.feedback(entropy, Feedback::Timeout, 0), None);
            spray.suspect(0, MSEC);
        }
        assert!(spray.in_question() && spray.unanswered());
        // A quarter at once is enough to go on with.
        assert_eq!(due(&mut spray, 0), (BASE..BASE + 32).collect::<Vec<_>>());
        let prompt: Vec<u16> = (BASE..BASE + 32).filter(|&path| !dead(path)).collect();
        for (i, &entropy) in prompt.iter().enumerate() {
            assert_eq!(spray.unanswered(), i < 16);
            assert_eq!(spray.feedback(entropy, Feedback::Alive, 0), None);
        }
        for _ in 0..3 {
            let mut seen = round(&mut spray, 24);
            assert!(seen.iter().all(|entropy| prompt.contains(entropy)));
            seen.sort_unstable();
            seen.dedup();
            assert!(seen.len() > 12);
        }
        let next = spray.probe_deadline().expect("more to ask");
        let (asked, now) = ask_the_rest(&mut spray, next, |entropy| !dead(entropy));
        assert_eq!(asked, (BASE + 32..BASE + 128).collect::<Vec<_>>());
        // A batch in each timeout, that is twelve with one at either end.
        assert!((11 * MSEC..12 * MSEC).contains(&now), "{now}");
        assert_eq!(spray.probe_deadline(), Some(now + MSEC));
        for _ in 0..3 {
            let mut seen = round(&mut spray, 96);
            assert!(seen.iter().all(|&entropy| !dead(entropy)));
            seen.sort_unstable();
            seen.dedup();
            assert!(seen.len() > 48);
        }
        assert_eq!(spray.judge(now + MSEC - 1), 0);
        assert_eq!(spray.judge(now + MSEC), 32);
        assert!(!spray.in_question());
        assert_eq!(spray.withdrawn(), 32);
        // They are probed, and come back.
        assert_eq!(due(&mut spray, now + 3 * MSEC).len(), 32);
        let event = spray.feedback(BASE, Feedback::Ok, now + 3 * MSEC);
        assert_eq!(event, Some(Counter::PathRestored));
    }
}

/// Sends all probes that a question still needs, however long it takes, and has those
/// answered that are `alive`. Returns them, and when the last one had left.
fn ask_the_rest(
    spray: &mut Spraying,
    mut now: u64,
    alive: impl Fn(u16) -> bool,
) -> (Vec<u16>, u64) {
    let (mut asked, mut last) = (Vec::new(), now);
    loop {
        let batch = due(spray, now);
        if batch.is_empty() {
            return (asked, last);
        }
        for &entropy in batch.iter().filter(|&&entropy| alive(entropy)) {
            spray.feedback(entropy, Feedback::Alive, now);
        }
        asked.extend(batch);
        last = now;
        now = spray.probe_deadline().expect("more to ask, or an end");
    }
}

/// Where few paths answer, the search for them is not as leisurely.
#[test]
fn the_search_for_the_few_is_quick() {
    let mut spray = spraying(PathPolicy::Oblivious, 128, BASE, 7);
    spray.ask(0, MSEC, 1);
    let (asked, now) = ask_the_rest(&mut spray, 0, |_| false);
    assert_eq!(asked.len(), 128);
    assert!(now < 4 * MSEC, "{now}");
}

/// When nobody answers, a sixteenth stays in use, and nobody is asked all the time.
/// Who is not asked does not count: most paths may be denied or dead.
#[test]
fn few_are_asked() {
    let mut spray = spraying(PathPolicy::Oblivious, 128, BASE, 1);
    for path in 12..128 {
        assert!(spray.deny(path, true, 0));
    }
    spray.ask(0, MSEC, 1);
    assert_eq!(due(&mut spray, 0).len(), 12);
    spray.feedback(BASE, Feedback::Alive, 0);
    assert!(spray.unanswered());
    spray.feedback(BASE + 1, Feedback::Alive, 0);
    assert!(!spray.unanswered());
}

#[test]
fn nobody_answers() {
    let mut spray = spraying(PathPolicy::Oblivious, 128, BASE, 7);
    assert_eq!(spray.feedback(BASE, Feedback::Timeout, 0), None);
    spray.ask(0, MSEC, 1);
    let mut now = 0;
    // Fruitless questions are more and more rare.
    for (pause, withdrawn) in [(4, 120), (4, 0), (8, 0), (16, 0)] {
        let (_, asked) = ask_the_rest(&mut spray, now, |_| false);
        now = asked + MSEC;
        assert_eq!(spray.judge(now), withdrawn);
        assert!(!spray.unanswered());
        spray.ask(now + pause * MSEC - 1, MSEC, 1);
        assert!(!spray.in_question());
        now += pause * MSEC;
        spray.ask(now, MSEC, 1);
        assert!(spray.in_question());
    }
}

#[test]
fn oblivious_order_is_new_every_round() {
    for paths in [60, 64, 100, 128, 256] {
        let mut orders = HashSet::new();
        for seed in 0..20 {
            let mut spray = spraying(PathPolicy::Oblivious, paths, BASE, seed);
            for _ in 0..20 {
                orders.insert(round(&mut spray, paths));
            }
        }
        // 400 draws out of 2048 orders or more: some coincide.
        assert!(orders.len() > 340, "{paths} paths: {} orders", orders.len());
    }
}

#[test]
fn oblivious_consecutive_rounds_differ() {
    let mut spray = spraying(PathPolicy::Oblivious, 128, BASE, 1);
    let mut last = round(&mut spray, 128);
    for _ in 0..50 {
        let this = round(&mut spray, 128);
        assert_ne!(this, last);
        last = this;
    }
}

#[test]
fn same_seed_same_order() {
    let mut one = spraying(PathPolicy::Oblivious, 100, BASE, 7);
    let mut two = spraying(PathPolicy::Oblivious, 100, BASE, 7);
    assert_eq!(round(&mut one, 1000), round(&mut two, 1000));
}

#[test]
fn oblivious_starts_are_spread() {
    // Many short connections shall not all start on the same path.
    let mut first = HashSet::new();
    for seed in 0..1000 {
        first.insert(spraying(PathPolicy::Oblivious, 64, BASE, seed).next(0));
    }
    assert_eq!(first.len(), 64);
}

#[test]
fn single_stays_until_withdrawn() {
    let mut spray = spraying(PathPolicy::Single, 128, BASE, 5);
    assert_eq!(round(&mut spray, 500), vec![BASE + 5; 500]);
    assert_ne!(spray.next_avoiding(0, BASE + 5), BASE + 5);
    assert_eq!(spray.next(0), BASE + 5);
    withdraw(&mut spray, BASE + 5, 0);
    let other = spray.next(0);
    assert_ne!(other, BASE + 5);
    assert_eq!(round(&mut spray, 10), vec![other; 10]);
    // It does not go back: once is enough.
    spray.feedback(BASE + 5, Feedback::Ok, 0);
    assert_eq!(spray.next(0), other);
}

#[test]
fn entropy_values_are_dynamic_ports() {
    for (paths, base) in [
        (1, 0),
        (256, 0),
        (256, u16::MAX),
        (0, 65_000),
        (999, 65_500),
    ] {
        let spray = spraying(PathPolicy::Oblivious, paths, base, 0);
        let all: Vec<u16> = spray.entropies().collect();
        assert_eq!(all.len(), usize::from(paths.clamp(1, 256)));
        assert!(all.iter().all(|&entropy| entropy >= 49_152));
        assert!(all.windows(2).all(|pair| pair[1] == pair[0] + 1));
    }
}

#[test]
fn withdrawal_and_return() {
    for policy in policies() {
        let mut spray = spraying(policy, 8, BASE, 3);
        let bad = BASE + 3;
        withdraw(&mut spray, bad, 0);
        assert_eq!(spray.withdrawn(), 1);
        assert!(!round(&mut spray, 100).contains(&bad));
        assert!((0..100).all(|_| spray.next_avoiding(0, BASE) != bad));

        assert_eq!(
            spray.feedback(bad, Feedback::Ok, 0),
            Some(Counter::PathRestored)
        );
        assert_eq!(spray.withdrawn(), 0);
        assert_eq!(spray.probe_deadline(), None);
        if even_policies().any(|even| even == policy) {
            assert!(round(&mut spray, 8).contains(&bad));
        }
        // One timeout more does not withdraw it again.
        assert_eq!(spray.feedback(bad, Feedback::Timeout, 0), None);
        assert_eq!(spray.withdrawn(), 0);
    }
}

#[test]
fn any_arrival_between_timeouts_saves_the_path() {
    for alive in [Feedback::Ok, Feedback::Ecn(0), Feedback::Nack] {
        let mut spray = spraying(PathPolicy::Oblivious, 8, BASE, 3);
        for _ in 0..10 {
            assert_eq!(spray.feedback(BASE, Feedback::Timeout, 0), None);
            assert_eq!(spray.feedback(BASE, alive, 0), None);
        }
        // Those of another path do not count.
        spray.feedback(BASE, Feedback::Timeout, 0);
        spray.feedback(BASE + 1, Feedback::Ok, 0);
        let event = spray.feedback(BASE, Feedback::Timeout, 0);
        assert_eq!(event, Some(Counter::PathWithdrawn));
    }
}

#[test]
fn rounds_stay_even_over_usable_paths() {
    let mut spray = spraying(PathPolicy::Oblivious, 100, BASE, 3);
    for entropy in BASE..BASE + 20 {
        withdraw(&mut spray, entropy, 0);
    }
    let mut turns = [0u32; 100];
    for _ in 0..80 * 50 {
        turns[usize::from(spray.next(0) - BASE)] += 1;
    }
    assert!(turns[..20].iter().all(|&n| n == 0));
    assert!(turns[20..].iter().all(|&n| n == 50), "{turns:?}");
}

#[test]
fn a_sixteenth_stays_in_use() {
    for policy in policies() {
        for paths in 1..=256 {
            let mut spray = spraying(policy, paths, BASE, 3);
            for entropy in BASE..BASE + paths {
                for _ in 0..3 {
                    spray.feedback(entropy, Feedback::Timeout, 0);
                }
            }
            assert_eq!(paths - spray.withdrawn(), paths.div_ceil(16));
            if even_policies().any(|even| even == policy) {
                let used: HashSet<u16> = round(&mut spray, 2 * paths).into_iter().collect();
                assert_eq!(used.len(), usize::from(paths.div_ceil(16)));
            }
        }
    }
}

#[test]
fn retransmission_takes_another_path() {
    for policy in policies() {
        for paths in [2, 3, 4, 5, 100, 256] {
            let mut spray = spraying(policy, paths, BASE, 9);
            let mut sent = BASE;
            for _ in 0..1000 {
                let again = spray.next_avoiding(0, sent);
                assert_ne!(again, sent);
                sent = again;
            }
            // Nor if it is the only one left that works.
            for entropy in BASE..BASE + paths {
                spray.feedback(entropy, Feedback::Timeout, 0);
                spray.feedback(entropy, Feedback::Timeout, 0);
            }
            for entropy in BASE..BASE + paths {
                assert_ne!(spray.next_avoiding(0, entropy), entropy);
            }
        }
    }
    let mut alone = spraying(PathPolicy::Oblivious, 1, BASE, 9);
    assert_eq!(alone.next_avoiding(0, BASE), BASE);
}

#[test]
fn probes_back_off() {
    let mut spray = spraying(PathPolicy::Oblivious, 8, BASE, 3);
    assert_eq!(spray.probe_deadline(), None);
    assert!(due(&mut spray, 10 * MSEC).is_empty());
    withdraw(&mut spray, BASE + 1, 0);
    withdraw(&mut spray, BASE + 6, 0);

    let mut now = 0;
    for gap in [1, 1, 2, 4, 8, 16, 32, 64, 64, 64] {
        assert_eq!(spray.probe_deadline(), Some(now + gap * MSEC));
        now += gap * MSEC;
        assert!(due(&mut spray, now - 1).is_empty());
        assert_eq!(due(&mut spray, now), [BASE + 1, BASE + 6]);
        assert!(due(&mut spray, now).is_empty());
    }
    // When one comes back the other one is probably not far.
    spray.feedback(BASE + 6, Feedback::Ok, now);
    assert_eq!(spray.probe_deadline(), Some(now + MSEC));
    assert_eq!(due(&mut spray, now + MSEC), [BASE + 1]);
}

/// However many paths are withdrawn, no more than a few are probed in a timeout, unless
/// answers come.
#[test]
fn withdrawn_paths_are_probed_by_and_by() {
    let timeout = 20 * MSEC;
    let mut spray = spraying(PathPolicy::Oblivious, 128, BASE, 3);
    for entropy in BASE..BASE + 100 {
        withdraw(&mut spray, entropy, 0);
    }
    let batch = |spray: &mut Spraying, now| -> Vec<u16> {
        spray.on_timer(now);
        std::iter::from_fn(|| spray.due_probe(now, timeout)).collect()
    };
    let first = batch(&mut spray, MSEC);
    assert_eq!(first.len(), BATCH);
    assert_eq!(spray.probe_deadline(), Some(MSEC + timeout));
    assert!(batch(&mut spray, timeout).is_empty());
    let second = batch(&mut spray, MSEC + timeout);
    assert_eq!(second, (BASE + 8..BASE + 16).collect::<Vec<_>>());
    // Each answer is worth two, and brings no more than that.
    let now = 30 * MSEC;
    for entropy in BASE + 8..BASE + 10 {
        let event = spray.feedback(entropy, Feedback::Ok, now);
        assert_eq!(event, Some(Counter::PathRestored));
    }
    assert_eq!(batch(&mut spray, now).len(), 4);
    assert!(batch(&mut spray, now + MSEC).is_empty());
}

/// A path that comes and goes, or a peer that says so, causes no more than some series
/// of probes in 64 ms.
#[test]
fn a_path_that_flaps_is_not_probed_all_the_time() {
    let mut spray = spraying(PathPolicy::Oblivious, 128, BASE, 3);
    for entropy in BASE..BASE + 100 {
        withdraw(&mut spray, entropy, 0);
    }
    let mut probes = 0;
    for now in (MSEC..640 * MSEC).step_by(500_000) {
        spray.feedback(BASE, Feedback::Ok, now);
        probes += due(&mut spray, now).len();
        withdraw(&mut spray, BASE, now);
    }
    assert!(probes <= 10 * 8 * 100, "{probes} probes");
}

/// However long a timeout is, there is a time without a question.
#[test]
fn there_are_pauses_between_questions() {
    for timeout in [MSEC, 100 * MSEC, 2000 * MSEC] {
        let mut spray = spraying(PathPolicy::Oblivious, 128, BASE, 3);
        spray.ask(0, timeout, 4);
        assert!(spray.in_question());
        let (_, asked) = ask_the_rest(&mut spray, 0, |_| true);
        let end = asked + 4 * timeout;
        spray.judge(end);
        assert!(!spray.in_question());
        spray.ask(end + 4 * timeout - 1, timeout, 1);
        assert!(!spray.in_question());
        spray.ask(end + 4 * timeout, timeout, 1);
        assert!(spray.in_question());
    }
}

#[test]
fn a_dead_uplink_comes_back_within_200_ms() {
    let mut spray = spraying(PathPolicy::Oblivious, 128, BASE, 3);
    let dead = |entropy: u16| entropy % 8 == 0;
    let restored_at = 10_000 * MSEC + 7 * USEC;
    let mut now = 0;
    for entropy in (BASE..BASE + 128).filter(|&entropy| dead(entropy)) {
        withdraw(&mut spray, entropy, now);
    }
    while spray.withdrawn() > 0 {
        now = spray.probe_deadline().unwrap();
        for entropy in due(&mut spray, now) {
            if now >= restored_at {
                spray.feedback(entropy, Feedback::Ok, now + MSEC);
            }
        }
    }
    assert!(now - restored_at < 200 * MSEC);
}

proptest! {
    #[test]
    fn never_an_unknown_path(
        policy in prop::sample::select(policies().collect::<Vec<_>>()),
        paths in 1u16..=256,
        seed in any::<u64>(),
        steps in prop::collection::vec((0u8..6, any::<u16>()), 0..500),
    ) {
        let mut spray = spraying(policy, paths, BASE, seed);
        let known = BASE..BASE + paths;
        for (now, (step, entropy)) in (0..).step_by(100_000).zip(steps) {
            // Mostly known entropy values, some that are none of ours.
            let entropy = BASE.wrapping_add(entropy % (paths + 3)).wrapping_sub(1);
            match step {
                0 => prop_assert!(known.contains(&spray.next(now))),
                1 => {
                    let other = spray.next_avoiding(now, entropy);
                    prop_assert!(known.contains(&other));
                    prop_assert!(other != entropy || paths == 1);
                }
                2 => {
                    if let Some(probe) = spray.due_probe(now, GAP) {
                        prop_assert!(known.contains(&probe));
                    }
                }
                3 => drop(spray.feedback(entropy, Feedback::Ok, now)),
                _ => drop(spray.feedback(entropy, Feedback::Timeout, now)),
            }
            prop_assert!(paths - spray.withdrawn() >= paths.div_ceil(16));
            prop_assert_eq!(spray.probe_deadline().is_some(), spray.withdrawn() > 0);
        }
    }
}
