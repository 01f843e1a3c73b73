// SPDX-License-Identifier: GPL-2.0

//! Control commands against a device: what each does, and each thing for which it is refused.

#[path = "../memory/pinner.rs"]
#[allow(dead_code)]
mod pinner;
#[path = "../ram/mod.rs"]
mod ram;

mod bench;
mod buffers;
mod connections;
mod events;
mod fuzz;
mod host;
mod objects;
mod options;
mod regions;
mod requests;
mod stop;
