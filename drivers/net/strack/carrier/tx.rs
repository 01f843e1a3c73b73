// SPDX-License-Identifier: GPL-2.0

//! The way out: from the engine's skbs to the network.
//!
//! UDP and IP headers are put in front of what the engine has built, as tunnels do it. A train that
//! the device cannot take apart itself is taken apart by the network stack just before.

use crate::{
    carrier::{
        route::Route,
        Carrier, //
    },
    observe::counters::Event,
    sys::{
        dst::TxHeaders,
        skb::Skb,
        udp, //
    },
};
use kernel::prelude::*;

/// ECN codepoint of a transport that understands marks.
const ECT_0: u8 = 2;

/// Sends `skb`, which is a STrack packet or a train of them ([`Skb::set_gso`]), on `route` with the
/// UDP source port `entropy`.
///
/// `ect` allows switches to mark it. With `df` routers drop what does not fit; without, it is cut into
/// fragments, here already if need be. Any context but hard interrupts, with no lock held that the
/// receive side of this module takes.
///
/// A packet that cannot be sent is dropped and counted. To the protocol it is one lost on the way.
pub(crate) fn xmit(carrier: &Carrier, route: &Route, skb: Skb, entropy: u16, ect: bool, df: bool) {
    let headers = TxHeaders {
        saddr: route.saddr().octets(),
        daddr: route.daddr().octets(),
        label: flow_label(entropy),
        mark: route.mark(),
        tos: if ect { ECT_0 } else { 0 },
        ttl: 0,
        df,
        sport: entropy,
        dport: udp::port(),
    };
    // Nobody counts for a carrier that is closed, and what its connections still say is lost with it.
    carrier.with(|sockets| {
        let counters = &sockets.owner().counters;
        let (bytes, packets) = (skb.len() as u64, skb.packets());
        let sent = match sockets.get(route.daddr().is_v4()) {
            Some(socket) => route.dst().xmit(socket, skb, &headers),
            None => Err(EAFNOSUPPORT),
        };
        match sent {
            Ok(()) => {
                counters.event(Event::TxSkbs);
                counters.event_n(Event::TxPackets, packets);
                counters.event_n(Event::TxBytes, bytes);
            }
            Err(error) if error == ENOMEM => counters.event(Event::TxNoMemory),
            Err(error) if error == EMSGSIZE => counters.event(Event::TxTooLong),
            Err(_) => counters.event(Event::TxNoRoute),
        }
    });
}

/// Sends a packet that is nothing but a header, and belongs to no socket.
pub(crate) fn control(carrier: &Carrier, route: &Route, bytes: &[u8], entropy: u16) -> Result {
    let mut skb = Skb::alloc(bytes.len(), GFP_ATOMIC)?;
    skb.push_linear(bytes)?;
    xmit(carrier, route, skb, entropy, false, true);
    Ok(())
}

/// An IPv6 flow label that says the same as the source port, for routers that hash the one and not
/// the other. Twenty bits, and not zero.
fn flow_label(entropy: u16) -> u32 {
    (u32::from(entropy).wrapping_mul(0x9e37_79b1) >> 12) | 1
}
