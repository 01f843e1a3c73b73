// SPDX-License-Identifier: GPL-2.0

//! Send and receive entries: what is taken, and one test for each thing that is not.

use proptest::prelude::*;
use vstellar_core::{
    abi,
    bytes::Bytes,
    span::Span,
    status::Status,
    work::{send, ReceiveEntry, Segment, SendEntry, SendOp, SendRules},
};

const RULES: SendRules = SendRules {
    messages: false,
    remote: false,
    max_sge: 4,
    max_len: 1 << 30,
};

const ALL: SendRules = SendRules {
    messages: true,
    remote: true,
    ..RULES
};

/// An entry as a driver writes it.
#[derive(Clone, Copy)]
struct Raw {
    op: u8,
    flags: u8,
    nsge: u8,
    reserved: u8,
    imm: u32,
    remote_addr: u64,
    rkey: u32,
    len: u32,
    sge: [(u64, u32, u32); 2],
}

const SEND: Raw = Raw {
    op: abi::OP_SEND,
    flags: 0,
    nsge: 1,
    reserved: 0,
    imm: 0,
    remote_addr: 0,
    rkey: 0,
    len: 100,
    sge: [(0x1000, 100, 7), (0, 0, 0)],
};

fn raw(raw: Raw) -> [u8; send::SQE_SIZE] {
    let mut bytes = Bytes::new()
        .put8(raw.op)
        .put8(raw.flags)
        .put8(raw.nsge)
        .put8(raw.reserved)
        .put32(raw.imm)
        .put64(0x1122_3344_5566_7788)
        .put64(raw.remote_addr)
        .put32(raw.rkey)
        .put32(raw.len);
    for (addr, len, key) in raw.sge {
        bytes = bytes.put64(addr).put32(len).put32(key);
    }
    bytes.into_array()
}

fn parse(entry: Raw) -> Result<SendEntry, Status> {
    SendEntry::parse(&raw(entry), &RULES)
}

fn refused(entry: Raw) -> Status {
    assert_eq!(SendEntry::wr_id(&raw(entry)), 0x1122_3344_5566_7788);
    SendEntry::parse(&raw(entry), &ALL).unwrap_err()
}

fn segment(addr: u64, len: u64, key: u32) -> Segment {
    Segment {
        span: Span::new(addr, len).unwrap(),
        key,
    }
}

#[test]
fn segments_that_adjoin_are_one() {
    let first = segment(0x1000, 100, 7);
    let both = first.followed_by(&segment(0x1064, 50, 7));
    assert_eq!(both, Some(segment(0x1000, 150, 7)));
    // a gap, an overlap, the other way round, and another region
    assert_eq!(first.followed_by(&segment(0x1065, 50, 7)), None);
    assert_eq!(first.followed_by(&segment(0x1063, 50, 7)), None);
    assert_eq!(segment(0x1064, 50, 7).followed_by(&first), None);
    assert_eq!(first.followed_by(&segment(0x1064, 50, 8)), None);
    // addresses do not begin again behind the last one
    let last = segment(u64::MAX - 9, 10, 7);
    assert_eq!(last.followed_by(&segment(0, 1, 7)), None);
    assert_eq!(
        segment(0, 1, 7).followed_by(&Segment {
            span: Span::between(1, u64::MAX).unwrap(),
            key: 7
        }),
        Some(Segment {
            span: Span::ALL,
            key: 7
        })
    );
}

#[test]
fn a_send_entry_is_what_was_written() {
    let entry = parse(Raw {
        flags: abi::SQE_SIGNALED | abi::SQE_MORE,
        nsge: 2,
        len: 150,
        sge: [(0x1000, 100, 7), (0x9000, 50, 0)],
        ..SEND
    })
    .unwrap();
    assert_eq!(entry.op, SendOp::Send);
    assert_eq!(entry.wr_id, 0x1122_3344_5566_7788);
    assert!(entry.signaled && entry.more && !entry.fence && !entry.solicited);
    assert_eq!((entry.len, entry.remote, entry.table), (150, None, None));
    let segments: Vec<_> = entry.segments.iter().copied().collect();
    assert_eq!(segments, [segment(0x1000, 100, 7), segment(0x9000, 50, 0)]);
}

#[test]
fn a_table_has_the_segments() {
    let entry = Raw {
        nsge: abi::SGE_TABLE,
        len: 60,
        sge: [(0x1000, 48, 7), (0, 0, 0)],
        ..SEND
    };
    let entry = parse(entry).unwrap();
    assert_eq!(entry.table, Some(segment(0x1000, 48, 7)));
    assert!(entry.segments.is_empty());
    let mut table = Bytes::<48>::new();
    for i in 1..4u32 {
        table = table.put64(u64::from(i) << 12).put32(10 * i).put32(i);
    }
    let full = entry.with_table(table.as_slice()).unwrap();
    assert_eq!(
        (full.segments.len(), full.segments.total(), full.table),
        (3, 60, None)
    );
    // another length, and another sum, than the entry's
    assert_eq!(
        entry.with_table(&table.as_slice()[..32]),
        Err(Status::Inval)
    );
    let mut bytes = table.into_array();
    bytes[8] += 1;
    assert_eq!(entry.with_table(&bytes), Err(Status::Inval));
    // an empty segment
    bytes[8] = 0;
    assert_eq!(entry.with_table(&bytes), Err(Status::Inval));
    // and there is nothing to complete in an entry without a table
    assert_eq!(parse(SEND).unwrap().with_table(&[]), Err(Status::Inval));
}

#[test]
fn a_table_is_whole_segments_and_no_more_than_allowed() {
    let table = |len| Raw {
        nsge: abi::SGE_TABLE,
        sge: [(0x1000, len, 7), (0, 0, 0)],
        ..SEND
    };
    assert!(parse(table(64)).is_ok());
    assert_eq!(refused(table(80)), Status::Inval);
    assert_eq!(refused(table(40)), Status::Inval);
    assert_eq!(refused(table(0)), Status::Inval);
    assert_eq!(
        refused(Raw {
            len: 0,
            ..table(16)
        }),
        Status::Inval
    );
    let second = Raw {
        sge: [(0x1000, 16, 7), (0x2000, 16, 7)],
        ..table(16)
    };
    assert_eq!(refused(second), Status::Inval);
}

#[test]
fn operations_are_those_of_the_endpoint() {
    let op = |op| Raw { op, ..SEND };
    assert!(parse(op(abi::OP_SEND)).is_ok());
    for code in [
        abi::OP_SEND_END,
        abi::OP_WRITE,
        abi::OP_WRITE_IMM,
        abi::OP_READ,
    ] {
        assert_eq!(parse(op(code)), Err(Status::NotSupp));
        assert!(SendEntry::parse(&raw(op(code)), &ALL).is_ok());
    }
    for code in [0, 7, 0x7f, abi::OP_RECV, 0xff] {
        assert_eq!(refused(op(code)), Status::NotSupp);
    }
}

#[test]
fn the_end_has_no_bytes_and_the_rest_has_some() {
    let fin = Raw {
        op: abi::OP_FIN,
        nsge: 0,
        len: 0,
        sge: [(0, 0, 0); 2],
        ..SEND
    };
    assert!(parse(fin).is_ok());
    assert_eq!(
        refused(Raw {
            op: abi::OP_FIN,
            ..SEND
        }),
        Status::Inval
    );
    assert_eq!(
        refused(Raw {
            op: abi::OP_SEND,
            ..fin
        }),
        Status::Inval
    );
}

#[test]
fn reserved_fields_are_zero() {
    assert_eq!(
        refused(Raw {
            reserved: 1,
            ..SEND
        }),
        Status::Inval
    );
    assert_eq!(refused(Raw { flags: 16, ..SEND }), Status::Inval);
    assert_eq!(refused(Raw { imm: 1, ..SEND }), Status::Inval);
    assert_eq!(refused(Raw { rkey: 1, ..SEND }), Status::Inval);
    assert_eq!(
        refused(Raw {
            remote_addr: 1,
            ..SEND
        }),
        Status::Inval
    );
    for unused in [(1, 0, 0), (0, 1, 0), (0, 0, 1)] {
        let sge = [SEND.sge[0], unused];
        assert_eq!(refused(Raw { sge, ..SEND }), Status::Inval);
    }
}

#[test]
fn segments_are_few_not_empty_and_do_not_wrap() {
    for nsge in [3, 4, 254] {
        assert_eq!(refused(Raw { nsge, ..SEND }), Status::Inval);
    }
    assert_eq!(refused(Raw { nsge: 0, ..SEND }), Status::Inval);
    let sge = |first, second| Raw {
        nsge: 2,
        sge: [first, second],
        ..SEND
    };
    assert_eq!(refused(sge((0, 100, 0), (0, 0, 0))), Status::Inval);
    assert_eq!(
        refused(sge((u64::MAX - 10, 50, 0), (0, 50, 0))),
        Status::Inval
    );
}

#[test]
fn the_length_is_the_sum_and_within_the_limit() {
    assert_eq!(refused(Raw { len: 99, ..SEND }), Status::Inval);
    assert_eq!(refused(Raw { len: 101, ..SEND }), Status::Inval);
    let of = |len| Raw {
        len,
        sge: [(0, len, 0), (0, 0, 0)],
        ..SEND
    };
    assert!(parse(of(1 << 30)).is_ok());
    assert_eq!(refused(of((1 << 30) + 1)), Status::Inval);
    // a sum that is right in 32 bits only
    let sge = [(0, u32::MAX, 0), (0, 101, 0)];
    assert_eq!(
        refused(Raw {
            nsge: 2,
            sge,
            ..SEND
        }),
        Status::Inval
    );
}

#[test]
fn remote_memory_does_not_wrap() {
    let write = Raw {
        op: abi::OP_WRITE,
        rkey: 3,
        ..SEND
    };
    let parsed = SendEntry::parse(&raw(write), &ALL).unwrap();
    assert_eq!(parsed.remote, Some((0, 3)));
    let remote_addr = u64::MAX - 50;
    assert_eq!(
        refused(Raw {
            remote_addr,
            ..write
        }),
        Status::Inval
    );
}

fn receive(addr: u64, len: u32, reserved: u64) -> Result<ReceiveEntry, Status> {
    let bytes = Bytes::new().put64(5).put64(addr).put32(len).put32(9);
    let bytes = bytes.put64(reserved).into_array();
    assert_eq!(ReceiveEntry::wr_id(&bytes), 5);
    ReceiveEntry::parse(&bytes)
}

#[test]
fn a_receive_entry_is_one_buffer() {
    let expected = ReceiveEntry {
        wr_id: 5,
        segment: segment(0x1000, 64, 9),
    };
    assert_eq!(receive(0x1000, 64, 0), Ok(expected));
    assert_eq!(receive(0x1000, 64, 1), Err(Status::Inval));
    assert_eq!(receive(0x1000, 0, 0), Err(Status::Inval));
    assert_eq!(receive(u64::MAX, 2, 0), Err(Status::Inval));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn any_bytes_are_refused_or_within_the_rules(
        bytes in prop::array::uniform32(prop_oneof![3 => 0u8..8, 1 => any::<u8>()]),
        more in prop::array::uniform32(prop_oneof![9 => Just(0u8), 1 => any::<u8>()]),
        messages in any::<bool>(),
        remote in any::<bool>(),
    ) {
        let rules = SendRules { messages, remote, ..RULES };
        let mut entry = [0; 64];
        entry[..32].copy_from_slice(&bytes);
        entry[32..].copy_from_slice(&more);
        if let Ok(parsed) = SendEntry::parse(&entry, &rules) {
            prop_assert!(parsed.len <= rules.max_len);
            prop_assert!(messages || parsed.op != SendOp::SendEnd);
            prop_assert!(remote || parsed.remote.is_none());
            match parsed.table {
                Some(table) => prop_assert!(table.span.len() <= 16 * u64::from(rules.max_sge)),
                None => prop_assert_eq!(parsed.segments.total(), u64::from(parsed.len)),
            }
        }
        let _ = ReceiveEntry::parse(&more);
    }
}
