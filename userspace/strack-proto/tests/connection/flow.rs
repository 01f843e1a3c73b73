// SPDX-License-Identifier: GPL-2.0

//! Readers that are slower than the network.

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
    config::PathPolicy,
    counter::Counter,
    wire::Packet,
    MSEC,
    SEC,
    USEC, //
};

#[test]
fn slow_reader() {
    let mut setup = Setup::new(1_000_000);
    setup.server.rcv_window = 20_000;
    setup.apps[SERVER].read_max = 5_000;
    setup.apps[SERVER].read_every = 200 * USEC;
    let mut net = setup.start();
    net.finish(10 * SEC);
    assert_eq!(net.retransmissions[CLIENT], 0);
    assert_eq!(net.count(SERVER, Counter::DropWindow), 0);
}

/// Windows of any size, smaller than a packet too.
#[test]
fn tiny_windows() {
    for window in [0, 1, 100, 1399, 1400, 1401, 2800, 3000, 10_000] {
        let mut setup = Setup::new(100_000);
        setup.server.rcv_window = window;
        setup.apps[SERVER].read_max = 700;
        let mut net = setup.start();
        net.finish(10 * SEC);
        assert_eq!(net.retransmissions[CLIENT], 0, "window {window}");
    }
}

/// Many tiny packets: the credit in packets runs out long before the window does.
#[test]
fn packet_credit() {
    let mut setup = Setup::new(20_000);
    setup.client.mss = 64;
    setup.server.mss = 64;
    setup.server.window_packets = 64;
    setup.apps[SERVER].no_reading = Some((0, 50 * MSEC));
    let mut net = setup.start();
    net.run(40 * MSEC, |_| false);
    assert_eq!(net.data[CLIENT], 64);
    net.finish(10 * SEC);
    assert_eq!(net.retransmissions[CLIENT], 0);
}

/// The reader stops for a long time; the window is closed, and the ACK that opens it
/// gets lost.
#[test]
fn lost_window_update() {
    for lost in [0, 1, 5] {
        let mut setup = Setup::new(100_000);
        setup.server.rcv_window = 30_000;
        setup.apps[SERVER].no_reading = Some((0, 300 * MSEC));
        let mut net = setup.start();
        net.run(299 * MSEC, |_| false);
        assert_eq!(net.server().read, 0);
        let probes = net.count(CLIENT, Counter::ProbeWindow);
        // With back-off, not all the time.
        assert!((3..=12).contains(&probes), "{probes}");
        let mut left = lost;
        net.censor = Some(Box::new(move |_, datagram, packet| {
            let is = datagram.to == CLIENT && matches!(packet, Packet::Ack(_));
            let lost = is && left > 0;
            left -= i32::from(lost);
            lost
        }));
        net.finish(10 * SEC);
        assert_eq!(net.retransmissions[CLIENT], 0);
    }
}

/// The first ACK that opens a closed window gets lost: the second one takes another path.
#[test]
fn window_update_is_told_twice() {
    let mut setup = Setup::new(31_000);
    setup.server.rcv_window = 30_000;
    setup.apps[SERVER].no_reading = Some((0, 300 * MSEC));
    let mut net = setup.start();
    net.run(299 * MSEC, |_| false);
    let mut left = 1;
    net.censor = Some(Box::new(move |_, datagram, packet| {
        let is = datagram.to == CLIENT && matches!(packet, Packet::Ack(_));
        let lost = is && left > 0;
        left -= i32::from(lost);
        lost
    }));
    net.run(301 * MSEC, |_| false);
    assert_eq!(net.server().read, 31_000);
}

/// As long as the peer answers, a closed window is no reason to give up.
#[test]
fn closed_for_long() {
    let mut setup = Setup::new(100_000);
    setup.client.retries = 3;
    setup.client.rto_max = 100 * MSEC;
    setup.server.rcv_window = 30_000;
    setup.apps[SERVER].no_reading = Some((0, 20 * SEC));
    let mut net = setup.start();
    net.finish(40 * SEC);
}

/// A closed window and a dead peer.
#[test]
fn closed_for_ever() {
    let mut setup = Setup::new(100_000);
    setup.client.retries = 5;
    setup.server.rcv_window = 30_000;
    setup.apps[SERVER].no_reading = Some((0, 20 * SEC));
    let mut net = setup.start();
    net.run(20 * MSEC, |_| false);
    net.censor = Some(Box::new(|_, _, _| true));
    assert!(net.run(10 * SEC, |net| net.client().closed()));
    assert!(net.client().conn.failure().is_some());
}

#[test]
fn window_is_changed_on_the_way() {
    let mut setup = Setup::new(3_000_000);
    setup.server.rcv_window = 5_000;
    let mut net = setup.start();
    for (i, bytes) in [100_000, 2_000, 1_000_000, 1].into_iter().enumerate() {
        net.run((i as u64 + 1) * 5 * MSEC, |_| false);
        net.server().conn.set_rcv_window(bytes);
        net.pump(SERVER);
    }
    net.server().conn.set_rcv_window(50_000);
    net.pump(SERVER);
    net.finish(10 * SEC);
    assert_eq!(net.retransmissions[CLIENT], 0);
}

/// The client wants a smaller window while it is connecting. The server may have been told
/// of the larger one already, and it stands.
#[test]
fn window_is_changed_while_connecting() {
    for before_init in [true, false] {
        let mut setup = Setup::new(0);
        setup.apps[SERVER] = App::writer(1_000_000);
        let mut net = setup.start();
        if !before_init {
            // The second INIT has left.
            net.run(250 * USEC, |_| false);
        }
        assert!(net.ends[SERVER].is_none());
        net.client().conn.set_rcv_window(65_536);
        net.finish(3 * SEC);
        assert_eq!(net.count(SERVER, Counter::DropAckCredit), 0);
        assert_eq!(net.retransmissions[SERVER], 0);
    }
}

/// Number and order of paths, packet size and timeouts change under way.
#[test]
fn knobs_are_turned_on_the_way() {
    let path = Link {
        rate: 20_000_000,
        ..Link::new(100 * USEC)
    };
    let mut setup = Setup::new(8_000_000).paths(vec![path; 8]);
    setup.apps[SERVER] = App::writer(1_000_000);
    let mut net = setup.start();
    let mut at = 5 * MSEC;
    for (paths, policy) in [
        (1, PathPolicy::Oblivious),
        (256, PathPolicy::RoundRobin),
        (7, PathPolicy::Oblivious),
        (64, PathPolicy::Mixed),
        (3, PathPolicy::Bitmap),
        (256, PathPolicy::MpRdma),
        (4, PathPolicy::PerPath),
        (100, PathPolicy::Dwrr),
        (33, PathPolicy::Reps),
        (64, PathPolicy::BestRtt),
        (9, PathPolicy::Single),
        (128, PathPolicy::Oblivious),
    ] {
        net.run(at, |_| false);
        at += 5 * MSEC;
        let now = net.now;
        let conn = &mut net.client().conn;
        conn.set_paths(paths, now);
        conn.set_policy(policy, now);
        conn.set_rto_min(MSEC);
        conn.on_path_mtu(1400 - paths);
        assert_eq!(conn.info().paths, paths);
        assert_eq!(conn.mss(), 1400 - paths);
        net.pump(CLIENT);
    }
    // What was agreed on stays the limit, whatever the path takes.
    net.client().conn.on_path_mtu(9000);
    assert_eq!(net.client().conn.mss(), 1400);
    net.finish(10 * SEC);
    assert_eq!(net.retransmissions[CLIENT], 0);
    assert_eq!(net.count(CLIENT, Counter::DropAckEcho), 0);
}
