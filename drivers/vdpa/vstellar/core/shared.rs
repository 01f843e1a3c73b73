// SPDX-License-Identifier: GPL-2.0

//! Memory that the guest may change at any moment.
//!
//! Every access of the model to such memory goes through [`Shared`]. Its
//! implementation is where bounds are checked and where the memory model of the
//! host comes in; the model says which order it needs by the method it calls.
//!
//! What is read with [`Shared::read`] is a copy, and only the copy is looked at:
//! reading the same place twice may give two answers.

use super::memory::MemoryError;

/// Memory shared with the guest, by address or by offset.
///
/// What an address means is up to the implementation: an IOVA of the device, or an
/// offset into an area that is pinned and mapped. All values are little-endian
/// there, and converted.
///
/// 16 and 32 bit accesses are aligned and happen at once, not in parts; one that is
/// not aligned fails. An access outside of the memory fails and does nothing.
pub trait Shared {
    /// Copies from there. No order, and no unity of what another writes meanwhile.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), MemoryError>;

    /// Copies to there. No order, and may be seen in parts.
    fn write(&self, at: u64, from: &[u8]) -> Result<(), MemoryError>;

    /// Reads; all later accesses come after it (`smp_load_acquire`).
    fn load16(&self, at: u64) -> Result<u16, MemoryError>;

    /// Reads; all later accesses come after it (`smp_load_acquire`).
    fn load32(&self, at: u64) -> Result<u32, MemoryError>;

    /// Writes; all earlier accesses come before it (`smp_store_release`).
    fn store16(&self, at: u64, value: u16) -> Result<(), MemoryError>;

    /// Writes; all earlier accesses come before it (`smp_store_release`).
    fn store32(&self, at: u64, value: u32) -> Result<(), MemoryError>;

    /// Reads and leaves zero, at once; ordered with all earlier and later accesses (`xchg`).
    fn take32(&self, at: u64) -> Result<u32, MemoryError>;

    /// Earlier accesses come before later ones (`smp_mb`).
    fn fence(&self);
}
