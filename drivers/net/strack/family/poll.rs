// SPDX-License-Identifier: GPL-2.0

//! poll(), and through it select() and epoll.
//!
//! No lock is taken, as in tcp_poll(): whoever holds the socket lock may sleep, over a page that comes
//! from a disk for one, and an event loop must not wait for that. What poll() looks at is published in
//! the socket: its state, the directions shut down, the error, and what is in the buffers.
//!
//! Nothing is missed for three reasons:
//!
//! * *Sleepers.* A change is published under the connection's lock (a listener's queue under its own),
//!   and the sleepers are woken after that lock is dropped. The poller enters the wait queue
//!   (`sock_poll_wait()`), then looks. Both sides have a full barrier in between, in `poll_wait()` and
//!   in `wq_has_sleeper()`: either the poller sees what was published, or whoever wakes sees the
//!   poller, who then looks again.
//! * *Room.* Writers are woken only if `SOCK_NOSPACE` is set. The poller sets it and looks at the room
//!   once more, an acknowledgement publishes the room and looks at the flag
//!   (`strack_c_sk_nospace_set()`, `strack_c_sk_wake_write()`), with full barriers in between again.
//! * *Errors.* An error is stored before the state and the shutdown that it leads to
//!   (`strack_c_sk_set_err()`) and read after them, so nobody sees an end without its reason.
//!
//! The words are not read at one instant, so a mask may be partly older than it looks. What is newer
//! has woken the poller, or will.

use crate::{
    engine::sending::has_room,
    sys::{
        bindings,
        sock::{
            Sock,
            RCV_SHUTDOWN,
            SEND_SHUTDOWN, //
        },
    },
};

const IN: u32 = bindings::POLLIN | bindings::POLLRDNORM;
const OUT: u32 = bindings::POLLOUT | bindings::POLLWRNORM;
const BOTH_SHUTDOWN: u8 = RCV_SHUTDOWN | SEND_SHUTDOWN;

/// What poll() reports now, as tcp_poll() has it. The caller has put itself on the wait queue.
pub(crate) fn mask(sock: &Sock) -> u32 {
    let state = sock.state();
    if state == bindings::TCP_LISTEN {
        let waiting = if sock.waiting() > 0 { IN } else { 0 };
        return waiting | error(sock);
    }
    let shutdown = sock.shutdown();
    let mut mask = 0;
    if shutdown & BOTH_SHUTDOWN == BOTH_SHUTDOWN || state == bindings::TCP_CLOSE {
        mask |= bindings::POLLHUP;
    }
    if shutdown & RCV_SHUTDOWN != 0 {
        mask |= IN | bindings::POLLRDHUP;
    }
    if state != bindings::TCP_SYN_SENT {
        let target = sock.rcvlowat(false, usize::MAX);
        if sock.published().readable as usize >= target {
            mask |= IN;
        }
        if shutdown & SEND_SHUTDOWN != 0 || writeable(sock) {
            mask |= OUT;
        } else {
            // Ask to be woken, then look again: room may have come in between.
            sock.want_room();
            if writeable(sock) {
                mask |= OUT;
            }
        }
    }
    mask | error(sock)
}

fn writeable(sock: &Sock) -> bool {
    let buffers = sock.published();
    !buffers.full && has_room(sock.sndbuf(), buffers.unsent as usize)
}

fn error(sock: &Sock) -> u32 {
    if sock.err_after_state() != 0 {
        bindings::POLLERR
    } else {
        0
    }
}
