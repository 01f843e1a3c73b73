// SPDX-License-Identifier: GPL-2.0
/*
 * What the socket layer wants in C: the tables of function pointers, the
 * module parameter that names the family, the per-namespace settings, and the
 * inline functions of struct sock. Nothing is decided here.
 */
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <net/addrconf.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/netns/generic.h>

#include "family.h"
#include "udp.h"

static int family __ro_after_init = AF_ECONET;
module_param(family, int, 0444);
MODULE_PARM_DESC(family, "address family number, one that nothing else implements (default 19)");

static unsigned int strack_net_id __read_mostly;

/* --- tables -------------------------------------------------------------- */

static struct proto strack_proto = {
	.name		= "STRACK",
	.owner		= THIS_MODULE,
	.obj_size	= sizeof(struct strack_sock),
	.keepalive	= strack_keepalive,
};

static struct proto_ops strack_stream_ops __ro_after_init = {
	.owner		= THIS_MODULE,
	.release	= strack_release,
	.bind		= strack_bind,
	.connect	= strack_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= strack_accept,
	.getname	= strack_getname,
	.poll		= strack_poll,
	.ioctl		= strack_ioctl,
	.gettstamp	= sock_gettstamp,
	.listen		= strack_listen,
	.shutdown	= strack_shutdown,
	.setsockopt	= strack_setsockopt,
	.getsockopt_iter = strack_getsockopt,
	.sendmsg	= strack_sendmsg,
	.recvmsg	= strack_recvmsg,
	.mmap		= sock_no_mmap,
	.set_rcvbuf	= strack_set_rcvbuf,
};

static void strack_write_space(struct sock *sk)
{
	struct socket_wq *wq;

	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_poll(&wq->wait, EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND);
	sk_wake_async_rcu(sk, SOCK_WAKE_SPACE, POLL_OUT);
	rcu_read_unlock();
}

static struct sock *strack_sk_new(struct net *net, struct socket *sock, int kern)
{
	struct strack_sysctl *sysctl = &((struct strack_net *)net_generic(net, strack_net_id))->sysctl;
	struct sock *sk;

	sk = sk_alloc(net, family, GFP_KERNEL, &strack_proto, kern);
	if (!sk)
		return NULL;
	sock_init_data(sock, sk);
	sk->sk_type = SOCK_STREAM;
	sk->sk_destruct = strack_sock_fini;
	sk->sk_write_space = strack_write_space;
	sk->sk_rcvbuf = READ_ONCE(sysctl->rmem[1]);
	sk->sk_sndbuf = READ_ONCE(sysctl->wmem[1]);
	/* wakes writers by acknowledgement, not by each freed skb */
	sock_set_flag(sk, SOCK_USE_WRITE_QUEUE);
	return sk;
}

static int strack_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	struct sock *sk;
	int err;

	if (sock->type != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	if (protocol)
		return -EPROTONOSUPPORT;

	sk = strack_sk_new(net, sock, kern);
	if (!sk)
		return -ENOBUFS;
	err = strack_sock_init(sk);
	if (err) {
		sock_orphan(sk);
		sock->sk = NULL;
		sock_put(sk);
		return err;
	}
	sock->state = SS_UNCONNECTED;
	sock->ops = &strack_stream_ops;
	return 0;
}

static struct net_proto_family strack_family __ro_after_init = {
	.create	= strack_create,
	.owner	= THIS_MODULE,
};

/* --- settings ------------------------------------------------------------ */

static const char * const strack_profiles[] = { "stellar", NULL };
static const char * const strack_policies[] = { "oblivious", "round_robin", "single", NULL };

/* An int that is read and written by name; @extra1 lists the names in order. */
static int strack_proc_name(const struct ctl_table *table, int write, void *buffer,
			    size_t *lenp, loff_t *ppos)
{
	const char * const *names = table->extra1;
	int *value = table->data;
	char name[16] = {};
	struct ctl_table fake = { .data = name, .maxlen = sizeof(name) };
	int i, err;

	strscpy(name, names[READ_ONCE(*value)], sizeof(name));
	err = proc_dostring(&fake, write, buffer, lenp, ppos);
	if (err || !write)
		return err;
	for (i = 0; names[i]; i++) {
		if (strcmp(names[i], name) == 0) {
			WRITE_ONCE(*value, i);
			return 0;
		}
	}
	return -EINVAL;
}

static const int one = 1, max_paths = 256, max_burst = 44, max_us = 60 * 1000 * 1000, max_retries = 255;
static const int max_mbps = 1600 * 1000, min_buf = SOCK_MIN_RCVBUF, max_int = INT_MAX, max_ms = 600 * 1000;

#define STRACK_INT(_name, _min, _max) {					\
	.procname	= #_name,					\
	.data		= (void *)offsetof(struct strack_sysctl, _name),	\
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= proc_dointvec_minmax,				\
	.extra1		= (void *)(_min),				\
	.extra2		= (void *)(_max),				\
}

/* Copied for each namespace, with .data moved to its struct strack_sysctl. */
static const struct ctl_table strack_table[] = {
	{
		.procname	= "profile",
		.data		= (void *)offsetof(struct strack_sysctl, profile),
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= strack_proc_name,
		.extra1		= (void *)strack_profiles,
	}, {
		.procname	= "path_policy",
		.data		= (void *)offsetof(struct strack_sysctl, path_policy),
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= strack_proc_name,
		.extra1		= (void *)strack_policies,
	},
	STRACK_INT(paths, &one, &max_paths),
	STRACK_INT(burst_max, &one, &max_burst),
	STRACK_INT(rto_min_us, &one, &max_us),
	STRACK_INT(rto_max_us, &one, &max_us),
	STRACK_INT(retries, &one, &max_retries),
	STRACK_INT(link_mbps, &one, &max_mbps),
	STRACK_INT(base_rtt_us, &one, &max_us),
	STRACK_INT(target_delay_us, &one, &max_us),
	STRACK_INT(initial_window, SYSCTL_ZERO, &max_int),
	STRACK_INT(time_wait_ms, SYSCTL_ZERO, &max_ms),
	STRACK_INT(keepalive_time, &one, &max_ms),
	STRACK_INT(keepalive_intvl, &one, &max_ms),
	STRACK_INT(keepalive_probes, &one, &max_retries),
	{
		.procname	= "port",
		.data		= (void *)offsetof(struct strack_sysctl, port),
		.maxlen		= sizeof(int),
		.mode		= 0444,
		.proc_handler	= proc_dointvec,
	}, {
		.procname	= "rmem",
		.data		= (void *)offsetof(struct strack_sysctl, rmem),
		.maxlen		= sizeof(int) * 3,
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= (void *)&min_buf,
	}, {
		.procname	= "wmem",
		.data		= (void *)offsetof(struct strack_sysctl, wmem),
		.maxlen		= sizeof(int) * 3,
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= (void *)&min_buf,
	},
};

static const struct strack_sysctl strack_defaults = {
	.paths			= 128,
	.burst_max		= 44,
	.rto_min_us		= 250,
	.rto_max_us		= 2 * 1000 * 1000,
	.retries		= 15,
	.link_mbps		= 10 * 1000,
	.base_rtt_us		= 100,
	.target_delay_us	= 100,
	.time_wait_ms		= 1000,
	.keepalive_time		= 7200,
	.keepalive_intvl	= 75,
	.keepalive_probes	= 9,
	.rmem			= { SOCK_MIN_RCVBUF, 4 << 20, 16 << 20 },
	.wmem			= { SOCK_MIN_SNDBUF, 4 << 20, 16 << 20 },
};

static int strack_sysctl_register(struct strack_net *sn)
{
	struct ctl_table *table;
	size_t i;

	sn->sysctl = strack_defaults;
	sn->sysctl.port = strack_c_udp_port();
	table = kmemdup(strack_table, sizeof(strack_table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(strack_table); i++)
		table[i].data = (void *)&sn->sysctl + (unsigned long)table[i].data;

	sn->header = register_net_sysctl_sz(sn->net, "net/strack", table, ARRAY_SIZE(strack_table));
	if (!sn->header) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

static void strack_sysctl_unregister(struct strack_net *sn)
{
	const struct ctl_table *table = sn->header->ctl_table_arg;

	unregister_net_sysctl_table(sn->header);
	kfree(table);
}

/* --- network namespaces -------------------------------------------------- */

static void strack_accept_worker(struct work_struct *work)
{
	strack_accept_work(container_of(work, struct strack_net, accept_work));
}

static int __net_init strack_net_init(struct net *net)
{
	struct strack_net *sn = net_generic(net, strack_net_id);
	int err;

	sn->net = net;
	INIT_WORK(&sn->accept_work, strack_accept_worker);
	err = strack_sysctl_register(sn);
	if (err)
		return err;
	err = strack_net_start(sn);
	if (err)
		strack_sysctl_unregister(sn);
	return err;
}

static void __net_exit strack_net_exit(struct net *net)
{
	struct strack_net *sn = net_generic(net, strack_net_id);

	/* no socket is left here, so nothing queues the work again */
	cancel_work_sync(&sn->accept_work);
	strack_net_stop(sn);
	strack_sysctl_unregister(sn);
}

static struct pernet_operations strack_net_ops = {
	.init	= strack_net_init,
	.exit	= strack_net_exit,
	.id	= &strack_net_id,
	.size	= sizeof(struct strack_net),
};

void strack_c_queue_accept_work(struct strack_net *sn)
{
	schedule_work(&sn->accept_work);
}

/* --- registration -------------------------------------------------------- */

int strack_c_family_register(void)
{
	int err;

	strack_family.family = family;
	strack_stream_ops.family = family;

	err = proto_register(&strack_proto, 1);
	if (err)
		return err;
	err = register_pernet_subsys(&strack_net_ops);
	if (err)
		goto unregister_proto;
	err = sock_register(&strack_family);
	if (err)
		goto unregister_pernet;
	return 0;

unregister_pernet:
	unregister_pernet_subsys(&strack_net_ops);
unregister_proto:
	proto_unregister(&strack_proto);
	return err;
}

void strack_c_family_unregister(void)
{
	sock_unregister(family);
	unregister_pernet_subsys(&strack_net_ops);
	proto_unregister(&strack_proto);
	/* the last references to connections are dropped after a grace period */
	rcu_barrier();
}

int strack_c_family_number(void)
{
	return family;
}

/* --- struct sock --------------------------------------------------------- */

struct sock *strack_c_sk_alloc(struct net *net, int kern)
{
	return strack_sk_new(net, NULL, kern);
}

/* What accept() hands on from the listener, as inet's sk_clone() does. */
void strack_c_sk_inherit(struct sock *child, const struct sock *parent)
{
	child->sk_rcvbuf = READ_ONCE(parent->sk_rcvbuf);
	child->sk_sndbuf = READ_ONCE(parent->sk_sndbuf);
	child->sk_rcvlowat = READ_ONCE(parent->sk_rcvlowat);
	child->sk_rcvtimeo = READ_ONCE(parent->sk_rcvtimeo);
	child->sk_sndtimeo = READ_ONCE(parent->sk_sndtimeo);
	child->sk_lingertime = READ_ONCE(parent->sk_lingertime);
	child->sk_userlocks = parent->sk_userlocks;
	child->sk_priority = READ_ONCE(parent->sk_priority);
	child->sk_mark = READ_ONCE(parent->sk_mark);
	child->sk_bound_dev_if = READ_ONCE(parent->sk_bound_dev_if);
	child->sk_reuse = parent->sk_reuse;
	sock_valbool_flag(child, SOCK_LINGER, sock_flag(parent, SOCK_LINGER));
	sock_valbool_flag(child, SOCK_KEEPOPEN, sock_flag(parent, SOCK_KEEPOPEN));
}

void strack_c_sk_graft(struct sock *sk, struct socket *newsock)
{
	sock_graft(sk, newsock);
	newsock->ops = &strack_stream_ops;
	newsock->state = SS_CONNECTED;
}

void strack_c_sk_orphan(struct sock *sk)
{
	sock_orphan(sk);
}

void strack_c_sk_lock(struct sock *sk)
{
	lock_sock(sk);
}

/* A socket that accept() has not handed out, beside its listener. */
void strack_c_sk_lock_nested(struct sock *sk)
{
	lock_sock_nested(sk, SINGLE_DEPTH_NESTING);
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

struct strack_net *strack_c_sk_net(const struct sock *sk)
{
	return net_generic(sock_net(sk), strack_net_id);
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
	if (sk->sk_socket)
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
}

void strack_c_sk_wake_read(struct sock *sk)
{
	sk->sk_data_ready(sk);
}

void strack_c_sk_wake_write(struct sock *sk)
{
	struct socket *sock = READ_ONCE(sk->sk_socket);

	/* pairs with the barrier in poll: flag first, then a look at the room */
	smp_mb();
	if (sock && test_and_clear_bit(SOCK_NOSPACE, &sock->flags))
		sk->sk_write_space(sk);
}

void strack_c_sk_wake_state(struct sock *sk)
{
	sk->sk_state_change(sk);
}

void strack_c_sk_fail(struct sock *sk, int err)
{
	WRITE_ONCE(sk->sk_err, err);
	sk_error_report(sk);
}

int strack_c_sk_take_error(struct sock *sk)
{
	return sock_error(sk);
}

void strack_c_sk_rmem_add(struct sock *sk, u32 bytes)
{
	atomic_add(bytes, &sk->sk_rmem_alloc);
}

void strack_c_sk_rmem_sub(struct sock *sk, u32 bytes)
{
	atomic_sub(bytes, &sk->sk_rmem_alloc);
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
 * Returns 0, -EAGAIN (time is up), or the errno of an interrupted call.
 */
int strack_c_sk_wait(struct sock *sk, long *timeo, bool (*ready)(void *arg), void *arg)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
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
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return err;
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

void strack_c_port_range(struct net *net, int *low, int *high)
{
	inet_get_local_port_range(net, low, high);
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
