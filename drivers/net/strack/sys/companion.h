/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What Rust needs of the kernel's memory and packets and cannot call itself:
 * functions that exist only inline or as macros.
 */
#ifndef _STRACK_COMPANION_H
#define _STRACK_COMPANION_H

#include <linux/rcupdate.h>
#include <linux/types.h>

struct iov_iter;
struct net;
struct page;
struct seq_file;
struct sk_buff;
struct sock;
struct ubuf_info;

u64 strack_c_keyed_hash(u64 key0, u64 key1, const void *data, size_t len);

/* flags for what a connection is made of */
gfp_t strack_c_gfp_connection(void);

/* pages */
struct page *strack_c_pages_alloc(unsigned int order, gfp_t gfp);
unsigned int strack_c_page_order(const struct page *page);
void *strack_c_page_address(const struct page *page);
void strack_c_page_get(struct page *page);
void strack_c_page_put(struct page *page);
bool strack_c_copy_from_iter(void *dst, size_t len, struct iov_iter *from);
ssize_t strack_c_iter_pages(struct iov_iter *from, size_t len, struct page **pages,
			    unsigned int max, size_t *off);
bool strack_c_iter_is_user(const struct iov_iter *from);
void strack_c_iter_revert(struct iov_iter *from, size_t len);
bool strack_c_page_borrow(struct page **page, u32 *off);

/* users of zero copy */
void strack_c_ubuf_get(struct ubuf_info *ubuf);
void strack_c_ubuf_put(struct ubuf_info *ubuf);

/* packets */
struct sk_buff *strack_c_skb_alloc(unsigned int linear, unsigned int headroom, gfp_t gfp);
struct sk_buff *strack_c_skb_get(struct sk_buff *skb);
unsigned int strack_c_skb_packets(const struct sk_buff *skb);
void strack_c_skb_free(struct sk_buff *skb);
int strack_c_skb_push_linear(struct sk_buff *skb, const void *data, unsigned int len);
int strack_c_skb_add_frag(struct sk_buff *skb, struct page *page, unsigned int off,
			  unsigned int len);
int strack_c_skb_add_lent(struct sk_buff *skb, struct page *page, unsigned int off,
			  unsigned int len);
unsigned int strack_c_max_frags(void);
unsigned int strack_c_skb_frags_left(const struct sk_buff *skb);
unsigned int strack_c_skb_train_frags_left(const struct sk_buff *skb);
void strack_c_skb_set_ubuf(struct sk_buff *skb, struct ubuf_info *ubuf);
void strack_c_skb_set_shared(struct sk_buff *skb);
int strack_c_skb_copy_to_iter(const struct sk_buff *skb, int off, struct iov_iter *to, int len);
void strack_c_skb_set_gso(struct sk_buff *skb, u16 size, u16 segs);
void strack_c_skb_set_owner_w(struct sk_buff *skb, struct sock *sk);

/* RCU: the present, and a grace period of either kind after it */
struct rcu_gp_seq strack_c_rcu_now(void);
void strack_c_rcu_wait(struct rcu_gp_seq since);

/* counters: @slots 64-bit values for each CPU */
u64 __percpu *strack_c_counters_alloc(size_t slots);
void strack_c_counters_free(u64 __percpu *counters);
void strack_c_counters_add(u64 __percpu *counters, size_t slot, u64 n);
u64 strack_c_counters_sum(u64 __percpu *counters, size_t slot);

/* /proc/net/strack/snmp, one in each network namespace */
int strack_c_snmp_create(struct net *net, void *counters);
void strack_c_snmp_remove(struct net *net);
void strack_c_snmp_line(struct seq_file *seq, const char *name, size_t len, u64 value);

/* offered by Rust (sys/counters.rs): writes all lines */
void strack_snmp_show(struct seq_file *seq, void *counters);

#endif /* _STRACK_COMPANION_H */
