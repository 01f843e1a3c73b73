// SPDX-License-Identifier: GPL-2.0

//! The queues of the virtio-vstellar driver outside of the kernel.
//!
//! The sources are those of the kernel module, which expect nothing from their host. The tests run
//! them against the device's model.

#![no_std]
#![warn(missing_docs)]

#[path = "../../../drivers/virtio/vstellar/core/mod.rs"]
pub mod driver;

pub use driver::*;
