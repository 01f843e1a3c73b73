// SPDX-License-Identifier: GPL-2.0

//! PVDMA: regions, blocks pinned on first use, quota, eviction, unmapping under use.

mod pinner;
mod property;
mod quota;
mod steps;
mod threads;
