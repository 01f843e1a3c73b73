// SPDX-License-Identifier: GPL-2.0

//! Addresses of endpoints: IPv6, with IPv4 as `::ffff:a.b.c.d`, and a port.

use super::{
    abi,
    Bytes,
    Fields,
    Result,
    Status, //
};

/// Bytes of an address in commands.
pub const ADDRESS_SIZE: usize = 24;

/// `::ffff:0.0.0.0/96`
const V4_MAPPED: u128 = 0xffff << 32;

/// An IP address and a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// IPv6, or IPv4 mapped.
    pub ip: u128,
    /// Zero lets the device choose.
    pub port: u16,
}

impl Address {
    /// No particular address, no particular port.
    pub const ANY: Self = Self { ip: 0, port: 0 };

    /// Takes an address.
    pub(super) fn parse(fields: &mut Fields<'_>) -> Result<Self> {
        let (family, port) = (fields.take16()?, fields.take16()?);
        if family != abi::AF_INET6 {
            return Err(Status::NotSupp);
        }
        // there are no interfaces that a guest could name
        fields.zero32()?;
        Ok(Self {
            ip: u128::from_be_bytes(fields.take()?),
            port,
        })
    }

    /// As it stands in commands.
    pub fn encode(&self) -> Bytes<ADDRESS_SIZE> {
        Bytes::new()
            .put16(abi::AF_INET6)
            .put16(self.port)
            .put32(0)
            .put(&self.ip.to_be_bytes())
    }

    /// The IPv4 address, if it is one.
    pub fn v4(&self) -> Option<u32> {
        (self.ip >> 32 == V4_MAPPED >> 32).then_some(self.ip as u32)
    }

    /// No particular address.
    pub fn is_wildcard(&self) -> bool {
        self.ip == 0 || self.v4() == Some(0)
    }

    /// An address of the host that it shares with nobody.
    pub fn is_loopback(&self) -> bool {
        self.ip == 1 || self.v4().is_some_and(|v4| v4 >> 24 == 127)
    }

    /// An address of one host, as far as that can be seen from it.
    pub fn is_unicast(&self) -> bool {
        match self.v4() {
            // not "this network", multicast, reserved, broadcast
            Some(v4) => v4 >> 24 != 0 && v4 >> 28 < 0xe,
            None => self.ip != 0 && self.ip >> 120 != 0xff,
        }
    }
}
