// SPDX-License-Identifier: GPL-2.0

//! AF_STRACK sockets of a device.

use super::{
    bindings::{
        self,
        vstellar_address, //
    },
    loan::Loan,
    net::Net,
    page::Pieces,
    vdpa::Vdpa, //
};
use core::ptr::{
    null_mut,
    NonNull, //
};
use kernel::{
    error::to_result,
    ffi::{
        c_int,
        c_long, //
    },
    prelude::*, //
};

/// Pieces of memory that a call receives into, at most.
pub(crate) const PIECES_MAX: usize = bindings::VSTELLAR_PIECES_MAX as usize;

/// A socket that wakes the device's work.
///
/// # Invariants
///
/// The pointer is from `vstellar_c_socket_new()` or `vstellar_c_socket_accept()`, and
/// `vstellar_c_socket_close()` was not called for it.
pub(crate) struct Socket(NonNull<bindings::vstellar_socket>);

// SAFETY: A socket belongs to no thread.
unsafe impl Send for Socket {}
// SAFETY: As above; it has a lock of its own.
unsafe impl Sync for Socket {}

/// What poll(2) would say of a socket.
#[derive(Clone, Copy)]
pub(crate) struct Readiness(u32);

impl Readiness {
    /// There is something to be received or accepted.
    pub(crate) fn readable(self) -> bool {
        self.0 & bindings::POLLIN != 0
    }

    /// It is connected, and there is room.
    pub(crate) fn writable(self) -> bool {
        self.0 & bindings::POLLOUT != 0
    }

    /// It has failed.
    pub(crate) fn failed(self) -> bool {
        self.0 & bindings::POLLERR != 0
    }
}

impl Socket {
    /// A new one in a namespace. It wakes the work of `vdpa`, and is dropped before that goes.
    pub(crate) fn new(net: &Net, vdpa: &Vdpa) -> Result<Socket> {
        let mut socket = null_mut();
        // SAFETY: The namespace and the device are there, `socket` is valid for a write.
        to_result(unsafe {
            bindings::vstellar_c_socket_new(net.as_ptr(), vdpa.as_ptr(), &mut socket)
        })?;
        // INVARIANT: It was made just now.
        NonNull::new(socket).map(Socket).ok_or(ENOMEM)
    }

    pub(crate) fn bind(&self, local: &vstellar_address) -> Result {
        // SAFETY: By the type invariant.
        to_result(unsafe { bindings::vstellar_c_socket_bind(self.0.as_ptr(), local) })
    }

    pub(crate) fn listen(&self, backlog: c_int) -> Result {
        // SAFETY: By the type invariant.
        to_result(unsafe { bindings::vstellar_c_socket_listen(self.0.as_ptr(), backlog) })
    }

    /// Begins to connect; what becomes of it is seen by polling.
    pub(crate) fn connect(&self, peer: &vstellar_address) -> Result {
        // SAFETY: By the type invariant.
        let result = unsafe { bindings::vstellar_c_socket_connect(self.0.as_ptr(), peer) };
        if result == -(bindings::EINPROGRESS as c_int) {
            return Ok(());
        }
        to_result(result)
    }

    /// A connection that waits, or `EAGAIN`.
    pub(crate) fn accept(&self) -> Result<Socket> {
        let mut accepted = null_mut();
        // SAFETY: By the type invariant; `accepted` is valid for a write.
        to_result(unsafe { bindings::vstellar_c_socket_accept(self.0.as_ptr(), &mut accepted) })?;
        // INVARIANT: It was made just now.
        NonNull::new(accepted).map(Socket).ok_or(ENOMEM)
    }

    /// `how` as for shutdown(2).
    pub(crate) fn shutdown(&self, how: c_int) -> Result {
        // SAFETY: By the type invariant.
        to_result(unsafe { bindings::vstellar_c_socket_shutdown(self.0.as_ptr(), how) })
    }

    /// Resets the connection; the socket is not connected any more.
    pub(crate) fn abort(&self) -> Result {
        // SAFETY: By the type invariant.
        to_result(unsafe { bindings::vstellar_c_socket_abort(self.0.as_ptr()) })
    }

    /// Its own address, or the other end's.
    pub(crate) fn name(&self, peer: bool) -> Result<vstellar_address> {
        let mut address = vstellar_address {
            ip: [0; 16],
            port: 0,
        };
        // SAFETY: By the type invariant; `address` is valid for a write.
        to_result(unsafe {
            bindings::vstellar_c_socket_name(self.0.as_ptr(), peer, &mut address)
        })?;
        Ok(address)
    }

    /// Sets an option, as setsockopt(2).
    pub(crate) fn set_option(&self, level: u32, name: u32, value: &[u8]) -> Result {
        let (level, name) = (c_int::try_from(level)?, c_int::try_from(name)?);
        let len = c_int::try_from(value.len())?;
        // SAFETY: By the type invariant; the bytes are only read.
        to_result(unsafe {
            let value = value.as_ptr().cast();
            bindings::vstellar_c_socket_set_option(self.0.as_ptr(), level, name, value, len)
        })
    }

    /// Reads an option, as getsockopt(2); returns how many bytes it has.
    pub(crate) fn option(&self, level: u32, name: u32, into: &mut [u8]) -> Result<usize> {
        let (level, name) = (c_int::try_from(level)?, c_int::try_from(name)?);
        let mut len = c_int::try_from(into.len())?;
        // SAFETY: By the type invariant; as many bytes as are said are valid for writes, and so is
        // their number.
        to_result(unsafe {
            let into = into.as_mut_ptr().cast();
            bindings::vstellar_c_socket_option(self.0.as_ptr(), level, name, into, &mut len)
        })?;
        Ok(usize::try_from(len)?.min(into.len()))
    }

    /// Its numbers, which are zero where there is no connection.
    pub(crate) fn info(&self) -> Result<bindings::strack_info> {
        let mut info = bindings::strack_info::default();
        let len = size_of_val(&info);
        // SAFETY: The structure has no padding (its C definition is all fixed-size words in order),
        // and is valid whatever its bytes are.
        let bytes = unsafe { core::slice::from_raw_parts_mut((&raw mut info).cast::<u8>(), len) };
        self.option(bindings::SOL_STRACK, bindings::STRACK_INFO, bytes)?;
        Ok(info)
    }

    /// Wakes the device's work in that time, once.
    pub(crate) fn expire_in(&self, ms: u32) {
        // SAFETY: By the type invariant.
        unsafe { bindings::vstellar_c_socket_expire_in(self.0.as_ptr(), ms) }
    }

    /// Whether that time is over.
    pub(crate) fn expired(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::vstellar_c_socket_expired(self.0.as_ptr()) }
    }

    /// Sends what there is room for; `EAGAIN` if there is none. With a `loan`, packets refer to the memory
    /// itself, for as long as they refer to the loan.
    pub(crate) fn send(&self, data: &Pieces, more: bool, loan: Option<&Loan>) -> Result<usize> {
        let (pieces, number) = data.as_raw();
        let loan = loan.map_or(null_mut(), Loan::as_ptr);
        // SAFETY: By the type invariants: the memory of the pieces is there during the call, and the pages
        // stay pages of the same memory for as long as somebody has a reference to them.
        count(unsafe {
            let (socket, len) = (self.0.as_ptr(), data.bytes());
            bindings::vstellar_c_socket_send(socket, pieces, number, len, more, loan)
        })
    }

    /// Receives what is there, nothing at the end; `EAGAIN` if there is nothing yet.
    pub(crate) fn recv(&self, into: &Pieces) -> Result<usize> {
        let (pieces, number) = into.as_raw();
        // SAFETY: By the type invariants: the memory of the pieces is there during the call, and it is
        // memory that the driver has given to be written to.
        count(unsafe {
            bindings::vstellar_c_socket_recv(self.0.as_ptr(), pieces, number, into.bytes())
        })
    }

    /// Whether something has happened since the last call.
    pub(crate) fn woken(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::vstellar_c_socket_woken(self.0.as_ptr()) }
    }

    pub(crate) fn poll(&self) -> Readiness {
        // SAFETY: By the type invariant.
        Readiness(unsafe { bindings::vstellar_c_socket_poll(self.0.as_ptr()) })
    }

    /// Why it has failed, if that was not told yet.
    pub(crate) fn error(&self) -> Result {
        // SAFETY: By the type invariant.
        to_result(unsafe { bindings::vstellar_c_socket_error(self.0.as_ptr()) })
    }

    /// Ends it; with `abort` without sending what is left.
    pub(crate) fn close(self, abort: bool) {
        // SAFETY: By the type invariant; it is not dropped as well.
        unsafe { bindings::vstellar_c_socket_close(self.0.as_ptr(), abort) }
        core::mem::forget(self);
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, and this is the end of it.
        unsafe { bindings::vstellar_c_socket_close(self.0.as_ptr(), true) }
    }
}

fn count(result: c_long) -> Result<usize> {
    match usize::try_from(result) {
        Ok(n) => Ok(n),
        Err(_) => Err(Error::from_errno(c_int::try_from(result)?)),
    }
}
