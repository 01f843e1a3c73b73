// SPDX-License-Identifier: GPL-2.0
/*
 * The device: probe and removal, and the network namespace that it is assigned to.
 *
 * A machine's device serves the initial namespace, unless the module is loaded with
 * assign=0 or there is one before it. An administrator changes that by writing the
 * number of a process to the device's attribute netns, as "ip link set DEVICE netns
 * PID" does for a network interface; 0 takes it away. Sockets that were made before
 * stay with their maker.
 *
 * When a device goes, its sockets fail with ENETDOWN, and remain as the shells that
 * programs have to close; they hold the memory, and the module: it is not unloaded
 * before they are closed.
 *
 * A machine that sleeps ends the connections in the device's hands, too. What wakes up is
 * a device without a past: to those sockets it has gone, and new ones get a new one. So it
 * is where a bus resets the device, while programs run.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <net/net_namespace.h>

#include "guest.h"

static unsigned int virtio_id = VIRTIO_VSTELLAR_ID;
module_param(virtio_id, uint, 0444);
MODULE_PARM_DESC(virtio_id, "further virtio device ID to look at (default 60; 20 with QEMU as distributed)");

static bool assign = true;
module_param(assign, bool, 0444);
MODULE_PARM_DESC(assign, "the first device serves the initial network namespace (default Y)");

/*
 * Guards virtio_device.priv while a device begins anew, for attributes, which may be read and
 * written meanwhile. Taken by these, by who puts a device to sleep and restores it, and by who
 * removes it, as the bus may do either at the same time; process context, outside of
 * strack_provider_sem and vsg_device.memory.
 */
static DEFINE_MUTEX(vsg_renewal);

bool vsg_device_dead(struct vsg_device *dev)
{
	return READ_ONCE(dev->dead) || READ_ONCE(dev->failed);
}

/* The device has something new in @slot to look at. Any context. */
void vsg_kick(struct vsg_device *dev, u32 slot)
{
	set_bit_le(slot, dev->doorbells.mem);
	/* the bit is there before the device looks */
	virt_mb();
	rcu_read_lock();
	if (!READ_ONCE(dev->dead)) {
		virtqueue_notify(dev->vqs[VIRTIO_VSTELLAR_VQ_KICK]);
		atomic64_inc(&dev->kicks);
	}
	rcu_read_unlock();
}

/* --- end ------------------------------------------------------------------ */

/* All that was made is the last socket's to free. Any context. */
void vsg_device_free(struct kref *ref)
{
	struct vsg_device *dev = container_of(ref, struct vsg_device, ref);

	vsg_memory_free(dev);
	xa_destroy(&dev->sockets);
	kfree(dev);
}

static void vsg_sockets_fail(struct vsg_device *dev)
{
	struct vsg_sock *vs;
	unsigned long key = 0;

	for (;;) {
		xa_lock_bh(&dev->sockets);
		vs = xa_find_after(&dev->sockets, &key, ULONG_MAX, XA_PRESENT);
		if (vs)
			sock_hold(&vs->sk);
		xa_unlock_bh(&dev->sockets);
		if (!vs)
			return;
		vsg_sock_failed(vs, ENETDOWN);
		sock_put(&vs->sk);
	}
}

/*
 * The device is not used any more when this returns. Once; by the work of a device
 * that has failed, or by its removal, which excludes it.
 */
static void vsg_device_stop(struct vsg_device *dev)
{
	spin_lock_bh(&dev->lock);
	WRITE_ONCE(dev->dead, true);
	spin_unlock_bh(&dev->lock);
	/* nobody is at a kick any more */
	synchronize_rcu();
	/* nor does it give event buffers back: virtqueues are not kicked while they are reset */
	disable_work_sync(&dev->bh);
	virtio_reset_device(dev->vdev);
	vsg_commands_cancel(dev);
	vsg_sockets_fail(dev);
	vsg_memory_unmap(dev);
}

/* The device is of no use any more. Any context. */
void vsg_device_fail(struct vsg_device *dev)
{
	WRITE_ONCE(dev->failed, true);
	queue_work(vsg_wq, &dev->changed);
}

static bool vsg_needs_reset(struct vsg_device *dev)
{
	u32 status;

	virtio_cread_le(dev->vdev, struct virtio_vstellar_config, status, &status);
	return status & VIRTIO_VSTELLAR_S_NEEDS_RESET;
}

static void vsg_changed(struct work_struct *work)
{
	struct vsg_device *dev = container_of(work, struct vsg_device, changed);

	if (dev->dead || (!READ_ONCE(dev->failed) && !vsg_needs_reset(dev)))
		return;
	dev_err(&dev->vdev->dev, "the device has failed: its sockets have ended\n");
	vsg_device_stop(dev);
}

static void vsg_config_changed(struct virtio_device *vdev)
{
	struct vsg_device *dev = vdev->priv;

	queue_work(vsg_wq, &dev->changed);
}

/*
 * Lets go of the device, which is not touched by anybody any more. Where the machine did not
 * wake up well that was done before it went to sleep, and its queues are gone.
 */
static void vsg_device_detach(struct vsg_device *dev)
{
	struct virtqueue *events = dev->vqs[VIRTIO_VSTELLAR_VQ_EVENT];

	if (dev->detached)
		return;
	disable_work_sync(&dev->changed);
	if (!dev->dead)
		vsg_device_stop(dev);
	while (virtqueue_detach_unused_buf(events))
		;
	dev->vdev->config->del_vqs(dev->vdev);
	dev->detached = true;
}

static void vsg_remove(struct virtio_device *vdev)
{
	struct vsg_device *dev;

	/* the bus may reset the device at any time */
	guard(mutex)(&vsg_renewal);
	dev = vdev->priv;
	strack_provider_unregister(&dev->provider);
	/* where it did not wake up well, the attempt has left it with a status */
	if (dev->detached)
		virtio_reset_device(vdev);
	else
		vsg_device_detach(dev);
	vdev->priv = NULL;
	kref_put(&dev->ref, vsg_device_free);
}

/* --- beginning ------------------------------------------------------------ */

/* Any context. */
static void vsg_callback(struct virtqueue *vq)
{
	struct vsg_device *dev = vq->vdev->priv;

	virtqueue_disable_cb(vq);
	queue_work(system_bh_wq, &dev->bh);
}

static struct vsg_device *vsg_device_new(struct virtio_device *vdev)
{
	struct vsg_device *dev = kzalloc_obj(*dev, GFP_KERNEL);

	if (!dev)
		return NULL;
	dev->provider.ops = &vsg_provider_ops;
	kref_init(&dev->ref);
	dev->vdev = vdev;
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->commands);
	INIT_WORK(&dev->bh, vsg_bh);
	/* until the event queue is filled, which is not the bottom half's before */
	disable_work(&dev->bh);
	INIT_WORK(&dev->changed, vsg_changed);
	mutex_init(&dev->memory);
	INIT_LIST_HEAD(&dev->arenas);
	xa_init_flags(&dev->sockets, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	virtio_cread_bytes(vdev, 0, &dev->config, sizeof(dev->config));
	dev->lends = virtio_has_feature(vdev, VIRTIO_VSTELLAR_F_ZC);
	return dev;
}

static int vsg_find_queues(struct vsg_device *dev)
{
	struct virtqueue_info infos[VIRTIO_VSTELLAR_NVQS] = {
		[VIRTIO_VSTELLAR_VQ_CTRL] = { "control", vsg_callback },
		[VIRTIO_VSTELLAR_VQ_KICK] = { "kick", vsg_callback },
		[VIRTIO_VSTELLAR_VQ_EVENT] = { "event", vsg_callback },
	};
	unsigned int room;
	int err;

	err = virtio_find_vqs(dev->vdev, VIRTIO_VSTELLAR_NVQS, dev->vqs, infos, NULL);
	if (err)
		return err;
	/* two descriptors for each command */
	room = virtqueue_get_vring_size(dev->vqs[VIRTIO_VSTELLAR_VQ_CTRL]) / 2;
	if (!room) {
		/* the first one would wait for ever */
		dev->vdev->config->del_vqs(dev->vdev);
		return -EINVAL;
	}
	sema_init(&dev->room, room);
	return 0;
}

static int vsg_hello(struct vsg_device *dev)
{
	struct virtio_vstellar_hello hello = {
		.revision = cpu_to_le32(VIRTIO_VSTELLAR_REVISION), .name = "linux",
	};
	struct virtio_vstellar_hello_resp resp;

	return vsg_command(dev, VIRTIO_VSTELLAR_CMD_HELLO, NULL, &hello, sizeof(hello), &resp,
			   sizeof(resp));
}

static int vsg_device_start(struct vsg_device *dev)
{
	int err;

	virtio_device_ready(dev->vdev);
	err = vsg_memory_prepare(dev);
	if (!err)
		err = vsg_events_post(dev);
	if (err)
		return err;
	enable_and_queue_work(system_bh_wq, &dev->bh);
	err = vsg_hello(dev);
	if (!err)
		err = vsg_memory_start(dev);
	return err;
}

/* A device ID that is not assigned says little: the magic number decides. */
static int vsg_check(struct virtio_device *vdev)
{
	u32 magic;
	u16 least, stride;

	/* one of PCI may have no configuration */
	if (!vdev->config->get)
		return -ENODEV;
	virtio_cread_le(vdev, struct virtio_vstellar_config, magic, &magic);
	if (magic != VIRTIO_VSTELLAR_MAGIC)
		return -ENODEV;
	if (!virtio_has_feature(vdev, VIRTIO_F_VERSION_1) ||
	    !virtio_has_feature(vdev, VIRTIO_VSTELLAR_F_STREAM) ||
	    !virtio_has_feature(vdev, VIRTIO_VSTELLAR_F_SHADOW_DB))
		return -EOPNOTSUPP;
	virtio_cread_le(vdev, struct virtio_vstellar_config, min_driver_revision, &least);
	virtio_cread_le(vdev, struct virtio_vstellar_config, db_stride, &stride);
	if (least > VIRTIO_VSTELLAR_REVISION || stride != VIRTIO_VSTELLAR_DB_STRIDE)
		return -EPROTO;
	return 0;
}

/*
 * A device at work, with a reference that is the driver's; or an errno, and then the one
 * before remains what @vdev has.
 */
static struct vsg_device *vsg_device_get(struct virtio_device *vdev)
{
	struct vsg_device *before = vdev->priv, *dev;
	int err = vsg_check(vdev);

	if (err)
		return ERR_PTR(err);
	dev = vsg_device_new(vdev);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	/* for the callbacks of its queues */
	vdev->priv = dev;
	err = vsg_find_queues(dev);
	if (err)
		goto put;
	err = vsg_device_start(dev);
	if (err) {
		dev_err(&vdev->dev, "the device does not start: %d\n", err);
		vsg_device_detach(dev);
		goto put;
	}
	return dev;

put:
	vdev->priv = before;
	kref_put(&dev->ref, vsg_device_free);
	return ERR_PTR(err);
}

static int vsg_probe(struct virtio_device *vdev)
{
	struct vsg_device *dev = vsg_device_get(vdev);

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	if (assign && strack_provider_register(&dev->provider, &init_net))
		dev_info(&vdev->dev, "not assigned: the namespace has a device\n");
	return 0;
}

/* The machine is about to sleep, or the bus to reset the device. */
static int vsg_freeze(struct virtio_device *vdev)
{
	guard(mutex)(&vsg_renewal);
	if (vdev->priv)
		vsg_device_detach(vdev->priv);
	return 0;
}

/* What programs have tried meanwhile, if they run, has found a device that is gone. */
static int vsg_restore(struct virtio_device *vdev)
{
	struct vsg_device *old, *dev;

	guard(mutex)(&vsg_renewal);
	old = vdev->priv;
	if (!old)
		return -ENODEV;
	dev = vsg_device_get(vdev);
	/* sockets and attributes go on to find the one that is dead */
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	strack_provider_replace(&old->provider, &dev->provider);
	kref_put(&old->ref, vsg_device_free);
	return 0;
}

/* --- attributes ----------------------------------------------------------- */

/* With vsg_renewal, as long as it is used. */
static struct vsg_device *vsg_device_of(struct device *device)
{
	return dev_to_virtio(device)->priv;
}

static ssize_t netns_show(struct device *device, struct device_attribute *attr, char *buf)
{
	struct vsg_device *dev;

	guard(mutex)(&vsg_renewal);
	dev = vsg_device_of(device);
	return sysfs_emit(buf, "%u\n", strack_provider_netns(&dev->provider));
}

static ssize_t netns_store(struct device *device, struct device_attribute *attr, const char *buf,
			   size_t len)
{
	struct vsg_device *dev;
	struct net *net;
	pid_t pid;
	int err;

	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	err = kstrtoint(buf, 0, &pid);
	if (err)
		return err;
	if (pid < 0)
		return -EINVAL;
	guard(mutex)(&vsg_renewal);
	dev = vsg_device_of(device);
	if (!pid) {
		strack_provider_unregister(&dev->provider);
		return len;
	}
	net = get_net_ns_by_pid(pid);
	if (IS_ERR(net))
		return PTR_ERR(net);
	err = strack_provider_register(&dev->provider, net);
	put_net(net);
	return err ?: len;
}
static DEVICE_ATTR_RW(netns);

#define VSG_COUNTER(name, what) \
static ssize_t name##_show(struct device *device, struct device_attribute *attr, char *buf) \
{ \
	struct vsg_device *dev; \
\
	guard(mutex)(&vsg_renewal); \
	dev = vsg_device_of(device); \
	return sysfs_emit(buf, "%lld\n", (long long)atomic64_read(&dev->what)); \
} \
static DEVICE_ATTR_RO(name)

VSG_COUNTER(kicks, kicks);
VSG_COUNTER(commands, issued);
VSG_COUNTER(events, heard);

static struct attribute *vsg_attrs[] = {
	&dev_attr_netns.attr,
	&dev_attr_kicks.attr,
	&dev_attr_commands.attr,
	&dev_attr_events.attr,
	NULL,
};
ATTRIBUTE_GROUPS(vsg);

/* --- registration --------------------------------------------------------- */

/* The second one is the parameter's. */
static struct virtio_device_id vsg_ids[] = {
	{ VIRTIO_VSTELLAR_ID, VIRTIO_DEV_ANY_ID },
	{ VIRTIO_VSTELLAR_ID, VIRTIO_DEV_ANY_ID },
	{},
};
MODULE_DEVICE_TABLE(virtio, vsg_ids);

static const unsigned int vsg_features[] = {
	VIRTIO_VSTELLAR_F_STREAM,
	VIRTIO_VSTELLAR_F_SHADOW_DB,
	VIRTIO_VSTELLAR_F_ZC,
};

static struct virtio_driver vsg_driver = {
	.driver.name		= "virtio_vstellar",
	.driver.dev_groups	= vsg_groups,
	.feature_table		= vsg_features,
	.feature_table_size	= ARRAY_SIZE(vsg_features),
	.id_table		= vsg_ids,
	.probe			= vsg_probe,
	.remove			= vsg_remove,
	.config_changed		= vsg_config_changed,
	.reset_prepare		= vsg_freeze,
	.reset_done		= vsg_restore,
	.freeze			= pm_sleep_ptr(vsg_freeze),
	.restore		= pm_sleep_ptr(vsg_restore),
};

int vsg_c_register(void)
{
	int err;

	vsg_ids[1].device = virtio_id;
	err = vsg_sockets_init();
	if (err)
		return err;
	err = register_virtio_driver(&vsg_driver);
	if (err)
		vsg_sockets_exit();
	return err;
}

void vsg_c_unregister(void)
{
	unregister_virtio_driver(&vsg_driver);
	vsg_sockets_exit();
}
