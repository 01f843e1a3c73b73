// SPDX-License-Identifier: GPL-2.0

//! What the device model expects from its host, in user space.

use alloc::vec::Vec;
use core::ops::{
    Deref,
    DerefMut, //
};

/// Memory could not be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocError;

/// An array that grows at its end, or says that it cannot.
#[derive(Debug)]
pub struct List<T>(Vec<T>);

impl<T> List<T> {
    /// An empty one, without memory.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds an element at the end.
    pub fn push(&mut self, value: T) -> Result<(), AllocError> {
        self.0.try_reserve(1).map_err(|_| AllocError)?;
        self.0.push(value);
        Ok(())
    }

    /// Takes the last element.
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self::new()
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
