// SPDX-License-Identifier: GPL-2.0

//! Routes, and the way of a packet out.

use super::{
    bindings,
    netns::NetHandle,
    skb::Skb,
    udp::UdpSocket, //
};
use core::ptr::NonNull;
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*, //
};

/// What a route is looked up for. See `struct strack_udp_flow`.
pub(crate) use bindings::strack_udp_flow as Flow;

/// How a datagram leaves. See `struct strack_udp_tx`.
pub(crate) use bindings::strack_udp_tx as TxHeaders;

/// A cached route: `struct dst_entry`, owned.
///
/// # Invariants
///
/// The pointer is to a valid entry of which this object owns one reference. The entry's namespace is
/// alive: all routes are let go of before it ends, see [`NetHandle`].
pub(crate) struct Dst {
    dst: NonNull<bindings::dst_entry>,
    /// State of the IPv6 routing table at the time.
    cookie: u32,
}

// SAFETY: A route belongs to no thread, and its reference count is atomic.
unsafe impl Send for Dst {}
// SAFETY: The methods below may be called from anywhere at the same time.
unsafe impl Sync for Dst {}

impl Dst {
    /// Looks a route up and fills in the source address. Any context but hard interrupts.
    pub(crate) fn lookup(net: &NetHandle, flow: &mut Flow) -> Result<Dst> {
        let mut cookie = 0;
        // SAFETY: The namespace is alive, by the invariant of `NetHandle`.
        let dst = unsafe { bindings::strack_c_route(net.as_net(), flow, &mut cookie) };
        // INVARIANT: The function returns a reference. Connections, whose routes are the only ones
        // kept, are ended with the namespace's state.
        NonNull::new(from_err_ptr(dst)?)
            .map(|dst| Dst { dst, cookie })
            .ok_or(ENETUNREACH)
    }

    /// Whether the route is still the one to take.
    pub(crate) fn valid(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_route_valid(self.dst.as_ptr(), self.cookie) }
    }

    /// Largest IP packet that the path takes, as far as is known, bytes.
    pub(crate) fn mtu(&self) -> u32 {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_route_mtu(self.dst.as_ptr()) }
    }

    /// Sends `skb` this way.
    ///
    /// `via` is the UDP socket in whose name; any context but hard interrupts.
    pub(crate) fn xmit(&self, via: &UdpSocket, skb: Skb, headers: &TxHeaders) -> Result {
        // SAFETY: By the type invariants; the packet is given away.
        to_result(unsafe {
            bindings::strack_c_udp_xmit(self.dst.as_ptr(), via.as_sock(), skb.into_raw(), headers)
        })
    }
}

impl Clone for Dst {
    fn clone(&self) -> Self {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_route_hold(self.dst.as_ptr()) };
        // INVARIANT: The new handle has the reference just taken.
        Dst {
            dst: self.dst,
            cookie: self.cookie,
        }
    }
}

impl Drop for Dst {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; the reference is given away.
        unsafe { bindings::dst_release(self.dst.as_ptr()) }
    }
}
