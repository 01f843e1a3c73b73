// SPDX-License-Identifier: GPL-2.0

//! The side that waits for connections.

use crate::family::{family, stream_socket};
use crate::options;
use crate::stream::{each_addr, Stream};
use crate::StrackAddr;
use socket2::Socket;
use std::io::Result;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

/// Connections that may wait for [`Listener::accept`]; the kernel cuts it to `net.core.somaxconn`.
const BACKLOG: i32 = 1024;

/// A socket that accepts connections.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    family: u16,
}

impl Listener {
    /// Listens at the first of `addr` that can be had. Port 0 takes any free one;
    /// [`Listener::local_addr`] tells which.
    ///
    /// `[::]` is the wildcard of IPv6 and IPv4, `0.0.0.0` that of IPv4 alone.
    pub fn bind(addr: impl ToSocketAddrs) -> Result<Listener> {
        let family = family()?;
        each_addr(addr, |addr| {
            let socket = stream_socket(family)?;
            socket.bind(&StrackAddr::from(addr).to_sock_addr(family))?;
            socket.listen(BACKLOG)?;
            Ok(Listener { socket, family })
        })
    }

    /// Waits for a connection; gives it and the peer's address.
    pub fn accept(&self) -> Result<(Stream, SocketAddr)> {
        let (socket, peer) = self.socket.accept()?;
        let peer = StrackAddr::from_sock_addr(&peer, self.family)?;
        Ok((Stream::new(socket, self.family), peer.into()))
    }

    /// Connections, one after the other, for ever.
    pub fn incoming(&self) -> impl Iterator<Item = Result<Stream>> + '_ {
        std::iter::repeat_with(|| self.accept().map(|(stream, _)| stream))
    }

    /// The address it is bound to.
    pub fn local_addr(&self) -> Result<SocketAddr> {
        let addr = self.socket.local_addr()?;
        Ok(StrackAddr::from_sock_addr(&addr, self.family)?.into())
    }

    /// `STRACK_PATHS` of the connections accepted from now on: 1 to [`crate::MAX_PATHS`].
    pub fn set_paths(&self, paths: u16) -> Result<()> {
        options::set_paths(&self.socket, paths)
    }

    /// `STRACK_PATH_POLICY` of the connections accepted from now on, by name.
    pub fn set_path_policy(&self, policy: &str) -> Result<()> {
        options::set_path_policy(&self.socket, policy)
    }

    /// `STRACK_RTO_MIN` of the connections accepted from now on: 1 µs to 60 s.
    pub fn set_rto_min(&self, rto_min: Duration) -> Result<()> {
        options::set_rto_min(&self.socket, rto_min)
    }

    /// The socket, for everything that is not special to this family.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl From<Listener> for OwnedFd {
    fn from(listener: Listener) -> OwnedFd {
        listener.socket.into()
    }
}
