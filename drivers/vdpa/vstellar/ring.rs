// SPDX-License-Identifier: GPL-2.0

//! Rings and doorbells of a driver, within reach for as long as they are in use.
//!
//! The blocks that they lie in are in use all the time, so unmapping waits until the device has let go
//! of them, and held, so that they count among what is kept; and each page has a reference of its own,
//! so what is read here is never anything else.

use crate::{
    host::List,
    model::{
        access::Access,
        device::Mapping,
        memory::{
            keeper,
            Hold,
            Keeper,
            MemoryError,
            Piece,
            Use,
            Want, //
        },
        span::Span, //
    },
    paged::Paged,
    platform::Platform,
    sys::page::{
        Page,
        PageRef, //
    }, //
};
use kernel::page::PAGE_SIZE;

/// Blocks that a ring can lie in: it is not larger than one.
const BLOCKS: usize = 2;

/// Memory of a driver; addresses are offsets in it.
pub(crate) struct Ring {
    pages: List<PageRef>,
    blocks: [Option<(Use, Hold)>; BLOCKS],
    /// Where it begins in its first page, and how long it is.
    start: u64,
    len: u64,
    access: Access,
}

impl Ring {
    /// Whether all of `len` bytes at an offset are there, and may be used like this.
    fn check(&self, at: u64, len: usize, access: Access) -> Result<(), MemoryError> {
        let end = at.checked_add(len as u64);
        if end.is_none_or(|end| end > self.len) {
            return Err(MemoryError::Unmapped);
        }
        if !self.access.allows(access) {
            return Err(MemoryError::Denied);
        }
        Ok(())
    }

    /// The page of an offset, and the place there.
    fn locate(&self, at: u64) -> Result<(&PageRef, usize), MemoryError> {
        let at = self.start.saturating_add(at);
        let index = usize::try_from(at / PAGE_SIZE as u64).unwrap_or(usize::MAX);
        let page = self.pages.get(index).ok_or(MemoryError::Unmapped)?;
        Ok((page, (at % PAGE_SIZE as u64) as usize))
    }
}

impl Paged for Ring {
    fn page_at<R>(
        &self,
        at: u64,
        len: usize,
        access: Access,
        f: impl FnOnce(&Page<'_>, usize, usize) -> R,
    ) -> Result<R, MemoryError> {
        self.check(at, len, access)?;
        let (page, offset) = self.locate(at)?;
        Ok(f(&page.page(), offset, len.min(PAGE_SIZE - offset)))
    }
}

impl Mapping for Platform {
    type Ring = Ring;

    fn open_ring(&self, span: Span, access: Access) -> Result<Ring, MemoryError> {
        let mut ring = Ring {
            pages: List::new(),
            blocks: [const { None }; BLOCKS],
            start: span.first() % PAGE_SIZE as u64,
            len: span.len(),
            access,
        };
        match add_blocks(self, &mut ring, span) {
            Ok(()) => Ok(ring),
            Err(error) => {
                self.close_ring(ring);
                Err(error)
            }
        }
    }

    fn close_ring(&self, ring: Ring) {
        for (held, hold) in ring.blocks.into_iter().flatten() {
            self.with(|memory| memory.unhold(hold));
            keeper::release(self, held);
        }
    }
}

/// Takes all blocks of `span` in use, to stay.
fn add_blocks(memory: &Platform, ring: &mut Ring, span: Span) -> Result<(), MemoryError> {
    let mut rest = Some(span);
    for index in 0..BLOCKS {
        let Some(span) = rest else {
            return Ok(());
        };
        let (piece, hold) = keeper::keep(memory, &Want::new(span, ring.access))?;
        let next = piece.span.last().checked_add(1);
        rest = next.and_then(|next| Span::between(next, span.last()));
        let added = add_pages(memory, &mut ring.pages, &piece);
        // kept in any case, for whoever lets go of the ring
        if let Some(place) = ring.blocks.get_mut(index) {
            *place = Some((piece.held, hold));
        }
        added?;
    }
    match rest {
        None => Ok(()),
        Some(_) => Err(MemoryError::Failed),
    }
}

/// Refers to the pages of a piece.
fn add_pages(
    memory: &Platform,
    pages: &mut List<PageRef>,
    piece: &Piece,
) -> Result<(), MemoryError> {
    let mut done = 0;
    while done < piece.span.len() {
        let offset = piece.offset.saturating_add(done);
        // memory of the kernel is its owner's again when it was unmapped
        let found = memory.with(|memory| {
            let dying = memory.is_dying(&piece.held);
            let pages = memory.pages(&piece.held).filter(|_| !dying)?;
            pages.page_ref(offset)
        });
        let found = found.ok_or(MemoryError::Failed)?;
        pages.push(found).map_err(|_| MemoryError::Quota)?;
        // to where the next page begins
        let at = piece.span.first().saturating_add(done);
        done = done.saturating_add(PAGE_SIZE as u64 - at % PAGE_SIZE as u64);
    }
    Ok(())
}
