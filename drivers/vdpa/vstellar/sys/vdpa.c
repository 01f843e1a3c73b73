// SPDX-License-Identifier: GPL-2.0
/*
 * What the vDPA bus wants in C: the management device by which devices are made
 * and removed, the table of operations, and a device's life. Nothing is decided
 * here: what a driver does is handed to Rust.
 *
 * Who calls, and what that means:
 *
 * - add and del: with vdpa_dev_lock held. A driver's probe runs inside add, so
 *   nothing that it waits for (a device's work) may take that lock.
 * - status, reset, features: with the device's cf_lock held for writing, or by
 *   who has the device for itself. They wait for its work, which therefore takes
 *   no cf_lock.
 * - dma_map and dma_unmap: with the owner's mmap_lock held for reading. No work
 *   takes that either, and it takes no memory of a process through its mappings.
 * - kick: from any context, even with interrupts off and a wait queue's lock held.
 * - settings and counters (netlink): with a reference to the device and no lock, also
 *   while it is being deleted.
 */
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/vdpa.h>
#include <linux/vhost_iotlb.h>
#include <linux/virtio_ids.h>
#include <linux/workqueue.h>
#include <uapi/linux/vdpa.h>
#include <uapi/linux/vhost_types.h>

#include "../../../../include/uapi/linux/virtio_vstellar.h"

#include "area.h"
#include "netlink.h"
#include "vdpa.h"

/* The bitmap of classes that a management device shows ends there. */
#define LAST_ID	63

/* No IOVA is above this, so that the end of a range is always a number. */
#define LAST_IOVA	(U64_MAX >> 1)

static unsigned int virtio_id = VIRTIO_VSTELLAR_ID;
module_param(virtio_id, uint, 0444);
MODULE_PARM_DESC(virtio_id,
		 "device ID (default 60; 20 for an unmodified QEMU, which knows no other free one)");

static bool use_va = true;
module_param(use_va, bool, 0444);
MODULE_PARM_DESC(use_va,
		 "pin a guest's memory when it is first used (default); no: all of it, at start");

struct vstellar_vdpa {
	struct vdpa_device vdpa; /* first: the bus allocates and frees by it */
	struct work_struct work;
	struct hrtimer look; /* queues the work; started by the work alone */
	int called; /* somebody but the timer wants a round */
	atomic_t kicks[VIRTIO_VSTELLAR_NVQS];
	void *device; /* the Rust half; from before the device is seen until it is freed */
	/*
	 * from bind_mm to unbind_mm; who uses @mm holds the mutex of the open vhost_vdpa device,
	 * and whoever asks may read the rest
	 */
	struct vstellar_owner owner;
};

/* of a device's name with its end, as the netlink family has it */
#define VSTELLAR_NAME_SIZE	64

struct workqueue_struct *vstellar_wq;
/* those not freed yet, for which the module waits: someone may hold a reference */
static atomic_t vstellar_devices;
static struct virtio_device_id vstellar_ids[2];

static struct vstellar_vdpa *to_vs(struct vdpa_device *vdpa)
{
	return container_of(vdpa, struct vstellar_vdpa, vdpa);
}

static void *rust(struct vdpa_device *vdpa)
{
	return to_vs(vdpa)->device;
}

/* --- work ---------------------------------------------------------------- */

static void vstellar_work(struct work_struct *work)
{
	vstellar_device_work(container_of(work, struct vstellar_vdpa, work)->device);
}

void vstellar_c_work_start(struct vstellar_vdpa *vs)
{
	WRITE_ONCE(vs->called, true);
	enable_and_queue_work(vstellar_wq, &vs->work);
}

void vstellar_c_work_stop(struct vstellar_vdpa *vs)
{
	disable_work_sync(&vs->work);
	hrtimer_cancel(&vs->look);
}

void vstellar_c_work_queue(struct vstellar_vdpa *vs)
{
	/* the round that takes this sees what it is for; it is this one or another that is under way */
	smp_store_release(&vs->called, true);
	queue_work(vstellar_wq, &vs->work);
}

/* Hard interrupt. */
static enum hrtimer_restart vstellar_look(struct hrtimer *timer)
{
	queue_work(vstellar_wq, &container_of(timer, struct vstellar_vdpa, look)->work);
	return HRTIMER_NORESTART;
}

void vstellar_c_work_queue_in(struct vstellar_vdpa *vs, u64 ns)
{
	hrtimer_start(&vs->look, ns_to_ktime(ns), HRTIMER_MODE_REL);
}

bool vstellar_c_take_call(struct vstellar_vdpa *vs)
{
	return xchg(&vs->called, false);
}

u32 vstellar_c_take_kicks(struct vstellar_vdpa *vs, u16 index)
{
	return index < ARRAY_SIZE(vs->kicks) ? atomic_xchg(&vs->kicks[index], 0) : 0;
}

bool vstellar_c_has_mm(const struct vstellar_vdpa *vs)
{
	return READ_ONCE(vs->owner.mm);
}

u64 vstellar_c_pin_limit(const struct vstellar_vdpa *vs)
{
	return vstellar_c_has_mm(vs) ? READ_ONCE(vs->owner.limit) : U64_MAX;
}

bool vstellar_c_module_get(void)
{
	return try_module_get(THIS_MODULE);
}

void vstellar_c_module_put(void)
{
	module_put(THIS_MODULE);
}

u64 vstellar_c_now(void)
{
	return ktime_get_ns();
}

u64 vstellar_c_random(void)
{
	return get_random_u64();
}

void vstellar_c_call(const struct vstellar_callback *callback)
{
	if (!callback->func)
		return;
	/* drivers count on what holds in an interrupt */
	local_bh_disable();
	callback->func(callback->data);
	local_bh_enable();
}

/* --- operations ---------------------------------------------------------- */

static int vstellar_op_set_vq_address(struct vdpa_device *vdpa, u16 index, u64 desc, u64 avail,
				      u64 used)
{
	return vstellar_set_vq_address(rust(vdpa), index, desc, avail, used);
}

static void vstellar_op_set_vq_num(struct vdpa_device *vdpa, u16 index, u32 num)
{
	vstellar_set_vq_num(rust(vdpa), index, num);
}

static void vstellar_op_kick_vq(struct vdpa_device *vdpa, u16 index)
{
	struct vstellar_vdpa *vs = to_vs(vdpa);

	if (index < ARRAY_SIZE(vs->kicks))
		atomic_inc(&vs->kicks[index]);
	vstellar_c_work_queue(vs);
}

static struct vstellar_callback vstellar_callback(const struct vdpa_callback *cb)
{
	return (struct vstellar_callback) { .func = cb->callback, .data = cb->private };
}

static void vstellar_op_set_vq_cb(struct vdpa_device *vdpa, u16 index, struct vdpa_callback *cb)
{
	const struct vstellar_callback callback = vstellar_callback(cb);

	vstellar_set_vq_callback(rust(vdpa), index, &callback);
}

static void vstellar_op_set_vq_ready(struct vdpa_device *vdpa, u16 index, bool ready)
{
	vstellar_set_vq_ready(rust(vdpa), index, ready);
}

static bool vstellar_op_get_vq_ready(struct vdpa_device *vdpa, u16 index)
{
	return vstellar_get_vq_ready(rust(vdpa), index);
}

static int vstellar_op_set_vq_state(struct vdpa_device *vdpa, u16 index,
				    const struct vdpa_vq_state *state)
{
	return vstellar_set_vq_state(rust(vdpa), index, state->split.avail_index);
}

static int vstellar_op_get_vq_state(struct vdpa_device *vdpa, u16 index,
				    struct vdpa_vq_state *state)
{
	return vstellar_get_vq_state(rust(vdpa), index, &state->split.avail_index);
}

static u16 vstellar_op_get_vq_size(struct vdpa_device *vdpa, u16 index)
{
	return vstellar_get_vq_size(index);
}

static u32 vstellar_op_get_vq_align(struct vdpa_device *vdpa)
{
	return PAGE_SIZE;
}

static u32 vstellar_op_get_vq_group(struct vdpa_device *vdpa, u16 index)
{
	return 0;
}

static u64 vstellar_op_get_device_features(struct vdpa_device *vdpa)
{
	return vstellar_get_device_features(rust(vdpa));
}

static u64 vstellar_op_get_backend_features(const struct vdpa_device *vdpa)
{
	return BIT_ULL(VHOST_BACKEND_F_ENABLE_AFTER_DRIVER_OK);
}

static int vstellar_op_set_driver_features(struct vdpa_device *vdpa, u64 features)
{
	return vstellar_set_driver_features(rust(vdpa), features);
}

static u64 vstellar_op_get_driver_features(struct vdpa_device *vdpa)
{
	return vstellar_get_driver_features(rust(vdpa));
}

static void vstellar_op_set_config_cb(struct vdpa_device *vdpa, struct vdpa_callback *cb)
{
	const struct vstellar_callback callback = vstellar_callback(cb);

	vstellar_set_config_callback(rust(vdpa), &callback);
}

/* For all queues, where only one number can be told. */
static u16 vstellar_op_get_vq_num_max(struct vdpa_device *vdpa)
{
	return VIRTIO_VSTELLAR_VQ_SIZE_MAX;
}

static u32 vstellar_op_get_device_id(struct vdpa_device *vdpa)
{
	return virtio_id;
}

static u32 vstellar_op_get_vendor_id(struct vdpa_device *vdpa)
{
	return 0;
}

static u8 vstellar_op_get_status(struct vdpa_device *vdpa)
{
	return vstellar_get_status(rust(vdpa));
}

static void vstellar_op_set_status(struct vdpa_device *vdpa, u8 status)
{
	vstellar_set_status(rust(vdpa), status);
}

/* What is mapped stays (reset_map). */
static int vstellar_op_reset(struct vdpa_device *vdpa)
{
	vstellar_reset(rust(vdpa));
	return 0;
}

static int vstellar_op_suspend(struct vdpa_device *vdpa)
{
	vstellar_suspend(rust(vdpa));
	return 0;
}

static int vstellar_op_resume(struct vdpa_device *vdpa)
{
	vstellar_resume(rust(vdpa));
	return 0;
}

static size_t vstellar_op_get_config_size(struct vdpa_device *vdpa)
{
	return vstellar_get_config_size();
}

static void vstellar_op_get_config(struct vdpa_device *vdpa, unsigned int offset, void *buf,
				   unsigned int len)
{
	vstellar_get_config(rust(vdpa), offset, buf, len);
}

/* There is nothing to write. */
static void vstellar_op_set_config(struct vdpa_device *vdpa, unsigned int offset,
				   const void *buf, unsigned int len)
{
}

static u32 vstellar_op_get_generation(struct vdpa_device *vdpa)
{
	return vstellar_get_generation(rust(vdpa));
}

static struct vdpa_iova_range vstellar_op_get_iova_range(struct vdpa_device *vdpa)
{
	return (struct vdpa_iova_range) { .first = 0, .last = LAST_IOVA };
}

static int vstellar_op_dma_map(struct vdpa_device *vdpa, unsigned int asid, u64 iova, u64 size,
			       u64 addr, u32 perm, void *opaque)
{
	struct vstellar_area *area;

	area = vstellar_area_new(&to_vs(vdpa)->owner, addr, size, perm & VHOST_MAP_WO, opaque);
	if (IS_ERR_OR_NULL(area))
		return PTR_ERR_OR_ZERO(area);
	return vstellar_map_area(rust(vdpa), iova, size, perm & VHOST_MAP_RO,
				 perm & VHOST_MAP_WO, area);
}

static int vstellar_op_dma_unmap(struct vdpa_device *vdpa, unsigned int asid, u64 iova, u64 size)
{
	vstellar_unmap_area(rust(vdpa), iova, size);
	return 0;
}

static int vstellar_op_reset_map(struct vdpa_device *vdpa, unsigned int asid)
{
	vstellar_unmap_area(rust(vdpa), 0, LAST_IOVA);
	return 0;
}

/* The pages that a device pins count against the limit of who has opened it. */
static int vstellar_op_bind_mm(struct vdpa_device *vdpa, struct mm_struct *mm)
{
	struct vstellar_owner *owner = &to_vs(vdpa)->owner;

	WRITE_ONCE(owner->limit,
		   capable(CAP_IPC_LOCK) ? ULONG_MAX : rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT);
	mmgrab(mm);
	WRITE_ONCE(owner->mm, mm);
	return 0;
}

/* Areas and pins have references of their own. */
static void vstellar_op_unbind_mm(struct vdpa_device *vdpa)
{
	struct vstellar_owner *owner = &to_vs(vdpa)->owner;
	struct mm_struct *mm = owner->mm;

	if (!mm)
		return;
	WRITE_ONCE(owner->mm, NULL);
	mmdrop(mm);
}

/*
 * By whoever has the last reference. The grace period in which a module is freed waits
 * for who has just ended the last device.
 */
static void vstellar_op_free(struct vdpa_device *vdpa)
{
	struct vstellar_vdpa *vs = to_vs(vdpa);

	if (vs->device)
		vstellar_device_free(vs->device);
	guard(rcu)();
	if (atomic_dec_and_test(&vstellar_devices))
		wake_up_var(&vstellar_devices);
}

static const struct vdpa_config_ops vstellar_ops = {
	.set_vq_address		= vstellar_op_set_vq_address,
	.set_vq_num		= vstellar_op_set_vq_num,
	.kick_vq		= vstellar_op_kick_vq,
	.set_vq_cb		= vstellar_op_set_vq_cb,
	.set_vq_ready		= vstellar_op_set_vq_ready,
	.get_vq_ready		= vstellar_op_get_vq_ready,
	.set_vq_state		= vstellar_op_set_vq_state,
	.get_vq_state		= vstellar_op_get_vq_state,
	.get_vq_size		= vstellar_op_get_vq_size,
	.get_vq_align		= vstellar_op_get_vq_align,
	.get_vq_group		= vstellar_op_get_vq_group,
	.get_device_features	= vstellar_op_get_device_features,
	.get_backend_features	= vstellar_op_get_backend_features,
	.set_driver_features	= vstellar_op_set_driver_features,
	.get_driver_features	= vstellar_op_get_driver_features,
	.set_config_cb		= vstellar_op_set_config_cb,
	.get_vq_num_max		= vstellar_op_get_vq_num_max,
	.get_device_id		= vstellar_op_get_device_id,
	.get_vendor_id		= vstellar_op_get_vendor_id,
	.get_status		= vstellar_op_get_status,
	.set_status		= vstellar_op_set_status,
	.reset			= vstellar_op_reset,
	.suspend		= vstellar_op_suspend,
	.resume			= vstellar_op_resume,
	.get_config_size	= vstellar_op_get_config_size,
	.get_config		= vstellar_op_get_config,
	.set_config		= vstellar_op_set_config,
	.get_generation		= vstellar_op_get_generation,
	.get_iova_range		= vstellar_op_get_iova_range,
	.dma_map		= vstellar_op_dma_map,
	.dma_unmap		= vstellar_op_dma_unmap,
	.reset_map		= vstellar_op_reset_map,
	.bind_mm		= vstellar_op_bind_mm,
	.unbind_mm		= vstellar_op_unbind_mm,
	.free			= vstellar_op_free,
};

/* --- management ---------------------------------------------------------- */

/*
 * As sysfs shows names, and iproute2 has room for: others could neither be named again nor
 * be shown, and take the list of all devices with them.
 */
static bool vstellar_name_is_good(const char *name)
{
	size_t len = strlen(name);

	return len && len < VSTELLAR_NAME_SIZE && !strchr(name, '/') && strcmp(name, ".") &&
	       strcmp(name, "..");
}

static int vstellar_dev_add(struct vdpa_mgmt_dev *mgmt, const char *name,
			    const struct vdpa_dev_set_config *config)
{
	u64 wanted = 0;
	struct vstellar_vdpa *vs;
	int err = 0;

	if (!vstellar_name_is_good(name))
		return -EINVAL;
	if (config->mask & BIT_ULL(VDPA_ATTR_DEV_FEATURES))
		wanted = config->device_features;
	vs = vdpa_alloc_device(struct vstellar_vdpa, vdpa, mgmt->device, &vstellar_ops,
			       &vstellar_map_ops, 1, 1, name, use_va);
	if (IS_ERR(vs))
		return PTR_ERR(vs);
	atomic_inc(&vstellar_devices);
	vs->vdpa.mdev = mgmt;
	INIT_WORK(&vs->work, vstellar_work);
	disable_work(&vs->work);
	hrtimer_setup(&vs->look, vstellar_look, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	vs->device = vstellar_device_new(vs, wanted, &err);
	vs->vdpa.vmap.group = vs->device;
	if (err)
		goto put;
	err = _vdpa_register_device(&vs->vdpa, VIRTIO_VSTELLAR_NVQS);
	if (!err)
		return 0;
put:
	put_device(&vs->vdpa.dev);
	return err;
}

/*
 * When no driver has it any more nobody else resets it, though a driver should have.
 * Who found it before may still have a reference, and changes nothing any more.
 */
static void vstellar_dev_del(struct vdpa_mgmt_dev *mgmt, struct vdpa_device *vdpa)
{
	get_device(&vdpa->dev);
	_vdpa_unregister_device(vdpa);
	vstellar_remove(rust(vdpa));
	put_device(&vdpa->dev);
}

static const struct vdpa_mgmtdev_ops vstellar_mgmt_ops = {
	.dev_add = vstellar_dev_add,
	.dev_del = vstellar_dev_del,
};

static struct vdpa_mgmt_dev vstellar_mgmt = {
	.ops			= &vstellar_mgmt_ops,
	.id_table		= vstellar_ids,
	.config_attr_mask	= BIT_ULL(VDPA_ATTR_DEV_FEATURES),
	.max_supported_vqs	= VIRTIO_VSTELLAR_NVQS,
};

/*
 * The devices are the children of the management device, from the end of add to the
 * beginning of del. The driver core's list of them gives out references and has no
 * lock that is held while one of them is used: its own locks may be with its work
 * for some milliseconds, and others' administrators do not wait for that.
 */
int vstellar_device_named(const char *name, int (*f)(const char *name, void *device, void *data),
			  void *data)
{
	struct device *dev = device_find_child_by_name(vstellar_mgmt.device, name);
	int err;

	if (!dev)
		return -ENODEV;
	err = f(dev_name(dev), rust(dev_to_vdpa(dev)), data);
	put_device(dev);
	return err;
}

struct each {
	unsigned long *next;
	unsigned long index;
	int (*f)(const char *name, void *device, void *data);
	void *data;
};

static int vstellar_each_one(struct device *dev, void *data)
{
	struct each *each = data;
	int err;

	if (each->index++ < *each->next)
		return 0;
	err = each->f(dev_name(dev), rust(dev_to_vdpa(dev)), each->data);
	if (!err)
		*each->next = each->index;
	return err;
}

int vstellar_devices_each(unsigned long *next,
			  int (*f)(const char *name, void *device, void *data), void *data)
{
	struct each each = { .next = next, .f = f, .data = data };

	return device_for_each_child(vstellar_mgmt.device, &each, vstellar_each_one);
}

int vstellar_c_register(void)
{
	int err;

	if (!virtio_id || virtio_id > LAST_ID)
		return -EINVAL;
	vstellar_wq = alloc_workqueue("vstellar", WQ_UNBOUND, 0);
	if (!vstellar_wq)
		return -ENOMEM;
	/* of no bus, so that its name is all of its handle */
	vstellar_mgmt.device = root_device_register("vstellar");
	if (IS_ERR(vstellar_mgmt.device)) {
		err = PTR_ERR(vstellar_mgmt.device);
		goto free_wq;
	}
	vstellar_ids[0] = (struct virtio_device_id) { virtio_id, VIRTIO_DEV_ANY_ID };
	vstellar_mgmt.supported_features = vstellar_features();
	err = vstellar_netlink_register();
	if (err)
		goto unregister_root;
	err = vdpa_mgmtdev_register(&vstellar_mgmt);
	if (!err)
		return 0;
	vstellar_netlink_unregister();
unregister_root:
	root_device_unregister(vstellar_mgmt.device);
free_wq:
	destroy_workqueue(vstellar_wq);
	return err;
}

/* Removes all devices, too. */
void vstellar_c_unregister(void)
{
	vstellar_netlink_unregister();
	vdpa_mgmtdev_unregister(&vstellar_mgmt);
	wait_var_event(&vstellar_devices, !atomic_read(&vstellar_devices));
	root_device_unregister(vstellar_mgmt.device);
	destroy_workqueue(vstellar_wq);
}
