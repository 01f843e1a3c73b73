// SPDX-License-Identifier: GPL-2.0
//! What is to be simulated.
//!
//! A scenario is a TOML document; everything in it has a default. The command line
//! changes single values of it, and the defaults follow: queue sizes and windows are
//! derived from the fabric unless they are given.

mod queue;
mod transport;
mod workload;

pub use self::queue::Marking;
pub use self::queue::Queue;
pub use self::transport::Kind;
pub use self::transport::Transport;
pub use self::workload::Pattern;
pub use self::workload::Workload;

use crate::random::Random;
use crate::random::Stream;
use crate::schedule::Change;
use crate::topology::Topology;
use crate::unit::Time;
use crate::watch::Watch;
use crate::workload::Plan;
use serde::Deserialize;
use std::fmt;

/// What the user asked for makes no sense; one line says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadInput(pub String);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// An error about input.
pub fn bad<T>(what: String) -> Result<T, BadInput> {
    Err(BadInput(what))
}

/// Everything about one run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Scenario {
    /// Seed of everything random.
    pub seed: u64,
    /// When to give up.
    pub limit: Time,
    /// Hosts, switches and cables.
    pub topology: Topology,
    /// What switches do with packets.
    pub queue: Queue,
    /// How hosts talk.
    pub transport: Transport,
    /// What they say.
    pub workload: Workload,
    /// What else goes on in the network.
    pub background: Vec<Background>,
    /// What happens to links.
    pub schedule: Vec<Change>,
    /// Go on until the background is done, too.
    pub wait_for_background: bool,
    /// What is looked at meanwhile.
    pub watch: Option<Watch>,
}

/// Traffic beside that which is measured.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Background {
    /// How its hosts talk.
    pub transport: Transport,
    /// What they say.
    pub workload: Workload,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            seed: 1,
            limit: Time(10 * crate::time::SEC),
            topology: Topology::default(),
            queue: Queue::default(),
            transport: Transport::default(),
            workload: Workload::default(),
            background: Vec::new(),
            schedule: Vec::new(),
            wait_for_background: false,
            watch: None,
        }
    }
}

impl Scenario {
    /// All messages, those of the background behind the others.
    pub fn plan(&self) -> Result<Plan, BadInput> {
        let mut random = Random::new(self.seed, Stream::Workload);
        let mut plan = self.workload.plan(&self.topology, &mut random)?;
        for (class, background) in (1..).zip(&self.background) {
            let other = background.workload.plan(&self.topology, &mut random)?;
            plan.append(other, class);
        }
        if plan.messages.iter().all(|message| message.class != 0) {
            return bad("workload: no messages in the time there is".to_string());
        }
        plan.check(self.limit.0)?;
        Ok(plan)
    }

    /// What each part cannot know by itself.
    pub fn check(&self) -> Result<(), BadInput> {
        if self.limit.0 == 0 {
            return bad("limit: a run without any time".to_string());
        }
        if self.wait_for_background && self.background.is_empty() {
            return bad("wait-for-background: there is no background".to_string());
        }
        if let Some(watch) = &self.watch {
            watch.check(self.limit.0)?;
        }
        let late = self.schedule.iter().find(|change| change.at >= self.limit);
        if let Some(change) = late {
            return bad(format!(
                "schedule: '{}' changes when the run is over, see limit",
                change.link
            ));
        }
        let background = self.background.iter().map(|other| &other.transport);
        let largest = background.chain([&self.transport]).map(|one| one.mtu).max();
        let rules = self.queue.rules(&self.topology)?;
        if rules.capacity < largest.unwrap_or(0).into() {
            return bad(format!(
                "queue: a capacity of {} bytes takes no full packet",
                rules.capacity
            ));
        }
        Ok(())
    }
}

impl Scenario {
    /// Reads a scenario from TOML, with single values replaced: `key.key=value`.
    pub fn read(text: &str, changes: &[String]) -> Result<Self, BadInput> {
        let mut table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| BadInput(one_line(&error)))?;
        for change in changes {
            apply(&mut table, change)?;
        }
        Self::from_table(table)
    }

    /// The scenario in a table.
    pub fn from_table(table: toml::Table) -> Result<Self, BadInput> {
        table
            .try_into()
            .map_err(|error: toml::de::Error| BadInput(one_line(&error)))
    }
}

/// What a TOML error says, on one line.
fn one_line(error: &toml::de::Error) -> String {
    error
        .message()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Replaces one value of a table.
pub fn apply(table: &mut toml::Table, change: &str) -> Result<(), BadInput> {
    let Some((path, value)) = change.split_once('=') else {
        return bad(format!("'{change}' is not 'key=value'"));
    };
    // Whatever is not a number, a boolean or the like is a string.
    let value = format!("value = {value}")
        .parse::<toml::Table>()
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_string()));
    let mut keys: Vec<&str> = path.split('.').collect();
    let last = keys.pop().unwrap_or_default();
    let mut inner = table;
    for key in keys {
        let next = inner
            .entry(key)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
        let Some(next) = next.as_table_mut() else {
            return bad(format!("'{path}': {key} has no parts"));
        };
        inner = next;
    }
    inner.insert(last.to_string(), value);
    Ok(())
}
