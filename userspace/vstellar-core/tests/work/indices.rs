// SPDX-License-Identifier: GPL-2.0

//! The device's own indices beside those of the driver.

use super::ram::Ram;
use proptest::prelude::*;
use vstellar_core::work::{Overrun, WorkQueue};

#[test]
fn entries_are_taken_in_order_and_once() {
    let mut queue = WorkQueue::new(2);
    assert_eq!(queue.take(), None);
    assert_eq!(queue.offer(3), Ok(3));
    assert_eq!((queue.take(), queue.take()), (Some(0), Some(1)));
    assert_eq!(queue.offer(4), Ok(2));
    assert_eq!(queue.uncompleted(), 4);
    // full until one is completed
    assert_eq!(queue.offer(5), Err(Overrun));
    assert_eq!(queue.complete(), Some(1));
    assert_eq!(queue.offer(5), Ok(3));
    assert_eq!(queue.complete(), Some(2));
    // and none is completed before it was taken
    assert_eq!(queue.complete(), None);
}

#[test]
fn what_comes_next_can_be_looked_at() {
    let mut queue = WorkQueue::new(2);
    queue.offer(3).unwrap();
    assert_eq!(
        (queue.peek(0), queue.peek(2), queue.peek(3)),
        (Some(0), Some(2), None)
    );
    queue.take();
    assert_eq!(
        (queue.peek(0), queue.peek(1), queue.peek(2)),
        (Some(1), Some(2), None)
    );
    assert_eq!(queue.take(), Some(1));
    assert_eq!(queue.peek(u32::MAX), None);
}

#[test]
fn an_index_does_not_go_back() {
    let mut queue = WorkQueue::new(4);
    assert_eq!(queue.offer(10), Ok(10));
    assert_eq!(queue.offer(9), Err(Overrun));
    assert_eq!(queue.offer(0), Err(Overrun));
    assert_eq!(queue.offer(u32::MAX), Err(Overrun));
    assert_eq!(queue.offer(17), Err(Overrun));
    // what was refused has changed nothing
    assert_eq!(queue.offer(10), Ok(10));
}

#[test]
fn entries_are_read_from_their_place() {
    let ram = Ram::new(64 * 4);
    ram.put(64 * 3, &[7; 64]);
    let queue = WorkQueue::new(2);
    assert_eq!(queue.read(&ram, 3).unwrap(), [7u8; 64]);
    assert_eq!(queue.read(&ram, u32::MAX).unwrap(), [7u8; 64]);
    assert_eq!(queue.read(&ram, 4).unwrap(), [0u8; 64]);
    // a ring that is shorter than it should be
    let queue = WorkQueue::new(3);
    assert!(queue.read::<64>(&ram, 4).is_err());
}

proptest! {
    /// Whatever indices come: what is taken was offered, and no more than the ring at a time.
    #[test]
    fn any_indices(
        steps in prop::collection::vec((0u8..4, prop_oneof![0u32..20, any::<u32>()]), 1..400),
        start in 0u32..20,
    ) {
        let mut queue = WorkQueue::new(3);
        while queue.offered() != start {
            queue.offer(queue.offered() + 1).unwrap();
            queue.take().unwrap();
            queue.complete().unwrap();
        }
        let (mut taken, mut completed) = (queue.offered(), queue.offered());
        for (what, value) in steps {
            match what {
                0 => {
                    let index = queue.offered().wrapping_add(value);
                    let ahead = index.wrapping_sub(completed);
                    let fine = ahead <= 8 && ahead >= queue.offered().wrapping_sub(completed);
                    prop_assert_eq!(queue.offer(index).is_ok(), fine);
                }
                1 | 2 => if let Some(index) = queue.take() {
                    prop_assert_eq!(index, taken);
                    taken += 1;
                },
                _ => if let Some(count) = queue.complete() {
                    completed += 1;
                    prop_assert_eq!(count, completed);
                },
            }
            prop_assert!(taken >= completed && taken - completed <= 8);
            prop_assert_eq!(queue.uncompleted(), queue.offered().wrapping_sub(completed));
        }
    }
}
