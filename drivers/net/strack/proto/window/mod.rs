// SPDX-License-Identifier: GPL-2.0

//! How much may be in flight: one window per connection, over all its paths.

mod base;
mod gains;
mod nscc;
mod params;

pub(super) use self::gains::bytes_in;
pub use self::{
    gains::Gains,
    nscc::{
        Nscc,
        NsccConfig, //
    },
    params::Params,
};

use super::{
    config::Config,
    counter::Counter,
    Ns, //
};

/// What a window derives from its constants and from the base RTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Derived {
    /// Queueing delay aimed at.
    pub target: Ns,
    /// Queueing delay, averaged over about one window.
    pub avg_delay: Ns,
    /// Largest window in bytes.
    pub max_window: u64,
    /// Scaling by bandwidth-delay product, 16 fraction bits.
    pub a: u64,
    /// Scaling by target delay, 16 fraction bits, limits applied.
    pub b: u64,
    /// Proportional increase without delay, bytes per RTT.
    pub proportional: u64,
    /// Fair increase, bytes per RTT.
    pub fair: u64,
    /// Constant increase, bytes per RTT.
    pub eta: u64,
    /// Fast increase, bytes per acknowledged byte, 16 fraction bits.
    pub fast: u64,
}

/// What an ACK tells a window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// Bytes acknowledged for the first time.
    pub bytes: u64,
    /// How many of them were in packets with a mark; `None` if the packet that the ACK
    /// answers had none.
    pub marked: Option<u64>,
    /// The round trip of that packet if it is known which transmission was answered.
    pub rtt: Option<Ns>,
    /// Its payload in bytes.
    pub len: u64,
    /// Bytes that were in flight before.
    pub inflight: u64,
}

/// The congestion window of a connection.
// There is one per connection, and the small variant is for tests only.
#[expect(clippy::large_enum_variant)]
#[derive(Clone, Copy, Debug)]
pub enum Window {
    /// Governed by marks and delay.
    Nscc(Nscc),
    /// Always the same number of bytes, for tests.
    Fixed(u64),
}

impl Window {
    /// The window that `config` asks for, with `initial` bytes at first.
    pub fn new(config: &Config, initial: u64) -> Self {
        Self::Nscc(Nscc::new(NsccConfig {
            link_bytes_per_sec: config.link_bytes_per_sec,
            config_base_rtt: config.base_rtt,
            mtu: u32::from(config.mss),
            initial_window: initial,
            min_target: config.min_target,
            params: config.nscc,
        }))
    }

    /// A full packet has `mss` bytes from now on.
    pub fn set_mss(&mut self, mss: u16) {
        if let Self::Nscc(nscc) = self {
            nscc.set_mtu(mss.into());
        }
    }

    /// Bytes that may be in flight.
    pub fn cwnd(&self) -> u64 {
        match self {
            Self::Nscc(nscc) => nscc.cwnd(),
            Self::Fixed(bytes) => *bytes,
        }
    }

    /// Whether `bytes` more may be sent while `inflight` bytes are.
    ///
    /// One packet always may when nothing is in flight.
    pub fn can_send(&self, inflight: u64, bytes: u64) -> bool {
        inflight == 0 || inflight.saturating_add(bytes) <= self.cwnd()
    }

    /// An ACK arrived. Returns what is worth counting, if the window was lowered.
    pub fn on_ack(&mut self, now: Ns, acked: &Acked) -> Option<Counter> {
        match self {
            Self::Nscc(nscc) => nscc.on_ack(now, acked),
            Self::Fixed(_) => None,
        }
    }

    /// The receiver asks to slow down by `penalty` / 128 of `new_bytes`, or does not ask
    /// any more if `penalty` is zero: then the window is what it was before. `inflight`
    /// bytes were in flight before.
    pub fn on_penalty(&mut self, penalty: u16, new_bytes: u64, inflight: u64) {
        if let Self::Nscc(nscc) = self {
            nscc.on_penalty(penalty, new_bytes, inflight);
        }
    }

    /// A packet of `bytes` was found lost; called once for each.
    pub fn on_loss(&mut self, _now: Ns, bytes: u64) {
        if let Self::Nscc(nscc) = self {
            nscc.on_loss(bytes);
        }
    }

    /// A packet of `bytes` was found lost, for which congestion is not to blame.
    pub fn on_path_loss(&mut self, bytes: u64) {
        if let Self::Nscc(nscc) = self {
            nscc.on_path_loss(bytes);
        }
    }

    /// A packet of `bytes` was cut off by a switch or not taken by its receiver.
    pub fn on_trimmed(&mut self, bytes: u64) {
        if let Self::Nscc(nscc) = self {
            nscc.on_trimmed(bytes);
        }
    }

    /// The retransmission timer expired; the packets it found lost are reported
    /// to [`Self::on_loss`] besides.
    pub fn on_timeout(&mut self, _now: Ns) {
        if let Self::Nscc(nscc) = self {
            nscc.on_timeout();
        }
    }

    /// RTT of the idle fabric as far as it is known, 0 if that does not matter.
    pub fn base_rtt(&self) -> Ns {
        match self {
            Self::Nscc(nscc) => nscc.base_rtt(),
            Self::Fixed(_) => 0,
        }
    }

    /// What there is to see of it, all zero if nothing is derived.
    pub fn derived(&self) -> Derived {
        match self {
            Self::Nscc(nscc) => nscc.derived(),
            Self::Fixed(_) => Derived::default(),
        }
    }

    /// Queueing delay the window aims at, 0 if it does not care.
    pub fn target_delay(&self) -> Ns {
        match self {
            Self::Nscc(nscc) => nscc.target_delay(),
            Self::Fixed(_) => 0,
        }
    }
}
