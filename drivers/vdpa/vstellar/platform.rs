// SPDX-License-Identifier: GPL-2.0

//! What the device model stands on: memory that was mapped for the device, and its namespace.
//!
//! There are two ways by which memory comes to a device, and a device that was given none has none.
//! Memory of a process (`vhost_vdpa`) is an [`Area`], of which blocks are pinned on first use. Memory
//! of this kernel (`virtio_vdpa`) is there anyway: its driver keeps it until the device has given it
//! back or was reset, and unmaps it before it frees it.
//!
//! The lock of [`crate::model::memory`] keeps interrupts off, because drivers map buffers in any
//! context. Nothing is allocated, pinned or waited for under it.

use crate::{
    model::{
        access::Access,
        memory::{
            keeper::{
                self,
                PinError, //
            },
            BlockId,
            Counters,
            Fault,
            Keeper,
            Limits,
            MapError,
            Memory,
            MemoryError,
            Owner,
            Quota,
            Region,
            Room,
            Use,
            Want,
            BLOCK_SHIFT, //
        },
        span::{
            bytes_of,
            whole_pages,
            Span, //
        }, //
    },
    paged::Paged,
    sys::{
        area::{
            Area,
            KernelMemory,
            Pinned, //
        },
        loan::Bank,
        net::Net,
        page::{
            Page,
            PageRef,
            Pieces, //
        },
        vdpa::Vdpa, //
    }, //
};
use kernel::{
    new_condvar,
    new_mutex,
    new_spinlock_irq,
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        CondVar,
        Mutex,
        SpinLockIrq, //
    }, //
};

/// Where the host finds the memory of a region.
#[derive(Clone)]
pub(crate) enum Backing {
    /// In a process.
    Area(Area),
    /// In this kernel.
    Kernel(KernelMemory),
}

/// Memory that can be used.
pub(crate) enum Pages {
    Pinned(Pinned),
    Kernel(KernelMemory),
}

impl Pages {
    /// Calls `f` with the page that has the byte `offset`, and where it is there.
    fn with_page<R>(&self, offset: u64, f: impl FnOnce(&Page<'_>, usize) -> R) -> Option<R> {
        match self {
            Pages::Pinned(pinned) => {
                let in_page = (offset % PAGE_SIZE as u64) as usize;
                Some(f(&pinned.page(offset)?, in_page))
            }
            Pages::Kernel(memory) => {
                let rest = memory.skip(offset)?;
                let page = rest.page()?;
                Some(f(&page, rest.offset_in_page()))
            }
        }
    }

    /// The page that has the byte `offset`, to be kept.
    pub(crate) fn page_ref(&self, offset: u64) -> Option<PageRef> {
        self.with_page(offset, |page, _| PageRef::new(page))
            .flatten()
    }
}

type DeviceMemory = Memory<Backing, Pages>;

/// Memory and namespace of a device.
#[pin_data]
pub(crate) struct Platform {
    vdpa: Vdpa,
    /// What is lent of its memory.
    bank: Bank,
    /// Where its connections are made. Changes only while no driver is at work.
    #[pin]
    net: Mutex<Option<Net>>,
    #[pin]
    inner: SpinLockIrq<Inner>,
    /// Something has changed that those who wait should look at.
    #[pin]
    changed: CondVar,
}

struct Inner {
    memory: DeviceMemory,
    /// For whom `memory` has room; it gets that with the first mapping.
    mapper: Option<Mapper>,
    /// Places for blocks in `memory`, or in what will be made.
    places: u64,
    /// Pages that may be pinned, and that the owner of the memory may have pinned: those of the device's
    /// rules, which this kernel's may be larger than.
    quota: u64,
    limit: u64,
    /// The next IOVA for memory of the kernel.
    next: u64,
}

impl Inner {
    /// Pages that may be pinned by who may have `limit` of them.
    fn pages(&self, limit: u64) -> u64 {
        let places = self.places.saturating_sub(SPARE_PLACES);
        self.quota
            .min(limit)
            .min(places.saturating_mul(BLOCK_PAGES))
    }

    /// What may be pinned.
    fn quota(&self) -> Quota {
        Quota::new(Room {
            pages: self.pages(self.limit),
            blocks: self.places,
        })
    }

    fn apply_quota(&mut self) {
        let quota = self.quota();
        self.memory.set_quota(quota);
    }
}

/// Who maps memory, which says how many regions there will be at most.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mapper {
    /// A virtual machine: some dozens.
    Machine,
    /// One of whom all memory is pinned: one for each run of pages, up to the limit of vhost_vdpa.
    PinnedMachine,
    /// A driver in this kernel: one for each buffer.
    Driver,
}

impl Mapper {
    fn regions(self) -> u32 {
        match self {
            Mapper::Machine => 256,
            Mapper::PinnedMachine => 2048,
            Mapper::Driver => 1024,
        }
    }
}

/// Pages of a whole block.
const BLOCK_PAGES: u64 = whole_pages(1 << BLOCK_SHIFT);

/// Places for blocks that are cut to a small region, and so take little of the quota.
const SPARE_PLACES: u64 = 128;

/// As many places as a quota has use for.
fn places(quota: u64) -> u64 {
    quota.div_ceil(BLOCK_PAGES).saturating_add(SPARE_PLACES)
}

/// Addresses for kernel memory begin here; below, a mistake of a driver meets nothing.
const FIRST_IOVA: u64 = 2 << 20;

impl Platform {
    /// No memory, of which up to `quota` bytes may be pinned, and no namespace.
    pub(crate) fn new(vdpa: Vdpa, quota: u64) -> impl PinInit<Platform, Error> {
        try_pin_init!(Platform {
            vdpa,
            bank: Bank::new()?,
            net <- new_mutex!(None, "vstellar::Platform::net"),
            inner <- new_spinlock_irq!(Inner {
                memory: Memory::new(Limits { regions: 0, quota: Quota::new(Room::default()) })
                    .map_err(|_| ENOMEM)?,
                mapper: None,
                places: places(whole_pages(quota)),
                quota: whole_pages(quota),
                limit: u64::MAX,
                next: FIRST_IOVA,
            }, "vstellar::Platform::inner"),
            changed <- new_condvar!("vstellar::Platform::changed"),
        })
    }

    /// Makes room for the regions of a mapper, and keeps to what that may have pinned. Process context.
    ///
    /// What was made for another mapper stays as long as something of it is mapped or pinned. After that
    /// nobody knows a handle of it: the device was reset since it was another's.
    pub(crate) fn prepare(&self, mapper: Mapper) -> Result {
        let limit = match mapper {
            Mapper::Machine | Mapper::PinnedMachine => whole_pages(self.vdpa.pin_limit()),
            Mapper::Driver => u64::MAX,
        };
        {
            let mut inner = self.inner.lock();
            inner.limit = limit;
            inner.apply_quota();
            // the setting may have changed while there was something
            if inner.mapper == Some(mapper) && inner.places == places(inner.quota) {
                return Ok(());
            }
        }
        // a driver in this kernel leaves what it has unmapped to whoever may sleep
        self.settle();
        let quota = {
            let mut inner = self.inner.lock();
            if !inner.memory.is_empty() {
                return Ok(());
            }
            inner.places = places(inner.quota);
            inner.quota()
        };
        let mut memory = Memory::new(Limits {
            regions: mapper.regions(),
            quota,
        })
        .map_err(|_| ENOMEM)?;
        let mut inner = self.inner.lock();
        if inner.memory.is_empty() {
            memory.succeed(&inner.memory);
            core::mem::swap(&mut inner.memory, &mut memory);
            inner.mapper = Some(mapper);
            inner.places = quota.all.blocks;
            inner.apply_quota();
        }
        drop(inner);
        Ok(())
    }

    /// What is lent of its memory.
    pub(crate) fn bank(&self) -> &Bank {
        &self.bank
    }

    /// Assigns a namespace, or none.
    pub(crate) fn set_net(&self, net: Option<Net>) {
        *self.net.lock() = net;
    }

    /// Calls `f` with the namespace, if there is one, and with whom its sockets wake.
    pub(crate) fn with_net<R>(&self, f: impl FnOnce(&Net, &Vdpa) -> R) -> Option<R> {
        self.net.lock().as_ref().map(|net| f(net, &self.vdpa))
    }

    /// Lets up to `quota` bytes be pinned from now on, or as many as there are places for while something is
    /// mapped. The device has no objects. Process context.
    pub(crate) fn set_quota(&self, quota: u64) {
        self.settle();
        let mut inner = self.inner.lock();
        inner.quota = whole_pages(quota);
        if inner.memory.is_empty() {
            inner.mapper = None;
            inner.places = places(inner.quota);
        }
        inner.apply_quota();
    }

    /// Bytes that may be pinned: what was set, but no more than whoever has the device may pin. Others may
    /// pin for it as well, so this is not a promise.
    pub(crate) fn pin_quota(&self) -> u64 {
        let limit = whole_pages(self.vdpa.pin_limit());
        let pages = self.inner.lock().pages(limit);
        bytes_of(pages)
    }

    /// Unpins what left the cache and waits for someone who may sleep. Process context.
    pub(crate) fn settle(&self) {
        keeper::reclaim(self);
    }

    /// What has been pinned so far, and how many bytes are at the moment.
    pub(crate) fn counters(&self) -> (Counters, u64) {
        self.with(|memory| (memory.counters(), bytes_of(memory.charged())))
    }

    /// Gives the device memory of a process, for which room was made.
    pub(crate) fn map_area(&self, span: Span, access: Access, area: Area) -> Result {
        self.map(Region {
            span,
            access,
            owner: Owner::Guest,
            backing: Backing::Area(area),
        })
    }

    /// Gives it `size` bytes of this kernel's, and returns their IOVA. Any context.
    ///
    /// No IOVA is given a second time (there are enough for a million a second and half a million
    /// years), so whoever is late finds nothing.
    pub(crate) fn map_kernel(
        &self,
        memory: KernelMemory,
        size: u64,
        access: Access,
    ) -> Result<u64> {
        let page = PAGE_SIZE as u64;
        let mut inner = self.inner.lock();
        let offset = memory.offset_in_page() as u64;
        let iova = inner.next.checked_add(offset).ok_or(ENOSPC)?;
        let span = Span::new(iova, size).ok_or(EINVAL)?;
        let end = span.last().checked_add(1);
        let next = end.and_then(|end| end.checked_next_multiple_of(page));
        let next = next.ok_or(ENOSPC)?;
        let region = Region {
            span,
            access,
            owner: Owner::HostKernel,
            backing: Backing::Kernel(memory),
        };
        inner.memory.map(region).map_err(map_error)?;
        inner.next = next;
        Ok(iova)
    }

    fn map(&self, region: Region<Backing>) -> Result {
        let mapped = self.inner.lock().memory.map(region);
        mapped.map(drop).map_err(map_error)
    }

    /// Takes memory of a process away; waits until the device does not use it, for which `revoke` makes
    /// what stands on it let go. Process context.
    pub(crate) fn unmap(&self, span: Span, revoke: impl FnOnce()) {
        // It waits until it has ended well.
        let _ = keeper::unmap(self, span, revoke);
    }

    /// Takes memory of the kernel away, which nobody uses any more. Any context.
    pub(crate) fn unmap_kernel(&self, span: Span) {
        self.inner.lock().memory.unmap(span);
        self.changed.notify_all();
    }
}

impl Platform {
    /// Calls `f` with the page at the beginning of what is wanted, the place there, and how many of the
    /// bytes are behind it. Returns the block as well.
    fn at<R>(
        &self,
        want: &Want,
        f: impl FnOnce(&Page<'_>, usize, usize) -> R,
    ) -> Result<(R, BlockId), MemoryError> {
        // mostly it is there, and one turn of the lock will do
        let cached = self.with(|memory| match memory.cached(want) {
            Some(found) => Ok((
                use_page(found.pages, found.offset, &found.span, f),
                found.block,
            )),
            None => Err(f),
        });
        let (result, block) = match cached {
            Ok(done) => done,
            Err(f) => self.at_new(want, f)?,
        };
        let result = result.ok_or(MemoryError::Unmapped)?;
        Ok((result, block))
    }

    /// The same for what may have to be pinned first.
    fn at_new<R>(
        &self,
        want: &Want,
        f: impl FnOnce(&Page<'_>, usize, usize) -> R,
    ) -> Result<(Option<R>, BlockId), MemoryError> {
        let piece = keeper::acquire(self, want)?;
        let block = piece.held.block();
        let (result, loose) = self.with(|memory| {
            // Memory of the kernel is its owner's again when it was unmapped, which happens under this
            // lock as well: it is not looked at any more then.
            let dying = memory.is_dying(&piece.held);
            let pages = memory.pages(&piece.held).filter(|_| !dying);
            let result = pages.and_then(|pages| use_page(pages, piece.offset, &piece.span, f));
            (result, memory.release(piece.held))
        });
        if loose {
            keeper::reclaim(self);
        }
        Ok((result, block))
    }

    /// Copies from the beginning of what is wanted; returns how much, and from which block.
    pub(crate) fn read_piece(
        &self,
        want: &Want,
        into: &mut [u8],
    ) -> Result<(usize, BlockId), MemoryError> {
        self.at(want, |page, offset, len| {
            let len = len.min(into.len());
            page.read(offset, into.get_mut(..len).unwrap_or_default())
        })
    }

    /// Adds the beginning of what is wanted to `pieces`, as much as is in one block and has room; returns
    /// how much, and the use of the block, which ends with [`Platform::release`].
    ///
    /// What is added is wanted, and of a kind that has references, when it is added. From then on memory of
    /// a process is kept by the use, and memory of the kernel by its reference: see
    /// [`crate::platform`].
    pub(crate) fn add_piece(
        &self,
        want: &Want,
        pieces: &mut Pieces,
    ) -> Result<(usize, Use), MemoryError> {
        let piece = keeper::acquire(self, want)?;
        let all = usize::try_from(piece.span.len()).unwrap_or(usize::MAX);
        let added = self.with(|memory| {
            let dying = memory.is_dying(&piece.held);
            let pages = memory.pages(&piece.held).filter(|_| !dying)?;
            let mut done = 0;
            while done < all {
                let next = piece.offset.saturating_add(done as u64);
                let pushed =
                    pages.with_page(next, |page, offset| pieces.push(page, offset, all - done));
                let Some(len) = pushed.flatten() else { break };
                done += len;
            }
            (done > 0).then_some(done)
        });
        match added {
            Some(len) => Ok((len, piece.held)),
            None => {
                self.release([piece.held]);
                Err(MemoryError::Unmapped)
            }
        }
    }

    /// So many buffers were used without a look-up of their own: they lie behind one that had one.
    pub(crate) fn found_together(&self, buffers: u64) {
        self.with(|memory| memory.found_together(buffers));
    }

    /// Ends uses. Process context.
    pub(crate) fn release(&self, uses: impl IntoIterator<Item = Use>) {
        let loose = self.with(|memory| {
            let uses = uses.into_iter();
            uses.fold(false, |loose, held| memory.release(held) || loose)
        });
        if loose {
            keeper::reclaim(self);
        }
    }
}

/// Virtqueues, and what is in them.
impl Paged for Platform {
    fn page_at<R>(
        &self,
        at: u64,
        len: usize,
        access: Access,
        f: impl FnOnce(&Page<'_>, usize, usize) -> R,
    ) -> Result<R, MemoryError> {
        let span = Span::new(at, len as u64).ok_or(MemoryError::Unmapped)?;
        let (result, _) = self.at(&Want::own(span, access), f)?;
        Ok(result)
    }
}

/// Calls `f` with the page at the beginning of a piece, which is `offset` in its block, the place there, and how
/// many of the bytes are behind it.
fn use_page<R>(
    pages: &Pages,
    offset: u64,
    span: &Span,
    f: impl FnOnce(&Page<'_>, usize, usize) -> R,
) -> Option<R> {
    let mapped = usize::try_from(span.len()).unwrap_or(usize::MAX);
    pages.with_page(offset, |page, offset| {
        f(page, offset, mapped.min(PAGE_SIZE - offset))
    })
}

fn map_error(error: MapError) -> Error {
    match error {
        MapError::Overlap => EEXIST,
        MapError::Alignment => EINVAL,
        MapError::Limit => ENOSPC,
    }
}

impl Keeper for Platform {
    type Backing = Backing;
    type Pages = Pages;

    fn with<R>(&self, f: impl FnOnce(&mut DeviceMemory) -> R) -> R {
        f(&mut self.inner.lock().memory)
    }

    fn pin(&self, fault: &Fault<Backing>) -> Result<Pages, PinError> {
        match &fault.backing {
            Backing::Area(area) => match area.pin(fault.offset, fault.len, fault.writable) {
                Ok(pinned) => Ok(Pages::Pinned(pinned)),
                Err(error) if error == ENOBUFS => Err(PinError::Quota),
                Err(error) if error == ENOMEM => Err(PinError::Memory),
                Err(_) => Err(PinError::Fault),
            },
            Backing::Kernel(memory) => memory
                .skip(fault.offset)
                .map(Pages::Kernel)
                .ok_or(PinError::Fault),
        }
    }

    fn unpin(&self, pages: Pages, dirty: bool) {
        if let Pages::Pinned(pinned) = pages {
            pinned.unpin(dirty);
        }
    }

    fn wait(&self, seen: u64) -> Result<(), MemoryError> {
        let mut inner = self.inner.lock();
        while inner.memory.progress() == seen {
            self.changed.wait(&mut inner);
        }
        Ok(())
    }

    fn wake(&self) {
        self.changed.notify_all();
    }
}
