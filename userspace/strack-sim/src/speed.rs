// SPDX-License-Identifier: GPL-2.0
//! `strack-sim speed`: what a simulation itself costs.
//!
//! The load is the one that figures of another simulator exist for: a permutation of 2 MB
//! over 128 paths. What counts is CPU time of the one thread that simulates, which does
//! not depend on what else the machine does, as time on the wall does.

use anyhow::Context;
use anyhow::Result;
use std::fs;
use std::path::PathBuf;
use strack_report::report::Better;
use strack_report::report::Clock;
use strack_report::report::Report;
use strack_report::table;
use strack_sim::scenario::Scenario;
use strack_sim::sim::Sim;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seed of everything random
    #[arg(short, long, default_value_t = 1)]
    seed: u64,
    /// Where to write speed.json
    #[arg(long, default_value = "out", value_name = "DIR")]
    out: PathBuf,
}

/// Hosts, and seconds they may take.
const SIZES: [(u32, f64); 2] = [(128, 1.0), (1024, 17.0)];

/// Memory that may be used at most, in MiB.
const MEMORY: f64 = 512.0;

/// CPU time of this thread so far, in seconds.
fn cpu_seconds() -> Result<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let first = text.split_whitespace().next().unwrap_or_default();
    let nanoseconds: f64 = first
        .parse()
        .with_context(|| format!("no time in '{}'", text.trim()))?;
    Ok(nanoseconds / 1e9)
}

/// Most memory this process ever had, in MiB.
fn peak_mebibytes() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    let kibibytes: f64 = kibibytes
        .and_then(|number| number.parse().ok())
        .context("no VmHWM in /proc/self/status")?;
    Ok(kibibytes / 1024.0)
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let mut report = Report::new("strack-sim speed", "none", Clock::Real, args.seed);
    for (hosts, most) in SIZES {
        let changes = [
            format!("seed={}", args.seed),
            format!("topology.hosts={hosts}"),
            "transport.profile=strack".to_string(),
        ];
        let scenario = Scenario::read("", &changes)?;
        let before = cpu_seconds()?;
        let outcome = Sim::new(&scenario)?.run(scenario.limit.0);
        let took = cpu_seconds()? - before;
        let events = outcome.events as f64 / took / 1e6;
        report.at_most(&format!("cpu/{hosts}"), took, "s", most);
        report.add(&format!("events/{hosts}"), events, "M/s", Better::Higher);
        report.at_most(&format!("memory/{hosts}"), peak_mebibytes()?, "MiB", MEMORY);
    }
    print!("{}", table::targets(&report));
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let json = args.out.join("speed.json");
    report.write(&json)?;
    println!("Written: {}", json.display());
    Ok(report.missed().is_empty())
}
