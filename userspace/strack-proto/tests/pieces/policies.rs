// SPDX-License-Identifier: GPL-2.0

//! What each path policy makes of what it is told.

use std::collections::HashSet;
use strack_proto::{
    config::{
        Config,
        PathPolicy, //
    },
    spray::{
        Feedback,
        Spraying, //
    },
    window::Acked,
    Ns,
    MSEC,
    USEC, //
};

const BASE: u16 = 50_000;
const PACKET: u64 = 1400;

/// A round trip that is longer than the average by no more than this is not late.
const SLACK: Ns = 50 * USEC;

fn config(policy: PathPolicy, paths: u16) -> Config {
    Config {
        policy,
        paths,
        entropy_base: BASE,
        seed: 9,
        ..Config::default()
    }
}

fn spraying(policy: PathPolicy, paths: u16) -> Spraying {
    Spraying::new(&config(policy, paths)).expect("memory")
}

/// How often each path has its turn in `packets` packets.
fn turns(spray: &mut Spraying, packets: u32) -> Vec<u32> {
    let mut turns = vec![0; usize::from(spray.paths().count())];
    for _ in 0..packets {
        turns[usize::from(spray.next(0) - BASE)] += 1;
    }
    turns
}

/// Sends a packet and returns its entropy value.
fn send(spray: &mut Spraying) -> u16 {
    let entropy = spray.next(0);
    spray.sent(entropy, 1, PACKET);
    entropy
}

/// What is known of a packet that took so long.
fn sample(rtt: Ns, marked: bool) -> Acked {
    Acked {
        marked: marked.then_some(PACKET),
        rtt: Some(rtt),
        ..Acked::default()
    }
}

/// A packet was answered that took so long.
fn echo(spray: &mut Spraying, entropy: u16, rtt: Ns) {
    spray.echoed(entropy, &sample(rtt, false), SLACK, 0);
}

#[test]
fn names() {
    for (name, policy) in PathPolicy::ALL {
        assert_eq!(policy.name(), name);
        assert_eq!(PathPolicy::by_name(name.as_bytes()), Some(policy));
        assert!(name.len() < 16);
    }
    for name in ["", "mixe", "mixedx", "MIXED"] {
        assert_eq!(PathPolicy::by_name(name.as_bytes()), None);
    }
    let names: HashSet<_> = PathPolicy::ALL.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), PathPolicy::ALL.len());
}

#[test]
fn bitmap_skips_a_marked_path_once() {
    for marks in [1, 2, 7] {
        let mut spray = spraying(PathPolicy::Bitmap, 16);
        for _ in 0..marks {
            spray.feedback(BASE + 3, Feedback::Ecn(0), 0);
        }
        // In each of the next rounds all others have their turn, and it has none.
        for _ in 0..marks {
            let turns = turns(&mut spray, 15);
            assert_eq!(turns[3], 0);
            assert_eq!(turns.iter().sum::<u32>(), 15);
            assert!(turns.iter().all(|&turns| turns <= 1));
        }
        assert_eq!(turns(&mut spray, 16), [1; 16]);
    }
}

#[test]
fn bitmap_penalties() {
    for (kind, missed) in [
        (Feedback::Ok, 0),
        (Feedback::Alive, 0),
        (Feedback::Late(4), 0),
        (Feedback::Ecn(0), 1),
        (Feedback::Nack, 4),
        (Feedback::Overflow, 4),
        (Feedback::Timeout, 15),
    ] {
        let mut spray = spraying(PathPolicy::Bitmap, 16);
        spray.feedback(BASE + 3, kind, 0);
        let turns = turns(&mut spray, 20 * 16 - missed);
        assert_eq!(turns[3], 20 - missed, "{kind:?}");
        assert_eq!(turns[4], 20, "{kind:?}");
    }
}

#[test]
fn bitmap_saturates() {
    let mut spray = spraying(PathPolicy::Bitmap, 16);
    for _ in 0..300 {
        spray.feedback(BASE + 3, Feedback::Ecn(0), 0);
    }
    assert_eq!(turns(&mut spray, 20 * 16 - 15)[3], 20 - 15);
}

/// That all are marked is not a matter of paths.
#[test]
fn bitmap_sends_when_all_are_marked() {
    let mut spray = spraying(PathPolicy::Bitmap, 16);
    for _ in 0..3 {
        for path in 0..16 {
            spray.feedback(BASE + path, Feedback::Ecn(0), 0);
        }
    }
    let turns = turns(&mut spray, 16 * 20);
    assert!(turns.iter().all(|&turns| turns > 10), "{turns:?}");
}

#[test]
fn a_retransmission_takes_no_marked_path() {
    for policy in [PathPolicy::Bitmap, PathPolicy::Mixed] {
        let mut spray = spraying(policy, 16);
        for path in 0..14 {
            spray.feedback(BASE + path, Feedback::Ecn(0), 0);
        }
        for _ in 0..50 {
            assert_eq!(spray.next_avoiding(0, BASE + 14), BASE + 15);
        }
        // If all are, the one that lost the packet is still the worst.
        spray.feedback(BASE + 15, Feedback::Ecn(0), 0);
        assert!((0..50).all(|_| spray.next_avoiding(0, BASE + 14) != BASE + 14));
    }
}

#[test]
fn reps_recycles_what_arrived_unmarked() {
    let mut spray = spraying(PathPolicy::Reps, 64);
    for path in [5, 9, 5] {
        spray.feedback(BASE + path, Feedback::Ok, 0);
    }
    spray.feedback(BASE + 7, Feedback::Ecn(0), 0);
    spray.feedback(BASE + 8, Feedback::Alive, 0);
    let used: Vec<_> = (0..3).map(|_| spray.next(0)).collect();
    assert_eq!(used, [BASE + 5, BASE + 9, BASE + 5]);
    // Each once; after that all paths have their turn.
    assert_eq!(turns(&mut spray, 64), [1; 64]);
}

#[test]
fn reps_keeps_the_last_eight() {
    let mut spray = spraying(PathPolicy::Reps, 64);
    for path in 0..20 {
        spray.feedback(BASE + path, Feedback::Ok, 0);
        // A second packet of the same train.
        spray.feedback(BASE + path, Feedback::Ok, 0);
    }
    let used: Vec<_> = (0..8).map(|_| spray.next(0)).collect();
    assert_eq!(used, (BASE + 12..BASE + 20).collect::<Vec<_>>());
    assert_eq!(turns(&mut spray, 64), [1; 64]);
}

#[test]
fn reps_drops_what_is_marked_meanwhile() {
    let mut spray = spraying(PathPolicy::Reps, 64);
    spray.feedback(BASE + 5, Feedback::Ok, 0);
    spray.feedback(BASE + 5, Feedback::Ecn(0), 0);
    assert_eq!(turns(&mut spray, 64), [1; 64]);
}

#[test]
fn reps_freezes_after_a_loss_without_delay() {
    let mut spray = spraying(PathPolicy::Reps, 64);
    let good: Vec<_> = (BASE..BASE + 6).collect();
    for &entropy in &good {
        spray.feedback(entropy, Feedback::Ok, 0);
    }
    // A full queue is no failure.
    spray.feedback(BASE + 40, Feedback::Overflow, 0);
    assert_eq!((0..6).map(|_| spray.next(0)).collect::<Vec<_>>(), good);
    assert!((0..64).any(|_| !good.contains(&spray.next(0))));

    spray.feedback(BASE + 41, Feedback::Timeout, MSEC);
    let mut used: Vec<_> = (0..600).map(|_| spray.next(11 * MSEC - 1)).collect();
    used.sort_unstable();
    let often = |entropy| used.iter().filter(|&&used| used == entropy).count();
    assert!(good.iter().all(|&entropy| often(entropy) == 100));
    // Other paths are tried first after that, and then what arrived.
    spray.feedback(BASE, Feedback::Ok, 11 * MSEC);
    let tried: HashSet<_> = (0..16).map(|_| spray.next(11 * MSEC)).collect();
    assert_eq!(tried.len(), 16);
    assert_eq!(spray.next(11 * MSEC), BASE);
}

#[test]
fn mixed_and_mprdma_send_as_much_as_arrives() {
    for policy in [PathPolicy::Mixed, PathPolicy::MpRdma] {
        let mut spray = spraying(policy, 64);
        let first: Vec<_> = (0..12).map(|_| send(&mut spray)).collect();
        // ACKs tell of several at a time, one of them of a whole train.
        for &entropy in first.iter().chain([&first[3]; 3]) {
            spray.feedback(entropy, Feedback::Ok, 0);
        }
        let mut again: Vec<_> = (0..15).map(|_| send(&mut spray)).collect();
        again.sort_unstable();
        let mut all: Vec<_> = first.iter().copied().chain([first[3]; 3]).collect();
        all.sort_unstable();
        assert_eq!(again, all);
        // And no more than that.
        let others: HashSet<_> = (0..50).map(|_| send(&mut spray)).collect();
        assert!(others.len() > 35);
    }
}

#[test]
fn mixed_and_mprdma_a_train_costs_all_its_packets() {
    for policy in [PathPolicy::Mixed, PathPolicy::MpRdma] {
        let mut spray = spraying(policy, 64);
        for _ in 0..5 {
            spray.feedback(BASE + 9, Feedback::Ok, 0);
        }
        assert_eq!(spray.next(0), BASE + 9);
        spray.sent(BASE + 9, 4, 4 * PACKET);
        assert_eq!(send(&mut spray), BASE + 9);
        let others: HashSet<_> = (0..63).map(|_| send(&mut spray)).collect();
        assert!(others.len() > 60);
    }
}

#[test]
fn mixed_and_mprdma_a_mark_costs_half_a_packet() {
    for policy in [PathPolicy::Mixed, PathPolicy::MpRdma] {
        let mut spray = spraying(policy, 64);
        for _ in 0..6 {
            spray.feedback(BASE + 9, Feedback::Ecn(0), 0);
        }
        for _ in 0..3 {
            assert_eq!(send(&mut spray), BASE + 9);
        }
        assert!((0..40).filter(|_| send(&mut spray) == BASE + 9).count() <= 1);
    }
}

/// A queue that is far longer than the others' gets nothing for what comes out of it.
#[test]
fn mixed_a_late_mark_earns_nothing() {
    let mut spray = spraying(PathPolicy::Mixed, 64);
    for _ in 0..2 {
        spray.feedback(BASE + 9, Feedback::Ecn(3), 0);
    }
    // It misses a turn for each mark, and three for being late.
    let rounds = 2 * (1 + 3);
    assert!((0..rounds * 63).all(|_| send(&mut spray) != BASE + 9));
    assert!((0..64).any(|_| send(&mut spray) == BASE + 9));
}

#[test]
fn mixed_and_mprdma_savings_are_bounded() {
    for policy in [PathPolicy::Mixed, PathPolicy::MpRdma] {
        let mut spray = spraying(policy, 64);
        for _ in 0..1000 {
            spray.feedback(BASE + 9, Feedback::Ok, 0);
        }
        for _ in 0..64 {
            assert_eq!(send(&mut spray), BASE + 9);
        }
        assert!((0..40).filter(|_| send(&mut spray) == BASE + 9).count() <= 1);
    }
}

/// While packets wait in queues, what was earned does not keep all of them on the paths that
/// have earned it.
#[test]
fn mixed_tries_other_paths_where_there_are_queues() {
    let mut spray = spraying(PathPolicy::Mixed, 64);
    let tried = |spray: &mut Spraying, rtt| -> HashSet<u16> {
        let packets = 0..17 * 64;
        let used = packets.map(|_| {
            echo(spray, BASE + 9, rtt);
            send(spray)
        });
        used.collect()
    };
    assert_eq!(tried(&mut spray, MSEC).len(), 1);
    assert!(tried(&mut spray, 9 * MSEC).len() > 32);
}

#[test]
fn mixed_a_lost_packet_takes_all_savings() {
    for kind in [Feedback::Overflow, Feedback::Timeout, Feedback::Nack] {
        let mut spray = spraying(PathPolicy::Mixed, 64);
        spray.feedback(BASE + 9, Feedback::Ok, 0);
        spray.feedback(BASE + 9, kind, 0);
        assert!((0..100).all(|_| send(&mut spray) != BASE + 9));
    }
}

/// What it does not recycle it takes from the bitmap.
#[test]
fn mixed_skips_marked_paths() {
    let mut spray = spraying(PathPolicy::Mixed, 16);
    spray.feedback(BASE + 3, Feedback::Ecn(0), 0);
    let first = turns(&mut spray, 15);
    assert_eq!(first[3], 0);
    assert_eq!(turns(&mut spray, 16), [1; 16]);
}

/// Turns pass while packets are recycled, or marks would be remembered for ever.
#[test]
fn mixed_forgets_marks_in_time() {
    let mut spray = spraying(PathPolicy::Mixed, 16);
    for _ in 0..5 {
        spray.feedback(BASE + 3, Feedback::Nack, 0);
    }
    for _ in 0..16 * 15 {
        spray.feedback(BASE + 8, Feedback::Ok, 0);
        assert_eq!(send(&mut spray), BASE + 8);
    }
    assert_eq!(turns(&mut spray, 16), [1; 16]);
}

/// A packet that was late counts as marked, and the more so the later it was.
#[test]
fn mixed_leaves_slow_paths() {
    for (rtt, missed) in [(1, 0), (1500, 1), (2500, 2), (3500, 3), (9000, 4)] {
        let mut spray = spraying(PathPolicy::Mixed, 16);
        for path in 4..16 {
            echo(&mut spray, BASE + path, MSEC);
            spray.sent(BASE + path, 1, PACKET);
        }
        echo(&mut spray, BASE + 3, rtt * USEC);
        spray.sent(BASE + 3, 1, PACKET);
        let turns = turns(&mut spray, 20 * 16 - missed);
        assert_eq!(turns[3], 20 - missed, "{rtt}");
    }
    // Jitter is nothing.
    let mut spray = spraying(PathPolicy::Mixed, 16);
    for path in 0..16 {
        echo(&mut spray, BASE + path, MSEC + u64::from(path % 2) * SLACK);
        assert_eq!(send(&mut spray), BASE + path);
    }
    assert_eq!(turns(&mut spray, 16), [1; 16]);
}

/// All are slow: that is for the window to deal with.
#[test]
fn mixed_stays_when_all_are_slow() {
    let mut spray = spraying(PathPolicy::Mixed, 16);
    for rtt in [1, 9] {
        for _ in 0..20 {
            for path in 0..16 {
                echo(&mut spray, BASE + path, rtt * MSEC);
            }
        }
        while spray
            .paths()
            .state(0)
            .is_some_and(|state| state != strack_proto::spray::PathState::Good)
        {
            send(&mut spray);
        }
    }
    for path in 0..16 {
        spray.sent(BASE + path, 64, 64 * PACKET);
    }
    let turns = turns(&mut spray, 16 * 20);
    assert!(turns.iter().all(|&turns| turns >= 15), "{turns:?}");
}

/// Measures all paths, and then some of them again.
fn measured(policy: PathPolicy, rtts: &[u64]) -> Spraying {
    let mut spray = spraying(policy, rtts.len() as u16);
    for _ in 0..40 {
        for (path, rtt) in (0..).zip(rtts) {
            echo(&mut spray, BASE + path, rtt * USEC);
        }
    }
    spray
}

#[test]
fn best_rtt_takes_the_shortest() {
    let mut spray = measured(PathPolicy::BestRtt, &[900, 400, 700, 800]);
    turns(&mut spray, 4);
    let turns = turns(&mut spray, 16 * 40);
    // One turn in sixteen measures others.
    assert_eq!(turns, [10, 15 * 40 + 10, 10, 10]);
}

#[test]
fn best_rtt_leaves_only_for_a_clearly_better_one() {
    let mut spray = measured(PathPolicy::BestRtt, &[400, 500, 500, 500]);
    turns(&mut spray, 4);
    for (rtt, moves) in [(390, false), (360, false), (340, true)] {
        for _ in 0..40 {
            echo(&mut spray, BASE + 2, rtt * USEC);
        }
        let turns = turns(&mut spray, 160);
        assert_eq!(turns[2] > 100, moves, "{rtt}");
        assert_eq!(turns[0] > 100, !moves, "{rtt}");
    }
    // The other way round, it goes when the path it is on gets worse.
    for _ in 0..40 {
        echo(&mut spray, BASE + 2, 480 * USEC);
    }
    assert_eq!(turns(&mut spray, 160)[2], 2);
}

#[test]
fn best_rtt_leaves_a_dead_path() {
    let mut spray = measured(PathPolicy::BestRtt, &[400, 500, 600, 700]);
    turns(&mut spray, 4);
    for _ in 0..2 {
        spray.feedback(BASE, Feedback::Timeout, 0);
    }
    let turns = turns(&mut spray, 160);
    assert_eq!(turns[0], 0);
    assert!(turns[1] > 150);
}

#[test]
fn dwrr_shares_are_exact() {
    let mut spray = measured(
        PathPolicy::Dwrr,
        &[400, 400, 800, 1600, 3200, 64_000, 400, 400],
    );
    let turns = turns(&mut spray, (4 * 16 + 8 + 4 + 2 + 1) * 10);
    assert_eq!(turns, [160, 160, 80, 40, 20, 10, 160, 160]);
}

/// When the best path is gone, the others have turns all the same.
#[test]
fn dwrr_without_the_best() {
    let mut spray = measured(PathPolicy::Dwrr, &[10, 400, 800, 400]);
    for _ in 0..2 {
        spray.feedback(BASE, Feedback::Timeout, 0);
    }
    turns(&mut spray, 20);
    let turns = turns(&mut spray, 500);
    assert_eq!(turns[0], 0);
    assert!(
        turns[1].abs_diff(200) < 3 && turns[2].abs_diff(100) < 3,
        "{turns:?}"
    );
}

#[test]
fn mprdma_a_late_path_loses_all() {
    let mut spray = spraying(PathPolicy::MpRdma, 64);
    for path in 1..40 {
        echo(&mut spray, BASE + path, MSEC);
        assert_eq!(send(&mut spray), BASE + path);
    }
    spray.feedback(BASE, Feedback::Ok, 0);
    spray.echoed(BASE, &sample(5 * MSEC, true), SLACK, 0);
    let used = turns(&mut spray, 63);
    assert!(used[0] <= 1);
}

#[test]
fn per_path_has_four_windows() {
    let mut spray = spraying(PathPolicy::PerPath, 128);
    assert_eq!(spray.paths().count(), 4);
    let window = spray.cwnd().expect("windows") / 4;
    // Each path takes as much as its window has room for.
    let mut used = [0; 4];
    while spray.room(0, PACKET) == Some(true) {
        used[usize::from(send(&mut spray) - BASE)] += PACKET;
    }
    assert!(used
        .iter()
        .all(|&used| used <= window && used + PACKET > window));
    // A packet that arrives makes room on its path, and on no other.
    spray.arrived(BASE + 2, PACKET);
    assert_eq!(spray.room(0, PACKET), Some(true));
    assert_eq!(spray.room(PACKET, PACKET), Some(false));
    assert_eq!(send(&mut spray), BASE + 2);
    assert_eq!(spray.room(0, PACKET), Some(false));
    // A loss costs the window of that path.
    let before = spray.cwnd();
    spray.lost(BASE + 1, PACKET, 0);
    assert_eq!(spray.cwnd(), before.map(|cwnd| cwnd - PACKET));
    assert_eq!(spray.room(0, PACKET), Some(false));
}

#[test]
fn other_policies_have_no_windows() {
    for (_, policy) in PathPolicy::ALL {
        let spray = spraying(policy, 16);
        assert_eq!(spray.cwnd().is_some(), policy == PathPolicy::PerPath);
        assert_eq!(spray.room(0, 1).is_some(), policy == PathPolicy::PerPath);
    }
}

/// A connection that goes over to another policy has forgotten what the last one knew.
#[test]
fn policies_change() {
    let mut config = config(PathPolicy::Bitmap, 16);
    let mut spray = Spraying::new(&config).expect("memory");
    for (_, from) in PathPolicy::ALL {
        for (_, to) in PathPolicy::ALL {
            config.policy = from;
            spray.reconfigure(&config, 0);
            for path in 0..16 {
                for _ in 0..20 {
                    spray.feedback(BASE + path, Feedback::Ok, 0);
                    let rtt = u64::from(path + 1) * MSEC;
                    spray.echoed(BASE + path, &sample(rtt, true), SLACK, 0);
                }
                spray.sent(BASE + path, 2, 2 * PACKET);
            }
            config.policy = to;
            spray.reconfigure(&config, 0);
            let mut fresh = Spraying::new(&config).expect("memory");
            for _ in 0..200 {
                assert_eq!(send(&mut spray), send(&mut fresh), "{from:?} {to:?}");
            }
        }
    }
}
