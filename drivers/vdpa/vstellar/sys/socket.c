// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets of a device; see socket.h. They are told apart from those of programs by
 * nothing but who made them: the transport has no interface of its own for this.
 *
 * A socket is watched as poll(2) does it, by an entry in its wait queue, and what is
 * woken is the device's work.
 */
#include <linux/bvec.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/timer.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "../../../../include/uapi/linux/strack.h"

#include "loan.h"
#include "socket.h"
#include "vdpa.h"

static int family = AF_ECONET;
module_param(family, int, 0444);
MODULE_PARM_DESC(family, "address family number of AF_STRACK, as strack.ko has it (default 19)");

struct vstellar_socket {
	struct socket *sock;
	struct vstellar_vdpa *vs; /* stays longer: a device that goes has closed its sockets */
	wait_queue_entry_t wait;
	struct timer_list timer;
	unsigned long flags; /* SOCKET_*, atomic */
};

/* bits of vstellar_socket.flags: something has happened, and the time is over */
#define SOCKET_WOKEN	0
#define SOCKET_EXPIRED	1

/* Any context. */
static void vstellar_socket_alert(struct vstellar_socket *socket)
{
	/* who has set it has called for a round, which clears it before it looks */
	if (!test_and_set_bit(SOCKET_WOKEN, &socket->flags))
		vstellar_c_work_queue(socket->vs);
}

/* Any context, with the wait queue's lock held. */
static int vstellar_socket_wake(wait_queue_entry_t *wait, unsigned int mode, int sync, void *key)
{
	struct vstellar_socket *socket = container_of(wait, struct vstellar_socket, wait);

	vstellar_socket_alert(socket);
	return 0;
}

/* Softirq. */
static void vstellar_socket_expire(struct timer_list *timer)
{
	struct vstellar_socket *socket = timer_container_of(socket, timer, timer);

	set_bit(SOCKET_EXPIRED, &socket->flags);
	vstellar_socket_alert(socket);
}

/* Takes over @sock. */
static struct vstellar_socket *vstellar_socket_watch(struct socket *sock, struct vstellar_vdpa *vs)
{
	struct vstellar_socket *socket = kzalloc_obj(*socket, GFP_KERNEL | __GFP_NOWARN);

	if (!socket) {
		sock_release(sock);
		return NULL;
	}
	socket->sock = sock;
	socket->vs = vs;
	timer_setup(&socket->timer, vstellar_socket_expire, 0);
	init_waitqueue_func_entry(&socket->wait, vstellar_socket_wake);
	add_wait_queue(&sock->wq.wait, &socket->wait);
	/* whatever has happened before; the round that makes a socket looks at it */
	set_bit(SOCKET_WOKEN, &socket->flags);
	return socket;
}

int vstellar_c_socket_new(struct net *net, struct vstellar_vdpa *vs, struct vstellar_socket **out)
{
	struct socket *sock;
	int err = sock_create_kern(net, family, SOCK_STREAM, 0, &sock);

	if (err)
		return err;
	*out = vstellar_socket_watch(sock, vs);
	return *out ? 0 : -ENOMEM;
}

void vstellar_c_socket_close(struct vstellar_socket *socket, bool abort)
{
	/* nobody is in there when this returns: the wait queue's lock was held around it */
	remove_wait_queue(&socket->sock->wq.wait, &socket->wait);
	timer_shutdown_sync(&socket->timer);
	if (abort)
		sock_no_linger(socket->sock->sk);
	sock_release(socket->sock);
	kfree(socket);
}

/* --- addresses ----------------------------------------------------------- */

static struct sockaddr_strack vstellar_sockaddr(const struct vstellar_address *address)
{
	struct sockaddr_strack sst = {
		.sst_family = family, .sst_port = htons(address->port),
	};

	memcpy(sst.sst_addr, address->ip, sizeof(sst.sst_addr));
	return sst;
}

int vstellar_c_socket_bind(struct vstellar_socket *socket, const struct vstellar_address *local)
{
	struct sockaddr_strack sst = vstellar_sockaddr(local);

	return kernel_bind(socket->sock, (struct sockaddr_unsized *)&sst, sizeof(sst));
}

int vstellar_c_socket_connect(struct vstellar_socket *socket, const struct vstellar_address *peer)
{
	struct sockaddr_strack sst = vstellar_sockaddr(peer);

	return kernel_connect(socket->sock, (struct sockaddr_unsized *)&sst, sizeof(sst), O_NONBLOCK);
}

int vstellar_c_socket_name(struct vstellar_socket *socket, bool peer,
			   struct vstellar_address *address)
{
	union {
		struct sockaddr_storage storage;
		struct sockaddr_strack sst;
	} u;
	int len;

	if (peer)
		len = kernel_getpeername(socket->sock, (struct sockaddr *)&u.storage);
	else
		len = kernel_getsockname(socket->sock, (struct sockaddr *)&u.storage);
	if (len < 0)
		return len;
	memcpy(address->ip, u.sst.sst_addr, sizeof(address->ip));
	address->port = ntohs(u.sst.sst_port);
	return 0;
}

/* --- connections --------------------------------------------------------- */

int vstellar_c_socket_listen(struct vstellar_socket *socket, int backlog)
{
	return kernel_listen(socket->sock, backlog);
}

int vstellar_c_socket_accept(struct vstellar_socket *socket, struct vstellar_socket **accepted)
{
	struct socket *sock;
	int err = kernel_accept(socket->sock, &sock, O_NONBLOCK);

	if (err)
		return err;
	*accepted = vstellar_socket_watch(sock, socket->vs);
	return *accepted ? 0 : -ENOMEM;
}

int vstellar_c_socket_shutdown(struct vstellar_socket *socket, int how)
{
	return kernel_sock_shutdown(socket->sock, how);
}

int vstellar_c_socket_abort(struct vstellar_socket *socket)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	return kernel_connect(socket->sock, (struct sockaddr_unsized *)&none, sizeof(none), 0);
}

bool vstellar_c_socket_woken(struct vstellar_socket *socket)
{
	/* most have not, and are asked often; who sets it calls for another round afterwards */
	return test_bit(SOCKET_WOKEN, &socket->flags) &&
	       test_and_clear_bit(SOCKET_WOKEN, &socket->flags);
}

u32 vstellar_c_socket_poll(struct vstellar_socket *socket)
{
	return (__force u32)socket->sock->ops->poll(NULL, socket->sock, NULL);
}

int vstellar_c_socket_error(struct vstellar_socket *socket)
{
	return sock_error(socket->sock->sk);
}

/* --- options ------------------------------------------------------------- */

int vstellar_c_socket_set_option(struct vstellar_socket *socket, int level, int name,
				 const void *value, int len)
{
	return do_sock_setsockopt(socket->sock, false, level, name,
				  KERNEL_SOCKPTR((void *)value), len);
}

int vstellar_c_socket_option(struct vstellar_socket *socket, int level, int name, void *value,
			     int *len)
{
	return do_sock_getsockopt(socket->sock, false, level, name, KERNEL_SOCKPTR(value),
				  KERNEL_SOCKPTR(len));
}

/* --- time ---------------------------------------------------------------- */

void vstellar_c_socket_expire_in(struct vstellar_socket *socket, unsigned int ms)
{
	mod_timer(&socket->timer, jiffies + msecs_to_jiffies(ms));
}

bool vstellar_c_socket_expired(struct vstellar_socket *socket)
{
	return test_bit(SOCKET_EXPIRED, &socket->flags);
}

/* --- payload ------------------------------------------------------------- */

/* The same memory as the rest of the kernel has it. */
static const struct bio_vec *vstellar_bvec(const struct vstellar_piece *pieces)
{
	static_assert(sizeof(struct vstellar_piece) == sizeof(struct bio_vec));
	static_assert(offsetof(struct vstellar_piece, page) == offsetof(struct bio_vec, bv_page));
	static_assert(offsetof(struct vstellar_piece, len) == offsetof(struct bio_vec, bv_len));
	static_assert(offsetof(struct vstellar_piece, offset) ==
		      offsetof(struct bio_vec, bv_offset));
	return (const struct bio_vec *)pieces;
}

static ssize_t vstellar_send(struct vstellar_socket *socket, const struct vstellar_piece *pieces,
			     unsigned int nr, size_t len, bool more, struct vstellar_loan *loan)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0),
	};

	if (loan) {
		msg.msg_flags |= MSG_SPLICE_PAGES | MSG_ZEROCOPY;
		msg.msg_ubuf = vstellar_loan_ubuf(loan);
	}
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, vstellar_bvec(pieces), nr, len);
	return sock_sendmsg(socket->sock, &msg);
}

ssize_t vstellar_c_socket_send(struct vstellar_socket *socket, const struct vstellar_piece *pieces,
			       unsigned int nr, size_t len, bool more,
			       struct vstellar_loan *loan)
{
	ssize_t n = vstellar_send(socket, pieces, nr, len, more, loan);

	if (n != -EAGAIN)
		return n;
	set_bit(SOCK_NOSPACE, &socket->sock->flags);
	/* ask to be woken, then look once more: there may be room by now */
	smp_mb__after_atomic();
	return vstellar_send(socket, pieces, nr, len, more, loan);
}

/*
 * A piece is copied to as a whole: pages of a folio lie behind each other in the kernel's
 * addresses, where a bio_vec would be taken page by page.
 */
ssize_t vstellar_c_socket_recv(struct vstellar_socket *socket, const struct vstellar_piece *pieces,
			       unsigned int nr, size_t len)
{
	struct kvec vec[VSTELLAR_PIECES_MAX];
	struct msghdr msg = {};

	BUILD_BUG_ON(IS_ENABLED(CONFIG_HIGHMEM));
	if (nr > ARRAY_SIZE(vec))
		return -EINVAL;
	for (unsigned int i = 0; i < nr; i++) {
		vec[i].iov_base = page_address(pieces[i].page) + pieces[i].offset;
		vec[i].iov_len = pieces[i].len;
	}
	iov_iter_kvec(&msg.msg_iter, ITER_DEST, vec, nr, len);
	return sock_recvmsg(socket->sock, &msg, MSG_DONTWAIT);
}
