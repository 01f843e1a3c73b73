/* SPDX-License-Identifier: GPL-2.0 */
/*
 * AF_STRACK sockets of a device, in the namespace that was assigned to it. Nothing
 * here waits for a peer. Process context.
 */
#ifndef _VSTELLAR_SOCKET_H
#define _VSTELLAR_SOCKET_H

#include <linux/types.h>

#include "area.h"

struct net;
struct vstellar_loan;
struct vstellar_socket;
struct vstellar_vdpa;

/* An address: IPv6, or IPv4 as ::ffff:a.b.c.d. */
struct vstellar_address {
	u8 ip[16];
	u16 port;
};

int vstellar_c_socket_new(struct net *net, struct vstellar_vdpa *vs,
			  struct vstellar_socket **socket);
/* with @abort without sending what is left; the device is not called any more */
void vstellar_c_socket_close(struct vstellar_socket *socket, bool abort);

int vstellar_c_socket_bind(struct vstellar_socket *socket, const struct vstellar_address *local);
int vstellar_c_socket_listen(struct vstellar_socket *socket, int backlog);
/* -EINPROGRESS as a rule */
int vstellar_c_socket_connect(struct vstellar_socket *socket, const struct vstellar_address *peer);
/* -EAGAIN if no connection waits */
int vstellar_c_socket_accept(struct vstellar_socket *socket, struct vstellar_socket **accepted);
/* @how: SHUT_RD and so on */
int vstellar_c_socket_shutdown(struct vstellar_socket *socket, int how);
/* resets the connection, and is unconnected then */
int vstellar_c_socket_abort(struct vstellar_socket *socket);
int vstellar_c_socket_name(struct vstellar_socket *socket, bool peer,
			   struct vstellar_address *address);

/*
 * As setsockopt(2) and getsockopt(2); @len is that of @value, and becomes that of what was
 * got
 */
int vstellar_c_socket_set_option(struct vstellar_socket *socket, int level, int name,
				 const void *value, int len);
int vstellar_c_socket_option(struct vstellar_socket *socket, int level, int name, void *value,
			     int *len);
/* has the device's work queued in @ms, once; and whether that time is over */
void vstellar_c_socket_expire_in(struct vstellar_socket *socket, unsigned int ms);
bool vstellar_c_socket_expired(struct vstellar_socket *socket);

/* pieces of memory that a call receives into, at most */
#define VSTELLAR_PIECES_MAX	64

/*
 * -EAGAIN if there is no room, or nothing there: the device's work is queued when there is.
 * With @loan, packets refer to the pages themselves.
 */
ssize_t vstellar_c_socket_send(struct vstellar_socket *socket, const struct vstellar_piece *pieces,
			       unsigned int nr, size_t len, bool more,
			       struct vstellar_loan *loan);
ssize_t vstellar_c_socket_recv(struct vstellar_socket *socket, const struct vstellar_piece *pieces,
			       unsigned int nr, size_t len);

/* whether something has happened since the last call */
bool vstellar_c_socket_woken(struct vstellar_socket *socket);
/* what poll(2) would say */
u32 vstellar_c_socket_poll(struct vstellar_socket *socket);
/* why it has failed, once */
int vstellar_c_socket_error(struct vstellar_socket *socket);

#endif /* _VSTELLAR_SOCKET_H */
