// SPDX-License-Identifier: GPL-2.0

//! The receiver's memory against a model, and when ACKs are due.

use proptest::prelude::*;
use std::collections::BTreeSet;
use strack_proto::{
    ack::{
        Arrival,
        Echo,
        Incoming,
        Reception,
        Schedule, //
    },
    config::Config,
    counter::Counter,
    flow::RecvCredit,
    psn::Psn,
    wire::flags,
    USEC, //
};

const LEN: u16 = 10;

fn reception(capacity: u32, isn: Psn) -> (Reception, RecvCredit) {
    let reception = Reception::new(capacity, isn, 1400).expect("memory");
    (reception, RecvCredit::new(isn, capacity, 1 << 20, 1400))
}

fn packet(isn: Psn, n: u32) -> Incoming {
    Incoming {
        psn: isn.add(n),
        offset: u64::from(n) * u64::from(LEN),
        len: LEN,
        fin: false,
    }
}

#[test]
fn gap_closes() {
    let isn = Psn::new(u32::MAX - 1);
    let (mut rx, credit) = reception(64, isn);
    let mut take = |n| rx.take(&packet(isn, n), &credit);
    let in_order = |closed_gap| Ok(Arrival::InOrder { closed_gap });
    assert_eq!(take(0), in_order(false));
    assert_eq!(take(3), Ok(Arrival::OutOfOrder));
    assert_eq!(take(2), Ok(Arrival::OutOfOrder));
    assert_eq!(take(3), Ok(Arrival::Duplicate));
    assert_eq!(take(0), Ok(Arrival::Duplicate));
    assert_eq!(take(5), Ok(Arrival::OutOfOrder));
    assert_eq!(take(1), in_order(false));
    assert_eq!(take(4), in_order(true));
    assert_eq!(take(64 + 6), Err(Counter::DropCredit));
    assert_eq!(rx.nxt(), isn.add(6));
    assert_eq!(rx.bytes(), 60);
    assert_eq!(rx.duplicates(), 2);
    assert_eq!(rx.ooo_high_water(), 3);
    assert_eq!(rx.sack(), None);
}

#[test]
fn end_of_stream() {
    let isn = Psn::new(7);
    let (mut rx, credit) = reception(64, isn);
    let fin = Incoming {
        len: 0,
        fin: true,
        ..packet(isn, 2)
    };
    assert_eq!(rx.take(&fin, &credit), Ok(Arrival::OutOfOrder));
    assert_eq!(
        rx.take(&packet(isn, 3), &credit),
        Err(Counter::DropAfterFin)
    );
    assert!(rx.take(&packet(isn, 1), &credit).is_ok());
    assert!(!rx.finished());
    assert!(rx.take(&packet(isn, 0), &credit).is_ok());
    assert!(rx.finished());
    assert_eq!(rx.take(&fin, &credit), Ok(Arrival::Duplicate));
    assert_eq!(
        rx.take(&packet(isn, 3), &credit),
        Err(Counter::DropAfterFin)
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Packets in any order within the window, against a set.
    #[test]
    fn like_a_set(
        isn in prop_oneof![any::<u32>(), u32::MAX - 400..u32::MAX],
        log_capacity in 6..9u32,
        steps in prop::collection::vec(0..600u32, 1..800),
    ) {
        let isn = Psn::new(isn);
        let capacity = 1 << log_capacity;
        let (mut rx, mut credit) = reception(capacity, isn);
        let mut have = BTreeSet::new();
        let mut nxt = 0;
        let mut reported = BTreeSet::new();
        for step in steps {
            let n = nxt + step % capacity;
            let arrival = rx.take(&packet(isn, n), &credit).expect("in the window");
            let new = have.insert(n);
            prop_assert_eq!(arrival == Arrival::Duplicate, !new);
            while have.contains(&nxt) {
                nxt += 1;
            }
            let ooo = have.range(nxt..).count();
            prop_assert_eq!(rx.nxt(), isn.add(nxt));
            prop_assert_eq!(rx.nxt_offset(), u64::from(nxt) * u64::from(LEN));
            prop_assert_eq!(rx.ooo() as usize, ooo);
            prop_assert_eq!(rx.bytes(), have.len() as u64 * u64::from(LEN));
            credit.consumed(isn.add(nxt), u64::from(LEN), rx.nxt(), rx.nxt_offset());
            let sack = rx.sack();
            prop_assert_eq!(sack.is_some(), ooo > 0);
            if let Some((base, bits)) = sack {
                prop_assert!(bits != 0 || have.range(nxt..).next().is_some());
                for bit in (0..64).filter(|bit| (bits >> bit) & 1 != 0) {
                    let n = base.add(bit).dist_from(isn);
                    prop_assert!(have.contains(&n) && n > nxt, "{} of {:?}", n, have);
                    reported.insert(n);
                }
            }
        }
        // When nothing more arrives, some more ACKs tell all there is to tell.
        for _ in 0..4 * (capacity / 64 + 1) {
            if let Some((base, bits)) = rx.sack() {
                let set = (0..64).filter(|bit| (bits >> bit) & 1 != 0);
                reported.extend(set.map(|bit| base.add(bit).dist_from(isn)));
            }
        }
        for n in have.range(nxt..) {
            prop_assert!(reported.contains(n), "{} was not reported", n);
        }
    }
}

fn echo(psn: u32, flags: u8) -> Echo {
    Echo {
        psn: Psn::new(psn),
        entropy: 50_000,
        tx_time: 0,
        arrived: 1000,
        flags,
    }
}

#[test]
fn acks_wait_for_company() {
    let config = Config::default();
    let mut acks = Schedule::new(&config).expect("memory");
    for n in 0..7 {
        acks.on_data(echo(n, 0), 100, false);
        assert!(!acks.is_due());
    }
    assert_eq!(acks.deadline(), Some(1000 + 50 * USEC));
    acks.on_data(echo(7, 0), 100, false);
    assert!(acks.is_due());
    assert_eq!(acks.take(), Some(echo(7, 0)));
    assert!(!acks.is_due());
    assert_eq!(acks.deadline(), None);

    // Large packets sooner, and the last one after a while.
    for n in 0..3 {
        acks.on_data(echo(n, 0), 5000, false);
        assert!(!acks.is_due());
    }
    acks.on_data(echo(3, 0), 5000, false);
    assert!(acks.is_due());
    acks.take();
    acks.on_data(echo(4, 0), 5000, false);
    acks.on_timer(1000 + 50 * USEC - 1);
    assert!(!acks.is_due());
    acks.on_timer(1000 + 50 * USEC);
    assert!(acks.is_due());
}

#[test]
fn a_mark_is_not_lost() {
    let config = Config::default();
    let mut acks = Schedule::new(&config).expect("memory");
    acks.on_data(echo(1, flags::ACK_CE), 100, true);
    acks.on_data(echo(2, flags::ACK_DUP), 100, true);
    acks.on_data(echo(3, 0), 100, false);
    assert_eq!(acks.take(), Some(echo(1, flags::ACK_CE)));
    assert!(!acks.is_due());
    acks.on_data(echo(4, flags::ACK_DUP), 100, true);
    acks.on_data(echo(5, 0), 100, true);
    assert_eq!(acks.take(), Some(echo(4, flags::ACK_DUP)));
}

#[test]
fn a_sender_in_trouble_is_answered_twice() {
    let config = Config::default();
    let mut acks = Schedule::new(&config).expect("memory");
    acks.on_data(echo(1, flags::ACK_RETX), 100, true);
    acks.on_alone(echo(2, flags::ACK_PROBE));
    let mut answers = Vec::new();
    while acks.is_due() {
        answers.extend(acks.take().map(|echo| echo.psn.raw()));
    }
    assert_eq!(answers, [2, 2, 1, 1]);
    acks.request();
    assert!(acks.is_due());
    assert_eq!(acks.take(), None);
    assert!(!acks.is_due());
}

/// Each PROBE speaks of another path, so none is answered for another one, even if the
/// host gets to send only after many of them.
#[test]
fn every_probe_is_answered() {
    let config = Config::default();
    let mut acks = Schedule::new(&config).expect("memory");
    for probes in [3, 32, 40] {
        for psn in 0..probes {
            acks.on_alone(echo(psn, flags::ACK_PROBE));
        }
        let mut answers = Vec::new();
        while acks.is_due() {
            answers.extend(acks.take().map(|echo| echo.psn.raw()));
        }
        answers.dedup();
        // The latest ones, if they are too many.
        let expected: Vec<u32> = (probes.max(32) - 32..probes).collect();
        assert_eq!(answers, expected);
    }
}
