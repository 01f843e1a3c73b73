// SPDX-License-Identifier: GPL-2.0

//! Sequence numbers across the wrap.

use proptest::prelude::*;
use strack_proto::psn::Psn;

#[test]
fn wrap() {
    let last = Psn::new(u32::MAX);
    let first = Psn::new(0);
    assert_eq!(last.next(), first);
    assert_eq!(first.sub(1), last);
    assert_eq!(first.dist_from(last), 1);
    assert_eq!(last.dist_from(first), u32::MAX);
    assert!(last.lt(first) && first.gt(last));
    assert!(first.in_window(last, 2) && !first.in_window(last, 1));
    assert!(!last.sub(1).in_window(last, 4096));
    assert!(!last.in_window(last, 0));
}

proptest! {
    #[test]
    fn order(base in any::<u32>(), ahead in 1u32..0x8000_0000) {
        let early = Psn::new(base);
        let late = early.add(ahead);
        prop_assert_eq!(late.dist_from(early), ahead);
        prop_assert_eq!(late.sub(ahead), early);
        prop_assert!(early.lt(late) && early.le(late));
        prop_assert!(!early.gt(late) && !early.ge(late));
        prop_assert!(late.gt(early) && late.ge(early));
        prop_assert!(!late.lt(early) && !late.le(early));
        prop_assert!(early.le(early) && early.ge(early));
        prop_assert!(!early.lt(early) && !early.gt(early));
    }

    #[test]
    fn window(base in any::<u32>(), len in 0u32..=4096, at in any::<u32>()) {
        let base = Psn::new(base);
        prop_assert_eq!(base.add(at).in_window(base, len), at < len);
    }
}
