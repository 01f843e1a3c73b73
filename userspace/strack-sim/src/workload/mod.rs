// SPDX-License-Identifier: GPL-2.0
//! Who sends what to whom, and when.
//!
//! A workload is a list of messages. Each starts at a time, or when a trigger fires;
//! a trigger fires when so many messages were sent or received. Collective
//! operations are long chains of these. It is the model of htsim's connection
//! matrices, and [`matrix`] reads and writes those.

pub mod matrix;
pub mod pattern;
pub mod sizes;

use crate::scenario::bad;
use crate::scenario::BadInput;
use crate::time::Ps;

/// Most bytes of all messages together: numbers of packets are kept for each.
const MOST_BYTES: u128 = 1_000_000_000_000;

/// When a message starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At a time.
    At(Ps),
    /// When a trigger fires, by its place in the plan.
    On(u32),
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Host that sends it.
    pub src: u32,
    /// Host that receives it.
    pub dst: u32,
    /// Its length.
    pub bytes: u64,
    /// When it starts.
    pub start: Start,
    /// Trigger that counts it when all of it is acknowledged.
    pub on_acked: Option<u32>,
    /// Trigger that counts it when all of it has arrived.
    pub on_received: Option<u32>,
    /// Which traffic of the scenario it belongs to: 0 is what is measured, others are
    /// its background.
    pub class: u8,
}

/// Starts messages when enough others are done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trigger {
    /// How many messages have to be done.
    pub needs: u32,
    /// The messages to start.
    pub starts: Vec<u32>,
}

impl Trigger {
    /// A message is done for which `needs` waits. Says whether it was the last of them; who is
    /// done after that changes nothing.
    pub fn count(needs: &mut u32) -> bool {
        let last = *needs == 1;
        *needs = needs.saturating_sub(1);
        last
    }
}

/// A whole workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// All messages.
    pub messages: Vec<Message>,
    /// All triggers.
    pub triggers: Vec<Trigger>,
}

impl Plan {
    /// Adds a message that starts at a time.
    pub fn at(&mut self, start: Ps, src: u32, dst: u32, bytes: u64) -> u32 {
        self.messages.push(Message {
            src,
            dst,
            bytes,
            start: Start::At(start),
            on_acked: None,
            on_received: None,
            class: 0,
        });
        (self.messages.len() - 1) as u32
    }

    /// Whether all messages can be sent, begin before `limit`, and are not too long.
    pub fn check(&self, limit: Ps) -> Result<(), BadInput> {
        let bytes = self
            .messages
            .iter()
            .map(|message| u128::from(message.bytes));
        if bytes.sum::<u128>() > MOST_BYTES {
            return bad("workload: more than 1 TB".to_string());
        }
        let late = |message: &Message| matches!(message.start, Start::At(at) if at >= limit);
        if self.messages.iter().any(late) {
            return bad("workload: a message begins when the run is over, see limit".to_string());
        }
        let never = self.messages.len() - self.sendable();
        if never > 0 {
            return bad(format!(
                "workload: nothing ever starts {never} of the messages"
            ));
        }
        Ok(())
    }

    /// How many messages are sent if each one that is arrives.
    fn sendable(&self) -> usize {
        let mut needs: Vec<u32> = self.triggers.iter().map(|one| one.needs).collect();
        let at_times = (0_u32..).zip(&self.messages);
        let at_times = at_times.filter(|(_, message)| matches!(message.start, Start::At(_)));
        let mut sent: Vec<u32> = at_times.map(|(number, _)| number).collect();
        let mut done = 0;
        while let Some(number) = sent.pop() {
            done += 1;
            let message = &self.messages[number as usize];
            for trigger in [message.on_acked, message.on_received]
                .into_iter()
                .flatten()
            {
                let trigger = trigger as usize;
                if Trigger::count(&mut needs[trigger]) {
                    sent.extend_from_slice(&self.triggers[trigger].starts);
                }
            }
        }
        done
    }

    /// Gives hosts other numbers.
    pub fn rename(&mut self, number: impl Fn(u32) -> u32) {
        for message in &mut self.messages {
            message.src = number(message.src);
            message.dst = number(message.dst);
        }
    }

    /// Adds all of another plan as traffic of a class.
    pub fn append(&mut self, other: Self, class: u8) {
        let (messages, triggers) = (self.messages.len() as u32, self.triggers.len() as u32);
        self.messages
            .extend(other.messages.into_iter().map(|message| Message {
                start: match message.start {
                    Start::At(at) => Start::At(at),
                    Start::On(trigger) => Start::On(trigger + triggers),
                },
                on_acked: message.on_acked.map(|trigger| trigger + triggers),
                on_received: message.on_received.map(|trigger| trigger + triggers),
                class,
                ..message
            }));
        self.triggers
            .extend(other.triggers.into_iter().map(|trigger| {
                Trigger {
                    starts: trigger
                        .starts
                        .iter()
                        .map(|start| start + messages)
                        .collect(),
                    ..trigger
                }
            }));
    }

    /// Adds a message that starts when all of `others`, which no trigger counts yet,
    /// have arrived.
    pub fn after(&mut self, others: &[u32], src: u32, dst: u32, bytes: u64) -> u32 {
        let trigger = self.triggers.len() as u32;
        for &other in others {
            let old = &mut self.messages[other as usize].on_received;
            debug_assert!(old.is_none());
            *old = Some(trigger);
        }
        let message = self.messages.len() as u32;
        self.messages.push(Message {
            src,
            dst,
            bytes,
            start: Start::On(trigger),
            on_acked: None,
            on_received: None,
            class: 0,
        });
        self.triggers.push(Trigger {
            needs: others.len() as u32,
            starts: vec![message],
        });
        message
    }
}
