// SPDX-License-Identifier: GPL-2.0

//! A connection.
//!
//! Who keeps it: the table, from the moment it can be found until it is closed; its socket, until
//! that is closed; its timer, while queued; whoever works on it. It keeps its socket in turn until
//! it is closed, so that packets on their way have somebody to charge; that is also when it leaves
//! the table, so nothing goes round in a circle for ever.

use crate::{
    carrier::{
        addr::Addr,
        route::{
            FlowKey,
            Route, //
        },
    },
    engine::{
        buffers::{
            Ring,
            RxPacket,
            TxPacket, //
        },
        net::NetNs,
        notes::Notes,
        output::{
            Outbox,
            Run, //
        },
        quota::Place,
        receiving::URGENT,
        sending::Hold, //
    },
    proto::{
        connection::{
            Connection,
            Events,
            Failure,
            Ids,
            State, //
        },
        psn::Psn,
        spray::MAX_PATHS,
        wire::ResetCode,
        Ns, //
    },
    sys::{
        bindings, gfp_connection,
        host::AllocError,
        lock::{
            new_bh_lock,
            BhLock,
            BhOff, //
        },
        sock::{
            self,
            PollBuffers,
            Sock, //
        },
        table::{
            Link,
            Node, //
        },
        timer::{
            self,
            Expire,
            Timer, //
        },
    },
};
use kernel::{
    alloc::KVVec,
    prelude::*,
    sync::{
        aref::ARef,
        Arc, //
    },
};

/// Batches that one call sends before it leaves the rest to the timer.
const ROUNDS_MAX: u32 = 64;

/// One end of a connection.
#[derive(Clone, Copy)]
pub(crate) struct Endpoint {
    /// IP address.
    pub(crate) addr: Addr,
    /// AF_STRACK port.
    pub(crate) port: u16,
    /// Interface index of a link-local address, else zero.
    pub(crate) scope: u32,
}

/// What a connection is made of.
pub(crate) struct Parts {
    /// Our end.
    pub(crate) local: Endpoint,
    /// The other end.
    pub(crate) peer: Endpoint,
    /// Our connection id and tag.
    pub(crate) ids: Ids,
    /// The peer's connection id; zero when this end opens, and does not know it yet.
    pub(crate) peer_cid: u32,
    /// The protocol's half.
    pub(crate) proto: KBox<Connection>,
    /// Where its packets go.
    pub(crate) route: Route,
    /// What that was looked up for.
    pub(crate) flow: FlowKey,
    /// The socket.
    pub(crate) sock: ARef<Sock>,
}

/// Makes a protocol's half where it stays. Process context.
///
/// It is some kilobytes large, and moved about while it is made, on a stack that has sixteen in all.
/// That is why this is a function of its own: when it returns they are given back.
#[inline(never)]
pub(crate) fn new_proto(
    make: impl FnOnce() -> Result<Connection, AllocError>,
) -> Result<KBox<Connection>> {
    let place = KBox::new_uninit(gfp_connection())?;
    Ok(KBox::write(place, make()?))
}

/// A connection.
#[pin_data]
pub(crate) struct Conn {
    /// The namespace it lives in.
    pub(crate) ns: Arc<NetNs>,
    /// Our end.
    pub(crate) local: Endpoint,
    /// The other end.
    pub(crate) peer: Endpoint,
    #[pin]
    node: Node,
    #[pin]
    timer: Timer<Conn>,
    /// Taken from process context, the receive softirq and the timer softirq. Order: see
    /// [`crate::engine`].
    #[pin]
    inner: BhLock<Inner>,
}

/// What the lock of a connection guards.
pub(crate) struct Inner {
    /// The protocol.
    pub(crate) proto: KBox<Connection>,
    /// Packets not yet acknowledged, by PSN.
    pub(crate) tx: Ring<TxPacket>,
    /// Packets not yet read, by PSN.
    pub(crate) rx: Ring<RxPacket>,
    /// First packet in `tx`.
    pub(crate) tx_head: Psn,
    /// Payload bytes in `tx`.
    pub(crate) tx_bytes: usize,
    /// Memory that `tx` keeps, bytes; held against `SO_SNDBUF`.
    pub(crate) tx_mem: usize,
    /// Packets acknowledged so far.
    pub(crate) acked_packets: u64,
    /// Payload bytes in them.
    pub(crate) acked_bytes: u64,
    /// First packet not yet read to its end; the peer's first PSN is known once connected.
    pub(crate) rx_head: Option<Psn>,
    /// Bytes of that packet that have been read.
    pub(crate) rx_skip: u16,
    /// First packet that `rx_bytes` does not count yet.
    pub(super) rx_counted: Psn,
    /// Memory that `rx` keeps and `sock` is charged for, bytes.
    pub(super) rx_mem: u32,
    /// Payload bytes in order and not yet read.
    pub(crate) rx_bytes: usize,
    /// A packet was refused, for want of memory, since something was read.
    pub(super) rx_refused: bool,
    /// What poll() knows of `rx_bytes` is that they are [`URGENT`].
    rx_urgent: bool,
    /// Our stream has ended; what `tx` has is the rest of it.
    pub(super) shut: bool,
    /// The peer's stream has ended; what `rx_bytes` counts is the rest of it.
    pub(crate) peer_finished: bool,
    /// Slots in each ring.
    pub(super) window: u32,
    /// Payload bytes sent on each path.
    pub(crate) path_bytes: KVVec<u64>,
    /// Whether the last packet is held back.
    pub(super) hold: Hold,
    /// Where packets go; looked up again when it has gone stale.
    pub(crate) route: Option<Route>,
    /// What the route depends on.
    pub(crate) flow: FlowKey,
    /// The socket, until the connection is closed.
    pub(crate) sock: Option<ARef<Sock>>,
    /// Since when nobody reads or writes any more.
    pub(crate) orphaned: Option<Ns>,
    /// What ICMP last said, as a positive errno.
    icmp_errno: i32,
    /// When the timer is set for.
    timer_at: Option<Ns>,
    /// Somebody is sending, with the lock dropped now and then.
    sending: bool,
    /// There may be more to send.
    send_again: bool,
    /// The rest of a transmission that did not fit into one batch of skbs.
    pub(super) rest: Option<Run>,
    /// Its place in the table, until it is taken out.
    link: Option<Link>,
    /// Its place among those without a socket.
    pub(super) place: Option<Place>,
    /// It has ended with its namespace, and sends nothing any more.
    pub(super) discarded: bool,
    /// When a packet was last acknowledged, or the socket closed.
    pub(super) progress_at: Ns,
}

impl Conn {
    /// Makes a connection around `proto` and enters it in the table. Process context.
    ///
    /// Fails with `EAGAIN` should the connection id be taken.
    pub(crate) fn new(ns: &Arc<NetNs>, parts: Parts) -> Result<Arc<Conn>> {
        let Parts {
            local,
            peer,
            ids,
            peer_cid,
            proto,
            route,
            flow,
            sock,
        } = parts;
        let window = ns.window_packets();
        let slots = usize::try_from(window)?;
        let tx_head = proto.next_queue_psn();
        let inner = Inner {
            tx: Ring::new(slots)?,
            rx: Ring::new(slots)?,
            tx_head,
            tx_bytes: 0,
            tx_mem: 0,
            acked_packets: 0,
            acked_bytes: 0,
            rx_head: proto.rcv_isn(),
            rx_skip: 0,
            rx_counted: proto.rcv_nxt(),
            rx_mem: 0,
            rx_bytes: 0,
            rx_refused: false,
            rx_urgent: false,
            shut: false,
            peer_finished: false,
            window,
            path_bytes: KVVec::from_elem(0, usize::from(MAX_PATHS), gfp_connection())?,
            hold: Hold::Not,
            route: Some(route),
            flow,
            sock: Some(sock),
            orphaned: None,
            icmp_errno: EHOSTUNREACH.to_errno().saturating_neg(),
            timer_at: None,
            sending: false,
            send_again: false,
            rest: None,
            link: None,
            place: None,
            discarded: false,
            progress_at: 0,
            proto,
        };
        let conn = Arc::pin_init(
            try_pin_init!(Conn {
                ns: ns.clone(),
                local,
                peer,
                node <- Node::new(ids.cid, peer.addr.octets(), peer_cid),
                timer <- Timer::new(),
                inner <- new_bh_lock!(inner, "strack::Conn"),
            }),
            gfp_connection(),
        )?;
        {
            // Whoever finds it there waits until the link is in its place.
            let mut inner = conn.inner.lock();
            inner.link = Some(ns.conns.insert(&conn).ok_or(EAGAIN)?);
        }
        Ok(conn)
    }

    /// Where it is in the table.
    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Its timer.
    pub(crate) fn timer(&self) -> &Timer<Conn> {
        &self.timer
    }

    /// Looks at the connection under its lock, changing nothing that would want a packet sent.
    pub(crate) fn peek<R>(&self, look: impl FnOnce(&mut Inner) -> R) -> R {
        look(&mut self.inner.lock())
    }

    /// Works on the connection under its lock, then does what follows from it: sends what has become
    /// due, moves the timer, wakes the socket. Any context; no connection lock is held.
    ///
    /// One at a time sends, with bottom halves off, a few skbs per hold of the lock. Otherwise a timer
    /// could send a probe past data that has been taken for sent and still waits in somebody's hands,
    /// and round trips would be measured from when that waiting began.
    pub(crate) fn work<R>(self: &Arc<Self>, f: impl FnOnce(&mut Inner, Ns) -> R) -> R {
        let mut notes = Notes::default();
        let bh = BhOff::new();
        let mut now = timer::now();
        let mut inner = self.inner.lock();
        let result = f(&mut inner, now);
        if inner.sending {
            // Whoever sends looks once more before it stops, and sets the timer: until then what is
            // due stays due, and a timer set for that would fire again and again.
            inner.send_again = true;
            inner.settle(self, now, &mut notes);
        } else {
            inner.sending = true;
            for round in 0.. {
                inner.send_again = false;
                let mut out = Outbox::new();
                let more = inner.fill(self, now, &mut out);
                inner.settle(self, now, &mut notes);
                inner.rearm(now);
                if out.has_any() {
                    let route = inner.route.clone();
                    drop(inner);
                    out.send(self, route.as_ref());
                    inner = self.inner.lock();
                }
                if !more && !inner.send_again {
                    break;
                }
                now = timer::now();
                if round == ROUNDS_MAX && inner.link.is_some() {
                    // Others bring more all the time: let the timer go on with it.
                    inner.set_timer(now);
                    break;
                }
            }
            if inner.proto.state() == State::TimeWait && !inner.may_wait(&self.ns) {
                // Now that the last acknowledgement has been sent. There is nothing left to tell.
                inner.proto.abort(now, ResetCode::Closed);
                inner.settle(self, now, &mut notes);
            }
            inner.sending = false;
        }
        drop(inner);
        drop(bh);
        notes.deliver();
        result
    }

    /// Ends the connection without a farewell: its namespace goes away. Process context.
    pub(crate) fn discard(self: &Arc<Self>) {
        let mut notes = Notes::default();
        {
            let mut inner = self.inner.lock();
            inner.discarded = true;
            // From now on the protocol takes nothing and wants nothing sent.
            inner.proto.abort(timer::now(), ResetCode::Aborted);
            inner.route = None;
            inner.forget_received();
            self.remove(&mut inner);
            inner.let_go(&mut notes);
        }
        // The last reference to the socket may go here, without the lock.
        drop(notes);
    }

    /// The socket has been closed by the program: what is queued is still sent, then the connection
    /// ends. `hard` forgets what is queued and resets the peer, as `SO_LINGER` with zero does, and
    /// unread data whether it is asked for or not. Says whether anything is still to be sent.
    pub(crate) fn close(self: &Arc<Self>, hard: bool) -> bool {
        self.work(|inner, now| {
            let hard = hard || inner.rx_bytes > 0;
            inner.orphaned = Some(now);
            inner.progress_at = now;
            if let Some(sock) = &inner.sock {
                sock.add_shutdown(sock::RCV_SHUTDOWN | sock::SEND_SHUTDOWN);
            }
            inner.forget_received();
            let ends = hard || inner.proto.state() == State::Connecting;
            let ends = ends || !inner.may_be_orphan(&self.ns);
            if ends {
                inner.proto.abort(now, ResetCode::Aborted);
            } else {
                inner.shut_send();
            }
            !ends
        })
    }

    /// Takes the connection out of everything that keeps it but its users.
    fn remove(&self, inner: &mut Inner) {
        let Some(link) = inner.link.take() else {
            return;
        };
        inner.timer_at = None;
        inner.place = None;
        self.ns.conns.remove(link);
    }
}

impl Expire for Conn {
    fn expired(self: Arc<Self>) {
        self.work(|inner, now| {
            inner.timer_at = None;
            if inner.link.is_none() {
                return;
            }
            if inner.is_orphan_over(&self.ns, now) {
                inner.proto.abort(now, ResetCode::Closed);
            }
            if inner.hold_deadline().is_some_and(|at| at <= now) {
                inner.hold_tail(Hold::Not);
            }
            inner.proto.on_timer(now);
        });
    }
}

impl Inner {
    /// ICMP says that the peer cannot be reached. As in TCP, any such error ends a connection
    /// attempt, and none ends a connection.
    pub(crate) fn on_unreachable(&mut self, now: Ns, errno: i32) {
        self.icmp_errno = errno;
        self.proto.on_unreachable(now, true);
    }

    /// Looks the route up anew before the next packet.
    pub(crate) fn forget_route(&mut self) {
        self.route = None;
    }

    /// What follows from a change of the protocol's state: buffers, counters, timer, table; wakeups
    /// are noted for later.
    fn settle(&mut self, conn: &Arc<Conn>, now: Ns, notes: &mut Notes) {
        let events = self.proto.events();
        if self.release_acked(now) {
            notes.write |= self
                .sock
                .as_deref()
                .is_some_and(|sock| self.writeable(sock));
            // Nothing but the held packet is left.
            if self.hold == Hold::Nagle && self.proto.una() == self.proto.snd_nxt() {
                self.hold_tail(Hold::Not);
                self.send_again = true;
            }
        }
        if let (None, Some(first)) = (self.rx_head, self.proto.rcv_isn()) {
            self.rx_head = Some(first);
            self.rx_counted = first;
        }
        self.count_readable();
        self.peer_finished |= events.contains(Events::PEER_FIN);
        conn.ns.counters.collect(self.proto.counts());

        notes.read |= events.contains(Events::READABLE);
        notes.state |= events.contains(Events::CONNECTED) || events.contains(Events::FIN_ACKED);
        if let Some(sock) = &self.sock {
            let buffers = self.poll_buffers();
            let urgent = buffers.readable == URGENT;
            // Also by what cannot be read yet, or was refused.
            notes.read |= urgent && !self.rx_urgent;
            self.rx_urgent = urgent;
            sock.publish(buffers);
            // What is wrong stands before what tells readers to look.
            if let (true, Some(error)) = (events.contains(Events::FAILED), self.failure()) {
                sock.set_err(error);
                notes.failed = true;
            }
            if events.contains(Events::PEER_FIN) {
                sock.add_shutdown(sock::RCV_SHUTDOWN);
                notes.state = true;
            }
            if events.contains(Events::CONNECTED) {
                sock.set_state(bindings::TCP_ESTABLISHED);
                notes.write = true;
            }
            if self.proto.state() == State::Closed || self.proto.state() == State::TimeWait {
                // Both directions are over for the socket, whatever the ids still have to wait for.
                sock.add_shutdown(sock::RCV_SHUTDOWN | sock::SEND_SHUTDOWN);
                sock.set_state(bindings::TCP_CLOSE);
                notes.state = true;
            }
            if notes.any() && notes.sock.is_none() {
                notes.sock = Some(sock.clone());
            }
        }
        match self.proto.state() {
            State::TimeWait => {
                self.let_go(notes);
                if self.orphaned.is_some() {
                    // Nobody reads any more, or asks for numbers.
                    self.rx = Ring::empty();
                    self.path_bytes = KVVec::new();
                }
            }
            State::Closed => {
                self.let_go(notes);
                conn.remove(self);
            }
            _ => (),
        }
    }

    /// What poll() is to know. Before the sleepers are woken, see [`crate::family::poll`].
    fn poll_buffers(&self) -> PollBuffers {
        PollBuffers {
            readable: self.readable(),
            unsent: u32::try_from(self.tx_mem).unwrap_or(u32::MAX),
            full: self.tx_slots() == 0,
        }
    }

    /// The connection is over. It parts with its send queue, and with the socket as soon as that has
    /// nothing left to read: until then it is charged for that.
    fn let_go(&mut self, notes: &mut Notes) {
        self.tx = Ring::empty();
        self.rest = None;
        self.tx_bytes = 0;
        self.tx_mem = 0;
        if let Some(sock) = &self.sock {
            sock.publish(self.poll_buffers());
        }
        if self.rx_mem > 0 {
            return;
        }
        if let Some(sock) = self.sock.take() {
            // The last reference may go with it, and that is not for under a spin lock.
            notes.sock = Some(sock);
        }
    }

    /// The errno for the way the connection failed.
    fn failure(&self) -> Option<Error> {
        Some(match self.proto.failure()? {
            Failure::Refused => ECONNREFUSED,
            // As TCP in CLOSE_WAIT.
            Failure::Reset if self.peer_finished && !self.shut => EPIPE,
            Failure::Reset => ECONNRESET,
            // By this end itself, which knows.
            Failure::Aborted => return None,
            Failure::TimedOut => ETIMEDOUT,
            Failure::Protocol => EPROTO,
            Failure::Unreachable => Error::from_errno(self.icmp_errno.saturating_neg()),
        })
    }

    /// Sets the timer, unless the connection has been taken out of the table.
    fn set_timer(&mut self, at: Ns) {
        if let Some(link) = &mut self.link {
            self.timer_at = Some(at);
            link.set_timer(at);
        }
    }

    /// Moves the timer, if it would fire too late. One that fires too early costs less than moving
    /// it with every packet: the handler looks at what is due and sets it anew.
    fn rearm(&mut self, now: Ns) {
        if self.link.is_none() {
            return;
        }
        let deadlines = [
            self.proto.deadline(),
            self.orphan_deadline(),
            self.hold_deadline(),
        ];
        let Some(due) = deadlines.into_iter().flatten().min() else {
            return;
        };
        if self.timer_at.is_some_and(|at| at <= due && at > now) {
            return;
        }
        self.set_timer(due);
    }
}
