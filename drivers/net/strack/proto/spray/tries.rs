// SPDX-License-Identifier: GPL-2.0

//! Paths to try when nothing is heard at all.
//!
//! What is known of paths is worth nothing then: those that were withdrawn may be no worse than
//! those that are left. So all of them have their turn, one after the other, whatever the
//! policy, and none comes again before all others were tried.

use super::{
    paths::Paths,
    question::FEWEST_PATHS, //
};

impl Paths {
    /// The next entropy value to try, other than `except`; `None` if there are so few that each
    /// is used anyway.
    pub(super) fn next_try(&mut self, except: Option<u16>) -> Option<u16> {
        let (from, count, base) = (self.tried_next, self.count, self.base());
        if count < FEWEST_PATHS {
            return None;
        }
        let mut all = (from..count).chain(0..from.min(count));
        let index = all.find(|&index| {
            if except == Some(base + index) {
                return false;
            }
            let known = self.pool.get(usize::from(index));
            known.is_some_and(|path| !path.denied)
        })?;
        self.tried_next = index + 1;
        Some(base + index)
    }
}
