// SPDX-License-Identifier: GPL-2.0

//! A one-shot high resolution timer inside a reference-counted object.
//!
//! The timer runs in softirq context (`HRTIMER_MODE_ABS_SOFT`) and is set, moved and stopped under
//! the lock of the object it belongs to, from any context. A queued timer owns one reference to its
//! object, which travels into the callback when it fires. There is no waiting for a running callback
//! anywhere: the callback takes the object's lock itself, and finds out there what is left to do.
//! That is what the `HrTimer` of the kernel crate cannot do: its handles stop the timer by waiting.

use super::bindings;
use core::cell::UnsafeCell;
use kernel::{
    prelude::*,
    sync::Arc,
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
/// While the timer is queued, and while its callback runs, `owner` is a pointer from
/// [`Arc::into_raw`] that stands for one reference.
#[pin_data]
#[repr(C)]
pub(crate) struct Timer<T> {
    #[pin]
    raw: Opaque<bindings::hrtimer>,
    owner: UnsafeCell<*const T>,
}

// SAFETY: The kernel's timers may be used on any CPU; `owner` is written only by `set`, whose callers
// are serialised, and only while the timer is not queued.
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
    /// `owner` is the object that the timer is in. Calls of this and of [`Timer::stop`] for one timer
    /// exclude each other (by the object's lock).
    pub(crate) fn set(&self, owner: &Arc<T>, at: u64) {
        // SAFETY: `raw` is set up. Only a positive result means that the timer was queued and its
        // reference is still here; with a callback on its way that callback has it.
        if unsafe { bindings::strack_c_timer_cancel_try(self.raw.get()) } <= 0 {
            // INVARIANT: The timer is about to be queued, with a reference of its own.
            // SAFETY: Callers are serialised; a running callback may read at the same time, but
            // this writes what is there already, since an object has one address.
            unsafe {
                self.owner
                    .get()
                    .write_volatile(Arc::into_raw(owner.clone()))
            };
        }
        // SAFETY: `raw` is set up and not queued.
        unsafe { bindings::strack_c_timer_start(self.raw.get(), at) };
    }

    /// Takes the timer off the queue. A callback that runs already is not waited for.
    pub(crate) fn stop(&self) {
        // SAFETY: `raw` is set up.
        if unsafe { bindings::strack_c_timer_cancel_try(self.raw.get()) } > 0 {
            // SAFETY: By the invariant: it was queued, so `owner` stands for a reference, which is
            // ours now.
            drop(unsafe { Arc::from_raw(self.owner.get().read_volatile()) });
        }
    }

    /// Called by the kernel when the timer fires.
    ///
    /// # Safety
    ///
    /// `raw` is the `raw` of a [`Timer<T>`] that has just been taken off the queue.
    unsafe extern "C" fn callback(raw: *mut bindings::hrtimer) -> bindings::hrtimer_restart {
        // SAFETY: `raw` is at the start of a `Timer<T>` by `repr(C)` and the caller's promise, and
        // by the invariant it has a reference to hand over.
        let owner = unsafe { Arc::from_raw((*raw.cast::<Self>()).owner.get().read_volatile()) };
        owner.expired();
        bindings::hrtimer_restart::HRTIMER_NORESTART
    }
}
