// SPDX-License-Identifier: GPL-2.0

//! STrack: reliable multipath transport as a socket family.

use kernel::prelude::*;

mod sys;

pub(crate) use sys::host;

module! {
    type: Strack,
    name: "strack",
    authors: ["The strack authors"],
    description: "Reliable multipath transport (AF_STRACK)",
    license: "GPL",
}

struct Strack;

impl kernel::Module for Strack {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let _ = host::keyed_hash(&[1, 2], &[3]);
        Ok(Strack)
    }
}
