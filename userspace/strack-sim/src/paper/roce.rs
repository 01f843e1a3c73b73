// SPDX-License-Identifier: GPL-2.0
//! STrack, abstract: against RoCEv2 on synthetic and collective workloads.
//!
//! The abstract says "up to 6 times" and "27.4 %", and that RoCEv2 had an "optimized system
//! setup". In which fabric, at which load and with which thresholds is not in what is
//! public of it. So RoCEv2 is given several setups here, each with one and with four
//! connections per pair of hosts, and in each workload the best of them counts.

use super::plot;
use super::set;
use super::words;
use super::Job;
use super::Paper;
use super::Section;
use crate::outcome::Outcome;
use crate::scenario::BadInput;
use crate::time::in_usec;
use strack_report::report::Better;

/// What is asked of the quotient of RoCEv2's time and ours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// It is one of those of which the largest counts.
    Synthetic,
    /// It has a target of its own.
    Collective,
    /// Nothing; shown to know what is behind the others.
    Nothing,
}

impl Asked {
    /// What the paper says of all workloads of this kind together.
    fn published(self) -> &'static str {
        match self {
            Self::Synthetic => "up to 6",
            Self::Collective => "1.27",
            Self::Nothing => "",
        }
    }
}

struct Case {
    name: &'static str,
    asked: Asked,
    text: &'static str,
}

const CASES: [Case; 11] = [
    Case {
        name: "permutation",
        asked: Asked::Synthetic,
        text: "workload = { pattern = 'permutation' }",
    },
    Case {
        name: "permutation-400g",
        asked: Asked::Synthetic,
        text: "topology = { rate = '400G' }\nworkload = { pattern = 'permutation', size = '8MB' }",
    },
    Case {
        name: "slow-core-link",
        asked: Asked::Synthetic,
        text: "schedule = [{ link = 'agg0:core0', rate = '25G' }]\nworkload = { size = '8MB' }",
    },
    Case {
        name: "slow-uplinks",
        asked: Asked::Synthetic,
        text: "topology = { tiers = 2, hosts-per-tor = 8, uplinks = 8 }\n\
               schedule = [{ link = 'tor*:spine0', rate = '25G' }]\nworkload = { size = '8MB' }",
    },
    Case {
        name: "oversubscribed",
        asked: Asked::Synthetic,
        text: "topology = { uplinks = 1, core-uplinks = 4 }",
    },
    Case {
        name: "incast-15",
        asked: Asked::Synthetic,
        text: "workload = { pattern = 'incast', senders = 15 }",
    },
    Case {
        name: "victim",
        asked: Asked::Synthetic,
        text: "workload = { pattern = 'victim', senders = 7 }",
    },
    Case {
        name: "all-to-all",
        asked: Asked::Collective,
        text: "workload = { pattern = 'all-to-all', size = '1MB' }",
    },
    Case {
        name: "all-to-all-small",
        asked: Asked::Nothing,
        text: "workload = { pattern = 'all-to-all', size = '64KB' }",
    },
    Case {
        name: "ring",
        asked: Asked::Collective,
        text: "workload = { pattern = 'random-ring', size = '64MB' }",
    },
    Case {
        name: "tree",
        asked: Asked::Nothing,
        text: "workload = { pattern = 'tree', size = '4MB' }",
    },
];

/// What RoCEv2 is given.
const SETUPS: [(&str, &[&str]); 3] = [
    // Thresholds as all others have them: 0.2 and 0.8 bandwidth-delay products.
    ("shallow", &[]),
    // Those that the authors of HPCC give DCQCN in their comparison, at this rate, and
    // room as in a large shared buffer before a sender is stopped.
    ("deep", &DEEP),
    // The same room, and nothing but flow control, as some training clusters run it.
    ("pfc", &PFC),
];

const DEEP: [&str; 4] = [
    "queue.ecn-min=400KB",
    "queue.ecn-max=1600KB",
    "queue.ecn-most=0.2",
    "queue.pfc-stop=2MB",
];

const PFC: [&str; 3] = [
    "queue.ecn=off",
    "queue.pfc-stop=2MB",
    "transport.dcqcn=false",
];

/// How many of them, the first, have the rate control that RoCEv2 stands for.
const WITH_DCQCN: usize = 2;

/// Connections of each pair of hosts.
const CONNECTIONS: [u32; 2] = [1, 4];

/// Ring and all-to-all are to be faster by this factor, the worst synthetic case by that.
const COLLECTIVE: f64 = 1.274;
const SYNTHETIC: f64 = 6.0;

/// Seeds of a case: each draws another hash of who meets whom, and a collective operation
/// draws its paths hundreds of times.
fn seeds(paper: &Paper<'_>, case: &Case) -> u64 {
    if paper.quick() || case.asked != Asked::Synthetic {
        1
    } else {
        4
    }
}

/// The runs of a case with one transport.
fn jobs(paper: &Paper<'_>, case: &Case, changes: &[String]) -> Vec<Job<'static>> {
    let seeds = paper.seed..paper.seed + seeds(paper, case);
    let job = |seed: u64| {
        let mut all = vec![set("seed", seed)];
        all.extend_from_slice(changes);
        if paper.quick() {
            all.push(set("topology.hosts", 16));
            let size = match case.asked {
                Asked::Synthetic => "1MB",
                _ => "64KB",
            };
            all.push(set("workload.size", size));
        }
        Job::new(case.name, case.text, all)
    };
    seeds.map(job).collect()
}

/// When the last message was done, or the victim's in its case, in microseconds.
fn completion(case: &Case, outcome: &Outcome) -> f64 {
    let end = if case.name == "victim" {
        outcome.completion.first().copied().flatten()
    } else {
        (outcome.unfinished() == 0).then_some(outcome.end)
    };
    end.map_or(f64::INFINITY, in_usec)
}

/// What each case is run with: the protocol, and all setups of RoCEv2.
fn transports() -> Vec<Vec<String>> {
    let mut all = vec![vec![set("transport.profile", "strack")]];
    for (_, changes) in SETUPS {
        for connections in CONNECTIONS {
            let mut setup = vec![
                set("transport.kind", "roce"),
                set("queue.pfc", true),
                set("transport.connections", connections),
            ];
            setup.extend(changes.iter().map(|change| change.to_string()));
            all.push(setup);
        }
    }
    all
}

pub(super) fn section(paper: &mut Paper<'_>) -> Result<Section, BadInput> {
    let transports = transports();
    let pairs = CASES
        .iter()
        .flat_map(|case| transports.iter().map(move |changes| (case, changes)));
    let all = pairs.flat_map(|(case, changes)| jobs(paper, case, changes));
    let mut outcomes = paper.run(&all.collect::<Vec<_>>())?;
    let mut rows = Vec::new();
    let mut bars = Vec::new();
    let mut largest: f64 = 0.0;
    for case in &CASES {
        let report = |what: &str| format!("roce/{}/{what}", case.name);
        let seeds = seeds(paper, case) as usize;
        // The mean of all seeds.
        let mut next = || {
            let times = outcomes.by_ref().take(seeds);
            times.map(|outcome| completion(case, &outcome)).sum::<f64>() / seeds as f64
        };
        let ours = next();
        paper
            .report
            .add(&report("strack"), ours, "us", Better::Lower);
        let mut row = vec![case.name.to_string(), format!("{ours:.0}")];
        let mut best = f64::INFINITY;
        let mut best_dcqcn = f64::INFINITY;
        for (number, (setup, _)) in SETUPS.into_iter().enumerate() {
            for connections in CONNECTIONS {
                let time = next();
                let name = report(&format!("{setup}-{connections}"));
                paper.report.add(&name, time, "us", Better::Lower);
                row.push(format!("{time:.0}"));
                best = best.min(time);
                if number < WITH_DCQCN {
                    best_dcqcn = best_dcqcn.min(time);
                }
            }
        }
        let (factor, of_any) = (best_dcqcn / ours, best / ours);
        if case.asked == Asked::Collective && !paper.quick() {
            paper
                .report
                .at_least(&report("factor"), factor, "x", COLLECTIVE);
        } else {
            paper
                .report
                .add(&report("factor"), factor, "x", Better::Higher);
        }
        let name = report("factor-of-any");
        paper.report.add(&name, of_any, "x", Better::Higher);
        if case.asked == Asked::Synthetic {
            largest = largest.max(factor);
        }
        bars.push((case.name.to_string(), vec![factor, of_any]));
        row.push(format!("{factor:.2}"));
        row.push(format!("{of_any:.2}"));
        row.push(case.asked.published().to_string());
        rows.push(row);
    }
    let name = "roce/largest-synthetic-factor";
    if paper.quick() {
        // Hardly anybody meets on a link there.
        paper.report.add(name, largest, "x", Better::Higher);
    } else {
        paper.report.at_least(name, largest, "x", SYNTHETIC);
    }
    Ok(Section {
        title: "STrack against RoCEv2",
        text: "128 hosts of 100 Gb/s in a fat tree of three tiers (slow-uplinks: two tiers of 8 \
               uplinks, one of each ToR at a quarter of its rate). Completion of the last message \
               in us; of the victim's message in its case; the mean of four seeds, but one for \
               collective operations. RoCEv2 has go-back-N and priority flow \
               control, and 1 or 4 connections per pair of hosts among which each message is \
               divided. 'Shallow' marks at the thresholds of \
               all others here (0.2 and 0.8 bandwidth-delay products), where DCQCN cuts its rates \
               much and takes hundreds of microseconds to raise them again; 'deep' has thresholds \
               and buffers as in HPCC's comparison, at which messages of this size are over before \
               DCQCN does much; 'pfc' has flow control alone. The factor is that of the best of \
               the four columns with DCQCN, which is what RoCEv2 stands for in the paper; 'of \
               any' is that of the best of all six. DCQCN's constants are those of its \
               paper, and it is checked against that: K flows into one link keep it full and get \
               equal shares, and a cut rate comes back in the steps of the paper. STrack's \
               abstract claims up to 6 times on synthetic workloads and 27.4 % on collective ones \
               without saying where. What this comparison says: with all links equal and enough \
               buffer, four connections make up for most of what single paths lose, and a factor \
               of two is left; more at 400 Gb/s, where DCQCN's thresholds and steps suit the \
               speed less, so that flow control alone is better. A \
               factor of 6 needs a fabric that is not even: connections whose hash puts them on \
               a slow link stay there, and several meet on it, while spraying avoids it. Small \
               all-to-all steps are a round trip each whatever the transport, so there is \
               nothing to be gained; those of 1 MB show what collisions cost. Where the last hop \
               is all there is (incast), flow control alone is ideal, and the first windows of \
               128 paths cost losses."
            .to_string(),
        head: words(&[
            "workload",
            "strack",
            "shallow 1",
            "shallow 4",
            "deep 1",
            "deep 4",
            "pfc 1",
            "pfc 4",
            "factor",
            "of any",
            "published",
        ]),
        rows,
        plot: Some(plot::bars(
            "RoCEv2's time, in units of STrack's",
            "x",
            &["best of four with DCQCN", "best of all six"],
            &bars,
        )?),
    })
}
