// SPDX-License-Identifier: GPL-2.0

//! Whatever the network and the applications do, what is written is read.

use crate::{
    endpoint::App,
    link::{
        Direction,
        Link, //
    },
    network::Setup, //
};
use proptest::prelude::*;
use strack_proto::{
    config::{
        PathPolicy,
        Profile, //
    },
    Ns,
    SEC,
    USEC, //
};

/// How long any transfer below may take.
const LIMIT: Ns = 120 * SEC;

fn link() -> impl Strategy<Value = Link> {
    let rates = prop_oneof![Just(0), 1_000_000u64..50_000_000];
    (
        1..500u64,
        0..400u64,
        rates,
        0..60_000u64,
        0..100_000u64,
        prop::bool::ANY,
    )
        .prop_map(|(delay, jitter, rate, loss_ppm, dup_ppm, lossy)| Link {
            jitter: jitter * USEC,
            rate,
            queue: 100_000,
            mark_from: 15_000,
            mark_all: 45_000,
            mark_ppm: 200_000,
            loss_ppm: if lossy { loss_ppm } else { 0 },
            dup_ppm: if lossy { dup_ppm } else { 0 },
            ..Link::new(delay * USEC)
        })
}

fn direction() -> impl Strategy<Value = Direction> {
    (prop::collection::vec(link(), 1..6), any::<u64>()).prop_map(|(paths, hash)| {
        let mut direction = Direction::new(paths);
        direction.hash = Some(hash);
        direction
    })
}

fn app() -> impl Strategy<Value = App> {
    (0..300_000u64, 1..20_000u64, 1..20_000u64, 0..300u64).prop_map(
        |(write, write_max, read_max, pause)| App {
            write_max,
            read_max,
            // Pauses that do not add up to minutes.
            read_every: if read_max > 2000 { pause * USEC } else { 0 },
            ..App::writer(write)
        },
    )
}

/// A first PSN, often right before the wrap.
fn isn() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), u32::MAX - 300..u32::MAX, 0..3u32]
}

fn setup() -> impl Strategy<Value = Setup> {
    let ends = ([app(), app()], [isn(), isn()], [direction(), direction()]);
    let policies: Vec<_> = PathPolicy::ALL
        .into_iter()
        .map(|(_, policy)| policy)
        .collect();
    let knobs = (
        (any::<u64>(), any::<bool>()),
        1..=256u16,
        64..2000u16,
        prop_oneof![Just(64u32), Just(256), Just(1024)],
        prop_oneof![0..5000u32, 5000..500_000u32],
        (prop::sample::select(policies), 0..20u16),
    );
    (ends, knobs).prop_map(|((apps, isns, directions), knobs)| {
        let ((seed, adaptive), paths, mss, window_packets, rcv_window, (policy, spares)) = knobs;
        let mut setup = Setup::new(0);
        for config in [&mut setup.client, &mut setup.server] {
            config.paths = paths;
            config.mss = mss;
            config.window_packets = window_packets;
            config.rcv_window = rcv_window;
            config.policy = policy;
            config.spares = spares;
            if adaptive {
                config.profile = Profile::Strack;
            }
            config.seed ^= seed;
            // Bad luck with all its repetitions is possible on a single bad path.
            config.retries = 30;
        }
        setup.seed = seed;
        setup.apps = apps;
        setup.isns = isns;
        setup.directions = directions;
        setup
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_written_is_read(setup in setup()) {
        let mut net = setup.start();
        net.finish(LIMIT);
    }
}
