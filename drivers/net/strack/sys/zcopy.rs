// SPDX-License-Identifier: GPL-2.0

//! Payload that stays where the caller of sendmsg() has it.
//!
//! What an iterator describes is taken apart into pieces of pages ([`Pages`]); packets refer to those
//! until they are acknowledged. The pieces of one call are kept together in a [`Loan`], which all its
//! packets share. A caller that wants to know when nobody refers to its pages any more gives a
//! `struct ubuf_info` ([`Ubuf`]), of which each loan and each skb has a reference.

use super::bindings;
use core::ptr::{
    null_mut,
    NonNull, //
};
use kernel::{
    alloc::Flags,
    page::PAGE_SIZE,
    prelude::*, //
};

/// Pages asked for at once: what splice() puts into one message.
const AT_ONCE: usize = 16;

/// A reference of a `struct ubuf_info`.
///
/// The last one to go calls the `complete()` of whoever made it: in any context but hard interrupts,
/// often in softirq, and with the lock of a connection held.
///
/// # Invariants
///
/// The pointer is valid and this object owns one reference.
pub(crate) struct Ubuf(NonNull<bindings::ubuf_info>);

// SAFETY: The structure belongs to no thread, and its reference count is atomic.
unsafe impl Send for Ubuf {}
// SAFETY: As above.
unsafe impl Sync for Ubuf {}

impl Ubuf {
    /// That of a message, if it has one.
    pub(crate) fn of(msg: &bindings::msghdr) -> Option<Ubuf> {
        let ubuf = NonNull::new(msg.msg_ubuf)?;
        // SAFETY: Only the kernel can put one there, and who does keeps a reference during the call.
        unsafe { bindings::strack_c_ubuf_get(ubuf.as_ptr()) };
        // INVARIANT: The reference has just been taken.
        Some(Ubuf(ubuf))
    }

    /// The C object.
    pub(super) fn as_ptr(&self) -> *mut bindings::ubuf_info {
        self.0.as_ptr()
    }
}

impl Clone for Ubuf {
    fn clone(&self) -> Self {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_ubuf_get(self.as_ptr()) };
        // INVARIANT: The reference has just been taken.
        Ubuf(self.0)
    }
}

impl Drop for Ubuf {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; the reference is given away.
        unsafe { bindings::strack_c_ubuf_put(self.as_ptr()) }
    }
}

impl PartialEq for Ubuf {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// Bytes that lie side by side in a page, or in pages that have their reference count in common.
///
/// Nothing is known about who else writes there, and the memory is never looked at.
///
/// # Invariants
///
/// The pointer is to the page that has the reference count, of which this object owns one. The
/// `len` bytes from `off` on, counted from the beginning of this page, lie within what the reference
/// keeps.
pub(crate) struct Piece {
    page: NonNull<bindings::page>,
    off: u32,
    len: u32,
}

// SAFETY: Pages belong to no thread or CPU, and their reference count is atomic.
unsafe impl Send for Piece {}
// SAFETY: Nothing is done to the memory.
unsafe impl Sync for Piece {}

impl Piece {
    /// The page from which offsets are counted, for functions of the kernel.
    pub(super) fn as_page(&self) -> *mut bindings::page {
        self.page.as_ptr()
    }

    /// Where in it the bytes begin.
    pub(super) fn off(&self) -> u32 {
        self.off
    }

    /// Bytes in it.
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// The first and the last of the pages that it lies in, by the page that offsets are counted from
    /// and a number.
    fn ends(&self) -> [(*mut bindings::page, usize); 2] {
        let first = self.off as usize;
        let last = first + self.len().saturating_sub(1);
        [first, last].map(|at| (self.as_page(), at / PAGE_SIZE))
    }

    /// Whether `next` continues it.
    fn is_continued_by(&self, next: &Piece) -> bool {
        self.page == next.page && self.off.checked_add(self.len) == Some(next.off)
    }
}

impl Clone for Piece {
    fn clone(&self) -> Self {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_page_get(self.as_page()) };
        // INVARIANT: The new handle has the reference just taken.
        Piece {
            page: self.page,
            off: self.off,
            len: self.len,
        }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; the reference is given away.
        unsafe { bindings::strack_c_page_put(self.as_page()) }
    }
}

/// The pages of a caller that some packets refer to.
pub(crate) struct Loan {
    pieces: KVec<Piece>,
    ubuf: Option<Ubuf>,
    shared: bool,
}

impl Loan {
    /// Of nothing yet, with room for `pieces`. `shared` says that somebody may write to the pages.
    pub(crate) fn new(
        ubuf: Option<Ubuf>,
        shared: bool,
        pieces: usize,
        flags: Flags,
    ) -> Result<Loan> {
        let pieces = KVec::with_capacity(pieces, flags)?;
        Ok(Loan {
            pieces,
            ubuf,
            shared,
        })
    }

    /// Who wants to know when it is over.
    pub(crate) fn ubuf(&self) -> Option<&Ubuf> {
        self.ubuf.as_ref()
    }

    /// Whether somebody may write to the pages.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    /// Pieces in it.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there is room for one more.
    pub(crate) fn has_room(&self) -> bool {
        self.pieces.len() < self.pieces.capacity()
    }

    /// Pages that the pieces from number `first` on lie in, one after the other, but for the one in
    /// which the piece before them ends: whoever has that has counted it.
    pub(crate) fn pages_from(&self, first: usize) -> usize {
        let before = first.checked_sub(1).and_then(|last| self.pieces.get(last));
        let mut at = before.map(|piece| piece.ends()[1]);
        let mut pages = 0;
        for piece in self.pieces.get(first..).unwrap_or(&[]) {
            let [begin, end] = piece.ends();
            pages += end.1 - begin.1 + usize::from(at != Some(begin));
            at = Some(end);
        }
        pages
    }

    /// Adds a piece, of a packet whose first piece is number `first`: one that continues the packet's
    /// last becomes part of that.
    pub(crate) fn push(&mut self, first: usize, piece: Piece) -> Result {
        let last = self.pieces.get_mut(first..).and_then(<[_]>::last_mut);
        if let Some(last) = last.filter(|last| last.is_continued_by(&piece)) {
            // INVARIANT: The reference keeps both, which lie side by side.
            last.len += piece.len;
            return Ok(());
        }
        self.pieces.push_within_capacity(piece).map_err(|_| ENOSPC)
    }

    /// Gives back all but the first `len` pieces.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.pieces.truncate(len);
    }

    /// Begins with the pieces of a packet of `len` bytes, the first of which is number `first` in
    /// another loan. What somebody may write to there may be written to here.
    pub(crate) fn adopt(&mut self, from: &Loan, first: u16, len: u16) -> Result {
        for piece in from.packet(first, len) {
            self.push(0, piece.clone())?;
        }
        self.shared |= from.shared;
        Ok(())
    }

    /// The pieces of a packet of `len` bytes, the first of which is number `first`.
    pub(crate) fn packet(&self, first: u16, len: u16) -> &[Piece] {
        let pieces = self.pieces.get(usize::from(first)..).unwrap_or(&[]);
        let (mut left, mut count) = (usize::from(len), 0);
        for piece in pieces {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(piece.len());
            count += 1;
        }
        pieces.get(..count).unwrap_or(&[])
    }
}

/// The pages that the bytes of an iterator lie in, one after the other.
///
/// The iterator gets back what [`Pages::keep`] does not keep of them.
///
/// # Invariants
///
/// The first `count` of `pages` are valid as long as the iterator is borrowed; of each of them this
/// object owns one reference if `user`. `left` bytes, from `off` in page number `at` on, lie in them
/// without a hole; the iterator stands behind these, `given` bytes having come before them.
pub(crate) struct Pages<'a> {
    from: &'a mut bindings::iov_iter,
    user: bool,
    pages: [*mut bindings::page; AT_ONCE],
    count: usize,
    at: usize,
    off: usize,
    left: usize,
    given: usize,
    kept: usize,
}

impl<'a> Pages<'a> {
    /// Those of `from`. Process context; a process's pages are its own, and looked for in it.
    pub(crate) fn new(from: &'a mut bindings::iov_iter) -> Self {
        // SAFETY: By the reference.
        let user = unsafe { bindings::strack_c_iter_is_user(from) };
        // INVARIANT: There are none.
        Pages {
            from,
            user,
            pages: [null_mut(); AT_ONCE],
            count: 0,
            at: 0,
            off: 0,
            left: 0,
            given: 0,
            kept: 0,
        }
    }

    /// The next bytes, at least one and at most `most`. None where they are in memory that does not live
    /// by references, as the slab allocator's, and have to be copied. May sleep.
    pub(crate) fn next(&mut self, most: usize) -> Result<Option<Piece>> {
        if self.left == 0 {
            self.refill()?;
        }
        let mut page = *self.pages.get(self.at).ok_or(EFAULT)?;
        let mut off = u32::try_from(self.off)?;
        let len = most.min(self.left).min(PAGE_SIZE - self.off);
        // SAFETY: By the type invariant this is one of the pages, since there are bytes left.
        if !unsafe { bindings::strack_c_page_borrow(&mut page, &mut off) } {
            return Ok(None);
        }
        // INVARIANT: The function has found the page that has the count, and taken a reference. The
        // range lies in one page of those that this one keeps.
        let piece = Piece {
            page: NonNull::new(page).ok_or(EFAULT)?,
            off,
            len: u32::try_from(len)?,
        };
        // INVARIANT: What follows in the same page, or in the next one, where the bytes go on at the
        // beginning.
        self.left -= len;
        self.given += len;
        self.off += len;
        if self.off == PAGE_SIZE {
            self.off = 0;
            self.at += 1;
        }
        Ok(Some(piece))
    }

    /// Of all bytes that [`Pages::next`] has given, the first `len` are not in the iterator any more.
    pub(crate) fn keep(mut self, len: usize) {
        self.kept = len.min(self.given);
    }

    fn refill(&mut self) -> Result {
        self.let_go();
        let mut off = 0;
        // SAFETY: By the reference; there is room for as many pages as are asked for.
        let got = unsafe {
            bindings::strack_c_iter_pages(
                self.from,
                usize::MAX,
                self.pages.as_mut_ptr(),
                AT_ONCE as u32,
                &mut off,
            )
        };
        if got <= 0 {
            return Err(EFAULT);
        }
        let got = usize::try_from(got)?;
        // INVARIANT: This is what the function says it has done.
        self.count = (off + got).div_ceil(PAGE_SIZE).min(AT_ONCE);
        self.at = 0;
        self.off = off;
        self.left = got;
        Ok(())
    }

    /// Gives the references of a process's pages back.
    fn let_go(&mut self) {
        let count = core::mem::take(&mut self.count);
        if self.user {
            for page in self.pages.iter().take(count) {
                // SAFETY: By the type invariant; they are not counted any more.
                unsafe { bindings::strack_c_page_put(*page) }
            }
        }
    }
}

impl Drop for Pages<'_> {
    fn drop(&mut self) {
        let back = self.left + self.given - self.kept;
        // SAFETY: By the type invariant so many bytes of the iterator have been passed.
        unsafe { bindings::strack_c_iter_revert(self.from, back) };
        self.let_go();
    }
}
