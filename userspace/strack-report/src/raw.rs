// SPDX-License-Identifier: GPL-2.0
//! What the guest wrote, line by line: `selftests/fabric/*.sh` and `xfer`.

use crate::flows::Flows;
use anyhow::bail;
use anyhow::Context;
use anyhow::Result;
use serde::Deserialize;
use std::fs;
use std::path::Path;
use strack_report::report::Clock;
use strack_report::report::Report;

/// One line of the file.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Line {
    Setup(Setup),
    Transfer(Box<Transfer>),
    Flows(Box<Flows>),
    Queues(Queues),
    Hash(Hash),
}

/// Under what circumstances all the rest was measured.
#[derive(Clone, Deserialize)]
pub(crate) struct Setup {
    /// The command a user typed.
    pub(crate) command: String,
    /// `uname -r` of the guest.
    pub(crate) kernel: String,
    /// Seed of the fabric's hash functions.
    pub(crate) seed: u64,
    /// Spines of the fabric; 0 without one.
    #[serde(default)]
    pub(crate) spines: usize,
    /// Rate of one spine link in tc's notation, such as `100mbit`.
    #[serde(default)]
    pub(crate) rate: String,
    /// The same for the link of a host.
    #[serde(default)]
    pub(crate) host_rate: String,
    /// Bytes of the largest IP packet.
    #[serde(default)]
    pub(crate) mtu: u64,
    /// TCP was measured in place of AF_STRACK: a test of the scripts.
    #[serde(default)]
    pub(crate) stand_in: bool,
}

impl Setup {
    /// An empty report of measurements in the guest's virtual time.
    pub(crate) fn report(&self) -> Report {
        let note = if self.stand_in {
            " (TCP stands in for AF_STRACK)"
        } else {
            ""
        };
        let command = format!("{}{note}", self.command);
        Report::new(&command, &self.kernel, Clock::Virtual, self.seed)
    }
}

/// One end of a connection when it was asked.
#[derive(Clone, Default, Deserialize)]
pub(crate) struct Stats {
    /// Retransmission timeout in force.
    pub(crate) rto_ns: f64,
    /// Packets sent again.
    pub(crate) retransmits: u64,
    /// Payload bytes of one packet; unknown for TCP.
    #[serde(default)]
    pub(crate) mss: u64,
    /// Paths withdrawn as dead.
    #[serde(default)]
    pub(crate) paths_bad: u64,
    /// Expiries of the retransmission timeout.
    #[serde(default)]
    pub(crate) timeouts: u64,
    /// Packets sent again although they had arrived.
    #[serde(default)]
    pub(crate) spurious: u64,
    /// Data packets sent, unknown for TCP.
    #[serde(default)]
    pub(crate) packets_sent: u64,
    /// Data packets that came although they had been received.
    #[serde(default)]
    pub(crate) duplicates: u64,
}

/// Bytes over one spine, headers included.
#[derive(Clone, Deserialize)]
pub(crate) struct Spine {
    /// From the sender's side.
    pub(crate) data: u64,
}

/// What was known when a spine was cut.
#[derive(Clone, Deserialize)]
pub(crate) struct Cut {
    /// Number of the spine, from 1.
    pub(crate) spine: usize,
    /// Time since the start.
    pub(crate) at_ns: u64,
    /// The sender, just before.
    pub(crate) sender: Stats,
}

/// One run of `xfer`.
#[derive(Clone, Deserialize)]
pub(crate) struct Transfer {
    /// Name of the run.
    pub(crate) run: String,
    /// Bytes to transfer.
    pub(crate) bytes: u64,
    /// Everything arrived and the connection ended in order.
    pub(crate) complete: bool,
    /// What arrived is what was sent.
    pub(crate) equal: bool,
    /// From before connect() until the last byte was read.
    pub(crate) elapsed_ns: u64,
    /// Of which the CPU had nothing to do, in steps of 10 ms.
    pub(crate) idle_ms: f64,
    /// When the run would have been given up.
    pub(crate) limit_ms: u64,
    /// Name of the error that ended the run early.
    #[serde(default)]
    pub(crate) error: Option<String>,
    /// The sender at the end.
    #[serde(default)]
    pub(crate) sender: Stats,
    /// Bytes per spine.
    #[serde(default)]
    pub(crate) spines: Vec<Spine>,
    /// The cut, if there was one.
    #[serde(default)]
    pub(crate) cut: Option<Cut>,
    /// Width of the time steps of `arrivals`.
    pub(crate) bin_ns: u64,
    /// Number of the time step since the start, and bytes read in it.
    pub(crate) arrivals: Vec<(u64, u64)>,
}

impl Transfer {
    /// Mb/s of payload, from the first system call to the last byte; 0 if that never came.
    pub(crate) fn goodput(&self) -> f64 {
        if !self.complete {
            return 0.0;
        }
        mbits(self.bytes, self.elapsed_ns)
    }
}

/// Mb/s of so many bytes in so much time.
pub(crate) fn mbits(bytes: u64, ns: u64) -> f64 {
    bytes as f64 * 8e3 / ns.max(1) as f64
}

/// Mb/s of a rate in tc's notation.
pub(crate) fn rate_mbits(text: &str) -> Result<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let value: f64 = digits.parse().with_context(|| format!("rate '{text}'"))?;
    Ok(match text[digits.len()..].to_ascii_lowercase().as_str() {
        "kbit" => value / 1e3,
        "mbit" => value,
        "gbit" => value * 1e3,
        unit => bail!("rate '{text}': unit '{unit}'"),
    })
}

/// Counters of one uplink of a leaf, since the fabric is up.
#[derive(Clone, Deserialize)]
pub(crate) struct Uplink {
    /// Packets that its queue dropped.
    pub(crate) dropped: u64,
    /// Packets that its queue marked.
    pub(crate) marked: u64,
}

/// The uplinks of both leaves.
#[derive(Clone, Deserialize)]
pub(crate) struct Leaves {
    /// Those of leaf a.
    pub(crate) la: Vec<Uplink>,
    /// Those of leaf b.
    pub(crate) lb: Vec<Uplink>,
}

impl Leaves {
    fn sum(&self, of: fn(&Uplink) -> u64) -> u64 {
        self.la.iter().chain(&self.lb).map(of).sum()
    }
}

/// The queues of the fabric before and after a run.
#[derive(Clone, Deserialize)]
pub(crate) struct Queues {
    /// Name of the run.
    pub(crate) run: String,
    before: Leaves,
    after: Leaves,
}

impl Queues {
    /// Packets dropped at the uplinks by this run.
    pub(crate) fn dropped(&self) -> u64 {
        let of = |uplink: &Uplink| uplink.dropped;
        self.after.sum(of).saturating_sub(self.before.sum(of))
    }

    /// Packets marked at the uplinks in this run.
    pub(crate) fn marked(&self) -> u64 {
        let of = |uplink: &Uplink| uplink.marked;
        self.after.sum(of).saturating_sub(self.before.sum(of))
    }
}

/// SHA-256 at both ends.
#[derive(Clone, Deserialize)]
pub(crate) struct Hash {
    /// Name of the run.
    pub(crate) run: String,
    /// Of the file that was sent.
    pub(crate) sent: String,
    /// Of the file that was received.
    pub(crate) received: String,
}

/// A whole file.
pub(crate) struct Raw {
    /// The circumstances.
    pub(crate) setup: Setup,
    /// The runs, in their order.
    pub(crate) transfers: Vec<Transfer>,
    /// The runs of several flows, in their order.
    pub(crate) flows: Vec<Flows>,
    queues: Vec<Queues>,
    hashes: Vec<Hash>,
}

impl Raw {
    /// The run of this name.
    pub(crate) fn transfer(&self, run: &str) -> Result<&Transfer> {
        self.transfers
            .iter()
            .find(|transfer| transfer.run == run)
            .with_context(|| format!("the guest did not report the run '{run}'"))
    }

    /// The queues in a run, if they were read.
    pub(crate) fn queues(&self, run: &str) -> Option<&Queues> {
        self.queues.iter().find(|queues| queues.run == run)
    }

    /// The hashes of a run, if they were taken.
    pub(crate) fn hash(&self, run: &str) -> Option<&Hash> {
        self.hashes.iter().find(|hash| hash.run == run)
    }

    /// The bytes of a run arrived unchanged, by their hash and by comparison.
    pub(crate) fn intact(&self, run: &str) -> bool {
        let hash = self.hash(run).is_some_and(|h| h.sent == h.received);
        let whole = self.transfer(run).is_ok_and(|t| t.complete && t.equal);
        hash && whole
    }
}

/// Read a file of the guest.
pub(crate) fn read(path: &Path) -> Result<Raw> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    parse(&text).with_context(|| path.display().to_string())
}

/// Understand a file of the guest.
pub(crate) fn parse(text: &str) -> Result<Raw> {
    let mut setup = None;
    let mut transfers = Vec::new();
    let mut flows = Vec::new();
    let mut queues = Vec::new();
    let mut hashes = Vec::new();
    for (number, line) in text.lines().enumerate() {
        match serde_json::from_str(line).with_context(|| format!("line {}", number + 1))? {
            Line::Setup(line) => setup = Some(line),
            Line::Transfer(line) => transfers.push(*line),
            Line::Flows(line) => flows.push(*line),
            Line::Queues(line) => queues.push(line),
            Line::Hash(line) => hashes.push(line),
        }
    }
    let Some(setup) = setup else {
        bail!("there is no setup line");
    };
    Ok(Raw {
        setup,
        transfers,
        flows,
        queues,
        hashes,
    })
}

#[cfg(test)]
mod tests {
    use super::rate_mbits;

    #[test]
    fn rates_of_tc() {
        assert_eq!(rate_mbits("100mbit").unwrap(), 100.0);
        assert_eq!(rate_mbits("2.5Gbit").unwrap(), 2500.0);
        assert!(rate_mbits("100").is_err());
        assert!(rate_mbits("mbit").is_err());
    }
}
