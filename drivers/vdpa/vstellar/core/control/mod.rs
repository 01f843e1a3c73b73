// SPDX-License-Identifier: GPL-2.0

//! Control commands: what they look like, and what is wrong with one regardless of the device.
//!
//! A request is copied from the guest once, as a whole, and [`Request::parse`] takes
//! it apart: header, length, reserved fields, ranges that are the same for any
//! device. What comes out is a [`Command`] whose fields mean something;
//! [`super::device`] then holds them against what there is and what is allowed.

use super::{
    abi,
    bytes::{
        Bytes,
        Fields, //
    },
    status::{
        Result,
        Status, //
    },
    table::Handle, //
};

pub mod address;
mod command;
pub mod option;
mod parse;

pub use address::Address;
pub use command::{
    Advice,
    Command,
    CqCreate,
    Direction,
    EpCreate,
    EpRings,
    MrReg,
    SegmentList, //
};
pub use option::{
    EpOption,
    Value, //
};

/// Bytes of the header of a request and of a response.
pub const HEADER_SIZE: usize = 16;

/// Most bytes of payload in a response.
pub const REPLY_MAX: usize = 128;

/// `enum virtio_vstellar_cmd`.
#[allow(missing_docs)] // the header has it
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Op {
    Hello = 0x01,
    DbAttach = 0x10,
    DbDetach = 0x11,
    CqCreate = 0x20,
    CqDestroy = 0x21,
    EpCreate = 0x30,
    EpBind = 0x31,
    EpListen = 0x32,
    EpConnect = 0x33,
    EpAccept = 0x34,
    EpShutdown = 0x35,
    EpDestroy = 0x36,
    EpSetopt = 0x37,
    EpGetopt = 0x38,
    EpQuery = 0x39,
    MrReg = 0x40,
    MrDereg = 0x41,
    MrAdvise = 0x42,
    DevStats = 0x50,
    Quiesce = 0x60,
    Resume = 0x61,
}

impl Op {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::Hello,
        Self::DbAttach,
        Self::DbDetach,
        Self::CqCreate,
        Self::CqDestroy,
        Self::EpCreate,
        Self::EpBind,
        Self::EpListen,
        Self::EpConnect,
        Self::EpAccept,
        Self::EpShutdown,
        Self::EpDestroy,
        Self::EpSetopt,
        Self::EpGetopt,
        Self::EpQuery,
        Self::MrReg,
        Self::MrDereg,
        Self::MrAdvise,
        Self::DevStats,
        Self::Quiesce,
        Self::Resume,
    ];

    fn from_code(code: u16) -> Result<Self> {
        let found = Self::ALL.iter().find(|&&op| op as u16 == code);
        found.copied().ok_or(Status::NotSupp)
    }

    /// Whether the header names an object.
    const fn has_handle(self) -> bool {
        matches!(
            self,
            Self::CqDestroy
                | Self::EpBind
                | Self::EpListen
                | Self::EpConnect
                | Self::EpAccept
                | Self::EpShutdown
                | Self::EpDestroy
                | Self::EpSetopt
                | Self::EpGetopt
                | Self::EpQuery
        )
    }

    /// Most bytes of payload in the response.
    const fn reply_len(self) -> usize {
        match self {
            Self::Hello | Self::DbAttach | Self::MrReg => 8,
            Self::EpBind => address::ADDRESS_SIZE,
            Self::EpAccept => 2 * address::ADDRESS_SIZE,
            Self::EpSetopt | Self::EpGetopt => abi::OPT_MAX,
            Self::EpQuery => 96,
            Self::DevStats => REPLY_MAX,
            _ => 0,
        }
    }
}

/// A request whose header is right.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Returned in the response.
    pub cookie: u32,
    /// The object named in the header.
    pub handle: Handle,
    /// What is asked for.
    pub command: Command<'a>,
}

/// A request that cannot be carried out, with what is known of its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Returned in the response.
    pub cookie: u32,
    /// The object named in the header.
    pub handle: Handle,
    /// Why.
    pub status: Status,
}

impl<'a> Request<'a> {
    /// Takes a request apart, for whose response there are `room` bytes.
    pub fn parse(request: &'a [u8], room: u64) -> core::result::Result<Self, Refused> {
        let mut header = Header::default();
        let command = header.parse(request, room);
        let (cookie, handle) = (header.cookie, Handle::from_raw(header.handle));
        match command {
            Ok(command) => Ok(Self {
                cookie,
                handle,
                command,
            }),
            Err(status) => Err(Refused {
                cookie,
                handle,
                status,
            }),
        }
    }
}

#[derive(Default)]
struct Header {
    cookie: u32,
    handle: u32,
}

impl Header {
    fn parse<'a>(&mut self, request: &'a [u8], room: u64) -> Result<Command<'a>> {
        let mut fields = Fields::new(request);
        let (op, flags) = (fields.take16()?, fields.take16()?);
        self.cookie = fields.take32()?;
        self.handle = fields.take32()?;
        let len = fields.take32()?;
        let op = Op::from_code(op)?;
        let payload = fields.rest();
        let needed = HEADER_SIZE.saturating_add(op.reply_len());
        if flags != 0
            || payload.len() as u64 != u64::from(len)
            || request.len() > abi::CTRL_MAX
            || room < needed as u64
            || (!op.has_handle() && self.handle != 0)
        {
            return Err(Status::Inval);
        }
        parse::command(op, payload)
    }
}

/// A response.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// That of the request.
    pub cookie: u32,
    /// Outcome.
    pub status: Status,
    /// What was created, else the object of the request.
    pub handle: Handle,
    /// What the command returns.
    pub payload: Bytes<REPLY_MAX>,
}

impl Reply {
    /// As the guest gets it.
    pub fn encode(&self) -> Bytes<{ HEADER_SIZE + REPLY_MAX }> {
        let payload = match self.status {
            Status::Ok => self.payload.as_slice(),
            _ => &[],
        };
        Bytes::new()
            .put32(self.cookie)
            .put16(self.status.code())
            .put16(0)
            .put32(self.handle.raw())
            // no more than REPLY_MAX
            .put32(payload.len() as u32)
            .put(payload)
    }
}

impl From<Refused> for Reply {
    fn from(refused: Refused) -> Self {
        Self {
            cookie: refused.cookie,
            status: refused.status,
            handle: refused.handle,
            payload: Bytes::new(),
        }
    }
}
