// SPDX-License-Identifier: GPL-2.0
/*
 * What exists of struct sock only inline or as a macro, and the wrappers of
 * locks, timers and copies that go with it. See sys/sock.rs.
 */
#include <linux/hrtimer.h>
#include <linux/poll.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <net/addrconf.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "family.h"

/*
 * From here on accounted memory is charged to the cgroup of @sk, if it is in
 * one, instead of that of the calling process. Returns what is to be given to
 * strack_c_memcg_leave().
 */
struct mem_cgroup *strack_c_memcg_enter(const struct sock *sk)
{
	return set_active_memcg(mem_cgroup_from_sk(sk));
}

void strack_c_memcg_leave(struct mem_cgroup *old)
{
	set_active_memcg(old);
}

void strack_c_sk_orphan(struct sock *sk)
{
	sock_orphan(sk);
}

void strack_c_sk_lock(struct sock *sk)
{
	lock_sock(sk);
}

void strack_c_sk_release(struct sock *sk)
{
	release_sock(sk);
}

void strack_c_sk_hold(struct sock *sk)
{
	sock_hold(sk);
}

void strack_c_sk_put(struct sock *sk)
{
	sock_put(sk);
}

void *strack_c_sk_inner(const struct sock *sk)
{
	return ((const struct strack_sock *)sk)->inner;
}

void strack_c_sk_set_inner(struct sock *sk, void *inner)
{
	((struct strack_sock *)sk)->inner = inner;
}

bool strack_c_sk_flag(const struct sock *sk, int flag)
{
	return sock_flag(sk, flag);
}

int strack_c_sk_check_control(struct sock *sk, struct msghdr *msg)
{
	struct sockcm_cookie sockc;

	if (!msg->msg_controllen)
		return 0;
	sockcm_init(&sockc, sk);
	return sock_cmsg_send(sk, msg, &sockc);
}

/* A writer found no room: the next acknowledgement that makes some wakes it. */
void strack_c_sk_nospace_set(struct sock *sk)
{
	if (sk->sk_socket) {
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	}
	/* flag first, then another look at the room: see strack_c_sk_wake_write() */
	smp_mb__after_atomic();
}

void strack_c_sk_wake_read(struct sock *sk)
{
	sk->sk_data_ready(sk);
}

void strack_c_sk_wake_write(struct sock *sk)
{
	struct socket *sock;

	/* room first, then a look at the flag: see strack_c_sk_nospace_set() */
	smp_mb();
	rcu_read_lock(); /* a socket is freed a grace period after it lets go of its sock */
	sock = READ_ONCE(sk->sk_socket);
	if (sock && test_and_clear_bit(SOCK_NOSPACE, &sock->flags))
		sk->sk_write_space(sk);
	rcu_read_unlock();
}

void strack_c_sk_wake_state(struct sock *sk)
{
	sk->sk_state_change(sk);
}

void strack_c_sk_set_err(struct sock *sk, int err)
{
	WRITE_ONCE(sk->sk_err, err);
	/* pairs with the barriers of whoever looks at the state first, as in tcp_poll() */
	smp_wmb();
}

/* What was seen of the state before is older than the error that is returned. */
int strack_c_sk_err_after_state(const struct sock *sk)
{
	/* pairs with strack_c_sk_set_err() */
	smp_rmb();
	return READ_ONCE(sk->sk_err);
}

bool strack_c_exiting(void)
{
	return current->flags & PF_EXITING;
}

int strack_c_sk_take_error(struct sock *sk)
{
	return sock_error(sk);
}

long strack_c_sk_rcvtimeo(const struct sock *sk, bool noblock)
{
	return sock_rcvtimeo(sk, noblock);
}

long strack_c_sk_sndtimeo(const struct sock *sk, bool noblock)
{
	return sock_sndtimeo(sk, noblock);
}

int strack_c_sk_rcvlowat(const struct sock *sk, bool waitall, int len)
{
	return sock_rcvlowat(sk, waitall, len);
}

/*
 * Sleeps until @ready says so. Called with the socket lock, which is given up
 * while asleep and held again for each call of @ready and on return.
 * Returns 0, -EAGAIN (time is up), the errno of an interrupted call, or, as
 * sk_wait_event() does, -EPIPE if the socket was disconnected meanwhile: what
 * @ready looks at is the socket's no more.
 */
int strack_c_sk_wait(struct sock *sk, long *timeo, bool (*ready)(void *arg), void *arg)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int disconnects = sk->sk_disconnects;
	int err = 0;

	add_wait_queue(sk_sleep(sk), &wait);
	while (!ready(arg)) {
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

/* With the socket lock. */
void strack_c_sk_count_disconnect(struct sock *sk)
{
	sk->sk_disconnects++;
}

void strack_c_sk_poll_wait(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	sock_poll_wait(file, sock, wait);
}

void strack_c_sk_sigpipe(void)
{
	send_sig(SIGPIPE, current, 0);
}

/* --- addresses ----------------------------------------------------------- */

bool strack_c_port_privileged(struct net *net, u16 port)
{
	return inet_port_requires_bind_service(net, port) &&
	       !ns_capable(net->user_ns, CAP_NET_BIND_SERVICE);
}

bool strack_c_addr_is_local(struct net *net, const u8 addr[16], bool v4, int oif)
{
	struct net_device *dev = NULL;
	struct in6_addr addr6;
	bool local;

	if (v4) {
		__be32 addr4;

		memcpy(&addr4, addr + 12, sizeof(addr4));
		return inet_addr_type(net, addr4) == RTN_LOCAL;
	}
	memcpy(&addr6, addr, sizeof(addr6));
	rcu_read_lock();
	if (oif)
		dev = dev_get_by_index_rcu(net, oif);
	local = (!oif || dev) && ipv6_chk_addr(net, &addr6, dev, 0);
	rcu_read_unlock();
	return local;
}

/* Whether @sk, as far as it is bound to a device, may be on the link of @dev: a VRF has many. */
bool strack_c_sk_dev_fits(struct sock *sk, int dev)
{
	return sk_dev_equal_l3scope(sk, dev);
}

/* What SO_BINDTODEVICE does, and bind() to an address of one link. Under lock_sock(). */
void strack_c_sk_set_bound_dev(struct sock *sk, int dev)
{
	WRITE_ONCE(sk->sk_bound_dev_if, dev);
}

void strack_c_port_range(struct net *net, int *low, int *high)
{
	inet_get_local_port_range(net, low, high);
}

bool strack_c_port_reserved(const struct net *net, u16 port)
{
	return inet_is_local_reserved_port(net, port);
}

u64 strack_c_random(void)
{
	return get_random_u64();
}

/* --- copying ------------------------------------------------------------- */

int strack_c_copy_from_sockptr(void *dst, sockptr_t src, size_t size)
{
	return copy_from_sockptr(dst, src, size) ? -EFAULT : 0;
}

size_t strack_c_sockopt_write(sockopt_t *opt, const void *src, size_t len)
{
	return copy_to_iter(src, len, &opt->iter_out);
}

/* --- timers and locks ---------------------------------------------------- */

void strack_c_timer_setup(struct hrtimer *timer,
			  enum hrtimer_restart (*fn)(struct hrtimer *timer))
{
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

void strack_c_timer_start(struct hrtimer *timer, u64 expires)
{
	hrtimer_start(timer, ns_to_ktime(expires), HRTIMER_MODE_ABS_SOFT);
}

int strack_c_timer_cancel_try(struct hrtimer *timer)
{
	return hrtimer_try_to_cancel(timer);
}

void strack_c_bh_disable(void)
{
	local_bh_disable();
}

void strack_c_bh_enable(void)
{
	local_bh_enable();
}

void strack_c_spin_lock_bh(spinlock_t *lock)
{
	spin_lock_bh(lock);
}

void strack_c_spin_unlock_bh(spinlock_t *lock)
{
	spin_unlock_bh(lock);
}

bool strack_c_spin_trylock_bh(spinlock_t *lock)
{
	return spin_trylock_bh(lock);
}
