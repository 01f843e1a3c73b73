// SPDX-License-Identifier: GPL-2.0

//! What the family keeps in each socket, under the socket lock.

use crate::{
    engine::{
        conn::Conn,
        listener::Listener,
        ports::Scope, //
    },
    proto::{
        config::{
            Config,
            PathPolicy,
            Profile, //
        },
        connection::State,
        Ns, //
    },
    sys::{
        pages::PageBuf,
        sock::{
            self,
            Sock,
            SockLock, //
        },
        sockaddr::SockAddr, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// How far a socket has come.
pub(crate) enum Phase {
    /// Neither listening nor connected.
    Idle,
    /// After listen().
    Listening(Arc<Listener>),
    /// After connect() or accept(), whatever has become of the connection.
    Active {
        /// The connection.
        conn: Arc<Conn>,
        /// connect() has told its caller how it ended, or there was none.
        told: bool,
    },
}

/// Options of `SOL_STRACK` that differ from the namespace's settings.
#[derive(Clone, Copy)]
pub(crate) struct Options {
    /// `STRACK_PATHS`.
    pub(crate) paths: Option<u16>,
    /// `STRACK_PROFILE`.
    pub(crate) profile: Option<Profile>,
    /// `STRACK_PATH_POLICY`.
    pub(crate) policy: Option<PathPolicy>,
    /// `STRACK_RTO_MIN`, ns.
    pub(crate) rto_min: Option<Ns>,
    /// `STRACK_NODELAY`.
    pub(crate) nodelay: bool,
}

impl Options {
    /// Applies them on top of `config`.
    pub(crate) fn apply(&self, config: &mut Config) {
        if let Some(profile) = self.profile {
            config.set_profile(profile);
        }
        if let Some(policy) = self.policy {
            config.policy = policy;
        }
        if let Some(paths) = self.paths {
            config.paths = paths;
        }
        if let Some(rto_min) = self.rto_min {
            config.rto_min = rto_min;
        }
    }
}

/// The page that payload is copied to, and how much of it is used.
pub(crate) struct TxPage {
    /// The page.
    pub(crate) page: PageBuf,
    /// Bytes used from its start.
    pub(crate) used: usize,
}

/// The family's part of a socket.
pub(crate) struct Socket {
    /// How far it has come.
    pub(crate) phase: Phase,
    /// What it is bound to.
    pub(crate) bound: Option<SockAddr>,
    /// It was bound by bind(), and so stays when a connection attempt fails.
    pub(crate) bound_by_user: bool,
    /// `IPV6_V6ONLY`.
    pub(crate) v6only: bool,
    /// Its options.
    pub(crate) options: Options,
    /// Where the next payload goes.
    pub(crate) tx_page: Option<TxPage>,
}

impl Socket {
    fn new() -> Self {
        Socket {
            phase: Phase::Idle,
            bound: None,
            bound_by_user: false,
            v6only: false,
            options: Options {
                paths: None,
                profile: None,
                policy: None,
                rto_min: None,
                nodelay: true,
            },
            tx_page: None,
        }
    }

    /// Which packets `addr` is meant for when this socket binds to it.
    pub(crate) fn scope(&self, addr: &SockAddr) -> Scope {
        Scope {
            addr: addr.addr,
            v6only: self.v6only,
        }
    }

    /// The connection, if there is or was one.
    pub(crate) fn conn(&self) -> Option<&Arc<Conn>> {
        match &self.phase {
            Phase::Active { conn, .. } => Some(conn),
            _ => None,
        }
    }

    /// The state of the connection; `Closed` without one.
    pub(crate) fn state(&self) -> State {
        self.conn()
            .map_or(State::Closed, |conn| conn.peek(|inner| inner.proto.state()))
    }
}

/// Puts a fresh [`Socket`] into a new socket.
pub(crate) fn init(sock: &Sock) -> Result {
    sock::install(sock, KBox::new(Socket::new(), GFP_KERNEL_ACCOUNT)?);
    Ok(())
}

/// Gives the socket of an incoming connection what it has from its listener, and `config` what
/// follows from that.
pub(crate) fn inherit(options: Options, child: &Sock, config: &mut Config) -> Result {
    let mut socket = Socket::new();
    socket.options = options;
    options.apply(config);
    sock::install(child, KBox::new(socket, GFP_KERNEL_ACCOUNT)?);
    Ok(())
}

/// Ties an incoming connection to its socket, which nobody else knows yet.
pub(crate) fn attach(sock: &Sock, conn: &Arc<Conn>) {
    let mut lock = sock.lock();
    let socket = sock::inner(&mut lock);
    socket.bound = Some(SockAddr {
        addr: conn.local.addr,
        port: conn.local.port,
        scope: conn.local.scope,
    });
    socket.phase = Phase::Active {
        conn: conn.clone(),
        told: true,
    };
}

/// The connection of a locked socket, or `ENOTCONN`.
pub(crate) fn conn_of(lock: &mut SockLock<'_>) -> Result<Arc<Conn>> {
    sock::inner(lock).conn().cloned().ok_or(ENOTCONN)
}
