// SPDX-License-Identifier: GPL-2.0

//! The way in: from a UDP socket's queue to the engine.
//!
//! The network stack queues a datagram, or a train that it has not taken apart, and calls
//! us ([`drain`]) in the receive softirq. There the queue is emptied, so nobody sleeps on it and nothing
//! is copied. Several CPUs may do so at once.

use crate::{
    carrier::Addr,
    engine::{
        self,
        NetNs, //
    },
    observe::counters::Event,
    sys::{
        skb::Skb,
        udp, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Packets taken in one call. There is a call for each packet queued, so whatever one call leaves
/// behind is taken by a later one.
const BUDGET: usize = 64;

/// Where a packet came from and how its skb is laid out.
#[derive(Clone, Copy)]
pub(crate) struct RxMeta {
    /// Sender.
    pub(crate) src: Addr,
    /// The address of ours it was sent to.
    pub(crate) dst: Addr,
    /// UDP source port: the entropy it travelled with.
    pub(crate) src_port: u16,
    /// The network marked it "congestion experienced".
    pub(crate) ce: bool,
    /// Index of the interface it came in by.
    pub(crate) ifindex: u32,
    /// Offset of the first STrack header in the skb, bytes.
    pub(crate) first: u32,
    /// From one header to the next, bytes; not zero. As large as `total` if there is only one.
    pub(crate) seg_len: u32,
    /// All bytes from the first header on. The last packet of a train may be shorter than the others.
    pub(crate) total: u32,
}

impl RxMeta {
    /// Number of packets in the skb.
    pub(crate) fn packets(&self) -> u32 {
        self.total.div_ceil(self.seg_len.max(1))
    }

    /// The interface that belongs to one of its addresses, zero if that means the same everywhere.
    pub(crate) fn scope(&self, of: &Addr) -> u32 {
        if of.is_link_local() {
            self.ifindex
        } else {
            0
        }
    }
}

/// Takes what `next` has, the packets that wait for a namespace; none when its sockets are being
/// closed. In an RCU read-side section, bottom halves off.
pub(crate) fn drain(ns: Option<&Arc<NetNs>>, mut next: impl FnMut() -> Option<Skb>) {
    for _ in 0..BUDGET {
        let Some(skb) = next() else { return };
        match ns {
            Some(ns) => deliver(ns, skb),
            None => drop(skb),
        }
    }
}

fn deliver(ns: &Arc<NetNs>, mut skb: Skb) {
    let headers = match udp::describe(&mut skb) {
        Ok(headers) => headers,
        Err(error) => {
            ns.counters.event(if error == EBADMSG {
                Event::RxChecksum
            } else if error == ENOMSG {
                Event::RxNoChecksum
            } else if error == EADDRNOTAVAIL {
                Event::RxNotHost
            } else {
                Event::RxShort
            });
            return;
        }
    };
    let meta = RxMeta {
        src: Addr::new(headers.src),
        dst: Addr::new(headers.dst),
        src_port: headers.src_port,
        ce: headers.ce,
        ifindex: headers.ifindex,
        first: 0,
        seg_len: headers.seg_len,
        total: headers.total,
    };
    ns.counters.event(Event::RxSkbs);
    ns.counters.event_n(Event::RxPackets, meta.packets().into());
    ns.counters.event_n(Event::RxBytes, meta.total.into());
    engine::input::receive(ns, skb, &meta);
}
