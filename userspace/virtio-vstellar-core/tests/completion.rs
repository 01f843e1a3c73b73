// SPDX-License-Identifier: GPL-2.0

//! Completion queues: what the device's model writes, the driver reads.

use proptest::prelude::*;
use std::cell::RefCell;
use virtio_vstellar_core::completion::{Completion, CompletionReader, CQE_SIZE, OP_AND_FLAGS};
use vstellar_core::{
    abi,
    memory::MemoryError,
    shared::Shared,
    status::Status,
    work::{self, CompletionQueue},
};

const LOG2: u16 = 3;

/// The ring.
struct Ring(RefCell<[u8; CQE_SIZE << LOG2]>);

impl Shared for Ring {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        into.copy_from_slice(&self.0.borrow()[at as usize..at as usize + into.len()]);
        Ok(())
    }

    fn write(&self, at: u64, from: &[u8]) -> Result<(), MemoryError> {
        self.0.borrow_mut()[at as usize..at as usize + from.len()].copy_from_slice(from);
        Ok(())
    }

    fn load16(&self, at: u64) -> Result<u16, MemoryError> {
        let mut bytes = [0; 2];
        self.read(at, &mut bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }

    fn load32(&self, _: u64) -> Result<u32, MemoryError> {
        Err(MemoryError::Failed)
    }

    fn store16(&self, at: u64, value: u16) -> Result<(), MemoryError> {
        self.write(at, &value.to_le_bytes())
    }

    fn store32(&self, _: u64, _: u32) -> Result<(), MemoryError> {
        Err(MemoryError::Failed)
    }

    fn take32(&self, _: u64) -> Result<u32, MemoryError> {
        Err(MemoryError::Failed)
    }

    fn fence(&self) {}
}

fn next(ring: &Ring, reader: &mut CompletionReader) -> Option<Completion> {
    let at = u64::from(reader.taken() % (1 << LOG2)) * CQE_SIZE as u64;
    if !reader.is_new(ring.load16(at + OP_AND_FLAGS as u64).unwrap()) {
        return None;
    }
    let mut entry = [0; CQE_SIZE];
    ring.read(at, &mut entry).unwrap();
    reader.advance();
    Some(Completion::parse(&entry).unwrap())
}

proptest! {
    /// Each completion is seen once, in order, through many turns of the ring.
    #[test]
    fn what_is_written_is_read(writes in prop::collection::vec((0u32..=1 << LOG2, any::<bool>(), any::<bool>()), 1..60)) {
        let ring = Ring(RefCell::new([0; CQE_SIZE << LOG2]));
        let mut queue = CompletionQueue::new(LOG2);
        let mut reader = CompletionReader::new(u32::from(LOG2));
        let mut number = 0u32;
        for (count, receive, fin) in writes {
            let first = number;
            for _ in 0..count {
                let op = if receive { abi::OP_RECV } else { abi::OP_SEND };
                let flags = if fin { abi::CQE_FIN } else { 0 };
                let completion = work::Completion {
                    wr_id: (7 << 32) | u64::from(number),
                    len: number,
                    status: Status::Canceled,
                    op,
                    flags,
                    ep: 1,
                    imm: 0,
                };
                queue.post(&ring, &completion).unwrap();
                number += 1;
            }
            for expected in first..number {
                let wr_id = (7 << 32) | u64::from(expected);
                let seen = Completion { wr_id, len: expected, status: 19, receive, fin };
                prop_assert_eq!(next(&ring, &mut reader), Some(seen));
            }
            prop_assert_eq!(next(&ring, &mut reader), None);
            queue.consume(reader.taken()).unwrap();
        }
    }
}
