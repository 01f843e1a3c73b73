// SPDX-License-Identifier: GPL-2.0

//! poll(), and through it select() and epoll.

use crate::{
    family::socket::Phase,
    proto::connection::State,
    sys::{
        bindings,
        sock::{
            self,
            Sock,
            RCV_SHUTDOWN,
            SEND_SHUTDOWN, //
        },
    },
};

const IN: u32 = bindings::POLLIN | bindings::POLLRDNORM;
const OUT: u32 = bindings::POLLOUT | bindings::POLLWRNORM;

/// What poll() reports now, as tcp_poll() has it. The caller has put itself on the wait queue.
pub(crate) fn mask(sock: &Sock) -> u32 {
    let mut lock = sock.lock();
    let mut mask = 0;
    let conn = match &sock::inner(&mut lock).phase {
        Phase::Listening(listener) => {
            if listener.has_ready() {
                mask |= IN;
            }
            return mask | error(sock);
        }
        Phase::Idle => return OUT | bindings::POLLHUP | error(sock),
        Phase::Active { conn, .. } => conn.clone(),
    };

    let target = lock.rcvlowat(false, usize::MAX);
    let (state, readable, writeable) = conn.peek(|inner| {
        (
            inner.proto.state(),
            inner.rx_bytes >= target,
            inner.writeable(sock),
        )
    });
    let shutdown = sock.shutdown();
    if shutdown & (RCV_SHUTDOWN | SEND_SHUTDOWN) == RCV_SHUTDOWN | SEND_SHUTDOWN
        || state == State::Closed
    {
        mask |= bindings::POLLHUP;
    }
    if shutdown & RCV_SHUTDOWN != 0 {
        mask |= IN | bindings::POLLRDHUP;
    }
    if state != State::Connecting {
        if readable {
            mask |= IN;
        }
        if shutdown & SEND_SHUTDOWN != 0 || writeable {
            mask |= OUT;
        } else {
            // Ask to be woken, then look again: room may have come in between.
            sock.want_room();
            if conn.peek(|inner| inner.writeable(sock)) {
                mask |= OUT;
            }
        }
    }
    mask | error(sock)
}

fn error(sock: &Sock) -> u32 {
    if sock.err() != 0 {
        bindings::POLLERR
    } else {
        0
    }
}
