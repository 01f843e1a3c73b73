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
use strack_sim::paper;
use strack_sim::paper::html;
use strack_sim::paper::Extent;
use strack_sim::paper::Paper;
use strack_sim::paper::Progress;
use strack_sim::paper::Section;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Smaller fabrics and messages: a minute instead of many
    #[arg(short, long)]
    quick: bool,
    /// Only sections whose name contains this: calibration, theory, figure12,
    /// figure12-floor, figure11, queues, background, contenders, roce
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
    both: MultiProgress,
    sections: ProgressBar,
    runs: ProgressBar,
}

impl Bars {
    fn new(sections: usize) -> Self {
        let both = MultiProgress::new();
        let bar = |len: usize| {
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}")
                .expect("a template that is always the same");
            let bar = both.add(ProgressBar::new(len as u64).with_style(style));
            bar.enable_steady_tick(std::time::Duration::from_millis(200));
            bar
        };
        Self {
            sections: bar(sections),
            runs: bar(0),
            both,
        }
    }

    fn show(&self, step: Progress<'_>) {
        match step {
            Progress::Runs(count) => {
                self.runs.reset();
                self.runs.set_length(count as u64);
            }
            Progress::Run(name) => self.runs.set_message(name.to_string()),
            Progress::Ran => self.runs.inc(1),
        }
    }
}

/// Writes the page and the figures as far as there are any. Whoever stops a run that takes
/// long has what was done until then.
fn write(args: &Args, sections: &[Section], report: &Report) -> Result<[PathBuf; 2]> {
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let page = args.out.join("report.html");
    fs::write(&page, html::page(sections, &table::targets(report)))
        .with_context(|| page.display().to_string())?;
    let json = args.out.join("report.json");
    report.write(&json)?;
    Ok([page, json])
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let threads = match args.jobs {
        Some(jobs) => jobs.get(),
        None => std::thread::available_parallelism().map_or(1, NonZero::get),
    };
    let names = paper::sections(args.only.as_deref())?;
    let bars = Bars::new(names.len());
    let mut report = Report::new("strack-sim paper", "none", Clock::Simulated, args.seed);
    let mut sections = Vec::new();
    for name in names {
        bars.sections.set_message(name);
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
        let section = paper.section(name)?;
        bars.both.suspend(|| {
            println!("{}", section.title);
            let rows = section.rows.iter().cloned();
            print!("{}", table::plain(section.head.clone(), rows));
        });
        sections.push(section);
        write(args, &sections, &report)?;
        bars.sections.inc(1);
    }
    bars.runs.finish_and_clear();
    bars.sections.finish_and_clear();
    print!("{}", table::targets(&report));
    let [page, json] = write(args, &sections, &report)?;
    println!("Written: {} {}", page.display(), json.display());
    Ok(report.missed().is_empty())
}
