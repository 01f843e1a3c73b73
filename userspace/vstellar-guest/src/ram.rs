// SPDX-License-Identifier: GPL-2.0
//! The guest's memory: a file in memory, shared, which is what a machine monitor has to use if the
//! device is to see it. It begins at [`BASE`] of the device's addresses; places in it are offsets.

use crate::sys;
use anyhow::Context;
use anyhow::Result;
use std::fs::File;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use vm_memory::AtomicAccess;
use vm_memory::Bytes;
use vm_memory::FileOffset;
use vm_memory::GuestAddress;
use vm_memory::GuestMemoryBackend;
use vm_memory::GuestMemoryMmap;
use vm_memory::VolatileMemory;

/// Where memory begins for the device: not where numbers are that have another meaning, so that one
/// taken for an address is noticed.
pub(crate) const BASE: u64 = 0x0a5c_3d17_0000_0000;

/// The memory of a guest.
#[derive(Clone)]
pub(crate) struct Ram {
    memory: Arc<GuestMemoryMmap>,
    size: u64,
    /// Places before the first are found by the device from the second address on.
    apart: Option<(u64, u64)>,
}

impl Ram {
    /// As much of it, none of which is used yet.
    pub(crate) fn new(size: u64) -> Result<Ram> {
        let file: File = sys::memfd(c"guest").context("memfd")?;
        file.set_len(size).context("memory of the guest")?;
        let range = (
            GuestAddress(BASE),
            usize::try_from(size)?,
            Some(FileOffset::new(file, 0)),
        );
        let memory = GuestMemoryMmap::from_ranges_with_files([range])?;
        Ok(Ram {
            memory: Arc::new(memory),
            size,
            apart: None,
        })
    }

    /// As much private memory, of huge pages where that can be. A device that pins all of its guest's
    /// memory takes it, but not one that pins on first use.
    pub(crate) fn private(size: u64) -> Result<Ram> {
        let range = (GuestAddress(BASE), usize::try_from(size)?);
        let memory = GuestMemoryMmap::from_ranges(&[range])?;
        let ram = Ram {
            memory: Arc::new(memory),
            size,
            apart: None,
        };
        sys::prefer_huge_pages(ram.host_address()?, range.1);
        Ok(ram)
    }

    /// The same memory, of which the device is to find what is before `end` at another address.
    pub(crate) fn apart(self, end: u64, address: u64) -> Ram {
        Ram {
            apart: Some((end, address)),
            ..self
        }
    }

    /// The device's address of a place that nobody but the driver names.
    pub(crate) fn addr(&self, at: u64) -> u64 {
        match self.apart {
            Some((end, address)) if at < end => address.wrapping_add(at),
            _ => addr(at),
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn memory(&self) -> &Arc<GuestMemoryMmap> {
        &self.memory
    }

    /// Where it is in this process.
    pub(crate) fn host_address(&self) -> Result<*const u8> {
        Ok(self
            .memory
            .get_host_address(GuestAddress(BASE))?
            .cast_const())
    }

    /// Places are chosen by this program, so that one outside is its mistake.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) {
        self.memory
            .write_slice(bytes, GuestAddress(BASE + at))
            .expect("a place in the guest's memory");
    }

    pub(crate) fn read(&self, at: u64, into: &mut [u8]) {
        self.memory
            .read_slice(into, GuestAddress(BASE + at))
            .expect("a place in the guest's memory");
    }

    pub(crate) fn zero(&self, at: u64, len: usize) {
        self.write(at, &vec![0; len]);
    }

    /// A number that the device reads while it is written; what was written before is seen before.
    pub(crate) fn store<T: AtomicAccess>(&self, at: u64, value: T) {
        self.memory
            .store(value, GuestAddress(BASE + at), Ordering::Release)
            .expect("a place in the guest's memory");
    }

    /// A number that the device writes while it is read; what it wrote before is seen after.
    pub(crate) fn load<T: AtomicAccess>(&self, at: u64) -> T {
        self.memory
            .load(GuestAddress(BASE + at), Ordering::Acquire)
            .expect("a place in the guest's memory")
    }

    /// Sets bits of a number that the device clears.
    pub(crate) fn set_bits(&self, at: u64, bits: u32) {
        let slice = GuestMemoryBackend::get_slice(&*self.memory, GuestAddress(BASE + at), 4)
            .expect("a place in the guest's memory");
        let word: &AtomicU32 = slice.get_atomic_ref(0).expect("an aligned place");
        word.fetch_or(bits, Ordering::SeqCst);
    }
}

/// The device's address of a place.
pub(crate) fn addr(at: u64) -> u64 {
    BASE.wrapping_add(at)
}
