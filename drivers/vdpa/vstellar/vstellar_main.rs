// SPDX-License-Identifier: GPL-2.0

//! vStellar, host side: virtual devices by which guests open AF_STRACK endpoints.
//!
//! Devices are made on demand on the vDPA bus, whose tools and drivers do the rest: `vhost_vdpa`
//! hands one to a virtual machine, `virtio_vdpa` to this kernel.
//!
//! [`model`] is what a device may be asked for and what becomes of it, without a kernel. [`device`] is
//! one device on the bus: what its driver has set up, and the work that its kicks ask for.
//! [`platform`] is what it stands on: memory that was mapped for it ([`ring`]: for as long as it uses
//! it; [`paged`] is what the two have in common), and [`sockets`] with their [`options`]. [`sys`] is the
//! border to C.

use kernel::prelude::*;

mod device;
mod host;
// Written for a crate of its own as well: what is `pub` there is more than this module uses. Its
// directory has the name of a crate.
#[allow(dead_code, unreachable_pub, unused_imports)]
#[path = "core/mod.rs"]
mod model;
mod options;
mod paged;
mod platform;
mod ring;
mod sockets;
mod sys;

module! {
    type: Vstellar,
    name: "vstellar",
    authors: ["The strack authors"],
    description: "Virtual devices of the multipath transport (vDPA)",
    license: "GPL",
}

/// The module while it is loaded: dropping it removes the management device and all others.
struct Vstellar {
    _management: sys::vdpa::Management,
}

impl kernel::Module for Vstellar {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Vstellar {
            _management: sys::vdpa::Management::new()?,
        })
    }
}
