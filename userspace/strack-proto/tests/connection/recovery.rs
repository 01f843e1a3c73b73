// SPDX-License-Identifier: GPL-2.0

//! Losses: how fast they are repaired, and what they do to goodput.

use crate::{
    endpoint::App,
    link::Link,
    network::{
        Network,
        Setup,
        CLIENT,
        SERVER, //
    },
};
use std::{
    cell::RefCell,
    rc::Rc, //
};
use strack_proto::{
    connection::{
        Failure,
        State, //
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

/// `count` paths on which some packets are lost.
fn lossy(count: usize, loss_ppm: u64) -> Vec<Link> {
    let path = Link {
        loss_ppm,
        ..Link::new(100 * USEC)
    };
    vec![path; count]
}

/// Bytes read between two points in time, per second.
fn goodput(net: &mut Network, from: Ns, to: Ns) -> u64 {
    let log = &net.server().log;
    let at = |time| {
        let before = log.iter().take_while(|(then, _)| *then <= time);
        before.last().map_or(0, |&(_, bytes)| bytes)
    };
    (at(to) - at(from)) * SEC / (to - from)
}

/// Lets the client send one packet at 1 s, loses what `lose` says, and returns when
/// its transmissions and probes left, relative to the first.
fn one_packet(delay: Ns, mut lose: impl FnMut(&Packet) -> bool + 'static) -> (Network, Vec<Ns>) {
    let mut setup = Setup::new(100_000).paths(vec![Link::new(delay); 8]);
    setup.apps[CLIENT].finish = false;
    // Too few to be asked all at once.
    setup.client.paths = 4;
    let mut net = setup.start();
    net.run_for(SEC);
    assert_eq!(net.server().read, 100_000);

    let times = Rc::new(RefCell::new(Vec::new()));
    let noted = times.clone();
    net.censor = Some(Box::new(move |now, datagram, packet| {
        let from_client = datagram.to == SERVER;
        if from_client && matches!(packet, Packet::Data(_) | Packet::Probe(_)) {
            noted.borrow_mut().push(now - SEC);
        }
        lose(packet)
    }));
    let now = net.now;
    net.client().app.write += 1000;
    net.client().work(now);
    net.pump(CLIENT);
    net.run_for(200 * MSEC);
    let times = times.borrow().clone();
    (net, times)
}

#[test]
fn timeout_at_the_floor() {
    // Nothing gets through the first three times.
    let mut left = 3;
    let (mut net, times) = one_packet(20 * USEC, move |packet| {
        let lost = left > 0 && matches!(packet, Packet::Data(_));
        left -= i32::from(lost);
        lost || matches!(packet, Packet::Probe(_))
    });
    assert_eq!(net.server().read, 101_000);
    // The packet, a probe, and at 250 us and after twice and four times that again.
    assert_eq!(times.len(), 5, "{times:?}");
    let expected = [0, 0, 250, 750, 1750];
    for i in [0, 2, 3, 4] {
        assert!(times[i].abs_diff(expected[i] * USEC) < USEC, "{times:?}");
    }
}

#[test]
fn lost_tail_is_found_by_a_probe() {
    let mut left = 1;
    let (mut net, times) = one_packet(100 * USEC, move |packet| {
        let lost = left > 0 && matches!(packet, Packet::Data(_));
        left -= i32::from(lost);
        lost
    });
    assert_eq!(net.server().read, 101_000);
    assert_eq!(net.count(CLIENT, Counter::RetransProbe), 1);
    assert_eq!(net.count(CLIENT, Counter::Timeouts), 0);
    // One RTT and the target delay, and another RTT.
    assert!(times[2] < 3 * 200 * USEC + 50 * USEC, "{times:?}");
}

#[test]
fn lost_ack_is_asked_for() {
    let mut left = 1;
    let (net, times) = one_packet(100 * USEC, move |packet| {
        let lost = left > 0 && matches!(packet, Packet::Ack(_));
        left -= i32::from(lost);
        lost
    });
    assert_eq!(times.len(), 2, "{times:?}");
    assert_eq!(net.retransmissions, [0, 0]);
}

#[test]
fn retransmissions_take_another_path() {
    let paths = Rc::new(RefCell::new(Vec::new()));
    let noted = paths.clone();
    let (net, _) = one_packet(100 * USEC, move |packet| match packet {
        Packet::Data(header) => {
            noted.borrow_mut().push(header.entropy);
            noted.borrow().len() < 6
        }
        _ => false,
    });
    let paths = paths.borrow();
    assert_eq!(paths.len(), 6);
    assert!(paths.windows(2).all(|pair| pair[0] != pair[1]), "{paths:?}");
    assert_eq!(net.count(CLIENT, Counter::RetransSpurious), 0);
}

#[test]
fn random_loss() {
    for (loss_ppm, limit) in [(1_000, 150), (10_000, 300), (50_000, 1000), (200_000, 4000)] {
        for seed in 0..4 {
            let mut setup = Setup::new(4_000_000).paths(lossy(32, loss_ppm));
            setup.seed = seed;
            let mut net = setup.start();
            net.finish(60 * SEC);
            let took = net.server().log.last().expect("data").0;
            println!(
                "{loss_ppm} ppm: {} ms, {} of {} sent again, {} needlessly",
                took / MSEC,
                net.retransmissions[CLIENT],
                net.data[CLIENT],
                net.count(CLIENT, Counter::RetransSpurious),
            );
            assert!(took < limit * MSEC, "{loss_ppm} ppm: {took}");
        }
    }
}

/// The network loses only ACKs: hardly anything is sent again.
#[test]
fn lost_acks_cost_nothing() {
    let mut setup = Setup::new(4_000_000).paths(lossy(32, 0));
    for path in &mut setup.directions[SERVER].paths {
        path.loss_ppm = 250_000;
    }
    let mut net = setup.start();
    net.finish(10 * SEC);
    assert!(
        net.retransmissions[CLIENT] <= 2,
        "{:?}",
        net.retransmissions
    );
}

/// A quarter of the paths dies in the middle of a transfer and comes back later.
#[test]
fn black_hole() {
    const SEEDS: u64 = 40;
    let mut halved = 0;
    for seed in 0..SEEDS {
        let mut paths: Vec<Link> = (0..8)
            .map(|_| Link {
                rate: 20_000_000,
                queue: 400_000,
                mark_from: 20_000,
                mark_all: 80_000,
                mark_ppm: 200_000,
                ..Link::new(100 * USEC)
            })
            .collect();
        let (dies, returns) = (30 * MSEC, 230 * MSEC);
        for path in &mut paths[2..4] {
            path.hole = Some((dies, returns));
        }
        let mut setup = Setup::new(50_000_000).paths(paths);
        setup.seed = seed;
        setup.client.seed = seed;
        setup.client.link_bytes_per_sec = 160_000_000;
        for direction in &mut setup.directions {
            direction.hash = Some(seed);
        }
        let mut net = setup.start();
        net.run(dies, |_| false);
        let rto = net.client().conn.info().rto;
        net.finish(20 * SEC);
        let before = goodput(&mut net, dies - 10 * MSEC, dies);
        let back = dies + 20 * rto;
        let end = net.server().log.last().expect("data").0;
        assert!(back + 50 * MSEC < returns);
        let mut worst = u64::MAX;
        let mut from = back;
        while from + 5 * MSEC < end.min(returns) {
            worst = worst.min(goodput(&mut net, from, from + 5 * MSEC));
            from += 5 * MSEC;
        }
        let after = goodput(&mut net, returns + 80 * MSEC, returns + 120 * MSEC);
        println!(
            "rto {} us, before {} MB/s, then never below {} MB/s, after {} MB/s, {} withdrawn, \
             {} restored, {} sent again, {} needlessly, {} timeouts",
            rto / USEC,
            before / 1_000_000,
            worst / 1_000_000,
            after / 1_000_000,
            net.count(CLIENT, Counter::PathWithdrawn),
            net.count(CLIENT, Counter::PathRestored),
            net.retransmissions[CLIENT],
            net.count(CLIENT, Counter::RetransSpurious),
            net.count(CLIENT, Counter::Timeouts),
        );
        // Which paths were on the dead links, and what was withdrawn with them, is a draw.
        halved += u64::from(worst <= before / 2);
        assert!(worst > before / 5 * 2, "{worst} after {before}");
        assert!(after > before / 10 * 8, "{after} after {before}");
    }
    assert!(halved * 10 <= SEEDS, "{halved} times below half");
}

/// The longest timeout is set to less than the others: it does not count then.
#[test]
fn longest_timeout_below_the_others() {
    let mut setup = Setup::new(100_000);
    setup.client.rto_max = USEC;
    setup.apps[CLIENT].finish = false;
    let mut net = setup.start();
    net.run(SEC, |net| net.client().conn.state() == State::Established);
    let start = net.now;
    net.censor = Some(Box::new(|_, _, _| true));
    assert!(net.run(10 * SEC, |net| net.client().closed()));
    assert!(net.now - start > 10 * MSEC, "{}", net.now - start);
}

#[test]
fn all_paths_dead() {
    let mut setup = Setup::new(100_000_000);
    setup.apps[SERVER] = App::writer(0);
    setup.client.retries = 8;
    setup.server.retries = 8;
    let mut net = setup.start();
    net.run(20 * MSEC, |_| false);
    assert!(net.server().read > 0);
    net.censor = Some(Box::new(|_, _, _| true));
    let before = net.data[CLIENT];
    let failed = net.run(10 * SEC, |net| net.client().conn.failure().is_some());
    assert!(failed);
    assert_eq!(net.client().conn.failure(), Some(Failure::TimedOut));
    assert_eq!(net.client().conn.state(), State::Closed);
    assert_eq!(net.client().conn.deadline(), None);
    // It did not shout all the time.
    assert!(
        net.data[CLIENT] - before < 1500,
        "{}",
        net.data[CLIENT] - before
    );
}

/// A peer that is gone is asked for on the paths that are withdrawn as seldom as packets
/// are sent again.
#[test]
fn silence_costs_few_probes() {
    let mut setup = Setup::new(100_000_000);
    setup.client.paths = 128;
    let mut net = setup.start();
    net.run(20 * MSEC, |_| false);
    net.censor = Some(Box::new(|_, _, _| true));
    let before = net.count(CLIENT, Counter::ProbePath);
    assert!(net.run(60 * SEC, |net| net.client().closed()));
    let probes = net.count(CLIENT, Counter::ProbePath) - before;
    println!("{probes} probes");
    assert!(net.count(CLIENT, Counter::PathWithdrawn) >= 100);
    // once all of them, and then eight with each of 15 timeouts
    assert!(probes < 2 * 128 + 8 * 2 * 16, "{probes}");
}

/// A network that takes a thousand packets a second, and long: less than it takes the first
/// packets for lost. That must not become more than it can bear.
#[test]
fn slow_networks_are_not_overwhelmed() {
    for delay in [4 * MSEC, 20 * MSEC, 100 * MSEC] {
        let slow = Link {
            rate: 60_000,
            queue: 200_000,
            ..Link::new(delay)
        };
        let mut setup = Setup::new(20_000).paths(vec![slow]);
        for config in [&mut setup.client, &mut setup.server] {
            config.paths = 128;
        }
        setup.apps = [App::writer(20_000), App::writer(20_000)];
        let mut net = setup.start();
        net.finish(20 * SEC);
        let probes: u64 = [CLIENT, SERVER]
            .into_iter()
            .map(|side| net.count(side, Counter::ProbePath))
            .sum();
        println!("{delay} ns: {} ms, {probes} probes", net.now / MSEC);
        assert!(probes < 600, "{probes} probes");
        assert!(net.now < 3 * SEC, "{} ms", net.now / MSEC);
    }
}

#[test]
fn network_comes_back() {
    let mut net = Setup::new(20_000_000).start();
    net.run(10 * MSEC, |_| false);
    net.censor = Some(Box::new(|now, _, _| now < 700 * MSEC));
    net.finish(20 * SEC);
}

/// A packet that was thought lost arrives after all: that is noticed, and it takes
/// more to be thought lost from then on.
#[test]
fn needless_retransmission_is_noticed() {
    let path = Link {
        rate: 20_000_000,
        ..Link::new(50 * USEC)
    };
    let mut setup = Setup::new(8_000_000).paths(vec![path; 8]);
    setup.client.link_bytes_per_sec = 160_000_000;
    setup.apps[CLIENT].finish = false;
    let mut net = setup.start();
    net.run(20 * MSEC, |_| false);
    // For a while one path takes 3 ms.
    net.directions[CLIENT].paths[3].delay = 3 * MSEC;
    net.client().app.write += 20_000_000;
    net.client().app.finish = true;
    net.pump(CLIENT);
    net.finish(20 * SEC);
    let (again, spurious) = (
        net.retransmissions[CLIENT],
        net.count(CLIENT, Counter::RetransSpurious),
    );
    println!(
        "{again} sent again, {spurious} needlessly of {}",
        net.data[CLIENT]
    );
    assert!(spurious > 0 && spurious <= again);
    assert!(net.count(CLIENT, Counter::ReorderRaised) > 0);
    assert!(
        again * 50 < net.data[CLIENT],
        "{again} of {}",
        net.data[CLIENT]
    );
}

/// A retransmission says that it is one, and its ACK says so too.
#[test]
fn retransmissions_are_told_apart() {
    let seen = Rc::new(RefCell::new([0; 2]));
    let noted = seen.clone();
    let mut net = Setup::new(2_000_000).paths(lossy(16, 20_000)).start();
    net.censor = Some(Box::new(move |_, _, packet| {
        match packet {
            Packet::Data(header) if header.flags & flags::DATA_RETX != 0 => {
                assert_ne!(header.flags & flags::DATA_ACK_REQ, 0);
                noted.borrow_mut()[0] += 1;
            }
            Packet::Ack(header) if header.flags & flags::ACK_RETX != 0 => {
                noted.borrow_mut()[1] += 1;
            }
            _ => {}
        }
        false
    }));
    net.finish(10 * SEC);
    let seen = *seen.borrow();
    assert!(
        seen[0] > 5 && seen[1] > 2 && seen[1] <= 2 * seen[0],
        "{seen:?}"
    );
}

/// One packet never gets through, although everything else does and is acknowledged:
/// it is not sent again for ever.
#[test]
fn one_packet_never_arrives() {
    for window in [1, 4, 1000] {
        let mut setup = Setup::new(window * 1400).paths(lossy(8, 0));
        setup.client.retries = 6;
        let unlucky = setup.isns[CLIENT];
        let mut net = setup.start();
        net.censor = Some(Box::new(
            move |_, _, packet| matches!(packet, Packet::Data(data) if data.psn.raw() == unlucky),
        ));
        let failed = net.run(60 * SEC, |net| net.client().conn.failure().is_some());
        assert!(failed, "still trying: {:?}", net.client().conn.info());
        let failure = net.client().conn.failure();
        assert_eq!(failure, Some(Failure::TimedOut));
        let again = net.retransmissions[CLIENT];
        assert!(again <= 2 * 6 + 2, "{again} retransmissions");
    }
}
