/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * virtio-vstellar: a paravirtual device that gives a guest AF_STRACK endpoints.
 *
 * The driver asks for objects (completion queues, endpoints, memory regions)
 * with commands on the control virtqueue; the device checks every one of them.
 * Payload then moves through rings and doorbells in the driver's own memory,
 * without an exit while the device is busy. See
 * Documentation/virtio/vstellar.rst for the rules; this file has the layouts.
 *
 * All fields are little-endian. Reserved fields are zero when written by the
 * driver, which the device checks, and are not looked at by the driver.
 * An address is an I/O virtual address (IOVA) of the device unless it is called
 * otherwise.
 */
#ifndef _UAPI_LINUX_VIRTIO_VSTELLAR_H
#define _UAPI_LINUX_VIRTIO_VSTELLAR_H

#include <linux/types.h>

/*
 * Virtio device ID, unless the parameter "virtio_id" of the modules says
 * otherwise: it is not assigned by the virtio committee, so a driver looks for
 * the magic number before it believes the ID.
 */
#define VIRTIO_VSTELLAR_ID		60
#define VIRTIO_VSTELLAR_MAGIC		0x4c545356	/* "VSTL" */
#define VIRTIO_VSTELLAR_REVISION	1

/* Feature bits. */
#define VIRTIO_VSTELLAR_F_STREAM	0	/* endpoints that carry a stream of bytes */
#define VIRTIO_VSTELLAR_F_MSG		1	/* endpoints that keep message boundaries */
#define VIRTIO_VSTELLAR_F_MR		2	/* memory regions */
#define VIRTIO_VSTELLAR_F_PATHS		3	/* options of paths and spraying */
#define VIRTIO_VSTELLAR_F_CC		4	/* option of the congestion control */
#define VIRTIO_VSTELLAR_F_SHADOW_DB	5	/* doorbells in driver memory, mandatory */
#define VIRTIO_VSTELLAR_F_SHM_DB	6	/* reserved: doorbells in shared memory region 1 */
#define VIRTIO_VSTELLAR_F_LAZY_PIN	7	/* memory regions pinned on first use */
#define VIRTIO_VSTELLAR_F_STATS		8	/* VIRTIO_VSTELLAR_CMD_DEV_STATS */
#define VIRTIO_VSTELLAR_F_ZC		9	/* send buffers in use until their completion */
#define VIRTIO_VSTELLAR_F_QUIESCE	10	/* VIRTIO_VSTELLAR_CMD_QUIESCE, _RESUME */

/*
 * Virtqueues, and how many entries each has use for. Some virtual machine monitors give
 * all queues of a device the same size, so that any may have as many as the largest.
 */
#define VIRTIO_VSTELLAR_VQ_CTRL		0
#define VIRTIO_VSTELLAR_VQ_KICK		1	/* is notified, never carries a buffer */
#define VIRTIO_VSTELLAR_VQ_EVENT	2
#define VIRTIO_VSTELLAR_NVQS		3

#define VIRTIO_VSTELLAR_VQ_CTRL_SIZE	64
#define VIRTIO_VSTELLAR_VQ_KICK_SIZE	8
#define VIRTIO_VSTELLAR_VQ_EVENT_SIZE	256
#define VIRTIO_VSTELLAR_VQ_SIZE_MAX	256

/* The page of alignment rules, whatever the page size of either kernel. */
#define VIRTIO_VSTELLAR_PAGE_SIZE	4096

/* virtio_vstellar_config.status */
#define VIRTIO_VSTELLAR_S_LINK_UP	(1 << 0)
#define VIRTIO_VSTELLAR_S_QUIESCED	(1 << 1)
#define VIRTIO_VSTELLAR_S_NEEDS_RESET	(1 << 2)

/**
 * struct virtio_vstellar_config - configuration space, read only to the driver
 * @magic: VIRTIO_VSTELLAR_MAGIC; a driver that finds another leaves the device
 * @revision: VIRTIO_VSTELLAR_REVISION of the device
 * @min_driver_revision: least revision of a driver that the device serves
 * @status: VIRTIO_VSTELLAR_S_*
 * @max_endpoints: most endpoints at a time
 * @max_mr: most memory regions at a time
 * @max_cq: most completion queues at a time
 * @max_sq_log2: most entries of a send queue, as the logarithm
 * @max_rq_log2: most entries of a receive queue, as the logarithm
 * @max_sge: most segments of one work entry
 * @db_stride: bytes of one doorbell slot, VIRTIO_VSTELLAR_DB_STRIDE
 * @max_mr_len: most bytes of one memory region
 * @pin_quota: most bytes that the device pins at a time
 * @pin_block_shift: logarithm of the bytes pinned together on first use
 * @max_db_pages: most pages of the doorbell area
 * @addr: the device's address, IPv6 or IPv4 as ::ffff:a.b.c.d; all zero if no
 *	address was assigned, and the driver may bind to any of the namespace
 * @first_port: first local port that the driver may bind
 * @last_port: last one
 * @mtu: payload bytes of a packet, a hint
 */
struct virtio_vstellar_config {
	__le32	magic;
	__le16	revision;
	__le16	min_driver_revision;
	__le32	status;
	__le32	max_endpoints;
	__le32	max_mr;
	__le32	max_cq;
	__le16	max_sq_log2;
	__le16	max_rq_log2;
	__le16	max_sge;
	__le16	db_stride;
	__le64	max_mr_len;
	__le64	pin_quota;
	__le32	pin_block_shift;
	__le32	max_db_pages;
	__u8	addr[16];
	__le16	first_port;
	__le16	last_port;
	__le32	mtu;
};

/*
 * Control virtqueue
 * -----------------
 *
 * One descriptor chain is one request, readable, followed by room for one
 * response, writable. Commands may be answered out of order.
 */

/* Most bytes of a request and of a response, their headers included. */
#define VIRTIO_VSTELLAR_CTRL_MAX	4096

/**
 * enum virtio_vstellar_cmd - what a request asks for
 * @VIRTIO_VSTELLAR_CMD_HELLO: struct virtio_vstellar_hello in, struct
 *	virtio_vstellar_hello_resp out; the first command, all others are refused
 *	until it was answered
 * @VIRTIO_VSTELLAR_CMD_DB_ATTACH: struct virtio_vstellar_db_attach in, struct
 *	virtio_vstellar_db_attach_resp out
 * @VIRTIO_VSTELLAR_CMD_DB_DETACH: BUSY while an object has a slot
 * @VIRTIO_VSTELLAR_CMD_CQ_CREATE: struct virtio_vstellar_cq_create in; the
 *	response's handle is the completion queue
 * @VIRTIO_VSTELLAR_CMD_CQ_DESTROY: BUSY while an endpoint uses it
 * @VIRTIO_VSTELLAR_CMD_EP_CREATE: struct virtio_vstellar_ep_create in; the
 *	response's handle is the endpoint
 * @VIRTIO_VSTELLAR_CMD_EP_BIND: struct virtio_vstellar_addr in, the address
 *	chosen out
 * @VIRTIO_VSTELLAR_CMD_EP_LISTEN: struct virtio_vstellar_ep_listen in
 * @VIRTIO_VSTELLAR_CMD_EP_CONNECT: struct virtio_vstellar_ep_connect in; what
 *	becomes of it is told by VIRTIO_VSTELLAR_EV_EP_STATE
 * @VIRTIO_VSTELLAR_CMD_EP_ACCEPT: struct virtio_vstellar_ep_accept in, struct
 *	virtio_vstellar_ep_accept_resp out; the handle is the listener. AGAIN if
 *	no connection waits
 * @VIRTIO_VSTELLAR_CMD_EP_SHUTDOWN: struct virtio_vstellar_ep_shutdown in
 * @VIRTIO_VSTELLAR_CMD_EP_DESTROY: struct virtio_vstellar_ep_destroy in; when
 *	it was answered the device does not touch the rings or buffers any more
 *	(with VIRTIO_VSTELLAR_F_ZC and VIRTIO_VSTELLAR_DESTROY_ABORT, packets on
 *	their way may still have buffers of entries that were not completed)
 * @VIRTIO_VSTELLAR_CMD_EP_SETOPT: struct virtio_vstellar_ep_opt and the value
 *	in, the value in effect out
 * @VIRTIO_VSTELLAR_CMD_EP_GETOPT: struct virtio_vstellar_ep_opt in, with the
 *	room for the value as its length, the value out
 * @VIRTIO_VSTELLAR_CMD_EP_QUERY: struct virtio_vstellar_ep_query_resp out
 * @VIRTIO_VSTELLAR_CMD_MR_REG: struct virtio_vstellar_mr_reg and segments in,
 *	struct virtio_vstellar_mr_reg_resp out
 * @VIRTIO_VSTELLAR_CMD_MR_DEREG: struct virtio_vstellar_mr_dereg in; BUSY while
 *	a work entry uses it
 * @VIRTIO_VSTELLAR_CMD_MR_ADVISE: struct virtio_vstellar_mr_advise in
 * @VIRTIO_VSTELLAR_CMD_DEV_STATS: struct virtio_vstellar_stats out
 * @VIRTIO_VSTELLAR_CMD_QUIESCE: stop to take work entries
 * @VIRTIO_VSTELLAR_CMD_RESUME: take them again
 *
 * A command whose object is not named in its payload finds it in
 * virtio_vstellar_req.handle; in all others that field is zero.
 */
enum virtio_vstellar_cmd {
	VIRTIO_VSTELLAR_CMD_HELLO	= 0x01,
	VIRTIO_VSTELLAR_CMD_DB_ATTACH	= 0x10,
	VIRTIO_VSTELLAR_CMD_DB_DETACH	= 0x11,
	VIRTIO_VSTELLAR_CMD_CQ_CREATE	= 0x20,
	VIRTIO_VSTELLAR_CMD_CQ_DESTROY	= 0x21,
	VIRTIO_VSTELLAR_CMD_EP_CREATE	= 0x30,
	VIRTIO_VSTELLAR_CMD_EP_BIND	= 0x31,
	VIRTIO_VSTELLAR_CMD_EP_LISTEN	= 0x32,
	VIRTIO_VSTELLAR_CMD_EP_CONNECT	= 0x33,
	VIRTIO_VSTELLAR_CMD_EP_ACCEPT	= 0x34,
	VIRTIO_VSTELLAR_CMD_EP_SHUTDOWN	= 0x35,
	VIRTIO_VSTELLAR_CMD_EP_DESTROY	= 0x36,
	VIRTIO_VSTELLAR_CMD_EP_SETOPT	= 0x37,
	VIRTIO_VSTELLAR_CMD_EP_GETOPT	= 0x38,
	VIRTIO_VSTELLAR_CMD_EP_QUERY	= 0x39,
	VIRTIO_VSTELLAR_CMD_MR_REG	= 0x40,
	VIRTIO_VSTELLAR_CMD_MR_DEREG	= 0x41,
	VIRTIO_VSTELLAR_CMD_MR_ADVISE	= 0x42,
	VIRTIO_VSTELLAR_CMD_DEV_STATS	= 0x50,
	VIRTIO_VSTELLAR_CMD_QUIESCE	= 0x60,
	VIRTIO_VSTELLAR_CMD_RESUME	= 0x61,
};

/**
 * enum virtio_vstellar_status - outcome of a command, a work entry, an endpoint
 * @VIRTIO_VSTELLAR_OK: done
 * @VIRTIO_VSTELLAR_INVAL: a field is out of range, or a length wrong (EINVAL)
 * @VIRTIO_VSTELLAR_NOENT: no such object, option or name (ENOENT)
 * @VIRTIO_VSTELLAR_PERM: not allowed to this device, or by the rights of the
 *	memory (EACCES)
 * @VIRTIO_VSTELLAR_BUSY: the object or slot is in use (EBUSY)
 * @VIRTIO_VSTELLAR_NOSPC: no room in the completion queue (ENOSPC)
 * @VIRTIO_VSTELLAR_QUOTA: the device has as many as it may have (ENOBUFS)
 * @VIRTIO_VSTELLAR_FAULT: the address is not mapped (EFAULT)
 * @VIRTIO_VSTELLAR_STATE: not in this state of the object (EINVAL; EISCONN or
 *	ENOTCONN by what was asked for)
 * @VIRTIO_VSTELLAR_NOTSUPP: unknown command, type or operation (EOPNOTSUPP)
 * @VIRTIO_VSTELLAR_AGAIN: nothing there yet, or too many a second (EAGAIN)
 * @VIRTIO_VSTELLAR_TIMEDOUT: ETIMEDOUT
 * @VIRTIO_VSTELLAR_CONNREFUSED: ECONNREFUSED
 * @VIRTIO_VSTELLAR_NETUNREACH: ENETUNREACH
 * @VIRTIO_VSTELLAR_ADDRINUSE: EADDRINUSE
 * @VIRTIO_VSTELLAR_ADDRNOTAVAIL: EADDRNOTAVAIL
 * @VIRTIO_VSTELLAR_IO: the device has no memory, or failed otherwise (EIO)
 * @VIRTIO_VSTELLAR_VERSION: the driver is too old for the device (EPROTO)
 * @VIRTIO_VSTELLAR_CONNRESET: ECONNRESET
 * @VIRTIO_VSTELLAR_CANCELED: ended before it was done (ECANCELED)
 * @VIRTIO_VSTELLAR_FATAL: the device has to be reset (ENODEV)
 */
enum virtio_vstellar_status {
	VIRTIO_VSTELLAR_OK		= 0,
	VIRTIO_VSTELLAR_INVAL		= 1,
	VIRTIO_VSTELLAR_NOENT		= 2,
	VIRTIO_VSTELLAR_PERM		= 3,
	VIRTIO_VSTELLAR_BUSY		= 4,
	VIRTIO_VSTELLAR_NOSPC		= 5,
	VIRTIO_VSTELLAR_QUOTA		= 6,
	VIRTIO_VSTELLAR_FAULT		= 7,
	VIRTIO_VSTELLAR_STATE		= 8,
	VIRTIO_VSTELLAR_NOTSUPP		= 9,
	VIRTIO_VSTELLAR_AGAIN		= 10,
	VIRTIO_VSTELLAR_TIMEDOUT	= 11,
	VIRTIO_VSTELLAR_CONNREFUSED	= 12,
	VIRTIO_VSTELLAR_NETUNREACH	= 13,
	VIRTIO_VSTELLAR_ADDRINUSE	= 14,
	VIRTIO_VSTELLAR_ADDRNOTAVAIL	= 15,
	VIRTIO_VSTELLAR_IO		= 16,
	VIRTIO_VSTELLAR_VERSION		= 17,
	VIRTIO_VSTELLAR_CONNRESET	= 18,
	VIRTIO_VSTELLAR_CANCELED	= 19,
	VIRTIO_VSTELLAR_FATAL		= 255,
};

/**
 * struct virtio_vstellar_req - header of a request
 * @op: enum virtio_vstellar_cmd
 * @flags: zero
 * @cookie: returned in the response
 * @handle: object of the command, or zero
 * @len: bytes of payload that follow
 */
struct virtio_vstellar_req {
	__le16	op;
	__le16	flags;
	__le32	cookie;
	__le32	handle;
	__le32	len;
};

/**
 * struct virtio_vstellar_resp - header of a response
 * @cookie: that of the request
 * @status: enum virtio_vstellar_status
 * @flags: zero
 * @handle: object that was created, else that of the request
 * @len: bytes of payload that follow; zero unless @status is OK
 */
struct virtio_vstellar_resp {
	__le32	cookie;
	__le16	status;
	__le16	flags;
	__le32	handle;
	__le32	len;
};

/* An index and a generation, so that a stale handle is never someone else's. */
#define VIRTIO_VSTELLAR_NO_HANDLE	0

/**
 * struct virtio_vstellar_hello - the driver introduces itself
 * @revision: VIRTIO_VSTELLAR_REVISION of the driver
 * @reserved: zero
 * @name: for the host's operator, padded with zeros
 */
struct virtio_vstellar_hello {
	__le32	revision;
	__le32	reserved;
	__u8	name[16];
};

/**
 * struct virtio_vstellar_hello_resp - answer to it
 * @boot_id: random; changes when the device lost its state other than by a reset, which
 *	the one of vstellar.ko does only when its settings are changed
 */
struct virtio_vstellar_hello_resp {
	__le64	boot_id;
};

/**
 * struct virtio_vstellar_db_attach - give the device its doorbell area
 * @addr: page aligned, readable and writable by the device
 * @npages: the kick bitmap's page and those of the slots, at least 2
 * @flags: zero
 */
struct virtio_vstellar_db_attach {
	__le64	addr;
	__le32	npages;
	__le32	flags;
};

/**
 * struct virtio_vstellar_db_attach_resp - answer to it
 * @nslots: slots in the area
 * @reserved: zero
 */
struct virtio_vstellar_db_attach_resp {
	__le32	nslots;
	__le32	reserved;
};

/* virtio_vstellar_cq_create.flags: the driver wants VIRTIO_VSTELLAR_EV_CQ_READY. */
#define VIRTIO_VSTELLAR_CQ_EVENTS	(1 << 0)

/**
 * struct virtio_vstellar_cq_create - a completion queue
 * @ring: page aligned, writable by the device, all in one mapping
 * @depth_log2: logarithm of the number of entries
 * @flags: VIRTIO_VSTELLAR_CQ_*
 * @db_slot: doorbell slot, not in use by another object
 * @cookie: returned in events
 */
struct virtio_vstellar_cq_create {
	__le64	ring;
	__le16	depth_log2;
	__le16	flags;
	__le32	db_slot;
	__le64	cookie;
};

/* Logarithms of the most entries that a ring of each kind may have: 2 MiB. */
#define VIRTIO_VSTELLAR_SQ_LOG2_MAX	15
#define VIRTIO_VSTELLAR_RQ_LOG2_MAX	16
#define VIRTIO_VSTELLAR_CQ_LOG2_MAX	16

/* virtio_vstellar_ep_create.type */
#define VIRTIO_VSTELLAR_EP_STREAM	1
#define VIRTIO_VSTELLAR_EP_MSG		2

/*
 * virtio_vstellar_ep_create.flags: this endpoint will only listen. It has no
 * rings, queues and slot: these fields are zero, db_slot is
 * VIRTIO_VSTELLAR_NO_SLOT.
 */
#define VIRTIO_VSTELLAR_EP_LISTENER	(1 << 0)

#define VIRTIO_VSTELLAR_NO_SLOT		0xffffffff

/**
 * struct virtio_vstellar_ep_create - an endpoint
 * @type: VIRTIO_VSTELLAR_EP_STREAM or VIRTIO_VSTELLAR_EP_MSG
 * @flags: VIRTIO_VSTELLAR_EP_LISTENER or zero
 * @send_cq: completion queue of the send queue
 * @recv_cq: completion queue of the receive queue, may be the same
 * @reserved: zero
 * @sq: ring of struct virtio_vstellar_sqe, page aligned, readable by the device
 * @rq: ring of struct virtio_vstellar_rqe, page aligned, readable by the device
 * @sq_log2: logarithm of the number of entries
 * @rq_log2: logarithm of the number of entries
 * @db_slot: doorbell slot, not in use by another object
 * @cookie: returned in events
 * @uid_tag: who owns it in the guest; told to the host's operator, decides nothing
 * @netns_tag: where in the guest; told to the host's operator, decides nothing
 *
 * The completion queues must have room for all entries of both rings.
 */
struct virtio_vstellar_ep_create {
	__le16	type;
	__le16	flags;
	__le32	send_cq;
	__le32	recv_cq;
	__le32	reserved;
	__le64	sq;
	__le64	rq;
	__le16	sq_log2;
	__le16	rq_log2;
	__le32	db_slot;
	__le64	cookie;
	__le32	uid_tag;
	__le32	netns_tag;
};

/* virtio_vstellar_addr.family */
#define VIRTIO_VSTELLAR_AF_INET6	1

/**
 * struct virtio_vstellar_addr - address of an endpoint
 * @family: VIRTIO_VSTELLAR_AF_INET6
 * @port: STrack port; zero lets the device choose
 * @scope: interface of a link-local address; zero
 * @addr: IPv6, or IPv4 as ::ffff:a.b.c.d; all zero is the device's own address
 */
struct virtio_vstellar_addr {
	__le16	family;
	__le16	port;
	__le32	scope;
	__u8	addr[16];
};

/**
 * struct virtio_vstellar_ep_listen - accept connections
 * @backlog: most connections that wait to be accepted, at least 1
 * @reserved: zero
 */
struct virtio_vstellar_ep_listen {
	__le32	backlog;
	__le32	reserved;
};

/**
 * struct virtio_vstellar_ep_connect - begin a connection
 * @peer: whereto
 * @timeout_ms: time that it may take; zero for the transport's own
 * @flags: zero
 */
struct virtio_vstellar_ep_connect {
	struct virtio_vstellar_addr	peer;
	__le32	timeout_ms;
	__le32	flags;
};

/**
 * struct virtio_vstellar_ep_accept - take a connection that waits
 * @endpoint: of the listener's type, just created, becomes that connection
 * @reserved: zero
 */
struct virtio_vstellar_ep_accept {
	__le32	endpoint;
	__le32	reserved;
};

/**
 * struct virtio_vstellar_ep_accept_resp - answer to it
 * @peer: who has connected
 * @local: to which address
 */
struct virtio_vstellar_ep_accept_resp {
	struct virtio_vstellar_addr	peer;
	struct virtio_vstellar_addr	local;
};

/* virtio_vstellar_ep_shutdown.how, numbered as for shutdown(2) */
#define VIRTIO_VSTELLAR_SHUT_RD		0
#define VIRTIO_VSTELLAR_SHUT_WR		1
#define VIRTIO_VSTELLAR_SHUT_RDWR	2
/* with VIRTIO_VSTELLAR_F_ZC: reset the connection, and tell when buffers are free */
#define VIRTIO_VSTELLAR_SHUT_ABORT	3

/**
 * struct virtio_vstellar_ep_shutdown - end one direction or both
 * @how: VIRTIO_VSTELLAR_SHUT_*; takes effect at once, whereas
 *	VIRTIO_VSTELLAR_OP_FIN ends the sending direction after the entries
 *	before it
 * @reserved: zero
 */
struct virtio_vstellar_ep_shutdown {
	__le32	how;
	__le32	reserved;
};

/* virtio_vstellar_ep_destroy.flags: reset the connection, send no remainder. */
#define VIRTIO_VSTELLAR_DESTROY_ABORT	(1 << 0)

/**
 * struct virtio_vstellar_ep_destroy - the endpoint goes away
 * @flags: VIRTIO_VSTELLAR_DESTROY_ABORT or zero
 * @reserved: zero
 */
struct virtio_vstellar_ep_destroy {
	__le32	flags;
	__le32	reserved;
};

/* Most bytes of an option's value. */
#define VIRTIO_VSTELLAR_OPT_MAX		64

/**
 * enum virtio_vstellar_opt - options of an endpoint
 * @VIRTIO_VSTELLAR_OPT_PROFILE: string, as STRACK_PROFILE (F_CC)
 * @VIRTIO_VSTELLAR_OPT_PATHS: __le32, as STRACK_PATHS (F_PATHS)
 * @VIRTIO_VSTELLAR_OPT_PATH_POLICY: string, as STRACK_PATH_POLICY (F_PATHS)
 * @VIRTIO_VSTELLAR_OPT_SNDBUF: __le32, as SO_SNDBUF
 * @VIRTIO_VSTELLAR_OPT_RCVBUF: __le32, as SO_RCVBUF
 * @VIRTIO_VSTELLAR_OPT_TCLASS: __le32, as IPV6_TCLASS, without the ECN bits
 * @VIRTIO_VSTELLAR_OPT_NODELAY: __le32, boolean, as STRACK_NODELAY
 * @VIRTIO_VSTELLAR_OPT_KEEPALIVE: __le32, boolean, as SO_KEEPALIVE
 * @VIRTIO_VSTELLAR_OPT_RTO_MIN: __le32, as STRACK_RTO_MIN
 *
 * A string has no terminating zero, its length is that of the value. A number
 * beyond what the host allows is clamped.
 */
enum virtio_vstellar_opt {
	VIRTIO_VSTELLAR_OPT_PROFILE	= 1,
	VIRTIO_VSTELLAR_OPT_PATHS	= 2,
	VIRTIO_VSTELLAR_OPT_PATH_POLICY	= 3,
	VIRTIO_VSTELLAR_OPT_SNDBUF	= 5,
	VIRTIO_VSTELLAR_OPT_RCVBUF	= 6,
	VIRTIO_VSTELLAR_OPT_TCLASS	= 7,
	VIRTIO_VSTELLAR_OPT_NODELAY	= 8,
	VIRTIO_VSTELLAR_OPT_KEEPALIVE	= 9,
	VIRTIO_VSTELLAR_OPT_RTO_MIN	= 11,
};

/**
 * struct virtio_vstellar_ep_opt - set or get an option
 * @option: enum virtio_vstellar_opt
 * @len: bytes of the value, which follows when it is set
 */
struct virtio_vstellar_ep_opt {
	__le32	option;
	__le32	len;
};

/**
 * enum virtio_vstellar_ep_state - state of an endpoint
 * @VIRTIO_VSTELLAR_EP_CREATED: as made
 * @VIRTIO_VSTELLAR_EP_BOUND: has an address
 * @VIRTIO_VSTELLAR_EP_LISTENING: takes connections
 * @VIRTIO_VSTELLAR_EP_CONNECTING: connects
 * @VIRTIO_VSTELLAR_EP_CONNECTED: payload may flow
 * @VIRTIO_VSTELLAR_EP_CLOSED: both directions have ended
 * @VIRTIO_VSTELLAR_EP_ERROR: failed; entries are completed as CANCELED
 */
enum virtio_vstellar_ep_state {
	VIRTIO_VSTELLAR_EP_CREATED	= 0,
	VIRTIO_VSTELLAR_EP_BOUND	= 1,
	VIRTIO_VSTELLAR_EP_LISTENING	= 2,
	VIRTIO_VSTELLAR_EP_CONNECTING	= 3,
	VIRTIO_VSTELLAR_EP_CONNECTED	= 4,
	VIRTIO_VSTELLAR_EP_CLOSED	= 5,
	VIRTIO_VSTELLAR_EP_ERROR	= 6,
};

/* Added to the state where it is told: what has ended in the connection. */
#define VIRTIO_VSTELLAR_EP_STATE_MASK	0xff
#define VIRTIO_VSTELLAR_EP_PEER_FIN	(1 << 8)
#define VIRTIO_VSTELLAR_EP_SENT_FIN	(1 << 9)

/**
 * struct virtio_vstellar_ep_query_resp - what an endpoint is at
 * @state: enum virtio_vstellar_ep_state with VIRTIO_VSTELLAR_EP_*_FIN
 * @error: enum virtio_vstellar_status that made it fail
 * @local: its address
 * @peer: the other end's
 * @tx_bytes: payload bytes taken from the send queue
 * @rx_bytes: payload bytes put into receive buffers
 * @paths: paths in use
 * @mss: most payload bytes of a packet
 * @srtt_ns: smoothed round-trip time
 * @retransmits: packets sent again
 */
struct virtio_vstellar_ep_query_resp {
	__le32	state;
	__le32	error;
	struct virtio_vstellar_addr	local;
	struct virtio_vstellar_addr	peer;
	__le64	tx_bytes;
	__le64	rx_bytes;
	__le32	paths;
	__le32	mss;
	__le64	srtt_ns;
	__le64	retransmits;
};

/* virtio_vstellar_mr_reg.access: what the memory may be used for. */
#define VIRTIO_VSTELLAR_MR_READ		(1 << 0)	/* the device sends from it */
#define VIRTIO_VSTELLAR_MR_WRITE	(1 << 1)	/* the device receives into it */
#define VIRTIO_VSTELLAR_MR_REMOTE_READ	(1 << 2)	/* the peer reads it, needs READ */
#define VIRTIO_VSTELLAR_MR_REMOTE_WRITE	(1 << 3)	/* the peer writes it, needs WRITE */

/* virtio_vstellar_mr_reg.flags */
#define VIRTIO_VSTELLAR_MR_LAZY		(1 << 0)	/* pin on first use */
#define VIRTIO_VSTELLAR_MR_TABLE	(1 << 1)	/* segments in a table of its own */

/* Most segments in a request, and in a table. */
#define VIRTIO_VSTELLAR_MR_SEGS_MAX	253
#define VIRTIO_VSTELLAR_MR_TABLE_MAX	4096

/**
 * struct virtio_vstellar_seg - a piece of memory
 * @addr: where it begins
 * @len: bytes, not zero
 */
struct virtio_vstellar_seg {
	__le64	addr;
	__le64	len;
};

/**
 * struct virtio_vstellar_mr_reg - a memory region
 * @va: address that work entries use for its first byte
 * @len: bytes, not zero; the sum of the segments
 * @access: VIRTIO_VSTELLAR_MR_READ and so on, not zero
 * @flags: VIRTIO_VSTELLAR_MR_LAZY, VIRTIO_VSTELLAR_MR_TABLE
 * @nseg: number of segments, at least 1
 * @reserved: zero
 *
 * Followed by that many struct virtio_vstellar_seg or, with
 * VIRTIO_VSTELLAR_MR_TABLE, by one that says where they are.
 */
struct virtio_vstellar_mr_reg {
	__le64	va;
	__le64	len;
	__le32	access;
	__le32	flags;
	__le32	nseg;
	__le32	reserved;
};

/**
 * struct virtio_vstellar_mr_reg_resp - answer to it
 * @lkey: key in the device's own work entries
 * @rkey: key for the peer; zero without remote access
 */
struct virtio_vstellar_mr_reg_resp {
	__le32	lkey;
	__le32	rkey;
};

/**
 * struct virtio_vstellar_mr_dereg - the memory region goes away
 * @lkey: its key
 * @reserved: zero
 */
struct virtio_vstellar_mr_dereg {
	__le32	lkey;
	__le32	reserved;
};

/* virtio_vstellar_mr_advise.advice */
#define VIRTIO_VSTELLAR_ADVISE_PREFETCH	1	/* pin it now */
#define VIRTIO_VSTELLAR_ADVISE_RELEASE	2	/* unpin what is not in use */

/**
 * struct virtio_vstellar_mr_advise - what will be used, and what will not
 * @lkey: memory region
 * @advice: VIRTIO_VSTELLAR_ADVISE_*
 * @offset: first byte, from the beginning of the region
 * @len: bytes, not zero
 */
struct virtio_vstellar_mr_advise {
	__le32	lkey;
	__le32	advice;
	__le64	offset;
	__le64	len;
};

/**
 * struct virtio_vstellar_stats - counters of the device since it was made
 * @commands: control commands answered
 * @refused: of these, with another status than OK
 * @kicks: notifications of the kick queue
 * @events: events written
 * @events_lost: times that there was no buffer for one
 * @entries: work entries taken
 * @completions: completions written
 * @tx_bytes: payload bytes sent
 * @rx_bytes: payload bytes received
 * @pin_hits: pieces of memory found in the map cache
 * @pin_misses: pieces that had to be pinned
 * @pin_failures: of these, those that could not be
 * @evictions: blocks unpinned to make room for others
 * @pinned: bytes pinned now
 * @pinned_peak: most bytes ever pinned
 * @connections: connections established, either way
 */
struct virtio_vstellar_stats {
	__le64	commands;
	__le64	refused;
	__le64	kicks;
	__le64	events;
	__le64	events_lost;
	__le64	entries;
	__le64	completions;
	__le64	tx_bytes;
	__le64	rx_bytes;
	__le64	pin_hits;
	__le64	pin_misses;
	__le64	pin_failures;
	__le64	evictions;
	__le64	pinned;
	__le64	pinned_peak;
	__le64	connections;
};

/*
 * Doorbell area
 * -------------
 *
 * The first page is the kick bitmap: bit n % 8 of byte n / 8 says that slot n
 * has something new. The other pages are slots. All indices run freely over 32
 * bits; entry i of a ring is at i modulo its depth.
 *
 * The driver writes entries, then (release) sq_pi or rq_pi; after a full
 * barrier it reads the device's sq_evt or rq_evt. If it has passed that,
 *
 *	(__u32)(new - evt - 1) < (__u32)(new - old)
 *
 * it sets the slot's bit and notifies the kick queue. The device writes
 * completions, then after a full barrier reads cq_arm and by the same rule
 * sends VIRTIO_VSTELLAR_EV_CQ_READY.
 */
#define VIRTIO_VSTELLAR_DB_STRIDE	128
#define VIRTIO_VSTELLAR_DB_SLOTS_MAX	(VIRTIO_VSTELLAR_PAGE_SIZE * 8)

/**
 * struct virtio_vstellar_slot - doorbell slot
 * @sq_pi: entries put into the send queue
 * @rq_pi: entries put into the receive queue
 * @cq_ci: completions taken
 * @cq_arm: index of the completion that an event is wanted for
 * @driver_reserved: zero
 * @sq_ci: send entries completed: their place and buffers are the driver's again
 * @rq_ci: receive entries completed
 * @sq_evt: value of @sq_pi beyond which the device wants a kick
 * @rq_evt: value of @rq_pi beyond which the device wants a kick
 * @ep_state: enum virtio_vstellar_ep_state with VIRTIO_VSTELLAR_EP_*_FIN
 * @error: enum virtio_vstellar_status of a failed endpoint or queue
 * @lost: completions that could not be written
 * @device_reserved: undefined
 *
 * The driver writes the first half and the device the second, a cache line
 * each.
 */
struct virtio_vstellar_slot {
	__le32	sq_pi;
	__le32	rq_pi;
	__le32	cq_ci;
	__le32	cq_arm;
	__u8	driver_reserved[48];
	__le32	sq_ci;
	__le32	rq_ci;
	__le32	sq_evt;
	__le32	rq_evt;
	__le32	ep_state;
	__le32	error;
	__le32	lost;
	__u8	device_reserved[36];
};

/*
 * Rings
 * -----
 */

/**
 * enum virtio_vstellar_op - operation of a send entry or a completion
 * @VIRTIO_VSTELLAR_OP_SEND: bytes of a stream, or of a message that goes on
 * @VIRTIO_VSTELLAR_OP_SEND_END: the same, and the message ends
 * @VIRTIO_VSTELLAR_OP_WRITE: write to the peer's memory
 * @VIRTIO_VSTELLAR_OP_WRITE_IMM: the same, and tell the peer
 * @VIRTIO_VSTELLAR_OP_READ: read from the peer's memory
 * @VIRTIO_VSTELLAR_OP_FIN: end the sending direction; has no segments
 * @VIRTIO_VSTELLAR_OP_RECV: of a completion: a receive entry
 */
enum virtio_vstellar_op {
	VIRTIO_VSTELLAR_OP_SEND		= 1,
	VIRTIO_VSTELLAR_OP_SEND_END	= 2,
	VIRTIO_VSTELLAR_OP_WRITE	= 3,
	VIRTIO_VSTELLAR_OP_WRITE_IMM	= 4,
	VIRTIO_VSTELLAR_OP_READ		= 5,
	VIRTIO_VSTELLAR_OP_FIN		= 6,
	VIRTIO_VSTELLAR_OP_RECV		= 0x80,
};

/* virtio_vstellar_sqe.flags */
#define VIRTIO_VSTELLAR_SQE_SIGNALED	(1 << 0)	/* complete it even if all is well */
#define VIRTIO_VSTELLAR_SQE_FENCE	(1 << 1)	/* not before earlier READs are done */
#define VIRTIO_VSTELLAR_SQE_MORE	(1 << 2)	/* more follows soon, as MSG_MORE */
#define VIRTIO_VSTELLAR_SQE_SOLICITED	(1 << 3)	/* the peer wants to be woken */

/* virtio_vstellar_sqe.nsge: segment 0 is a table of segments. */
#define VIRTIO_VSTELLAR_SGE_TABLE	255

/* virtio_vstellar_sge.lkey: the address is an IOVA, not one of a memory region. */
#define VIRTIO_VSTELLAR_LKEY_IOVA	0

/**
 * struct virtio_vstellar_sge - segment of a work entry
 * @addr: in the memory region of @lkey, or an IOVA
 * @len: bytes; for a table, its bytes
 * @lkey: memory region, or VIRTIO_VSTELLAR_LKEY_IOVA
 */
struct virtio_vstellar_sge {
	__le64	addr;
	__le32	len;
	__le32	lkey;
};

/**
 * struct virtio_vstellar_sqe - entry of a send queue
 * @op: enum virtio_vstellar_op
 * @flags: VIRTIO_VSTELLAR_SQE_*
 * @nsge: segments in @sge, 0 to 2, or VIRTIO_VSTELLAR_SGE_TABLE
 * @reserved: zero
 * @imm: for the peer, with WRITE_IMM; else zero
 * @wr_id: returned in the completion
 * @remote_addr: of WRITE and READ; else zero
 * @rkey: of WRITE and READ; else zero
 * @total_len: sum of the segments' lengths
 * @sge: segments; those not in use are zero
 */
struct virtio_vstellar_sqe {
	__u8	op;
	__u8	flags;
	__u8	nsge;
	__u8	reserved;
	__le32	imm;
	__le64	wr_id;
	__le64	remote_addr;
	__le32	rkey;
	__le32	total_len;
	struct virtio_vstellar_sge	sge[2];
};

/**
 * struct virtio_vstellar_rqe - entry of a receive queue
 * @wr_id: returned in the completion
 * @sge: one buffer, not empty
 * @reserved: zero
 */
struct virtio_vstellar_rqe {
	__le64	wr_id;
	struct virtio_vstellar_sge	sge;
	__le64	reserved;
};

/* virtio_vstellar_cqe.flags */
#define VIRTIO_VSTELLAR_CQE_PHASE	(1 << 0)	/* 1 in the first turn, then 0, then 1 */
#define VIRTIO_VSTELLAR_CQE_MSG_END	(1 << 1)	/* a message ends here */
#define VIRTIO_VSTELLAR_CQE_IMM		(1 << 2)	/* imm is valid */
#define VIRTIO_VSTELLAR_CQE_FIN		(1 << 3)	/* the peer's direction has ended */

/**
 * struct virtio_vstellar_cqe - entry of a completion queue
 * @wr_id: that of the work entry
 * @byte_len: bytes sent or received
 * @status: enum virtio_vstellar_status
 * @op: enum virtio_vstellar_op
 * @flags: VIRTIO_VSTELLAR_CQE_*; written last, after all other fields
 * @ep: handle of the endpoint
 * @imm: from the peer's WRITE_IMM
 * @reserved: zero
 *
 * A receive entry of a stream completes as soon as it has any byte. The end of
 * the stream takes one, with no bytes and VIRTIO_VSTELLAR_CQE_FIN.
 */
struct virtio_vstellar_cqe {
	__le64	wr_id;
	__le32	byte_len;
	__le16	status;
	__u8	op;
	__u8	flags;
	__le32	ep;
	__le32	imm;
	__le64	reserved;
};

/*
 * Event virtqueue
 * ---------------
 *
 * The driver posts buffers of one struct virtio_vstellar_event each.
 */

/**
 * enum virtio_vstellar_event_type - what has happened
 * @VIRTIO_VSTELLAR_EV_CQ_READY: a completion queue has passed cq_arm
 * @VIRTIO_VSTELLAR_EV_EP_STATE: an endpoint's state has changed; arg is the
 *	state as in virtio_vstellar_slot.ep_state, the error in its upper half
 * @VIRTIO_VSTELLAR_EV_ACCEPT: a connection waits; the next event comes when
 *	VIRTIO_VSTELLAR_CMD_EP_ACCEPT was answered with AGAIN since
 * @VIRTIO_VSTELLAR_EV_PATHS: reserved: the paths of an endpoint have changed
 * @VIRTIO_VSTELLAR_EV_QUOTA: reserved: memory could not be pinned within the quota
 * @VIRTIO_VSTELLAR_EV_TRANSPORT_RESET: reserved: all endpoints are gone; to a driver
 *	that is the same as FATAL
 * @VIRTIO_VSTELLAR_EV_FATAL: the device has to be reset
 *
 * Those that are reserved are not sent by the device of vstellar.ko.
 */
enum virtio_vstellar_event_type {
	VIRTIO_VSTELLAR_EV_CQ_READY		= 1,
	VIRTIO_VSTELLAR_EV_EP_STATE		= 2,
	VIRTIO_VSTELLAR_EV_ACCEPT		= 3,
	VIRTIO_VSTELLAR_EV_PATHS		= 4,
	VIRTIO_VSTELLAR_EV_QUOTA		= 5,
	VIRTIO_VSTELLAR_EV_TRANSPORT_RESET	= 6,
	VIRTIO_VSTELLAR_EV_FATAL		= 7,
};

/**
 * struct virtio_vstellar_event - one event
 * @type: enum virtio_vstellar_event_type
 * @flags: zero
 * @handle: object it is about, or zero
 * @cookie: the driver's, of that object
 * @arg: by @type
 * @seq: counts the events of the device
 * @lost: times that there was no buffer, since the last event
 *
 * An event that finds no buffer waits with its object, and the same event of
 * the same object waits only once.
 */
struct virtio_vstellar_event {
	__le16	type;
	__le16	flags;
	__le32	handle;
	__le64	cookie;
	__le64	arg;
	__le32	seq;
	__le32	lost;
};

#endif /* _UAPI_LINUX_VIRTIO_VSTELLAR_H */
