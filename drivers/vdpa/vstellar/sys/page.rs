// SPDX-License-Identifier: GPL-2.0

//! Bytes of a page that others may be changing.

use super::bindings;
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};
use kernel::{
    alloc::{
        AllocError,
        Flags, //
    },
    page::PAGE_SIZE,
    prelude::*, //
};

/// A page with memory of a guest's, or of a driver's in this kernel.
///
/// # Invariants
///
/// The page stays a page of that memory for `'a`.
#[derive(Clone, Copy)]
pub(crate) struct Page<'a>(NonNull<bindings::page>, PhantomData<&'a bindings::page>);

impl<'a> Page<'a> {
    /// Wraps a page.
    ///
    /// # Safety
    ///
    /// It stays what it is for `'a`.
    pub(super) unsafe fn new(page: NonNull<bindings::page>) -> Page<'a> {
        // INVARIANT: By the function's requirements.
        Page(page, PhantomData)
    }

    /// The page with the byte at a physical address.
    ///
    /// # Safety
    ///
    /// It is memory of the kernel, and stays what it is for `'a`.
    pub(super) unsafe fn at_phys(phys: u64) -> Option<Page<'a>> {
        // SAFETY: By the function's requirements there is such a page.
        let page = unsafe { bindings::vstellar_c_phys_page(phys) };
        // SAFETY: By the function's requirements.
        NonNull::new(page).map(|page| unsafe { Page::new(page) })
    }

    /// Copies bytes from `offset` on, as many as the page has; returns how many.
    pub(crate) fn read(&self, offset: usize, dst: &mut [u8]) -> usize {
        let len = dst.len().min(PAGE_SIZE.saturating_sub(offset));
        // SAFETY: The bytes are in the page, which is one by the type invariant, and in `dst`. If
        // someone changes them meanwhile, that is in C, and any bytes will do.
        unsafe {
            bindings::vstellar_c_page_read(self.0.as_ptr(), offset, dst.as_mut_ptr().cast(), len)
        };
        len
    }

    /// The same in the other direction.
    pub(crate) fn write(&self, offset: usize, src: &[u8]) -> usize {
        let len = src.len().min(PAGE_SIZE.saturating_sub(offset));
        // SAFETY: As above.
        unsafe {
            bindings::vstellar_c_page_write(self.0.as_ptr(), offset, src.as_ptr().cast(), len)
        };
        len
    }

    /// Reads a value; what is accessed later is accessed after it. `None` unless it is aligned and in
    /// the page.
    pub(crate) fn load16(&self, offset: usize) -> Option<u16> {
        let at = aligned::<u16>(offset)?;
        // SAFETY: The value is aligned and in the page, which is one by the type invariant.
        Some(unsafe { bindings::vstellar_c_page_load16(self.0.as_ptr(), at) })
    }

    /// The same.
    pub(crate) fn load32(&self, offset: usize) -> Option<u32> {
        let at = aligned::<u32>(offset)?;
        // SAFETY: As above.
        Some(unsafe { bindings::vstellar_c_page_load32(self.0.as_ptr(), at) })
    }

    /// Writes a value; what was accessed earlier was accessed before.
    pub(crate) fn store16(&self, offset: usize, value: u16) -> Option<()> {
        let at = aligned::<u16>(offset)?;
        // SAFETY: As above.
        unsafe { bindings::vstellar_c_page_store16(self.0.as_ptr(), at, value) };
        Some(())
    }

    /// The same.
    pub(crate) fn store32(&self, offset: usize, value: u32) -> Option<()> {
        let at = aligned::<u32>(offset)?;
        // SAFETY: As above.
        unsafe { bindings::vstellar_c_page_store32(self.0.as_ptr(), at, value) };
        Some(())
    }

    /// Reads a value and leaves zero, at once and ordered with all else.
    pub(crate) fn take32(&self, offset: usize) -> Option<u32> {
        let at = aligned::<u32>(offset)?;
        // SAFETY: As above.
        Some(unsafe { bindings::vstellar_c_page_take32(self.0.as_ptr(), at) })
    }
}

/// A page that is kept.
///
/// # Invariants
///
/// Owns a reference to the page.
pub(crate) struct PageRef(NonNull<bindings::page>);

// SAFETY: A page belongs to no thread.
unsafe impl Send for PageRef {}
// SAFETY: As above; its bytes are others' to change anyway.
unsafe impl Sync for PageRef {}

impl PageRef {
    /// Keeps a page, unless it is of a kind that is not counted: of the slab allocator.
    pub(crate) fn new(page: &Page<'_>) -> Option<PageRef> {
        // SAFETY: The page is one by the type invariant.
        let got = unsafe { bindings::vstellar_c_page_try_get(page.0.as_ptr()) };
        // INVARIANT: The reference was got.
        got.then_some(PageRef(page.0))
    }

    /// The page.
    pub(crate) fn page(&self) -> Page<'_> {
        // INVARIANT: It stays as long as this does.
        Page(self.0, PhantomData)
    }
}

impl Drop for PageRef {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; the page is not used any more.
        unsafe { bindings::vstellar_c_page_put(self.0.as_ptr()) }
    }
}

/// Memory in pages that are kept, one piece after the other: what a socket sends, or where it receives to.
///
/// # Invariants
///
/// For each piece a reference to its page is owned, and its bytes are in the folio of that page.
pub(crate) struct Pieces {
    list: KVec<bindings::vstellar_piece>,
    bytes: usize,
}

// SAFETY: Pages belong to no thread.
unsafe impl Send for Pieces {}
// SAFETY: As above; their bytes are others' to change anyway.
unsafe impl Sync for Pieces {}

impl Pieces {
    /// None, and no room for any.
    pub(crate) const fn new() -> Pieces {
        // INVARIANT: There are none.
        Pieces {
            list: KVec::new(),
            bytes: 0,
        }
    }

    /// Makes room for so many.
    pub(crate) fn reserve(&mut self, count: usize, flags: Flags) -> Result<(), AllocError> {
        self.list.reserve(count, flags)
    }

    /// Whether there is no room for a further one.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() == self.list.capacity()
    }

    /// Adds up to `len` bytes from `offset` of a page on, as many as lie in its folio; says how many. None
    /// if there is no room, or the page is of a kind that cannot be kept.
    pub(crate) fn push(&mut self, page: &Page<'_>, offset: usize, len: usize) -> Option<usize> {
        if offset >= PAGE_SIZE || self.is_full() {
            return None;
        }
        let kept = PageRef::new(page)?;
        // SAFETY: The page is one by the type invariant, and `offset` is in it.
        let len = unsafe { bindings::vstellar_c_page_run(kept.0.as_ptr(), offset, len) };
        let piece = bindings::vstellar_piece {
            page: kept.0.as_ptr(),
            len: u32::try_from(len).ok()?,
            offset: u32::try_from(offset).ok()?,
        };
        self.list.push_within_capacity(piece).ok()?;
        // INVARIANT: The bytes are in the folio, and the reference is the list's now.
        core::mem::forget(kept);
        self.bytes = self.bytes.saturating_add(len);
        Some(len)
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.bytes = 0;
        while let Some(piece) = self.list.pop() {
            // SAFETY: By the type invariant; the piece is not used any more.
            unsafe { bindings::vstellar_c_page_put(piece.page) }
        }
    }

    /// For C: where they are, and how many.
    pub(super) fn as_raw(&self) -> (*const bindings::vstellar_piece, u32) {
        (self.list.as_ptr(), self.list.len() as u32)
    }

    /// All bytes of them.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.clear();
    }
}

/// `offset` if it is that of an aligned value in a page.
fn aligned<T>(offset: usize) -> Option<usize> {
    (offset % size_of::<T>() == 0 && offset < PAGE_SIZE).then_some(offset)
}

/// Earlier accesses come before later ones.
pub(crate) fn fence() {
    // SAFETY: No requirements.
    unsafe { bindings::vstellar_c_fence() }
}
