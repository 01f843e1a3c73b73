// SPDX-License-Identifier: GPL-2.0

//! What the tables in sys/family.c point to.
//!
//! Raw pointers end here: each function makes references of them, calls what the system call is about
//! and turns the result into an errno.

use crate::{
    family::{
        bind::{
            self,
            Which, //
        },
        connect,
        ioctl,
        listen,
        poll,
        recv,
        release,
        send,
        socket,
        sockopt, //
    },
    sys::{
        bindings,
        sock::Sock,
        sockaddr,
        sockopt::{
            OptIn,
            OptOut, //
        },
        uaccess, //
    },
};
use core::ptr::NonNull;
use kernel::{
    error::from_result,
    ffi::{
        c_int,
        c_uint,
        c_ulong, //
    },
    prelude::*, //
};

/// The socket behind a `struct socket`.
///
/// # Safety
///
/// `sock` is the argument of a function of this family's `struct proto_ops`.
unsafe fn sock_of<'a>(sock: *mut bindings::socket) -> Result<&'a Sock> {
    // SAFETY: The system call layer keeps the socket and its sock while the call lasts.
    let sk = unsafe { (*sock).sk };
    if sk.is_null() {
        return Err(EINVAL);
    }
    // SAFETY: As above; only our create() and accept() put a sock there.
    Ok(unsafe { Sock::from_raw(sk) })
}

fn unit(result: Result) -> c_int {
    from_result(|| result.map(|()| 0))
}

/// socket().
///
/// # Safety
///
/// Called by strack_create() with a socket that has just been set up.
#[no_mangle]
unsafe extern "C" fn strack_sock_init(sk: *mut bindings::sock) -> c_int {
    // SAFETY: By the caller's promise.
    unit(socket::init(unsafe { Sock::from_raw(sk) }))
}

/// close().
///
/// # Safety
///
/// Called through `struct proto_ops`.
#[no_mangle]
unsafe extern "C" fn strack_release(sock: *mut bindings::socket) -> c_int {
    // SAFETY: By the caller's promise.
    let Ok(sk) = (unsafe { sock_of(sock) }) else {
        return 0;
    };
    release::release(sk);
    // SAFETY: Nobody else uses the file's socket any more.
    unsafe { (*sock).sk = core::ptr::null_mut() };
    // SAFETY: The reference that the file had; nothing here uses the sock after this.
    unsafe { bindings::strack_c_sk_put(sk.as_ptr()) };
    0
}

/// bind().
///
/// # Safety
///
/// Called through `struct proto_ops`.
#[no_mangle]
unsafe extern "C" fn strack_bind(
    sock: *mut bindings::socket,
    addr: *mut bindings::sockaddr_unsized,
    len: c_int,
) -> c_int {
    // SAFETY: By the caller's promise, for both.
    unit(unsafe { sock_of(sock).and_then(|sk| bind::bind(sk, sockaddr::read(addr.cast(), len)?)) })
}

/// connect().
///
/// # Safety
///
/// Called through `struct proto_ops`.
#[no_mangle]
unsafe extern "C" fn strack_connect(
    sock: *mut bindings::socket,
    addr: *mut bindings::sockaddr_unsized,
    len: c_int,
    flags: c_int,
) -> c_int {
    let nonblock = flags as c_uint & bindings::O_NONBLOCK != 0;
    // SAFETY: By the caller's promise, for both.
    unit(unsafe {
        sock_of(sock)
            .and_then(|sk| connect::connect(sk, sockaddr::read(addr.cast(), len)?, nonblock))
    })
}

/// accept().
///
/// # Safety
///
/// Called through `struct proto_ops`.
#[no_mangle]
unsafe extern "C" fn strack_accept(
    sock: *mut bindings::socket,
    newsock: *mut bindings::socket,
    arg: *mut bindings::proto_accept_arg,
) -> c_int {
    // SAFETY: By the caller's promise.
    let nonblock = unsafe { (*arg).flags } as c_uint & bindings::O_NONBLOCK != 0;
    // SAFETY: By the caller's promise.
    unit(unsafe { sock_of(sock) }.and_then(|sk| {
        let newsock = NonNull::new(newsock).ok_or(EINVAL)?;
        listen::accept(sk, newsock, nonblock)
    }))
}

/// getsockname() and getpeername().
///
/// # Safety
///
/// Called through `struct proto_ops`; `addr` has room for a `sockaddr_storage`.
#[no_mangle]
unsafe extern "C" fn strack_getname(
    sock: *mut bindings::socket,
    addr: *mut bindings::sockaddr,
    peer: c_int,
) -> c_int {
    from_result(|| {
        // SAFETY: By the caller's promise.
        let sk = unsafe { sock_of(sock) }?;
        let which = match peer {
            0 => Which::Own,
            1 => Which::Peer,
            _ => Which::Accepted,
        };
        let name = bind::getname(sk, which)?;
        // SAFETY: By the caller's promise.
        Ok(unsafe { sockaddr::write(addr.cast(), &name) })
    })
}

/// poll().
///
/// # Safety
///
/// Called through `struct proto_ops`.
#[no_mangle]
unsafe extern "C" fn strack_poll(
    file: *mut bindings::file,
    sock: *mut bindings::socket,
    wait: *mut bindings::poll_table_struct,
) -> bindings::__poll_t {
    // SAFETY: By the caller's promise.
    unsafe { bindings::strack_c_sk_poll_wait(file, sock, wait) };
    // SAFETY: By the caller's promise.
    match unsafe { sock_of(sock) } {
        Ok(sk) => poll::mask(sk),
        Err(_) => bindings::POLLERR,
    }
}

/// ioctl().
///
/// # Safety
///
/// Called through `struct proto_ops`.
#[no_mangle]
unsafe extern "C" fn strack_ioctl(sock: *mut bindings::socket, cmd: c_uint, arg: c_ulong) -> c_int {
    // SAFETY: By the caller's promise.
    unit(unsafe { sock_of(sock) }.and_then(|sk| {
        let value = ioctl::ioctl(sk, cmd)?;
        uaccess::put_int(arg, value)
    }))
}

/// listen().
///
/// # Safety
///
/// Called through `struct proto_ops`.
#[no_mangle]
unsafe extern "C" fn strack_listen(sock: *mut bindings::socket, backlog: c_int) -> c_int {
    // SAFETY: By the caller's promise.
    unit(unsafe { sock_of(sock) }.and_then(|sk| listen::listen(sk, backlog)))
}

/// shutdown().
///
/// # Safety
///
/// Called through `struct proto_ops`.
#[no_mangle]
unsafe extern "C" fn strack_shutdown(sock: *mut bindings::socket, how: c_int) -> c_int {
    // SAFETY: By the caller's promise.
    unit(unsafe { sock_of(sock) }.and_then(|sk| release::shutdown(sk, how)))
}

/// setsockopt() at a level other than `SOL_SOCKET`.
///
/// # Safety
///
/// Called through `struct proto_ops`.
#[no_mangle]
unsafe extern "C" fn strack_setsockopt(
    sock: *mut bindings::socket,
    level: c_int,
    name: c_int,
    value: bindings::sockptr_t,
    len: c_uint,
) -> c_int {
    // SAFETY: By the caller's promise, for both.
    unit(unsafe { sock_of(sock) }.and_then(|sk| {
        // SAFETY: By the caller's promise.
        let value = unsafe { OptIn::new(value, len) }?;
        match level as c_uint {
            bindings::SOL_STRACK => sockopt::set(sk, name as c_uint, &value),
            bindings::SOL_IPV6 => sockopt::set_ipv6(sk, name as c_uint, &value),
            _ => Err(ENOPROTOOPT),
        }
    }))
}

/// getsockopt() at a level other than `SOL_SOCKET`.
///
/// # Safety
///
/// Called through `struct proto_ops`.
#[no_mangle]
unsafe extern "C" fn strack_getsockopt(
    sock: *mut bindings::socket,
    level: c_int,
    name: c_int,
    opt: *mut bindings::sockopt_t,
) -> c_int {
    // SAFETY: By the caller's promise.
    unit(unsafe { sock_of(sock) }.and_then(|sk| {
        // SAFETY: By the caller's promise nobody else uses it during the call.
        let mut out = OptOut::new(unsafe { &mut *opt })?;
        match level as c_uint {
            bindings::SOL_STRACK => sockopt::get(sk, name as c_uint, &mut out)?,
            bindings::SOL_IPV6 => sockopt::get_ipv6(sk, name as c_uint, &mut out)?,
            _ => return Err(ENOPROTOOPT),
        }
        out.finish()
    }))
}

/// sendmsg() and all other ways to write.
///
/// # Safety
///
/// Called through `struct proto_ops`.
#[no_mangle]
unsafe extern "C" fn strack_sendmsg(
    sock: *mut bindings::socket,
    msg: *mut bindings::msghdr,
    len: usize,
) -> c_int {
    from_result(|| {
        // SAFETY: By the caller's promise.
        let sk = unsafe { sock_of(sock) }?;
        // SAFETY: The message is the caller's, who lends it for the call.
        let sent = send::sendmsg(sk, unsafe { &mut *msg }, len.min(c_int::MAX as usize))?;
        Ok(c_int::try_from(sent)?)
    })
}

/// recvmsg() and all other ways to read.
///
/// # Safety
///
/// Called through `struct proto_ops`.
#[no_mangle]
unsafe extern "C" fn strack_recvmsg(
    sock: *mut bindings::socket,
    msg: *mut bindings::msghdr,
    len: usize,
    flags: c_int,
) -> c_int {
    from_result(|| {
        // SAFETY: By the caller's promise.
        let sk = unsafe { sock_of(sock) }?;
        // SAFETY: The message is the caller's, who lends it for the call.
        let msg = unsafe { &mut *msg };
        let read = recv::recvmsg(sk, msg, len.min(c_int::MAX as usize), flags as c_uint)?;
        // A stream does not say where its bytes come from.
        msg.msg_namelen = 0;
        Ok(c_int::try_from(read)?)
    })
}

/// `SO_KEEPALIVE` was switched.
///
/// # Safety
///
/// Called through `struct proto` with the socket lock.
#[no_mangle]
unsafe extern "C" fn strack_keepalive(sk: *mut bindings::sock, on: c_int) {
    // SAFETY: By the caller's promise.
    unsafe {
        crate::sys::sock::with_inner(sk, |sock, socket| sockopt::keepalive(sock, socket, on != 0))
    };
}

/// `SO_RCVBUF` was set.
///
/// # Safety
///
/// Called through `struct proto_ops` with the socket lock.
#[no_mangle]
unsafe extern "C" fn strack_set_rcvbuf(sk: *mut bindings::sock, _value: c_int) {
    // SAFETY: By the caller's promise.
    unsafe { crate::sys::sock::with_inner(sk, sockopt::rcvbuf) };
}
