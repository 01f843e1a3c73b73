// SPDX-License-Identifier: GPL-2.0

//! How long a queue is looked at before its driver is asked to kick.

use vstellar_core::work::patience::{Patience, LOAD, LONGEST, PAUSE, SHORTEST};

/// Looks until it is time to ask for a kick, if nothing comes. How often, and how long that took.
fn wait(patience: &mut Patience, mut now: u64, bytes: u64) -> (u32, u64) {
    let start = now;
    let mut looks = 0;
    patience.carried(bytes);
    while let Some(pause) = patience.rest(now) {
        assert!(patience.is_watched());
        assert!((1..=PAUSE).contains(&pause));
        now += pause;
        looks += 1;
    }
    assert!(!patience.is_watched() && !patience.is_busy());
    (looks, now - start)
}

#[test]
fn one_that_was_never_busy_is_not_watched() {
    let mut patience = Patience::new();
    assert_eq!(wait(&mut patience, 5, 0), (0, 0));
    assert_eq!(wait(&mut patience, 5, 100 * LOAD), (0, 0));
}

#[test]
fn a_message_is_kicked_for_at_once() {
    let mut patience = Patience::new();
    let mut now = 0;
    for _ in 0..1000 {
        patience.begin(now);
        now += 10_000;
        patience.carried(64);
        assert_eq!(patience.rest(now), None);
        now += 50_000;
    }
    // not even if it is a large one, unless it took long
    patience.begin(now);
    patience.carried(100 * LOAD);
    assert_eq!(patience.rest(now + 2 * SHORTEST - 2), None);
}

#[test]
fn a_busy_queue_is_watched_for_half_as_long() {
    let mut patience = Patience::new();
    patience.begin(1000);
    let (looks, time) = wait(&mut patience, 201_000, LOAD);
    assert!(looks <= 4, "{looks}");
    assert!((100_000 - SHORTEST..=100_000).contains(&time), "{time}");
}

#[test]
fn there_is_a_longest_time() {
    let mut patience = Patience::new();
    patience.begin(0);
    let (looks, time) = wait(&mut patience, 1 << 40, LOAD);
    assert!((LONGEST - SHORTEST..=LONGEST).contains(&time), "{time}");
    assert!(looks <= 12, "{looks}");
}

#[test]
fn load_goes_on_without_a_kick_and_a_trickle_does_not() {
    let mut patience = Patience::new();
    let mut now = 10_000_000;
    patience.begin(0);
    // a little less often than each look
    for _ in 0..1000 {
        patience.carried(LOAD);
        now += patience.rest(now).expect("no kick is asked for under load");
        if let Some(pause) = patience.rest(now) {
            now += pause;
            patience.begin(now);
            assert!(!patience.is_watched());
        }
    }
    // 64 bytes each time are none
    let start = now;
    while patience.rest(now).is_some() {
        now += 60_000;
        patience.begin(now);
        patience.carried(64);
    }
    assert!(now - start <= LONGEST + 60_000, "{}", now - start);
}
