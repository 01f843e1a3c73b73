/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest without a machine: what a virtual machine monitor and its guest's driver
 * do with /dev/vhost-vdpa-N, step by step, so that a test can do any of it wrong.
 *
 * Memory is a memfd, mapped for the device from GUEST_IOVA on. The rings of the
 * three virtqueues lie at its beginning, what a test needs lies behind GUEST_FREE.
 */
#ifndef VGUEST_H
#define VGUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/vhost.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <linux/virtio_vstellar.h>

#define GUEST_IOVA	0x100000000ull
#define GUEST_FREE	0x10000
#define GUEST_MANDATORY	(1ull << VIRTIO_F_VERSION_1 | 1ull << VIRTIO_VSTELLAR_F_SHADOW_DB)
#define GUEST_FEATURES	(GUEST_MANDATORY | 1ull << VIRTIO_F_ACCESS_PLATFORM | \
			 1ull << VIRTIO_VSTELLAR_F_STREAM | 1ull << VIRTIO_VSTELLAR_F_MR | \
			 1ull << VIRTIO_VSTELLAR_F_STATS)

struct guest_queue {
	unsigned int size;
	size_t desc, avail, used;	/* offsets in memory */
	uint16_t next;			/* chains made available */
	uint16_t seen;			/* chains that came back */
	int kick, call;			/* eventfds */
};

struct guest {
	int fd;
	int memfd;
	uint8_t *ram;
	size_t size;
	size_t command;			/* where commands lie, in memory */
	struct guest_queue queue[VIRTIO_VSTELLAR_NVQS];
};

/* Each returns 0, or -errno. */
int guest_open(struct guest *g, const char *path);
void guest_close(struct guest *g);
int guest_memory(struct guest *g, size_t size);
int guest_map(struct guest *g, uint64_t iova, uint64_t size, const void *ram, uint8_t perm);
int guest_unmap(struct guest *g, uint64_t iova, uint64_t size);
int guest_features(struct guest *g, uint64_t features);
int guest_status(struct guest *g, uint8_t status);
int guest_get_status(struct guest *g);
int guest_queue_setup(struct guest *g, unsigned int index, unsigned int size);
int guest_queue_enable(struct guest *g, unsigned int index, bool on);
int guest_config(struct guest *g, struct virtio_vstellar_config *config);

/* All of the above that a well-behaved driver does, up to DRIVER_OK. */
int guest_start(struct guest *g, const char *path, size_t size);

/* An address as the device knows it. */
uint64_t guest_addr(size_t offset);

/* Puts a chain into a queue: descriptor @head and those after it are filled in by the caller. */
struct vring_desc *guest_desc(struct guest *g, unsigned int index, unsigned int head);
void guest_offer(struct guest *g, unsigned int index, uint16_t head);
void guest_kick(struct guest *g, unsigned int index);
/* Waits for a chain to come back; returns the bytes written, or -ETIME. */
int guest_wait(struct guest *g, unsigned int index, int timeout_ms);

/*
 * A control command with @len bytes of payload. Returns its status, with up to @room
 * bytes of the answer in @out and the object in @handle; or -errno.
 */
int guest_command(struct guest *g, uint16_t op, uint32_t *handle, const void *payload, size_t len,
		  void *out, size_t room);
int guest_hello(struct guest *g);

#endif
