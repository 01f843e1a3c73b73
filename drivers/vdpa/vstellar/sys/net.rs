// SPDX-License-Identifier: GPL-2.0

//! Network namespaces, and what an administrator asks for by netlink.

use super::{
    bindings::{
        self,
        vstellar_settings,
        vstellar_stats, //
    },
    entry::{
        borrow,
        errno, //
    }, //
};
use core::ptr::NonNull;
use kernel::ffi::{
    c_int,
    c_void, //
};

/// A network namespace, which is kept.
///
/// # Invariants
///
/// Owns a reference to it.
pub(crate) struct Net(NonNull<bindings::net>);

// SAFETY: A namespace belongs to no thread.
unsafe impl Send for Net {}
// SAFETY: As above.
unsafe impl Sync for Net {}

impl Net {
    pub(super) fn as_ptr(&self) -> *mut bindings::net {
        self.0.as_ptr()
    }

    /// Its inode number.
    pub(crate) fn inode(&self) -> u64 {
        // SAFETY: By the type invariant.
        unsafe { bindings::vstellar_c_net_inode(self.0.as_ptr()) }
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, and it is not used any more.
        unsafe { bindings::vstellar_c_net_put(self.0.as_ptr()) }
    }
}

/// # Safety
///
/// Called by the C half only, with a device that is there, and `settings` valid for a write.
#[no_mangle]
unsafe extern "C" fn vstellar_get_settings(device: *mut c_void, settings: *mut vstellar_settings) {
    // SAFETY: By the function's requirements.
    unsafe { *settings = borrow(device).settings() }
}

/// # Safety
///
/// Called by the C half only, with a device that is there, and `settings` valid for a read. Gives away
/// a reference to `net`, if that is not null and this succeeds.
#[no_mangle]
unsafe extern "C" fn vstellar_set_settings(
    device: *mut c_void,
    settings: *const vstellar_settings,
    change_net: bool,
    net: *mut bindings::net,
) -> c_int {
    // SAFETY: By the function's requirements.
    let (device, settings) = unsafe { (borrow(device), *settings) };
    let result = device.set_settings(settings, || {
        // INVARIANT: By the function's requirements; this is called if it succeeds.
        change_net.then(|| NonNull::new(net).map(Net))
    });
    errno(result)
}

/// # Safety
///
/// Called by the C half only, with a device that is there.
#[no_mangle]
unsafe extern "C" fn vstellar_get_net_inode(device: *mut c_void) -> u64 {
    // SAFETY: By the function's requirements.
    unsafe { borrow(device) }.net_inode().unwrap_or(0)
}

/// # Safety
///
/// Called by the C half only, with a device that is there, and `stats` valid for a write.
#[no_mangle]
unsafe extern "C" fn vstellar_get_stats(device: *mut c_void, stats: *mut vstellar_stats) {
    // SAFETY: By the function's requirements.
    unsafe { *stats = borrow(device).stats() }
}
