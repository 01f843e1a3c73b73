// SPDX-License-Identifier: GPL-2.0

//! Who has which port.
//!
//! Ports are AF_STRACK's own, 16 bits beside an IP address, and have nothing to do with UDP ports.
//! Packets find their connection by its id, so a port matters twice only: a socket may not take one
//! that another has, and the first packet of a client looks for its listener by one.
//!
//! A socket that takes any port gets one that nobody has, if there is one: a map of the ports shows
//! that at a glance. If there is none, the ports are looked at one by one, since an address that
//! nobody else has may share a port; the lock is dropped in between, so that packets do not wait for
//! the end of that.

use crate::{
    carrier::addr::Addr,
    engine::listener::Listener,
    sys::{
        lock::BhLock,
        netns::NetHandle,
        random,
        sock::Sock, //
    },
};
use core::ops::RangeInclusive;
use kernel::{
    alloc::KVVec,
    bitmap::BitmapVec,
    prelude::*,
    sync::Arc, //
};

const CHAINS: usize = 256;

/// Numbers that a port can have.
const PORTS: usize = 1 << 16;

/// Which packets an address is meant for.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    /// The address; "any" of IPv6 is any of both versions.
    pub(crate) addr: Addr,
    /// `IPV6_V6ONLY`: "any" of IPv6 leaves IPv4 alone.
    pub(crate) v6only: bool,
}

impl Scope {
    fn takes(&self, v4: bool) -> bool {
        if self.addr == Addr::ANY {
            !(v4 && self.v6only)
        } else {
            v4 == self.addr.is_v4()
        }
    }

    /// Whether a packet to `addr` is meant.
    fn covers(&self, addr: &Addr) -> bool {
        self.takes(addr.is_v4()) && (self.addr.is_any() || self.addr == *addr)
    }

    /// Whether there are packets that both mean.
    fn overlaps(&self, other: &Scope) -> bool {
        let family = [true, false]
            .into_iter()
            .any(|v4| self.takes(v4) && other.takes(v4));
        family && (self.addr.is_any() || other.addr.is_any() || self.addr == other.addr)
    }
}

/// Both ends of a connection but for our port.
pub(crate) type Pair = (Addr, Addr, u16);

/// A bound port.
struct Bound {
    port: u16,
    scope: Scope,
    /// `SO_BINDTODEVICE`, or zero.
    dev: i32,
    /// `SO_REUSEADDR` at the time of binding.
    reuse: bool,
    /// After connect(): our address, and the peer's with its port.
    pair: Option<Pair>,
    /// After listen().
    listener: Option<Arc<Listener>>,
    /// The socket, as an identity only.
    owner: usize,
}

/// The bound ports of a namespace.
pub(crate) struct Ports {
    /// [`CHAINS`] of them.
    chains: KVVec<KVec<Bound>>,
    /// Ports that somebody has, at whatever address.
    taken: BitmapVec,
}

fn owner_of(sock: &Sock) -> usize {
    sock.as_ptr() as usize
}

impl Ports {
    /// Nothing bound.
    pub(crate) fn new() -> Result<Self> {
        let mut chains = KVVec::with_capacity(CHAINS, GFP_KERNEL)?;
        for _ in 0..CHAINS {
            chains.push(KVec::new(), GFP_KERNEL)?;
        }
        Ok(Ports {
            chains,
            taken: BitmapVec::new(PORTS, GFP_KERNEL)?,
        })
    }

    fn chain(&self, port: u16) -> &KVec<Bound> {
        // The index is below CHAINS by the mask.
        &self.chains[usize::from(port) & (CHAINS - 1)]
    }

    fn chain_mut(&mut self, port: u16) -> &mut KVec<Bound> {
        &mut self.chains[usize::from(port) & (CHAINS - 1)]
    }

    /// Whether somebody else has `port` in a way that excludes the caller.
    ///
    /// As for TCP, two holders of `SO_REUSEADDR` may share, as long as none of the others listens.
    fn conflict(&self, sock: &Sock, scope: &Scope, port: u16) -> bool {
        self.chain(port).iter().any(|other| {
            other.port == port
                && other.owner != owner_of(sock)
                && (other.dev == 0 || sock.bound_dev() == 0 || other.dev == sock.bound_dev())
                && other.scope.overlaps(scope)
                && !(other.reuse && sock.reuse() && other.listener.is_none())
        })
    }

    /// Takes `port` at `scope` for `sock`.
    pub(crate) fn bind(&mut self, sock: &Sock, scope: Scope, port: u16) -> Result {
        if self.conflict(sock, &scope, port) {
            return Err(EADDRINUSE);
        }
        self.chain_mut(port).push(
            Bound {
                port,
                scope,
                dev: sock.bound_dev(),
                reuse: sock.reuse(),
                pair: None,
                listener: None,
                owner: owner_of(sock),
            },
            GFP_ATOMIC,
        )?;
        self.taken.set_bit(usize::from(port));
        Ok(())
    }

    /// The first port in `range` that nobody has and that may be given out.
    fn unused(&self, range: RangeInclusive<u16>, net: &NetHandle) -> Option<u16> {
        let mut at = usize::from(*range.start());
        while at <= usize::from(*range.end()) {
            let port = u16::try_from(self.taken.next_zero_bit(at)?).ok()?;
            if !range.contains(&port) {
                return None;
            }
            if !net.port_reserved(port) {
                return Some(port);
            }
            at = usize::from(port) + 1;
        }
        None
    }

    fn own_mut(&mut self, sock: &Sock, port: u16) -> Option<&mut Bound> {
        self.chain_mut(port)
            .iter_mut()
            .find(|bound| bound.port == port && bound.owner == owner_of(sock))
    }

    /// The socket, which has `port`, connects. `EADDRNOTAVAIL` when another one that shares the port
    /// is connected to the same peer from the same address.
    pub(crate) fn connect(&mut self, sock: &Sock, port: u16, pair: Pair) -> Result {
        let mut others = Self::chain(self, port).iter();
        if others.any(|other| {
            other.port == port && other.owner != owner_of(sock) && other.pair == Some(pair)
        }) {
            return Err(EADDRNOTAVAIL);
        }
        if let Some(bound) = self.own_mut(sock, port) {
            bound.pair = Some(pair);
        }
        Ok(())
    }

    /// The socket is connected no longer, and keeps its port.
    pub(crate) fn disconnect(&mut self, sock: &Sock, port: u16) {
        if let Some(bound) = self.own_mut(sock, port) {
            bound.pair = None;
        }
    }

    /// The socket, which has `port`, begins to listen. `EADDRINUSE` when another one listens there.
    pub(crate) fn listen(
        &mut self,
        sock: &Sock,
        scope: Scope,
        port: u16,
        listener: &Arc<Listener>,
    ) -> Result {
        if self.conflict(sock, &scope, port) {
            return Err(EADDRINUSE);
        }
        if let Some(bound) = self.own_mut(sock, port) {
            bound.listener = Some(listener.clone());
        }
        Ok(())
    }

    /// The socket listens no longer, and keeps its port. The listener is handed out so that it is not
    /// dropped under the lock.
    pub(crate) fn unlisten(&mut self, sock: &Sock, port: u16) -> Option<Arc<Listener>> {
        self.own_mut(sock, port)?.listener.take()
    }

    /// Gives the socket's port back. The listener, if there was one, is handed out so that it is not
    /// dropped under the lock.
    pub(crate) fn unbind(&mut self, sock: &Sock, port: u16) -> Option<Arc<Listener>> {
        let chain = self.chain_mut(port);
        let at = chain
            .iter()
            .position(|bound| bound.port == port && bound.owner == owner_of(sock))?;
        let listener = chain.remove(at).ok()?.listener;
        if !chain.iter().any(|bound| bound.port == port) {
            self.taken.clear_bit(usize::from(port));
        }
        listener
    }

    /// The listener for a client that wants `port` at `addr` and came in through `dev`: one bound to
    /// the very address before a wildcard, one bound to the device before one that is not.
    pub(crate) fn listener(&self, addr: Addr, port: u16, dev: i32) -> Option<Arc<Listener>> {
        self.chain(port)
            .iter()
            .filter(|bound| {
                bound.port == port
                    && bound.scope.covers(&addr)
                    && (bound.dev == 0 || bound.dev == dev)
            })
            .filter(|bound| bound.listener.is_some())
            .max_by_key(|bound| (!bound.scope.addr.is_any(), bound.dev != 0))?
            .listener
            .clone()
    }
}

/// Takes any free port of the namespace's range (`net.ipv4.ip_local_port_range`) at `scope` for `sock`.
/// Process context.
pub(crate) fn bind_any(
    ports: &BhLock<Ports>,
    sock: &Sock,
    net: &NetHandle,
    scope: Scope,
) -> Result<u16> {
    let (low, high) = net.port_range();
    let span = u64::from(high.saturating_sub(low)) + 1;
    let start = low.saturating_add(u16::try_from(random() % span)?);
    {
        let mut ports = ports.lock();
        let unused = ports
            .unused(start..=high, net)
            .or_else(|| ports.unused(low..=start, net));
        if let Some(port) = unused {
            return ports.bind(sock, scope, port).map(|()| port);
        }
    }
    for port in Iterator::chain(start..=high, low..start) {
        if net.port_reserved(port) {
            continue;
        }
        match ports.lock().bind(sock, scope, port) {
            Err(error) if error == EADDRINUSE => (),
            result => return result.map(|()| port),
        }
    }
    Err(EADDRINUSE)
}
