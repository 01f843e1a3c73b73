// SPDX-License-Identifier: GPL-2.0

//! How the congestion window fares in a small fabric.

use crate::sim::{
    Scenario,
    Sim, //
};
use strack_proto::{
    Ns,
    MSEC,
    SEC,
    USEC, //
};

const GBPS: u64 = 125_000_000;

/// RTTs from 10 us to 100 ms, with some speed and packet size for each.
const PIPES: [(u64, Ns, u32); 7] = [
    (10 * GBPS, 10 * USEC, 1500),
    (10 * GBPS, 10 * USEC, 4200),
    (10 * GBPS, 100 * USEC, 1500),
    (10 * GBPS, 100 * USEC, 4200),
    (10 * GBPS, MSEC, 4200),
    (10 * GBPS, 10 * MSEC, 9000),
    (GBPS, 100 * MSEC, 9000),
];

#[test]
fn stable_at_any_rtt_with_marks() {
    for (speed, rtt, mtu) in PIPES {
        for flows in [1, 2, 8, 32] {
            let scenario = Scenario {
                flows,
                ..Scenario::bottleneck(speed, rtt, mtu)
            };
            let outcome = Sim::run(scenario);
            let what = format!("{} us, MTU {mtu}, {flows} flows: {outcome:?}", rtt / USEC);
            assert!(outcome.utilisation > 0.95, "{what}");
            assert!(outcome.worst_utilisation > 0.7, "{what}");
            assert_eq!(outcome.loss, 0.0, "{what}");
            // About a target of delay, or a packet per flow if that is more.
            let packets = flows as u64 * u64::from(mtu) * SEC / speed;
            let limit = 2 * rtt.max(50 * USEC) + packets;
            assert!(outcome.mean_delay < limit, "{what}");
            assert!(
                outcome.fill_time.unwrap() <= 20 * rtt.max(50 * USEC),
                "{what}"
            );
            assert!(outcome.decrease_gap >= rtt, "{what}");
            if rtt >= 100 * USEC {
                assert!(outcome.fairness > 0.7, "{what}");
                assert!(outcome.base_rtt < rtt + rtt / 10, "{what}");
            }
        }
    }
}

#[test]
fn stable_where_nobody_marks() {
    for (speed, rtt, mtu) in PIPES {
        for flows in [1, 2, 8] {
            let scenario = Scenario {
                flows,
                ..Scenario::bottleneck(speed, rtt, mtu).without_marks()
            };
            let outcome = Sim::run(scenario);
            let what = format!("{} us, MTU {mtu}, {flows} flows: {outcome:?}", rtt / USEC);
            assert!(outcome.utilisation > 0.95, "{what}");
            assert!(outcome.worst_utilisation > 0.7, "{what}");
            assert!(outcome.loss < 0.06, "{what}");
            if rtt >= 100 * USEC {
                assert_eq!(outcome.loss, 0.0, "{what}");
                assert!(outcome.mean_delay < 3 * rtt, "{what}");
            }
            if rtt >= MSEC {
                assert!(outcome.fairness > 0.7, "{what}");
            }
        }
    }
}

/// Four spines of 100 Mb/s with a base RTT of about 1 ms, ten times as long as
/// the senders are told.
const SLOW_FABRIC: Scenario = Scenario {
    links: 4,
    link_bytes_per_sec: GBPS / 10,
    propagation: 660 * USEC,
    mtu: 4200,
    queue: 200_000,
    mark_from: 30_000,
    mark_all: 90_000,
    loss_ppm: 0,
    jitter: 0,
    flows: 1,
    told_bytes_per_sec: 50_000_000,
    told_base_rtt: 100 * USEC,
    initial_window: 64 * 1024,
    duration: 2 * SEC,
};

#[test]
fn slow_fabric_is_filled_without_loss() {
    for (flows, initial_window) in [(1, 4200), (1, 65_536), (2, 65_536), (4, 4200), (8, 65_536)] {
        let outcome = Sim::run(Scenario {
            flows,
            initial_window,
            ..SLOW_FABRIC
        });
        let what = format!("{flows} flows from {initial_window}: {outcome:?}");
        assert!(outcome.utilisation > 0.95, "{what}");
        assert!(outcome.worst_utilisation > 0.7, "{what}");
        assert_eq!(outcome.loss, 0.0, "{what}");
        assert!(outcome.fill_time.unwrap() < 20 * MSEC, "{what}");
        assert!(outcome.mean_delay < 2 * MSEC, "{what}");
        assert!(outcome.fairness > 0.95, "{what}");
    }
}

#[test]
fn wrong_hints_do_no_harm() {
    let right = Scenario::bottleneck(10 * GBPS, 100 * USEC, 1500);
    let hints = [
        (1000 * GBPS, 100 * USEC),
        (10 * GBPS, 10 * USEC),
        (10 * GBPS, MSEC),
    ];
    for (told_bytes_per_sec, told_base_rtt) in hints {
        for flows in [1, 8] {
            let outcome = Sim::run(Scenario {
                flows,
                told_bytes_per_sec,
                told_base_rtt,
                ..right
            });
            let what = format!("{told_bytes_per_sec} B/s, {told_base_rtt} ns: {outcome:?}");
            assert!(outcome.utilisation > 0.95, "{what}");
            assert_eq!(outcome.loss, 0.0, "{what}");
        }
    }
}

#[test]
fn random_loss_is_not_congestion() {
    for rtt in [10 * USEC, 100 * USEC, MSEC] {
        for (loss_ppm, least) in [(1_000, 0.97), (10_000, 0.95), (30_000, 0.85)] {
            let outcome = Sim::run(Scenario {
                loss_ppm,
                ..Scenario::bottleneck(10 * GBPS, rtt, 1500)
            });
            assert!(outcome.utilisation > least, "{loss_ppm} {rtt}: {outcome:?}");
        }
    }
}

#[test]
fn shallow_queue_loses_little() {
    for flows in [1, 4] {
        let outcome = Sim::run(Scenario {
            flows,
            queue: 30_000,
            ..Scenario::bottleneck(10 * GBPS, 100 * USEC, 1500).without_marks()
        });
        assert!(outcome.utilisation > 0.95, "{outcome:?}");
        assert!(outcome.loss < 0.05, "{outcome:?}");
    }
}

#[test]
fn jitter_of_hosts_does_not_starve() {
    for flows in [1, 4] {
        let outcome = Sim::run(Scenario {
            flows,
            jitter: 40 * USEC,
            ..Scenario::bottleneck(10 * GBPS, 10 * USEC, 1500)
        });
        assert!(outcome.utilisation > 0.95, "{outcome:?}");
        assert_eq!(outcome.loss, 0.0, "{outcome:?}");
    }
}
