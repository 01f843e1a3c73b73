// SPDX-License-Identifier: GPL-2.0
//! What is measured of a case, and what it is measured against.

use crate::model::Imbalance;
use crate::outcome::Outcome;
use crate::scenario::bad;
use crate::scenario::BadInput;
use crate::scenario::Scenario;
use crate::time::in_usec;
use serde::Deserialize;

/// Bounds of one case.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Limit {
    /// Completion of the last message, in microseconds.
    pub max_us: Option<f64>,
    /// Completion of the first message of the list, which is the victim in a victim
    /// scenario.
    pub first_us: Option<f64>,
    /// The same as `max-us`, at least.
    pub min_us: Option<f64>,
    /// Time within which 99 of 100 messages complete.
    pub p99_us: Option<f64>,
    /// Least speed of a message, as a part of the rate of the hosts' links.
    pub goodput: Option<f64>,
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
    /// Least fairness among connections in the second half of the run, by Jain's index.
    /// This and the following need a watch.
    pub late_fair: Option<f64>,
    /// What the first watched links were offered in the second half of the run, as a part
    /// of what the second ones were.
    pub late_share: Option<f64>,
    /// How long more than a bandwidth-delay product waits at one of the first watched
    /// links when that happens first.
    pub crowded_us: Option<f64>,
    /// How long the window of the first connection takes from the largest to half of it.
    pub halved_us: Option<f64>,
    /// How long after a slow reader is fast again (`read-slow-until`) that window is what
    /// it was.
    pub restored_us: Option<f64>,
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

/// A kind of figure: its name and unit, whether its bound is a least, the bound, and how
/// it is measured.
type Kind<'a> = (
    &'static str,
    &'static str,
    bool,
    Option<f64>,
    &'a dyn Fn(&Measured<'_>) -> f64,
);

/// A run that is over.
struct Measured<'a> {
    scenario: &'a Scenario,
    outcome: &'a Outcome,
}

impl Measured<'_> {
    fn of_sent(&self, count: u64) -> f64 {
        count as f64 / self.outcome.ends.sent.max(1) as f64
    }

    fn first(&self) -> f64 {
        let first = self.outcome.completion.first().copied().flatten();
        first.map_or(f64::INFINITY, in_usec)
    }

    /// The speed of the slowest message.
    fn goodput(&self) -> f64 {
        let rate = self.scenario.topology.rate.0 as f64;
        self.outcome.slowest() / rate
    }

    /// When a slow reader is fast again.
    fn fast_again(&self) -> u64 {
        self.scenario
            .transport
            .read_slow_until
            .map_or(0, |time| time.0)
    }
}

impl Limit {
    /// All kinds of figures with their bounds.
    fn kinds(&self, visit: &mut dyn FnMut(Kind<'_>)) {
        let (us, of, packets) = ("us", "of packets", "packets");
        let part = "of 1";
        let uneven = self.uneven.as_ref();
        let unevenness = |run: &Measured<'_>| {
            let loads = uneven.map_or(Vec::new(), |uneven| run.outcome.loads(&uneven.links));
            Imbalance::of(&loads).deviation
        };
        let kinds: [Kind<'_>; 16] = [
            ("max", us, false, self.max_us, &|run| last(run.outcome)),
            ("min", us, true, self.min_us, &|run| last(run.outcome)),
            ("first", us, false, self.first_us, &|run| run.first()),
            ("p99", us, false, self.p99_us, &|run| {
                run.outcome.times(0).quantile(0.99)
            }),
            ("goodput", part, true, self.goodput, &|run| run.goodput()),
            ("resent", of, false, self.resent, &|run| {
                run.of_sent(run.outcome.ends.resent)
            }),
            ("spurious", of, false, self.spurious, &|run| {
                run.of_sent(run.outcome.ends.duplicates)
            }),
            ("reordered", packets, false, self.reordered, &|run| {
                run.outcome.ends.reordered as f64
            }),
            ("timeouts", "timeouts", false, self.timeouts, &|run| {
                run.outcome.ends.timeouts as f64
            }),
            ("fair", part, true, self.fair, &|run| run.outcome.fairness()),
            (
                "uneven",
                "of mean",
                false,
                uneven.map(|uneven| uneven.max),
                &unevenness,
            ),
            ("late-fair", part, true, self.late_fair, &|run| {
                run.outcome.seen.late_fairness()
            }),
            ("late-share", part, false, self.late_share, &|run| {
                run.outcome.seen.late_share()
            }),
            ("crowded", us, false, self.crowded_us, &|run| {
                run.outcome.seen.crowded(run.scenario.topology.pipe())
            }),
            ("halved", us, false, self.halved_us, &|run| {
                run.outcome.seen.halved()
            }),
            ("restored", us, false, self.restored_us, &|run| {
                run.outcome.seen.restored(run.fast_again())
            }),
        ];
        kinds.into_iter().for_each(visit);
    }

    /// All bounds.
    pub(super) fn bounds(&self) -> Vec<f64> {
        let mut bounds = Vec::new();
        self.kinds(&mut |(_, _, _, bound, _)| bounds.extend(bound));
        bounds
    }

    /// Whether a scenario has what is needed to measure this.
    pub(super) fn check(&self, scenario: &Scenario) -> Result<(), BadInput> {
        let groups = scenario.watch.as_ref().map(|watch| watch.links.len());
        let needs = [
            ("late-fair", self.late_fair, 0),
            ("halved-us", self.halved_us, 0),
            ("restored-us", self.restored_us, 0),
            ("crowded-us", self.crowded_us, 1),
            ("late-share", self.late_share, 2),
        ];
        let unmet = |need: &&(&str, Option<f64>, usize)| {
            need.1.is_some() && groups.is_none_or(|groups| groups < need.2)
        };
        if let Some((name, _, links)) = needs.iter().find(unmet) {
            return bad(format!("{name} needs a watch with {links} groups of links"));
        }
        if self.restored_us.is_some() && scenario.transport.read_slow_until.is_none() {
            return bad("restored-us needs a reader that is fast again".to_string());
        }
        Ok(())
    }

    /// The figures of a run that have a bound, named as those of `case`.
    pub(super) fn figures(
        &self,
        case: &str,
        scenario: &Scenario,
        outcome: &Outcome,
    ) -> Vec<Figure> {
        let run = Measured { scenario, outcome };
        let mut figures = Vec::new();
        self.kinds(&mut |(what, unit, at_least, bound, value)| {
            if let Some(bound) = bound {
                let name = format!("{case}/{what}");
                figures.push(Figure::new(&name, value(&run), unit, bound, at_least));
            }
        });
        figures
    }
}

/// When the last message was done; infinite if one was not.
pub(super) fn last(outcome: &Outcome) -> f64 {
    if outcome.unfinished() > 0 {
        f64::INFINITY
    } else {
        in_usec(outcome.end)
    }
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
    /// A figure beside its bound.
    pub(super) fn new(
        name: &str,
        value: f64,
        unit: &'static str,
        bound: f64,
        at_least: bool,
    ) -> Self {
        Self {
            name: name.to_string(),
            value,
            unit,
            bound,
            at_least,
            known: None,
        }
    }

    /// Another seed had this value.
    pub(super) fn worsen(&mut self, value: f64) {
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
