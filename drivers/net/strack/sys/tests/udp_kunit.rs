// SPDX-License-Identifier: GPL-2.0

//! sys/udp.rs, [`describe`]: what is read of packets that come in, whole, in fragments, in trains, and
//! broken.

use super::{
    bindings,
    packets::{
        plain,
        received,
        DST6,
        SRC6, //
    },
    pattern, //
};
use crate::{
    carrier::addr::Addr,
    sys::udp::describe, //
};
use kernel::prelude::*;

/// What [`describe`] fails with.
fn refused(rx: &bindings::strack_kunit_rx, payload: &[u8]) -> Result<Option<Error>> {
    Ok(describe(&mut received(rx, payload)?).err())
}

#[kunit_tests(strack_udp)]
mod suite {
    use super::*;

    #[test]
    fn headers_of_ipv4() -> Result {
        let mut skb = received(&plain(true), &pattern(100)?)?;
        let headers = describe(&mut skb)?;
        assert!(Addr::new(headers.src) == Addr::from_v4([10, 1, 2, 3]));
        assert!(Addr::new(headers.dst) == Addr::from_v4([10, 9, 8, 7]));
        assert_eq!(headers.src_port, 54321);
        assert_eq!(headers.ifindex, 17);
        assert!(!headers.ce);
        assert_eq!((headers.total, headers.seg_len), (100, 100));
        Ok(())
    }

    #[test]
    fn headers_of_ipv6() -> Result {
        let mut skb = received(&plain(false), &pattern(100)?)?;
        let headers = describe(&mut skb)?;
        assert_eq!((headers.src, headers.dst), (SRC6, DST6));
        assert_eq!((headers.src_port, headers.ifindex), (54321, 17));
        assert!(!headers.ce);
        assert_eq!((headers.total, headers.seg_len), (100, 100));
        Ok(())
    }

    #[test]
    fn congestion_mark() -> Result {
        for v4 in [true, false] {
            for tos in [0, 1, 2, 3, 0xb8, 0xbb] {
                let rx = bindings::strack_kunit_rx { tos, ..plain(v4) };
                let headers = describe(&mut received(&rx, &pattern(50)?)?)?;
                assert_eq!(headers.ce, tos & 3 == 3);
            }
        }
        Ok(())
    }

    #[test]
    fn payload_in_fragments() -> Result {
        let payload = pattern(5000)?;
        for linear in [0, 1, 7, 4999] {
            let rx = bindings::strack_kunit_rx {
                linear,
                frag: 1111,
                ..plain(false)
            };
            let mut skb = received(&rx, &payload)?;
            assert_eq!(describe(&mut skb)?.total, 5000);
            let mut found = KVec::from_elem(0, 5000, GFP_KERNEL)?;
            skb.copy_bits(0, &mut found)?;
            assert!(found[..] == payload[..]);
        }
        Ok(())
    }

    #[test]
    fn train() -> Result {
        let payload = pattern(4321)?;
        for linear in [0, 500, u32::MAX] {
            let rx = bindings::strack_kunit_rx {
                linear,
                gso_size: 1000,
                // The parts of a train carry their sums, and whoever put it together knows them.
                checksum: bindings::strack_kunit_checksum_STRACK_KUNIT_PARTIAL,
                ..plain(true)
            };
            let headers = describe(&mut received(&rx, &payload)?)?;
            assert_eq!((headers.total, headers.seg_len), (4321, 1000));
        }
        Ok(())
    }

    #[test]
    fn train_of_one() -> Result {
        let rx = bindings::strack_kunit_rx {
            gso_size: 1000,
            checksum: bindings::strack_kunit_checksum_STRACK_KUNIT_PARTIAL,
            ..plain(true)
        };
        let headers = describe(&mut received(&rx, &pattern(400)?)?)?;
        assert_eq!((headers.total, headers.seg_len), (400, 400));
        Ok(())
    }

    #[test]
    fn train_of_crumbs_is_refused() -> Result {
        let rx = |gso_size| bindings::strack_kunit_rx {
            gso_size,
            checksum: bindings::strack_kunit_checksum_STRACK_KUNIT_PARTIAL,
            ..plain(true)
        };
        assert_eq!(refused(&rx(15), &pattern(300)?)?, Some(EPROTO));
        assert_eq!(refused(&rx(16), &pattern(300)?)?, None);
        Ok(())
    }

    #[test]
    fn train_of_something_else_is_refused() -> Result {
        let rx = bindings::strack_kunit_rx {
            gso_size: 1000,
            gso_tcp: true,
            ..plain(true)
        };
        assert_eq!(refused(&rx, &pattern(3000)?)?, Some(EPROTO));
        Ok(())
    }

    #[test]
    fn nothing_in_it() -> Result {
        assert_eq!(refused(&plain(true), &[])?, Some(EPROTO));
        assert_eq!(refused(&plain(true), &[0x5a])?, None);
        Ok(())
    }

    #[test]
    fn checksum() -> Result {
        for v4 in [true, false] {
            for linear in [0, 9, u32::MAX] {
                let rx = |checksum| bindings::strack_kunit_rx {
                    checksum,
                    linear,
                    ..plain(v4)
                };
                let payload = pattern(777)?;
                let good = rx(bindings::strack_kunit_checksum_STRACK_KUNIT_GOOD);
                let wrong = rx(bindings::strack_kunit_checksum_STRACK_KUNIT_WRONG);
                let none = rx(bindings::strack_kunit_checksum_STRACK_KUNIT_NONE);
                let partial = rx(bindings::strack_kunit_checksum_STRACK_KUNIT_PARTIAL);
                assert_eq!(refused(&good, &payload)?, None);
                assert_eq!(refused(&wrong, &payload)?, Some(EBADMSG));
                assert_eq!(refused(&none, &payload)?, Some(ENOMSG));
                assert_eq!(refused(&partial, &payload)?, None);
            }
        }
        Ok(())
    }

    #[test]
    fn broadcast_is_refused() -> Result {
        let rx = bindings::strack_kunit_rx {
            broadcast: true,
            ..plain(true)
        };
        assert_eq!(refused(&rx, &pattern(100)?)?, Some(EADDRNOTAVAIL));
        Ok(())
    }

    /// What is refused of a packet that came to this host alone, as far as the link layer knows.
    fn between(src: [u8; 16], dst: [u8; 16], v4: bool) -> Result<Option<Error>> {
        let rx = bindings::strack_kunit_rx {
            src,
            dst,
            ..plain(v4)
        };
        refused(&rx, &pattern(100)?)
    }

    #[test]
    fn multicast_address_is_refused() -> Result {
        let unicast = Addr::from_v4([10, 1, 2, 3]).octets();
        for dst in [[224, 0, 0, 1], [239, 255, 255, 255], [255; 4]] {
            let dst = Addr::from_v4(dst).octets();
            assert_eq!(between(unicast, dst, true)?, Some(EADDRNOTAVAIL));
        }
        for last in [1, 2] {
            let mut dst = [0; 16];
            (dst[0], dst[1], dst[15]) = (0xff, 2, last);
            assert_eq!(between(SRC6, dst, false)?, Some(EADDRNOTAVAIL));
        }
        // The neighbours of these are as good as any.
        let dst = Addr::from_v4([223, 255, 255, 255]).octets();
        assert_eq!(between(unicast, dst, true)?, None);
        let mut dst = DST6;
        dst[0] = 0xfe;
        assert_eq!(between(SRC6, dst, false)?, None);
        Ok(())
    }

    #[test]
    fn mapped_address_is_none_of_ipv6() -> Result {
        let mapped = Addr::from_v4([127, 0, 0, 1]).octets();
        assert_eq!(between(mapped, DST6, false)?, Some(EADDRNOTAVAIL));
        assert_eq!(between(SRC6, mapped, false)?, Some(EADDRNOTAVAIL));
        assert_eq!(between(mapped, mapped, true)?, None);
        Ok(())
    }
}
