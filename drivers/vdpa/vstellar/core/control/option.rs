// SPDX-License-Identifier: GPL-2.0

//! Options of endpoints.

use super::{
    abi,
    Bytes,
    Result,
    Status, //
};

/// `enum virtio_vstellar_opt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EpOption {
    /// Name of the profile.
    Profile = 1,
    /// Number of paths.
    Paths = 2,
    /// Name of the rule by which paths are chosen.
    PathPolicy = 3,
    /// Bytes of send buffer.
    Sndbuf = 5,
    /// Bytes of receive buffer.
    Rcvbuf = 6,
    /// Traffic class.
    Tclass = 7,
    /// Send partial packets at once.
    Nodelay = 8,
    /// Ask a silent peer whether it is there.
    Keepalive = 9,
    /// Least retransmission timeout, microseconds.
    RtoMin = 11,
}

/// A value of an option: four bytes of a number, or the bytes of a name.
pub type Value = Bytes<{ abi::OPT_MAX }>;

/// Most bytes of a name: those of the socket options, without the zero at their end.
const NAME_MAX: usize = 15;

impl EpOption {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Profile,
        Self::Paths,
        Self::PathPolicy,
        Self::Sndbuf,
        Self::Rcvbuf,
        Self::Tclass,
        Self::Nodelay,
        Self::Keepalive,
        Self::RtoMin,
    ];

    pub(super) fn from_code(code: u32) -> Result<Self> {
        let found = Self::ALL.iter().find(|&&option| option as u32 == code);
        found.copied().ok_or(Status::NoEnt)
    }

    /// The feature without which it cannot be used.
    pub const fn feature(self) -> Option<u32> {
        match self {
            Self::Profile => Some(abi::F_CC),
            Self::Paths | Self::PathPolicy => Some(abi::F_PATHS),
            _ => None,
        }
    }

    /// Whether its value is a name.
    pub const fn is_name(self) -> bool {
        matches!(self, Self::Profile | Self::PathPolicy)
    }

    /// Checks the form of a value: a number, or a name of letters, digits and underscores.
    pub(super) fn check(self, value: &[u8]) -> Result {
        let good = if self.is_name() {
            let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            (1..=NAME_MAX).contains(&value.len()) && value.iter().all(allowed)
        } else {
            value.len() == 4
        };
        if good {
            Ok(())
        } else {
            Err(Status::Inval)
        }
    }
}
