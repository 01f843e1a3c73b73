// SPDX-License-Identifier: GPL-2.0

//! What an administrator decides about a device.

use super::config::bit;
use crate::{
    model::{
        abi,
        device::{
            self,
            Limits, //
        },
        memory::BLOCK_SHIFT,
        work::lending::Policy, //
    },
    sys::bindings::{
        vstellar_settings,
        vstellar_zerocopy_VSTELLAR_ZEROCOPY_ADAPTIVE as ADAPTIVE,
        vstellar_zerocopy_VSTELLAR_ZEROCOPY_ALWAYS as ALWAYS,
        vstellar_zerocopy_VSTELLAR_ZEROCOPY_OFF as OFF, //
    }, //
};
use core::ops::RangeInclusive;
use kernel::prelude::*;

/// Set by the administrator, kept until the device goes.
pub(crate) type Settings = vstellar_settings;

impl Copy for Settings {}

impl Clone for Settings {
    fn clone(&self) -> Settings {
        *self
    }
}

/// Most objects of a kind that a device can be allowed, for each takes memory of the host.
const ENDPOINTS: u32 = 1 << 16;
const MEMORY_REGIONS: u32 = 1 << 16;
const COMPLETION_QUEUES: u32 = 1 << 16;

/// Least and most bytes that a device can be allowed to pin: a block for its virtqueues and another for
/// rings, and no more blocks than can be looked through when one has to go.
const PIN_QUOTA: RangeInclusive<u64> = 2 << BLOCK_SHIFT..=8 << 30;

/// What a device has for which nothing was set.
pub(crate) const DEFAULT: Settings = Settings {
    address: [0; 16],
    first_port: 1024,
    last_port: u16::MAX,
    max_endpoints: 4096,
    max_memory_regions: 1024,
    max_completion_queues: 64,
    pin_quota: 256 << 20,
    buffer_quota: 256 << 20,
    connection_rate: 1000,
    loan_quota: 64 << 20,
    zerocopy: OFF,
};

/// Whether a device can be set like this.
pub(crate) fn check(settings: &Settings) -> Result {
    let good = (1..=settings.last_port).contains(&settings.first_port)
        && (1..=ENDPOINTS).contains(&settings.max_endpoints)
        && settings.max_memory_regions <= MEMORY_REGIONS
        && (1..=COMPLETION_QUEUES).contains(&settings.max_completion_queues)
        && PIN_QUOTA.contains(&settings.pin_quota)
        && lending(settings).is_some();
    if good {
        Ok(())
    } else {
        Err(EINVAL)
    }
}

/// Whether send buffers are lent; `None` if that is said by a number that means nothing.
fn lending(settings: &Settings) -> Option<Policy> {
    match settings.zerocopy {
        OFF => Some(Policy::Off),
        ADAPTIVE => Some(Policy::Adaptive),
        ALWAYS => Some(Policy::Always),
        _ => None,
    }
}

/// Those of `features` that a device offers by it.
pub(super) fn features(features: u64, settings: &Settings) -> u64 {
    match lending(settings) {
        Some(Policy::Off) | None => features & !bit(abi::F_ZC),
        Some(_) => features,
    }
}

/// How much of everything a device may have by it.
pub(crate) fn limits(settings: &Settings) -> Limits {
    Limits {
        endpoints: settings.max_endpoints,
        cqs: settings.max_completion_queues,
        mrs: settings.max_memory_regions,
        buffers: settings.buffer_quota,
        lending: lending(settings).unwrap_or_default(),
        loans: settings.loan_quota,
        ..Limits::default()
    }
}

/// What a device may do by it.
pub(crate) fn policy(settings: &Settings) -> device::Policy {
    device::Policy {
        ip: u128::from_be_bytes(settings.address),
        first_port: settings.first_port,
        last_port: settings.last_port,
        connections: settings.connection_rate,
        ..device::Policy::new()
    }
}
