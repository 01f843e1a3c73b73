// SPDX-License-Identifier: GPL-2.0

//! Transfers over a network that loses nothing.

use crate::{
    endpoint::App,
    link::Link,
    network::{
        Setup,
        CLIENT,
        SERVER, //
    },
};
use strack_proto::{
    counter::Counter,
    MSEC,
    SEC,
    USEC, //
};

#[test]
fn one_way() {
    let mut net = Setup::new(1_000_000).start();
    net.finish(5 * SEC);
    assert_eq!(net.retransmissions, [0, 0]);
    // The handshake takes two round trips, the rest a few.
    let done = net.server().log.last().expect("data").0;
    assert!(done < 10 * MSEC, "{done}");
}

#[test]
fn nothing_at_all() {
    let mut net = Setup::new(0).start();
    net.finish(5 * SEC);
    assert_eq!(net.data, [1, 1]);
}

#[test]
fn both_ways() {
    let mut setup = Setup::new(500_000);
    setup.apps = [App::writer(500_000), App::writer(700_000)];
    let mut net = setup.start();
    net.finish(5 * SEC);
    assert_eq!(net.retransmissions, [0, 0]);
}

#[test]
fn across_the_wrap() {
    let mut setup = Setup::new(2_000_000);
    setup.isns = [u32::MAX - 100, u32::MAX];
    let mut net = setup.start();
    net.finish(5 * SEC);
    assert_eq!(net.retransmissions, [0, 0]);
}

/// Paths of very different length, up to one base RTT more, are no loss.
#[test]
fn reordering_causes_no_retransmission() {
    for seed in 0..20 {
        let paths = (0..128)
            .map(|i| Link::new(100 * USEC + (i * 77 + seed * 13) % 128 * 200 * USEC / 127))
            .collect();
        let mut setup = Setup::new(4_000_000).paths(paths);
        setup.seed = seed;
        setup.client.seed = seed;
        let mut net = setup.start();
        net.finish(10 * SEC);
        assert_eq!(net.retransmissions, [0, 0], "seed {seed}");
        assert!(net.server().conn.info().ooo_high_water > 10);
    }
}

/// A single path that is a whole base RTT longer than all others.
#[test]
fn one_slow_path_causes_no_retransmission() {
    for slow in 0..16 {
        let mut paths = vec![Link::new(100 * USEC); 128];
        paths[slow * 8].delay += 200 * USEC;
        let mut setup = Setup::new(4_000_000).paths(paths);
        setup.seed = slow as u64;
        let mut net = setup.start();
        net.finish(10 * SEC);
        assert_eq!(net.retransmissions, [0, 0], "path {slow}");
    }
}

/// A path of sixteen that is one, two and five base RTTs longer, with queues.
#[test]
fn much_slower_path() {
    for (extra, ppm) in [(1, 0), (2, 1000), (5, 1000)] {
        let path = Link {
            rate: 40_000_000,
            queue: 1_000_000,
            ..Link::new(100 * USEC)
        };
        let mut paths = vec![path; 16];
        paths[5].delay += extra * 200 * USEC;
        let mut setup = Setup::new(40_000_000).paths(paths);
        setup.client.link_bytes_per_sec = 640_000_000;
        let mut net = setup.start();
        net.finish(10 * SEC);
        let (again, sent) = (net.retransmissions[CLIENT], net.data[CLIENT]);
        println!("+{extra} RTT: {again} of {sent} sent again");
        assert!(
            again * 1_000_000 <= sent * ppm,
            "+{extra}: {again} of {sent}"
        );
    }
}

/// Packets that overtake each other even on one path.
#[test]
fn jitter_causes_no_retransmission() {
    let path = Link {
        jitter: 150 * USEC,
        ..Link::new(100 * USEC)
    };
    let mut net = Setup::new(4_000_000).paths(vec![path; 16]).start();
    net.finish(10 * SEC);
    assert_eq!(net.retransmissions, [0, 0]);
}

/// ACKs are for several packets, and nothing answers an ACK.
#[test]
fn acks_are_few() {
    let mut net = Setup::new(10_000_000).start();
    net.finish(10 * SEC);
    assert!(
        net.acks[SERVER] * 2 < net.data[CLIENT],
        "{:?} {:?}",
        net.acks,
        net.data
    );
    assert!(net.acks[CLIENT] <= 4, "{:?}", net.acks);
}

/// Every packet twice: each copy is answered at most once, and no more than that.
#[test]
fn duplicates_are_harmless() {
    let path = Link {
        dup_ppm: 1_000_000,
        ..Link::new(100 * USEC)
    };
    let mut net = Setup::new(1_000_000).paths(vec![path; 8]).start();
    net.finish(10 * SEC);
    assert_eq!(net.retransmissions, [0, 0]);
    assert!(net.count(SERVER, Counter::DupReceived) >= net.data[CLIENT]);
    assert!(net.acks[SERVER] <= 2 * net.data[CLIENT] + 4);
}

/// Tiny writes are gathered while they wait to be sent.
#[test]
fn small_writes_fill_packets() {
    let mut setup = Setup::new(200_000);
    setup.apps[CLIENT].write_max = 20;
    let mut net = setup.start();
    net.finish(5 * SEC);
    assert!(net.data[CLIENT] < 300, "{:?}", net.data);
}
