// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a process that a device may use; see area.h.
 *
 * What vhost_vdpa maps with use_va is shared memory of a file, and a guest's is of
 * a memfd or of hugetlbfs. Such pages are pinned through the file, not through
 * the process's mappings: that takes no mmap_lock (which the caller of dma_unmap
 * may hold while it waits for a device), and never waits for a process that
 * handles page faults itself. The rights are checked when the area is made.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/hugetlb.h>
#include <linux/kref.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/vdpa.h>
#include <linux/workqueue.h>

#include "area.h"
#include "vdpa.h"

struct vstellar_area {
	struct kref ref;
	struct work_struct release;
	struct mm_struct *mm;	/* whom pinned pages are charged to, with @file */
	unsigned long limit;
	struct file *file;	/* or NULL */
	u64 start;		/* in the file, or a physical address */
	u64 size;
	bool writable;
};

struct vstellar_pages {
	struct mm_struct *mm;	/* charged for them, or NULL */
	unsigned int nr_folios;	/* to unpin */
	unsigned int nr_pages;
	struct folio **folios;
	struct page *pages[] __counted_by(nr_pages);
};

/* --- areas --------------------------------------------------------------- */

/*
 * vhost_vdpa does not compare what a process asks for with what it may do with its
 * mapping. A device that may write to a file counts as one more writable mapping of
 * it: it is refused if the file was sealed, and while it lasts sealing is.
 */
static int vstellar_file_allow_write(struct file *file)
{
	unsigned int seals = 0;

	if (!(file->f_mode & FMODE_WRITE))
		return -EACCES;
#ifdef CONFIG_SHMEM
	if (shmem_file(file))
		seals = READ_ONCE(SHMEM_I(file_inode(file))->seals);
#endif
#ifdef CONFIG_HUGETLBFS
	if (is_file_hugepages(file))
		seals = READ_ONCE(HUGETLBFS_I(file_inode(file))->seals);
#endif
	if (seals & F_SEAL_FUTURE_WRITE)
		return -EPERM;
	return mapping_map_writable(file->f_mapping);
}

static int vstellar_area_take_file(struct vstellar_area *area, const struct vstellar_owner *owner,
				   const struct vdpa_map_file *from)
{
	int err;

	if (area->writable) {
		err = vstellar_file_allow_write(from->file);
		if (err)
			return err;
	}
	/* the reference of vhost_vdpa is gone before it calls dma_unmap */
	area->file = get_file(from->file);
	area->start = from->offset;
	area->limit = owner->limit;
	area->mm = owner->mm;
	mmgrab(area->mm);
	return 0;
}

/* The same goes for its pins. */
static void vstellar_area_take_pages(struct vstellar_area *area, u64 addr)
{
	unsigned long pfn;

	area->start = addr;
	for (pfn = PHYS_PFN(addr); pfn < PHYS_PFN(addr + area->size); pfn++)
		get_page(pfn_to_page(pfn));
}

static void vstellar_area_release(struct work_struct *work)
{
	struct vstellar_area *area = container_of(work, struct vstellar_area, release);
	unsigned long pfn;

	if (area->file) {
		if (area->writable)
			mapping_unmap_writable(area->file->f_mapping);
		fput(area->file);
		mmdrop(area->mm);
	} else {
		for (pfn = PHYS_PFN(area->start); pfn < PHYS_PFN(area->start + area->size); pfn++)
			put_page(pfn_to_page(pfn));
	}
	kfree(area);
}

struct vstellar_area *vstellar_area_new(const struct vstellar_owner *owner, u64 addr, u64 size,
					bool writable, const struct vdpa_map_file *file)
{
	struct vstellar_area *area;
	int err;

	if (!PAGE_ALIGNED(addr | size | (file ? file->offset : 0)))
		return ERR_PTR(-EINVAL);
	/*
	 * Other files' memory cannot be pinned for long. As vhost_vdpa does with
	 * private memory, it is left out: there is no access to it.
	 */
	if (file && !shmem_file(file->file) && !is_file_hugepages(file->file))
		return NULL;
	if (file && !owner->mm)
		return ERR_PTR(-ESRCH);

	area = kzalloc_obj(*area, GFP_KERNEL_ACCOUNT);
	if (!area)
		return ERR_PTR(-ENOMEM);
	kref_init(&area->ref);
	INIT_WORK(&area->release, vstellar_area_release);
	area->size = size;
	area->writable = writable;
	if (!file) {
		vstellar_area_take_pages(area, addr);
		return area;
	}
	err = vstellar_area_take_file(area, owner, file);
	if (err) {
		kfree(area);
		return ERR_PTR(err);
	}
	return area;
}

void vstellar_c_area_get(struct vstellar_area *area)
{
	kref_get(&area->ref);
}

/* There may be a great many pages to let go of, and a lock may be held here. */
static void vstellar_area_last_put(struct kref *ref)
{
	queue_work(vstellar_wq, &container_of(ref, struct vstellar_area, ref)->release);
}

void vstellar_c_area_put(struct vstellar_area *area)
{
	kref_put(&area->ref, vstellar_area_last_put);
}

/* --- pins ---------------------------------------------------------------- */

static int vstellar_charge(struct mm_struct *mm, unsigned long nr, unsigned long limit)
{
	if ((u64)atomic64_add_return(nr, &mm->pinned_vm) <= limit)
		return 0;
	atomic64_sub(nr, &mm->pinned_vm);
	return -ENOBUFS;
}

/*
 * Memory that fallocate() has only reserved is cleared when it is first looked at. That would be after
 * the device has written there, and too late for what it sends. So it is done here as shmem does it,
 * under the folio's lock, which nobody holds for longer than that takes.
 */
static void vstellar_clear_reserved(struct folio *folio)
{
	if (folio_test_uptodate(folio))
		return;
	folio_lock(folio);
	if (!folio_test_uptodate(folio)) {
		folio_zero_range(folio, 0, folio_size(folio));
		flush_dcache_folio(folio);
		folio_mark_uptodate(folio);
	}
	folio_unlock(folio);
}

/* Pins folios, and lists the pages in them. */
static int vstellar_pin_file(const struct vstellar_area *area, u64 offset, u64 len,
			     struct vstellar_pages *pages)
{
	const u64 start = area->start + offset;
	unsigned int i, page = 0;
	unsigned long index;
	pgoff_t first;
	long nr;

	pages->folios = kvmalloc_objs(*pages->folios, pages->nr_pages, GFP_KERNEL_ACCOUNT);
	if (!pages->folios)
		return -ENOMEM;
	nr = memfd_pin_folios(area->file, start, start + len - 1, pages->folios, pages->nr_pages,
			      &first);
	if (nr < 0)
		return nr;
	pages->nr_folios = nr;
	index = first >> PAGE_SHIFT;
	for (i = 0; i < nr; i++) {
		vstellar_clear_reserved(pages->folios[i]);
		for (; index < folio_nr_pages(pages->folios[i]) && page < pages->nr_pages; index++)
			pages->pages[page++] = folio_page(pages->folios[i], index);
		index = 0;
	}
	if (page == pages->nr_pages)
		return 0;
	unpin_folios(pages->folios, nr);
	return -EFAULT;
}

static int vstellar_pin(const struct vstellar_area *area, u64 offset, u64 len,
			struct vstellar_pages **out)
{
	const unsigned int nr = len >> PAGE_SHIFT;
	struct vstellar_pages *pages;
	unsigned int i;
	int err;

	pages = kvzalloc_flex(*pages, pages, nr, GFP_KERNEL_ACCOUNT);
	if (!pages)
		return -ENOMEM;
	pages->nr_pages = nr;
	if (!area->file) {
		/* here already, and referenced by the area */
		for (i = 0; i < nr; i++) {
			pages->pages[i] = pfn_to_page(PHYS_PFN(area->start + offset) + i);
			get_page(pages->pages[i]);
		}
		*out = pages;
		return 0;
	}
	err = vstellar_charge(area->mm, nr, area->limit);
	if (err)
		goto free;
	err = vstellar_pin_file(area, offset, len, pages);
	if (err) {
		atomic64_sub(nr, &area->mm->pinned_vm);
		goto free;
	}
	pages->mm = area->mm;
	mmgrab(pages->mm);
	*out = pages;
	return 0;
free:
	kvfree(pages->folios);
	kvfree(pages);
	return err;
}

/*
 * What the owner has not touched yet becomes its memory here. It is charged to the owner's
 * memory cgroup as if it had, though this is a thread of the kernel.
 */
int vstellar_c_pin(struct vstellar_area *area, u64 offset, u64 len, bool writable,
		   struct vstellar_pages **out)
{
	struct mem_cgroup *memcg, *old;
	int err;

	if (len < PAGE_SIZE || !PAGE_ALIGNED(offset | len) || offset > area->size ||
	    len > area->size - offset || (writable && !area->writable))
		return -EFAULT;
	if (!area->file)
		return vstellar_pin(area, offset, len, out);
	memcg = get_mem_cgroup_from_mm(area->mm);
	old = set_active_memcg(memcg);
	err = vstellar_pin(area, offset, len, out);
	set_active_memcg(old);
	mem_cgroup_put(memcg);
	return err;
}

void vstellar_c_unpin(struct vstellar_pages *pages, bool dirty)
{
	unsigned int i;

	if (!pages->mm) {
		for (i = 0; i < pages->nr_pages; i++) {
			if (dirty)
				set_page_dirty_lock(pages->pages[i]);
			put_page(pages->pages[i]);
		}
		kvfree(pages);
		return;
	}
	for (i = 0; dirty && i < pages->nr_folios; i++)
		folio_mark_dirty_lock(pages->folios[i]);
	unpin_folios(pages->folios, pages->nr_folios);
	atomic64_sub(pages->nr_pages, &pages->mm->pinned_vm);
	mmdrop(pages->mm);
	kvfree(pages->folios);
	kvfree(pages);
}

struct page *vstellar_c_page(const struct vstellar_pages *pages, u64 offset)
{
	const u64 index = offset >> PAGE_SHIFT;

	return index < pages->nr_pages ? pages->pages[index] : NULL;
}

/* --- bytes --------------------------------------------------------------- */

/*
 * The order is that of the rings of virtio and of the doorbells: whoever reads an
 * index sees what was written before it. What the barriers pair with is in the
 * guest's driver.
 */

void vstellar_c_page_read(struct page *page, size_t offset, void *dst, size_t len)
{
	memcpy_from_page(dst, page, offset, len);
}

void vstellar_c_page_write(struct page *page, size_t offset, const void *src, size_t len)
{
	memcpy_to_page(page, offset, src, len);
}

u16 vstellar_c_page_load16(struct page *page, size_t offset)
{
	void *at = kmap_local_page(page) + offset;
	/* pairs with the release of who wrote it */
	__le16 value = smp_load_acquire((__le16 *)at);

	kunmap_local(at);
	return le16_to_cpu(value);
}

u32 vstellar_c_page_load32(struct page *page, size_t offset)
{
	void *at = kmap_local_page(page) + offset;
	/* pairs with the release of who wrote it */
	__le32 value = smp_load_acquire((__le32 *)at);

	kunmap_local(at);
	return le32_to_cpu(value);
}

void vstellar_c_page_store16(struct page *page, size_t offset, u16 value)
{
	void *at = kmap_local_page(page) + offset;

	/* pairs with the acquire of who reads it */
	smp_store_release((__le16 *)at, cpu_to_le16(value));
	kunmap_local(at);
}

void vstellar_c_page_store32(struct page *page, size_t offset, u32 value)
{
	void *at = kmap_local_page(page) + offset;

	/* pairs with the acquire of who reads it */
	smp_store_release((__le32 *)at, cpu_to_le32(value));
	kunmap_local(at);
}

u32 vstellar_c_page_take32(struct page *page, size_t offset)
{
	void *at = kmap_local_page(page) + offset;
	__le32 value = xchg((__le32 *)at, 0);

	kunmap_local(at);
	return le32_to_cpu(value);
}

void vstellar_c_fence(void)
{
	/* pairs with the driver's between index and event index */
	smp_mb();
}

size_t vstellar_c_page_run(const struct page *page, size_t offset, size_t len)
{
	const struct folio *folio = page_folio(page);

	return min(len, folio_size(folio) - folio_page_idx(folio, page) * PAGE_SIZE - offset);
}

bool vstellar_c_page_try_get(struct page *page)
{
	return folio_try_get(page_folio(page));
}

void vstellar_c_page_put(struct page *page)
{
	put_page(page);
}

struct page *vstellar_c_phys_page(u64 phys)
{
	return pfn_to_page(PHYS_PFN(phys));
}
