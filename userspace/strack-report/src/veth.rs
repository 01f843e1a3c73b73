// SPDX-License-Identifier: GPL-2.0
//! The figures of `make bench-veth`: what a byte costs.
//!
//! In the guest's virtual time one instruction takes one nanosecond, and there is
//! one CPU for both ends; so the time of a transfer that never waits, divided by its
//! bytes, is the number of instructions that both ends together spend on a byte.
//! Waiting would count as well, which is why idle time is a figure of its own.

use crate::raw::Raw;
use crate::raw::Transfer;
use crate::report::Better;
use crate::report::Report;
use crate::table;
use anyhow::bail;
use anyhow::Result;

/// The transports that are compared; a run is called TRANSPORT-MTU-on|off.
const TRANSPORTS: [&str; 2] = ["tcp", "strack-128"];

/// Everything that the guest reported.
pub(crate) struct Bench<'a> {
    raw: &'a Raw,
    /// MTU and offloads, as in the names of the runs.
    settings: Vec<String>,
}

fn per_byte(run: &Transfer) -> f64 {
    run.elapsed_ns as f64 / run.bytes as f64
}

fn idle_percent(run: &Transfer) -> f64 {
    100.0 * run.idle_ms * 1e6 / run.elapsed_ns as f64
}

impl Bench<'_> {
    /// Check that every run was completed and has its peer.
    pub(crate) fn new(raw: &Raw) -> Result<Bench<'_>> {
        let mut settings = Vec::new();
        for run in &raw.transfers {
            if !run.complete || !run.equal {
                let error = run.error.as_deref().unwrap_or("bytes were changed");
                bail!("the run '{}' failed: {error}", run.run);
            }
            if let Some(setting) = run.run.strip_prefix("tcp-") {
                settings.push(setting.to_string());
            }
        }
        for setting in &settings {
            for transport in TRANSPORTS {
                raw.transfer(&format!("{transport}-{setting}"))?;
            }
        }
        if settings.is_empty() {
            bail!("the guest measured nothing");
        }
        Ok(Bench { raw, settings })
    }

    fn runs<'a>(&'a self, setting: &'a str) -> impl Iterator<Item = &'a Transfer> {
        let name = move |transport: &&str| format!("{transport}-{setting}");
        let runs = TRANSPORTS.iter().map(name);
        runs.filter_map(|name| self.raw.transfer(&name).ok())
    }

    /// The figures with names.
    pub(crate) fn report(&self) -> Report {
        let mut report = Report::new(&self.raw.setup);
        for setting in &self.settings {
            for run in self.runs(setting) {
                let name = &run.run;
                report.add(
                    &format!("instructions/{name}"),
                    per_byte(run),
                    "instructions/B",
                    Better::Lower,
                );
                report.add(
                    &format!("goodput/{name}"),
                    run.goodput(),
                    "Mb/s",
                    Better::Higher,
                );
                report.add(
                    &format!("idle/{name}"),
                    idle_percent(run),
                    "%",
                    Better::Lower,
                );
            }
        }
        report
    }

    /// All of it for people.
    pub(crate) fn table(&self) -> String {
        let mut head = vec!["MTU, offloads".to_string()];
        for transport in TRANSPORTS {
            head.push(format!("{transport}, instr/B"));
            head.push("Mb/s".into());
            head.push("idle".into());
        }
        head.push("strack/tcp".into());
        let rows = self.settings.iter().map(|setting| {
            let mut row = vec![setting.replace('-', ", ")];
            let mut costs = Vec::new();
            for run in self.runs(setting) {
                costs.push(per_byte(run));
                row.push(format!("{:.2}", per_byte(run)));
                row.push(format!("{:.0}", run.goodput()));
                row.push(format!("{:.0} %", idle_percent(run)));
            }
            if let [tcp, strack] = costs[..] {
                row.push(format!("{:.2}", strack / tcp));
            }
            row
        });
        let mut text = String::from("\n");
        if self.raw.setup.stand_in {
            text.push_str("TCP stands in for AF_STRACK: its columns mean nothing.\n\n");
        }
        text.push_str("Instructions per byte, both ends together (lower is better)\n");
        text.push_str(&table::plain(head, rows));
        text
    }
}
