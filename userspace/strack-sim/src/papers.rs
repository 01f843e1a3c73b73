// SPDX-License-Identifier: GPL-2.0
//! `strack-sim paper`: what papers report, simulated.

use anyhow::Context;
use anyhow::Result;
use indicatif::MultiProgress;
use indicatif::ProgressBar;
use indicatif::ProgressStyle;
use std::fs;
use std::num::NonZero;
use std::path::PathBuf;
use strack_report::report::Clock;
use strack_report::report::Report;
use strack_report::table;
use strack_sim::paper::html;
use strack_sim::paper::Extent;
use strack_sim::paper::Paper;
use strack_sim::paper::Progress;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Smaller fabrics and messages: a minute instead of many
    #[arg(short, long)]
    quick: bool,
    /// Only sections whose name contains this: calibration, theory, figure12, figure11,
    /// queues, background, contenders, roce
    #[arg(short, long, value_name = "WORD")]
    only: Option<String>,
    /// Seed of everything random
    #[arg(short, long, default_value_t = 1)]
    seed: u64,
    /// Scenarios run at a time; by default one for each processor
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    /// Directory for report.html and report.json
    #[arg(long, default_value = "out/paper", value_name = "DIR")]
    out: PathBuf,
}

/// One bar for the sections, one for the runs of the current section.
struct Bars {
    sections: ProgressBar,
    runs: ProgressBar,
}

impl Bars {
    fn new() -> Self {
        let both = MultiProgress::new();
        let bar = || {
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}")
                .expect("a template that is always the same");
            let bar = both.add(ProgressBar::new(0).with_style(style));
            bar.enable_steady_tick(std::time::Duration::from_millis(200));
            bar
        };
        Self {
            sections: bar(),
            runs: bar(),
        }
    }

    fn show(&self, step: Progress<'_>) {
        match step {
            Progress::Sections(count) => self.sections.set_length(count as u64),
            Progress::Section(name) => self.sections.set_message(name.to_string()),
            Progress::Made => self.sections.inc(1),
            Progress::Runs(count) => {
                self.runs.reset();
                self.runs.set_length(count as u64);
            }
            Progress::Run(name) => self.runs.set_message(name.to_string()),
            Progress::Ran => self.runs.inc(1),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let threads = match args.jobs {
        Some(jobs) => jobs.get(),
        None => std::thread::available_parallelism().map_or(1, NonZero::get),
    };
    let bars = Bars::new();
    let mut report = Report::new("strack-sim paper", "none", Clock::Simulated, args.seed);
    let mut paper = Paper {
        extent: if args.quick {
            Extent::Quick
        } else {
            Extent::Full
        },
        seed: args.seed,
        threads,
        report: &mut report,
        progress: &|step| bars.show(step),
    };
    let sections = paper.sections(args.only.as_deref())?;
    bars.runs.finish_and_clear();
    bars.sections.finish_and_clear();
    for section in &sections {
        println!("{}", section.title);
        let rows = section.rows.iter().cloned();
        print!("{}", table::plain(section.head.clone(), rows));
    }
    let targets = table::targets(&report);
    print!("{targets}");
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let page = args.out.join("report.html");
    fs::write(&page, html::page(&sections, &targets))
        .with_context(|| page.display().to_string())?;
    let json = args.out.join("report.json");
    report.write(&json)?;
    println!("Written: {} {}", page.display(), json.display());
    Ok(report.missed().is_empty())
}
