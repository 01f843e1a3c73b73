// SPDX-License-Identifier: GPL-2.0

//! Packets as the network stack queues them for a UDP socket. See `struct strack_kunit_rx`.

use super::bindings;
use crate::{
    carrier::addr::Addr,
    sys::skb::Skb, //
};
use core::ptr::NonNull;
use kernel::prelude::*;

/// Addresses of the packets.
pub(crate) const SRC6: [u8; 16] = [0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// As above.
pub(crate) const DST6: [u8; 16] = [0xfd, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1];

/// A datagram all in its linear part.
pub(crate) fn plain(v4: bool) -> bindings::strack_kunit_rx {
    let (src, dst) = if v4 {
        (
            Addr::from_v4([10, 1, 2, 3]).octets(),
            Addr::from_v4([10, 9, 8, 7]).octets(),
        )
    } else {
        (SRC6, DST6)
    };
    bindings::strack_kunit_rx {
        v4,
        src,
        dst,
        sport: 54321,
        ifindex: 17,
        checksum: bindings::strack_kunit_checksum_STRACK_KUNIT_GOOD,
        linear: u32::MAX,
        frag: 1000,
        ..Default::default()
    }
}

/// The packet that `rx` describes, around `payload`.
pub(crate) fn received(rx: &bindings::strack_kunit_rx, payload: &[u8]) -> Result<Skb> {
    let len = u32::try_from(payload.len())?;
    let rx = bindings::strack_kunit_rx {
        linear: rx.linear.min(len),
        ..*rx
    };
    // SAFETY: The payload is as long as it says.
    let skb = unsafe { bindings::strack_c_kunit_skb_received(&rx, payload.as_ptr().cast(), len) };
    let skb = NonNull::new(skb).ok_or(ENOMEM)?;
    // SAFETY: It comes with a reference, which is ours.
    Ok(unsafe { Skb::from_raw(skb) })
}
