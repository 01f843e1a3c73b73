// SPDX-License-Identifier: GPL-2.0

//! A fabric of four spines.

use crate::{
    endpoint::App,
    link::{
        Direction,
        Link, //
    },
    network::{
        Setup,
        CLIENT,
        SERVER, //
    },
};
use strack_proto::{
    config::Profile,
    counter::Counter,
    MSEC,
    SEC,
    USEC, //
};

const SPINE: u64 = 12_500_000;

/// Four spines of 100 Mb/s, hosts of 400 Mb/s.
fn spines(seed: u64) -> Direction {
    let spine = Link {
        rate: SPINE,
        queue: 200_000,
        mark_from: 30_000,
        mark_all: 90_000,
        mark_ppm: 100_000,
        ..Link::new(100 * USEC)
    };
    let mut direction = Direction::new(vec![spine; 4]);
    direction.access.rate = 4 * SPINE;
    direction.access.queue = 4_000_000;
    direction.hash = Some(seed);
    direction
}

/// One connection fills the spines as far as its paths allow it, which are hashed onto them
/// unevenly and all used alike.
#[test]
fn one_connection_fills_all_spines() {
    let mut sum = 0;
    for (seed, link) in (0..6).flat_map(|seed| [(seed, 4 * SPINE), (seed, 1_250_000_000)]) {
        let mut setup = Setup::new(0);
        setup.apps = [App::writer(40_000_000), App::reader()];
        setup.directions = [spines(seed), spines(seed + 100)];
        setup.seed = seed;
        for config in [&mut setup.client, &mut setup.server] {
            config.mss = 4096;
            config.link_bytes_per_sec = link;
            config.seed = seed;
        }
        let mut net = setup.start();
        net.finish(20 * SEC);
        let log = &net.server().log;
        // The steady state: without the first 100 ms and the last tenth.
        let from = log.iter().find(|(at, _)| *at > 100 * MSEC).copied();
        let to = log[log.len() * 9 / 10];
        let from = from.expect("a long transfer");
        let rate = (to.1 - from.1) * SEC / (to.0 - from.0);
        let percent = rate * 100 / (4 * SPINE);
        let info = net.client().conn.info();
        let spines = &net.directions[CLIENT].paths;
        let busiest = spines
            .iter()
            .map(|link| link.carried)
            .max()
            .expect("a spine");
        let carried: u64 = spines.iter().map(|link| link.carried).sum();
        let allowed = carried * 100 / (4 * busiest);
        println!(
            "seed {seed} link {link}: {percent} of {allowed} %, {} sent again, queues {:?}, dropped {:?}, \
             share {:?}, cwnd {}, srtt {}, base {}, marks {}, acks {} for {}",
            net.retransmissions[CLIENT],
            spines
                .iter()
                .map(|link| link.high_water)
                .collect::<Vec<_>>(),
            spines.iter().map(|link| link.dropped).collect::<Vec<_>>(),
            spines
                .iter()
                .map(|link| link.carried / 420_000)
                .collect::<Vec<_>>(),
            info.cwnd,
            info.srtt,
            info.base_rtt,
            info.ce_marks,
            net.acks[SERVER],
            net.data[CLIENT],
        );
        assert_eq!(net.retransmissions[CLIENT], 0);
        assert_eq!(net.count(CLIENT, Counter::Timeouts), 0);
        assert!(percent * 100 >= allowed * 85, "{percent} of {allowed} %");
        assert!(percent >= 65, "{percent} %");
        sum += percent;
    }
    assert!(sum >= 12 * 75, "{sum} % in 12 runs");
}

/// A 10 Gb/s host on eight spines of half its speed, with the default settings: near
/// line rate, nothing sent twice, and packets leave in trains.
#[test]
fn ten_gigabits() {
    for (_, profile) in Profile::ALL {
        for (mss, train) in [(1420, 5), (8900, 1)] {
            line_rate(profile, mss, train);
        }
    }
}

fn line_rate(profile: Profile, mss: u16, train: u64) {
    let line = 1_250_000_000;
    let spine = Link {
        rate: line / 2,
        queue: 500_000,
        mark_from: 30_000,
        mark_all: 120_000,
        mark_ppm: 200_000,
        ..Link::new(40 * USEC)
    };
    let direction = || {
        let mut direction = Direction::new(vec![spine.clone(); 8]);
        direction.access.rate = line;
        direction.access.queue = 10_000_000;
        direction.hash = Some(7);
        direction
    };
    let mut setup = Setup::new(100_000_000);
    setup.directions = [direction(), direction()];
    for config in [&mut setup.client, &mut setup.server] {
        config.mss = mss;
        config.set_profile(profile);
    }
    let mut net = setup.start();
    net.finish(5 * SEC);
    let took = net.server().log.last().expect("data").0;
    let percent = 100_000_000 * SEC / took * 100 / line;
    let (data, trains, acks) = (net.data[CLIENT], net.trains[CLIENT], net.acks[SERVER]);
    println!(
        "{}, mss {mss}: {percent} %, {data} packets in {trains} trains, {acks} ACKs",
        profile.name()
    );
    assert!(percent >= 85, "mss {mss}: {percent} %");
    assert_eq!(net.retransmissions[CLIENT], 0);
    assert!(data >= train * trains && data >= train * acks);
}
