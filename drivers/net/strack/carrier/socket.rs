// SPDX-License-Identifier: GPL-2.0

//! The UDP sockets of a network namespace.
//!
//! They are opened when the first socket of the family wants to talk, so that a loaded module that
//! nobody uses keeps no port, and closed when the namespace ends or the module is unloaded.
//!
//! What keeps what alive: the open sockets own a reference to the namespace's state, which they hand
//! to the engine with every packet. [`Carrier::leave`] and [`Carrier::close`] break that circle; between
//! the two, everybody leaves who might still be sending or receiving through them.

use crate::{
    engine::NetNs,
    sys::{
        lock::{
            new_bh_lock,
            BhLock, //
        },
        rcu_cell::{
            RcuCell,
            Retired, //
        },
        udp::{
            self,
            OpenLock,
            UdpSockets, //
        },
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Bytes that may wait between the network stack and the engine, for each socket. The queue is
/// emptied as soon as something is in it, so this bounds a burst that one CPU brings in while another
/// one works it off.
const RECEIVE_BUFFER: i32 = 16 << 20;

/// The way packets of a network namespace come in and go out.
#[pin_data]
pub(crate) struct Carrier {
    /// Changed under [`OpenLock`], and when the namespace ends.
    sockets: RcuCell<UdpSockets>,
    /// Those of a namespace that ends. Process context, by who ends it; takes no other lock.
    #[pin]
    leaving: BhLock<Option<Retired<UdpSockets>>>,
}

impl Carrier {
    /// A carrier with no socket open.
    pub(crate) fn new() -> impl PinInit<Carrier> {
        pin_init!(Carrier {
            sockets: RcuCell::new(),
            leaving <- new_bh_lock!(None, "strack::Carrier::leaving"),
        })
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
        let port = udp::port();
        let place = KBox::<UdpSockets>::new_uninit(GFP_KERNEL)?;
        let sockets = KBox::write(place, UdpSockets::open(ns, port, RECEIVE_BUFFER)?);
        // It was empty, and only who has the lock fills it.
        let _ = self.sockets.set(sockets);
        Ok(())
    }

    /// Whether the sockets are open.
    pub(crate) fn is_open(&self) -> bool {
        self.sockets.is_some()
    }

    /// The namespace ends: nothing is sent any more, and an RCU grace period from now nothing comes in.
    /// No socket of the family is left that could open the sockets again. Process context.
    pub(crate) fn leave(&self) {
        *self.leaving.lock() = UdpSockets::retire(&self.sockets);
    }

    /// Closes the sockets, if they have been opened; says whether they had. When this returns nothing
    /// comes in any more, and no call into the engine is under way. Process context, after
    /// [`Carrier::leave`]; waits for a grace period after that unless one has passed.
    pub(crate) fn close(&self) -> bool {
        let retired = self.leaving.lock().take();
        retired.map(Retired::reclaim).is_some()
    }

    /// Gives the open sockets to `f`, which must not sleep. None when they are not open.
    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&UdpSockets) -> R) -> Option<R> {
        self.sockets.with(f)
    }
}
