// SPDX-License-Identifier: GPL-2.0
//! Stellar, section 7: an all-reduce beside other jobs.
//!
//! Three jobs share the ToRs of a fabric, host by host. Two of them are the background:
//! all-reduces that go on all the time, or hosts that send now and then.

use super::figure11::ring_speed;
use super::plot;
use super::set;
use super::words;
use super::Job;
use super::Paper;
use super::Section;
use crate::scenario::BadInput;
use strack_proto::config::PathPolicy;
use strack_report::report::Better;

/// Hosts of each job.
const HOSTS: u32 = 16;

/// Every third host below four ToRs.
const FABRIC: &str = "
topology = { tiers = 2, hosts = 48, hosts-per-tor = 12, uplinks = 12, rate = '400G', delay = '2.5us' }
workload = { pattern = 'random-ring', hosts = 16, stride = 3, parts = 8 }
";

/// Patterns of the background. The on-off one fills half of its hosts' time.
const BACKGROUNDS: [(&str, &str); 3] = [
    ("none", ""),
    (
        "static",
        "pattern = 'random-ring', size = '160MB', parts = 8",
    ),
    (
        "on-off",
        "pattern = 'on-off', size = '8MB', period = '320us', duration = '20ms'",
    ),
];

/// What beside the background may be left of the speed without.
const TARGET: f64 = 0.9;

pub(super) fn section(paper: &mut Paper<'_>) -> Result<Section, BadInput> {
    let megabytes = if paper.quick() { 4 } else { 32 };
    let mut jobs = Vec::new();
    for (policy, _) in PathPolicy::ALL {
        for (name, pattern) in BACKGROUNDS {
            let mut changes = vec![
                set("seed", paper.seed),
                set("workload.size", format!("{megabytes}MB")),
                set("transport.policy", policy),
            ];
            if !pattern.is_empty() {
                let jobs = [1, 2].map(|first| {
                    format!(
                        "{{ transport = {{ policy = '{policy}' }}, workload = {{ {pattern}, \
                         hosts = {HOSTS}, first = {first}, stride = 3 }} }}"
                    )
                });
                changes.push(set("background", format!("[{}]", jobs.join(", "))));
            }
            jobs.push(Job::new(format!("{policy} beside {name}"), FABRIC, changes));
        }
    }
    let mut outcomes = paper.run(&jobs)?;
    let mut rows = Vec::new();
    let mut bars = Vec::new();
    for (policy, _) in PathPolicy::ALL {
        let mut speeds = Vec::new();
        for ((name, _), outcome) in BACKGROUNDS.into_iter().zip(&mut outcomes) {
            let speed = ring_speed(&outcome, megabytes, HOSTS);
            let row = format!("background/{policy}/{name}");
            paper.report.add(&row, speed, "GB/s", Better::Higher);
            speeds.push(speed);
        }
        let left = speeds.iter().skip(1).map(|speed| speed / speeds[0]);
        let left = left.fold(1.0, f64::min);
        let row = format!("background/{policy}/left-of-it");
        if ["round_robin", "oblivious"].contains(&policy) {
            paper.report.at_least(&row, left, "x", TARGET);
        } else {
            paper.report.add(&row, left, "x", Better::Higher);
        }
        let mut row = vec![policy.to_string()];
        row.extend(speeds.iter().map(|speed| format!("{speed:.1}")));
        row.push(format!("{:.0} %", left * 100.0));
        let published = ["round_robin", "oblivious"].contains(&policy);
        row.push(if published { "50" } else { "" }.to_string());
        rows.push(row);
        bars.push((policy.to_string(), speeds));
    }
    Ok(Section {
        title: "Stellar, section 7: all-reduce beside other jobs",
        text: format!(
            "Three jobs of {HOSTS} hosts of 400 Gb/s, every third host below four ToRs of 12 \
             uplinks each: nobody shares a host, everybody shares the fabric, which has room for \
             all. The first job's ring all-reduce of {megabytes} MB in random order is measured, \
             in GB/s of each host (line rate 50, less a round trip per step); the others run \
             all-reduces all the time ('static') or send 8 MB now and then, half of the time \
             ('on-off'). All use the same policy. Steps are cut into 8 parts that go on as \
             they arrive. The paper found the full 50 GB/s with round robin or oblivious \
             spraying over 128 paths beside static jobs, which is so here, and oblivious ahead \
             of round robin beside on-off ones, which is not: nothing is left to be ahead by. \
             Headers leave 49 of the 50, and the first and the last round trips the rest. \
             Those that lose much have few paths ('single'), or all take the one that was the \
             best a moment ago ('best_rtt')."
        ),
        head: words(&[
            "policy",
            "alone",
            "static",
            "on-off",
            "worst of alone",
            "published, static",
        ]),
        rows,
        plot: Some(plot::bars(
            "Bandwidth of a ring all-reduce beside two other jobs",
            "GB/s",
            &BACKGROUNDS.map(|(name, _)| name),
            &bars,
        )?),
    })
}
