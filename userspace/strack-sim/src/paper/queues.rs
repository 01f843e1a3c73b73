// SPDX-License-Identifier: GPL-2.0
//! Stellar, section 7: queues of ToRs in a permutation of 120 flows.

use super::set;
use super::words;
use super::Job;
use super::Paper;
use super::Section;
use crate::scenario::BadInput;
use strack_report::report::Better;

const FABRIC: &str = "
topology = { tiers = 2, hosts = 120, hosts-per-tor = 15, uplinks = 15, rate = '200G', delay = '2.5us' }
";

/// Policies and numbers of paths.
const CASES: [(&str, u16); 8] = [
    ("single", 1),
    ("oblivious", 4),
    ("oblivious", 16),
    ("round_robin", 128),
    ("oblivious", 128),
    ("bitmap", 128),
    ("reps", 128),
    ("mixed", 128),
];

pub(super) fn section(paper: &mut Paper<'_>) -> Result<Section, BadInput> {
    let size = if paper.quick() { "1MB" } else { "4MB" };
    let jobs = CASES.map(|(policy, paths)| {
        let changes = [
            set("seed", paper.seed),
            set("workload.size", size),
            set("transport.policy", policy),
            set("transport.paths", paths),
        ];
        Job::new(format!("{policy} {paths}"), FABRIC, changes)
    });
    let mut rows = Vec::new();
    let mut single = 0.0;
    for ((policy, paths), outcome) in CASES.into_iter().zip(paper.run(&jobs)?) {
        let links = outcome.names.iter().zip(&outcome.links);
        let uplinks: Vec<_> = links
            .filter(|(name, _)| name.starts_with("tor") && name.contains(":spine"))
            .map(|(_, link)| link)
            .collect();
        let time = outcome.end.max(1) as f64 * uplinks.len() as f64;
        let area = uplinks.iter().map(|link| link.area as f64).sum::<f64>();
        let mean = area / time / 1e3;
        // Whoever takes longer has more time with empty queues. What each byte has waited does
        // not depend on that.
        let bytes = uplinks.iter().map(|link| link.bytes as f64).sum::<f64>();
        let wait = area / bytes.max(1.0) / 1e6;
        let longest = uplinks.iter().map(|link| link.longest).max().unwrap_or(0) as f64 / 1e3;
        let last = outcome.end as f64 / 1e6;
        if policy == "single" {
            single = wait;
        }
        let row = |what: &str| format!("queues/{policy}-{paths}/{what}");
        paper.report.add(&row("mean"), mean, "kB", Better::Lower);
        paper.report.add(&row("wait"), wait, "us", Better::Lower);
        paper
            .report
            .add(&row("longest"), longest, "kB", Better::Lower);
        paper.report.add(&row("last"), last, "us", Better::Lower);
        rows.push(vec![
            format!("{policy} {paths}"),
            format!("{mean:.1}"),
            format!("{wait:.1}"),
            format!("{:.0} %", wait / single * 100.0),
            format!("{longest:.0}"),
            format!("{:.0}", outcome.times(0).mean()),
            format!("{last:.0}"),
        ]);
    }
    Ok(Section {
        title: "Stellar, section 7: queues in a permutation of 120 flows",
        text: format!(
            "120 hosts of 200 Gb/s below 8 ToRs of 15 uplinks, {size} each. Data waiting at the \
             uplinks of ToRs, averaged over time until the last flow is done, and how long each \
             byte has waited there, which is what is compared with a single path: a run that \
             takes longer has more time with empty queues, so the averages alone flatter it. \
             Then the longest queue of all; completion in us. The paper says that queues fall \
             'significantly' with 128 paths, and that in production they became 90 % shorter, \
             that is 10 % of those of single paths; over what time is not said."
        ),
        head: words(&[
            "paths",
            "mean kB",
            "wait us",
            "of single",
            "longest kB",
            "mean us",
            "last us",
        ]),
        rows,
        plot: None,
    })
}
