/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the vDPA bus and Rust. Where nothing else is said, what Rust offers is
 * called in process context and may sleep.
 */
#ifndef _VSTELLAR_VDPA_H
#define _VSTELLAR_VDPA_H

#include <linux/interrupt.h>
#include <linux/types.h>

struct virtio_map_ops;
struct vstellar_area;
struct workqueue_struct;

/* One device as the bus has it. */
struct vstellar_vdpa;

/* for what takes long or sleeps; the module does not go before it is done */
extern struct workqueue_struct *vstellar_wq;

/* for virtio_vdpa (map.c); the Rust half of a device is what they take for their token */
extern const struct virtio_map_ops vstellar_map_ops;

/* Whom to tell of used buffers or of a change: a driver's function, or none. */
struct vstellar_callback {
	irqreturn_t (*func)(void *data);
	void *data;
};

/* the management device, and the parameters of the module */
int vstellar_c_register(void);
void vstellar_c_unregister(void);

/*
 * A device's work: vstellar_device_work(), in process context, on one CPU at a
 * time. It is off at first. Starting it runs it once; whatever was kicked while it
 * was off needs that. Stopping waits for its end; the two are called in turn.
 */
void vstellar_c_work_start(struct vstellar_vdpa *vs);
void vstellar_c_work_stop(struct vstellar_vdpa *vs);
/* once more; any context */
void vstellar_c_work_queue(struct vstellar_vdpa *vs);
/* the same after that time; by the work itself, which changes the time if it was set */
void vstellar_c_work_queue_in(struct vstellar_vdpa *vs, u64 ns);
/* whether it was started or queued since the last call, other than by the timer */
bool vstellar_c_take_call(struct vstellar_vdpa *vs);

/* how often its driver has kicked this virtqueue since the last call */
u32 vstellar_c_take_kicks(struct vstellar_vdpa *vs, u16 index);

/* whether the device has the memory of a process (use_va) */
bool vstellar_c_has_mm(const struct vstellar_vdpa *vs);
/* pages that it may have pinned; when it maps some, or looks at the configuration space */
u64 vstellar_c_pin_limit(const struct vstellar_vdpa *vs);

/* The module stays while a device is at work; false if it is on its way out. */
bool vstellar_c_module_get(void);
void vstellar_c_module_put(void);

u64 vstellar_c_now(void); /* nanoseconds, monotonic */
u64 vstellar_c_random(void);

/* as an interrupt would */
void vstellar_c_call(const struct vstellar_callback *callback);

/*
 * Calls @f for the device of that name, or for all from the *@next-th on until one
 * fails, and leaves in *@next which one that was. @f may sleep and is called without a
 * lock: a device may be removed meanwhile, and is freed afterwards. Process context.
 */
int vstellar_device_named(const char *name, int (*f)(const char *name, void *device, void *data),
			  void *data);
int vstellar_devices_each(unsigned long *next,
			  int (*f)(const char *name, void *device, void *data), void *data);

/* --- offered by Rust (sys/entry.rs) ---------------------------------------- */

/* what devices offer; @wanted: 0, or a choice of it */
u64 vstellar_features(void);
void *vstellar_device_new(struct vstellar_vdpa *vs, u64 wanted, int *err);
void vstellar_device_free(void *device);
void vstellar_device_work(void *device);

int vstellar_set_vq_address(void *device, u16 index, u64 desc, u64 avail, u64 used);
void vstellar_set_vq_num(void *device, u16 index, u32 num);
void vstellar_set_vq_callback(void *device, u16 index, const struct vstellar_callback *callback);
void vstellar_set_vq_ready(void *device, u16 index, bool ready);
bool vstellar_get_vq_ready(void *device, u16 index);
int vstellar_set_vq_state(void *device, u16 index, u16 next_avail);
int vstellar_get_vq_state(void *device, u16 index, u16 *next_avail);
u16 vstellar_get_vq_size(u16 index);

u64 vstellar_get_device_features(void *device);
int vstellar_set_driver_features(void *device, u64 features);
u64 vstellar_get_driver_features(void *device);
void vstellar_set_config_callback(void *device, const struct vstellar_callback *callback);
u8 vstellar_get_status(void *device);
void vstellar_set_status(void *device, u8 status);
void vstellar_reset(void *device);
/* a reset, after which no setting is changed; drivers are gone, and none comes */
void vstellar_remove(void *device);
void vstellar_suspend(void *device);
void vstellar_resume(void *device);
size_t vstellar_get_config_size(void);
void vstellar_get_config(void *device, size_t offset, u8 *buf, size_t len);
u32 vstellar_get_generation(void *device);

/*
 * Memory for the device at @iova; takes over the reference to @area. Deleting it
 * waits until the device does not use it.
 */
int vstellar_map_area(void *device, u64 iova, u64 size, bool read, bool write,
		      struct vstellar_area *area);
void vstellar_unmap_area(void *device, u64 iova, u64 size);

/*
 * Memory of this kernel, which does not go away before it is unmapped. Any context,
 * after room was made once.
 */
int vstellar_map_prepare(void *device);
int vstellar_map_kernel(void *device, u64 phys, u64 size, bool read, bool write, u64 *iova);
void vstellar_unmap_kernel(void *device, u64 iova, u64 size);

#endif /* _VSTELLAR_VDPA_H */
