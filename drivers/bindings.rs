// SPDX-License-Identifier: GPL-2.0

//! Bindings of a module: `kernel::bindings`, completed and in part replaced by the module's own run of
//! bindgen (see Makefile.bindgen).
//!
//! What bindgen makes for the module hides what has the same name in the kernel's crate. All other types
//! are the kernel's own and can be passed to its Rust abstractions.
//!
//! All modules have this file as `sys::bindings`.

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

// Blocklisted in the kernel's bindgen parameters, to be defined by hand.
type __kernel_size_t = usize;
type __kernel_ssize_t = isize;
type __kernel_ptrdiff_t = isize;

include!(concat!(env!("MODULE_OBJ"), "/sys/bindings_generated.rs"));
