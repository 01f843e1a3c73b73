// SPDX-License-Identifier: GPL-2.0

//! What a device needs of its host beside the pinning of memory.

use super::super::{
    access::Access,
    control::{
        Address,
        Direction,
        EpOption,
        Value, //
    },
    emtt::Emtt,
    memory::{
        Keeper,
        MemoryError, //
    },
    shared::Shared,
    span::Span,
    status::Result, //
};

/// The memory of a device: translated and pinned, and readable by IOVA as [`Shared`].
pub trait Mapping: Keeper + Shared {
    /// Memory that stays pinned and within reach; its addresses are offsets.
    type Ring: Shared;

    /// Pins `span`, which lies in one mapping, and brings it within reach.
    fn open_ring(
        &self,
        span: Span,
        access: Access,
    ) -> core::result::Result<Self::Ring, MemoryError>;

    /// Lets it go: its uses are released when this returns.
    fn close_ring(&self, ring: Self::Ring);
}

/// A connection that was accepted.
#[derive(Debug)]
pub struct Accepted<S> {
    /// Its socket.
    pub socket: S,
    /// Who has connected.
    pub peer: Address,
    /// To which address.
    pub local: Address,
}

/// What a socket is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketInfo {
    /// Its address.
    pub local: Address,
    /// The other end's.
    pub peer: Address,
    /// Paths in use.
    pub paths: u32,
    /// Most payload bytes of a packet.
    pub mss: u32,
    /// Smoothed round-trip time, nanoseconds.
    pub srtt: u64,
    /// Packets sent again.
    pub retransmits: u64,
}

/// The sockets of the namespace that the device belongs to.
///
/// Nothing in here waits for a peer. What a socket has to say later, its host tells
/// the device: [`super::Device::connected`], [`super::Device::pending`],
/// [`super::Device::ended`], [`super::Device::failed`].
pub trait Transport {
    /// A socket.
    type Socket;

    /// A new socket.
    fn socket(&self, messages: bool) -> Result<Self::Socket>;

    /// Binds it; returns the address in full.
    fn bind(&self, socket: &mut Self::Socket, local: &Address) -> Result<Address>;

    /// Lets it accept connections, or changes how many may wait.
    fn listen(&self, socket: &mut Self::Socket, backlog: u32) -> Result;

    /// Begins to connect; after `timeout_ms`, unless that is zero, it has failed.
    fn connect(&self, socket: &mut Self::Socket, peer: &Address, timeout_ms: u32) -> Result;

    /// Takes a connection that waits, or says `Again`.
    fn accept(&self, socket: &mut Self::Socket) -> Result<Accepted<Self::Socket>>;

    /// Has what a listener has to say looked at in `ms`, although nothing may happen to it until then.
    fn look_in(&self, socket: &mut Self::Socket, ms: u32);

    /// Ends one direction or both.
    fn shutdown(&self, socket: &mut Self::Socket, direction: Direction) -> Result;

    /// Resets the connection. The socket stays, and is not connected any more.
    fn abort(&self, socket: &mut Self::Socket) -> Result;

    /// Sets an option; returns the value in effect.
    fn set_option(
        &self,
        socket: &mut Self::Socket,
        option: EpOption,
        value: &[u8],
    ) -> Result<Value>;

    /// The value of an option.
    fn option(&self, socket: &Self::Socket, option: EpOption) -> Result<Value>;

    /// How large its send and its receive buffer were made.
    fn buffers(&self, socket: &Self::Socket) -> Result<[u32; 2]>;

    /// Addresses and numbers.
    fn info(&self, socket: &Self::Socket) -> SocketInfo;

    /// The socket goes away; with `abort`, without sending what is left.
    ///
    /// Work entries that were under way in it end, and what they used of `emtt` is given back.
    fn close(&self, socket: Self::Socket, abort: bool, emtt: &mut Emtt);
}

/// All that a device needs.
pub trait Host: Mapping + Transport {}

impl<T: Mapping + Transport> Host for T {}
