// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: what of a socket is the device's. Made by bind(), connect(), listen() or
 * for a connection that comes, and taken away when the socket is closed or the
 * connection was undone.
 *
 * The functions are called with the socket lock unless they say otherwise.
 */
#include <linux/slab.h>

#include "guest.h"

/* How long an undone connection may keep a program for its packets. */
#define VSG_DRAIN	HZ

/*
 * --- doorbells ------------------------------------------------------------
 *
 * The device is another CPU even where the guest has only one: barriers towards it are
 * virt_*(), which a kernel without SMP has as well.
 */

/* An index goes from @old to @new, and the device is told if it has asked for that. */
static void vsg_ring(struct vsg_sock *vs, __le32 *index, const __le32 *event, u32 old, u32 new)
{
	/* the entries before it are there */
	virt_store_release(index, cpu_to_le32(new));
	/* either the device sees the index, or its wish is seen here */
	virt_mb();
	if (vsg_passed(le32_to_cpu(READ_ONCE(*event)), old, new))
		vsg_kick(vs->dev, vs->slot);
}

void vsg_ring_send(struct vsg_sock *vs, u32 old)
{
	struct virtio_vstellar_slot *slot = vs->doorbell;

	vsg_ring(vs, &slot->sq_pi, &slot->sq_evt, old, vsg_send_made(vs->queues));
}

/* Gives the device the buffers that are free, if it is time to. */
void vsg_post_receives(struct vsg_sock *vs)
{
	struct virtio_vstellar_rqe *ring = vs->block.mem + VSG_RQ;
	struct virtio_vstellar_slot *slot = vs->doorbell;
	u32 old, new;

	if (!vsg_recv_should_post(vs->queues))
		return;
	old = vsg_recv_posted(vs->queues);
	new = old;
	while (vsg_recv_post(vs->queues, &ring[new % VSG_RQ_DEPTH]))
		new++;
	if (new != old)
		vsg_ring(vs, &slot->rq_pi, &slot->rq_evt, old, new);
}

/* Ends the sending direction after what is queued; once. */
void vsg_push_fin(struct vsg_sock *vs)
{
	struct virtio_vstellar_sqe *ring = vs->block.mem + VSG_SQ;
	u32 old = vsg_send_made(vs->queues);

	if (vsg_send_push_fin(vs->queues, &ring[old % VSG_SQ_DEPTH]))
		vsg_ring_send(vs, old);
}

/* --- beginning ------------------------------------------------------------ */

static int vsg_endpoint_memory(struct vsg_sock *vs)
{
	struct vsg_device *dev = vs->dev;
	struct vsg_queues *queues;
	u32 bytes = VSG_TX_BYTES;
	u64 tx;
	int err;

	err = vsg_block_get(dev, &vs->block);
	if (err)
		return err;
	tx = vs->block.iova + VSG_TX;
	err = vsg_slot_get(dev, &vs->slot);
	if (err)
		goto put_block;
	err = -ENOBUFS;
	vs->cq = vsg_cq_get(dev);
	if (!vs->cq)
		goto put_slot;
	/* without, it is slower where the peer is far */
	if (!vsg_large_get(dev, &vs->large)) {
		tx = vs->large.iova;
		bytes = VSG_LARGE;
	}
	queues = vsg_queues_new(vs->key, tx, bytes, vs->block.iova + VSG_RX, VSG_RX_BYTES);
	if (!queues)
		goto put_large;
	spin_lock_bh(&vs->lock);
	vs->queues = queues;
	vs->doorbell = vsg_slot(dev, vs->slot);
	spin_unlock_bh(&vs->lock);
	return 0;

put_large:
	vsg_large_put(dev, &vs->large);
	vsg_cq_put(dev, vs->cq);
put_slot:
	vsg_slot_put(dev, vs->slot);
put_block:
	vsg_block_put(dev, &vs->block);
	return err;
}

static int vsg_endpoint_create(struct vsg_sock *vs, bool listener)
{
	struct virtio_vstellar_ep_create create = {
		.type = cpu_to_le16(VIRTIO_VSTELLAR_EP_STREAM),
		.db_slot = cpu_to_le32(VIRTIO_VSTELLAR_NO_SLOT),
		.cookie = cpu_to_le64(vs->key),
		.uid_tag = cpu_to_le32(from_kuid_munged(&init_user_ns, sk_uid(&vs->sk))),
		.netns_tag = cpu_to_le32(sock_net(&vs->sk)->ns.inum),
	};

	if (listener) {
		create.flags = cpu_to_le16(VIRTIO_VSTELLAR_EP_LISTENER);
	} else {
		create.send_cq = cpu_to_le32(vs->cq->handle);
		create.recv_cq = cpu_to_le32(vs->cq->handle);
		create.sq = cpu_to_le64(vs->block.iova + VSG_SQ);
		create.rq = cpu_to_le64(vs->block.iova + VSG_RQ);
		create.sq_log2 = cpu_to_le16(ilog2(VSG_SQ_DEPTH));
		create.rq_log2 = cpu_to_le16(ilog2(VSG_RQ_DEPTH));
		create.db_slot = cpu_to_le32(vs->slot);
	}
	return vsg_command(vs->dev, VIRTIO_VSTELLAR_CMD_EP_CREATE, &vs->handle, &create,
			   sizeof(create), NULL, 0);
}

/* Makes an endpoint, one without queues if it will only listen. There is none yet. */
int vsg_endpoint_open(struct vsg_sock *vs, bool listener)
{
	struct vsg_device *dev = vs->dev;
	int err;

	if (vsg_device_dead(dev))
		return -ENETDOWN;
	err = xa_alloc_cyclic_bh(&dev->sockets, &vs->key, vs, XA_LIMIT(1, U32_MAX), &dev->next_key,
				 GFP_KERNEL);
	if (err < 0) {
		vs->key = 0;
		return err;
	}
	sock_hold(&vs->sk);
	err = listener ? 0 : vsg_endpoint_memory(vs);
	if (err)
		goto close;
	err = vsg_endpoint_create(vs, listener);
	if (err)
		goto close;
	spin_lock_bh(&vs->lock);
	vs->failed = false;
	if (vs->queues)
		vsg_post_receives(vs);
	spin_unlock_bh(&vs->lock);
	return 0;

close:
	vsg_endpoint_close(vs, true);
	return err;
}

/* --- end ------------------------------------------------------------------ */

static void vsg_endpoint_destroy(struct vsg_sock *vs, bool abort)
{
	struct virtio_vstellar_ep_destroy destroy = {};
	int err = -EBUSY;

	if (!abort)
		err = vsg_command(vs->dev, VIRTIO_VSTELLAR_CMD_EP_DESTROY, &vs->handle, &destroy,
				  sizeof(destroy), NULL, 0);
	if (err == -EBUSY) {
		destroy.flags = cpu_to_le32(VIRTIO_VSTELLAR_DESTROY_ABORT);
		err = vsg_command(vs->dev, VIRTIO_VSTELLAR_CMD_EP_DESTROY, &vs->handle, &destroy,
				  sizeof(destroy), NULL, 0);
	}
	/* it would go on using memory that is somebody else's soon */
	if (err && !vsg_device_dead(vs->dev))
		vsg_device_fail(vs->dev);
	vs->handle = 0;
}

/*
 * With vs->lock. Whether the endpoint can go as soon as the program lets it: what was sent
 * is the device's or has failed, and the device reads no memory for it.
 */
bool vsg_done_with(struct vsg_sock *vs)
{
	if (!vs->queues)
		return true;
	if (!vs->dev->lends || vsg_device_dead(vs->dev))
		return vs->failed || vsg_send_finished(vs->queues);
	vsg_send_catch_up(vs->queues, le32_to_cpu(READ_ONCE(vs->doorbell->sq_ci)));
	return vsg_send_idle(vs->queues) && (vs->failed || vsg_send_has_fin(vs->queues));
}

/* Whether the device may be sending from the endpoint's memory. */
static bool vsg_is_lent(struct vsg_sock *vs)
{
	bool lent = false;

	if (!vs->dev->lends || vsg_device_dead(vs->dev))
		return false;
	spin_lock_bh(&vs->lock);
	if (vs->queues) {
		vsg_send_catch_up(vs->queues, le32_to_cpu(READ_ONCE(vs->doorbell->sq_ci)));
		lent = !vsg_send_idle(vs->queues);
	}
	spin_unlock_bh(&vs->lock);
	return lent;
}

/*
 * Resets a connection whose memory the device may be sending from. It completes all
 * entries then, each when no packet has its bytes any more. False if there is nothing to
 * wait for.
 */
bool vsg_endpoint_abort(struct vsg_sock *vs)
{
	struct virtio_vstellar_ep_shutdown abort = {
		.how = cpu_to_le32(VIRTIO_VSTELLAR_SHUT_ABORT),
	};

	if (!vs->handle || !vsg_is_lent(vs))
		return false;
	return !vsg_command(vs->dev, VIRTIO_VSTELLAR_CMD_EP_SHUTDOWN, &vs->handle, &abort,
			    sizeof(abort), NULL, 0);
}

static bool vsg_is_free(struct vsg_sock *vs)
{
	return !vsg_is_lent(vs);
}

/* It is nobody's, or another's. */
static void vsg_endpoint_gone(struct vsg_sock *vs)
{
	vs->key = 0;
	vs->bound = false;
	vs->named = false;
	sock_put(&vs->sk);
}

/* Makes the endpoint of @vs that of @heir, which has none. */
static void vsg_endpoint_inherit(struct vsg_sock *heir, struct vsg_sock *vs)
{
	struct vsg_device *dev = vs->dev;

	/* it finds out whose completions it reads, and then does something about it */
	mutex_lock(&dev->memory);
	disable_work_sync(&dev->bh);
	sock_hold(&heir->sk);
	/* replaces what is there, for which no memory is needed */
	xa_store_bh(&dev->sockets, vs->key, heir, GFP_KERNEL);
	heir->key = vs->key;
	heir->handle = vs->handle;
	heir->slot = vs->slot;
	heir->cq = vs->cq;
	heir->block = vs->block;
	heir->large = vs->large;
	spin_lock_bh(&vs->lock);
	heir->queues = vs->queues;
	heir->doorbell = vs->doorbell;
	/* it was reset, though that may be yet to be heard */
	heir->failed = true;
	vs->queues = NULL;
	vs->doorbell = NULL;
	spin_unlock_bh(&vs->lock);
	enable_and_queue_work(system_bh_wq, &dev->bh);
	mutex_unlock(&dev->memory);
	vs->handle = 0;
	vs->large.arena = NULL;
	vs->block.arena = NULL;
	vsg_endpoint_gone(vs);
}

/*
 * Resets a connection that is to be undone, and leaves it without an endpoint if the
 * device may be sending from its memory: another socket without a file has that then, and
 * waits. An address that bind() has given is free when the endpoint is gone, so that a
 * while is waited here for it. -ENOBUFS if there is no memory for that, and then nothing
 * has changed.
 */
int vsg_endpoint_leave(struct vsg_sock *vs)
{
	struct vsg_sock *heir;

	if (!vsg_is_lent(vs))
		return 0;
	/* first: what is lent must not be left to nobody */
	heir = vsg_child_new(vs);
	if (!heir)
		return -ENOBUFS;
	if (vsg_endpoint_abort(vs) && vs->bound_by_user)
		wait_event_timeout(vs->progress, vsg_is_free(vs), VSG_DRAIN);
	if (vsg_is_lent(vs)) {
		vsg_endpoint_inherit(heir, vs);
		vsg_reap_later(heir);
	}
	sock_set_flag(&heir->sk, SOCK_DEAD);
	sock_put(&heir->sk);
	return 0;
}

/* Where bytes to send are, in the order of the ring. */
void *vsg_send_memory(const struct vsg_sock *vs)
{
	return vs->large.arena ? vs->large.mem : vs->block.mem + VSG_TX;
}

/*
 * Gives its memory back. If packets may still have bytes of it, which are not to become
 * those of another socket, it stays as it is until the device goes. That happens only with
 * a device that has refused to reset the connection.
 */
static void vsg_endpoint_put_memory(struct vsg_sock *vs, bool lent)
{
	if (lent) {
		vs->large.arena = NULL;
		vs->block.arena = NULL;
		return;
	}
	vsg_large_put(vs->dev, &vs->large);
	vsg_block_put(vs->dev, &vs->block);
}

/*
 * Takes the endpoint away, if there is one: with @abort by a reset, otherwise what
 * was sent is delivered. The caller has a reference to the socket of its own.
 */
void vsg_endpoint_close(struct vsg_sock *vs, bool abort)
{
	struct vsg_device *dev = vs->dev;
	struct vsg_queues *queues;
	bool lent;

	if (!vs->key)
		return;
	/* a device that has no endpoint there has not sent anything */
	lent = vs->handle && vsg_is_lent(vs);
	if (vs->handle)
		vsg_endpoint_destroy(vs, abort);
	spin_lock_bh(&vs->lock);
	queues = vs->queues;
	vs->queues = NULL;
	vs->doorbell = NULL;
	spin_unlock_bh(&vs->lock);
	xa_erase_bh(&dev->sockets, vs->key);
	if (queues) {
		/* its completions have to be read before their room is promised again */
		vsg_completions_flush(dev, vs->cq);
		vsg_queues_free(queues);
		vsg_cq_put(dev, vs->cq);
		vsg_slot_put(dev, vs->slot);
		vsg_endpoint_put_memory(vs, lent);
	}
	vsg_endpoint_gone(vs);
}

/* --- names ---------------------------------------------------------------- */

int vsg_endpoint_bind(struct vsg_sock *vs, const struct virtio_vstellar_addr *addr)
{
	int err;

	err = vsg_command(vs->dev, VIRTIO_VSTELLAR_CMD_EP_BIND, &vs->handle, addr, sizeof(*addr),
			  &vs->local, sizeof(vs->local));
	if (!err)
		vs->bound = true;
	return err;
}

/*
 * The local name of a socket: what bind() has given it, or, of a connection and of the
 * attempt to make one, what the device has chosen beside. False if there is none.
 */
bool vsg_endpoint_name(struct vsg_sock *vs, struct virtio_vstellar_addr *local)
{
	struct virtio_vstellar_ep_query_resp resp;
	u8 state = READ_ONCE(vs->sk.sk_state);

	*local = vs->named ? vs->name : vs->local;
	if (vs->named || !vs->handle || vs->phase != VSG_ACTIVE ||
	    (state != TCP_ESTABLISHED && state != TCP_SYN_SENT) ||
	    vsg_command(vs->dev, VIRTIO_VSTELLAR_CMD_EP_QUERY, &vs->handle, NULL, 0, &resp,
			sizeof(resp)))
		return vs->bound || vs->named;
	*local = resp.local;
	/* if the attempt fails, it is bind() that counts */
	if (state == TCP_ESTABLISHED) {
		vs->name = resp.local;
		vs->named = true;
	}
	return true;
}

/* All that was sent is the device's, and so is the end. */
bool vsg_send_is_finished(struct vsg_sock *vs)
{
	bool finished;

	spin_lock_bh(&vs->lock);
	finished = !vs->queues || vsg_send_finished(vs->queues);
	spin_unlock_bh(&vs->lock);
	return finished;
}
