// SPDX-License-Identifier: GPL-2.0

//! sendmsg() without copying.
//!
//! splice() and sendfile() (`MSG_SPLICE_PAGES`), io_uring and whoever else in the kernel says how to
//! learn that it is over (`msg_ubuf`) let packets refer to the pages that the bytes lie in. A program's
//! `MSG_ZEROCOPY` alone does not: that is a copy, as in TCP without `SO_ZEROCOPY`.
//!
//! A packet gets its header from the socket's page and has its payload in pieces of the caller's, which
//! stay as they are: what a later write adds to it are pieces, too. Copied is what is not worth it or
//! cannot be lent: small messages, payloads in many small pieces, memory of the slab allocator.
//!
//! Who has to be told when it is over keeps whole pages for so long, however little of each is sent. So
//! a packet of his counts as the pages it lies in, as in TCP; of those that neighbours share, the first
//! counts. What else is lent lies where it would lie anyway, and counts as its bytes.

use crate::{
    engine::{
        buffers::{
            TxPacket,
            HEADROOM,
            MAX_PAYLOAD, //
        },
        conn::Conn, //
    },
    family::send::{
        self,
        Limits,
        BATCH, //
    },
    observe::counters::Event,
    sys::{
        bindings,
        skb::max_frags,
        sock::SockLock,
        zcopy::{
            Loan,
            Pages,
            Ubuf, //
        },
    },
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        Arc,
        UniqueArc, //
    },
};

/// Smaller messages are copied. So many bytes cost as much one way as the other, where instructions are
/// counted: a call of sendfile() with 512 takes 46000, both ends together, and each byte more 1.3 if
/// they are copied and 0.6 if not.
const COPY_BELOW: usize = 512;

/// Most pieces of one packet: the pages that the largest payload lies in, wherever it begins.
const PIECES: usize = (MAX_PAYLOAD as usize - 1).div_ceil(PAGE_SIZE) + 1;

/// The same as long as an skb may have so few fragments as the administrator allows: one is the header.
fn most_pieces() -> usize {
    PIECES.min(max_frags().saturating_sub(1))
}

/// Who lends the pages of a message.
pub(super) struct Lender {
    ubuf: Option<Ubuf>,
    /// Somebody may write to the pages.
    shared: bool,
}

impl Lender {
    /// That of `msg`, if it is to be sent without copying.
    pub(super) fn of(msg: &bindings::msghdr) -> Option<Lender> {
        let flags = msg.msg_flags;
        if flags & (bindings::MSG_SPLICE_PAGES | bindings::MSG_ZEROCOPY) == 0 {
            return None;
        }
        let ubuf = Ubuf::of(msg);
        let lends = flags & bindings::MSG_SPLICE_PAGES != 0 || ubuf.is_some();
        lends.then_some(Lender {
            ubuf,
            shared: flags & bindings::MSG_NO_SHARED_FRAGS == 0,
        })
    }

    /// Bytes of memory that are kept for a packet of `len` bytes, in the pieces from number `first` on.
    fn kept(&self, loan: &Loan, first: usize, len: usize) -> usize {
        match self.ubuf {
            Some(_) => loan.pages_from(first) * PAGE_SIZE,
            None => len,
        }
    }

    /// A loan of nothing yet, with room for the pieces of `most` bytes in packets of `mss`.
    fn loan(&self, most: usize, mss: usize) -> Result<UniqueArc<Loan>> {
        // A packet has one, one more for each page that begins in it, and there may be the last packet's.
        let pieces = most.div_ceil(mss) + most / PAGE_SIZE + PIECES;
        let loan = Loan::new(self.ubuf.clone(), self.shared, pieces, GFP_KERNEL_ACCOUNT)?;
        Ok(UniqueArc::new(loan, GFP_KERNEL_ACCOUNT)?)
    }
}

/// What has become of the next bytes.
pub(super) enum Lent {
    /// So many are queued.
    Taken(usize),
    /// There is no room for any.
    Full,
    /// They have to be copied, as many as make a packet.
    Copy,
}

/// Makes packets of the next bytes without copying these, and queues them.
///
/// What has been queued is behind the iterator, and what has not is still in it.
#[inline(never)]
pub(super) fn lend_packets(
    lock: &mut SockLock<'_>,
    conn: &Arc<Conn>,
    msg: &mut bindings::msghdr,
    lender: &Lender,
    left: usize,
    more: bool,
) -> Result<Lent> {
    let (limits, tail) = conn.peek(|inner| {
        let limits = Limits::of(inner, lock);
        (limits, inner.take_lent_tail(lock, lender.ubuf.as_ref()))
    });
    if limits.room == 0 || limits.slots == 0 && tail.is_none() {
        return Ok(Lent::Full);
    }
    if left < COPY_BELOW && tail.is_none() {
        return Ok(Lent::Copy);
    }
    let most = left.min(BATCH * limits.mss);
    let mut loan = lock.on_account_of(|| lender.loan(most, limits.mss))?;
    let mut pages = Pages::new(&mut msg.msg_iter);

    // More for the last packet, which lies in this loan from now on.
    let (mut added, mut kept, mut memory) = (0, 0, 0);
    let mut complete = true;
    if let Some(tail) = &tail {
        loan.adopt(&tail.loan, tail.first, tail.len)?;
        let len = usize::from(tail.len);
        let before = lender.kept(&loan, 0, len);
        let want = left.min(tail.room);
        added = gather(&mut loan, &mut pages, 0, want)?;
        complete = added == want;
        memory = lender.kept(&loan, 0, len + added) - before;
        let Some(all) = counted(usize::from(tail.kept) + memory) else {
            // In too many pages.
            return Ok(Lent::Copy);
        };
        kept = all;
    }
    // New packets.
    let mut packets = [const { None }; BATCH];
    let mut taken = added;
    for slot in packets.iter_mut().take(limits.slots) {
        if !complete || taken == left || memory >= limits.room {
            break;
        }
        let first = loan.len();
        let want = limits.mss.min(left - taken);
        let packet = match gather(&mut loan, &mut pages, first, want) {
            Ok(got) if got == want => match counted(lender.kept(&loan, first, want)) {
                Some(kept) => packet(lock, first, want, kept).map(Some),
                // In too many pages.
                None => Ok(None),
            },
            Ok(_) => Ok(None),
            Err(error) => Err(error),
        };
        match packet {
            Ok(Some(packet)) => {
                taken += want;
                memory += packet.memory();
                *slot = Some(packet);
            }
            Err(error) if taken == 0 => return Err(error),
            _ => {
                loan.truncate(first);
                break;
            }
        }
    }
    if taken == 0 {
        return Ok(Lent::Copy);
    }
    pages.keep(taken);

    let loan = Arc::from(loan);
    let packets = packets.iter_mut().map_while(Option::take);
    send::queue(
        conn,
        |inner| added == 0 || inner.give_lent_tail(added, kept, &loan),
        packets.map(|packet| TxPacket {
            loan: Some(loan.clone()),
            ..packet
        }),
        taken < left || more,
    )?;
    conn.ns.counters.event_n(Event::ZeroCopyBytes, taken as u64);
    Ok(Lent::Taken(taken))
}

/// Adds the pieces of the next `want` bytes to the packet that begins with piece `first`. Gives how
/// many bytes these are: fewer where the following ones cannot be lent, or would be one piece too many.
fn gather(loan: &mut Loan, pages: &mut Pages<'_>, first: usize, want: usize) -> Result<usize> {
    let mut got = 0;
    let most = first + most_pieces();
    while got < want && loan.len() < most && loan.has_room() {
        match pages.next(want - got) {
            Ok(Some(piece)) => {
                got += piece.len();
                loan.push(first, piece)?;
            }
            Err(error) if got == 0 => return Err(error),
            Ok(None) | Err(_) => break,
        }
    }
    Ok(got)
}

/// A packet of `len` bytes, which begin with piece `first` and keep `kept` bytes of memory, with room
/// for its header.
fn packet(lock: &mut SockLock<'_>, first: usize, len: usize, kept: u16) -> Result<TxPacket> {
    let page = send::page_with(lock, HEADROOM, BATCH * HEADROOM)?;
    let packet = TxPacket {
        page: page.page.clone(),
        start: u16::try_from(page.used)?,
        len: u16::try_from(len)?,
        kept,
        first: u16::try_from(first)?,
        loan: None,
    };
    page.used += HEADROOM;
    Ok(packet)
}

/// Bytes kept for a packet, as they are counted: none for more than can be. Where a single page is as
/// much, that is what all count as that lie in any.
fn counted(kept: usize) -> Option<u16> {
    const MOST: usize = u16::MAX as usize;
    if PAGE_SIZE > MOST {
        return Some(kept.min(MOST) as u16);
    }
    u16::try_from(kept).ok()
}
