// SPDX-License-Identifier: GPL-2.0

//! engine/input.rs, the walk over the packets of an skb: where each header and payload is, however the
//! skb is laid out, and what happens to packets that are cut off.

use crate::{
    carrier::{
        addr::Addr,
        RxMeta, //
    },
    engine::input::Walk,
    proto::{
        psn::Psn,
        wire::{
            flags,
            DataHeader,
            Packet,
            DATA_HEADER, //
        },
    },
    sys::{
        bindings,
        skb::Skb,
        tests::{
            packets::{
                plain,
                received, //
            },
            pattern,
            Fixture, //
        },
        udp::describe, //
    },
};
use kernel::prelude::*;

/// Payload bytes of each packet but the last.
const LEN: usize = 700;
/// Of the last one.
const LAST: usize = 33;
/// From one header to the next.
const SEGMENT: usize = DATA_HEADER + LEN;
/// Packets in a train.
const COUNT: usize = 6;

fn header(i: usize) -> DataHeader {
    DataHeader {
        flags: 0,
        entropy: 40_000,
        dcid: 0x1234_5678,
        tag: 0x9abc_def0,
        psn: Psn::new(1000 + i as u32),
        offset: (i * LEN) as u64,
        tx_time: 77,
        scid: 5,
    }
}

/// The packets one behind the other.
fn bytes() -> Result<KVec<u8>> {
    let mut bytes = pattern((COUNT - 1) * SEGMENT + DATA_HEADER + LAST)?;
    for i in 0..COUNT {
        let mut head = [0; DATA_HEADER];
        header(i).emit(&mut head);
        bytes[i * SEGMENT..][..DATA_HEADER].copy_from_slice(&head);
    }
    Ok(bytes)
}

/// A train with so many bytes in its linear part, and in each fragment.
fn train(bytes: &[u8], linear: u32, frag: u32) -> Result<Skb> {
    received(
        &bindings::strack_kunit_rx {
            linear,
            frag,
            gso_size: SEGMENT as u16,
            checksum: bindings::strack_kunit_checksum_STRACK_KUNIT_PARTIAL,
            ..plain(true)
        },
        bytes,
    )
}

fn meta(skb: &mut Skb) -> Result<RxMeta> {
    let headers = describe(skb)?;
    Ok(RxMeta {
        src: Addr::new(headers.src),
        dst: Addr::new(headers.dst),
        src_port: headers.src_port,
        ce: headers.ce,
        ifindex: headers.ifindex,
        first: 0,
        seg_len: headers.seg_len,
        total: headers.total,
    })
}

/// PSN, place and length of each packet that the walk finds.
fn walk(fixture: &Fixture, mut skb: Skb) -> Result<KVec<(u32, usize, usize)>> {
    let meta = meta(&mut skb)?;
    let ns = fixture.ns();
    let mut found = KVec::new();
    let mut walk = Walk::new(&ns, &skb, &meta);
    while let Some(segment) = walk.take() {
        let Packet::Data(data) = segment.packet else {
            return Err(EBADMSG);
        };
        let i = data.psn.raw().wrapping_sub(1000) as usize;
        if data != header(i) {
            return Err(EBADMSG);
        }
        let at = usize::try_from(segment.payload)?;
        found.push((data.psn.raw(), at, usize::from(segment.len)), GFP_KERNEL)?;
    }
    Ok(found)
}

/// What the walk is to find in a whole train.
fn expected(i: usize) -> (u32, usize, usize) {
    let len = if i + 1 < COUNT { LEN } else { LAST };
    (1000 + i as u32, i * SEGMENT + DATA_HEADER, len)
}

#[kunit_tests(strack_input)]
mod suite {
    use super::*;

    #[test]
    fn train_in_every_layout() -> Result {
        let fixture = Fixture::new()?;
        let bytes = bytes()?;
        // Headers in the linear part, in one fragment, and across two.
        for (linear, frag) in [
            (u32::MAX, 1),
            (0, 4096),
            (0, 731),
            (16, 732),
            (20, 400),
            (1500, 1024),
        ] {
            let found = walk(&fixture, train(&bytes, linear, frag)?)?;
            assert!(found.iter().copied().eq((0..COUNT).map(expected)));
        }
        Ok(())
    }

    #[test]
    fn payload_is_where_it_says() -> Result {
        let fixture = Fixture::new()?;
        let bytes = bytes()?;
        let skb = train(&bytes, 100, 600)?;
        for (_, at, len) in walk(&fixture, skb.hold())? {
            let mut found = KVec::from_elem(0, len, GFP_KERNEL)?;
            skb.copy_bits(u32::try_from(at)?, &mut found)?;
            assert!(found[..] == bytes[at..at + len]);
        }
        Ok(())
    }

    #[test]
    fn single() -> Result {
        let fixture = Fixture::new()?;
        let bytes = bytes()?;
        let found = walk(&fixture, received(&plain(false), &bytes[..SEGMENT])?)?;
        assert!(found.iter().copied().eq([expected(0)]));
        Ok(())
    }

    #[test]
    fn cut_off_in_the_header() -> Result {
        let fixture = Fixture::new()?;
        let bytes = bytes()?;
        // The last packet of a train, by all that there is to cut from its header.
        for left in [0, 1, 15, 16, 31] {
            let end = (COUNT - 1) * SEGMENT + left;
            for linear in [0, u32::MAX] {
                let found = walk(&fixture, train(&bytes[..end], linear, 999)?)?;
                assert!(found.iter().copied().eq((0..COUNT - 1).map(expected)));
            }
        }
        // And a packet of its own.
        for left in [1, 15, 16, 31] {
            let skb = received(&plain(true), &bytes[..left])?;
            assert!(walk(&fixture, skb)?.is_empty());
        }
        Ok(())
    }

    #[test]
    fn header_alone_is_for_the_end_of_a_stream() -> Result {
        let fixture = Fixture::new()?;
        let alone = |flags| -> Result<Skb> {
            let mut head = [0; DATA_HEADER];
            DataHeader { flags, ..header(0) }.emit(&mut head);
            received(&plain(true), &head)
        };
        assert!(walk(&fixture, alone(0)?)?.is_empty());
        let ns = fixture.ns();
        let mut skb = alone(flags::DATA_FIN)?;
        let meta = meta(&mut skb)?;
        let segment = Walk::new(&ns, &skb, &meta).take().ok_or(ENOENT)?;
        assert_eq!((segment.payload, segment.len), (DATA_HEADER as u32, 0));
        Ok(())
    }

    #[test]
    fn broken_one_does_not_hide_the_others() -> Result {
        let fixture = Fixture::new()?;
        let mut bytes = bytes()?;
        // No version of the protocol.
        bytes[2 * SEGMENT] = 0xff;
        let found = walk(&fixture, train(&bytes, 300, 1000)?)?;
        let others = (0..COUNT).filter(|&i| i != 2).map(expected);
        assert!(found.iter().copied().eq(others));
        Ok(())
    }

    #[test]
    fn longer_than_the_skb() -> Result {
        let fixture = Fixture::new()?;
        let ns = fixture.ns();
        let bytes = bytes()?;
        let mut skb = received(&plain(true), &bytes[..SEGMENT])?;
        // As if the network stack had said so.
        let meta = RxMeta {
            first: SEGMENT as u32 - 10,
            ..meta(&mut skb)?
        };
        assert!(Walk::new(&ns, &skb, &meta).take().is_none());
        Ok(())
    }
}
