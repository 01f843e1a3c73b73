// SPDX-License-Identifier: GPL-2.0
//! `strack-sim limits`: the regression list.

use anyhow::Context;
use anyhow::Result;
use indicatif::ProgressBar;
use indicatif::ProgressStyle;
use std::fs;
use std::path::PathBuf;
use strack_report::report::Clock;
use strack_report::report::Report;
use strack_report::table;
use strack_sim::limits;
use strack_sim::limits::Extent;
use strack_sim::limits::Runner;
use strack_sim::scenario::BadInput;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Another list than the one that comes with the program
    file: Option<PathBuf>,
    /// Only cases whose name contains this
    #[arg(short, long, value_name = "WORD")]
    only: Option<String>,
    /// Run the small size, as the tests do
    #[arg(short, long)]
    small: bool,
    /// Where to write limits.json
    #[arg(long, default_value = "out", value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let text = match &args.file {
        Some(path) => fs::read_to_string(path)
            .map_err(|error| BadInput(format!("{}: {error}", path.display())))?,
        None => limits::LIST.to_string(),
    };
    let cases = limits::read(&text)?;
    let extent = if args.small {
        Extent::Small
    } else {
        Extent::Full
    };
    let wanted = |name: &str| {
        args.only
            .as_ref()
            .is_none_or(|word| name.contains(word.as_str()))
    };
    if !cases.iter().any(|case| wanted(&case.name)) {
        let word = args.only.as_deref().unwrap_or_default();
        return Err(BadInput(format!("limits: no case whose name contains '{word}'")).into());
    }
    let bar = ProgressBar::new(cases.len() as u64).with_style(
        ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}")
            .expect("a template that is always the same"),
    );
    let mut runner = Runner::default();
    let mut report = Report::new("strack-sim limits", "none", Clock::Simulated, 0);
    let mut known = Vec::new();
    for case in &cases {
        bar.set_message(case.name.clone());
        // What others are measured against has to run, too.
        let needed = cases.iter().any(|other| {
            wanted(&other.name) && other.ratio.iter().any(|ratio| ratio.of == case.name)
        });
        if wanted(&case.name) || needed {
            for figure in runner.run(case, extent)? {
                let (name, value, unit) = (&figure.name, figure.value, figure.unit);
                if let (false, Some(why)) = (figure.pass(), &figure.known) {
                    known.push(format!("{name} {value:.3}, wanted {}: {why}", figure.bound));
                }
                if figure.at_least {
                    report.at_least(name, value, unit, figure.bound);
                } else {
                    report.at_most(name, value, unit, figure.bound);
                }
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    print!("{}", table::targets(&report));
    if !known.is_empty() {
        println!("Known to be missed:\n  {}", known.join("\n  "));
    }
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let json = args.out.join("limits.json");
    report.write(&json)?;
    println!("Written: {}", json.display());
    Ok(report.missed().len() == known.len())
}
