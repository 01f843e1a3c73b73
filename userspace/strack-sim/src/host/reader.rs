// SPDX-License-Identifier: GPL-2.0
//! An application that does not read as fast as its network delivers.
//!
//! It takes one packet after the other, each for as long as its bytes take at the
//! reader's rate, and what it has not taken fills the receive buffer. From some time on
//! it may be fast again: then what waits is read at once.

use crate::time::Ps;
use crate::time::SEC;
use std::collections::VecDeque;
use strack_proto::psn::Psn;

/// How an application reads.
#[derive(Clone, Copy, Debug)]
pub struct Habit {
    /// Bits per second while it is slow.
    pub rate: u64,
    /// When it is fast again.
    pub until: Ps,
}

/// The application at the end of a connection.
#[derive(Debug)]
pub struct Reader {
    habit: Habit,
    /// Lengths of the packets that are not read, whether or not they have arrived.
    lengths: VecDeque<u16>,
    /// The packet to be read next, and when that will be done if it has begun.
    next: Psn,
    done_at: Option<Ps>,
}

impl Reader {
    /// A reader of the packets from `isn` on.
    pub fn new(habit: Habit, isn: Psn) -> Self {
        Self {
            habit,
            lengths: VecDeque::new(),
            next: isn,
            done_at: None,
        }
    }

    /// A message will come in packets of at most `mss` bytes.
    pub fn expect(&mut self, bytes: u64, mss: u16) {
        let mut left = bytes;
        while left > 0 {
            let len = left.min(u64::from(mss)) as u16;
            self.lengths.push_back(len);
            left -= u64::from(len);
        }
    }

    /// Reads on, when everything before `arrived` is there. Returns the first packet
    /// that is not read and how many bytes were read.
    pub fn read(&mut self, now: Ps, arrived: Psn) -> (Psn, u64) {
        let mut bytes = 0;
        while let Some(&len) = self.lengths.front() {
            if self.done_at.is_none() {
                if !self.next.lt(arrived) {
                    break;
                }
                self.done_at = Some(now + self.takes(now, len));
            }
            if self.done_at.is_some_and(|at| at > now) {
                break;
            }
            self.done_at = None;
            self.next = self.next.next();
            self.lengths.pop_front();
            bytes += u64::from(len);
        }
        (self.next, bytes)
    }

    /// How long a packet takes that is begun now.
    fn takes(&self, now: Ps, len: u16) -> Ps {
        if now >= self.habit.until {
            return 0;
        }
        (u128::from(len) * 8 * u128::from(SEC) / u128::from(self.habit.rate)) as Ps
    }

    /// When [`Self::read`] has something to do again.
    pub fn deadline(&self) -> Option<Ps> {
        self.done_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::USEC;

    #[test]
    fn packets_take_their_time_until_the_reader_is_fast() {
        let habit = Habit {
            rate: 8_000_000_000,
            until: 3 * USEC,
        };
        let first = Psn::new(7);
        let mut reader = Reader::new(habit, first);
        reader.expect(4500, 1000);
        // Nothing is there.
        assert_eq!(reader.read(0, first), (first, 0));
        assert_eq!(reader.deadline(), None);
        // A thousand bytes at a gigabyte per second.
        assert_eq!(reader.read(0, first.add(5)), (first, 0));
        assert_eq!(reader.deadline(), Some(USEC));
        assert_eq!(reader.read(USEC, first.add(5)), (first.add(1), 1000));
        assert_eq!(reader.deadline(), Some(2 * USEC));
        assert_eq!(reader.read(2 * USEC, first.add(5)), (first.add(2), 1000));
        // The third is begun slowly, and the rest is read at once.
        assert_eq!(reader.read(3 * USEC, first.add(5)), (first.add(5), 2500));
        assert_eq!(reader.deadline(), None);
    }
}
