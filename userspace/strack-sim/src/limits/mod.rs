// SPDX-License-Identifier: GPL-2.0
//! A regression list: scenarios and what they may cost at worst.
//!
//! ```toml
//! [[case]]
//! name = "e1/permutation-128"
//! note = "why, and where the limit comes from"
//! set = { transport.paths = 128 }        # what differs from the defaults
//! limit = { max-us = 240, resent = 0 }   # what must hold
//! small = { topology.hosts = 16 }        # changes for the quick run,
//! small-limit = { max-us = 230 }         # and its own limits
//! ```
//!
//! With `seeds = 8` a case runs with that many seeds, beginning with its own, and the
//! worst figure of all counts: what happens once in eight times is no accident.
//!
//! A case may be measured against others of the list instead of numbers:
//! `ratio = [{ of = "e1/permutation-128", max = 1.3 }]` bounds the quotient of the last
//! completions, with `time = "mean"` or `"p99"` that of another completion, and with
//! `time = "background"` that of the background's last ones. Quotients are of the means of
//! all seeds: those of two worst cases would say little.

mod figure;

pub use self::figure::Figure;
pub use self::figure::Limit;
pub use self::figure::Uneven;

use self::figure::last;
use crate::outcome::Outcome;
use crate::scenario::bad;
use crate::scenario::BadInput;
use crate::scenario::Scenario;
use crate::sim::Sim;
use serde::Deserialize;
use std::collections::HashMap;
use std::collections::HashSet;

/// The list that comes with the program.
pub const LIST: &str = include_str!("../../limits.toml");

/// A bound relative to another case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ratio {
    /// Name of the other case, which stands before this one.
    pub of: String,
    /// Largest quotient of the last completions.
    pub max: Option<f64>,
    /// Smallest quotient.
    pub min: Option<f64>,
    /// What is divided.
    #[serde(default)]
    pub time: Time,
}

/// A time that cases are measured against each other by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Time {
    /// When the last message was done.
    #[default]
    Last,
    /// How long a message took, on average.
    Mean,
    /// Within which time 99 of 100 messages were done.
    P99,
    /// The longest that a message of the background took.
    Background,
}

impl Time {
    const ALL: [Self; 4] = [Self::Last, Self::Mean, Self::P99, Self::Background];

    fn of(self, outcome: &Outcome) -> f64 {
        match self {
            Self::Last => last(outcome),
            Self::Mean => outcome.times(0).mean(),
            Self::P99 => outcome.times(0).quantile(0.99),
            Self::Background => outcome.times(1).max(),
        }
    }

    /// What a quotient of these is called.
    fn name(self, of: &str) -> String {
        match self {
            Self::Last => format!("of-{of}"),
            Self::Mean => format!("mean-of-{of}"),
            Self::P99 => format!("p99-of-{of}"),
            Self::Background => format!("background-of-{of}"),
        }
    }
}

/// One case of the list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    /// Name, stable.
    pub name: String,
    /// Why, and where the limits come from.
    #[serde(default)]
    pub note: String,
    /// What differs from the default scenario.
    #[serde(default)]
    pub set: toml::Table,
    /// Runs with as many seeds, of which the worst counts.
    #[serde(default = "once")]
    pub seeds: u64,
    /// What must hold.
    #[serde(default)]
    pub limit: Limit,
    /// What must hold relative to other cases.
    #[serde(default)]
    pub ratio: Vec<Ratio>,
    /// What differs in the quick run; without, the case is not part of it.
    pub small: Option<toml::Table>,
    /// What must hold then.
    #[serde(default)]
    pub small_limit: Limit,
    /// What must hold then relative to other cases.
    #[serde(default)]
    pub small_ratio: Vec<Ratio>,
    /// What it is known to miss in full, and why: reported, and not counted as a failure.
    /// The small size has limits that it keeps.
    pub known: Option<String>,
}

fn once() -> u64 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    case: Vec<Case>,
}

/// Whether cases run in full or in their small size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// As written.
    Full,
    /// With the changes for the quick run, if there are any.
    Small,
}

/// Reads a list.
pub fn read(text: &str) -> Result<Vec<Case>, BadInput> {
    let list: List = toml::from_str(text).map_err(|error| {
        let message = error.message().split_whitespace();
        BadInput(format!("limits: {}", message.collect::<Vec<_>>().join(" ")))
    })?;
    let mut names = HashSet::new();
    for case in &list.case {
        if !names.insert(&case.name) {
            return bad(format!("limits: a second case '{}'", case.name));
        }
        if case.seeds == 0 {
            return bad(format!("{}: seeds is zero", case.name));
        }
        let ratios = case.ratio.iter().chain(&case.small_ratio);
        for ratio in ratios {
            if ratio.of == case.name || !names.contains(&ratio.of) {
                return bad(format!("{}: no case '{}' before it", case.name, ratio.of));
            }
            if ratio.max.is_none() && ratio.min.is_none() {
                return bad(format!("{}: a ratio without a bound", case.name));
            }
        }
        let bounds = [&case.limit, &case.small_limit].into_iter();
        let ratios = case.ratio.iter().chain(&case.small_ratio);
        let mut bounds = bounds
            .flat_map(Limit::bounds)
            .chain(ratios.flat_map(|ratio| ratio.max.into_iter().chain(ratio.min)));
        if bounds.any(|bound| !bound.is_finite() || bound < 0.0) {
            return bad(format!("{}: a limit that is no number", case.name));
        }
    }
    Ok(list.case)
}

/// Puts all of `changes` into `table`, part by part.
fn merge(table: &mut toml::Table, changes: &toml::Table) {
    for (key, value) in changes {
        match (table.get_mut(key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            _ => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Runs cases one after the other and remembers what others are measured against.
#[derive(Debug, Default)]
pub struct Runner {
    /// The times of each case, each the mean of all seeds.
    times: HashMap<String, [f64; 4]>,
}

impl Runner {
    /// Runs a case, if it is part of that extent.
    pub fn run(&mut self, case: &Case, extent: Extent) -> Result<Vec<Figure>, BadInput> {
        let mut table = case.set.clone();
        let (limit, ratios) = match (extent, &case.small) {
            (Extent::Full, _) => (&case.limit, &case.ratio),
            (Extent::Small, Some(changes)) => {
                merge(&mut table, changes);
                (&case.small_limit, &case.small_ratio)
            }
            (Extent::Small, None) => return Ok(Vec::new()),
        };
        let named = |error: BadInput| BadInput(format!("{}: {error}", case.name));
        let mut scenario = Scenario::from_table(table).map_err(named)?;
        limit.check(&scenario).map_err(named)?;
        let seeds = match extent {
            Extent::Full => case.seeds,
            Extent::Small => 1,
        };
        let mut times = [0.0; 4];
        let mut figures: Vec<Figure> = Vec::new();
        for _ in 0..seeds {
            let outcome = Sim::new(&scenario).map_err(named)?.run(scenario.limit.0);
            for (mean, time) in times.iter_mut().zip(Time::ALL) {
                *mean += time.of(&outcome) / seeds as f64;
            }
            let of_seed = limit.figures(&case.name, &scenario, &outcome);
            if figures.is_empty() {
                figures = of_seed;
            } else {
                for (worst, figure) in figures.iter_mut().zip(of_seed) {
                    worst.worsen(figure.value);
                }
            }
            scenario.seed += 1;
        }
        self.times.insert(case.name.clone(), times);
        for ratio in ratios {
            figures.extend(self.quotients(case, ratio)?);
        }
        if extent == Extent::Full {
            for figure in &mut figures {
                figure.known.clone_from(&case.known);
            }
        }
        Ok(figures)
    }

    /// A case that has run against another one.
    fn quotients(&self, case: &Case, ratio: &Ratio) -> Result<Vec<Figure>, BadInput> {
        let time = |name: &str| Some(self.times.get(name)?[ratio.time as usize]);
        let (Some(ours), Some(other)) = (time(&case.name), time(&ratio.of)) else {
            let of = &ratio.of;
            return bad(format!("{}: '{of}' has not run in this size", case.name));
        };
        let name = format!("{}/{}", case.name, ratio.time.name(&ratio.of));
        let bounds = [(ratio.max, false), (ratio.min, true)];
        let bounds = bounds
            .into_iter()
            .filter_map(|(bound, at_least)| Some((bound?, at_least)));
        Ok(bounds
            .map(|(bound, at_least)| Figure::new(&name, ours / other, "x", bound, at_least))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_go_into_the_parts() {
        let mut table: toml::Table = "a.b = 1\na.c = 2".parse().unwrap();
        merge(&mut table, &"a.c = 3\nd = 4".parse().unwrap());
        assert_eq!(table, "a.b = 1\na.c = 3\nd = 4".parse().unwrap());
    }

    #[test]
    fn a_message_that_never_ends_breaks_every_limit() {
        let case = &read("[[case]]\nname = 'x'\nlimit.max-us = 1e9\n[case.set]\nlimit = '1us'")
            .unwrap()[0];
        let figures = Runner::default().run(case, Extent::Full).unwrap();
        assert!(!figures[0].pass(), "{figures:?}");
    }

    #[test]
    fn the_worst_of_all_seeds_counts() {
        let text = |seed: u64, seeds: u64| {
            format!(
                "[[case]]\nname = 'x'\nseeds = {seeds}\nlimit = {{ max-us = 1, fair = 1 }}\n\
                 [case.set]\nseed = {seed}\ntopology.hosts = 16\nworkload.size = '100KB'"
            )
        };
        let run = |seed, seeds| {
            let case = &read(&text(seed, seeds)).unwrap()[0];
            let figures = Runner::default().run(case, Extent::Full).unwrap();
            (figures[0].value, figures[1].value)
        };
        let (one, two, both) = (run(1, 1), run(2, 1), run(1, 2));
        assert_ne!(one, two);
        assert_eq!(both, (one.0.max(two.0), one.1.min(two.1)));
    }

    #[test]
    fn nonsense_is_named() {
        let cases = [
            ("limit.speed = 1", "speed"),
            ("seeds = 0", "seeds is zero"),
            ("limit.max-us = nan", "no number"),
            ("limit.resent = -1", "no number"),
            ("ratio = [{ of = 'x', max = 1 }]", "no case 'x' before it"),
            ("ratio = [{ of = 'y', max = 1 }]", "no case 'y' before it"),
            ("[[case]]\nname = 'x'", "a second case 'x'"),
            (
                "[[case]]\nname = 'y'\nratio = [{ of = 'x' }]",
                "without a bound",
            ),
        ];
        for (line, message) in cases {
            let error = read(&format!("[[case]]\nname = 'x'\n{line}")).unwrap_err();
            assert!(error.to_string().contains(message), "{line}: {error}");
        }
    }
}
