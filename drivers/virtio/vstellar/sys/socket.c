// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets of the driver: how they begin and end, what happens to them, and the calls
 * that need no peer.
 *
 * A socket keeps its struct sock until its endpoint is gone. close(2) does not wait
 * for what was sent: if the device has not taken all of it, the socket lives on
 * without a file, and its endpoint is taken away when the end of the stream was taken,
 * or after a minute. A socket whose program has not read all, or has chosen not to
 * linger, resets its connection, as with TCP.
 *
 * Memory that the device sends from (F_ZC) keeps its endpoint, and the endpoint a socket
 * without a file, until no packet has any of it, however long that takes: how many there
 * are is limited by the device, and so is their memory.
 */
#include <linux/capability.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "guest.h"

/* How long what was sent may wait for the device after close(2), before it is reset. */
#define VSG_LINGER	(60 * HZ)

struct workqueue_struct *vsg_wq;

struct proto vsg_proto = {
	.name		= "STRACK-virtio",
	.owner		= THIS_MODULE,
	.obj_size	= sizeof(struct vsg_sock),
};

/* Lets one of the socket's works run. The caller has a reference; so has the work. */
void vsg_work_later(struct vsg_sock *vs, struct delayed_work *work, unsigned long delay)
{
	sock_hold(&vs->sk);
	/* it had one already if it was pending */
	if (mod_delayed_work(vsg_wq, work, delay))
		sock_put(&vs->sk);
}

/* --- what happens to a socket --------------------------------------------- */

static void vsg_progress(struct vsg_sock *vs)
{
	if (wq_has_sleeper(&vs->progress))
		wake_up(&vs->progress);
}

/* A connection attempt has succeeded; @closed: and both directions have ended. */
void vsg_sock_connected(struct vsg_sock *vs, bool closed)
{
	struct sock *sk = &vs->sk;

	spin_lock_bh(&vs->lock);
	if (closed)
		WRITE_ONCE(sk->sk_state, TCP_CLOSE);
	else if (sk->sk_state == TCP_SYN_SENT)
		WRITE_ONCE(sk->sk_state, TCP_ESTABLISHED);
	spin_unlock_bh(&vs->lock);
	sk->sk_state_change(sk);
	vsg_sock_sent(vs);
}

/* The first reason is the one that a program is told, once. */
void vsg_sock_failed(struct vsg_sock *vs, int err)
{
	struct sock *sk = &vs->sk;
	bool first;

	spin_lock_bh(&vs->lock);
	first = !vs->failed;
	if (first) {
		WRITE_ONCE(vs->failed, true);
		WRITE_ONCE(sk->sk_err, err);
		/* whoever sees the end sees the reason */
		smp_wmb();
		WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
		WRITE_ONCE(sk->sk_state, TCP_CLOSE);
	}
	if (vs->reaping && vsg_done_with(vs))
		vsg_work_later(vs, &vs->reap, 0);
	spin_unlock_bh(&vs->lock);
	vsg_progress(vs);
	if (!first)
		return;
	sk->sk_state_change(sk);
	sk_error_report(sk);
}

/* The peer has ended its direction. */
void vsg_sock_ended(struct vsg_sock *vs)
{
	struct sock *sk = &vs->sk;

	spin_lock_bh(&vs->lock);
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | RCV_SHUTDOWN);
	spin_unlock_bh(&vs->lock);
	sk->sk_state_change(sk);
}

/* There is something to be read, or the end. */
void vsg_sock_received(struct vsg_sock *vs)
{
	vs->sk.sk_data_ready(&vs->sk);
}

void vsg_sock_sent(struct vsg_sock *vs)
{
	struct sock *sk = &vs->sk;
	struct socket *sock;
	bool done;

	spin_lock_bh(&vs->lock);
	done = vs->queues && vsg_done_with(vs);
	if (done && vs->reaping)
		vsg_work_later(vs, &vs->reap, 0);
	spin_unlock_bh(&vs->lock);
	vsg_progress(vs);
	/* close() lingers until then, and asks for no room */
	if (done)
		sk->sk_state_change(sk);
	/* room first, then a look at the flag: see vsg_want_room() in payload.c */
	smp_mb();
	rcu_read_lock();
	sock = READ_ONCE(sk->sk_socket);
	if (sock && test_and_clear_bit(SOCK_NOSPACE, &sock->flags))
		sk->sk_write_space(sk);
	rcu_read_unlock();
}

static void vsg_write_space(struct sock *sk)
{
	struct socket_wq *wq;

	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_poll(&wq->wait, EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND);
	sk_wake_async_rcu(sk, SOCK_WAKE_SPACE, POLL_OUT);
	rcu_read_unlock();
}

/*
 * Sleeps until @ready says so, which finds in vs->wanted what this caller, and no other
 * who waits, wants of it; without the socket lock. 0, -EAGAIN (time is up), the errno of
 * an interrupted call, or -EPIPE if the socket was disconnected meanwhile.
 */
int vsg_wait_for(struct vsg_sock *vs, long *timeo, bool (*ready)(struct vsg_sock *vs), u32 wanted)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sock *sk = &vs->sk;
	int disconnects = sk->sk_disconnects;
	int err = 0;

	add_wait_queue(sk_sleep(sk), &wait);
	for (;;) {
		vs->wanted = wanted;
		if (ready(vs))
			break;
		if (!*timeo) {
			err = -EAGAIN;
			break;
		}
		if (signal_pending(current)) {
			err = sock_intr_errno(*timeo);
			break;
		}
		release_sock(sk);
		*timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
		lock_sock(sk);
		if (sk->sk_disconnects != disconnects) {
			err = -EPIPE;
			break;
		}
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return err;
}

/* --- end ------------------------------------------------------------------ */

static void vsg_reap(struct work_struct *work)
{
	struct vsg_sock *vs = container_of(to_delayed_work(work), struct vsg_sock, reap);
	struct sock *sk = &vs->sk;

	lock_sock(sk);
	if (vsg_endpoint_abort(vs))
		vsg_reap_later(vs);
	else
		vsg_endpoint_close(vs, false);
	release_sock(sk);
	sock_put(sk);
}

/* The endpoint of a socket that nobody has is taken away when it is done with. */
void vsg_reap_later(struct vsg_sock *vs)
{
	spin_lock_bh(&vs->lock);
	vs->reaping = true;
	vsg_work_later(vs, &vs->reap, vsg_done_with(vs) ? 0 : VSG_LINGER);
	spin_unlock_bh(&vs->lock);
}

static bool vsg_unread(struct vsg_sock *vs)
{
	bool unread;

	spin_lock_bh(&vs->lock);
	unread = vs->queues && vsg_recv_readable(vs->queues);
	spin_unlock_bh(&vs->lock);
	return unread;
}

/* Nothing of what was sent is waited for any more. */
static bool vsg_ready_finished(struct vsg_sock *vs)
{
	return READ_ONCE(vs->failed) || vsg_send_is_finished(vs);
}

static bool vsg_is_done(struct vsg_sock *vs)
{
	bool done;

	spin_lock_bh(&vs->lock);
	done = vsg_done_with(vs);
	spin_unlock_bh(&vs->lock);
	return done;
}

static void vsg_close(struct vsg_sock *vs)
{
	struct sock *sk = &vs->sk;
	bool linger = sock_flag(sk, SOCK_LINGER);
	long timeo = sk->sk_lingertime;

	if (vs->phase != VSG_ACTIVE || !vs->queues || READ_ONCE(vs->failed) ||
	    READ_ONCE(sk->sk_state) == TCP_SYN_SENT || vsg_unread(vs) || (linger && !timeo)) {
		/* the device may have to let go of what it sends from */
		if (vsg_endpoint_abort(vs))
			vsg_reap_later(vs);
		else
			vsg_endpoint_close(vs, true);
		return;
	}
	spin_lock_bh(&vs->lock);
	vsg_push_fin(vs);
	spin_unlock_bh(&vs->lock);
	if (linger && !(current->flags & PF_EXITING))
		vsg_wait(vs, &timeo, vsg_ready_finished);
	if (vsg_is_done(vs))
		vsg_endpoint_close(vs, false);
	else
		vsg_reap_later(vs);
}

static int vsg_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct vsg_sock *vs;

	if (!sk)
		return 0;
	vs = vsg_sk(sk);
	lock_sock(sk);
	/* nothing is to be left of it */
	vs->bound_by_user = false;
	if (vs->phase == VSG_LISTENING)
		vsg_unlisten(vs);
	vsg_close(vs);
	sock_orphan(sk);
	release_sock(sk);
	sock->sk = NULL;
	sock_put(sk);
	return 0;
}

/* A connection that nobody has accepted, or an endpoint that none came to. */
void vsg_abandon(struct vsg_sock *vs)
{
	struct sock *sk = &vs->sk;

	/* beside that of the listener, which is what the caller has */
	lock_sock_nested(sk, SINGLE_DEPTH_NESTING);
	vsg_endpoint_close(vs, true);
	release_sock(sk);
	sock_set_flag(sk, SOCK_DEAD);
	sock_put(sk);
}

static void vsg_destruct(struct sock *sk)
{
	struct vsg_sock *vs = vsg_sk(sk);

	kref_put(&vs->dev->ref, vsg_device_free);
}

/* --- beginning ------------------------------------------------------------ */

static void vsg_sock_init(struct vsg_sock *vs, struct vsg_device *dev)
{
	memset((void *)vs + sizeof(vs->sk), 0, sizeof(*vs) - sizeof(vs->sk));
	spin_lock_init(&vs->lock);
	init_waitqueue_head(&vs->progress);
	INIT_LIST_HEAD(&vs->children);
	INIT_LIST_HEAD(&vs->sibling);
	INIT_DELAYED_WORK(&vs->accept_work, vsg_accept_work);
	INIT_DELAYED_WORK(&vs->reap, vsg_reap);
	kref_get(&dev->ref);
	vs->dev = dev;
}

/*
 * A socket for a connection that comes in, or for an endpoint that is left: as @parent was
 * set, without a file.
 */
struct vsg_sock *vsg_child_new(struct vsg_sock *parent)
{
	struct sock *sk = sk_clone(&parent->sk, GFP_KERNEL_ACCOUNT, false);
	struct vsg_sock *child;

	if (!sk)
		return NULL;
	child = vsg_sk(sk);
	vsg_sock_init(child, parent->dev);
	child->phase = VSG_ACTIVE;
	child->told = true;
	child->v6only = parent->v6only;
	sk->sk_state = TCP_ESTABLISHED;
	sk->sk_shutdown = 0;
	sk->sk_ack_backlog = 0;
	sk->sk_max_ack_backlog = 0;
	/* SO_COOKIE is the socket's own */
	atomic64_set(&sk->sk_cookie, 0);
	/* it has been given one more reference, for a table of sockets */
	sock_put(sk);
	return child;
}

static const struct proto_ops vsg_stream_ops;

void vsg_child_graft(struct vsg_sock *child, struct socket *newsock)
{
	sock_graft(&child->sk, newsock);
	newsock->ops = &vsg_stream_ops;
	newsock->state = SS_CONNECTED;
}

static int vsg_create(struct strack_provider *provider, struct net *net, struct socket *sock,
		      int family)
{
	struct vsg_device *dev = container_of(provider, struct vsg_device, provider);
	struct sock *sk;

	sk = sk_alloc(net, family, GFP_KERNEL_ACCOUNT, &vsg_proto, 0);
	if (!sk)
		return -ENOBUFS;
	sock_init_data(sock, sk);
	sk->sk_type = SOCK_STREAM;
	sk->sk_state = TCP_CLOSE;
	sk->sk_write_space = vsg_write_space;
	vsg_sock_init(vsg_sk(sk), dev);
	sk->sk_destruct = vsg_destruct;
	sock->state = SS_UNCONNECTED;
	sock->ops = &vsg_stream_ops;
	return 0;
}

const struct strack_provider_ops vsg_provider_ops = {
	.create	= vsg_create,
};

/* --- addresses ------------------------------------------------------------ */

bool vsg_is_v4(const struct virtio_vstellar_addr *addr)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)addr->addr);
}

bool vsg_is_any(const struct virtio_vstellar_addr *addr)
{
	const struct in6_addr *in6 = (const struct in6_addr *)addr->addr;

	return ipv6_addr_any(in6) || (ipv6_addr_v4mapped(in6) && !in6->s6_addr32[3]);
}

/*
 * What a program gave as an address. 1 for AF_UNSPEC. An interface cannot be named:
 * those of the device's host are not the program's.
 */
int vsg_address(struct vsg_sock *vs, const struct sockaddr_unsized *uaddr, int len,
		struct virtio_vstellar_addr *addr)
{
	struct sockaddr_strack sst = {};

	if (len < (int)sizeof(sst.sst_family))
		return -EINVAL;
	memcpy(&sst, uaddr, min_t(size_t, len, sizeof(sst)));
	if (sst.sst_family == AF_UNSPEC)
		return 1;
	if (len < (int)offsetofend(struct sockaddr_strack, sst_addr))
		return -EINVAL;
	if (sst.sst_family != vs->sk.sk_family)
		return -EAFNOSUPPORT;
	if (sst.sst_scope_id)
		return -EINVAL;
	*addr = (struct virtio_vstellar_addr) {
		.family = cpu_to_le16(VIRTIO_VSTELLAR_AF_INET6),
		.port = cpu_to_le16(ntohs(sst.sst_port)),
	};
	memcpy(addr->addr, sst.sst_addr, sizeof(addr->addr));
	return 0;
}

static int vsg_getname(struct socket *sock, struct sockaddr *uaddr, int peer)
{
	struct vsg_sock *vs = vsg_sk(sock->sk);
	struct sockaddr_strack *sst = (struct sockaddr_strack *)uaddr;
	struct virtio_vstellar_addr addr;
	struct sock *sk = sock->sk;
	bool known = true;
	u8 state;

	lock_sock(sk);
	state = READ_ONCE(sk->sk_state);
	/* accept() wants to know even if the connection has ended meanwhile */
	if (peer && (vs->phase != VSG_ACTIVE || (peer == 1 && state != TCP_ESTABLISHED))) {
		release_sock(sk);
		return -ENOTCONN;
	}
	if (peer)
		addr = vs->peer;
	else
		known = vsg_endpoint_name(vs, &addr);
	memset(sst, 0, sizeof(*sst));
	sst->sst_family = sk->sk_family;
	if (known) {
		sst->sst_port = htons(le16_to_cpu(addr.port));
		memcpy(sst->sst_addr, addr.addr, sizeof(sst->sst_addr));
	}
	release_sock(sk);
	return sizeof(*sst);
}

/* --- shutdown(), options -------------------------------------------------- */

static int vsg_shutdown_active(struct vsg_sock *vs, int how)
{
	struct sock *sk = &vs->sk;
	u8 state = READ_ONCE(sk->sk_state);

	if (state == TCP_SYN_SENT) {
		/* the attempt is given up */
		vsg_sock_failed(vs, ECONNRESET);
		return 0;
	}
	if (state == TCP_CLOSE)
		return -ENOTCONN;
	spin_lock_bh(&vs->lock);
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | how);
	if (how & SEND_SHUTDOWN && vs->queues)
		vsg_push_fin(vs);
	spin_unlock_bh(&vs->lock);
	sk->sk_state_change(sk);
	return 0;
}

static int vsg_shutdown(struct socket *sock, int how)
{
	struct vsg_sock *vs = vsg_sk(sock->sk);
	int err;

	if (how < SHUT_RD || how > SHUT_RDWR)
		return -EINVAL;
	/* the numbers plus one are RCV_SHUTDOWN, SEND_SHUTDOWN and both */
	how++;
	lock_sock(sock->sk);
	switch (vs->phase) {
	case VSG_ACTIVE:
		err = vsg_shutdown_active(vs, how);
		break;
	case VSG_LISTENING:
		err = 0;
		if (how & RCV_SHUTDOWN)
			vsg_unlisten(vs);
		break;
	default:
		err = -ENOTCONN;
	}
	release_sock(sock->sk);
	return err;
}

/*
 * The device's options are not passed on yet, only those are there that need none: the
 * host's sockets send small packets at once, which is what STRACK_NODELAY asks for.
 */
static int vsg_setsockopt(struct socket *sock, int level, int name, sockptr_t val,
			  unsigned int len)
{
	struct vsg_sock *vs = vsg_sk(sock->sk);
	int value, err = 0;

	if (!(level == SOL_STRACK && name == STRACK_NODELAY) &&
	    !(level == SOL_IPV6 && name == IPV6_V6ONLY))
		return -ENOPROTOOPT;
	if (len < sizeof(value))
		return -EINVAL;
	if (copy_from_sockptr(&value, val, sizeof(value)))
		return -EFAULT;
	lock_sock(sock->sk);
	if (level == SOL_STRACK)
		err = value ? 0 : -EOPNOTSUPP;
	else if (vs->phase != VSG_IDLE || vs->bound)
		err = -EINVAL;
	else
		vs->v6only = value;
	release_sock(sock->sk);
	return err;
}

static int vsg_getsockopt(struct socket *sock, int level, int name, sockopt_t *opt)
{
	struct vsg_sock *vs = vsg_sk(sock->sk);
	int value;

	if (level == SOL_STRACK && name == STRACK_NODELAY)
		value = 1;
	else if (level == SOL_IPV6 && name == IPV6_V6ONLY)
		value = READ_ONCE(vs->v6only);
	else
		return -ENOPROTOOPT;
	if (opt->optlen < 0)
		return -EINVAL;
	opt->optlen = min_t(int, opt->optlen, sizeof(value));
	if (copy_to_iter(&value, opt->optlen, &opt->iter_out) != opt->optlen)
		return -EFAULT;
	return 0;
}

/* --- tables --------------------------------------------------------------- */

static const struct proto_ops vsg_stream_ops = {
	.owner		= THIS_MODULE,
	.release	= vsg_release,
	.bind		= vsg_bind,
	.connect	= vsg_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= vsg_accept,
	.getname	= vsg_getname,
	.poll		= vsg_poll,
	.ioctl		= vsg_ioctl,
	.gettstamp	= sock_gettstamp,
	.listen		= vsg_listen,
	.shutdown	= vsg_shutdown,
	.setsockopt	= vsg_setsockopt,
	.getsockopt_iter = vsg_getsockopt,
	.sendmsg	= vsg_sendmsg,
	.recvmsg	= vsg_recvmsg,
	.mmap		= sock_no_mmap,
};

int vsg_sockets_init(void)
{
	int err;

	vsg_wq = alloc_workqueue("virtio_vstellar", WQ_UNBOUND, 0);
	if (!vsg_wq)
		return -ENOMEM;
	err = proto_register(&vsg_proto, 1);
	if (err)
		destroy_workqueue(vsg_wq);
	return err;
}

/* No socket is left, so nothing is queued any more; but the last one may be at its end. */
void vsg_sockets_exit(void)
{
	destroy_workqueue(vsg_wq);
	proto_unregister(&vsg_proto);
}
