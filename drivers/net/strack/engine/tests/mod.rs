// SPDX-License-Identifier: GPL-2.0

//! KUnit suites of what the engine keeps. See [`crate::sys::tests`].

mod buffers_kunit;
mod fifo_kunit;
mod input_kunit;
mod ports_kunit;
