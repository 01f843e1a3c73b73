// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that the device reads and writes.
 *
 * The device pins what it uses in pieces of 2 MiB, so blocks are cut from arenas of
 * that size, and from smaller ones where memory is in pieces. An arena stays until
 * the device goes: its blocks are used again, and again found in the device's map
 * cache. (It is not charged to the sockets' owners for that reason; the device's
 * limit of endpoints bounds it.)
 *
 * A device that sends from this memory (F_ZC) has it until the peer has acknowledged
 * what is there, so what is on its way has to have room here. A socket then gets a
 * larger block for bytes to send, as long as all of these are a quarter of what the
 * device may pin.
 */
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/slab.h>

#include "guest.h"

/**
 * struct vsg_arena - pages that the device may use
 * @link: in vsg_device.arenas
 * @page: the first
 * @order: how many
 * @dma: the device's address
 * @size: bytes of a block
 * @blocks: how many blocks
 * @used: which of them are
 */
struct vsg_arena {
	struct list_head link;
	struct page *page;
	unsigned int order;
	dma_addr_t dma;
	size_t size;
	unsigned int blocks;
	unsigned long used;
};

static struct virtqueue *vsg_mapper(struct vsg_device *dev)
{
	return dev->vqs[VIRTIO_VSTELLAR_VQ_CTRL];
}

/* --- blocks --------------------------------------------------------------- */

static size_t vsg_arena_bytes(const struct vsg_arena *arena)
{
	return arena->blocks * arena->size;
}

static struct vsg_arena *vsg_arena_new(struct vsg_device *dev, size_t block, unsigned int blocks)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | __GFP_NORETRY | __GFP_COMP;
	struct vsg_arena *arena = kzalloc_obj(*arena, GFP_KERNEL);
	size_t size;

	if (!arena)
		return NULL;
	arena->size = block;
	arena->blocks = blocks;
	size = vsg_arena_bytes(arena);
	arena->order = get_order(size);
	arena->page = alloc_pages(gfp, arena->order);
	if (!arena->page)
		goto free;
	arena->dma = virtqueue_map_single_attrs(vsg_mapper(dev), page_address(arena->page), size,
						DMA_BIDIRECTIONAL, 0);
	if (virtqueue_map_mapping_error(vsg_mapper(dev), arena->dma))
		goto free_pages;
	/* memory that is copied to and fro is not shared */
	if (virtqueue_map_need_sync(vsg_mapper(dev), arena->dma))
		goto unmap;
	list_add_tail(&arena->link, &dev->arenas);
	return arena;

unmap:
	virtqueue_unmap_single_attrs(vsg_mapper(dev), arena->dma, size, DMA_BIDIRECTIONAL, 0);
free_pages:
	__free_pages(arena->page, arena->order);
free:
	kfree(arena);
	return NULL;
}

static struct vsg_arena *vsg_arena_with_room(struct vsg_device *dev, size_t block)
{
	struct vsg_arena *arena;

	list_for_each_entry(arena, &dev->arenas, link) {
		if (arena->size == block && hweight_long(arena->used) < arena->blocks)
			return arena;
	}
	if (!dev->mapped)
		return NULL;
	return vsg_arena_new(dev, block, VSG_ARENA / block) ?: vsg_arena_new(dev, block, 1);
}

static int vsg_block_take(struct vsg_device *dev, struct vsg_block *block, size_t size)
{
	struct vsg_arena *arena = vsg_arena_with_room(dev, size);
	unsigned int n;

	if (!arena)
		return -ENOBUFS;
	n = ffz(arena->used);
	arena->used |= BIT(n);
	block->arena = arena;
	block->mem = page_address(arena->page) + n * size;
	block->iova = arena->dma + n * size;
	return 0;
}

static void vsg_block_drop(struct vsg_block *block)
{
	if (block->arena)
		block->arena->used &= ~BIT((block->iova - block->arena->dma) / block->arena->size);
	block->arena = NULL;
}

int vsg_block_get(struct vsg_device *dev, struct vsg_block *block)
{
	int err;

	mutex_lock(&dev->memory);
	err = vsg_block_take(dev, block, VSG_BLOCK);
	mutex_unlock(&dev->memory);
	return err;
}

/* A large one, which there may be none of. */
int vsg_large_get(struct vsg_device *dev, struct vsg_block *block)
{
	u64 most = div_u64(le64_to_cpu(dev->config.pin_quota), 4 * VSG_LARGE);
	int err = -ENOBUFS;

	mutex_lock(&dev->memory);
	if (dev->lends && dev->larges < most)
		err = vsg_block_take(dev, block, VSG_LARGE);
	if (!err)
		dev->larges++;
	mutex_unlock(&dev->memory);
	return err;
}

void vsg_large_put(struct vsg_device *dev, struct vsg_block *block)
{
	mutex_lock(&dev->memory);
	if (block->arena)
		dev->larges--;
	vsg_block_drop(block);
	mutex_unlock(&dev->memory);
}

void vsg_block_put(struct vsg_device *dev, struct vsg_block *block)
{
	mutex_lock(&dev->memory);
	vsg_block_drop(block);
	mutex_unlock(&dev->memory);
}

/* --- doorbells ------------------------------------------------------------ */

struct virtio_vstellar_slot *vsg_slot(struct vsg_device *dev, u32 slot)
{
	void *slots = dev->doorbells.mem + VIRTIO_VSTELLAR_PAGE_SIZE;

	return slots + slot * VIRTIO_VSTELLAR_DB_STRIDE;
}

static int vsg_slot_take(struct vsg_device *dev, u32 *slot)
{
	unsigned long n = find_first_zero_bit(dev->slots, VSG_SLOTS);

	if (n >= VSG_SLOTS)
		return -ENOBUFS;
	__set_bit(n, dev->slots);
	/* indices begin with zero; the device does not look at it before it has an owner */
	memset(vsg_slot(dev, n), 0, VIRTIO_VSTELLAR_DB_STRIDE);
	*slot = n;
	return 0;
}

int vsg_slot_get(struct vsg_device *dev, u32 *slot)
{
	int err;

	mutex_lock(&dev->memory);
	err = vsg_slot_take(dev, slot);
	mutex_unlock(&dev->memory);
	return err;
}

void vsg_slot_put(struct vsg_device *dev, u32 slot)
{
	mutex_lock(&dev->memory);
	__clear_bit(slot, dev->slots);
	mutex_unlock(&dev->memory);
}

/* --- completion queues ---------------------------------------------------- */

/* Entries that an endpoint may have outstanding. */
#define VSG_PER_ENDPOINT	(VSG_SQ_DEPTH + VSG_RQ_DEPTH)

static int vsg_cq_create(struct vsg_device *dev, struct vsg_cq *cq)
{
	struct virtio_vstellar_cq_create create = {
		.ring = cpu_to_le64(cq->block.iova),
		.depth_log2 = cpu_to_le16(VSG_CQ_LOG2),
		.flags = cpu_to_le16(VIRTIO_VSTELLAR_CQ_EVENTS),
		.db_slot = cpu_to_le32(cq->slot),
	};

	static_assert(sizeof(struct virtio_vstellar_cqe) << VSG_CQ_LOG2 == VSG_BLOCK);
	memset(cq->block.mem, 0, VSG_BLOCK);
	return vsg_command(dev, VIRTIO_VSTELLAR_CMD_CQ_CREATE, &cq->handle, &create,
			   sizeof(create), NULL, 0);
}

static struct vsg_cq *vsg_cq_new(struct vsg_device *dev)
{
	unsigned int most = min(VSG_CQS, le32_to_cpu(dev->config.max_cq));
	struct vsg_cq *cq = &dev->cqs[dev->ncqs];

	if (dev->ncqs >= most)
		return NULL;
	memset(cq, 0, sizeof(*cq));
	cq->reader = vsg_reader_new(VSG_CQ_LOG2);
	if (!cq->reader)
		return NULL;
	if (vsg_block_take(dev, &cq->block, VSG_BLOCK))
		goto free_reader;
	if (vsg_slot_take(dev, &cq->slot))
		goto drop_block;
	if (vsg_cq_create(dev, cq))
		goto drop_slot;
	/* pairs with the bottom half, which looks at all that are counted */
	smp_store_release(&dev->ncqs, dev->ncqs + 1);
	return cq;

drop_slot:
	__clear_bit(cq->slot, dev->slots);
drop_block:
	vsg_block_drop(&cq->block);
free_reader:
	vsg_reader_free(cq->reader);
	return NULL;
}

/* A queue with room for the entries of one endpoint more. */
struct vsg_cq *vsg_cq_get(struct vsg_device *dev)
{
	struct vsg_cq *cq = NULL;

	mutex_lock(&dev->memory);
	for (unsigned int i = 0; i < dev->ncqs && !cq; i++) {
		if (dev->cqs[i].reserved + VSG_PER_ENDPOINT <= 1u << VSG_CQ_LOG2)
			cq = &dev->cqs[i];
	}
	if (!cq)
		cq = vsg_cq_new(dev);
	if (cq)
		cq->reserved += VSG_PER_ENDPOINT;
	mutex_unlock(&dev->memory);
	return cq;
}

void vsg_cq_put(struct vsg_device *dev, struct vsg_cq *cq)
{
	mutex_lock(&dev->memory);
	cq->reserved -= VSG_PER_ENDPOINT;
	mutex_unlock(&dev->memory);
}

/* --- begin and end -------------------------------------------------------- */

struct virtio_vstellar_event *vsg_event_buffer(struct vsg_device *dev, unsigned int n)
{
	return dev->doorbells.mem + VSG_EVENTS + n * sizeof(struct virtio_vstellar_event);
}

u64 vsg_event_iova(struct vsg_device *dev, const struct virtio_vstellar_event *event)
{
	return dev->doorbells.iova + ((const void *)event - dev->doorbells.mem);
}

/* What is needed before the first word to the device. */
int vsg_memory_prepare(struct vsg_device *dev)
{
	static_assert(VSG_EVENTS % VIRTIO_VSTELLAR_PAGE_SIZE == 0);
	dev->mapped = true;
	return vsg_block_get(dev, &dev->doorbells);
}

int vsg_memory_start(struct vsg_device *dev)
{
	struct virtio_vstellar_db_attach attach = { .npages = cpu_to_le32(VSG_DB_PAGES) };
	struct virtio_vstellar_db_attach_resp resp;
	int err;

	attach.addr = cpu_to_le64(dev->doorbells.iova);
	err = vsg_command(dev, VIRTIO_VSTELLAR_CMD_DB_ATTACH, NULL, &attach, sizeof(attach), &resp,
			  sizeof(resp));
	if (err)
		return err;
	return le32_to_cpu(resp.nslots) < VSG_SLOTS ? -EPROTO : 0;
}

/* The device was reset, and does not use it any more. */
void vsg_memory_unmap(struct vsg_device *dev)
{
	struct vsg_arena *arena;

	mutex_lock(&dev->memory);
	if (dev->mapped) {
		dev->mapped = false;
		list_for_each_entry(arena, &dev->arenas, link)
			virtqueue_unmap_single_attrs(vsg_mapper(dev), arena->dma,
						     vsg_arena_bytes(arena), DMA_BIDIRECTIONAL, 0);
	}
	mutex_unlock(&dev->memory);
}

/* No socket is left. */
void vsg_memory_free(struct vsg_device *dev)
{
	struct vsg_arena *arena, *next;

	for (unsigned int i = 0; i < dev->ncqs; i++)
		vsg_reader_free(dev->cqs[i].reader);
	list_for_each_entry_safe(arena, next, &dev->arenas, link) {
		__free_pages(arena->page, arena->order);
		kfree(arena);
	}
}
