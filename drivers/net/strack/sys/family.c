// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel wants in C: the tables of function pointers, the module
 * parameter that names the family, and their registration. Nothing is decided
 * here.
 */
#include <linux/module.h>
#include <linux/socket.h>
#include <net/netns/generic.h>
#include <net/sock.h>

#include "companion.h"
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
	.enter_memory_pressure = strack_enter_memory_pressure,
	.memory_allocated = &strack_memory_allocated,
	.per_cpu_fw_alloc = &strack_memory_per_cpu,
	.sockets_allocated = &strack_sockets_allocated,
	.memory_pressure = &strack_memory_pressure,
	.sysctl_mem	= strack_sysctl_mem,
	.sysctl_rmem	= &strack_memory_least,
	.sysctl_wmem	= &strack_memory_least,
};

/* More than the window lets in would never become readable. */
static int strack_set_rcvlowat(struct sock *sk, int val)
{
	WRITE_ONCE(sk->sk_rcvlowat, clamp(val, 1, max(READ_ONCE(sk->sk_rcvbuf) / 4, 1)));
	return 0;
}

/*
 * Also those of SOL_SOCKET come here first (SOCK_CUSTOM_SOCKOPT): SO_RESERVE_MEM
 * would change sk_forward_alloc under the socket lock, which does not guard it.
 */
static int strack_set_option(struct socket *sock, int level, int name, sockptr_t val,
			     unsigned int len)
{
	if (level != SOL_SOCKET)
		return strack_setsockopt(sock, level, name, val, len);
	if (name == SO_RESERVE_MEM)
		return -EOPNOTSUPP;
	return sock_setsockopt(sock, level, name, val, len);
}

static const struct proto_ops strack_stream_ops = {
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
	.setsockopt	= strack_set_option,
	.getsockopt_iter = strack_getsockopt,
	.sendmsg	= strack_sendmsg,
	.recvmsg	= strack_recvmsg,
	.mmap		= sock_no_mmap,
	.set_rcvbuf	= strack_set_rcvbuf,
	.set_rcvlowat	= strack_set_rcvlowat,
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

/*
 * The socket of a connection that has come in, without a file: as @parent was
 * set, in its cgroup, and owned by the same user. Process context.
 */
struct sock *strack_c_sk_clone(const struct sock *parent)
{
	struct sock *sk = sk_clone(parent, strack_c_gfp_connection(), false);

	if (!sk)
		return NULL;
	((struct strack_sock *)sk)->inner = NULL;
	memset(&((struct strack_sock *)sk)->poll, 0, sizeof(struct strack_poll));
	sk->sk_state = TCP_ESTABLISHED;
	sk->sk_shutdown = 0;
	sk->sk_ack_backlog = 0;
	sk->sk_max_ack_backlog = 0;
	sk->sk_priority = READ_ONCE(parent->sk_priority);
	strack_memory_inherit(parent, sk);
	/* SO_COOKIE is the socket's own */
	atomic64_set(&sk->sk_cookie, 0);
	/* it has been given one more reference, for a table of sockets */
	sock_put(sk);
	return sk;
}

void strack_c_sk_graft(struct sock *sk, struct socket *newsock)
{
	sock_graft(sk, newsock);
	newsock->ops = &strack_stream_ops;
	set_bit(SOCK_CUSTOM_SOCKOPT, &newsock->flags);
	set_bit(SOCK_SUPPORT_ZC, &newsock->flags);
	newsock->state = SS_CONNECTED;
}

struct strack_net *strack_net_of(const struct net *net)
{
	return net_generic(net, strack_net_id);
}

struct strack_net *strack_c_sk_net(const struct sock *sk)
{
	return strack_net_of(sock_net(sk));
}

/* The last reference is gone: nothing is charged to it any more. */
static void strack_destruct(struct sock *sk)
{
	strack_sock_fini(sk);
	WARN_ON_ONCE(atomic_read(&sk->sk_rmem_alloc));
	WARN_ON_ONCE(refcount_read(&sk->sk_wmem_alloc));
	WARN_ON_ONCE(sk->sk_forward_alloc);
	sk_sockets_allocated_dec(sk);
}

static struct sock *strack_sk_new(struct net *net, struct socket *sock, int kern)
{
	struct strack_sysctl *sysctl = &((struct strack_net *)net_generic(net, strack_net_id))->sysctl;
	struct sock *sk;

	sk = sk_alloc(net, family, GFP_KERNEL_ACCOUNT, &strack_proto, kern);
	if (!sk)
		return NULL;
	sock_init_data(sock, sk);
	sk->sk_type = SOCK_STREAM;
	sk->sk_destruct = strack_destruct;
	sk_sockets_allocated_inc(sk);
	/* net.core.bypass_prot_mem is set by a namespace's root, and the limit is the host's */
	sk->sk_bypass_prot_mem = 0;
	sk->sk_write_space = strack_write_space;
	sk->sk_rcvbuf = READ_ONCE(sysctl->rmem_default);
	sk->sk_sndbuf = READ_ONCE(sysctl->wmem_default);
	/* wakes writers by acknowledgement, not by each freed skb */
	sock_set_flag(sk, SOCK_USE_WRITE_QUEUE);
	return sk;
}

static int strack_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	struct strack_net *sn = strack_net_of(net);
	struct sock *sk;
	int err;

	if (sock->type != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	if (protocol)
		return -EPROTONOSUPPORT;
	if (!kern && unlikely(READ_ONCE(sn->provider))) {
		err = strack_provider_create(sn, sock, family);
		if (err != -ENOENT)
			return err;
	}

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
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
	set_bit(SOCK_SUPPORT_ZC, &sock->flags);
	sock->ops = &strack_stream_ops;
	return 0;
}

static struct net_proto_family strack_family __ro_after_init = {
	.create	= strack_create,
	.owner	= THIS_MODULE,
};

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

/* No socket is left. A grace period passes before the next step. */
static void __net_exit strack_net_pre_exit(struct net *net)
{
	strack_provider_net_exit(strack_net_of(net));
	strack_net_leave(strack_net_of(net));
}

static void __net_exit strack_net_exit_batch(struct list_head *nets)
{
	struct strack_net *sn;
	bool wait = false;
	struct net *net;

	list_for_each_entry(net, nets, exit_list) {
		sn = net_generic(net, strack_net_id);
		/* nothing comes in, so nothing queues the work again */
		cancel_work_sync(&sn->accept_work);
		wait |= strack_net_stop(sn);
	}
	if (wait)
		rcu_barrier();
	list_for_each_entry(net, nets, exit_list) {
		sn = net_generic(net, strack_net_id);
		strack_net_free(sn);
		strack_sysctl_unregister(sn);
	}
}

static struct pernet_operations strack_net_ops = {
	.init		= strack_net_init,
	.pre_exit	= strack_net_pre_exit,
	.exit_batch	= strack_net_exit_batch,
	.id		= &strack_net_id,
	.size		= sizeof(struct strack_net),
};

void strack_c_queue_accept_work(struct strack_net *sn)
{
	schedule_work(&sn->accept_work);
}

/* --- registration -------------------------------------------------------- */

int strack_c_family_register(void)
{
	int err;

	/* port 0 would be some free port, where nobody sends to */
	if (family <= 0 || family >= AF_MAX || !strack_c_udp_port())
		return -EINVAL;
	strack_family.family = family;

	err = strack_memory_init();
	if (err)
		return err;
	err = proto_register(&strack_proto, 1);
	if (err)
		goto exit_memory;
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
exit_memory:
	strack_memory_exit();
	return err;
}

void strack_c_family_unregister(void)
{
	sock_unregister(family);
	unregister_pernet_subsys(&strack_net_ops);
	/* connections that closed just before are given up in callbacks of this module */
	rcu_barrier();
	proto_unregister(&strack_proto);
	strack_memory_exit();
}

int strack_c_family_number(void)
{
	return family;
}
