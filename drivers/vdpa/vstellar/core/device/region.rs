// SPDX-License-Identifier: GPL-2.0

//! Memory regions: registered, given back, and advice about them.

use super::super::{
    abi,
    bytes::Fields,
    control::{
        Advice,
        MrReg,
        SegmentList, //
    },
    emtt::{
        MemoryRegion,
        MrUse, //
    },
    memory::keeper,
    span::{
        Span,
        PAGE_SIZE, //
    },
    status::{
        Result,
        Status, //
    },
};
use super::{
    Device,
    Host,
    Payload, //
};

/// Bytes of a segment, and of as many as are read at once.
const SEG_SIZE: usize = 16;
const CHUNK: usize = 16 * SEG_SIZE;

impl<H: Host> Device<H> {
    pub(super) fn mr_reg(&mut self, host: &H, reg: &MrReg<'_>, payload: &mut Payload) -> Result {
        self.need(abi::F_MR)?;
        if reg.lazy {
            self.need(abi::F_LAZY_PIN)?;
        }
        if reg.addrs.len() > self.limits.mr_len {
            return Err(Status::Inval);
        }
        let segments = match reg.segments {
            SegmentList::Inline(bytes) => bytes.len() as u64,
            SegmentList::Table(table) => table.len(),
        };
        self.emtt.make_room(segments / SEG_SIZE as u64)?;
        let mut region = MemoryRegion::new(reg.addrs, reg.access);
        match reg.segments {
            SegmentList::Inline(bytes) => add_segments(host, reg, &mut region, bytes)?,
            SegmentList::Table(table) => add_table(host, reg, &mut region, table)?,
        }
        if !region.is_complete() {
            return Err(Status::Inval);
        }
        if !reg.lazy {
            if let Err(status) = pin(host, reg, &mut region) {
                give_back(host, region);
                return Err(status);
            }
        }
        match self.emtt.register(region) {
            Ok((lkey, rkey)) => {
                *payload = Payload::new().put32(lkey).put32(rkey);
                Ok(())
            }
            Err(region) => {
                give_back(host, region);
                Err(Status::Quota)
            }
        }
    }

    pub(super) fn mr_dereg(&mut self, host: &H, key: u32) -> Result {
        let region = self.emtt.deregister(key)?;
        give_back(host, region);
        Ok(())
    }

    pub(super) fn mr_advise(&mut self, host: &H, key: u32, advice: Advice, range: &Span) -> Result {
        let region = self.emtt.get(key)?;
        let first = region.addrs().first().checked_add(range.first());
        let addrs = first.and_then(|first| Span::new(first, range.len()));
        let addrs = addrs.ok_or(Status::Fault)?;
        let access = region.access().local();
        let used = self.emtt.enter(key, &addrs, access)?;
        let result = match advice {
            Advice::Prefetch => self.prefetch(host, &used, addrs),
            Advice::Release => self.let_go(host, &used, addrs),
        };
        self.emtt.leave(used);
        result
    }

    /// Pins what is behind `addrs`. It ends when as much was pinned as may be: what is more than that
    /// would take the place of what it has pinned before, for as long as `addrs` goes on.
    fn prefetch(&mut self, host: &H, used: &MrUse, addrs: Span) -> Result {
        let (mut left, mut misses) = host.with(|memory| (memory.quota(), memory.counters().misses));
        if addrs.len() > left.saturating_mul(PAGE_SIZE) {
            return Err(Status::Quota);
        }
        let mut rest = Some(addrs);
        while let Some(addrs) = rest {
            let located = self.emtt.locate(used, &addrs)?;
            let piece = keeper::acquire(host, &located.want)?;
            self.emtt.remember(used, &located, piece.held.block());
            let (seen, pages) =
                host.with(|memory| (memory.counters().misses, memory.size(&piece.held)));
            let len = piece.span.len();
            keeper::release(host, piece.held);
            // a few bytes each of many blocks are as much to pin as the blocks
            if core::mem::replace(&mut misses, seen) != seen {
                left = left.checked_sub(pages).ok_or(Status::Quota)?;
            }
            rest = after(&addrs, len);
        }
        Ok(())
    }

    fn let_go(&mut self, host: &H, used: &MrUse, addrs: Span) -> Result {
        let mut rest = Some(addrs);
        while let Some(addrs) = rest {
            let span = self.emtt.locate(used, &addrs)?.want.span;
            host.with(|memory| memory.drop_cached(span));
            rest = after(&addrs, span.len());
        }
        keeper::reclaim(host);
        Ok(())
    }
}

/// What of `span` comes after its first `len` bytes.
fn after(span: &Span, len: u64) -> Option<Span> {
    let next = span.first().checked_add(len)?;
    Span::between(next, span.last())
}

/// Adds segments of a copy.
fn add_segments<H: Host>(
    host: &H,
    reg: &MrReg<'_>,
    region: &mut MemoryRegion,
    bytes: &[u8],
) -> Result {
    for segment in bytes.chunks(SEG_SIZE) {
        let mut fields = Fields::new(segment);
        let span = Span::new(fields.take64()?, fields.take64()?).ok_or(Status::Inval)?;
        let found = host.with(|memory| memory.region(&span, reg.access.local()));
        let (mapping, owner) = found?;
        region.add(span, mapping, owner)?;
    }
    Ok(())
}

/// Adds the segments of a table, each of which is read once.
fn add_table<H: Host>(host: &H, reg: &MrReg<'_>, region: &mut MemoryRegion, table: Span) -> Result {
    let mut rest = Some(table);
    while let Some(span) = rest {
        let mut chunk = [0; CHUNK];
        let len = span.len().min(CHUNK as u64) as usize;
        let part = chunk.get_mut(..len).unwrap_or_default();
        host.read(span.first(), part)?;
        add_segments(host, reg, region, part)?;
        rest = after(&span, CHUNK as u64);
    }
    Ok(())
}

/// Pins all of it.
fn pin<H: Host>(host: &H, reg: &MrReg<'_>, region: &mut MemoryRegion) -> Result {
    for index in 0..region.segments() {
        let Some(span) = region.segment(index) else {
            continue;
        };
        keeper::hold(host, span, reg.access.local(), |hold| region.keep(hold))?;
    }
    Ok(())
}

/// Gives the holds of a memory region back.
pub(super) fn give_back<H: Host>(host: &H, mut region: MemoryRegion) {
    while let Some(hold) = region.take_hold() {
        host.with(|memory| memory.unhold(hold));
    }
}
