// SPDX-License-Identifier: GPL-2.0

//! IP addresses of both versions in one form.

use core::fmt;

/// The first twelve bytes of an IPv4 address in IPv6 notation, ::ffff:0:0/96.
const V4_MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/// An IPv6 address, or an IPv4 address mapped into IPv6, in network byte order.
///
/// The interface that a link-local address needs beside it is kept elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Addr([u8; 16]);

impl Addr {
    /// The IPv6 address "any".
    pub(crate) const ANY: Addr = Addr([0; 16]);

    /// An address as it stands in `struct in6_addr`.
    pub(crate) const fn new(octets: [u8; 16]) -> Addr {
        Addr(octets)
    }

    /// An IPv4 address as it stands in `struct in_addr`.
    pub(crate) fn from_v4(octets: [u8; 4]) -> Addr {
        let mut addr = [0; 16];
        addr[..12].copy_from_slice(&V4_MAPPED);
        addr[12..].copy_from_slice(&octets);
        Addr(addr)
    }

    /// The bytes.
    pub(crate) const fn octets(&self) -> [u8; 16] {
        self.0
    }

    /// Whether it is an IPv4 address.
    pub(crate) fn is_v4(&self) -> bool {
        self.0.starts_with(&V4_MAPPED)
    }

    /// Whether it is the address "any" of either version.
    pub(crate) fn is_any(&self) -> bool {
        *self == Addr::ANY || (self.is_v4() && self.0.ends_with(&[0; 4]))
    }

    /// The address of this host itself, of the IP version of `self` or else of `other`.
    pub(crate) fn loopback_like(&self, other: &Addr) -> Addr {
        if self.is_v4() || other.is_v4() {
            return Addr::from_v4([127, 0, 0, 1]);
        }
        let mut addr = [0; 16];
        addr[15] = 1;
        Addr(addr)
    }

    /// Whether it is valid on one link only, fe80::/10, and needs an interface beside it.
    pub(crate) const fn is_link_local(&self) -> bool {
        self.0[0] == 0xfe && self.0[1] & 0xc0 == 0x80
    }

    /// Whether it names more than one host: multicast of either version, or the IPv4 broadcast
    /// address.
    pub(crate) fn is_multicast(&self) -> bool {
        if self.is_v4() {
            self.0[12] & 0xf0 == 0xe0 || self.0.ends_with(&[0xff; 4])
        } else {
            self.0[0] == 0xff
        }
    }
}

impl fmt::Debug for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_v4() {
            write!(
                f,
                "{}.{}.{}.{}",
                self.0[12], self.0[13], self.0[14], self.0[15]
            )
        } else {
            for (i, pair) in self.0.chunks_exact(2).enumerate() {
                let colon = if i == 0 { "" } else { ":" };
                write!(f, "{colon}{:x}", u16::from_be_bytes([pair[0], pair[1]]))?;
            }
            Ok(())
        }
    }
}
