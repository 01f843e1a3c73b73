// SPDX-License-Identifier: GPL-2.0

//! Connections as the kernel has them: the protocol's state machine with a lock, a timer, buffers
//! and a route around it.
//!
//! Packets enter through [`input`], which finds the connection and hands each header to the state
//! machine. System calls and the timer enter through the methods of [`conn::Conn`]. All of them end
//! the same way: while the lock is held, what the state machine wants sent is made into skbs
//! ([`output`]), the timer is moved and events are gathered; after the lock is dropped, the skbs are
//! sent and the socket's sleepers are woken.
//!
//! Lock order, outermost first:
//!
//! 1. the socket lock (process context, may sleep);
//! 2. who holds which of the [`ports`] of a namespace (process context, may sleep);
//! 3. the queue of a [`listener`], the listeners by their ports, the queue of incoming handshakes
//!    ([`net::NetNs::incoming`]): bottom halves off; none of these is held while another of the three
//!    is taken;
//! 4. the lock of a connection ([`conn::Conn`]): process context, receive softirq, timer softirq;
//! 5. the connection table's (sys/table.h), writers only; readers use RCU.
//!
//! User memory is copied with the socket lock alone. Packets are sent and sleepers are woken with no
//! spin lock held.

pub(crate) mod accept;
pub(crate) mod buffers;
pub(crate) mod conn;
pub(crate) mod fifo;
pub(crate) mod input;
pub(crate) mod listener;
pub(crate) mod net;
mod notes;
mod orphan;
pub(crate) mod output;
pub(crate) mod ports;
pub(crate) mod quota;
pub(crate) mod receiving;
pub(crate) mod sending;
#[cfg(CONFIG_STRACK_KUNIT_TEST)]
mod tests;

pub(crate) use net::NetNs;
