// SPDX-License-Identifier: GPL-2.0

//! Little-endian fields of a structure, one after the other.
//!
//! A structure of the guest is copied as bytes and then taken apart in the order
//! of its fields, so no offset is written down and none can point past the end.

use super::status::{
    Result,
    Status, //
};

/// Takes fields off the front of a structure.
#[derive(Clone, Debug)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The fields of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next `N` bytes; `Inval` if there are fewer.
    pub fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk().ok_or(Status::Inval)?;
        self.0 = rest;
        Ok(*field)
    }

    /// The next byte.
    pub fn take8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.take()?))
    }

    /// The next `__le16`.
    pub fn take16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.take()?))
    }

    /// The next `__le32`.
    pub fn take32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    /// The next `__le64`.
    pub fn take64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    /// The next `__le32` is reserved.
    pub fn zero32(&mut self) -> Result {
        if self.take32()? == 0 {
            Ok(())
        } else {
            Err(Status::Inval)
        }
    }

    /// What was not taken yet.
    pub const fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// There must be nothing left.
    pub fn end(self) -> Result {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Status::Inval)
        }
    }
}

/// A structure of at most `N` bytes that is put together field by field.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Default for Bytes<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Bytes<N> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self {
            bytes: [0; N],
            len: 0,
        }
    }

    /// Adds bytes. Those that have no room are left out: `N` is for whoever makes the
    /// structure to choose, and no guest has a say in how many fields it has.
    pub fn put(mut self, field: &[u8]) -> Self {
        let room = self.bytes.get_mut(self.len..).unwrap_or_default();
        for (to, from) in room.iter_mut().zip(field) {
            *to = *from;
            self.len = self.len.saturating_add(1);
        }
        self
    }

    /// Adds a byte.
    pub fn put8(self, value: u8) -> Self {
        self.put(&value.to_le_bytes())
    }

    /// Adds a `__le16`.
    pub fn put16(self, value: u16) -> Self {
        self.put(&value.to_le_bytes())
    }

    /// Adds a `__le32`.
    pub fn put32(self, value: u32) -> Self {
        self.put(&value.to_le_bytes())
    }

    /// Adds a `__le64`.
    pub fn put64(self, value: u64) -> Self {
        self.put(&value.to_le_bytes())
    }

    /// What was put.
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// All `N` bytes, those that were not put being zero.
    pub const fn into_array(self) -> [u8; N] {
        self.bytes
    }
}
