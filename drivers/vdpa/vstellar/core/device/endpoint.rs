// SPDX-License-Identifier: GPL-2.0

//! Endpoints and completion queues as objects of a device.

use super::super::{
    abi,
    memory::RegionId,
    span::Span,
    status::{
        Result,
        Status, //
    },
    table::Handle,
    work::{
        CompletionQueue,
        Lending,
        WorkQueue, //
    },
};
use super::{
    buffers::Share,
    event::Pending,
    options::OptionSet, //
};

/// `enum virtio_vstellar_ep_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EpState {
    /// As made.
    Created = 0,
    /// Has an address.
    Bound = 1,
    /// Takes connections.
    Listening = 2,
    /// Connects.
    Connecting = 3,
    /// Payload may flow.
    Connected = 4,
    /// Both directions have ended.
    Closed = 5,
    /// Failed.
    Error = 6,
}

/// A ring that the device has within reach.
#[derive(Debug)]
pub struct Ring<R> {
    /// Its addresses.
    pub span: Span,
    /// The mapping that they are in.
    pub region: RegionId,
    /// None when they were unmapped below it.
    pub ring: Option<R>,
}

/// A work queue of an endpoint.
#[derive(Debug)]
pub struct Work<R> {
    /// The entries.
    pub ring: Ring<R>,
    /// Their indices.
    pub queue: WorkQueue,
    /// Where they are completed.
    pub cq: Handle,
}

/// Both work queues of an endpoint.
#[derive(Debug)]
pub struct Queues<R> {
    /// What is to be sent.
    pub send: Work<R>,
    /// What is to be filled.
    pub receive: Work<R>,
    /// What of the send queue is on loan, with F_ZC.
    pub lending: Option<Lending>,
    /// Doorbell slot.
    pub slot: u32,
}

/// An endpoint.
#[derive(Debug)]
pub struct Endpoint<R, S> {
    /// It keeps message boundaries.
    pub messages: bool,
    /// For events.
    pub cookie: u64,
    /// Who owns it in the guest; decides nothing.
    pub uid_tag: u32,
    /// Where in the guest; decides nothing.
    pub netns_tag: u32,
    /// None if it only listens.
    pub queues: Option<Queues<R>>,
    /// Its socket.
    pub socket: S,
    /// Payload bytes taken from the send queue.
    pub tx_bytes: u64,
    /// Payload bytes put into receive buffers.
    pub rx_bytes: u64,
    /// It has failed, for whatever reason, and its entries are to be cancelled, by whoever serves it.
    pub unflushed: bool,
    pub(super) state: EpState,
    pub(super) error: Status,
    pub(super) peer_fin: bool,
    pub(super) sent_fin: bool,
    /// The driver has taken all connections that waited, or that it may for now, and wants to hear of the
    /// next.
    pub(super) accept_armed: bool,
    pub(super) pending: Pending,
    /// What its buffers have of the device's spare.
    pub(super) share: Share,
    /// What its driver has set of its socket.
    pub(super) options: OptionSet,
}

impl<R, S> Endpoint<R, S> {
    /// Its state.
    pub fn state(&self) -> EpState {
        self.state
    }

    /// What made it fail.
    pub fn error(&self) -> Status {
        self.error
    }

    /// As it stands in its slot and in events.
    pub fn state_word(&self) -> u32 {
        let fin = |ended, bit| if ended { bit } else { 0 };
        self.state as u32
            | fin(self.peer_fin, abi::EP_PEER_FIN)
            | fin(self.sent_fin, abi::EP_SENT_FIN)
    }

    /// Whether entries of its send queue may be carried out.
    pub fn check_send(&self) -> Result {
        match self.state {
            EpState::Connected if !self.sent_fin => Ok(()),
            EpState::Error => Err(self.error),
            _ => Err(Status::State),
        }
    }

    /// Whether receive buffers may still be filled: not before it is connected, nor after the end.
    pub fn check_receive(&self) -> Result {
        match self.state {
            EpState::Connected if !self.peer_fin => Ok(()),
            EpState::Error => Err(self.error),
            _ => Err(Status::State),
        }
    }

    /// Moves on, if its state is one of `from`.
    pub(super) fn advance(&mut self, from: &[EpState], to: EpState) -> Result {
        self.check_state(from)?;
        self.state = to;
        Ok(())
    }

    pub(super) fn check_state(&self, allowed: &[EpState]) -> Result {
        if allowed.contains(&self.state) {
            Ok(())
        } else {
            Err(Status::State)
        }
    }
}

/// A completion queue.
#[derive(Debug)]
pub struct Cq<R> {
    /// For events.
    pub cookie: u64,
    /// Events are wanted.
    pub events: bool,
    /// Doorbell slot.
    pub slot: u32,
    /// The entries.
    pub ring: Ring<R>,
    /// Their indices.
    pub queue: CompletionQueue,
    /// Completions that could not be written.
    pub lost: u32,
    /// It is of no use any more.
    pub(super) failed: bool,
    pub(super) pending: Pending,
}
