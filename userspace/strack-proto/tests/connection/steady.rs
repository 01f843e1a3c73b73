// SPDX-License-Identifier: GPL-2.0

//! What must not disturb a sender: slow paths, marks without delay, and paths that
//! become hot in turn.

use crate::{
    endpoint::App,
    link::{
        Direction,
        Link, //
    },
    network::{
        Network,
        Setup,
        CLIENT,
        SERVER, //
    },
};
use strack_proto::{
    config::{
        PathPolicy,
        Profile, //
    },
    counter::Counter,
    window,
    Ns,
    MSEC,
    SEC,
    USEC, //
};

const PROFILES: [Profile; 2] = [Profile::Stellar, Profile::Strack];

const GIGABIT: u64 = 125_000_000;

/// `paths` links of 1 Gb/s that mark, hosts that are as fast as all of them.
fn fabric(paths: usize, seed: u64) -> Direction {
    let link = Link {
        rate: GIGABIT,
        queue: 200_000,
        mark_from: 20_000,
        mark_all: 80_000,
        mark_ppm: 200_000,
        ..Link::new(100 * USEC)
    };
    let mut direction = Direction::new(vec![link; paths]);
    direction.access.rate = paths as u64 * GIGABIT;
    direction.access.queue = 10_000_000;
    direction.hash = Some(seed);
    direction
}

fn setup(bytes: u64, paths: usize, profile: Profile, seed: u64) -> Setup {
    let mut setup = Setup::new(bytes);
    setup.apps = [App::writer(bytes), App::reader()];
    setup.directions = [fabric(paths, seed), fabric(paths, seed + 1000)];
    setup.seed = seed;
    for config in [&mut setup.client, &mut setup.server] {
        config.set_profile(profile);
        config.link_bytes_per_sec = paths as u64 * GIGABIT;
        config.seed += seed;
    }
    setup
}

/// Packets sent, sent again, and lost, with one path slower by so many base RTTs.
fn with_slow_path(mut setup: Setup, rtts: u64) -> (u64, u64, u64) {
    // 200 us, and a packet on each of two links.
    let rtt = 2 * 100 * USEC + 14 * USEC;
    setup.directions[CLIENT].paths[2].delay += rtts * rtt;
    let mut net = setup.start();
    net.finish(10 * SEC);
    let links = net.directions[CLIENT].paths.iter();
    let lost = links.map(|link| link.dropped).sum();
    (net.data[CLIENT], net.retransmissions[CLIENT], lost)
}

/// Nothing is lost, so nothing is sent again, though one path is slower by a whole RTT;
/// with two, hardly anything is, before the sender knows.
#[test]
fn slow_path_is_no_loss() {
    for profile in PROFILES {
        for rtts in 0..=2 {
            for burst in [1, 44] {
                let (mut sent, mut again) = (0, 0);
                for seed in 0..10 {
                    // A long stream, and a short one that is hardly more than a window.
                    for bytes in [8_000_000, 150_000] {
                        let mut setup = setup(bytes, 8, profile, seed);
                        setup.client.burst_max = burst;
                        let one = with_slow_path(setup, rtts);
                        assert_eq!(one.2, 0);
                        sent += one.0;
                        again += one.1;
                    }
                }
                println!("{profile:?}, {rtts} RTTs, bursts of {burst}: {again} of {sent}");
                let most = if rtts < 2 { 0 } else { sent / 100 };
                assert!(
                    again <= most,
                    "{profile:?} {rtts} {burst}: {again} of {sent}"
                );
            }
        }
    }
}

/// Requests with pauses between them: each has a tail, and often the slow path is in it.
#[test]
fn slow_path_in_the_tail_is_no_loss() {
    for rtts in 0..=2 {
        let (mut sent, mut again, mut probes) = (0, 0, 0);
        for seed in 0..10 {
            let mut setup = setup(0, 8, Profile::Strack, seed);
            setup.client.burst_max = 1;
            setup.apps[CLIENT].finish = false;
            setup.directions[CLIENT].paths[2].delay += rtts * 214 * USEC;
            let mut net = setup.start();
            net.run_for(5 * MSEC);
            for message in 1..=100 {
                net.client().app.write = message * 30_000;
                net.pump(CLIENT);
                net.run_for(3 * MSEC);
                assert_eq!(net.server().read, message * 30_000);
            }
            sent += net.data[CLIENT];
            again += net.retransmissions[CLIENT];
            probes += net.count(CLIENT, Counter::ProbeTail);
        }
        println!("{rtts} RTTs: {again} of {sent} sent again, {probes} probes");
        let most = if rtts < 2 { 0 } else { sent / 100 };
        assert!(again <= most, "{rtts}: {again} of {sent}");
    }
}

/// The network loses only ACKs, a third of them: what they would have told, that this or
/// that has arrived, is told by others soon enough.
#[test]
fn lost_acks_are_no_loss() {
    let (mut sent, mut again) = (0, 0);
    for seed in 0..10 {
        let mut setup = setup(8_000_000, 8, Profile::Strack, seed);
        for (i, link) in setup.directions[SERVER].paths.iter_mut().enumerate() {
            link.loss_ppm = 333_000;
            link.delay += i as u64 * 20 * USEC;
        }
        let mut net = setup.start();
        net.finish(10 * SEC);
        let links = net.directions[CLIENT].paths.iter();
        assert_eq!(links.map(|link| link.dropped).sum::<u64>(), 0);
        sent += net.data[CLIENT];
        again += net.retransmissions[CLIENT];
    }
    println!("{again} of {sent} sent again");
    assert!(again * 1000 < sent, "{again} of {sent}");
}

/// How long a transfer takes.
fn duration(mut net: Network) -> Ns {
    net.finish(10 * SEC);
    net.server().log.last().expect("data").0
}

/// A host that merges packets answers a train of marked ones with one ACK. All of them count
/// as marked: for the window, which stays as it is, and for the path.
#[test]
fn one_ack_for_a_marked_train() {
    let marking = Link {
        mark_from: 0,
        mark_all: 0,
        ..Link::new(100 * USEC)
    };
    let mut all = Setup::new(4_000_000)
        .paths(vec![marking.clone(); 4])
        .start();
    all.merge = true;
    let first = all.client().conn.info().cwnd;
    all.finish(10 * SEC);
    assert!(all.trains[CLIENT] * 3 < all.data[CLIENT]);
    assert_eq!(all.client().conn.info().cwnd, first);

    let mut links = vec![Link::new(100 * USEC); 4];
    links[0] = marking;
    let mut setup = Setup::new(4_000_000).paths(links);
    setup.client.set_profile(Profile::Strack);
    let mut net = setup.start();
    net.merge = true;
    net.finish(10 * SEC);
    let carried: Vec<_> = net.directions[0]
        .paths
        .iter()
        .map(|link| link.carried)
        .collect();
    let fair = carried.iter().sum::<u64>() / 4;
    assert!(carried[0] < fair / 4 * 3, "{carried:?}");
}

/// A switch that marks although it has no queue: that says nothing of how fast to send.
#[test]
fn marks_without_delay_slow_nobody() {
    let run = |marking: usize, initial_window, seed| {
        let mut setup = setup(20_000_000, 8, Profile::Strack, seed);
        // An adaptive policy would leave these paths.
        setup.client.policy = PathPolicy::Oblivious;
        setup.client.initial_window = initial_window;
        for direction in &mut setup.directions {
            for (i, link) in direction.paths.iter_mut().enumerate() {
                let from = if i < marking { 0 } else { u64::MAX };
                (link.mark_from, link.mark_all) = (from, from);
            }
        }
        duration(setup.start())
    };
    for initial_window in [20_000, 65_536] {
        let all = |marking| -> Ns { (0..6).map(|seed| run(marking, initial_window, seed)).sum() };
        let free = all(0);
        for marking in [1, 4] {
            let took = all(marking);
            println!("from {initial_window}, {marking} of 8 mark: {took} instead of {free} ns");
            assert!(
                took < free + free / 33,
                "{marking}: {took} instead of {free}"
            );
        }
    }
}

/// Goodput over four links, each of which in turn is suddenly full of other traffic, in
/// percent of what that leaves.
fn alternating(policy: PathPolicy, seed: u64, change: impl Fn(&mut window::Params)) -> u64 {
    let mut setup = setup(100_000_000, 4, Profile::Strack, seed);
    for config in [&mut setup.client, &mut setup.server] {
        config.policy = policy;
        change(&mut config.nscc);
    }
    let mut net = setup.start();
    net.run(10 * MSEC, |_| false);
    let start = net.server().read;
    // 75 kB, which take 600 us, every 1 ms.
    let (other, period, rounds) = (75_000, MSEC, 40);
    for round in 0..rounds {
        let now = net.now;
        let hot = &mut net.directions[CLIENT].paths[round as usize % 4];
        hot.free_at = hot.free_at.max(now) + other * SEC / hot.rate;
        net.run_for(period);
    }
    let left = 4 * GIGABIT * period / SEC * rounds - other * rounds;
    (net.server().read - start) * 100 / left
}

/// Paths that become hot in turn do not make the window swing: there is always one with
/// a queue of three target delays and marks, but that is one of four.
#[test]
fn alternating_hot_paths_are_damped() {
    for seed in 0..6 {
        // The policy shall not help.
        let policy = PathPolicy::Oblivious;
        let damped = alternating(policy, seed, |_| ());
        // One bound and one control: no decrease at all, and one for each late sample.
        let never = alternating(policy, seed, |params| params.gamma_percent = 0);
        let each = alternating(policy, seed, |params| {
            params.delay_samples = 1;
            params.average_percent = 1;
        });
        println!("seed {seed}: {damped} %, without decrease {never} %, undamped {each} %");
        assert!(damped * 4 >= never * 3, "seed {seed}: {damped} of {never}");
        assert!(damped * 10 >= each * 15, "seed {seed}: {damped} and {each}");
    }
}
