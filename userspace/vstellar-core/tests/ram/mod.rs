// SPDX-License-Identifier: GPL-2.0

//! Guest memory: plain bytes, and bytes that change whenever they are looked at.

#![allow(dead_code)] // each test program uses some of it

use std::cell::{Cell, RefCell};
use vstellar_core::{memory::MemoryError, shared::Shared};

/// Memory from address zero.
pub struct Ram(pub RefCell<Vec<u8>>);

impl Ram {
    pub fn new(len: usize) -> Self {
        Self(RefCell::new(vec![0; len]))
    }

    pub fn put(&self, at: u64, bytes: &[u8]) {
        self.write(at, bytes).unwrap();
    }

    pub fn get<const N: usize>(&self, at: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.read(at, &mut bytes).unwrap();
        bytes
    }

    pub fn get16(&self, at: u64) -> u16 {
        u16::from_le_bytes(self.get(at))
    }

    pub fn get32(&self, at: u64) -> u32 {
        u32::from_le_bytes(self.get(at))
    }

    pub fn put16(&self, at: u64, value: u16) {
        self.put(at, &value.to_le_bytes());
    }

    pub fn put32(&self, at: u64, value: u32) {
        self.put(at, &value.to_le_bytes());
    }

    fn range(&self, at: u64, len: usize) -> Result<std::ops::Range<usize>, MemoryError> {
        let start = usize::try_from(at).map_err(|_| MemoryError::Unmapped)?;
        let end = start.checked_add(len).ok_or(MemoryError::Unmapped)?;
        if end > self.0.borrow().len() {
            return Err(MemoryError::Unmapped);
        }
        Ok(start..end)
    }

    fn aligned(at: u64, to: u64) -> Result<(), MemoryError> {
        if at % to == 0 {
            Ok(())
        } else {
            Err(MemoryError::Failed)
        }
    }
}

impl Shared for Ram {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        let range = self.range(at, into.len())?;
        into.copy_from_slice(&self.0.borrow()[range]);
        Ok(())
    }

    fn write(&self, at: u64, from: &[u8]) -> Result<(), MemoryError> {
        let range = self.range(at, from.len())?;
        self.0.borrow_mut()[range].copy_from_slice(from);
        Ok(())
    }

    fn load16(&self, at: u64) -> Result<u16, MemoryError> {
        Self::aligned(at, 2)?;
        self.range(at, 2)?;
        Ok(self.get16(at))
    }

    fn load32(&self, at: u64) -> Result<u32, MemoryError> {
        Self::aligned(at, 4)?;
        self.range(at, 4)?;
        Ok(self.get32(at))
    }

    fn store16(&self, at: u64, value: u16) -> Result<(), MemoryError> {
        Self::aligned(at, 2)?;
        self.write(at, &value.to_le_bytes())
    }

    fn store32(&self, at: u64, value: u32) -> Result<(), MemoryError> {
        Self::aligned(at, 4)?;
        self.write(at, &value.to_le_bytes())
    }

    fn take32(&self, at: u64) -> Result<u32, MemoryError> {
        let value = self.load32(at)?;
        self.store32(at, 0)?;
        Ok(value)
    }

    fn fence(&self) {}
}

/// Memory that another CPU overwrites: after each access to it one byte is something else.
pub struct Restless {
    pub ram: Ram,
    seed: Cell<u64>,
}

impl Restless {
    pub fn new(ram: Ram, seed: u64) -> Self {
        Self {
            ram,
            seed: Cell::new(seed | 1),
        }
    }

    fn stir(&self) {
        let mut seed = self.seed.get();
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        self.seed.set(seed);
        let mut bytes = self.ram.0.borrow_mut();
        let len = bytes.len() as u64;
        if let Some(byte) = bytes.get_mut((seed % len) as usize) {
            *byte = (seed >> 32) as u8;
        }
    }
}

impl Shared for Restless {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        self.stir();
        self.ram.read(at, into)
    }

    fn write(&self, at: u64, from: &[u8]) -> Result<(), MemoryError> {
        self.stir();
        self.ram.write(at, from)
    }

    fn load16(&self, at: u64) -> Result<u16, MemoryError> {
        self.stir();
        self.ram.load16(at)
    }

    fn load32(&self, at: u64) -> Result<u32, MemoryError> {
        self.stir();
        self.ram.load32(at)
    }

    fn store16(&self, at: u64, value: u16) -> Result<(), MemoryError> {
        self.stir();
        self.ram.store16(at, value)
    }

    fn store32(&self, at: u64, value: u32) -> Result<(), MemoryError> {
        self.stir();
        self.ram.store32(at, value)
    }

    fn take32(&self, at: u64) -> Result<u32, MemoryError> {
        self.stir();
        self.ram.take32(at)
    }

    fn fence(&self) {}
}
