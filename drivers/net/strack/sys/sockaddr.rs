// SPDX-License-Identifier: GPL-2.0

//! `struct sockaddr_strack` as it comes from and goes to user space.
//!
//! It has the layout of `struct sockaddr_in6`: family, port, flow information, address, scope.

use super::bindings;
use crate::carrier::addr::Addr;
use kernel::{
    ffi::c_int,
    prelude::*, //
};

/// Bytes of the structure.
pub(crate) const LEN: usize = core::mem::size_of::<bindings::sockaddr_in6>();

/// Bytes that must be there: `SIN6_LEN_RFC2133`, all but the scope.
const MIN_LEN: usize = LEN - core::mem::size_of::<u32>();

/// An address and port.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SockAddr {
    /// IP address, IPv4 as v4-mapped.
    pub(crate) addr: Addr,
    /// AF_STRACK port.
    pub(crate) port: u16,
    /// Interface index of a link-local address, else zero.
    pub(crate) scope: u32,
}

impl SockAddr {
    /// The wildcard with no port.
    pub(crate) const ANY: SockAddr = SockAddr {
        addr: Addr::ANY,
        port: 0,
        scope: 0,
    };
}

/// What a program passed as an address.
pub(crate) enum Given {
    /// `AF_UNSPEC`: connect() is to undo a connect().
    Unspecified,
    /// An address of this family.
    Address(SockAddr),
}

/// The number that user space knows the family by.
pub(crate) fn family() -> u16 {
    // SAFETY: No requirements.
    u16::try_from(unsafe { bindings::strack_c_family_number() }).unwrap_or(0)
}

/// Reads an address: `EINVAL` when too short, `EAFNOSUPPORT` when of another family.
///
/// # Safety
///
/// `from` points to `len` bytes, as the system call layer has copied them.
pub(crate) unsafe fn read(from: *const u8, len: c_int) -> Result<Given> {
    let len = usize::try_from(len)?;
    let mut raw = bindings::sockaddr_in6::default();
    if len < core::mem::size_of::<u16>() {
        return Err(EINVAL);
    }
    // SAFETY: Not more than `len` bytes are read, into a structure at least as large in which any
    // bytes are valid.
    unsafe {
        core::ptr::copy_nonoverlapping(from, (&raw mut raw).cast::<u8>(), len.min(LEN));
    }
    if c_int::from(raw.sin6_family) == bindings::AF_UNSPEC as c_int {
        return Ok(Given::Unspecified);
    }
    if len < MIN_LEN {
        return Err(EINVAL);
    }
    if raw.sin6_family != family() {
        return Err(EAFNOSUPPORT);
    }
    // SAFETY: All views of the union are plain bytes.
    let addr = Addr::new(unsafe { raw.sin6_addr.in6_u.u6_addr8 });
    Ok(Given::Address(SockAddr {
        addr,
        port: u16::from_be(raw.sin6_port),
        // Whatever a program has left there with an address of another kind, as for TCP.
        scope: if addr.is_link_local() {
            raw.sin6_scope_id
        } else {
            0
        },
    }))
}

/// Writes an address for user space and gives its length.
///
/// # Safety
///
/// `to` has room for [`LEN`] bytes; the system call layer provides a `sockaddr_storage`.
pub(crate) unsafe fn write(to: *mut u8, from: &SockAddr) -> c_int {
    let mut raw = bindings::sockaddr_in6 {
        sin6_family: family(),
        sin6_port: from.port.to_be(),
        sin6_scope_id: from.scope,
        ..Default::default()
    };
    raw.sin6_addr.in6_u.u6_addr8 = from.addr.octets();
    // SAFETY: By the caller's promise.
    unsafe { core::ptr::copy_nonoverlapping((&raw const raw).cast::<u8>(), to, LEN) };
    LEN as c_int
}
