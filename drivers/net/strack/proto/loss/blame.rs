// SPDX-License-Identifier: GPL-2.0

//! Whether a loss is the fault of congestion or of a path.
//!
//! A queue that overflows was long before, and the delay has told. Packets that get
//! lost while there is hardly any delay were taken by a dead or a damaged link. To
//! slow down would not help them, and would delay the discovery of which link it
//! is, so they cost a sixteenth of the window per round at most. Unless very many
//! are lost: a host that cannot keep up drops packets without delaying others.
//!
//! Congestion costs one packet of window for each packet lost, and half the window
//! per round at most: what is lost in one round was sent before the sender could
//! know.

use super::params::Params;
use crate::proto::{
    params::permille,
    Ns, //
};

/// Losses of one round.
#[derive(Clone, Debug)]
pub struct Blame {
    params: Params,
    round_start: Option<Ns>,
    window: u64,
    lost: u64,
    charged: u64,
}

impl Blame {
    /// No losses.
    pub fn new(params: Params) -> Self {
        Self {
            params,
            round_start: None,
            window: 0,
            lost: 0,
            charged: 0,
        }
    }

    /// A packet of `len` bytes was lost out of a window of `window` bytes; `delayed`
    /// says whether there is a queue, and a round lasts for `round`. Returns by how
    /// many bytes the window is to shrink.
    pub fn on_loss(&mut self, now: Ns, round: Ns, len: u64, window: u64, delayed: bool) -> u64 {
        let running = self
            .round_start
            .is_some_and(|start| now.saturating_sub(start) <= round);
        if !running {
            self.round_start = Some(now);
            self.window = window;
            self.lost = 0;
            self.charged = 0;
        }
        self.lost = self.lost.saturating_add(len);
        let params = &self.params;
        let few = u64::from(params.damage_packets).saturating_mul(len);
        let damage = permille(self.window, params.damage_permille).max(few);
        let cost = if delayed || self.lost > damage {
            params.congestion_cost_permille
        } else {
            params.damage_cost_permille
        };
        let most = permille(self.window, cost);
        let charge = most.saturating_sub(self.charged).min(len);
        self.charged += charge;
        charge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charged(blame: &mut Blame, now: Ns, packets: u64, delayed: bool) -> u64 {
        let losses = (0..packets).map(|_| blame.on_loss(now, 100, 1000, 32_000, delayed));
        losses.sum()
    }

    #[test]
    fn congestion_costs_each_packet_up_to_half() {
        let mut blame = Blame::new(Params::default());
        assert_eq!(charged(&mut blame, 0, 5, true), 5000);
        assert_eq!(charged(&mut blame, 100, 25, true), 11_000);
        assert_eq!(charged(&mut blame, 101, 5, true), 5000);
    }

    #[test]
    fn a_dead_path_costs_little() {
        let mut blame = Blame::new(Params::default());
        assert_eq!(charged(&mut blame, 0, 10, false), 1984);
        assert_eq!(charged(&mut blame, 50, 5, false), 5000);
    }
}
