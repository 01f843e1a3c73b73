// SPDX-License-Identifier: GPL-2.0

//! The border to the kernel's C: bindings, and thin safe wrappers over them.
//!
//! Everything that needs `unsafe` lives below this module or in the `extern "C"` entry points that
//! C calls. The rest of the module is written against the types offered here.

use kernel::{
    alloc::Flags,
    prelude::*, //
};

#[path = "../../../bindings.rs"]
pub(crate) mod bindings;
pub(crate) mod counters;
pub(crate) mod dst;
pub(crate) mod family;
pub(crate) mod host;
pub(crate) mod lock;
pub(crate) mod memory;
pub(crate) mod netns;
pub(crate) mod pages;
pub(crate) mod rcu_cell;
pub(crate) mod skb;
pub(crate) mod sock;
pub(crate) mod sockaddr;
pub(crate) mod sockopt;
pub(crate) mod table;
#[cfg(CONFIG_STRACK_KUNIT_TEST)]
pub(crate) mod tests;
pub(crate) mod timer;
pub(crate) mod uaccess;
pub(crate) mod udp;
pub(crate) mod zcopy;

/// The C value of allocation flags, which the kernel's crate keeps to itself: the nearest of those in
/// use here.
fn raw_gfp(flags: Flags) -> bindings::gfp_t {
    if flags.contains(GFP_KERNEL_ACCOUNT) {
        bindings::GFP_KERNEL_ACCOUNT
    } else if flags.contains(GFP_KERNEL) {
        bindings::GFP_KERNEL
    } else if flags.contains(GFP_ATOMIC) {
        bindings::GFP_ATOMIC
    } else {
        bindings::GFP_NOWAIT
    }
}

/// Allocation flags for what a connection is made of, which is a lot and often a peer's doing: charged
/// to the owner of the socket, and refused where only the OOM killer could make room. Process context.
pub(crate) fn gfp_connection() -> Flags {
    const _: () = assert!(size_of::<Flags>() == size_of::<bindings::gfp_t>());
    // SAFETY: The kernel's crate has no name for `__GFP_NORETRY`. `Flags` is a structure with one field,
    // a `gfp_t`, and no larger than that, so the field lies at its beginning and any value is valid:
    // what the language does not promise of a structure with several fields cannot differ here.
    unsafe { core::mem::transmute::<bindings::gfp_t, Flags>(bindings::strack_c_gfp_connection()) }
}

/// Sixty-four random bits, unpredictable for strangers.
pub(crate) fn random() -> u64 {
    // SAFETY: No requirements.
    unsafe { bindings::strack_c_random() }
}
