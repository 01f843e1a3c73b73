// SPDX-License-Identifier: GPL-2.0

//! sys/zcopy.rs: what of an iterator is lent, where it stands then, and who refers to what for how long.

use super::{
    bindings,
    look,
    pattern,
    Allowed, //
};
use crate::sys::{
    pages::PageBuf,
    skb::Skb,
    zcopy::{
        Loan,
        Pages,
        Ubuf, //
    },
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

fn refs(page: &PageBuf) -> i32 {
    // SAFETY: The page is valid.
    unsafe { bindings::strack_c_kunit_page_refs(page.as_page()) }
}

fn left(iter: &bindings::iov_iter) -> usize {
    // SAFETY: The iterator is valid.
    unsafe { bindings::strack_c_kunit_iter_left(iter) }
}

/// Bytes of a run of pages, for a list of such.
fn part(page: &PageBuf, off: u32, len: u32) -> bindings::bio_vec {
    bindings::bio_vec {
        bv_page: page.as_page(),
        bv_len: len,
        bv_offset: off,
    }
}

/// Does something with an iterator over `parts`, and gives how much of it is left.
fn with<R>(
    parts: &[bindings::bio_vec],
    act: impl FnOnce(&mut bindings::iov_iter) -> Result<R>,
) -> Result<(R, usize)> {
    let mut iter = bindings::iov_iter::default();
    let all = parts.iter().map(|part| part.bv_len as usize).sum();
    // SAFETY: The list outlives the iterator, and the pages the list.
    unsafe {
        bindings::iov_iter_bvec(
            &mut iter,
            bindings::ITER_SOURCE,
            parts.as_ptr(),
            parts.len(),
            all,
        )
    };
    let result = act(&mut iter)?;
    Ok((result, left(&iter)))
}

/// Somebody who lends, and who has to have got everything back at the end.
struct Owner(KBox<bindings::strack_kunit_ubuf>);

impl Owner {
    fn new() -> Result<Owner> {
        let mut owner = KBox::new(bindings::strack_kunit_ubuf::default(), GFP_KERNEL)?;
        // SAFETY: It stays where it is until it is freed.
        unsafe { bindings::strack_c_kunit_ubuf_init(&mut *owner) };
        Ok(Owner(owner))
    }

    fn ubuf(&mut self) -> Result<Ubuf> {
        let msg = bindings::msghdr {
            msg_ubuf: &mut self.0.ubuf,
            ..Default::default()
        };
        Ubuf::of(&msg).ok_or(EINVAL)
    }

    fn refs(&self) -> u32 {
        // SAFETY: It has been set up.
        unsafe { bindings::strack_c_kunit_ubuf_refs(&*self.0) }
    }
}

/// A loan of all of `parts`, as the pieces of one packet.
fn loan_of(ubuf: Option<Ubuf>, shared: bool, parts: &[bindings::bio_vec]) -> Result<Loan> {
    let mut loan = Loan::new(ubuf, shared, 16, GFP_KERNEL)?;
    with(parts, |iter| {
        let all = left(iter);
        let mut pages = Pages::new(iter);
        let mut done = 0;
        while done < all {
            let piece = pages.next(all - done)?.ok_or(EINVAL)?;
            done += piece.len();
            loan.push(0, piece)?;
        }
        pages.keep(all);
        Ok(())
    })?;
    Ok(loan)
}

#[kunit_tests(strack_zcopy)]
mod suite {
    use super::*;

    #[test]
    fn iterator_stands_behind_what_is_kept() -> Result {
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        let other = PageBuf::alloc(0, GFP_KERNEL)?;
        let parts = [part(&page, 100, 300), part(&other, 7, 50)];
        for kept in [0, 1, 299, 300, 301, 350] {
            let (given, rest) = with(&parts, |iter| {
                let mut pages = Pages::new(iter);
                let mut given = 0;
                // In steps that do not end where the parts do.
                while given < 350 {
                    given += pages.next(110)?.ok_or(EINVAL)?.len();
                }
                pages.keep(kept);
                Ok(given)
            })?;
            assert_eq!((given, rest), (350, 350 - kept));
        }
        // Not even looked for, or not said to be kept.
        let unlooked = with(&parts, |iter| {
            drop(Pages::new(iter));
            Ok(())
        })?;
        assert_eq!(unlooked.1, 350);
        let unsaid = with(&parts, |iter| Pages::new(iter).next(10).map(|_| ()))?;
        assert_eq!(unsaid.1, 350);
        assert_eq!((refs(&page), refs(&other)), (1, 1));
        Ok(())
    }

    #[test]
    fn each_piece_holds_a_reference() -> Result {
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        with(&[part(&page, 0, 100)], |iter| {
            let mut pages = Pages::new(iter);
            let first = pages.next(60)?.ok_or(EINVAL)?;
            let second = pages.next(60)?.ok_or(EINVAL)?;
            assert_eq!((first.len(), second.len(), refs(&page)), (60, 40, 3));
            let third = first.clone();
            drop(pages);
            assert_eq!((third.len(), refs(&page)), (60, 4));
            drop((first, third));
            assert_eq!(refs(&page), 2);
            Ok(())
        })?;
        assert_eq!(refs(&page), 1);
        Ok(())
    }

    #[test]
    fn neighbours_in_a_run_of_pages_are_one_piece() -> Result {
        let run = PageBuf::alloc(1, GFP_KERNEL)?;
        let all = u32::try_from(run.len())?;
        let loan = loan_of(None, false, &[part(&run, 5, all - 10)])?;
        assert_eq!((loan.len(), refs(&run)), (1, 2));
        let pieces = loan.packet(0, u16::try_from(all - 10)?);
        assert_eq!(
            pieces.iter().map(|piece| piece.len()).sum::<usize>(),
            run.len() - 10
        );
        // The same bytes once more are no neighbours of themselves, and a hole parts those that are.
        let parts = [part(&run, 0, 10), part(&run, 0, 10), part(&run, 11, 9)];
        assert_eq!(loan_of(None, false, &parts)?.len(), 3);
        Ok(())
    }

    #[test]
    fn packets_know_their_pieces() -> Result {
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        let mut loan = Loan::new(None, false, 4, GFP_KERNEL)?;
        with(&[part(&page, 0, 400)], |iter| {
            let mut pages = Pages::new(iter);
            // A packet of 100 bytes, and one of 200 and 50 that are no neighbours.
            loan.push(0, pages.next(100)?.ok_or(EINVAL)?)?;
            loan.push(1, pages.next(200)?.ok_or(EINVAL)?)?;
            drop(pages.next(50)?);
            loan.push(1, pages.next(50)?.ok_or(EINVAL)?)
        })?;
        let lens = |first, len| {
            let mut lens = [0; 4];
            for (to, piece) in lens.iter_mut().zip(loan.packet(first, len)) {
                *to = piece.len();
            }
            lens
        };
        assert_eq!(lens(0, 100), [100, 0, 0, 0]);
        assert_eq!(lens(1, 250), [200, 50, 0, 0]);
        assert_eq!(lens(0, 0), [0; 4]);
        assert_eq!(lens(3, 1), [0; 4]);
        assert_eq!(lens(u16::MAX, u16::MAX), [0; 4]);
        let before = refs(&page);
        loan.truncate(1);
        assert_eq!((loan.len(), refs(&page)), (1, before - 2));
        assert_eq!(loan.packet(1, 250).len(), 0);
        Ok(())
    }

    #[test]
    fn pages_are_counted_by_who_has_them_first() -> Result {
        let one = PageBuf::alloc(0, GFP_KERNEL)?;
        let run = PageBuf::alloc(1, GFP_KERNEL)?;
        let end = u32::try_from(PAGE_SIZE)?;
        let parts = [
            part(&one, 0, 10),
            part(&one, 4000, 90),
            part(&run, end - 1, 1),
            part(&run, 0, 5),
            part(&run, 7, end),
            part(&one, 20, 10),
        ];
        let loan = loan_of(None, false, &parts)?;
        assert_eq!(loan.len(), 6);
        // From each on: the same page again, another one, back in it, across to the next, and the first.
        let pages = [4, 3, 3, 2, 2, 1, 0, 0];
        let counted = (0..pages.len()).map(|first| loan.pages_from(first));
        assert!(counted.eq(pages));
        Ok(())
    }

    #[test]
    fn pieces_move_to_another_loan() -> Result {
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        let parts = [part(&page, 0, 10), part(&page, 20, 30), part(&page, 60, 40)];
        let shared = loan_of(None, true, &parts)?;
        let mut loan = Loan::new(None, false, 4, GFP_KERNEL)?;
        // All but the first piece.
        loan.adopt(&shared, 1, 70)?;
        let lens = loan.packet(0, 70).iter().map(|piece| piece.len());
        assert!(lens.eq([30, 40]));
        assert_eq!((loan.len(), refs(&page)), (2, 6));
        assert!(loan.is_shared());
        drop(shared);
        assert_eq!(refs(&page), 3);
        // Nobody writes to what comes from one that nobody writes to.
        let own = loan_of(None, false, &parts)?;
        let mut loan = Loan::new(None, false, 4, GFP_KERNEL)?;
        loan.adopt(&own, 0, 10)?;
        assert!(!loan.is_shared());
        Ok(())
    }

    #[test]
    fn full_loan_takes_no_more() -> Result {
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        let mut loan = Loan::new(None, false, 1, GFP_KERNEL)?;
        let mut count = 0;
        with(&[part(&page, 0, 4000)], |iter| {
            let mut pages = Pages::new(iter);
            // The allocator may have given more than was asked for.
            while loan.has_room() && count < 3000 {
                loan.push(count, pages.next(1)?.ok_or(EINVAL)?)?;
                count += 1;
            }
            assert_eq!(loan.push(count, pages.next(1)?.ok_or(EINVAL)?), Err(ENOSPC));
            Ok(())
        })?;
        assert_eq!(
            (loan.len(), refs(&page)),
            (count, 1 + i32::try_from(count)?)
        );
        Ok(())
    }

    #[test]
    fn memory_of_the_slab_allocator_is_not_lent() -> Result {
        // SAFETY: No requirements.
        let data = unsafe { bindings::strack_c_kunit_slab(512) };
        assert!(!data.is_null());
        let vec = bindings::kvec {
            iov_base: data,
            iov_len: 512,
        };
        let mut iter = bindings::iov_iter::default();
        // SAFETY: One vector over `data`, and both outlive the iterator.
        unsafe { bindings::iov_iter_kvec(&mut iter, bindings::ITER_SOURCE, &vec, 1, 512) };
        let lent = Pages::new(&mut iter).next(512)?.is_some();
        assert!(!lent);
        assert_eq!(left(&iter), 512);
        // SAFETY: From above, and nothing refers to it.
        unsafe { bindings::strack_c_kunit_slab_free(data) };
        Ok(())
    }

    #[test]
    fn nothing_is_left() -> Result {
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        with(&[part(&page, 0, 1)], |iter| {
            let mut pages = Pages::new(iter);
            assert_eq!(pages.next(9)?.map(|piece| piece.len()), Some(1));
            assert!(pages.next(1).is_err());
            Ok(())
        })?;
        Ok(())
    }

    #[test]
    fn packet_of_pieces() -> Result {
        let bytes = pattern(300)?;
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        page.write(0, &bytes)?;
        let run = PageBuf::alloc(1, GFP_KERNEL)?;
        // Across two pages, where a run has more than one.
        let across = (PAGE_SIZE - 100).min(run.len() - bytes.len());
        run.write(across, &bytes)?;
        let across = u32::try_from(across)?;
        let loan = loan_of(None, true, &[part(&page, 0, 300), part(&run, across, 300)])?;
        let mut skb = Skb::alloc(0, GFP_KERNEL)?;
        skb.add_pieces(&loan, loan.packet(0, 600))?;
        drop(loan);
        let mut found = [0; 600];
        skb.copy_bits(0, &mut found)?;
        assert!(found[..300] == bytes[..] && found[300..] == bytes[..]);
        assert_eq!((refs(&page), skb.len()), (2, 600));
        // SAFETY: The packet is valid.
        assert!(unsafe { bindings::strack_c_kunit_skb_shared(skb.as_ptr()) });
        drop(skb);
        assert_eq!((refs(&page), refs(&run)), (1, 1));
        Ok(())
    }

    #[test]
    fn reserves_of_a_lender_are_his_own() -> Result {
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        // SAFETY: The page is valid, and nobody else has it.
        unsafe { bindings::strack_c_kunit_page_set_reserve(page.as_page(), true) };
        let loan = loan_of(None, true, &[part(&page, 0, 50)])?;
        let (mut lent, mut own) = (Skb::alloc(0, GFP_KERNEL)?, Skb::alloc(0, GFP_KERNEL)?);
        lent.add_pieces(&loan, loan.packet(0, 50))?;
        own.add_frag(&page, 0, 50)?;
        let reserve = [&lent, &own].map(|skb| {
            // SAFETY: The packet is valid.
            unsafe { bindings::strack_c_kunit_skb_reserve(skb.as_ptr()) }
        });
        drop((loan, lent, own));
        // SAFETY: As above.
        unsafe { bindings::strack_c_kunit_page_set_reserve(page.as_page(), false) };
        assert_eq!(reserve, [false, true]);
        Ok(())
    }

    #[test]
    fn packet_without_room_is_left_alone() -> Result {
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        let loan = loan_of(None, false, &[part(&page, 0, 10), part(&page, 20, 10)])?;
        let mut skb = Skb::alloc(0, GFP_KERNEL)?;
        while skb.frags_left() >= 2 {
            skb.add_pieces(&loan, loan.packet(0, 20))?;
        }
        let (frags, len) = (look(&skb).frags, skb.len());
        assert_eq!(skb.add_pieces(&loan, loan.packet(0, 20)), Err(ENOSPC));
        assert_eq!((look(&skb).frags, skb.len()), (frags, len));
        // SAFETY: The packet is valid.
        assert!(!unsafe { bindings::strack_c_kunit_skb_shared(skb.as_ptr()) });
        Ok(())
    }

    #[test]
    fn packet_that_was_allowed_is_sent() -> Result {
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        let header = PageBuf::alloc(0, GFP_KERNEL)?;
        let loan = loan_of(None, false, &[part(&page, 0, 10), part(&page, 20, 10)])?;
        let _allowed = Allowed::frags(1);
        let mut skb = Skb::alloc(0, GFP_KERNEL)?;
        skb.add_frag(&header, 0, 32)?;
        skb.add_pieces(&loan, loan.packet(0, 20))?;
        assert_eq!((look(&skb).frags, skb.len()), (3, 52));
        // No other one joins it, wherever it is from.
        assert_eq!(skb.train_frags_left(), 0);
        assert_eq!(skb.add_frag(&header, 100, 32), Err(ENOSPC));
        Ok(())
    }

    #[test]
    fn lender_is_told_when_all_is_over() -> Result {
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        let mut owner = Owner::new()?;
        let loan = loan_of(Some(owner.ubuf()?), true, &[part(&page, 0, 50)])?;
        assert_eq!(owner.refs(), 2);
        let mut skb = Skb::alloc(0, GFP_KERNEL)?;
        skb.add_pieces(&loan, loan.packet(0, 50))?;
        skb.set_ubuf(loan.ubuf().ok_or(EINVAL)?);
        assert_eq!(owner.refs(), 3);
        // Acknowledged before the device has let go of it.
        drop(loan);
        assert_eq!((owner.refs(), owner.0.sent, owner.0.copied), (2, 1, 0));
        drop(skb);
        assert_eq!((owner.refs(), owner.0.sent, owner.0.copied), (1, 2, 0));
        assert_eq!(refs(&page), 1);
        Ok(())
    }

    #[test]
    fn packet_that_stays_here_becomes_a_copy() -> Result {
        let bytes = pattern(50)?;
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        page.write(0, &bytes)?;
        let mut owner = Owner::new()?;
        let loan = loan_of(Some(owner.ubuf()?), true, &[part(&page, 0, 50)])?;
        let mut skb = Skb::alloc(0, GFP_KERNEL)?;
        skb.add_pieces(&loan, loan.packet(0, 50))?;
        skb.set_ubuf(loan.ubuf().ok_or(EINVAL)?);
        // SAFETY: The packet is valid, and nobody else has it.
        let error = unsafe { bindings::strack_c_kunit_skb_orphan(skb.as_ptr()) };
        assert_eq!(error, 0);
        assert_eq!((owner.refs(), owner.0.sent, owner.0.copied), (2, 0, 1));
        drop(loan);
        assert_eq!((owner.refs(), refs(&page)), (1, 1));
        page.write(0, &[0; 50])?;
        let mut found = [0; 50];
        skb.copy_bits(0, &mut found)?;
        assert!(found[..] == bytes[..]);
        Ok(())
    }

    #[test]
    fn lenders_are_told_apart() -> Result {
        let (mut one, mut other) = (Owner::new()?, Owner::new()?);
        let (a, b, c) = (one.ubuf()?, one.ubuf()?, other.ubuf()?);
        assert!(a == b && a != c && a.clone() == a);
        assert_eq!((one.refs(), other.refs()), (3, 2));
        drop((a, b, c));
        assert_eq!((one.refs(), other.refs()), (1, 1));
        assert!(Ubuf::of(&bindings::msghdr::default()).is_none());
        Ok(())
    }
}
