// SPDX-License-Identifier: GPL-2.0

//! Who has which port.
//!
//! Ports are AF_STRACK's own, 16 bits beside an IP address, and have nothing to do with UDP ports.
//! Packets find their connection by its id, so a port matters twice only: a socket may not take one
//! that another has, and the first packet of a client looks for its listener by one.
//!
//! Any user may give one port to as many sockets as it can open, so there are two trees with a lock
//! each. One has all sockets in the order of their ports; only the system calls of programs walk along
//! those that share one, and only they wait for each other. The other has the listeners by port, address
//! and device: a packet looks for the few places where its listener can be, and waits for nothing longer
//! than that. Memory for either is had, and charged, before the locks are taken.
//!
//! A socket that takes any port gets one that nobody has, if there is one: a map of the ports shows
//! that at a glance. If there is none, the ports are looked at one by one, since an address that
//! nobody else has may share a port; the lock is dropped in between, so that others who want a certain
//! one do not wait for the end of that.

use crate::{
    carrier::addr::Addr,
    engine::listener::Listener,
    sys::{
        lock::{
            new_bh_lock,
            BhLock, //
        },
        netns::NetHandle,
        random,
        sock::Sock, //
    },
};
use core::ops::RangeInclusive;
use kernel::{
    bitmap::BitmapVec,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNodeReservation, //
    },
    sync::{
        new_mutex,
        Arc,
        Mutex, //
    },
};

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
    /// Whether packets of this version may be meant.
    pub(super) fn takes(&self, v4: bool) -> bool {
        if self.addr == Addr::ANY {
            !(v4 && self.v6only)
        } else {
            v4 == self.addr.is_v4()
        }
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

/// A port and a socket that has it, which is only an identity here.
type Holder = (u16, usize);

/// How a socket has its port.
struct Bound {
    scope: Scope,
    /// `SO_BINDTODEVICE`, or zero.
    dev: i32,
    /// `SO_REUSEADDR` at the time of binding.
    reuse: bool,
    /// After connect(): our address, and the peer's with its port.
    pair: Option<Pair>,
    /// After listen().
    listens: bool,
}

/// Where a listener is: port, address, device or zero, and its socket's identity.
type Place = (u16, [u8; 16], i32, usize);

struct Listening {
    v6only: bool,
    listener: Arc<Listener>,
}

/// Memory to enter a socket with its port.
pub(crate) struct Room(Option<RBTreeNodeReservation<Holder, Bound>>);

impl Room {
    /// Process context; the memory is charged to the caller.
    pub(crate) fn new() -> Result<Self> {
        let node = RBTreeNodeReservation::new(GFP_KERNEL_ACCOUNT)?;
        Ok(Room(Some(node)))
    }
}

/// Memory to enter a listener.
pub(crate) struct ListenRoom(RBTreeNodeReservation<Place, Listening>);

impl ListenRoom {
    /// Process context; the memory is charged to the caller.
    pub(crate) fn new() -> Result<Self> {
        let node = RBTreeNodeReservation::new(GFP_KERNEL_ACCOUNT)?;
        Ok(ListenRoom(node))
    }
}

/// The bound ports of a namespace.
#[pin_data]
pub(crate) struct Ports {
    /// Process context: system calls, with the socket lock held, which is the outer one.
    #[pin]
    pub(super) held: Mutex<Held>,
    /// Process context, for as long as one listener takes to be entered, removed or found, by system
    /// calls inside of `held` and by the accept work without; and the receive softirq. Innermost.
    #[pin]
    listeners: BhLock<Listeners>,
}

/// Who has which port in which way.
pub(super) struct Held {
    bound: RBTree<Holder, Bound>,
    /// Ports that somebody has, at whatever address.
    taken: BitmapVec,
}

/// Who listens where. Changed by those who hold [`Held`], which knows of each as well.
struct Listeners(RBTree<Place, Listening>);

fn owner_of(sock: &Sock) -> usize {
    sock.as_ptr() as usize
}

impl Held {
    /// Whether `wanted` holds for any of the sockets that have `port`.
    fn any_holder(&self, port: u16, mut wanted: impl FnMut(usize, &Bound) -> bool) -> bool {
        let mut from = Some(0);
        while let Some(cursor) = from.and_then(|from| self.bound.cursor_lower_bound(&(port, from)))
        {
            let (&(other, owner), bound) = cursor.current();
            if other != port {
                break;
            }
            if wanted(owner, bound) {
                return true;
            }
            from = owner.checked_add(1);
        }
        false
    }

    /// Whether somebody else has `port` in a way that excludes the caller.
    ///
    /// As for TCP, two holders of `SO_REUSEADDR` may share, as long as none of the others listens.
    fn conflict(&self, sock: &Sock, scope: &Scope, port: u16) -> bool {
        self.any_holder(port, |owner, other| {
            owner != owner_of(sock)
                && (other.dev == 0 || sock.bound_dev() == 0 || other.dev == sock.bound_dev())
                && other.scope.overlaps(scope)
                && !(other.reuse && sock.reuse() && !other.listens)
        })
    }

    fn bind(&mut self, sock: &Sock, scope: Scope, port: u16, room: &mut Room) -> Result {
        if self.conflict(sock, &scope, port) {
            return Err(EADDRINUSE);
        }
        let node = room.0.take().ok_or(ENOMEM)?;
        let bound = Bound {
            scope,
            dev: sock.bound_dev(),
            reuse: sock.reuse(),
            pair: None,
            listens: false,
        };
        self.bound
            .insert(node.into_node((port, owner_of(sock)), bound));
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

    fn connect(&mut self, sock: &Sock, port: u16, pair: Pair) -> Result {
        let owner = owner_of(sock);
        if self.any_holder(port, |other, bound| {
            other != owner && bound.pair == Some(pair)
        }) {
            return Err(EADDRNOTAVAIL);
        }
        if let Some(bound) = self.bound.get_mut(&(port, owner)) {
            bound.pair = Some(pair);
        }
        Ok(())
    }

    /// The socket begins to listen, or no longer does. Where that is, if it has the port.
    fn set_listens(&mut self, sock: &Sock, port: u16, listens: bool) -> Option<(Place, bool)> {
        let owner = owner_of(sock);
        let bound = self.bound.get_mut(&(port, owner))?;
        bound.listens = listens;
        let place = (port, bound.scope.addr.octets(), bound.dev, owner);
        Some((place, bound.scope.v6only))
    }

    fn unbind(&mut self, sock: &Sock, port: u16) {
        if self.bound.remove(&(port, owner_of(sock))).is_some()
            && !self.any_holder(port, |_, _| true)
        {
            self.taken.clear_bit(usize::from(port));
        }
    }
}

impl Listeners {
    /// The listener at an address and a device for a packet of this version, if there is one.
    fn listener_at(&self, port: u16, addr: Addr, dev: i32, v4: bool) -> Option<Arc<Listener>> {
        let mut from = 0;
        loop {
            let first = (port, addr.octets(), dev, from);
            let cursor = self.0.cursor_lower_bound(&first)?;
            let (&(of_port, of_addr, of_dev, owner), found) = cursor.current();
            if (of_port, of_addr, of_dev) != (port, addr.octets(), dev) {
                return None;
            }
            let scope = Scope {
                addr,
                v6only: found.v6only,
            };
            if scope.takes(v4) {
                return Some(found.listener.clone());
            }
            from = owner.checked_add(1)?;
        }
    }

    /// See [`Ports::listener`].
    fn find(&self, addr: Addr, port: u16, dev: i32) -> Option<Arc<Listener>> {
        let v4 = addr.is_v4();
        let any = [Addr::from_v4([0; 4]), Addr::ANY];
        let wildcards = if v4 { &any[..] } else { &any[1..] };
        let wanted = [dev, 0];
        // Without a device there is one kind only.
        let devs = if dev == 0 { &wanted[1..] } else { &wanted[..] };
        let exact = devs.iter().map(|&dev| (addr, dev));
        let wild = devs
            .iter()
            .flat_map(|&dev| wildcards.iter().map(move |&any| (any, dev)));
        Iterator::chain(exact, wild).find_map(|(addr, dev)| self.listener_at(port, addr, dev, v4))
    }
}

impl Ports {
    /// Nothing bound. Process context.
    pub(crate) fn new() -> Result<impl PinInit<Self>> {
        let held = Held {
            bound: RBTree::new(),
            taken: BitmapVec::new(PORTS, GFP_KERNEL_ACCOUNT)?,
        };
        Ok(pin_init!(Ports {
            held <- new_mutex!(held, "strack::Ports::held"),
            listeners <- new_bh_lock!(Listeners(RBTree::new()), "strack::Ports::listeners"),
        }))
    }

    /// Takes `port` at `scope` for `sock`, which has none. `room` is used up if that succeeds.
    pub(crate) fn bind(&self, sock: &Sock, scope: Scope, port: u16, room: &mut Room) -> Result {
        self.held.lock().bind(sock, scope, port, room)
    }

    /// Takes any free port of the namespace's range (`net.ipv4.ip_local_port_range`) at `scope` for
    /// `sock`.
    pub(crate) fn bind_any(&self, sock: &Sock, net: &NetHandle, scope: Scope) -> Result<u16> {
        let mut room = Room::new()?;
        let (low, high) = net.port_range();
        let span = u64::from(high.saturating_sub(low)) + 1;
        let start = low.saturating_add(u16::try_from(random() % span)?);
        {
            let mut held = self.held.lock();
            let unused = held
                .unused(start..=high, net)
                .or_else(|| held.unused(low..=start, net));
            if let Some(port) = unused {
                return held.bind(sock, scope, port, &mut room).map(|()| port);
            }
        }
        for port in Iterator::chain(start..=high, low..start) {
            if net.port_reserved(port) {
                continue;
            }
            match self.bind(sock, scope, port, &mut room) {
                Err(error) if error == EADDRINUSE => (),
                result => return result.map(|()| port),
            }
        }
        Err(EADDRINUSE)
    }

    /// The socket, which has `port`, connects. `EADDRNOTAVAIL` when another one that shares the port
    /// is connected to the same peer from the same address.
    pub(crate) fn connect(&self, sock: &Sock, port: u16, pair: Pair) -> Result {
        self.held.lock().connect(sock, port, pair)
    }

    /// The socket is connected no longer, and keeps its port.
    pub(crate) fn disconnect(&self, sock: &Sock, port: u16) {
        if let Some(bound) = self.held.lock().bound.get_mut(&(port, owner_of(sock))) {
            bound.pair = None;
        }
    }

    /// The socket, which has `port`, begins to listen. `EADDRINUSE` when another one listens there.
    pub(crate) fn listen(
        &self,
        sock: &Sock,
        scope: Scope,
        port: u16,
        listener: &Arc<Listener>,
        room: ListenRoom,
    ) -> Result {
        let mut held = self.held.lock();
        if held.conflict(sock, &scope, port) {
            return Err(EADDRINUSE);
        }
        let (place, v6only) = held.set_listens(sock, port, true).ok_or(EINVAL)?;
        let listener = listener.clone();
        let node = room.0.into_node(place, Listening { v6only, listener });
        self.listeners.lock().0.insert(node);
        Ok(())
    }

    /// The socket listens no longer, and keeps its port.
    pub(crate) fn unlisten(&self, sock: &Sock, port: u16) -> Option<Arc<Listener>> {
        self.leave(&mut self.held.lock(), sock, port)
    }

    /// Gives the socket's port back. The listener, if there was one, is handed out.
    pub(crate) fn unbind(&self, sock: &Sock, port: u16) -> Option<Arc<Listener>> {
        let mut held = self.held.lock();
        let listener = self.leave(&mut held, sock, port);
        held.unbind(sock, port);
        listener
    }

    /// Takes the socket out of the listeners.
    fn leave(&self, held: &mut Held, sock: &Sock, port: u16) -> Option<Arc<Listener>> {
        let (place, _) = held.set_listens(sock, port, false)?;
        // Handed out, so that it is not dropped under the lock.
        let gone = self.listeners.lock().0.remove(&place)?;
        Some(gone.listener)
    }

    /// The listener for a client that wants `port` at `addr` and came in through `dev`: one bound to
    /// the very address before a wildcard, one bound to the device before one that is not. Process
    /// context or receive softirq.
    pub(crate) fn listener(&self, addr: Addr, port: u16, dev: i32) -> Option<Arc<Listener>> {
        self.listeners.lock().find(addr, port, dev)
    }
}
