// SPDX-License-Identifier: GPL-2.0

//! sendmsg() on a stream.
//!
//! Payload is copied once, into pages that the packets then refer to. Each packet gets room for its
//! header in front; full packets lie back to back, so that a run of them leaves as one fragment.
//! Copying takes the socket lock only. The packets are then queued under the connection's lock, some
//! tens at a time, and what the window allows is sent at once.
//!
//! A caller may let packets refer to its own pages instead ([`lend`]).
//!
//! A partial packet is sent at once too (`STRACK_NODELAY` is on by default), except that it waits for
//! more with `MSG_MORE`, and for the packets before it to be acknowledged when the option is off.

use crate::{
    engine::{
        buffers::{
            TxPacket,
            HEADROOM, //
        },
        conn::{
            Conn,
            Inner, //
        },
        sending::Hold, //
    },
    family::{
        lend::{
            self,
            Lender,
            Lent, //
        },
        socket::TxPage, //
    },
    proto::connection::State,
    sys::{
        bindings,
        pages::{
            order_of,
            PageBuf,
            MAX_ORDER, //
        },
        sock::{
            self,
            Sock,
            SockLock,
            SEND_SHUTDOWN, //
        },
    },
};
use kernel::{
    ffi::c_long,
    prelude::*,
    sync::{
        aref::ARef,
        Arc, //
    },
};

/// Packets made before they are queued: a full GSO packet at an MTU of 1500.
pub(super) const BATCH: usize = 44;

/// Least room that a packet gets in its page, bytes; later writes may fill it up.
const MIN_ROOM: usize = 256;

/// How much can be queued.
pub(super) struct Limits {
    /// Bytes of memory.
    pub(super) room: usize,
    /// Packets.
    pub(super) slots: usize,
    /// Payload bytes of a full packet.
    pub(super) mss: usize,
}

impl Limits {
    /// By a connection, for now.
    pub(super) fn of(inner: &Inner, sock: &Sock) -> Limits {
        Limits {
            room: usize::try_from(inner.tx_room(sock)).unwrap_or(0),
            slots: inner.tx_slots() as usize,
            mss: usize::from(inner.mss()),
        }
    }
}

/// sendmsg(). Gives the number of bytes taken.
pub(crate) fn sendmsg(sock: &Sock, msg: &mut bindings::msghdr, len: usize) -> Result<usize> {
    let flags = msg.msg_flags;
    if flags & (bindings::MSG_OOB | bindings::MSG_FASTOPEN) != 0 {
        return Err(EOPNOTSUPP);
    }
    sock.check_control(msg)?;
    let mut lock = sock.lock();
    let mut timeo = lock.sndtimeo(flags & bindings::MSG_DONTWAIT != 0);
    let mut sent = 0;
    let result = send_all(&mut lock, msg, len, flags, &mut timeo, &mut sent);
    match result {
        Ok(()) => Ok(sent),
        Err(_) if sent > 0 => Ok(sent),
        Err(error) => {
            // As sk_stream_error(): what ended the connection says more than that it has ended.
            let error = if error == EPIPE {
                lock.take_error().err().unwrap_or(EPIPE)
            } else {
                error
            };
            if error == EPIPE && flags & bindings::MSG_NOSIGNAL == 0 {
                Sock::sigpipe();
            }
            Err(error)
        }
    }
}

fn send_all(
    lock: &mut SockLock<'_>,
    msg: &mut bindings::msghdr,
    len: usize,
    flags: u32,
    timeo: &mut c_long,
    sent: &mut usize,
) -> Result {
    wait_connected(lock, timeo)?;
    let conn = super::socket::conn_of(lock).map_err(|_| EPIPE)?;
    let more = flags & bindings::MSG_MORE != 0;
    let result = send_packets(lock, &conn, msg, len, more, timeo, sent);
    // However it ended: what was taken is on its way, or waits for a reason.
    let nodelay = sock::inner(lock).options.nodelay;
    conn.work(|inner, now| {
        inner.hold_tail(match (more && result.is_ok(), nodelay) {
            (true, _) => Hold::More(now),
            (false, false) => Hold::Nagle,
            (false, true) => Hold::Not,
        });
    });
    result
}

fn send_packets(
    lock: &mut SockLock<'_>,
    conn: &Arc<Conn>,
    msg: &mut bindings::msghdr,
    len: usize,
    more: bool,
    timeo: &mut c_long,
    sent: &mut usize,
) -> Result {
    if len == 0 {
        // As TCP: that nothing can be sent is told even to who sends nothing.
        return check(lock, false);
    }
    let lender = Lender::of(msg);
    while *sent < len {
        check(lock, *sent > 0)?;
        let left = len - *sent;
        let taken = match &lender {
            None => copy_packets(lock, conn, msg, left, more)?,
            Some(lender) => lend_or_copy(lock, conn, msg, lender, left, more)?,
        };
        *sent += taken;
        if taken == 0 {
            // What is there must go out before there can be room again.
            conn.work(|inner, _| inner.hold_tail(Hold::Not));
            wait_room(lock, conn, timeo)?;
        }
    }
    Ok(())
}

/// Copies the next bytes and queues them. Gives how many, zero when there is no room.
fn copy_packets(
    lock: &mut SockLock<'_>,
    conn: &Arc<Conn>,
    msg: &mut bindings::msghdr,
    left: usize,
    more: bool,
) -> Result<usize> {
    match fill_tail(lock, conn, msg, left)? {
        0 => queue_packets(lock, conn, msg, left, more),
        taken => Ok(taken),
    }
}

/// Queues the next bytes without copying them, unless they have to be. Gives how many, zero when there
/// is no room.
fn lend_or_copy(
    lock: &mut SockLock<'_>,
    conn: &Arc<Conn>,
    msg: &mut bindings::msghdr,
    lender: &Lender,
    left: usize,
    more: bool,
) -> Result<usize> {
    // A packet that has been begun by copying goes on that way.
    match fill_tail(lock, conn, msg, left)? {
        0 => (),
        taken => return Ok(taken),
    }
    match lend::lend_packets(lock, conn, msg, lender, left, more)? {
        Lent::Taken(taken) => Ok(taken),
        Lent::Full => Ok(0),
        Lent::Copy => {
            let some = left.min(conn.peek(|inner| usize::from(inner.mss())));
            queue_packets(lock, conn, msg, some, more || some < left)
        }
    }
}

/// Why nothing can be sent, if that is so.
///
/// A call that can report `progress` leaves the error to the next one.
fn check(lock: &mut SockLock<'_>, progress: bool) -> Result {
    if progress && lock.err() != 0 {
        return Err(EPIPE);
    }
    lock.take_error()?;
    if lock.shutdown() & SEND_SHUTDOWN != 0 {
        return Err(EPIPE);
    }
    Ok(())
}

/// Waits for a connection attempt that is under way. As in TCP, without one that is `EPIPE`.
fn wait_connected(lock: &mut SockLock<'_>, timeo: &mut c_long) -> Result {
    lock.take_error()?;
    let conn = super::socket::conn_of(lock).map_err(|_| EPIPE)?;
    let connecting = || conn.peek(|inner| inner.proto.state() == State::Connecting);
    if connecting() {
        lock.wait(timeo, &mut || !connecting())?;
        lock.take_error()?;
    }
    Ok(())
}

/// Waits until a writer has room again, or never will.
fn wait_room(lock: &mut SockLock<'_>, conn: &Arc<Conn>, timeo: &mut c_long) -> Result {
    // `wait` borrows the lock, so what it waits for looks through a reference of its own.
    let sock = ARef::<Sock>::from(&**lock);
    lock.wait(timeo, &mut || {
        sock.want_room();
        sock.err() != 0
            || sock.shutdown() & SEND_SHUTDOWN != 0
            || conn.peek(|inner| inner.writeable(&sock))
    })
}

/// Fills up the last packet, if it has not been sent and has room. Gives the bytes taken.
fn fill_tail(
    lock: &mut SockLock<'_>,
    conn: &Arc<Conn>,
    msg: &mut bindings::msghdr,
    left: usize,
) -> Result<usize> {
    // Held, the packet is not sent while this copies to it without the connection's lock.
    let Some(tail) = conn.peek(|inner| inner.take_tail(lock)) else {
        return Ok(0);
    };
    let take = left.min(tail.room);
    let copied = tail
        .page
        .copy_from_iter(tail.start, take, &mut msg.msg_iter);
    copied?;
    if !conn.peek(|inner| inner.give_tail(take)) {
        return Err(EPIPE);
    }
    Ok(take)
}

/// Makes packets of the next bytes and queues them. Gives the bytes taken, zero when there is no room.
fn queue_packets(
    lock: &mut SockLock<'_>,
    conn: &Arc<Conn>,
    msg: &mut bindings::msghdr,
    left: usize,
    more: bool,
) -> Result<usize> {
    let Limits { room, slots, mss } = conn.peek(|inner| Limits::of(inner, lock));
    let mut packets = [const { None }; BATCH];
    let (mut taken, mut memory, mut error) = (0, 0, None);
    for slot in packets.iter_mut().take(slots) {
        if taken == left || memory >= room {
            break;
        }
        match copy_packet(lock, msg, left - taken, mss, more) {
            Ok(packet) => {
                taken += usize::from(packet.len);
                memory += packet.memory();
                *slot = Some(packet);
            }
            Err(reason) => {
                error = Some(reason);
                break;
            }
        }
    }
    match error {
        Some(error) if taken == 0 => return Err(error),
        _ => (),
    }
    if taken > 0 {
        // Where they are: to move them all is more than to take some.
        let packets = packets.iter_mut().map_while(Option::take);
        queue(conn, |_| true, packets, taken < left || more)?;
    }
    Ok(taken)
}

/// Queues what has been made of the next bytes: what `add` adds to the last packet so far, and new
/// `packets`. If `more` of the same write may follow, the last one is held back, to be filled up by that.
#[inline(always)] // what callers have made stays where it is
pub(super) fn queue(
    conn: &Arc<Conn>,
    add: impl FnOnce(&mut Inner) -> bool,
    packets: impl Iterator<Item = TxPacket>,
    more: bool,
) -> Result {
    let queued = conn.work(|inner, _| {
        if !add(inner) {
            return false;
        }
        for packet in packets {
            if !inner.queue(packet) {
                return false;
            }
        }
        if more {
            inner.hold_tail(Hold::Writing);
        }
        true
    });
    queued.then_some(()).ok_or(EPIPE)
}

/// Copies the next packet's payload into the socket's page.
fn copy_packet(
    lock: &mut SockLock<'_>,
    msg: &mut bindings::msghdr,
    left: usize,
    mss: usize,
    more: bool,
) -> Result<TxPacket> {
    let want = left.min(mss);
    let want_room = if more || want == mss {
        mss
    } else {
        want.next_power_of_two().clamp(MIN_ROOM.min(mss), mss)
    };
    let page = page_with(lock, HEADROOM + want_room, left.max(want_room) + HEADROOM)?;
    // When large pages are scarce, a smaller one makes a smaller packet.
    let room = want_room.min(page.page.len() - page.used - HEADROOM);
    let len = want.min(room);
    page.page
        .copy_from_iter(page.used + HEADROOM, len, &mut msg.msg_iter)?;
    let packet = TxPacket {
        page: page.page.clone(),
        start: u16::try_from(page.used)?,
        len: u16::try_from(len)?,
        kept: u16::try_from(room)?,
        first: 0,
        loan: None,
    };
    page.used += HEADROOM + room;
    Ok(packet)
}

/// The socket's page, with `room` bytes in it that are not used yet; when a new one is needed, one for
/// `all` that is going to be written. There may be less in it when large pages are scarce.
#[inline(always)] // for each packet that is copied
pub(super) fn page_with<'a>(
    lock: &'a mut SockLock<'_>,
    room: usize,
    all: usize,
) -> Result<&'a mut TxPage> {
    let socket = sock::inner(lock);
    let fits = |page: &TxPage| page.page.len() - page.used >= room;
    if !socket.tx_page.as_ref().is_some_and(fits) {
        // A small write does not deserve a large page.
        let order = match all {
            0..4096 => order_of(4096),
            4096..16384 => order_of(16384),
            _ => MAX_ORDER,
        };
        // Whoever writes, as the connection itself.
        let page = lock.on_account_of(|| PageBuf::alloc(order, GFP_KERNEL_ACCOUNT))?;
        sock::inner(lock).tx_page = Some(TxPage { page, used: 0 });
    }
    sock::inner(lock).tx_page.as_mut().ok_or(ENOMEM)
}
