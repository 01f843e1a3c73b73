// SPDX-License-Identifier: GPL-2.0

//! From what the protocol wants sent to skbs.
//!
//! Under the connection's lock, each transmission is made into one skb: a header-only packet, a
//! single data packet, or a run of data packets on one path that leaves as one GSO skb, or as some
//! where the packets lie in more pieces than an skb has room for. The skbs are sent when the lock is
//! dropped, by one context at a time ([`Conn::work`]); what does not fit into one batch begins the next.

use crate::{
    carrier::{
        route::Route,
        tx, //
    },
    engine::{
        buffers::{
            TxPacket,
            HEADROOM, //
        },
        conn::{
            Conn,
            Inner, //
        },
    },
    observe::counters::Event,
    proto::{
        connection::{
            Transmit,
            What, //
        },
        psn::Psn,
        wire::{
            DATA_HEADER,
            MIN_MAX_PAYLOAD, //
        },
        Ns, //
    },
    sys::{
        skb::Skb,
        zcopy::{
            Loan,
            Ubuf, //
        },
    },
};
use kernel::prelude::*;

/// Transmissions gathered under one hold of the lock: few, since the last is late by the others.
const BATCH: usize = 4;

/// Skbs that the last transmission of a batch may become beyond the first.
const SPLIT: usize = 2;

/// New packets that leave on one path one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    entropy: u16,
    ect: bool,
    first: Psn,
    left: u16,
}

/// An skb that waits for the lock to be dropped.
struct Ready {
    skb: Skb,
    entropy: u16,
    ect: bool,
    /// The packet is larger than the path takes by now, and IP may cut it up.
    fragment: bool,
}

/// The skbs of one batch.
pub(crate) struct Outbox {
    ready: [Option<Ready>; BATCH + SPLIT],
    len: usize,
}

impl Outbox {
    /// An empty batch.
    pub(crate) fn new() -> Self {
        Outbox {
            ready: [const { None }; BATCH + SPLIT],
            len: 0,
        }
    }

    /// Whether there is something to send.
    pub(crate) fn has_any(&self) -> bool {
        self.len > 0
    }

    fn is_full(&self) -> bool {
        self.len == self.ready.len()
    }

    fn push(&mut self, item: Ready) {
        if let Some(slot) = self.ready.get_mut(self.len) {
            *slot = Some(item);
            self.len += 1;
        }
    }

    /// Sends the batch. No spin lock is held.
    pub(crate) fn send(self, conn: &Conn, route: Option<&Route>) {
        let ns = &*conn.ns;
        for item in self.ready.into_iter().flatten() {
            match route {
                Some(route) => tx::xmit(
                    &ns.carrier,
                    route,
                    item.skb,
                    item.entropy,
                    item.ect,
                    !item.fragment,
                ),
                None => ns.counters.event(Event::TxNoRoute),
            }
        }
    }
}

impl Inner {
    /// Makes skbs of what is due. True when the batch is full and there may be more.
    pub(crate) fn fill(&mut self, conn: &Conn, now: Ns, out: &mut Outbox) -> bool {
        if self.discarded {
            return false;
        }
        self.follow_mtu();
        while out.len < BATCH {
            let built = if let Some(run) = self.rest.take() {
                self.refresh_route(conn);
                self.build_runs(run, out)
            } else {
                let Some(transmit) = self.proto.poll_transmit(now) else {
                    return false;
                };
                self.refresh_route(conn);
                self.build(&transmit, out)
            };
            if built.is_err() {
                // To the protocol these are lost packets like any others.
                conn.ns.counters.event(Event::TxNoMemory);
            }
        }
        true
    }

    /// Looks the route up again when the cached one has gone stale, and follows its MTU.
    fn refresh_route(&mut self, conn: &Conn) {
        if self.route.as_ref().is_some_and(Route::valid) {
            return;
        }
        if let Some(sock) = &self.sock {
            // accept() and fchown() give a socket to another user.
            self.flow.uid = sock.uid();
        }
        self.route = Route::lookup(&conn.ns, &self.flow).ok();
        self.follow_mtu();
    }

    /// Lets packets be as large as the path takes them by now. What an ICMP error has said counts for
    /// some minutes only, and the route does not go stale when that is over.
    fn follow_mtu(&mut self) {
        if let Some(route) = &self.route {
            let len = Inner::usable_payload(route).unwrap_or(MIN_MAX_PAYLOAD);
            self.proto.on_path_mtu(len);
        }
    }

    fn build(&mut self, transmit: &Transmit, out: &mut Outbox) -> Result {
        let &Transmit { entropy, ect, .. } = transmit;
        match &transmit.what {
            What::Control { len, bytes } => {
                let bytes = bytes.get(..usize::from(*len)).ok_or(EINVAL)?;
                let mut skb = Skb::alloc(bytes.len(), GFP_ATOMIC)?;
                skb.push_linear(bytes)?;
                self.ready(entropy, ect, skb, false, out);
            }
            What::Data { first, count, retx } => {
                self.count_path(transmit.entropy, *first, *count);
                if *retx {
                    let skb = self.build_again(*first)?;
                    self.ready(entropy, ect, skb, self.is_too_long(*first), out);
                    return Ok(());
                }
                self.build_runs(
                    Run {
                        entropy,
                        ect,
                        first: *first,
                        left: *count,
                    },
                    out,
                )?;
            }
        }
        Ok(())
    }

    /// The first transmission of packets in a row, as far as the batch has room for them.
    fn build_runs(&mut self, mut run: Run, out: &mut Outbox) -> Result {
        while run.left > 0 {
            if out.is_full() {
                self.rest = Some(run);
                break;
            }
            let (skb, taken) = self.build_run(run.first, run.left)?;
            self.ready(run.entropy, run.ect, skb, self.is_too_long(run.first), out);
            run.first = run.first.add(u32::from(taken));
            run.left = run.left.saturating_sub(taken);
        }
        Ok(())
    }

    /// Charges an skb to the socket and puts it with the others.
    fn ready(&self, entropy: u16, ect: bool, mut skb: Skb, fragment: bool, out: &mut Outbox) {
        if let Some(sock) = &self.sock {
            skb.set_owner_w(sock);
        }
        out.push(Ready {
            skb,
            entropy,
            ect,
            fragment,
        });
    }

    /// The first transmission of `count` packets: their headers are written in front of the payloads,
    /// where nothing else has looked yet. Gives how many fit into one skb: all, unless they lie in many
    /// small pages, or in those of more than one lender.
    fn build_run(&mut self, first: Psn, count: u16) -> Result<(Skb, u16)> {
        let mut skb = Skb::alloc(HEADROOM, GFP_ATOMIC)?;
        let (mut segment, mut taken) = (0, 0);
        let mut lender = None;
        while taken < count {
            let psn = first.add(u32::from(taken));
            let header = self.proto.data_header(psn).ok_or(EINVAL)?;
            let mut bytes = [0; DATA_HEADER];
            header.emit(&mut bytes);
            match self.tx.get(psn) {
                Some(packet) => {
                    packet.page.write(usize::from(packet.start), &bytes)?;
                    let len = HEADROOM + usize::from(packet.len);
                    let added = match &packet.loan {
                        None => skb.add_frag(&packet.page, usize::from(packet.start), len),
                        Some(loan) => add_lent(&mut skb, packet, loan, &mut lender),
                    };
                    match added {
                        Err(error) if error == ENOSPC && taken > 0 => break,
                        result => result?,
                    }
                    segment = segment.max(len);
                }
                // The end of the stream without data has no page, and comes alone.
                None => skb.push_linear(&bytes)?,
            }
            taken += 1;
        }
        if taken > 1 {
            skb.set_gso(u16::try_from(segment)?, taken);
        }
        if let Some(ubuf) = &lender {
            skb.set_ubuf(ubuf);
        }
        Ok((skb, taken))
    }

    /// Whether a packet was made for a path that took more than this one.
    fn is_too_long(&self, psn: Psn) -> bool {
        let limit = self.route.as_ref().map(Route::max_payload);
        match (self.tx.get(psn), limit) {
            (Some(packet), Some(limit)) => packet.len > limit,
            _ => false,
        }
    }

    /// A retransmission: the first copy may still be read by a device, so the header is a new one.
    fn build_again(&mut self, psn: Psn) -> Result<Skb> {
        let header = self.proto.data_header(psn).ok_or(EINVAL)?;
        let mut bytes = [0; DATA_HEADER];
        header.emit(&mut bytes);
        let mut skb = Skb::alloc(bytes.len(), GFP_ATOMIC)?;
        skb.push_linear(&bytes)?;
        let Some(packet) = self.tx.get(psn) else {
            return Ok(skb);
        };
        match &packet.loan {
            None => skb.add_frag(
                &packet.page,
                usize::from(packet.start) + HEADROOM,
                usize::from(packet.len),
            )?,
            Some(loan) => {
                skb.add_pieces(loan, packet.pieces(loan))?;
                if let Some(ubuf) = loan.ubuf() {
                    skb.set_ubuf(ubuf);
                }
            }
        }
        Ok(skb)
    }

    /// Adds to the bytes sent on a path, for `STRACK_PATH_BYTES`.
    fn count_path(&mut self, entropy: u16, first: Psn, count: u16) {
        let mut bytes = 0u64;
        for i in 0..u32::from(count) {
            if let Some(packet) = self.tx.get(first.add(i)) {
                bytes = bytes.saturating_add(u64::from(packet.len));
            }
        }
        let path = entropy.wrapping_sub(self.proto.entropy_base());
        if let Some(sum) = self.path_bytes.get_mut(usize::from(path)) {
            *sum = sum.saturating_add(bytes);
        }
    }
}

/// Appends a packet with a lent payload. `ENOSPC`, and nothing is done, when it does not fit, or its
/// pages are from another lender than those that are there: who is told of an skb is one.
fn add_lent(skb: &mut Skb, packet: &TxPacket, loan: &Loan, lender: &mut Option<Ubuf>) -> Result {
    let pieces = packet.pieces(loan);
    if pieces.len() >= skb.train_frags_left() {
        return Err(ENOSPC);
    }
    if let Some(ubuf) = loan.ubuf() {
        if lender.get_or_insert_with(|| ubuf.clone()) != ubuf {
            return Err(ENOSPC);
        }
    }
    skb.add_frag(&packet.page, usize::from(packet.start), HEADROOM)?;
    skb.add_pieces(loan, pieces)
}
