// SPDX-License-Identifier: GPL-2.0

//! What may be done with a piece of memory, seen from the device.

use super::abi;
use core::ops::BitOr;

/// A set of rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access(u32);

impl Access {
    /// None.
    pub const NONE: Self = Self(0);
    /// The device may read: send from there.
    pub const READ: Self = Self(abi::MR_READ);
    /// The device may write: receive into it.
    pub const WRITE: Self = Self(abi::MR_WRITE);
    /// Both.
    pub const READ_WRITE: Self = Self(abi::MR_READ | abi::MR_WRITE);
    /// The peer may have it read.
    pub const REMOTE_READ: Self = Self(abi::MR_REMOTE_READ);
    /// The peer may have it written.
    pub const REMOTE_WRITE: Self = Self(abi::MR_REMOTE_WRITE);

    const ALL: u32 = abi::MR_READ | abi::MR_WRITE | abi::MR_REMOTE_READ | abi::MR_REMOTE_WRITE;
    const REMOTE: u32 = abi::MR_REMOTE_READ | abi::MR_REMOTE_WRITE;

    /// The set with these bits, unless one of them means nothing.
    pub const fn from_bits(bits: u32) -> Option<Self> {
        if bits & !Self::ALL == 0 {
            Some(Self(bits))
        } else {
            None
        }
    }

    /// Whether all of `needed` is in the set.
    pub const fn allows(self, needed: Self) -> bool {
        self.0 & needed.0 == needed.0
    }

    /// Whether the set has no right at all.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Whether a peer has a right.
    pub const fn is_remote(self) -> bool {
        self.0 & Self::REMOTE != 0
    }

    /// The rights of the device itself.
    pub const fn local(self) -> Self {
        Self(self.0 & !Self::REMOTE)
    }

    /// Whether the device may write.
    pub const fn writes(self) -> bool {
        self.0 & abi::MR_WRITE != 0
    }
}

impl BitOr for Access {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
