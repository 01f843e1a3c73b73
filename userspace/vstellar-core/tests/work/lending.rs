// SPDX-License-Identifier: GPL-2.0

//! Loans, and the entries that wait for them.

use proptest::prelude::*;
use std::collections::VecDeque;
use vstellar_core::{
    abi,
    status::Status,
    work::lending::{Carried, Lending, Plan, Policy, DISTRUST, LEAST, MOST},
};

const NO_LIMIT: u64 = u64::MAX;

fn entry(wr_id: u64) -> Carried {
    Carried {
        wr_id,
        len: 1,
        status: Status::Ok,
        op: abi::OP_SEND,
        signaled: false,
    }
}

fn popped(lending: &mut Lending) -> Vec<u64> {
    std::iter::from_fn(|| lending.pop().map(|entry| entry.wr_id)).collect()
}

/// The batches that a queue with these lengths in it makes, and how each was planned.
fn batches(lending: &Lending, lens: &[u64]) -> Vec<(Plan, usize)> {
    let mut made = Vec::new();
    let mut rest = lens;
    while let [first, behind @ ..] = rest {
        let plan = lending.plan(*first, 0, NO_LIMIT);
        let with = behind.iter().take_while(|len| plan.takes(**len)).count();
        made.push((plan, 1 + with));
        rest = &behind[with..];
    }
    made
}

#[test]
fn entries_wait_for_loans_of_earlier_bytes() {
    let mut lending = Lending::new(Policy::Always, 16).unwrap();
    lending.copied(100);
    lending.push(entry(1)).unwrap();
    assert_eq!(popped(&mut lending), [1]);
    // the second entry is partly lent by the first loan, the third by both, the fourth is copied
    lending.copied(10);
    lending.lent(7, 1000);
    lending.push(entry(2)).unwrap();
    lending.push(entry(3)).unwrap();
    lending.lent(8, 1000);
    lending.push(entry(4)).unwrap();
    lending.copied(5);
    lending.push(entry(5)).unwrap();
    assert_eq!(popped(&mut lending), []);
    lending.returned(8, false);
    assert_eq!(popped(&mut lending), []);
    lending.returned(7, false);
    assert_eq!(popped(&mut lending), [2, 3, 4, 5]);
    assert!(lending.is_idle());
    assert_eq!(lending.taken(), 2115);
}

#[test]
fn what_ends_before_a_loan_does_not_wait_for_it() {
    let mut lending = Lending::new(Policy::Always, 16).unwrap();
    lending.lent(1, 50);
    lending.push(entry(1)).unwrap();
    lending.lent(2, 50);
    lending.push(entry(2)).unwrap();
    // the end of the stream has no bytes, and still comes last
    lending.push(entry(3)).unwrap();
    lending.returned(1, false);
    assert_eq!(popped(&mut lending), [1]);
    lending.returned(2, false);
    assert_eq!(popped(&mut lending), [2, 3]);
}

#[test]
fn what_waits_when_the_connection_ends_is_cancelled() {
    let mut lending = Lending::new(Policy::Always, 16).unwrap();
    lending.lent(1, 50);
    lending.push(entry(1)).unwrap();
    let wrong = Carried {
        status: Status::Inval,
        ..entry(2)
    };
    lending.push(wrong).unwrap();
    lending.cut();
    // not before nobody reads its memory any more
    assert_eq!(lending.pop(), None);
    lending.returned(1, false);
    let cancelled = Carried {
        status: Status::Canceled,
        len: 0,
        ..entry(1)
    };
    assert_eq!(lending.pop(), Some(cancelled));
    assert_eq!(lending.pop(), Some(wrong));
    assert_eq!(lending.pop(), None);
}

#[test]
fn strangers_return_nothing() {
    let mut lending = Lending::new(Policy::Always, 16).unwrap();
    lending.lent(5, 50);
    lending.push(entry(1)).unwrap();
    for number in [0, 4, 6, u64::MAX] {
        lending.returned(number, true);
    }
    assert_eq!(popped(&mut lending), []);
    lending.returned(5, false);
    lending.returned(5, false);
    assert_eq!(popped(&mut lending), [1]);
    assert_eq!(popped(&mut lending), []);
}

#[test]
fn only_much_is_lent() {
    let lending = Lending::new(Policy::Adaptive, 16).unwrap();
    let (small, large) = (LEAST - 1, LEAST);
    let made = batches(&lending, &[small, small, large, large, small, large]);
    let expected = [
        (Plan::CopyUntil(LEAST), 2),
        (Plan::Lend(LEAST), 2),
        (Plan::CopyUntil(LEAST), 1),
        (Plan::Lend(LEAST), 1),
    ];
    assert_eq!(made, expected);
    let always = Lending::new(Policy::Always, 16).unwrap();
    assert_eq!(batches(&always, &[1, large, 2]), [(Plan::Lend(1), 3)]);
    let off = Lending::new(Policy::Off, 16).unwrap();
    assert_eq!(batches(&off, &[1, large, 1]), [(Plan::Copy, 3)]);
}

#[test]
fn no_more_is_lent_than_may_be() {
    let lending = Lending::new(Policy::Adaptive, 16).unwrap();
    let most = MOST as u64;
    let limit = 3 * most;
    assert_eq!(lending.plan(LEAST, 2 * most, limit), Plan::Lend(LEAST));
    assert_eq!(lending.plan(LEAST, 2 * most + 1, limit), Plan::Refuse);
    assert_eq!(lending.plan(LEAST, u64::MAX, limit), Plan::Refuse);
    // all of it is copied at once then; and what is too small was not refused
    assert!(Plan::Refuse.takes(1) && Plan::Refuse.takes(LEAST));
    assert_eq!(lending.plan(1, u64::MAX, limit), Plan::CopyUntil(LEAST));
}

#[test]
fn so_many_loans_are_out_and_no_more() {
    let mut lending = Lending::new(Policy::Adaptive, 16).unwrap();
    // one at first
    assert_eq!(lending.plan(LEAST, 0, NO_LIMIT), Plan::Lend(LEAST));
    lending.lent(1000, LEAST);
    assert_eq!(lending.plan(LEAST, 0, NO_LIMIT), Plan::Copy);
    lending.returned(1000, false);
    let mut out = 0;
    while lending.plan(LEAST, 0, NO_LIMIT) == Plan::Lend(LEAST) {
        lending.lent(out, LEAST);
        out += 1;
        assert!(out < 1000, "no end");
    }
    // enough for 8 Gb/s at a millisecond
    assert!(out * LEAST >= 1_000_000, "{out}");
    lending.returned(1, false);
    // in the order of the stream, so that there is none for what comes later
    assert_eq!(lending.plan(LEAST, 0, NO_LIMIT), Plan::Copy);
    lending.returned(0, false);
    assert_eq!(lending.plan(LEAST, 0, NO_LIMIT), Plan::Lend(LEAST));
}

#[test]
fn a_long_queue_leaves_room_for_a_batch() {
    let mut lending = Lending::new(Policy::Always, 4096).unwrap();
    lending.lent(1, LEAST);
    let mut count = 0;
    while lending.has_room(16) {
        lending.push(entry(count)).unwrap();
        count += 1;
        assert!(count < 4096, "no end");
    }
    assert!(count >= 64, "{count}");
    for more in 0..15 {
        lending.push(entry(count + more)).unwrap();
    }
    lending.returned(1, false);
    assert_eq!(popped(&mut lending).len() as u64, count + 15);
    assert!(lending.has_room(16));
    // where all of the ring has room, nothing is held back
    assert!(Lending::new(Policy::Always, 2).unwrap().has_room(16));
}

#[test]
fn what_the_kernel_copies_is_copied_before() {
    let mut lending = Lending::new(Policy::Adaptive, 16).unwrap();
    let lend = Plan::Lend(LEAST);
    assert_eq!(lending.plan(LEAST, 0, NO_LIMIT), lend);
    lending.lent(1, LEAST);
    lending.returned(1, true);
    for _ in 0..DISTRUST {
        assert_eq!(lending.plan(LEAST, 0, NO_LIMIT), Plan::Copy);
        assert_eq!(lending.plan(1, 0, NO_LIMIT), Plan::Copy);
        // what would not have been lent tells nothing
        lending.copied(1);
        lending.copied(LEAST);
    }
    assert_eq!(lending.plan(LEAST, 0, NO_LIMIT), lend);
    lending.lent(2, LEAST);
    assert_eq!(lending.plan(LEAST, 0, NO_LIMIT), Plan::Copy);
    lending.returned(2, false);
    lending.lent(3, LEAST);
    assert_eq!(lending.plan(LEAST, 0, NO_LIMIT), lend);
    // one that was never out says the same
    lending.learn(true);
    assert_eq!(lending.plan(LEAST, 0, NO_LIMIT), Plan::Copy);

    let mut always = Lending::new(Policy::Always, 16).unwrap();
    always.lent(1, LEAST);
    always.returned(1, true);
    assert_eq!(always.plan(1, 0, NO_LIMIT), Plan::Lend(1));
}

#[derive(Clone, Debug)]
enum Step {
    Copy(u64),
    Lend(u64),
    Entry,
    /// The n-th of the loans that are out comes back.
    Return(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..100u64).prop_map(Step::Copy),
        (1..100u64).prop_map(Step::Lend),
        Just(Step::Entry),
        Just(Step::Entry),
        (0..64usize).prop_map(Step::Return),
    ]
}

proptest! {
    /// Against a stream of single bytes, each of which is on loan or not.
    #[test]
    fn entries_complete_once_and_in_order(steps in prop::collection::vec(step(), 1..400)) {
        let mut lending = Lending::new(Policy::Always, 4096).unwrap();
        // of each byte the loan that it belongs to; loans that are out; entries with their ends
        let mut bytes: Vec<Option<u64>> = Vec::new();
        let mut out: Vec<u64> = Vec::new();
        let mut waiting: VecDeque<(u64, usize)> = VecDeque::new();
        let (mut loans, mut entries) = (0, 0);
        for step in steps {
            match step {
                Step::Copy(len) => {
                    lending.copied(len);
                    bytes.extend((0..len).map(|_| None));
                }
                Step::Lend(len) if lending.plan(1, 0, NO_LIMIT) == Plan::Lend(1) => {
                    loans += 1;
                    lending.lent(loans, len);
                    bytes.extend((0..len).map(|_| Some(loans)));
                    out.push(loans);
                }
                Step::Entry if lending.has_room(1) => {
                    entries += 1;
                    lending.push(entry(entries)).unwrap();
                    waiting.push_back((entries, bytes.len()));
                }
                Step::Return(n) if !out.is_empty() => {
                    lending.returned(out.swap_remove(n % out.len()), false);
                }
                _ => {}
            }
            let first = bytes.iter().position(|loan| loan.is_some_and(|one| out.contains(&one)));
            let mut expected = Vec::new();
            while let Some((wr_id, end)) = waiting.front().copied() {
                if first.is_some_and(|first| first < end) {
                    break;
                }
                waiting.pop_front();
                expected.push(wr_id);
            }
            prop_assert_eq!(popped(&mut lending), expected);
            prop_assert_eq!(lending.taken(), bytes.len() as u64);
            prop_assert_eq!(lending.is_idle(), out.is_empty() && waiting.is_empty());
        }
    }
}
