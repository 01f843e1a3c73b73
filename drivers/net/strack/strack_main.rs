// SPDX-License-Identifier: GPL-2.0

//! STrack: reliable multipath transport as a socket family.
//!
//! [`proto`] is the protocol, a state machine that knows neither kernel nor clock. [`engine`] makes
//! connections of it, [`carrier`] takes their packets through UDP, and [`family`] is what programs see
//! of all that. [`observe`] counts. [`sys`] is the border to C.

use kernel::prelude::*;

mod carrier;
mod engine;
mod family;
mod observe;
// Written for a crate of its own as well: what is `pub` there is more than this module uses.
#[allow(dead_code, unreachable_pub, unused_imports)]
mod proto;
mod sys;

pub(crate) use sys::host;

module! {
    type: Strack,
    name: "strack",
    authors: ["The strack authors"],
    description: "Reliable multipath transport (AF_STRACK)",
    license: "GPL",
}

/// The module while it is loaded: dropping it takes back all that was registered.
struct Strack {
    _family: sys::family::Registration,
}

impl kernel::Module for Strack {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Strack {
            _family: sys::family::Registration::new()?,
        })
    }
}
