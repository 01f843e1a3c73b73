// SPDX-License-Identifier: GPL-2.0

//! Values of socket options on their way from and to a program.
//!
//! Lengths follow tcp(7): too short to set is `EINVAL`, what is got is cut to the room there is.

use super::bindings;
use kernel::{
    error::to_result,
    prelude::*, //
};

/// A value to be set.
///
/// # Invariants
///
/// `value` describes `len` bytes, in user space or in the kernel, that may or may not be there.
pub(crate) struct OptIn {
    value: bindings::sockptr_t,
    len: usize,
}

impl OptIn {
    /// Wraps what setsockopt() was given.
    ///
    /// # Safety
    ///
    /// `value` and `len` are those of the system call.
    pub(crate) unsafe fn new(value: bindings::sockptr_t, len: u32) -> Result<OptIn> {
        // INVARIANT: By the caller's promise.
        Ok(OptIn {
            value,
            len: usize::try_from(len)?,
        })
    }

    /// Fills `to`, which is not longer than the value.
    fn copy(&self, to: &mut [u8]) -> Result {
        if to.len() > self.len {
            return Err(EINVAL);
        }
        // SAFETY: By the type invariant and the check; what is not there is a fault, not a crash.
        to_result(unsafe {
            bindings::strack_c_copy_from_sockptr(to.as_mut_ptr().cast(), self.value, to.len())
        })
    }

    /// An `int`.
    pub(crate) fn int(&self) -> Result<i32> {
        let mut bytes = [0; 4];
        self.copy(&mut bytes)?;
        Ok(i32::from_ne_bytes(bytes))
    }

    /// A `__u32`.
    pub(crate) fn u32(&self) -> Result<u32> {
        let mut bytes = [0; 4];
        self.copy(&mut bytes)?;
        Ok(u32::from_ne_bytes(bytes))
    }

    /// A name, with or without a terminating zero; what does not fit into `place` is left off.
    pub(crate) fn name<'a>(&self, place: &'a mut [u8]) -> Result<&'a [u8]> {
        if self.len == 0 {
            return Err(EINVAL);
        }
        let len = self.len.min(place.len());
        let place = place.get_mut(..len).ok_or(EINVAL)?;
        self.copy(place)?;
        let end = place.iter().position(|byte| *byte == 0).unwrap_or(len);
        place.get(..end).ok_or(EINVAL)
    }
}

/// Where a value that is asked for goes.
pub(crate) struct OptOut<'a> {
    opt: &'a mut bindings::sockopt_t,
    room: usize,
    written: usize,
}

impl<'a> OptOut<'a> {
    /// Wraps what getsockopt() was given.
    pub(crate) fn new(opt: &'a mut bindings::sockopt_t) -> Result<OptOut<'a>> {
        let room = usize::try_from(opt.optlen)?;
        Ok(OptOut {
            opt,
            room,
            written: 0,
        })
    }

    /// Bytes of room.
    pub(crate) fn len(&self) -> usize {
        self.room
    }

    /// Writes as much of `bytes` as there is still room for.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result {
        let part = bytes
            .get(..bytes.len().min(self.room - self.written))
            .ok_or(EINVAL)?;
        // SAFETY: The iterator describes the caller's buffer; faults are reported.
        let done =
            unsafe { bindings::strack_c_sockopt_write(self.opt, part.as_ptr().cast(), part.len()) };
        if done != part.len() {
            return Err(EFAULT);
        }
        self.written += part.len();
        Ok(())
    }

    /// Says to the program how long the value is.
    pub(crate) fn finish(self) -> Result {
        self.opt.optlen = i32::try_from(self.written)?;
        Ok(())
    }

    /// Writes an `int`.
    pub(crate) fn int(&mut self, value: i32) -> Result {
        self.append(&value.to_ne_bytes())
    }

    /// Writes a `__u32`.
    pub(crate) fn u32(&mut self, value: u32) -> Result {
        self.append(&value.to_ne_bytes())
    }

    /// Writes a name and the zero behind it.
    pub(crate) fn name(&mut self, name: &str) -> Result {
        self.append(name.as_bytes())?;
        self.append(&[0])
    }

    /// Writes `STRACK_INFO`.
    pub(crate) fn info(&mut self, info: &bindings::strack_info) -> Result {
        let len = core::mem::size_of_val(info);
        // SAFETY: The structure has no padding (its C definition is all fixed-size words in order),
        // so each of its bytes is initialised.
        let bytes = unsafe { core::slice::from_raw_parts((&raw const *info).cast::<u8>(), len) };
        self.append(bytes)
    }
}
