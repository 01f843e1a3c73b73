// SPDX-License-Identifier: GPL-2.0
//! Links and switches with made-up packets.

use super::*;
use crate::host::roce::Header;
use crate::host::Body;
use crate::host::Place;
use crate::random::Stream;
use crate::time::Ps;

const RATE: u64 = 100_000_000_000;
const DELAY: Ps = 1_000_000;

fn packet(dst: u32, port: u16, size: u32) -> Packet {
    let place = Place {
        host: 0,
        peer: dst,
        peer_end: 1,
    };
    Packet {
        ect: true,
        ..Packet::new(&place, port, size, Body::Roce(Header::Notification))
    }
}

/// Host 0 on a switch, which has a link of a tenth of the rate to host 1.
fn narrow(rules: QueueRules, pfc: Option<Pfc>) -> Net {
    let mut switch = Switch::new(1, (0, 2), 1);
    switch.down = vec![2, 1];
    let (a, b, s) = (Node::Host(0), Node::Host(1), Node::Switch(0));
    Net {
        links: vec![
            Link::new(a, s, RATE, DELAY, QueueRules::HOST),
            Link::new(s, b, RATE / 10, DELAY, rules),
            Link::new(s, a, RATE, DELAY, rules),
        ],
        names: ["host0:tor0", "tor0:host1", "tor0:host0"]
            .map(String::from)
            .to_vec(),
        switches: vec![switch],
        uplinks: vec![vec![0], vec![]],
        positions: vec![0, 1],
        choice: Choice::Ecmp,
        pfc,
        packets: Packets::default(),
        random: Random::new(1, Stream::Links),
    }
}

const RULES: QueueRules = QueueRules {
    capacity: 20_000,
    ecn: Ecn::Step(5_000),
    trim: false,
};

/// Sends `count` packets of 1000 bytes from host 0 and returns when those that arrive
/// do, and as what.
fn pass(net: &mut Net, count: u32) -> Vec<(Ps, Packet)> {
    let mut events = Events::default();
    for _ in 0..count {
        let id = net.packets.keep(packet(1, 50_000, 1000));
        net.put(&mut events, 0, id);
    }
    let mut arrived = Vec::new();
    while let Some(event) = events.next(Ps::MAX) {
        match event {
            Event::Arrive(link, id) => {
                if net.arrive(&mut events, link, id).is_some() {
                    arrived.push((events.now(), net.packets.get(id).clone()));
                    net.packets.forget(id);
                }
            }
            Event::Free(link) => net.free(&mut events, link),
            Event::Pause(link, stop) => net.pause(&mut events, link, stop),
            other => panic!("{other:?}"),
        }
    }
    assert!(net.packets.is_empty());
    arrived
}

#[test]
fn a_packet_takes_its_time() {
    let arrived = pass(&mut narrow(RULES, None), 1);
    // 80 ns and 800 ns to be sent, and twice the delay.
    assert_eq!(arrived[0].0, 2 * DELAY + 80_000 + 800_000);
    assert!(!arrived[0].1.ce);
}

#[test]
fn packets_behind_a_long_queue_are_marked_when_they_leave() {
    let arrived = pass(&mut narrow(RULES, None), 10);
    let marks: Vec<bool> = arrived.iter().map(|(_, packet)| packet.ce).collect();
    // When the first leaves, none waits; the queue is longest soon after, and short at
    // the end.
    assert!(!marks[0] && marks[2] && !marks[9], "{marks:?}");
    // One after the other at the rate of the narrow link.
    let gaps = arrived.windows(2).map(|pair| pair[1].0 - pair[0].0);
    assert!(gaps.into_iter().all(|gap| gap == 800_000));
}

#[test]
fn what_does_not_fit_is_dropped() {
    let mut net = narrow(RULES, None);
    let arrived = pass(&mut net, 100);
    let dropped = net.links[1].counts.dropped;
    assert_eq!(arrived.len() as u64 + dropped, 100);
    assert!((60..=70).contains(&dropped), "{dropped}");
    assert!(net.links[1].counts.longest <= RULES.capacity);
}

#[test]
fn or_it_loses_its_payload_and_overtakes() {
    let rules = QueueRules {
        trim: true,
        ..RULES
    };
    let arrived = pass(&mut narrow(rules, None), 100);
    assert_eq!(arrived.len(), 100);
    let trimmed = arrived.iter().filter(|(_, packet)| packet.trimmed);
    assert!(trimmed
        .clone()
        .all(|(_, packet)| packet.size == TRIMMED_SIZE));
    // Headers take time on the link, too, so a few more than would be dropped.
    assert!((65..=80).contains(&trimmed.count()));
    let last = arrived.last().expect("packets");
    assert!(!last.1.trimmed);
}

#[test]
fn or_the_sender_is_stopped() {
    let pfc = Pfc {
        stop: 5_000,
        go: 3_000,
    };
    let rules = QueueRules {
        capacity: u64::MAX,
        ..RULES
    };
    let mut net = narrow(rules, Some(pfc));
    let arrived = pass(&mut net, 200);
    assert_eq!(arrived.len(), 200);
    // What was on its way when the switch said stop: two delays of the wide link.
    let longest = net.links[1].counts.longest;
    assert!((5_000..32_000).contains(&longest), "{longest}");
    assert!(net.links[0].counts.pauses > 1);
    // The narrow link was never idle.
    let took = arrived[199].0 - arrived[0].0;
    assert_eq!(took, 199 * 800_000);
}

#[test]
fn a_dead_link_takes_all_and_gives_nothing() {
    let mut net = narrow(RULES, None);
    net.links[1].up = false;
    assert!(pass(&mut net, 5).is_empty());
    assert_eq!(net.links[1].counts.lost, 5);
}

#[test]
fn a_damaged_link_loses_its_part() {
    let mut net = narrow(
        QueueRules {
            capacity: u64::MAX,
            ..RULES
        },
        None,
    );
    net.links[1].loss = 0.1;
    let arrived = pass(&mut net, 10_000);
    assert!((8_850..9_150).contains(&arrived.len()), "{}", arrived.len());
}

/// Which of eight ways up a switch of this seed takes, for each of 256 ports.
fn ways(seed: u64, choice: Choice) -> Vec<LinkId> {
    let mut switch = Switch::new(seed, (0, 1), 1);
    switch.up = (0..8).collect();
    let links: Vec<Link> = (0..8)
        .map(|_| Link::new(Node::Switch(0), Node::Switch(1), RATE, DELAY, RULES))
        .collect();
    (0..256)
        .map(|port| switch.route(choice, &packet(5, 50_000 + port, 100), 5, &links))
        .collect()
}

#[test]
fn the_port_decides_and_the_seed_of_the_switch() {
    assert_eq!(ways(1, Choice::Ecmp), ways(1, Choice::Ecmp));
    let (one, two) = (ways(1, Choice::Ecmp), ways(2, Choice::Ecmp));
    let same = one.iter().zip(&two).filter(|(a, b)| a == b).count();
    // One in eight by chance.
    assert!((16..50).contains(&same), "{same}");
    for way in 0..8 {
        let share = one.iter().filter(|&&of| of == way).count();
        assert!((16..50).contains(&share), "way {way}: {share}");
    }
}

#[test]
fn a_switch_that_sprays_is_even() {
    for choice in [Choice::RoundRobin, Choice::Shortest] {
        let ways = ways(1, choice);
        for way in 0..8 {
            assert_eq!(
                ways.iter().filter(|&&of| of == way).count(),
                32,
                "{choice:?}"
            );
        }
    }
}
