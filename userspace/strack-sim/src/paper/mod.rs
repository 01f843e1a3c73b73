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
    /// The figures.
    pub report: &'a mut Report,
    /// Told how it goes on.
    pub progress: &'a mut dyn FnMut(Progress<'_>),
}

/// What is being done.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// So many sections are to be made.
    Sections(usize),
    /// This run begins.
    Run(&'a str),
    /// A section is made.
    Made,
}

/// What makes a section.
type Maker = fn(&mut Paper<'_>) -> Result<Section, BadInput>;

/// All sections by name, in the order of the report.
const SECTIONS: [(&str, Maker); 8] = [
    ("calibration", calibration::section),
    ("theory", calibration::theory),
    ("figure12", figure12::section),
    ("figure11", figure11::section),
    ("queues", queues::section),
    ("background", background::section),
    ("contenders", peers::section),
    ("roce", roce::section),
];

impl Paper<'_> {
    /// The sections whose names contain `only`, or all.
    pub fn sections(&mut self, only: Option<&str>) -> Result<Vec<Section>, BadInput> {
        let wanted = |name: &str| only.is_none_or(|word| name.contains(word));
        let sections = SECTIONS.iter().filter(|(name, _)| wanted(name));
        let sections: Vec<_> = sections.collect();
        if sections.is_empty() {
            let names = SECTIONS.map(|(name, _)| name);
            return bad(format!("no such section: {}", names.join(", ")));
        }
        (self.progress)(Progress::Sections(sections.len()));
        let mut made = Vec::new();
        for (_, section) in sections {
            made.push(section(self)?);
            (self.progress)(Progress::Made);
        }
        Ok(made)
    }

    /// Runs one scenario.
    fn run(&mut self, name: &str, text: &str, changes: &[String]) -> Result<Outcome, BadInput> {
        (self.progress)(Progress::Run(name));
        let scenario = Scenario::read(text, changes)?;
        Ok(Sim::new(&scenario)?.run(scenario.limit.0))
    }

    fn quick(&self) -> bool {
        self.extent == Extent::Quick
    }
}

/// One change of a scenario.
fn set(key: &str, value: impl std::fmt::Display) -> String {
    format!("{key}={value}")
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| word.to_string()).collect()
}
