// SPDX-License-Identifier: GPL-2.0

//! The virtio-vstellar device model outside of the kernel.
//!
//! The sources are those of the kernel module; this crate only supplies the few
//! things they expect from their host. Tests and fuzzers built on it therefore
//! run the code that ships.

#![no_std]
#![warn(missing_docs)]

extern crate alloc;

pub mod host;

#[path = "../../../drivers/vdpa/vstellar/core/mod.rs"]
pub mod model;

pub use model::*;
