// SPDX-License-Identifier: GPL-2.0

//! sys/sockaddr.rs: addresses byte by byte, as programs lay them out.

use crate::{
    carrier::addr::Addr,
    sys::sockaddr::{
        family,
        read,
        write,
        Given,
        SockAddr,
        LEN, //
    },
};
use kernel::prelude::*;

const OCTETS: [u8; 16] = [0xfe, 0x80, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];

/// Family, port 0x1234, flow information, address, scope 0x01020304.
fn bytes(family: u16) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes[..2].copy_from_slice(&family.to_ne_bytes());
    bytes[2..4].copy_from_slice(&[0x12, 0x34]);
    bytes[8..24].copy_from_slice(&OCTETS);
    bytes[24..28].copy_from_slice(&0x0102_0304u32.to_ne_bytes());
    bytes
}

fn given(bytes: &[u8], len: i32) -> Result<Given> {
    // SAFETY: The tests give a length that is there.
    unsafe { read(bytes.as_ptr(), len) }
}

fn address(given: Result<Given>) -> Option<SockAddr> {
    match given {
        Ok(Given::Address(addr)) => Some(addr),
        _ => None,
    }
}

#[kunit_tests(strack_sockaddr)]
mod suite {
    use super::*;

    #[test]
    fn whole() {
        let addr = address(given(&bytes(family()), 28));
        let want = SockAddr {
            addr: Addr::new(OCTETS),
            port: 0x1234,
            scope: 0x0102_0304,
        };
        assert!(addr == Some(want));
        assert!(family() != 0);
    }

    #[test]
    fn longer_is_as_good() {
        let mut long = [0xff; 128];
        long[..LEN].copy_from_slice(&bytes(family()));
        let addr = address(given(&long, 128));
        assert_eq!(addr.map(|addr| addr.scope), Some(0x0102_0304));
    }

    #[test]
    fn without_scope() {
        let addr = address(given(&bytes(family()), 24));
        assert_eq!(addr.map(|addr| (addr.port, addr.scope)), Some((0x1234, 0)));
    }

    #[test]
    fn scope_is_of_link_local_addresses() {
        let mut bytes = bytes(family());
        bytes[8] = 0xfd;
        let addr = address(given(&bytes, 28));
        assert_eq!(addr.map(|addr| (addr.port, addr.scope)), Some((0x1234, 0)));
    }

    #[test]
    fn too_short() {
        for len in [-1, 0, 1, 2, 23] {
            assert!(given(&bytes(family()), len).is_err());
        }
        assert!(given(&bytes(family()), 23).is_err_and(|error| error == EINVAL));
        assert!(given(&bytes(family()), 1).is_err_and(|error| error == EINVAL));
    }

    #[test]
    fn unspecified_needs_its_family_only() {
        assert!(matches!(given(&bytes(0), 2), Ok(Given::Unspecified)));
        assert!(matches!(given(&bytes(0), 28), Ok(Given::Unspecified)));
        assert!(given(&bytes(0), 1).is_err());
    }

    #[test]
    fn another_family() {
        for other in [2, 10, family() + 1] {
            assert!(given(&bytes(other), 28).is_err_and(|error| error == EAFNOSUPPORT));
        }
    }

    #[test]
    fn written_byte_by_byte() {
        let mut out = [0xff; LEN + 1];
        let addr = SockAddr {
            addr: Addr::new(OCTETS),
            port: 0x1234,
            scope: 0x0102_0304,
        };
        // SAFETY: There is room for `LEN` bytes.
        let len = unsafe { write(out.as_mut_ptr(), &addr) };
        assert_eq!(len, 28);
        assert!(out[..LEN] == bytes(family())[..]);
        // And not more.
        assert_eq!(out[LEN], 0xff);
    }
}
