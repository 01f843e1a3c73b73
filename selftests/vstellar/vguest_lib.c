// SPDX-License-Identifier: GPL-2.0
/*
 * A guest without a machine; see vguest.h.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vguest.h"

#define QUEUE_BYTES	0x4000	/* for the rings of one queue */
#define COMMAND_ROOM	0x1000
#define COMMAND_TIMEOUT	20000

static int check(int result)
{
	return result < 0 ? -errno : result;
}

int guest_open(struct guest *g, const char *path)
{
	memset(g, 0, sizeof(*g));
	g->command = GUEST_FREE;
	g->memfd = -1;
	for (int i = 0; i < VIRTIO_VSTELLAR_NVQS; i++)
		g->queue[i].kick = g->queue[i].call = -1;
	g->fd = open(path, O_RDWR | O_CLOEXEC);
	if (g->fd < 0)
		return -errno;
	return check(ioctl(g->fd, VHOST_SET_OWNER));
}

void guest_close(struct guest *g)
{
	close(g->fd);
	for (int i = 0; i < VIRTIO_VSTELLAR_NVQS; i++) {
		if (g->queue[i].kick >= 0) {
			close(g->queue[i].kick);
			close(g->queue[i].call);
		}
	}
	if (g->ram)
		munmap(g->ram, g->size);
	if (g->memfd >= 0)
		close(g->memfd);
}

static int iotlb(struct guest *g, struct vhost_iotlb_msg *iotlb)
{
	struct vhost_msg_v2 msg = { .type = VHOST_IOTLB_MSG_V2, .iotlb = *iotlb };
	ssize_t n = write(g->fd, &msg, sizeof(msg));

	return n < 0 ? -errno : 0;
}

int guest_map(struct guest *g, uint64_t iova, uint64_t size, const void *ram, uint8_t perm)
{
	struct vhost_iotlb_msg msg = {
		.iova = iova, .size = size, .uaddr = (uintptr_t)ram, .perm = perm,
		.type = VHOST_IOTLB_UPDATE,
	};

	return iotlb(g, &msg);
}

int guest_unmap(struct guest *g, uint64_t iova, uint64_t size)
{
	struct vhost_iotlb_msg msg = {
		.iova = iova, .size = size, .type = VHOST_IOTLB_INVALIDATE,
	};

	return iotlb(g, &msg);
}

int guest_memory(struct guest *g, size_t size)
{
	g->memfd = memfd_create("guest", MFD_CLOEXEC);
	if (g->memfd < 0 || ftruncate(g->memfd, size))
		return -errno;
	g->size = size;
	g->ram = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, g->memfd, 0);
	if (g->ram == MAP_FAILED) {
		g->ram = NULL;
		return -errno;
	}
	return 0;
}

int guest_features(struct guest *g, uint64_t features)
{
	uint64_t backend = 1ull << VHOST_BACKEND_F_IOTLB_MSG_V2;
	int err = check(ioctl(g->fd, VHOST_SET_BACKEND_FEATURES, &backend));

	return err ? err : check(ioctl(g->fd, VHOST_SET_FEATURES, &features));
}

int guest_status(struct guest *g, uint8_t status)
{
	return check(ioctl(g->fd, VHOST_VDPA_SET_STATUS, &status));
}

int guest_get_status(struct guest *g)
{
	uint8_t status;
	int err = check(ioctl(g->fd, VHOST_VDPA_GET_STATUS, &status));

	return err ? err : status;
}

uint64_t guest_addr(size_t offset)
{
	return GUEST_IOVA + offset;
}

int guest_queue_setup(struct guest *g, unsigned int index, unsigned int size)
{
	struct guest_queue *q = &g->queue[index];
	struct vhost_vring_state num = { .index = index, .num = size };
	struct vhost_vring_state base = { .index = index };
	struct vhost_vring_file kick = { .index = index }, call = kick;
	struct vhost_vring_addr addr = { .index = index };
	int err;

	q->size = size;
	q->desc = index * QUEUE_BYTES;
	q->avail = q->desc + size * sizeof(struct vring_desc);
	q->used = (q->avail + 6 + size * sizeof(uint16_t) + 3) & ~3ul;
	q->next = q->seen = 0;
	memset(g->ram + q->desc, 0, QUEUE_BYTES);
	if (q->kick < 0) {
		q->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		q->call = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	}
	kick.fd = q->kick;
	call.fd = q->call;
	addr.desc_user_addr = guest_addr(q->desc);
	addr.avail_user_addr = guest_addr(q->avail);
	addr.used_user_addr = guest_addr(q->used);
	err = check(ioctl(g->fd, VHOST_SET_VRING_NUM, &num));
	if (!err)
		err = check(ioctl(g->fd, VHOST_SET_VRING_BASE, &base));
	if (!err)
		err = check(ioctl(g->fd, VHOST_SET_VRING_ADDR, &addr));
	if (!err)
		err = check(ioctl(g->fd, VHOST_SET_VRING_KICK, &kick));
	if (!err)
		err = check(ioctl(g->fd, VHOST_SET_VRING_CALL, &call));
	return err;
}

int guest_queue_enable(struct guest *g, unsigned int index, bool on)
{
	struct vhost_vring_state enable = { .index = index, .num = on };

	return check(ioctl(g->fd, VHOST_VDPA_SET_VRING_ENABLE, &enable));
}

int guest_config(struct guest *g, struct virtio_vstellar_config *config)
{
	struct vhost_vdpa_config *c = calloc(1, sizeof(*c) + sizeof(*config));
	int err;

	if (!c)
		return -ENOMEM;
	c->len = sizeof(*config);
	err = check(ioctl(g->fd, VHOST_VDPA_GET_CONFIG, c));
	memcpy(config, c->buf, sizeof(*config));
	free(c);
	return err;
}

int guest_start(struct guest *g, const char *path, size_t size)
{
	static const unsigned int sizes[] = {
		VIRTIO_VSTELLAR_VQ_CTRL_SIZE, VIRTIO_VSTELLAR_VQ_KICK_SIZE,
		VIRTIO_VSTELLAR_VQ_EVENT_SIZE,
	};
	uint8_t status = VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER;
	int err = guest_open(g, path);

	if (!err)
		err = guest_memory(g, size);
	if (!err)
		err = guest_status(g, status);
	if (!err)
		err = guest_features(g, GUEST_FEATURES);
	if (!err)
		err = guest_status(g, status | VIRTIO_CONFIG_S_FEATURES_OK);
	if (!err)
		err = guest_map(g, GUEST_IOVA, size, g->ram, VHOST_ACCESS_RW);
	for (int i = 0; !err && i < VIRTIO_VSTELLAR_NVQS; i++) {
		err = guest_queue_setup(g, i, sizes[i]);
		if (!err)
			err = guest_queue_enable(g, i, true);
	}
	if (!err)
		err = guest_status(g, status | VIRTIO_CONFIG_S_FEATURES_OK |
				   VIRTIO_CONFIG_S_DRIVER_OK);
	return err;
}

struct vring_desc *guest_desc(struct guest *g, unsigned int index, unsigned int head)
{
	return (struct vring_desc *)(g->ram + g->queue[index].desc) + head;
}

void guest_offer(struct guest *g, unsigned int index, uint16_t head)
{
	struct guest_queue *q = &g->queue[index];
	struct vring_avail *avail = (struct vring_avail *)(g->ram + q->avail);

	avail->ring[q->next % q->size] = htole16(head);
	q->next++;
	__atomic_store_n(&avail->idx, htole16(q->next), __ATOMIC_RELEASE);
}

void guest_kick(struct guest *g, unsigned int index)
{
	eventfd_write(g->queue[index].kick, 1);
}

int guest_wait(struct guest *g, unsigned int index, int timeout_ms)
{
	struct guest_queue *q = &g->queue[index];
	struct vring_used *used = (struct vring_used *)(g->ram + q->used);
	struct pollfd p = { .fd = q->call, .events = POLLIN };
	eventfd_t count;

	while (le16toh(__atomic_load_n(&used->idx, __ATOMIC_ACQUIRE)) == q->seen) {
		if (poll(&p, 1, timeout_ms) <= 0)
			return -ETIME;
		eventfd_read(q->call, &count);
	}
	return le32toh(used->ring[q->seen++ % q->size].len);
}

int guest_command(struct guest *g, uint16_t op, uint32_t *handle, const void *payload, size_t len,
		  void *out, size_t room)
{
	static uint32_t cookie;
	struct virtio_vstellar_req req = {
		.op = htole16(op), .cookie = htole32(++cookie), .len = htole32(len),
		.handle = htole32(handle ? *handle : VIRTIO_VSTELLAR_NO_HANDLE),
	};
	struct vring_desc *desc = guest_desc(g, VIRTIO_VSTELLAR_VQ_CTRL, 0);
	const size_t request = g->command, response = g->command + COMMAND_ROOM;
	struct virtio_vstellar_resp resp;
	int n;

	memcpy(g->ram + request, &req, sizeof(req));
	if (len)
		memcpy(g->ram + request + sizeof(req), payload, len);
	desc[0] = (struct vring_desc) {
		.addr = htole64(guest_addr(request)), .len = htole32(sizeof(req) + len),
		.flags = htole16(VRING_DESC_F_NEXT), .next = htole16(1),
	};
	desc[1] = (struct vring_desc) {
		.addr = htole64(guest_addr(response)), .len = htole32(sizeof(resp) + room),
		.flags = htole16(VRING_DESC_F_WRITE),
	};
	guest_offer(g, VIRTIO_VSTELLAR_VQ_CTRL, 0);
	guest_kick(g, VIRTIO_VSTELLAR_VQ_CTRL);
	n = guest_wait(g, VIRTIO_VSTELLAR_VQ_CTRL, COMMAND_TIMEOUT);
	if (n < 0)
		return n;
	memcpy(&resp, g->ram + response, sizeof(resp));
	if ((size_t)n != sizeof(resp) + le32toh(resp.len) || le32toh(resp.cookie) != cookie)
		return -EPROTO;
	memcpy(out, g->ram + response + sizeof(resp), le32toh(resp.len));
	if (handle)
		*handle = le32toh(resp.handle);
	return le16toh(resp.status);
}

int guest_hello(struct guest *g)
{
	struct virtio_vstellar_hello hello = {
		.revision = htole32(VIRTIO_VSTELLAR_REVISION), .name = "vguest",
	};
	struct virtio_vstellar_hello_resp resp;

	return guest_command(g, VIRTIO_VSTELLAR_CMD_HELLO, NULL, &hello, sizeof(hello), &resp,
			     sizeof(resp));
}
