// SPDX-License-Identifier: GPL-2.0

//! Any order of steps by many users, beside a model that knows what is mapped.

use super::pinner::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use vstellar_core::{
    access::Access,
    memory::{
        keeper::PinError, Completion, Fault, Hold, Limits, MapError, MemoryError, Piece, Quota,
        Resolution, Want,
    },
    span::Span,
};

const QUOTA: u64 = 3 * BLOCK_PAGES;
const PAGE: u64 = 4096;

#[derive(Clone, Debug)]
enum Step {
    Map {
        at: u64,
        pages: u64,
        writable: bool,
    },
    Unmap {
        at: u64,
        pages: u64,
    },
    Resolve {
        at: u64,
        len: u64,
        write: bool,
        hinted: bool,
    },
    Own {
        at: u64,
        len: u64,
    },
    Complete {
        which: usize,
        fail: bool,
    },
    Release(usize),
    Hold(usize),
    Unhold(usize),
    Reclaim,
    Drop {
        at: u64,
    },
}

/// Addresses of 16 MiB, with ends that meet, in pages.
fn page() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..4096, (0u64..8).prop_map(|i| i * 512)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (page(), 1u64..2000, any::<bool>())
            .prop_map(|(at, pages, writable)| Step::Map { at, pages, writable }),
        1 => (page(), 1u64..2000).prop_map(|(at, pages)| Step::Unmap { at, pages }),
        8 => (page(), 1u64..(3 << 20), any::<bool>(), any::<bool>())
            .prop_map(|(at, len, write, hinted)| Step::Resolve { at, len, write, hinted }),
        3 => (page(), 1u64..(3 << 20)).prop_map(|(at, len)| Step::Own { at, len }),
        5 => (any::<usize>(), prop::bool::weighted(0.2))
            .prop_map(|(which, fail)| Step::Complete { which, fail }),
        5 => any::<usize>().prop_map(Step::Release),
        1 => any::<usize>().prop_map(Step::Hold),
        1 => any::<usize>().prop_map(Step::Unhold),
        3 => Just(Step::Reclaim),
        1 => page().prop_map(|at| Step::Drop { at }),
    ]
}

struct World {
    memory: TestMemory,
    pinned: Pinned,
    /// first address: last address, writable
    mapped: BTreeMap<u64, (u64, bool)>,
    faults: Vec<Fault<u64>>,
    uses: Vec<(Piece, bool)>,
    holds: Vec<Hold>,
    hint: Option<vstellar_core::memory::BlockId>,
    backing: u64,
}

impl World {
    fn overlapping(&self, span: &Span) -> Vec<u64> {
        let overlaps = |(&first, &(last, _)): (&u64, &(u64, bool))| {
            (first <= span.last() && span.first() <= last).then_some(first)
        };
        self.mapped.iter().filter_map(overlaps).collect()
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Map {
                at,
                pages,
                writable,
            } => {
                let access = if writable {
                    Access::READ_WRITE
                } else {
                    Access::READ
                };
                let region = region(at * PAGE, pages * PAGE, access, self.backing);
                let span = region.span;
                self.backing += 1;
                match self.memory.map(region) {
                    Ok(_) => {
                        assert!(self.overlapping(&span).is_empty());
                        self.mapped.insert(span.first(), (span.last(), writable));
                    }
                    Err(MapError::Overlap) => assert!(!self.overlapping(&span).is_empty()),
                    Err(MapError::Limit) => assert_eq!(self.mapped.len(), 16),
                    Err(MapError::Alignment) => unreachable!(),
                }
            }
            Step::Unmap { at, pages } => {
                let span = Span::new(at * PAGE, pages * PAGE).unwrap();
                let gone = self.overlapping(&span);
                let expected = gone.len();
                let mut ends = span;
                for first in gone {
                    let (last, _) = self.mapped.remove(&first).unwrap();
                    ends = Span::between(ends.first().min(first), ends.last().max(last)).unwrap();
                }
                assert_eq!(self.memory.unmap(span) as usize, expected);
                for (piece, dying) in &mut self.uses {
                    *dying |= piece.span.overlaps(&ends);
                }
            }
            Step::Resolve {
                at,
                len,
                write,
                hinted,
            } => {
                let span = Span::new(at * PAGE + 17, len).unwrap();
                let access = if write { Access::WRITE } else { Access::READ };
                self.resolve(span, access, hinted);
            }
            Step::Own { at, len } => {
                self.use_own(Span::new(at * PAGE + 17, len).unwrap());
            }
            Step::Complete { which, fail } => self.complete(which, fail),
            Step::Release(which) => {
                if !self.uses.is_empty() {
                    let (piece, _) = self.uses.swap_remove(which % self.uses.len());
                    self.memory.release(piece.held);
                }
            }
            Step::Hold(which) => {
                if !self.uses.is_empty() {
                    let (piece, _) = self.uses.swap_remove(which % self.uses.len());
                    match self.memory.hold(&piece.held) {
                        Ok(hold) => self.holds.push(hold),
                        Err(error) => assert_eq!(error, MemoryError::Quota),
                    }
                    self.memory.release(piece.held);
                }
            }
            Step::Unhold(which) => {
                if !self.holds.is_empty() {
                    let hold = self.holds.swap_remove(which % self.holds.len());
                    self.memory.unhold(hold);
                }
            }
            Step::Reclaim => self.reclaim(),
            Step::Drop { at } => {
                self.memory
                    .drop_cached(Span::new(at * PAGE, BLOCK).unwrap());
            }
        }
    }

    fn resolve(&mut self, span: Span, access: Access, hinted: bool) {
        let at = span.first();
        let below = self.mapped.range(..=at).next_back();
        let model = below.filter(|(_, &(last, _))| at <= last);
        let want = Want {
            hint: self.hint.filter(|_| hinted),
            ..Want::new(span, access)
        };
        match self.memory.resolve(&want) {
            Ok(Resolution::Ready(piece)) => {
                let (_, &(last, writable)) = model.expect("only what is mapped can be used");
                assert!(writable || !access.writes());
                assert_eq!(piece.span.first(), at);
                assert!(piece.span.last() <= last.min(span.last()));
                assert!(piece.span.first() >> 21 == piece.span.last() >> 21);
                self.hint = Some(piece.held.block());
                self.uses.push((piece, false));
            }
            Ok(Resolution::Fault(fault)) => {
                let (&first, &(last, writable)) = model.expect("only what is mapped is pinned");
                assert_eq!(fault.writable, writable);
                assert!(first + fault.offset + (fault.len - 1) <= last);
                assert!(fault.len <= BLOCK);
                self.faults.push(fault);
            }
            Ok(Resolution::Reclaim) => self.reclaim(),
            Ok(Resolution::Wait) => assert!(!self.faults.is_empty()),
            Err(MemoryError::Unmapped) => assert!(model.is_none()),
            Err(MemoryError::Denied) => assert!(access.writes() && !model.unwrap().1 .1),
            Err(MemoryError::Quota) => {
                let busy = !self.uses.is_empty() || !self.holds.is_empty();
                assert!(busy || !self.faults.is_empty());
            }
            Err(error) => panic!("{error:?}"),
        }
    }

    /// The device looks at a virtqueue: whatever the driver does with its memory, there is room for that.
    fn use_own(&mut self, span: Span) {
        let is_mapped = self.mapped.range(..=span.first()).next_back();
        let is_mapped = is_mapped.is_some_and(|(_, &(last, _))| span.first() <= last);
        let want = Want::own(span, Access::READ);
        let piece = loop {
            match self.memory.resolve(&want) {
                Ok(Resolution::Ready(piece)) => break piece,
                Ok(Resolution::Fault(fault)) => {
                    let pinned = Ok(self.pinned.pin(fault.len));
                    match self.memory.complete(fault, pinned) {
                        Completion::Ready(piece) => break piece,
                        other => panic!("{other:?}"),
                    }
                }
                Ok(Resolution::Reclaim) => self.reclaim(),
                Ok(Resolution::Wait) => return assert!(!self.faults.is_empty()),
                Err(error) => return assert!(error == MemoryError::Unmapped && !is_mapped),
            }
        };
        assert!(is_mapped);
        self.check();
        self.memory.release(piece.held);
    }

    fn complete(&mut self, which: usize, fail: bool) {
        if self.faults.is_empty() {
            return;
        }
        let fault = self.faults.swap_remove(which % self.faults.len());
        let pinned = if fail {
            Err(PinError::Fault)
        } else {
            Ok(self.pinned.pin(fault.len))
        };
        match self.memory.complete(fault, pinned) {
            Completion::Ready(piece) => self.uses.push((piece, false)),
            Completion::Failed(error) => assert!(fail && error == MemoryError::Failed),
            Completion::Cancelled(loose) => {
                assert!(!fail);
                self.pinned.unpin(loose.pages, loose.dirty);
                self.memory.unpinned(loose.charge);
            }
        }
    }

    fn reclaim(&mut self) {
        while let Some(loose) = self.memory.take_loose() {
            self.pinned.unpin(loose.pages, loose.dirty);
            self.memory.unpinned(loose.charge);
        }
    }

    fn check(&self) {
        assert!(self.pinned.pages <= QUOTA);
        assert!(self.pinned.pages <= self.memory.charged());
        assert!(self.memory.charged() <= QUOTA);
        assert_eq!(self.memory.regions() as usize, self.mapped.len());
        for (piece, dying) in &self.uses {
            let token = self
                .memory
                .pages(&piece.held)
                .expect("used, so it is there");
            assert!(self.pinned.has(*token), "used after it was unpinned");
            assert_eq!(self.memory.is_dying(&piece.held), *dying);
        }
        let draining = self.uses.iter().any(|(_, dying)| *dying);
        assert_eq!(self.memory.is_draining(Span::ALL), draining);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_is_used_unpinned_and_all_comes_back(
        steps in prop::collection::vec(step(), 1..300)
    ) {
        let mut world = World {
            memory: TestMemory::new(Limits {
                quota: Quota::new(room(QUOTA)),
                ..limits(QUOTA)
            })
            .unwrap(),
            pinned: Pinned::default(),
            mapped: BTreeMap::new(),
            faults: Vec::new(),
            uses: Vec::new(),
            holds: Vec::new(),
            hint: None,
            backing: 0,
        };
        for step in steps {
            world.run(step);
            world.check();
        }
        while !world.faults.is_empty() {
            world.complete(0, false);
        }
        world.memory.unmap(Span::ALL);
        while let Some((piece, _)) = world.uses.pop() {
            world.memory.release(piece.held);
        }
        world.reclaim();
        prop_assert!(!world.memory.is_draining(Span::ALL));
        prop_assert_eq!(world.pinned.pages, 0);
        prop_assert_eq!(world.memory.charged(), 0);

        // nor is anything thought to be in use, or kept
        let keep = |world: &mut World, at: u64| {
            let want = Want::new(Span::new(at * BLOCK, 1).unwrap(), Access::READ);
            let Ok(Resolution::Fault(fault)) = world.memory.resolve(&want) else {
                panic!("there is room");
            };
            let pinned = Ok(world.pinned.pin(fault.len));
            let Completion::Ready(piece) = world.memory.complete(fault, pinned) else {
                panic!("it was pinned");
            };
            let hold = world.memory.hold(&piece.held).unwrap();
            (piece, hold)
        };
        world.memory.map(region(0, 3 * BLOCK, Access::READ, 0)).unwrap();
        for (piece, hold) in [0, 1].map(|at| keep(&mut world, at)) {
            world.memory.unhold(hold);
            world.memory.release(piece.held);
        }
    }
}
