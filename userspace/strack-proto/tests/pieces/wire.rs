// SPDX-License-Identifier: GPL-2.0

//! Every header survives the wire, and nothing else gets in.

use proptest::prelude::*;
use strack_proto::{
    counter::Counter,
    psn::Psn,
    wire::{
        flags,
        parse,
        AcceptHeader,
        AckHeader,
        ChallengeHeader,
        DataHeader,
        InitHeader,
        Packet,
        ResetCode,
        ResetHeader,
        VersionHeader, //
    },
};

const DATA: DataHeader = DataHeader {
    flags: flags::DATA_ACK_REQ | flags::DATA_PUSH,
    entropy: 0xc123,
    dcid: 0x0102_0304,
    tag: 0x0506_0708,
    psn: Psn::new(0x090a_0b0c),
    offset: 0x1112_1314_1516_1718,
    tx_time: 0x191a_1b1c,
    scid: 0x1d1e_1f20,
};

const ACK: AckHeader = AckHeader {
    flags: flags::ACK_CE | flags::ACK_SACK | flags::ACK_DUP,
    entropy: 0xc123,
    dcid: 0x0102_0304,
    tag: 0x0506_0708,
    cumulative: Psn::new(0x090a_0b0c),
    trigger: Psn::new(0x1112_1314),
    echo_time: 0x1516_1718,
    credit: Psn::new(0x191a_1b1c),
    sack_base: Psn::new(0x1d1e_1f20),
    sack: 0x2122_2324_2526_2728,
    received_bytes: 0x292a_2b2c_2d2e_2f30,
    ooo_count: 0x3132,
    dup_count: 0x3334,
    service_time: 0x3536_3738,
    window: 0x393a_3b3c,
    penalty: 0x7f,
};

const INIT: InitHeader = InitHeader {
    sock_type: 1,
    psn: Psn::new(0x090a_0b0c),
    scid: 0x1112_1314,
    stag: 0x1516_1718,
    src_port: 0x191a,
    dst_port: 0x1b1c,
    max_payload: 0x1d1e,
    credit: 0x2122_2324,
    window: 0x2526_2728,
    cookie_time: 0x292a_2b2c_2d2e_2f30,
    cookie_mac: 0x3132_3334_3536_3738,
};

const CHALLENGE: ChallengeHeader = ChallengeHeader {
    dcid: 0x0102_0304,
    tag: 0x0506_0708,
    cookie_time: 0x292a_2b2c_2d2e_2f30,
    cookie_mac: 0x3132_3334_3536_3738,
};

const ACCEPT: AcceptHeader = AcceptHeader {
    dcid: 0x0102_0304,
    tag: 0x0506_0708,
    sock_type: 1,
    psn: Psn::new(0x090a_0b0c),
    scid: 0x1112_1314,
    stag: 0x1516_1718,
    max_payload: 0x1d1e,
    credit: 0x2122_2324,
    window: 0x2526_2728,
};

const RESET: ResetHeader = ResetHeader {
    flags: flags::RESET_REFLECT,
    dcid: 0x0102_0304,
    tag: 0x0506_0708,
    code: ResetCode::NoConnection,
    psn: Psn::new(0x090a_0b0c),
};

const VERSION: VersionHeader = VersionHeader {
    dcid: 0x0102_0304,
    tag: 0x0506_0708,
    count: 2,
    versions: [1, 7, 0, 0, 0, 0, 0, 0],
};

/// A header, its size and its bytes on the wire in hexadecimal.
const TABLE: [(Packet, usize, &str); 8] = [
    (
        Packet::Data(DATA),
        32,
        "1109c123 01020304 05060708 090a0b0c \
         11121314 15161718 191a1b1c 1d1e1f20",
    ),
    (
        Packet::Probe(DATA),
        32,
        "1209c123 01020304 05060708 090a0b0c \
         11121314 15161718 191a1b1c 1d1e1f20",
    ),
    (
        Packet::Ack(ACK),
        64,
        "1319c123 01020304 05060708 090a0b0c \
         11121314 15161718 191a1b1c 1d1e1f20 \
         21222324 25262728 292a2b2c 2d2e2f30 \
         31323334 35363738 393a3b3c 007f0000",
    ),
    (
        Packet::Init(INIT),
        64,
        "14000001 00000000 00000000 090a0b0c \
         11121314 15161718 191a1b1c 1d1e0000 \
         21222324 25262728 292a2b2c 2d2e2f30 \
         31323334 35363738 00000000 00000000",
    ),
    (
        Packet::Challenge(CHALLENGE),
        64,
        "15000000 01020304 05060708 00000000 \
         00000000 00000000 00000000 00000000 \
         00000000 00000000 292a2b2c 2d2e2f30 \
         31323334 35363738 00000000 00000000",
    ),
    (
        Packet::Accept(ACCEPT),
        64,
        "16000001 01020304 05060708 090a0b0c \
         11121314 15161718 00000000 1d1e0000 \
         21222324 25262728 00000000 00000000 \
         00000000 00000000 00000000 00000000",
    ),
    (
        Packet::Reset(RESET),
        24,
        "17010003 01020304 05060708 090a0b0c \
         00000000 00000000",
    ),
    (
        Packet::Version(VERSION),
        32,
        "18000002 01020304 05060708 00000000 \
         00010007 00000000 00000000 00000000",
    ),
];

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn emitted(packet: &Packet) -> Vec<u8> {
    let mut out = [0xee; 64];
    let len = packet.emit(&mut out);
    assert!(out[len..].iter().all(|&byte| byte == 0xee));
    out[..len].to_vec()
}

/// Payload a packet needs to be valid.
fn payload(packet: &Packet) -> usize {
    usize::from(matches!(packet, Packet::Data(_)))
}

fn fails_with(packet: &[u8], counter: Counter) {
    assert_eq!(parse(packet, packet.len()), Err(counter));
}

/// Sets some bytes of a valid packet and expects `counter`.
#[track_caller]
fn broken(packet: Packet, at: usize, patch: &[u8], counter: Counter) {
    let mut bytes = emitted(&packet);
    let len = bytes.len() + payload(&packet);
    bytes[at..at + patch.len()].copy_from_slice(patch);
    assert_eq!(parse(&bytes, len), Err(counter));
}

#[test]
fn round_trip() {
    for (packet, len, hex) in TABLE {
        let wire = emitted(&packet);
        assert_eq!(wire, bytes(hex), "{packet:?}");
        assert_eq!(wire.len(), len);
        assert_eq!(parse(&wire, len + payload(&packet)), Ok((packet, len)));
    }
}

#[test]
fn data_header_alone() {
    let mut out = [0xee; 32];
    DATA.emit(&mut out);
    assert_eq!(out.to_vec(), emitted(&Packet::Data(DATA)));
}

#[test]
fn truncated() {
    for (packet, len, _) in TABLE {
        let wire = emitted(&packet);
        for cut in 0..16 {
            fails_with(&wire[..cut], Counter::WireTruncated);
        }
        for cut in 16..len {
            fails_with(&wire[..cut], Counter::WireHeaderCut);
            // The same if the buffer is longer than the packet.
            assert_eq!(parse(&wire, cut), Err(Counter::WireHeaderCut));
        }
    }
}

#[test]
fn other_versions() {
    for (packet, _, _) in TABLE {
        let wire = emitted(&packet);
        for version in (0..16).filter(|&version| version != 1) {
            broken(
                packet,
                0,
                &[(version << 4) | (wire[0] & 15)],
                Counter::WireVersion,
            );
        }
    }
}

#[test]
fn unknown_types() {
    for packet_type in [0, 9, 10, 11, 12, 13, 14, 15] {
        broken(
            Packet::Ack(ACK),
            0,
            &[0x10 | packet_type],
            Counter::WireType,
        );
    }
}

#[test]
fn undefined_flags() {
    let undefined = [0xf0, 0xf0, 0xc0, 0xff, 0xff, 0xff, 0xfe, 0xff];
    for ((packet, _, _), undefined) in TABLE.into_iter().zip(undefined) {
        for flag in (0..8)
            .map(|bit| 1 << bit)
            .filter(|flag| flag & undefined != 0)
        {
            broken(packet, 1, &[flag], Counter::WireFlags);
        }
    }
}

#[test]
fn reserved_fields() {
    let reserved: [(Packet, &[usize]); 5] = [
        (Packet::Ack(ACK), &[62, 63]),
        (Packet::Init(INIT), &[30, 31, 56, 63]),
        (
            Packet::Challenge(CHALLENGE),
            &[2, 3, 12, 15, 16, 39, 56, 63],
        ),
        (Packet::Accept(ACCEPT), &[24, 27, 30, 31, 40, 63]),
        (Packet::Reset(RESET), &[16, 23]),
    ];
    for (packet, places) in reserved {
        for &at in places {
            broken(packet, at, &[0x80], Counter::WireReserved);
        }
    }
    // Beyond the versions that are listed, and the PSN.
    for at in [12, 20, 31] {
        broken(Packet::Version(VERSION), at, &[1], Counter::WireReserved);
    }
}

#[test]
fn identifiers() {
    for (packet, _, _) in TABLE {
        let dcid: &[u8] = if matches!(packet, Packet::Init(_)) {
            &[0, 0, 0, 1]
        } else {
            &[0; 4]
        };
        broken(packet, 4, dcid, Counter::WireId);
    }
    broken(Packet::Init(INIT), 8, &[0, 0, 0, 1], Counter::WireId);
    broken(Packet::Init(INIT), 16, &[0; 4], Counter::WireId);
    broken(Packet::Accept(ACCEPT), 16, &[0; 4], Counter::WireId);
    broken(Packet::Data(DATA), 28, &[0; 4], Counter::WireId);
    broken(Packet::Probe(DATA), 28, &[0; 4], Counter::WireId);
}

#[test]
fn nothing_follows_a_control_packet() {
    for (packet, len, _) in TABLE {
        if !matches!(packet, Packet::Data(_)) {
            let wire = emitted(&packet);
            assert_eq!(parse(&wire, len + 1), Err(Counter::WireTrailing));
        }
    }
}

#[test]
fn only_fin_may_be_empty() {
    let mut header = DATA;
    let wire = emitted(&Packet::Data(header));
    assert_eq!(parse(&wire, 32), Err(Counter::WireDataEmpty));
    header.flags |= flags::DATA_FIN;
    let wire = emitted(&Packet::Data(header));
    assert_eq!(parse(&wire, 32), Ok((Packet::Data(header), 32)));
}

#[test]
fn field_values() {
    broken(Packet::Ack(ACK), 1, &[0], Counter::WireAckSack);
    broken(Packet::Ack(ACK), 60, &[0, 128], Counter::WireAckPenalty);
    broken(Packet::Init(INIT), 28, &[0, 63], Counter::WireMaxPayload);
    broken(
        Packet::Accept(ACCEPT),
        28,
        &[0, 63],
        Counter::WireMaxPayload,
    );
    broken(Packet::Reset(RESET), 2, &[0, 0], Counter::WireResetCode);
    broken(Packet::Reset(RESET), 2, &[0, 7], Counter::WireResetCode);
    broken(
        Packet::Version(VERSION),
        2,
        &[0, 0],
        Counter::WireVersionCount,
    );
    broken(
        Packet::Version(VERSION),
        2,
        &[0, 9],
        Counter::WireVersionCount,
    );
}

#[test]
fn all_reset_codes() {
    for code in 1..=6 {
        let mut wire = emitted(&Packet::Reset(RESET));
        wire[3] = code;
        let (packet, _) = parse(&wire, wire.len()).unwrap();
        assert_eq!(emitted(&packet), wire);
    }
}

#[test]
fn unknown_version_is_answered() {
    let mut init = emitted(&Packet::Init(INIT));
    assert_eq!(VersionHeader::answer(&init, 64), None);
    init[0] = 0x24;
    let answer = VersionHeader::answer(&init, 64).unwrap();
    assert_eq!((answer.dcid, answer.tag), (INIT.scid, INIT.stag));
    let wire = emitted(&Packet::Version(answer));
    assert_eq!(parse(&wire, 32), Ok((Packet::Version(answer), 32)));
    // What a later version adds is not our business, but nothing shorter, of
    // another type or without a sender is answered.
    assert!(VersionHeader::answer(&init, 1000).is_some());
    assert_eq!(VersionHeader::answer(&init, 63), None);
    init[0] = 0x21;
    assert_eq!(VersionHeader::answer(&init, 64), None);
    init[0] = 0x24;
    init[16..20].fill(0);
    assert_eq!(VersionHeader::answer(&init, 64), None);
}

proptest! {
    #[test]
    fn arbitrary_bytes(head in prop::collection::vec(any::<u8>(), 0..=64), extra in 0usize..2000) {
        let total = if head.len() < 64 { head.len() } else { 64 + extra };
        if let Ok((packet, len)) = parse(&head, total) {
            prop_assert_eq!(&emitted(&packet), &head[..len]);
        }
        let _ = VersionHeader::answer(&head, total);
    }

    // As above, but with a good chance to get past the first checks.
    #[test]
    fn damaged_packets(
        index in 0..TABLE.len(),
        damage in prop::collection::vec((0usize..64, any::<u8>()), 0..4),
        total in 0usize..100,
    ) {
        let mut head = [0; 64];
        TABLE[index].0.emit(&mut head);
        for (at, value) in damage {
            head[at] = value;
        }
        let head = &head[..total.min(64)];
        if let Ok((packet, len)) = parse(head, total) {
            prop_assert_eq!(&emitted(&packet), &head[..len]);
            prop_assert_eq!(parse(&emitted(&packet), total), Ok((packet, len)));
        }
    }
}
