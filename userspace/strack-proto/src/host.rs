// SPDX-License-Identifier: GPL-2.0

//! What the protocol expects from its host, in user space.

use alloc::{
    boxed::Box,
    vec::Vec, //
};
use core::{
    hash::Hasher,
    ops::{
        Deref,
        DerefMut, //
    },
};
use siphasher::sip::SipHasher24;

/// Memory could not be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocError;

/// An array whose length is set when it is created.
#[derive(Debug)]
pub struct Buffer<T>(Vec<T>);

impl<T: Copy> Buffer<T> {
    /// Creates an array of `len` times `fill`.
    pub fn new(len: usize, fill: T) -> Result<Self, AllocError> {
        let mut items = Vec::new();
        items.try_reserve_exact(len).map_err(|_| AllocError)?;
        items.resize(len, fill);
        Ok(Self(items))
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

/// One value in memory of its own.
#[derive(Debug)]
pub struct Owned<T>(Box<T>);

impl<T> Owned<T> {
    /// Moves `value` there.
    pub fn new(value: T) -> Result<Self, AllocError> {
        Ok(Self(Box::new(value)))
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

/// SipHash-2-4 of `data`, as the kernel's `siphash()`.
pub fn keyed_hash(key: &[u64; 2], data: &[u8]) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(key[0], key[1]);
    hasher.write(data);
    hasher.finish()
}
