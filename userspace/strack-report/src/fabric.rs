// SPDX-License-Identifier: GPL-2.0
//! The figures of `make bench-fabric`: what transports make of a leaf-spine fabric.
//!
//! Everything is measured with several seeds of the fabric's hash functions, since these
//! decide who meets whom: figures are means over the seeds, with the worst beside. A flow
//! that never finished counts as if it had with the last moment that was waited for.

use crate::flows::Flows;
use crate::hole::Course;
use crate::raw::rate_mbits;
use crate::raw::Raw;
use anyhow::bail;
use anyhow::Result;
use std::fmt::Write;
use strack_report::report::Better;
use strack_report::report::Report;
use strack_report::table;

/// Whose figures have targets.
const OURS: &str = "strack";
/// Our other profile, which is no peer.
const STELLAR: &str = "stellar";

/// Cases in which the time of the last flow is a figure, in the order of the table.
pub(crate) const CASES: [&str; 12] = [
    "alone",
    "permutation",
    "slow",
    "loss-1",
    "loss-3",
    "hole",
    "repair",
    "late-1",
    "late-2",
    "incast",
    "victim-alone",
    "victim",
];

/// Bytes of an Ethernet header, which the links' rates include.
const ETHERNET: u64 = 14;
/// Bytes of IPv4, UDP and AF_STRACK headers, where no run tells the payload of a packet.
const HEADERS: u64 = 60;

/// The targets, in milliseconds.
const ALONE_MS: f64 = 88.0;
const PERMUTATION_MS: f64 = 350.0;
const SLOW_MS: f64 = 440.0;
/// The target for the time with 1 and 3 % loss, in units of the time without.
const LOSS: [(&str, f64); 2] = [("loss-1", 1.05), ("loss-3", 1.08)];
/// Retransmission timeouts, and milliseconds beside, until the rest of the capacity is in
/// use after a cut.
const CUT_RTO: f64 = 3.0;
const CUT_MS: f64 = 1.0;
/// Percent of the packets that may be sent again from then on.
const RESENT_AFTER: f64 = 0.1;
/// Milliseconds until all capacity is in use after a repair.
const REPAIR_MS: f64 = 200.0;
/// Time of an incast in units of the ideal, and fairness.
const INCAST: f64 = 1.05;
const INCAST_JAIN: f64 = 0.95;
/// Percent of duplicates, without loss, with one path late by two base RTTs.
const LATE_DUPLICATES: f64 = 1.0;
/// Percent of its rate that a victim may lose.
const VICTIM: f64 = 3.0;

/// Everything that the guest reported.
pub(crate) struct Bench<'a> {
    raw: &'a Raw,
    /// Mb/s of a spine link, headers included.
    link: f64,
    /// Mb/s of a host's link, likewise.
    host_link: f64,
    /// Part of a packet on the wire that is payload.
    payload: f64,
}

/// Mean and worst over the seeds.
pub(crate) struct Figures {
    /// The mean.
    pub(crate) mean: f64,
    /// The most.
    pub(crate) most: f64,
    /// The least.
    least: f64,
    /// Over how many.
    count: usize,
}

impl Figures {
    /// Of at least one.
    fn of(values: impl Iterator<Item = f64>) -> Option<Figures> {
        let values: Vec<f64> = values.collect();
        let count = values.len();
        (count > 0).then(|| Figures {
            mean: values.iter().sum::<f64>() / count as f64,
            most: values.iter().copied().fold(f64::MIN, f64::max),
            least: values.iter().copied().fold(f64::MAX, f64::min),
            count,
        })
    }
}

impl Bench<'_> {
    /// Understand the set-up.
    pub(crate) fn new(raw: &Raw) -> Result<Bench<'_>> {
        if raw.flows.is_empty() {
            bail!("the guest measured nothing");
        }
        let packet = raw.setup.mtu;
        let senders = raw.flows.iter().flat_map(|run| &run.flows);
        let told = senders.map(|flow| flow.sender.mss).find(|&mss| mss > 0);
        let mss = told.unwrap_or(packet.saturating_sub(HEADERS));
        Ok(Bench {
            raw,
            link: rate_mbits(&raw.setup.rate)?,
            host_link: rate_mbits(&raw.setup.host_rate)?,
            payload: mss as f64 / (packet + ETHERNET) as f64,
        })
    }

    /// Who was measured, in the order of the first runs.
    pub(crate) fn transports(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for run in &self.raw.flows {
            if !names.contains(&run.transport.as_str()) {
                names.push(&run.transport);
            }
        }
        names
    }

    fn seeds(&self) -> usize {
        let mut seeds: Vec<u64> = self.raw.flows.iter().map(|run| run.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        seeds.len()
    }

    /// The runs of a case, one for each seed.
    pub(crate) fn runs<'a>(
        &'a self,
        case: &'a str,
        transport: &'a str,
    ) -> impl Iterator<Item = &'a Flows> {
        let all = self.raw.flows.iter();
        all.filter(move |run| run.run == case && run.transport == transport)
    }

    fn figures(&self, case: &str, transport: &str, of: impl Fn(&Flows) -> f64) -> Option<Figures> {
        Figures::of(self.runs(case, transport).map(of))
    }

    /// When the last flow was over, in milliseconds.
    pub(crate) fn last(&self, case: &str, transport: &str) -> Option<Figures> {
        self.figures(case, transport, Flows::last_ms)
    }

    fn sum(&self, case: &str, transport: &str, of: impl Fn(&Flows) -> u64) -> u64 {
        self.runs(case, transport).map(of).sum()
    }

    /// Spines of the fabric.
    pub(crate) fn spine_count(&self) -> usize {
        self.raw.setup.spines
    }

    /// Mb/s of payload that so many spines carry together.
    pub(crate) fn spines(&self, count: usize) -> f64 {
        self.link * count as f64 * self.payload
    }

    /// Milliseconds that a case takes if every link that can be used is full all the time.
    pub(crate) fn ideal_ms(&self, case: &str) -> Option<f64> {
        let run = self.raw.flows.iter().find(|run| run.run == case)?;
        let all = self.spine_count();
        let rate = match case {
            "incast" => self.host_link * self.payload,
            // one spine at a quarter of its rate
            "slow" => self.spines(all) - 0.75 * self.spines(1),
            _ => self.spines(all),
        };
        let ms = |bytes: f64, rate: f64| bytes * 8e-3 / rate;
        let bytes = run.bytes() as f64;
        match (case, &run.cut) {
            ("hole", Some(cut)) => {
                let before = cut.at_ns as f64 / 1e6;
                let left = bytes - rate * before / 8e-3;
                Some(before + ms(left, self.spines(all - 1)))
            }
            ("repair" | "victim" | "victim-alone", _) => None,
            _ => Some(ms(bytes, rate)),
        }
    }

    /// The figures with names and targets.
    pub(crate) fn report(&self) -> Report {
        let mut report = self.raw.setup.report();
        report.add("seeds", self.seeds() as f64, "", Better::Higher);
        report.add(
            "payload/spines",
            self.spines(self.spine_count()),
            "Mb/s",
            Better::Higher,
        );
        for case in CASES {
            if let Some(ideal) = self.ideal_ms(case) {
                report.add(&format!("{case}/ideal"), ideal, "ms", Better::Lower);
            }
            for transport in self.transports() {
                self.report_times(&mut report, case, transport);
            }
        }
        self.report_lead(&mut report);
        self.report_loss(&mut report);
        self.report_cut(&mut report);
        self.report_late(&mut report);
        self.report_incast(&mut report);
        self.report_victim(&mut report);
        for transport in self.transports() {
            if let Some(idle) = self.figures("permutation", transport, Flows::idle) {
                report.add(&format!("idle/{transport}"), idle.mean, "%", Better::Higher);
            }
        }
        report
    }

    fn report_times(&self, report: &mut Report, case: &str, transport: &str) {
        let Some(last) = self.last(case, transport) else {
            return;
        };
        let target = match case {
            "alone" => Some(ALONE_MS),
            "permutation" => Some(PERMUTATION_MS),
            "slow" => Some(SLOW_MS),
            _ => None,
        };
        let name = format!("{case}/{transport}");
        match target.filter(|_| transport == OURS) {
            Some(target) => report.at_most(&name, last.mean, "ms", target),
            None => report.add(&name, last.mean, "ms", Better::Lower),
        }
        report.add(
            &format!("{case}-worst/{transport}"),
            last.most,
            "ms",
            Better::Lower,
        );
        let stuck = self.sum(case, transport, |run| run.stuck() as u64) as f64;
        let name = format!("{case}-stuck/{transport}");
        match transport {
            OURS => report.at_most(&name, stuck, "flows", 0.0),
            _ => report.add(&name, stuck, "flows", Better::Lower),
        }
    }

    /// How much longer the best of the others takes.
    fn report_lead(&self, report: &mut Report) {
        let peers = self.transports().into_iter();
        let peers = peers.filter(|&name| name != OURS && name != STELLAR);
        let best = peers
            .filter_map(|name| Some(self.last("permutation", name)?.mean))
            .min_by(f64::total_cmp);
        if let (Some(best), Some(own)) = (best, self.last("permutation", OURS)) {
            report.at_least("permutation-lead/strack", best / own.mean, "x", 1.0);
        }
    }

    fn report_loss(&self, report: &mut Report) {
        for (case, target) in LOSS {
            for transport in self.transports() {
                let clean = self.last("permutation", transport);
                let (Some(clean), Some(lossy)) = (clean, self.last(case, transport)) else {
                    continue;
                };
                let ratio = lossy.mean / clean.mean;
                let name = format!("{case}-ratio/{transport}");
                match transport {
                    OURS => report.at_most(&name, ratio, "x", target),
                    _ => report.add(&name, ratio, "x", Better::Lower),
                }
            }
        }
    }

    fn report_cut(&self, report: &mut Report) {
        let left = self.spines(self.spine_count() - 1);
        let all = self.spines(self.spine_count());
        // negative when it took no more than the millisecond
        let recovery = |run: &Flows| {
            let cut = run.cut.as_ref()?;
            let ms = Course::of(run).until_in_use(cut.at_ns, left) as f64 / 1e6;
            Some((ms - CUT_MS) * 1e6 / cut.sender.rto_ns.max(1.0))
        };
        // what was lost by the time the recovery is due may be sent again after it is over
        let since = |run: &Flows| {
            let at_ns = run.cut.as_ref()?.at_ns;
            Some(Course::of(run).resent_after(at_ns, left))
        };
        let after = |run: &Flows| {
            let cut = run.cut.as_ref()?;
            let due = CUT_RTO * cut.sender.rto_ns.max(1.0) + CUT_MS * 1e6;
            Some(Course::of(run).resent_after(cut.at_ns + due as u64, left))
        };
        let repair = |run: &Flows| {
            let mended_ns = run.cut.as_ref()?.mended_ns?;
            Some(Course::of(run).until_in_use(mended_ns, all) as f64 / 1e6)
        };
        if let Some(rto) = Figures::of(self.runs("hole", OURS).filter_map(recovery)) {
            report.at_most("hole-recovery/strack", rto.mean, "RTO", CUT_RTO);
            report.add("hole-recovery-worst/strack", rto.most, "RTO", Better::Lower);
        }
        if let Some(percent) = Figures::of(self.runs("hole", OURS).filter_map(after)) {
            report.at_most("hole-resent-after/strack", percent.mean, "%", RESENT_AFTER);
            report.add(
                "hole-resent-after-worst/strack",
                percent.most,
                "%",
                Better::Lower,
            );
        }
        if let Some(percent) = Figures::of(self.runs("hole", OURS).filter_map(since)) {
            let name = "hole-resent-since-recovery/strack";
            report.add(name, percent.mean, "%", Better::Lower);
        }
        if let Some(ms) = Figures::of(self.runs("repair", OURS).filter_map(repair)) {
            report.at_most("repair-full-use/strack", ms.mean, "ms", REPAIR_MS);
            report.add("repair-full-use-worst/strack", ms.most, "ms", Better::Lower);
        }
    }

    fn report_late(&self, report: &mut Report) {
        for transport in [OURS, STELLAR] {
            if self.runs("late-1", transport).next().is_some() {
                let count = self.sum("late-1", transport, Flows::duplicates) as f64;
                let name = format!("late-1-duplicates/{transport}");
                match transport {
                    OURS => report.at_most(&name, count, "packets", 0.0),
                    _ => report.add(&name, count, "packets", Better::Lower),
                }
            }
            let sent = self.sum("late-2", transport, |run| run.senders(|s| s.packets_sent));
            if sent > 0 {
                let count = self.sum("late-2", transport, Flows::duplicates);
                let percent = 100.0 * count as f64 / sent as f64;
                let name = format!("late-2-duplicates/{transport}");
                match transport {
                    OURS => report.at_most(&name, percent, "%", LATE_DUPLICATES),
                    _ => report.add(&name, percent, "%", Better::Lower),
                }
            }
        }
    }

    fn report_incast(&self, report: &mut Report) {
        let Some(ideal) = self.ideal_ms("incast") else {
            return;
        };
        for transport in self.transports() {
            let last = self.last("incast", transport);
            let fair = self.figures("incast", transport, Flows::jain);
            let (Some(last), Some(fair)) = (last, fair) else {
                continue;
            };
            let timeouts = self.sum("incast", transport, |run| run.senders(|s| s.timeouts)) as f64;
            let ratio = last.mean / ideal;
            let jain = format!("incast-jain/{transport}");
            if transport == OURS {
                report.at_most("incast-ratio/strack", ratio, "x", INCAST);
                report.at_least(&jain, fair.mean, "", INCAST_JAIN);
                report.at_most("incast-timeouts/strack", timeouts, "RTO", 0.0);
            } else {
                let name = format!("incast-ratio/{transport}");
                report.add(&name, ratio, "x", Better::Lower);
                report.add(&jain, fair.mean, "", Better::Higher);
            }
            let name = format!("incast-jain-worst/{transport}");
            report.add(&name, fair.least, "", Better::Higher);
        }
    }

    /// The victim is the first flow of its case, and the only one when it is alone.
    fn report_victim(&self, report: &mut Report) {
        let victim = |run: &Flows| run.flows.first().map_or(0.0, |flow| run.flow_ms(flow));
        for transport in self.transports() {
            let alone = self.figures("victim-alone", transport, victim);
            let beside = self.figures("victim", transport, victim);
            let (Some(alone), Some(beside)) = (alone, beside) else {
                continue;
            };
            let lost = 100.0 * (1.0 - alone.mean / beside.mean);
            let name = format!("victim-loss/{transport}");
            match transport {
                OURS => report.at_most(&name, lost, "%", VICTIM),
                _ => report.add(&name, lost, "%", Better::Lower),
            }
        }
    }

    /// All of it for people.
    pub(crate) fn tables(&self, report: &Report) -> String {
        let mut text = String::from("\n");
        if self.raw.setup.stand_in {
            text.push_str("TCP stands in for AF_STRACK: 'strack' and 'stellar' mean nothing.\n\n");
        }
        let _ = writeln!(
            text,
            "When the last flow was over, in ms: mean over {} seeds, and the worst",
            self.seeds()
        );
        text.push_str(&self.times());
        text.push_str(&table::targets(report));
        text
    }

    fn times(&self) -> String {
        let mut head = vec!["case".to_string(), "ideal".into()];
        head.extend(self.transports().into_iter().map(String::from));
        let rows = CASES.iter().filter_map(|case| {
            let cells = self.transports().into_iter();
            let cells: Vec<_> = cells.map(|name| self.cell(case, name)).collect();
            if cells.iter().all(String::is_empty) {
                return None;
            }
            let ideal = self.ideal_ms(case);
            let mut row = vec![case.to_string()];
            row.push(ideal.map_or(String::new(), |ms| format!("{ms:.0}")));
            row.extend(cells);
            Some(row)
        });
        table::plain(head, rows)
    }

    fn cell(&self, case: &str, transport: &str) -> String {
        let Some(last) = self.last(case, transport) else {
            return String::new();
        };
        let stuck = self.sum(case, transport, |run| run.stuck() as u64);
        if stuck > 0 {
            let all = self.sum(case, transport, |run| run.flows.len() as u64);
            return format!("{stuck} of {all} stuck");
        }
        if last.count == 1 {
            return format!("{:.0}", last.mean);
        }
        format!("{:.0} / {:.0}", last.mean, last.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows;
    use crate::raw;

    fn bench_of(runs: Vec<Flows>) -> Raw {
        let setup = r#"{"kind":"setup","command":"make bench-fabric","kernel":"7.3","seed":1,"spines":4,"rate":"100mbit","host_rate":"400mbit","mtu":4200}"#;
        let mut raw = raw::parse(setup).unwrap();
        raw.flows = runs;
        raw
    }

    fn run(case: &str, transport: &str, seed: u64, times: &[u64]) -> Flows {
        let mut run = flows::tests::run(times);
        run.run = case.into();
        run.transport = transport.into();
        run.seed = seed;
        run
    }

    fn value(report: &Report, name: &str) -> (f64, bool) {
        let row = report.rows().iter().find(|row| row.name == name);
        row.map(|row| (row.value, row.pass)).expect(name)
    }

    #[test]
    fn mean_and_worst_over_seeds() {
        let raw = bench_of(vec![
            run("permutation", "strack", 1, &[300, 340]),
            run("permutation", "strack", 2, &[356, 320]),
            run("permutation", "tcp", 1, &[500, 400]),
            run("permutation", "tcp", 2, &[600, 700]),
        ]);
        let report = Bench::new(&raw).unwrap().report();
        assert_eq!(value(&report, "permutation/strack"), (348.0, true));
        assert_eq!(value(&report, "permutation-worst/strack"), (356.0, true));
        assert_eq!(value(&report, "permutation-lead/strack"), (1.724, true));
        assert_eq!(value(&report, "seeds"), (2.0, true));
    }

    #[test]
    fn a_peer_that_is_faster_is_a_miss() {
        let raw = bench_of(vec![
            run("permutation", "strack", 1, &[340]),
            run("permutation", "tcp", 1, &[330]),
        ]);
        let report = Bench::new(&raw).unwrap().report();
        assert_eq!(report.missed(), ["permutation-lead/strack"]);
    }

    #[test]
    fn a_flow_that_never_finishes_is_a_miss() {
        let raw = bench_of(vec![run("hole", "strack", 1, &[340, 0])]);
        let report = Bench::new(&raw).unwrap().report();
        assert_eq!(value(&report, "hole-stuck/strack"), (1.0, false));
        let raw = bench_of(vec![run("hole", "tcp", 1, &[340, 0])]);
        assert!(Bench::new(&raw).unwrap().report().missed().is_empty());
    }

    #[test]
    fn ideals_count_headers() {
        let raw = bench_of(vec![
            run("permutation", "strack", 1, &[340; 16]),
            run("slow", "strack", 1, &[340; 16]),
        ]);
        let bench = Bench::new(&raw).unwrap();
        // 16 MB in packets of 4140 of 4214 bytes at 400 and at 325 Mb/s
        assert!((bench.ideal_ms("permutation").unwrap() - 325.72).abs() < 0.01);
        assert!((bench.ideal_ms("slow").unwrap() - 400.88).abs() < 0.01);
        assert!(bench.ideal_ms("victim").is_none());
    }

    #[test]
    fn a_victim_loses_what_it_takes_longer() {
        let raw = bench_of(vec![
            run("victim-alone", "strack", 1, &[95]),
            run("victim", "strack", 1, &[100, 300, 300]),
        ]);
        let report = Bench::new(&raw).unwrap().report();
        assert_eq!(value(&report, "victim-loss/strack"), (5.0, false));
    }

    #[test]
    fn duplicates_without_loss_are_a_miss() {
        let raw = bench_of(vec![
            run("late-1", "strack", 1, &[340, 340]),
            run("late-2", "strack", 1, &[340, 340]),
        ]);
        let report = Bench::new(&raw).unwrap().report();
        assert_eq!(value(&report, "late-1-duplicates/strack"), (2.0, false));
        // 2 of 484 packets
        assert_eq!(value(&report, "late-2-duplicates/strack"), (0.413, true));
    }
}
