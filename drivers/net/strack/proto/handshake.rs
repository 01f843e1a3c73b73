// SPDX-License-Identifier: GPL-2.0

//! The handshake's cookie: a listener that remembers nothing.
//!
//! ```text
//! client                          listener
//!   INIT  ------------------------>          no state
//!         <------------------------ CHALLENGE (time, MAC)
//!   INIT (time, MAC) ------------->          verified: connection created
//!         <------------------------ ACCEPT
//!   ACK   ------------------------>          the client is known to be there
//! ```
//!
//! The cookie is a keyed hash over everything in the INIT that identifies the
//! attempt, the address it came from and the time. Whoever returns it has
//! received a packet at that address within the cookie's lifetime. The UDP source
//! port is left out, because that is the path, and each INIT takes another one.

use super::{
    counter::Counter,
    wire::{
        ChallengeHeader,
        InitHeader, //
    },
    Ns, //
};
use crate::host::keyed_hash;

/// The address of a client: IPv6, or IPv4 mapped into it. Without UDP port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddr(pub [u8; 16]);

/// Length of what the cookie's hash covers.
const COVERED: usize = 44;

/// The hash over an attempt to connect.
fn mac(secret: &[u64; 2], time: u64, peer: &PeerAddr, init: &InitHeader) -> u64 {
    let mut covered = Covered {
        bytes: [0; COVERED],
        len: 0,
    };
    covered.put(&peer.0);
    covered.put(&time.to_be_bytes());
    covered.put(&init.scid.to_be_bytes());
    covered.put(&init.stag.to_be_bytes());
    covered.put(&init.psn.raw().to_be_bytes());
    covered.put(&init.src_port.to_be_bytes());
    covered.put(&init.dst_port.to_be_bytes());
    covered.put(&init.sock_type.to_be_bytes());
    covered.put(&init.max_payload.to_be_bytes());
    keyed_hash(secret, &covered.bytes)
}

/// What the hash covers, while it is put together.
struct Covered {
    bytes: [u8; COVERED],
    len: usize,
}

impl Covered {
    /// Appends `bytes`; [`COVERED`] is the sum of all of them.
    fn put(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        if let Some(place) = self.bytes.get_mut(self.len..end) {
            place.copy_from_slice(bytes);
            self.len = end;
        }
    }
}

/// The CHALLENGE that answers an INIT without a usable cookie.
pub fn challenge(
    secret: &[u64; 2],
    now: Ns,
    peer: &PeerAddr,
    init: &InitHeader,
) -> ChallengeHeader {
    // Zero means that there is no cookie.
    let time = now.max(1);
    ChallengeHeader {
        dcid: init.scid,
        tag: init.stag,
        cookie_time: time,
        cookie_mac: mac(secret, time, peer, init),
    }
}

/// Whether an INIT brings a cookie at all.
pub fn has_cookie(init: &InitHeader) -> bool {
    init.cookie_time != 0
}

/// Checks the cookie of an INIT. An error names the counter of the check.
pub fn verify(
    secret: &[u64; 2],
    now: Ns,
    peer: &PeerAddr,
    init: &InitHeader,
    lifetime: Ns,
) -> Result<(), Counter> {
    if init.cookie_mac != mac(secret, init.cookie_time, peer, init) || !has_cookie(init) {
        return Err(Counter::DropCookieForged);
    }
    match now.max(1).checked_sub(init.cookie_time) {
        Some(age) if age <= lifetime => Ok(()),
        _ => Err(Counter::DropCookieExpired),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{
        psn::Psn,
        SEC, //
    };

    const SECRET: [u64; 2] = [1, 2];
    const PEER: PeerAddr = PeerAddr([7; 16]);

    fn init() -> InitHeader {
        InitHeader {
            sock_type: 1,
            psn: Psn::new(99),
            scid: 5,
            stag: 6,
            src_port: 1000,
            dst_port: 2000,
            max_payload: 1400,
            credit: 64,
            window: 65536,
            cookie_time: 0,
            cookie_mac: 0,
        }
    }

    fn answered(now: Ns) -> InitHeader {
        let challenge = challenge(&SECRET, now, &PEER, &init());
        InitHeader {
            cookie_time: challenge.cookie_time,
            cookie_mac: challenge.cookie_mac,
            ..init()
        }
    }

    #[test]
    fn cookie_comes_back() {
        let init = answered(10 * SEC);
        assert_eq!(verify(&SECRET, 11 * SEC, &PEER, &init, SEC), Ok(()));
        assert_eq!(
            verify(&SECRET, 12 * SEC, &PEER, &init, SEC),
            Err(Counter::DropCookieExpired)
        );
        assert_eq!(
            verify(&SECRET, 9 * SEC, &PEER, &init, SEC),
            Err(Counter::DropCookieExpired)
        );
    }

    #[test]
    fn anything_changed_is_forged() {
        let good = answered(10 * SEC);
        let forged = Err(Counter::DropCookieForged);
        let check = |init: &InitHeader| verify(&SECRET, 10 * SEC, &PEER, init, SEC);
        assert_eq!(check(&good), Ok(()));
        assert_eq!(check(&init()), forged);
        assert_eq!(check(&InitHeader { scid: 8, ..good }), forged);
        assert_eq!(check(&InitHeader { stag: 8, ..good }), forged);
        assert_eq!(
            check(&InitHeader {
                dst_port: 8,
                ..good
            }),
            forged
        );
        assert_eq!(
            check(&InitHeader {
                psn: Psn::new(0),
                ..good
            }),
            forged
        );
        assert_eq!(
            check(&InitHeader {
                cookie_time: 1,
                ..good
            }),
            forged
        );
        let other = PeerAddr([8; 16]);
        assert_eq!(verify(&SECRET, 10 * SEC, &other, &good, SEC), forged);
        assert_eq!(verify(&[1, 3], 10 * SEC, &PEER, &good, SEC), forged);
    }

    #[test]
    fn time_zero_is_no_cookie() {
        let challenge = challenge(&SECRET, 0, &PEER, &init());
        assert_ne!(challenge.cookie_time, 0);
    }
}
