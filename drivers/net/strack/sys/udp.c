// SPDX-License-Identifier: GPL-2.0
/*
 * UDP as the carrier: plain kernel sockets for what comes in, the functions
 * that tunnels use for what goes out.
 *
 * The sockets are no encapsulation sockets: those have each super-packet taken
 * apart before they see it. They are ordinary ones that allow GSO and drain
 * their own queue from sk_data_ready. Of the tunnels' hooks they use those for
 * ICMP errors, since no socket is bound to the source ports that are used.
 */

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <net/dst.h>
#include <net/icmp.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "udp.h"

static ushort port __ro_after_init = 4793;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "UDP port that packets are sent to and received at (default 4793)");

int strack_c_udp_port(void)
{
	return port;
}

static bool addr_is_v4(const u8 addr[16])
{
	return ipv6_addr_v4mapped((const struct in6_addr *)addr);
}

static __be32 addr_get_v4(const u8 addr[16])
{
	return get_unaligned((const __be32 *)(addr + 12));
}

static void addr_set_v4(u8 addr[16], __be32 v4)
{
	ipv6_addr_set_v4mapped(v4, (struct in6_addr *)addr);
}

static void addr_set_v6(u8 addr[16], const struct in6_addr *v6)
{
	memcpy(addr, v6, sizeof(*v6));
}

/* --- ICMP ---------------------------------------------------------------- */

/*
 * @skb begins at the IP header of the datagram that the error is about and
 * need not be linear beyond eight bytes of UDP; @payload points behind those.
 */
static void strack_udp_err_rcv(struct sock *sk, struct sk_buff *skb, int err, __be16 dport,
			       u32 info, u8 *payload)
{
	struct strack_udp_icmp icmp = { .err = err };
	int off = payload - skb->data;

	if (sk->sk_family == AF_INET) {
		const struct icmphdr *ih = icmp_hdr(skb);

		icmp.too_big = ih->type == ICMP_DEST_UNREACH && ih->code == ICMP_FRAG_NEEDED;
		if (icmp.too_big)
			icmp.mtu = info;
		else if (ih->type == ICMP_DEST_UNREACH && ih->code <= NR_ICMP_UNREACH)
			icmp.hard = icmp_err_convert[ih->code].fatal;
		else
			icmp.hard = ih->type == ICMP_PARAMETERPROB;
#if IS_ENABLED(CONFIG_IPV6)
	} else {
		const struct icmp6hdr *ih = icmp6_hdr(skb);

		icmp.too_big = ih->icmp6_type == ICMPV6_PKT_TOOBIG;
		if (icmp.too_big)
			icmp.mtu = info;
		else
			icmp.hard = icmpv6_err_convert(ih->icmp6_type, ih->icmp6_code, &icmp.err);
#endif
	}

	if (off > 0 && off < skb->len)
		skb_copy_bits(skb, off, icmp.header,
			      min_t(unsigned int, sizeof(icmp.header), skb->len - off));
	strack_udp_icmp(sk, &icmp);
}

/* Found by our well-known port as destination: ours. */
static int strack_udp_err_lookup(struct sock *sk, struct sk_buff *skb)
{
	return 0;
}

/* --- sockets ------------------------------------------------------------- */

static DEFINE_MUTEX(strack_udp_mutex);

void strack_c_udp_lock(void)
{
	mutex_lock(&strack_udp_mutex);
}

void strack_c_udp_unlock(void)
{
	mutex_unlock(&strack_udp_mutex);
}

struct strack_udp_open {
	struct work_struct work;
	struct net *net;
	struct udp_port_cfg cfg;
	struct socket *sock;
	int err;
};

static void strack_udp_open_work(struct work_struct *work)
{
	struct strack_udp_open *open = container_of(work, struct strack_udp_open, work);

	open->err = udp_sock_create(open->net, &open->cfg, &open->sock);
}

/*
 * Opens a socket for all of a namespace, on behalf of whoever is the first to
 * need it. It must not be that one's: a socket belongs to the cgroup of the task
 * that makes it, whose programs then filter what it receives, and binding asks
 * for that task's capabilities. So a kernel thread makes it. May sleep; @net is
 * alive.
 */
int strack_c_udp_open(struct net *net, bool v4, u16 local_port, struct socket **sockp)
{
	struct strack_udp_open open = {
		.net	= net,
		.cfg	= {
			.family			= v4 ? AF_INET : AF_INET6,
			.local_udp_port		= htons(local_port),
			.use_udp_checksums	= true,
			.use_udp6_tx_checksums	= true,
			.use_udp6_rx_checksums	= true,
			.ipv6_v6only		= true,
		},
	};

	INIT_WORK_ONSTACK(&open.work, strack_udp_open_work);
	schedule_work(&open.work);
	flush_work(&open.work);
	destroy_work_on_stack(&open.work);
	*sockp = open.sock;
	return open.err;
}

void strack_c_udp_attach(struct socket *sock, void *owner, int rcvbuf)
{
	struct sock *sk = sock->sk;

	rcu_assign_sk_user_data(sk, owner);

	lock_sock(sk);
	/* busy polling is for those who wait: it must not begin in softirq */
#ifdef CONFIG_NET_RX_BUSY_POLL
	WRITE_ONCE(sk->sk_ll_usec, 0);
#endif
	sk->sk_allocation = GFP_ATOMIC;
	sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, rcvbuf);
	/* follows the size of the buffer, see udp_lib_setsockopt() */
	WRITE_ONCE(udp_sk(sk)->forward_threshold, rcvbuf >> 2);

	/* be told of a smaller MTU even where the namespace does without discovery */
	WRITE_ONCE(inet_sk(sk)->pmtudisc, IP_PMTUDISC_DO);
	WRITE_ONCE(udp_sk(sk)->encap_err_lookup, strack_udp_err_lookup);
	WRITE_ONCE(udp_sk(sk)->encap_err_rcv, strack_udp_err_rcv);
	udp_allow_gso(sk);
	udp_set_bit(GRO_ENABLED, sk);
	/* both GRO and the ICMP hooks are looked up only when somebody asks */
	udp_tunnel_encap_enable(sk);

	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_data_ready, strack_udp_ready);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);

	/* what came in between bind and here woke nobody */
	local_bh_disable();
	strack_udp_ready(sk);
	local_bh_enable();
}

/* Softirqs under way may still use the owner until a grace period has passed. */
void strack_c_udp_detach(struct socket *sock)
{
	rcu_assign_sk_user_data(sock->sk, NULL);
}

void strack_c_udp_close(struct socket *sock)
{
	udp_tunnel_sock_release(sock->sk);
}

/* Under rcu_read_lock(). */
void *strack_c_udp_owner(const struct sock *sk)
{
	return rcu_dereference_sk_user_data(sk);
}

/* The next datagram, which nobody is charged for any more. */
struct sk_buff *strack_c_udp_recv(struct sock *sk)
{
	int off = 0, err = 0;
	struct sk_buff *skb;

	/* a pending socket error is reported, and thereby cleared, once */
	do {
		skb = __skb_recv_udp(sk, MSG_DONTWAIT, &off, &err);
	} while (!skb && err != -EAGAIN);
	if (!skb)
		return NULL;

	/* UDP keeps its notes on a queued skb where the device was */
	skb->dev = NULL;
	skb_orphan(skb);
	return skb;
}

/*
 * What the address says of the packet, where the link layer may have said something
 * else: anybody on the link can send a multicast packet to this host's own address
 * there. And a v4-mapped address in an IPv6 header would pass for one of IPv4 from
 * here on, e.g. ::ffff:127.0.0.1 for a local one.
 */
static bool addr_is_for_us_v4(const struct iphdr *iph)
{
	return !ipv4_is_multicast(iph->daddr) && !ipv4_is_lbcast(iph->daddr);
}

static bool addr_is_for_us_v6(const struct ipv6hdr *ip6h)
{
	return !ipv6_addr_is_multicast(&ip6h->daddr) && !ipv6_addr_v4mapped(&ip6h->daddr) &&
	       !ipv6_addr_v4mapped(&ip6h->saddr);
}

/* The least that a datagram of ours is made of: what all headers begin with. */
#define STRACK_MIN_SEGMENT	16

/*
 * Reads the headers in front of the payload. -EBADMSG: the checksum is wrong;
 * -ENOMSG: there is none, and we always send one; -EADDRNOTAVAIL: sent to more
 * than this host, or by IPv6 from or to a v4-mapped address; -EPROTO: nothing in
 * it, or taken apart into nothing.
 */
int strack_c_udp_describe(struct sk_buff *skb, struct strack_udp_rx *rx)
{
	/* a guest may send UDP fragments as one, which are no datagrams */
	bool train = skb_shinfo(skb)->gso_type & (SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST);

	if (skb->pkt_type != PACKET_HOST)
		return -EADDRNOTAVAIL;
	/* a guest may have said how to take it apart: bound the work */
	if (!skb->len || (skb_is_gso(skb) && !train) || (train && skb_shinfo(skb)->gso_size < STRACK_MIN_SEGMENT))
		return -EPROTO;
	/* with a partial checksum the field holds part of one, 0 by chance */
	if (!udp_hdr(skb)->check && skb->ip_summed != CHECKSUM_PARTIAL)
		return -ENOMSG;
	if (udp_lib_checksum_complete(skb))
		return -EBADMSG;

	if (skb->protocol == htons(ETH_P_IP)) {
		const struct iphdr *iph = ip_hdr(skb);

		if (!addr_is_for_us_v4(iph))
			return -EADDRNOTAVAIL;
		addr_set_v4(rx->src, iph->saddr);
		addr_set_v4(rx->dst, iph->daddr);
		rx->ce = INET_ECN_is_ce(iph->tos);
		rx->ifindex = skb->skb_iif;
	} else {
		const struct ipv6hdr *ip6h = ipv6_hdr(skb);

		if (!addr_is_for_us_v6(ip6h))
			return -EADDRNOTAVAIL;
		addr_set_v6(rx->src, &ip6h->saddr);
		addr_set_v6(rx->dst, &ip6h->daddr);
		rx->ce = INET_ECN_is_ce(ipv6_get_dsfield(ip6h));
		rx->ifindex = inet6_iif(skb);
	}
	rx->src_port = ntohs(udp_hdr(skb)->source);
	rx->total = skb->len;
	rx->seg_len = train ? min_t(u32, skb_shinfo(skb)->gso_size, skb->len) : skb->len;
	return 0;
}

/* --- routes -------------------------------------------------------------- */

static struct dst_entry *strack_route4(struct net *net, struct strack_udp_flow *flow)
{
	struct flowi4 fl4;
	struct rtable *rt;

	memset(&fl4, 0, sizeof(fl4));
	flowi4_init_output(&fl4, flow->oif, flow->mark, flow->tos & INET_DSCP_MASK,
			   RT_SCOPE_UNIVERSE, IPPROTO_UDP, 0, addr_get_v4(flow->daddr),
			   addr_get_v4(flow->saddr), htons(flow->dport), htons(flow->sport),
			   KUIDT_INIT(flow->uid));
	rt = ip_route_output_flow(net, &fl4, NULL);
	if (IS_ERR(rt))
		return ERR_CAST(rt);
	/* one peer, one connection: no broadcast, no multicast */
	if (rt->rt_flags & (RTCF_BROADCAST | RTCF_MULTICAST)) {
		ip_rt_put(rt);
		return ERR_PTR(-ENETUNREACH);
	}
	addr_set_v4(flow->saddr, fl4.saddr);
	return &rt->dst;
}

#if IS_ENABLED(CONFIG_IPV6)
static struct dst_entry *strack_route6(struct net *net, struct strack_udp_flow *flow)
{
	struct flowi6 fl6 = {
		.flowi6_oif	= flow->oif,
		.flowi6_mark	= flow->mark,
		.flowi6_proto	= IPPROTO_UDP,
		.flowi6_uid	= KUIDT_INIT(flow->uid),
		.flowlabel	= ip6_make_flowinfo(flow->tos & INET_DSCP_MASK, 0),
		.fl6_sport	= htons(flow->sport),
		.fl6_dport	= htons(flow->dport),
	};
	struct dst_entry *dst;

	memcpy(&fl6.saddr, flow->saddr, sizeof(fl6.saddr));
	memcpy(&fl6.daddr, flow->daddr, sizeof(fl6.daddr));
	if (ipv6_addr_is_multicast(&fl6.daddr))
		return ERR_PTR(-ENETUNREACH);
	dst = ip6_dst_lookup_flow(net, NULL, &fl6, NULL);
	if (!IS_ERR(dst))
		addr_set_v6(flow->saddr, &fl6.saddr);
	return dst;
}
#else
static struct dst_entry *strack_route6(struct net *net, struct strack_udp_flow *flow)
{
	return ERR_PTR(-EAFNOSUPPORT);
}
#endif

/* The caller owns a reference to what is returned. */
struct dst_entry *strack_c_route(struct net *net, struct strack_udp_flow *flow, u32 *cookie)
{
	struct dst_entry *dst;

	*cookie = 0;
	if (addr_is_v4(flow->daddr))
		return strack_route4(net, flow);

	dst = strack_route6(net, flow);
	if (!IS_ERR(dst) && dst->ops->family == AF_INET6)
		*cookie = rt6_get_cookie(dst_rt6_info(dst));
	return dst;
}

bool strack_c_route_valid(struct dst_entry *dst, u32 cookie)
{
	return dst_check(dst, cookie);
}

u32 strack_c_route_mtu(const struct dst_entry *dst)
{
	return dst_mtu(dst);
}

void strack_c_route_hold(struct dst_entry *dst)
{
	dst_hold(dst);
}

/* Whom packets are sent for that no socket sends. */
u32 strack_c_net_uid(const struct net *net)
{
	return __kuid_val(sock_net_uid(net, NULL));
}

/* --- out ----------------------------------------------------------------- */

static int strack_skb_prepare(struct sk_buff *skb, const struct dst_entry *dst, unsigned int room)
{
	unsigned int link;

	rcu_read_lock();
	link = LL_RESERVED_SPACE(dst_dev_rcu(dst));
	rcu_read_unlock();

	room += sizeof(struct udphdr);
	if (skb_cow_head(skb, room + link + dst->header_len))
		return -ENOMEM;

	/* UDP completes the checksum of a train per segment, and asks for it */
	if (skb_is_gso(skb)) {
		skb->ip_summed = CHECKSUM_PARTIAL;
		skb->csum_start = skb_headroom(skb) - sizeof(struct udphdr);
		skb->csum_offset = offsetof(struct udphdr, check);
	}
	return 0;
}

static int strack_xmit4(struct dst_entry *dst, struct sock *sk, struct sk_buff *skb,
			const struct strack_udp_tx *tx)
{
	if (skb->len + sizeof(struct udphdr) + sizeof(struct iphdr) > IP_MAX_MTU)
		return -EMSGSIZE;
	if (strack_skb_prepare(skb, dst, sizeof(struct iphdr)))
		return -ENOMEM;

	skb->protocol = htons(ETH_P_IP);
	dst_hold(dst);
	local_bh_disable();
	udp_tunnel_xmit_skb(dst_rtable(dst), sk, skb, addr_get_v4(tx->saddr),
			    addr_get_v4(tx->daddr), tx->tos, tx->ttl ?: ip4_dst_hoplimit(dst),
			    tx->df ? htons(IP_DF) : 0, htons(tx->sport), htons(tx->dport),
			    false, false, 0);
	local_bh_enable();
	return 0;
}

#if IS_ENABLED(CONFIG_IPV6)
static int strack_xmit6(struct dst_entry *dst, struct sock *sk, struct sk_buff *skb,
			const struct strack_udp_tx *tx)
{
	if (skb->len + sizeof(struct udphdr) > IPV6_MAXPLEN)
		return -EMSGSIZE;
	if (strack_skb_prepare(skb, dst, sizeof(struct ipv6hdr)))
		return -ENOMEM;

	skb->protocol = htons(ETH_P_IPV6);
	skb->ignore_df = !tx->df;
	dst_hold(dst);
	local_bh_disable();
	udp_tunnel6_xmit_skb(dst, sk, skb, NULL, (const struct in6_addr *)tx->saddr,
			     (const struct in6_addr *)tx->daddr, tx->tos,
			     tx->ttl ?: ip6_dst_hoplimit(dst), htonl(tx->label), htons(tx->sport),
			     htons(tx->dport), false, 0);
	local_bh_enable();
	return 0;
}
#else
static int strack_xmit6(struct dst_entry *dst, struct sock *sk, struct sk_buff *skb,
			const struct strack_udp_tx *tx)
{
	return -EAFNOSUPPORT;
}
#endif

int strack_c_udp_xmit(struct dst_entry *dst, struct sock *sk, struct sk_buff *skb,
		      const struct strack_udp_tx *tx)
{
	int err;

	skb->mark = tx->mark;
	if (addr_is_v4(tx->daddr))
		err = strack_xmit4(dst, sk, skb, tx);
	else
		err = strack_xmit6(dst, sk, skb, tx);
	if (err)
		kfree_skb(skb);
	return err;
}
