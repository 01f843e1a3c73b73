// SPDX-License-Identifier: GPL-2.0

//! The memory of a device together with a host that pins and may sleep.
//!
//! The procedures here are the only right order of the steps of [`Memory`], for
//! hosts with any lock. None of them holds that lock while it pins, unpins or
//! waits.

use super::{
    super::{
        access::Access,
        span::Span, //
    },
    Completion,
    Fault,
    Hold,
    Loose,
    Memory,
    MemoryError,
    Piece,
    Resolution,
    Use,
    Want, //
};

/// Why pages could not be pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinError {
    /// There are none, or not with that right.
    Fault,
    /// A limit of the host for what is pinned was reached.
    Quota,
    /// The host, or the memory cgroup of the guest's machine, has no memory.
    Memory,
    /// The guest's address space is gone.
    Stopped,
}

impl From<PinError> for MemoryError {
    fn from(error: PinError) -> Self {
        match error {
            PinError::Fault => MemoryError::Failed,
            PinError::Quota | PinError::Memory => MemoryError::Quota,
            PinError::Stopped => MemoryError::Stopped,
        }
    }
}

/// Keeps the [`Memory`] of a device behind a lock, and pins for it.
///
/// All but [`Keeper::with`] and [`Keeper::wake`] may sleep.
pub trait Keeper {
    /// How the host finds the memory of a region. Cloning it is cheap and works under the lock; so
    /// does dropping it.
    type Backing: Clone;
    /// Pinned pages.
    type Pages;

    /// Calls `f` with the memory, under the lock. `f` never sleeps.
    fn with<R>(&self, f: impl FnOnce(&mut Memory<Self::Backing, Self::Pages>) -> R) -> R;

    /// Pins all pages of `fault`, or none.
    fn pin(&self, fault: &Fault<Self::Backing>) -> Result<Self::Pages, PinError>;

    /// Unpins pages; `dirty` if the device has written to them.
    fn unpin(&self, pages: Self::Pages, dirty: bool);

    /// Sleeps until [`Memory::progress`] differs from `seen`. Fails if the caller should give up: when
    /// the device is being stopped, or where sleeping is not possible.
    fn wait(&self, seen: u64) -> Result<(), MemoryError>;

    /// Wakes all that wait.
    fn wake(&self);
}

/// Finds or pins a block and counts a use of it.
pub fn acquire<K: Keeper>(keeper: &K, want: &Want) -> Result<Piece, MemoryError> {
    loop {
        let (resolution, seen) = keeper.with(|memory| {
            let resolution = memory.resolve(want);
            (resolution, memory.progress())
        });
        match resolution? {
            Resolution::Ready(piece) => return Ok(piece),
            Resolution::Fault(fault) => return pin(keeper, fault),
            Resolution::Reclaim => reclaim(keeper),
            Resolution::Wait => keeper.wait(seen)?,
        }
    }
}

fn pin<K: Keeper>(keeper: &K, fault: Fault<K::Backing>) -> Result<Piece, MemoryError> {
    let mut pinned = keeper.pin(&fault);
    // What others have pinned counts against the host's limits as well: then the cache has to be smaller
    // than its quota.
    while matches!(pinned, Err(PinError::Quota)) && keeper.with(Memory::evict) {
        reclaim(keeper);
        pinned = keeper.pin(&fault);
    }
    let completion = keeper.with(|memory| memory.complete(fault, pinned));
    keeper.wake();
    match completion {
        Completion::Ready(piece) => Ok(piece),
        Completion::Failed(error) => Err(error),
        Completion::Cancelled(loose) => {
            unpin(keeper, loose);
            Err(MemoryError::Unmapped)
        }
    }
}

/// Ends a use.
pub fn release<K: Keeper>(keeper: &K, held: Use) {
    if keeper.with(|memory| memory.release(held)) {
        reclaim(keeper);
    }
}

/// The same, and asks for the block to stay.
pub fn keep<K: Keeper>(keeper: &K, want: &Want) -> Result<(Piece, Hold), MemoryError> {
    let piece = acquire(keeper, want)?;
    match keeper.with(|memory| memory.hold(&piece.held)) {
        Ok(hold) => Ok((piece, hold)),
        Err(error) => {
            release(keeper, piece.held);
            Err(error)
        }
    }
}

/// Pins all of `span`, and asks for its blocks to stay: calls `keep` with a hold for each, in order.
///
/// Whatever comes out, the holds that `keep` did not return are the caller's to give back.
pub fn hold<K: Keeper>(
    keeper: &K,
    span: Span,
    access: Access,
    mut keep: impl FnMut(Hold) -> Result<(), Hold>,
) -> Result<(), MemoryError> {
    let mut rest = Some(span);
    while let Some(span) = rest {
        let (piece, hold) = self::keep(keeper, &Want::new(span, access))?;
        let next = piece.span.last().checked_add(1);
        rest = next.and_then(|next| Span::between(next, span.last()));
        release(keeper, piece.held);
        if let Err(hold) = keep(hold) {
            keeper.with(|memory| memory.unhold(hold));
            return Err(MemoryError::Quota);
        }
    }
    Ok(())
}

/// Unpins all that is loose.
pub fn reclaim<K: Keeper>(keeper: &K) {
    while let Some(loose) = keeper.with(Memory::take_loose) {
        unpin(keeper, loose);
    }
    // also for those who wait for a use to end, whoever unpins what it leaves
    keeper.wake();
}

fn unpin<K: Keeper>(keeper: &K, loose: Loose<K::Pages>) {
    keeper.unpin(loose.pages, loose.dirty);
    keeper.with(|memory| memory.unpinned(loose.charge));
    keeper.wake();
}

/// Removes every region that overlaps `span`, and waits until the device uses none of it.
///
/// `revoke` is called between: it makes the objects let go whose rings are there.
/// Memory of a guest may be reused when this returns `Ok`.
pub fn unmap<K: Keeper>(keeper: &K, span: Span, revoke: impl FnOnce()) -> Result<(), MemoryError> {
    keeper.with(|memory| memory.unmap(span));
    keeper.wake();
    revoke();
    loop {
        reclaim(keeper);
        let (draining, seen) = keeper.with(|memory| (memory.is_draining(span), memory.progress()));
        if !draining {
            return Ok(());
        }
        keeper.wait(seen)?;
    }
}
