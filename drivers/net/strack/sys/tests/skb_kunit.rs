// SPDX-License-Identifier: GPL-2.0

//! sys/skb.rs: packets as they are made and read, linear and of page fragments.

use super::{
    bindings,
    look,
    pattern,
    Allowed,
    Fixture, //
};
use crate::sys::{
    pages::PageBuf,
    skb::Skb, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

fn page_of(bytes: &[u8]) -> Result<PageBuf> {
    let page = PageBuf::alloc(0, GFP_KERNEL)?;
    page.write(0, bytes)?;
    Ok(page)
}

fn refs(page: &PageBuf) -> i32 {
    // SAFETY: The page is valid.
    unsafe { bindings::strack_c_kunit_page_refs(page.as_page()) }
}

fn max_frags() -> u32 {
    // SAFETY: No requirements.
    unsafe { bindings::strack_c_kunit_max_frags() }
}

/// Ten bytes in the linear part, then `bytes` in two fragments that are no neighbours.
fn mixed(bytes: &[u8]) -> Result<Skb> {
    let mut skb = Skb::alloc(10, GFP_KERNEL)?;
    skb.push_linear(&bytes[..10])?;
    skb.add_frag(&page_of(&bytes[10..])?, 0, 20)?;
    skb.add_frag(&page_of(&bytes[30..])?, 0, bytes.len() - 30)?;
    Ok(skb)
}

/// Copies to memory of the kernel as if it were a user's: the result, and the bytes that have arrived.
fn to_iter(skb: &Skb, off: u32, to: &mut [u8], len: usize) -> (Result, usize) {
    let room = to.len();
    let vec = bindings::kvec {
        iov_base: to.as_mut_ptr().cast(),
        iov_len: room,
    };
    let mut iter = bindings::iov_iter::default();
    // SAFETY: One vector over `to`, and both outlive the iterator.
    unsafe { bindings::iov_iter_kvec(&mut iter, bindings::ITER_DEST, &vec, 1, room) };
    let result = skb.copy_to_iter(off, &mut iter, len);
    // SAFETY: The iterator is valid.
    let left = unsafe { bindings::strack_c_kunit_iter_left(&iter) };
    (result, room - left)
}

#[kunit_tests(strack_skb)]
mod suite {
    use super::*;

    #[test]
    fn linear() -> Result {
        let bytes = pattern(100)?;
        let mut skb = Skb::alloc(100, GFP_KERNEL)?;
        assert_eq!(skb.len(), 0);
        skb.push_linear(&bytes[..60])?;
        skb.push_linear(&bytes[60..])?;
        assert_eq!(skb.len(), 100);
        let seen = look(&skb);
        assert_eq!((seen.linear, seen.frags), (100, 0));
        // Ethernet with a tag, IPv6, UDP, and what the packets of tunnels have on top.
        assert!(seen.headroom >= 14 + 4 + 40 + 8);
        let mut found = [0; 100];
        skb.copy_bits(0, &mut found)?;
        assert!(found[..] == bytes[..]);
        assert_eq!(skb.packets(), 1);
        Ok(())
    }

    #[test]
    fn linear_part_that_is_full_is_left_alone() -> Result {
        let bytes = pattern(64)?;
        let mut skb = Skb::alloc(64, GFP_KERNEL)?;
        // The allocator may have given more than was asked for.
        let mut len = 0;
        while skb.push_linear(&bytes).is_ok() {
            len += bytes.len();
            assert!(len < 65536);
        }
        assert!(len >= 64);
        assert_eq!(skb.push_linear(&bytes), Err(ENOSPC));
        assert_eq!(skb.len(), len);
        let mut found = [0; 64];
        skb.copy_bits(u32::try_from(len - 64)?, &mut found)?;
        assert!(found[..] == bytes[..]);
        Ok(())
    }

    #[test]
    fn fragments_are_pages_and_not_copies() -> Result {
        let bytes = pattern(200)?;
        let page = page_of(&bytes)?;
        let mut skb = Skb::alloc(0, GFP_KERNEL)?;
        let before = skb.truesize();
        skb.add_frag(&page, 50, 100)?;
        assert_eq!(refs(&page), 2);
        assert_eq!(skb.len(), 100);
        assert_eq!(skb.truesize(), before + 100);
        let seen = look(&skb);
        assert_eq!((seen.linear, seen.frags), (0, 1));
        page.write(50, &[0xee])?;
        let mut found = [0; 2];
        skb.copy_bits(0, &mut found)?;
        assert_eq!(found, [0xee, bytes[51]]);
        drop(skb);
        assert_eq!(refs(&page), 1);
        Ok(())
    }

    #[test]
    fn neighbours_become_one_fragment() -> Result {
        let bytes = pattern(300)?;
        let page = page_of(&bytes)?;
        let mut skb = Skb::alloc(0, GFP_KERNEL)?;
        for at in [0, 100, 200] {
            skb.add_frag(&page, at, 100)?;
        }
        assert_eq!((look(&skb).frags, refs(&page)), (1, 2));
        assert_eq!(skb.len(), 300);
        let mut found = [0; 300];
        skb.copy_bits(0, &mut found)?;
        assert!(found[..] == bytes[..]);
        // No neighbour of what came last, though of the same page.
        skb.add_frag(&page, 100, 100)?;
        assert_eq!((look(&skb).frags, refs(&page)), (2, 3));
        skb.copy_bits(300, &mut found[..100])?;
        assert!(found[..100] == bytes[100..200]);
        Ok(())
    }

    #[test]
    fn fragments_run_out() -> Result {
        let page = page_of(&pattern(2)?)?;
        let mut skb = Skb::alloc(0, GFP_KERNEL)?;
        for _ in 0..max_frags() {
            // The same byte twice is no neighbour of itself.
            skb.add_frag(&page, 0, 1)?;
        }
        let (len, truesize) = (skb.len(), skb.truesize());
        assert_eq!(skb.add_frag(&page, 0, 1), Err(ENOSPC));
        assert_eq!((skb.len(), skb.truesize()), (len, truesize));
        assert_eq!(refs(&page), 1 + i32::try_from(max_frags())?);
        // What follows the last one needs no fragment.
        skb.add_frag(&page, 1, 1)?;
        assert_eq!(skb.len(), len + 1);
        Ok(())
    }

    #[test]
    fn fragments_are_allowed() -> Result {
        let page = page_of(&pattern(2)?)?;
        let all = max_frags() as usize;
        let allowed = Allowed::frags(3);
        let mut skb = Skb::alloc(0, GFP_KERNEL)?;
        // What is sent first may need more.
        assert_eq!(skb.train_frags_left(), all);
        for left in [2, 1, 0] {
            skb.add_frag(&page, 0, 1)?;
            assert_eq!(skb.train_frags_left(), left);
        }
        assert_eq!(skb.add_frag(&page, 0, 1), Err(ENOSPC));
        assert_eq!((look(&skb).frags, refs(&page)), (3, 4));
        skb.add_frag(&page, 1, 1)?;
        // Fewer than it has already.
        let fewer = Allowed::frags(1);
        assert_eq!((skb.train_frags_left(), skb.frags_left()), (0, all - 3));
        let mut other = Skb::alloc(0, GFP_KERNEL)?;
        other.add_frag(&page, 0, 1)?;
        assert_eq!(other.add_frag(&page, 0, 1), Err(ENOSPC));
        drop(fewer);
        other.add_frag(&page, 0, 1)?;
        drop(allowed);
        skb.add_frag(&page, 0, 1)?;
        assert_eq!(skb.train_frags_left(), all - 4);
        Ok(())
    }

    #[test]
    fn fragment_beyond_its_page() -> Result {
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        let mut skb = Skb::alloc(0, GFP_KERNEL)?;
        assert_eq!(skb.add_frag(&page, PAGE_SIZE - 1, 2), Err(EINVAL));
        assert_eq!(skb.add_frag(&page, usize::MAX, 1), Err(EINVAL));
        assert_eq!((skb.len(), look(&skb).frags, refs(&page)), (0, 0, 1));
        Ok(())
    }

    #[test]
    fn nothing_linear_behind_fragments() -> Result {
        let page = page_of(&pattern(8)?)?;
        let mut skb = Skb::alloc(64, GFP_KERNEL)?;
        skb.push_linear(&[1, 2])?;
        skb.add_frag(&page, 0, 8)?;
        assert_eq!(skb.push_linear(&[3]), Err(ENOSPC));
        assert_eq!(skb.len(), 10);
        Ok(())
    }

    #[test]
    fn read_across_parts() -> Result {
        let bytes = pattern(80)?;
        let skb = mixed(&bytes)?;
        assert_eq!(look(&skb).frags, 2);
        for off in 0..80 {
            let mut found = [0; 80];
            let to = &mut found[..80 - off];
            skb.copy_bits(u32::try_from(off)?, to)?;
            assert!(to[..] == bytes[off..]);
        }
        Ok(())
    }

    #[test]
    fn read_beyond_the_end() -> Result {
        let skb = mixed(&pattern(80)?)?;
        let mut found = [0; 81];
        assert!(skb.copy_bits(0, &mut found).is_err());
        assert!(skb.copy_bits(80, &mut found[..1]).is_err());
        assert!(skb.copy_bits(u32::MAX, &mut found[..1]).is_err());
        assert!(skb.copy_bits(79, &mut found[..1]).is_ok());
        Ok(())
    }

    #[test]
    fn read_for_a_user() -> Result {
        let bytes = pattern(80)?;
        let skb = mixed(&bytes)?;
        let mut found = [0; 64];
        assert_eq!(to_iter(&skb, 5, &mut found, 60), (Ok(()), 60));
        assert!(found[..60] == bytes[5..65]);
        // More than there is: as if nothing had been done.
        assert_eq!(to_iter(&skb, 60, &mut found, 21), (Err(EFAULT), 0));
        Ok(())
    }

    #[test]
    fn train() -> Result {
        let bytes = pattern(250)?;
        let page = page_of(&bytes)?;
        let mut skb = Skb::alloc(0, GFP_KERNEL)?;
        skb.add_frag(&page, 0, 250)?;
        skb.set_gso(100, 3);
        let seen = look(&skb);
        assert_eq!((seen.gso_size, seen.gso_segs), (100, 3));
        assert!(seen.gso_udp);
        assert_eq!(skb.packets(), 3);
        Ok(())
    }

    #[test]
    fn handles_share_the_packet() -> Result {
        let page = page_of(&pattern(8)?)?;
        let mut skb = Skb::alloc(0, GFP_KERNEL)?;
        skb.add_frag(&page, 0, 8)?;
        let other = skb.hold();
        assert!(other.as_ptr() == skb.as_ptr());
        assert_eq!(look(&skb).users, 2);
        drop(skb);
        assert_eq!((look(&other).users, other.len(), refs(&page)), (1, 8, 2));
        other.consume();
        assert_eq!(refs(&page), 1);
        Ok(())
    }

    #[test]
    fn raw_and_back() -> Result {
        let skb = Skb::alloc(8, GFP_KERNEL)?;
        let raw = core::ptr::NonNull::new(skb.into_raw()).ok_or(EINVAL)?;
        // SAFETY: The reference that has just been given away.
        let skb = unsafe { Skb::from_raw(raw) };
        assert_eq!(look(&skb).users, 1);
        Ok(())
    }

    #[test]
    fn sender_pays_until_it_has_left() -> Result {
        let fixture = Fixture::new()?;
        let page = page_of(&pattern(1000)?)?;
        let before = fixture.wmem();
        let mut skb = Skb::alloc(100, GFP_KERNEL)?;
        skb.set_owner_w(fixture.sock());
        assert_eq!(fixture.wmem(), before + skb.truesize());
        // What grows later is charged for its growth.
        skb.add_frag(&page, 0, 1000)?;
        assert_eq!(fixture.wmem(), before + skb.truesize());
        let other = skb.hold();
        drop(skb);
        assert_eq!(fixture.wmem(), before + other.truesize());
        drop(other);
        assert_eq!(fixture.wmem(), before);
        Ok(())
    }
}
