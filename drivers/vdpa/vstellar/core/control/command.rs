// SPDX-License-Identifier: GPL-2.0

//! The commands, with fields that mean something.

use super::{
    super::{
        access::Access,
        span::Span, //
    },
    Address,
    EpOption,
    Handle,
    Value, //
};

/// What a request asks for. The object named in its header is in [`super::Request::handle`].
#[derive(Clone, Copy, Debug)]
pub enum Command<'a> {
    /// The driver introduces itself.
    Hello {
        /// Its revision.
        revision: u32,
        /// Its name, padded with zeros.
        name: [u8; 16],
    },
    /// Doorbell area.
    DbAttach {
        /// Where it is.
        area: Span,
        /// How many pages.
        npages: u32,
    },
    /// The area goes away.
    DbDetach,
    /// A new completion queue.
    CqCreate(CqCreate),
    /// It goes away.
    CqDestroy,
    /// A new endpoint.
    EpCreate(EpCreate),
    /// It gets an address.
    EpBind(Address),
    /// It accepts connections.
    EpListen {
        /// Most that wait.
        backlog: u32,
    },
    /// It begins a connection.
    EpConnect {
        /// Whereto.
        peer: Address,
        /// Time it may take, or zero.
        timeout_ms: u32,
    },
    /// An endpoint becomes a connection of the listener named in the header.
    EpAccept {
        /// Which.
        endpoint: Handle,
    },
    /// A direction ends.
    EpShutdown(Direction),
    /// The connection is reset, and the endpoint stays until its buffers are free.
    EpAbort,
    /// The endpoint goes away.
    EpDestroy {
        /// Without sending what is left.
        abort: bool,
    },
    /// An option is set.
    EpSetopt {
        /// Which.
        option: EpOption,
        /// To what; of the form that the option has.
        value: Value,
    },
    /// An option is wanted.
    EpGetopt {
        /// Which.
        option: EpOption,
        /// Most bytes of the value.
        room: usize,
    },
    /// State and numbers of an endpoint are wanted.
    EpQuery,
    /// A new memory region.
    MrReg(MrReg<'a>),
    /// It goes away.
    MrDereg {
        /// Which.
        key: u32,
    },
    /// What will be used of it, and what will not.
    MrAdvise {
        /// Which.
        key: u32,
        /// What will happen.
        advice: Advice,
        /// To which bytes of it.
        range: Span,
    },
    /// The counters are wanted.
    DevStats,
    /// Stop to take work entries.
    Quiesce,
    /// Take them again.
    Resume,
}

/// A new completion queue.
#[derive(Clone, Copy, Debug)]
pub struct CqCreate {
    /// Where its entries are.
    pub ring: Span,
    /// How many, as the logarithm.
    pub log2: u16,
    /// Events are wanted.
    pub events: bool,
    /// Doorbell slot.
    pub slot: u32,
    /// For events.
    pub cookie: u64,
}

/// A new endpoint.
#[derive(Clone, Copy, Debug)]
pub struct EpCreate {
    /// It keeps message boundaries.
    pub messages: bool,
    /// None if it will only listen.
    pub rings: Option<EpRings>,
    /// For events.
    pub cookie: u64,
    /// Who owns it in the guest.
    pub uid_tag: u32,
    /// Where in the guest.
    pub netns_tag: u32,
}

/// The rings of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct EpRings {
    /// Completion queue of the send queue.
    pub send_cq: Handle,
    /// Completion queue of the receive queue.
    pub recv_cq: Handle,
    /// Where send entries are.
    pub sq: Span,
    /// Where receive entries are.
    pub rq: Span,
    /// How many send entries, as the logarithm.
    pub sq_log2: u16,
    /// How many receive entries, as the logarithm.
    pub rq_log2: u16,
    /// Doorbell slot.
    pub slot: u32,
}

/// Which direction of a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// What is received.
    Read,
    /// What is sent.
    Write,
    /// Both.
    Both,
}

/// What will happen to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// It will be used: pin it now.
    Prefetch,
    /// It will not be used for long: unpin it.
    Release,
}

/// A new memory region.
#[derive(Clone, Copy, Debug)]
pub struct MrReg<'a> {
    /// Its addresses in work entries.
    pub addrs: Span,
    /// What it may be used for.
    pub access: Access,
    /// Pin it on first use.
    pub lazy: bool,
    /// Its memory.
    pub segments: SegmentList<'a>,
}

/// Where the segments of a memory region are: 16 bytes each.
#[derive(Clone, Copy, Debug)]
pub enum SegmentList<'a> {
    /// In the request.
    Inline(&'a [u8]),
    /// In memory of the guest.
    Table(Span),
}
