// SPDX-License-Identifier: GPL-2.0

//! recvmsg() on a stream.
//!
//! Only the holder of the socket lock takes packets off the front of the receive ring, so the packets
//! that are in order stay where they are while their bytes are copied to user space without the
//! connection's lock.

use crate::{
    engine::conn::Conn,
    proto::connection::State,
    sys::{
        bindings,
        skb::Skb,
        sock::{
            Sock,
            SockLock,
            RCV_SHUTDOWN, //
        },
    },
};
use kernel::{
    prelude::*,
    sync::{
        aref::ARef,
        Arc, //
    },
};

/// Packets looked at under one hold of the connection's lock.
const BATCH: usize = 16;

/// Bytes of a packet that are next to be read.
struct Piece {
    skb: Skb,
    start: u32,
    len: usize,
}

/// recvmsg(). Gives the number of bytes read, zero at the end of the stream.
pub(crate) fn recvmsg(
    sock: &Sock,
    msg: &mut bindings::msghdr,
    len: usize,
    flags: u32,
) -> Result<usize> {
    if flags & bindings::MSG_ERRQUEUE != 0 {
        // Nothing is ever queued there.
        return Err(EAGAIN);
    }
    let mut lock = sock.lock();
    let conn = super::socket::conn_of(&mut lock)?;
    if flags & bindings::MSG_OOB != 0 {
        return Err(EOPNOTSUPP);
    }
    let mut timeo = lock.rcvtimeo(flags & bindings::MSG_DONTWAIT != 0);
    let target = lock.rcvlowat(flags & bindings::MSG_WAITALL != 0, len);
    let peek = flags & bindings::MSG_PEEK != 0;
    let discard = flags & bindings::MSG_TRUNC != 0;

    let mut done = 0;
    loop {
        // With MSG_PEEK nothing is taken away, so each round begins behind what was copied.
        let skip = if peek { done } else { 0 };
        match take(&conn, msg, skip, len - done, discard) {
            Ok(0) if len == 0 && conn.peek(|inner| inner.rx_bytes > 0) => return Ok(0),
            Ok(0) => (),
            Ok(taken) => {
                done += taken;
                if !peek {
                    conn.work(|inner, _| inner.consume(taken));
                }
                if done < len {
                    continue;
                }
            }
            Err(_) if done > 0 => return Ok(done),
            Err(error) => return Err(error),
        }
        if done >= target {
            return Ok(done);
        }
        match wait(&mut lock, &conn, done, skip_of(peek, done), &mut timeo) {
            Ok(true) => (),
            Ok(false) => return Ok(done),
            Err(_) if done > 0 => return Ok(done),
            Err(error) => return Err(error),
        }
    }
}

fn skip_of(peek: bool, done: usize) -> usize {
    if peek {
        done
    } else {
        0
    }
}

/// Waits for bytes beyond the next `skip`. False when the stream has ended instead.
fn wait(
    lock: &mut SockLock<'_>,
    conn: &Arc<Conn>,
    done: usize,
    skip: usize,
    timeo: &mut kernel::ffi::c_long,
) -> Result<bool> {
    let sock = ARef::<Sock>::from(&**lock);
    let more = || conn.peek(|inner| inner.rx_bytes > skip);
    let over = || {
        sock.err() != 0
            || sock.shutdown() & RCV_SHUTDOWN != 0
            || conn.peek(|inner| inner.proto.state() == State::Closed)
    };
    if !more() && !over() {
        lock.wait(timeo, &mut || more() || over())?;
    }
    if more() {
        return Ok(true);
    }
    if done == 0 {
        lock.take_error()?;
    }
    Ok(false)
}

/// Copies up to `len` bytes that are there, from `skip` bytes on.
fn take(
    conn: &Arc<Conn>,
    msg: &mut bindings::msghdr,
    skip: usize,
    len: usize,
    discard: bool,
) -> Result<usize> {
    if discard {
        return Ok(conn
            .peek(|inner| inner.rx_bytes.saturating_sub(skip))
            .min(len));
    }
    let mut pieces = [const { None }; BATCH];
    conn.peek(|inner| {
        let Some(mut psn) = inner.rx_head else { return };
        let mut skip = skip.saturating_add(usize::from(inner.rx_skip));
        let mut left = len.min(inner.rx_bytes);
        let end = inner.rx_end();
        let mut slots = pieces.iter_mut();
        while psn.lt(end) && left > 0 {
            if let Some(packet) = inner.rx.get(psn) {
                let size = usize::from(packet.len);
                if skip >= size {
                    skip -= size;
                } else {
                    let Some(slot) = slots.next() else { return };
                    let take = (size - skip).min(left);
                    *slot = Some(Piece {
                        skb: packet.skb.hold(),
                        start: packet
                            .start
                            .saturating_add(u32::try_from(skip).unwrap_or(0)),
                        len: take,
                    });
                    left -= take;
                    skip = 0;
                }
            }
            psn = psn.next();
        }
    });
    let mut done = 0;
    for piece in pieces.into_iter().flatten() {
        let copied = piece
            .skb
            .copy_to_iter(piece.start, &mut msg.msg_iter, piece.len);
        piece.skb.consume();
        match copied {
            Ok(()) => done += piece.len,
            Err(error) if done == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(done)
}
