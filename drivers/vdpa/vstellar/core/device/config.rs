// SPDX-License-Identifier: GPL-2.0

//! The configuration space.

use super::super::{
    abi,
    bytes::Bytes,
    memory::BLOCK_SHIFT, //
};
use super::{
    Limits,
    Policy, //
};

/// Bytes of the configuration space.
pub const CONFIG_SIZE: usize = 80;

/// The configuration space of a device with these limits; `pin_quota` is in bytes, `status` is `S_*`.
pub fn config(
    limits: &Limits,
    policy: &Policy,
    pin_quota: u64,
    mtu: u32,
    status: u32,
) -> Bytes<CONFIG_SIZE> {
    Bytes::new()
        .put32(abi::MAGIC)
        .put16(abi::REVISION)
        .put16(limits.min_driver_revision)
        .put32(status)
        .put32(limits.endpoints)
        .put32(limits.mrs)
        .put32(limits.cqs)
        .put16(limits.sq_log2)
        .put16(limits.rq_log2)
        .put16(limits.max_sge)
        .put16(abi::DB_STRIDE)
        .put64(limits.mr_len)
        .put64(pin_quota)
        .put32(BLOCK_SHIFT)
        .put32(limits.db_pages)
        .put(&policy.ip.to_be_bytes())
        .put16(policy.first_port)
        .put16(policy.last_port)
        .put32(mtu)
}
