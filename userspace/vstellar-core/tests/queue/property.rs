// SPDX-License-Identifier: GPL-2.0

//! A driver that keeps the rules: every chain arrives as it was, in order, and comes back once.

use super::{driver::*, ram::Ram};
use proptest::prelude::*;
use std::collections::VecDeque;
use vstellar_core::queue::Chain;

#[derive(Clone, Debug)]
enum Step {
    Add {
        readable: usize,
        writable: usize,
    },
    Pop,
    /// Give back one of those taken, in any order.
    Push(usize),
    Take,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0usize..4, 0usize..4).prop_map(|(readable, writable)| Step::Add { readable, writable }),
        3 => Just(Step::Pop),
        3 => any::<usize>().prop_map(Step::Push),
        3 => Just(Step::Take),
    ]
}

/// Address, length, for the device to write.
type Buffer = (u64, u32, bool);

proptest! {
    #[test]
    fn chains_arrive_and_return(steps in prop::collection::vec(step(), 1..500), log2 in 1u32..6) {
        let size = 1 << log2;
        let (ram, mut driver, mut queue) = (Ram::new(0x10000), Driver::new(size), queue(size, true));
        let mut offered: VecDeque<(u16, Vec<Buffer>)> = VecDeque::new();
        let mut taken: Vec<Chain> = Vec::new();
        let mut returned: VecDeque<(u16, u32)> = VecDeque::new();
        let mut serial = 0u32;
        for step in steps {
            match step {
                Step::Add { readable, writable } => {
                    let count = readable + writable;
                    if count == 0 || count > driver.free() {
                        continue;
                    }
                    let buffers: Vec<_> = (0..count)
                        .map(|i| {
                            serial += 1;
                            (DATA + u64::from(serial), serial, i >= readable)
                        })
                        .collect();
                    offered.push_back((driver.add(&ram, &buffers), buffers));
                }
                Step::Pop => match (queue.pop(&ram).unwrap(), offered.pop_front()) {
                    (None, None) => {}
                    (Some(chain), Some((head, buffers))) => {
                        prop_assert_eq!(chain.head(), head);
                        let of = |write: bool| buffers.iter().filter(move |b| b.2 == write);
                        for (spans, write) in [(chain.readable(), false), (chain.writable(), true)] {
                            let spans: Vec<_> = spans.iter().map(|s| (s.first(), s.len())).collect();
                            let model: Vec<_> = of(write).map(|b| (b.0, u64::from(b.1))).collect();
                            prop_assert_eq!(spans, model);
                        }
                        taken.push(chain);
                    }
                    other => prop_assert!(false, "{:?}", other),
                },
                Step::Push(which) => if !taken.is_empty() {
                    let chain = taken.swap_remove(which % taken.len());
                    serial += 1;
                    queue.push(&ram, chain.head(), serial).unwrap();
                    returned.push_back((chain.head(), serial));
                },
                Step::Take => prop_assert_eq!(driver.take(&ram), returned.pop_front()),
            }
            prop_assert_eq!(usize::from(queue.outstanding()), taken.len());
        }
    }
}
