// SPDX-License-Identifier: GPL-2.0
//! Messages as numbered packets, for the transports written for comparison.
//!
//! Packets are numbered from 0; each is full but for the last one of a message. Both
//! ends are told of all messages, and so both know how long each packet is and where
//! messages end.

use super::Notice;
use std::collections::VecDeque;

/// All packets of a connection so far.
#[derive(Debug)]
pub struct Stream {
    mss: u32,
    lengths: Vec<u16>,
    /// Messages that are not done: number and the first packet behind it.
    waiting: VecDeque<(u32, u32)>,
}

impl Stream {
    /// No packets yet, `mss` bytes in a full one.
    pub fn new(mss: u32) -> Self {
        Self {
            mss,
            lengths: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Adds a message.
    pub fn post(&mut self, message: u32, bytes: u64) {
        let mut left = bytes;
        while left > 0 {
            let len = left.min(u64::from(self.mss));
            self.lengths.push(len as u16);
            left -= len;
        }
        self.waiting.push_back((message, self.len()));
    }

    /// Number of packets.
    pub fn len(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// Whether there are no packets.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Payload of a packet.
    pub fn payload(&self, number: u32) -> u32 {
        self.lengths
            .get(number as usize)
            .map_or(0, |&len| len.into())
    }

    /// Whether a message ends with this packet.
    pub fn ends_message(&self, number: u32) -> bool {
        self.waiting.iter().any(|&(_, end)| end == number + 1)
    }

    /// All packets before `next` are done: says which messages that completes.
    pub fn done(&mut self, next: u32, notices: &mut Vec<Notice>, notice: fn(u32) -> Notice) {
        while let Some(&(message, _)) = self.waiting.front().filter(|(_, end)| *end <= next) {
            self.waiting.pop_front();
            notices.push(notice(message));
        }
    }
}
