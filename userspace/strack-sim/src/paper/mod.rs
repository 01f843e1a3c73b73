// SPDX-License-Identifier: GPL-2.0
//! What papers report, simulated: `strack-sim paper`.
//!
//! Each section runs the protocol, and peers where the paper has some, in a fabric like
//! that of the paper, puts what came out beside what was published, and says what the
//! comparison is worth.

mod figure11;
mod figure12;
pub mod html;
mod plot;
mod queues;
mod roce;

use crate::outcome::Outcome;
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
    /// Told before each run what it is.
    pub progress: &'a mut dyn FnMut(&str),
}

impl Paper<'_> {
    /// All sections.
    pub fn sections(&mut self) -> Result<Vec<Section>, BadInput> {
        Ok(vec![
            figure12::section(self)?,
            figure11::section(self)?,
            queues::section(self)?,
            roce::section(self)?,
        ])
    }

    /// Runs one scenario.
    fn run(&mut self, name: &str, text: &str, changes: &[String]) -> Result<Outcome, BadInput> {
        (self.progress)(name);
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
