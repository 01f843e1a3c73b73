// SPDX-License-Identifier: GPL-2.0

//! Packets: `struct sk_buff`, owned.
//!
//! A packet to send has a small linear part for headers and page fragments for the rest; a packet
//! received is only read. Either may be shared ([`Skb::hold`]), and the last owner frees it.

use super::{
    bindings,
    pages::PageBuf,
    raw_gfp,
    sock::Sock,
    zcopy::{
        Loan,
        Piece,
        Ubuf, //
    },
};
use core::ptr::NonNull;
use kernel::{
    alloc::Flags,
    error::to_result,
    prelude::*, //
};

/// Room in front of the payload for every header that UDP, IP and the device put there.
///
/// What a device wants beyond this is made room for when the packet is sent, at the price of a copy
/// of the linear part.
const HEADROOM: u32 = 128 + 8 + 40;

/// How many fragments the administrator allows a packet to have (`net.core.max_skb_frags`), for now.
pub(crate) fn max_frags() -> usize {
    // SAFETY: No requirements.
    unsafe { bindings::strack_c_max_frags() as usize }
}

/// A packet, or one of several handles to it.
///
/// # Invariants
///
/// The pointer is to a valid `struct sk_buff` of which this object owns one reference (`users`).
pub(crate) struct Skb(NonNull<bindings::sk_buff>);

// SAFETY: A `struct sk_buff` belongs to no thread or CPU, and its reference count is atomic.
unsafe impl Send for Skb {}
// SAFETY: Through a shared handle a packet is only read, or handed to functions that allow for other
// readers.
unsafe impl Sync for Skb {}

impl Skb {
    /// Allocates a packet to send, with room for `linear` bytes in its linear part.
    pub(crate) fn alloc(linear: usize, flags: Flags) -> Result<Skb> {
        let linear = u32::try_from(linear)?;
        // SAFETY: No requirements.
        let skb = unsafe { bindings::strack_c_skb_alloc(linear, HEADROOM, raw_gfp(flags)) };
        // INVARIANT: The allocation comes with one reference, and it is ours.
        NonNull::new(skb).map(Skb).ok_or(ENOMEM)
    }

    /// Takes over a packet.
    ///
    /// # Safety
    ///
    /// `skb` is valid and one reference to it is the caller's to give away.
    pub(crate) unsafe fn from_raw(skb: NonNull<bindings::sk_buff>) -> Skb {
        // INVARIANT: By the safety requirements.
        Skb(skb)
    }

    /// Gives the reference to the caller.
    pub(crate) fn into_raw(self) -> *mut bindings::sk_buff {
        core::mem::ManuallyDrop::new(self).as_ptr()
    }

    /// The packet, for functions of the kernel.
    pub(crate) fn as_ptr(&self) -> *mut bindings::sk_buff {
        self.0.as_ptr()
    }

    /// Bytes in it, from where it is to be read.
    pub(crate) fn len(&self) -> usize {
        // SAFETY: By the type invariant. The length does not change while others hold it.
        unsafe { (*self.as_ptr()).len as usize }
    }

    /// Bytes of memory it keeps.
    pub(crate) fn truesize(&self) -> u32 {
        // SAFETY: By the type invariant. The size does not change while others hold it.
        unsafe { (*self.as_ptr()).truesize }
    }

    /// Number of datagrams it is made of.
    pub(crate) fn packets(&self) -> u64 {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_skb_packets(self.as_ptr()) }.into()
    }

    /// One more handle to the packet.
    pub(crate) fn hold(&self) -> Skb {
        // SAFETY: By the type invariant.
        let skb = unsafe { bindings::strack_c_skb_get(self.as_ptr()) };
        // INVARIANT: `skb_get()` returns its argument, with a reference for us; it is not null, since
        // the argument is not.
        Skb(NonNull::new(skb).unwrap_or(self.0))
    }

    /// Copies bytes from offset `off` out; all of `to` is filled.
    pub(crate) fn copy_bits(&self, off: u32, to: &mut [u8]) -> Result {
        let off = i32::try_from(off)?;
        let len = i32::try_from(to.len())?;
        // SAFETY: By the type invariant, and `to` is as long as it says. Bounds of the packet are
        // checked by the function.
        to_result(unsafe {
            bindings::skb_copy_bits(self.as_ptr(), off, to.as_mut_ptr().cast(), len)
        })
    }

    /// Copies `len` bytes from offset `off` to the user's memory that `to` describes.
    ///
    /// May sleep. On failure (`EFAULT`) the iterator is where it was.
    pub(crate) fn copy_to_iter(&self, off: u32, to: &mut bindings::iov_iter, len: usize) -> Result {
        let off = i32::try_from(off)?;
        let len = i32::try_from(len)?;
        // SAFETY: By the type invariant and that of the reference; bounds of both are checked by the
        // function.
        to_result(unsafe { bindings::strack_c_skb_copy_to_iter(self.as_ptr(), off, to, len) })
    }

    /// Appends to the linear part, as long as there are no fragments.
    pub(crate) fn push_linear(&mut self, data: &[u8]) -> Result {
        let len = u32::try_from(data.len())?;
        // SAFETY: By the type invariant; `data` is as long as it says. Room is checked there.
        to_result(unsafe {
            bindings::strack_c_skb_push_linear(self.as_ptr(), data.as_ptr().cast(), len)
        })
    }

    /// Appends `len` bytes from offset `off` of `page`, without copying them. `ENOSPC` when the
    /// packet has as many fragments as it may ([`max_frags`]).
    ///
    /// What follows the previous fragment in the same run of pages becomes part of it.
    pub(crate) fn add_frag(&mut self, page: &PageBuf, off: usize, len: usize) -> Result {
        page.check(off, len)?;
        let (off, len) = (u32::try_from(off)?, u32::try_from(len)?);
        // SAFETY: By the type invariants of both; the range lies within the run of pages, of which
        // the packet takes a reference.
        to_result(unsafe {
            bindings::strack_c_skb_add_frag(self.as_ptr(), page.as_page(), off, len)
        })
    }

    /// Fragments that one more packet of a train may bring ([`max_frags`]). The first one may bring as
    /// many as there is room for: they were allowed when it was made, and it cannot be sent otherwise.
    pub(crate) fn train_frags_left(&self) -> usize {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_skb_train_frags_left(self.as_ptr()) as usize }
    }

    /// Fragments that there is still room for, whoever allows what.
    pub(crate) fn frags_left(&self) -> usize {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_skb_frags_left(self.as_ptr()) as usize }
    }

    /// Appends the pieces of a packet, without copying them. `ENOSPC`, and nothing is done, when the
    /// packet has fewer fragments left than that may need.
    ///
    /// [`Skb::set_ubuf`] comes after all of them.
    pub(crate) fn add_pieces(&mut self, loan: &Loan, pieces: &[Piece]) -> Result {
        if pieces.len() > self.frags_left() {
            return Err(ENOSPC);
        }
        for piece in pieces {
            let len = u32::try_from(piece.len())?;
            // SAFETY: By the type invariants of both; the range lies within what the reference of the
            // piece keeps, of which the packet takes another one.
            to_result(unsafe {
                bindings::strack_c_skb_add_lent(self.as_ptr(), piece.as_page(), piece.off(), len)
            })?;
        }
        if loan.is_shared() {
            // SAFETY: By the type invariant.
            unsafe { bindings::strack_c_skb_set_shared(self.as_ptr()) };
        }
        Ok(())
    }

    /// Has `ubuf` told when the fragments are not referred to any more, and, should the packet stay on
    /// this host, that they were copied for that.
    pub(crate) fn set_ubuf(&mut self, ubuf: &Ubuf) {
        // SAFETY: By the type invariants. The packet takes a reference.
        unsafe { bindings::strack_c_skb_set_ubuf(self.as_ptr(), ubuf.as_ptr()) }
    }

    /// Makes the packet a train of `segs` datagrams of `size` bytes, the last perhaps shorter.
    pub(crate) fn set_gso(&mut self, size: u16, segs: u16) {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_skb_set_gso(self.as_ptr(), size, segs) }
    }

    /// Charges the packet to the send buffer of `sock` until it has left, and gives it the socket's
    /// priority.
    pub(crate) fn set_owner_w(&mut self, sock: &Sock) {
        // SAFETY: By the type invariants. The charge keeps the socket alive.
        unsafe { bindings::strack_c_skb_set_owner_w(self.as_ptr(), sock.as_ptr()) }
    }

    /// Lets go of a packet that has served its purpose; dropping it says that it was lost.
    pub(crate) fn consume(self) {
        // SAFETY: By the type invariant; the reference is given away.
        unsafe { bindings::consume_skb(self.into_raw()) }
    }
}

impl Drop for Skb {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; the reference is given away.
        unsafe { bindings::strack_c_skb_free(self.as_ptr()) }
    }
}
