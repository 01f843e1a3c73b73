// SPDX-License-Identifier: GPL-2.0

//! Addresses.
//!
//! The kernel knows one kind only, with the layout of `struct sockaddr_in6`; an IPv4 address is
//! `::ffff:a.b.c.d` in it. Programs see [`SocketAddr`], so the mapping is done here, both ways.

use socket2::{SockAddr, SockAddrStorage};
use std::fmt;
use std::io::{Error, ErrorKind, Result};
use std::mem::{offset_of, size_of};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// `struct sockaddr_strack`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Raw {
    family: u16,
    /// Network byte order.
    port: u16,
    flowinfo: u32,
    addr: [u8; 16],
    scope_id: u32,
}

const _: () = assert!(size_of::<Raw>() == 28);
const _: () = assert!(offset_of!(Raw, port) == 2);
const _: () = assert!(offset_of!(Raw, flowinfo) == 4);
const _: () = assert!(offset_of!(Raw, addr) == 8);
const _: () = assert!(offset_of!(Raw, scope_id) == 24);

/// The address of an AF_STRACK socket.
///
/// The port is AF_STRACK's own: it is neither a TCP nor a UDP port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StrackAddr {
    /// IPv6 address, or IPv4 address as `::ffff:a.b.c.d`.
    pub ip: Ipv6Addr,
    /// Port.
    pub port: u16,
    /// Interface index of a link-local address, else zero.
    pub scope_id: u32,
}

impl StrackAddr {
    /// For the kernel; `family` is [`crate::family()`]'s.
    pub fn to_sock_addr(self, family: u16) -> SockAddr {
        let mut storage = SockAddrStorage::zeroed();
        // SAFETY: `Raw` is plain integers, smaller than the storage and no more strictly aligned.
        let raw = unsafe { storage.view_as::<Raw>() };
        *raw = Raw {
            family,
            port: self.port.to_be(),
            flowinfo: 0,
            addr: self.ip.octets(),
            scope_id: self.scope_id,
        };
        // SAFETY: Whoever knows the family takes it for what was just written, in this length.
        unsafe { SockAddr::new(storage, size_of::<Raw>() as u32) }
    }

    /// From the kernel. Fails unless it is an address of `family`.
    pub fn from_sock_addr(addr: &SockAddr, family: u16) -> Result<StrackAddr> {
        if addr.family() != family || (addr.len() as usize) < size_of::<Raw>() {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "no address of the family AF_STRACK",
            ));
        }
        let mut storage = addr.clone().as_storage();
        // SAFETY: The length says that there is a whole one; it is plain integers.
        let raw = *unsafe { storage.view_as::<Raw>() };
        Ok(StrackAddr {
            ip: Ipv6Addr::from(raw.addr),
            port: u16::from_be(raw.port),
            scope_id: raw.scope_id,
        })
    }
}

impl From<SocketAddr> for StrackAddr {
    /// The flow information of an IPv6 address is left out, since the kernel has no use for it.
    fn from(addr: SocketAddr) -> StrackAddr {
        let (ip, scope_id) = match addr {
            SocketAddr::V4(v4) => (v4.ip().to_ipv6_mapped(), 0),
            SocketAddr::V6(v6) => (*v6.ip(), v6.scope_id()),
        };
        StrackAddr {
            ip,
            port: addr.port(),
            scope_id,
        }
    }
}

impl From<StrackAddr> for SocketAddr {
    fn from(addr: StrackAddr) -> SocketAddr {
        match IpAddr::V6(addr.ip).to_canonical() {
            IpAddr::V4(v4) => SocketAddrV4::new(v4, addr.port).into(),
            IpAddr::V6(v6) => SocketAddrV6::new(v6, addr.port, 0, addr.scope_id).into(),
        }
    }
}

impl fmt::Display for StrackAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::from(*self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILY: u16 = 19;

    fn through_the_kernel(text: &str) -> SocketAddr {
        let addr = StrackAddr::from(text.parse::<SocketAddr>().unwrap());
        let sock_addr = addr.to_sock_addr(FAMILY);
        let back = StrackAddr::from_sock_addr(&sock_addr, FAMILY).unwrap();
        assert_eq!(back, addr);
        back.into()
    }

    #[test]
    fn addresses_survive_both_ways() {
        for text in [
            "10.1.2.3:7000",
            "0.0.0.0:0",
            "[::]:7000",
            "[2001:db8::1]:65535",
            "[fe80::1%7]:1",
        ] {
            assert_eq!(through_the_kernel(text).to_string(), text);
        }
    }

    #[test]
    fn mapped_address_is_an_ipv4_address() {
        assert_eq!(
            through_the_kernel("[::ffff:10.1.2.3]:9").to_string(),
            "10.1.2.3:9"
        );
    }

    #[test]
    fn bytes_are_those_of_the_kernel() {
        let addr = StrackAddr::from("10.1.2.3:258".parse::<SocketAddr>().unwrap());
        let sock_addr = addr.to_sock_addr(FAMILY);
        assert_eq!(sock_addr.len(), 28);
        // SAFETY: That many bytes are there, all of them written.
        let bytes = unsafe { std::slice::from_raw_parts(sock_addr.as_ptr().cast::<u8>(), 28) };
        assert_eq!(bytes[..2], FAMILY.to_ne_bytes());
        assert_eq!(bytes[2..8], [1, 2, 0, 0, 0, 0]);
        assert_eq!(
            bytes[8..24],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3]
        );
        assert_eq!(bytes[24..], [0; 4]);
    }

    #[test]
    fn other_families_are_refused() {
        let inet = SockAddr::from("10.1.2.3:9".parse::<SocketAddr>().unwrap());
        assert!(StrackAddr::from_sock_addr(&inet, FAMILY).is_err());
        let strack = StrackAddr::from("10.1.2.3:9".parse::<SocketAddr>().unwrap());
        let sock_addr = strack.to_sock_addr(FAMILY);
        assert!(StrackAddr::from_sock_addr(&sock_addr, FAMILY + 1).is_err());
    }
}
