// SPDX-License-Identifier: GPL-2.0

//! A socket that listens: connections that wait for accept().
//!
//! The listener holds no state for a client that has not shown its address (see
//! [`crate::proto::handshake`]), so its only queue is this one.

use crate::{
    engine::{
        conn::Conn,
        fifo::Fifo, //
    },
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
    ready: Fifo<Ready>,
    options: Options,
    backlog: usize,
    closed: bool,
}

impl Listener {
    /// Makes a listener whose queue holds `backlog` connections and, as in TCP, one more.
    pub(crate) fn new(sock: &Sock, options: Options, backlog: usize) -> Result<Arc<Listener>> {
        let ready = Fifo::new(backlog + 1, GFP_KERNEL_ACCOUNT)?;
        Arc::pin_init(
            pin_init!(Listener {
                sock: ARef::from(sock),
                queue <- new_bh_lock!(
                    Queue { ready, options, backlog, closed: false },
                    "strack::Listener::queue"
                ),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// listen() again: another backlog.
    pub(crate) fn set_backlog(&self, backlog: usize) -> Result {
        // The room changes under the socket lock only, so what it is now it still is below.
        let mut wider = if backlog < self.queue.lock().ready.capacity() {
            None
        } else {
            Some(Fifo::new(backlog + 1, GFP_KERNEL_ACCOUNT)?)
        };
        let mut queue = self.queue.lock();
        queue.backlog = backlog;
        if let Some(wider) = &mut wider {
            core::mem::swap(&mut queue.ready, wider);
            while let Some(item) = wider.pop() {
                if queue.ready.push(item).is_err() {
                    return Err(ENOMEM);
                }
            }
        }
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
        self.queue.lock().ready.len() > 0
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
        queue.ready.push(item)?;
        self.sock.set_waiting(queue.ready.len());
        drop(queue);
        self.sock.wake_read();
        Ok(())
    }

    /// The connection that waits longest.
    pub(crate) fn pop(&self) -> Option<Ready> {
        let mut queue = self.queue.lock();
        let item = queue.ready.pop();
        self.sock.set_waiting(queue.ready.len());
        item
    }

    /// No more connections: those that wait are reset. Process context.
    pub(crate) fn close(&self) {
        let mut ready = {
            let mut queue = self.queue.lock();
            queue.closed = true;
            self.sock.set_waiting(0);
            core::mem::replace(&mut queue.ready, Fifo::none())
        };
        while let Some(item) = ready.pop() {
            item.conn.close(true);
        }
    }
}
