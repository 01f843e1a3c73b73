// SPDX-License-Identifier: GPL-2.0

//! Kernel UDP sockets and routes, thinly wrapped.

use super::{
    bindings,
    skb::Skb, //
};
use core::ptr::NonNull;
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::c_void,
    prelude::*, //
};

/// What a datagram's headers say. See `struct strack_udp_rx`.
pub(crate) use bindings::strack_udp_rx as RxHeaders;

/// What an ICMP error says. See `struct strack_udp_icmp`.
pub(crate) use bindings::strack_udp_icmp as IcmpHeaders;

/// What a route is looked up for. See `struct strack_udp_flow`.
pub(crate) use bindings::strack_udp_flow as Flow;

/// How a datagram leaves. See `struct strack_udp_tx`.
pub(crate) use bindings::strack_udp_tx as TxHeaders;

/// The UDP port of this transport.
pub(crate) fn port() -> u16 {
    // SAFETY: No requirements.
    u16::try_from(unsafe { bindings::strack_c_udp_port() }).unwrap_or(0)
}

/// The user whom packets are sent for that no socket of a user sends.
///
/// # Safety
///
/// `net` is a live namespace.
pub(crate) unsafe fn net_uid(net: *const bindings::net) -> u32 {
    // SAFETY: By the safety requirements.
    unsafe { bindings::strack_c_net_uid(net) }
}

/// Holds off others who open or close sockets. Process context.
pub(crate) struct OpenLock(());

impl OpenLock {
    /// Waits for its turn.
    pub(crate) fn lock() -> OpenLock {
        // SAFETY: Process context; the guard releases it.
        unsafe { bindings::strack_c_udp_lock() };
        OpenLock(())
    }
}

impl Drop for OpenLock {
    fn drop(&mut self) {
        // SAFETY: The guard stands for the lock being held.
        unsafe { bindings::strack_c_udp_unlock() }
    }
}

/// A UDP socket of the kernel, bound to a port of one namespace.
///
/// It does not keep the namespace alive, so it must be closed before that ends.
///
/// # Invariants
///
/// The pointer is to a socket made by `udp_sock_create()` that is closed with this object.
pub(crate) struct UdpSocket(NonNull<bindings::socket>);

// SAFETY: A socket belongs to no thread.
unsafe impl Send for UdpSocket {}
// SAFETY: The methods below may be called from anywhere at the same time.
unsafe impl Sync for UdpSocket {}

impl UdpSocket {
    /// Opens a socket that receives datagrams to `port` of all addresses of one family, IPv4 or IPv6.
    /// Process context.
    ///
    /// # Safety
    ///
    /// `net` is a live namespace and stays so until the socket is dropped.
    pub(crate) unsafe fn open(net: *mut bindings::net, v4: bool, port: u16) -> Result<UdpSocket> {
        let mut sock = core::ptr::null_mut();
        // SAFETY: By the safety requirements, and `sock` is where the result goes.
        to_result(unsafe { bindings::strack_c_udp_open(net, v4, port, &mut sock) })?;
        // INVARIANT: Made by `udp_sock_create()`.
        NonNull::new(sock).map(UdpSocket).ok_or(ENOMEM)
    }

    /// Starts delivery to `strack_udp_ready()` and `strack_udp_icmp()`, which find `owner` with
    /// [`owner`]. `rcvbuf` limits what waits between two of them, bytes. Process context.
    ///
    /// # Safety
    ///
    /// `owner` is aligned to four bytes, and what the two functions use it for is valid until an RCU
    /// grace period after this object is dropped.
    pub(crate) unsafe fn attach(&self, owner: *const c_void, rcvbuf: i32) {
        // SAFETY: By the type invariant and the safety requirements.
        unsafe { bindings::strack_c_udp_attach(self.0.as_ptr(), owner.cast_mut(), rcvbuf) }
    }

    /// The socket as the network stack knows it.
    pub(crate) fn as_sock(&self) -> *mut bindings::sock {
        // SAFETY: By the type invariant. The pointer does not change while the socket is open.
        unsafe { (*self.0.as_ptr()).sk }
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; nothing uses the pointer after this.
        unsafe { bindings::strack_c_udp_close(self.0.as_ptr()) }
    }
}

/// The owner that a socket was attached with; null once it is being closed.
///
/// # Safety
///
/// Called in an RCU read-side section with a socket from [`UdpSocket::open`].
pub(crate) unsafe fn owner(sk: *const bindings::sock) -> *const c_void {
    // SAFETY: By the safety requirements.
    unsafe { bindings::strack_c_udp_owner(sk) }
}

/// Takes the next packet from the queue of a socket.
///
/// # Safety
///
/// `sk` is a socket from [`UdpSocket::open`].
pub(crate) unsafe fn receive(sk: *mut bindings::sock) -> Option<Skb> {
    // SAFETY: By the safety requirements.
    let skb = unsafe { bindings::strack_c_udp_recv(sk) };
    // SAFETY: The queue's reference is ours now.
    NonNull::new(skb).map(|skb| unsafe { Skb::from_raw(skb) })
}

/// Verifies the checksum of a packet that [`receive`] returned, and reads the headers in front of it.
///
/// Fails with `EBADMSG` when the checksum is wrong, with `ENOMSG` when there is none, with
/// `EADDRNOTAVAIL` when it was not sent to this host alone, and with `EPROTO` when it is empty.
pub(crate) fn describe(skb: &mut Skb) -> Result<RxHeaders> {
    let mut headers = RxHeaders::default();
    // SAFETY: The packet is valid, and came from a UDP socket: the offsets of its headers are set.
    to_result(unsafe { bindings::strack_c_udp_describe(skb.as_ptr(), &mut headers) })?;
    Ok(headers)
}

/// A cached route: `struct dst_entry`, owned.
///
/// # Invariants
///
/// The pointer is to a valid entry of which this object owns one reference.
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
    ///
    /// # Safety
    ///
    /// `net` is a live namespace, and stays so until the route is dropped.
    pub(crate) unsafe fn lookup(net: *mut bindings::net, flow: &mut Flow) -> Result<Dst> {
        let mut cookie = 0;
        // SAFETY: By the safety requirements.
        let dst = from_err_ptr(unsafe { bindings::strack_c_route(net, flow, &mut cookie) })?;
        // INVARIANT: The function returns a reference.
        NonNull::new(dst)
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
