// SPDX-License-Identifier: GPL-2.0
//! One run of `flows`: several transfers that began at the same moment.

use crate::raw::Stats;
use serde::Deserialize;

/// One transfer.
#[derive(Clone, Deserialize)]
pub(crate) struct Flow {
    /// Bytes to transfer.
    pub(crate) bytes: u64,
    /// Bytes that were read at the other end.
    pub(crate) received: u64,
    /// The stream ended after the last byte.
    complete: bool,
    /// What arrived is what was sent.
    equal: bool,
    /// From before the first connect() of all until the last byte was read.
    elapsed_ns: u64,
    /// The sender at the end.
    pub(crate) sender: Stats,
    /// The receiver at the end, if there was one.
    #[serde(default)]
    pub(crate) receiver: Stats,
}

impl Flow {
    /// Everything arrived as it was sent.
    pub(crate) fn finished(&self) -> bool {
        self.complete && self.equal && self.received == self.bytes
    }
}

/// A spine that swallowed everything for a while.
#[derive(Clone, Deserialize)]
pub(crate) struct Cut {
    /// From when on, since the start.
    pub(crate) at_ns: u64,
    /// Until when; to the end if there is none.
    #[serde(default)]
    pub(crate) mended_ns: Option<u64>,
    /// The first flow's sender, just before.
    pub(crate) sender: Stats,
}

/// Sums over all flows at one moment: nanoseconds since the start, payload bytes that
/// have arrived, packets sent, packets sent again.
#[derive(Clone, Copy, Deserialize)]
pub(crate) struct Sample(
    pub(crate) u64,
    pub(crate) u64,
    pub(crate) u64,
    pub(crate) u64,
);

/// A whole run.
#[derive(Clone, Deserialize)]
pub(crate) struct Flows {
    /// Name of the case.
    pub(crate) run: String,
    /// Who carried it.
    pub(crate) transport: String,
    /// Seed of the fabric's hash functions.
    pub(crate) seed: u64,
    /// Time the CPU had nothing to do, in steps of 10 ms.
    idle_ms: f64,
    /// When the run would have been given up.
    limit_ms: u64,
    /// The transfers.
    pub(crate) flows: Vec<Flow>,
    /// The cut, if there was one.
    #[serde(default)]
    pub(crate) cut: Option<Cut>,
    /// How it went on, if somebody looked.
    #[serde(default)]
    pub(crate) samples: Vec<Sample>,
}

impl Flows {
    /// Milliseconds until this flow was over; until the end of patience if it never was.
    pub(crate) fn flow_ms(&self, flow: &Flow) -> f64 {
        if flow.finished() {
            flow.elapsed_ns as f64 / 1e6
        } else {
            self.limit_ms as f64
        }
    }

    /// The same for the last of all flows.
    pub(crate) fn last_ms(&self) -> f64 {
        let times = self.flows.iter().map(|flow| self.flow_ms(flow));
        times.fold(0.0, f64::max)
    }

    /// Payload of all flows.
    pub(crate) fn bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.bytes).sum()
    }

    /// Number of flows that never finished.
    pub(crate) fn stuck(&self) -> usize {
        self.flows.iter().filter(|flow| !flow.finished()).count()
    }

    /// Jain's index of the flows' rates: 1 when all are equal.
    pub(crate) fn jain(&self) -> f64 {
        let rates = self
            .flows
            .iter()
            .map(|flow| flow.received as f64 / self.flow_ms(flow));
        let (sum, squares) = rates.fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
        if squares == 0.0 {
            return 0.0;
        }
        sum * sum / (self.flows.len() as f64 * squares)
    }

    /// Sum of a number of the senders.
    pub(crate) fn senders(&self, of: fn(&Stats) -> u64) -> u64 {
        self.flows.iter().map(|flow| of(&flow.sender)).sum()
    }

    /// Packets that came to a receiver that had them.
    pub(crate) fn duplicates(&self) -> u64 {
        self.flows.iter().map(|flow| flow.receiver.duplicates).sum()
    }

    /// Part of the time that the CPU had nothing to do, in percent.
    pub(crate) fn idle(&self) -> f64 {
        (100.0 * self.idle_ms / self.last_ms().max(1.0)).min(100.0)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Flows;

    /// A run with flows of 1 MB that took so many milliseconds; 0: never finished.
    pub(crate) fn run(times: &[u64]) -> Flows {
        let flows: Vec<_> = times
            .iter()
            .map(|&ms| {
                serde_json::json!({
                    "bytes": 1_000_000, "received": if ms == 0 { 500_000 } else { 1_000_000 },
                    "complete": ms > 0, "equal": true, "elapsed_ns": ms * 1_000_000,
                    "sender": {"rto_ns": 1_000_000, "retransmits": 1, "packets_sent": 242},
                    "receiver": {"rto_ns": 1_000_000, "retransmits": 0, "duplicates": 1},
                })
            })
            .collect();
        serde_json::from_value(serde_json::json!({
            "run": "permutation", "transport": "strack", "seed": 1, "idle_ms": 30,
            "limit_ms": 15000, "flows": flows,
        }))
        .unwrap()
    }

    #[test]
    fn the_last_flow_counts() {
        assert_eq!(run(&[60, 90, 30]).last_ms(), 90.0);
    }

    #[test]
    fn who_never_finishes_takes_all_the_time() {
        let run = run(&[60, 0]);
        assert_eq!((run.last_ms(), run.stuck()), (15000.0, 1));
    }

    #[test]
    fn jain_of_equals_is_one() {
        assert_eq!(run(&[50, 50, 50]).jain(), 1.0);
        // 1 and 1/3: (4/3)^2 / (2 * 10/9)
        assert!((run(&[50, 150]).jain() - 0.8).abs() < 1e-9);
    }

    #[test]
    fn sums_are_of_all_flows() {
        let run = run(&[50, 50]);
        assert_eq!(run.senders(|stats| stats.retransmits), 2);
        assert_eq!((run.duplicates(), run.bytes()), (2, 2_000_000));
        assert_eq!(run.idle(), 60.0);
    }
}
