// SPDX-License-Identifier: GPL-2.0

//! engine/buffers.rs: rings by PSN, and the room for packets in pages.

use crate::{
    engine::buffers::{
        Ring,
        TxPacket,
        HEADROOM,
        MAX_PAYLOAD, //
    },
    proto::psn::Psn,
    sys::pages::{
        PageBuf,
        MAX_ORDER,
        RUN, //
    },
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*,
    sync::Arc, //
};

#[kunit_tests(strack_buffers)]
mod suite {
    use super::*;

    #[test]
    fn each_psn_has_its_slot() -> Result {
        let mut ring = Ring::new(8)?;
        assert_eq!(ring.len(), 8);
        for psn in 100..108 {
            assert!(ring.get(Psn::new(psn)).is_none());
            ring.put(Psn::new(psn), psn);
        }
        for psn in 100..108 {
            assert_eq!(ring.get(Psn::new(psn)), Some(&psn));
        }
        if let Some(item) = ring.get_mut(Psn::new(103)) {
            *item = 1;
        }
        assert_eq!(ring.get(Psn::new(103)), Some(&1));
        assert_eq!(ring.take(Psn::new(103)), Some(1));
        assert_eq!(ring.take(Psn::new(103)), None);
        assert_eq!(ring.get(Psn::new(102)), Some(&102));
        assert_eq!(ring.get(Psn::new(104)), Some(&104));
        Ok(())
    }

    #[test]
    fn slots_come_round() -> Result {
        let mut ring = Ring::new(8)?;
        ring.put(Psn::new(5), 'a');
        ring.put(Psn::new(5 + 8), 'b');
        assert_eq!(ring.get(Psn::new(5)), Some(&'b'));
        assert_eq!(ring.take(Psn::new(5 + 16)), Some('b'));
        assert!(ring.get(Psn::new(5)).is_none());
        Ok(())
    }

    #[test]
    fn numbers_wrap() -> Result {
        let mut ring = Ring::new(16)?;
        let start = Psn::new(u32::MAX - 7);
        for i in 0..16 {
            ring.put(start.add(i), i);
        }
        for i in 0..16 {
            assert_eq!(ring.get(start.add(i)), Some(&i));
        }
        Ok(())
    }

    #[test]
    fn lets_go() -> Result {
        let item = Arc::new(0u8, GFP_KERNEL)?;
        let mut ring = Ring::new(4)?;
        for psn in 0..4 {
            ring.put(Psn::new(psn), item.clone());
        }
        // In place of what was there.
        ring.put(Psn::new(4), item.clone());
        drop(ring.take(Psn::new(1)));
        assert_eq!(ring.take_all().count(), 3);
        assert_eq!(ring.len(), 4);
        assert!((0..4).all(|psn| ring.get(Psn::new(psn)).is_none()));
        ring.put(Psn::new(2), item.clone());
        drop(ring);
        assert!(Arc::into_unique_or_drop(item).is_some());
        Ok(())
    }

    #[test]
    fn empty_keeps_nothing() {
        let mut ring = Ring::empty();
        ring.put(Psn::new(0), 1);
        assert_eq!((ring.len(), ring.get(Psn::new(0))), (0, None));
        assert!(ring.get_mut(Psn::new(9)).is_none());
        assert!(ring.take(Psn::new(0)).is_none());
    }

    #[test]
    fn largest_packet_fits_into_a_run_of_pages() -> Result {
        let room = HEADROOM + usize::from(MAX_PAYLOAD);
        assert_eq!(room, RUN);
        assert!(room <= PAGE_SIZE << MAX_ORDER);
        let packet = TxPacket {
            page: PageBuf::alloc(0, GFP_KERNEL)?,
            start: 0,
            len: 1,
            kept: 1000,
            first: 0,
            loan: None,
        };
        assert_eq!((packet.memory(), packet.room()), (HEADROOM + 1000, 999));
        Ok(())
    }
}
