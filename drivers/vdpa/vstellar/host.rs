// SPDX-License-Identifier: GPL-2.0

//! What the device model asks of the place it runs in: memory.
//!
//! `core/` is compiled into the kernel and into user-space tests alike. This module is the kernel's
//! answer to `crate::host`; the user-space crate brings its own of the same shape.

use core::ops::{
    Deref,
    DerefMut, //
};
use kernel::{
    alloc::{
        flags::__GFP_NOWARN,
        KVVec, //
    },
    prelude::*, //
};

/// No memory was to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AllocError;

/// An array that grows at its end, or says that it cannot. To be grown in process context.
#[derive(Debug)]
pub(crate) struct List<T>(KVVec<T>);

impl<T> List<T> {
    /// An empty one, without memory.
    pub(crate) const fn new() -> List<T> {
        List(KVVec::new())
    }

    /// Adds an element at the end.
    pub(crate) fn push(&mut self, value: T) -> Result<(), AllocError> {
        // A guest decides when: that there is none is for it to hear, not for the log.
        self.0
            .push(value, GFP_KERNEL | __GFP_NOWARN)
            .map_err(|_| AllocError)
    }

    /// Takes the last element.
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }
}

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List::new()
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}
