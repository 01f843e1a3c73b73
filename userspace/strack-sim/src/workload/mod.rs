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

use crate::time::Ps;

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
