// SPDX-License-Identifier: GPL-2.0
//! The network: links, switches and the packets in them.
//!
//! A packet that is put on a link waits there, is sent, and arrives at the link's
//! end. At a switch it is put on the next link; at a host the caller gets it.
//!
//! With priority flow control a switch that holds too much of what came by one link
//! tells the near end of it to stop. All data on that link then waits, whatever it
//! is for: that is the head-of-line blocking that spreads one hot spot over a
//! fabric.

mod link;
mod packet;
mod switch;

pub use self::link::Ecn;
pub use self::link::Link;
pub use self::link::LinkCounts;
pub use self::link::Node;
pub use self::link::QueueRules;
pub use self::packet::Packet;
pub use self::packet::PacketId;
pub use self::packet::Packets;
pub use self::switch::flow_hash;
pub use self::switch::Choice;
pub use self::switch::Switch;

use crate::event::Event;
use crate::event::Events;
use crate::random::Random;

/// Number of a link.
pub type LinkId = u32;

/// Bytes that are left of a packet whose payload was taken away.
pub const TRIMMED_SIZE: u32 = 64;

/// When a switch stops the sender on one of its links, by the bytes that came by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// Stop above this.
    pub stop: u64,
    /// Go on below this.
    pub go: u64,
}

/// Links, switches and packets.
#[derive(Debug)]
pub struct Net {
    /// All links.
    pub links: Vec<Link>,
    /// Names of the links, as `tor0:agg1`.
    pub names: Vec<String>,
    /// All switches.
    pub switches: Vec<Switch>,
    /// Links of each host into the network, one for each plane.
    pub uplinks: Vec<Vec<LinkId>>,
    /// Where in the tree each host is.
    pub positions: Vec<u32>,
    /// How switches choose.
    pub choice: Choice,
    /// Priority flow control, if there is any.
    pub pfc: Option<Pfc>,
    /// All packets.
    pub packets: Packets,
    /// For marks and losses.
    pub random: Random,
}

impl Net {
    /// Puts a packet on a link.
    pub fn put(&mut self, events: &mut Events, id: LinkId, packet_id: PacketId) {
        let now = events.now();
        let link = &mut self.links[id as usize];
        let packet = self.packets.get_mut(packet_id);
        if !packet.control {
            link.counts.offered += u64::from(packet.size);
        }
        if !link.fits(packet.control, u64::from(packet.size)) {
            let trimmable = link.rules.trim && !packet.control;
            if !trimmable || !link.fits(true, u64::from(TRIMMED_SIZE)) {
                link.counts.dropped += 1;
                self.packets.forget(packet_id);
                return;
            }
            link.counts.trimmed += 1;
            packet.trimmed = true;
            packet.control = true;
            packet.size = TRIMMED_SIZE;
        }
        let (control, size) = (packet.control, u64::from(packet.size));
        let came_by = packet.came_by;
        link.push(now, packet_id, control, size);
        let idle = link.free_at <= now;
        if !control {
            self.hold(events, id, came_by, size);
        }
        if idle {
            self.send(events, id);
        } else {
            self.wake(events, id);
        }
    }

    /// A switch holds more of what came by a link.
    fn hold(&mut self, events: &mut Events, out: LinkId, came_by: LinkId, size: u64) {
        let at_switch = matches!(self.links[out as usize].from, Node::Switch(_));
        let (Some(pfc), true) = (self.pfc, at_switch) else {
            return;
        };
        let link = &mut self.links[came_by as usize];
        link.behind += size;
        if link.behind > pfc.stop && !link.stopping {
            link.stopping = true;
            events.at(events.now() + link.delay, Event::Pause(came_by, true));
        }
    }

    /// A switch holds less of it.
    fn release(&mut self, events: &mut Events, out: LinkId, came_by: LinkId, size: u64) {
        let at_switch = matches!(self.links[out as usize].from, Node::Switch(_));
        let (Some(pfc), true) = (self.pfc, at_switch) else {
            return;
        };
        let link = &mut self.links[came_by as usize];
        link.behind -= size;
        if link.behind < pfc.go && link.stopping {
            link.stopping = false;
            events.at(events.now() + link.delay, Event::Pause(came_by, false));
        }
    }

    /// The near end of a link is told to stop or to go on.
    pub fn pause(&mut self, events: &mut Events, id: LinkId, stop: bool) {
        let link = &mut self.links[id as usize];
        link.paused = stop;
        link.counts.pauses += u64::from(stop);
        if !stop {
            self.wake(events, id);
        }
    }

    /// Sees to it that a link looks at its queue when it is free.
    pub fn wake(&mut self, events: &mut Events, id: LinkId) {
        let link = &mut self.links[id as usize];
        if !link.woken {
            link.woken = true;
            events.at(link.free_at, Event::Free(id));
        }
    }

    /// A link is free: it sends the next packet, if one waits.
    pub fn free(&mut self, events: &mut Events, id: LinkId) {
        let link = &mut self.links[id as usize];
        link.woken = false;
        if link.free_at <= events.now() {
            self.send(events, id);
        } else if link.sendable() {
            self.wake(events, id);
        }
    }

    fn send(&mut self, events: &mut Events, id: LinkId) {
        let now = events.now();
        let link = &mut self.links[id as usize];
        let Some((packet_id, control)) = link.pop() else {
            return;
        };
        let packet = self.packets.get_mut(packet_id);
        let size = u64::from(packet.size);
        let came_by = packet.came_by;
        if !control && packet.ect {
            let p = link.rules.ecn.probability(link.data_bytes());
            if p >= 1.0 || self.random.chance(p) {
                packet.ce = true;
                link.counts.marked += 1;
            }
        }
        link.popped(now, control, size);
        link.free_at = now + link.send_time(size);
        if link.up && !packet.doomed && !self.random.chance(link.loss) {
            packet.came_by = id;
            events.at(link.free_at + link.delay, Event::Arrive(id, packet_id));
        } else {
            link.counts.lost += 1;
            self.packets.forget(packet_id);
        }
        let more = link.sendable();
        if more {
            self.wake(events, id);
        }
        if !control {
            self.release(events, id, came_by, size);
        }
    }

    /// A packet has come out of a link. At a switch it goes on; otherwise this is
    /// the host it has reached.
    pub fn arrive(&mut self, events: &mut Events, id: LinkId, packet_id: PacketId) -> Option<u32> {
        let switch = match self.links[id as usize].to {
            Node::Host(host) => return Some(host),
            Node::Switch(switch) => switch,
        };
        let packet = self.packets.get(packet_id);
        let position = self.positions[packet.dst as usize];
        let switch = &mut self.switches[switch as usize];
        let next = switch.route(self.choice, packet, position, &self.links);
        self.put(events, next, packet_id);
        None
    }
}

#[cfg(test)]
mod tests;
