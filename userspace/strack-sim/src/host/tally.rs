// SPDX-License-Identifier: GPL-2.0
//! Packets that are done in any order, of the transports written for comparison.
//!
//! To a receiver done means arrived, to a sender acknowledged. A message is done with all
//! packets up to its end, which is what the simulator is told.

use super::stream::Stream;
use super::Notice;

/// All packets of a connection so far, and which of them are done.
#[derive(Debug)]
pub struct Tally {
    stream: Stream,
    done: Vec<bool>,
    /// All before this one are.
    next: u32,
    /// Payload of those that are done.
    bytes: u64,
    notice: fn(u32) -> Notice,
    notices: Vec<Notice>,
}

impl Tally {
    /// No packets yet, `mss` bytes in a full one. `notice` says what it means for a message to
    /// be done.
    pub fn new(mss: u32, notice: fn(u32) -> Notice) -> Self {
        Self {
            stream: Stream::new(mss),
            done: Vec::new(),
            next: 0,
            bytes: 0,
            notice,
            notices: Vec::new(),
        }
    }

    /// Adds a message.
    pub fn post(&mut self, message: u32, bytes: u64) {
        self.stream.post(message, bytes);
        self.done.resize(self.stream.len() as usize, false);
    }

    /// The packets.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether a packet is done.
    pub fn is_done(&self, number: u32) -> bool {
        self.done[number as usize]
    }

    /// How many packets before this one are not known to be done, at most.
    pub fn ahead(&self, number: u32) -> u32 {
        number.saturating_sub(self.next)
    }

    /// A packet is done. Says whether that is news.
    pub fn set_done(&mut self, number: u32) -> bool {
        if std::mem::replace(&mut self.done[number as usize], true) {
            return false;
        }
        self.bytes += u64::from(self.stream.payload(number));
        while self.done.get(self.next as usize) == Some(&true) {
            self.next += 1;
        }
        self.stream.done(self.next, &mut self.notices, self.notice);
        true
    }

    /// Payload of the packets that are done.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends what has become of messages since the last call.
    pub fn notices(&mut self, out: &mut Vec<Notice>) {
        out.append(&mut self.notices);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_done_with_all_packets_up_to_its_end() {
        let mut tally = Tally::new(1000, Notice::Received);
        tally.post(7, 2500);
        tally.post(8, 1);
        let mut notices = Vec::new();
        for (number, news) in [(3, true), (0, true), (2, true), (2, false)] {
            assert_eq!(tally.set_done(number), news);
            tally.notices(&mut notices);
            assert!(notices.is_empty());
        }
        assert_eq!(tally.ahead(3), 2);
        assert_eq!(tally.bytes(), 1501);
        assert!(tally.set_done(1));
        tally.notices(&mut notices);
        assert_eq!(notices, [Notice::Received(7), Notice::Received(8)]);
    }
}
