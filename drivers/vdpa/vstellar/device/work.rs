// SPDX-License-Identifier: GPL-2.0

//! A device's work: commands, kicked doorbells, and events.
//!
//! A round does a bounded amount of each; if there is more, there is another round. Commands may take
//! long, because they pin memory, so that it is time which bounds them: between rounds others get at the
//! state of the device, who set it up, take memory away, or ask for its counters.

use super::{
    config,
    Device,
    State, //
};
use crate::{
    model::{
        abi,
        control::Op,
        memory::MemoryError,
        queue::Violation,
        status::Status, //
    },
    platform::Platform,
    sys::{
        self,
        bindings::{
            VIRTIO_VSTELLAR_VQ_CTRL,
            VIRTIO_VSTELLAR_VQ_EVENT,
            VIRTIO_VSTELLAR_VQ_KICK, //
        },
        vdpa::Vdpa, //
    }, //
};
use kernel::prelude::*;

/// Commands, and events, in one round.
const BUDGET: usize = 64;

/// Nanoseconds after which no other command is begun in a round.
const COMMANDS_NS: u64 = 2_000_000;

/// Whether there is more to do. What is later is more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    /// There may be, after so many nanoseconds: nobody will say so.
    Watch(u64),
    More,
}

impl Left {
    /// What is left of both.
    pub(super) fn and(self, other: Left) -> Left {
        match (self, other) {
            (Left::Nothing, left) | (left, Left::Nothing) => left,
            (Left::Watch(one), Left::Watch(other)) => Left::Watch(one.min(other)),
            (Left::More, _) | (_, Left::More) => Left::More,
        }
    }
}

impl Device {
    /// A round of the work.
    pub(crate) fn work(&self) {
        let mut state = self.state.lock();
        match state.round(&self.vdpa, &self.platform) {
            Ok(Left::Nothing) => {}
            Ok(Left::Watch(pause)) => self.vdpa.queue_work_in(pause),
            Ok(Left::More) => self.vdpa.queue_work(),
            // said once: what is broken stays so until a reset
            Err(Violation::Broken) => {}
            Err(_) => state.need_reset(),
        }
        self.platform.settle();
    }
}

/// Whether a request is for a new endpoint.
fn is_ep_create(request: &[u8]) -> bool {
    request.starts_with(&(Op::EpCreate as u16).to_le_bytes())
}

impl State {
    fn round(&mut self, vdpa: &Vdpa, platform: &Platform) -> Result<Left, Violation> {
        let called = vdpa.take_call();
        let kicks = vdpa.take_kicks(VIRTIO_VSTELLAR_VQ_KICK as u16);
        let counters = self.model.counters();
        counters.kicks = counters.kicks.saturating_add(u64::from(kicks));
        self.unseen.doorbells |= kicks > 0;
        self.unseen.commands |= vdpa.take_kicks(VIRTIO_VSTELLAR_VQ_CTRL as u16) > 0;
        let commands = if self.unseen.commands {
            self.commands(platform)?
        } else {
            Left::Nothing
        };
        self.unseen.commands = commands == Left::More;
        if self.unseen.doorbells && !self.model.is_quiesced() {
            self.unseen.doorbells = false;
            self.traffic.sweep(&mut self.model);
        }
        let loans = self.traffic.collect(&mut self.model, platform);
        let traffic = self.traffic.serve(&mut self.model, platform, called);
        let traffic = traffic.and(loans);
        let events = self.events(platform)?;
        Ok(commands.and(traffic).and(events))
    }

    /// Answers commands.
    fn commands(&mut self, platform: &Platform) -> Result<Left, Violation> {
        let event_index = config::event_index(self.features);
        let Some(queue) = self.queues.get_mut(VIRTIO_VSTELLAR_VQ_CTRL as usize) else {
            return Ok(Left::Nothing);
        };
        let Some((ring, callback)) = queue.ring(event_index)? else {
            return Ok(Left::Nothing);
        };
        let mut request = KVec::from_elem(0u8, abi::CTRL_MAX, GFP_KERNEL)
            .map_err(|_| Violation::Memory(MemoryError::Quota))?;
        let mut left = Left::More;
        let begun = sys::now();
        let mut now = begun;
        for _ in 0..BUDGET {
            let Some(chain) = ring.pop(platform)? else {
                if ring.enable_kick(platform)? {
                    continue;
                }
                left = Left::Nothing;
                break;
            };
            // Without a request there is no response: what cannot be read or written comes back empty. One
            // that is too long is refused, for want of a header.
            let written = chain.gather(platform, &mut request).and_then(|len| {
                let bytes = len.and_then(|len| request.get(..len)).unwrap_or_default();
                let room = chain.writable_len();
                let mut reply = self.model.execute(platform, bytes, room, now);
                if is_ep_create(bytes) && reply.status == Status::Ok {
                    // one that is not served is of no use, and only a reset ends it
                    if self.traffic.add(reply.handle).is_err() {
                        reply.status = Status::Fatal;
                    }
                }
                chain.scatter(platform, reply.encode().as_slice())
            });
            ring.push(platform, chain.head(), written.unwrap_or(0))?;
            now = sys::now();
            if now.saturating_sub(begun) >= COMMANDS_NS {
                break;
            }
        }
        if ring.wants_call(platform)? {
            callback.call();
        }
        Ok(left)
    }

    /// Tells the driver what has happened, as far as it has posted buffers.
    fn events(&mut self, platform: &Platform) -> Result<Left, Violation> {
        let event_index = config::event_index(self.features);
        let Some(queue) = self.queues.get_mut(VIRTIO_VSTELLAR_VQ_EVENT as usize) else {
            return Ok(Left::Nothing);
        };
        let Some((ring, callback)) = queue.ring(event_index)? else {
            return Ok(Left::Nothing);
        };
        let mut left = Left::Nothing;
        for round in 0.. {
            if !self.model.has_event() {
                break;
            }
            if round == BUDGET {
                left = Left::More;
                break;
            }
            let Some(chain) = ring.pop(platform)? else {
                if ring.enable_kick(platform)? {
                    continue;
                }
                if !core::mem::replace(&mut self.starved, true) {
                    self.model.event_lost();
                }
                break;
            };
            self.starved = false;
            let event = self.model.take_event();
            let event = event.as_ref().map_or(&[][..], |event| event.as_slice());
            let written = chain.scatter(platform, event);
            ring.push(platform, chain.head(), written.unwrap_or(0))?;
        }
        if ring.wants_call(platform)? {
            callback.call();
        }
        Ok(left)
    }
}
