// SPDX-License-Identifier: GPL-2.0
//! What came out of a run.

use crate::event::Events;
use crate::host::EndCounts;
use crate::net::LinkCounts;
use crate::net::Net;
use crate::time::in_usec;
use crate::time::Ps;
use crate::time::SEC;
use crate::watch::jain;
use crate::watch::Seen;
use crate::workload::Plan;
use std::collections::BTreeMap;

/// Results of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The class of each message; 0 is what is measured.
    pub classes: Vec<u8>,
    /// Bytes of each message.
    pub bytes: Vec<u64>,
    /// How long each message took to be acknowledged; none for those that were not.
    pub completion: Vec<Option<Ps>>,
    /// How long each message took to arrive.
    pub arrival: Vec<Option<Ps>>,
    /// When the last message was acknowledged.
    pub end: Ps,
    /// Connections that failed.
    pub failed: u64,
    /// Counts of all connections together.
    pub ends: EndCounts,
    /// Counters of the protocol, of all connections together.
    pub counters: BTreeMap<&'static str, u64>,
    /// Counts of each link.
    pub links: Vec<LinkCounts>,
    /// Names of the links.
    pub names: Vec<String>,
    /// What was seen on the way, if anybody looked.
    pub seen: Seen,
    /// When the run ended.
    pub stopped: Ps,
    /// Events handled.
    pub events: u64,
}

impl Outcome {
    /// No results yet.
    pub fn new(plan: &Plan) -> Self {
        let messages = plan.messages.len();
        Self {
            classes: plan.messages.iter().map(|message| message.class).collect(),
            bytes: plan.messages.iter().map(|message| message.bytes).collect(),
            completion: vec![None; messages],
            arrival: vec![None; messages],
            ..Self::default()
        }
    }

    /// All of a message has arrived.
    pub fn received(&mut self, message: u32, took: Ps) {
        self.arrival[message as usize] = Some(took);
    }

    /// All of a message is acknowledged.
    pub fn acked(&mut self, message: u32, took: Ps, now: Ps) {
        self.completion[message as usize] = Some(took);
        if self.classes[message as usize] == 0 {
            self.end = self.end.max(now);
        }
    }

    /// Collects what the others have counted.
    pub fn finish(&mut self, events: &Events, net: &Net, ends: impl Iterator<Item = EndCounts>) {
        for counts in ends {
            self.ends.add(&counts);
        }
        self.links = net.links.iter().map(|link| link.counts).collect();
        self.names = net.names.clone();
        self.stopped = events.now();
        self.events = events.handled();
    }

    /// How long each message of a class took.
    fn class(&self, class: u8) -> impl Iterator<Item = Option<Ps>> + '_ {
        let all = self.classes.iter().zip(&self.completion);
        all.filter(move |(of, _)| **of == class)
            .map(|(_, took)| *took)
    }

    /// How many of the messages that are measured were not acknowledged.
    pub fn unfinished(&self) -> usize {
        self.class(0).filter(Option::is_none).count()
    }

    /// Completion times of the messages of a class that were acknowledged, in order of
    /// size.
    pub fn times(&self, class: u8) -> Times {
        let mut sorted: Vec<Ps> = self.class(class).flatten().collect();
        sorted.sort_unstable();
        Times(sorted)
    }

    /// Jain's index of the speeds of the measured messages: 1 if all took as long, for
    /// messages of one size.
    pub fn fairness(&self) -> f64 {
        let speeds: Vec<f64> = self
            .class(0)
            .map(|took| took.map_or(0.0, |took| 1.0 / took.max(1) as f64))
            .collect();
        jain(&speeds)
    }

    /// The speed of the slowest of the measured messages, in bits per second.
    pub fn slowest(&self) -> f64 {
        let messages = self.bytes.iter().zip(&self.classes).zip(&self.completion);
        let measured = messages.filter(|((_, class), _)| **class == 0);
        let speed = |took: Ps, bytes: u64| bytes as f64 * 8.0 * SEC as f64 / took.max(1) as f64;
        measured
            .map(|((&bytes, _), took)| took.map_or(0.0, |took| speed(took, bytes)))
            .fold(f64::INFINITY, f64::min)
    }

    /// Bytes sent on each of the links whose names begin with this.
    pub fn loads(&self, begins: &str) -> Vec<f64> {
        let links = self.names.iter().zip(&self.links);
        links
            .filter(|(name, _)| name.starts_with(begins))
            .map(|(_, link)| link.bytes as f64)
            .collect()
    }

    /// One count of all links together.
    pub fn total(&self, count: impl Fn(&LinkCounts) -> u64) -> u64 {
        self.links.iter().map(count).sum()
    }
}

/// Completion times in order of size.
#[derive(Clone, Debug)]
pub struct Times(Vec<Ps>);

impl Times {
    /// The time within which `part` of all messages were done, in microseconds.
    pub fn quantile(&self, part: f64) -> f64 {
        let rank = (part * self.0.len() as f64).ceil() as usize;
        let index = rank.saturating_sub(1).min(self.0.len().saturating_sub(1));
        self.0.get(index).map_or(0.0, |&time| in_usec(time))
    }

    /// The longest time in microseconds.
    pub fn max(&self) -> f64 {
        self.quantile(1.0)
    }

    /// The mean time in microseconds.
    pub fn mean(&self) -> f64 {
        let sum: f64 = self.0.iter().map(|&time| in_usec(time)).sum();
        sum / self.0.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_jains() {
        let mut outcome = Outcome {
            classes: vec![0; 4],
            completion: vec![Some(5); 4],
            ..Outcome::default()
        };
        assert_eq!(outcome.fairness(), 1.0);
        // One of four has everything.
        outcome.completion = vec![Some(5), None, None, None];
        assert_eq!(outcome.fairness(), 0.25);
    }

    #[test]
    fn the_slowest_message_is_measured_whatever_its_size() {
        let outcome = Outcome {
            classes: vec![0, 0, 1],
            bytes: vec![1000, 10, 1],
            completion: vec![Some(1_000_000), Some(10_000), Some(1_000_000)],
            ..Outcome::default()
        };
        assert_eq!(outcome.slowest(), 8e9);
        let never = Outcome {
            completion: vec![None; 3],
            ..outcome
        };
        assert_eq!(never.slowest(), 0.0);
    }

    #[test]
    fn quantiles_are_of_the_times_that_there_are() {
        let times = Times((1..=100).map(|us| us * 1_000_000).collect());
        assert_eq!(times.quantile(0.5), 50.0);
        assert_eq!(times.quantile(0.99), 99.0);
        assert_eq!(times.max(), 100.0);
        assert_eq!(times.mean(), 50.5);
        assert_eq!(Times(Vec::new()).max(), 0.0);
    }
}
