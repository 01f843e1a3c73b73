// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of this kernel for a device that virtio_vdpa has: each buffer of its
 * driver is mapped for itself, in any context, and unmapped when the driver has it
 * back. The IOVAs are Rust's to give.
 */
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/virtio_config.h>

#include "vdpa.h"

/* The token holds one pointer, of no matter which type: here to the Rust half. */
static void *rust(union virtio_map token)
{
	return token.group;
}

static dma_addr_t vstellar_map(union virtio_map token, phys_addr_t phys, size_t size,
			       enum dma_data_direction dir)
{
	u64 iova;

	if (vstellar_map_kernel(rust(token), phys, size, dir != DMA_FROM_DEVICE,
				dir != DMA_TO_DEVICE, &iova))
		return DMA_MAPPING_ERROR;
	return iova;
}

static dma_addr_t vstellar_map_page(union virtio_map token, struct page *page,
				    unsigned long offset, size_t size,
				    enum dma_data_direction dir, unsigned long attrs)
{
	return vstellar_map(token, page_to_phys(page) + offset, size, dir);
}

static void vstellar_unmap_page(union virtio_map token, dma_addr_t iova, size_t size,
				enum dma_data_direction dir, unsigned long attrs)
{
	vstellar_unmap_kernel(rust(token), iova, size);
}

static void *vstellar_alloc(union virtio_map token, size_t size, dma_addr_t *iova, gfp_t gfp)
{
	void *mem;

	/* a driver's first buffers are its rings */
	if (gfpflags_allow_blocking(gfp) && vstellar_map_prepare(rust(token)))
		return NULL;
	mem = alloc_pages_exact(size, gfp | __GFP_ZERO);
	if (!mem)
		return NULL;
	*iova = vstellar_map(token, virt_to_phys(mem), size, DMA_BIDIRECTIONAL);
	if (*iova == DMA_MAPPING_ERROR) {
		free_pages_exact(mem, size);
		return NULL;
	}
	return mem;
}

static void vstellar_free(union virtio_map token, size_t size, void *mem, dma_addr_t iova,
			  unsigned long attrs)
{
	vstellar_unmap_kernel(rust(token), iova, size);
	free_pages_exact(mem, size);
}

/* The device is this CPU: nothing is ever out of step. */
static void vstellar_sync(union virtio_map token, dma_addr_t iova, size_t size,
			  enum dma_data_direction dir)
{
}

static bool vstellar_need_sync(union virtio_map token, dma_addr_t iova)
{
	return false;
}

static int vstellar_mapping_error(union virtio_map token, dma_addr_t iova)
{
	return iova == DMA_MAPPING_ERROR ? -ENOMEM : 0;
}

static size_t vstellar_max_mapping_size(union virtio_map token)
{
	return SIZE_MAX;
}

const struct virtio_map_ops vstellar_map_ops = {
	.map_page		= vstellar_map_page,
	.unmap_page		= vstellar_unmap_page,
	.sync_single_for_cpu	= vstellar_sync,
	.sync_single_for_device	= vstellar_sync,
	.alloc			= vstellar_alloc,
	.free			= vstellar_free,
	.need_sync		= vstellar_need_sync,
	.mapping_error		= vstellar_mapping_error,
	.max_mapping_size	= vstellar_max_mapping_size,
};
