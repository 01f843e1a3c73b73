// SPDX-License-Identifier: GPL-2.0

//! The sender's ring against a recount, and how late a packet may be.

use proptest::prelude::*;
use strack_proto::{
    loss::{
        Cause,
        Outstanding,
        Params,
        Patience,
        Probes,
        Resent,
        TxSlot,
        TxState, //
    },
    psn::Psn,
    rtt::Rtt,
    wire::{
        flags,
        AckHeader, //
    },
    MSEC,
    SEC,
    USEC, //
};

#[test]
fn life_of_a_packet() {
    let isn = Psn::new(u32::MAX);
    let mut tx = Outstanding::new(64, isn).expect("memory");
    assert_eq!(tx.push(100), Some(isn));
    tx.grow_tail(50);
    tx.grow_tail(u16::MAX);
    assert_eq!(tx.tail_offset(), 150);
    tx.send_next(1000, 50_000);
    tx.grow_tail(1);
    assert_eq!(
        (tx.in_flight(), tx.in_flight_bytes(), tx.backlog()),
        (1, 150, 0)
    );

    assert!(tx.lose(isn, Cause::Timeout).is_some());
    assert!(tx.lose(isn, Cause::Timeout).is_none());
    assert_eq!((tx.in_flight(), tx.lost()), (0, 1));
    assert_eq!(tx.first_lost(), Some((isn, Cause::Timeout)));
    tx.send_again(isn, 2000, 50_001);
    tx.send_again(isn, 3000, 50_002);
    let slot = *tx.get(isn).expect("a slot");
    assert_eq!(
        (slot.first_sent, slot.sent_at, slot.transmissions),
        (1000, 2000, 2)
    );

    assert!(tx.deliver(isn).is_some());
    assert!(tx.deliver(isn).is_none());
    assert!(tx.lose(isn, Cause::Timeout).is_none());
    tx.advance(isn.next());
    assert_eq!(tx.una(), isn.next());
    assert!(tx.get(isn).is_none());
    assert!(tx.recent(isn).is_some());
    assert!(tx.recent(isn.sub(1)).is_none());
    // Nothing beyond what was sent can be acknowledged.
    tx.advance(isn.add(2));
    assert_eq!(tx.una(), isn.next());
}

#[test]
fn room_is_left_for_the_end() {
    let mut tx = Outstanding::new(64, Psn::new(0)).expect("memory");
    while tx.push(1).is_some() {}
    assert_eq!(tx.backlog(), 63);
    for _ in 0..63 {
        tx.send_next(1, 50_000);
    }
    tx.push_fin(flags::DATA_FIN);
    assert_eq!(tx.backlog(), 1);
    let fin = tx.get(Psn::new(63)).expect("a slot");
    assert_eq!((fin.len, fin.flags), (0, flags::DATA_FIN));

    // If the last packet was not sent yet, it becomes the end.
    let mut tx = Outstanding::new(64, Psn::new(0)).expect("memory");
    tx.push(5);
    tx.push_fin(flags::DATA_FIN);
    assert_eq!(tx.backlog(), 1);
    assert_eq!(
        tx.get(Psn::new(0)).map(|slot| slot.flags),
        Some(flags::DATA_FIN)
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn counts_are_right(
        isn in prop_oneof![any::<u32>(), u32::MAX - 100..u32::MAX],
        steps in prop::collection::vec((0..7u8, 0..64u32), 1..2000),
    ) {
        let mut tx = Outstanding::new(64, Psn::new(isn)).expect("memory");
        for (time, (step, n)) in steps.into_iter().enumerate() {
            let now = time as u64 + 1;
            let psn = tx.una().add(n);
            match step {
                0 => drop(tx.push(1 + n as u16)),
                1 => tx.send_next(now, 50_000),
                2 => drop(tx.lose(psn, Cause::Overtaken)),
                3 => drop(tx.deliver(psn)),
                4 => if let Some((psn, _)) = tx.first_lost() {
                    tx.send_again(psn, now, 50_001);
                },
                5 => tx.grow_tail(n as u16),
                _ => while tx.get(tx.una()).is_some_and(|slot| slot.state == TxState::Delivered) {
                    tx.advance(tx.una().next());
                },
            }
            let psns = (0..tx.tail().dist_from(tx.una())).map(|n| tx.una().add(n));
            let slots: Vec<_> = psns.filter_map(|psn| tx.get(psn)).collect();
            let flying = slots.iter().filter(|slot| slot.state == TxState::InFlight);
            let lost = slots.iter().filter(|slot| matches!(slot.state, TxState::Lost(_)));
            let bytes = flying.clone().map(|slot| u64::from(slot.len)).sum::<u64>();
            prop_assert_eq!(tx.in_flight() as usize, flying.count());
            prop_assert_eq!(tx.in_flight_bytes(), bytes);
            prop_assert_eq!(tx.lost() as usize, lost.clone().count());
            let delivered = |slot: &&&TxSlot| slot.state == TxState::Delivered;
            prop_assert_eq!(tx.delivered() as usize, slots.iter().filter(delivered).count());
            prop_assert!(slots.windows(2).all(|pair| pair[0].end() == pair[1].offset));
            let any_lost = lost.count() > 0;
            prop_assert_eq!(tx.first_lost().is_some(), any_lost);
        }
    }
}

fn rtt(samples: &[u64]) -> Rtt {
    let mut rtt = Rtt::new();
    for &sample in samples {
        rtt.on_sample(0, sample * USEC);
    }
    rtt
}

#[test]
fn another_rtt_is_granted() {
    let patience = Patience::new(Params::default(), 0);
    let rtt = rtt(&[200; 50]);
    let target = 100 * USEC;
    assert_eq!(patience.overtaken(&rtt, target), 500 * USEC);
    assert_eq!(patience.timeout(&rtt, target, 250 * USEC, SEC), 550 * USEC);
    // Nothing goes below the floor or above the ceiling.
    assert_eq!(patience.timeout(&rtt, target, MSEC, SEC), MSEC);
    assert_eq!(patience.timeout(&rtt, target, USEC, 2 * USEC), 2 * USEC);
    let fast = self::rtt(&[20; 50]);
    assert_eq!(
        patience.timeout(&fast, 50 * USEC, 250 * USEC, SEC),
        250 * USEC
    );
}

#[test]
fn slowest_packet_seen_is_not_the_slowest_there_can_be() {
    // Where each packet takes another time, a probe on its path says little before that.
    let mut patience = Patience::new(Params::default(), 0);
    patience.on_arrival(2 * MSEC);
    assert_eq!(patience.overtaken_by_probe(), 2500 * USEC);
}

/// Nobody answers a probe faster than the RTT because nothing is known of the paths any more.
#[test]
fn answers_take_a_round_trip() {
    let rtt = rtt(&[2000; 50]);
    let mut patience = Patience::new(Params::default(), 0);
    assert_eq!(patience.answer(&rtt), 2500 * USEC);
    patience.on_arrival(4 * MSEC);
    assert_eq!(patience.answer(&rtt), 5 * MSEC);
    for i in 1..=2 {
        patience.on_ack(i * SEC, rtt.srtt(), 1);
    }
    assert_eq!(patience.answer(&rtt), 2500 * USEC);
}

#[test]
fn slow_paths_are_remembered_for_a_while() {
    let mut patience = Patience::new(Params::default(), 0);
    let rtt = rtt(&[200; 50]);
    let target = 100 * USEC;
    patience.on_arrival(2 * MSEC);
    assert_eq!(patience.overtaken(&rtt, target), 3000 * USEC);
    assert_eq!(patience.timeout(&rtt, target, USEC, SEC), 3000 * USEC);
    for i in 1..=2 {
        patience.on_ack(i * 13 * MSEC, rtt.srtt(), 1);
        patience.on_arrival(200 * USEC);
    }
    assert_eq!(patience.overtaken(&rtt, target), 500 * USEC);
}

#[test]
fn late_packets_stretch_the_limits() {
    let mut patience = Patience::new(Params::default(), 0);
    let rtt = rtt(&[200; 50]);
    let target = 100 * USEC;
    assert!(patience.on_late(MSEC, rtt.srtt()));
    assert!(!patience.on_late(MSEC + 1, rtt.srtt()));
    assert_eq!(patience.overtaken(&rtt, target), 750 * USEC);
    assert_eq!(patience.overtakers(), 7);
    for i in 0..100 {
        patience.on_late((i + 2) * MSEC, rtt.srtt());
    }
    assert_eq!(patience.overtaken(&rtt, target), 2000 * USEC);
    for i in 0..100 {
        patience.on_ack((i + 1) * SEC, rtt.srtt(), 1);
    }
    assert_eq!(patience.overtaken(&rtt, target), 500 * USEC);
}

#[test]
fn overtakers_are_those_of_the_widest_window() {
    let mut patience = Patience::new(Params::default(), 0);
    assert_eq!(patience.overtakers(), 5);
    patience.on_ack(1, MSEC, 100);
    patience.on_ack(2, MSEC, 4);
    assert_eq!(patience.overtakers(), 150);
    patience.on_ack(SEC, MSEC, 4);
    assert_eq!(patience.overtakers(), 150);
    patience.on_ack(2 * SEC, MSEC, 4);
    assert_eq!(patience.overtakers(), 6);
}

/// A round of probes is forgotten with the next one, not by finding that nothing is to be asked.
#[test]
fn latest_probes_are_remembered() {
    let mut probes = Probes::new();
    assert!(!probes.is_pending());
    assert!(probes.choose([1, 2].into_iter(), 8, Some(3)));
    for entropy in [1, 2, 3] {
        assert_eq!(probes.next(1000), Some(entropy));
    }
    assert!(!probes.is_pending());
    let answer = AckHeader {
        entropy: 3,
        echo_time: 1000,
        ..AckHeader::default()
    };
    assert_eq!(probes.on_answer(2000, &answer, true), Some(1000));
    let known = |probes: &Probes| {
        let overtook = probes.overtook(500, 3, false, 2000);
        (probes.silent(500, 1), overtook, probes.is_pending())
    };
    assert_eq!(known(&probes), (true, true, false));
    assert!(!probes.choose([].into_iter(), 8, Some(4)));
    assert_eq!(known(&probes), (true, true, false));
    assert!(probes.choose([5].into_iter(), 8, None));
    assert_eq!(known(&probes), (false, false, true));
}

/// A connection starts once, however many packets it sends: their numbers come round.
#[test]
fn start_has_an_end() {
    let params = Params::default();
    let mut patience = Patience::new(params, 0);
    let packets = u32::from(params.start_packets);
    patience.on_acked(packets - 1);
    patience.on_acked(0);
    assert!(patience.is_starting());
    patience.on_acked(1);
    assert!(!patience.is_starting());
    // Those that are left until the first number is used again, and one more.
    for more in [1 << 31, (1 << 31) - packets, 1] {
        patience.on_acked(more);
        assert!(!patience.is_starting());
    }

    let mut patience = Patience::new(params, 0);
    patience.on_acked(1 << 16);
    assert!(!patience.is_starting());
    let known = Params {
        start_packets: 0,
        ..params
    };
    assert!(!Patience::new(known, 0).is_starting());
}

#[test]
fn needless_once() {
    let mut resent = Resent::new().expect("memory");
    for n in 0..100 {
        resent.push(500, Psn::new(n), u64::from(n) + 7, Cause::Overtaken);
    }
    resent.push(600, Psn::new(99), 5, Cause::Timeout);
    assert_eq!(
        resent.find(600, Psn::new(99)).map(|again| again.first_sent),
        Some(106)
    );
    assert!(resent.find(600, Psn::new(0)).is_none());
    assert!(resent.set_needless(600, Psn::new(0)).is_none());
    let again = resent.set_needless(600, Psn::new(99)).expect("news");
    assert_eq!(again.late_by(), Some(500 - 106));
    assert!(resent.set_needless(600, Psn::new(99)).is_none());
    // A minute later another packet may have its PSN.
    let later = 600 + 60 * SEC;
    assert!(resent.find(later, Psn::new(99)).is_none());
    resent.push(later, Psn::new(99), later - 5, Cause::Timeout);
    assert_eq!(
        resent
            .set_needless(later, Psn::new(99))
            .map(|again| again.first_sent),
        Some(later - 5)
    );
}

/// The receiver counts more duplicates than its ACKs name.
#[test]
fn unnamed_duplicates_are_counted_once() {
    let mut resent = Resent::new().expect("memory");
    let una = Psn::new(10);
    for n in [3, 5, 11] {
        resent.push(500, Psn::new(n), 100, Cause::Overtaken);
    }
    assert_eq!(resent.on_duplicates(1, true), 0);
    assert!(resent.set_needless(600, Psn::new(5)).is_some());
    // One ACK tells of two more, of which it names none; 11 has not been acknowledged.
    assert_eq!(resent.on_duplicates(3, false), 2);
    let guess = resent.guess_needless(una).map(|again| again.psn);
    assert_eq!(guess, Some(Psn::new(3)));
    assert!(resent.guess_needless(una).is_none());
    // The ACK that was overtaken names another than was guessed: no news.
    assert_eq!(resent.on_duplicates(2, true), 0);
    assert!(resent.set_needless(600, Psn::new(11)).is_none());
    // The count wraps.
    assert_eq!(resent.on_duplicates(u16::MAX, false), 0);
    let mut resent = Resent::new().expect("memory");
    assert_eq!(resent.on_duplicates(30_000, false), 30_000);
    assert_eq!(resent.on_duplicates(60_000, false), 30_000);
    assert_eq!(resent.on_duplicates(1, true), 5536);
}
