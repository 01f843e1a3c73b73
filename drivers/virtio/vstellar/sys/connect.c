// SPDX-License-Identifier: GPL-2.0
/*
 * bind(), connect(), listen() and accept().
 *
 * A listener has an endpoint without queues unless it was bound first, when nobody
 * knew. Connections that come are taken from the device by work, into sockets of
 * their own: poll(2) can then say without a command whether accept(2) finds one. As
 * many wait here as the program's backlog says; the others wait with the device.
 */
#include <linux/capability.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <net/inet_sock.h>
#include <net/ip.h>

#include "guest.h"

/* When there is a connection, and nothing to accept it with: how long until it is tried again. */
#define VSG_RETRY	(HZ / 10)

/* --- bind() --------------------------------------------------------------- */

static int vsg_bind_locked(struct vsg_sock *vs, const struct virtio_vstellar_addr *addr)
{
	struct net *net = sock_net(&vs->sk);
	u16 port = le16_to_cpu(addr->port);
	int err;

	if (vs->phase != VSG_IDLE || vs->bound || (vs->v6only && vsg_is_v4(addr)))
		return -EINVAL;
	if (port && inet_port_requires_bind_service(net, port) &&
	    !ns_capable(net->user_ns, CAP_NET_BIND_SERVICE))
		return -EACCES;
	err = vsg_endpoint_open(vs, false);
	if (err)
		return err;
	err = vsg_endpoint_bind(vs, addr);
	if (err)
		vsg_endpoint_close(vs, true);
	else
		vs->bound_by_user = true;
	return err;
}

int vsg_bind(struct socket *sock, struct sockaddr_unsized *uaddr, int len)
{
	struct vsg_sock *vs = vsg_sk(sock->sk);
	struct virtio_vstellar_addr addr;
	int err;

	err = vsg_address(vs, uaddr, len, &addr);
	if (err)
		return err > 0 ? -EAFNOSUPPORT : err;
	lock_sock(sock->sk);
	err = vsg_bind_locked(vs, &addr);
	release_sock(sock->sk);
	return err;
}

/* --- connect() ------------------------------------------------------------ */

/*
 * Makes the socket what it was before connect() or listen(): what bind() has given it
 * remains, with an endpoint that is new, if it still can be had. If something was sent,
 * vsg_endpoint_leave() comes before this.
 */
static void vsg_undo(struct vsg_sock *vs)
{
	struct virtio_vstellar_addr local = vs->local;
	struct sock *sk = &vs->sk;

	/* whoever waits for something of the connection learns that it is gone */
	sk->sk_disconnects++;
	vsg_endpoint_close(vs, true);
	vs->phase = VSG_IDLE;
	vs->told = false;
	spin_lock_bh(&vs->lock);
	vs->failed = false;
	WRITE_ONCE(sk->sk_shutdown, 0);
	WRITE_ONCE(sk->sk_state, TCP_CLOSE);
	spin_unlock_bh(&vs->lock);
	if (!vs->bound_by_user)
		return;
	vs->bound_by_user = false;
	if (vsg_endpoint_open(vs, false))
		return;
	if (vsg_endpoint_bind(vs, &local))
		vsg_endpoint_close(vs, true);
	else
		vs->bound_by_user = true;
}

static int vsg_connect_start(struct vsg_sock *vs, const struct virtio_vstellar_addr *peer)
{
	struct virtio_vstellar_ep_connect connect = { .peer = *peer };
	struct sock *sk = &vs->sk;
	int err;

	if (vs->v6only && vsg_is_v4(peer))
		return -ENETUNREACH;
	if (!peer->port)
		return -EINVAL;
	if (vs->bound && !vsg_is_any(&vs->local) && vsg_is_v4(&vs->local) != vsg_is_v4(peer))
		return -EINVAL;
	err = vs->key ? 0 : vsg_endpoint_open(vs, false);
	if (err)
		return err;
	vs->phase = VSG_ACTIVE;
	vs->told = false;
	vs->peer = *peer;
	/* before the device is asked: its answer may come first */
	WRITE_ONCE(sk->sk_state, TCP_SYN_SENT);
	WRITE_ONCE(sk->sk_shutdown, 0);
	err = vsg_command(vs->dev, VIRTIO_VSTELLAR_CMD_EP_CONNECT, &vs->handle, &connect,
			  sizeof(connect), NULL, 0);
	if (err)
		vsg_undo(vs);
	return err;
}

static bool vsg_connect_ready(struct vsg_sock *vs)
{
	return READ_ONCE(vs->sk.sk_state) != TCP_SYN_SENT;
}

/* The outcome of a connection attempt is known: tell it, once. */
static int vsg_connect_finish(struct vsg_sock *vs)
{
	int err;

	if (!READ_ONCE(vs->failed)) {
		vs->told = true;
		return 0;
	}
	err = vsg_endpoint_leave(vs);
	if (err)
		return err;
	err = sock_error(&vs->sk);
	vsg_undo(vs);
	/* the program may have fetched the error with SO_ERROR */
	return err ?: -ECONNABORTED;
}

static int vsg_disconnect(struct vsg_sock *vs)
{
	int err;

	if (vs->phase == VSG_LISTENING) {
		vsg_unlisten(vs);
		return 0;
	}
	if (vs->phase == VSG_ACTIVE) {
		err = vsg_endpoint_leave(vs);
		if (err)
			return err;
		vsg_undo(vs);
	}
	sock_error(&vs->sk);
	return 0;
}

static int vsg_connect_locked(struct vsg_sock *vs, const struct virtio_vstellar_addr *peer,
			      bool nonblock)
{
	bool first = vs->phase == VSG_IDLE;
	long timeo;
	int err;

	if (vs->phase == VSG_LISTENING || vs->told)
		return -EISCONN;
	if (first) {
		err = vsg_connect_start(vs, peer);
		if (err)
			return err;
	}
	if (!vsg_connect_ready(vs)) {
		timeo = sock_sndtimeo(&vs->sk, nonblock);
		if (!timeo)
			return first ? -EINPROGRESS : -EALREADY;
		err = vsg_wait(vs, &timeo, vsg_connect_ready);
		/* time is up, but the attempt goes on */
		if (err == -EAGAIN)
			return first ? -EINPROGRESS : -EALREADY;
		if (err)
			return err;
	} else if (first && nonblock) {
		/* decided already, but a program expects to be told later */
		return -EINPROGRESS;
	}
	return vsg_connect_finish(vs);
}

int vsg_connect(struct socket *sock, struct sockaddr_unsized *uaddr, int len, int flags)
{
	struct vsg_sock *vs = vsg_sk(sock->sk);
	struct virtio_vstellar_addr peer;
	int err;

	err = vsg_address(vs, uaddr, len, &peer);
	if (err < 0)
		return err;
	lock_sock(sock->sk);
	if (err)
		err = vsg_disconnect(vs);
	else
		err = vsg_connect_locked(vs, &peer, flags & O_NONBLOCK);
	release_sock(sock->sk);
	return err;
}

/* --- listen() ------------------------------------------------------------- */

static int vsg_listen_start(struct vsg_sock *vs, int backlog)
{
	const struct virtio_vstellar_addr any = {
		.family = cpu_to_le16(VIRTIO_VSTELLAR_AF_INET6),
	};
	struct virtio_vstellar_ep_listen listen = { .backlog = cpu_to_le32(max(backlog, 1)) };
	int err;

	if (!vs->key) {
		err = vsg_endpoint_open(vs, true);
		if (!err)
			err = vsg_endpoint_bind(vs, &any);
		if (err)
			goto close;
	}
	err = vsg_command(vs->dev, VIRTIO_VSTELLAR_CMD_EP_LISTEN, &vs->handle, &listen,
			  sizeof(listen), NULL, 0);
	if (!err)
		return 0;
close:
	/* a listener remains what it is */
	if (vs->key && !vs->bound_by_user && vs->phase == VSG_IDLE)
		vsg_endpoint_close(vs, true);
	return err;
}

int vsg_listen(struct socket *sock, int backlog)
{
	struct vsg_sock *vs = vsg_sk(sock->sk);
	struct sock *sk = sock->sk;
	int err;

	/* a negative backlog is a large one, as everywhere */
	backlog = backlog < 0 ? U16_MAX : min(backlog, U16_MAX);
	lock_sock(sk);
	err = -EINVAL;
	if (vs->phase == VSG_ACTIVE)
		goto out;
	err = vsg_listen_start(vs, backlog);
	if (err)
		goto out;
	vs->phase = VSG_LISTENING;
	WRITE_ONCE(sk->sk_max_ack_backlog, backlog);
	spin_lock_bh(&vs->lock);
	/* the device may have gone since it has answered, and who sleeps was told so */
	if (!vs->failed) {
		WRITE_ONCE(sk->sk_shutdown, 0);
		WRITE_ONCE(sk->sk_state, TCP_LISTEN);
	}
	spin_unlock_bh(&vs->lock);
	/* some may have come before it was known where to put them */
	vsg_work_later(vs, &vs->accept_work, 0);
out:
	release_sock(sk);
	return err;
}

/* --- accept() ------------------------------------------------------------- */

static struct vsg_sock *vsg_child_pop(struct vsg_sock *vs)
{
	struct vsg_sock *child;

	spin_lock_bh(&vs->lock);
	child = list_first_entry_or_null(&vs->children, struct vsg_sock, sibling);
	if (child) {
		list_del_init(&child->sibling);
		sk_acceptq_removed(&vs->sk);
	}
	spin_unlock_bh(&vs->lock);
	return child;
}

/*
 * A socket with an endpoint, for a connection. It is made by a worker, but paid for by the
 * listener's cgroup. NULL and an errno if there is none.
 */
static struct vsg_sock *vsg_child_open(struct vsg_sock *vs, int *err)
{
	struct mem_cgroup *old = set_active_memcg(mem_cgroup_from_sk(&vs->sk));
	struct vsg_sock *child = vsg_child_new(vs);

	*err = -ENOMEM;
	if (child) {
		lock_sock_nested(&child->sk, SINGLE_DEPTH_NESTING);
		*err = vsg_endpoint_open(child, false);
		release_sock(&child->sk);
	}
	set_active_memcg(old);
	if (child && *err) {
		vsg_abandon(child);
		child = NULL;
	}
	return child;
}

/* A connection of the device's, with a socket of its own. NULL and an errno if there is none. */
static struct vsg_sock *vsg_take_connection(struct vsg_sock *vs, int *err)
{
	struct virtio_vstellar_ep_accept accept = {};
	struct virtio_vstellar_ep_accept_resp resp;
	struct vsg_sock *child = vs->spare;

	vs->spare = NULL;
	if (!child)
		child = vsg_child_open(vs, err);
	if (!child)
		return NULL;
	accept.endpoint = cpu_to_le32(child->handle);
	*err = vsg_command(vs->dev, VIRTIO_VSTELLAR_CMD_EP_ACCEPT, &vs->handle, &accept,
			   sizeof(accept), &resp, sizeof(resp));
	if (*err == -EAGAIN) {
		/* the next one is accepted without having to make it first */
		vs->spare = child;
		return NULL;
	}
	if (*err) {
		/* its endpoint may be of no use */
		vsg_abandon(child);
		return NULL;
	}
	child->peer = resp.peer;
	child->name = resp.local;
	child->named = true;
	return child;
}

/* The device's listener does not know of IPV6_V6ONLY. */
static bool vsg_is_unwanted(struct vsg_sock *vs, struct vsg_sock *child)
{
	return vs->v6only && vsg_is_v4(&child->peer);
}

/* The device has a connection, or has had one when there was no place for it here. */
void vsg_accept_work(struct work_struct *work)
{
	struct vsg_sock *vs = container_of(to_delayed_work(work), struct vsg_sock, accept_work);
	struct sock *sk = &vs->sk;
	struct vsg_sock *child;
	int err = 0;

	lock_sock(sk);
	while (vs->phase == VSG_LISTENING && !sk_acceptq_is_full(sk)) {
		child = vsg_take_connection(vs, &err);
		if (!child)
			break;
		if (vsg_is_unwanted(vs, child)) {
			/* nothing bounds how many there are: others get the lock in between */
			vsg_abandon(child);
			vsg_work_later(vs, &vs->accept_work, 0);
			break;
		}
		spin_lock_bh(&vs->lock);
		list_add_tail(&child->sibling, &vs->children);
		sk_acceptq_added(sk);
		spin_unlock_bh(&vs->lock);
		sk->sk_data_ready(sk);
	}
	/* after AGAIN an event follows, whether there was none or they were too many a second */
	if (err && err != -ENETDOWN && err != -EAGAIN && !READ_ONCE(vs->failed))
		vsg_work_later(vs, &vs->accept_work, VSG_RETRY);
	release_sock(sk);
	sock_put(sk);
}

static bool vsg_accept_ready(struct vsg_sock *vs)
{
	return READ_ONCE(vs->sk.sk_ack_backlog) || vs->phase != VSG_LISTENING ||
	       READ_ONCE(vs->failed);
}

int vsg_accept(struct socket *sock, struct socket *newsock, struct proto_accept_arg *arg)
{
	struct vsg_sock *vs = vsg_sk(sock->sk), *child = NULL;
	struct sock *sk = sock->sk;
	bool full;
	long timeo;
	int err;

	lock_sock(sk);
	timeo = sock_rcvtimeo(sk, arg->flags & O_NONBLOCK);
	for (;;) {
		full = sk_acceptq_is_full(sk);
		err = -EINVAL;
		if (vs->phase != VSG_LISTENING)
			break;
		err = sock_error(sk);
		if (err)
			break;
		child = vsg_child_pop(vs);
		if (child)
			break;
		err = READ_ONCE(vs->failed) ? -ENETDOWN : vsg_wait(vs, &timeo, vsg_accept_ready);
		/* it stopped listening, as in the next turn */
		if (err == -EPIPE)
			err = -EINVAL;
		if (err)
			break;
	}
	/* there may be one that had no place here */
	if (child && full)
		vsg_work_later(vs, &vs->accept_work, 0);
	release_sock(sk);
	if (!child)
		return err;
	lock_sock_nested(&child->sk, SINGLE_DEPTH_NESTING);
	vsg_child_graft(child, newsock);
	release_sock(&child->sk);
	return 0;
}

/* Stops listening: who waits for accept() is reset. The port stays if bind() has chosen it. */
void vsg_unlisten(struct vsg_sock *vs)
{
	struct sock *sk = &vs->sk;
	struct vsg_sock *child;

	while ((child = vsg_child_pop(vs)))
		vsg_abandon(child);
	if (vs->spare)
		vsg_abandon(vs->spare);
	vs->spare = NULL;
	vsg_undo(vs);
	sk->sk_state_change(sk);
}
