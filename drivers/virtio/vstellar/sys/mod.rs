// SPDX-License-Identifier: GPL-2.0

//! The border to C, where sockets, virtqueues and memory are.

use kernel::{
    error::to_result,
    prelude::*, //
};

#[path = "../../../bindings.rs"]
mod bindings;
mod entry;

/// The driver is registered as long as this exists.
///
/// # Invariants
///
/// `vsg_c_register()` has succeeded, and `vsg_c_unregister()` was not called since.
pub(crate) struct Registration(());

impl Registration {
    /// Registers it; once, as the last thing that a module does at its start.
    pub(crate) fn new() -> Result<Registration> {
        // SAFETY: Nothing else of this module has to be there for it.
        to_result(unsafe { bindings::vsg_c_register() })?;
        // INVARIANT: It has succeeded.
        Ok(Registration(()))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; a module with open sockets is not unloaded.
        unsafe { bindings::vsg_c_unregister() }
    }
}
