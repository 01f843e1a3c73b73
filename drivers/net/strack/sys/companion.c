// SPDX-License-Identifier: GPL-2.0
/*
 * The C half of strack: functions that exist only inline or as macros. Nothing
 * here decides anything.
 */

#include <linux/mm.h>
#include <linux/net.h>
#include <linux/percpu.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <linux/uio.h>
#include <net/hotdata.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "companion.h"

u64 strack_c_keyed_hash(u64 key0, u64 key1, const void *data, size_t len)
{
	const siphash_key_t key = { .key = { key0, key1 } };

	return siphash(data, len, &key);
}

/*
 * A peer decides when a connection is made, and the owner of the listener pays.
 * Rather than have the OOM killer make room for it, there is none.
 */
gfp_t strack_c_gfp_connection(void)
{
	return GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN;
}

/* --- pages --------------------------------------------------------------- */

/*
 * A large run is wanted for speed, not needed: no effort is made for it, and
 * none that leads to a warning. A single page is asked for as @gfp says.
 */
struct page *strack_c_pages_alloc(unsigned int order, gfp_t gfp)
{
	struct page *page;

	for (; order; order--) {
		page = alloc_pages((gfp & ~__GFP_DIRECT_RECLAIM) | __GFP_COMP | __GFP_NOWARN |
				   __GFP_NORETRY, order);
		if (page)
			return page;
	}
	return alloc_page(gfp);
}

unsigned int strack_c_page_order(const struct page *page)
{
	return compound_order((struct page *)page);
}

void *strack_c_page_address(const struct page *page)
{
	return page_address(page);
}

void strack_c_page_get(struct page *page)
{
	get_page(page);
}

void strack_c_page_put(struct page *page)
{
	put_page(page);
}

bool strack_c_copy_from_iter(void *dst, size_t len, struct iov_iter *from)
{
	return copy_from_iter_full(dst, len, from);
}

/*
 * The pages that the next @len bytes of @from lie in, at most @max of them; the
 * bytes begin at *@off of the first one, and there is no hole in between. Moves
 * on by the number of bytes returned. Pages of a process come with a reference
 * each; others are kept by whoever made the iterator.
 */
ssize_t strack_c_iter_pages(struct iov_iter *from, size_t len, struct page **pages,
			    unsigned int max, size_t *off)
{
	if (user_backed_iter(from))
		return iov_iter_get_pages2(from, pages, len, max, off);
	return iov_iter_extract_pages(from, &pages, len, max, 0, off);
}

bool strack_c_iter_is_user(const struct iov_iter *from)
{
	return user_backed_iter(from);
}

void strack_c_iter_revert(struct iov_iter *from, size_t len)
{
	iov_iter_revert(from, len);
}

/*
 * Takes a reference of *@page, unless its memory does not live by references.
 * What has one in common with others becomes the first of these, and *@off is
 * counted from there.
 */
bool strack_c_page_borrow(struct page **page, u32 *off)
{
	struct page *head = compound_head(*page);

	if (!sendpage_ok(*page))
		return false;
	*off += (*page - head) << PAGE_SHIFT;
	*page = head;
	get_page(head);
	return true;
}

/* --- users of zero copy -------------------------------------------------- */

void strack_c_ubuf_get(struct ubuf_info *ubuf)
{
	net_zcopy_get(ubuf);
}

void strack_c_ubuf_put(struct ubuf_info *ubuf)
{
	net_zcopy_put(ubuf);
}

/* --- packets ------------------------------------------------------------- */

struct sk_buff *strack_c_skb_alloc(unsigned int linear, unsigned int headroom, gfp_t gfp)
{
	struct sk_buff *skb = alloc_skb(headroom + linear, gfp);

	if (skb)
		skb_reserve(skb, headroom);
	return skb;
}

struct sk_buff *strack_c_skb_get(struct sk_buff *skb)
{
	return skb_get(skb);
}

unsigned int strack_c_skb_packets(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->gso_segs ?: 1;
}

void strack_c_skb_free(struct sk_buff *skb)
{
	kfree_skb(skb);
}

int strack_c_skb_push_linear(struct sk_buff *skb, const void *data, unsigned int len)
{
	if (skb_is_nonlinear(skb) || len > skb_tailroom(skb))
		return -ENOSPC;
	skb_put_data(skb, data, len);
	return 0;
}

/* net.core.max_skb_frags, which may change at any time: at least 1, at most MAX_SKB_FRAGS */
unsigned int strack_c_max_frags(void)
{
	return READ_ONCE(net_hotdata.sysctl_max_skb_frags);
}

static int skb_add_frag(struct sk_buff *skb, struct page *page, unsigned int off,
			unsigned int len, unsigned int most, bool ours)
{
	int i = skb_shinfo(skb)->nr_frags;

	if (skb_can_coalesce(skb, i, page, off)) {
		skb_frag_size_add(&skb_shinfo(skb)->frags[i - 1], len);
	} else {
		if (i >= most)
			return -ENOSPC;
		get_page(page);
		if (ours)
			skb_fill_page_desc(skb, i, page, off, len);
		else
			skb_fill_page_desc_noacc(skb, i, page, off, len);
	}
	skb->len += len;
	skb->data_len += len;
	skb->truesize += len;
	/* what grows after it was charged is charged for the growth */
	if (skb->destructor == sock_wfree)
		refcount_add(len, &skb->sk->sk_wmem_alloc);
	return 0;
}

/* The first fragment may always be there. */
int strack_c_skb_add_frag(struct sk_buff *skb, struct page *page, unsigned int off,
			  unsigned int len)
{
	return skb_add_frag(skb, page, off, len, strack_c_max_frags(), true);
}

/*
 * The same with a page of somebody else's. Whether it is from the reserves for
 * emergencies is not asked: its owner may change meanwhile what would tell, and
 * sockets would refuse the packet though nothing of it was taken from there. Nor
 * is asked how many fragments are allowed: see strack_c_skb_train_frags_left().
 */
int strack_c_skb_add_lent(struct sk_buff *skb, struct page *page, unsigned int off,
			  unsigned int len)
{
	return skb_add_frag(skb, page, off, len, MAX_SKB_FRAGS, false);
}

unsigned int strack_c_skb_frags_left(const struct sk_buff *skb)
{
	return MAX_SKB_FRAGS - skb_shinfo(skb)->nr_frags;
}

/*
 * The same for one more packet of a train. The first one has whatever there is: it
 * was made when so many fragments were allowed.
 */
unsigned int strack_c_skb_train_frags_left(const struct sk_buff *skb)
{
	unsigned int frags = skb_shinfo(skb)->nr_frags;
	unsigned int most = frags ? strack_c_max_frags() : MAX_SKB_FRAGS;

	return most > frags ? most - frags : 0;
}

/* The last thing that is done to its fragments: from now on none is joined. */
void strack_c_skb_set_ubuf(struct sk_buff *skb, struct ubuf_info *ubuf)
{
	skb_zcopy_set(skb, ubuf, NULL);
}

void strack_c_skb_set_shared(struct sk_buff *skb)
{
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
}

int strack_c_skb_copy_to_iter(const struct sk_buff *skb, int off, struct iov_iter *to, int len)
{
	return skb_copy_datagram_iter(skb, off, to, len);
}

void strack_c_skb_set_gso(struct sk_buff *skb, u16 size, u16 segs)
{
	skb_shinfo(skb)->gso_size = size;
	skb_shinfo(skb)->gso_segs = segs;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
}

void strack_c_skb_set_owner_w(struct sk_buff *skb, struct sock *sk)
{
	skb->priority = READ_ONCE(sk->sk_priority);
	skb_set_owner_w(skb, sk);
}

/* --- counters ------------------------------------------------------------ */

u64 __percpu *strack_c_counters_alloc(size_t slots)
{
	return __alloc_percpu(slots * sizeof(u64), sizeof(u64));
}

void strack_c_counters_free(u64 __percpu *counters)
{
	free_percpu(counters);
}

void strack_c_counters_add(u64 __percpu *counters, size_t slot, u64 n)
{
	this_cpu_add(counters[slot], n);
}

u64 strack_c_counters_sum(u64 __percpu *counters, size_t slot)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(counters, cpu)[slot]);
	return sum;
}

/* --- RCU ----------------------------------------------------------------- */

struct rcu_gp_seq strack_c_rcu_now(void)
{
	struct rcu_gp_seq now;

	get_state_synchronize_rcu_full(&now);
	return now;
}

/* May sleep; does not if a grace period has passed since then. */
void strack_c_rcu_wait(struct rcu_gp_seq since)
{
	cond_synchronize_rcu_full(&since);
}

/* --- /proc/net/strack ---------------------------------------------------- */

static int strack_snmp_open_show(struct seq_file *seq, void *v)
{
	strack_snmp_show(seq, pde_data(file_inode(seq->file)));
	return 0;
}

int strack_c_snmp_create(struct net *net, void *counters)
{
	struct proc_dir_entry *dir = proc_net_mkdir(net, "strack", net->proc_net);

	if (!dir)
		return -ENOMEM;
	if (!proc_create_net_single_write("snmp", 0444, dir, strack_snmp_open_show, NULL,
					  counters)) {
		remove_proc_subtree("strack", net->proc_net);
		return -ENOMEM;
	}
	return 0;
}

/* When this returns nobody is in the show function any more. */
void strack_c_snmp_remove(struct net *net)
{
	remove_proc_subtree("strack", net->proc_net);
}

void strack_c_snmp_line(struct seq_file *seq, const char *name, size_t len, u64 value)
{
	seq_printf(seq, "%-32.*s\t%llu\n", (int)len, name, value);
}
