// SPDX-License-Identifier: GPL-2.0

//! Completion queues, read as a driver reads them: by the phase bit.

use super::ram::Ram;
use proptest::prelude::*;
use vstellar_core::{
    abi,
    memory::MemoryError,
    status::Status,
    work::{completion::PostError, Completion, CompletionQueue, Overrun},
};

fn completion(wr_id: u64) -> Completion {
    Completion {
        wr_id,
        len: 1000,
        status: Status::ConnReset,
        op: abi::OP_SEND,
        flags: abi::CQE_MSG_END,
        ep: 0x301,
        imm: 77,
    }
}

#[test]
fn a_completion_is_laid_out_as_documented() {
    let ram = Ram::new(32 * 4);
    let mut queue = CompletionQueue::new(2);
    queue
        .post(&ram, &completion(0x0102_0304_0506_0708))
        .unwrap();
    let bytes: [u8; 32] = ram.get(0);
    assert_eq!(bytes[..8], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(bytes[8..12], [0xe8, 3, 0, 0]);
    assert_eq!(bytes[12..14], [18, 0]);
    assert_eq!(
        bytes[14..16],
        [abi::OP_SEND, abi::CQE_MSG_END | abi::CQE_PHASE]
    );
    assert_eq!(bytes[16..24], [1, 3, 0, 0, 77, 0, 0, 0]);
    assert_eq!(bytes[24..], [0; 8]);
}

#[test]
fn a_flag_cannot_be_the_phase() {
    let ram = Ram::new(32);
    let mut queue = CompletionQueue::new(0);
    queue.post(&ram, &completion(1)).unwrap();
    queue.consume(1).unwrap();
    let flags = abi::CQE_PHASE;
    queue
        .post(
            &ram,
            &Completion {
                flags,
                ..completion(2)
            },
        )
        .unwrap();
    assert_eq!(ram.get::<1>(15), [0]);
}

#[test]
fn a_full_queue_is_not_overwritten() {
    let ram = Ram::new(32 * 2);
    let mut queue = CompletionQueue::new(1);
    queue.post(&ram, &completion(1)).unwrap();
    queue.post(&ram, &completion(2)).unwrap();
    assert_eq!(queue.post(&ram, &completion(3)), Err(PostError::Full));
    assert_eq!(ram.get::<1>(0), [1]);
    queue.consume(1).unwrap();
    queue.post(&ram, &completion(3)).unwrap();
    assert_eq!(ram.get::<1>(0), [3]);
}

#[test]
fn a_ring_that_is_gone_is_noticed() {
    let ram = Ram::new(16);
    let mut queue = CompletionQueue::new(1);
    let gone = PostError::Memory(MemoryError::Unmapped);
    assert_eq!(queue.post(&ram, &completion(1)), Err(gone));
    assert_eq!(queue.written(), 0);
}

#[test]
fn no_more_is_consumed_than_was_written_and_none_twice() {
    let ram = Ram::new(32 * 4);
    let mut queue = CompletionQueue::new(2);
    assert_eq!(queue.consume(1), Err(Overrun));
    for i in 0..3 {
        queue.post(&ram, &completion(i)).unwrap();
    }
    assert_eq!(queue.consume(4), Err(Overrun));
    assert_eq!(queue.consume(2), Ok(()));
    assert_eq!(queue.consume(1), Err(Overrun));
    assert_eq!(queue.consume(u32::MAX), Err(Overrun));
    assert_eq!(queue.consume(3), Ok(()));
}

#[test]
fn room_is_reserved_for_whole_rings() {
    let mut queue = CompletionQueue::new(4);
    assert_eq!(queue.reserve(8), Ok(()));
    assert_eq!(queue.reserve(9), Err(Status::NoSpc));
    assert_eq!(queue.reserve(8), Ok(()));
    assert_eq!(queue.check_room(1), Err(Status::NoSpc));
    assert!(queue.is_reserved());
    queue.unreserve(16);
    assert!(!queue.is_reserved());
}

#[test]
fn an_event_is_wanted_once_for_what_was_passed() {
    let ram = Ram::new(32 * 4);
    let mut queue = CompletionQueue::new(2);
    assert_eq!(queue.wants_event(&ram, || panic!("nothing new")), Ok(false));
    queue.post(&ram, &completion(0)).unwrap();
    assert_eq!(queue.wants_event(&ram, || Ok(1)), Ok(false));
    queue.post(&ram, &completion(1)).unwrap();
    queue.post(&ram, &completion(2)).unwrap();
    assert_eq!(queue.wants_event(&ram, || Ok(1)), Ok(true));
    queue.post(&ram, &completion(3)).unwrap();
    assert_eq!(queue.wants_event(&ram, || Ok(1)), Ok(false));
}

proptest! {
    /// A driver that looks at phases only sees each completion once and in order.
    #[test]
    fn phases_tell_what_is_new(batches in prop::collection::vec((0u64..9, 0u64..9), 1..100)) {
        let ram = Ram::new(32 * 8);
        let mut queue = CompletionQueue::new(3);
        let (mut posted, mut seen) = (0u64, 0u64);
        for (post, take) in batches {
            for _ in 0..post {
                let result = queue.post(&ram, &completion(posted));
                prop_assert_eq!(result.is_ok(), posted - seen < 8);
                posted += u64::from(result.is_ok());
            }
            for _ in 0..take {
                let entry: [u8; 32] = ram.get(32 * (seen % 8));
                let phase = u64::from(entry[15] & abi::CQE_PHASE);
                let new = phase == (seen / 8 + 1) % 2;
                prop_assert_eq!(new, seen < posted);
                if new {
                    prop_assert_eq!(u64::from(entry[0]) + 256 * u64::from(entry[1]), seen);
                    seen += 1;
                }
            }
            queue.consume(seen as u32).unwrap();
        }
    }
}
