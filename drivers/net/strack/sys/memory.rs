// SPDX-License-Identifier: GPL-2.0

//! Memory that counts for all sockets together (`net.strack.mem`) and has no socket to be charged to.
//! See sys/memory.c.

use super::bindings;
use kernel::{
    ffi::c_ulong,
    page::PAGE_SIZE, //
};

/// How much may be in use, with a share, for that to be had.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// As much as sockets have without being under pressure.
    Pressure,
    /// As much as they may have at all.
    Limit,
}

/// So much of it; given back when it is dropped. Any context.
pub(crate) struct Share {
    pages: c_ulong,
}

impl Share {
    /// Takes at least `bytes`, if they are to be had.
    pub(crate) fn take(bytes: usize, until: Until) -> Option<Share> {
        let pages = c_ulong::try_from(bytes.div_ceil(PAGE_SIZE)).ok()?;
        let until = match until {
            Until::Pressure => bindings::strack_memory_until_STRACK_MEMORY_PRESSURE,
            Until::Limit => bindings::strack_memory_until_STRACK_MEMORY_LIMIT,
        };
        // SAFETY: No requirements.
        let taken = unsafe { bindings::strack_c_memory_take(pages, until) };
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
