// SPDX-License-Identifier: GPL-2.0
//! `strack-sim model`: what can be said without a network.

use anyhow::Context;
use anyhow::Result;
use std::fs;
use std::path::PathBuf;
use strack_report::report::Better;
use strack_report::report::Clock;
use strack_report::report::Report;
use strack_report::table;
use strack_sim::model;
use strack_sim::scenario::BadInput;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Uplinks of the switch
    #[arg(short, long, default_value_t = 60)]
    uplinks: u32,
    /// Connections
    #[arg(short, long, default_value_t = 16)]
    connections: u32,
    /// Packets a damaged uplink loses, in percent
    #[arg(short, long, default_value_t = 1.0)]
    loss: f64,
    /// Packets of a message
    #[arg(short, long, default_value_t = 256)]
    packets: u32,
    /// Seed of the random draws
    #[arg(short, long, default_value_t = 1)]
    seed: u64,
    /// Where to write model.json
    #[arg(long, default_value = "out", value_name = "DIR")]
    out: PathBuf,
}

const PATHS: [u32; 8] = [1, 4, 8, 16, 32, 64, 128, 256];
const DRAWS: u32 = 80;

fn percent(value: f64) -> String {
    let digits = if value < 0.001 { 4 } else { 1 };
    format!("{:.digits$} %", value * 100.0)
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    if args.uplinks == 0 || args.connections == 0 || !(0.0..=100.0).contains(&args.loss) {
        let what = "the model needs an uplink, a connection and a loss of 0 to 100 %";
        return Err(BadInput(what.to_string()).into());
    }
    let mut report = Report::new("strack-sim model", "none", Clock::Simulated, args.seed);
    let (connections, uplinks) = (args.connections, args.uplinks);
    println!("{connections} connections over {uplinks} uplinks, loads relative to their mean");
    let head = ["paths", "deviation", "expected", "max - min", "max", "idle"];
    let rows = PATHS.map(|paths| {
        let drawn = model::balls_in_bins(connections, paths, uplinks, DRAWS, args.seed);
        let expected = model::expected_deviation(connections, paths, uplinks);
        let mut add = |what: &str, value: f64| {
            report.add(
                &format!("{what}/{paths}"),
                value * 100.0,
                "%",
                Better::Lower,
            );
        };
        add("deviation", drawn.deviation);
        add("range", drawn.range);
        add("hottest", drawn.hottest);
        add("idle", drawn.idle);
        let figures = [
            drawn.deviation,
            expected,
            drawn.range,
            drawn.hottest,
            drawn.idle,
        ];
        let mut row = vec![paths.to_string()];
        row.extend(figures.map(percent));
        row
    });
    print!(
        "{}",
        table::plain(head.map(String::from).to_vec(), rows.into_iter())
    );

    let loss = args.loss / 100.0;
    println!("One uplink loses {} of its packets", percent(loss));
    let head = [
        "paths",
        "uplinks reached",
        "share on it",
        "loss seen",
        "lost of a message",
        "loss if one path crosses it",
    ];
    let rows = PATHS.map(|paths| {
        let share = model::share_if_used(paths, uplinks);
        let packets = f64::from(args.packets);
        report.add(
            &format!("loss-seen/{paths}"),
            share * loss * 100.0,
            "%",
            Better::Lower,
        );
        vec![
            paths.to_string(),
            format!("{:.1}", model::uplinks_reached(paths, uplinks)),
            percent(share),
            percent(share * loss),
            format!("{:.3}", share * loss * packets),
            percent(loss / f64::from(paths)),
        ]
    });
    print!(
        "{}",
        table::plain(head.map(String::from).to_vec(), rows.into_iter())
    );
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let json = args.out.join("model.json");
    report.write(&json)?;
    println!("Written: {}", json.display());
    Ok(true)
}
