/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel UDP sockets, routes and the way of a packet out and in, as far as
 * they are inline functions or read the inside of IP headers.
 */
#ifndef _STRACK_UDP_H
#define _STRACK_UDP_H

#include <linux/types.h>

struct dst_entry;
struct net;
struct sk_buff;
struct sock;
struct socket;

/**
 * struct strack_udp_rx - a received datagram, or a train of equal ones
 * @src: sender, IPv4 as v4-mapped
 * @dst: the address it was sent to
 * @src_port: UDP source port
 * @ce: the network marked it "congestion experienced"
 * @ifindex: interface it came in by
 * @seg_len: bytes from one datagram's payload to the next one's
 * @total: bytes of payload in all, the last datagram may be shorter
 */
struct strack_udp_rx {
	u8 src[16];
	u8 dst[16];
	u16 src_port;
	bool ce;
	u32 ifindex;
	u32 seg_len;
	u32 total;
};

/**
 * struct strack_udp_icmp - an ICMP error about a datagram of ours
 * @too_big: it did not fit
 * @mtu: what would have, 0 if the router did not say
 * @err: errno, positive
 * @hard: waiting does not help
 * @header: first bytes of the datagram's payload, zero-padded
 */
struct strack_udp_icmp {
	bool too_big;
	u32 mtu;
	int err;
	bool hard;
	u8 header[32];
};

/**
 * struct strack_udp_flow - what a route is looked up for
 * @saddr: own address, or all zero: filled in
 * @daddr: the peer's
 * @oif: interface to be used, or 0
 * @mark: fwmark
 * @uid: user who sends, as the kernel counts users
 * @tos: DS field, the ECN bits are ignored
 * @sport: UDP source port, for policies that look at it, or 0
 * @dport: UDP destination port
 */
struct strack_udp_flow {
	u8 saddr[16];
	u8 daddr[16];
	int oif;
	u32 mark;
	u32 uid;
	u8 tos;
	u16 sport;
	u16 dport;
};

/**
 * struct strack_udp_tx - how a datagram leaves
 * @saddr: own address, IPv4 as v4-mapped
 * @daddr: the peer's
 * @label: IPv6 flow label, host order
 * @mark: fwmark
 * @tos: DS field, ECN included
 * @ttl: 0 for the route's own
 * @df: routers shall drop rather than fragment it
 * @sport: UDP source port
 * @dport: UDP destination port
 */
struct strack_udp_tx {
	u8 saddr[16];
	u8 daddr[16];
	u32 label;
	u32 mark;
	u8 tos;
	u8 ttl;
	bool df;
	u16 sport;
	u16 dport;
};

/* a module parameter */
int strack_c_udp_port(void);

/* sockets; opening and closing are serialised by this lock */
void strack_c_udp_lock(void);
void strack_c_udp_unlock(void);
int strack_c_udp_open(struct net *net, bool v4, u16 port, struct socket **sockp);
void strack_c_udp_attach(struct socket *sock, void *owner, int rcvbuf);
void strack_c_udp_detach(struct socket *sock);
void strack_c_udp_close(struct socket *sock);
void *strack_c_udp_owner(const struct sock *sk);
struct sk_buff *strack_c_udp_recv(struct sock *sk);
int strack_c_udp_describe(struct sk_buff *skb, struct strack_udp_rx *rx);

/* routes */
struct dst_entry *strack_c_route(struct net *net, struct strack_udp_flow *flow, u32 *cookie);
bool strack_c_route_valid(struct dst_entry *dst, u32 cookie);
u32 strack_c_route_mtu(const struct dst_entry *dst);
void strack_c_route_hold(struct dst_entry *dst);
u32 strack_c_net_uid(const struct net *net);

/* out; consumes @skb */
int strack_c_udp_xmit(struct dst_entry *dst, struct sock *sk, struct sk_buff *skb,
		      const struct strack_udp_tx *tx);

/* offered by Rust (sys/udp.rs) */
void strack_udp_ready(struct sock *sk);
void strack_udp_icmp(struct sock *sk, const struct strack_udp_icmp *icmp);

#endif /* _STRACK_UDP_H */
