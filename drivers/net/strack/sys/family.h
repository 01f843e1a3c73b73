/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The seam between the kernel's socket layer and the Rust half: the two C
 * objects that Rust embeds its state in, the entry points that Rust offers to
 * the tables in family.c, and the inline functions that Rust needs back.
 */
#ifndef _STRACK_FAMILY_H
#define _STRACK_FAMILY_H

#include <linux/net.h>
#include <linux/sysctl.h>
#include <linux/workqueue.h>
#include <net/inet_sock.h>
#include <net/net_namespace.h>
#include <net/sock.h>

struct mem_cgroup;
struct poll_table_struct;
struct hrtimer;
struct strack_provider;

/**
 * struct strack_poll - what poll() wants to know of a connection's buffers
 * @readable: bytes that can be read
 * @unsent: bytes that the send buffer keeps
 * @full: no packet can be queued, however little the send buffer keeps
 *
 * Written under the connection's lock and read without one, see family/poll.rs.
 */
struct strack_poll {
	u32 readable;
	u32 unsent;
	bool full;
};

/**
 * struct strack_sock - a socket of the family
 * @sk: the kernel's part, first so that both have one address
 * @inet: never used, but the IP stack takes the owner of any packet for one and
 *	looks at its fields in places: they are there, and zero
 * @poll: for poll()
 * @inner: the Rust half (family::Socket), owned; changed under the socket lock
 */
struct strack_sock {
	union {
		struct sock sk;
		struct inet_sock inet;
	};
	struct strack_poll poll;
	void *inner;
};

/**
 * struct strack_sysctl - what an administrator sets in net.strack, per netns
 *
 * Plain integers written by proc_dointvec_minmax() and read without a lock:
 * each is read once where a connection is made.
 */
struct strack_sysctl {
	int profile;
	int path_policy;
	int paths;
	int burst_max;
	int rto_min_us;
	int rto_max_us;
	int retries;
	int link_mbps;
	int base_rtt_us;
	int target_delay_us;
	int initial_window;
	int time_wait_ms;
	int max_orphans;
	int max_time_wait;
	int keepalive_time;
	int keepalive_intvl;
	int keepalive_probes;
	int port;
	int rmem_default;
	int wmem_default;
};

/**
 * struct strack_param - a constant of the protocol that an administrator may change
 * @name: its name in net.strack
 * @value: unless set
 * @min: least valid value
 * @max: largest valid value
 */
struct strack_param {
	const char *name;
	int value;
	int min;
	int max;
};

/**
 * struct strack_net - per network namespace
 * @sysctl: the settings above
 * @most_rest: max_orphans and max_time_wait to begin with, and at most in the namespace of
 *	a user namespace
 * @params: values of the protocol's constants, in the order of strack_params()
 * @header: their registration
 * @net: back pointer, valid as long as this structure
 * @accept_work: runs strack_accept_work() in process context
 * @provider: who makes the sockets of programs instead of the engine, or NULL; see
 *	provider.c
 * @priv: the Rust half (engine::NetNs)
 */
struct strack_net {
	struct strack_sysctl sysctl;
	int most_rest;
	int *params;
	struct ctl_table_header *header;
	struct net *net;
	struct work_struct accept_work;
	struct strack_provider *provider;
	void *priv;
};

/* offered by Rust (family/entry.rs), called through the tables of family.c */
const struct strack_param *strack_params(unsigned int *count);
int strack_net_start(struct strack_net *sn);
void strack_net_leave(struct strack_net *sn);
bool strack_net_stop(struct strack_net *sn);
void strack_net_free(struct strack_net *sn);
void strack_accept_work(struct strack_net *sn);
int strack_sock_init(struct sock *sk);
void strack_sock_fini(struct sock *sk);
int strack_release(struct socket *sock);
int strack_bind(struct socket *sock, struct sockaddr_unsized *addr, int len);
int strack_connect(struct socket *sock, struct sockaddr_unsized *addr, int len, int flags);
int strack_accept(struct socket *sock, struct socket *newsock, struct proto_accept_arg *arg);
int strack_getname(struct socket *sock, struct sockaddr *addr, int peer);
__poll_t strack_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait);
int strack_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);
int strack_listen(struct socket *sock, int backlog);
int strack_shutdown(struct socket *sock, int how);
int strack_setsockopt(struct socket *sock, int level, int name, sockptr_t val, unsigned int len);
int strack_getsockopt(struct socket *sock, int level, int name, sockopt_t *opt);
int strack_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
int strack_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags);
void strack_keepalive(struct sock *sk, int on);
void strack_set_rcvbuf(struct sock *sk, int val);

/* between the C files: sysctl.c */
int strack_sysctl_register(struct strack_net *sn);
void strack_sysctl_unregister(struct strack_net *sn);

/* between the C files: provider.c. Process context. */
int strack_provider_create(struct strack_net *sn, struct socket *sock, int family);
void strack_provider_net_exit(struct strack_net *sn);

/* between the C files: family.c */
struct strack_net *strack_net_of(const struct net *net);

/* between the C files: memory.c. Process context. */
extern atomic_long_t strack_memory_allocated;
DECLARE_PER_CPU(int, strack_memory_per_cpu);
extern unsigned long strack_memory_pressure;
extern struct percpu_counter strack_sockets_allocated;
extern long strack_sysctl_mem[3];
extern int strack_memory_least;
void strack_enter_memory_pressure(struct sock *sk);
int strack_memory_init(void);
void strack_memory_exit(void);
/* before anything is charged to @sk */
void strack_memory_inherit(const struct sock *parent, struct sock *sk);

/*
 * offered by memory.c: @bytes of packets received.
 *
 * The first asks the limits of all sockets and of the cgroup; false if one has no
 * more. What force takes is beyond them, counts for all sockets only, and is
 * given back in one piece. Callers hold the lock of the connection whose socket
 * @sk is, bottom halves off: it guards sk_forward_alloc.
 */
bool strack_c_sk_rmem_charge(struct sock *sk, u32 bytes);
void strack_c_sk_rmem_uncharge(struct sock *sk, u32 bytes);
void strack_c_sk_rmem_force(struct sock *sk, u32 bytes);
void strack_c_sk_rmem_unforce(struct sock *sk, u32 bytes);

/*
 * offered by memory.c: memory without a socket to charge it to. None is to be had
 * where it would make more than that value of net.strack.mem. Any context.
 */
enum strack_memory_until {
	STRACK_MEMORY_PRESSURE = 1,
	STRACK_MEMORY_LIMIT = 2,
};

bool strack_c_memory_take(unsigned long pages, enum strack_memory_until until);
void strack_c_memory_give(unsigned long pages);
/* more is in use than may be */
bool strack_c_memory_is_over(void);

/* offered by family.c and sock.c */
int strack_c_family_register(void);
void strack_c_family_unregister(void);
int strack_c_family_number(void);
void strack_c_queue_accept_work(struct strack_net *sn);

struct sock *strack_c_sk_clone(const struct sock *parent);
struct mem_cgroup *strack_c_memcg_enter(const struct sock *sk);
void strack_c_memcg_leave(struct mem_cgroup *old);
void strack_c_sk_graft(struct sock *sk, struct socket *newsock);
void strack_c_sk_orphan(struct sock *sk);
void strack_c_sk_lock(struct sock *sk);
void strack_c_sk_release(struct sock *sk);
void strack_c_sk_hold(struct sock *sk);
void strack_c_sk_put(struct sock *sk);
struct strack_net *strack_c_sk_net(const struct sock *sk);
void *strack_c_sk_inner(const struct sock *sk);
void strack_c_sk_set_inner(struct sock *sk, void *inner);
bool strack_c_sk_flag(const struct sock *sk, int flag);
int strack_c_sk_check_control(struct sock *sk, struct msghdr *msg);
void strack_c_sk_nospace_set(struct sock *sk);
void strack_c_sk_wake_read(struct sock *sk);
void strack_c_sk_wake_write(struct sock *sk);
void strack_c_sk_wake_state(struct sock *sk);
void strack_c_sk_set_err(struct sock *sk, int err);
int strack_c_sk_err_after_state(const struct sock *sk);
bool strack_c_exiting(void);
int strack_c_sk_take_error(struct sock *sk);
long strack_c_sk_rcvtimeo(const struct sock *sk, bool noblock);
long strack_c_sk_sndtimeo(const struct sock *sk, bool noblock);
int strack_c_sk_rcvlowat(const struct sock *sk, bool waitall, int len);
int strack_c_sk_wait(struct sock *sk, long *timeo, bool (*ready)(void *arg), void *arg);
void strack_c_sk_count_disconnect(struct sock *sk);
void strack_c_sk_poll_wait(struct file *file, struct socket *sock, struct poll_table_struct *wait);
void strack_c_sk_sigpipe(void);

bool strack_c_port_privileged(struct net *net, u16 port);
bool strack_c_addr_is_local(struct net *net, const u8 addr[16], bool v4, int oif);
bool strack_c_sk_dev_fits(struct sock *sk, int dev);
void strack_c_sk_set_bound_dev(struct sock *sk, int dev);
void strack_c_port_range(struct net *net, int *low, int *high);
bool strack_c_port_reserved(const struct net *net, u16 port);

u64 strack_c_random(void);

int strack_c_copy_from_sockptr(void *dst, sockptr_t src, size_t size);
size_t strack_c_sockopt_write(sockopt_t *opt, const void *src, size_t len);

void strack_c_timer_setup(struct hrtimer *timer,
			  enum hrtimer_restart (*fn)(struct hrtimer *timer));
void strack_c_timer_start(struct hrtimer *timer, u64 expires);
int strack_c_timer_cancel_try(struct hrtimer *timer);

void strack_c_bh_disable(void);
void strack_c_bh_enable(void);
void strack_c_spin_lock_bh(spinlock_t *lock);
void strack_c_spin_unlock_bh(spinlock_t *lock);
bool strack_c_spin_trylock_bh(spinlock_t *lock);

#endif /* _STRACK_FAMILY_H */
