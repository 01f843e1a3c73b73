// SPDX-License-Identifier: GPL-2.0

//! Whether a loss is the fault of congestion or of a path.
//!
//! A queue that overflows was long before, and the delay has told. Packets that get
//! lost while there is hardly any delay were taken by a dead or a damaged link, and
//! to slow down would only delay the discovery of which one it is: the window is to
//! shrink by one packet per round at most. Unless very many are lost: a host that
//! cannot keep up drops packets without delaying others.
//!
//! Congestion costs one packet of window for each packet lost, and half the window
//! per round at most: what is lost in one round was sent before the sender could
//! know.

use crate::proto::Ns;

/// Without delay, this part of a window lost in one round is still no congestion.
const DAMAGED_SHARE: u64 = 3;

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

    /// A packet of `len` bytes was lost with a window of `cwnd` bytes; `delayed` says
    /// whether there is a queue. Returns whether the window has to answer for it.
    pub fn on_loss(&mut self, now: Ns, round: Ns, len: u64, cwnd: u64, delayed: bool) -> bool {
        let running = self
            .round_start
            .is_some_and(|start| now.saturating_sub(start) <= round);
        if !running {
            self.round_start = Some(now);
            self.window = cwnd;
            self.lost = 0;
            self.charged = 0;
        }
        self.lost = self.lost.saturating_add(len);
        let congested = delayed || self.lost > self.window / DAMAGED_SHARE;
        let charge = self.charged == 0 || (congested && self.charged < self.window / 2);
        if charge {
            self.charged = self.charged.saturating_add(len.max(1));
        }
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

    fn charged(blame: &mut Blame, now: Ns, packets: u64, delayed: bool) -> usize {
        let losses = (0..packets).map(|_| blame.on_loss(now, 100, 1000, 30_000, delayed));
        losses.filter(|&charged| charged).count()
    }

    #[test]
    fn congestion_costs_each_packet_up_to_half() {
        let mut blame = Blame::new();
        assert_eq!(charged(&mut blame, 0, 5, true), 5);
        assert_eq!(charged(&mut blame, 100, 25, true), 10);
        assert_eq!(charged(&mut blame, 101, 5, true), 5);
    }

    #[test]
    fn a_dead_path_costs_one_packet() {
        let mut blame = Blame::new();
        assert_eq!(charged(&mut blame, 0, 10, false), 1);
        assert_eq!(charged(&mut blame, 50, 5, false), 5);
    }
}
