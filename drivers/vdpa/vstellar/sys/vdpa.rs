// SPDX-License-Identifier: GPL-2.0

//! The vDPA bus: the management device, a device's handle on the bus, and whom to call back.

use super::bindings;
use core::ptr::NonNull;
use kernel::{
    error::to_result,
    page::PAGE_SIZE,
    prelude::*, //
};

/// The management device is there as long as this exists, so that devices can be made.
///
/// # Invariants
///
/// `vstellar_c_register()` has succeeded, and `vstellar_c_unregister()` was not called since.
pub(crate) struct Management(());

impl Management {
    /// Registers it; once, as the last thing that a module does at its start.
    pub(crate) fn new() -> Result<Management> {
        // SAFETY: Called when everything that a device needs is there.
        to_result(unsafe { bindings::vstellar_c_register() })?;
        // INVARIANT: It has succeeded.
        Ok(Management(()))
    }
}

impl Drop for Management {
    fn drop(&mut self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::vstellar_c_unregister() }
    }
}

/// The C half of a device.
///
/// # Invariants
///
/// The pointer is to a `struct vstellar_vdpa` whose Rust half has not been freed.
#[derive(Clone, Copy)]
pub(crate) struct Vdpa(NonNull<bindings::vstellar_vdpa>);

// SAFETY: The object belongs to no thread, and what is done with it here may be done by any.
unsafe impl Send for Vdpa {}
// SAFETY: As above.
unsafe impl Sync for Vdpa {}

impl Vdpa {
    /// Wraps what C has handed over.
    ///
    /// # Safety
    ///
    /// The object stays until after the new one was dropped.
    pub(super) unsafe fn new(vs: NonNull<bindings::vstellar_vdpa>) -> Vdpa {
        // INVARIANT: By the function's requirements.
        Vdpa(vs)
    }

    pub(super) fn as_ptr(&self) -> *mut bindings::vstellar_vdpa {
        self.0.as_ptr()
    }

    /// Lets the device's work run from now on, and once at least.
    pub(crate) fn start_work(&self) {
        // SAFETY: By the type invariant; the work was set up with the object.
        unsafe { bindings::vstellar_c_work_start(self.0.as_ptr()) }
    }

    /// Lets it run no more; when this returns it has ended. To be called once for each start, by
    /// nobody that the work waits for.
    pub(crate) fn stop_work(&self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::vstellar_c_work_stop(self.0.as_ptr()) }
    }

    /// Lets it run once more if it may run. Any context.
    pub(crate) fn queue_work(&self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::vstellar_c_work_queue(self.0.as_ptr()) }
    }

    /// Lets it run once more after that time, in nanoseconds; what was said before does not count then.
    /// By the work itself. This is not a call that [`Vdpa::take_call`] knows of.
    pub(crate) fn queue_work_in(&self, ns: u64) {
        // SAFETY: By the type invariant; the timer was set up with the object.
        unsafe { bindings::vstellar_c_work_queue_in(self.0.as_ptr(), ns) }
    }

    /// Whether the work was started or queued since the last call, other than by the timer.
    pub(crate) fn take_call(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::vstellar_c_take_call(self.0.as_ptr()) }
    }

    /// How often the driver has kicked this virtqueue since the last call.
    pub(crate) fn take_kicks(&self, index: u16) -> u32 {
        // SAFETY: By the type invariant.
        unsafe { bindings::vstellar_c_take_kicks(self.0.as_ptr(), index) }
    }

    /// Bytes that the process may have pinned whose memory it uses.
    pub(crate) fn pin_limit(&self) -> u64 {
        // SAFETY: By the type invariant.
        let pages = unsafe { bindings::vstellar_c_pin_limit(self.0.as_ptr()) };
        pages.saturating_mul(PAGE_SIZE as u64)
    }

    /// Whether its driver is a process whose memory it can use.
    pub(crate) fn has_mm(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::vstellar_c_has_mm(self.0.as_ptr()) }
    }
}

/// Keeps the module from being unloaded.
///
/// # Invariants
///
/// Owns a reference to the module.
pub(crate) struct ModuleInUse(());

impl ModuleInUse {
    /// `None` if it is being unloaded already.
    pub(crate) fn new() -> Option<ModuleInUse> {
        // SAFETY: No requirements.
        let got = unsafe { bindings::vstellar_c_module_get() };
        // INVARIANT: The reference was got.
        got.then_some(ModuleInUse(()))
    }
}

impl Drop for ModuleInUse {
    fn drop(&mut self) {
        // SAFETY: By the type invariant. The bus keeps the module's code until its caller is out.
        unsafe { bindings::vstellar_c_module_put() }
    }
}

/// Whom to tell of something: a function of the driver's, or nobody.
///
/// # Invariants
///
/// May be called until the driver has replaced it, has unset the queue's ready flag, or has reset the
/// device, each of which it does by calling into the device.
pub(crate) struct Callback(bindings::vstellar_callback);

// SAFETY: The driver lets any thread call it.
unsafe impl Send for Callback {}

impl Callback {
    /// Nobody.
    pub(crate) const fn none() -> Callback {
        // INVARIANT: There is nothing to call.
        Callback(bindings::vstellar_callback {
            func: None,
            data: core::ptr::null_mut(),
        })
    }

    /// What the driver has handed over.
    ///
    /// # Safety
    ///
    /// The caller lets go of it as the type invariant says.
    pub(super) unsafe fn new(callback: bindings::vstellar_callback) -> Callback {
        // INVARIANT: By the function's requirements.
        Callback(callback)
    }

    /// Tells it. Process context; the callee may not sleep, and may kick.
    pub(crate) fn call(&self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::vstellar_c_call(&self.0) }
    }
}
