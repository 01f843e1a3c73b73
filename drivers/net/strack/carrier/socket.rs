// SPDX-License-Identifier: GPL-2.0

//! The UDP sockets of a network namespace.
//!
//! They are opened when the first socket of the family wants to talk, so that a loaded module that
//! nobody uses keeps no port, and closed when the namespace ends or the module is unloaded.
//!
//! What keeps what alive: the open sockets own a reference to the namespace's state, which they hand
//! to the engine with every packet. [`Carrier::close`] breaks that circle, after everybody who might
//! still be sending or receiving through them has left.

use crate::{
    engine::NetNs,
    observe::counters::Counters,
    sys::udp::{
        self,
        OpenLock,
        UdpSocket, //
    },
};
use kernel::{
    bindings,
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full,
            Release, //
        },
        rcu,
        Arc, //
    },
};

/// Bytes that may wait between the network stack and the engine, for each socket. The queue is
/// emptied as soon as something is in it, so this bounds a burst that one CPU brings in while another
/// one works it off.
const RECEIVE_BUFFER: i32 = 16 << 20;

/// The open sockets.
pub(crate) struct Sockets {
    v4: UdpSocket,
    /// None where the kernel has no IPv6.
    v6: Option<UdpSocket>,
    /// Made into a raw pointer for the sockets to find; given back when they are gone.
    owner: *const NetNs,
}

impl Sockets {
    fn open(ns: &Arc<NetNs>) -> Result<Sockets> {
        let net = ns.net.as_net();
        let port = udp::port();
        if port == 0 {
            // Would be bound to some free port, where nobody sends to.
            return Err(EINVAL);
        }
        // SAFETY: The namespace is alive as long as its state is in use, and the sockets are closed
        // when that ends.
        let v4 = unsafe { UdpSocket::open(net, true, port) }?;
        // SAFETY: As above.
        let v6 = match unsafe { UdpSocket::open(net, false, port) } {
            Ok(socket) => Some(socket),
            Err(error) if error == EAFNOSUPPORT => None,
            Err(error) => return Err(error),
        };
        let owner = Arc::into_raw(ns.clone());
        for socket in [Some(&v4), v6.as_ref()].into_iter().flatten() {
            // SAFETY: `owner` is a reference that is given back a grace period after the sockets are
            // dropped.
            unsafe { socket.attach(owner.cast(), RECEIVE_BUFFER) };
        }
        Ok(Sockets { v4, v6, owner })
    }

    /// The socket to send with.
    pub(crate) fn get(&self, v4: bool) -> Option<&UdpSocket> {
        if v4 {
            Some(&self.v4)
        } else {
            self.v6.as_ref()
        }
    }

    /// The counters of the namespace.
    pub(crate) fn counters(&self) -> &Counters {
        // SAFETY: `owner` stands for a reference.
        unsafe { &(*self.owner).counters }
    }

    fn close(self) {
        let owner = self.owner;
        drop(self.v6);
        drop(self.v4);
        // Softirqs that found the sockets, or the owner behind them, have left after this.
        // SAFETY: Process context.
        unsafe { bindings::synchronize_rcu() };
        // SAFETY: The reference made when they were opened.
        drop(unsafe { Arc::from_raw(owner) });
    }
}

/// The way packets of a network namespace come in and go out.
///
/// # Invariants
///
/// The pointer is null or from `KBox::into_raw()`. It is changed under [`OpenLock`] only, and what it
/// pointed to is freed a grace period later.
pub(crate) struct Carrier {
    sockets: Atomic<*mut Sockets>,
}

// SAFETY: What the pointer leads to may be used from everywhere, see `UdpSocket`; the owner in it is
// an `Arc` in all but name.
unsafe impl Send for Carrier {}
// SAFETY: As above.
unsafe impl Sync for Carrier {}

impl Carrier {
    /// A carrier with no socket open.
    pub(crate) fn new() -> Carrier {
        // INVARIANT: The pointer is null.
        Carrier {
            sockets: Atomic::new(core::ptr::null_mut()),
        }
    }

    /// Opens the sockets, if they are not open yet. Process context.
    ///
    /// `ns` is the state that this carrier is part of. Fails as `bind()` would, `EADDRINUSE` if
    /// somebody else has the port.
    pub(crate) fn open(&self, ns: &Arc<NetNs>) -> Result {
        if self.is_open() {
            return Ok(());
        }
        let _lock = OpenLock::lock();
        if self.is_open() {
            return Ok(());
        }
        let place = KBox::<Sockets>::new_uninit(GFP_KERNEL)?;
        let sockets = KBox::write(place, Sockets::open(ns)?);
        // INVARIANT: From `KBox::into_raw()`, under the lock.
        self.sockets.store(KBox::into_raw(sockets), Release);
        Ok(())
    }

    /// Whether the sockets are open.
    pub(crate) fn is_open(&self) -> bool {
        !self.sockets.load(Acquire).is_null()
    }

    /// Closes the sockets. When this returns nothing comes in any more, and no call into the engine
    /// is under way. Process context, may take several tens of milliseconds.
    pub(crate) fn close(&self) {
        let sockets = {
            let _lock = OpenLock::lock();
            // INVARIANT: Null, under the lock.
            self.sockets.xchg(core::ptr::null_mut(), Full)
        };
        if sockets.is_null() {
            return;
        }
        // Senders have left after this.
        // SAFETY: Process context.
        unsafe { bindings::synchronize_rcu() };
        // SAFETY: By the type invariant, and nobody else has the pointer any more.
        let sockets = unsafe { KBox::from_raw(sockets) };
        KBox::into_inner(sockets).close();
    }

    /// Gives the open sockets to `f`, which must not sleep. None when they are not open.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&Sockets) -> R) -> Option<R> {
        let _rcu = rcu::read_lock();
        // SAFETY: By the type invariant what the pointer leads to outlives the read-side section.
        unsafe { self.sockets.load(Acquire).as_ref() }.map(f)
    }
}
