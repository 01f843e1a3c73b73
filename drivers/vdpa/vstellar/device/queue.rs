// SPDX-License-Identifier: GPL-2.0

//! A virtqueue as its driver has set it up.

use crate::{
    model::queue::{
        Layout,
        SplitQueue,
        Violation, //
    },
    sys::{
        bindings::{
            VIRTIO_VSTELLAR_NVQS,
            VIRTIO_VSTELLAR_VQ_CTRL_SIZE,
            VIRTIO_VSTELLAR_VQ_EVENT_SIZE,
            VIRTIO_VSTELLAR_VQ_KICK_SIZE,
            VIRTIO_VSTELLAR_VQ_SIZE_MAX, //
        },
        vdpa::Callback, //
    }, //
};
use kernel::prelude::*;

/// How many there are.
pub(crate) const COUNT: usize = VIRTIO_VSTELLAR_NVQS as usize;

/// How many entries each has use for.
const SIZES: [u16; COUNT] = [
    VIRTIO_VSTELLAR_VQ_CTRL_SIZE as u16,
    VIRTIO_VSTELLAR_VQ_KICK_SIZE as u16,
    VIRTIO_VSTELLAR_VQ_EVENT_SIZE as u16,
];

/// The most entries that any of them may have: a monitor that knows one size for all
/// queues takes the largest.
const SIZE_MAX: u16 = VIRTIO_VSTELLAR_VQ_SIZE_MAX as u16;

/// How many entries queue `index` has use for; none if there is no such queue.
pub(crate) fn usual_size(index: u16) -> u16 {
    SIZES.get(usize::from(index)).copied().unwrap_or(0)
}

/// One virtqueue.
pub(crate) struct Queue {
    layout: Layout,
    /// How many chains had been taken from it when `ring` was made.
    taken: u16,
    ready: bool,
    /// The ring, from the first look at it on.
    ring: Option<SplitQueue>,
    callback: Callback,
}

impl Queue {
    /// One that is not set up.
    fn new() -> Queue {
        Queue {
            layout: Layout {
                size: 0,
                desc: 0,
                avail: 0,
                used: 0,
            },
            taken: 0,
            ready: false,
            ring: None,
            callback: Callback::none(),
        }
    }

    /// All of a device's.
    pub(crate) fn all() -> [Queue; COUNT] {
        SIZES.map(|_| Queue::new())
    }

    /// Forgets what the driver has set up.
    pub(crate) fn reset(&mut self) {
        *self = Queue::new();
    }

    /// Where its three parts are, as IOVAs. Not to be changed while it is in use.
    pub(crate) fn set_addresses(&mut self, desc: u64, avail: u64, used: u64) -> Result {
        if self.ready {
            return Err(EBUSY);
        }
        if desc % 16 != 0 || avail % 2 != 0 || used % 4 != 0 {
            return Err(EINVAL);
        }
        self.layout = Layout {
            size: self.layout.size,
            desc,
            avail,
            used,
        };
        Ok(())
    }

    /// A size that it cannot have makes that it does not become ready.
    pub(crate) fn set_size(&mut self, size: u32) {
        self.layout.size = match u16::try_from(size) {
            Ok(size) if size <= SIZE_MAX && size.is_power_of_two() => size,
            _ => 0,
        };
    }

    /// Goes on from there, also if it was in use and the device is suspended: between two rounds of its work
    /// no chain is out.
    pub(crate) fn set_taken(&mut self, taken: u16) {
        self.taken = taken;
        self.ring = None;
    }

    pub(crate) fn taken(&self) -> u16 {
        self.ring.as_ref().map_or(self.taken, SplitQueue::taken)
    }

    pub(crate) fn set_callback(&mut self, callback: Callback) {
        self.callback = callback;
    }

    pub(crate) fn set_ready(&mut self, ready: bool) {
        if !ready {
            self.taken = self.taken();
            self.ring = None;
        }
        self.ready = ready && self.layout.size != 0;
    }

    pub(crate) fn ready(&self) -> bool {
        self.ready
    }

    /// The ring, if the queue is ready, and whom to call.
    pub(crate) fn ring(
        &mut self,
        event_index: bool,
    ) -> Result<Option<(&mut SplitQueue, &Callback)>, Violation> {
        if !self.ready {
            return Ok(None);
        }
        let ring = match self.ring.take() {
            Some(ring) => ring,
            None => SplitQueue::new(self.layout, SIZE_MAX, event_index, self.taken)?,
        };
        Ok(Some((self.ring.insert(ring), &self.callback)))
    }
}
