// SPDX-License-Identifier: GPL-2.0

//! One of four spines dies, again and again: each seed is another draw of which
//! paths lead over it, of the order they are used in, and of when it happens.
//!
//! The fabric is that of the demonstration, and ACKs cross the dead spine, too.

use crate::{
    demo,
    network::{
        Network,
        CLIENT, //
    },
    rng::mix,
};
use strack_proto::{
    config::Profile,
    counter::Counter,
    Ns,
    MSEC,
    SEC,
    USEC, //
};

const BYTES: u64 = 16 << 20;

/// How many seeds to try: `STRACK_SEEDS`, or enough for every day.
fn seeds() -> u64 {
    let wanted = std::env::var("STRACK_SEEDS");
    wanted.map_or(100, |wanted| wanted.parse().expect("a number"))
}

fn network(profile: Profile, seed: u64, jitter: bool) -> Network {
    let mut setup = demo::setup(BYTES, &demo::spine(60_000, 120_000), seed);
    for direction in setup.directions.iter_mut().filter(|_| jitter) {
        direction.access.stall = 300 * USEC;
        direction.access.stall_ppm = 30_000;
        for path in &mut direction.paths {
            path.jitter = 30 * USEC;
        }
    }
    for config in [&mut setup.client, &mut setup.server] {
        config.set_profile(profile);
    }
    setup.start()
}

/// What became of one transfer, times in RTOs.
struct Outcome {
    seed: u64,
    rto: Ns,
    /// When goodput was back.
    back: u64,
    /// Longest time without anything to read, in tenths.
    silence: u64,
    /// Goodput of the last quarter, in percent of that before.
    end: u64,
    withdrawn: u64,
    timeouts: u64,
    again: u64,
    spurious: u64,
}

fn cut(profile: Profile, seed: u64, jitter: bool) -> Outcome {
    let mut net = network(profile, seed, jitter);
    let cut = 150 * MSEC + mix(seed) % (100 * MSEC);
    net.run(cut, |_| false);
    let spine = (mix(seed + 77) % 4) as usize;
    for direction in &mut net.directions {
        direction.paths[spine].hole = Some((cut, Ns::MAX));
    }
    let rto = net.client().conn.info().rto;
    net.finish(20 * SEC);
    let log = net.server().log.clone();
    let at = |time: Ns| {
        let i = log.partition_point(|(then, _)| *then <= time);
        if i == 0 {
            0
        } else {
            log[i - 1].1
        }
    };
    let end = log.last().expect("data").0;
    let before = (at(cut) - at(cut - 100 * MSEC)) * rto / (100 * MSEC);
    let good = |i: u64| {
        let from = cut + i * rto;
        from + rto > end || (at(from + rto) - at(from)) * 2 >= before
    };
    let mut back = 0;
    while !(good(back) && (back..back + 8).filter(|&i| good(i)).count() >= 6) {
        back += 1;
    }
    let times = log.iter().map(|(at, _)| *at);
    let silence = times
        .clone()
        .zip(times.skip(1))
        .filter(|&(_, to)| to > cut)
        .map(|(from, to)| to - from)
        .max()
        .unwrap_or(0);
    let quarter = end - (end - cut) / 4;
    Outcome {
        seed,
        rto,
        back: back + 1,
        silence: silence * 10 / rto,
        end: (at(end) - at(quarter)) * rto / (end - quarter).max(1) * 100 / before,
        withdrawn: net.count(CLIENT, Counter::PathWithdrawn),
        timeouts: net.count(CLIENT, Counter::Timeouts),
        again: net.retransmissions[CLIENT],
        spurious: net.count(CLIENT, Counter::RetransSpurious),
    }
}

fn spread(name: &str, values: impl Iterator<Item = u64>) {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    let at = |percent: usize| values[(values.len() - 1) * percent / 100];
    println!(
        "{name}: least {}, median {}, 90 % {}, 99 % {}, most {}",
        at(0),
        at(50),
        at(90),
        at(99),
        at(100)
    );
}

/// Both profiles, without jitter and with it.
fn cases() -> impl Iterator<Item = (Profile, bool)> {
    let profiles = Profile::ALL.into_iter();
    profiles.flat_map(|(_, profile)| [(profile, false), (profile, true)])
}

#[test]
fn a_spine_dies() {
    for (profile, jitter) in cases() {
        let outcomes: Vec<_> = (0..seeds())
            .map(|seed| cut(profile, seed, jitter))
            .collect();
        println!("{}, jitter {jitter}", profile.name());
        spread("RTO in us", outcomes.iter().map(|one| one.rto / USEC));
        spread("back in RTOs", outcomes.iter().map(|one| one.back));
        spread(
            "silence in tenths of RTO",
            outcomes.iter().map(|one| one.silence),
        );
        spread(
            "goodput at the end in %",
            outcomes.iter().map(|one| one.end),
        );
        spread("withdrawn", outcomes.iter().map(|one| one.withdrawn));
        spread("timeouts", outcomes.iter().map(|one| one.timeouts));
        spread("sent again", outcomes.iter().map(|one| one.again));
        spread("needlessly", outcomes.iter().map(|one| one.spurious));
        let late = outcomes.iter().filter(|one| one.back > 20).count();
        let silent = outcomes.iter().filter(|one| one.silence > 60).count();
        let weak = outcomes.iter().filter(|one| one.end < 50).count();
        println!("late {late}, silent {silent}, weak {weak}");
        let mut worst: Vec<_> = outcomes.iter().collect();
        worst.sort_by_key(|one| core::cmp::Reverse(one.back));
        for one in worst.iter().take(3) {
            println!("seed {}: back after {} RTOs", one.seed, one.back);
        }
        // All but one in a hundred are back within 20 RTOs, without long silence, and fast at the end.
        assert!(late * 100 <= outcomes.len());
        assert!(silent * 100 <= outcomes.len());
        assert!(weak * 100 <= outcomes.len());
    }
}

/// Three of four spines die in both directions while a window is hardly more than a
/// packet, as with a host that is slow to answer: three of four ACKs are lost, too,
/// and the end that sends nothing but ACKs has to find out where they get through.
#[test]
fn three_spines_die() {
    let mut took = Vec::new();
    let mut kept = Vec::new();
    for seed in 0..seeds() {
        let mut net = network(Profile::Stellar, seed, true);
        for direction in &mut net.directions {
            direction.access.stall = 20 * MSEC;
            direction.access.stall_ppm = 100_000;
        }
        net.run(300 * MSEC, |_| false);
        let cut = net.now;
        for direction in &mut net.directions {
            for path in &mut direction.paths[..3] {
                path.hole = Some((cut, Ns::MAX));
            }
        }
        let before = net.server().read;
        net.run(60 * SEC, |net| net.server().read >= before + (1 << 20));
        took.push((net.now - cut) / MSEC);
        kept.push(net.server().conn.info().paths_bad);
    }
    spread("1 MiB in ms", took.iter().copied());
    spread("withdrawn by the receiver", kept.into_iter().map(u64::from));
    // Without asking it took 7 s, and up to 19.
    took.sort_unstable();
    assert!(took[took.len() / 2] < 1_500);
    assert!(took.iter().all(|&took| took < 5_000));
}

/// Nothing is lost, so nothing is sent again.
#[test]
fn no_spine_dies() {
    for (profile, jitter) in cases() {
        let mut took = Vec::new();
        let mut bad = Vec::new();
        for seed in 0..seeds() {
            let mut net = network(profile, seed, jitter);
            net.finish(20 * SEC);
            took.push(net.server().log.last().expect("data").0 / MSEC);
            let links = net.directions[CLIENT].paths.iter();
            let dropped: u64 = links.map(|link| link.dropped).sum();
            if net.retransmissions[CLIENT] > 0 || dropped > 0 {
                bad.push((seed, net.retransmissions[CLIENT], dropped));
            }
        }
        println!("{}, jitter {jitter}", profile.name());
        spread("took in ms", took.into_iter());
        assert!(bad.is_empty(), "{bad:?}");
    }
}
