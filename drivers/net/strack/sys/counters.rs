// SPDX-License-Identifier: GPL-2.0

//! The counters of a network namespace: one array for each CPU, so that counting takes no lock and
//! shares no cache line, and the file that shows their sums, `/proc/net/strack/snmp`.

use super::{
    bindings,
    netns::NetHandle, //
};
use crate::observe::counters::{
    lines,
    TOTAL, //
};
use core::ptr::NonNull;
use kernel::{
    error::to_result,
    ffi::c_void,
    prelude::*,
    sync::atomic::{
        Atomic,
        Full, //
    },
};

/// [`TOTAL`] counters with their file.
///
/// # Invariants
///
/// `values` points to [`TOTAL`] 64-bit values for each CPU, which this object owns. `net` is the
/// namespace that the counters are of, which outlives them. While `published` is set, the file is
/// there and shows `values`.
pub(crate) struct CounterArray {
    values: NonNull<u64>,
    net: *mut bindings::net,
    published: Atomic<bool>,
}

// SAFETY: The values are counted and summed from everywhere, and `net` is only a name.
unsafe impl Send for CounterArray {}
// SAFETY: As above.
unsafe impl Sync for CounterArray {}

impl CounterArray {
    /// All counters at zero, and the file. Process context.
    pub(crate) fn new(net: &NetHandle) -> Result<CounterArray> {
        // SAFETY: No requirements.
        let values = unsafe { bindings::strack_c_counters_alloc(TOTAL) };
        // INVARIANT: Of this size, and new; there is no file yet.
        let counters = CounterArray {
            values: NonNull::new(values).ok_or(ENOMEM)?,
            net: net.as_net(),
            published: Atomic::new(false),
        };
        // SAFETY: The namespace is being set up. The file is gone before the values are.
        to_result(unsafe { bindings::strack_c_snmp_create(counters.net, values.cast()) })?;
        // INVARIANT: The file has been made.
        counters.published.xchg(true, Full);
        Ok(counters)
    }

    /// Takes the file away. Process context.
    pub(crate) fn unpublish(&self) {
        if self.published.xchg(false, Full) {
            // SAFETY: By the type invariant, and nobody else has seen the flag set.
            unsafe { bindings::strack_c_snmp_remove(self.net) };
        }
    }

    /// Adds to a counter, on this CPU. Any context. Nothing happens if there is no such counter.
    #[inline]
    pub(crate) fn add(&self, slot: usize, n: u64) {
        if slot < TOTAL {
            // SAFETY: By the type invariant and the check.
            unsafe { bindings::strack_c_counters_add(self.values.as_ptr(), slot, n) }
        }
    }
}

impl Drop for CounterArray {
    fn drop(&mut self) {
        self.unpublish();
        // SAFETY: By the type invariant, and the file is gone.
        unsafe { bindings::strack_c_counters_free(self.values.as_ptr()) }
    }
}

/// Somebody reads the file.
///
/// # Safety
///
/// Called by the C half only: `seq` is being shown, and `values` is that of the [`CounterArray`] that
/// made the file.
#[no_mangle]
unsafe extern "C" fn strack_snmp_show(seq: *mut bindings::seq_file, values: *mut c_void) {
    for (slot, name) in lines().filter(|&(slot, _)| slot < TOTAL) {
        // SAFETY: By the safety requirements; there is a value in each of so many slots, and the name
        // is as long as it says.
        unsafe {
            let sum = bindings::strack_c_counters_sum(values.cast(), slot);
            bindings::strack_c_snmp_line(seq, name.as_ptr().cast(), name.len(), sum);
        }
    }
}
