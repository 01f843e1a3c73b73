// SPDX-License-Identifier: GPL-2.0

//! The family in the kernel's tables.

use super::bindings;
use kernel::{
    error::to_result,
    prelude::*, //
};

/// The family is registered as long as this exists, so that programs can open sockets.
///
/// # Invariants
///
/// `strack_c_family_register()` has succeeded, and `strack_c_family_unregister()` was not called since.
pub(crate) struct Registration(());

impl Registration {
    /// Registers it; once, as the last thing that a module does at its start.
    pub(crate) fn new() -> Result<Registration> {
        // SAFETY: Called before anything of this module is in use. A second registration fails.
        to_result(unsafe { bindings::strack_c_family_register() })?;
        // INVARIANT: It has succeeded.
        Ok(Registration(()))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; a module with open sockets is not unloaded.
        unsafe { bindings::strack_c_family_unregister() }
    }
}
