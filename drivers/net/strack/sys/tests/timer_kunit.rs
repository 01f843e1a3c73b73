// SPDX-License-Identifier: GPL-2.0

//! sys/timer.rs: when a timer fires, how often, and where.
//!
//! A soft timer fires on the CPU it was set on, so with bottom halves off it does not fire while a test
//! goes on with it.

use super::{
    elsewhere,
    spin,
    spin_until,
    Alarm,
    Event,
    MSEC, //
};
use crate::sys::{
    lock::BhOff,
    timer::now, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Release, //
        },
        Arc, //
    }, //
};

#[kunit_tests(strack_timer)]
mod suite {
    use super::*;

    #[test]
    fn clock_goes_on() {
        let before = now();
        assert!(before > 0);
        spin(10);
        assert!(now() >= before + 10_000);
    }

    #[test]
    fn fires_once_in_softirq_and_not_early() -> Result {
        let mut alarm = Alarm::new(|| ())?;
        let at = now() + 5 * MSEC;
        alarm.set(at);
        alarm.wait()?;
        assert!(alarm.at() >= at);
        assert!(alarm.in_softirq());
        alarm.shut();
        assert_eq!(alarm.times(), 1);
        Ok(())
    }

    #[test]
    fn past_fires_at_once() -> Result {
        let mut alarm = Alarm::new(|| ())?;
        alarm.set(now().saturating_sub(MSEC));
        alarm.wait()
    }

    #[test]
    fn set_again_after_it_fired() -> Result {
        let mut alarm = Alarm::new(|| ())?;
        for _ in 0..3 {
            alarm.set(now() + MSEC);
            alarm.wait()?;
        }
        assert_eq!(alarm.times(), 3);
        Ok(())
    }

    #[test]
    fn moved_earlier() -> Result {
        let mut alarm = Alarm::new(|| ())?;
        // Later than anybody waits.
        alarm.set(now() + 3_600_000 * MSEC);
        let at = now() + MSEC;
        alarm.set(at);
        alarm.wait()?;
        assert!(alarm.at() >= at);
        assert_eq!(alarm.times(), 1);
        Ok(())
    }

    #[test]
    fn moved_later() -> Result {
        let mut alarm = Alarm::new(|| ())?;
        let later = {
            let _bh = BhOff::new();
            alarm.set(now() + MSEC);
            let later = now() + 50 * MSEC;
            alarm.set(later);
            later
        };
        alarm.wait()?;
        assert!(alarm.at() >= later);
        alarm.shut();
        assert_eq!(alarm.times(), 1);
        Ok(())
    }

    #[test]
    fn stopped() -> Result {
        let mut alarm = Alarm::new(|| ())?;
        let mut witness = Alarm::new(|| ())?;
        {
            let _bh = BhOff::new();
            alarm.set(now() + 2 * MSEC);
            witness.set(now() + 3 * MSEC);
            alarm.stop();
        }
        witness.wait()?;
        assert_eq!(alarm.times(), 0);
        Ok(())
    }

    #[test]
    fn shut_waits_for_callback() -> Result {
        // The callback runs on this CPU, so who shuts the timer has to be on another.
        let shutting = Arc::new(Atomic::new(false), GFP_KERNEL)?;
        let begun = Arc::new(Atomic::new(false), GFP_KERNEL)?;
        let ended = Arc::new(Atomic::new(false), GFP_KERNEL)?;
        let ready = Arc::pin_init(Event::new(), GFP_KERNEL)?;
        let done = Arc::pin_init(Event::new(), GFP_KERNEL)?;
        let in_time = Arc::new(Atomic::new(false), GFP_KERNEL)?;
        let mut alarm = Alarm::new({
            let (shutting, begun, ended) = (shutting.clone(), begun.clone(), ended.clone());
            move || {
                begun.store(true, Release);
                if spin_until(&shutting) {
                    spin(50_000);
                    ended.store(true, Release);
                }
            }
        })?;
        let probe = alarm.0.clone();
        elsewhere({
            let (ready, done, in_time) = (ready.clone(), done.clone(), in_time.clone());
            move || {
                ready.signal();
                spin_until(&begun);
                shutting.store(true, Release);
                probe.timer.shut();
                in_time.store(ended.load(Acquire), Release);
                drop(probe);
                done.signal();
            }
        })?;
        ready.wait()?;
        alarm.set(now());
        done.wait()?;
        assert!(in_time.load(Acquire));
        Ok(())
    }
}
