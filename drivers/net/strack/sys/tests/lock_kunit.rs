// SPDX-License-Identifier: GPL-2.0

//! sys/lock.rs: who is kept out, and for how long.

use super::{
    bh_off,
    spin,
    Alarm,
    MSEC, //
};
use crate::sys::{
    lock::{
        new_bh_lock,
        BhLock,
        BhOff, //
    },
    timer::now, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

fn counter() -> Result<Arc<BhLock<u64>>> {
    Arc::pin_init(new_bh_lock!(0, "strack::kunit"), GFP_KERNEL)
}

/// Not in one step, so that whoever comes in between is noticed.
fn count(lock: &BhLock<u64>) {
    let mut guard = lock.lock();
    let before = *guard;
    spin(20);
    *guard = before + 1;
}

#[kunit_tests(strack_lock)]
mod suite {
    use super::*;

    #[test]
    fn bottom_halves_off_while_held() -> Result {
        let lock = counter()?;
        assert!(!bh_off());
        let guard = lock.lock();
        let held = bh_off();
        drop(guard);
        assert!(held);
        assert!(!bh_off());
        Ok(())
    }

    #[test]
    fn try_lock() -> Result {
        let lock = counter()?;
        let guard = lock.try_lock();
        let (first, held) = (guard.is_some(), bh_off());
        // By the same task, which would wait for ever.
        let second = lock.try_lock().is_some();
        drop(guard);
        assert!(first && held);
        assert!(!second);
        // A refusal turns bottom halves on again as often as off.
        assert!(!bh_off());
        let again = lock.try_lock().is_some();
        assert!(again);
        Ok(())
    }

    #[test]
    fn bh_off_nests() {
        let outer = BhOff::new();
        let inner = BhOff::new();
        drop(inner);
        let still = bh_off();
        drop(outer);
        assert!(still);
        assert!(!bh_off());
    }

    #[test]
    fn softirq_waits_for_bh_on() -> Result {
        let mut alarm = Alarm::new(|| ())?;
        let bh = BhOff::new();
        alarm.set(now());
        spin(5_000);
        let meanwhile = alarm.times();
        drop(bh);
        alarm.wait()?;
        assert_eq!(meanwhile, 0);
        Ok(())
    }

    #[test]
    fn process_and_softirq_exclude_each_other() -> Result {
        const ROUNDS: u64 = 20;
        let lock = counter()?;
        let mut alarm = Alarm::new({
            let lock = lock.clone();
            move || count(&lock)
        })?;
        let mut counted = 0;
        for _ in 0..ROUNDS {
            let fired = alarm.times();
            // While the other one is at it.
            alarm.set(now() + MSEC / 20);
            while alarm.times() == fired {
                count(&lock);
                counted += 1;
            }
            alarm.wait()?;
        }
        assert_eq!(*lock.lock(), counted + ROUNDS);
        Ok(())
    }
}
