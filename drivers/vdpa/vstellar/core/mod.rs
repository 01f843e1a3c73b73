// SPDX-License-Identifier: GPL-2.0

//! The virtio-vstellar device as a model without a kernel.
//!
//! What a guest may ask for and what becomes of it: how its memory is translated
//! and pinned ([`memory`], [`emtt`]), how its virtqueues, commands, doorbells and
//! work entries are read and checked ([`queue`], [`control`], [`doorbell`],
//! [`work`]), and which objects it has ([`device`]). Nothing in here performs
//! I/O. Memory of the guest is read and written through [`shared::Shared`], pages
//! are pinned by a [`memory::Keeper`], and payload travels through the sockets of
//! a [`device::Transport`]; all three belong to the host.
//! That makes the very same files usable in the kernel module and in an ordinary
//! user space crate, where they are unit tested and fuzzed.
//!
//! Rules that hold for all of it: no `unsafe`, no clock of its own, no floating
//! point. What the guest can change is copied once and checked in the copy.
//! Arithmetic on indices that run freely wraps on purpose, all other arithmetic
//! saturates or is checked. Nothing a guest writes can make it panic, and nothing
//! a guest writes is an allocation's size before it was held against a limit.
//!
//! The only thing expected from the host apart from these traits is the module
//! `crate::host`: `AllocError`, and `List`, an array that grows fallibly.

#![forbid(unsafe_code)]

pub mod abi;
pub mod access;
pub mod bytes;
pub mod control;
pub mod device;
pub mod doorbell;
pub mod emtt;
pub mod event_index;
pub mod fifo;
pub mod memory;
pub mod queue;
pub mod shared;
pub mod span;
pub mod status;
pub mod table;
pub mod work;
