// SPDX-License-Identifier: GPL-2.0

//! Slots and the kick bitmap.

use super::ram::{Ram, Restless};
use proptest::prelude::*;
use std::collections::BTreeSet;
use vstellar_core::{
    doorbell::{Slot, SlotOwner, Slots, Sweep},
    status::Status,
    table::Handle,
};

fn owner(n: u32) -> SlotOwner {
    SlotOwner::Ep(Handle::from_raw((n << 8) | 1))
}

#[test]
fn an_area_is_a_bitmap_and_slots() {
    assert_eq!(Slots::new(2, 64).unwrap().count(), 32);
    assert_eq!(Slots::new(64, 64).unwrap().count(), 63 * 32);
    for npages in [0, 1, 65, u32::MAX] {
        assert_eq!(Slots::new(npages, 64).err(), Some(Status::Inval));
    }
    // the bitmap has no more bits
    assert_eq!(Slots::new(2000, 4096).unwrap().count(), 32768);
}

#[test]
fn a_slot_belongs_to_one() {
    let mut slots = Slots::new(2, 2).unwrap();
    assert_eq!(slots.assign(3, owner(1)), Ok(()));
    assert_eq!(slots.assign(3, owner(2)), Err(Status::Busy));
    assert_eq!(slots.assign(32, owner(2)), Err(Status::Inval));
    assert_eq!(slots.assign(u32::MAX, owner(2)), Err(Status::Inval));
    assert_eq!((slots.used(), slots.owner(3)), (1, Some(owner(1))));
    slots.unassign(3);
    slots.unassign(3);
    assert_eq!((slots.used(), slots.owner(3)), (0, None));
    assert_eq!(slots.check_free(3), Ok(()));
}

#[test]
fn the_fields_are_where_the_header_says() {
    let ram = Ram::new(3 * 4096);
    let at = 4096 + 128 * 5;
    for (offset, value) in [(0, 10), (4, 11), (8, 12), (12, 13)] {
        ram.put32(at + offset, value);
    }
    let slot = Slot::new(&ram, 5);
    assert_eq!((slot.sq_pi(), slot.rq_pi()), (Ok(10), Ok(11)));
    assert_eq!((slot.cq_ci(), slot.cq_arm()), (Ok(12), Ok(13)));
    slot.set_sq_ci(20).unwrap();
    slot.set_rq_ci(21).unwrap();
    slot.ask_for_kick(22, 23).unwrap();
    slot.set_state(24, Status::ConnReset).unwrap();
    slot.set_lost(25).unwrap();
    let device: Vec<_> = (0..7).map(|i| ram.get32(at + 64 + 4 * i)).collect();
    assert_eq!(device, [20, 21, 22, 23, 24, 18, 25]);
    // a slot beyond the area
    assert!(Slot::new(&ram, 64).sq_pi().is_err());
    assert!(Slot::new(&ram, u32::MAX).set_lost(1).is_err());
}

fn sweep(slots: &Slots, ram: &Ram) -> Vec<SlotOwner> {
    let mut sweep = Sweep::new();
    let mut found = Vec::new();
    while let Some(owner) = sweep.next(slots, ram).unwrap() {
        found.push(owner);
    }
    found
}

proptest! {
    #[test]
    fn kicked_slots_are_found_once(
        owned in prop::collection::btree_set(0u32..64, 0..20),
        kicked in prop::collection::btree_set(0u32..200, 0..50),
    ) {
        let ram = Ram::new(3 * 4096);
        let mut slots = Slots::new(3, 3).unwrap();
        for &slot in &owned {
            slots.assign(slot, owner(slot)).unwrap();
        }
        for &slot in &kicked {
            let byte = ram.get::<1>(u64::from(slot / 8))[0];
            ram.put(u64::from(slot / 8), &[byte | (1 << (slot % 8))]);
        }
        let expected: BTreeSet<_> = owned.intersection(&kicked).copied().collect();
        let expected: Vec<_> = expected.into_iter().map(owner).collect();
        prop_assert_eq!(sweep(&slots, &ram), expected);
        prop_assert_eq!(sweep(&slots, &ram), []);
        // bits beyond the slots are left alone
        let beyond = kicked.iter().any(|&slot| slot >= 64);
        prop_assert_eq!((8..25).any(|i| ram.get::<1>(i)[0] != 0), beyond);
    }

    /// A driver that sets bits all the time does not keep the sweep from ending.
    #[test]
    fn a_sweep_ends(seed in any::<u64>()) {
        let ram = Ram::new(2 * 4096);
        ram.put(0, &[0xff; 64]);
        let ram = Restless::new(ram, seed);
        let mut slots = Slots::new(2, 2).unwrap();
        for slot in 0..32 {
            slots.assign(slot, owner(slot)).unwrap();
        }
        let mut sweep = Sweep::new();
        let mut count = 0;
        while sweep.next(&slots, &ram).unwrap().is_some() {
            count += 1;
        }
        prop_assert!(count <= 32);
    }
}
