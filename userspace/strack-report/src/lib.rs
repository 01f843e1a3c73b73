// SPDX-License-Identifier: GPL-2.0
//! What every measuring command of the project has in common: the shape of its
//! figures ([`report`]), of its tables ([`table`]) and of its plots ([`plot`]).

#![warn(missing_docs)]

pub mod plot;
pub mod report;
pub mod table;
