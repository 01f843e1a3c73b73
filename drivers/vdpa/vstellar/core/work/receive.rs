// SPDX-License-Identifier: GPL-2.0

//! Entries of a receive queue.

use super::{
    Fields,
    Result,
    Segment,
    Status, //
};

/// Bytes of an entry.
pub const RQE_SIZE: usize = 32;

/// A buffer to receive into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveEntry {
    /// For the completion.
    pub wr_id: u64,
    /// The buffer.
    pub segment: Segment,
}

impl ReceiveEntry {
    /// The `wr_id` of an entry, whatever else is wrong with it.
    pub fn wr_id(entry: &[u8; RQE_SIZE]) -> u64 {
        Fields::new(entry).take64().unwrap_or(0)
    }

    /// Checks the copy of an entry.
    pub fn parse(entry: &[u8; RQE_SIZE]) -> Result<Self> {
        let mut fields = Fields::new(entry);
        let parsed = Self {
            wr_id: fields.take64()?,
            segment: Segment::parse(&mut fields)?,
        };
        if fields.take64()? != 0 {
            return Err(Status::Inval);
        }
        fields.end()?;
        Ok(parsed)
    }
}
