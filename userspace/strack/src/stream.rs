// SPDX-License-Identifier: GPL-2.0

//! A connection.

use crate::family::{family, stream_socket};
use crate::info::StrackInfo;
use crate::options::{self, PathState, MAX_PATHS};
use crate::StrackAddr;
use socket2::Socket;
use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Read, Result, Write};
use std::mem::size_of;
use std::net::{Shutdown, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

/// A connection: an ordered, reliable stream of bytes in each direction.
///
/// As with [`std::net::TcpStream`], `&Stream` can be read and written too, by several threads at once.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    family: u16,
}

/// Tries `f` with each address until it succeeds; gives the last error otherwise.
pub(crate) fn each_addr<T>(
    addr: impl ToSocketAddrs,
    mut f: impl FnMut(SocketAddr) -> Result<T>,
) -> Result<T> {
    let mut last = Error::new(ErrorKind::InvalidInput, "no address to try");
    for addr in addr.to_socket_addrs()? {
        match f(addr) {
            Ok(done) => return Ok(done),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Stream {
    pub(crate) fn new(socket: Socket, family: u16) -> Stream {
        Stream { socket, family }
    }

    /// Connects to the first of `addr` that answers.
    pub fn connect(addr: impl ToSocketAddrs) -> Result<Stream> {
        let family = family()?;
        each_addr(addr, |addr| {
            let socket = stream_socket(family)?;
            socket.connect(&StrackAddr::from(addr).to_sock_addr(family))?;
            Ok(Stream::new(socket, family))
        })
    }

    /// Connects to `addr`, but gives up after `timeout`.
    pub fn connect_timeout(addr: SocketAddr, timeout: Duration) -> Result<Stream> {
        let family = family()?;
        let socket = stream_socket(family)?;
        let addr = StrackAddr::from(addr).to_sock_addr(family);
        socket.connect_timeout(&addr, timeout)?;
        Ok(Stream::new(socket, family))
    }

    /// Another handle of the same connection.
    pub fn try_clone(&self) -> Result<Stream> {
        Ok(Stream::new(self.socket.try_clone()?, self.family))
    }

    /// Our address.
    pub fn local_addr(&self) -> Result<SocketAddr> {
        let addr = self.socket.local_addr()?;
        Ok(StrackAddr::from_sock_addr(&addr, self.family)?.into())
    }

    /// The peer's address.
    pub fn peer_addr(&self) -> Result<SocketAddr> {
        let addr = self.socket.peer_addr()?;
        Ok(StrackAddr::from_sock_addr(&addr, self.family)?.into())
    }

    /// Ends one direction, or both. What has been written is still delivered.
    pub fn shutdown(&self, how: Shutdown) -> Result<()> {
        self.socket.shutdown(how)
    }

    /// `STRACK_PATHS`: over how many paths new packets are sprayed, 1 to [`MAX_PATHS`].
    pub fn set_paths(&self, paths: u16) -> Result<()> {
        options::set_paths(&self.socket, paths)
    }

    /// Over how many paths new packets are sprayed.
    pub fn paths(&self) -> Result<u16> {
        options::paths(&self.socket)
    }

    /// `STRACK_PATH_POLICY`: how the path of the next packet is chosen, by name: `oblivious`,
    /// `mixed`, ...
    pub fn set_path_policy(&self, policy: &str) -> Result<()> {
        options::set_path_policy(&self.socket, policy)
    }

    /// How the path of the next packet is chosen.
    pub fn path_policy(&self) -> Result<String> {
        options::path_policy(&self.socket)
    }

    /// `STRACK_PROFILE`: the set of algorithms the connection was made with.
    pub fn profile(&self) -> Result<String> {
        options::profile(&self.socket)
    }

    /// `STRACK_RTO_MIN`: the least retransmission timeout, 1 µs to 60 s, in whole microseconds.
    pub fn set_rto_min(&self, rto_min: Duration) -> Result<()> {
        options::set_rto_min(&self.socket, rto_min)
    }

    /// The least retransmission timeout.
    pub fn rto_min(&self) -> Result<Duration> {
        options::rto_min(&self.socket)
    }

    /// `STRACK_NODELAY`: whether a partial packet is sent although earlier ones are outstanding.
    /// Unlike in TCP it is on unless switched off.
    pub fn set_nodelay(&self, on: bool) -> Result<()> {
        options::set_nodelay(&self.socket, on)
    }

    /// Whether a partial packet is sent although earlier ones are outstanding.
    pub fn nodelay(&self) -> Result<bool> {
        options::nodelay(&self.socket)
    }

    /// State and numbers of the connection.
    pub fn info(&self) -> Result<StrackInfo> {
        StrackInfo::of(&self.socket)
    }

    /// Payload bytes sent over each path so far, retransmissions included. Element *i* belongs to
    /// UDP source port [`StrackInfo::entropy_base`] + *i*.
    pub fn path_bytes(&self) -> Result<Vec<u64>> {
        let mut bytes = vec![0u64; usize::from(MAX_PATHS)];
        let len = options::get_into(&self.socket, options::STRACK_PATH_BYTES, &mut bytes)?;
        bytes.truncate(len / size_of::<u64>());
        Ok(bytes)
    }

    /// What has become of each path, and behind them of the spares. Element *i* belongs to UDP
    /// source port [`StrackInfo::entropy_base`] + *i*.
    pub fn path_states(&self) -> Result<Vec<PathState>> {
        options::path_states(&self.socket)
    }

    /// Does without the path of UDP source port `port`.
    pub fn deny_path(&self, port: u16) -> Result<()> {
        options::set(&self.socket, options::STRACK_PATH_DENY, i32::from(port))
    }

    /// Uses the path of UDP source port `port` again.
    pub fn allow_path(&self, port: u16) -> Result<()> {
        options::set(&self.socket, options::STRACK_PATH_ALLOW, i32::from(port))
    }

    /// The socket, for everything that is not special to this family: timeouts, buffers,
    /// non-blocking mode, `SO_LINGER`, ...
    pub fn socket(&self) -> &Socket {
        &self.socket
    }
}

impl Read for &Stream {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        (&self.socket).read(buf)
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> Result<usize> {
        (&self.socket).read_vectored(bufs)
    }
}

/// A peer that is gone is an error ([`ErrorKind::BrokenPipe`]), never a signal.
impl Write for &Stream {
    fn write(&mut self, buf: &[u8]) -> Result<usize> {
        self.socket.send_with_flags(buf, libc::MSG_NOSIGNAL)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> Result<usize> {
        self.socket
            .send_vectored_with_flags(bufs, libc::MSG_NOSIGNAL)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        (&mut &*self).read(buf)
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> Result<usize> {
        (&mut &*self).read_vectored(bufs)
    }
}

impl Write for Stream {
    fn write(&mut self, buf: &[u8]) -> Result<usize> {
        (&mut &*self).write(buf)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> Result<usize> {
        (&mut &*self).write_vectored(bufs)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl From<Stream> for OwnedFd {
    fn from(stream: Stream) -> OwnedFd {
        stream.socket.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addrs() -> [SocketAddr; 3] {
        [1, 2, 3].map(|port| SocketAddr::from(([127, 0, 0, 1], port)))
    }

    #[test]
    fn first_address_that_works_is_taken() {
        let found = each_addr(&addrs()[..], |addr| match addr.port() {
            1 => Err(Error::from(ErrorKind::ConnectionRefused)),
            port => Ok(port),
        });
        assert_eq!(found.unwrap(), 2);
    }

    #[test]
    fn last_error_counts() {
        let error = each_addr(&addrs()[..], |addr| -> Result<()> {
            Err(Error::other(addr.port().to_string()))
        });
        assert_eq!(error.unwrap_err().to_string(), "3");
        let none = each_addr(&[][..], |_| Ok(()));
        assert_eq!(none.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
