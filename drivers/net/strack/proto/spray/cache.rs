// SPDX-License-Identifier: GPL-2.0

//! The paths that have just carried a packet without a mark.
//!
//! A small ring, the oldest entry overwritten: what is good at this moment, and not for
//! long. A path leaves it when it is used, so it carries as much as it acknowledges.

use super::Paths;

/// How many paths are kept.
const KEPT: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Entry {
    path: u16,
    /// It was not used since.
    fresh: bool,
}

/// Paths to be used again.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    entries: [Option<Entry>; KEPT],
    /// Where the next path is written, which is the oldest if all are in use.
    head: usize,
    /// Where reading goes on regardless of what is fresh.
    cursor: usize,
}

impl Cache {
    pub(super) const fn new() -> Self {
        Self {
            entries: [None; KEPT],
            head: 0,
            cursor: 0,
        }
    }

    /// A packet arrived over `path`. Those of a train count as one, as they were sent.
    pub(super) fn put(&mut self, path: u16) {
        let newest = self.entries.get((self.head + KEPT - 1) % KEPT);
        if let Some(Some(newest)) = newest {
            if newest.path == path && newest.fresh {
                return;
            }
        }
        if let Some(entry) = self.entries.get_mut(self.head) {
            *entry = Some(Entry { path, fresh: true });
            self.head = (self.head + 1) % KEPT;
        }
    }

    /// The path has trouble.
    pub(super) fn discard(&mut self, path: u16) {
        for entry in &mut self.entries {
            entry.take_if(|entry| entry.path == path);
        }
    }

    /// The path that has waited for longest and can be used.
    pub(super) fn take(&mut self, paths: &Paths) -> Option<u16> {
        for i in 0..KEPT {
            let entry = self.entries.get_mut((self.head + i) % KEPT)?;
            if let Some(entry) = entry {
                if entry.fresh && paths.usable(entry.path) {
                    entry.fresh = false;
                    return Some(entry.path);
                }
            }
        }
        None
    }

    /// One path after the other, used since or not.
    pub(super) fn reuse(&mut self, paths: &Paths) -> Option<u16> {
        for _ in 0..KEPT {
            self.cursor = (self.cursor + 1) % KEPT;
            if let Some(Some(entry)) = self.entries.get_mut(self.cursor) {
                if paths.usable(entry.path) {
                    entry.fresh = false;
                    return Some(entry.path);
                }
            }
        }
        None
    }
}
