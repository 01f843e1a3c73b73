// SPDX-License-Identifier: GPL-2.0

//! bind() and the names of both ends.

use crate::{
    engine::{
        ports::Room,
        NetNs, //
    },
    family::socket::{
        Phase,
        Socket, //
    },
    sys::{
        netns,
        sock::{
            self,
            Sock,
            SockLock, //
        },
        sockaddr::{
            Given,
            SockAddr, //
        },
    },
};
use kernel::prelude::*;

/// bind().
pub(crate) fn bind(sock: &Sock, given: Given) -> Result {
    let Given::Address(mut addr) = given else {
        return Err(EAFNOSUPPORT);
    };
    let ns = netns::of(sock);
    let mut lock = sock.lock();
    {
        let socket = sock::inner(&mut lock);
        if !matches!(socket.phase, Phase::Idle) || socket.bound.is_some() {
            return Err(EINVAL);
        }
        if socket.v6only && addr.addr.is_v4() {
            return Err(EINVAL);
        }
    }
    let before = lock.bound_dev();
    if addr.addr.is_link_local() {
        // As TCP: from now on the socket is on this link, and hears of no other one, which may have the
        // same address.
        let dev = lock.link_dev(addr.scope)?;
        addr.scope = u32::try_from(dev)?;
        lock.set_bound_dev(dev);
    }
    let result = bind_here(&ns, &mut lock, addr);
    if result.is_err() {
        lock.set_bound_dev(before);
    }
    result
}

/// Binds to an address on the device that the socket is bound to, if it is.
fn bind_here(ns: &NetNs, lock: &mut SockLock<'_>, addr: SockAddr) -> Result {
    if !addr.addr.is_any() && !ns.net.addr_is_local(addr.addr, lock.bound_dev()) {
        return Err(EADDRNOTAVAIL);
    }
    if addr.port != 0 && ns.net.port_privileged(addr.port) {
        return Err(EACCES);
    }
    take_port(ns, lock, addr)?;
    sock::inner(lock).bound_by_user = true;
    Ok(())
}

/// Binds to any port at `addr` unless the socket is bound already.
pub(crate) fn autobind(ns: &NetNs, lock: &mut SockLock<'_>, addr: SockAddr) -> Result {
    if sock::inner(lock).bound.is_some() {
        return Ok(());
    }
    take_port(ns, lock, SockAddr { port: 0, ..addr })
}

/// Gives the port back if the program did not choose it with bind().
pub(crate) fn unbind_auto(ns: &NetNs, lock: &mut SockLock<'_>) {
    if !sock::inner(lock).bound_by_user {
        unbind(ns, lock);
    }
}

/// Gives the port back, and the address with it.
pub(crate) fn unbind(ns: &NetNs, lock: &mut SockLock<'_>) {
    let Some(bound) = sock::inner(lock).bound.take() else {
        return;
    };
    let listener = ns.ports.unbind(lock, bound.port);
    drop(listener);
}

/// Which name of a socket is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// getsockname().
    Own,
    /// getpeername(): only of a connected socket.
    Peer,
    /// accept(): even if the connection has ended meanwhile.
    Accepted,
}

/// getsockname(), getpeername(), and the address that accept() gives.
pub(crate) fn getname(sock: &Sock, which: Which) -> Result<SockAddr> {
    let mut lock = sock.lock();
    let socket = sock::inner(&mut lock);
    if which != Which::Own {
        return peer_of(socket, which == Which::Peer);
    }
    let mut name = socket.bound.unwrap_or(SockAddr::ANY);
    if let Some(conn) = socket.conn() {
        name.addr = conn.local.addr;
        name.scope = conn.local.scope;
    }
    Ok(name)
}

fn peer_of(socket: &Socket, need_connected: bool) -> Result<SockAddr> {
    use crate::proto::connection::State;
    let conn = socket.conn().ok_or(ENOTCONN)?;
    let over = matches!(socket.state(), State::TimeWait | State::Closed);
    let connected = !over && socket.state() != State::Connecting;
    if need_connected && !connected {
        return Err(ENOTCONN);
    }
    Ok(SockAddr {
        addr: conn.peer.addr,
        port: conn.peer.port,
        scope: conn.peer.scope,
    })
}

fn take_port(ns: &NetNs, lock: &mut SockLock<'_>, addr: SockAddr) -> Result {
    let scope = sock::inner(lock).scope(&addr);
    let port = if addr.port == 0 {
        ns.ports.bind_any(lock, &ns.net, scope)?
    } else {
        let mut room = Room::new()?;
        ns.ports.bind(lock, scope, addr.port, &mut room)?;
        addr.port
    };
    sock::inner(lock).bound = Some(SockAddr { port, ..addr });
    Ok(())
}
