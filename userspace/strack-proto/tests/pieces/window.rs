// SPDX-License-Identifier: GPL-2.0

//! The congestion window: its constants and its reactions.

use proptest::prelude::*;
use strack_proto::{
    counter::Counter,
    window::{
        Acked,
        Gains,
        Nscc,
        NsccConfig,
        Params,
        Window, //
    },
    Ns,
    MSEC,
    SEC,
    USEC, //
};

const GBPS: u64 = 125_000_000;

const MTU: u64 = 1500;

/// 10 Gb/s and 100 us: a bandwidth-delay product of 125,000 bytes.
fn config() -> NsccConfig {
    NsccConfig {
        link_bytes_per_sec: 10 * GBPS,
        config_base_rtt: 100 * USEC,
        mtu: MTU as u32,
        initial_window: 60_000,
        min_target: 50 * USEC,
        params: Params::default(),
    }
}

fn params() -> Params {
    Params::default()
}

fn window(config: NsccConfig) -> Window {
    Window::Nscc(Nscc::new(config))
}

/// An ACK for so many bytes, one packet of which was marked if any was.
fn acked(bytes: u64, marked: bool, rtt: Option<Ns>) -> Acked {
    Acked {
        bytes,
        marked: marked.then_some(bytes.min(MTU)),
        rtt,
        len: bytes.min(MTU),
        inflight: bytes,
    }
}

/// A window that is used in full and gets an ACK per packet.
struct Driver {
    window: Window,
    now: Ns,
    inflight: u64,
}

impl Driver {
    fn new(config: NsccConfig) -> Self {
        Self {
            window: window(config),
            now: SEC,
            inflight: 0,
        }
    }

    fn fill(&mut self) {
        while self.window.can_send(self.inflight, MTU) {
            self.inflight += MTU;
        }
    }

    /// One RTT in which every packet takes `rtt`.
    fn round(&mut self, rtt: Ns, ecn: bool) -> Vec<Counter> {
        self.fill();
        let packets = (self.inflight / MTU).max(1);
        let mut events = Vec::new();
        for _ in 0..packets {
            self.now += rtt / packets;
            self.inflight -= MTU;
            let acked = Acked {
                inflight: self.inflight + MTU,
                ..acked(MTU, ecn, Some(rtt))
            };
            events.extend(self.window.on_ack(self.now, &acked));
            self.fill();
        }
        events
    }
}

#[test]
fn constants_of_the_specification() {
    // Link in bytes per second, base RTT, target, MTU; then a, b, alpha in bytes
    // per us, fi, eta, fi_scale and MaxWnd.
    #[rustfmt::skip]
    let table = [
        (100 * GBPS, 12 * USEC, 9_000, 4096, 1.0, 0.75, 1365.3, 20_480.0, 614.4, 0.25, 225_000),
        (400 * GBPS, 12 * USEC, 9_000, 4096, 4.0, 0.75, 5461.3, 81_920.0, 2457.6, 1.0, 900_000),
        (800 * GBPS, 6 * USEC, 4_500, 4096, 4.0, 0.375, 5461.3, 81_920.0, 2457.6, 1.0, 900_000),
        (10 * GBPS, 100 * USEC, 100 * USEC, 1500, 0.8333, 8.333, 416.7, 6_250.0, 187.5, 0.208, 187_500),
        (10 * GBPS, MSEC, MSEC, 1500, 8.333, 83.33, 4166.7, 62_500.0, 1875.0, 2.08, 1_875_000),
    ];
    let fixed = |value: u64| value as f64 / 65_536.0;
    let close = |value: f64, expected: f64| (value - expected).abs() <= expected * 0.003;
    for (link, base_rtt, target, mtu, a, b, alpha, fair, eta, fast, max_window) in table {
        let gains = Gains::new(&params(), link, base_rtt, target, mtu);
        assert!(close(fixed(gains.a), a), "{gains:?}");
        assert!(close(fixed(gains.b), b), "{gains:?}");
        let per_us = gains.proportional() as f64 * USEC as f64 / target as f64;
        assert!(close(per_us, alpha), "{per_us} {gains:?}");
        assert!(close(gains.fair() as f64, fair), "{gains:?}");
        assert!(close(gains.eta() as f64, eta), "{gains:?}");
        assert!(close(fixed(gains.fast), fast), "{gains:?}");
        assert_eq!(gains.max_window(), max_window);
    }
}

#[test]
fn constants_are_clamped() {
    let one = 65_536;
    // b to 150000 / (8 * MTU), the fast increase to a doubling per RTT.
    let long = Gains::new(&params(), 10 * GBPS, MSEC, MSEC, 1500).clamped(&params());
    assert_eq!(long.b, one * 25 / 2);
    assert_eq!(long.fast, one);
    let long = Gains::new(&params(), 10 * GBPS, MSEC, MSEC, 4096).clamped(&params());
    assert_eq!(long.b * 1000 / one, 4577);
    // Within the limits nothing changes, but a small window opens fast enough.
    let short = Gains::new(&params(), 10 * GBPS, 100 * USEC, 100 * USEC, 1500);
    assert_eq!(short.clamped(&params()).b, short.b);
    assert_eq!(short.clamped(&params()).fast, one / 2);
    // Nothing overflows.
    let absurd = Gains::new(&params(), u64::MAX, u64::MAX, u64::MAX, 9000).clamped(&params());
    assert!(absurd.proportional() > 0 && absurd.fair() > 0 && absurd.eta() > 0);
}

#[test]
fn start() {
    let window = window(config());
    assert_eq!(window.cwnd(), 60_000);
    assert_eq!(window.base_rtt(), 100 * USEC);
    assert_eq!(window.target_delay(), 100 * USEC);
    assert!(window.can_send(58_500, MTU));
    assert!(!window.can_send(58_501, MTU));
    // One packet always, however small the window.
    assert!(window.can_send(0, 100_000));
}

#[test]
fn fixed_stays_fixed() {
    let mut window = Window::Fixed(10_000);
    window.on_loss(0, 5_000);
    window.on_timeout(0);
    window.on_timeout(0);
    assert_eq!(window.on_ack(0, &acked(5_000, true, Some(SEC))), None);
    assert_eq!(window.cwnd(), 10_000);
    assert!(window.can_send(8_500, MTU) && !window.can_send(8_501, MTU));
}

#[test]
fn target_has_a_floor() {
    let mut window = window(config());
    window.on_ack(SEC, &acked(MTU, false, Some(10 * USEC)));
    assert_eq!(window.base_rtt(), 10 * USEC);
    assert_eq!(window.target_delay(), 50 * USEC);
}

/// On a slow link a window of few packets aims at a longer delay, up to a limit.
#[test]
fn narrow_windows_aim_higher() {
    let target_of = |link_bytes_per_sec: u64, packets: u64, base_rtt: Ns| {
        let mut window = window(NsccConfig {
            link_bytes_per_sec,
            initial_window: packets * MTU,
            ..config()
        });
        window.on_ack(SEC, &acked(0, false, Some(base_rtt)));
        window.target_delay() / USEC
    };
    // 1 + 12 * (1 / sqrt(packets) - 1 / sqrt(17)) / (1 - 1 / sqrt(17))
    let targets = [
        (1, 1300),
        (2, 836),
        (4, 508),
        (9, 244),
        (17, 100),
        (40, 100),
    ];
    for (packets, target) in targets {
        let is = target_of(GBPS / 100, packets, 100 * USEC);
        assert!(is.abs_diff(target) <= 1, "{packets} packets: {is} us");
    }
    // What seventeen packets take is enough, unless the base RTT is longer.
    for (base_rtt, target) in [(100, 510), (500, 510), (530, 530)] {
        assert_eq!(target_of(4 * GBPS / 10, 1, base_rtt * USEC), target);
    }
    // That is not longer where links are fast.
    assert_eq!(target_of(10 * GBPS, 1, 100 * USEC), 100);
}

#[test]
fn first_sample_replaces_the_configured_base_rtt() {
    let mut window = window(config());
    window.on_ack(SEC, &acked(MTU, false, Some(MSEC)));
    assert_eq!(window.base_rtt(), MSEC);
    assert_eq!(window.target_delay(), MSEC);
    // From then on the minimum counts.
    window.on_ack(SEC, &acked(MTU, false, Some(2 * MSEC)));
    assert_eq!(window.base_rtt(), MSEC);
    window.on_ack(SEC, &acked(MTU, false, Some(900 * USEC)));
    assert_eq!(window.base_rtt(), 900 * USEC);
}

#[test]
fn marked_sample_does_not_raise_the_base_rtt() {
    let mut window = window(config());
    window.on_ack(SEC, &acked(MTU, true, Some(MSEC)));
    assert_eq!(window.base_rtt(), 100 * USEC);
    window.on_ack(SEC, &acked(MTU, true, Some(80 * USEC)));
    assert_eq!(window.base_rtt(), 80 * USEC);
}

#[test]
fn small_packets_do_not_lower_the_base_rtt_of_full_ones() {
    let mut window = window(config());
    window.on_ack(SEC, &acked(100, false, Some(150 * USEC)));
    assert_eq!(window.base_rtt(), 150 * USEC);
    window.on_ack(SEC, &acked(MTU, false, Some(MSEC)));
    assert_eq!(window.base_rtt(), MSEC);
    window.on_ack(SEC, &acked(100, false, Some(150 * USEC)));
    assert_eq!(window.base_rtt(), MSEC);
}

/// Many small packets that are acknowledged together are no full one.
#[test]
fn small_packets_together_are_no_full_one() {
    let mut window = window(config());
    let small = Acked {
        len: 500,
        ..acked(3 * MTU, false, Some(150 * USEC))
    };
    window.on_ack(SEC, &small);
    assert_eq!(window.base_rtt(), 150 * USEC);
    window.on_ack(SEC, &acked(MTU, false, Some(MSEC)));
    assert_eq!(window.base_rtt(), MSEC);
}

#[test]
fn largest_window_follows_the_base_rtt() {
    let mut nscc = Nscc::new(config());
    assert_eq!(nscc.max_window(), 187_500);
    for (rtt, max_window) in [(MSEC, 1_875_000), (20 * USEC, 93_750)] {
        let mut window = Window::Nscc(nscc);
        window.on_ack(SEC, &acked(MTU, false, Some(rtt)));
        let Window::Nscc(inner) = window else {
            unreachable!()
        };
        nscc = inner;
        assert_eq!(nscc.max_window(), max_window);
    }
}

#[test]
fn fills_a_long_pipe_quickly() {
    // From ten packets to 10 Gb/s times 1 ms, with a configured RTT of 100 us.
    let mut driver = Driver::new(NsccConfig {
        initial_window: 15_000,
        ..config()
    });
    let rounds = (1..).find(|_| {
        driver.round(MSEC, false);
        driver.window.cwnd() >= 1_250_000
    });
    assert!(rounds.unwrap() <= 10, "{rounds:?}");
    for _ in 0..5 {
        driver.round(MSEC, false);
    }
    assert_eq!(driver.window.cwnd(), 1_875_000);
}

#[test]
fn grows_quickly_on_slow_links_too() {
    // Four links of 100 Mb/s, 1 ms, packets of 4200 bytes: 12 of them fill it.
    let mut window = window(NsccConfig {
        link_bytes_per_sec: 50_000_000,
        config_base_rtt: 100 * USEC,
        mtu: 4200,
        initial_window: 4200,
        min_target: 50 * USEC,
        params: params(),
    });
    let mut now = SEC;
    let mut rounds = 0;
    while window.cwnd() < 50_000 {
        now += MSEC;
        let bytes = window.cwnd();
        let acked = Acked {
            inflight: bytes,
            ..acked(bytes, false, Some(MSEC))
        };
        window.on_ack(now, &acked);
        rounds += 1;
    }
    assert!(rounds <= 10, "{rounds}");
}

/// Four links of 100 Mb/s and a base RTT of 250 us, told as 100; packets of 4200 bytes.
fn slow_fabric() -> NsccConfig {
    NsccConfig {
        link_bytes_per_sec: 50_000_000,
        config_base_rtt: 100 * USEC,
        mtu: 4200,
        initial_window: 4 * 4200,
        min_target: 100 * USEC,
        params: params(),
    }
}

/// A flow that begins in others' queue takes it for a part of its base RTT: 1.5 ms of 1.75.
/// Once its packets are marked and late, it gives way like the others. Marks alone are nothing.
#[test]
fn others_queue_is_no_base_rtt() {
    let after = |first: Ns, rtt: Ns| {
        let mut window = window(slow_fabric());
        let ack = |rtt, marked| Acked {
            inflight: 4 * 4200,
            len: 4200,
            marked: if marked { Some(4200) } else { None },
            ..acked(4200, marked, Some(rtt))
        };
        window.on_ack(SEC, &ack(first, false));
        let before = window.cwnd();
        for i in 1..=12 {
            window.on_ack(SEC + i * MSEC, &ack(rtt, true));
        }
        (before, window.cwnd())
    };
    let (before, late) = after(1750 * USEC, 3500 * USEC);
    assert!(late * 10 < before * 8, "{before} to {late}");
    let (before, same) = after(1750 * USEC, 1800 * USEC);
    assert!(same >= before, "{before} to {same}");
    // Who knows the base RTT does the same.
    let (before, known) = after(250 * USEC, 3500 * USEC);
    assert!(known * 10 < before * 8, "{before} to {known}");
}

/// The base RTT of a narrow window is not doubted at first if packets take longer and none is
/// marked; if one is marked and late, a single packet verifies it.
#[test]
fn marks_decide_how_narrow_windows_verify() {
    let least = |rtts: [Ns; 2], marked: bool, rounds: u64| {
        let mut window = window(slow_fabric());
        let mut least = u64::MAX;
        for i in 0..rounds {
            let rtt = rtts[usize::from(i > 0)];
            let ack = Acked {
                inflight: window.cwnd(),
                len: 4200,
                marked: if marked && i % 4 == 3 {
                    Some(4200)
                } else {
                    None
                },
                ..acked(4200, false, Some(rtt))
            };
            window.on_ack(SEC + i * 4 * MSEC, &ack);
            least = least.min(window.cwnd());
        }
        least
    };
    let rtts = [250 * USEC, 1100 * USEC];
    assert!(least(rtts, false, 30) > 2 * 4200);
    assert_eq!(least([900 * USEC, 1900 * USEC], true, 30), 4200);
}

#[test]
fn idle_window_does_not_grow() {
    let mut window = window(config());
    for i in 0..1000 {
        window.on_ack(SEC + i * MSEC, &acked(MTU, false, Some(100 * USEC)));
        assert!(window.cwnd() <= 60_000);
    }
}

/// Packets that were called lost arrive after all. The window is used as before, and grows.
#[test]
fn late_packets_do_not_stop_growth() {
    let mut driver = Driver::new(config());
    driver.round(100 * USEC, false);
    driver.fill();
    for _ in 0..20 {
        driver.window.on_loss(driver.now, MTU);
        driver.inflight -= MTU;
    }
    let late = Acked {
        inflight: driver.inflight,
        ..acked(20 * MTU, false, None)
    };
    driver.window.on_ack(driver.now, &late);
    let before = driver.window.cwnd();
    for _ in 0..5 {
        driver.round(120 * USEC, false);
    }
    assert!(driver.window.cwnd() > before + 5 * MTU);
}

#[test]
fn mark_with_low_delay_leaves_the_window_alone() {
    let mut driver = Driver::new(config());
    driver.round(100 * USEC, false);
    let before = driver.window.cwnd();
    for delay in [0, 10, 50, 99] {
        for _ in 0..5 {
            assert!(driver.round((100 + delay) * USEC, true).is_empty());
        }
    }
    assert_eq!(driver.window.cwnd(), before);
}

/// Of what an ACK acknowledges, one packet was marked.
#[test]
fn marks_do_not_hide_what_was_not_marked() {
    let grown = |marked| {
        let mut window = window(config());
        window.on_ack(SEC, &acked(MTU, false, Some(100 * USEC)));
        for i in 1..=40 {
            let now = SEC + i * 20 * USEC;
            let acked = Acked {
                inflight: window.cwnd(),
                ..acked(8 * MTU, marked, Some(140 * USEC))
            };
            window.on_ack(now, &acked);
        }
        window.cwnd() - config().initial_window
    };
    let (free, marked) = (grown(false), grown(true));
    assert!(marked < free && marked > free / 4 * 3, "{marked} {free}");
}

#[test]
fn mark_with_high_delay_decreases_once_per_rtt() {
    let mut driver = Driver::new(config());
    for _ in 0..10 {
        driver.round(100 * USEC, false);
    }
    let mut last = driver.window.cwnd();
    for _ in 0..3 {
        let events = driver.round(350 * USEC, true);
        assert!(events.len() <= 1, "{events:?}");
        let cwnd = driver.window.cwnd();
        assert!(cwnd <= last && cwnd >= last / 2, "{last} {cwnd}");
        last = cwnd;
    }
    assert!(last < 100_000);
}

#[test]
fn high_delay_counts_where_nobody_marks() {
    let mut driver = Driver::new(config());
    for _ in 0..10 {
        driver.round(100 * USEC, false);
    }
    let before = driver.window.cwnd();
    // Up to twice the target the window may still grow, by a packet per RTT.
    driver.round(250 * USEC, false);
    driver.round(250 * USEC, false);
    assert!(driver.window.cwnd() <= before + 2 * (MTU + 188));
    for _ in 0..5 {
        driver.round(350 * USEC, false);
    }
    assert!(driver.window.cwnd() < before / 2);
}

#[test]
fn one_late_sample_is_ignored() {
    let mut driver = Driver::new(config());
    for _ in 0..10 {
        driver.round(100 * USEC, false);
    }
    let before = driver.window.cwnd();
    driver.now += USEC;
    let event = driver
        .window
        .on_ack(driver.now, &acked(MTU, true, Some(10 * MSEC)));
    assert_eq!(event, None);
    assert_eq!(driver.window.cwnd(), before);
}

#[test]
fn loss_costs_one_packet() {
    let mut window = window(config());
    for lost in 1..=10 {
        window.on_loss(SEC, MTU);
        assert_eq!(window.cwnd(), 60_000 - lost * MTU);
    }
    for _ in 0..100 {
        window.on_loss(SEC, MTU);
    }
    assert_eq!(window.cwnd(), MTU);
}

#[test]
fn timeouts_in_a_row_halve() {
    let mut window = window(config());
    window.on_timeout(SEC);
    assert_eq!(window.cwnd(), 60_000);
    window.on_timeout(SEC);
    assert_eq!(window.cwnd(), 30_000);
    window.on_ack(SEC, &acked(MTU, false, None));
    window.on_timeout(SEC);
    assert_eq!(window.cwnd(), 30_000);
    for _ in 0..300 {
        window.on_timeout(SEC);
    }
    assert_eq!(window.cwnd(), MTU);
}

#[test]
fn penalty_of_64_halves_in_one_rtt() {
    let mut driver = Driver::new(config());
    driver.fill();
    let before = driver.window.cwnd();
    for _ in 0..before / MTU {
        driver.inflight -= MTU;
        driver.window.on_ack(driver.now, &acked(MTU, false, None));
        driver.window.on_penalty(64, MTU, driver.inflight + MTU);
        driver.fill();
    }
    let after = driver.window.cwnd();
    assert!(
        after > before * 4 / 10 && after < before * 6 / 10,
        "{after}"
    );
    // The receiver has caught up: the window is what it was.
    driver.window.on_penalty(0, MTU, driver.inflight);
    assert_eq!(driver.window.cwnd(), before);
    driver.window.on_penalty(0, MTU, driver.inflight);
    assert_eq!(driver.window.cwnd(), before);
}

/// What the fabric takes away meanwhile, the end of a penalty does not give back.
#[test]
fn end_of_penalty_forgives_no_loss() {
    let mut driver = Driver::new(config());
    driver.fill();
    let before = driver.window.cwnd();
    driver.window.on_penalty(64, MTU, driver.inflight);
    for _ in 0..10 {
        driver.window.on_loss(driver.now, MTU);
    }
    driver.window.on_penalty(0, MTU, driver.inflight);
    assert_eq!(driver.window.cwnd(), before - 10 * MTU);
}

#[test]
fn quick_adapt_far_above_the_target() {
    // Little is delivered in each measurement period, and late.
    let mut window = window(NsccConfig {
        initial_window: 180_000,
        ..config()
    });
    window.on_ack(SEC, &acked(MTU, false, Some(100 * USEC)));
    let mut event = None;
    for i in 1..10 {
        let now = SEC + i * 50 * USEC;
        let acked = Acked {
            inflight: 180_000 - i * MTU,
            ..acked(MTU, true, Some(600 * USEC))
        };
        event = event.or(window.on_ack(now, &acked));
    }
    assert_eq!(event, Some(Counter::WindowQuickAdapt));
    assert!(window.cwnd() <= 187_500 / 8);
    // The marks of the packets already on their way are no news.
    let adapted = window.cwnd();
    for _ in 0..50 {
        window.on_ack(SEC + 500 * USEC, &acked(MTU, true, Some(600 * USEC)));
    }
    assert_eq!(window.cwnd(), adapted);
}

#[test]
fn longer_route_is_noticed() {
    let mut driver = Driver::new(config());
    for _ in 0..10 {
        driver.round(100 * USEC, false);
    }
    let rounds = (1..100).find(|_| {
        driver.round(500 * USEC, false);
        driver.window.base_rtt() == 500 * USEC
    });
    assert!(rounds.unwrap() < 40, "{rounds:?}");
    for _ in 0..20 {
        driver.round(500 * USEC, false);
    }
    assert!(driver.window.cwnd() > 600_000, "{}", driver.window.cwnd());
}

#[test]
fn standing_queue_is_not_mistaken_for_the_base_rtt() {
    // The first packets meet 400 us of somebody else's queue, which go away when
    // everybody reduces the window.
    let mut driver = Driver::new(NsccConfig {
        config_base_rtt: 50 * USEC,
        ..config()
    });
    for _ in 0..20 {
        let queue = if driver.window.cwnd() < 100_000 {
            0
        } else {
            400
        };
        driver.round((100 + queue) * USEC, false);
        if driver.window.base_rtt() == 100 * USEC {
            return;
        }
    }
    panic!("base RTT {}", driver.window.base_rtt());
}

/// Without fast increase the window grows by the others.
#[test]
fn no_fast_increase_is_not_no_increase() {
    let mut config = config();
    config.params.fast_max_percent = 0;
    let mut driver = Driver::new(config);
    for _ in 0..12 {
        driver.round(100 * USEC, false);
    }
    let cwnd = driver.window.cwnd();
    assert_eq!(cwnd, driver.window.derived().max_window);
}

/// The target is not less than the time of two packets, 14 us here.
#[test]
fn two_packets_are_no_queue() {
    let mut config = NsccConfig {
        mtu: 9000,
        min_target: USEC,
        ..config()
    };
    config.initial_window = u64::from(config.params.narrow_packets) * 9000;
    config.params.target_percent = 10;
    let mut window = window(config);
    window.on_ack(SEC, &acked(9000, false, Some(27 * USEC)));
    assert_eq!(window.target_delay(), 14_400);
}

/// However often the base RTT is verified, most of the time it is not.
#[test]
fn verifying_leaves_time_to_send() {
    let mut config = config();
    config.params.verify_rtts = 16;
    config.params.verify_longest_rtts = 1;
    let mut driver = Driver::new(config);
    let full = (0..400)
        .filter(|_| {
            driver.round(190 * USEC, true);
            driver.window.cwnd() == config.initial_window
        })
        .count();
    assert!(full > 250, "{full}");
}

/// Verifying the base RTT takes something away from the window, and gives back no more.
#[test]
fn verifying_gives_back_what_it_took() {
    for packets in [1, 2, 3, 5] {
        let mut driver = Driver::new(NsccConfig {
            initial_window: packets * MTU,
            ..config()
        });
        let mut least = u64::MAX;
        for _ in 0..200 {
            // Marks with little delay leave a window alone.
            driver.round(190 * USEC, true);
            least = least.min(driver.window.cwnd());
            assert!(driver.window.cwnd() <= packets * MTU);
        }
        assert_eq!(least, (packets * MTU / 4).max(MTU));
        assert_eq!(driver.window.cwnd(), packets * MTU);
    }
}

/// A loss while the base RTT is verified costs one packet, too.
#[test]
fn loss_while_verifying_costs_one_packet() {
    let mut driver = Driver::new(config());
    let full = driver.window.cwnd();
    while driver.window.cwnd() == full {
        driver.round(190 * USEC, true);
    }
    driver.window.on_loss(driver.now, MTU);
    for _ in 0..3 {
        driver.round(190 * USEC, true);
    }
    assert_eq!(driver.window.cwnd(), full - MTU);
}

proptest! {
    #[test]
    fn never_panics_and_never_closes(
        link_bytes_per_sec in any::<u64>(),
        config_base_rtt in any::<u64>(),
        mtu in any::<u32>(),
        initial_window in any::<u64>(),
        min_target in any::<u64>(),
        steps in prop::collection::vec((0u8..6, any::<u64>(), any::<u64>()), 0..200),
    ) {
        let mut window = window(NsccConfig {
            link_bytes_per_sec,
            config_base_rtt,
            mtu,
            initial_window,
            min_target,
            params: params(),
        });
        for (step, now, value) in steps {
            // Small and large values alike.
            let value = value >> (now % 64);
            match step {
                0 | 1 => window.on_loss(now, value),
                2 => window.on_timeout(now),
                3 => window.on_penalty(value as u16 & 127, now, value),
                4 => drop(window.on_ack(now, &acked(value, false, Some(now >> (value % 64))))),
                _ => drop(window.on_ack(now, &acked(value, true, Some(value)))),
            }
            prop_assert!(window.cwnd() >= u64::from(mtu.max(1)));
            prop_assert!(window.target_delay() >= window.base_rtt());
        }
    }
}
