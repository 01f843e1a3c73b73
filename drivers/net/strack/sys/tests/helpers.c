// SPDX-License-Identifier: GPL-2.0
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/if_ether.h>
#include <linux/net.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/smp.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include <net/dst.h>
#include <net/hotdata.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/udp.h>

#include "../companion.h"
#include "../family.h"
#include "../table.h"
#include "../udp.h"
#include "../../../../../include/uapi/linux/strack.h"
#include "helpers.h"

bool strack_c_kunit_in_softirq(void)
{
	return in_serving_softirq();
}

bool strack_c_kunit_bh_off(void)
{
	return softirq_count();
}

void strack_c_kunit_spin_us(unsigned int us)
{
	while (us--)
		udelay(1);
}

/* --- packets -------------------------------------------------------------- */

void strack_c_kunit_skb_look(const struct sk_buff *skb, struct strack_kunit_look *look)
{
	const struct skb_shared_info *info = skb_shinfo(skb);

	look->users = refcount_read(&skb->users);
	look->headroom = skb_headroom(skb);
	look->linear = skb_headlen(skb);
	look->frags = info->nr_frags;
	look->gso_size = info->gso_size;
	look->gso_segs = info->gso_segs;
	look->gso_udp = info->gso_type == SKB_GSO_UDP_L4;
}

unsigned int strack_c_kunit_max_frags(void)
{
	return MAX_SKB_FRAGS;
}

int strack_c_kunit_allow_frags(int most)
{
	return xchg(&net_hotdata.sysctl_max_skb_frags, most);
}

int strack_c_kunit_page_refs(const struct page *page)
{
	return page_count(page);
}

void strack_c_kunit_page_set_reserve(struct page *page, bool reserve)
{
	if (reserve)
		set_page_pfmemalloc(page);
	else
		clear_page_pfmemalloc(page);
}

bool strack_c_kunit_skb_reserve(const struct sk_buff *skb)
{
	return skb_pfmemalloc(skb);
}

/* What is charged for packets: the count begins at one, for the socket. */
u32 strack_c_kunit_wmem(const struct sock *sk)
{
	return sk_wmem_alloc_get(sk);
}

size_t strack_c_kunit_iter_left(const struct iov_iter *iter)
{
	return iov_iter_count(iter);
}

static void ubuf_complete(struct sk_buff *skb, struct ubuf_info *ubuf, bool success)
{
	struct strack_kunit_ubuf *lender = container_of(ubuf, struct strack_kunit_ubuf, ubuf);

	if (success)
		lender->sent++;
	else
		lender->copied++;
	/* not freed: the structure is the test's */
	refcount_dec(&ubuf->refcnt);
}

static const struct ubuf_info_ops ubuf_ops = {
	.complete	= ubuf_complete,
};

void strack_c_kunit_ubuf_init(struct strack_kunit_ubuf *lender)
{
	memset(lender, 0, sizeof(*lender));
	lender->ubuf.ops = &ubuf_ops;
	lender->ubuf.flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;
	refcount_set(&lender->ubuf.refcnt, 1);
}

u32 strack_c_kunit_ubuf_refs(const struct strack_kunit_ubuf *lender)
{
	return refcount_read(&lender->ubuf.refcnt);
}

int strack_c_kunit_skb_orphan(struct sk_buff *skb)
{
	return skb_orphan_frags_rx(skb, GFP_KERNEL);
}

bool strack_c_kunit_skb_shared(const struct sk_buff *skb)
{
	return skb_has_shared_frag(skb);
}

void *strack_c_kunit_slab(size_t size)
{
	return kmalloc(size, GFP_KERNEL);
}

void strack_c_kunit_slab_free(void *data)
{
	kfree(data);
}

static bool add_payload(struct sk_buff *skb, const struct strack_kunit_rx *rx, const u8 *payload,
			u32 len)
{
	u32 linear = min(rx->linear, len);

	skb_put_data(skb, payload, linear);
	payload += linear;
	len -= linear;
	while (len) {
		u32 part = min3(len, rx->frag, (u32)PAGE_SIZE);
		struct page *page;

		if (skb_shinfo(skb)->nr_frags == MAX_SKB_FRAGS)
			return false;
		page = alloc_page(GFP_KERNEL);
		if (!page)
			return false;
		memcpy(page_address(page), payload, part);
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, 0, part, PAGE_SIZE);
		payload += part;
		len -= part;
	}
	return true;
}

/* As UDP has it when it queues the packet: the sum of the payload is still to be added. */
static void set_checksum(struct sk_buff *skb, const struct strack_kunit_rx *rx)
{
	struct udphdr *uh = udp_hdr(skb);
	__wsum pseudo;
	__sum16 sum;

	pseudo = rx->v4 ? csum_tcpudp_nofold(ip_hdr(skb)->saddr, ip_hdr(skb)->daddr, skb->len,
					     IPPROTO_UDP, 0)
			: ~csum_unfold(csum_ipv6_magic(&ipv6_hdr(skb)->saddr, &ipv6_hdr(skb)->daddr,
						       skb->len, IPPROTO_UDP, 0));
	sum = csum_fold(skb_checksum(skb, 0, skb->len, pseudo)) ?: CSUM_MANGLED_0;
	switch (rx->checksum) {
	case STRACK_KUNIT_GOOD:
		uh->check = sum;
		break;
	case STRACK_KUNIT_WRONG:
		uh->check = csum16_add(sum, htons(1));
		break;
	case STRACK_KUNIT_PARTIAL:
		skb->ip_summed = CHECKSUM_PARTIAL;
		break;
	}
	skb->csum = pseudo;
}

/* A packet with the headers pulled, as it waits in the queue of a UDP socket. */
struct sk_buff *strack_c_kunit_skb_received(const struct strack_kunit_rx *rx, const void *payload,
					    u32 len)
{
	u32 ip = rx->v4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	struct sk_buff *skb = alloc_skb(ip + sizeof(struct udphdr) + rx->linear, GFP_KERNEL);

	if (!skb)
		return NULL;
	skb_reset_network_header(skb);
	if (rx->v4) {
		struct iphdr *iph = skb_put_zero(skb, ip);

		iph->version = 4;
		iph->ihl = ip / 4;
		iph->tos = rx->tos;
		iph->protocol = IPPROTO_UDP;
		memcpy(&iph->saddr, rx->src + 12, 4);
		memcpy(&iph->daddr, rx->dst + 12, 4);
		skb->protocol = htons(ETH_P_IP);
	} else {
		struct ipv6hdr *ip6h = skb_put_zero(skb, ip);

		ip6_flow_hdr(ip6h, rx->tos, 0);
		ip6h->nexthdr = IPPROTO_UDP;
		memcpy(&ip6h->saddr, rx->src, 16);
		memcpy(&ip6h->daddr, rx->dst, 16);
		skb->protocol = htons(ETH_P_IPV6);
		IP6CB(skb)->iif = rx->ifindex;
	}
	skb->skb_iif = rx->ifindex;
	skb_pull(skb, ip);

	skb_reset_transport_header(skb);
	memset(skb_put(skb, sizeof(struct udphdr)), 0, sizeof(struct udphdr));
	udp_hdr(skb)->source = htons(rx->sport);
	udp_hdr(skb)->dest = htons(strack_c_udp_port());
	udp_hdr(skb)->len = htons(sizeof(struct udphdr) + len);
	if (!add_payload(skb, rx, payload, len)) {
		kfree_skb(skb);
		return NULL;
	}
	set_checksum(skb, rx);
	udp_csum_pull_header(skb);

	skb->pkt_type = rx->broadcast ? PACKET_BROADCAST : PACKET_HOST;
	if (rx->gso_size) {
		skb_shinfo(skb)->gso_size = rx->gso_size;
		skb_shinfo(skb)->gso_segs = DIV_ROUND_UP(len, rx->gso_size);
		skb_shinfo(skb)->gso_type = rx->gso_tcp ? SKB_GSO_TCPV4 : SKB_GSO_UDP_L4;
	}
	return skb;
}

/* --- sockets -------------------------------------------------------------- */

struct socket *strack_c_kunit_socket(void)
{
	struct socket *sock;

	if (sock_create_kern(&init_net, strack_c_family_number(), SOCK_STREAM, 0, &sock))
		return NULL;
	return sock;
}

void strack_c_kunit_sock_write(struct sock *sk, const struct strack_kunit_sock *values)
{
	struct strack_poll *poll = &container_of(sk, struct strack_sock, sk)->poll;

	sk->sk_rcvbuf = values->rcvbuf;
	sk->sk_sndbuf = values->sndbuf;
	sk->sk_mark = values->mark;
	sk->sk_err = values->err;
	sk->sk_lingertime = values->linger;
	sk->sk_bound_dev_if = values->dev;
	sk->sk_uid = KUIDT_INIT(values->uid);
	sk->sk_reuse = values->reuse ? SK_CAN_REUSE : SK_NO_REUSE;
	sk->sk_state = values->state;
	sk->sk_shutdown = values->shutdown;
	sk->sk_ack_backlog = values->backlog;
	poll->readable = values->readable;
	poll->unsent = values->unsent;
	poll->full = values->full;
}

void strack_c_kunit_sock_read(const struct sock *sk, struct strack_kunit_sock *values)
{
	const struct strack_poll *poll = &container_of(sk, struct strack_sock, sk)->poll;

	values->rcvbuf = sk->sk_rcvbuf;
	values->sndbuf = sk->sk_sndbuf;
	values->mark = sk->sk_mark;
	values->err = sk->sk_err;
	values->linger = sk->sk_lingertime;
	values->dev = sk->sk_bound_dev_if;
	values->uid = __kuid_val(sk->sk_uid);
	values->reuse = sk->sk_reuse;
	values->state = sk->sk_state;
	values->shutdown = sk->sk_shutdown;
	values->backlog = sk->sk_ack_backlog;
	values->readable = poll->readable;
	values->unsent = poll->unsent;
	values->full = poll->full;
}

/* --- counters ------------------------------------------------------------- */

struct count {
	u64 __percpu *counters;
	size_t slot;
	u64 n;
};

static void count_here(void *arg)
{
	const struct count *count = arg;

	strack_c_counters_add(count->counters, count->slot, count->n);
}

/* Counts @n on each CPU, and returns on how many that was. */
unsigned int strack_c_kunit_count_everywhere(u64 __percpu *counters, size_t slot, u64 n)
{
	struct count count = { .counters = counters, .slot = slot, .n = n };
	unsigned int cpus;

	cpus_read_lock();
	cpus = num_online_cpus();
	on_each_cpu(count_here, &count, 1);
	cpus_read_unlock();
	return cpus;
}

/* What somebody reads in the file of these counters. */
size_t strack_c_kunit_snmp(u64 __percpu *counters, char *to, size_t room)
{
	struct seq_file seq = { .buf = to, .size = room };

	strack_snmp_show(&seq, (__force void *)counters);
	return seq.count;
}

/* --- layouts -------------------------------------------------------------- */

/* Rust reads and writes what programs know as sockaddr_strack. */
static_assert(sizeof(struct sockaddr_strack) == sizeof(struct sockaddr_in6));
static_assert(offsetof(struct sockaddr_strack, sst_family) == offsetof(struct sockaddr_in6, sin6_family));
static_assert(offsetof(struct sockaddr_strack, sst_port) == offsetof(struct sockaddr_in6, sin6_port));
static_assert(offsetof(struct sockaddr_strack, sst_addr) == offsetof(struct sockaddr_in6, sin6_addr));
static_assert(offsetof(struct sockaddr_strack, sst_scope_id) ==
	      offsetof(struct sockaddr_in6, sin6_scope_id));

#define TYPE(type) { #type, 0, sizeof(struct type) }
#define FIELD(type, field) \
	{ #type "." #field, offsetof(struct type, field), sizeof_field(struct type, field) }

static const struct strack_kunit_layout layouts[] = {
	TYPE(sk_buff),
	FIELD(sk_buff, len),
	FIELD(sk_buff, truesize),
	TYPE(sock),
	FIELD(sock, sk_rcvbuf),
	FIELD(sock, sk_sndbuf),
	FIELD(sock, sk_mark),
	FIELD(sock, sk_err),
	FIELD(sock, sk_lingertime),
	FIELD(sock, sk_uid),
	FIELD(sock, sk_ack_backlog),
	FIELD(sock, sk_shutdown),
	TYPE(sock_common),
	FIELD(sock_common, skc_bound_dev_if),
	FIELD(sock_common, skc_state),
	TYPE(socket),
	FIELD(socket, sk),
	TYPE(sockaddr_in6),
	FIELD(sockaddr_in6, sin6_family),
	FIELD(sockaddr_in6, sin6_port),
	FIELD(sockaddr_in6, sin6_addr),
	FIELD(sockaddr_in6, sin6_scope_id),
	TYPE(msghdr),
	FIELD(msghdr, msg_iter),
	FIELD(msghdr, msg_ubuf),
	FIELD(msghdr, msg_namelen),
	FIELD(msghdr, msg_flags),
	TYPE(iov_iter),
	TYPE(hrtimer),
	TYPE(spinlock),
	TYPE(callback_head),
	TYPE(work_struct),
	TYPE(completion),
	TYPE(strack_kunit_ubuf),
	TYPE(proto_accept_arg),
	FIELD(proto_accept_arg, flags),
	TYPE(strack_sock),
	FIELD(strack_sock, poll),
	FIELD(strack_sock, inner),
	TYPE(strack_poll),
	TYPE(strack_net),
	FIELD(strack_net, sysctl),
	FIELD(strack_net, net),
	FIELD(strack_net, accept_work),
	/* a name that Rust keeps to itself */
	{ "strack_net.priv_", offsetof(struct strack_net, priv), sizeof(void *) },
	TYPE(strack_sysctl),
	FIELD(strack_sysctl, path_policy),
	FIELD(strack_sysctl, keepalive_probes),
	TYPE(strack_node),
	FIELD(strack_node, owner),
	FIELD(strack_node, cid),
	FIELD(strack_node, peer_cid),
	FIELD(strack_node, peer),
	TYPE(strack_udp_rx),
	FIELD(strack_udp_rx, ifindex),
	TYPE(strack_udp_tx),
	FIELD(strack_udp_tx, df),
	TYPE(strack_udp_flow),
	FIELD(strack_udp_flow, tos),
	TYPE(strack_udp_icmp),
	FIELD(strack_udp_icmp, header),
};

const struct strack_kunit_layout *strack_c_kunit_layouts(size_t *count)
{
	*count = ARRAY_SIZE(layouts);
	return layouts;
}
