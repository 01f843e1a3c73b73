// SPDX-License-Identifier: GPL-2.0

//! From the carrier's skbs to connections. Receive softirq.
//!
//! An skb holds one packet or, when the device or GRO has put them together, a run of packets from
//! one path, each with its own header at a fixed distance. A run belongs to one connection nearly
//! always, so the connection is looked up and locked once for all packets in a row that carry its id,
//! and answers once at the end.

use crate::{
    carrier::{
        IcmpKind,
        IcmpMeta,
        RxMeta, //
    },
    engine::{
        accept,
        buffers::{
            Charge,
            RxPacket, //
        },
        conn::{
            Conn,
            Inner, //
        },
        net::NetNs,
        receiving::{
            Keeping,
            Lack, //
        },
    },
    observe::counters::Event,
    proto::{
        connection::{
            Refusal,
            RxMeta as PacketMeta,
            Verdict, //
        },
        counter::Counter,
        wire::{
            self,
            Packet,
            VersionHeader,
            MAX_HEADER, //
        },
        Ns, //
    },
    sys::skb::Skb,
};
use kernel::sync::Arc;

/// One packet of an skb.
pub(super) struct Segment {
    pub(super) packet: Packet,
    /// Where the payload is in the skb.
    pub(super) payload: u32,
    /// Payload bytes.
    pub(super) len: u16,
}

/// Takes an skb with one or more packets.
///
/// Whoever watches the host for packets that are lost on it sees the skb if none of them was of use.
pub(crate) fn receive(ns: &Arc<NetNs>, skb: Skb, meta: &RxMeta) {
    let mut walk = Walk::new(ns, &skb, meta);
    while let Some(segment) = walk.take() {
        let cid = match destination(&segment.packet) {
            Some(cid) => cid,
            None => {
                if let Packet::Init(init) = &segment.packet {
                    walk.used |= accept::on_init(ns, init, meta);
                }
                continue;
            }
        };
        let stray = match ns.conns.find(cid) {
            // Addresses do not change: whoever is elsewhere is not the peer.
            Some(conn) if conn.peer.addr == meta.src => deliver(&conn, &mut walk, segment, cid),
            _ => {
                ns.count(Counter::DropNoConnection);
                Some(segment)
            }
        };
        if let Some(segment) = stray {
            on_stray(ns, &segment.packet, meta);
        }
    }
    if let Some(answer) = walk.version {
        accept::answer(ns, meta, &Packet::Version(answer));
    }
    if walk.used {
        skb.consume();
    }
}

/// Hands `first` and all packets that follow it with the same id to their connection, up to one that
/// turns out to be a stray. That is handed back: it is answered when the lock has been dropped.
fn deliver(conn: &Arc<Conn>, walk: &mut Walk<'_>, first: Segment, cid: u32) -> Option<Segment> {
    conn.work(|inner, now| {
        let mut keeping = Keeping::new(walk.skb);
        let mut segment = first;
        let stray = loop {
            match one(inner, now, walk, &segment, &mut keeping) {
                Fate::Used => walk.used = true,
                Fate::Dropped => (),
                Fate::Stray => break Some(segment),
            }
            segment = match walk.take() {
                Some(next) if destination(&next.packet) == Some(cid) => next,
                other => {
                    walk.ahead = other;
                    break None;
                }
            };
        };
        inner.end_keeping(&keeping);
        stray
    })
}

/// What becomes of a packet.
#[derive(Clone, Copy)]
enum Fate {
    /// The connection has taken it.
    Used,
    /// It has not, and has counted why.
    Dropped,
    /// It is not for this connection. Counted, too.
    Stray,
}

impl From<Verdict> for Fate {
    fn from(verdict: Verdict) -> Fate {
        match verdict {
            Verdict::Drop(Counter::DropTag) => Fate::Stray,
            Verdict::Drop(_) => Fate::Dropped,
            Verdict::Handled | Verdict::Deliver { .. } => Fate::Used,
        }
    }
}

/// Hands a packet to a connection that has its id.
fn one(
    inner: &mut Inner,
    now: Ns,
    walk: &Walk<'_>,
    segment: &Segment,
    keeping: &mut Keeping,
) -> Fate {
    let meta = PacketMeta {
        ce: walk.meta.ce,
        entropy: walk.meta.src_port,
        payload: segment.len,
    };
    if let Packet::Data(header) = &segment.packet {
        if let Err(reason) = inner.admit(keeping, header.psn, segment.len) {
            let verdict = inner.proto.refuse(now, header, meta, Refusal::NoRoom);
            if let Fate::Stray = verdict.into() {
                return Fate::Stray;
            }
            inner.rx_refused = true;
            walk.ns.event(match reason {
                Lack::Buffer => Event::RxNoRoom,
                Lack::Memory => Event::RxNoMemory,
            });
            return Fate::Dropped;
        }
    }
    let verdict = inner.proto.on_packet(now, &segment.packet, meta);
    if let Verdict::Deliver { psn, len } = verdict {
        if len == 0 {
            // The end of the stream, with nothing to keep.
            return Fate::Used;
        }
        if inner.orphaned.is_some() {
            // Nobody will read it: the peer must not believe otherwise.
            walk.ns.count(Counter::DropAfterClose);
            inner.proto.abort(now, wire::ResetCode::Closed);
            return Fate::Dropped;
        }
        inner.keep(
            psn,
            RxPacket {
                skb: walk.skb.hold(),
                start: segment.payload,
                len,
                charge: Charge::Nothing,
            },
        );
        keeping.kept(psn);
    }
    verdict.into()
}

/// The connection id that a packet is for; INIT has none.
fn destination(packet: &Packet) -> Option<u32> {
    Some(match packet {
        Packet::Data(header) | Packet::Probe(header) => header.dcid,
        Packet::Ack(header) => header.dcid,
        Packet::Challenge(header) => header.dcid,
        Packet::Accept(header) => header.dcid,
        Packet::Reset(header) => header.dcid,
        Packet::Version(header) => header.dcid,
        Packet::Init(_) => return None,
    })
}

/// A packet is for nobody, and counted. RESET is never answered, nor is ACK: two ends that both know
/// nothing of a connection would talk about it for ever.
fn on_stray(ns: &Arc<NetNs>, packet: &Packet, meta: &RxMeta) {
    match packet {
        Packet::Data(header) | Packet::Probe(header) => accept::on_stray(ns, header, meta),
        // A client that is gone: its server need not go on trying.
        Packet::Accept(header) => accept::on_stray_accept(ns, header, meta),
        _ => (),
    }
}

/// The packets of an skb, one after the other.
pub(super) struct Walk<'a> {
    ns: &'a Arc<NetNs>,
    skb: &'a Skb,
    meta: &'a RxMeta,
    /// Where the next one starts, counted from the first.
    next: u32,
    /// One that was looked at and not taken.
    ahead: Option<Segment>,
    /// The answer to an INIT of a version that is not spoken here.
    version: Option<VersionHeader>,
    /// One of them was of use.
    used: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(ns: &'a Arc<NetNs>, skb: &'a Skb, meta: &'a RxMeta) -> Self {
        Walk {
            ns,
            skb,
            meta,
            next: 0,
            ahead: None,
            version: None,
            used: false,
        }
    }

    /// The next packet that is one. What is none is counted and passed over.
    pub(super) fn take(&mut self) -> Option<Segment> {
        if let Some(segment) = self.ahead.take() {
            return Some(segment);
        }
        while self.next < self.meta.total {
            let start = self.next;
            let len = self.meta.seg_len.min(self.meta.total - start);
            self.next = start.checked_add(len.max(1))?;
            if let Some(segment) = self.parse(self.meta.first.checked_add(start)?, len) {
                return Some(segment);
            }
        }
        None
    }

    fn parse(&mut self, at: u32, len: u32) -> Option<Segment> {
        let total = usize::try_from(len).ok()?;
        let mut bytes = [0; MAX_HEADER];
        let head = bytes.get_mut(..total.min(MAX_HEADER))?;
        if self.skb.copy_bits(at, head).is_err() {
            self.ns.event(Event::RxShort);
            return None;
        }
        match wire::parse(head, total) {
            Ok((packet, header)) => Some(Segment {
                packet,
                payload: at.checked_add(u32::try_from(header).ok()?)?,
                len: u16::try_from(total.checked_sub(header)?).ok()?,
            }),
            Err(reason) => {
                self.ns.count(reason);
                // Sent later: a connection's lock may be held now.
                self.version = self.version.or(VersionHeader::answer(head, total));
                None
            }
        }
    }
}

/// An ICMP error about a packet of ours. Receive softirq.
pub(crate) fn icmp(ns: &Arc<NetNs>, meta: &IcmpMeta) {
    // The packet quoted was sent by us, so it names our connection and carries the peer's tag;
    // knowing that tag tells an error of a router from one that somebody made up.
    let Some(quoted) = wire::quoted(&meta.header) else {
        ns.event(Event::IcmpIgnored);
        return;
    };
    let Some(conn) = ns.conns.find(quoted.scid) else {
        ns.event(Event::IcmpIgnored);
        return;
    };
    conn.work(|inner, now| {
        if !inner.proto.has_sent(&quoted) {
            ns.event(Event::IcmpIgnored);
            return;
        }
        match meta.kind {
            // The route has learned the new MTU by now; look it up again.
            IcmpKind::FragNeeded { .. } => inner.forget_route(),
            IcmpKind::Unreachable { errno, .. } => inner.on_unreachable(now, errno),
        }
    });
}
