// SPDX-License-Identifier: GPL-2.0

//! A place for something that comes and goes while others look at it: an RCU pointer that owns what it
//! points to.
//!
//! What is taken out is [`Retired`] at first: others may still look at it, and its owner waits for them
//! when it takes it over. Between the two, time passes that need not be waited for.

use super::bindings;
use core::ptr::NonNull;
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

    /// Puts `value` in and takes out what was there.
    pub(crate) fn set(&self, value: KBox<T>) -> Option<Retired<T>> {
        self.exchange(KBox::into_raw(value))
    }

    /// Takes out what is there.
    pub(crate) fn take(&self) -> Option<Retired<T>> {
        self.exchange(core::ptr::null_mut())
    }

    fn exchange(&self, new: *mut T) -> Option<Retired<T>> {
        // INVARIANT: Both callers have it from `KBox::into_raw()`, or it is null.
        let old = NonNull::new(self.0.xchg(new, Full))?;
        // SAFETY: No requirements.
        let since = unsafe { bindings::strack_c_rcu_now() };
        // INVARIANT: By that of the cell, and it was replaced before the state was taken.
        Some(Retired { old, since })
    }
}

/// What has been taken out of an [`RcuCell`].
///
/// # Invariants
///
/// `old` is from `KBox::into_raw()` and belongs to this object, but for those in a read-side section
/// that began before `since`.
pub(crate) struct Retired<T> {
    old: NonNull<T>,
    since: bindings::rcu_gp_seq,
}

// SAFETY: It owns a `T` and gives it to one owner only.
unsafe impl<T: Send + Sync> Send for Retired<T> {}
// SAFETY: It gives out nothing by reference.
unsafe impl<T: Send + Sync> Sync for Retired<T> {}

impl<T> Retired<T> {
    /// Waits until nobody else looks at it, unless a grace period has passed by itself meanwhile.
    /// Process context.
    pub(crate) fn reclaim(self) -> KBox<T> {
        let Retired { old, since } = self;
        // SAFETY: Process context.
        unsafe { bindings::strack_c_rcu_wait(since) };
        // SAFETY: By the type invariant, and all who looked at it have left.
        unsafe { KBox::from_raw(old.as_ptr()) }
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
