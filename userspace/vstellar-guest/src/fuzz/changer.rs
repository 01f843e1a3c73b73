// SPDX-License-Identifier: GPL-2.0
//! A second thread that changes memory of the guest while the device reads it.
//!
//! Whatever the device has checked may be something else when it looks again: a device that does
//! look again is found out by this.

use super::random::Random;
use crate::driver::slot;
use crate::driver::COMMANDS;
use crate::driver::COMMAND_BYTES;
use crate::driver::RINGS;
use crate::driver::SLOTS;
use crate::endpoint::RING_BYTES;
use crate::machine::SIZES;
use crate::ram::Ram;
use std::hint::spin_loop;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering;
use std::thread;

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
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
    target: AtomicU8,
    /// The target of the change that is being made: those before it have been made.
    at: AtomicU8,
    stop: AtomicBool,
    changes: AtomicU64,
}

/// Turns of a loop between two changes: with more of them nothing would be right for long enough.
const PAUSE: u32 = 300;

impl Changer {
    pub(super) fn new() -> Changer {
        Changer {
            target: AtomicU8::new(Target::Nothing as u8),
            at: AtomicU8::new(Target::Nothing as u8),
            stop: AtomicBool::new(false),
            changes: AtomicU64::new(0),
        }
    }

    /// When this returns nothing but `target` is changed. The thread has to be there.
    pub(super) fn aim(&self, target: Target) {
        self.target.store(target as u8, Ordering::SeqCst);
        while self.at.load(Ordering::SeqCst) != target as u8 {
            thread::yield_now();
        }
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// How many changes there were.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// The thread.
    pub(super) fn run(&self, ram: &Ram, seed: u64) {
        let mut random = Random::new(seed);
        while !self.stop.load(Ordering::Relaxed) {
            let target = self.target.load(Ordering::SeqCst);
            self.at.store(target, Ordering::SeqCst);
            if target == Target::Nothing as u8 {
                thread::yield_now();
                continue;
            }
            let at = place(&mut random, target);
            let number = random.number();
            match random.below(3) {
                0 => ram.store(at & !3, (number as u32).to_le()),
                1 => ram.store(at & !1, (number as u16).to_le()),
                _ => ram.store(at, number as u8),
            }
            self.changes.fetch_add(1, Ordering::Relaxed);
            for _ in 0..PAUSE {
                spin_loop();
            }
        }
    }
}

fn place(random: &mut Random, target: u8) -> u64 {
    if target == Target::Requests as u8 {
        // the header and the first fields of one
        let chain = random.below(u64::from(SIZES[0]) / 2);
        return COMMANDS + chain * COMMAND_BYTES + random.below(96);
    }
    if target == Target::Entries as u8 {
        return match random.below(4) {
            0 => slot(
                random.below(u64::from(SLOTS.min(16))) as u32,
                random.below(16),
            ),
            _ => RINGS + random.below(16) * RING_BYTES + random.below(1024),
        };
    }
    // the control queue's descriptors, and the available ring behind them
    random.below(16 * u64::from(SIZES[0]) + 4 + 2 * u64::from(SIZES[0]))
}
