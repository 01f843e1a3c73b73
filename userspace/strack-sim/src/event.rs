// SPDX-License-Identifier: GPL-2.0
//! What is going to happen, in order of time.
//!
//! Events at the same time happen in the order in which they were scheduled. That
//! makes a run depend on nothing but its scenario.

use crate::net::LinkId;
use crate::net::PacketId;
use crate::time::Ps;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// One end of a connection: twice its number, plus one for the receiving end.
pub type EndId = u32;

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet has come out of a link.
    Arrive(LinkId, PacketId),
    /// A link can take its next packet.
    Free(LinkId),
    /// A switch tells the sender on a link to stop or to go on.
    Pause(LinkId, bool),
    /// A connection's timer.
    Wake(EndId),
    /// A message is to be sent.
    Post(u32),
    /// A link changes as the schedule says.
    Change(u32),
    /// It is time for another look.
    Look,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    at: Ps,
    serial: u64,
    event: Event,
}

impl Ord for Entry {
    /// The earliest entry is the greatest, for that is what a heap yields.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.serial).cmp(&(self.at, self.serial))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// All events to come, and the time.
#[derive(Debug, Default)]
pub struct Events {
    heap: BinaryHeap<Entry>,
    now: Ps,
    serial: u64,
    handled: u64,
}

impl Events {
    /// The time of the event that is being handled.
    pub fn now(&self) -> Ps {
        self.now
    }

    /// How many events there were.
    pub fn handled(&self) -> u64 {
        self.handled
    }

    /// Schedules an event; the past is now.
    pub fn at(&mut self, at: Ps, event: Event) {
        self.serial += 1;
        self.heap.push(Entry {
            at: at.max(self.now),
            serial: self.serial,
            event,
        });
    }

    /// The next event not later than `limit`. Time moves to it.
    pub fn next(&mut self, limit: Ps) -> Option<Event> {
        if self.heap.peek()?.at > limit {
            return None;
        }
        let entry = self.heap.pop()?;
        self.now = entry.at;
        self.handled += 1;
        Some(entry.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_then_order_of_scheduling() {
        let mut events = Events::default();
        for (at, name) in [(5, 1), (3, 2), (5, 3), (3, 4)] {
            events.at(at, Event::Post(name));
        }
        let mut order = Vec::new();
        while let Some(Event::Post(name)) = events.next(4) {
            order.push((events.now(), name));
        }
        assert_eq!(order, [(3, 2), (3, 4)]);
        // What would be in the past happens now.
        events.at(1, Event::Post(5));
        assert_eq!(events.next(9), Some(Event::Post(5)));
        assert_eq!(events.now(), 3);
        assert_eq!(events.next(9), Some(Event::Post(1)));
        assert_eq!(events.next(9), Some(Event::Post(3)));
        assert_eq!(events.next(9), None);
    }
}
