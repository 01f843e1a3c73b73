// SPDX-License-Identifier: GPL-2.0

//! sys/counters.rs: an array for each CPU, their sums, and the file that shows them.

use super::bindings;
use crate::observe::counters::{
    lines,
    TOTAL, //
};
use core::ptr::NonNull;
use kernel::prelude::*;

/// An array of counters.
struct Array(NonNull<u64>);

impl Array {
    fn new(slots: usize) -> Result<Array> {
        // SAFETY: No requirements.
        let values = unsafe { bindings::strack_c_counters_alloc(slots) };
        NonNull::new(values).map(Array).ok_or(ENOMEM)
    }

    fn add(&self, slot: usize, n: u64) {
        // SAFETY: The tests use slots that are there.
        unsafe { bindings::strack_c_counters_add(self.0.as_ptr(), slot, n) }
    }

    fn sum(&self, slot: usize) -> u64 {
        // SAFETY: As above.
        unsafe { bindings::strack_c_counters_sum(self.0.as_ptr(), slot) }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: Made by `new`, and nothing uses it after this.
        unsafe { bindings::strack_c_counters_free(self.0.as_ptr()) }
    }
}

#[kunit_tests(strack_counters)]
mod suite {
    use super::*;

    #[test]
    fn begin_at_zero_and_stay_apart() -> Result {
        let array = Array::new(3)?;
        assert_eq!([0, 1, 2].map(|slot| array.sum(slot)), [0, 0, 0]);
        array.add(0, 5);
        array.add(2, 1 << 40);
        array.add(0, 6);
        assert_eq!([0, 1, 2].map(|slot| array.sum(slot)), [11, 0, 1 << 40]);
        Ok(())
    }

    #[test]
    fn sum_is_of_all_cpus() -> Result {
        let array = Array::new(2)?;
        // SAFETY: The slot is there; process context.
        let cpus = unsafe { bindings::strack_c_kunit_count_everywhere(array.0.as_ptr(), 1, 3) };
        assert!(cpus > 0);
        assert_eq!(array.sum(1), 3 * u64::from(cpus));
        assert_eq!(array.sum(0), 0);
        Ok(())
    }

    #[test]
    fn file_has_a_line_for_each() -> Result {
        let array = Array::new(TOTAL)?;
        for slot in 0..TOTAL {
            array.add(slot, 1000 + slot as u64);
        }
        let mut text = KVec::from_elem(0u8, 64 * TOTAL, GFP_KERNEL)?;
        // SAFETY: There are `TOTAL` counters, and the buffer is as long as it says.
        let len = unsafe {
            bindings::strack_c_kunit_snmp(array.0.as_ptr(), text.as_mut_ptr().cast(), text.len())
        };
        let text = core::str::from_utf8(&text[..len])?;
        let mut found = text.lines();
        for (slot, name) in lines() {
            let mut words = found.next().ok_or(ENOENT)?.split_whitespace();
            assert_eq!(words.next(), Some(name));
            let value = words.next().and_then(|word| word.parse::<usize>().ok());
            assert_eq!(value, Some(1000 + slot));
            assert!(words.next().is_none());
        }
        assert!(found.next().is_none());
        Ok(())
    }

    #[test]
    fn names_are_unique_and_fit() {
        for (i, (slot, name)) in lines().enumerate() {
            assert!(!name.is_empty() && name.len() <= 32 && slot < TOTAL);
            assert!(lines()
                .skip(i + 1)
                .all(|other| other.0 != slot && other.1 != name));
        }
    }

    #[test]
    fn nobody_is_told_which_ids_there_are() {
        let is_there = |wanted| lines().any(|(_, name)| name == wanted);
        assert!(is_there("DropNoConnection") && !is_there("DropTag"));
        // All others are.
        assert_eq!(lines().count(), TOTAL - 1);
    }
}
