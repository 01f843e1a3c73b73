// SPDX-License-Identifier: GPL-2.0

//! engine/fifo.rs: order, limits, and that nothing is lost or kept.

use crate::engine::fifo::Fifo;
use kernel::{
    prelude::*,
    sync::Arc, //
};

#[kunit_tests(strack_fifo)]
mod suite {
    use super::*;

    #[test]
    fn first_in_first_out() -> Result {
        let mut fifo = Fifo::new(4, GFP_KERNEL)?;
        for item in 1..=3 {
            assert!(fifo.push(item).is_ok());
        }
        assert_eq!((fifo.len(), fifo.first()), (3, Some(&1)));
        assert!(fifo.iter().copied().eq([1, 2, 3]));
        for item in 1..=3 {
            assert_eq!(fifo.pop(), Some(item));
        }
        assert_eq!((fifo.len(), fifo.first()), (0, None));
        assert!(fifo.pop().is_none());
        Ok(())
    }

    #[test]
    fn full_gives_the_item_back() -> Result {
        // Rounded up to a power of two.
        let mut fifo = Fifo::new(5, GFP_KERNEL)?;
        assert_eq!(fifo.capacity(), 8);
        for item in 0..8 {
            assert!(fifo.push(item).is_ok());
        }
        assert_eq!(fifo.push(99), Err(99));
        assert_eq!(fifo.len(), 8);
        assert!(fifo.iter().copied().eq(0..8));
        assert_eq!(fifo.pop(), Some(0));
        assert!(fifo.push(8).is_ok());
        assert!(fifo.iter().copied().eq(1..9));
        Ok(())
    }

    #[test]
    fn goes_round() -> Result {
        let mut fifo = Fifo::new(4, GFP_KERNEL)?;
        let (mut next, mut expected) = (0, 0);
        for round in 0..100 {
            for _ in 0..=round % 4 {
                if fifo.push(next).is_ok() {
                    next += 1;
                }
            }
            assert!(fifo.iter().copied().eq(expected..next));
            for _ in 0..=round % 3 {
                if let Some(item) = fifo.pop() {
                    assert_eq!(item, expected);
                    expected += 1;
                }
            }
            assert_eq!(fifo.len(), next - expected);
        }
        assert!(expected > 90);
        Ok(())
    }

    #[test]
    fn none_holds_nothing() {
        let mut fifo = Fifo::none();
        assert_eq!((fifo.len(), fifo.capacity()), (0, 0));
        assert_eq!(fifo.push(1), Err(1));
        assert!(fifo.first().is_none());
        assert!(fifo.pop().is_none());
        assert_eq!(fifo.iter().count(), 0);
    }

    #[test]
    fn drops_what_is_left() -> Result {
        let item = Arc::new(0u8, GFP_KERNEL)?;
        let mut fifo = Fifo::new(2, GFP_KERNEL)?;
        assert!(fifo.push(item.clone()).is_ok());
        assert!(fifo.push(item.clone()).is_ok());
        drop(fifo.pop());
        drop(fifo);
        assert!(Arc::into_unique_or_drop(item).is_some());
        Ok(())
    }

    #[test]
    fn absurd_length() {
        assert_eq!(Fifo::<u8>::new(usize::MAX, GFP_KERNEL).err(), Some(EINVAL));
    }
}
