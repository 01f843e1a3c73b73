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
//! * The delay is the median of three samples: hosts jitter, and of many paths a few
//!   are always busier than the rest.
//! * The target delay is the base RTT, but at least 100 us for the same reason. (If it is
//!   set to less, it is still the time of two packets, up to the base RTT.)
//!   The delay counts as none up to an eighth of the target, at least 1 us.
//! * The configured base RTT is a hint only, see [`super::base`].
//! * On a slow link, the narrower the window, the longer the delay it aims at, as in Swift:
//!   what a flow has in flight comes in whole packets, each of which takes long there, and
//!   flows that share a queue want a longer one the more they are. It also makes their
//!   shares alike, though some of them began when there was a queue and take it for a part
//!   of their base RTT. What a few packets take on the link is the most that is aimed at
//!   for that, which is nothing on a fast one.
//! * The proportional increase is at most a quarter of the window per RTT, the
//!   fair increase one packet. The loop gain then depends neither on the number
//!   of flows nor on the configured link speed being right.
//! * An average delay of twice the target counts as a mark: not all fabrics mark.
//! * A lost packet costs one packet of window. If one in nine is lost, the window
//!   grows by no more than 1/32 per RTT for some time: that is more than what
//!   random loss takes away, and limits how often a shallow queue overflows.
//! * Of what an ACK acknowledges only the packets that left together with the marked one
//!   count as marked. Or else a few paths that mark would keep the window from growing.
//! * Only a delay of four times the target makes the window jump to what was
//!   delivered lately ("quick adapt").

use super::{
    base::{
        BaseRtt,
        Verify, //
    },
    gains::{
        bytes_in,
        scale,
        Gains,
        ONE, //
    },
    params::Params,
    Acked,
    Derived, //
};
use crate::proto::{
    counter::Counter,
    params::{
        percent,
        permille, //
    },
    rtt::Median,
    Ns,
    SEC,
    USEC, //
};

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
    /// Constants.
    pub params: Params,
}

/// The state of one congestion window.
#[derive(Clone, Copy, Debug)]
pub struct Nscc {
    params: Params,
    link_bytes_per_sec: u64,
    mtu: u64,
    min_target: Ns,

    base_rtt: BaseRtt,
    // What follows from the base RTT.
    /// Target delay of a wide window, and of the window as it is. The latter is not above
    /// `narrow_limit`, unless the former is, and was computed for the window `target_for`.
    wide_target: Ns,
    narrow_limit: Ns,
    target: Ns,
    target_for: u64,
    gains: Gains,
    max_window: u64,

    cwnd: u64,
    /// The window to return to when the base RTT has been verified.
    restore: Option<u64>,
    delay: Median,
    avg_delay: Ns,

    /// When the current RTT began.
    round_start: Ns,
    last_decrease: Option<Ns>,

    /// Increase not applied yet, in bytes times window bytes.
    increase: u64,
    /// Bytes acknowledged since an increase was applied last.
    received: u64,
    /// In fast increase.
    fast: bool,
    /// Bytes acknowledged without any delay in a row.
    undelayed: u64,

    /// Bytes delivered since the current measurement began, and its end.
    achieved: u64,
    achieved_until: Option<Ns>,
    /// Bytes whose marks are those of a queue that was reacted to already.
    ignore: u64,

    /// Bytes delivered and lost since loss was judged last.
    sample_delivered: u64,
    sample_lost: u64,
    /// RTTs for which the window still grows slowly because of heavy loss.
    crowded: u16,
    /// A packet was trimmed, or refused by its receiver: the window may be far too wide.
    overwhelmed: bool,
    /// The window before the receiver asked to slow down.
    before_penalty: Option<u64>,

    /// Timeouts in a row without progress.
    timeouts: u8,
}

impl Nscc {
    /// A window before the first packet.
    pub fn new(config: NsccConfig) -> Self {
        let mtu = u64::from(config.mtu.max(1));
        let params = config.params;
        let mut nscc = Self {
            params,
            link_bytes_per_sec: config.link_bytes_per_sec,
            mtu,
            min_target: config.min_target.max(USEC),
            base_rtt: BaseRtt::new(&params, config.config_base_rtt),
            wide_target: 0,
            narrow_limit: 0,
            target: 0,
            target_for: 0,
            gains: Gains::new(&params, 0, 0, 0, mtu),
            max_window: 0,
            cwnd: config.initial_window.max(mtu),
            restore: None,
            delay: Median::new(params.delay_samples),
            avg_delay: 0,
            round_start: 0,
            last_decrease: None,
            increase: 0,
            received: 0,
            fast: true,
            undelayed: 0,
            achieved: 0,
            achieved_until: None,
            ignore: 0,
            sample_delivered: 0,
            sample_lost: 0,
            crowded: 0,
            overwhelmed: false,
            before_penalty: None,
            timeouts: 0,
        };
        nscc.rescale();
        nscc
    }

    pub(super) fn set_mtu(&mut self, mtu: u64) {
        self.mtu = mtu.max(1);
        self.cwnd = self.cwnd.max(self.mtu);
        self.rescale();
    }

    /// Bytes that may be in flight.
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// RTT of the idle fabric.
    pub fn base_rtt(&self) -> Ns {
        self.base_rtt.get()
    }

    /// Queueing delay aimed at.
    pub fn target_delay(&self) -> Ns {
        self.target
    }

    /// Largest window in bytes.
    pub fn max_window(&self) -> u64 {
        self.max_window
    }

    /// What follows from the constants and the measurements.
    pub(super) fn derived(&self) -> Derived {
        Derived {
            target: self.target,
            avg_delay: self.avg_delay,
            max_window: self.max_window,
            a: self.gains.a,
            b: self.gains.b,
            proportional: self.gains.proportional(),
            fair: self.gains.fair(),
            eta: self.gains.eta(),
            fast: self.gains.fast,
        }
    }

    pub(super) fn on_ack(&mut self, now: Ns, acked: &Acked) -> Option<Counter> {
        let new_bytes = acked.bytes;
        let marked = acked.marked.is_some();
        let window_used = acked.inflight >= self.cwnd / 2;
        let old_queue = marked && self.ignore > 0;
        self.on_delivered(new_bytes);
        let rtt = acked.rtt?;
        if self.cwnd != self.target_for {
            self.aim();
        }

        let full_packet = acked.len >= self.mtu / 4 * 3;
        if self
            .base_rtt
            .on_sample(&self.params, rtt, full_packet, marked)
        {
            self.rescale();
        }
        let above_base = rtt.saturating_sub(self.base_rtt.get());
        let undelayed = if self.is_narrow() {
            let queue = self.target / 4 * 3;
            self.base_rtt.undelayed(self.narrow_limit, queue)
        } else {
            self.base_rtt.get()
        };
        let delay = self.delay.push(rtt.saturating_sub(undelayed));
        let unmarked = new_bytes.saturating_sub(acked.marked.unwrap_or(0));
        let may_grow = window_used && (!marked || unmarked > 0);
        self.average(delay, new_bytes);
        // The target of a wide window on a slow link is the least.
        if marked && self.is_narrow() && above_base >= self.wide_target / 2 {
            self.base_rtt.on_queue();
        }
        let round_over = self.end_round(now);

        if self.quick_adapt(now, delay, acked.inflight.saturating_sub(new_bytes)) {
            return Some(Counter::WindowQuickAdapt);
        }
        if old_queue || self.base_rtt.verifying() {
            return None;
        }
        self.remeasure_at_floor(rtt, above_base, marked, round_over);
        if delay < self.target {
            if may_grow {
                self.approach_target(delay, unmarked);
            }
        } else {
            self.leave_fast_increase();
            if marked || self.avg_delay >= percent(self.target, self.params.unmarked_percent) {
                return self.decrease(now);
            }
            if window_used {
                let one_packet = self.mtu.max(self.gains.eta());
                self.add_increase(self.gains.fair().min(one_packet), new_bytes);
            }
        }
        self.apply_increase(round_over, may_grow);
        None
    }

    pub(super) fn on_penalty(&mut self, penalty: u16, new_bytes: u64, inflight: u64) {
        if penalty > 0 {
            if self.before_penalty.is_none() {
                self.before_penalty = Some(self.cwnd);
                // What is not in use is not worth keeping either.
                self.cwnd = self.cwnd.min(inflight).max(self.mtu);
            }
            let cut = new_bytes.saturating_mul(u64::from(penalty)) / 128;
            let before = self.before_penalty;
            self.shrink(|cwnd| cwnd.saturating_sub(cut));
            self.before_penalty = before;
            self.forget_increase();
        } else if new_bytes > 0 {
            // It was the receiver's trouble, not the fabric's, and it is over.
            if let Some(before) = self.before_penalty.take() {
                self.cwnd = self.cwnd.max(before.min(self.max_window));
            }
        }
    }

    pub(super) fn on_path_loss(&mut self, bytes: u64) {
        self.ignore = self.ignore.saturating_sub(bytes);
    }

    pub(super) fn on_loss(&mut self, bytes: u64) {
        self.on_path_loss(bytes);
        self.sample_lost = self.sample_lost.saturating_add(bytes);
        let one_packet = bytes.min(self.mtu);
        self.shrink(|cwnd| cwnd.saturating_sub(one_packet));
        self.leave_fast_increase();
    }

    pub(super) fn on_trimmed(&mut self, bytes: u64) {
        self.overwhelmed = true;
        self.on_loss(bytes);
    }

    pub(super) fn on_timeout(&mut self) {
        // The first timeout may be the fault of one path. Another one without any
        // progress is not.
        if self.timeouts > 0 {
            self.shrink(|cwnd| cwnd / 2);
        }
        self.timeouts = self.timeouts.saturating_add(1);
    }

    /// Lowers the window, and what it returns to after verifying or a penalty.
    fn shrink(&mut self, lower: impl Fn(u64) -> u64) {
        let least = self.mtu;
        let windows = [self.restore.as_mut(), self.before_penalty.as_mut()];
        for cwnd in windows.into_iter().flatten().chain([&mut self.cwnd]) {
            *cwnd = lower(*cwnd).max(least);
        }
    }

    /// The RTT as it is now, queues included.
    fn round(&self) -> Ns {
        self.base_rtt.get().saturating_add(self.avg_delay)
    }

    /// Computes what depends on the base RTT.
    fn rescale(&mut self) {
        let base_rtt = self.base_rtt.get();
        let link = self.link_bytes_per_sec;
        let params = self.params;
        let time_of = |packets: u64| {
            let time = (packets * self.mtu).saturating_mul(SEC).checked_div(link);
            time.unwrap_or(0)
        };
        // Two packets in a row are no queue.
        self.wide_target = percent(base_rtt, params.target_percent)
            .max(time_of(2).min(base_rtt))
            .max(self.min_target);
        self.narrow_limit = time_of(params.narrow_packets.into());
        let target = self.wide_target;
        self.gains = Gains::new(&params, link, base_rtt, target, self.mtu).clamped(&params);
        let least = self
            .gains
            .max_window()
            .max(u64::from(params.max_window_packets) * self.mtu);
        // On a short RTT it takes more to make the delay that is aimed at.
        let queue = bytes_in(link, self.target_of(least));
        self.max_window = least.max(percent(queue, params.max_window_percent));
        self.aim();
    }

    /// Whether the window has few packets and the link is slow: it aims at more delay than a
    /// wide one, or would if its base RTT was not longer than it should be.
    fn is_narrow(&self) -> bool {
        let wide = u64::from(self.params.narrow_packets) * self.mtu;
        self.cwnd < wide && self.narrow_limit > self.wide_target / 4 * 3
    }

    /// Computes what depends on the window. That takes square roots, too long for every ACK.
    fn aim(&mut self) {
        self.target = self.target_of(self.cwnd);
        self.target_for = self.cwnd;
    }

    /// The delay that a window aims at: as the inverse square root of its packets, from the
    /// most for a single one down to the least for those that are wide.
    fn target_of(&self, window: u64) -> Ns {
        let (params, least) = (&self.params, self.wide_target);
        let widest = u64::from(params.narrow_packets) * self.mtu;
        if self.narrow_limit <= least || window >= widest {
            return least;
        }
        let inverse_root = |window: u64| {
            let inverse = (ONE * ONE).saturating_mul(self.mtu) / window.max(self.mtu);
            inverse.isqrt()
        };
        let wide = inverse_root(widest);
        let narrow = inverse_root(window).saturating_sub(wide);
        let part = (narrow * ONE).checked_div(ONE - wide.min(ONE)).unwrap_or(0);
        let more = scale(percent(least, params.narrow_percent), part);
        least.saturating_add(more).min(self.narrow_limit)
    }

    fn on_delivered(&mut self, bytes: u64) {
        self.ignore = self.ignore.saturating_sub(bytes);
        self.received = self.received.saturating_add(bytes);
        self.achieved = self.achieved.saturating_add(bytes);
        self.sample_delivered = self.sample_delivered.saturating_add(bytes);
        if bytes > 0 {
            self.timeouts = 0;
        }
        let least = u64::from(self.params.loss_sample_packets) * self.mtu;
        let sample = self.sample_delivered.saturating_add(self.sample_lost);
        if sample < self.cwnd.max(least) {
            return;
        }
        let heavy = permille(self.sample_delivered, self.params.heavy_loss_permille);
        if self.sample_lost > heavy {
            self.crowded = self.params.crowded_rtts;
        }
        self.sample_delivered = 0;
        self.sample_lost = 0;
    }

    /// Averages the delay over about one window of data.
    fn average(&mut self, delay: Ns, new_bytes: u64) {
        let span = percent(self.cwnd, self.params.average_percent).max(1);
        let weight = new_bytes.max(self.mtu).min(span);
        let step = self.avg_delay.abs_diff(delay).saturating_mul(weight) / span;
        self.avg_delay = if delay >= self.avg_delay {
            self.avg_delay.saturating_add(step).min(delay)
        } else {
            self.avg_delay.saturating_sub(step).max(delay)
        };
    }

    /// Does what is due once per RTT and returns whether one is over.
    fn end_round(&mut self, now: Ns) -> bool {
        if now.saturating_sub(self.round_start) < self.round() {
            return false;
        }
        self.round_start = now;
        self.crowded = self.crowded.saturating_sub(1);
        let delayed = self.avg_delay > self.base_rtt.get() / 4;
        let likely = delayed && self.is_narrow();
        match self.base_rtt.on_round(&self.params, likely) {
            Some(Verify::Begin { marked }) => {
                let narrow = u64::from(self.params.narrow_packets) * self.mtu;
                let cut = if marked && self.cwnd < narrow {
                    narrow
                } else {
                    self.params.verify_cut.into()
                };
                self.restore = Some(self.cwnd);
                self.cwnd = (self.cwnd / cut).max(self.mtu);
                self.forget_increase();
            }
            Some(Verify::End) => {
                let restored = self.restore.take().unwrap_or(0);
                self.cwnd = self.cwnd.max(restored.min(self.max_window));
                self.forget_increase();
            }
            None => {}
        }
        true
    }

    /// Sets the window to what the fabric delivers if it is far beyond that.
    fn quick_adapt(&mut self, now: Ns, delay: Ns, inflight: u64) -> bool {
        if self.achieved_until.is_some_and(|end| now < end) {
            return false;
        }
        let measured = self.achieved_until.is_some();
        let little = self.achieved < self.max_window >> self.params.qa_gate;
        let far = delay >= percent(self.target, self.params.qa_percent);
        let delivered = self.achieved.max(self.mtu);
        let adapt = measured && little && (far || self.overwhelmed) && delivered < self.cwnd;
        if adapt {
            self.cwnd = delivered;
            self.restore = None;
            self.before_penalty = None;
            self.ignore = inflight;
            self.last_decrease = Some(now);
            self.forget_increase();
        }
        let period = self.base_rtt.get().saturating_add(self.target);
        self.overwhelmed = false;
        self.achieved = 0;
        self.achieved_until = Some(now.saturating_add(period));
        adapt
    }

    /// See [`super::base`].
    fn remeasure_at_floor(&mut self, rtt: Ns, delay: Ns, marked: bool, round_over: bool) {
        // A narrow window may aim at the whole of the delay, and does not become smaller then.
        let smallest = self.cwnd <= 2 * self.mtu || self.target / 2 >= self.wide_target;
        if marked || !smallest || delay / 2 < self.wide_target {
            self.base_rtt.off_floor();
        } else if self.base_rtt.on_floor(&self.params, rtt, round_over) {
            self.rescale();
            self.delay = Median::new(self.params.delay_samples);
            self.avg_delay = 0;
            self.fast = true;
        }
    }

    /// Increase in proportion to how far the delay is below the target.
    fn approach_target(&mut self, delay: Ns, new_bytes: u64) {
        let params = &self.params;
        let quiet = permille(self.target, params.quiet_permille).max(params.quiet_min_ns.into());
        if delay > quiet {
            self.leave_fast_increase();
        } else {
            self.undelayed = self.undelayed.saturating_add(new_bytes);
            self.fast |= self.undelayed > self.cwnd && self.crowded == 0;
        }
        if self.fast && self.gains.fast > 0 {
            let grown = self.cwnd.saturating_add(scale(new_bytes, self.gains.fast));
            self.cwnd = grown.min(self.max_window.max(self.cwnd));
            return;
        }
        let limit = if self.crowded > 0 {
            permille(self.cwnd, self.params.crowded_permille)
        } else {
            percent(self.cwnd, self.params.increase_max_percent).max(self.mtu)
        };
        let headroom = self.target.saturating_sub(delay).saturating_mul(ONE);
        let headroom = headroom.checked_div(self.target).unwrap_or(0);
        let increase = self.gains.proportional().min(limit);
        self.add_increase(scale(increase, headroom), new_bytes);
    }

    fn leave_fast_increase(&mut self) {
        self.fast = false;
        self.undelayed = 0;
    }

    /// Notes an increase of `per_window` bytes per window of acknowledged bytes.
    fn add_increase(&mut self, per_window: u64, new_bytes: u64) {
        let increase = per_window.saturating_mul(new_bytes);
        self.increase = self.increase.saturating_add(increase);
    }

    fn apply_increase(&mut self, round_over: bool, may_grow: bool) {
        let enough = u64::from(self.params.adjust_packets) * self.mtu;
        if !round_over && self.received <= enough {
            return;
        }
        self.cwnd = self.cwnd.saturating_add(self.increase / self.cwnd);
        if round_over && may_grow {
            self.cwnd = self.cwnd.saturating_add(self.gains.eta());
        }
        self.cwnd = self.cwnd.min(self.max_window);
        self.forget_increase();
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
        let share = |percent: u16| u64::from(percent) * ONE / 100;
        let cut = share(self.params.gamma_percent).saturating_mul(excess) / self.avg_delay;
        let keep = ONE - cut.min(share(self.params.decrease_max_percent));
        self.shrink(|cwnd| scale(cwnd, keep));
        self.last_decrease = Some(now);
        self.forget_increase();
        Some(Counter::WindowDecrease)
    }
}
