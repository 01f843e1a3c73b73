/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What Rust offers to C (sys/entry.rs): the queues of a socket, and the reader of a
 * completion queue. And what C offers to Rust: the driver's registration.
 *
 * The functions touch no shared memory: they fill in entries, which C makes known,
 * and take the copy of a completion. Calls for one object exclude each other.
 */
#ifndef _VIRTIO_VSTELLAR_QUEUES_H
#define _VIRTIO_VSTELLAR_QUEUES_H

#include <linux/types.h>

struct vsg_queues;
struct vsg_reader;

/**
 * struct vsg_completion - a completion
 * @wr_id: key of the socket, and the number of the entry below it
 * @len: bytes
 * @status: enum virtio_vstellar_status
 * @receive: of a receive entry
 * @fin: the stream has ended
 */
struct vsg_completion {
	u64 wr_id;
	u32 len;
	u16 status;
	bool receive;
	bool fin;
};

/* What it offers has to be known here: C has the memory. */
#define VSG_SQ_DEPTH	64u
#define VSG_RQ_DEPTH	8u

/* @tx_bytes of bytes to send at the device's address @tx, buffers of @rx_bytes each at @rx. */
struct vsg_queues *vsg_queues_new(u32 key, u64 tx, u32 tx_bytes, u64 rx, u32 rx_bytes);
void vsg_queues_free(struct vsg_queues *queues);

/* Bytes that can be filled at once, where, and how many in all; zero if there is no room. */
u32 vsg_send_room(const struct vsg_queues *queues, u32 *offset, u32 *all);
/* Entries made so far; the next one goes to this place, modulo the depth. */
u32 vsg_send_made(const struct vsg_queues *queues);
/* Fills in @entry; false if there is no room. */
bool vsg_send_push(struct vsg_queues *queues, u32 len, bool more,
		   struct virtio_vstellar_sqe *entry);
bool vsg_send_push_fin(struct vsg_queues *queues, struct virtio_vstellar_sqe *entry);
/*
 * The first @done are complete: so says a completion, or the doorbell. One may be
 * behind the other, and what cannot be is ignored.
 */
void vsg_send_catch_up(struct vsg_queues *queues, u32 done);
u32 vsg_send_used(const struct vsg_queues *queues);
bool vsg_send_writable(const struct vsg_queues *queues);
bool vsg_send_has_fin(const struct vsg_queues *queues);
bool vsg_send_finished(const struct vsg_queues *queues);
/* All entries are complete. */
bool vsg_send_idle(const struct vsg_queues *queues);

/* As with the send queue. */
u32 vsg_recv_posted(const struct vsg_queues *queues);
/* Whether it is time to post what is free. */
bool vsg_recv_should_post(const struct vsg_queues *queues);
bool vsg_recv_post(struct vsg_queues *queues, struct virtio_vstellar_rqe *entry);
bool vsg_recv_fill(struct vsg_queues *queues, u32 number, u32 len);
u32 vsg_recv_readable(const struct vsg_queues *queues);
/* Whether nothing more comes before some of it was read. */
bool vsg_recv_stuck(const struct vsg_queues *queues);
/* Bytes behind the next @skip, and where they are; zero if there are none. */
u32 vsg_recv_peek(const struct vsg_queues *queues, u32 skip, u32 *offset);
void vsg_recv_consume(struct vsg_queues *queues, u32 len);

struct vsg_reader *vsg_reader_new(u32 log2);
void vsg_reader_free(struct vsg_reader *reader);
u32 vsg_reader_taken(const struct vsg_reader *reader);
/* Whether the entry that is next was written, by the 16 bits of its op and flags. */
bool vsg_reader_is_new(const struct vsg_reader *reader, u16 op_and_flags);
/* Takes the copy of that entry. */
void vsg_reader_take(struct vsg_reader *reader, const struct virtio_vstellar_cqe *entry,
		     struct vsg_completion *completion);

/* Whether an index that went from @old to @new has passed @event. */
bool vsg_passed(u32 event, u32 old, u32 new);

/* offered by virtio.c */
int vsg_c_register(void);
void vsg_c_unregister(void);

#endif /* _VIRTIO_VSTELLAR_QUEUES_H */
