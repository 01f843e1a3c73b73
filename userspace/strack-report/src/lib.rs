// SPDX-License-Identifier: GPL-2.0
//! What every measuring command of the project has in common: the shape of its
//! figures ([`report`]) and of its tables ([`table`]).

#![warn(missing_docs)]

pub mod report;
pub mod table;
