// SPDX-License-Identifier: GPL-2.0

//! The border to the kernel's C: bindings, and thin safe wrappers over them.
//!
//! Everything that needs `unsafe` lives below this module or in the `extern "C"` entry points that
//! C calls. The rest of the module is written against the types offered here.

pub(crate) mod bindings;
pub(crate) mod host;
