// SPDX-License-Identifier: GPL-2.0
//! All ways to use a fabric beside each other; among them Stellar's section 9: the same
//! state in a network card is enough for four windows with a path each, or for one window
//! over 128 paths.

use super::set;
use super::words;
use super::Job;
use super::Paper;
use super::Section;
use crate::scenario::BadInput;
use strack_report::report::Better;

/// Scenarios, all with 128 hosts of 100 Gb/s.
const LOADS: [(&str, &str); 4] = [
    ("permutation", "workload = { size = '2MB' }"),
    (
        "slow-uplinks",
        "topology = { tiers = 2, hosts-per-tor = 8, uplinks = 8 }\n\
         schedule = [{ link = 'tor*:spine0', rate = '25G' }]\nworkload = { size = '2MB' }",
    ),
    (
        "black-hole",
        "topology = { tiers = 2, hosts-per-tor = 8, uplinks = 8 }\nlimit = '100ms'\n\
         schedule = [{ link = 'tor*:spine0', up = false }]\nworkload = { size = '2MB' }",
    ),
    (
        "ring",
        "workload = { pattern = 'random-ring', size = '16MB' }",
    ),
];

/// Contenders and what they differ by.
const CONTENDERS: [(&str, &[&str]); 12] = [
    ("strack", &["transport.profile=strack"]),
    ("one-window-128", &["transport.policy=oblivious"]),
    ("four-windows", &["transport.policy=per_path"]),
    (
        "four-windows-x4",
        &["transport.policy=per_path", "transport.connections=4"],
    ),
    ("single", &["transport.policy=single"]),
    (
        "switch-random",
        &["transport.policy=single", "queue.choice=random"],
    ),
    (
        "switch-shortest",
        &["transport.policy=single", "queue.choice=shortest"],
    ),
    ("mp-rdma", &["transport.kind=mp-rdma", "queue.pfc=true"]),
    ("roce-1", &["transport.kind=roce", "queue.pfc=true"]),
    (
        "roce-4",
        &[
            "transport.kind=roce",
            "queue.pfc=true",
            "transport.connections=4",
        ],
    ),
    ("dctcp", &["transport.kind=dctcp"]),
    ("mptcp-8", &["transport.kind=mptcp", "transport.paths=8"]),
];

pub(super) fn section(paper: &mut Paper<'_>) -> Result<Section, BadInput> {
    let mut jobs = Vec::new();
    for (name, changes) in CONTENDERS {
        for (load, text) in LOADS {
            let mut all = vec![set("seed", paper.seed)];
            all.extend(changes.iter().map(|change| change.to_string()));
            if paper.quick() {
                all.push(set("topology.hosts", 16));
            }
            jobs.push(Job::new(format!("{name}, {load}"), text, all));
        }
    }
    let mut outcomes = paper.run(&jobs)?;
    let mut rows = Vec::new();
    let mut lasts = vec![Vec::new(); LOADS.len()];
    for (name, _) in CONTENDERS {
        let mut row = vec![name.to_string()];
        let loads = LOADS.iter().zip(&mut lasts);
        for (((load, _), lasts), outcome) in loads.zip(&mut outcomes) {
            let last = if outcome.unfinished() == 0 {
                outcome.end as f64 / 1e6
            } else {
                f64::INFINITY
            };
            lasts.push(last);
            row.push(if last.is_finite() {
                format!("{last:.0}")
            } else {
                format!("{} never", outcome.unfinished())
            });
            // JSON has no infinity: how many were not done says it.
            let name = |what: &str| format!("contenders/{name}/{load}/{what}");
            if last.is_finite() {
                paper.report.add(&name("last"), last, "us", Better::Lower);
            }
            paper.report.add(
                &name("unfinished"),
                outcome.unfinished() as f64,
                "messages",
                Better::Lower,
            );
        }
        rows.push(row);
    }
    // Four windows against one: the contenders 2 and 1.
    for ((load, _), lasts) in LOADS.iter().zip(&lasts) {
        let name = format!("contexts/{load}/four-windows-of-one");
        if lasts[2].is_finite() {
            paper
                .report
                .add(&name, lasts[2] / lasts[1], "x", Better::Higher);
        }
    }
    let mut head = vec!["contender"];
    head.extend(LOADS.iter().map(|(load, _)| *load));
    Ok(Section {
        title: "All contenders, and Stellar's four windows against one over 128 paths",
        text: "128 hosts of 100 Gb/s: a permutation of 2 MB; the same over two tiers with one of \
               eight uplinks of each ToR at a quarter of its rate; the same with that uplink dead, \
               which no routing notices; a ring all-reduce of 16 MB. Completion of the last \
               message in us, or how many were not done after 100 ms. 'four-windows' are four \
               paths, each with a window of its own; 'x4' are four such connections per pair of \
               hosts. Stellar argues that a card can have those or one window over 128 paths. On an \
               even fabric 128 paths win, because they collide less, unless there are four \
               connections, which have 16 paths with 16 windows. Over a slow uplink it is the \
               other way round: a window of its own knows that its path is slow, while oblivious \
               spraying over one window goes on sending its share there. One window and paths \
               that are avoided when they answer with marks have the better of both. Ahead of it \
               over the slow uplink are MP-RDMA, which flow control spares all losses, and \
               switches that take the shortest queue: neither helps over the dead one. RoCEv2 and \
               MP-RDMA expect a network that loses nothing and wait 67 ms for an answer, so over \
               a dead uplink they are not done in the time there is."
            .to_string(),
        head: words(&head),
        rows,
        plot: None,
    })
}
