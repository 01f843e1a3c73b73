// SPDX-License-Identifier: GPL-2.0
/*
 * How much memory peers can make this host keep, in all network namespaces
 * together: net.strack.mem, which is to this family what tcp_mem is to TCP.
 *
 * Counted are skbs that have been received and not yet been read, by the means
 * that the kernel has for that (struct proto), so that /proc/net/protocols shows
 * them; and what connections keep that no program has any more, for which
 * there is no socket to be charged.
 *
 * The kernel charges whole pages and keeps what is left of one in sk_forward_alloc.
 * That has no lock of its own: TCP's is that of the socket, ours that of the
 * connection, because the receive softirq does not take the other.
 */
#include <linux/cgroup.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/swap.h>
#include <net/proto_memory.h>
#include <net/sock.h>

#include "family.h"

atomic_long_t strack_memory_allocated;
DEFINE_PER_CPU(int, strack_memory_per_cpu);
unsigned long strack_memory_pressure;
struct percpu_counter strack_sockets_allocated;
long strack_sysctl_mem[3];
/* what a socket gets under pressure whatever the others have */
int strack_memory_least = PAGE_SIZE;

void strack_enter_memory_pressure(struct sock *sk)
{
	WRITE_ONCE(strack_memory_pressure, 1);
}

int strack_memory_init(void)
{
	/* the parts of all memory that tcp_mem has */
	unsigned long limit = max(nr_free_buffer_pages() / 16, 128UL);

	strack_sysctl_mem[0] = limit / 4 * 3;
	strack_sysctl_mem[1] = limit;
	strack_sysctl_mem[2] = strack_sysctl_mem[0] * 2;
	return percpu_counter_init(&strack_sockets_allocated, 0, GFP_KERNEL);
}

void strack_memory_exit(void)
{
	long pages = atomic_long_read(&strack_memory_allocated);
	int cpu;

	for_each_possible_cpu(cpu)
		pages += per_cpu(strack_memory_per_cpu, cpu);
	/* no socket is left */
	WARN_ON_ONCE(pages);
	percpu_counter_destroy(&strack_sockets_allocated);
}

/*
 * A connection that comes in is paid for by the cgroup of its listener, from its
 * first byte. TCP waits for accept() to see whose it is, and what it uses for
 * that is not exported.
 */
void strack_memory_inherit(const struct sock *parent, struct sock *sk)
{
#ifdef CONFIG_MEMCG
	struct mem_cgroup *memcg = mem_cgroup_from_sk(parent);

	if (memcg)
		css_get(&memcg->css);
	sk->sk_memcg = memcg; /* given back by sk_prot_free() */
#endif
}

bool strack_c_sk_rmem_charge(struct sock *sk, u32 bytes)
{
	if (!__sk_rmem_schedule(sk, bytes, false))
		return false;
	sk_mem_charge(sk, bytes);
	atomic_add(bytes, &sk->sk_rmem_alloc);
	return true;
}

void strack_c_sk_rmem_uncharge(struct sock *sk, u32 bytes)
{
	atomic_sub(bytes, &sk->sk_rmem_alloc);
	sk_mem_uncharge(sk, bytes);
}

void strack_c_sk_rmem_force(struct sock *sk, u32 bytes)
{
	atomic_add(bytes, &sk->sk_rmem_alloc);
	atomic_long_add(sk_mem_pages(bytes), &strack_memory_allocated);
}

void strack_c_sk_rmem_unforce(struct sock *sk, u32 bytes)
{
	atomic_sub(bytes, &sk->sk_rmem_alloc);
	atomic_long_sub(sk_mem_pages(bytes), &strack_memory_allocated);
}

bool strack_c_memory_take(unsigned long pages, enum strack_memory_until until)
{
	if (atomic_long_add_return(pages, &strack_memory_allocated) <=
	    READ_ONCE(strack_sysctl_mem[until]))
		return true;
	strack_c_memory_give(pages);
	return false;
}

void strack_c_memory_give(unsigned long pages)
{
	atomic_long_sub(pages, &strack_memory_allocated);
}

bool strack_c_memory_is_over(void)
{
	return atomic_long_read(&strack_memory_allocated) > READ_ONCE(strack_sysctl_mem[2]);
}
