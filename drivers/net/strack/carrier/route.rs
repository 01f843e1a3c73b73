// SPDX-License-Identifier: GPL-2.0

//! Where packets to a peer leave.
//!
//! A route is looked up once and kept as long as [`Route::valid`] says: the kernel invalidates it when
//! addresses, routes or the path MTU change.

use crate::{
    carrier::Addr,
    engine::NetNs,
    proto::wire::DATA_HEADER,
    sys::{
        dst::{
            Dst,
            Flow, //
        },
        udp, //
    },
};
use kernel::prelude::*;

/// Bytes of a UDP header.
pub(crate) const UDP_HEADER: u32 = 8;
/// Bytes of an IPv4 header without options.
pub(crate) const IPV4_HEADER: u32 = 20;
/// Bytes of an IPv6 header without extensions.
pub(crate) const IPV6_HEADER: u32 = 40;

/// What decides where a packet goes.
#[derive(Clone, Copy)]
pub(crate) struct FlowKey {
    /// Our address, or "any" to have one chosen.
    pub(crate) saddr: Addr,
    /// The peer's.
    pub(crate) daddr: Addr,
    /// Index of the interface to leave by, or zero.
    pub(crate) oif: i32,
    /// Firewall mark.
    pub(crate) mark: u32,
    /// The user who sends, for rules about users.
    pub(crate) uid: u32,
}

/// A route.
#[derive(Clone)]
pub(crate) struct Route {
    dst: Dst,
    saddr: Addr,
    daddr: Addr,
    mark: u32,
}

impl Route {
    /// Looks a route up. Any context but hard interrupts.
    ///
    /// The route must not outlive its namespace.
    pub(crate) fn lookup(ns: &NetNs, key: &FlowKey) -> Result<Route> {
        let mut flow = Flow {
            saddr: key.saddr.octets(),
            daddr: key.daddr.octets(),
            oif: key.oif,
            mark: key.mark,
            uid: key.uid,
            tos: 0,
            sport: 0,
            dport: udp::port(),
        };
        if key.daddr.is_any() || key.daddr.is_multicast() {
            return Err(ENETUNREACH);
        }
        let dst = Dst::lookup(&ns.net, &mut flow)?;
        Ok(Route {
            dst,
            saddr: Addr::new(flow.saddr),
            daddr: key.daddr,
            mark: key.mark,
        })
    }

    /// Whether it is still the one to take; if not, look it up again.
    pub(crate) fn valid(&self) -> bool {
        self.dst.valid()
    }

    /// Our address on it.
    pub(crate) fn saddr(&self) -> Addr {
        self.saddr
    }

    /// The peer's address.
    pub(crate) fn daddr(&self) -> Addr {
        self.daddr
    }

    /// The firewall mark it was looked up for, which its packets carry.
    pub(crate) fn mark(&self) -> u32 {
        self.mark
    }

    /// Largest IP packet that the path takes, as far as is known, bytes.
    pub(crate) fn mtu(&self) -> u32 {
        self.dst.mtu()
    }

    /// Largest payload of a data packet that the path takes, bytes.
    pub(crate) fn max_payload(&self) -> u16 {
        let headers = self.ip_header() + UDP_HEADER + DATA_HEADER as u32;
        u16::try_from(self.mtu().saturating_sub(headers)).unwrap_or(u16::MAX)
    }

    /// Bytes of the IP header.
    fn ip_header(&self) -> u32 {
        if self.daddr.is_v4() {
            IPV4_HEADER
        } else {
            IPV6_HEADER
        }
    }

    /// For [`super::tx`].
    pub(super) fn dst(&self) -> &Dst {
        &self.dst
    }
}
