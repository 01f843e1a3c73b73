// SPDX-License-Identifier: GPL-2.0

//! Memory full of anything, and memory that changes while it is read: no panic, no end that
//! does not come, nothing outside of what a chain may be.

use super::{
    driver::*,
    ram::{Ram, Restless},
};
use proptest::prelude::*;
use vstellar_core::queue::{Chain, SplitQueue, CHAIN_MAX};

fn check(chain: &Chain) {
    assert!(chain.readable().len() + chain.writable().len() <= CHAIN_MAX);
    assert!(chain.head() < 16);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_memory(
        ring in prop::collection::vec(prop_oneof![0u8..4, any::<u8>()], 0x1100),
        index in prop_oneof![0u16..17, any::<u16>()],
        event_index in any::<bool>(),
    ) {
        let ram = Ram::new(0x5000);
        ram.put(AVAIL, &ring[..0x100]);
        ram.put(DESC, &ring[0x100..]);
        ram.put16(AVAIL + 2, index);
        let mut queue = queue(16, event_index);
        let mut taken = 0;
        while let Ok(Some(chain)) = queue.pop(&ram) {
            check(&chain);
            let mut request = [0; 4096];
            let _ = chain.gather(&ram, &mut request);
            taken += 1;
            prop_assert!(taken <= 16);
        }
    }

    #[test]
    fn memory_that_changes(seed in any::<u64>(), chains in 1usize..8) {
        let ram = Ram::new(0x5000);
        let mut driver = Driver::new(16);
        for _ in 0..chains {
            driver.add(&ram, &[(0x100, 64, false), (0x200, 64, true)]);
        }
        let ram = Restless::new(ram, seed);
        let mut queue = queue(16, true);
        for _ in 0..100_000 {
            match queue.pop(&ram) {
                Ok(Some(chain)) => {
                    check(&chain);
                    let mut request = [0; 256];
                    let _ = chain.gather(&ram, &mut request);
                    let _ = chain.scatter(&ram, &[0; 16]);
                    let _ = queue.push(&ram, chain.head(), 16);
                    let _ = queue.wants_call(&ram);
                }
                Ok(None) => { let _ = queue.enable_kick(&ram); }
                Err(_) => break,
            }
        }
        prop_assert!(queue.is_broken());
    }

    #[test]
    fn any_layout(size in any::<u16>(), desc in any::<u64>(), avail in any::<u64>(), used in any::<u64>()) {
        let layout = vstellar_core::queue::Layout { size, desc: desc << 4, avail: avail << 1, used: used << 2 };
        if let Ok(mut queue) = SplitQueue::new(layout, u16::MAX, true, 0) {
            let ram = Ram::new(0x1000);
            let _ = queue.pop(&ram);
            let _ = queue.push(&ram, 0, 0);
            let _ = queue.enable_kick(&ram);
        }
    }
}
