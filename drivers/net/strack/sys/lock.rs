// SPDX-License-Identifier: GPL-2.0

//! A spin lock that keeps softirqs of its CPU out.
//!
//! Connections are worked on by system calls, by the receive softirq and by a soft timer. The
//! kernel crate's `SpinLock` leaves bottom halves on, so a system call that held it could be
//! interrupted by a softirq that spins on it for ever.

use super::bindings;
use kernel::{
    sync::lock::{
        Backend,
        Lock, //
    },
    types::NotThreadSafe, //
};

/// `spin_lock_bh()` as a lock backend.
pub(crate) struct BhBackend;

/// A lock taken with bottom halves off.
pub(crate) type BhLock<T> = Lock<T, BhBackend>;

// SAFETY: `spinlock_t` ensures mutual exclusion between CPUs and, with bottom halves off, against
// the softirqs of its own. `relock` is the default and locks the same way.
unsafe impl Backend for BhBackend {
    type State = bindings::spinlock_t;
    type GuardState = ();

    unsafe fn init(
        ptr: *mut Self::State,
        name: *const kernel::ffi::c_char,
        key: *mut bindings::lock_class_key,
    ) {
        // SAFETY: The caller guarantees that `ptr` is valid for writes and that `name` and `key`
        // live for ever.
        unsafe { bindings::__spin_lock_init(ptr, name, key) }
    }

    unsafe fn lock(ptr: *mut Self::State) -> Self::GuardState {
        // SAFETY: The caller guarantees that the lock is initialised.
        unsafe { bindings::strack_c_spin_lock_bh(ptr) }
    }

    unsafe fn try_lock(ptr: *mut Self::State) -> Option<Self::GuardState> {
        // SAFETY: The caller guarantees that the lock is initialised.
        unsafe { bindings::strack_c_spin_trylock_bh(ptr) }.then_some(())
    }

    unsafe fn unlock(ptr: *mut Self::State, _state: &Self::GuardState) {
        // SAFETY: The caller owns the lock.
        unsafe { bindings::strack_c_spin_unlock_bh(ptr) }
    }

    unsafe fn assert_is_held(ptr: *mut Self::State) {
        // SAFETY: The caller guarantees that the lock is initialised.
        unsafe { bindings::spin_assert_is_held(ptr) }
    }
}

/// Bottom halves of this CPU, and preemption, are off while it exists.
pub(crate) struct BhOff(NotThreadSafe);

impl BhOff {
    /// Turns them off. Nests.
    pub(crate) fn new() -> BhOff {
        // SAFETY: Turned on again on the same CPU, by the destructor.
        unsafe { bindings::strack_c_bh_disable() };
        BhOff(NotThreadSafe)
    }
}

impl Drop for BhOff {
    fn drop(&mut self) {
        // SAFETY: Pairs with `new`.
        unsafe { bindings::strack_c_bh_enable() }
    }
}

/// Creates a [`BhLock`] initialiser with a lock class of its own for each place that uses it.
macro_rules! new_bh_lock {
    ($inner:expr, $name:literal) => {
        $crate::sys::lock::BhLock::new(
            $inner,
            kernel::c_str!($name),
            kernel::sync::static_lock_class!(),
        )
    };
}
pub(crate) use new_bh_lock;
