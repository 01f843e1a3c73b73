// SPDX-License-Identifier: GPL-2.0
//! Packets, and where they are kept while they are on their way.
//!
//! Queues and events hold numbers of packets; the packets themselves stay in one
//! place, whose slots are used again at once and therefore stay in the cache.

use super::LinkId;
use crate::host::Body;
use crate::host::Place;

/// The slot of a packet.
pub type PacketId = u32;

/// A packet as the network sees it.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Host it comes from.
    pub src: u32,
    /// Host it is for.
    pub dst: u32,
    /// End of a connection it is for, which stands for the destination port.
    pub end: u32,
    /// UDP or TCP source port.
    pub port: u16,
    /// Bytes on the wire.
    pub size: u32,
    /// Goes ahead of data at each link, and is not marked.
    pub control: bool,
    /// Switches may mark it.
    pub ect: bool,
    /// A switch has marked it.
    pub ce: bool,
    /// A switch has taken its payload away.
    pub trimmed: bool,
    /// It will be lost on the first wire, for the sake of an experiment.
    pub doomed: bool,
    /// Link it came by to where it is now.
    pub came_by: LinkId,
    /// What the transport wrote.
    pub body: Body,
}

impl Packet {
    /// A packet that leaves `place` for the other end.
    pub fn new(place: &Place, port: u16, size: u32, body: Body) -> Self {
        Self {
            src: place.host,
            dst: place.peer,
            end: place.peer_end,
            port,
            size,
            control: false,
            ect: false,
            ce: false,
            trimmed: false,
            doomed: false,
            came_by: 0,
            body,
        }
    }
}

/// All packets on their way.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Vec<Packet>,
    free: Vec<PacketId>,
}

impl Packets {
    /// Keeps a packet.
    pub fn keep(&mut self, packet: Packet) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.slots[id as usize] = packet;
            return id;
        }
        self.slots.push(packet);
        (self.slots.len() - 1) as PacketId
    }

    /// A packet is gone.
    pub fn forget(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// A packet.
    pub fn get(&self, id: PacketId) -> &Packet {
        &self.slots[id as usize]
    }

    /// A packet, to change it.
    pub fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.slots[id as usize]
    }

    /// How many packets are on their way.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
