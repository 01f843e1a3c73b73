// SPDX-License-Identifier: GPL-2.0
//! The figures of `make bench-veth`: what a byte costs.
//!
//! In the guest's virtual time one instruction takes one nanosecond, and there is
//! one CPU for both ends; so the time of a transfer that never waits, divided by its
//! bytes, is the number of instructions that both ends together spend on a byte.
//! Waiting would count as well, which is why idle time is a figure of its own.

use crate::raw::Raw;
use crate::raw::Transfer;
use anyhow::bail;
use anyhow::Result;
use strack_report::report::Better;
use strack_report::report::Report;
use strack_report::table;

/// The transports that are compared; a run is called TRANSPORT-MTU-on|off.
const TRANSPORTS: [&str; 2] = ["tcp", "strack-128"];

/// Everything that the guest reported.
pub(crate) struct Bench<'a> {
    raw: &'a Raw,
    /// MTU and offloads, as in the names of the runs.
    settings: Vec<&'a str>,
}

/// All rounds of one transport with one setting.
struct Cost {
    /// Instructions per byte: the middle one of the rounds.
    middle: f64,
    /// The least of the rounds.
    least: f64,
    /// The most of the rounds.
    most: f64,
    /// Mb/s, of the middle round.
    goodput: f64,
    /// Part of the time that nothing was to be done, in percent of all rounds.
    idle: f64,
}

impl Cost {
    /// Of at least one round.
    fn of<'a>(rounds: impl Iterator<Item = &'a Transfer>) -> Option<Cost> {
        let rounds: Vec<_> = rounds.collect();
        let mut costs: Vec<f64> = rounds
            .iter()
            .map(|run| run.elapsed_ns as f64 / run.bytes as f64)
            .collect();
        costs.sort_by(f64::total_cmp);
        let middle = *costs.get(costs.len() / 2)?;
        let idle_ns: f64 = rounds.iter().map(|run| run.idle_ms * 1e6).sum();
        let all_ns: f64 = rounds.iter().map(|run| run.elapsed_ns as f64).sum();
        Some(Cost {
            middle,
            least: *costs.first()?,
            most: *costs.last()?,
            goodput: 8e3 / middle,
            idle: 100.0 * idle_ns / all_ns,
        })
    }
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
                settings.push(setting);
            }
        }
        settings.dedup();
        let bench = Bench { raw, settings };
        for setting in &bench.settings {
            for transport in TRANSPORTS {
                raw.transfer(&format!("{transport}-{setting}"))?;
            }
        }
        if bench.settings.is_empty() {
            bail!("the guest measured nothing");
        }
        Ok(bench)
    }

    /// Name and figures of each transport with this setting.
    fn costs<'a>(&'a self, setting: &'a str) -> impl Iterator<Item = (String, Cost)> + 'a {
        TRANSPORTS.iter().filter_map(move |transport| {
            let name = format!("{transport}-{setting}");
            let rounds = self.raw.transfers.iter().filter(|run| run.run == name);
            let cost = Cost::of(rounds)?;
            Some((name, cost))
        })
    }

    /// The figures with names.
    pub(crate) fn report(&self) -> Report {
        let mut report = self.raw.setup.report();
        for setting in &self.settings {
            for (name, cost) in self.costs(setting) {
                let unit = "instructions/B";
                report.add(
                    &format!("instructions/{name}"),
                    cost.middle,
                    unit,
                    Better::Lower,
                );
                report.add(
                    &format!("goodput/{name}"),
                    cost.goodput,
                    "Mb/s",
                    Better::Higher,
                );
                report.add(&format!("idle/{name}"), cost.idle, "%", Better::Lower);
            }
        }
        report
    }

    /// All of it for people.
    pub(crate) fn table(&self) -> String {
        let mut head = vec!["MTU, offloads".to_string()];
        for transport in TRANSPORTS {
            head.extend([format!("{transport}, instr/B"), "least..most".into()]);
            head.extend(["Mb/s".to_string(), "idle".into()]);
        }
        head.push("strack/tcp".into());
        let rows = self.settings.iter().map(|setting| {
            let mut row = vec![setting.replace('-', ", ")];
            let mut middles = Vec::new();
            for (_, cost) in self.costs(setting) {
                middles.push(cost.middle);
                row.push(format!("{:.2}", cost.middle));
                row.push(format!("{:.2}..{:.2}", cost.least, cost.most));
                row.push(format!("{:.0}", cost.goodput));
                row.push(format!("{:.0} %", cost.idle));
            }
            if let [tcp, strack] = middles[..] {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw;

    fn line(run: &str, elapsed_ns: u64, complete: bool) -> String {
        format!(
            r#"{{"kind":"transfer","run":"{run}","bytes":1000,"complete":{complete},"equal":true,"elapsed_ns":{elapsed_ns},"idle_ms":0,"limit_ms":1,"bin_ns":1,"arrivals":[]}}"#
        )
    }

    fn guest(lines: &[String]) -> Raw {
        let setup = r#"{"kind":"setup","command":"make bench-veth","kernel":"7.3","seed":0}"#;
        raw::parse(&format!("{setup}\n{}", lines.join("\n"))).unwrap()
    }

    #[test]
    fn the_middle_round_counts() {
        let mut lines = Vec::new();
        for elapsed in [1400, 900, 880] {
            lines.push(line("tcp-1500-on", elapsed, true));
            lines.push(line("strack-128-1500-on", 2 * elapsed, true));
        }
        let raw = guest(&lines);
        let report = Bench::new(&raw).unwrap().report();
        let rows = report.rows();
        let figures: Vec<_> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.value))
            .collect();
        assert_eq!(figures[0], ("instructions/tcp-1500-on", 0.9));
        assert_eq!(figures[3], ("instructions/strack-128-1500-on", 1.8));
        assert_eq!(rows.len(), 6);
    }

    #[test]
    fn a_run_without_its_peer_is_no_bench() {
        let raw = guest(&[line("tcp-1500-on", 900, true)]);
        assert!(Bench::new(&raw).is_err());
    }

    #[test]
    fn a_failed_run_is_no_figure() {
        let raw = guest(&[
            line("tcp-1500-on", 900, true),
            line("strack-128-1500-on", 900, false),
        ]);
        assert!(Bench::new(&raw).is_err());
    }
}
