// SPDX-License-Identifier: GPL-2.0
//! STrack, abstract: against RoCEv2 on synthetic and collective workloads.

use super::set;
use super::words;
use super::Paper;
use super::Section;
use crate::scenario::BadInput;
use strack_report::report::Better;

/// Name, scenario, and whether it is a collective operation.
const CASES: [(&str, &str, bool); 7] = [
    (
        "permutation",
        "workload = { pattern = 'permutation' }",
        false,
    ),
    (
        "incast-15",
        "workload = { pattern = 'incast', senders = 15 }",
        false,
    ),
    (
        "victim",
        "workload = { pattern = 'victim', senders = 7 }",
        false,
    ),
    (
        "slow-link",
        "schedule = [{ link = 'agg0:core*', rate = '25G' }]",
        false,
    ),
    (
        "all-to-all",
        "workload = { pattern = 'all-to-all', size = '64KB' }",
        true,
    ),
    (
        "ring",
        "workload = { pattern = 'random-ring', size = '16MB' }",
        true,
    ),
    (
        "tree",
        "workload = { pattern = 'tree', size = '4MB' }",
        true,
    ),
];

/// Ring and all-to-all are to be faster by this factor, the worst synthetic case by that.
const COLLECTIVE: f64 = 1.274;
const SYNTHETIC: f64 = 6.0;

/// When the last message was done, or the victim's in its case, in microseconds.
fn completion(
    paper: &mut Paper<'_>,
    case: &str,
    text: &str,
    transport: &[&str],
) -> Result<f64, BadInput> {
    let mut changes = vec![set("seed", paper.seed)];
    changes.extend(transport.iter().map(|change| change.to_string()));
    if paper.quick() {
        changes.push(set("topology.hosts", 16));
    }
    let outcome = paper.run(&format!("against RoCEv2: {case}"), text, &changes)?;
    let end = if case == "victim" {
        outcome.completion.first().copied().flatten()
    } else {
        (outcome.unfinished() == 0).then_some(outcome.end)
    };
    Ok(end.map_or(f64::INFINITY, |end| end as f64 / 1e6))
}

pub(super) fn section(paper: &mut Paper<'_>) -> Result<Section, BadInput> {
    let roce = ["transport.kind=roce", "queue.pfc=true"];
    let mut rows = Vec::new();
    let mut largest: f64 = 0.0;
    for (case, text, collective) in CASES {
        let ours = completion(paper, case, text, &[])?;
        let one = completion(paper, case, text, &roce)?;
        let four = [roce[0], roce[1], "transport.connections=4"];
        let four = completion(paper, case, text, &four)?;
        let best = one.min(four);
        let factor = best / ours;
        for (name, value) in [("strack", ours), ("roce-1", one), ("roce-4", four)] {
            let name = format!("roce/{case}/{name}");
            paper.report.add(&name, value, "us", Better::Lower);
        }
        let name = format!("roce/{case}/factor");
        if collective && case != "tree" {
            paper.report.at_least(&name, factor, "x", COLLECTIVE);
        } else {
            paper.report.add(&name, factor, "x", Better::Higher);
        }
        if !collective {
            largest = largest.max(factor);
        }
        let mut row = vec![case.to_string()];
        row.extend([ours, one, four].map(|time| format!("{time:.0}")));
        row.push(format!("{factor:.2}"));
        rows.push(row);
    }
    paper
        .report
        .at_least("roce/largest-synthetic-factor", largest, "x", SYNTHETIC);
    Ok(Section {
        title: "STrack against RoCEv2",
        text: "128 hosts of 100 Gb/s in a fat tree of three tiers. RoCEv2 has DCQCN with the \
               constants of its paper, priority flow control and go-back-N, with 1 and with 4 \
               connections per pair of hosts; the better of both counts. Completion of the last \
               message in us; of the victim's message in its case. STrack's abstract claims up \
               to 6 times on synthetic workloads and 27.4 % on collective ones, without saying \
               in which fabric. DCQCN's thresholds are those of all others here (0.2 and 0.8 \
               bandwidth-delay products); with higher ones RoCEv2 trades queues for rate."
            .to_string(),
        head: words(&["workload", "strack", "RoCEv2, 1", "RoCEv2, 4", "factor"]),
        rows,
        plot: None,
    })
}
