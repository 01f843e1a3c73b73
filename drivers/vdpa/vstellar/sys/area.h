/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of a process that a device may use, and pages of it that are pinned.
 */
#ifndef _VSTELLAR_AREA_H
#define _VSTELLAR_AREA_H

#include <linux/types.h>

struct file;
struct mm_struct;
struct page;
struct vdpa_map_file;

/*
 * Where the memory of one mapping lies: in a file, or (use_va=0) in pages that
 * vhost_vdpa has pinned.
 */
struct vstellar_area;
/* Pages of it, pinned. */
struct vstellar_pages;

/* Whose memory it is, and how much of it may be pinned. */
struct vstellar_owner {
	struct mm_struct *mm;
	unsigned long limit; /* pages */
};

/*
 * With @file: that part of the file, or NULL if nothing there can be pinned.
 * Without: the pages at the physical address @addr. Process context.
 */
struct vstellar_area *vstellar_area_new(const struct vstellar_owner *owner, u64 addr, u64 size,
					bool writable, const struct vdpa_map_file *file);

/* any context; what is left to do at the end is done elsewhere */
void vstellar_c_area_get(struct vstellar_area *area);
void vstellar_c_area_put(struct vstellar_area *area);

/*
 * Pins the pages of [@offset, @offset + @len), which is in whole pages, all or
 * none: -ENOBUFS if the owner may not pin so much. Process context; waits for
 * nothing that the owner can hold up.
 */
int vstellar_c_pin(struct vstellar_area *area, u64 offset, u64 len, bool writable,
		   struct vstellar_pages **pages);
void vstellar_c_unpin(struct vstellar_pages *pages, bool dirty);

/* the page with the byte @offset; not NULL if that is one of them */
struct page *vstellar_c_page(const struct vstellar_pages *pages, u64 offset);

/*
 * Bytes of a page that others may be changing, and little-endian values there, which
 * are aligned.
 */
void vstellar_c_page_read(struct page *page, size_t offset, void *dst, size_t len);
void vstellar_c_page_write(struct page *page, size_t offset, const void *src, size_t len);
u16 vstellar_c_page_load16(struct page *page, size_t offset);	/* acquire */
u32 vstellar_c_page_load32(struct page *page, size_t offset);
void vstellar_c_page_store16(struct page *page, size_t offset, u16 value);	/* release */
void vstellar_c_page_store32(struct page *page, size_t offset, u32 value);
u32 vstellar_c_page_take32(struct page *page, size_t offset);	/* and leave zero */
void vstellar_c_fence(void);

/* Bytes of a page, and of those behind it in the same folio. */
struct vstellar_piece {
	struct page *page;
	u32 len;
	u32 offset;
};

/* how many of @len bytes at @offset of a page are in its folio */
size_t vstellar_c_page_run(const struct page *page, size_t offset, size_t len);

/* a reference to a page that has others; false if it is of a kind without (slab) */
bool vstellar_c_page_try_get(struct page *page);
void vstellar_c_page_put(struct page *page);

/* the page at a physical address that is the kernel's memory */
struct page *vstellar_c_phys_page(u64 phys);

#endif /* _VSTELLAR_AREA_H */
