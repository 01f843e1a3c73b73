// SPDX-License-Identifier: GPL-2.0

//! Receive queues against what the device makes of their entries.

use proptest::prelude::*;
use std::collections::VecDeque;
use virtio_vstellar_core::{
    receive::{Piece, ReceiveQueue, DEPTH},
    Broken,
};
use vstellar_core::work::ReceiveEntry;

const KEY: u32 = 0x89ab_cdef;
const ADDR: u64 = 0x2_0000_0000;
const SIZE: u32 = 100;

fn posted() -> ReceiveQueue {
    let mut queue = ReceiveQueue::new(KEY, ADDR, SIZE);
    while queue.post().is_some() {}
    queue
}

#[test]
fn each_buffer_is_posted_once() {
    let mut queue = ReceiveQueue::new(KEY, ADDR, SIZE);
    for i in 0..DEPTH {
        let entry = ReceiveEntry::parse(&queue.post().unwrap()).unwrap();
        assert_eq!(entry.wr_id, (u64::from(KEY) << 32) | u64::from(i));
        assert_eq!(entry.segment.span.first(), ADDR + u64::from(i * SIZE));
        assert_eq!(entry.segment.span.len(), u64::from(SIZE));
    }
    assert!(queue.post().is_none());
    assert_eq!(queue.posted(), DEPTH);
}

#[test]
fn what_was_not_posted_cannot_be_filled() {
    let mut queue = ReceiveQueue::new(KEY, ADDR, SIZE);
    assert_eq!(queue.fill(0, 1), Err(Broken));
    let mut queue = posted();
    assert_eq!(queue.fill(1, 1), Err(Broken));
    assert_eq!(queue.fill(0, SIZE + 1), Err(Broken));
    for i in 0..DEPTH {
        queue.fill(i, SIZE).unwrap();
    }
    assert_eq!(queue.fill(DEPTH, 1), Err(Broken));
    assert_eq!(queue.readable(), DEPTH * SIZE);
}

#[test]
fn a_buffer_is_free_when_all_of_it_was_read() {
    let mut queue = posted();
    queue.fill(0, 10).unwrap();
    queue.fill(1, 20).unwrap();
    assert_eq!(queue.peek(0), Some(Piece { offset: 0, len: 10 }));
    assert_eq!(
        queue.peek(12),
        Some(Piece {
            offset: SIZE + 2,
            len: 18
        })
    );
    assert_eq!(queue.peek(30), None);
    queue.consume(9);
    assert!(queue.post().is_none());
    queue.consume(3);
    assert_eq!(queue.readable(), 18);
    assert_eq!(
        queue.peek(0),
        Some(Piece {
            offset: SIZE + 2,
            len: 18
        })
    );
    assert!(queue.post().is_some() && queue.post().is_none());
    queue.consume(1000);
    assert_eq!((queue.readable(), queue.peek(0)), (0, None));
    assert!(queue.post().is_some());
}

#[test]
fn full_buffers_are_read_as_one_as_long_as_they_lie_together() {
    let mut queue = posted();
    queue.fill(0, SIZE).unwrap();
    queue.fill(1, SIZE).unwrap();
    queue.fill(2, 30).unwrap();
    queue.fill(3, SIZE).unwrap();
    let piece = |offset, len| Some(Piece { offset, len });
    assert_eq!(queue.peek(0), piece(0, 2 * SIZE + 30));
    assert_eq!(queue.peek(SIZE + 1), piece(SIZE + 1, SIZE + 29));
    assert_eq!(queue.peek(2 * SIZE + 30), piece(3 * SIZE, SIZE));
    queue.consume(SIZE + 10);
    assert_eq!(queue.peek(0), piece(SIZE + 10, SIZE + 20));
    assert!(queue.post().is_some() && queue.post().is_none());
    // the last place and the first one are not neighbours
    for i in 4..=DEPTH {
        queue.fill(i, SIZE).unwrap();
    }
    queue.consume(SIZE + 20);
    assert_eq!(queue.peek(0), piece(3 * SIZE, (DEPTH - 3) * SIZE));
    assert_eq!(queue.peek((DEPTH - 3) * SIZE), piece(0, SIZE));
}

#[test]
fn the_end_of_the_stream_takes_a_buffer_without_bytes() {
    let mut queue = posted();
    queue.fill(0, 5).unwrap();
    queue.fill(1, 0).unwrap();
    queue.consume(5);
    assert_eq!(queue.peek(0), None);
    assert!(queue.post().is_some() && queue.post().is_some() && queue.post().is_none());
}

#[test]
fn a_slow_reader_posts_half_of_the_buffers_at_a_time() {
    let mut queue = ReceiveQueue::new(KEY, ADDR, SIZE);
    assert!(queue.should_post() && !queue.is_stuck());
    while queue.post().is_some() {}
    assert!(!queue.should_post());
    for i in 0..DEPTH {
        queue.fill(i, 1).unwrap();
    }
    assert!(queue.is_stuck());
    for _ in 1..DEPTH / 2 {
        queue.consume(1);
        assert!(!queue.should_post() && queue.is_stuck());
    }
    queue.consume(1);
    assert!(queue.should_post());
    assert!(queue.post().is_some() && !queue.is_stuck());
}

proptest! {
    /// Whatever is filled and read when: the program reads the stream.
    #[test]
    fn the_program_reads_the_stream(steps in prop::collection::vec((0u8..3, 1u32..=3 * SIZE), 1..600)) {
        let mut queue = posted();
        let mut memory = vec![0u8; (DEPTH * SIZE) as usize];
        let mut buffers: VecDeque<u32> = (0..DEPTH).collect();
        let (mut written, mut read) = (0u64, 0u64);
        for (step, amount) in steps {
            match step {
                0 => if let Some(number) = buffers.pop_front() {
                    // most are full
                    let amount = amount.min(SIZE);
                    for i in 0..amount {
                        memory[(number % DEPTH * SIZE + i) as usize] = written as u8;
                        written += 1;
                    }
                    queue.fill(number, amount).unwrap();
                },
                1 => if let Some(piece) = queue.peek(0) {
                    let len = piece.len.min(amount);
                    for i in 0..len {
                        prop_assert_eq!(memory[(piece.offset + i) as usize], read as u8);
                        read += 1;
                    }
                    queue.consume(len);
                },
                _ => while queue.post().is_some() {
                    buffers.push_back(queue.posted() - 1);
                },
            }
            prop_assert_eq!(u64::from(queue.readable()), written - read);
            prop_assert_eq!(queue.peek(0).is_none(), written == read);
            // a reader without bytes posts, so the device has a buffer
            prop_assert!(written > read || !buffers.is_empty() || queue.should_post());
            prop_assert_eq!(queue.is_stuck(), buffers.is_empty() && written > read);
        }
    }
}
