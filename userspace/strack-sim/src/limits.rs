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
//! A case may be measured against another one of the list instead of a number:
//! `ratio = { of = "e1/permutation-128", max = 1.3 }` bounds the quotient of the last
//! completions, with `background = true` that of the background's.

use crate::model::Imbalance;
use crate::outcome::Outcome;
use crate::scenario::bad;
use crate::scenario::BadInput;
use crate::scenario::Scenario;
use crate::sim::Sim;
use serde::Deserialize;
use std::collections::HashMap;
use std::collections::HashSet;

/// The list that comes with the program.
pub const LIST: &str = include_str!("../limits.toml");

/// Bounds of one case.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Limit {
    /// Completion of the last message, in microseconds.
    pub max_us: Option<f64>,
    /// Completion of the first message of the list, which is the victim in a victim
    /// scenario.
    pub first_us: Option<f64>,
    /// The same, at least.
    pub min_us: Option<f64>,
    /// Time within which 99 of 100 messages complete.
    pub p99_us: Option<f64>,
    /// Packets sent again, as a part of all packets.
    pub resent: Option<f64>,
    /// Packets sent again that had arrived, as a part of all packets.
    pub spurious: Option<f64>,
    /// Most packets held out of order.
    pub reordered: Option<f64>,
    /// Expiries of retransmission timers.
    pub timeouts: Option<f64>,
    /// Least fairness of the messages' speeds, by Jain's index.
    pub fair: Option<f64>,
    /// How uneven the bytes on some links may be.
    pub uneven: Option<Uneven>,
}

impl Limit {
    /// All bounds.
    fn bounds(&self) -> impl Iterator<Item = Option<f64>> {
        let bounds = [
            self.max_us,
            self.first_us,
            self.min_us,
            self.p99_us,
            self.resent,
            self.spurious,
            self.reordered,
            self.timeouts,
            self.fair,
            self.uneven.as_ref().map(|uneven| uneven.max),
        ];
        bounds.into_iter()
    }
}

/// A bound on the imbalance of links.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Uneven {
    /// Names of the links begin with this.
    pub links: String,
    /// Largest standard deviation, as a part of the mean.
    pub max: f64,
}

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
    /// It is of the last completions of both cases' backgrounds.
    #[serde(default)]
    pub background: bool,
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
    /// What must hold relative to another case.
    pub ratio: Option<Ratio>,
    /// What differs in the quick run; without, the case is not part of it.
    pub small: Option<toml::Table>,
    /// What must hold then.
    #[serde(default)]
    pub small_limit: Limit,
    /// What must hold then relative to another case.
    pub small_ratio: Option<Ratio>,
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

/// One figure of a case beside its bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Case and figure, as `e1/permutation-128/max`.
    pub name: String,
    /// What came out.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// The bound.
    pub bound: f64,
    /// The bound is a least and not a most.
    pub at_least: bool,
    /// Why it is known to be missed, if it is.
    pub known: Option<String>,
}

impl Figure {
    /// Another seed had this value.
    fn worsen(&mut self, value: f64) {
        self.value = if self.at_least {
            self.value.min(value)
        } else {
            self.value.max(value)
        };
    }

    /// Whether the bound is kept.
    pub fn pass(&self) -> bool {
        if self.at_least {
            self.value >= self.bound
        } else {
            self.value <= self.bound
        }
    }
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
        let ratios = [&case.ratio, &case.small_ratio].into_iter().flatten();
        for ratio in ratios {
            if ratio.of == case.name || !names.contains(&ratio.of) {
                return bad(format!("{}: no case '{}' before it", case.name, ratio.of));
            }
            if ratio.max.is_none() && ratio.min.is_none() {
                return bad(format!("{}: a ratio without a bound", case.name));
            }
        }
        let bounds = [&case.limit, &case.small_limit].into_iter();
        let ratios = [&case.ratio, &case.small_ratio].into_iter().flatten();
        let mut bounds = bounds
            .flat_map(Limit::bounds)
            .chain(ratios.flat_map(|ratio| [ratio.max, ratio.min]));
        if bounds.any(|bound| bound.is_some_and(|bound| !bound.is_finite() || bound < 0.0)) {
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
    /// Last completions of what is measured, and of the background.
    last: HashMap<String, (f64, f64)>,
}

impl Runner {
    /// Runs a case, if it is part of that extent.
    pub fn run(&mut self, case: &Case, extent: Extent) -> Result<Vec<Figure>, BadInput> {
        let mut table = case.set.clone();
        let (limit, ratio) = match (extent, &case.small) {
            (Extent::Full, _) => (&case.limit, &case.ratio),
            (Extent::Small, Some(changes)) => {
                merge(&mut table, changes);
                (&case.small_limit, &case.small_ratio)
            }
            (Extent::Small, None) => return Ok(Vec::new()),
        };
        let named = |error: BadInput| BadInput(format!("{}: {error}", case.name));
        let mut scenario = Scenario::from_table(table).map_err(named)?;
        let seeds = match extent {
            Extent::Full => case.seeds,
            Extent::Small => 1,
        };
        let mut lasts: (f64, f64) = (0.0, 0.0);
        let mut figures: Vec<Figure> = Vec::new();
        for _ in 0..seeds {
            let outcome = Sim::new(&scenario).map_err(named)?.run(scenario.limit.0);
            lasts.0 = lasts.0.max(last(&outcome));
            lasts.1 = lasts.1.max(outcome.times(1).max());
            let of_seed = self::figures(case, limit, &outcome);
            if figures.is_empty() {
                figures = of_seed;
            } else {
                for (worst, figure) in figures.iter_mut().zip(of_seed) {
                    worst.worsen(figure.value);
                }
            }
            scenario.seed += 1;
        }
        self.last.insert(case.name.clone(), lasts);
        if let Some(ratio) = ratio {
            let Some(other) = self.last.get(&ratio.of) else {
                let of = &ratio.of;
                return bad(format!("{}: '{of}' has not run in this size", case.name));
            };
            let (name, quotient) = if ratio.background {
                let name = format!("{}/background-of-{}", case.name, ratio.of);
                (name, lasts.1 / other.1)
            } else {
                let name = format!("{}/of-{}", case.name, ratio.of);
                (name, lasts.0 / other.0)
            };
            for (bound, at_least) in [(ratio.max, false), (ratio.min, true)] {
                if let Some(bound) = bound {
                    figures.push(figure(&name, quotient, "x", bound, at_least));
                }
            }
        }
        if extent == Extent::Full {
            for figure in &mut figures {
                figure.known.clone_from(&case.known);
            }
        }
        Ok(figures)
    }
}

/// When the last message was done; infinite if one was not.
fn last(outcome: &Outcome) -> f64 {
    if outcome.unfinished() > 0 {
        f64::INFINITY
    } else {
        outcome.end as f64 / 1e6
    }
}

fn figure(name: &str, value: f64, unit: &'static str, bound: f64, at_least: bool) -> Figure {
    Figure {
        name: name.to_string(),
        value,
        unit,
        bound,
        at_least,
        known: None,
    }
}

fn figures(case: &Case, limit: &Limit, outcome: &Outcome) -> Vec<Figure> {
    let ends = &outcome.ends;
    let of_sent = |count: u64| count as f64 / ends.sent.max(1) as f64;
    let first = outcome.completion.first().copied().flatten();
    let first = first.map_or(f64::INFINITY, |time| time as f64 / 1e6);
    let max = last(outcome);
    let rows = [
        ("max", limit.max_us, max, "us", false),
        ("min", limit.min_us, max, "us", true),
        ("first", limit.first_us, first, "us", false),
        (
            "p99",
            limit.p99_us,
            outcome.times(0).quantile(0.99),
            "us",
            false,
        ),
        (
            "resent",
            limit.resent,
            of_sent(ends.resent),
            "of packets",
            false,
        ),
        (
            "spurious",
            limit.spurious,
            of_sent(ends.duplicates),
            "of packets",
            false,
        ),
        (
            "reordered",
            limit.reordered,
            ends.reordered as f64,
            "packets",
            false,
        ),
        (
            "timeouts",
            limit.timeouts,
            ends.timeouts as f64,
            "timeouts",
            false,
        ),
        ("fair", limit.fair, outcome.fairness(), "of 1", true),
        (
            "uneven",
            limit.uneven.as_ref().map(|uneven| uneven.max),
            limit.uneven.as_ref().map_or(0.0, |uneven| {
                Imbalance::of(&outcome.loads(&uneven.links)).deviation
            }),
            "of mean",
            false,
        ),
    ];
    rows.into_iter()
        .filter_map(|(what, bound, value, unit, at_least)| {
            let name = format!("{}/{what}", case.name);
            Some(figure(&name, value, unit, bound?, at_least))
        })
        .collect()
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
            ("ratio = { of = 'x', max = 1 }", "no case 'x' before it"),
            ("ratio = { of = 'y', max = 1 }", "no case 'y' before it"),
            ("[[case]]\nname = 'x'", "a second case 'x'"),
            (
                "[[case]]\nname = 'y'\nratio = { of = 'x' }",
                "without a bound",
            ),
        ];
        for (line, message) in cases {
            let error = read(&format!("[[case]]\nname = 'x'\n{line}")).unwrap_err();
            assert!(error.to_string().contains(message), "{line}: {error}");
        }
    }
}
