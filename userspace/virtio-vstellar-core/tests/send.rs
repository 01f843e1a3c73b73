// SPDX-License-Identifier: GPL-2.0

//! Send queues against what the device makes of their entries.

use proptest::prelude::*;
use std::collections::VecDeque;
use virtio_vstellar_core::{
    send::{SendQueue, DEPTH, ENTRY_MAX},
    Broken,
};
use vstellar_core::work::{SendEntry, SendOp, SendRules};

const KEY: u32 = 0x0123_4567;
const ADDR: u64 = 0x1_0000_0000;
const CAPACITY: u32 = 3000;

const RULES: SendRules = SendRules {
    messages: false,
    remote: false,
    max_sge: 4,
    max_len: 1 << 30,
};

/// The device's end: what it was given and has not completed.
struct Device {
    entries: VecDeque<SendEntry>,
    done: u32,
}

fn parse(bytes: &[u8; 64]) -> SendEntry {
    SendEntry::parse(bytes, &RULES).expect("an entry that keeps the rules")
}

#[test]
fn an_entry_says_where_its_bytes_are() {
    let mut queue = SendQueue::new(KEY, ADDR, CAPACITY);
    assert_eq!(
        queue.push(700, true).map(|entry| parse(&entry).len),
        Some(700)
    );
    let entry = parse(&queue.push(10, false).unwrap());
    assert_eq!((entry.op, entry.more, entry.len), (SendOp::Send, false, 10));
    assert_eq!(entry.wr_id, (u64::from(KEY) << 32) | 2);
    let segment = entry.segments.iter().next().unwrap();
    assert_eq!(segment.span.first(), ADDR + 700);
    assert_eq!(segment.span.len(), 10);
    assert_eq!(queue.used(), 710);
}

#[test]
fn a_large_ring_has_entries_of_a_part_of_it() {
    let mut queue = SendQueue::new(KEY, ADDR, 1 << 20);
    assert!(queue.is_idle());
    assert_eq!((queue.room().len, queue.room().all), (ENTRY_MAX, 1 << 20));
    assert!(queue.push(ENTRY_MAX + 1, false).is_none());
    // all of it can be on its way
    let mut pushed = 0;
    while queue.push(ENTRY_MAX, false).is_some() {
        pushed += 1;
    }
    assert_eq!(pushed * ENTRY_MAX, 1 << 20);
    queue.complete(pushed - 1).unwrap();
    assert!(!queue.is_idle());
    queue.complete(pushed).unwrap();
    assert!(queue.is_idle());
}

#[test]
fn room_for_further_entries_is_told() {
    let mut queue = SendQueue::new(KEY, ADDR, CAPACITY);
    assert_eq!(
        (queue.room().len, queue.room().all),
        (CAPACITY / 4, CAPACITY)
    );
    // the last entry that there is a place for has nothing behind it
    for _ in 0..DEPTH - 2 {
        assert!(queue.push(1, false).is_some());
    }
    let room = queue.room();
    assert_eq!((room.len, room.all), (CAPACITY / 4, CAPACITY / 4));
    assert!(queue.push(1, false).is_some());
    assert_eq!((queue.room().len, queue.room().all), (0, 0));
}

#[test]
fn no_more_than_the_room_can_be_pushed() {
    let mut queue = SendQueue::new(KEY, ADDR, CAPACITY);
    assert!(queue.push(0, false).is_none());
    assert!(queue.push(CAPACITY / 4 + 1, false).is_none());
    for _ in 0..4 {
        assert!(queue.push(CAPACITY / 4, false).is_some());
    }
    assert_eq!((queue.room().len, queue.room().all), (0, 0));
    assert!(queue.push(1, false).is_none());
    assert_eq!(queue.made(), 4);
}

#[test]
fn the_end_always_has_a_place() {
    let mut queue = SendQueue::new(KEY, ADDR, CAPACITY);
    while queue.push(1, false).is_some() {}
    assert_eq!(queue.made(), DEPTH - 1);
    let fin = parse(&queue.push_fin().unwrap());
    assert_eq!((fin.op, fin.signaled, fin.len), (SendOp::Fin, true, 0));
    assert!(queue.push_fin().is_none());
    assert!(queue.has_fin() && !queue.is_finished());
    queue.complete(DEPTH - 1).unwrap();
    assert!(!queue.is_finished());
    queue.complete(DEPTH).unwrap();
    assert!(queue.is_finished());
    // and nothing comes after it
    assert_eq!(queue.room().len, 0);
}

#[test]
fn what_was_not_made_cannot_be_complete() {
    let mut queue = SendQueue::new(KEY, ADDR, CAPACITY);
    assert_eq!(queue.complete(1), Err(Broken));
    queue.push(100, false).unwrap();
    assert_eq!(queue.complete(2), Err(Broken));
    assert_eq!(queue.complete(u32::MAX), Err(Broken));
    assert_eq!(queue.used(), 100);
    queue.complete(1).unwrap();
    assert_eq!(queue.complete(0), Err(Broken));
    assert_eq!(queue.used(), 0);
}

proptest! {
    /// Whatever is written and completed when: the device reads the stream, no byte is reused before
    /// it was read, and a queue that is not writable will be told of.
    #[test]
    fn the_device_reads_the_stream(steps in prop::collection::vec((any::<bool>(), 1u32..900), 1..600)) {
        let mut queue = SendQueue::new(KEY, ADDR, CAPACITY);
        let mut ring = vec![0u8; CAPACITY as usize];
        let mut device = Device { entries: VecDeque::new(), done: 0 };
        let (mut written, mut read) = (0u64, 0u64);
        for (send, amount) in steps {
            if send {
                let room = queue.room();
                prop_assert!(room.all >= room.len);
                let len = amount.min(room.len);
                for i in 0..len {
                    ring[(room.offset + i) as usize] = (written + u64::from(i)) as u8;
                }
                if let Some(entry) = queue.push(len, false) {
                    written += u64::from(len);
                    device.entries.push_back(parse(&entry));
                }
                prop_assert_eq!(len == 0, room.len == 0);
            } else if let Some(entry) = device.entries.pop_front() {
                let segment = entry.segments.iter().next().unwrap();
                let start = (segment.span.first() - ADDR) as usize;
                for byte in &ring[start..start + entry.len as usize] {
                    prop_assert_eq!(*byte, read as u8);
                    read += 1;
                }
                device.done += 1;
                queue.complete(device.done).unwrap();
            }
            prop_assert_eq!(u64::from(queue.used()), written - read);
            prop_assert!(queue.is_writable() || device.entries.iter().any(|entry| entry.signaled));
            prop_assert!(!queue.is_writable() || queue.room().len > 0);
        }
    }
}
