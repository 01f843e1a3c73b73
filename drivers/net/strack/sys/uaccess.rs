// SPDX-License-Identifier: GPL-2.0

//! Single words to user space.

use kernel::{
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice, //
    },
};

/// Writes an `int` to the address that an ioctl() was given.
pub(crate) fn put_int(arg: usize, value: i32) -> Result {
    UserSlice::new(UserPtr::from_addr(arg), core::mem::size_of::<i32>())
        .writer()
        .write(&value)
}
