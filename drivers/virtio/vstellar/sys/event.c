// SPDX-License-Identifier: GPL-2.0
/*
 * What the device says: answers, events, completions. All of it is read by one
 * bottom half, which runs whenever a queue was called back.
 *
 * Completions need no call for each: the device calls when the one that the driver
 * has named in cq_arm is there, and the driver names the next one when it has read
 * all there are. Between these two it reads what it finds.
 */
#include <linux/scatterlist.h>

#include "guest.h"

/* Completions, and events, of a queue in one run: the device may write them without end. */
#define VSG_BUDGET	512

/* --- sockets by key ------------------------------------------------------- */

/* With a reference. */
static struct vsg_sock *vsg_lookup(struct vsg_device *dev, u32 key)
{
	struct vsg_sock *vs;

	xa_lock_bh(&dev->sockets);
	vs = xa_load(&dev->sockets, key);
	if (vs)
		sock_hold(&vs->sk);
	xa_unlock_bh(&dev->sockets);
	return vs;
}

/* --- completions ---------------------------------------------------------- */

/* Returns true if there is something to be read, or the end. */
static bool vsg_received(struct vsg_sock *vs, const struct vsg_completion *completion)
{
	bool good = true;

	/* what was cancelled is told by an event */
	if (completion->status)
		return false;
	spin_lock_bh(&vs->lock);
	if (vs->queues)
		good = vsg_recv_fill(vs->queues, lower_32_bits(completion->wr_id), completion->len);
	spin_unlock_bh(&vs->lock);
	if (!good)
		vsg_sock_failed(vs, EPROTO);
	else if (completion->fin)
		vsg_sock_ended(vs);
	return good;
}

static void vsg_sent(struct vsg_sock *vs, const struct vsg_completion *completion)
{
	/* the same, but that the device lets go of what it had may be waited for */
	if (completion->status && !vs->dev->lends)
		return;
	spin_lock_bh(&vs->lock);
	if (vs->queues)
		vsg_send_catch_up(vs->queues, lower_32_bits(completion->wr_id));
	spin_unlock_bh(&vs->lock);
	vsg_sock_sent(vs);
}

static bool vsg_next_completion(struct vsg_cq *cq, struct vsg_completion *completion)
{
	u32 index = vsg_reader_taken(cq->reader) & ((1u << VSG_CQ_LOG2) - 1);
	struct virtio_vstellar_cqe *entry = cq->block.mem, copy;
	u16 op_and_flags;

	entry += index;
	/* written last: what comes before it is there */
	op_and_flags = le16_to_cpu(virt_load_acquire((__le16 *)&entry->op));
	if (!vsg_reader_is_new(cq->reader, op_and_flags))
		return false;
	memcpy(&copy, entry, sizeof(copy));
	memset(completion, 0, sizeof(*completion));
	vsg_reader_take(cq->reader, &copy, completion);
	return true;
}

/* Whose completions are being read: a socket is woken once for all that come one after the other. */
struct vsg_told {
	struct vsg_sock *vs;
	u32 key;
	bool received;
};

static void vsg_told_end(struct vsg_told *told)
{
	if (!told->vs)
		return;
	if (told->received)
		vsg_sock_received(told->vs);
	sock_put(&told->vs->sk);
	told->vs = NULL;
}

static void vsg_tell(struct vsg_device *dev, struct vsg_told *told,
		     const struct vsg_completion *completion)
{
	u32 key = upper_32_bits(completion->wr_id);

	if (!told->vs || told->key != key) {
		vsg_told_end(told);
		*told = (struct vsg_told){ .vs = vsg_lookup(dev, key), .key = key };
	}
	if (!told->vs)
		return; /* closed meanwhile */
	if (completion->receive)
		told->received |= vsg_received(told->vs, completion);
	else
		vsg_sent(told->vs, completion);
}

/* Returns true if there may be more. */
static bool vsg_drain(struct vsg_device *dev, struct vsg_cq *cq)
{
	struct virtio_vstellar_slot *slot = vsg_slot(dev, cq->slot);
	struct vsg_completion completion;
	unsigned int budget = VSG_BUDGET;
	struct vsg_told told = {};
	u32 taken;

	for (;;) {
		while (budget && vsg_next_completion(cq, &completion)) {
			budget--;
			vsg_tell(dev, &told, &completion);
		}
		vsg_told_end(&told);
		taken = vsg_reader_taken(cq->reader);
		/* the entries were read before the device may write them again */
		virt_store_release(&slot->cq_ci, cpu_to_le32(taken));
		if (!budget)
			return true;
		if (cq->armed == taken)
			return false;
		cq->armed = taken;
		WRITE_ONCE(slot->cq_arm, cpu_to_le32(taken));
		/* the wish is seen before the ring is looked at again */
		virt_mb();
	}
}

/* --- events --------------------------------------------------------------- */

static void vsg_state(struct vsg_sock *vs, u64 arg)
{
	switch (lower_32_bits(arg) & VIRTIO_VSTELLAR_EP_STATE_MASK) {
	case VIRTIO_VSTELLAR_EP_CONNECTED:
		vsg_sock_connected(vs, false);
		break;
	case VIRTIO_VSTELLAR_EP_CLOSED:
		/* several changes may be told at once */
		vsg_sock_connected(vs, true);
		break;
	case VIRTIO_VSTELLAR_EP_ERROR:
		vsg_sock_failed(vs, -vsg_errno(upper_32_bits(arg)));
		break;
	}
}

static void vsg_event(struct vsg_device *dev, const struct virtio_vstellar_event *event)
{
	u64 cookie = le64_to_cpu(event->cookie);
	u16 type = le16_to_cpu(event->type);
	struct vsg_sock *vs;

	switch (type) {
	case VIRTIO_VSTELLAR_EV_EP_STATE:
	case VIRTIO_VSTELLAR_EV_ACCEPT:
		/* a longer one is no socket's */
		vs = upper_32_bits(cookie) ? NULL : vsg_lookup(dev, lower_32_bits(cookie));
		if (!vs)
			return;
		if (type == VIRTIO_VSTELLAR_EV_EP_STATE)
			vsg_state(vs, le64_to_cpu(event->arg));
		else
			vsg_work_later(vs, &vs->accept_work, 0);
		sock_put(&vs->sk);
		return;
	case VIRTIO_VSTELLAR_EV_TRANSPORT_RESET:
	case VIRTIO_VSTELLAR_EV_FATAL:
		vsg_device_fail(dev);
		return;
	}
	/* completions are looked for anyway; the others change nothing here */
}

static int vsg_event_post(struct vsg_device *dev, struct virtio_vstellar_event *event)
{
	struct scatterlist sg;

	/* to map it anew for each event would cost the device more than the event does */
	sg_init_one(&sg, event, sizeof(*event));
	sg_dma_address(&sg) = vsg_event_iova(dev, event);
	sg_dma_len(&sg) = sizeof(*event);
	return virtqueue_add_inbuf_premapped(dev->vqs[VIRTIO_VSTELLAR_VQ_EVENT], &sg, 1, event,
					     NULL, GFP_ATOMIC);
}

/* Gives the device all buffers, at the start, while the bottom half is disabled. */
int vsg_events_post(struct vsg_device *dev)
{
	struct virtqueue *vq = dev->vqs[VIRTIO_VSTELLAR_VQ_EVENT];
	unsigned int n = min(virtqueue_get_vring_size(vq), VIRTIO_VSTELLAR_VQ_EVENT_SIZE);
	int err;

	for (unsigned int i = 0; i < n; i++) {
		err = vsg_event_post(dev, vsg_event_buffer(dev, i));
		if (err)
			return err;
	}
	virtqueue_kick(vq);
	return 0;
}

/* Returns true if there may be more. */
static bool vsg_events_read(struct vsg_device *dev)
{
	struct virtqueue *vq = dev->vqs[VIRTIO_VSTELLAR_VQ_EVENT];
	struct virtio_vstellar_event *event, copy;
	unsigned int len, budget = VSG_BUDGET;

	virtqueue_disable_cb(vq);
	while (budget && (event = virtqueue_get_buf(vq, &len))) {
		budget--;
		copy = *event;
		/* there was room for it, since it was there */
		vsg_event_post(dev, event);
		atomic64_inc(&dev->heard);
		if (len == sizeof(copy))
			vsg_event(dev, &copy);
	}
	if (budget < VSG_BUDGET)
		virtqueue_kick(vq);
	return !budget || !virtqueue_enable_cb(vq);
}

/* --- the bottom half ------------------------------------------------------ */

/* Nothing more comes from a queue that the device has filled with what cannot be. */
static bool vsg_is_broken(struct vsg_device *dev)
{
	for (unsigned int i = 0; i < VIRTIO_VSTELLAR_NVQS; i++) {
		if (virtqueue_is_broken(dev->vqs[i]))
			return true;
	}
	return false;
}

void vsg_bh(struct work_struct *work)
{
	struct vsg_device *dev = container_of(work, struct vsg_device, bh);
	/* pairs with vsg_cq_new(): those that are counted are complete */
	unsigned int ncqs = smp_load_acquire(&dev->ncqs);
	bool more;

	more = vsg_commands_done(dev);
	more |= vsg_events_read(dev);
	for (unsigned int i = 0; i < ncqs; i++) {
		bool left = vsg_drain(dev, &dev->cqs[i]);

		WRITE_ONCE(dev->cqs[i].left, left);
		more |= left;
	}
	/* a broken queue may look as if there were more */
	if (vsg_is_broken(dev))
		vsg_device_fail(dev);
	else if (more)
		queue_work(system_bh_wq, &dev->bh);
}

/*
 * Returns when the completions have been read that are in @cq now. A run of the bottom half
 * reads all, or a part; there are not more parts than the ring has. Process context.
 */
void vsg_completions_flush(struct vsg_device *dev, struct vsg_cq *cq)
{
	unsigned int parts = DIV_ROUND_UP(1u << VSG_CQ_LOG2, VSG_BUDGET);

	/* nobody has the bottom half disabled meanwhile */
	guard(mutex)(&dev->memory);
	do {
		queue_work(system_bh_wq, &dev->bh);
		flush_work(&dev->bh);
	} while (READ_ONCE(cq->left) && --parts);
}
