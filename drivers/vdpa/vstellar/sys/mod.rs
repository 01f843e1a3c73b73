// SPDX-License-Identifier: GPL-2.0

//! The border to the kernel's C: bindings, and thin safe wrappers over them.
//!
//! Everything that needs `unsafe` lives below this module, in [`entry`] where C calls.

pub(crate) mod area;
#[path = "../../../bindings.rs"]
pub(crate) mod bindings;
mod entry;
pub(crate) mod loan;
pub(crate) mod net;
pub(crate) mod page;
pub(crate) mod socket;
pub(crate) mod vdpa;

/// Nanoseconds since some time long ago.
pub(crate) fn now() -> u64 {
    // SAFETY: No requirements.
    unsafe { bindings::vstellar_c_now() }
}

/// Sixty-four random bits, unpredictable for strangers.
pub(crate) fn random() -> u64 {
    // SAFETY: No requirements.
    unsafe { bindings::vstellar_c_random() }
}
