// SPDX-License-Identifier: GPL-2.0
//! `strack-sim run`: one scenario.

use anyhow::Context;
use anyhow::Result;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;
use strack_report::report::Better;
use strack_report::report::Clock;
use strack_report::report::Report;
use strack_report::table;
use strack_sim::outcome::Outcome;
use strack_sim::scenario::BadInput;
use strack_sim::scenario::Scenario;
use strack_sim::sim::Sim;
use strack_sim::time::in_usec;
use strack_sim::watch::Look;

/// What names of rows begin with that are counters of the protocol.
const COUNTER: &str = "counter/";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The scenario, a TOML file; without one, everything has its default
    file: Option<PathBuf>,
    /// Change one value of it, as `topology.hosts=1024`
    #[arg(short, long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Where to write the figures as JSON
    #[arg(short, long, value_name = "FILE", default_value = "out/run.json")]
    json: PathBuf,
    /// Where to write what a watch has seen, as CSV
    #[arg(short, long, value_name = "FILE", default_value = "out/seen.csv")]
    watch: PathBuf,
    /// Print the protocol's counters, which are in the JSON anyway
    #[arg(short, long)]
    counters: bool,
    /// Print one row for each link that carried anything
    #[arg(short, long)]
    links: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let text = match &args.file {
        Some(path) => fs::read_to_string(path)
            .map_err(|error| BadInput(format!("{}: {error}", path.display())))?,
        None => String::new(),
    };
    let scenario = Scenario::read(&text, &args.set)?;
    let start = Instant::now();
    let outcome = Sim::new(&scenario)?.run(scenario.limit.0);
    let elapsed = start.elapsed();
    let report = report(&scenario, &outcome);
    let rows = report.rows().iter();
    let rows = rows.filter(|row| args.counters || !row.name.starts_with(COUNTER));
    let rows = rows.map(|row| {
        vec![
            row.name.clone(),
            row.value.to_string(),
            row.unit.to_string(),
        ]
    });
    let head = ["", "value", "unit"].map(String::from);
    print!("{}", table::plain(head.to_vec(), rows));
    if args.links {
        print!("{}", links(&outcome));
    }
    println!(
        "{} events in {:.2} s",
        outcome.events,
        elapsed.as_secs_f64()
    );
    let looks = &outcome.seen.looks;
    if !looks.is_empty() {
        make_parent(&args.watch)?;
        fs::write(&args.watch, seen(looks)).with_context(|| args.watch.display().to_string())?;
    }
    make_parent(&args.json)?;
    report
        .write(&args.json)
        .context("cannot write the report")?;
    Ok(outcome.unfinished() == 0)
}

/// Makes the directory that a file is to be written to.
fn make_parent(file: &Path) -> Result<()> {
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    }
    Ok(())
}

/// One line for each look: the groups of links, then the connections.
fn seen(looks: &[Look]) -> String {
    let mut text = String::from("us");
    let (groups, flows) = looks
        .last()
        .map_or((0, 0), |look| (look.groups.len(), look.flows.len()));
    for group in 0..groups {
        let _ = write!(text, ",offered{group},waiting{group}");
    }
    for flow in 0..flows {
        let _ = write!(text, ",window{flow},arrived{flow}");
    }
    for look in looks {
        let _ = write!(text, "\n{}", in_usec(look.at));
        for group in &look.groups {
            let _ = write!(text, ",{},{}", group.offered, group.waiting);
        }
        for flow in &look.flows {
            let _ = write!(text, ",{},{}", flow.window, flow.arrived);
        }
    }
    text.push('\n');
    text
}

fn report(scenario: &Scenario, outcome: &Outcome) -> Report {
    let command = "strack-sim run";
    let mut report = Report::new(command, "none", Clock::Simulated, scenario.seed);
    let times = outcome.times(0);
    let lower = Better::Lower;
    report.add("completion/mean", times.mean(), "us", lower);
    report.add("completion/p50", times.quantile(0.5), "us", lower);
    report.add("completion/p99", times.quantile(0.99), "us", lower);
    report.add("completion/max", times.max(), "us", lower);
    report.add("end/last", outcome.end as f64 / 1e6, "us", lower);
    let mut count = |name: &str, value: u64, unit| report.add(name, value as f64, unit, lower);
    count(
        "messages/unfinished",
        outcome.unfinished() as u64,
        "messages",
    );
    count("connections/failed", outcome.failed, "connections");
    let ends = &outcome.ends;
    count("data/sent", ends.sent, "packets");
    count("data/resent", ends.resent, "packets");
    count("data/duplicate", ends.duplicates, "packets");
    count("data/timeouts", ends.timeouts, "timeouts");
    count("data/reordered-most", ends.reordered, "packets");
    count(
        "links/dropped",
        outcome.total(|link| link.dropped),
        "packets",
    );
    count(
        "links/trimmed",
        outcome.total(|link| link.trimmed),
        "packets",
    );
    count("links/lost", outcome.total(|link| link.lost), "packets");
    count("links/marked", outcome.total(|link| link.marked), "packets");
    count("links/stopped", outcome.total(|link| link.pauses), "times");
    let longest = outcome.links.iter().map(|link| link.longest).max();
    count("queue/longest", longest.unwrap_or(0), "bytes");
    count("rtt/base-largest", ends.base_rtt, "ns");
    count("window/largest-at-end", ends.window, "bytes");
    for (name, &value) in &outcome.counters {
        count(&format!("{COUNTER}{name}"), value, "");
    }
    report
}

/// A table of the links.
fn links(outcome: &Outcome) -> String {
    let head = [
        "link", "packets", "bytes", "dropped", "lost", "marked", "longest",
    ];
    let rows = outcome.names.iter().zip(&outcome.links);
    let rows = rows
        .filter(|(_, link)| link.packets > 0)
        .map(|(name, link)| {
            let mut row = vec![name.clone()];
            let counts = [
                link.packets,
                link.bytes,
                link.dropped,
                link.lost,
                link.marked,
                link.longest,
            ];
            row.extend(counts.map(|count| count.to_string()));
            row
        });
    table::plain(head.map(String::from).to_vec(), rows)
}
