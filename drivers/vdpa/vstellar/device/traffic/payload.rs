// SPDX-License-Identifier: GPL-2.0

//! Where the segments of entries are: in memory regions, or at IOVAs.

use super::{
    Model,
    Turn, //
};
use crate::model::{
    abi,
    access::Access,
    memory::{
        BlockId,
        MemoryError,
        Want, //
    },
    span::Span,
    status::{
        Result,
        Status, //
    },
    work::Segment, //
};

impl Turn<'_> {
    /// Copies all of `into` from a segment, from after its first `skip` bytes.
    pub(super) fn read_segment(&mut self, segment: &Segment, skip: u64, into: &mut [u8]) -> Result {
        let platform = self.platform;
        let mut done = 0;
        while done < into.len() {
            let rest = into.get_mut(done..).unwrap_or_default();
            let addrs = part(segment, skip.saturating_add(done as u64), rest.len())?;
            done += piece(self.model, segment.key, &addrs, Access::READ, |want| {
                platform.read_piece(want, rest)
            })?;
        }
        Ok(())
    }
}

/// Calls `f` with where addresses of a memory region, or IOVAs, are.
pub(super) fn piece(
    model: &mut Model,
    key: u32,
    addrs: &Span,
    access: Access,
    f: impl FnOnce(&Want) -> core::result::Result<(usize, BlockId), MemoryError>,
) -> Result<usize> {
    if key == abi::LKEY_IOVA {
        let (n, _) = f(&Want::new(*addrs, access))?;
        return Ok(n);
    }
    let emtt = model.emtt();
    let used = emtt.enter(key, addrs, access)?;
    let result = emtt.locate(&used, addrs).and_then(|located| {
        let (n, block) = f(&located.want)?;
        emtt.remember(&used, &located, block);
        Ok(n)
    });
    emtt.leave(used);
    result
}

/// `len` addresses of a segment, after the first `skip`.
pub(super) fn part(segment: &Segment, skip: u64, len: usize) -> Result<Span> {
    let first = segment.span.first().checked_add(skip);
    let span = first.and_then(|first| Span::new(first, len as u64));
    span.filter(|span| segment.span.covers(span))
        .ok_or(Status::Fault)
}
