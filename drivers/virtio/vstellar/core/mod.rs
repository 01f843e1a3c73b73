// SPDX-License-Identifier: GPL-2.0

//! The driver's queues of a virtio-vstellar endpoint, without a kernel.
//!
//! Which bytes of the driver's memory are whose: [`send`] has payload that the device is to send,
//! [`receive`] has buffers that it is to fill, [`completion`] says what came of them. Nothing in here
//! touches memory that is shared. Entries are made as bytes for the caller to put in their place, and
//! completions are taken from a copy, so the very same files run in the kernel module and in user space,
//! where they are tested against the device's own model.
//!
//! The device is believed no further than it can be: what it completes must have been posted, and in
//! order. Whatever it writes, no byte is read or reused that is not the driver's.
//!
//! The numbers and field helpers are the device's: one file each for both sides.

#![forbid(unsafe_code)]

#[path = "../../../vdpa/vstellar/core/abi.rs"]
pub mod abi;
#[path = "../../../vdpa/vstellar/core/bytes.rs"]
pub mod bytes;
pub mod completion;
#[path = "../../../vdpa/vstellar/core/event_index.rs"]
pub mod event_index;
pub mod receive;
pub mod send;
#[path = "../../../vdpa/vstellar/core/status.rs"]
pub mod status;

/// The device has completed what was not posted, or not in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;
