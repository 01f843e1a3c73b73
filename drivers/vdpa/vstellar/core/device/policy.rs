// SPDX-License-Identifier: GPL-2.0

//! What the host's operator allows a device.
//!
//! Rules attach to endpoints when they bind and connect, so that nothing has to be
//! filtered later: payload that flows belongs to a connection that was allowed.

use super::super::{
    control::{
        Address,
        EpOption, //
    },
    status::{
        Result,
        Status, //
    }, //
};
use crate::host::List;

/// Addresses that a device may or may not connect to.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// They begin with
    pub prefix: u128,
    /// that many bits of this.
    pub bits: u8,
    /// Whether they are allowed.
    pub allow: bool,
}

impl Rule {
    fn matches(&self, ip: u128) -> bool {
        let ignored = 128u32.saturating_sub(u32::from(self.bits));
        let mask = u128::MAX.checked_shl(ignored).unwrap_or(0);
        (ip ^ self.prefix) & mask == 0
    }
}

/// What a device may do.
#[derive(Debug)]
pub struct Policy {
    /// Its address; zero for any of the namespace.
    pub ip: u128,
    /// Local ports that it may bind.
    pub first_port: u16,
    /// The last one.
    pub last_port: u16,
    /// Where it may connect to: the first rule that matches decides, and without one it may.
    pub destinations: List<Rule>,
    /// Most paths of a connection.
    pub max_paths: u32,
    /// Most bytes of a socket's send or receive buffer.
    pub max_buffer: u32,
    /// Bit n stands for the traffic class with DSCP n.
    pub dscp: u64,
    /// New connections a second, either way.
    pub connections: u32,
}

impl Policy {
    /// All that is harmless.
    pub fn new() -> Self {
        Self {
            ip: 0,
            first_port: 1,
            last_port: u16::MAX,
            destinations: List::new(),
            max_paths: 128,
            max_buffer: 16 << 20,
            dscp: 1,
            connections: 1000,
        }
    }

    /// What to bind to for a wish: the device's address in place of a wildcard.
    pub(super) fn local(&self, wish: &Address) -> Result<Address> {
        let ip = match (self.ip, wish.is_wildcard()) {
            (0, true) => wish.ip,
            (0, false) if wish.is_loopback() || !wish.is_unicast() => {
                return Err(Status::AddrNotAvail);
            }
            (0, false) => wish.ip,
            (own, true) => own,
            (own, false) if own == wish.ip => own,
            _ => return Err(Status::AddrNotAvail),
        };
        if wish.port != 0 && !(self.first_port..=self.last_port).contains(&wish.port) {
            return Err(Status::Perm);
        }
        Ok(Address {
            ip,
            port: wish.port,
        })
    }

    /// Whether a socket's own choice of address and port may be one that is not allowed.
    pub(super) fn restricts(&self) -> bool {
        self.ip != 0 || self.first_port > 1 || self.last_port < u16::MAX
    }

    /// Whether the device may connect there.
    pub(super) fn destination(&self, peer: &Address) -> Result {
        if peer.port == 0 {
            return Err(Status::Inval);
        }
        // the loopback address of the host is not the guest's
        if peer.is_loopback() || !peer.is_unicast() {
            return Err(Status::NetUnreach);
        }
        let rule = self.destinations.iter().find(|rule| rule.matches(peer.ip));
        if rule.is_none_or(|rule| rule.allow) {
            Ok(())
        } else {
            Err(Status::Perm)
        }
    }

    /// The number that an option may be set to in place of the one that was asked for.
    pub(super) fn clamp(&self, option: EpOption, number: u32) -> u32 {
        match option {
            EpOption::Paths => number.min(self.max_paths),
            EpOption::Sndbuf | EpOption::Rcvbuf => number.min(self.max_buffer),
            // the ECN bits are the transport's
            EpOption::Tclass => match self.dscp.checked_shr(number >> 2) {
                Some(classes) if classes & 1 == 1 => number & !3,
                _ => 0,
            },
            _ => number,
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new()
    }
}

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// Nanoseconds of a millisecond.
const MILLISECOND: u64 = 1_000_000;

/// Milliseconds to wait at least for what was refused: there may be several by then.
const WAIT_LEAST: u64 = 10;

/// So many a second, and as many at once after a second of none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// Time that was not used, up to a second.
    saved: u64,
    last: u64,
}

impl Rate {
    pub(super) fn new() -> Self {
        Self {
            saved: SECOND,
            last: 0,
        }
    }

    /// One more at time `now` (nanoseconds), if there may be one.
    pub(super) fn take(&mut self, per_second: u32, now: u64) -> Result {
        let since = now.saturating_sub(self.last);
        self.saved = self.saved.saturating_add(since).min(SECOND);
        self.last = now.max(self.last);
        let price = SECOND.checked_div(u64::from(per_second));
        let left = price.and_then(|price| self.saved.checked_sub(price));
        self.saved = left.ok_or(Status::Again)?;
        Ok(())
    }

    /// In how many milliseconds to ask again, after it was refused; none if there never may be one.
    pub(super) fn wait(&self, per_second: u32) -> Option<u32> {
        let price = SECOND.checked_div(u64::from(per_second))?;
        let left = price.saturating_sub(self.saved).div_ceil(MILLISECOND);
        // a second at most
        Some(left.max(WAIT_LEAST) as u32)
    }
}
