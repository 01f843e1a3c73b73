// SPDX-License-Identifier: GPL-2.0

//! How packets travel: UDP, and nothing in a network has to know more.
//!
//! Every packet goes to one well-known UDP port; which way it takes through the fabric is chosen with
//! the UDP source port, the *entropy*, to which no socket is bound. So there is one socket per IP
//! version and network namespace to receive with ([`socket`]), and none to send with.
//!
//! Both directions deal in trains: datagrams of equal length from one source port that pass the
//! network stack as a single skb (GSO, GRO). [`rx`] hands them to the engine unbroken, [`tx`] sends
//! what the engine has put together. [`route`] caches where packets leave, and [`icmp`] tells the
//! engine what routers had to say.

pub(crate) mod addr;
pub(crate) mod icmp;
pub(crate) mod route;
pub(crate) mod rx;
pub(crate) mod socket;
pub(crate) mod tx;

pub(crate) use addr::Addr;
pub(crate) use icmp::{
    IcmpKind,
    IcmpMeta, //
};
pub(crate) use rx::RxMeta;
pub(crate) use socket::Carrier;
