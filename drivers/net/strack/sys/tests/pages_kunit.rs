// SPDX-License-Identifier: GPL-2.0

//! sys/pages.rs: bounds, and who keeps the memory.

use super::bindings;
use crate::sys::pages::{
    PageBuf,
    MAX_ORDER, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

fn refs(page: &PageBuf) -> i32 {
    // SAFETY: The page is valid.
    unsafe { bindings::strack_c_kunit_page_refs(page.as_page()) }
}

fn byte(page: &PageBuf, at: usize) -> u8 {
    // SAFETY: The tests look at bytes within, and nobody else writes.
    unsafe { page.as_mut_ptr().add(at).read() }
}

#[kunit_tests(strack_pages)]
mod suite {
    use super::*;

    #[test]
    fn length_is_what_was_asked_for_or_less() -> Result {
        assert_eq!(PageBuf::alloc(0, GFP_KERNEL)?.len(), PAGE_SIZE);
        for order in [1, MAX_ORDER, MAX_ORDER + 1] {
            let page = PageBuf::alloc(order, GFP_KERNEL)?;
            assert!(page.len() >= PAGE_SIZE);
            assert!(page.len() <= PAGE_SIZE << order.min(MAX_ORDER));
            assert!(page.len().is_power_of_two());
            // All of it is there.
            page.write(page.len() - 1, &[0xa5])?;
            assert_eq!(byte(&page, page.len() - 1), 0xa5);
        }
        Ok(())
    }

    #[test]
    fn bounds() -> Result {
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        let len = page.len();
        assert!(page.check(0, len).is_ok());
        assert!(page.check(len, 0).is_ok());
        assert_eq!(page.check(0, len + 1), Err(EINVAL));
        assert_eq!(page.check(1, len), Err(EINVAL));
        assert_eq!(page.check(usize::MAX, 2), Err(EINVAL));
        assert_eq!(page.write(len - 1, &[1, 2]), Err(EINVAL));
        Ok(())
    }

    #[test]
    fn write_touches_its_range_only() -> Result {
        let page = PageBuf::alloc(0, GFP_KERNEL)?;
        page.write(0, &[0; 16])?;
        page.write(4, &[1, 2, 3])?;
        let found: [u8; 8] = core::array::from_fn(|i| byte(&page, i));
        assert_eq!(found, [0, 0, 0, 0, 1, 2, 3, 0]);
        Ok(())
    }

    #[test]
    fn each_handle_holds_a_reference() -> Result {
        let page = PageBuf::alloc(1, GFP_KERNEL)?;
        assert_eq!(refs(&page), 1);
        let other = page.clone();
        assert_eq!(refs(&page), 2);
        assert_eq!(other.len(), page.len());
        assert!(other.as_page() == page.as_page());
        drop(other);
        assert_eq!(refs(&page), 1);
        Ok(())
    }
}
