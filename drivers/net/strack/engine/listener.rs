// SPDX-License-Identifier: GPL-2.0

//! A socket that listens: connections that wait for accept().
//!
//! The listener holds no state for a client that has not shown its address (see
//! [`crate::proto::handshake`]), so its only queue is this one.

use crate::{
    engine::conn::Conn,
    family::socket::Options,
    sys::{
        lock::{
            new_bh_lock,
            BhLock, //
        },
        sock::Sock, //
    },
};
use kernel::{
    alloc::KVVec,
    prelude::*,
    sync::{
        aref::ARef,
        Arc, //
    },
};

/// A connection with the socket it has been given, ready for accept().
pub(crate) struct Ready {
    /// The socket.
    pub(crate) sock: ARef<Sock>,
    /// The connection.
    pub(crate) conn: Arc<Conn>,
}

/// A listening socket.
#[pin_data]
pub(crate) struct Listener {
    /// The socket; given up with the port when the socket is closed.
    pub(crate) sock: ARef<Sock>,
    /// Process context: accept(), close and the accept work. Softirq: a look at the length.
    #[pin]
    queue: BhLock<Queue>,
}

struct Queue {
    ready: KVVec<Ready>,
    options: Options,
    backlog: usize,
    closed: bool,
}

impl Listener {
    /// Makes a listener whose queue holds `backlog` connections and, as in TCP, one more.
    pub(crate) fn new(sock: &Sock, options: Options, backlog: usize) -> Result<Arc<Listener>> {
        let ready = KVVec::with_capacity(backlog + 1, GFP_KERNEL_ACCOUNT)?;
        Arc::pin_init(
            pin_init!(Listener {
                sock: ARef::from(sock),
                queue <- new_bh_lock!(
                    Queue { ready, options, backlog, closed: false },
                    "strack::Listener::queue"
                ),
            }),
            GFP_KERNEL,
        )
    }

    /// listen() again: another backlog.
    pub(crate) fn set_backlog(&self, backlog: usize) -> Result {
        // The backlog changes under the socket lock only, so what it is now it still is below.
        let longest = backlog.max(self.queue.lock().backlog);
        let mut ready = KVVec::with_capacity(longest + 1, GFP_KERNEL_ACCOUNT)?;
        let mut queue = self.queue.lock();
        core::mem::swap(&mut queue.ready, &mut ready);
        for item in ready.drain_all() {
            queue.ready.push_within_capacity(item)?;
        }
        queue.backlog = backlog;
        Ok(())
    }

    /// The options that connections get from it.
    pub(crate) fn options(&self) -> Options {
        self.queue.lock().options
    }

    /// The options of the socket have changed.
    pub(crate) fn set_options(&self, options: Options) {
        self.queue.lock().options = options;
    }

    /// Whether one more connection would be too many.
    pub(crate) fn is_full(&self) -> bool {
        let queue = self.queue.lock();
        queue.closed || queue.ready.len() > queue.backlog
    }

    /// Whether accept() would find something.
    pub(crate) fn has_ready(&self) -> bool {
        !self.queue.lock().ready.is_empty()
    }

    /// Whether the socket has stopped listening.
    pub(crate) fn is_closed(&self) -> bool {
        self.queue.lock().closed
    }

    /// Adds a connection and wakes accept(). Gives it back when the queue is full or closed.
    pub(crate) fn push(&self, item: Ready) -> Result<(), Ready> {
        let mut queue = self.queue.lock();
        if queue.closed || queue.ready.len() > queue.backlog {
            return Err(item);
        }
        if let Err(error) = queue.ready.push_within_capacity(item) {
            return Err(error.0);
        }
        drop(queue);
        self.sock.wake_read();
        Ok(())
    }

    /// The connection that waits longest.
    pub(crate) fn pop(&self) -> Option<Ready> {
        let mut queue = self.queue.lock();
        if queue.ready.is_empty() {
            return None;
        }
        queue.ready.remove(0).ok()
    }

    /// No more connections: those that wait are reset. Process context.
    pub(crate) fn close(&self) {
        let ready = {
            let mut queue = self.queue.lock();
            queue.closed = true;
            core::mem::take(&mut queue.ready)
        };
        for item in ready {
            item.conn.close(true);
        }
    }
}
