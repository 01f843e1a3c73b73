// SPDX-License-Identifier: GPL-2.0

//! NSCC: a window governed by two signals, marks and delay.
//!
//! A congestion mark is an early signal of one bit, the queueing delay a late
//! one of many bits. Together they make four cases:
//!
//! ```text
//!                 not marked               marked
//! delay < target  proportional increase    nothing: the path is changed instead
//! delay > target  fair increase            decrease, once per RTT
//! ```
//!
//! The algorithm is that of the Ultra Ethernet specification, sections 3.6.12
//! and 3.6.13, which descends from STrack, with these changes for software and
//! for fabrics far from 100 Gb/s and 12 us:
//!
//! * The delay is the median of three samples: hosts jitter.
//! * The base RTT is measured. The configured one is a hint that the first sample
//!   replaces, whichever is larger, and the minimum is kept from then on.
//! * The target delay is the base RTT, but at least 50 us, the jitter of a host.
//! * An increase never exceeds a fraction of the window per RTT. The loop gain
//!   then depends neither on the number of flows nor on the configured link speed
//!   being right.
//! * A delay of twice the target counts as a mark: not all fabrics mark.
//! * A lost packet costs one packet of window. Only a delay of four times the
//!   target makes the window jump to what was delivered lately.

use super::gains::{
    bytes_in,
    scale,
    Gains,
    ONE, //
};
use crate::proto::{
    counter::Counter,
    rtt::Median3,
    Ns,
    USEC, //
};

/// Acknowledged packets after which accumulated increases are applied.
const ADJUST_PACKETS: u64 = 8;

/// The largest window is never below this many packets.
const MAX_WINDOW_FLOOR: u64 = 8;

/// Proportional increase per RTT: at most this fraction of the window.
const PROPORTIONAL_SHARE: u64 = 4;

/// Fair increase per RTT: at most this fraction of the window (or one packet).
const FAIR_SHARE: u64 = 8;

/// RTTs until a base RTT above the configured one is verified, first and longest.
const VERIFY_FIRST: u16 = 8;
const VERIFY_LONGEST: u16 = 128;

/// How many RTTs verifying takes.
const VERIFY_ROUNDS: u16 = 2;

/// Any increase per RTT for some time after heavy loss: at most this fraction of
/// the window.
const CROWDED_SHARE: u64 = 32;

/// How many RTTs that is.
const CROWDED_ROUNDS: u8 = 32;

/// Loss is heavy if more than this fraction of the delivered bytes was lost.
const HEAVY_LOSS: u64 = 8;

/// Loss is judged over this many packets.
const LOSS_SAMPLE: u64 = 32;

/// Strength of the decrease, in 1024ths: 0.8.
const DECREASE: u64 = 819;

/// Quick adapt applies when less than this part of the largest window was
/// delivered, as a power of two.
const QUICK_ADAPT_GATE: u32 = 3;

/// Rounds at the smallest window after which the base RTT is measured anew.
const RELEARN_ROUNDS: u8 = 8;

/// What NSCC has to be told.
#[derive(Clone, Copy, Debug)]
pub struct NsccConfig {
    /// Speed of the access link in bytes per second.
    pub link_bytes_per_sec: u64,
    /// RTT of the idle fabric; a hint until one was measured.
    pub config_base_rtt: Ns,
    /// Size of a full packet, in the bytes the window is counted in.
    pub mtu: u32,
    /// Window at the start in bytes.
    pub initial_window: u64,
    /// Smallest target delay.
    pub min_target: Ns,
}

/// Where the base RTT comes from, from the least to the most trustworthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BaseSource {
    Config,
    /// Small packets, which take less time on every link than full ones.
    Small,
    Full,
}

/// The state of one congestion window.
#[derive(Clone, Debug)]
pub struct Nscc {
    link_bytes_per_sec: u64,
    mtu: u64,
    min_target: Ns,

    config_base_rtt: Ns,
    base_rtt: Ns,
    base_source: BaseSource,
    target: Ns,
    gains: Gains,
    max_window: u64,

    cwnd: u64,
    inflight: u64,
    delay: Median3,
    avg_delay: Ns,

    /// Increase not applied yet, in bytes times window bytes.
    increase: u64,
    /// Bytes acknowledged since the last increase was applied.
    received: u64,
    last_adjust: Ns,
    last_decrease: Option<Ns>,

    /// In fast increase.
    fast: bool,
    /// Bytes acknowledged without any delay in a row.
    undelayed: u64,

    /// Bytes delivered since the current measurement began.
    achieved: u64,
    measure_until: Option<Ns>,
    /// Bytes whose marks are those of a queue that was reacted to already.
    ignore: u64,

    /// Bytes delivered and lost since loss was judged last.
    sample_delivered: u64,
    sample_lost: u64,
    /// RTTs for which the window still grows slowly because of heavy loss.
    crowded: u8,

    /// The window is halved to verify the base RTT.
    verifying: bool,
    /// RTTs until that begins or ends.
    verify_rounds: u16,
    verify_interval: u16,

    timeouts: u8,
    floor_rounds: u8,
    floor_min_rtt: Ns,
}

impl Nscc {
    /// A window before the first packet.
    pub fn new(config: NsccConfig) -> Self {
        let mtu = u64::from(config.mtu.max(1));
        let mut nscc = Self {
            link_bytes_per_sec: config.link_bytes_per_sec,
            mtu,
            min_target: config.min_target.max(USEC),
            config_base_rtt: config.config_base_rtt,
            base_rtt: 0,
            base_source: BaseSource::Config,
            target: 0,
            gains: Gains::new(0, 0, 0, mtu),
            max_window: 0,
            cwnd: config.initial_window.max(mtu),
            inflight: 0,
            delay: Median3::new(),
            avg_delay: 0,
            increase: 0,
            received: 0,
            last_adjust: 0,
            last_decrease: None,
            fast: true,
            undelayed: 0,
            achieved: 0,
            measure_until: None,
            ignore: 0,
            sample_delivered: 0,
            sample_lost: 0,
            crowded: 0,
            verifying: false,
            verify_rounds: VERIFY_FIRST,
            verify_interval: VERIFY_FIRST,
            timeouts: 0,
            floor_rounds: 0,
            floor_min_rtt: Ns::MAX,
        };
        nscc.set_base_rtt(config.config_base_rtt, BaseSource::Config);
        nscc
    }

    /// Bytes that may be in flight.
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// RTT of the idle fabric.
    pub fn base_rtt(&self) -> Ns {
        self.base_rtt
    }

    /// Queueing delay aimed at.
    pub fn target_delay(&self) -> Ns {
        self.target
    }

    /// Largest window in bytes.
    pub fn max_window(&self) -> u64 {
        self.max_window
    }

    pub(super) fn on_send(&mut self, bytes: u64) {
        self.inflight = self.inflight.saturating_add(bytes);
    }

    pub(super) fn on_ack(
        &mut self,
        now: Ns,
        new_bytes: u64,
        ecn: bool,
        rtt: Option<Ns>,
    ) -> Option<Counter> {
        let window_used = self.inflight >= self.cwnd / 2;
        self.inflight = self.inflight.saturating_sub(new_bytes);
        self.received = self.received.saturating_add(new_bytes);
        self.achieved = self.achieved.saturating_add(new_bytes);
        if new_bytes > 0 {
            self.timeouts = 0;
        }
        self.judge_loss(new_bytes);
        let old_queue = ecn && self.ignore > 0;
        self.ignore = self.ignore.saturating_sub(new_bytes);
        let rtt = rtt?;

        self.learn_base_rtt(rtt, new_bytes, ecn);
        let delay = self.delay.push(rtt.saturating_sub(self.base_rtt));
        self.average(delay, new_bytes);
        if old_queue || self.verifying {
            self.forget_increase();
            self.end_round(now, false);
            return None;
        }
        if self.quick_adapt(now, delay) {
            self.forget_increase();
            return Some(Counter::WindowQuickAdapt);
        }

        let mut event = None;
        if delay >= self.target {
            self.fast = false;
            self.undelayed = 0;
            if ecn || delay / 2 >= self.target {
                event = self.decrease(now);
            } else if window_used {
                let increase = self.gains.fair().min(self.mtu.max(self.gains.eta()));
                self.add_increase(increase, new_bytes);
            }
        } else if !ecn && window_used {
            self.approach_target(delay, new_bytes);
        }
        self.relearn_at_floor(now, rtt, ecn, delay);
        self.apply_increase(now, window_used);
        event
    }

    pub(super) fn on_penalty(&mut self, penalty: u16, new_bytes: u64) {
        if penalty == 0 {
            return;
        }
        let cut = new_bytes.saturating_mul(u64::from(penalty)) / 128;
        self.cwnd = self
            .cwnd
            .min(self.inflight)
            .saturating_sub(cut)
            .max(self.mtu);
        self.forget_increase();
    }

    pub(super) fn on_path_loss(&mut self, bytes: u64) {
        self.inflight = self.inflight.saturating_sub(bytes);
        self.ignore = self.ignore.saturating_sub(bytes);
    }

    pub(super) fn on_loss(&mut self, bytes: u64) {
        self.on_path_loss(bytes);
        self.sample_lost = self.sample_lost.saturating_add(bytes);
        self.cwnd = self.cwnd.saturating_sub(bytes.min(self.mtu)).max(self.mtu);
        self.fast = false;
        self.undelayed = 0;
    }

    pub(super) fn on_timeout(&mut self) {
        // The first timeout may be the fault of one path. Another one without any
        // progress is not.
        if self.timeouts > 0 {
            self.cwnd = (self.cwnd / 2).max(self.mtu);
        }
        self.timeouts = self.timeouts.saturating_add(1);
    }

    /// The RTT as it is now, queues included.
    fn round(&self) -> Ns {
        self.base_rtt.saturating_add(self.avg_delay)
    }

    fn set_base_rtt(&mut self, base_rtt: Ns, source: BaseSource) {
        self.base_rtt = base_rtt;
        self.base_source = source;
        self.target = base_rtt.max(self.min_target);
        self.gains = Gains::new(self.link_bytes_per_sec, base_rtt, self.target, self.mtu).clamped();
        let pipe = bytes_in(self.link_bytes_per_sec, self.target);
        self.max_window = self
            .gains
            .max_window()
            .max(pipe.saturating_add(pipe / 2))
            .max(MAX_WINDOW_FLOOR * self.mtu);
    }

    fn learn_base_rtt(&mut self, rtt: Ns, new_bytes: u64, ecn: bool) {
        let source = if new_bytes >= self.mtu / 4 * 3 {
            BaseSource::Full
        } else {
            BaseSource::Small
        };
        let better = source > self.base_source;
        let lower = rtt < self.base_rtt;
        // A marked packet has been in a queue: no reason to believe in a longer RTT.
        if better && (lower || !ecn) || source == self.base_source && lower {
            self.set_base_rtt(rtt, source);
        }
    }

    /// Measures the base RTT anew if the window cannot get any smaller.
    ///
    /// When the route becomes longer, the old base RTT makes all of the
    /// difference look like a queue and the window shrinks to nothing. With
    /// hardly a packet in flight for some rounds and no switch reporting
    /// congestion, the queue cannot be ours.
    fn relearn_at_floor(&mut self, now: Ns, rtt: Ns, ecn: bool, delay: Ns) {
        if ecn || self.cwnd > 2 * self.mtu || delay / 2 < self.target {
            self.floor_rounds = 0;
            self.floor_min_rtt = Ns::MAX;
            return;
        }
        self.floor_min_rtt = self.floor_min_rtt.min(rtt);
        if now.saturating_sub(self.last_adjust) >= self.round() {
            self.floor_rounds += 1;
        }
        if self.floor_rounds >= RELEARN_ROUNDS {
            self.set_base_rtt(self.floor_min_rtt, self.base_source);
            self.delay = Median3::new();
            self.avg_delay = 0;
            self.floor_rounds = 0;
            self.floor_min_rtt = Ns::MAX;
            self.fast = true;
        }
    }

    /// Averages the delay over about one window of data.
    fn average(&mut self, delay: Ns, new_bytes: u64) {
        let weight = new_bytes.clamp(self.mtu, self.cwnd.max(self.mtu));
        let step = self.avg_delay.abs_diff(delay).saturating_mul(weight) / self.cwnd;
        if delay >= self.avg_delay {
            self.avg_delay = self.avg_delay.saturating_add(step).min(delay);
        } else {
            self.avg_delay = self.avg_delay.saturating_sub(step).max(delay);
        }
    }

    /// Sets the window to what the fabric delivers if it is far beyond that.
    fn quick_adapt(&mut self, now: Ns, delay: Ns) -> bool {
        let mut adapt = false;
        if let Some(end) = self.measure_until {
            if now < end {
                return false;
            }
            adapt = delay / 4 >= self.target && self.achieved < self.max_window >> QUICK_ADAPT_GATE;
        }
        if adapt {
            self.cwnd = self.achieved.clamp(self.mtu, self.cwnd);
            self.ignore = self.inflight;
            self.last_decrease = Some(now);
        }
        self.achieved = 0;
        self.measure_until = Some(
            now.saturating_add(self.base_rtt)
                .saturating_add(self.target),
        );
        adapt
    }

    /// Increase in proportion to how far the delay is below the target.
    fn approach_target(&mut self, delay: Ns, new_bytes: u64) {
        if delay > (self.target / 8).max(USEC) {
            self.fast = false;
            self.undelayed = 0;
        } else {
            self.undelayed = self.undelayed.saturating_add(new_bytes);
            self.fast |= self.undelayed > self.cwnd && self.crowded == 0;
        }
        if self.fast {
            let grown = self.cwnd.saturating_add(scale(new_bytes, self.gains.fast));
            self.cwnd = grown.min(self.max_window.max(self.cwnd));
            return;
        }
        let headroom = (self.target - delay).saturating_mul(ONE) / self.target;
        let increase = self.limit_increase(self.gains.proportional(), PROPORTIONAL_SHARE);
        self.add_increase(scale(increase, headroom), new_bytes);
    }

    /// Limits an increase per RTT to a fraction of the window, or one packet.
    fn limit_increase(&self, increase: u64, share: u64) -> u64 {
        let limit = if self.crowded > 0 {
            self.cwnd / CROWDED_SHARE
        } else {
            (self.cwnd / share).max(self.mtu)
        };
        increase.min(limit)
    }

    fn judge_loss(&mut self, new_bytes: u64) {
        self.sample_delivered = self.sample_delivered.saturating_add(new_bytes);
        let sample = self.sample_delivered.saturating_add(self.sample_lost);
        if sample < self.cwnd.max(LOSS_SAMPLE * self.mtu) {
            return;
        }
        if self.sample_lost > self.sample_delivered / HEAVY_LOSS {
            self.crowded = CROWDED_ROUNDS;
        }
        self.sample_delivered = 0;
        self.sample_lost = 0;
    }

    /// Notes an increase of `per_window` bytes per window of acknowledged bytes.
    fn add_increase(&mut self, per_window: u64, new_bytes: u64) {
        let increase = per_window.saturating_mul(new_bytes);
        self.increase = self.increase.saturating_add(increase);
    }

    fn apply_increase(&mut self, now: Ns, window_used: bool) {
        let round_over = self.end_round(now, window_used);
        if !round_over && self.received <= ADJUST_PACKETS * self.mtu {
            return;
        }
        self.cwnd = self.cwnd.saturating_add(self.increase / self.cwnd);
        self.cwnd = self.cwnd.min(self.max_window);
        self.forget_increase();
    }

    /// Does what is due once per RTT, if one is over.
    fn end_round(&mut self, now: Ns, window_used: bool) -> bool {
        if now.saturating_sub(self.last_adjust) < self.round() {
            return false;
        }
        self.last_adjust = now;
        self.crowded = self.crowded.saturating_sub(1);
        if window_used {
            self.cwnd = self.cwnd.saturating_add(self.gains.eta());
        }
        self.verify_base_rtt();
        true
    }

    /// Halves the window now and then to see whether the base RTT is that of an
    /// idle fabric.
    ///
    /// A base RTT longer than configured may be the truth, or the first sample
    /// met queues that were there already. Flows that begin together measure
    /// each other's queues, but they also verify together.
    fn verify_base_rtt(&mut self) {
        if !self.verifying && self.base_rtt <= self.config_base_rtt {
            return;
        }
        self.verify_rounds = self.verify_rounds.saturating_sub(1);
        if self.verify_rounds > 0 {
            return;
        }
        if self.verifying {
            self.cwnd = self.cwnd.saturating_mul(2).min(self.max_window);
            self.verify_interval = (2 * self.verify_interval).min(VERIFY_LONGEST);
            self.verify_rounds = self.verify_interval;
        } else {
            self.cwnd = (self.cwnd / 2).max(self.mtu);
            self.verify_rounds = VERIFY_ROUNDS;
        }
        self.verifying = !self.verifying;
    }

    fn forget_increase(&mut self) {
        self.increase = 0;
        self.received = 0;
    }

    /// Decrease in proportion to how far the average delay is above the target,
    /// to one half at most and at most once per RTT.
    fn decrease(&mut self, now: Ns) -> Option<Counter> {
        let too_soon = self
            .last_decrease
            .is_some_and(|last| now.saturating_sub(last) <= self.round());
        if self.avg_delay <= self.target || too_soon {
            return None;
        }
        let excess = self.avg_delay - self.target;
        let cut = DECREASE.saturating_mul(excess) / self.avg_delay;
        let keep = (1024 - cut).max(512);
        self.cwnd = (self.cwnd.saturating_mul(keep) / 1024).max(self.mtu);
        self.last_decrease = Some(now);
        Some(Counter::WindowDecrease)
    }
}
