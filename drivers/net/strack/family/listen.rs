// SPDX-License-Identifier: GPL-2.0

//! listen() and accept().

use crate::{
    engine::{
        listener::{
            Listener,
            Ready, //
        },
        ports::ListenRoom,
        NetNs, //
    },
    family::{
        bind,
        socket::Phase, //
    },
    sys::{
        bindings,
        netns,
        sock::{
            self,
            Sock,
            SockLock, //
        },
        sockaddr::SockAddr, //
    },
};
use core::ptr::NonNull;
use kernel::prelude::*;

/// listen(). The system call has cut `backlog` to `net.core.somaxconn`.
pub(crate) fn listen(sock: &Sock, backlog: i32) -> Result {
    let ns = netns::of(sock);
    // A negative backlog is a large one, as everywhere.
    let backlog = usize::from(u16::try_from(backlog).unwrap_or(u16::MAX));
    let mut lock = sock.lock();
    match &sock::inner(&mut lock).phase {
        Phase::Listening(listener) => return listener.clone().set_backlog(backlog),
        Phase::Active { .. } => return Err(EINVAL),
        Phase::Idle => (),
    }
    ns.open_carrier()?;
    bind::autobind(&ns, &mut lock, SockAddr::ANY)?;
    let socket = sock::inner(&mut lock);
    let (bound, options) = (socket.bound.ok_or(EINVAL)?, socket.options);
    let listener = Listener::new(&lock, options, backlog)?;
    let scope = sock::inner(&mut lock).scope(&bound);
    let room = ListenRoom::new()?;
    ns.ports.listen(&lock, scope, bound.port, &listener, room)?;
    sock::inner(&mut lock).phase = Phase::Listening(listener);
    lock.clear_shutdown();
    lock.set_state(bindings::TCP_LISTEN);
    Ok(())
}

/// accept(). Waits for a connection unless `nonblock`.
pub(crate) fn accept(sock: &Sock, newsock: NonNull<bindings::socket>, nonblock: bool) -> Result {
    let ready = {
        let mut lock = sock.lock();
        let Phase::Listening(listener) = &sock::inner(&mut lock).phase else {
            return Err(EINVAL);
        };
        let listener = listener.clone();
        let mut timeo = lock.rcvtimeo(nonblock);
        loop {
            if let Some(ready) = listener.pop() {
                break ready;
            }
            let mut closed = false;
            lock.wait(&mut timeo, &mut || {
                closed = listener.is_closed();
                closed || listener.has_ready()
            })?;
            if closed {
                return Err(EINVAL);
            }
        }
    };
    let Ready { sock, .. } = ready;
    sock::graft(sock, newsock);
    Ok(())
}

/// Stops listening: who waits for accept() is reset. The port stays if it was chosen by bind().
pub(crate) fn stop(ns: &NetNs, lock: &mut SockLock<'_>) {
    let phase = core::mem::replace(&mut sock::inner(lock).phase, Phase::Idle);
    if let Some(bound) = sock::inner(lock).bound {
        let listener = ns.ports.unlisten(lock, bound.port);
        drop(listener);
    }
    bind::unbind_auto(ns, lock);
    if let Phase::Listening(listener) = phase {
        listener.close();
    }
    lock.set_state(bindings::TCP_CLOSE);
    lock.wake_state();
}
