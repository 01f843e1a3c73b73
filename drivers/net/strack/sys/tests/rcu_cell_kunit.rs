// SPDX-License-Identifier: GPL-2.0

//! sys/rcu_cell.rs: what is in the cell, who drops it, and that readers are waited for.

use super::{
    elsewhere,
    spin,
    spin_until,
    Event, //
};
use crate::sys::rcu_cell::{
    RcuCell,
    Retired, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed,
            Release, //
        },
        Arc, //
    }, //
};

/// Counts how often it is dropped.
struct Tracked {
    name: u32,
    dropped: Arc<Atomic<u32>>,
}

impl Tracked {
    fn new(name: u32, dropped: &Arc<Atomic<u32>>) -> Result<KBox<Tracked>> {
        let dropped = dropped.clone();
        Ok(KBox::new(Tracked { name, dropped }, GFP_KERNEL)?)
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.dropped.store(self.dropped.load(Relaxed) + 1, Relaxed);
    }
}

#[kunit_tests(strack_rcu_cell)]
mod suite {
    use super::*;

    #[test]
    fn empty_lends_nothing() {
        let cell = RcuCell::<u32>::new();
        assert!(!cell.is_some());
        assert!(cell.with(|_| ()).is_none());
        assert!(cell.take().is_none());
    }

    #[test]
    fn gives_back_what_was_there() -> Result {
        let dropped = Arc::new(Atomic::new(0), GFP_KERNEL)?;
        let cell = RcuCell::new();
        assert!(cell.set(Tracked::new(1, &dropped)?).is_none());
        assert!(cell.is_some());
        assert_eq!(cell.with(|it| it.name), Some(1));
        let old = cell.set(Tracked::new(2, &dropped)?).map(Retired::reclaim);
        assert_eq!(old.as_ref().map(|it| it.name), Some(1));
        assert_eq!(cell.with(|it| it.name), Some(2));
        assert_eq!(dropped.load(Relaxed), 0);
        drop(old);
        assert_eq!(dropped.load(Relaxed), 1);
        let old = cell.take().map(Retired::reclaim);
        assert_eq!(old.map(|it| it.name), Some(2));
        assert!(!cell.is_some());
        assert_eq!(dropped.load(Relaxed), 2);
        Ok(())
    }

    #[test]
    fn drops_what_is_left() -> Result {
        let dropped = Arc::new(Atomic::new(0), GFP_KERNEL)?;
        let cell = RcuCell::new();
        assert!(cell.set(Tracked::new(1, &dropped)?).is_none());
        drop(cell);
        assert_eq!(dropped.load(Relaxed), 1);
        Ok(())
    }

    #[test]
    fn reclaim_waits_for_readers() -> Result {
        let dropped = Arc::new(Atomic::new(0), GFP_KERNEL)?;
        let cell = Arc::new(RcuCell::new(), GFP_KERNEL)?;
        assert!(cell.set(Tracked::new(7, &dropped)?).is_none());
        let begun = Arc::new(Atomic::new(false), GFP_KERNEL)?;
        let done = Arc::pin_init(Event::new(), GFP_KERNEL)?;
        let owner = {
            let (cell, begun, done) = (cell.clone(), begun.clone(), done.clone());
            move || {
                let old = cell.take();
                begun.store(true, Release);
                drop(old.map(Retired::reclaim));
                done.signal();
            }
        };
        let during = cell.with(|it| {
            elsewhere(owner)?;
            // It has been taken out, and whoever did so wants it.
            let begun = spin_until(&begun);
            spin(50_000);
            Ok::<_, Error>((begun, it.name, it.dropped.load(Relaxed)))
        });
        let during = during.ok_or(ENOENT)??;
        done.wait()?;
        assert_eq!(during, (true, 7, 0));
        assert_eq!(dropped.load(Relaxed), 1);
        assert!(cell.with(|_| ()).is_none());
        Ok(())
    }
}
