// SPDX-License-Identifier: GPL-2.0

//! Memory that a device may use, and pages of it that are pinned.

use super::{
    bindings,
    page::Page, //
};
use core::ptr::{
    null_mut,
    NonNull, //
};
use kernel::{
    error::to_result,
    page::PAGE_SIZE,
    prelude::*, //
};

/// Where the memory of one mapping lies.
///
/// # Invariants
///
/// Owns a reference to the area.
pub(crate) struct Area(NonNull<bindings::vstellar_area>);

// SAFETY: The object belongs to no thread, and never changes but for its count of references.
unsafe impl Send for Area {}
// SAFETY: As above.
unsafe impl Sync for Area {}

impl Area {
    /// Takes over a reference.
    ///
    /// # Safety
    ///
    /// The caller owns one and gives it away.
    pub(super) unsafe fn from_raw(area: NonNull<bindings::vstellar_area>) -> Area {
        // INVARIANT: By the function's requirements.
        Area(area)
    }

    /// Pins the pages of `len` bytes at `offset`. May sleep.
    pub(crate) fn pin(&self, offset: u64, len: u64, writable: bool) -> Result<Pinned> {
        let mut pages = null_mut();
        // SAFETY: The area is valid by the type invariant, and `pages` for a write.
        let result =
            unsafe { bindings::vstellar_c_pin(self.0.as_ptr(), offset, len, writable, &mut pages) };
        to_result(result)?;
        let pages = NonNull::new(pages).ok_or(EFAULT)?;
        // INVARIANT: They were pinned just now. What is not said to be clean is dirty.
        Ok(Pinned {
            pages,
            dirty: writable,
        })
    }
}

impl Clone for Area {
    fn clone(&self) -> Area {
        // SAFETY: By the type invariant.
        unsafe { bindings::vstellar_c_area_get(self.0.as_ptr()) };
        // INVARIANT: It was got just now.
        Area(self.0)
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; the reference is not used any more.
        unsafe { bindings::vstellar_c_area_put(self.0.as_ptr()) }
    }
}

/// Pages that stay where they are until this is dropped, which may sleep.
///
/// # Invariants
///
/// The pointer is from `vstellar_c_pin()`, and `vstellar_c_unpin()` was not called for it.
pub(crate) struct Pinned {
    pages: NonNull<bindings::vstellar_pages>,
    /// Whether they may have been written to.
    dirty: bool,
}

// SAFETY: The object belongs to no thread, and only its owner changes it.
unsafe impl Send for Pinned {}
// SAFETY: As above.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// The page with the byte `offset`.
    pub(crate) fn page(&self, offset: u64) -> Option<Page<'_>> {
        // SAFETY: By the type invariant.
        let page = unsafe { bindings::vstellar_c_page(self.pages.as_ptr(), offset) };
        // SAFETY: The page is pinned as long as this object is there.
        NonNull::new(page).map(|page| unsafe { Page::new(page) })
    }

    /// Lets them go; `dirty` if they were written to.
    pub(crate) fn unpin(mut self, dirty: bool) {
        self.dirty = dirty;
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, and this is the end of it.
        unsafe { bindings::vstellar_c_unpin(self.pages.as_ptr(), self.dirty) }
    }
}

/// Memory of this kernel that a driver has mapped for the device.
///
/// # Invariants
///
/// The memory at `phys` is the kernel's. Its owner frees it only after the device was told, or has
/// said itself that it does not use it any more.
#[derive(Clone, Copy)]
pub(crate) struct KernelMemory {
    phys: u64,
}

impl KernelMemory {
    /// What a driver has mapped.
    ///
    /// # Safety
    ///
    /// As the type invariant says.
    pub(super) unsafe fn new(phys: u64) -> KernelMemory {
        // INVARIANT: By the function's requirements.
        KernelMemory { phys }
    }

    /// Where it begins in its page.
    pub(crate) fn offset_in_page(&self) -> usize {
        (self.phys % PAGE_SIZE as u64) as usize
    }

    /// The rest of it, from `offset` on.
    pub(crate) fn skip(&self, offset: u64) -> Option<KernelMemory> {
        let phys = self.phys.checked_add(offset)?;
        // INVARIANT: It is of the same memory, or behind it and never asked for.
        Some(KernelMemory { phys })
    }

    /// The page with its first byte.
    pub(crate) fn page(&self) -> Option<Page<'_>> {
        // SAFETY: By the type invariant.
        unsafe { Page::at_phys(self.phys) }
    }
}
