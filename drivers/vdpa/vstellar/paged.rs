// SPDX-License-Identifier: GPL-2.0

//! Memory in pages, as the model sees it.
//!
//! Whatever finds a page ([`Paged`]), what is done in it is the same: [`Shared`] is that, one page after
//! the other for bytes, and in a single one for values.

use crate::{
    model::{
        access::Access,
        memory::MemoryError,
        shared::Shared, //
    },
    sys::page::{
        self,
        Page, //
    }, //
};

/// Who finds the pages of an address.
pub(crate) trait Paged {
    /// Calls `f` with the page that has the first of `len` bytes, the place there, and how many of them
    /// are behind it. An error if that one is not there, or is known not to be followed by the others,
    /// or may not be used like this.
    fn page_at<R>(
        &self,
        at: u64,
        len: usize,
        access: Access,
        f: impl FnOnce(&Page<'_>, usize, usize) -> R,
    ) -> Result<R, MemoryError>;
}

/// Calls `f` with the page and the place of a value, all of which has to be there.
fn at_value<T, R>(
    memory: &impl Paged,
    at: u64,
    access: Access,
    f: impl FnOnce(&Page<'_>, usize) -> Option<R>,
) -> Result<R, MemoryError> {
    let size = size_of::<T>();
    let value = memory.page_at(at, size, access, |page, offset, len| {
        (len == size).then(|| f(page, offset)).flatten()
    })?;
    value.ok_or(MemoryError::Unmapped)
}

impl<P: Paged> Shared for P {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        let (mut at, mut rest) = (at, into);
        while !rest.is_empty() {
            let n = self.page_at(at, rest.len(), Access::READ, |page, offset, len| {
                page.read(offset, rest.get_mut(..len).unwrap_or_default())
            })?;
            rest = rest.get_mut(n..).unwrap_or_default();
            at = at.checked_add(n as u64).ok_or(MemoryError::Unmapped)?;
        }
        Ok(())
    }

    fn write(&self, at: u64, from: &[u8]) -> Result<(), MemoryError> {
        let (mut at, mut rest) = (at, from);
        while !rest.is_empty() {
            let n = self.page_at(at, rest.len(), Access::WRITE, |page, offset, len| {
                page.write(offset, rest.get(..len).unwrap_or_default())
            })?;
            rest = rest.get(n..).unwrap_or_default();
            at = at.checked_add(n as u64).ok_or(MemoryError::Unmapped)?;
        }
        Ok(())
    }

    fn load16(&self, at: u64) -> Result<u16, MemoryError> {
        at_value::<u16, _>(self, at, Access::READ, |page, offset| page.load16(offset))
    }

    fn load32(&self, at: u64) -> Result<u32, MemoryError> {
        at_value::<u32, _>(self, at, Access::READ, |page, offset| page.load32(offset))
    }

    fn store16(&self, at: u64, value: u16) -> Result<(), MemoryError> {
        at_value::<u16, _>(self, at, Access::WRITE, |page, offset| {
            page.store16(offset, value)
        })
    }

    fn store32(&self, at: u64, value: u32) -> Result<(), MemoryError> {
        at_value::<u32, _>(self, at, Access::WRITE, |page, offset| {
            page.store32(offset, value)
        })
    }

    fn take32(&self, at: u64) -> Result<u32, MemoryError> {
        at_value::<u32, _>(self, at, Access::READ_WRITE, |page, offset| {
            page.take32(offset)
        })
    }

    fn fence(&self) {
        page::fence();
    }
}
