// SPDX-License-Identifier: GPL-2.0

//! shutdown() and close().

use crate::{
    family::{
        bind,
        listen,
        socket::Phase, //
    },
    proto::connection::State,
    sys::{
        netns,
        sock::{
            self,
            Sock,
            SockLock,
            RCV_SHUTDOWN,
            SEND_SHUTDOWN, //
        },
    },
};
use kernel::prelude::*;

/// shutdown(). `how` is `SHUT_RD`, `SHUT_WR` or `SHUT_RDWR`.
pub(crate) fn shutdown(sock: &Sock, how: i32) -> Result {
    let how = match how {
        0 => RCV_SHUTDOWN,
        1 => SEND_SHUTDOWN,
        2 => RCV_SHUTDOWN | SEND_SHUTDOWN,
        _ => return Err(EINVAL),
    };
    let ns = netns::of(sock);
    let mut lock = sock.lock();
    let conn = match &sock::inner(&mut lock).phase {
        Phase::Idle => return Err(ENOTCONN),
        Phase::Listening(_) => {
            // As TCP: a listener that is not to receive any more stops listening.
            if how & RCV_SHUTDOWN != 0 {
                listen::stop(&ns, &mut lock);
            }
            return Ok(());
        }
        Phase::Active { conn, .. } => conn.clone(),
    };
    match conn.peek(|inner| inner.proto.state()) {
        State::Closed | State::TimeWait => return Err(ENOTCONN),
        // A connection attempt is given up.
        State::Connecting => {
            let _ = conn.close(true);
            return Ok(());
        }
        _ => (),
    }
    conn.work(|inner, _| {
        // Also done by what comes in, so it is the connection's lock that guards it.
        lock.add_shutdown(how);
        if how & SEND_SHUTDOWN != 0 {
            inner.shut_send();
        }
    });
    lock.wake_state();
    Ok(())
}

/// close(): the last reference to the socket's file is gone.
pub(crate) fn release(sock: &Sock) {
    let ns = netns::of(sock);
    let mut lock = sock.lock();
    if let Phase::Listening(_) = sock::inner(&mut lock).phase {
        listen::stop(&ns, &mut lock);
    }
    let phase = core::mem::replace(&mut sock::inner(&mut lock).phase, Phase::Idle);
    sock::inner(&mut lock).tx_page = None;
    bind::unbind(&ns, &mut lock);
    if let Phase::Active { conn, .. } = phase {
        // Data that nobody will read, or no wish to linger: the peer is told that it was cut off.
        let hard = lock.lingers() && lock.linger_time() == 0;
        if conn.close(hard) && lock.lingers() && !Sock::exiting() {
            linger(&mut lock, || {
                conn.peek(|inner| {
                    matches!(
                        inner.proto.state(),
                        State::FinWait2 | State::TimeWait | State::Closed
                    )
                })
            });
        }
    }
    lock.orphan();
}

/// Waits for what was queued to be acknowledged, as long as `SO_LINGER` says.
fn linger(lock: &mut SockLock<'_>, mut gone: impl FnMut() -> bool) {
    let mut timeo = lock.linger_time();
    // However it ends, the socket is closed.
    let _ = lock.wait(&mut timeo, &mut gone);
}
