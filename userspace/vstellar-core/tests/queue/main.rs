// SPDX-License-Identifier: GPL-2.0

//! The split virtqueue, against a driver that keeps the rules and against some that do not.

#[path = "../ram/mod.rs"]
mod ram;

mod driver;
mod hostile;
mod property;
mod rules;
