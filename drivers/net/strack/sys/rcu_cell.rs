// SPDX-License-Identifier: GPL-2.0

//! A place for something that comes and goes while others look at it: an RCU pointer that owns what it
//! points to.

use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full, //
        },
        rcu, //
    },
};

/// A place for a `T`, at first empty.
///
/// # Invariants
///
/// The pointer is null or from `KBox::into_raw()`. What it pointed to is not freed before an RCU grace
/// period has passed since it was changed.
pub(crate) struct RcuCell<T>(Atomic<*mut T>);

// SAFETY: The place owns a `T` and gives out shared references to it, on any CPU.
unsafe impl<T: Send + Sync> Send for RcuCell<T> {}
// SAFETY: As above.
unsafe impl<T: Send + Sync> Sync for RcuCell<T> {}

impl<T> RcuCell<T> {
    /// An empty place.
    pub(crate) fn new() -> Self {
        // INVARIANT: The pointer is null.
        RcuCell(Atomic::new(core::ptr::null_mut()))
    }

    /// Whether there is something. Others may change that at any time.
    #[inline]
    pub(crate) fn is_some(&self) -> bool {
        !self.0.load(Acquire).is_null()
    }

    /// Lends what is there to `f`, which must not sleep.
    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&T) -> R) -> Option<R> {
        let _rcu = rcu::read_lock();
        // SAFETY: By the type invariant what the pointer leads to outlives the read-side section.
        unsafe { self.0.load(Acquire).as_ref() }.map(f)
    }

    /// Puts `value` in, takes out what was there, and waits until nobody looks at that any more.
    /// Process context.
    pub(crate) fn replace(&self, value: Option<KBox<T>>) -> Option<KBox<T>> {
        let new = value.map_or(core::ptr::null_mut(), KBox::into_raw);
        // INVARIANT: Null or from `KBox::into_raw()`.
        let old = self.0.xchg(new, Full);
        if old.is_null() {
            return None;
        }
        rcu::synchronize_rcu();
        // SAFETY: By the type invariant. A grace period has passed, so nobody else has the pointer.
        Some(unsafe { KBox::from_raw(old) })
    }
}

impl<T> Drop for RcuCell<T> {
    fn drop(&mut self) {
        let last = self.0.load(Acquire);
        if !last.is_null() {
            // SAFETY: By the type invariant, and nobody looks at a place that is being dropped.
            drop(unsafe { KBox::from_raw(last) });
        }
    }
}
