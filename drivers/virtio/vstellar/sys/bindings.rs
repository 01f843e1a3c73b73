// SPDX-License-Identifier: GPL-2.0

//! Bindings of the C half of this module.

#![allow(
    clippy::all,
    clippy::as_underscore,
    clippy::cast_lossless,
    clippy::ptr_as_ptr,
    clippy::ref_as_ptr,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    improper_ctypes,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    unused_imports
)]
// The second lint is younger than the oldest compiler supported.
#![cfg_attr(not(CONFIG_RUSTC_HAS_UNNECESSARY_TRANSMUTES), allow(unknown_lints))]
#![allow(unnecessary_transmutes)]

use kernel::ffi;
use pin_init::{
    MaybeZeroable,
    Zeroable, //
};

pub use kernel::bindings::*;

include!(concat!(
    env!("VIRTIO_VSTELLAR_OBJ"),
    "/sys/bindings_generated.rs"
));
