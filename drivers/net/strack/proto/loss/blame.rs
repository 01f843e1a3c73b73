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

use crate::proto::Ns;

/// Without delay, this part of a window lost in one round is still no congestion,
/// and neither are a few packets.
const DAMAGED_SHARE: u64 = 3;
const DAMAGED_PACKETS: u64 = 8;

/// Without and with congestion, a round costs this part of the window at most.
const DAMAGE_COST: u64 = 16;
const CONGESTION_COST: u64 = 2;

/// Losses of one round.
#[derive(Clone, Debug)]
pub struct Blame {
    round_start: Option<Ns>,
    window: u64,
    lost: u64,
    charged: u64,
}

impl Blame {
    /// No losses.
    pub fn new() -> Self {
        Self {
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
        let damage = (self.window / DAMAGED_SHARE).max(DAMAGED_PACKETS * len);
        let most = if delayed || self.lost > damage {
            self.window / CONGESTION_COST
        } else {
            self.window / DAMAGE_COST
        };
        let charge = most.saturating_sub(self.charged).min(len);
        self.charged += charge;
        charge
    }
}

impl Default for Blame {
    fn default() -> Self {
        Self::new()
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
        let mut blame = Blame::new();
        assert_eq!(charged(&mut blame, 0, 5, true), 5000);
        assert_eq!(charged(&mut blame, 100, 25, true), 11_000);
        assert_eq!(charged(&mut blame, 101, 5, true), 5000);
    }

    #[test]
    fn a_dead_path_costs_little() {
        let mut blame = Blame::new();
        assert_eq!(charged(&mut blame, 0, 10, false), 2000);
        assert_eq!(charged(&mut blame, 50, 5, false), 5000);
    }
}
