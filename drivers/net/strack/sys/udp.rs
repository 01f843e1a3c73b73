// SPDX-License-Identifier: GPL-2.0

//! The UDP sockets of the kernel that packets come in by.

use super::{
    bindings,
    netns::NetHandle,
    rcu_cell::{
        RcuCell,
        Retired, //
    },
    skb::Skb, //
};
use crate::{
    carrier::{
        icmp,
        rx, //
    },
    engine::NetNs, //
};
use core::{
    mem::ManuallyDrop,
    ptr::NonNull, //
};
use kernel::{
    error::to_result,
    prelude::*,
    sync::{
        rcu,
        Arc, //
    },
};

/// What a datagram's headers say. See `struct strack_udp_rx`.
pub(crate) use bindings::strack_udp_rx as RxHeaders;

/// What an ICMP error says. See `struct strack_udp_icmp`.
pub(crate) use bindings::strack_udp_icmp as IcmpHeaders;

/// The UDP port of this transport.
pub(crate) fn port() -> u16 {
    // SAFETY: No requirements.
    u16::try_from(unsafe { bindings::strack_c_udp_port() }).unwrap_or(0)
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
/// # Invariants
///
/// The pointer is to a socket made by `udp_sock_create()` that is closed with this object, and its
/// namespace is alive until then, see [`NetHandle`].
pub(crate) struct UdpSocket(NonNull<bindings::socket>);

// SAFETY: A socket belongs to no thread.
unsafe impl Send for UdpSocket {}
// SAFETY: The methods below may be called from anywhere at the same time.
unsafe impl Sync for UdpSocket {}

impl UdpSocket {
    /// Opens a socket that receives datagrams to `port` of all addresses of one family, IPv4 or IPv6.
    /// Process context.
    fn open(net: &NetHandle, v4: bool, port: u16) -> Result<UdpSocket> {
        let mut sock = core::ptr::null_mut();
        // SAFETY: The namespace is alive, by the invariant of `NetHandle`; `sock` is where the result
        // goes.
        to_result(unsafe { bindings::strack_c_udp_open(net.as_net(), v4, port, &mut sock) })?;
        // INVARIANT: Made by `udp_sock_create()`. The carrier is closed before the namespace ends.
        NonNull::new(sock).map(UdpSocket).ok_or(ENOMEM)
    }

    /// The socket as the network stack knows it.
    pub(super) fn as_sock(&self) -> *mut bindings::sock {
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

/// The sockets of a namespace, which hand what they receive to its state.
///
/// # Invariants
///
/// The owner that the sockets were attached with is that of `owner`, and it is kept until an RCU grace
/// period after they were detached. Once attached, they are only dropped by who has them from
/// [`UdpSockets::retire`].
pub(crate) struct UdpSockets {
    v4: UdpSocket,
    /// None where the kernel has no IPv6.
    v6: Option<UdpSocket>,
    owner: Arc<NetNs>,
}

impl UdpSockets {
    /// Opens them, for datagrams to `port`, and starts delivery to [`rx`] and [`icmp`]. `rcvbuf` limits
    /// what waits in each between two deliveries, bytes. Process context.
    pub(crate) fn open(owner: &Arc<NetNs>, port: u16, rcvbuf: i32) -> Result<UdpSockets> {
        let v4 = UdpSocket::open(&owner.net, true, port)?;
        let v6 = match UdpSocket::open(&owner.net, false, port) {
            Ok(socket) => Some(socket),
            Err(error) if error == EAFNOSUPPORT => None,
            Err(error) => return Err(error),
        };
        let sockets = UdpSockets {
            v4,
            v6,
            owner: owner.clone(),
        };
        let owner = Arc::as_ptr(&sockets.owner).cast_mut();
        for socket in Iterator::chain([&sockets.v4].into_iter(), &sockets.v6) {
            // INVARIANT: This is the owner. From here on there is no way to fail.
            // SAFETY: By the type invariants of both; the state of a namespace is aligned to more than
            // four bytes.
            unsafe { bindings::strack_c_udp_attach(socket.0.as_ptr(), owner.cast(), rcvbuf) };
        }
        Ok(sockets)
    }

    /// Ends delivery, and takes the sockets away from those who send. Both go on until a grace period
    /// has passed.
    pub(crate) fn retire(cell: &RcuCell<UdpSockets>) -> Option<Retired<UdpSockets>> {
        cell.with(|sockets| {
            for socket in Iterator::chain([&sockets.v4].into_iter(), &sockets.v6) {
                // SAFETY: By the type invariant the socket is open.
                unsafe { bindings::strack_c_udp_detach(socket.0.as_ptr()) };
            }
        });
        cell.take()
    }

    /// The socket of one family.
    #[inline]
    pub(crate) fn get(&self, v4: bool) -> Option<&UdpSocket> {
        if v4 {
            Some(&self.v4)
        } else {
            self.v6.as_ref()
        }
    }

    /// The state that packets are handed to.
    #[inline]
    pub(crate) fn owner(&self) -> &NetNs {
        &self.owner
    }
}

/// The owner that a socket was attached with; none once it is being closed. It is borrowed: the
/// reference must not be dropped.
///
/// # Safety
///
/// `sk` is that of a [`UdpSocket`], and the caller stays in an RCU read-side section as long as it uses
/// what it gets.
unsafe fn owner_of(sk: *const bindings::sock) -> Option<ManuallyDrop<Arc<NetNs>>> {
    // SAFETY: By the safety requirements.
    let owner = NonNull::new(unsafe { bindings::strack_c_udp_owner(sk) })?;
    // SAFETY: By the invariant of `UdpSockets` there is a reference as long as the read-side section
    // lasts, and this one, which is not counted, is not dropped.
    Some(ManuallyDrop::new(unsafe {
        Arc::from_raw(owner.as_ptr().cast::<NetNs>().cast_const())
    }))
}

/// Something is in the queue of `sk`.
///
/// # Safety
///
/// Called by the C half only: `sk` is that of a [`UdpSocket`]; bottom halves are off.
#[no_mangle]
unsafe extern "C" fn strack_udp_ready(sk: *mut bindings::sock) {
    let _rcu = rcu::read_lock();
    // SAFETY: By the safety requirements, in a read-side section.
    let owner = unsafe { owner_of(sk) };
    rx::drain(owner.as_deref(), || {
        // SAFETY: By the safety requirements.
        let skb = NonNull::new(unsafe { bindings::strack_c_udp_recv(sk) })?;
        // SAFETY: The queue's reference is ours now.
        Some(unsafe { Skb::from_raw(skb) })
    });
}

/// An ICMP error has come in for a packet to our port.
///
/// # Safety
///
/// Called by the C half only: `sk` is that of a [`UdpSocket`], and `icmp` is valid during the call.
#[no_mangle]
unsafe extern "C" fn strack_udp_icmp(sk: *mut bindings::sock, icmp: *const IcmpHeaders) {
    let _rcu = rcu::read_lock();
    // SAFETY: By the safety requirements, in a read-side section.
    if let Some(owner) = unsafe { owner_of(sk) } {
        // SAFETY: By the safety requirements.
        icmp::report(&owner, unsafe { &*icmp });
    }
}

/// Verifies the checksum of a packet from a [`UdpSocket`], and reads the headers in front of it.
///
/// Fails with `EBADMSG` when the checksum is wrong, with `ENOMSG` when there is none, with
/// `EADDRNOTAVAIL` when its addresses are not those of one host and of this one, and with `EPROTO` when
/// it is empty.
pub(crate) fn describe(skb: &mut Skb) -> Result<RxHeaders> {
    let mut headers = RxHeaders::default();
    // SAFETY: The packet is valid, and came from a UDP socket: the offsets of its headers are set.
    to_result(unsafe { bindings::strack_c_udp_describe(skb.as_ptr(), &mut headers) })?;
    Ok(headers)
}
