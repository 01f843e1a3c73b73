// SPDX-License-Identifier: GPL-2.0

//! Memory that counts for all sockets together (`net.strack.mem`) and has no socket to be charged to.
//! See sys/memory.c.

use super::bindings;
use kernel::{
    ffi::c_ulong,
    page::PAGE_SIZE, //
};

/// So much of it; given back when it is dropped. Any context.
pub(crate) struct Share {
    pages: c_ulong,
}

impl Share {
    /// Takes at least `bytes`. None is to be had when no socket gets any more.
    pub(crate) fn take(bytes: usize) -> Option<Share> {
        let pages = c_ulong::try_from(bytes.div_ceil(PAGE_SIZE)).ok()?;
        // SAFETY: No requirements.
        let taken = pages == 0 || unsafe { bindings::strack_c_memory_take(pages) };
        // Not `then_some`: that would give back what was not taken.
        taken.then(|| Share { pages })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // SAFETY: They were taken, and are given back once.
        unsafe { bindings::strack_c_memory_give(self.pages) }
    }
}

/// Whether sockets together have more memory than they may. Any context.
pub(crate) fn is_over() -> bool {
    // SAFETY: No requirements.
    unsafe { bindings::strack_c_memory_is_over() }
}
