// SPDX-License-Identifier: GPL-2.0

//! Path policies compared on the fabric of the demonstration: what each makes of four
//! spines that are equal, of one that is slow or dead, and of trouble that moves about.
//!
//! All figures are goodput in percent of what the spines can carry, the mean over seeds and
//! the least of them. Queues mark from the second packet on, or else the policies that only
//! heed marks would have nothing to go by: a window of a few packets never fills more.

use crate::{
    demo::{
        self,
        SPINE, //
    },
    network::{
        Network,
        Setup,
        CLIENT, //
    },
    rng::mix,
};
use strack_proto::{
    config::{
        PathPolicy,
        Profile, //
    },
    counter::Counter,
    spray::PathState,
    Ns,
    MSEC,
    SEC,
    USEC, //
};

const SEEDS: u64 = 10;

/// Round trip of a full packet on an idle spine, roughly.
const BASE_RTT: Ns = 550 * USEC;

/// What happens to the spines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    /// The first spine has a quarter of its speed.
    Slow,
    /// The first spine takes packets and gives nothing back.
    Dead,
    /// The first spine is as fast as the others, but takes another base RTT.
    Longer,
    /// One spine after the other has a quarter of its speed, for 20 ms each.
    Alternating,
}

fn network(policy: PathPolicy, seed: u64) -> Network {
    let mut setup = demo::setup(1 << 30, &demo::spine(10_000, 30_000), seed);
    for config in [&mut setup.client, &mut setup.server] {
        config.policy = policy;
        // A packet takes 340 us to be sent: with less there would be no queue at all.
        config.min_target = 400 * USEC;
    }
    setup.start()
}

/// How many bytes are read between `from` and `to`, in percent of `capacity`.
fn goodput(net: &mut Network, from: Ns, to: Ns, capacity: u64) -> u64 {
    let log = &net.server().log;
    let at = |time: Ns| {
        let i = log.partition_point(|(then, _)| *then <= time);
        i.checked_sub(1).map_or(0, |i| log[i].1)
    };
    (at(to) - at(from)) * SEC / (to - from) * 100 / capacity
}

/// What came of one policy.
struct Outcome {
    mean: u64,
    least: u64,
    /// Part of all bytes that went over the first spine, in percent.
    first: u64,
    /// Retransmissions, the most of all seeds.
    again: u64,
}

/// Runs for half a second, with `trouble` from a tenth of that on.
fn outcome(policy: PathPolicy, trouble: Trouble) -> Outcome {
    let runs: Vec<_> = (0..SEEDS).map(|seed| run(policy, trouble, seed)).collect();
    let mean = |of: fn(&(u64, u64, u64)) -> u64| runs.iter().map(of).sum::<u64>() / SEEDS;
    let outcome = Outcome {
        mean: mean(|run| run.0),
        least: runs.iter().map(|run| run.0).min().unwrap_or(0),
        first: mean(|run| run.1),
        again: runs.iter().map(|run| run.2).max().unwrap_or(0),
    };
    println!(
        "{trouble:?}, {}: {} %, least {}; first spine {} %; {} sent again",
        policy.name(),
        outcome.mean,
        outcome.least,
        outcome.first,
        outcome.again,
    );
    // Whatever order paths are used in, a packet that is not lost is not sent again.
    assert!(trouble != Trouble::None || outcome.again == 0);
    outcome
}

/// Goodput, share of the first spine and retransmissions of one run.
fn run(policy: PathPolicy, trouble: Trouble, seed: u64) -> (u64, u64, u64) {
    let (start, end) = (100 * MSEC, 500 * MSEC);
    let mut net = network(policy, seed);
    net.run(start / 2, |_| false);
    let spines = |net: &Network| -> Vec<u64> {
        let paths = net.directions[CLIENT].paths.iter();
        paths.map(|path| path.carried).collect()
    };
    let before = spines(&net);
    let first = &mut net.directions[CLIENT].paths[0];
    let capacity = match trouble {
        Trouble::None => 4 * SPINE,
        Trouble::Slow => {
            first.rate = SPINE / 4;
            3 * SPINE + SPINE / 4
        }
        Trouble::Longer => {
            first.delay += BASE_RTT;
            4 * SPINE
        }
        Trouble::Dead => {
            first.hole = Some((start / 2, Ns::MAX));
            3 * SPINE
        }
        Trouble::Alternating => 3 * SPINE + SPINE / 4,
    };
    let mut turn = 0;
    while net.now < end {
        if trouble == Trouble::Alternating {
            for (i, path) in net.directions[CLIENT].paths.iter_mut().enumerate() {
                path.rate = if i == turn % 4 { SPINE / 4 } else { SPINE };
            }
        }
        turn += 1;
        let next = net.now + 20 * MSEC;
        net.run(next, |_| false);
    }
    let carried: Vec<_> = spines(&net)
        .iter()
        .zip(before)
        .map(|(now, then)| now - then)
        .collect();
    let share = carried[0] * 100 / carried.iter().sum::<u64>();
    let percent = goodput(&mut net, start, end, capacity);
    (percent, share, net.retransmissions[CLIENT])
}

/// Four equal spines, which paths are hashed onto unevenly: who adapts evens that out.
#[test]
fn clean() {
    let control = outcome(PathPolicy::Oblivious, Trouble::None);
    assert!(control.least < 75);
    let mixed = outcome(PathPolicy::Mixed, Trouble::None);
    assert!(mixed.mean >= 90 && mixed.least >= 88);
    let bitmap = outcome(PathPolicy::Bitmap, Trouble::None);
    assert!(bitmap.least >= control.least + 5);
    let dwrr = outcome(PathPolicy::Dwrr, Trouble::None);
    assert!(dwrr.least >= control.least + 8);
    // One path after the other never fills more than one spine and a bit.
    for policy in [PathPolicy::Single, PathPolicy::BestRtt] {
        assert!(outcome(policy, Trouble::None).mean < 45);
    }
    // Four paths are not enough for four spines.
    assert!(outcome(PathPolicy::PerPath, Trouble::None).mean < control.mean);
    for policy in [PathPolicy::Reps, PathPolicy::MpRdma] {
        assert!(outcome(policy, Trouble::None).mean > 50);
    }
}

/// One spine with a quarter of the speed: evenly sprayed, it holds up all others.
#[test]
fn a_slow_spine() {
    let control = outcome(PathPolicy::Oblivious, Trouble::Slow);
    assert!(control.mean < 40 && control.first > 20);
    for (policy, least) in [
        (PathPolicy::Bitmap, 35),
        (PathPolicy::Reps, 55),
        (PathPolicy::Mixed, 85),
        (PathPolicy::Dwrr, 65),
        (PathPolicy::MpRdma, 65),
        (PathPolicy::PerPath, 50),
    ] {
        let outcome = outcome(policy, Trouble::Slow);
        assert!(outcome.mean >= least, "{policy:?}");
        // Its part of the capacity is 8 %.
        assert!(outcome.first < control.first - 3, "{policy:?}");
        // Not more than are late when the spine becomes slow.
        assert!(outcome.again <= control.again, "{policy:?}");
    }
}

/// A spine that is farther away delays what goes over it, which is no loss; and it is not
/// left unused.
#[test]
fn a_longer_spine() {
    for policy in [
        PathPolicy::Oblivious,
        PathPolicy::Bitmap,
        PathPolicy::MpRdma,
    ] {
        assert_eq!(outcome(policy, Trouble::Longer).again, 0, "{policy:?}");
    }
    let mixed = outcome(PathPolicy::Mixed, Trouble::Longer);
    assert_eq!(mixed.again, 0);
    assert!(mixed.least >= 80 && mixed.first >= 15);
}

/// One spine takes packets and gives nothing back: no policy goes on losing them.
#[test]
fn a_dead_spine() {
    for (policy, least) in [
        (PathPolicy::Oblivious, 75),
        (PathPolicy::Bitmap, 75),
        (PathPolicy::Reps, 70),
        (PathPolicy::Mixed, 88),
        (PathPolicy::Dwrr, 75),
        (PathPolicy::MpRdma, 70),
    ] {
        let outcome = outcome(policy, Trouble::Dead);
        assert!(outcome.mean >= least && outcome.again < 40, "{policy:?}");
    }
}

/// Trouble moves from spine to spine, as when others hash badly for a while. Who runs
/// from it all at once makes the next spine hot, and the next.
#[test]
fn alternating_hot_spines() {
    let control = outcome(PathPolicy::Oblivious, Trouble::Alternating);
    assert!(control.mean < 40);
    let mixed = outcome(PathPolicy::Mixed, Trouble::Alternating);
    assert!(mixed.mean >= 78 && mixed.least >= 70);
    assert!(mixed.again < 5);
    let reps = outcome(PathPolicy::Reps, Trouble::Alternating);
    assert!(reps.mean >= 55 && reps.mean < mixed.mean);
}

/// Policy and number of paths change in the middle of a transfer, which goes on, and
/// makes more of it.
#[test]
fn changes_while_connected() {
    let mut net = network(PathPolicy::Oblivious, 3);
    net.directions[CLIENT].paths[0].rate = SPINE / 4;
    net.run(200 * MSEC, |_| false);
    let capacity = 3 * SPINE + SPINE / 4;
    let before = goodput(&mut net, 100 * MSEC, 200 * MSEC, capacity);
    let now = net.now;
    net.client().conn.set_policy(PathPolicy::Mixed, now);
    net.run(400 * MSEC, |_| false);
    let after = goodput(&mut net, 300 * MSEC, 400 * MSEC, capacity);
    assert!(before < 40 && after > 80, "{before} % and {after} %");
    assert_eq!(net.client().conn.policy(), PathPolicy::Mixed);
    let now = net.now;
    net.client().conn.set_paths(16, now);
    assert_eq!(net.client().conn.info().paths, 16);
    net.run(500 * MSEC, |_| false);
    assert!(goodput(&mut net, 450 * MSEC, 500 * MSEC, capacity) > 70);
    let now = net.now;
    net.client().conn.set_policy(PathPolicy::Single, now);
    net.run(600 * MSEC, |_| false);
    assert!(goodput(&mut net, 550 * MSEC, 600 * MSEC, capacity) < 35);
    assert_eq!(net.count(CLIENT, Counter::DropAckEcho), 0);
}

/// An administrator takes a spine out of use before work is done on it.
#[test]
fn denied_paths_carry_nothing() {
    let mut net = network(PathPolicy::Mixed, 5);
    net.run(100 * MSEC, |_| false);
    let now = net.now;
    let base = net.client().conn.entropy_base();
    let paths = net.client().conn.info().paths;
    for index in 0..paths {
        if net.directions[CLIENT].path(base + index) == 0 {
            assert!(net.client().conn.deny_path(index, true, now));
            let state = net.client().conn.path_state(index);
            assert_eq!(state, Some(PathState::Denied));
        }
    }
    // What has left already still arrives.
    net.run(110 * MSEC, |_| false);
    let before = net.directions[CLIENT].paths[0].carried;
    net.run(300 * MSEC, |_| false);
    assert_eq!(net.directions[CLIENT].paths[0].carried, before);
    assert!(goodput(&mut net, 200 * MSEC, 300 * MSEC, 3 * SPINE) > 80);
}

/// The first window is a draw of a few paths. A spine that it leaves out is found all the
/// same, although nothing is marked and all that was tried is as good as the rest.
#[test]
fn mixed_leaves_no_spine_out() {
    const BYTES: u64 = 2_000_000;
    let mut late = 0;
    for seed in 0..500 {
        let spine = demo::spine(60_000, 120_000);
        let mut setup = Setup::new(BYTES).paths(vec![spine; 4]);
        setup.seed = seed;
        for (i, direction) in setup.directions.iter_mut().enumerate() {
            direction.hash = Some(mix(2 * seed + i as u64));
        }
        for config in [&mut setup.client, &mut setup.server] {
            config.set_profile(Profile::Strack);
            config.mss = 4140;
            config.paths = 128;
            config.link_bytes_per_sec = 4 * SPINE;
            config.min_target = MSEC;
            config.seed = mix(seed + 1000);
        }
        let mut net = setup.start();
        net.finish(10 * SEC);
        let spines = &net.directions[CLIENT].paths;
        let carried: Vec<_> = spines.iter().map(|link| link.carried).collect();
        let least = carried.iter().min().expect("a spine");
        late += u32::from(least * 10 <= BYTES);
        assert!(least * 50 > BYTES, "seed {seed}: {carried:?}");
    }
    // One draw in a hundred finds it late.
    println!("{late} of 500");
    assert!(late <= 10, "{late}");
}
