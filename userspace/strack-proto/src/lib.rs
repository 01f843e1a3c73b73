// SPDX-License-Identifier: GPL-2.0

//! The STrack protocol state machine outside of the kernel.
//!
//! The sources are those of the kernel module; this crate only supplies the few
//! things they expect from their host. Tests, fuzzers and simulators built on it
//! therefore run the code that ships.

#![no_std]
#![warn(missing_docs)]

extern crate alloc;

pub mod host;

#[path = "../../../drivers/net/strack/proto/mod.rs"]
pub mod proto;

pub use proto::*;
