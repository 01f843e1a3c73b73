// SPDX-License-Identifier: GPL-2.0
//! Stellar, figure 11: all-reduce while one link loses packets.

use super::set;
use super::words;
use super::Paper;
use super::Section;
use crate::scenario::BadInput;
use strack_proto::config::PathPolicy;
use strack_report::report::Better;

const FABRIC: &str = "
topology = { tiers = 2, hosts = 32, hosts-per-tor = 8, uplinks = 8, rate = '400G', delay = '2.5us' }
workload = { pattern = 'random-ring' }
";

/// Percent of packets that one uplink loses.
const LOSSES: [f64; 3] = [0.0, 1.0, 3.0];

/// What the rest of the bandwidth with 3 % loss may be short of that without.
const TARGET: f64 = 0.95;

pub(super) fn section(paper: &mut Paper<'_>) -> Result<Section, BadInput> {
    let megabytes = if paper.quick() { 4 } else { 16 };
    let mut rows = Vec::new();
    for (name, _) in PathPolicy::ALL {
        let mut speeds = Vec::new();
        for loss in LOSSES {
            let mut changes = vec![
                set("seed", paper.seed),
                set("workload.size", format!("{megabytes}MB")),
                set("transport.policy", name),
            ];
            if loss > 0.0 {
                let damage = format!(
                    "[{{ link = 'tor0:spine0', both = false, loss = {} }}]",
                    loss / 100.0
                );
                changes.push(set("schedule", damage));
            }
            let label = format!("figure 11: {name}, {loss} % loss");
            let outcome = paper.run(&label, FABRIC, &changes)?;
            // What each host sends, over the time all took.
            let sent = f64::from(megabytes) * 1e6 * 2.0 * 31.0 / 32.0;
            let speed = if outcome.unfinished() == 0 {
                sent / (outcome.end as f64 * 1e-12) / 1e9
            } else {
                0.0
            };
            let row = format!("figure11/{name}/loss-{loss}");
            paper.report.add(&row, speed, "GB/s", Better::Higher);
            speeds.push(speed);
        }
        let left = speeds[2] / speeds[0].max(1e-9);
        let row = format!("figure11/{name}/left-of-it");
        if name == "oblivious" {
            paper.report.at_least(&row, left, "x", TARGET);
        } else {
            paper.report.add(&row, left, "x", Better::Higher);
        }
        let mut row = vec![name.to_string()];
        row.extend(speeds.iter().map(|speed| format!("{speed:.1}")));
        row.push(format!("{:.0} %", left * 100.0));
        // Bars of the paper's plot, which has these two.
        let published = ["oblivious", "single"].contains(&name);
        row.push(if published { "50" } else { "" }.to_string());
        rows.push(row);
    }
    Ok(Section {
        title: "Stellar, figure 11: all-reduce over a lossy link",
        text: format!(
            "Ring all-reduce of {megabytes} MB among 32 hosts of 400 Gb/s in random order, below \
             four ToRs of 8 uplinks; one uplink loses packets in one direction. Bandwidth of each \
             host in GB/s; the line rate is 50. The paper has 960 accelerators and finds 'almost \
             no observable degradation' with 128 paths; its bar for a single path, also at 50 \
             GB/s, is not explained there. Every step of a ring waits for the slowest host, so \
             one timeout anywhere delays all: this is harder than a long transfer."
        ),
        head: words(&[
            "policy",
            "no loss",
            "1 %",
            "3 %",
            "left at 3 %",
            "published",
        ]),
        rows,
        plot: None,
    })
}
