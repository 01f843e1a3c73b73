// SPDX-License-Identifier: GPL-2.0
//! The figures of `make demo`: one file, one connection, four spines.
//!
//! Which spine a path takes is drawn by the fabric's hash, anew for each connection. One
//! connection says little about what 128 paths do, and much about its draw: there are
//! several, and the mean of them is what has to meet the target.

use crate::raw::rate_mbits;
use crate::raw::Raw;
use crate::raw::Transfer;
use crate::recovery::Recovery;
use anyhow::Context;
use anyhow::Result;
use std::fmt::Write;
use strack_report::report::Better;
use strack_report::report::Report;
use strack_report::table;

/// Runs without a fault, in the order of the table.
pub(crate) const CLEAN: [&str; 3] = ["tcp", "strack-1", "strack-128"];
/// The run of [`CLEAN`] that is repeated, as `strack-128-2` and so on.
const DRAWN: &str = "strack-128";
/// The run in which a spine dies.
pub(crate) const CUT: &str = "strack-cut";
/// The same for TCP.
pub(crate) const CUT_TCP: &str = "tcp-cut";

/// Part of the fabric that 128 paths have to fill.
const CAPACITY_TARGET: f64 = 0.7;
/// Part of the goodput before a cut that has to be left after it.
const AFTER_CUT_TARGET: f64 = 0.5;
/// Retransmission timeouts that recovery may take.
const RECOVERY_TARGET: f64 = 20.0;

/// Everything that the guest reported, found complete.
pub(crate) struct Demo<'a> {
    raw: &'a Raw,
    capacity: f64,
    recovery: Recovery,
    recovery_tcp: Recovery,
}

impl Demo<'_> {
    /// Check that nothing is missing.
    pub(crate) fn new(raw: &Raw) -> Result<Demo<'_>> {
        for run in CLEAN {
            raw.transfer(run)?;
        }
        let recovery = |run| {
            let figures = Recovery::of(raw.transfer(run)?);
            figures.with_context(|| format!("no spine was cut in the run '{run}'"))
        };
        Ok(Demo {
            raw,
            capacity: raw.setup.spines as f64 * rate_mbits(&raw.setup.rate)?,
            recovery: recovery(CUT)?,
            recovery_tcp: recovery(CUT_TCP)?,
        })
    }

    /// What the four spine links carry together, headers included, in Mb/s.
    pub(crate) fn capacity(&self) -> f64 {
        self.capacity
    }

    /// A run by its name.
    pub(crate) fn run(&self, name: &str) -> Option<&Transfer> {
        self.raw.transfer(name).ok()
    }

    /// The figures with names and targets.
    pub(crate) fn report(&self) -> Report {
        let mut report = self.raw.setup.report();
        let intact = self.clean().all(|run| self.raw.intact(&run.run));
        report.at_least("hash/equal", f64::from(u8::from(intact)), "bool", 1.0);
        report.add("capacity/spines", self.capacity, "Mb/s", Better::Higher);
        for run in self.clean().filter(|run| !is_draw(run)) {
            let name = format!("goodput/{}", run.run);
            report.add(&name, run.goodput(), "Mb/s", Better::Higher);
        }
        self.report_draws(&mut report);
        for run in self.clean() {
            for (k, spine) in run.spines.iter().enumerate() {
                let name = format!("bytes/{}/spine-{}", run.run, k + 1);
                report.add(&name, spine.data as f64, "B", Better::Higher);
            }
        }
        self.report_cut(&mut report);
        self.report_retransmissions(&mut report);
        report
    }

    fn report_draws(&self, report: &mut Report) {
        let goodputs: Vec<f64> = self.draws().map(Transfer::goodput).collect();
        let target = self.capacity * CAPACITY_TARGET;
        let name = format!("goodput/{DRAWN}");
        report.at_least(&name, mean(&goodputs), "Mb/s", target);
        for run in self.draws() {
            let name = format!("draw/{}", run.run);
            report.add(&name, run.goodput(), "Mb/s", Better::Higher);
            let name = format!("draw-allows/{}", run.run);
            report.add(&name, self.allowed(run), "Mb/s", Better::Higher);
        }
    }

    fn report_cut(&self, report: &mut Report) {
        let cut = &self.recovery;
        let target = cut.before * AFTER_CUT_TARGET;
        report.add("cut/goodput-before", cut.before, "Mb/s", Better::Higher);
        report.at_least("cut/goodput-after", cut.after, "Mb/s", target);
        let recovery = cut.in_rto(cut.recovery_ns);
        report.at_most("cut/recovery", recovery, "RTO", RECOVERY_TARGET);
        let last = cut.in_rto(cut.last_dip_ns);
        report.add("cut/last-dip", last, "RTO", Better::Lower);
        report.add("cut/rto", cut.rto_ns / 1e6, "ms", Better::Lower);
        let gap = cut.longest_gap_ns as f64 / 1e6;
        report.add("cut/longest-gap", gap, "ms", Better::Lower);
        let intact = f64::from(u8::from(self.raw.intact(CUT)));
        report.at_least("cut/hash-equal", intact, "bool", 1.0);
        let tcp = self.recovery_tcp.after;
        report.add("cut/goodput-after-tcp", tcp, "Mb/s", Better::Higher);
    }

    fn report_retransmissions(&self, report: &mut Report) {
        let retransmits = |run: &Transfer| run.sender.retransmits as f64;
        for run in self.clean().filter(|run| !is_draw(run)) {
            let name = format!("retransmissions/{}", run.run);
            report.add(&name, retransmits(run), "packets", Better::Lower);
        }
        let count = self.draws().map(retransmits).sum();
        report.at_most("retransmissions/loss-free", count, "packets", 0.0);
    }

    /// The runs without a fault.
    fn clean(&self) -> impl Iterator<Item = &Transfer> {
        let clean = |run: &&Transfer| CLEAN.contains(&run.run.as_str()) || is_draw(run);
        self.raw.transfers.iter().filter(clean)
    }

    /// Connections over 128 paths, each with its own draw of the hash.
    fn draws(&self) -> impl Iterator<Item = &Transfer> {
        self.raw.transfers.iter().filter(|run| is_draw(run))
    }

    /// The most that a run could reach with its bytes spread over the spines as they were:
    /// the time that the busiest link needs, in Mb/s of payload.
    fn allowed(&self, run: &Transfer) -> f64 {
        let link = self.capacity / self.raw.setup.spines as f64;
        let busiest = run.spines.iter().map(|spine| spine.data).max();
        link * run.bytes as f64 / busiest.unwrap_or(0).max(1) as f64
    }

    /// All of it for people.
    pub(crate) fn tables(&self, report: &Report) -> String {
        let mut text = String::from("\n");
        if self.raw.setup.stand_in {
            text.push_str("TCP stands in for AF_STRACK: the rows 'strack' mean nothing.\n\n");
        }
        self.write_hashes(&mut text);
        text.push_str(&self.runs_table());
        self.write_cut(&mut text);
        text.push_str(&table::targets(report));
        text
    }

    fn write_hashes(&self, text: &mut String) {
        let mut sent = "";
        for run in &self.raw.transfers {
            let Some(hash) = self.raw.hash(&run.run) else {
                continue;
            };
            let verdict = if self.raw.intact(&run.run) {
                "equal"
            } else if run.complete {
                "DIFFERENT"
            } else {
                "incomplete"
            };
            if hash.sent != sent {
                sent = &hash.sent;
                let _ = writeln!(text, "SHA-256 sent          {sent}");
            }
            let _ = writeln!(text, "{:>20}  {}  {verdict}", run.run, hash.received);
        }
        text.push('\n');
    }

    fn runs_table(&self) -> String {
        let mut head = ["run", "Mb/s", "of capacity", "hash allows"]
            .map(String::from)
            .to_vec();
        head.extend((1..=self.raw.setup.spines).map(|k| format!("spine {k}, MiB")));
        head.extend(["resent", "marked", "dropped"].map(String::from));
        let rows = self.raw.transfers.iter().map(|run| {
            let share = 100.0 * run.goodput() / self.capacity;
            let mut row = vec![run.run.clone()];
            if run.complete {
                row.extend([format!("{:.1}", run.goodput()), format!("{share:.0} %")]);
                let whole = run.cut.is_none();
                row.push(
                    whole
                        .then(|| format!("{:.0}", self.allowed(run)))
                        .unwrap_or_default(),
                );
            } else {
                row.extend(["stuck".to_string(), String::new(), String::new()]);
            }
            row.extend(
                run.spines
                    .iter()
                    .map(|s| format!("{:.2}", s.data as f64 / 1048576.0)),
            );
            row.push(run.sender.retransmits.to_string());
            let queues = self.raw.queues(&run.run);
            row.push(queues.map_or(String::new(), |q| q.marked().to_string()));
            row.push(queues.map_or(String::new(), |q| q.dropped().to_string()));
            row
        });
        table::plain(head, rows)
    }

    fn write_cut(&self, text: &mut String) {
        let (Some(run), cut) = (self.run(CUT), &self.recovery) else {
            return;
        };
        let Some(at) = &run.cut else {
            return;
        };
        let ms = |ns: f64| ns / 1e6;
        let _ = writeln!(
            text,
            "\nSpine {} cut {:.1} ms after the start, routes unchanged: {:.1} Mb/s before, {:.1} Mb/s from then to the end.",
            at.spine,
            ms(at.at_ns as f64),
            cut.before,
            cut.after,
        );
        let back = if run.complete {
            "back above half after"
        } else {
            "not back above half within"
        };
        let _ = writeln!(
            text,
            "Goodput, in windows of {:.1} ms: {back} {:.1} ms = {:.1} RTO of {:.2} ms. Longest silence {:.1} ms, last window below half {:.1} ms after the cut.",
            ms(cut.window_ns as f64),
            ms(cut.recovery_ns as f64),
            cut.in_rto(cut.recovery_ns),
            ms(cut.rto_ns),
            ms(cut.longest_gap_ns as f64),
            ms(cut.last_dip_ns as f64),
        );
        let _ = writeln!(
            text,
            "Sender at the end: {} packets sent again, {} timeouts, {} needless, {} paths withdrawn.",
            run.sender.retransmits, run.sender.timeouts, run.sender.spurious, run.sender.paths_bad,
        );
        let _ = writeln!(
            text,
            "TCP, its spine cut likewise: {:.1} Mb/s before, {:.1} Mb/s in the {:.1} s that followed.\n",
            self.recovery_tcp.before,
            self.recovery_tcp.after,
            self.recovery_tcp.recovery_ns as f64 / 1e9,
        );
    }
}

/// Is this the run over 128 paths, or one of its repetitions?
fn is_draw(run: &Transfer) -> bool {
    let rest = run.run.strip_prefix(DRAWN);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
