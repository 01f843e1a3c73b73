// SPDX-License-Identifier: GPL-2.0
//! A run looked at while it goes on.
//!
//! What is left at its end says how long messages took. Whether a queue came down again,
//! whether flows shared a link, or how a window followed its receiver is only seen by
//! looking now and then. A watch looks at regular times at groups of links and at all
//! connections that are measured.

use crate::host::EndCounts;
use crate::net::LinkId;
use crate::net::Net;
use crate::scenario::bad;
use crate::scenario::BadInput;
use crate::schedule::find;
use crate::time::in_usec;
use crate::time::Ps;
use crate::unit::Time;
use serde::Deserialize;

/// What is to be looked at, and how often.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Watch {
    /// From one look to the next.
    pub every: Time,
    /// Groups of links, each by a name with `*` for any characters.
    #[serde(default)]
    pub links: Vec<String>,
}

/// Most looks in the time that a run has: each costs memory.
const MOST_LOOKS: u64 = 1_000_000;

impl Watch {
    /// Whether that can be done in a run that ends at `limit`.
    pub fn check(&self, limit: Ps) -> Result<(), BadInput> {
        if limit
            .checked_div(self.every.0)
            .is_none_or(|looks| looks > MOST_LOOKS)
        {
            return bad(format!(
                "watch: more than {MOST_LOOKS} looks until the run is given up, see limit"
            ));
        }
        Ok(())
    }

    /// Finds the links.
    pub fn groups(&self, net: &Net) -> Result<Vec<Vec<LinkId>>, BadInput> {
        let group = |name: &String| find(net, name, false, "watch");
        self.links.iter().map(group).collect()
    }
}

/// A group of links at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Bytes of data that were to be sent on all of them so far, whether or not there was
    /// room in the queue.
    pub offered: u64,
    /// Bytes that wait at the one where most do.
    pub waiting: u64,
}

impl Group {
    fn of(links: &[LinkId], net: &Net) -> Self {
        let links = links.iter().map(|&id| &net.links[id as usize]);
        Self {
            offered: links.clone().map(|link| link.counts.offered).sum(),
            waiting: links.map(|link| link.data_bytes()).max().unwrap_or(0),
        }
    }
}

/// A connection at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Window of the sending end, in bytes.
    pub window: u64,
    /// Bytes that have arrived at the other end so far.
    pub arrived: u64,
}

impl Flow {
    /// What its ends say.
    pub fn of(sender: &EndCounts, receiver: &EndCounts) -> Self {
        Self {
            window: sender.window,
            arrived: receiver.arrived,
        }
    }
}

/// What was seen at a time.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// When.
    pub at: Ps,
    /// The groups of links, in the order of the watch.
    pub groups: Vec<Group>,
    /// The connections, in the order in which they were made.
    pub flows: Vec<Flow>,
}

impl Look {
    /// A look at a network and its connections.
    pub fn new(at: Ps, groups: &[Vec<LinkId>], net: &Net, flows: Vec<Flow>) -> Self {
        Self {
            at,
            groups: groups.iter().map(|links| Group::of(links, net)).collect(),
            flows,
        }
    }
}

/// All that was seen, one look after the other.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The looks.
    pub looks: Vec<Look>,
}

impl Seen {
    /// The first look not before half of the run, and the last one.
    fn second_half(&self) -> Option<(&Look, &Look)> {
        let last = self.looks.last()?;
        let half = self.looks.iter().find(|look| look.at >= last.at / 2)?;
        Some((half, last))
    }

    /// Jain's index of what arrived for each connection in the second half of the run.
    pub fn late_fairness(&self) -> f64 {
        let Some((half, last)) = self.second_half() else {
            return 0.0;
        };
        let arrived = (0..).zip(&last.flows).map(|(i, flow): (usize, _)| {
            let before = half.flows.get(i).map_or(0, |flow| flow.arrived);
            (flow.arrived - before) as f64
        });
        jain(&arrived.collect::<Vec<_>>())
    }

    /// What the first group of links was offered in the second half of the run, as a part
    /// of what the second group was.
    pub fn late_share(&self) -> f64 {
        let Some((half, last)) = self.second_half() else {
            return f64::INFINITY;
        };
        let offered = |group: usize| {
            let at = |look: &Look| look.groups.get(group).map_or(0, |group| group.offered);
            (at(last) - at(half)) as f64
        };
        offered(0) / offered(1)
    }

    /// How long the first group of links had a queue of more than `bytes` when that happened
    /// for the first time, in microseconds.
    pub fn crowded(&self, bytes: u64) -> f64 {
        let longer = |look: &&Look| look.groups.first().is_some_and(|g| g.waiting > bytes);
        let mut looks = self.looks.iter();
        let Some(first) = looks.find(longer) else {
            return 0.0;
        };
        let back = looks.find(|look| !longer(look));
        back.map_or(f64::INFINITY, |back| in_usec(back.at - first.at))
    }

    /// The window of the first connection over time.
    fn windows(&self) -> impl Iterator<Item = (Ps, u64)> + '_ {
        let looks = self.looks.iter();
        looks.filter_map(|look| Some((look.at, look.flows.first()?.window)))
    }

    /// How long the window of the first connection took from the largest it had been to
    /// half of that, in microseconds; infinite if it never did.
    pub fn halved(&self) -> f64 {
        let (mut most, mut most_at) = (0, 0);
        for (at, window) in self.windows() {
            most = most.max(window);
            if as_large(window, most) {
                most_at = at;
            } else if window <= most / 2 {
                return in_usec(at - most_at);
            }
        }
        f64::INFINITY
    }

    /// How long after `since` the window of the first connection was as large again as it
    /// had ever been before, in microseconds; infinite if it never was.
    pub fn restored(&self, since: Ps) -> f64 {
        let before = self.windows().filter(|(at, _)| *at < since);
        let most = before.map(|(_, window)| window).max().unwrap_or(0);
        let mut after = self.windows().filter(|(at, _)| *at >= since);
        let back = after.find(|(_, window)| as_large(*window, most));
        back.map_or(f64::INFINITY, |(at, _)| in_usec(at - since))
    }
}

/// Whether a window is that large; a hundredth, less than a packet here, does not matter.
fn as_large(window: u64, most: u64) -> bool {
    window >= most - most / 100
}

/// Jain's index of fairness: 1 if all are equal, 1/n if one of n has everything.
pub fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    if squares == 0.0 {
        return 0.0;
    }
    sum * sum / (values.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::USEC;

    /// A look each microsecond.
    fn seen(looks: impl IntoIterator<Item = Look>) -> Seen {
        let looks = (0..).zip(looks);
        Seen {
            looks: looks
                .map(|(us, look): (Ps, _)| Look {
                    at: us * USEC,
                    ..look
                })
                .collect(),
        }
    }

    fn windows(windows: &[u64]) -> Seen {
        seen(windows.iter().map(|&window| Look {
            flows: vec![Flow { window, arrived: 0 }],
            ..Look::default()
        }))
    }

    #[test]
    fn a_window_is_halved_since_it_was_largest_and_restored_to_that() {
        let seen = windows(&[400, 1000, 995, 700, 501, 500, 200, 600, 980, 995]);
        assert_eq!(seen.halved(), 3.0);
        assert_eq!(seen.restored(6 * USEC), 3.0);
        assert_eq!(windows(&[100, 51]).halved(), f64::INFINITY);
        assert_eq!(windows(&[100, 40, 98]).restored(2 * USEC), f64::INFINITY);
    }

    #[test]
    fn a_queue_is_crowded_until_it_is_back() {
        let queue = |waiting: &[u64]| {
            seen(waiting.iter().map(|&waiting| Look {
                groups: vec![Group {
                    offered: 0,
                    waiting,
                }],
                ..Look::default()
            }))
        };
        assert_eq!(queue(&[0, 10, 10]).crowded(10), 0.0);
        assert_eq!(queue(&[0, 11, 15, 10, 11, 11, 11]).crowded(10), 2.0);
        assert_eq!(queue(&[0, 11]).crowded(10), f64::INFINITY);
    }

    #[test]
    fn what_happened_before_the_second_half_does_not_count() {
        let look = |offered: [u64; 2], arrived: [u64; 2]| Look {
            groups: offered
                .map(|offered| Group {
                    offered,
                    waiting: 0,
                })
                .to_vec(),
            flows: arrived.map(|arrived| Flow { window: 0, arrived }).to_vec(),
            ..Look::default()
        };
        let seen = seen([
            look([0, 0], [0, 0]),
            look([50, 100], [90, 10]),
            look([60, 200], [100, 20]),
        ]);
        assert_eq!(seen.late_share(), 0.1);
        assert_eq!(seen.late_fairness(), 1.0);
        assert_eq!(Seen::default().late_fairness(), 0.0);
    }

    #[test]
    fn looks_are_counted_before_they_are_taken() {
        let watch = |every| Watch {
            every: Time(every),
            links: Vec::new(),
        };
        assert!(watch(USEC).check(USEC * MOST_LOOKS).is_ok());
        for every in [0, 1, USEC - 1] {
            assert!(watch(every).check(USEC * MOST_LOOKS).is_err());
        }
    }
}
