// SPDX-License-Identifier: GPL-2.0

//! connect().

use crate::{
    carrier::route::{
        FlowKey,
        Route, //
    },
    engine::{
        accept::{
            flow_dev,
            new_ids, //
        },
        conn::{
            self,
            Conn,
            Endpoint,
            Inner,
            Parts, //
        },
        NetNs, //
    },
    family::{
        bind,
        socket::Phase, //
    },
    proto::{
        connection::{
            Connection,
            State, //
        },
        psn::Psn, //
    },
    sys::{
        bindings,
        netns,
        random,
        sock::{
            self,
            PollBuffers,
            Sock,
            SockLock, //
        },
        sockaddr::{
            Given,
            SockAddr, //
        },
        timer, //
    },
};
use kernel::{
    prelude::*,
    sync::{
        aref::ARef,
        Arc, //
    },
};

/// connect(). Waits for the outcome unless `nonblock`.
pub(crate) fn connect(sock: &Sock, given: Given, nonblock: bool) -> Result {
    let ns = netns::of(sock);
    let mut lock = sock.lock();
    let Given::Address(dest) = given else {
        return disconnect(&ns, &mut lock);
    };

    let mut first = false;
    match &sock::inner(&mut lock).phase {
        Phase::Listening(_) => return Err(EISCONN),
        Phase::Active { told: true, .. } => return Err(EISCONN),
        Phase::Active { .. } => (),
        Phase::Idle => {
            if let Err(error) = start(&ns, &mut lock, dest) {
                unpair(&ns, &mut lock);
                return Err(error);
            }
            first = true;
        }
    }
    let conn = sock::inner(&mut lock).conn().cloned().ok_or(EINVAL)?;
    let connecting = || conn.peek(|inner| inner.proto.state() == State::Connecting);

    if connecting() {
        let mut timeo = lock.sndtimeo(nonblock);
        let pending = if first { EINPROGRESS } else { EALREADY };
        if timeo == 0 {
            return Err(pending);
        }
        lock.wait(&mut timeo, &mut || !connecting())
            .map_err(|error| {
                // Time is up, but the connection attempt goes on.
                if error == EAGAIN {
                    pending
                } else {
                    error
                }
            })?;
    } else if first && nonblock {
        // Decided already, as on the loopback device; but a program expects to be told later.
        return Err(EINPROGRESS);
    }
    finish(&ns, &mut lock, &conn)
}

/// The outcome of a connection attempt is known: tell it, once.
fn finish(ns: &NetNs, lock: &mut SockLock<'_>, conn: &Arc<Conn>) -> Result {
    if !sock::inner(lock)
        .conn()
        .is_some_and(|now| Arc::ptr_eq(now, conn))
    {
        // Another thread has undone it while this one waited.
        return Err(EPIPE);
    }
    let failed = conn.peek(|inner| inner.proto.failure().is_some());
    if !failed {
        if let Phase::Active { told, .. } = &mut sock::inner(lock).phase {
            *told = true;
        }
        return Ok(());
    }
    reset(ns, lock);
    lock.take_error()?;
    // The program has fetched the error with SO_ERROR.
    Err(ECONNABORTED)
}

/// Starts a connection attempt.
#[inline(never)]
fn start(ns: &Arc<NetNs>, lock: &mut SockLock<'_>, dest: SockAddr) -> Result {
    let mut dest = dest;
    let bound = sock::inner(lock).bound.unwrap_or(SockAddr::ANY);
    if dest.addr.is_any() {
        // As TCP: the wildcard is this host.
        dest.addr = dest.addr.loopback_like(&bound.addr);
    }
    if dest.addr.is_multicast() || (dest.addr.is_v4() && sock::inner(lock).v6only) {
        return Err(ENETUNREACH);
    }
    if dest.addr.is_link_local() {
        dest.scope = u32::try_from(lock.link_dev(dest.scope)?)?;
    }
    if !bound.addr.is_any() && bound.addr.is_v4() != dest.addr.is_v4() {
        return Err(EINVAL);
    }
    ns.open_carrier()?;
    let mut flow = FlowKey {
        saddr: bound.addr,
        daddr: dest.addr,
        oif: flow_dev(lock, dest.scope),
        mark: lock.mark(),
        uid: lock.uid(),
    };
    let route = Route::lookup(ns, &flow)?;
    flow.saddr = route.saddr();

    bind::autobind(ns, lock, bound)?;
    let local_port = sock::inner(lock).bound.map_or(0, |bound| bound.port);
    let pair = (flow.saddr, dest.addr, dest.port);
    ns.ports.connect(lock, local_port, pair)?;
    let socket = sock::inner(lock);
    let mut config = ns.config();
    socket.options.apply(&mut config);
    config.mss = Inner::usable_payload(&route)?;
    config.rcv_window = Inner::receive_window(lock);
    if lock.keeps_alive() {
        config.keepalive = Some(ns.keepalive());
    }
    let ids = new_ids(ns)?;
    let isn = Psn::new(random() as u32);
    let proto = conn::new_proto(|| {
        Connection::connect(config, ids, isn, local_port, dest.port, timer::now())
    })?;
    let local = Endpoint {
        addr: flow.saddr,
        port: local_port,
        scope: if flow.saddr.is_link_local() {
            u32::try_from(flow.oif)?
        } else {
            0
        },
    };
    let peer = Endpoint {
        addr: dest.addr,
        port: dest.port,
        scope: dest.scope,
    };
    let owner = ARef::from(&**lock);
    let conn = Conn::new(
        ns,
        Parts {
            local,
            peer,
            ids,
            peer_cid: 0,
            proto,
            route,
            flow,
            sock: owner,
        },
    )?;
    lock.clear_shutdown();
    lock.set_state(bindings::TCP_SYN_SENT);
    sock::inner(lock).phase = Phase::Active {
        conn: conn.clone(),
        told: false,
    };
    // Sends the INIT.
    conn.work(|_, _| ());
    Ok(())
}

/// Makes the socket what it was before connect().
fn reset(ns: &NetNs, lock: &mut SockLock<'_>) {
    let phase = core::mem::replace(&mut sock::inner(lock).phase, Phase::Idle);
    if let Phase::Active { conn, .. } = phase {
        let _ = conn.close(true);
    }
    // Whoever waits for something of the connection learns that it is gone.
    lock.count_disconnect();
    sock::inner(lock).tx_page = None;
    // The connection has let go of the socket, and writes nothing there any more.
    lock.publish(PollBuffers::default());
    lock.clear_shutdown();
    unpair(ns, lock);
    lock.set_state(bindings::TCP_CLOSE);
}

/// Gives back what the connection had of its port.
fn unpair(ns: &NetNs, lock: &mut SockLock<'_>) {
    if let Some(bound) = sock::inner(lock).bound {
        ns.ports.disconnect(lock, bound.port);
    }
    bind::unbind_auto(ns, lock);
}

/// connect() to `AF_UNSPEC`.
fn disconnect(ns: &NetNs, lock: &mut SockLock<'_>) -> Result {
    if let Phase::Listening(_) = sock::inner(lock).phase {
        super::listen::stop(ns, lock);
        return Ok(());
    }
    reset(ns, lock);
    let _ = lock.take_error();
    Ok(())
}
