// SPDX-License-Identifier: GPL-2.0

//! Memory that is lent to the transport.

use super::{
    bindings::{
        self,
        vstellar_loan_state, //
    },
    vdpa::Vdpa, //
};
use core::ptr::NonNull;
use kernel::prelude::*;

/// What a device has lent.
///
/// # Invariants
///
/// Owns the device's reference to the bank.
pub(crate) struct Bank(NonNull<bindings::vstellar_bank>);

// SAFETY: The object belongs to no thread, and has a lock of its own.
unsafe impl Send for Bank {}
// SAFETY: As above. Loans are numbered by the device's work alone, which never runs twice at a time.
unsafe impl Sync for Bank {}

/// A loan that is over, or out.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    /// It is of no other loan of the device.
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    /// Whose it is.
    pub(crate) endpoint: u32,
    /// Packets refer to it.
    pub(crate) out: bool,
    /// The kernel has copied from it.
    pub(crate) copied: bool,
}

impl From<vstellar_loan_state> for Outcome {
    fn from(state: vstellar_loan_state) -> Outcome {
        Outcome {
            number: state.number,
            bytes: state.bytes,
            endpoint: state.endpoint,
            out: state.out,
            copied: state.copied,
        }
    }
}

impl Bank {
    /// One that nothing was lent by.
    pub(crate) fn new() -> Result<Bank> {
        // SAFETY: No requirements.
        let bank = NonNull::new(unsafe { bindings::vstellar_c_bank_new() });
        // INVARIANT: It was made just now.
        bank.map(Bank).ok_or(ENOMEM)
    }

    /// The device's work is queued from now on when loans come back.
    pub(crate) fn open(&self, vdpa: &Vdpa) {
        // SAFETY: By the type invariants. The device closes the bank before it goes, or drops it.
        unsafe { bindings::vstellar_c_bank_open(self.0.as_ptr(), vdpa.as_ptr()) }
    }

    /// Nobody wants to hear of loans any more.
    pub(crate) fn close(&self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::vstellar_c_bank_close(self.0.as_ptr()) }
    }

    /// Bytes that are on loan.
    pub(crate) fn lent(&self) -> u64 {
        // SAFETY: By the type invariant.
        unsafe { bindings::vstellar_c_bank_lent(self.0.as_ptr()) }
    }

    /// A loan for an endpoint, which is to be made; `None` without memory. By the device's work.
    pub(crate) fn loan(&self, endpoint: u32) -> Option<Loan> {
        // SAFETY: By the type invariant, and the work is what calls this.
        let loan = unsafe { bindings::vstellar_c_loan_new(self.0.as_ptr(), endpoint) };
        // INVARIANT: It was made just now.
        NonNull::new(loan).map(Loan)
    }

    /// A loan that came back, if there is one.
    pub(crate) fn take(&self) -> Option<Outcome> {
        let mut state = vstellar_loan_state::default();
        // SAFETY: By the type invariant; `state` is valid for a write.
        let taken = unsafe { bindings::vstellar_c_loan_take(self.0.as_ptr(), &mut state) };
        taken.then(|| state.into())
    }
}

impl Drop for Bank {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, and this is the end of it.
        unsafe { bindings::vstellar_c_bank_put(self.0.as_ptr()) }
    }
}

/// A loan while it is made.
///
/// # Invariants
///
/// Owns the maker's reference to the loan.
pub(crate) struct Loan(NonNull<bindings::vstellar_loan>);

impl Loan {
    pub(super) fn as_ptr(&self) -> *mut bindings::vstellar_loan {
        self.0.as_ptr()
    }

    /// So many bytes were lent, for which packets may refer to it.
    pub(crate) fn make(self, bytes: usize) -> Outcome {
        let mut state = vstellar_loan_state::default();
        // SAFETY: By the type invariant; `state` is valid for a write.
        unsafe { bindings::vstellar_c_loan_make(self.as_ptr(), bytes as u64, &mut state) };
        // the reference was taken over
        core::mem::forget(self);
        state.into()
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; the reference is not used any more.
        unsafe { bindings::vstellar_c_loan_cancel(self.as_ptr()) }
    }
}
