// SPDX-License-Identifier: GPL-2.0

//! One rule a test, kept and broken.

use super::{driver::*, ram::Ram};
use vstellar_core::{
    event_index::{passed16, passed32},
    memory::MemoryError,
    queue::{Layout, SplitQueue, Violation},
    span::Span,
};

fn ram() -> Ram {
    Ram::new(0x10000)
}

/// What becomes of a queue of 8 with these descriptors, the first being the head.
fn broken_by(descriptors: &[Descriptor]) -> Violation {
    let (ram, mut queue, mut driver) = (ram(), queue(8, true), Driver::new(8));
    for (index, descriptor) in (0..).zip(descriptors) {
        put_descriptor(&ram, index, *descriptor);
    }
    driver.offer(&ram, 0);
    let violation = queue.pop(&ram).unwrap_err();
    // and it stays broken, whatever comes
    ram.put16(AVAIL + 2, 0);
    assert!(queue.is_broken());
    assert_eq!(queue.pop(&ram), Err(Violation::Broken));
    violation
}

fn descriptor(flags: u16, next: u16) -> Descriptor {
    Descriptor {
        addr: DATA,
        len: 16,
        flags,
        next,
    }
}

#[test]
fn a_chain_is_requests_and_room() {
    let (ram, mut queue, mut driver) = (ram(), queue(8, true), Driver::new(8));
    ram.put(DATA, b"hello, ");
    ram.put(DATA + 0x100, b"world");
    let head = driver.add(
        &ram,
        &[
            (DATA, 7, false),
            (DATA + 0x100, 5, false),
            (DATA + 0x200, 3, true),
            (DATA + 0x300, 100, true),
        ],
    );
    let chain = queue.pop(&ram).unwrap().unwrap();
    assert_eq!(chain.head(), head);
    assert_eq!((chain.readable_len(), chain.writable_len()), (12, 103));
    assert_eq!(chain.writable()[1], Span::new(DATA + 0x300, 100).unwrap());
    let mut request = [0; 64];
    assert_eq!(chain.gather(&ram, &mut request), Ok(Some(12)));
    assert_eq!(&request[..12], b"hello, world");
    assert_eq!(chain.gather(&ram, &mut request[..11]), Ok(None));
    assert_eq!(chain.scatter(&ram, b"answer"), Ok(6));
    assert_eq!(&ram.get(DATA + 0x200), b"ans");
    assert_eq!(&ram.get(DATA + 0x300), b"wer");
    assert_eq!(chain.scatter(&ram, &[1; 200]), Ok(103));
    assert_eq!(ram.get(DATA + 0x300 + 100), [0]);
    queue.push(&ram, chain.head(), 6).unwrap();
    assert_eq!(driver.take(&ram), Some((head, 6)));
    assert_eq!(queue.pop(&ram), Ok(None));
}

#[test]
fn a_chain_in_unmapped_memory_can_be_taken_but_not_read() {
    let (ram, mut queue, mut driver) = (ram(), queue(8, true), Driver::new(8));
    driver.add(
        &ram,
        &[(DATA, 8, false), (1 << 40, 8, false), (1 << 40, 8, true)],
    );
    let chain = queue.pop(&ram).unwrap().unwrap();
    let unmapped = Err(MemoryError::Unmapped);
    assert_eq!(chain.gather(&ram, &mut [0; 64]), unmapped.map(Some));
    assert_eq!(chain.scatter(&ram, b"x"), Err(MemoryError::Unmapped));
}

#[test]
fn the_parts_of_a_queue_are_aligned_and_do_not_wrap() {
    let new = |size, desc, avail, used| {
        let layout = Layout {
            size,
            desc,
            avail,
            used,
        };
        SplitQueue::new(layout, 256, true, 0).map(|_| ())
    };
    let bad = Err(Violation::Layout);
    assert_eq!(new(8, 16, 2, 4), Ok(()));
    assert_eq!(new(0, 16, 2, 4), bad);
    assert_eq!(new(6, 16, 2, 4), bad);
    assert_eq!(new(512, 16, 2, 4), bad);
    assert_eq!(new(8, 8, 2, 4), bad);
    assert_eq!(new(8, 16, 1, 4), bad);
    assert_eq!(new(8, 16, 2, 2), bad);
    assert_eq!(new(8, !0 << 4, 2, 4), bad);
    assert_eq!(new(8, 16, !0 << 1, 4), bad);
    assert_eq!(new(8, 16, 2, !0 << 2), bad);
}

#[test]
fn a_queue_outside_of_memory_is_broken() {
    let unmapped = Violation::Memory(MemoryError::Unmapped);
    let (ram, mut driver) = (Ram::new(DESC as usize), Driver::new(8));
    assert_eq!(queue(8, true).pop(&ram), Err(unmapped));
    let ram = Ram::new(DATA as usize);
    driver.offer(&ram, 0);
    let mut queue = SplitQueue::new(
        Layout {
            desc: 1 << 30,
            ..layout(8)
        },
        256,
        true,
        0,
    )
    .unwrap();
    assert_eq!(queue.pop(&ram), Err(unmapped));
}

#[test]
fn no_more_is_available_than_there_are_descriptors() {
    for offered in [9u16, 100, 0x8000, 0xffff] {
        let (ram, mut queue) = (ram(), queue(8, true));
        ram.put16(AVAIL + 2, offered);
        assert_eq!(queue.pop(&ram), Err(Violation::Available), "{offered}");
    }
    // nor with those that were taken and not given back
    let (ram, mut queue, mut driver) = (ram(), queue(8, true), Driver::new(8));
    put_descriptor(&ram, 0, descriptor(0, 0));
    for _ in 0..8 {
        driver.offer(&ram, 0);
        queue.pop(&ram).unwrap().unwrap();
    }
    assert_eq!(queue.outstanding(), 8);
    driver.offer(&ram, 0);
    assert_eq!(queue.pop(&ram), Err(Violation::Available));
}

#[test]
fn an_available_index_that_goes_back_is_noticed() {
    let (ram, mut queue, mut driver) = (ram(), queue(8, true), Driver::new(8));
    driver.add(&ram, &[(DATA, 8, false)]);
    let chain = queue.pop(&ram).unwrap().unwrap();
    queue.push(&ram, chain.head(), 0).unwrap();
    ram.put16(AVAIL + 2, 0);
    assert_eq!(queue.pop(&ram), Err(Violation::Available));
}

#[test]
fn a_head_beyond_the_table_breaks() {
    let (ram, mut queue, mut driver) = (ram(), queue(8, true), Driver::new(8));
    driver.offer(&ram, 8);
    assert_eq!(queue.pop(&ram), Err(Violation::Index));
}

#[test]
fn a_next_beyond_the_table_breaks() {
    assert_eq!(broken_by(&[descriptor(NEXT, 8)]), Violation::Index);
    assert_eq!(broken_by(&[descriptor(NEXT, 0xffff)]), Violation::Index);
}

#[test]
fn a_loop_breaks() {
    assert_eq!(broken_by(&[descriptor(NEXT, 0)]), Violation::Length);
    let two = [descriptor(NEXT, 1), descriptor(NEXT, 0)];
    assert_eq!(broken_by(&two), Violation::Length);
}

#[test]
fn a_chain_has_at_most_eight() {
    let (ram, mut queue, mut driver) = (ram(), queue(16, true), Driver::new(16));
    driver.add(&ram, &[(DATA, 1, false); 8]);
    let chain = queue.pop(&ram).unwrap().unwrap();
    assert_eq!(chain.readable().len(), 8);
    let (ram, mut driver) = (self::ram(), Driver::new(16));
    let mut queue = super::driver::queue(16, true);
    driver.add(&ram, &[(DATA, 1, false); 9]);
    assert_eq!(queue.pop(&ram), Err(Violation::Length));
}

#[test]
fn a_chain_has_no_more_than_the_queue() {
    let (ram, mut queue, mut driver) = (ram(), queue(2, true), Driver::new(2));
    put_descriptor(&ram, 0, descriptor(NEXT, 1));
    put_descriptor(&ram, 1, descriptor(NEXT, 1));
    driver.offer(&ram, 0);
    assert_eq!(queue.pop(&ram), Err(Violation::Length));
}

#[test]
fn what_is_read_comes_before_what_is_written() {
    let wrong = [descriptor(NEXT | WRITE, 1), descriptor(0, 0)];
    assert_eq!(broken_by(&wrong), Violation::Order);
}

#[test]
fn indirect_descriptors_were_not_offered() {
    assert_eq!(broken_by(&[descriptor(INDIRECT, 0)]), Violation::Indirect);
    let both = descriptor(INDIRECT | NEXT, 1);
    assert_eq!(broken_by(&[both]), Violation::Indirect);
}

#[test]
fn unknown_flags_empty_and_wrapping_buffers_break() {
    let wrong = Violation::Descriptor;
    assert_eq!(broken_by(&[descriptor(8, 0)]), wrong);
    let empty = Descriptor {
        len: 0,
        ..descriptor(0, 0)
    };
    assert_eq!(broken_by(&[empty]), wrong);
    let wrapping = Descriptor {
        addr: u64::MAX - 3,
        ..descriptor(0, 0)
    };
    assert_eq!(broken_by(&[wrapping]), wrong);
}

#[test]
fn the_driver_is_called_when_it_wants() {
    let (ram, mut queue, mut driver) = (ram(), queue(8, true), Driver::new(8));
    let give = |queue: &mut SplitQueue, driver: &mut Driver| {
        driver.add(&ram, &[(DATA, 1, true)]);
        let chain = queue.pop(&ram).unwrap().unwrap();
        queue.push(&ram, chain.head(), 0).unwrap();
        driver.take(&ram).unwrap();
    };
    driver.set_used_event(&ram, 1);
    give(&mut queue, &mut driver);
    assert_eq!(queue.wants_call(&ram), Ok(false));
    give(&mut queue, &mut driver);
    assert_eq!(queue.wants_call(&ram), Ok(true));
    // nothing new since
    assert_eq!(queue.wants_call(&ram), Ok(false));
    give(&mut queue, &mut driver);
    assert_eq!(queue.wants_call(&ram), Ok(false));
}

#[test]
fn without_event_indices_flags_decide() {
    let (ram, mut queue, mut driver) = (ram(), queue(8, false), Driver::new(8));
    for (flags, wanted) in [(0, true), (1, false)] {
        ram.put16(AVAIL, flags);
        driver.add(&ram, &[(DATA, 1, true)]);
        let chain = queue.pop(&ram).unwrap().unwrap();
        queue.push(&ram, chain.head(), 0).unwrap();
        assert_eq!(queue.wants_call(&ram), Ok(wanted));
    }
    queue.disable_kick(&ram).unwrap();
    assert_eq!(ram.get16(USED), 1);
    assert_eq!(queue.enable_kick(&ram), Ok(false));
    assert_eq!(ram.get16(USED), 0);
    driver.add(&ram, &[(DATA, 1, true)]);
    assert_eq!(queue.enable_kick(&ram), Ok(true));
}

#[test]
fn the_device_asks_for_the_next_kick() {
    let (ram, mut queue, mut driver) = (ram(), queue(8, true), Driver::new(8));
    driver.add(&ram, &[(DATA, 1, true)]);
    assert_eq!(queue.enable_kick(&ram), Ok(true));
    queue.pop(&ram).unwrap().unwrap();
    assert_eq!(queue.enable_kick(&ram), Ok(false));
    assert_eq!(driver.avail_event(&ram), 1);
    queue.disable_kick(&ram).unwrap();
    assert_eq!(ram.get16(USED), 0);
}

#[test]
fn a_queue_goes_on_where_it_was_stopped() {
    let (ram, mut driver) = (ram(), Driver::new(4));
    let mut queue = SplitQueue::new(layout(4), 256, true, 0).unwrap();
    for i in 0..70_000u32 {
        driver.add(&ram, &[(DATA, 1, true)]);
        let chain = queue.pop(&ram).unwrap().unwrap();
        queue.push(&ram, chain.head(), i).unwrap();
        assert_eq!(driver.take(&ram).unwrap().1, i);
        if i % 1000 == 0 {
            queue = SplitQueue::new(layout(4), 256, true, queue.taken()).unwrap();
        }
    }
}

#[test]
fn an_index_has_passed_what_it_has_left_behind() {
    assert!(passed16(5, 5, 6));
    assert!(!passed16(6, 5, 6));
    assert!(!passed16(4, 5, 6));
    assert!(passed16(0xffff, 0xfffe, 1));
    assert!(!passed16(1, 0xfffe, 1));
    assert!(!passed16(5, 5, 5));
    assert!(passed32(u32::MAX, u32::MAX, 0));
    assert!(!passed32(0, u32::MAX, 0));
    assert!(!passed32(7, 7, 7));
}
