// SPDX-License-Identifier: GPL-2.0

//! What ICMP says about packets that we have sent.
//!
//! No socket is bound to the source ports that packets are sent from, so the network stack finds ours
//! by the destination port, as it does for tunnels. Anybody may send such an error: it quotes the
//! packet it is about, and the engine believes it only if the quotation shows what a stranger cannot
//! know.
//!
//! By then, however, the stack has told the routing table of a new path MTU, and asked nobody. Packets
//! follow the table, as TCP's do, so a stranger can make them small, until the table forgets
//! (`net.ipv4.route.mtu_expires`).

use crate::{
    engine::{
        self,
        NetNs, //
    },
    observe::counters::Event,
    sys::udp::IcmpHeaders, //
};
use kernel::sync::Arc;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IcmpKind {
    /// A packet did not fit. Looking the route up again shows the new MTU.
    FragNeeded {
        /// What would have fitted, bytes of IP packet, as the router says; zero if it does not.
        mtu: u32,
    },
    /// The peer, or its port, cannot be reached.
    Unreachable {
        /// As a positive errno.
        errno: i32,
        /// Waiting will not help.
        hard: bool,
    },
}

/// An ICMP error.
#[derive(Clone, Copy)]
pub(crate) struct IcmpMeta {
    /// What is wrong.
    pub(crate) kind: IcmpKind,
    /// First bytes of our packet's STrack header, zero-padded.
    pub(crate) header: [u8; 32],
}

/// An ICMP error has come in for a packet to our port. Receive softirq.
pub(crate) fn report(ns: &Arc<NetNs>, icmp: &IcmpHeaders) {
    let kind = if icmp.too_big {
        ns.counters.event(Event::IcmpFragNeeded);
        IcmpKind::FragNeeded { mtu: icmp.mtu }
    } else {
        ns.counters.event(Event::IcmpUnreachable);
        IcmpKind::Unreachable {
            errno: icmp.err,
            hard: icmp.hard,
        }
    };
    let meta = IcmpMeta {
        kind,
        header: icmp.header,
    };
    engine::input::icmp(ns, &meta);
}
