// SPDX-License-Identifier: GPL-2.0
/*
 * sendmsg(), recvmsg(), poll(): payload, which needs no command, and no kick while
 * the device is at work.
 *
 * Bytes are copied once, between the program and the socket's block, with the socket
 * lock alone: what is free to be written stays free, and what was received stays
 * there, until its holder says otherwise.
 */
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/sockios.h>
#include <linux/uio.h>

#include <asm/ioctls.h>

#include "guest.h"

/* --- room ----------------------------------------------------------------- */

/* With vs->lock. Entries that were not signalled are seen to be complete here. */
static void vsg_catch_up(struct vsg_sock *vs)
{
	vsg_send_catch_up(vs->queues, le32_to_cpu(READ_ONCE(vs->doorbell->sq_ci)));
}

/* As with TCP, so is a socket that was never connected: writing says why not. */
static bool vsg_writable(struct vsg_sock *vs)
{
	bool writable = true;

	spin_lock_bh(&vs->lock);
	if (vs->queues) {
		vsg_catch_up(vs);
		writable = vsg_send_writable(vs->queues);
	}
	spin_unlock_bh(&vs->lock);
	return writable;
}

/* A writer found no room: the next completion wakes it. Pairs with vsg_sock_sent(). */
static void vsg_want_room(struct sock *sk)
{
	if (sk->sk_socket) {
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	}
	/* flag first, then another look at the room */
	smp_mb__after_atomic();
}

static bool vsg_room_ready(struct vsg_sock *vs)
{
	struct sock *sk = &vs->sk;

	vsg_want_room(sk);
	return READ_ONCE(sk->sk_err) || READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN ||
	       vsg_writable(vs);
}

/* --- sendmsg() ------------------------------------------------------------ */

static bool vsg_connected(struct vsg_sock *vs)
{
	return READ_ONCE(vs->sk.sk_state) != TCP_SYN_SENT;
}

/* Waits for a connection attempt that is under way. As in TCP, without one that is EPIPE. */
static int vsg_wait_connected(struct vsg_sock *vs, long *timeo)
{
	int err = sock_error(&vs->sk);

	if (err)
		return err;
	if (vs->phase != VSG_ACTIVE)
		return -EPIPE;
	if (vsg_connected(vs))
		return 0;
	return vsg_wait(vs, timeo, vsg_connected) ?: sock_error(&vs->sk);
}

/* Why nothing can be sent, if that is so. With @progress the error is left to the next call. */
static int vsg_send_check(struct sock *sk, bool progress)
{
	int err;

	if (progress && READ_ONCE(sk->sk_err))
		return -EPIPE;
	err = sock_error(sk);
	if (err)
		return err;
	return READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN ? -EPIPE : 0;
}

/*
 * Sends at most @left bytes. How many, zero if there is no room, or an errno.
 *
 * What fits now is described as one: the device, told that more of a write follows, fills
 * its packets up. It is told so only if there is room for what follows, and if that can be
 * read, as it may otherwise be a while.
 */
static int vsg_send_some(struct vsg_sock *vs, struct msghdr *msg, size_t left, bool more)
{
	struct virtio_vstellar_sqe *ring = vs->block.mem + VSG_SQ;
	u32 offset, len, made, room;
	size_t next;
	bool pushed;

	/* comes and goes with the socket lock */
	if (!vs->queues)
		return -EPIPE;
	spin_lock_bh(&vs->lock);
	vsg_catch_up(vs);
	len = vsg_send_room(vs->queues, &offset, &room);
	spin_unlock_bh(&vs->lock);
	if (!len)
		return 0;
	len = min_t(size_t, len, left);
	if (!copy_from_iter_full(vsg_send_memory(vs) + offset, len, &msg->msg_iter))
		return -EFAULT;
	next = min_t(size_t, left, room) - len;
	more |= next && !fault_in_iov_iter_readable(&msg->msg_iter, next);
	spin_lock_bh(&vs->lock);
	made = vsg_send_made(vs->queues);
	pushed = vsg_send_push(vs->queues, len, more, &ring[made % VSG_SQ_DEPTH]);
	if (pushed)
		vsg_ring_send(vs, made);
	spin_unlock_bh(&vs->lock);
	return pushed ? len : -EPIPE;
}

static int vsg_send_all(struct vsg_sock *vs, struct msghdr *msg, size_t len, size_t *sent)
{
	long timeo = sock_sndtimeo(&vs->sk, msg->msg_flags & MSG_DONTWAIT);
	bool more = msg->msg_flags & MSG_MORE;
	int err, n;

	err = vsg_wait_connected(vs, &timeo);
	if (!err)
		/* also for who sends nothing */
		err = vsg_send_check(&vs->sk, false);
	while (!err && *sent < len) {
		n = vsg_send_some(vs, msg, len - *sent, more);
		if (n < 0)
			return n;
		*sent += n;
		if (!n)
			err = vsg_wait(vs, &timeo, vsg_room_ready);
		if (!err)
			err = vsg_send_check(&vs->sk, *sent > 0);
	}
	return err;
}

int vsg_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk;
	struct sockcm_cookie cookie;
	size_t sent = 0;
	int err;

	if (msg->msg_flags & (MSG_OOB | MSG_FASTOPEN))
		return -EOPNOTSUPP;
	if (msg->msg_controllen) {
		sockcm_init(&cookie, sk);
		err = sock_cmsg_send(sk, msg, &cookie);
		if (err)
			return err;
	}
	len = min_t(size_t, len, INT_MAX);
	lock_sock(sk);
	err = vsg_send_all(vsg_sk(sk), msg, len, &sent);
	if (sent)
		err = sent;
	else if (err == -EPIPE)
		/* what ended the connection says more than that it has ended */
		err = sock_error(sk) ?: -EPIPE;
	release_sock(sk);
	if (err == -EPIPE && !(msg->msg_flags & MSG_NOSIGNAL))
		send_sig(SIGPIPE, current, 0);
	return err;
}

/* --- recvmsg() ------------------------------------------------------------ */

/* Whether a reader who waits for @target bytes should look. */
static bool vsg_readable(struct vsg_sock *vs, u32 target)
{
	bool readable = false;

	spin_lock_bh(&vs->lock);
	if (vs->queues)
		/* what there is has to do if nothing more comes before it was read */
		readable = vsg_recv_readable(vs->queues) >= target || vsg_recv_stuck(vs->queues);
	spin_unlock_bh(&vs->lock);
	return readable;
}

static bool vsg_recv_over(struct sock *sk)
{
	return READ_ONCE(sk->sk_err) || READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN;
}

static bool vsg_recv_ready(struct vsg_sock *vs)
{
	return vsg_recv_over(&vs->sk) || vsg_readable(vs, vs->wanted);
}

/* Bytes behind the next @skip, and where they are in the block. */
static u32 vsg_peek(struct vsg_sock *vs, u32 skip, u32 *offset)
{
	u32 len = 0;

	spin_lock_bh(&vs->lock);
	if (vs->queues)
		len = vsg_recv_peek(vs->queues, skip, offset);
	spin_unlock_bh(&vs->lock);
	return len;
}

static void vsg_consume(struct vsg_sock *vs, u32 len)
{
	spin_lock_bh(&vs->lock);
	if (vs->queues) {
		vsg_recv_consume(vs->queues, len);
		vsg_post_receives(vs);
	}
	spin_unlock_bh(&vs->lock);
}

/* Copies what is there. With MSG_PEEK nothing is taken away. */
static int vsg_recv_some(struct vsg_sock *vs, struct msghdr *msg, size_t len, int flags,
			 size_t *done)
{
	u32 offset, n;

	while (*done < len) {
		n = vsg_peek(vs, flags & MSG_PEEK ? *done : 0, &offset);
		if (!n)
			return 0;
		n = min_t(size_t, n, len - *done);
		if (!(flags & MSG_TRUNC)) {
			size_t copied = copy_to_iter(vs->block.mem + VSG_RX + offset, n,
						     &msg->msg_iter);

			if (copied < n)
				return -EFAULT;
		}
		*done += n;
		if (!(flags & MSG_PEEK))
			vsg_consume(vs, n);
	}
	return 0;
}

static int vsg_recv_all(struct vsg_sock *vs, struct msghdr *msg, size_t len, int flags,
			size_t *done)
{
	struct sock *sk = &vs->sk;
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	size_t target = sock_rcvlowat(sk, flags & MSG_WAITALL, len);
	u32 skip, offset;
	int err;

	for (;;) {
		err = vsg_recv_some(vs, msg, len, flags, done);
		if (err || *done >= target)
			return err;
		if (!len && vsg_readable(vs, 1))
			return 0;
		/* what was only looked at is still there */
		skip = flags & MSG_PEEK ? *done : 0;
		if (vsg_recv_over(sk)) {
			/* it may have come just before the end */
			if (vsg_peek(vs, skip, &offset))
				continue;
			return *done ? 0 : sock_error(sk);
		}
		if (vs->phase != VSG_ACTIVE)
			return -ENOTCONN;
		if (skip && vsg_readable(vs, U32_MAX))
			return 0; /* nothing comes beside what was looked at */
		err = vsg_wait_for(vs, &timeo, vsg_recv_ready, skip + 1);
		if (err)
			return err;
	}
}

int vsg_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	struct sock *sk = sock->sk;
	struct vsg_sock *vs = vsg_sk(sk);
	size_t done = 0;
	int err;

	/* nothing is ever queued there */
	if (flags & MSG_ERRQUEUE)
		return -EAGAIN;
	len = min_t(size_t, len, INT_MAX);
	lock_sock(sk);
	if (vs->phase != VSG_ACTIVE)
		err = -ENOTCONN;
	else if (flags & MSG_OOB)
		err = -EOPNOTSUPP;
	else
		err = vsg_recv_all(vs, msg, len, flags, &done);
	release_sock(sk);
	/* a stream does not say where its bytes come from */
	msg->msg_namelen = 0;
	return done ?: err;
}

/* --- poll(), ioctl() ------------------------------------------------------ */

__poll_t vsg_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	struct sock *sk = sock->sk;
	struct vsg_sock *vs = vsg_sk(sk);
	__poll_t mask = 0;
	u8 state, shutdown;

	sock_poll_wait(file, sock, wait);
	state = READ_ONCE(sk->sk_state);
	shutdown = READ_ONCE(sk->sk_shutdown);
	if (state == TCP_LISTEN) {
		if (READ_ONCE(sk->sk_ack_backlog))
			mask |= EPOLLIN | EPOLLRDNORM;
		goto error;
	}
	if (shutdown == SHUTDOWN_MASK || state == TCP_CLOSE)
		mask |= EPOLLHUP;
	if (shutdown & RCV_SHUTDOWN)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (state != TCP_SYN_SENT) {
		if (vsg_readable(vs, sock_rcvlowat(sk, 0, INT_MAX)))
			mask |= EPOLLIN | EPOLLRDNORM;
		if (shutdown & SEND_SHUTDOWN || vsg_writable(vs)) {
			mask |= EPOLLOUT | EPOLLWRNORM;
		} else {
			/* ask to be woken, then look again: room may have come in between */
			vsg_want_room(sk);
			if (vsg_writable(vs))
				mask |= EPOLLOUT | EPOLLWRNORM;
		}
	}
error:
	/* pairs with vsg_sock_failed() */
	smp_rmb();
	if (READ_ONCE(sk->sk_err))
		mask |= EPOLLERR;
	return mask;
}

int vsg_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct vsg_sock *vs = vsg_sk(sock->sk);
	int value = 0;

	if (cmd != TIOCINQ && cmd != TIOCOUTQ)
		return -ENOIOCTLCMD;
	if (READ_ONCE(sock->sk->sk_state) == TCP_LISTEN)
		return -EINVAL;
	spin_lock_bh(&vs->lock);
	if (vs->queues && cmd == TIOCINQ) {
		value = vsg_recv_readable(vs->queues);
	} else if (vs->queues) {
		vsg_catch_up(vs);
		value = vsg_send_used(vs->queues);
	}
	spin_unlock_bh(&vs->lock);
	return put_user(value, (int __user *)arg);
}
