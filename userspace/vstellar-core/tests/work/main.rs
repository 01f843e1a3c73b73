// SPDX-License-Identifier: GPL-2.0

//! Work entries, completions and doorbells.

#[path = "../ram/mod.rs"]
mod ram;

mod completion;
mod doorbell;
mod entries;
mod indices;
mod lending;
mod patience;
mod roster;
