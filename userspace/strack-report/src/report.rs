// SPDX-License-Identifier: GPL-2.0
//! The figures of one command, in the shape that every measuring command of the
//! project writes, so that one small checker reads them all.

use anyhow::Context;
use anyhow::Result;
use serde::Serialize;
use std::fs;
use std::path::Path;

/// What the times in a report are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Instructions of a guest counted as nanoseconds.
    Virtual,
    /// Those of a clock on the wall.
    Real,
    /// Those of a model without any real execution.
    Simulated,
}

/// In which direction a figure gets better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What/which, lower case, stable.
    pub name: String,
    /// The figure, rounded to three decimals.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Its good direction.
    pub better: Better,
    /// The figure it has to reach, if any.
    pub target: Option<f64>,
    /// It did; always true without a target.
    pub pass: bool,
}

/// All figures of a command.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    command: String,
    kernel: String,
    clock: Clock,
    seed: u64,
    rows: Vec<Row>,
}

fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

impl Report {
    /// An empty report of a command that a user typed.
    pub fn new(command: &str, kernel: &str, clock: Clock, seed: u64) -> Report {
        Report {
            command: command.to_string(),
            kernel: kernel.to_string(),
            clock,
            seed,
            rows: Vec::new(),
        }
    }

    /// Add a figure without a target.
    pub fn add(&mut self, name: &str, value: f64, unit: &'static str, better: Better) {
        self.push(name, value, unit, better, None);
    }

    /// Add a figure that has to be at least this.
    pub fn at_least(&mut self, name: &str, value: f64, unit: &'static str, target: f64) {
        self.push(name, value, unit, Better::Higher, Some(target));
    }

    /// Add a figure that may be this at most.
    pub fn at_most(&mut self, name: &str, value: f64, unit: &'static str, target: f64) {
        self.push(name, value, unit, Better::Lower, Some(target));
    }

    fn push(
        &mut self,
        name: &str,
        value: f64,
        unit: &'static str,
        better: Better,
        target: Option<f64>,
    ) {
        let value = round(value);
        let target = target.map(round);
        let pass = match (target, better) {
            (None, _) => true,
            (Some(target), Better::Higher) => value >= target,
            (Some(target), Better::Lower) => value <= target,
        };
        self.rows.push(Row {
            name: name.to_string(),
            value,
            unit,
            better,
            target,
            pass,
        });
    }

    /// The figures.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Names of the figures that missed their target.
    pub fn missed(&self) -> Vec<&str> {
        let missed = self.rows.iter().filter(|row| !row.pass);
        missed.map(|row| row.name.as_str()).collect()
    }

    /// Write the report as JSON.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        fs::write(path, text).with_context(|| path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report::new("make x", "7.3", Clock::Virtual, 1)
    }

    #[test]
    fn pass_follows_from_target() {
        let mut report = report();
        report.at_least("a", 70.0, "Mb/s", 70.0);
        report.at_least("b", 69.9, "Mb/s", 70.0);
        report.at_most("c", 0.0, "packets", 0.0);
        report.at_most("d", 1.0, "packets", 0.0);
        report.add("e", -5.0, "Mb/s", Better::Higher);
        assert_eq!(report.missed(), ["b", "d"]);
    }

    #[test]
    fn shape_is_the_common_one() {
        let mut report = report();
        report.add("goodput/tcp", 97.53149, "Mb/s", Better::Higher);
        report.at_most("cut/recovery", 3.0, "RTO", 20.0);
        let json: serde_json::Value = serde_json::to_value(&report).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "command": "make x", "kernel": "7.3", "clock": "virtual", "seed": 1,
                "rows": [
                    {"name": "goodput/tcp", "value": 97.531, "unit": "Mb/s", "better": "higher",
                     "target": null, "pass": true},
                    {"name": "cut/recovery", "value": 3.0, "unit": "RTO", "better": "lower",
                     "target": 20.0, "pass": true},
                ]
            })
        );
    }
}
