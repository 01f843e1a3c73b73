// SPDX-License-Identifier: GPL-2.0

//! The pieces of memory that a work entry names.

use super::{
    Fields,
    Result,
    Span,
    Status, //
};

/// Most segments of one entry.
pub const SGE_MAX: u16 = 16;

/// Bytes of a segment in an entry or table.
pub const SGE_SIZE: u32 = 16;

/// A piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Addresses of the memory region `key`, or IOVAs.
    pub span: Span,
    /// `LKEY_IOVA` or a memory region's.
    pub key: u32,
}

impl Segment {
    /// Takes a segment that is not empty.
    pub(super) fn parse(fields: &mut Fields<'_>) -> Result<Self> {
        let (addr, len) = (fields.take64()?, fields.take32()?);
        Ok(Self {
            span: Span::new(addr, u64::from(len)).ok_or(Status::Inval)?,
            key: fields.take32()?,
        })
    }

    /// Both in one, if `next` begins where this one ends.
    pub fn followed_by(&self, next: &Self) -> Option<Self> {
        let adjoins = self.span.last().checked_add(1) == Some(next.span.first());
        if self.key != next.key || !adjoins {
            return None;
        }
        let span = Span::between(self.span.first(), next.span.last())?;
        Some(Self { span, ..*self })
    }

    /// The place of a segment that is not in use.
    pub(super) fn parse_unused(fields: &mut Fields<'_>) -> Result {
        let bytes: [u8; SGE_SIZE as usize] = fields.take()?;
        if bytes.iter().all(|&byte| byte == 0) {
            Ok(())
        } else {
            Err(Status::Inval)
        }
    }
}

/// The segments of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    list: [Segment; SGE_MAX as usize],
    /// How many of `list` are in use.
    count: usize,
}

impl Segments {
    /// None.
    pub const NONE: Self = Self {
        list: [Segment {
            span: Span::ALL,
            key: 0,
        }; SGE_MAX as usize],
        count: 0,
    };

    /// Takes `count` segments.
    pub(super) fn parse(fields: &mut Fields<'_>, count: usize) -> Result<Self> {
        let mut segments = Self::NONE;
        for _ in 0..count {
            let segment = Segment::parse(fields)?;
            segments.push(segment)?;
        }
        Ok(segments)
    }

    fn push(&mut self, segment: Segment) -> Result {
        let place = self.list.get_mut(self.count).ok_or(Status::Inval)?;
        *place = segment;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &Segment> {
        self.list.get(..self.count).unwrap_or_default().iter()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many bytes; no more than 16 times 4 GiB.
    pub fn total(&self) -> u64 {
        self.iter()
            .fold(0, |sum: u64, one| sum.saturating_add(one.span.len()))
    }
}
