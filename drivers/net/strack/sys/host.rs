// SPDX-License-Identifier: GPL-2.0

//! What the protocol state machine asks of the place it runs in: memory and a keyed hash.
//!
//! `proto/` is compiled into the kernel and into user-space tests alike. This module is the
//! kernel's answer to `crate::host`; the user-space crate brings its own of the same shape.

use super::{
    bindings,
    gfp_connection, //
};
use core::ops::{
    Deref,
    DerefMut, //
};
use kernel::{
    alloc::KVVec,
    prelude::*, //
};

/// No memory was to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AllocError;

impl From<AllocError> for Error {
    fn from(_: AllocError) -> Error {
        ENOMEM
    }
}

/// A slice on the heap whose length never changes.
///
/// Part of a connection, see [`gfp_connection`]. Large ones come from vmalloc space: create it in process
/// context only.
pub(crate) struct Buffer<T>(KVVec<T>);

impl<T: Copy> Buffer<T> {
    /// Allocates `len` elements, each a copy of `fill`.
    pub(crate) fn new(len: usize, fill: T) -> Result<Buffer<T>, AllocError> {
        KVVec::from_elem(fill, len, gfp_connection())
            .map(Buffer)
            .map_err(|_| AllocError)
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

/// One value in memory of its own. To be created in process context, as a [`Buffer`].
pub(crate) struct Owned<T>(KBox<T>);

impl<T> Owned<T> {
    /// Moves `value` there.
    pub(crate) fn new(value: T) -> Result<Owned<T>, AllocError> {
        let owned = KBox::new(value, gfp_connection());
        owned.map(Owned).map_err(|_| AllocError)
    }
}

impl<T> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Owned<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// SipHash-2-4 of `data` under `key`, the kernel's `siphash()`.
pub(crate) fn keyed_hash(key: &[u64; 2], data: &[u8]) -> u64 {
    // SAFETY: `data` is valid for reads of its own length for the duration of the call, which keeps
    // no pointer to it.
    unsafe { bindings::strack_c_keyed_hash(key[0], key[1], data.as_ptr().cast(), data.len()) }
}
