// SPDX-License-Identifier: GPL-2.0

//! Taking memory away from the device.

use super::{
    super::span::Span,
    block::{
        State,
        BLOCK_SHIFT, //
    },
    region::Owner,
    BlockId,
    Memory,
    RegionId, //
};

impl<B, P> Memory<B, P> {
    /// Removes every region that overlaps `span`, whole; returns how many.
    ///
    /// From here on their addresses are not mapped, their pins under way are
    /// cancelled, and what was derived from their handles is revoked. Blocks that are
    /// not in use are loose. Those in use become so with their last user, and memory
    /// of a guest must not be reused before: wait while [`Memory::is_draining`].
    pub fn unmap(&mut self, span: Span) -> u32 {
        let mut count: u32 = 0;
        while let Some((id, region)) = self.regions.take_overlap(&span) {
            self.unmap_blocks(id, region.span);
            count = count.saturating_add(1);
        }
        count
    }

    /// Whether the device still uses memory of guests in `span` that was unmapped.
    pub fn is_draining(&self, span: Span) -> bool {
        self.blocks.table().iter().any(|(_, block)| {
            block.owner == Owner::Guest
                && matches!(block.state, State::Dying(_))
                && block.span.overlaps(&span)
        })
    }

    /// Lets go of the blocks in `span` that nobody uses or holds; returns how many.
    pub fn drop_cached(&mut self, span: Span) -> u32 {
        let mut count: u32 = 0;
        for index in 0..self.blocks.table().places() {
            let Some(id) = self.blocks.table().handle_at(index) else {
                continue;
            };
            let block = self.blocks.get(id);
            if block.is_some_and(|block| block.is_idle() && block.span.overlaps(&span)) {
                self.drop_idle(id);
                count = count.saturating_add(1);
            }
        }
        count
    }

    fn unmap_blocks(&mut self, region: RegionId, span: Span) {
        let (first, last) = (span.first() >> BLOCK_SHIFT, span.last() >> BLOCK_SHIFT);
        let places = self.blocks.table().places();
        // whichever is less: the windows of the region, or all blocks there are
        if last - first < u64::from(places) {
            for window in first..=last {
                if let Some(id) = self.blocks.of_region(window << BLOCK_SHIFT, region) {
                    self.unmap_block(id);
                }
            }
            return;
        }
        for index in 0..places {
            let block = self.blocks.table().at(index);
            // those that have left the cache belong to regions that went before
            if block.is_some_and(|block| block.region == region && block.is_cached()) {
                if let Some(id) = self.blocks.table().handle_at(index) {
                    self.unmap_block(id);
                }
            }
        }
    }

    fn unmap_block(&mut self, id: BlockId) {
        self.blocks.unlink(id);
        let is_unused = self.blocks.change(id, |block| {
            let in_use = block.users > 0;
            match core::mem::replace(&mut block.state, State::Cancelled) {
                State::Pinned(pages) if in_use => block.state = State::Dying(pages),
                State::Pinned(pages) => {
                    block.state = State::Pinned(pages);
                    return true;
                }
                // a pin under way stays cancelled, and the rest was not in the cache
                State::Pinning | State::Cancelled => {}
                other => block.state = other,
            }
            false
        });
        match is_unused {
            Some(true) => self.loosen(id),
            Some(false) => self.advance(),
            None => {}
        }
    }
}
