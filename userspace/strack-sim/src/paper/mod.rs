// SPDX-License-Identifier: GPL-2.0
//! What papers report, simulated: `strack-sim paper`.
//!
//! Each section runs the protocol, and peers where the paper has some, in a fabric like
//! that of the paper, puts what came out beside what was published, and says what the
//! comparison is worth.

mod background;
mod calibration;
mod figure11;
mod figure12;
mod floor;
pub mod html;
mod peers;
mod plot;
mod queues;
mod roce;

use crate::outcome::Outcome;
use crate::scenario::bad;
use crate::scenario::BadInput;
use crate::scenario::Scenario;
use crate::sim::Sim;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::sync::OnceLock;
use std::thread;
use strack_report::report::Report;

/// One result, ready to be shown.
#[derive(Debug)]
pub struct Section {
    /// What it is about.
    pub title: &'static str,
    /// What was done, and what the result is worth.
    pub text: String,
    /// Head of the table.
    pub head: Vec<String>,
    /// The table.
    pub rows: Vec<Vec<String>>,
    /// A plot, as SVG.
    pub plot: Option<String>,
}

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What the report is made of.
    Full,
    /// The same in a minute, with smaller fabrics and messages.
    Quick,
}

/// What the sections share.
pub struct Paper<'a> {
    /// How much is simulated.
    pub extent: Extent,
    /// Seed of the first run of each kind.
    pub seed: u64,
    /// Scenarios that are run at a time.
    pub threads: usize,
    /// The figures.
    pub report: &'a mut Report,
    /// Told how it goes on, by any thread.
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
}

/// A scenario to be run.
struct Job<'a> {
    /// What it is called while it runs.
    name: String,
    /// The scenario.
    text: &'a str,
    /// What is changed of it.
    changes: Vec<String>,
}

impl<'a> Job<'a> {
    fn new(name: impl Into<String>, text: &'a str, changes: impl Into<Vec<String>>) -> Self {
        Self {
            name: name.into(),
            text,
            changes: changes.into(),
        }
    }
}

/// What is being done.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// So many runs are needed.
    Runs(usize),
    /// This run begins.
    Run(&'a str),
    /// A run is over.
    Ran,
}

/// What makes a section.
type Maker = fn(&mut Paper<'_>) -> Result<Section, BadInput>;

/// All sections by name, in the order of the report.
const SECTIONS: [(&str, Maker); 9] = [
    ("calibration", calibration::section),
    ("theory", calibration::theory),
    ("figure12", figure12::section),
    ("figure12-floor", floor::section),
    ("figure11", figure11::section),
    ("queues", queues::section),
    ("background", background::section),
    ("contenders", peers::section),
    ("roce", roce::section),
];

/// Names of the sections that contain `only`, or all.
pub fn sections(only: Option<&str>) -> Result<Vec<&'static str>, BadInput> {
    let names = SECTIONS.map(|(name, _)| name);
    let wanted = names
        .iter()
        .filter(|name| only.is_none_or(|word| name.contains(word)));
    let wanted: Vec<_> = wanted.copied().collect();
    if wanted.is_empty() {
        return bad(format!("no such section: {}", names.join(", ")));
    }
    Ok(wanted)
}

impl Paper<'_> {
    /// Makes a section.
    pub fn section(&mut self, name: &str) -> Result<Section, BadInput> {
        match SECTIONS.iter().find(|(of, _)| *of == name) {
            Some((_, make)) => make(self),
            None => bad(format!("no section '{name}'")),
        }
    }

    /// Runs scenarios, several at a time. What comes out does not depend on how many.
    fn run(&self, jobs: &[Job<'_>]) -> Result<std::vec::IntoIter<Outcome>, BadInput> {
        (self.progress)(Progress::Runs(jobs.len()));
        let next = AtomicUsize::new(0);
        let outcomes: Vec<OnceLock<_>> = jobs.iter().map(|_| OnceLock::new()).collect();
        let work = || loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let (Some(job), Some(outcome)) = (jobs.get(number), outcomes.get(number)) else {
                return;
            };
            (self.progress)(Progress::Run(&job.name));
            outcome.get_or_init(|| run(job));
            (self.progress)(Progress::Ran);
        };
        thread::scope(|scope| {
            for _ in 0..self.threads.clamp(1, jobs.len().max(1)) {
                scope.spawn(work);
            }
        });
        let outcomes = outcomes.into_iter().filter_map(OnceLock::into_inner);
        let outcomes: Result<Vec<_>, _> = outcomes.collect();
        Ok(outcomes?.into_iter())
    }

    fn quick(&self) -> bool {
        self.extent == Extent::Quick
    }
}

/// Runs one scenario.
fn run(job: &Job<'_>) -> Result<Outcome, BadInput> {
    let scenario = Scenario::read(job.text, &job.changes)?;
    Ok(Sim::new(&scenario)?.run(scenario.limit.0))
}

/// One change of a scenario.
fn set(key: &str, value: impl std::fmt::Display) -> String {
    format!("{key}={value}")
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| word.to_string()).collect()
}
