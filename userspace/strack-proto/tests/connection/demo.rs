// SPDX-License-Identifier: GPL-2.0

//! The fabric of the demonstration: four spines of 100 Mb/s and packets of 4 KiB, so that
//! a window is some ten packets on 128 paths.

use crate::{
    endpoint::App,
    link::{
        Direction,
        Link, //
    },
    network::Setup,
    rng::mix,
};
use strack_proto::USEC;

/// Bytes per second of a spine.
pub(crate) const SPINE: u64 = 12_500_000;

/// A spine. Its queue marks some packets from `mark_from` bytes on, and all from `mark_all` on.
pub(crate) fn spine(mark_from: u64, mark_all: u64) -> Link {
    Link {
        rate: SPINE,
        burst: 8_500,
        queue: 200_000,
        mark_from,
        mark_all,
        mark_ppm: 100_000,
        ..Link::new(100 * USEC)
    }
}

/// A transfer of `bytes` over four such spines. Each seed is another draw of which paths
/// lead over which.
pub(crate) fn setup(bytes: u64, spine: &Link, seed: u64) -> Setup {
    let direction = |seed| {
        let mut direction = Direction::new(vec![spine.clone(); 4]);
        direction.access.rate = 80 * SPINE;
        direction.access.queue = 4_000_000;
        direction.hash = Some(mix(seed));
        direction
    };
    let mut setup = Setup::new(bytes);
    setup.apps = [App::writer(bytes), App::reader()];
    setup.directions = [direction(2 * seed), direction(2 * seed + 1)];
    setup.seed = seed;
    setup.client.seed = mix(seed + 1000);
    setup.server.seed = mix(seed + 2000);
    for config in [&mut setup.client, &mut setup.server] {
        config.mss = 4140;
    }
    setup
}
