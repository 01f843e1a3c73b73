// SPDX-License-Identifier: GPL-2.0

//! AF_STRACK: the transport as a socket family.
//!
//! [`entry`] has the functions that the kernel's tables point to and nothing else; each of them turns
//! raw pointers into types and calls one function of one of the other files, which are named after
//! the system calls. What a program sees is what tcp(7) says, with the differences listed in
//! Documentation/networking/strack.rst.

pub(crate) mod bind;
pub(crate) mod connect;
pub(crate) mod entry;
pub(crate) mod ioctl;
pub(crate) mod lend;
pub(crate) mod listen;
pub(crate) mod poll;
pub(crate) mod recv;
pub(crate) mod release;
pub(crate) mod send;
pub(crate) mod socket;
pub(crate) mod sockopt;
