// SPDX-License-Identifier: GPL-2.0
//! A second thread that changes memory of the guest while the device reads it.
//!
//! Whatever the device has checked may be something else when it looks again: a device that does
//! look again is found out by this.

use super::random::Random;
use super::work::FIRST_RING;
use super::work::USED_SLOTS;
use crate::driver::slot;
use crate::driver::COMMANDS;
use crate::driver::COMMAND_BYTES;
use crate::driver::RINGS;
use crate::endpoint::RING_BYTES;
use crate::machine::CONTROL;
use crate::machine::EVENT;
use crate::machine::SIZES;
use crate::queue::QUEUE_BYTES;
use crate::ram::Ram;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::thread;
use std::time::Duration;

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Nothing,
    /// Requests.
    Requests,
    /// Rings of endpoints, and the driver's half of doorbell slots.
    Entries,
    /// Descriptors and available rings.
    Descriptors,
}

/// What both threads know.
pub(super) struct Changer {
    aim: Mutex<Aim>,
    /// The aim is another.
    aimed: Condvar,
    changes: AtomicU64,
}

/// What is changed at the moment: changes are made with the lock of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aim {
    At(Target),
    /// The end.
    Stop,
}

/// Between some changes and the next: with more of them nothing would be right for long enough, and the
/// device needs a processor as well.
const PAUSE: Duration = Duration::from_micros(50);

/// Changes at a time, so that some come while one structure is read.
const BURST: u32 = 4;

impl Changer {
    pub(super) fn new() -> Changer {
        Changer {
            aim: Mutex::new(Aim::At(Target::Nothing)),
            aimed: Condvar::new(),
            changes: AtomicU64::new(0),
        }
    }

    /// When this returns nothing but `target` is changed.
    pub(super) fn aim(&self, target: Target) {
        self.set(Aim::At(target));
    }

    pub(super) fn stop(&self) {
        self.set(Aim::Stop);
    }

    fn set(&self, aim: Aim) {
        *self.lock() = aim;
        self.aimed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Aim> {
        self.aim.lock().expect("the other thread has not panicked")
    }

    /// How many changes there were.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// The thread.
    pub(super) fn run(&self, ram: &Ram, seed: u64) {
        let mut random = Random::new(seed);
        loop {
            let aim = self.lock();
            match *aim {
                Aim::Stop => return,
                Aim::At(Target::Nothing) => {
                    // the lock that comes with it is taken again above
                    drop(self.aimed.wait(aim));
                    continue;
                }
                Aim::At(target) => {
                    for _ in 0..BURST {
                        change(&mut random, ram, target);
                    }
                }
            }
            drop(aim);
            self.changes.fetch_add(BURST.into(), Ordering::Relaxed);
            thread::sleep(PAUSE);
        }
    }
}

fn change(random: &mut Random, ram: &Ram, target: Target) {
    let at = place(random, target);
    let number = random.number();
    match random.below(3) {
        0 => ram.store(at & !3, (number as u32).to_le()),
        1 => ram.store(at & !1, (number as u16).to_le()),
        _ => ram.store(at, number as u8),
    }
}

fn place(random: &mut Random, target: Target) -> u64 {
    match target {
        // the header and the first fields of one
        Target::Requests => {
            let chain = random.below(u64::from(SIZES[CONTROL]) / 2);
            COMMANDS + chain * COMMAND_BYTES + random.below(96)
        }
        Target::Entries => match random.below(4) {
            0 => slot(random.below(USED_SLOTS.into()) as u32, random.below(16)),
            _ => RINGS + random.below(2 * u64::from(FIRST_RING)) * RING_BYTES + random.below(1024),
        },
        // the descriptors of a queue, and the available ring behind them
        Target::Descriptors | Target::Nothing => {
            let queue = if random.one_in(3) { EVENT } else { CONTROL };
            let size = u64::from(SIZES[queue]);
            queue as u64 * QUEUE_BYTES + random.below(16 * size + 4 + 2 * size)
        }
    }
}
