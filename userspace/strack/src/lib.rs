// SPDX-License-Identifier: GPL-2.0

//! AF_STRACK sockets, in the manner of [`std::net`].
//!
//! A [`Stream`] is an ordered, reliable stream of bytes, like a TCP connection, whose packets take
//! all the paths that the network has. What it does, and where it differs from TCP, is described in
//! `Documentation/networking/strack.rst`. Everything here needs the kernel module `strack`; without
//! it each attempt to open a socket fails with [`std::io::ErrorKind::Unsupported`].
//!
//! ```no_run
//! use std::io::{Read, Write};
//! use strack::Stream;
//!
//! # fn main() -> std::io::Result<()> {
//! let mut stream = Stream::connect("10.0.0.2:7000")?;
//! stream.write_all(b"hello")?;
//! stream.shutdown(std::net::Shutdown::Write)?;
//! let mut answer = Vec::new();
//! stream.read_to_end(&mut answer)?;
//! println!("{} retransmissions", stream.info()?.retransmits);
//! # Ok(())
//! # }
//! ```
//!
//! Options of `SOL_SOCKET`, and whatever else a socket has, are reached through
//! [`Stream::socket`] and [`Listener::socket`].

#![warn(missing_docs, unreachable_pub)]
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod addr;
mod family;
#[cfg(test)]
mod header;
mod info;
mod listener;
mod options;
mod stream;

pub use addr::StrackAddr;
pub use family::family;
pub use info::{State, StrackInfo};
pub use listener::Listener;
pub use options::{PathState, MAX_PATHS, SOL_STRACK};
pub use stream::Stream;
