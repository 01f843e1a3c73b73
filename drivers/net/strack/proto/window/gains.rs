// SPDX-License-Identifier: GPL-2.0

//! The constants of NSCC for one link speed, base RTT and packet size.
//!
//! They are tuned for a reference fabric of 100 Gb/s and 12 us, that is for a
//! bandwidth-delay product of 150,000 bytes. `a` and `b` scale them to another
//! one:
//!
//! ```text
//! a = link speed * base RTT / 150000 bytes        b = target delay / 12 us
//! ```
//!
//! There is no floating point in the kernel, so `a`, `b` and the fast increase
//! are kept with 16 fraction bits.

use super::params::Params;
use crate::proto::{
    params::percent,
    Ns, //
};

/// Bandwidth-delay product of the reference fabric in bytes.
const REFERENCE_BDP: u64 = 150_000;

/// RTT of the reference fabric.
const REFERENCE_RTT: Ns = 12_000;

/// One, with 16 fraction bits.
pub(super) const ONE: u64 = 1 << 16;

/// How strongly the window reacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gains {
    /// Scaling by bandwidth-delay product, 16 fraction bits.
    pub a: u64,
    /// Scaling by target delay, 16 fraction bits.
    pub b: u64,
    /// Fast increase: bytes per acknowledged byte, 16 fraction bits.
    pub fast: u64,
    /// Largest packet in bytes.
    pub mtu: u64,
    /// Bandwidth-delay product in bytes.
    pub bdp: u64,
    /// Percentages of the increases, and of the largest window.
    alpha: u16,
    fair: u16,
    eta: u16,
    max_window: u16,
}

impl Gains {
    /// The gains as the specification has them.
    pub fn new(
        params: &Params,
        link_bytes_per_sec: u64,
        base_rtt: Ns,
        target_delay: Ns,
        mtu: u64,
    ) -> Self {
        let bdp = bytes_in(link_bytes_per_sec, base_rtt);
        let a = bdp.saturating_mul(ONE) / REFERENCE_BDP;
        Self {
            a,
            b: target_delay.saturating_mul(ONE) / REFERENCE_RTT,
            fast: percent(a, params.fast_percent),
            mtu,
            bdp,
            alpha: params.alpha_percent,
            fair: params.fair_percent,
            eta: params.eta_percent,
            max_window: params.max_window_percent,
        }
    }

    /// The gains for any fabric.
    ///
    /// The proportional increase is a control loop whose gain per RTT grows with
    /// `b`: unlimited, it overshoots from some 100 us on. `b` is limited to where
    /// the gain is one half. The fast increase at most doubles the window per RTT,
    /// and on slow links still adds half of it, so that a window that starts small
    /// opens within some ten RTTs. (Those are the defaults.)
    pub fn clamped(self, params: &Params) -> Self {
        let strength = self.mtu.max(1) * u64::from(params.alpha_percent);
        let b_limit = ONE * REFERENCE_BDP * u64::from(params.gain_max_percent) / strength;
        let fast_most = percent(ONE, params.fast_max_percent);
        let fast_least = percent(ONE, params.fast_min_percent).min(fast_most);
        Self {
            b: self.b.min(b_limit),
            fast: self.fast.clamp(fast_least, fast_most),
            ..self
        }
    }

    /// Proportional increase per RTT in bytes when there is no delay at all: the
    /// specification's alpha, times the target delay.
    pub fn proportional(&self) -> u64 {
        let alpha = percent(self.mtu, self.alpha);
        scale(scale(alpha, self.a), self.b)
    }

    /// Fair increase per RTT in bytes.
    pub fn fair(&self) -> u64 {
        scale(percent(self.mtu, self.fair), self.a)
    }

    /// Constant increase per RTT in bytes: 0.15 packets on the reference fabric.
    pub fn eta(&self) -> u64 {
        percent(scale(self.mtu, self.a), self.eta)
    }

    /// Largest window in bytes: some bandwidth-delay products.
    pub fn max_window(&self) -> u64 {
        percent(self.bdp, self.max_window)
    }
}

/// Bytes a link of `bytes_per_sec` carries in `time`.
pub(in crate::proto) fn bytes_in(bytes_per_sec: u64, time: Ns) -> u64 {
    // Dividing first by 1000 keeps 1 Tb/s times minutes within 64 bits.
    (bytes_per_sec / 1_000).saturating_mul(time) / 1_000_000
}

/// `value` times `factor`, which has 16 fraction bits.
pub(super) fn scale(value: u64, factor: u64) -> u64 {
    value.saturating_mul(factor) / ONE
}
