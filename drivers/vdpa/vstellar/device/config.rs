// SPDX-License-Identifier: GPL-2.0

//! What a device offers: its features and its configuration space.

use super::settings::{
    self,
    Settings, //
};
use crate::{
    model::{
        abi,
        device, //
    },
    sys::bindings::{
        virtio_vstellar_config,
        VIRTIO_F_ACCESS_PLATFORM,
        VIRTIO_F_VERSION_1,
        VIRTIO_RING_F_EVENT_IDX, //
    }, //
};

pub(super) const fn bit(number: u32) -> u64 {
    1 << number
}

/// All that a device can do.
pub(crate) const FEATURES: u64 = bit(VIRTIO_F_VERSION_1)
    | bit(VIRTIO_F_ACCESS_PLATFORM)
    | bit(VIRTIO_RING_F_EVENT_IDX)
    | bit(abi::F_STREAM)
    | bit(abi::F_SHADOW_DB)
    | bit(abi::F_MR)
    | bit(abi::F_PATHS)
    | bit(abi::F_CC)
    | bit(abi::F_LAZY_PIN)
    | bit(abi::F_STATS)
    | bit(abi::F_ZC)
    | bit(abi::F_QUIESCE);

/// What no driver can do without.
const MANDATORY: u64 = bit(VIRTIO_F_VERSION_1) | bit(abi::F_SHADOW_DB);

/// Whether a device may offer no more than `features`.
pub(crate) fn may_offer(features: u64) -> bool {
    features & !FEATURES == 0 && features & MANDATORY == MANDATORY
}

/// Whether a driver may take `features` of those `offered`.
///
/// Without ACCESS_PLATFORM a driver names memory as its machine does, which is what a virtual machine
/// has mapped (QEMU clears the bit without `iommu_platform=on`). In this kernel that would be
/// physical addresses, which mean nothing to the device.
pub(crate) fn acceptable(features: u64, offered: u64, has_mm: bool) -> bool {
    features & !offered == 0
        && features & MANDATORY == MANDATORY
        && (has_mm || features & bit(VIRTIO_F_ACCESS_PLATFORM) != 0)
}

/// Whether events of the virtqueues are asked for by index.
pub(crate) fn event_index(features: u64) -> bool {
    features & bit(VIRTIO_RING_F_EVENT_IDX) != 0
}

/// Bytes of the configuration space.
pub(crate) const SIZE: usize = device::CONFIG_SIZE;

const _: () = assert!(SIZE == size_of::<virtio_vstellar_config>());

/// Payload bytes of a packet, a hint.
const MTU: u32 = 1500;

/// How a device is, as its driver may read it.
pub(crate) struct Condition {
    pub(crate) link_up: bool,
    pub(crate) quiesced: bool,
    pub(crate) needs_reset: bool,
}

impl Condition {
    fn bits(&self) -> u32 {
        let mut bits = 0;
        if self.link_up {
            bits |= abi::S_LINK_UP;
        }
        if self.quiesced {
            bits |= abi::S_QUIESCED;
        }
        if self.needs_reset {
            bits |= abi::S_NEEDS_RESET;
        }
        bits
    }
}

/// The configuration space of a device that may pin `pin_quota` bytes.
pub(crate) fn space(settings: &Settings, pin_quota: u64, condition: &Condition) -> [u8; SIZE] {
    device::config(
        &settings::limits(settings),
        &settings::policy(settings),
        pin_quota,
        MTU,
        condition.bits(),
    )
    .into_array()
}
