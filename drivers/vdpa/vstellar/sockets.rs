// SPDX-License-Identifier: GPL-2.0

//! The sockets that endpoints are: those of AF_STRACK in the device's namespace.

use crate::{
    model::{
        control::{
            Address,
            Direction,
            EpOption,
            Value, //
        },
        device::{
            Accepted,
            SocketInfo,
            Transport, //
        },
        emtt::Emtt,
        status::{
            Result,
            Status, //
        },
        work::{
            Patience,
            ReceiveEntry,
            SendEntry, //
        },
    },
    options,
    platform::Platform,
    sys::{
        bindings::{
            self,
            vstellar_address, //
        },
        socket, //
    }, //
};
use kernel::{
    error::Error,
    ffi::c_int, //
};

/// The socket of an endpoint, and the work entries that it is at.
pub(crate) struct Socket {
    pub(crate) inner: socket::Socket,
    /// The entry of the send queue that was taken last, until it is done.
    pub(crate) sending: Option<Sending>,
    /// The entry of the receive queue that is to be filled next.
    pub(crate) receiving: Option<ReceiveEntry>,
    /// What was received last filled a buffer, so that several are offered the next time. What comes now and
    /// then is for one, and others need not be looked up for it.
    pub(crate) much_received: bool,
    /// Its slot was kicked, or there is more to do.
    pub(crate) kicked: bool,
    /// Of the send and the receive queue.
    pub(crate) patience: [Patience; 2],
}

/// An entry of a send queue that is being carried out.
#[derive(Clone, Copy)]
pub(crate) struct Sending {
    pub(crate) entry: SendEntry,
    /// Bytes that the transport has taken.
    pub(crate) done: u32,
}

impl Socket {
    fn new(inner: socket::Socket) -> Socket {
        Socket {
            inner,
            sending: None,
            receiving: None,
            much_received: false,
            kicked: true,
            patience: [const { Patience::new() }; 2],
        }
    }

    /// Whether one of its queues has to be looked at, because nobody says that there is something.
    pub(crate) fn is_watched(&self) -> bool {
        self.patience.iter().any(Patience::is_watched)
    }
}

/// What an error of a socket is to a guest.
pub(crate) fn status(error: Error) -> Status {
    match u32::try_from(-error.to_errno()).unwrap_or(0) {
        bindings::EAGAIN => Status::Again,
        bindings::EINVAL => Status::Inval,
        bindings::EPERM | bindings::EACCES => Status::Perm,
        bindings::EADDRINUSE => Status::AddrInUse,
        bindings::EADDRNOTAVAIL => Status::AddrNotAvail,
        bindings::ECONNREFUSED => Status::ConnRefused,
        bindings::ECONNRESET | bindings::ECONNABORTED | bindings::EPIPE => Status::ConnReset,
        bindings::ENETUNREACH | bindings::EHOSTUNREACH => Status::NetUnreach,
        bindings::ETIMEDOUT => Status::TimedOut,
        bindings::EISCONN | bindings::ENOTCONN | bindings::EALREADY => Status::State,
        bindings::ENOENT => Status::NoEnt,
        bindings::EAFNOSUPPORT | bindings::EOPNOTSUPP | bindings::ENOPROTOOPT => Status::NotSupp,
        _ => Status::Io,
    }
}

fn raw(address: &Address) -> vstellar_address {
    vstellar_address {
        ip: address.ip.to_be_bytes(),
        port: address.port,
    }
}

fn name(socket: &socket::Socket, peer: bool) -> Address {
    // one that has none yet
    let name = socket.name(peer);
    name.map_or(Address::ANY, |name| Address {
        ip: u128::from_be_bytes(name.ip),
        port: name.port,
    })
}

impl Transport for Platform {
    type Socket = Socket;

    fn socket(&self, messages: bool) -> Result<Socket> {
        if messages {
            return Err(Status::NotSupp);
        }
        let made = self.with_net(socket::Socket::new);
        let made = made.ok_or(Status::NetUnreach)?;
        made.map(Socket::new).map_err(status)
    }

    fn bind(&self, socket: &mut Socket, local: &Address) -> Result<Address> {
        socket.inner.bind(&raw(local)).map_err(status)?;
        Ok(name(&socket.inner, false))
    }

    fn listen(&self, socket: &mut Socket, backlog: u32) -> Result {
        let backlog = c_int::try_from(backlog).unwrap_or(c_int::MAX);
        socket.inner.listen(backlog).map_err(status)
    }

    fn connect(&self, socket: &mut Socket, peer: &Address, timeout_ms: u32) -> Result {
        socket.inner.connect(&raw(peer)).map_err(status)?;
        if timeout_ms != 0 {
            socket.inner.expire_in(timeout_ms);
        }
        Ok(())
    }

    fn accept(&self, socket: &mut Socket) -> Result<Accepted<Socket>> {
        let accepted = socket.inner.accept().map_err(status)?;
        Ok(Accepted {
            peer: name(&accepted, true),
            local: name(&accepted, false),
            socket: Socket::new(accepted),
        })
    }

    fn look_in(&self, socket: &mut Socket, ms: u32) {
        // a listener has no other time
        socket.inner.expire_in(ms);
    }

    fn shutdown(&self, socket: &mut Socket, direction: Direction) -> Result {
        // as shutdown(2) has it
        let how = match direction {
            Direction::Read => 0,
            Direction::Write => 1,
            Direction::Both => 2,
        };
        socket.inner.shutdown(how).map_err(status)
    }

    fn abort(&self, socket: &mut Socket) -> Result {
        socket.inner.abort().map_err(status)
    }

    fn set_option(&self, socket: &mut Socket, option: EpOption, value: &[u8]) -> Result<Value> {
        options::set(&socket.inner, option, value)?;
        options::get(&socket.inner, option)
    }

    fn option(&self, socket: &Socket, option: EpOption) -> Result<Value> {
        options::get(&socket.inner, option)
    }

    fn buffers(&self, socket: &Socket) -> Result<[u32; 2]> {
        options::buffers(&socket.inner)
    }

    fn info(&self, socket: &Socket) -> SocketInfo {
        SocketInfo {
            local: name(&socket.inner, false),
            peer: name(&socket.inner, true),
            ..options::info(&socket.inner)
        }
    }

    fn close(&self, socket: Socket, abort: bool, _: &mut Emtt) {
        // entries use no memory region for longer than a call: what is lent has references of its own
        socket.inner.close(abort);
    }
}
