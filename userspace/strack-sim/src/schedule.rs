// SPDX-License-Identifier: GPL-2.0
//! What happens to links while a run goes on: slowed down, damaged, dead, repaired.
//!
//! Routing does not follow: the point is what transports make of it until it does.

use crate::net::LinkId;
use crate::net::Net;
use crate::scenario::bad;
use crate::scenario::BadInput;
use crate::time::Ps;
use crate::unit::Rate;
use crate::unit::Time;
use serde::Deserialize;

/// One change of some links.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Change {
    /// When.
    #[serde(default = "beginning")]
    pub at: Time,
    /// Names of the links, with `*` for any characters: `tor*:spine0`.
    pub link: String,
    /// Whether it happens to the opposite direction, too.
    #[serde(default = "both")]
    pub both: bool,
    /// New rate.
    pub rate: Option<Rate>,
    /// New delay.
    pub delay: Option<Time>,
    /// New probability of losing a packet.
    pub loss: Option<f64>,
    /// Whether anything comes out.
    pub up: Option<bool>,
}

fn beginning() -> Time {
    Time(0)
}

fn both() -> bool {
    true
}

/// Whether `name` is what `pattern` describes.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(rest) = name.strip_prefix(head) else {
        return false;
    };
    (0..=rest.len()).any(|skip| rest.is_char_boundary(skip) && matches(tail, &rest[skip..]))
}

/// The links whose names are what `pattern` describes, with `both` also the opposite ones.
/// `who` wants to know that.
pub fn find(net: &Net, pattern: &str, both: bool, who: &str) -> Result<Vec<LinkId>, BadInput> {
    let links: Vec<LinkId> = (0..)
        .zip(&net.names)
        .filter(|(_, name)| {
            let (from, to) = name.split_once(':').unwrap_or((name, ""));
            let opposite = format!("{to}:{from}");
            matches(pattern, name) || both && matches(pattern, &opposite)
        })
        .map(|(id, _)| id)
        .collect();
    if links.is_empty() {
        return bad(format!(
            "{who}: no link is called '{pattern}'; names are like '{}'",
            net.names.last().map_or("", String::as_str)
        ));
    }
    Ok(links)
}

/// All changes with the links they concern.
#[derive(Debug, Default)]
pub struct Schedule {
    changes: Vec<(Change, Vec<LinkId>)>,
}

impl Schedule {
    /// Checks what is wanted and finds the links.
    pub fn new(changes: &[Change], net: &Net) -> Result<Self, BadInput> {
        let mut schedule = Self::default();
        for change in changes {
            if change.rate == Some(Rate(0)) {
                return bad(
                    "schedule: a link of rate zero carries nothing; 'up = false' cuts it".into(),
                );
            }
            if change.loss.is_some_and(|loss| !(0.0..=1.0).contains(&loss)) {
                return bad(format!(
                    "schedule: no loss of {}",
                    change.loss.unwrap_or(0.0)
                ));
            }
            let nothing = change.rate.is_none()
                && change.delay.is_none()
                && change.loss.is_none()
                && change.up.is_none();
            if nothing {
                return bad(format!("schedule: nothing changes at '{}'", change.link));
            }
            let links = find(net, &change.link, change.both, "schedule")?;
            schedule.changes.push((change.clone(), links));
        }
        Ok(schedule)
    }

    /// When each change happens.
    pub fn times(&self) -> impl Iterator<Item = Ps> + '_ {
        self.changes.iter().map(|(change, _)| change.at.0)
    }

    /// A change happens.
    pub fn apply(&self, number: u32, net: &mut Net) {
        let (change, links) = &self.changes[number as usize];
        for &id in links {
            let link = &mut net.links[id as usize];
            link.rate = change.rate.map_or(link.rate, |rate| rate.0);
            link.delay = change.delay.map_or(link.delay, |delay| delay.0);
            link.loss = change.loss.unwrap_or(link.loss);
            link.up = change.up.unwrap_or(link.up);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stand_for_anything() {
        assert!(matches("tor*:spine0", "tor12:spine0"));
        assert!(!matches("tor*:spine0", "tor12:spine01"));
        assert!(matches("*", "a:b"));
        assert!(matches("agg1:core*", "agg1:core"));
        assert!(!matches("tor1:spine0", "tor12:spine0"));
    }
}
