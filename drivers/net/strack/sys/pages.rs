// SPDX-License-Identifier: GPL-2.0

//! Memory for payload: runs of pages that packets refer to instead of copying them.

use super::{
    bindings,
    raw_gfp, //
};
use core::ptr::NonNull;
use kernel::{
    alloc::Flags,
    page::PAGE_SIZE,
    prelude::*, //
};

/// Bytes in the largest run to ask for: with pages of 4 KiB, what the page allocator has at hand per
/// CPU. Where pages are larger than that, runs are one page.
pub(crate) const RUN: usize = 32 << 10;

/// The order of such a run.
pub(crate) const MAX_ORDER: u32 = order_of(RUN);

/// Most bytes of a run that are used: packets keep in 16 bits where in it they begin.
const MAX_LEN: usize = 1 << u16::BITS;

/// The order of the shortest run with `len` bytes.
pub(crate) const fn order_of(len: usize) -> u32 {
    order(len, PAGE_SIZE)
}

const fn order(len: usize, page: usize) -> u32 {
    len.div_ceil(page).next_power_of_two().ilog2()
}

// On hosts that are not here to try.
const _: () = {
    assert!(order(RUN, 4 << 10) == 3);
    assert!(order(RUN, 16 << 10) == 1);
    assert!(order(RUN, 64 << 10) == 0);
    assert!(order(1, 64 << 10) == 0);
    assert!(RUN <= MAX_LEN);
};

/// A run of pages, or one of several handles to it.
///
/// Nothing says who else looks at the memory: packets on their way to a device, or a receiver on the
/// same host. It is therefore written and read by copying only, never through a Rust reference.
///
/// # Invariants
///
/// The pointer is to the head page of an allocation of at least `len` bytes in the kernel's direct map, of
/// which this object owns one reference.
pub(crate) struct PageBuf {
    page: NonNull<bindings::page>,
    len: u32,
}

// SAFETY: Pages belong to no thread or CPU, and their reference count is atomic.
unsafe impl Send for PageBuf {}
// SAFETY: The memory is only copied from and to, see the type's description.
unsafe impl Sync for PageBuf {}

impl PageBuf {
    /// Allocates `PAGE_SIZE << order` bytes, or less when that much is not at hand in one piece. Of pages
    /// that are very large a part is used.
    pub(crate) fn alloc(order: u32, flags: Flags) -> Result<PageBuf> {
        let order = order.min(MAX_ORDER);
        // SAFETY: No requirements.
        let page = unsafe { bindings::strack_c_pages_alloc(order, raw_gfp(flags)) };
        let page = NonNull::new(page).ok_or(ENOMEM)?;
        // SAFETY: The page has just been allocated.
        let order = unsafe { bindings::strack_c_page_order(page.as_ptr()) };
        let len = (PAGE_SIZE << order.min(MAX_ORDER)).min(MAX_LEN);
        let len = u32::try_from(len)?;
        // INVARIANT: The allocation is of this order, and its first reference is ours.
        Ok(PageBuf { page, len })
    }

    /// Bytes in it.
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// The head page, for functions of the kernel.
    pub(crate) fn as_page(&self) -> *mut bindings::page {
        self.page.as_ptr()
    }

    /// The memory.
    pub(crate) fn as_mut_ptr(&self) -> *mut u8 {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_page_address(self.as_page()) }.cast()
    }

    /// Checks that a range lies within.
    pub(crate) fn check(&self, off: usize, len: usize) -> Result {
        match off.checked_add(len) {
            Some(end) if end <= self.len() => Ok(()),
            _ => Err(EINVAL),
        }
    }

    /// Copies `data` to offset `off`.
    pub(crate) fn write(&self, off: usize, data: &[u8]) -> Result {
        self.check(off, data.len())?;
        // SAFETY: The range lies within memory that the type invariant keeps allocated. Others may
        // read it meanwhile, which disturbs them, not us.
        unsafe {
            core::ptr::copy_nonoverlapping(data.as_ptr(), self.as_mut_ptr().add(off), data.len());
        }
        Ok(())
    }

    /// Copies `len` bytes of the user's memory that `from` describes to offset `off`.
    ///
    /// May sleep. On failure the iterator is where it was.
    pub(crate) fn copy_from_iter(
        &self,
        off: usize,
        len: usize,
        from: &mut bindings::iov_iter,
    ) -> Result {
        self.check(off, len)?;
        // SAFETY: The range lies within memory that the type invariant keeps allocated.
        let done = unsafe {
            bindings::strack_c_copy_from_iter(self.as_mut_ptr().add(off).cast(), len, from)
        };
        if done {
            Ok(())
        } else {
            Err(EFAULT)
        }
    }
}

impl Clone for PageBuf {
    fn clone(&self) -> Self {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_page_get(self.as_page()) };
        // INVARIANT: The new handle has the reference just taken.
        PageBuf {
            page: self.page,
            len: self.len,
        }
    }
}

impl Drop for PageBuf {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; the reference is given away.
        unsafe { bindings::strack_c_page_put(self.as_page()) }
    }
}
