// SPDX-License-Identifier: GPL-2.0

//! vStellar, guest side: the driver of virtio-vstellar, which gives a network namespace AF_STRACK
//! sockets that are a device's.
//!
//! Programs notice nothing of it: in a namespace that a device was assigned to, socket(2) makes a
//! socket of this driver instead of one of strack.ko's engine, and everything that is done with it
//! becomes commands and work entries of the device. (The seam is drivers/net/strack/sys/provider.h,
//! which also says why it is where it is.)
//!
//! [`queues`] is what the device's specification says about an endpoint's queues, without a kernel.
//! The kernel's objects - sockets, virtqueues, pages - are C's: [`sys`] is the border, and sys/guest.h
//! says who may touch what in which context.

use kernel::prelude::*;

// Written for a crate of its own as well: what is `pub` there is more than this module uses. Its
// directory has the name of a crate.
#[allow(dead_code, unreachable_pub, unused_imports)]
#[path = "core/mod.rs"]
mod queues;
mod sys;

module! {
    type: VirtioVstellar,
    name: "virtio_vstellar",
    authors: ["The strack authors"],
    description: "Sockets of the multipath transport through a virtio device",
    license: "GPL",
}

/// The module while it is loaded: dropping it unregisters the driver.
struct VirtioVstellar {
    _driver: sys::Registration,
}

impl kernel::Module for VirtioVstellar {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(VirtioVstellar {
            _driver: sys::Registration::new()?,
        })
    }
}
