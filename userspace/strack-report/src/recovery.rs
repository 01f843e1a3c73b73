// SPDX-License-Identifier: GPL-2.0
//! What a cut did to the goodput, from the arrival record of a run.
//!
//! The receiver's record counts bytes as the application reads them, that is in
//! order: one packet that is missing holds back everything behind it, and when
//! it comes a burst follows. A single good moment after the cut therefore proves
//! nothing, and a single bad one later on does not undo a recovery. Time is divided,
//! from the cut on, into windows of one retransmission timeout (longer if a window
//! would hold too few packets to be a rate at all). A window is good when it has more than
//! half the rate of before. Goodput is back at the end of the first good window with which
//! eight begin, six of them good. The last bad window of all is a figure of its own.

use crate::raw::mbits;
use crate::raw::Transfer;

/// Packets that a window must be able to hold at the rate before the cut.
const PACKETS_PER_WINDOW: f64 = 16.0;

/// Payload bytes of a packet, where the transport does not tell.
const USUAL_MSS: u64 = 4096;

/// A window is good when it is above this part of the rate before.
const ENOUGH: f64 = 0.5;

/// A cut in figures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recovery {
    /// Mb/s in the second half of the time before the cut.
    pub(crate) before: f64,
    /// Mb/s from the cut to the end, the interruption included.
    pub(crate) after: f64,
    /// The retransmission timeout in force at the cut.
    pub(crate) rto_ns: f64,
    /// Width of a window.
    pub(crate) window_ns: u64,
    /// From the cut until goodput was back; if it never was, until the run was given up.
    pub(crate) recovery_ns: u64,
    /// From the cut until the end of the last bad window; 0 without one.
    pub(crate) last_dip_ns: u64,
    /// The longest time without a byte after the cut.
    pub(crate) longest_gap_ns: u64,
}

impl Recovery {
    /// A time in units of the retransmission timeout.
    pub(crate) fn in_rto(&self, ns: u64) -> f64 {
        ns as f64 / self.rto_ns.max(1.0)
    }

    /// The figures of a run, if it had a cut.
    pub(crate) fn of(run: &Transfer) -> Option<Recovery> {
        let cut = run.cut.as_ref()?;
        let record = Record(run);
        let before = mbits(
            record.bytes(cut.at_ns / 2, cut.at_ns),
            cut.at_ns - cut.at_ns / 2,
        );
        let limit_ns = run.limit_ms * 1_000_000;
        let end_ns = if run.complete {
            run.elapsed_ns
        } else {
            limit_ns
        };
        let after = mbits(
            record.bytes(cut.at_ns, end_ns + run.bin_ns),
            end_ns - cut.at_ns,
        );
        let window_ns = window(run, cut.sender.rto_ns, before);
        let good = |k: u64| {
            let from = cut.at_ns + k * window_ns;
            mbits(record.bytes(from, from + window_ns), window_ns) > before * ENOUGH
        };
        // the last window is left out when the run ended within it
        let windows: Vec<bool> = (0..(end_ns - cut.at_ns) / window_ns).map(good).collect();
        let until = |k: usize| (k as u64 + 1) * window_ns;
        let recovery_ns = match back(&windows) {
            Some(k) if run.complete => until(k),
            _ => limit_ns.saturating_sub(cut.at_ns),
        };
        let last_dip_ns = windows.iter().rposition(|good| !good).map_or(0, until);
        Some(Recovery {
            before,
            after,
            rto_ns: cut.sender.rto_ns,
            window_ns,
            recovery_ns,
            last_dip_ns,
            longest_gap_ns: record.longest_gap(cut.at_ns, end_ns),
        })
    }
}

/// Windows that are looked at together.
const IN_A_ROW: usize = 8;

/// The first good window of which, with those that follow, three quarters are good.
fn back(windows: &[bool]) -> Option<usize> {
    (0..windows.len()).find(|&k| {
        let these: Vec<_> = windows[k..].iter().take(IN_A_ROW).collect();
        let good = these.iter().filter(|good| ***good).count();
        windows[k] && 4 * good >= 3 * these.len()
    })
}

/// Width of a window.
fn window(run: &Transfer, rto_ns: f64, before: f64) -> u64 {
    let mss = match run.sender.mss {
        0 => USUAL_MSS,
        mss => mss,
    };
    let least = PACKETS_PER_WINDOW * mss as f64 * 8e3 / before.max(1e-3);
    // whole steps of the record
    let steps = (rto_ns.max(least) / run.bin_ns as f64).ceil();
    (steps as u64).max(1) * run.bin_ns
}

/// The arrival record; a step belongs to where it begins.
struct Record<'a>(&'a Transfer);

impl Record<'_> {
    fn bytes(&self, from_ns: u64, to_ns: u64) -> u64 {
        let within = |bin: u64| (from_ns..to_ns).contains(&(bin * self.0.bin_ns));
        let arrivals = self.0.arrivals.iter();
        arrivals
            .filter(|(bin, _)| within(*bin))
            .map(|(_, n)| n)
            .sum()
    }

    fn longest_gap(&self, from_ns: u64, to_ns: u64) -> u64 {
        let mut last = from_ns;
        let mut longest = 0;
        for (bin, _) in &self.0.arrivals {
            let at = bin * self.0.bin_ns;
            if at >= from_ns {
                longest = longest.max(at - last);
                last = at;
            }
        }
        longest.max(to_ns.saturating_sub(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::Cut;
    use crate::raw::Stats;

    const BIN_NS: u64 = 100_000;
    const RTO_NS: f64 = 5e6;

    /// A run of 100 ms at 40,000 bytes per millisecond, cut in the middle, in which the
    /// bytes of the steps within `stalled` arrive only when these are over.
    fn run(stalled: &[(u64, u64)]) -> Transfer {
        let mut arrivals = Vec::new();
        let mut held = 0;
        for bin in 0..1000 {
            held += 4000;
            if !stalled.iter().any(|(from, to)| (*from..*to).contains(&bin)) {
                arrivals.push((bin, held));
                held = 0;
            }
        }
        Transfer {
            run: "x".into(),
            bytes: 4_000_000,
            complete: true,
            equal: true,
            elapsed_ns: 100_000_000,
            idle_ms: 0.0,
            limit_ms: 1000,
            error: None,
            sender: Stats::default(),
            spines: Vec::new(),
            cut: Some(Cut {
                spine: 1,
                at_ns: 50_000_000,
                sender: Stats {
                    rto_ns: RTO_NS,
                    ..Stats::default()
                },
            }),
            bin_ns: BIN_NS,
            arrivals,
        }
    }

    #[test]
    fn without_harm_recovery_is_the_first_window() {
        let run = run(&[]);
        let figures = Recovery::of(&run).unwrap();
        assert_eq!(figures.before, 320.0);
        assert!((figures.after - 320.0).abs() < 1.0);
        assert_eq!(figures.recovery_ns, figures.window_ns);
        assert_eq!(figures.last_dip_ns, 0);
    }

    #[test]
    fn one_stall_ends_with_the_window_of_its_burst() {
        // from 2 to 12 ms after the cut: the first two windows are bad, and the
        // third has the burst
        let run = run(&[(520, 620)]);
        let figures = Recovery::of(&run).unwrap();
        assert_eq!(figures.window_ns, 5_000_000);
        assert_eq!(figures.in_rto(figures.recovery_ns), 3.0);
        assert_eq!(figures.in_rto(figures.last_dip_ns), 2.0);
        assert_eq!(figures.longest_gap_ns, 10_100_000);
    }

    #[test]
    fn a_burst_between_two_stalls_is_no_recovery() {
        let run = run(&[(500, 600), (610, 860)]);
        let figures = Recovery::of(&run).unwrap();
        assert_eq!(figures.in_rto(figures.recovery_ns), 8.0);
    }

    #[test]
    fn a_late_dip_does_not_undo_a_recovery() {
        let run = run(&[(500, 560), (800, 850)]);
        let figures = Recovery::of(&run).unwrap();
        assert_eq!(figures.in_rto(figures.recovery_ns), 2.0);
        assert_eq!(figures.in_rto(figures.last_dip_ns), 7.0);
    }

    #[test]
    fn a_stuck_run_never_recovers() {
        let mut stuck = run(&[]);
        stuck.complete = false;
        stuck.arrivals.retain(|(bin, _)| *bin < 500);
        let figures = Recovery::of(&stuck).unwrap();
        assert_eq!(figures.after, 0.0);
        assert_eq!(figures.in_rto(figures.recovery_ns), 190.0);
        assert_eq!(figures.longest_gap_ns, 950_000_000);
    }

    #[test]
    fn a_window_is_wide_enough_to_be_a_rate() {
        let mut slow = run(&[]);
        for arrival in &mut slow.arrivals {
            arrival.1 /= 100;
        }
        let figures = Recovery::of(&slow).unwrap();
        // 16 packets of 4096 bytes at 400 bytes per millisecond
        assert_eq!(figures.window_ns, 163_900_000);
    }
}
