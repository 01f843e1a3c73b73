// SPDX-License-Identifier: GPL-2.0

//! From a client's first packets to a connection.
//!
//! A client is answered without anything being kept of it until it has sent back the cookie that it
//! was given; that part runs in the receive softirq. What then remains to be done, a socket, buffers
//! and timers to be made, is left to process context: the INIT goes on a short queue of fixed length,
//! and a work item of the namespace takes it from there. A queue that is full drops the INIT; the
//! client repeats it.

use crate::{
    carrier::{
        route::{
            FlowKey,
            Route, //
        },
        tx,
        RxMeta, //
    },
    engine::{
        conn::{
            self,
            Conn,
            Endpoint,
            Inner,
            Parts, //
        },
        listener::{
            Listener,
            Ready, //
        },
        net::{
            random_entropy,
            NetNs, //
        }, //
    },
    family::socket,
    observe::counters::Event,
    proto::{
        connection::{
            Connection,
            Ids, //
        },
        counter::Counter,
        handshake::{
            self,
            PeerAddr, //
        },
        psn::Psn,
        wire::{
            flags,
            AcceptHeader,
            DataHeader,
            InitHeader,
            Packet,
            ResetCode,
            ResetHeader,
            MAX_HEADER, //
        },
        SEC, //
    },
    sys::{
        random,
        sock::Sock,
        timer, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// How long a cookie is good for. A client answers at once; this is for lost packets.
const COOKIE_LIFETIME: u64 = 10 * SEC;

/// The socket type that INIT asks for, the only one there is.
const SOCK_STREAM: u16 = 1;

/// Tries to find a free random connection id; the space is 2^32.
const ID_TRIES: usize = 8;

/// An INIT whose cookie is good.
#[derive(Clone, Copy)]
pub(crate) struct Incoming {
    init: InitHeader,
    peer: Endpoint,
    local: Endpoint,
    /// Interface it came in by.
    dev: i32,
}

impl Incoming {
    /// Whether it is the same client's same attempt.
    fn is_same(&self, other: &Incoming) -> bool {
        self.init.scid == other.init.scid && self.peer.addr.octets() == other.peer.addr.octets()
    }
}

/// A pair of random, non-zero numbers that nobody has yet. Process context.
pub(crate) fn new_ids(ns: &NetNs) -> Result<Ids> {
    for _ in 0..ID_TRIES {
        let bits = random();
        let (cid, tag) = (bits as u32, (bits >> 32) as u32);
        if cid != 0 && tag != 0 && ns.conns.find(cid).is_none() {
            return Ok(Ids { cid, tag });
        }
    }
    Err(EADDRNOTAVAIL)
}

/// An INIT has come in. Says whether it was of use. Receive softirq.
///
/// A cookie that is too old was good once, so its bearer gets another one: a client repeats the one
/// that it has until it gets a later one.
pub(crate) fn on_init(ns: &Arc<NetNs>, init: &InitHeader, meta: &RxMeta) -> bool {
    let now = ns.cookie_clock(timer::now());
    let peer = PeerAddr(meta.src.octets());

    let mut bearer = init.cookie_time != 0 || init.cookie_mac != 0;
    if bearer {
        if let Err(reason) = handshake::verify(&ns.secret, now, &peer, init, COOKIE_LIFETIME) {
            ns.count(reason);
            if reason != Counter::DropCookieExpired {
                return false;
            }
            bearer = false;
        }
        // Before anything is refused: who has a connection may do without the listener.
        if let Some(conn) = ns.conns.find_peer(&meta.src.octets(), init.scid) {
            conn.work(|inner, now| inner.proto.on_init(now));
            return true;
        }
    }
    let Some(listener) = find_listener(ns, init, meta) else {
        refuse(ns, init, meta);
        return false;
    };
    if !bearer {
        ns.count(Counter::ChallengeSent);
        let challenge = handshake::challenge(&ns.secret, now, &peer, init);
        answer_as(ns, meta, &Packet::Challenge(challenge), listener.sock.uid());
        return true;
    }
    if listener.is_full() {
        ns.event(Event::ListenOverflow);
        return false;
    }
    queue(ns, init, meta)
}

/// A data packet for nobody: its sender is told, with the tag it sent itself. Receive softirq.
pub(crate) fn on_stray(ns: &Arc<NetNs>, header: &DataHeader, meta: &RxMeta) {
    let reset = ResetHeader {
        flags: flags::RESET_REFLECT,
        code: ResetCode::NoConnection,
        dcid: header.scid,
        tag: header.tag,
        psn: header.psn,
    };
    ns.count(Counter::ResetSent);
    answer(ns, meta, &Packet::Reset(reset));
}

/// An ACCEPT for nobody: its sender is told, with the tag it has chosen. Receive softirq.
pub(crate) fn on_stray_accept(ns: &Arc<NetNs>, header: &AcceptHeader, meta: &RxMeta) {
    let reset = ResetHeader {
        flags: 0,
        code: ResetCode::NoConnection,
        dcid: header.scid,
        tag: header.stag,
        psn: header.psn,
    };
    ns.count(Counter::ResetSent);
    answer(ns, meta, &Packet::Reset(reset));
}

/// Takes the waiting handshakes one after the other. Process context, one at a time per namespace.
pub(crate) fn work(ns: &Arc<NetNs>) {
    loop {
        let Some(item) = ns.incoming.lock().first().copied() else {
            return;
        };
        if let Err(error) = open(ns, &item) {
            ns.count(Counter::OpenFailed);
            if error == ENOMEM {
                ns.event(Event::ListenNoMemory);
            }
        }
        // Not before the connection can be found: until then the queue is what knows of it.
        let _ = ns.incoming.lock().pop();
    }
}

fn find_listener(ns: &NetNs, init: &InitHeader, meta: &RxMeta) -> Option<Arc<Listener>> {
    if init.sock_type != SOCK_STREAM {
        return None;
    }
    ns.ports.listener(meta.dst, init.dst_port, device(meta))
}

fn device(meta: &RxMeta) -> i32 {
    i32::try_from(meta.ifindex).unwrap_or(0)
}

/// Has the connection made in process context, if the queue takes it.
fn queue(ns: &Arc<NetNs>, init: &InitHeader, meta: &RxMeta) -> bool {
    let item = Incoming {
        init: *init,
        peer: Endpoint {
            addr: meta.src,
            port: init.src_port,
            scope: meta.scope(&meta.src),
        },
        local: Endpoint {
            addr: meta.dst,
            port: init.dst_port,
            scope: meta.scope(&meta.dst),
        },
        dev: device(meta),
    };
    {
        let mut incoming = ns.incoming.lock();
        // An impatient client, which is answered when its turn comes. Queued twice, the second one
        // might find its connection over already, and make another that nobody is at the other end of.
        if incoming.iter().any(|other| other.is_same(&item)) {
            return true;
        }
        if incoming.push(item).is_err() {
            ns.event(Event::ListenOverflow);
            return false;
        }
    }
    ns.net.queue_accept_work();
    true
}

/// Finds out who gets the connection, if it still can be made.
fn open(ns: &Arc<NetNs>, item: &Incoming) -> Result {
    // The same INIT may have been queued again after it had been worked off.
    if let Some(conn) = ns.conns.find_peer(&item.peer.addr.octets(), item.init.scid) {
        conn.work(|inner, now| inner.proto.on_init(now));
        return Ok(());
    }
    let listener = ns
        .ports
        .listener(item.local.addr, item.local.port, item.dev);
    // Closed in the meantime. The client tries again and is refused.
    let Some(listener) = listener else {
        return Ok(());
    };
    // Full in the meantime: others were ahead in the queue of handshakes.
    if listener.is_full() {
        ns.event(Event::ListenOverflow);
        return Ok(());
    }
    listener
        .sock
        .on_account_of(|| establish(ns, item, &listener))
}

/// Makes the connection and puts it where accept() finds it.
#[inline(never)]
fn establish(ns: &Arc<NetNs>, item: &Incoming, listener: &Listener) -> Result {
    let sock = Sock::new_child(&listener.sock)?;
    let flow = FlowKey {
        saddr: item.local.addr,
        daddr: item.peer.addr,
        oif: flow_dev(&sock, item.peer.scope),
        mark: sock.mark(),
        uid: sock.uid(),
    };
    let route = Route::lookup(ns, &flow)?;
    let ids = new_ids(ns)?;
    let mut config = ns.config();
    socket::inherit(listener.options(), &sock, &mut config)?;
    config.mss = Inner::usable_payload(&route)?;
    config.rcv_window = Inner::receive_window(&sock);
    if sock.keeps_alive() {
        config.keepalive = Some(ns.keepalive());
    }
    let isn = Psn::new(random() as u32);
    let proto = conn::new_proto(|| Connection::accept(config, ids, isn, &item.init, timer::now()))?;
    let conn = Conn::new(
        ns,
        Parts {
            local: item.local,
            peer: item.peer,
            ids,
            peer_cid: item.init.scid,
            proto,
            route,
            flow,
            sock: sock.clone(),
        },
    )?;
    socket::attach(&sock, &conn);

    if let Err(ready) = listener.push(Ready {
        sock,
        conn: conn.clone(),
    }) {
        // Closed in the meantime. The client has heard nothing yet, and asks again.
        ready.conn.discard();
        return Ok(());
    }
    // Sends the ACCEPT.
    conn.work(|_, _| ());
    Ok(())
}

/// The device that a flow of `sock` is bound to: by the scope of the peer's link-local address, or as the
/// socket is.
pub(crate) fn flow_dev(sock: &Sock, scope: u32) -> i32 {
    match i32::try_from(scope) {
        Ok(dev) if dev != 0 => dev,
        _ => sock.bound_dev(),
    }
}

fn refuse(ns: &Arc<NetNs>, init: &InitHeader, meta: &RxMeta) {
    ns.count(Counter::ResetSent);
    answer(
        ns,
        meta,
        &Packet::Reset(ResetHeader {
            flags: 0,
            code: ResetCode::Refused,
            dcid: init.scid,
            tag: init.stag,
            psn: init.psn,
        }),
    );
}

/// Sends `packet` back to where `meta` says a packet came from. Never larger than what it answers,
/// and nothing is kept: a sender with a forged address gains nothing.
pub(super) fn answer(ns: &Arc<NetNs>, meta: &RxMeta, packet: &Packet) {
    answer_as(ns, meta, packet, ns.net.uid());
}

fn answer_as(ns: &Arc<NetNs>, meta: &RxMeta, packet: &Packet, uid: u32) {
    let flow = FlowKey {
        saddr: meta.dst,
        daddr: meta.src,
        oif: i32::try_from(meta.scope(&meta.src)).unwrap_or(0),
        mark: 0,
        uid,
    };
    let mut bytes = [0; MAX_HEADER];
    let len = packet.emit(&mut bytes);
    let sent = Route::lookup(ns, &flow).and_then(|route| {
        let bytes = bytes.get(..len).ok_or(EINVAL)?;
        tx::control(&ns.carrier, &route, bytes, random_entropy())
    });
    if sent.is_err() {
        ns.event(Event::TxNoRoute);
    }
}
