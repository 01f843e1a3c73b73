// SPDX-License-Identifier: GPL-2.0

//! Setting up a connection, over a network that loses any part of it.

use crate::{
    endpoint::App,
    link::Link,
    network::{
        Network,
        Setup,
        CLIENT,
        CLIENT_IDS,
        SERVER, //
    },
};
use strack_proto::{
    connection::{
        Events,
        Failure,
        State, //
    },
    counter::Counter,
    wire::{
        AcceptHeader,
        ChallengeHeader,
        Packet,
        ResetCode,
        ResetHeader,
        VersionHeader, //
    },
    MSEC,
    SEC,
    USEC, //
};

/// Loses the first `count` packets for which `is` holds.
fn lose(net: &mut Network, mut count: u32, is: fn(&Packet) -> bool) {
    net.censor = Some(Box::new(move |_, _, packet| {
        let lost = count > 0 && is(packet);
        count -= u32::from(lost);
        lost
    }));
}

/// The censor sees packets when they enter the network.
fn is_first_init(packet: &Packet) -> bool {
    matches!(packet, Packet::Init(init) if init.cookie_time == 0)
}

fn is_second_init(packet: &Packet) -> bool {
    matches!(packet, Packet::Init(init) if init.cookie_time != 0)
}

fn is_challenge(packet: &Packet) -> bool {
    matches!(packet, Packet::Challenge(_))
}

fn is_accept(packet: &Packet) -> bool {
    matches!(packet, Packet::Accept(_))
}

fn is_ack(packet: &Packet) -> bool {
    matches!(packet, Packet::Ack(_))
}

#[test]
fn takes_two_round_trips() {
    let mut net = Setup::new(10_000).start();
    assert!(net.run(SEC, |net| net.client().saw(Events::CONNECTED)));
    assert_eq!(net.now, 400 * USEC);
    assert!(net.ends[SERVER].is_some());
    net.finish(2 * SEC);
    for which in [CLIENT, SERVER] {
        assert_eq!(net.count(which, Counter::HandshakeRetrans), 0);
    }
}

#[test]
fn any_part_may_be_lost() {
    let parts = [
        is_first_init,
        is_challenge,
        is_second_init,
        is_accept,
        is_ack,
    ];
    for (i, part) in parts.into_iter().enumerate() {
        for count in 1..4 {
            let mut setup = Setup::new(10_000);
            setup.apps = [App::writer(10_000), App::writer(20_000)];
            let mut net = setup.start();
            lose(&mut net, count, part);
            net.finish(2 * SEC);
            let opened = net.server().log.first().expect("data").0;
            assert!(opened < 30 * MSEC, "part {i} lost {count} times: {opened}");
        }
    }
}

/// A server with nothing to say learns that the client never came.
#[test]
fn client_vanishes() {
    let mut setup = Setup::new(0);
    setup.server.retries = 6;
    let mut net = setup.start();
    net.censor = Some(Box::new(|_, _, packet| is_accept(packet) || is_ack(packet)));
    net.run(SEC, |net| net.ends[SERVER].is_some());
    net.censor = Some(Box::new(|_, _, _| true));
    assert!(net.run(10 * SEC, |net| net.server().closed()));
    assert_eq!(net.server().conn.failure(), Some(Failure::TimedOut));
}

#[test]
fn nobody_answers() {
    let mut setup = Setup::new(10_000);
    setup.client.retries = 6;
    let mut net = setup.start();
    net.censor = Some(Box::new(|_, _, _| true));
    assert!(net.run(10 * SEC, |net| net.client().closed()));
    assert_eq!(net.client().conn.failure(), Some(Failure::TimedOut));
    assert_eq!(net.count(CLIENT, Counter::InitSent), 7);
    assert_eq!(net.count(CLIENT, Counter::OpenFailed), 1);
    // 1 ms doubled six times.
    assert_eq!(net.now, 127 * MSEC);
}

#[test]
fn everything_comes_twice() {
    let path = Link {
        dup_ppm: 1_000_000,
        jitter: 300 * USEC,
        ..Link::new(100 * USEC)
    };
    for seed in 0..20 {
        let mut setup = Setup::new(20_000).paths(vec![path.clone(); 4]);
        setup.seed = seed;
        let mut net = setup.start();
        net.finish(2 * SEC);
    }
}

/// Lets a client send its first INIT and hands it `answer`.
fn answered(answer: &Packet) -> Network {
    let mut net = Setup::new(10_000).start();
    net.censor = Some(Box::new(|_, datagram, _| datagram.to == SERVER));
    net.run(100 * USEC, |_| false);
    net.send_header(CLIENT, 50_000, answer);
    net.run(900 * USEC, |_| false);
    net
}

fn reset(tag: u32, flags: u8) -> Packet {
    Packet::Reset(ResetHeader {
        flags,
        dcid: CLIENT_IDS.cid,
        tag,
        code: ResetCode::Refused,
        psn: Default::default(),
    })
}

#[test]
fn refused() {
    let mut net = answered(&reset(CLIENT_IDS.tag, 0));
    assert_eq!(net.client().conn.failure(), Some(Failure::Refused));
    assert!(net.client().saw(Events::FAILED));
    assert!(net.client().saw(Events::CLOSED));
    // Whoever does not know the tag cannot refuse, and before there is a peer nobody
    // can reflect.
    for wrong in [
        reset(CLIENT_IDS.tag + 1, 0),
        reset(0, 1),
        reset(CLIENT_IDS.tag, 1),
    ] {
        let mut net = answered(&wrong);
        assert_eq!(net.client().conn.state(), State::Connecting);
        assert_eq!(net.count(CLIENT, Counter::DropTag), 1);
    }
}

#[test]
fn other_versions_only() {
    let mut header = VersionHeader {
        dcid: CLIENT_IDS.cid,
        tag: CLIENT_IDS.tag,
        count: 2,
        versions: [2, 3, 0, 0, 0, 0, 0, 0],
    };
    let mut net = answered(&Packet::Version(header));
    assert_eq!(net.client().conn.failure(), Some(Failure::Protocol));
    // A list with our version in it is no reason to give up.
    header.versions[1] = 1;
    let mut net = answered(&Packet::Version(header));
    assert_eq!(net.client().conn.failure(), None);
}

#[test]
fn forged_challenge_and_accept() {
    let challenge = ChallengeHeader {
        dcid: CLIENT_IDS.cid,
        tag: CLIENT_IDS.tag + 1,
        cookie_time: 5,
        cookie_mac: 6,
    };
    let mut net = answered(&Packet::Challenge(challenge));
    assert_eq!(net.count(CLIENT, Counter::DropTag), 1);
    // Nobody accepts before the cookie was returned.
    let accept = AcceptHeader {
        dcid: CLIENT_IDS.cid,
        tag: CLIENT_IDS.tag,
        sock_type: 1,
        scid: 9,
        max_payload: 1400,
        credit: 64,
        ..AcceptHeader::default()
    };
    assert_eq!(net.client().conn.state(), State::Connecting);
    let mut net = answered(&Packet::Accept(accept));
    assert_eq!(net.client().conn.state(), State::Connecting);
    assert_eq!(net.count(CLIENT, Counter::DropState), 1);
}

#[test]
fn icmp_ends_only_an_attempt() {
    let mut net = Setup::new(10_000).start();
    net.run(100 * USEC, |_| false);
    let now = net.now;
    net.client().conn.on_unreachable(now, false);
    assert_eq!(net.client().conn.state(), State::Connecting);
    net.client().conn.on_unreachable(now, true);
    assert_eq!(net.client().conn.failure(), Some(Failure::Unreachable));

    let mut net = Setup::new(10_000).start();
    assert!(net.run(SEC, |net| net.client().saw(Events::CONNECTED)));
    let now = net.now;
    net.client().conn.on_unreachable(now, true);
    net.finish(2 * SEC);
}

/// The shorter of two packet sizes is used.
/// Windows count in packets of the size that was agreed on, or that the path takes.
#[test]
fn windows_count_in_packets_agreed_on() {
    let derived = |client: u16, server: u16, path: u16| {
        let mut setup = Setup::new(100_000);
        setup.client.mss = client;
        setup.server.mss = server;
        setup.apps[CLIENT].finish = false;
        let mut net = setup.start();
        net.run(SEC, |net| net.client().conn.state() == State::Established);
        net.client().conn.on_path_mtu(path);
        net.client().conn.info().window
    };
    let small = derived(1400, 1400, 9000);
    assert_ne!(derived(8900, 8900, 9000), small);
    assert_eq!(derived(8900, 1400, 9000), small);
    assert_eq!(derived(8900, 8900, 1400), small);
}

#[test]
fn packet_size_is_agreed() {
    for (client, server) in [(1400, 500), (500, 1400)] {
        let mut setup = Setup::new(100_000);
        setup.apps = [App::writer(100_000), App::writer(100_000)];
        setup.client.mss = client;
        setup.server.mss = server;
        let mut net = setup.start();
        net.finish(2 * SEC);
        for which in [CLIENT, SERVER] {
            assert_eq!(net.end(which).conn.mss(), 500);
            assert!(net.data[which] >= 200);
        }
    }
}
