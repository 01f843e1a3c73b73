/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The driver of virtio-vstellar: its objects, who may touch them, and the seam
 * between C and Rust.
 *
 * C is where the kernel's own objects are: sockets, virtqueues, pages. Rust has what
 * the device's specification says about queues (core/), and is called with a
 * socket's vsg_sock.lock held; it never calls back.
 *
 *	virtio.c	probe, removal, the network namespace
 *	command.c	the control queue
 *	event.c		the event queue and completions: all that the device says
 *	memory.c	what the device reads and writes: blocks, doorbells, queues
 *	endpoint.c	endpoints, and their commands
 *	socket.c	the socket calls that need no peer, and the end of a socket
 *	connect.c	connect(), listen(), accept()
 *	payload.c	sendmsg(), recvmsg(), poll()
 *
 * Contexts and locks, outermost first:
 *
 *	socket lock (lock_sock)		system calls and work; what a socket is at
 *	vsg_device.memory (mutex)	process; blocks, slots, completion queues
 *	vsg_sock.lock (spin, BH)	system calls, work, vsg_device.bh; queues
 *	vsg_device.lock (spin, BH)	system calls, work, vsg_device.bh; control queue
 *
 * The virtqueues' callbacks, in any context, only queue vsg_device.bh, a bottom half
 * that never runs twice at a time. It alone reads events and completions. A command
 * waits for its answer with the socket lock at most, which the bottom half does not
 * take.
 *
 * When the device goes (its removal, a reset, a failure), vsg_device.dead is set
 * under vsg_device.lock: no command is begun any more, and those that wait are
 * answered with -ENETDOWN. Kicks look at it under RCU. Memory that the device was
 * given is unmapped, but stays until the last socket is closed, so that nobody has to
 * be waited for who copies from it.
 */
#ifndef _VIRTIO_VSTELLAR_GUEST_H
#define _VIRTIO_VSTELLAR_GUEST_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/semaphore.h>
#include <linux/virtio.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/sock.h>

#include "../../../../include/uapi/linux/strack.h"
#include "../../../../include/uapi/linux/virtio_vstellar.h"
#include "../../../net/strack/sys/provider.h"

#include "queues.h"

/*
 * A block is what one endpoint needs: both work queues, bytes to send, buffers to
 * receive into. The doorbell area is one as well, and so is a completion queue.
 * Blocks lie together in arenas of the size that the device pins at once.
 */
#define VSG_BLOCK		(256u << 10)
#define VSG_ARENA		(2u << 20)
#define VSG_SQ			0u
#define VSG_RQ			4096u
#define VSG_TX			8192u
#define VSG_TX_BYTES		(120u << 10)
#define VSG_RX			(128u << 10)
#define VSG_RX_BYTES		(16u << 10)
/* bytes to send, in place of VSG_TX_BYTES, where the device sends from them: 8 Gb/s at a ms */
#define VSG_LARGE		(1u << 20)

#define VSG_CQ_LOG2		13
#define VSG_CQS			64

/* The buffers for events lie behind the doorbells, so that they are mapped once and for all. */
#define VSG_EVENT_BYTES \
	(VIRTIO_VSTELLAR_VQ_EVENT_SIZE * sizeof(struct virtio_vstellar_event))
#define VSG_EVENTS		(VSG_BLOCK - VSG_EVENT_BYTES)
#define VSG_DB_PAGES		(VSG_EVENTS / VIRTIO_VSTELLAR_PAGE_SIZE)
#define VSG_SLOTS \
	((VSG_DB_PAGES - 1) * (VIRTIO_VSTELLAR_PAGE_SIZE / VIRTIO_VSTELLAR_DB_STRIDE))

struct vsg_arena;

/**
 * struct vsg_block - memory that the device may use
 * @arena: where it lies; NULL if there is none
 * @mem: the memory
 * @iova: the device's address of it
 */
struct vsg_block {
	struct vsg_arena *arena;
	void *mem;
	u64 iova;
};

/**
 * struct vsg_cq - completion queue of many endpoints
 * @block: the ring
 * @reader: how far it was read; the bottom half's
 * @slot: doorbell slot
 * @handle: the device's name for it; zero while there is none
 * @armed: what was last written to cq_arm, which the device could change; the bottom half's
 * @left: the bottom half's last run has not read all that was there
 * @reserved: entries promised to endpoints
 */
struct vsg_cq {
	struct vsg_block block;
	struct vsg_reader *reader;
	u32 slot;
	u32 handle;
	u32 armed;
	bool left;
	u32 reserved;
};

/**
 * struct vsg_device - one device
 * @provider: makes sockets for a network namespace
 * @ref: held by the driver while it has the device, and by each socket
 * @vdev: the device; valid until @dead
 * @vqs: its queues, likewise
 * @config: its configuration, as it was at the start
 * @lock: guards the control queue, @commands and @dead
 * @dead: the device is gone, or of no use
 * @detached: it has no queues any more. The driver core's, which calls one function at a time
 * @commands: those that wait for an answer
 * @room: as many commands as the control queue has room for
 * @bh: reads what the device says
 * @changed: looks whether the device has failed, and then ends all sockets
 * @failed: it has
 * @memory: guards what follows, up to @sockets, and is held by who disables @bh for a moment
 *	and by who waits for it to run
 * @lends: the device sends from the driver's memory (F_ZC)
 * @larges: large blocks in use
 * @mapped: arenas may be mapped
 * @arenas: memory that the device was given
 * @doorbells: the doorbell area, and the buffers of the event queue
 * @slots: which of its slots are in use
 * @cqs: completion queues; appended by process context, read by the bottom half
 * @ncqs: how many
 * @sockets: those that have an endpoint, by key; holds a reference to each
 * @next_key: where to look for the next key
 * @kicks: notifications of the kick queue
 * @issued: commands
 * @heard: events
 */
struct vsg_device {
	struct strack_provider provider;
	struct kref ref;
	struct virtio_device *vdev;
	struct virtqueue *vqs[VIRTIO_VSTELLAR_NVQS];
	struct virtio_vstellar_config config;

	spinlock_t lock;
	bool dead;
	bool detached;
	struct list_head commands;
	struct semaphore room;

	struct work_struct bh;
	struct work_struct changed;
	bool failed;

	struct mutex memory;
	bool lends;
	unsigned int larges;
	bool mapped;
	struct list_head arenas;
	struct vsg_block doorbells;
	DECLARE_BITMAP(slots, VSG_SLOTS);
	struct vsg_cq cqs[VSG_CQS];
	unsigned int ncqs;

	struct xarray sockets;
	u32 next_key;

	atomic64_t kicks;
	atomic64_t issued;
	atomic64_t heard;
};

/* What a socket is at. */
enum vsg_phase {
	VSG_IDLE,
	VSG_LISTENING,
	VSG_ACTIVE,	/* after connect() or accept(), whatever became of it */
};

/**
 * struct vsg_sock - a socket
 * @sk: the kernel's part, first
 * @dev: the device that its namespace had when it was made; holds a reference
 * @phase: what it is at. This and what follows under the socket lock, up to @lock
 * @told: connect() has told its caller how it ended, or there was none
 * @bound: its endpoint has the address @local
 * @bound_by_user: bind() gave it that
 * @v6only: IPV6_V6ONLY
 * @local: what bind() or listen() gave it; the address may be any
 * @name: its end of the connection, if @named
 * @peer: the other end
 * @named: the device was asked for @name, or has said it
 * @handle: the device's name for the endpoint; zero if there is none
 * @key: its own name of it, in events and completions
 * @slot: doorbell slot
 * @cq: completion queue
 * @block: memory
 * @large: memory to send from, if that is not in @block
 * @wanted: bytes that the recvmsg() which is looking waits for
 * @spare: of a listener: an endpoint for the connection that comes next
 * @lock: guards what follows
 * @queues: its work queues; NULL without an endpoint that has any
 * @doorbell: its doorbell
 * @failed: the connection has failed, or the device
 * @reaping: nobody has the socket, and its endpoint waits until all is sent, or given back
 * @progress: who waits for the device without regard to signals, which sleepers of
 *	@sk are woken by alone
 * @children: of a listener: connections to be accepted
 * @sibling: in the listener's @children
 * @accept_work: of a listener: takes connections from the device
 * @reap: takes the endpoint away. Both have a reference while they are pending
 */
struct vsg_sock {
	struct sock sk;
	struct vsg_device *dev;
	enum vsg_phase phase;
	bool told;
	bool bound;
	bool bound_by_user;
	bool v6only;
	struct virtio_vstellar_addr local;
	struct virtio_vstellar_addr name;
	struct virtio_vstellar_addr peer;
	bool named;
	u32 handle;
	u32 key;
	u32 slot;
	struct vsg_cq *cq;
	struct vsg_block block;
	struct vsg_block large;
	u32 wanted;
	struct vsg_sock *spare;

	spinlock_t lock;
	struct vsg_queues *queues;
	struct virtio_vstellar_slot *doorbell;
	bool failed;
	bool reaping;
	wait_queue_head_t progress;
	struct list_head children;
	struct list_head sibling;

	struct delayed_work accept_work;
	struct delayed_work reap;
};

static inline struct vsg_sock *vsg_sk(struct sock *sk)
{
	return container_of(sk, struct vsg_sock, sk);
}

/* Work of sockets and devices. Emptied before the module goes. */
extern struct workqueue_struct *vsg_wq;

/* virtio.c */
void vsg_device_free(struct kref *ref);
void vsg_device_fail(struct vsg_device *dev);
bool vsg_device_dead(struct vsg_device *dev);
void vsg_kick(struct vsg_device *dev, u32 slot);

/* command.c */
int vsg_errno(u32 status);
int vsg_command(struct vsg_device *dev, u16 op, u32 *handle, const void *payload, size_t len,
		void *out, size_t room);
bool vsg_commands_done(struct vsg_device *dev);
void vsg_commands_cancel(struct vsg_device *dev);

/* event.c */
int vsg_events_post(struct vsg_device *dev);
void vsg_bh(struct work_struct *work);
void vsg_completions_flush(struct vsg_device *dev, struct vsg_cq *cq);

/* memory.c */
int vsg_block_get(struct vsg_device *dev, struct vsg_block *block);
void vsg_block_put(struct vsg_device *dev, struct vsg_block *block);
int vsg_large_get(struct vsg_device *dev, struct vsg_block *block);
void vsg_large_put(struct vsg_device *dev, struct vsg_block *block);
int vsg_slot_get(struct vsg_device *dev, u32 *slot);
void vsg_slot_put(struct vsg_device *dev, u32 slot);
struct virtio_vstellar_slot *vsg_slot(struct vsg_device *dev, u32 slot);
struct vsg_cq *vsg_cq_get(struct vsg_device *dev);
void vsg_cq_put(struct vsg_device *dev, struct vsg_cq *cq);
struct virtio_vstellar_event *vsg_event_buffer(struct vsg_device *dev, unsigned int n);
u64 vsg_event_iova(struct vsg_device *dev, const struct virtio_vstellar_event *event);
int vsg_memory_prepare(struct vsg_device *dev);
int vsg_memory_start(struct vsg_device *dev);
void vsg_memory_unmap(struct vsg_device *dev);
void vsg_memory_free(struct vsg_device *dev);

/* endpoint.c: with the socket lock */
int vsg_endpoint_open(struct vsg_sock *vs, bool listener);
void vsg_endpoint_close(struct vsg_sock *vs, bool abort);
int vsg_endpoint_bind(struct vsg_sock *vs, const struct virtio_vstellar_addr *addr);
bool vsg_endpoint_name(struct vsg_sock *vs, struct virtio_vstellar_addr *local);
bool vsg_send_is_finished(struct vsg_sock *vs);
bool vsg_endpoint_abort(struct vsg_sock *vs);
int vsg_endpoint_leave(struct vsg_sock *vs);
void *vsg_send_memory(const struct vsg_sock *vs);
/* with vsg_sock.lock */
bool vsg_done_with(struct vsg_sock *vs);
void vsg_post_receives(struct vsg_sock *vs);
void vsg_push_fin(struct vsg_sock *vs);
void vsg_ring_send(struct vsg_sock *vs, u32 old);

/* socket.c */
extern struct proto vsg_proto;
extern const struct strack_provider_ops vsg_provider_ops;
int vsg_sockets_init(void);
void vsg_sockets_exit(void);
struct vsg_sock *vsg_child_new(struct vsg_sock *parent);
void vsg_child_graft(struct vsg_sock *child, struct socket *newsock);
int vsg_wait_for(struct vsg_sock *vs, long *timeo, bool (*ready)(struct vsg_sock *vs), u32 wanted);
int vsg_address(struct vsg_sock *vs, const struct sockaddr_unsized *uaddr, int len,
		struct virtio_vstellar_addr *addr);
bool vsg_is_any(const struct virtio_vstellar_addr *addr);
bool vsg_is_v4(const struct virtio_vstellar_addr *addr);
void vsg_abandon(struct vsg_sock *vs);
void vsg_reap_later(struct vsg_sock *vs);
void vsg_work_later(struct vsg_sock *vs, struct delayed_work *work, unsigned long delay);
/* any context, without locks: what has happened to a socket */
void vsg_sock_connected(struct vsg_sock *vs, bool closed);
void vsg_sock_failed(struct vsg_sock *vs, int err);
void vsg_sock_ended(struct vsg_sock *vs);
void vsg_sock_received(struct vsg_sock *vs);
void vsg_sock_sent(struct vsg_sock *vs);

static inline int vsg_wait(struct vsg_sock *vs, long *timeo, bool (*ready)(struct vsg_sock *vs))
{
	return vsg_wait_for(vs, timeo, ready, 0);
}

/* connect.c */
int vsg_bind(struct socket *sock, struct sockaddr_unsized *uaddr, int len);
int vsg_connect(struct socket *sock, struct sockaddr_unsized *uaddr, int len, int flags);
int vsg_listen(struct socket *sock, int backlog);
int vsg_accept(struct socket *sock, struct socket *newsock, struct proto_accept_arg *arg);
void vsg_unlisten(struct vsg_sock *vs);
void vsg_accept_work(struct work_struct *work);

/* payload.c */
int vsg_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
int vsg_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags);
__poll_t vsg_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait);
int vsg_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);

#endif /* _VIRTIO_VSTELLAR_GUEST_H */
