// SPDX-License-Identifier: GPL-2.0

//! Losses found before the timeout: the profile `strack`.

use crate::{
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
use std::{
    cell::RefCell,
    collections::HashSet,
    rc::Rc, //
};
use strack_proto::{
    config::Profile,
    connection::{
        RxMeta,
        State,
        Verdict,
        What, //
    },
    counter::Counter,
    wire::{
        flags,
        Packet, //
    },
    Ns,
    MSEC,
    SEC,
    USEC, //
};

/// The profile on both ends.
fn strack(mut setup: Setup, profile: Profile) -> Setup {
    setup.client.set_profile(profile);
    setup.server.set_profile(profile);
    setup
}

/// An idle connection over 8 paths of `delay` each, with all that has settled; the last
/// `lost` packets of what is written next get lost at their first try.
fn lost_tail(profile: Profile, delay: Ns, packets: u64, lost: u64) -> (Network, Ns) {
    let link = Link {
        rate: 100_000_000,
        queue: 400_000,
        ..Link::new(delay)
    };
    let mut setup = strack(Setup::new(400_000).paths(vec![link; 8]), profile);
    setup.apps[CLIENT].finish = false;
    // A path for each packet.
    setup.client.burst_max = 1;
    let mut net = setup.start();
    net.run_for(SEC);
    assert_eq!(net.server().read, 400_000);
    let first = net.client().conn.snd_nxt();
    let from = packets - lost;
    net.censor = Some(Box::new(move |_, _, packet| match packet {
        Packet::Data(data) => {
            let again = data.flags & flags::DATA_RETX != 0;
            !again && u64::from(data.psn.dist_from(first)) >= from
        }
        _ => false,
    }));
    let start = net.now;
    net.client().app.write += packets * 1400;
    net.pump(CLIENT);
    let done = net.run(start + SEC, |net| {
        net.server().read == 400_000 + packets * 1400
    });
    assert!(done, "{:?}", net.client().conn.info());
    let took = net.now - start;
    (net, took)
}

/// However many packets of the tail are lost, that costs a probe interval and two round
/// trips, not a timeout.
#[test]
fn lost_tail_costs_a_probe() {
    for delay in [20 * USEC, 100 * USEC, MSEC] {
        for (packets, lost) in [(1, 1), (16, 1), (16, 2), (16, 4), (16, 8), (3, 3)] {
            let (net, took) = lost_tail(Profile::Strack, delay, packets, lost);
            let what = format!("{} us, {lost} of {packets} lost: {took} ns", delay / USEC);
            assert_eq!(net.count(CLIENT, Counter::Timeouts), 0, "{what}");
            assert_eq!(net.count(CLIENT, Counter::RetransSpurious), 0, "{what}");
            assert_eq!(net.retransmissions[CLIENT], lost, "{what}");
            // There, the silence, the probe's round trip and a little more, and there again.
            let rtt = 2 * delay;
            let (silence, grace) = (rtt + rtt.max(100 * USEC), rtt / 4);
            let most = rtt / 2 + silence + rtt + grace + rtt / 2;
            assert!(took < most + 200 * USEC, "{what}");
        }
    }
    // The control: the other profile finds one packet that way and leaves the rest to
    // the timeout.
    let (net, _) = lost_tail(Profile::Stellar, MSEC, 16, 4);
    assert!(net.count(CLIENT, Counter::Timeouts) > 0);
}

/// A whole window gets lost in the middle of a transfer: silence, although there is more
/// to send. That costs a probe, too.
#[test]
fn lost_window_costs_a_probe() {
    for seed in 0..8 {
        let link = Link {
            rate: 12_500_000,
            queue: 400_000,
            ..Link::new(100 * USEC)
        };
        let mut setup = strack(Setup::new(4_000_000).paths(vec![link; 8]), Profile::Strack);
        setup.seed = seed;
        // As many paths as can be asked together.
        setup.client.paths = 8;
        setup.client.link_bytes_per_sec = 100_000_000;
        let mut net = setup.start();
        net.run(15 * MSEC, |_| false);
        let flying = net.client().conn.info().inflight_packets;
        assert!(flying > 8);
        let (from, to) = (net.client().conn.una(), net.client().conn.snd_nxt());
        net.censor = Some(Box::new(move |_, _, packet| match packet {
            Packet::Data(data) => data.psn.ge(from) && data.psn.lt(to) && data.flags & 2 == 0,
            _ => false,
        }));
        // Those that are on their links already arrive.
        net.finish(10 * SEC);
        let timeouts = net.count(CLIENT, Counter::Timeouts);
        assert_eq!(timeouts, 0, "seed {seed}, {flying} packets");
        assert_eq!(net.count(CLIENT, Counter::RetransSpurious), 0);
    }
}

/// A first window is lost as a whole, with more to send: the network is idle, so there is
/// no queue that would explain the silence.
#[test]
fn lost_flight_costs_a_probe() {
    let mut setup = strack(
        Setup::new(400_000).paths(vec![Link::new(100 * USEC); 8]),
        Profile::Strack,
    );
    setup.apps[CLIENT].finish = false;
    // As many paths as can be asked together.
    setup.client.paths = 8;
    let mut net = setup.start();
    net.run_for(SEC);
    let first = net.client().conn.snd_nxt();
    net.censor = Some(Box::new(move |_, _, packet| match packet {
        Packet::Data(data) => data.psn.dist_from(first) < 30 && data.flags & flags::DATA_RETX == 0,
        _ => false,
    }));
    let start = net.now;
    net.client().conn.set_rto_min(100 * USEC);
    net.client().app.write += 4_000_000;
    net.pump(CLIENT);
    let packets = net.client().conn.info().inflight_packets;
    assert!(packets >= 30 && net.client().conn.info().backlog > 0);
    let done = net.run(start + SEC, |net| net.server().read == 4_400_000);
    assert!(done);
    assert_eq!(net.count(CLIENT, Counter::Timeouts), 0);
    assert_eq!(net.count(CLIENT, Counter::RetransSpurious), 0);
    assert_eq!(net.retransmissions[CLIENT], 30);
}

/// Many begin together, and most of a first window gets lost in a queue that all paths
/// share. Timeouts are long then, whatever the profile, and the window is closed for what
/// was lost; yet it is found out without one, and all at once.
#[test]
fn crowded_start_costs_a_probe() {
    for (_, profile) in Profile::ALL {
        let paths = vec![Link::new(100 * USEC); 8];
        let mut setup = strack(Setup::new(400_000).paths(paths), profile);
        // A path for each packet.
        setup.client.burst_max = 1;
        let mut net = setup.start();
        let first = net.client().conn.snd_isn();
        net.censor = Some(Box::new(move |_, _, packet| match packet {
            Packet::Data(data) => {
                let at = data.psn.dist_from(first);
                at < 45 && at % 4 != 0 && data.flags & flags::DATA_RETX == 0
            }
            _ => false,
        }));
        net.finish(10 * SEC);
        let what = format!("{}: {:?}", profile.name(), net.client().conn.info());
        assert_eq!(net.count(CLIENT, Counter::Timeouts), 0, "{what}");
        assert_eq!(net.count(CLIENT, Counter::RetransSpurious), 0, "{what}");
        assert_eq!(net.retransmissions[CLIENT], 33, "{what}");
        // The handshake, the first window, the silence behind it, a probe, and the rest.
        let took = net.server().log.last().expect("data").0 - net.server().log[0].0;
        println!("{}: {took} ns", profile.name());
        assert!(took < 2 * MSEC, "{took} ns, {what}");
    }
}

/// How many paths are asked at the start: those of eight packets, and one that was heard of if
/// the silence of the others is going to mean something.
#[test]
fn crowded_start_asks_few_paths() {
    for (profile, asked) in [(Profile::Strack, 9), (Profile::Stellar, 8)] {
        let mut setup = strack(Setup::new(400_000), profile);
        setup.client.burst_max = 1;
        let mut net = setup.start();
        let first = net.client().conn.snd_isn();
        net.censor = Some(Box::new(move |_, _, packet| match packet {
            // The first one brings an ACK.
            Packet::Data(data) => data.psn != first,
            _ => false,
        }));
        let probed = net.run(SEC, |net| net.count(CLIENT, Counter::ProbeTail) > 0);
        assert!(probed);
        assert_eq!(net.count(CLIENT, Counter::ProbeTail), asked, "{profile:?}");
    }
}

/// A tail lost on a path that is much slower than the others: its probe needs as long,
/// and has it.
#[test]
fn tail_lost_on_a_slow_path_costs_a_probe() {
    let mut setup = strack(
        Setup::new(4_000_000).paths(vec![Link::new(100 * USEC); 8]),
        Profile::Strack,
    );
    setup.directions[CLIENT].paths[2].delay = 500 * USEC;
    setup.apps[CLIENT].finish = false;
    setup.client.burst_max = 1;
    let mut net = setup.start();
    net.run_for(MSEC);
    // No longer, so that the slow path is still known.
    net.run(SEC, |net| net.server().read == 4_000_000);
    let lost = Rc::new(RefCell::new(0));
    let counted = lost.clone();
    net.censor = Some(Box::new(move |_, datagram, packet| match packet {
        Packet::Data(data) if data.flags & flags::DATA_RETX == 0 => {
            let slow = datagram.entropy % 8 == 2;
            *counted.borrow_mut() += u64::from(slow);
            slow
        }
        _ => false,
    }));
    net.client().app.write += 32 * 1400;
    net.pump(CLIENT);
    let limit = net.now + SEC;
    let done = net.run(limit, |net| net.server().read == 4_000_000 + 32 * 1400);
    assert!(done);
    assert!(*lost.borrow() > 0);
    assert_eq!(net.count(CLIENT, Counter::Timeouts), 0);
    assert_eq!(net.retransmissions[CLIENT], *lost.borrow());
}

/// The last packet is the first victim of a path that dies: neither it nor its probe
/// arrives. That costs the time that an answer may take, not a timeout.
#[test]
fn tail_lost_on_a_dead_path_costs_a_probe() {
    for delay in [20 * USEC, 100 * USEC, MSEC] {
        let mut setup = strack(
            Setup::new(400_000).paths(vec![Link::new(delay); 8]),
            Profile::Strack,
        );
        setup.apps[CLIENT].finish = false;
        setup.client.burst_max = 1;
        let mut net = setup.start();
        net.run_for(SEC);
        let last = net.client().conn.snd_nxt().add(15);
        let spurious = net.count(CLIENT, Counter::RetransSpurious);
        let dead = Rc::new(RefCell::new(None));
        let silenced = Rc::new(RefCell::new(0));
        let counted = silenced.clone();
        net.censor = Some(Box::new(move |_, datagram, packet| {
            let mut dead = dead.borrow_mut();
            let path = datagram.entropy % 8;
            match packet {
                Packet::Data(data) if data.psn == last && dead.is_none() => *dead = Some(path),
                Packet::Data(_) | Packet::Probe(_) => {}
                _ => return false,
            }
            let lost = *dead == Some(path);
            *counted.borrow_mut() += u32::from(lost);
            lost
        }));
        let start = net.now;
        net.client().app.write += 16 * 1400;
        net.pump(CLIENT);
        let done = net.run(start + SEC, |net| net.server().read == 400_000 + 16 * 1400);
        assert!(done);
        let took = net.now - start;
        let what = format!("{} us: {took} ns", delay / USEC);
        // The packet, and its probe at least.
        assert!(*silenced.borrow() >= 2, "{what}");
        assert_eq!(net.count(CLIENT, Counter::Timeouts), 0, "{what}");
        let since = net.count(CLIENT, Counter::RetransSpurious) - spurious;
        assert_eq!(since, 0, "{what}");
        // There, the silence, the slowest answer and a little more, and there again.
        let rtt = 2 * delay;
        let (silence, grace) = (rtt + rtt.max(100 * USEC), rtt / 4);
        let most = rtt / 2 + silence + rtt * 5 / 4 + grace + rtt / 2;
        assert!(took < most + 200 * USEC, "{what}");
    }
}

/// The same, but the link is dead in both directions, and anything may be lost on it when the
/// data ends: probes and their answers, and ACKs, so that no answer tells of everything. The
/// timeout is far away.
#[test]
fn tail_lost_on_a_dead_link_costs_some_probes() {
    let mut slowest = 0;
    for seed in 0..200 {
        let mut setup = strack(
            Setup::new(400_000).paths(vec![Link::new(100 * USEC); 8]),
            Profile::Strack,
        );
        setup.seed = seed;
        setup.apps[CLIENT].finish = false;
        for config in [&mut setup.client, &mut setup.server] {
            config.rto_min = 50 * MSEC;
            config.burst_max = 1;
        }
        let mut net = setup.start();
        net.run_for(SEC);
        let start = net.now;
        for direction in &mut net.directions {
            direction.paths[3].hole = Some((start, Ns::MAX));
        }
        net.client().app.write += 100 * 1400;
        net.pump(CLIENT);
        let done = net.run(start + SEC, |net| net.client().conn.info().inflight == 0);
        assert!(done);
        slowest = slowest.max(net.now - start);
        assert_eq!(net.count(CLIENT, Counter::Timeouts), 0, "seed {seed}");
    }
    println!("{slowest} ns");
    // Three times silence and the time for an answer.
    assert!(slowest < 3 * MSEC, "{slowest} ns");
}

/// Probes are few and have an end: where nobody answers, and where the peer answers
/// each of them while no data gets through to it.
#[test]
fn probes_for_the_tail_have_an_end() {
    for (profile, answered) in [
        (Profile::Strack, false),
        (Profile::Strack, true),
        (Profile::Stellar, false),
        (Profile::Stellar, true),
    ] {
        for before in [1400, 400_000] {
            let links = vec![Link::new(100 * USEC); 8];
            let mut setup = strack(Setup::new(before).paths(links), profile);
            setup.apps[CLIENT].finish = false;
            let mut net = setup.start();
            net.run_for(SEC);
            let probes = net.count(CLIENT, Counter::ProbeTail);
            net.censor = Some(Box::new(move |_, datagram, packet| {
                datagram.to == SERVER && (!answered || matches!(packet, Packet::Data(_)))
            }));
            let start = net.now;
            net.client().app.write += 100 * 1400;
            net.pump(CLIENT);
            let done = net.run(start + 300 * SEC, |net| {
                net.client().conn.state() == State::Closed
            });
            let probes = net.count(CLIENT, Counter::ProbeTail) - probes;
            let what = format!("{profile:?}, {answered}, {before}: {probes} probes");
            println!("{what}, {} ms", (net.now - start) / MSEC);
            assert!(done, "{what}");
            // Rounds that bring nothing are backed off; the others end with the timeout.
            assert!(probes <= if answered { 250 } else { 50 }, "{what}");
        }
    }
}

/// What probes ask for arrives while they leave one by one: they were the last, and the
/// connection is idle.
#[test]
fn probes_of_what_has_arrived_are_the_last() {
    let links = vec![Link::new(100 * USEC); 8];
    let mut setup = strack(Setup::new(400_000).paths(links), Profile::Strack);
    setup.apps[CLIENT].finish = false;
    setup.client.burst_max = 1;
    let mut net = setup.start();
    net.run_for(SEC);
    assert_eq!(net.client().conn.deadline(), None);
    // Everything arrives, but no ACK gets back before it is asked for.
    let last = Rc::new(RefCell::new(None));
    let noted = last.clone();
    net.censor = Some(Box::new(move |_, datagram, packet| {
        if let (CLIENT, Packet::Ack(ack)) = (datagram.to, packet) {
            *noted.borrow_mut() = Some(*ack);
        }
        datagram.to == CLIENT
    }));
    net.client().app.write += 16 * 1400;
    net.pump(CLIENT);
    let asks = net.client().conn.deadline().expect("a timer");
    net.run(asks - 1, |_| false);
    let ack = last.borrow().expect("an ACK");

    let conn = &mut net.client().conn;
    let mut probes = 0;
    conn.on_timer(asks);
    while let Some(packet) = conn.poll_transmit(asks) {
        assert!(matches!(packet.what, What::Control { .. }), "{packet:?}");
        probes += 1;
        if probes == 1 {
            let meta = RxMeta {
                ce: false,
                entropy: 51_000,
                payload: 0,
            };
            let taken = conn.on_packet(asks, &Packet::Ack(ack), meta);
            assert_eq!(taken, Verdict::Handled);
        }
    }
    assert!(probes > 1);
    assert_eq!(conn.info().inflight_packets, 0);
    assert_eq!(conn.deadline(), None);
}

/// A lossy network: each retransmission takes a path that has not lost anything since
/// something arrived on it.
#[test]
fn retransmissions_take_good_paths() {
    // Half of the links lead nowhere, from one moment on.
    let links = |from| {
        let mut links = vec![Link::new(100 * USEC); 8];
        for link in &mut links[..4] {
            link.hole = Some((from, Ns::MAX));
        }
        links
    };
    let mut setup = strack(Setup::new(20_000_000), Profile::Strack);
    setup.directions = [
        Direction::new(links(5 * MSEC)),
        Direction::new(vec![Link::new(100 * USEC); 8]),
    ];
    for config in [&mut setup.client, &mut setup.server] {
        config.paths = 64;
        config.link_bytes_per_sec = 100_000_000;
    }
    let mut net = setup.start();
    let lost = Rc::new(RefCell::new(HashSet::new()));
    let bad = Rc::new(RefCell::new((0, 0)));
    let (noted, counted) = (lost.clone(), bad.clone());
    net.censor = Some(Box::new(move |now, _, packet| {
        if let Packet::Data(data) = packet {
            if data.flags & flags::DATA_RETX != 0 {
                let mut bad = counted.borrow_mut();
                bad.0 += 1;
                bad.1 += u32::from(noted.borrow().contains(&data.entropy));
            } else if now > 5 * MSEC && data.entropy % 8 < 4 {
                noted.borrow_mut().insert(data.entropy);
            }
        }
        false
    }));
    net.finish(10 * SEC);
    let (again, bad) = *bad.borrow();
    println!("{again} sent again, {bad} of these where something was lost");
    assert!(again > 20 && bad * 20 < again, "{bad} of {again}");
}

/// Duplicates that no ACK names raise the tolerance, too.
#[test]
fn duplicates_raise_the_tolerance() {
    let path = Link {
        rate: 20_000_000,
        ..Link::new(50 * USEC)
    };
    let mut setup = strack(Setup::new(8_000_000).paths(vec![path; 8]), Profile::Strack);
    setup.client.link_bytes_per_sec = 160_000_000;
    setup.apps[CLIENT].finish = false;
    let mut net = setup.start();
    net.run(20 * MSEC, |_| false);
    net.directions[CLIENT].paths[3].delay = 3 * MSEC;
    // No ACK of a duplicate gets through.
    net.censor = Some(Box::new(|_, _, packet| match packet {
        Packet::Ack(ack) => ack.flags & flags::ACK_DUP != 0,
        _ => false,
    }));
    net.client().app.write += 20_000_000;
    net.client().app.finish = true;
    net.pump(CLIENT);
    net.finish(20 * SEC);
    let duplicates = net.server().conn.info().duplicates;
    let spurious = net.count(CLIENT, Counter::RetransSpurious);
    println!("{spurious} of {duplicates} noticed");
    // What comes after the last ACK is never known.
    assert!(duplicates > 5);
    assert!(spurious + 2 >= duplicates && spurious <= duplicates);
    assert!(net.count(CLIENT, Counter::ReorderRaised) > 0);
}

/// Switches that cut off payloads when a queue is full, and the receiver that says so:
/// what was trimmed is there again after one round trip.
#[test]
fn trimmed_packets_come_again_at_once() {
    let mut setup = strack(Setup::new(0), Profile::Strack);
    setup.apps.iter_mut().for_each(|app| app.finish = false);
    let mut net = setup.start();
    net.run_for(10 * MSEC);
    assert!(net.both_in(State::Established));
    let start = net.now;
    let first = net.client().conn.snd_nxt();
    net.trim = Some(Box::new(move |_, data| {
        data.psn.dist_from(first) < 40 && data.psn.raw() % 4 == 0 && data.flags & 2 == 0
    }));
    net.client().app.write += 40 * 1400;
    net.pump(CLIENT);
    let done = net.run(start + 50 * MSEC, |net| net.server().read == 40 * 1400);
    assert!(done);
    // 100 us each way: there, back, and there again.
    assert!(net.now - start < 350 * USEC, "{}", net.now - start);
    assert_eq!(net.count(SERVER, Counter::Refused), 10);
    assert_eq!(net.count(CLIENT, Counter::RetransRefused), 10);
    assert_eq!(net.retransmissions[CLIENT], 10);
    let info = net.client().conn.info();
    assert_eq!((info.refused, info.timeouts, info.spurious), (10, 0, 0));
    assert_eq!(net.count(CLIENT, Counter::PathWithdrawn), 0);
}

/// A packet that is trimmed whenever it comes, and a window that has room for no other: the
/// tries become fewer, and there are some left when the crowd is gone.
#[test]
fn trimmed_for_long() {
    let mut setup = strack(Setup::new(1400), Profile::Strack);
    setup.client.initial_window = 1400;
    let mut net = setup.start();
    net.trim = Some(Box::new(|now, _| now < 6 * MSEC));
    net.finish(10 * SEC);
    // As soon as it is over, but for the time between two tries.
    let read = net.server().log.last().expect("data").0;
    let tries = net.retransmissions[CLIENT];
    println!("{tries} tries, read at {read} ns");
    assert!((4..10).contains(&tries), "{tries}");
    assert!(read < 10 * MSEC, "{read} ns");
    assert_eq!(net.count(CLIENT, Counter::Timeouts), 0);
}

/// One that is trimmed for ever ends the connection.
#[test]
fn trimmed_for_ever() {
    let mut setup = strack(Setup::new(1400), Profile::Strack);
    setup.client.retries = 6;
    let mut net = setup.start();
    net.trim = Some(Box::new(|_, _| true));
    assert!(net.run(10 * SEC, |net| net.client().closed()));
    assert!(net.client().conn.failure().is_some());
    assert!(net.retransmissions[CLIENT] < 20);
}

/// A receiver without memory for packets: the sender tries now and then, does not give
/// up however long that takes, and goes on at once when there is room.
#[test]
fn no_room_is_not_a_timeout() {
    let link = Link {
        rate: 12_500_000,
        ..Link::new(100 * USEC)
    };
    let mut setup = strack(Setup::new(1_000_000).paths(vec![link; 4]), Profile::Strack);
    setup.client.retries = 4;
    let mut net = setup.start();
    let (from, to) = (5 * MSEC, 2 * SEC);
    net.no_room = Some((from, to));
    // Not every answer gets through.
    let mut answers = 0;
    net.censor = Some(Box::new(move |now, _, packet| {
        let full = (from..to).contains(&now);
        answers += u32::from(full && matches!(packet, Packet::Ack(_)));
        // They come in pairs.
        full && matches!(packet, Packet::Ack(_)) && answers / 2 % 3 == 0
    }));
    net.run(to, |_| false);
    assert_eq!(net.client().conn.failure(), None);
    let tries = net.retransmissions[CLIENT];
    let refused = net.count(SERVER, Counter::Refused);
    println!("{tries} sent again, {refused} refused");
    assert!(refused > 30);
    // After the first flight fewer and fewer, to one in 64 ms.
    assert!(tries < (to - from) / (64 * MSEC) + 80, "{tries}");
    let done = net.run(to + 100 * MSEC, |net| net.server().read == 1_000_000);
    assert!(done);
    net.finish(to + 2 * SEC);
    assert_eq!(net.count(CLIENT, Counter::RetransSpurious), 0);
}

/// A reader that is slower than the network: the sender is asked to slow down, and is back
/// at its window when the reader is fast again.
#[test]
fn slow_reader_slows_the_sender() {
    for (profile, slows) in [(Profile::Strack, true), (Profile::Stellar, false)] {
        let link = Link {
            rate: 100_000_000,
            queue: 400_000,
            ..Link::new(50 * USEC)
        };
        let mut setup = strack(Setup::new(60_000_000).paths(vec![link; 4]), profile);
        setup.client.link_bytes_per_sec = 400_000_000;
        setup.server.rcv_window = 400_000;
        let mut net = setup.start();
        net.run(20 * MSEC, |_| false);
        let before = net.client().conn.info().cwnd;
        // 20 kB a millisecond, of 400 that arrive.
        net.server().app.read_every = MSEC;
        net.server().app.read_max = 20_000;
        net.run_for(20 * MSEC);
        let slow = net.client().conn.info();
        assert_eq!(slow.penalty > 0, slows, "{slow:?}");
        assert_eq!(slow.cwnd < before / 2, slows, "{before} {slow:?}");
        net.server().app.read_every = 0;
        net.server().app.read_max = 1 << 20;
        net.run_for(3 * MSEC);
        let after = net.client().conn.info();
        assert!(after.cwnd >= before * 9 / 10, "{before} {after:?}");
        net.finish(20 * SEC);
        assert_eq!(net.count(CLIENT, Counter::Timeouts), 0);
        assert_eq!(net.retransmissions[CLIENT], 0);
    }
}
