// SPDX-License-Identifier: GPL-2.0

//! A one-shot high resolution timer inside a reference-counted object.
//!
//! The timer runs in softirq context (`HRTIMER_MODE_ABS_SOFT`) and is set and moved under the lock of
//! the object it belongs to, from any context. A queued timer keeps nothing alive: whoever holds the
//! object's last reference for it (the connection table, see [`super::table::Link`]) calls
//! [`Timer::shut`] before giving that up, and after the last [`Timer::set`]. The `HrTimer` of the kernel crate has a handle for each start
//! instead, whose destructor waits for the callback, which takes the very lock it would be dropped
//! under.

use super::bindings;
use core::cell::UnsafeCell;
use kernel::{
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
    types::Opaque, //
};

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub(crate) fn now() -> u64 {
    // SAFETY: May be called in any context.
    let now = unsafe { bindings::ktime_get() };
    u64::try_from(now).unwrap_or(0)
}

/// An object with a [`Timer`] in it.
pub(crate) trait Expire: Sized {
    /// The timer has fired. Runs in softirq context.
    fn expired(self: Arc<Self>);
}

/// The timer of a `T`.
///
/// # Invariants
///
/// While the timer is queued or its callback runs, `owner` points to the object that the timer is in,
/// which is alive and owned by an [`Arc`].
#[pin_data]
#[repr(C)]
pub(crate) struct Timer<T> {
    #[pin]
    raw: Opaque<bindings::hrtimer>,
    owner: UnsafeCell<*const T>,
}

// SAFETY: The kernel's timers may be used on any CPU; `owner` is written only by `set`, whose callers
// are serialised, and always with the same value.
unsafe impl<T: Send + Sync> Send for Timer<T> {}
// SAFETY: As above.
unsafe impl<T: Send + Sync> Sync for Timer<T> {}

impl<T: Expire + Send + Sync> Timer<T> {
    /// Creates a stopped timer.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            raw <- Opaque::ffi_init(|slot| {
                // SAFETY: `slot` is valid for writes and stays where it is.
                unsafe { bindings::strack_c_timer_setup(slot, Some(Self::callback)) }
            }),
            owner: UnsafeCell::new(core::ptr::null()),
        })
    }

    /// Lets the timer fire at `at`, whether it was queued or not.
    ///
    /// # Safety
    ///
    /// `owner` is the object that this timer is in, which is in an [`Arc`]. Calls for one timer exclude each other (by the
    /// object's lock), and each comes before a call of [`Timer::shut`] that is made while somebody
    /// still has a reference to the object.
    pub(super) unsafe fn set(&self, owner: *const T, at: u64) {
        // INVARIANT: By the safety requirements the object outlives the queued timer.
        // SAFETY: Callers are serialised; a running callback may read at the same time, but this
        // writes what is there already, since an object has one address.
        unsafe { self.owner.get().write_volatile(owner) };
        // SAFETY: `raw` is set up.
        unsafe { bindings::strack_c_timer_start(self.raw.get(), at) };
    }

    /// Takes the timer off the queue, if that is possible without waiting for its callback.
    pub(super) fn stop(&self) {
        // SAFETY: `raw` is set up.
        unsafe { bindings::strack_c_timer_cancel_try(self.raw.get()) };
    }

    /// Takes the timer off the queue and waits until its callback has returned. Any context but the
    /// callback and hard interrupts, without the object's lock.
    pub(super) fn shut(&self) {
        // SAFETY: `raw` is set up.
        unsafe { bindings::hrtimer_cancel(self.raw.get()) };
    }

    /// Called by the kernel when the timer fires.
    ///
    /// # Safety
    ///
    /// `raw` is the `raw` of a [`Timer<T>`] that has just been taken off the queue.
    unsafe extern "C" fn callback(raw: *mut bindings::hrtimer) -> bindings::hrtimer_restart {
        // SAFETY: `raw` is at the start of a `Timer<T>` by `repr(C)` and the caller's promise; by the
        // invariant its object is alive and in an `Arc`.
        let owner =
            unsafe { ArcBorrow::from_raw((*raw.cast::<Self>()).owner.get().read_volatile()) };
        let owner: Arc<T> = owner.into();
        owner.expired();
        bindings::hrtimer_restart::HRTIMER_NORESTART
    }
}
