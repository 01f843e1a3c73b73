// SPDX-License-Identifier: GPL-2.0

//! Peers that lie.

use crate::{
    endpoint::{
        App,
        Piece, //
    },
    link::Link,
    network::{
        Datagram,
        Network,
        Setup,
        CLIENT,
        CLIENT_IDS,
        SERVER,
        SERVER_IDS, //
    },
    rng::Rng,
};
use std::{
    cell::RefCell,
    rc::Rc, //
};
use strack_proto::{
    connection::{
        RxMeta,
        Verdict, //
    },
    counter::Counter,
    psn::Psn,
    wire::{
        flags,
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
    MSEC,
    SEC,
    USEC, //
};

/// A transfer in the middle, and the last ACK the client got.
fn transfer() -> (Network, AckHeader) {
    let path = Link {
        rate: 10_000_000,
        ..Link::new(100 * USEC)
    };
    let mut net = Setup::new(50_000_000).paths(vec![path; 4]).start();
    let last = Rc::new(RefCell::new(Vec::new()));
    let noted = last.clone();
    net.censor = Some(Box::new(move |_, datagram, packet| {
        if let (CLIENT, Packet::Ack(ack)) = (datagram.to, packet) {
            noted.borrow_mut().push(*ack);
        }
        false
    }));
    net.run(20 * MSEC, |_| false);
    // Until an ACK that answers the newest packet and leaves some in flight.
    let found = net.run(SEC, |net| {
        let una = net.client().conn.una();
        let acks = last.borrow();
        let ack = acks.iter().rev().find(|ack| ack.cumulative == una);
        ack.is_some_and(|ack| ack.trigger == una.sub(1) && ack.entropy != 0)
            && net.client().conn.snd_nxt().dist_from(una) > 8
    });
    assert!(found);
    net.censor = None;
    let una = net.client().conn.una();
    let acks = last.borrow();
    let ack = acks.iter().rev().find(|ack| ack.cumulative == una);
    (net, *ack.expect("the ACK"))
}

/// Everything that can be seen of an end.
fn snapshot(net: &mut Network, which: usize) -> String {
    let conn = &net.end(which).conn;
    let psns = [
        conn.una(),
        conn.snd_nxt(),
        conn.next_queue_psn(),
        conn.rcv_nxt(),
    ];
    format!("{:?} {psns:?} {:?}", conn.info(), conn.deadline())
}

/// Hands a packet to an end that is to refuse it for the reason given.
fn refused(net: &mut Network, which: usize, packet: &Packet, payload: u16, why: Counter) {
    let before = snapshot(net, which);
    let now = net.now;
    let meta = RxMeta {
        ce: true,
        entropy: 60_000,
        payload,
    };
    let conn = &mut net.end(which).conn;
    assert_eq!(
        conn.on_packet(now, packet, meta),
        Verdict::Drop(why),
        "{packet:?}"
    );
    let mut counted = Vec::new();
    conn.counts().drain(|counter, n| counted.push((counter, n)));
    assert_eq!(counted, [(why, 1)], "{packet:?}");
    assert!(conn.events().is_empty());
    assert_eq!(snapshot(net, which), before, "{packet:?}");
}

#[test]
fn lying_acks() {
    let (mut net, good) = transfer();
    let una = net.client().conn.una();
    let nxt = net.client().conn.snd_nxt();
    let sack = |base, bits| AckHeader {
        flags: good.flags | flags::ACK_SACK,
        sack_base: base,
        sack: bits,
        ..good
    };
    let echo = |entropy, echo_time| AckHeader {
        entropy,
        echo_time,
        ..good
    };
    let credit = |credit, window| AckHeader {
        credit,
        window,
        ..good
    };
    let lies = [
        // Of what was never sent, or long ago.
        (
            AckHeader {
                cumulative: nxt.next(),
                ..good
            },
            Counter::DropAckUnsent,
        ),
        (
            AckHeader {
                cumulative: una.add(1 << 30),
                ..good
            },
            Counter::DropAckUnsent,
        ),
        (
            AckHeader {
                trigger: nxt,
                ..good
            },
            Counter::DropAckUnsent,
        ),
        (
            AckHeader {
                cumulative: una.sub(1025),
                ..good
            },
            Counter::DropAckOld,
        ),
        (
            AckHeader {
                cumulative: una.sub(1 << 30),
                ..good
            },
            Counter::DropAckOld,
        ),
        // SACKs outside of the window, or against themselves.
        (
            AckHeader {
                ooo_count: u16::MAX,
                ..good
            },
            Counter::DropAckSack,
        ),
        (sack(nxt, 1), Counter::DropAckSack),
        (sack(nxt.sub(1), 2), Counter::DropAckSack),
        (sack(una, 1 << 63), Counter::DropAckSack),
        (sack(una, 1), Counter::DropAckSack),
        (sack(una.sub(65), 1), Counter::DropAckSack),
        (sack(una.add(1 << 31), u64::MAX), Counter::DropAckSack),
        // Bytes that do not exist, or are missing below the cumulative PSN.
        (
            AckHeader {
                received_bytes: u64::MAX,
                ..good
            },
            Counter::DropAckBytes,
        ),
        (
            AckHeader {
                received_bytes: 0,
                ..good
            },
            Counter::DropAckBytes,
        ),
        (
            AckHeader {
                received_bytes: good.received_bytes + 1400 * (u64::from(good.ooo_count) + 1),
                ..good
            },
            Counter::DropAckBytes,
        ),
        // A refusal of no packet.
        (
            AckHeader {
                flags: flags::ACK_NACK,
                entropy: 0,
                penalty: 127,
                ..good
            },
            Counter::DropAckEcho,
        ),
        // Credit before what was acknowledged, or beyond belief.
        (credit(una.sub(1), good.window), Counter::DropAckCredit),
        (credit(una.add(70_000), good.window), Counter::DropAckCredit),
        (credit(good.credit, u32::MAX), Counter::DropAckCredit),
        // Paths and times that were not in the packet.
        (echo(100, good.echo_time), Counter::DropAckEcho),
        (echo(good.entropy ^ 1, good.echo_time), Counter::DropAckEcho),
        (echo(good.entropy, good.echo_time ^ 1), Counter::DropAckEcho),
        (
            AckHeader {
                flags: good.flags | flags::ACK_RETX,
                ..good
            },
            Counter::DropAckEcho,
        ),
        (
            AckHeader {
                service_time: u32::MAX,
                ..good
            },
            Counter::DropAckEcho,
        ),
        // Not for this connection.
        (
            AckHeader {
                tag: good.tag ^ 1,
                ..good
            },
            Counter::DropTag,
        ),
        (
            AckHeader {
                dcid: good.dcid ^ 1,
                ..good
            },
            Counter::DropTag,
        ),
    ];
    for (lie, why) in lies {
        refused(&mut net, CLIENT, &Packet::Ack(lie), 0, why);
    }
    // The newest of all ACKs takes credit back.
    for (credit, window) in [(good.credit.sub(1), good.window), (good.credit, 5)] {
        let lie = AckHeader {
            cumulative: una.next(),
            received_bytes: good.received_bytes + 1400,
            credit,
            window,
            entropy: 0,
            flags: 0,
            sack: 0,
            ..good
        };
        refused(
            &mut net,
            CLIENT,
            &Packet::Ack(lie),
            0,
            Counter::DropAckCredit,
        );
    }
    net.finish(20 * SEC);
}

#[test]
fn lying_data() {
    let mut setup = Setup::new(14_000);
    setup.apps[CLIENT].finish = false;
    setup.server.rcv_window = 50_000;
    let mut net = setup.start();
    net.run_for(20 * MSEC);
    let nxt = net.server().conn.rcv_nxt();
    let good = DataHeader {
        flags: 0,
        entropy: 50_000,
        dcid: SERVER_IDS.cid,
        tag: SERVER_IDS.tag,
        psn: nxt,
        offset: 14_000,
        tx_time: 0,
        scid: CLIENT_IDS.cid,
    };
    let at = |ahead, offset| DataHeader {
        psn: nxt.add(ahead),
        offset,
        ..good
    };
    let lies = [
        (DataHeader { tag: 0, ..good }, 1000, Counter::DropTag),
        (DataHeader { scid: 7, ..good }, 1000, Counter::DropTag),
        (at(1024, 100_000), 1000, Counter::DropCredit),
        (at(1 << 31, 100_000), 1000, Counter::DropCredit),
        (at(0u32.wrapping_sub(5000), 0), 1000, Counter::DropCredit),
        (at(0, 14_000), 1401, Counter::DropOversize),
        (at(0, 14_000), u16::MAX, Counter::DropOversize),
        (at(0, 14_000), 0, Counter::DropOffset),
        (at(0, 13_999), 1000, Counter::DropOffset),
        (at(0, 14_001), 1000, Counter::DropOffset),
        (at(3, 14_002), 1000, Counter::DropOffset),
        (at(3, u64::MAX), 1000, Counter::DropOffset),
        (at(3, 63_500), 1000, Counter::DropWindow),
        (at(3, u64::MAX - 1000), 1000, Counter::DropWindow),
    ];
    for (lie, len, why) in lies {
        refused(&mut net, SERVER, &Packet::Data(lie), len, why);
    }

    // One that is taken, and others that contradict it.
    let mut take = |header: DataHeader, payload| {
        let meta = RxMeta {
            ce: false,
            entropy: 50_000,
            payload,
        };
        let verdict = net
            .end(SERVER)
            .conn
            .on_packet(0, &Packet::Data(header), meta);
        let (psn, len) = (header.psn, payload);
        assert_eq!(verdict, Verdict::Deliver { psn, len });
    };
    take(at(5, 20_000), 1000);
    let fin = DataHeader {
        flags: flags::DATA_FIN,
        ..at(8, 24_000)
    };
    take(fin, 0);
    net.end(SERVER).conn.counts().drain(|_, _| {});
    net.end(SERVER).conn.events();
    let early_fin = DataHeader {
        flags: flags::DATA_FIN,
        ..at(4, 19_000)
    };
    let lies = [
        (at(4, 18_999), Counter::DropOffset),
        (at(6, 21_001), Counter::DropOffset),
        (at(7, 23_001), Counter::DropOffset),
        (at(9, 24_000), Counter::DropAfterFin),
        (early_fin, Counter::DropAfterFin),
    ];
    for (lie, why) in lies {
        refused(&mut net, SERVER, &Packet::Data(lie), 1000, why);
    }
}

/// Packets that make no sense once a connection is there.
#[test]
fn out_of_place() {
    let (mut net, _) = transfer();
    let (dcid, tag) = (CLIENT_IDS.cid, CLIENT_IDS.tag);
    let challenge = ChallengeHeader {
        dcid,
        tag,
        cookie_time: 99,
        cookie_mac: 99,
    };
    let accept = AcceptHeader {
        dcid,
        tag,
        sock_type: 1,
        scid: 99,
        ..AcceptHeader::default()
    };
    let version = VersionHeader {
        dcid,
        tag,
        count: 1,
        versions: [2, 0, 0, 0, 0, 0, 0, 0],
    };
    for packet in [
        Packet::Challenge(challenge),
        Packet::Accept(accept),
        Packet::Version(version),
        Packet::Init(InitHeader::default()),
    ] {
        refused(&mut net, CLIENT, &packet, 0, Counter::DropState);
    }
    net.finish(20 * SEC);
}

/// A number that is likely to hurt.
fn nasty(rng: &mut Rng, near: u64) -> u64 {
    match rng.below(6) {
        0 => near,
        1 => near.wrapping_add(rng.below(80)),
        2 => near.wrapping_sub(rng.below(80)),
        3 => near.wrapping_add(rng.below(3000)),
        4 => u64::MAX - rng.below(3),
        _ => rng.next(),
    }
}

/// A packet that passes for one of the peer's, with any content.
fn made_up(net: &mut Network, to: usize, rng: &mut Rng) -> Packet {
    let conn = &net.end(to).conn;
    let (ids, peer) = (conn.local_ids(), conn.remote_ids());
    let info = conn.info();
    let (una, nxt, rcv_nxt) = (conn.una(), conn.snd_nxt(), conn.rcv_nxt());
    let mut near = |psn: Psn| Psn::new(nasty(rng, u64::from(psn.raw())) as u32);
    let psns = [near(una), near(una), near(nxt), near(rcv_nxt), near(una)];
    let (dcid, tag) = (ids.cid, ids.tag);
    let data = DataHeader {
        // No FIN: the test's stream would really end there.
        flags: rng.below(16) as u8 & !flags::DATA_FIN,
        entropy: nasty(rng, 50_000) as u16,
        dcid,
        tag,
        psn: psns[3],
        offset: nasty(rng, info.bytes_received),
        tx_time: rng.next() as u32,
        scid: peer.cid,
    };
    match rng.below(10) {
        0..=2 => Packet::Data(data),
        3 => Packet::Probe(data),
        4..=8 => Packet::Ack(AckHeader {
            flags: rng.below(32) as u8,
            entropy: nasty(rng, 49_200) as u16,
            dcid,
            tag,
            cumulative: psns[0],
            trigger: psns[1],
            echo_time: nasty(rng, net.now) as u32,
            credit: psns[2].add(rng.below(2000) as u32),
            sack_base: psns[4],
            sack: rng.next() & rng.next(),
            received_bytes: nasty(rng, info.bytes_sent),
            ooo_count: nasty(rng, 3) as u16,
            dup_count: rng.next() as u16,
            service_time: rng.below(300_000) as u32,
            window: nasty(rng, 100_000) as u32,
            penalty: rng.below(128) as u16,
        }),
        _ => match rng.below(4) {
            0 => Packet::Challenge(ChallengeHeader {
                dcid,
                tag,
                cookie_time: rng.next(),
                cookie_mac: rng.next(),
            }),
            1 => Packet::Accept(AcceptHeader {
                dcid,
                tag,
                sock_type: 1,
                psn: psns[0],
                scid: peer.cid,
                stag: peer.tag,
                max_payload: 1400,
                credit: rng.next() as u32,
                window: rng.next() as u32,
            }),
            2 => Packet::Version(VersionHeader {
                dcid,
                tag,
                count: 1,
                versions: [2, 0, 0, 0, 0, 0, 0, 0],
            }),
            // Nearly a RESET.
            _ => Packet::Reset(ResetHeader {
                flags: rng.below(2) as u8,
                dcid,
                tag: rng.next() as u32,
                code: ResetCode::Aborted,
                psn: psns[0],
            }),
        },
    }
}

/// Nothing that a peer can send makes an end panic, or makes its application read
/// anything else than the stream. It may well bring the connection to a halt.
#[test]
fn nonsense() {
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let path = Link {
            rate: 5_000_000,
            jitter: rng.below(200) * USEC,
            loss_ppm: 20_000,
            ..Link::new(100 * USEC)
        };
        let mut setup = Setup::new(3_000_000).paths(vec![path; 8]);
        setup.apps[SERVER] = App::writer(1_000_000);
        setup.seed = seed;
        setup.isns = [rng.next() as u32, u32::MAX - 50];
        setup.client.retries = 4;
        setup.server.retries = 4;
        setup.server.window_packets = 64;
        let mut net = setup.start();
        // Later packets find a connection in whatever state the first have left it.
        let first = 3 * MSEC + rng.below(20) * MSEC;
        net.run(first, |_| false);
        for _ in 0..400 {
            let to = rng.below(2) as usize;
            let packet = made_up(&mut net, to, &mut rng);
            inject(&mut net, to, &packet, &mut rng);
            net.run_for(rng.below(100) * USEC);
        }
        net.run(60 * SEC, |net| {
            net.client().closed() && net.server().closed()
        });
        for which in [CLIENT, SERVER] {
            assert!(net.end(1 - which).read <= net.end(which).app.write);
        }
    }
}

fn inject(net: &mut Network, to: usize, packet: &Packet, rng: &mut Rng) {
    let mut bytes = [0; 64];
    let len = packet.emit(&mut bytes);
    let mut payload = Piece { start: 0, len: 0 };
    if let Packet::Data(header) = packet {
        // What the stream has there, or it would be no wonder.
        payload.start = header.offset;
        payload.len = [1, 700, 1400][rng.below(3) as usize];
        let end = header.offset.checked_add(u64::from(payload.len));
        if end.is_none_or(|end| end > net.end(1 - to).app.write) {
            return;
        }
    }
    net.arrives(&Datagram {
        to,
        entropy: 60_000,
        ce: rng.chance(100_000),
        ect: true,
        header: bytes[..len].to_vec(),
        payload,
    });
}

/// Bits of real packets flip, and the checksum does not notice.
#[test]
fn flipped_bits() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed);
        let mut setup = Setup::new(500_000);
        setup.apps[SERVER] = App::writer(300_000);
        setup.seed = seed;
        setup.client.retries = 4;
        setup.server.retries = 4;
        let mut net = setup.start();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let noted = seen.clone();
        net.censor = Some(Box::new(move |_, datagram, packet| {
            // Flipped bits in these can end or redirect a stream for good.
            if !matches!(packet, Packet::Reset(_) | Packet::Init(_)) {
                noted.borrow_mut().push(datagram.clone());
            }
            false
        }));
        net.run(MSEC, |net| net.ends[SERVER].is_some());
        for _ in 0..200 {
            net.run_for(rng.below(60) * USEC);
            let real = seen.borrow().last().cloned();
            let Some(mut datagram) = real else { continue };
            for _ in 0..=rng.below(3) {
                let bit = rng.below(8 * datagram.header.len() as u64);
                datagram.header[bit as usize / 8] ^= 1 << (bit % 8);
            }
            match datagram.parse() {
                Some(Packet::Data(header)) if header.flags & flags::DATA_FIN != 0 => {}
                Some(Packet::Data(header)) => {
                    // The bytes are those of the stream at the offset that it claims.
                    datagram.payload.start = header.offset;
                    net.arrives(&datagram);
                }
                Some(Packet::Init(_) | Packet::Reset(_)) | None => {}
                Some(_) => net.arrives(&datagram),
            }
        }
        net.run(60 * SEC, |net| {
            net.client().closed() && net.server().closed()
        });
        for which in [CLIENT, SERVER] {
            assert!(net.end(1 - which).read <= net.end(which).app.write);
        }
    }
}
