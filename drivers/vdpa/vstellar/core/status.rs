// SPDX-License-Identifier: GPL-2.0

//! How a command, a work entry or an endpoint came out.
//!
//! Shared with the driver, as are [`super::abi`], [`super::bytes`] and [`super::event_index`]: these
//! files ask for nothing of the rest.

/// `enum virtio_vstellar_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// A field is out of range, or a length wrong.
    Inval = 1,
    /// No such object, option or name.
    NoEnt = 2,
    /// Not allowed to this device, or by the rights of the memory.
    Perm = 3,
    /// The object or slot is in use.
    Busy = 4,
    /// No room in the completion queue.
    NoSpc = 5,
    /// The device has as many as it may have.
    Quota = 6,
    /// The address is not mapped.
    Fault = 7,
    /// Not in this state of the object.
    State = 8,
    /// Unknown command, type or operation.
    NotSupp = 9,
    /// Nothing there yet, or too many a second.
    Again = 10,
    /// The peer did not answer.
    TimedOut = 11,
    /// The peer refused.
    ConnRefused = 12,
    /// There is no route.
    NetUnreach = 13,
    /// Someone has that port.
    AddrInUse = 14,
    /// The device has not got that address.
    AddrNotAvail = 15,
    /// The host has no memory, or failed otherwise.
    Io = 16,
    /// The driver is too old.
    Version = 17,
    /// The peer reset the connection.
    ConnReset = 18,
    /// Ended before it was done.
    Canceled = 19,
    /// The device has to be reset.
    Fatal = 255,
}

impl Status {
    /// As it stands in a response, a completion or a slot.
    pub const fn code(self) -> u16 {
        self as u16
    }
}

/// What a fallible operation of the model returns; never `Err(Status::Ok)`.
pub type Result<T = ()> = core::result::Result<T, Status>;
