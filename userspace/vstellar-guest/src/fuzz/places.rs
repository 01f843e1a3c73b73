// SPDX-License-Identifier: GPL-2.0
//! Where the device finds the guest's memory that the fuzzer does not want to be told lies about.
//!
//! A guest that has the device write over its own virtqueues has itself to blame, and nothing could be
//! told from what is in there then. So there are three windows, so far from each other that no damage
//! done to an address of one makes it one of another:
//!
//! * virtqueues, events, requests and responses, which no command names;
//! * doorbells and the rings of objects, which commands name and the device writes into;
//! * payload ([`data`]), which work entries name.
//!
//! What happens if the first is named all the same is an input of its own ([`super::aliases`]).

use crate::driver::BUFFERS;
use crate::driver::DOORBELLS;
use crate::driver::USUAL_RAM;
use crate::machine::Machine;
use crate::ram::Ram;
use crate::ram::BASE;
use anyhow::Result;

/// Address of memory that the device may only read.
pub(super) const GUARD: u64 = BASE + (1 << 32);
pub(super) const GUARD_BYTES: u64 = 2 << 20;

/// Where virtqueues, events and commands are found.
const OWN: u64 = 0x1e96_68b5_0000_0000;

/// Where payload is found.
const DATA: u64 = 0x05a3_c2e8_0000_0000;

/// The device's address of memory for payload.
pub(super) fn data(at: u64) -> u64 {
    DATA.wrapping_add(at)
}

/// The memory of a guest with these windows.
pub(super) fn ram() -> Result<Ram> {
    Ok(Ram::new(USUAL_RAM)?.apart(DOORBELLS, OWN))
}

/// Memory that is mapped, and taken away, at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    at: u64,
    len: u64,
}

/// Bytes of a piece for payload.
const PAYLOAD_PIECE: u64 = 2 << 20;

impl Piece {
    /// All there are.
    pub(super) fn all() -> Vec<Piece> {
        let payload = (BUFFERS..USUAL_RAM).step_by(PAYLOAD_PIECE as usize);
        let payload = payload.map(|at| Piece {
            at,
            len: PAYLOAD_PIECE,
        });
        [(0, DOORBELLS), (DOORBELLS, BUFFERS)]
            .map(|(at, end)| Piece { at, len: end - at })
            .into_iter()
            .chain(payload)
            .collect()
    }

    /// Whether no object and no virtqueue of the device's is in there.
    pub(super) fn is_payload(&self) -> bool {
        self.at >= BUFFERS
    }

    /// The device's address.
    fn address(&self, machine: &Machine) -> u64 {
        if self.is_payload() {
            data(self.at)
        } else {
            machine.ram.addr(self.at)
        }
    }

    pub(super) fn map(&self, machine: &Machine) -> Result<()> {
        let start = machine.ram.host_address()?;
        let start = start.wrapping_add(usize::try_from(self.at)?);
        machine.map(self.address(machine), self.len, start, false)
    }

    pub(super) fn unmap(&self, machine: &Machine) -> Result<()> {
        machine.unmap(self.address(machine), self.len)
    }
}
