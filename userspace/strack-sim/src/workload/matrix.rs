// SPDX-License-Identifier: GPL-2.0
//! Connection matrices as text, in the format of htsim.
//!
//! ```text
//! Nodes 16
//! Connections 3
//! Triggers 1
//! 0->1 id 1 start 0 size 2000000 recv_done_trigger 1
//! 2->3 id 2 start 1000000 size 2000000 recv_done_trigger 1
//! 1->2 id 3 trigger 1 size 4096
//! trigger id 1 barrier count 2
//! ```
//!
//! Times are picoseconds and sizes are bytes. A trigger is `oneshot`, or a `barrier`
//! that waits for `count` messages. What stands behind a `#` is ignored.

use super::Message;
use super::Plan;
use super::Start;
use super::Trigger;
use crate::scenario::bad;
use crate::scenario::BadInput;
use std::collections::HashMap;
use std::collections::HashSet;
use std::fmt::Write;

/// The lines of a matrix, taken apart one after the other.
#[derive(Default)]
struct Reader {
    nodes: Option<u32>,
    connections: Option<usize>,
    triggers: Option<usize>,
    plan: Plan,
    /// Numbers of the messages.
    ids: HashSet<u64>,
    /// Triggers by their number in the file, and whether they were defined.
    numbers: HashMap<u64, (u32, bool)>,
}

/// Reads a matrix. Returns the plan and how many hosts it is for.
pub fn read(text: &str) -> Result<(Plan, u32), BadInput> {
    let mut reader = Reader::default();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("");
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        if let Err(what) = reader.line(&words) {
            return bad(format!("matrix line {number}: {what}"));
        }
    }
    reader.finish()
}

fn number<T: std::str::FromStr>(word: Option<&&str>, what: &str) -> Result<T, String> {
    let word = word.ok_or_else(|| format!("{what} is missing"))?;
    word.parse()
        .map_err(|_| format!("'{word}' is not a number for {what}"))
}

/// Takes the number of a line that stands in a matrix once.
fn once<T: std::str::FromStr>(value: &mut Option<T>, words: &[&str]) -> Result<(), String> {
    let new = number(words.get(1), words[0])?;
    match value.replace(new) {
        Some(_) => Err(format!("'{}' for the second time", words[0])),
        None => Ok(()),
    }
}

impl Reader {
    fn line(&mut self, words: &[&str]) -> Result<(), String> {
        match words[0] {
            "Nodes" => once(&mut self.nodes, words)?,
            "Connections" => once(&mut self.connections, words)?,
            "Triggers" => once(&mut self.triggers, words)?,
            "trigger" => self.trigger(&words[1..])?,
            pair if pair.contains("->") => self.message(pair, &words[1..])?,
            word => return Err(format!("'{word}' begins no line of a matrix")),
        }
        Ok(())
    }

    /// The place of a trigger in the plan.
    fn place(&mut self, number: u64) -> u32 {
        let next = self.plan.triggers.len() as u32;
        let (place, _) = *self.numbers.entry(number).or_insert((next, false));
        if place == next {
            self.plan.triggers.push(Trigger {
                needs: 1,
                starts: Vec::new(),
            });
        }
        place
    }

    fn trigger(&mut self, words: &[&str]) -> Result<(), String> {
        if words.first() != Some(&"id") {
            return Err("a trigger has an 'id'".to_string());
        }
        let id = number(words.get(1), "id")?;
        let place = self.place(id);
        let needs = match words.get(2) {
            Some(&"oneshot") => 1,
            Some(&"barrier") => {
                let at = 3 + usize::from(words.get(3) == Some(&"count"));
                number(words.get(at), "count")?
            }
            Some(word) => return Err(format!("'{word}' is no kind of trigger")),
            None => return Err("the kind of the trigger is missing".to_string()),
        };
        if needs == 0 {
            return Err("a barrier waits for at least one message".to_string());
        }
        let known = self.numbers.entry(id).or_insert((place, false));
        if known.1 {
            return Err(format!("trigger {id} is defined twice"));
        }
        known.1 = true;
        self.plan.triggers[place as usize].needs = needs;
        Ok(())
    }

    fn message(&mut self, pair: &str, words: &[&str]) -> Result<(), String> {
        let (src, dst) = pair.split_once("->").unwrap_or((pair, ""));
        let mut message = Message {
            src: number(Some(&src), "the sender")?,
            dst: number(Some(&dst), "the receiver")?,
            bytes: 0,
            start: Start::At(0),
            on_acked: None,
            on_received: None,
            class: 0,
        };
        let mut keys = HashSet::new();
        for pair in words.chunks(2) {
            let (key, value) = (pair[0], pair.get(1));
            // Either of these says when it starts.
            let meaning = if key == "trigger" { "start" } else { key };
            if !keys.insert(meaning) {
                return Err(format!("a second '{meaning}' of a connection"));
            }
            match key {
                "start" => message.start = Start::At(number(value, key)?),
                "size" => message.bytes = number(value, key)?,
                "trigger" => message.start = Start::On(self.place(number(value, key)?)),
                "send_done_trigger" => {
                    message.on_acked = Some(self.place(number(value, key)?));
                }
                "recv_done_trigger" => {
                    message.on_received = Some(self.place(number(value, key)?));
                }
                "id" => {
                    let id = number(value, key)?;
                    if !self.ids.insert(id) {
                        return Err(format!("a second connection {id}"));
                    }
                }
                // Without a meaning here: all have the same priority.
                "prio" => drop(number::<u64>(value, key)?),
                _ => return Err(format!("'{key}' is no property of a connection")),
            }
        }
        if message.bytes == 0 {
            return Err("a connection has a size above zero".to_string());
        }
        if message.src == message.dst {
            return Err(format!("host {} sends to itself", message.src));
        }
        if let Start::On(trigger) = message.start {
            let number = self.plan.messages.len() as u32;
            self.plan.triggers[trigger as usize].starts.push(number);
        }
        self.plan.messages.push(message);
        Ok(())
    }

    fn finish(self) -> Result<(Plan, u32), BadInput> {
        let Some(nodes) = self.nodes else {
            return bad("matrix: no line 'Nodes N'".to_string());
        };
        let plan = self.plan;
        if let Some(said) = self.connections.filter(|&n| n != plan.messages.len()) {
            let there = plan.messages.len();
            return bad(format!(
                "matrix: {said} connections announced, {there} there"
            ));
        }
        if let Some((id, _)) = self.numbers.iter().find(|(_, (_, defined))| !defined) {
            return bad(format!("matrix: trigger {id} is used and not defined"));
        }
        if let Some(said) = self.triggers.filter(|&n| n != plan.triggers.len()) {
            let there = plan.triggers.len();
            return bad(format!("matrix: {said} triggers announced, {there} there"));
        }
        for message in &plan.messages {
            let host = message.src.max(message.dst);
            if host >= nodes {
                return bad(format!(
                    "matrix: host {host} of {nodes} (0 to {})",
                    nodes - 1
                ));
            }
        }
        Ok((plan, nodes))
    }
}

/// Writes a matrix.
pub fn write(plan: &Plan, nodes: u32) -> String {
    let mut text = format!("Nodes {nodes}\nConnections {}\n", plan.messages.len());
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    if !plan.triggers.is_empty() {
        line(format!("Triggers {}", plan.triggers.len()));
    }
    for (id, message) in (1..).zip(&plan.messages) {
        let start = match message.start {
            Start::At(at) => format!("start {at}"),
            Start::On(trigger) => format!("trigger {}", trigger + 1),
        };
        let mut words = format!(
            "{}->{} id {id} {start} size {}",
            message.src, message.dst, message.bytes
        );
        let done = [
            ("send_done_trigger", message.on_acked),
            ("recv_done_trigger", message.on_received),
        ];
        for (name, trigger) in done {
            if let Some(trigger) = trigger {
                let _ = write!(words, " {name} {}", trigger + 1);
            }
        }
        line(words);
    }
    for (id, trigger) in (1..).zip(&plan.triggers) {
        line(match trigger.needs {
            1 => format!("trigger id {id} oneshot"),
            needs => format!("trigger id {id} barrier count {needs}"),
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Nodes 16
Connections 3
Triggers 1
0->1 id 1 start 0 size 2000000 recv_done_trigger 1
2->3 id 2 start 1000000 size 2000000 recv_done_trigger 1
1->2 id 3 trigger 1 size 4096
trigger id 1 barrier count 2
";

    #[test]
    fn what_is_read_is_written() {
        let (plan, nodes) = read(TEXT).unwrap();
        assert_eq!(nodes, 16);
        assert_eq!(plan.triggers[0].starts, [2]);
        assert_eq!(plan.messages[1].start, Start::At(1_000_000));
        assert_eq!(write(&plan, nodes), TEXT);
    }

    #[test]
    fn faults_are_named_with_their_line() {
        let cases = [
            ("0->1 id 1", "0->0 id 1", "line 4: host 0 sends to itself"),
            (
                "size 4096",
                "size x",
                "line 6: 'x' is not a number for size",
            ),
            (
                "size 4096",
                "",
                "line 6: a connection has a size above zero",
            ),
            ("2->3", "2->16", "host 16 of 16"),
            (
                "Connections 3",
                "Connections 4",
                "4 connections announced, 3",
            ),
            ("trigger id 1 barrier count 2\n", "", "trigger 1 is used"),
            ("barrier", "sometimes", "'sometimes' is no kind of trigger"),
            ("Nodes 16\n", "", "no line 'Nodes N'"),
            ("id 3", "color 3", "'color' is no property"),
            ("id 3", "id 2", "line 6: a second connection 2"),
            ("Triggers 1", "Nodes 8", "'Nodes' for the second time"),
            ("start 0", "start 0 start 1", "line 4: a second 'start'"),
            ("start 0", "start 0 trigger 1", "line 4: a second 'start'"),
        ];
        for (from, to, message) in cases {
            let error = read(&TEXT.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
