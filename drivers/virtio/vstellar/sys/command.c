// SPDX-License-Identifier: GPL-2.0
/*
 * The control queue: one request and one response for each command.
 *
 * A command waits until it is answered, which takes as long as it takes the device to
 * look at its queue. A device that does not answer for half a minute has failed.
 */
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "guest.h"

#define VSG_TIMEOUT	(30 * HZ)
/* Most payload of any command that this driver has. */
#define VSG_REQUEST	128
#define VSG_RESPONSE	256

/**
 * struct vsg_request - a command on its way
 * @link: in vsg_device.commands until it was answered
 * @done: it was answered, or never will be
 * @err: whether the latter
 * @len: bytes of the answer
 * @out: what the device reads
 * @in: what it writes
 *
 * Owned by whoever waits for it as long as it is linked or done. If he has given up,
 * it is the queue's, and freed with it.
 */
struct vsg_request {
	struct list_head link;
	struct completion done;
	bool given_up;
	int err;
	unsigned int len;
	struct {
		struct virtio_vstellar_req head;
		u8 payload[VSG_REQUEST];
	} out;
	struct {
		struct virtio_vstellar_resp head;
		u8 payload[VSG_RESPONSE];
	} in;
};

/* What a status is to a program. */
int vsg_errno(u32 status)
{
	switch (status) {
	case VIRTIO_VSTELLAR_OK:
		return 0;
	case VIRTIO_VSTELLAR_INVAL:
	case VIRTIO_VSTELLAR_STATE:
		return -EINVAL;
	case VIRTIO_VSTELLAR_NOENT:
		return -ENOENT;
	case VIRTIO_VSTELLAR_PERM:
		return -EACCES;
	case VIRTIO_VSTELLAR_BUSY:
		return -EBUSY;
	case VIRTIO_VSTELLAR_NOSPC:
	case VIRTIO_VSTELLAR_QUOTA:
		return -ENOBUFS;
	case VIRTIO_VSTELLAR_NOTSUPP:
		return -EOPNOTSUPP;
	case VIRTIO_VSTELLAR_AGAIN:
		return -EAGAIN;
	case VIRTIO_VSTELLAR_TIMEDOUT:
		return -ETIMEDOUT;
	case VIRTIO_VSTELLAR_CONNREFUSED:
		return -ECONNREFUSED;
	case VIRTIO_VSTELLAR_NETUNREACH:
		return -ENETUNREACH;
	case VIRTIO_VSTELLAR_ADDRINUSE:
		return -EADDRINUSE;
	case VIRTIO_VSTELLAR_ADDRNOTAVAIL:
		return -EADDRNOTAVAIL;
	case VIRTIO_VSTELLAR_VERSION:
		return -EPROTO;
	case VIRTIO_VSTELLAR_CONNRESET:
	case VIRTIO_VSTELLAR_CANCELED:
		return -ECONNRESET;
	case VIRTIO_VSTELLAR_FATAL:
		return -ENETDOWN;
	default:
		return -EIO;
	}
}

static int vsg_request_queue(struct vsg_device *dev, struct vsg_request *request, size_t len,
			     size_t room)
{
	struct scatterlist out, in, *sgs[] = { &out, &in };
	int err = -ENETDOWN;

	sg_init_one(&out, &request->out, sizeof(request->out.head) + len);
	sg_init_one(&in, &request->in, sizeof(request->in.head) + room);
	spin_lock_bh(&dev->lock);
	if (!dev->dead) {
		err = virtqueue_add_sgs(dev->vqs[VIRTIO_VSTELLAR_VQ_CTRL], sgs, 1, 1, request,
					GFP_ATOMIC);
		if (!err) {
			list_add_tail(&request->link, &dev->commands);
			virtqueue_kick(dev->vqs[VIRTIO_VSTELLAR_VQ_CTRL]);
		}
	}
	spin_unlock_bh(&dev->lock);
	return err;
}

/* False if it was in vain: the request is the queue's then. */
static bool vsg_request_wait(struct vsg_device *dev, struct vsg_request *request)
{
	bool late;

	if (wait_for_completion_timeout(&request->done, VSG_TIMEOUT))
		return true;
	spin_lock_bh(&dev->lock);
	/* it may have been answered just now */
	late = !list_empty(&request->link);
	if (late) {
		list_del_init(&request->link);
		request->given_up = true;
	}
	spin_unlock_bh(&dev->lock);
	if (late)
		vsg_device_fail(dev);
	else
		wait_for_completion(&request->done);
	return !late;
}

/* Whether @now is what an answer may say of the object @before: itself, or one that was made. */
static bool vsg_handle_fits(u32 before, u32 now)
{
	return before == VIRTIO_VSTELLAR_NO_HANDLE ? now != VIRTIO_VSTELLAR_NO_HANDLE :
						     now == before;
}

/* As vsg_command(); -EBADMSG if the answer is none. */
static int vsg_request_result(const struct vsg_request *request, u32 *handle, void *out,
			      size_t room)
{
	struct virtio_vstellar_resp head;
	u32 len;

	if (request->err)
		return request->err;
	if (request->len < sizeof(head))
		return -EBADMSG;
	/* once: a device that is broken may go on writing */
	memcpy(&head, &request->in.head, sizeof(head));
	barrier();
	len = le32_to_cpu(head.len);
	if (head.cookie != request->out.head.cookie || len > room ||
	    request->len != sizeof(head) + len)
		return -EBADMSG;
	if (head.status)
		return vsg_errno(le16_to_cpu(head.status));
	/* what the answer has to have, it has */
	if (len != room || (handle && !vsg_handle_fits(*handle, le32_to_cpu(head.handle))))
		return -EBADMSG;
	memcpy(out, request->in.payload, len);
	if (handle)
		*handle = le32_to_cpu(head.handle);
	return 0;
}

/*
 * A command with @len bytes of payload; @handle is its object, and then what the
 * answer says. The answer has @room bytes of payload, to be put to @out. Process
 * context. Returns 0, the errno of what the device has answered, -ENETDOWN if it is
 * gone, or -EIO if it fails.
 */
int vsg_command(struct vsg_device *dev, u16 op, u32 *handle, const void *payload, size_t len,
		void *out, size_t room)
{
	struct vsg_request *request;
	int err;

	if (WARN_ON_ONCE(len > VSG_REQUEST || room > VSG_RESPONSE))
		return -EINVAL;
	/* small, and what has to be taken away must not fail for want of memory */
	request = kzalloc_obj(*request, GFP_KERNEL | __GFP_NOFAIL);
	init_completion(&request->done);
	request->out.head = (struct virtio_vstellar_req) {
		.op = cpu_to_le16(op),
		.cookie = cpu_to_le32(atomic64_inc_return(&dev->issued)),
		.handle = cpu_to_le32(handle ? *handle : VIRTIO_VSTELLAR_NO_HANDLE),
		.len = cpu_to_le32(len),
	};
	memcpy(request->out.payload, payload, len);
	down(&dev->room);
	err = vsg_request_queue(dev, request, len, room);
	if (!err && !vsg_request_wait(dev, request)) {
		request = NULL;
		err = -EIO;
	}
	up(&dev->room);
	if (!err)
		err = vsg_request_result(request, handle, out, room);
	if (err == -EBADMSG) {
		/* it may have done what was asked for, with memory that is reused if it has not */
		vsg_device_fail(dev);
		err = -EIO;
	}
	kfree(request);
	return err;
}

/* With dev->lock. */
static void vsg_request_end(struct vsg_request *request, int err, unsigned int len)
{
	if (request->given_up) {
		kfree(request);
		return;
	}
	list_del_init(&request->link);
	request->err = err;
	request->len = len;
	complete(&request->done);
}

/* The device has answered some. The bottom half. Returns true if there may be more. */
bool vsg_commands_done(struct vsg_device *dev)
{
	struct virtqueue *vq = dev->vqs[VIRTIO_VSTELLAR_VQ_CTRL];
	struct vsg_request *request;
	unsigned int len;
	bool more;

	spin_lock_bh(&dev->lock);
	virtqueue_disable_cb(vq);
	/* no more than were there: to add one takes the lock */
	while ((request = virtqueue_get_buf(vq, &len)))
		vsg_request_end(request, 0, len);
	more = !virtqueue_enable_cb(vq);
	spin_unlock_bh(&dev->lock);
	return more;
}

/* The device has been reset, and is dead: nothing is added any more. */
void vsg_commands_cancel(struct vsg_device *dev)
{
	struct vsg_request *request;

	spin_lock_bh(&dev->lock);
	while ((request = virtqueue_detach_unused_buf(dev->vqs[VIRTIO_VSTELLAR_VQ_CTRL])))
		vsg_request_end(request, -ENETDOWN, 0);
	spin_unlock_bh(&dev->lock);
}
