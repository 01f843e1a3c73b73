/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the KUnit tests need of C: a second look, by the C compiler, at what Rust
 * has done or believes, and packets as the network stack would bring them.
 */
#ifndef _STRACK_KUNIT_HELPERS_H
#define _STRACK_KUNIT_HELPERS_H

#include <linux/skbuff.h>
#include <linux/types.h>

struct iov_iter;
struct net;
struct page;
struct sk_buff;
struct sock;
struct socket;

/* --- where the caller is -------------------------------------------------- */

bool strack_c_kunit_in_softirq(void);
bool strack_c_kunit_bh_off(void);
void strack_c_kunit_spin_us(unsigned int us);

/* --- packets --------------------------------------------------------------- */

/**
 * struct strack_kunit_look - what C sees in a packet
 * @users: references
 * @headroom: bytes free in front
 * @linear: bytes of it in the linear part
 * @frags: fragments
 * @gso_size: bytes of payload in a datagram of the train, 0 if it is none
 * @gso_segs: datagrams in it
 * @gso_udp: it is taken apart as UDP, and as nothing else
 */
struct strack_kunit_look {
	u32 users;
	u32 headroom;
	u32 linear;
	u32 frags;
	u16 gso_size;
	u16 gso_segs;
	bool gso_udp;
};

void strack_c_kunit_skb_look(const struct sk_buff *skb, struct strack_kunit_look *look);
unsigned int strack_c_kunit_max_frags(void);
/* sets net.core.max_skb_frags, and gives what it was */
int strack_c_kunit_allow_frags(int most);
int strack_c_kunit_page_refs(const struct page *page);
/* whether a page comes from the reserves for emergencies, and a packet is said to */
void strack_c_kunit_page_set_reserve(struct page *page, bool reserve);
bool strack_c_kunit_skb_reserve(const struct sk_buff *skb);
u32 strack_c_kunit_wmem(const struct sock *sk);
size_t strack_c_kunit_iter_left(const struct iov_iter *iter);

/**
 * struct strack_kunit_ubuf - somebody who lends pages
 * @ubuf: what he gives to sendmsg(); one reference is his
 * @sent: how often he was told that they are not referred to any more
 * @copied: how often that they were copied
 */
struct strack_kunit_ubuf {
	struct ubuf_info ubuf;
	u32 sent;
	u32 copied;
};

void strack_c_kunit_ubuf_init(struct strack_kunit_ubuf *lender);
u32 strack_c_kunit_ubuf_refs(const struct strack_kunit_ubuf *lender);
/* as the network stack does where a packet comes back to this host */
int strack_c_kunit_skb_orphan(struct sk_buff *skb);
bool strack_c_kunit_skb_shared(const struct sk_buff *skb);
void *strack_c_kunit_slab(size_t size);
void strack_c_kunit_slab_free(void *data);

enum strack_kunit_checksum {
	STRACK_KUNIT_GOOD,
	STRACK_KUNIT_WRONG,
	STRACK_KUNIT_NONE,
	STRACK_KUNIT_PARTIAL,
};

/**
 * struct strack_kunit_rx - a datagram, or a train of them, in a UDP socket's queue
 * @v4: by IPv4
 * @src: sender, IPv4 as v4-mapped
 * @dst: receiver
 * @sport: UDP source port
 * @tos: DS field, ECN included
 * @ifindex: interface it came in by
 * @broadcast: sent to more than this host
 * @checksum: of UDP
 * @linear: bytes of the payload in the linear part, the rest is in fragments
 * @frag: bytes in each of them
 * @gso_size: not 0: a train of datagrams of so many bytes
 * @gso_tcp: it says to be one of TCP
 */
struct strack_kunit_rx {
	bool v4;
	u8 src[16];
	u8 dst[16];
	u16 sport;
	u8 tos;
	int ifindex;
	bool broadcast;
	u32 checksum;
	u32 linear;
	u32 frag;
	u16 gso_size;
	bool gso_tcp;
};

struct sk_buff *strack_c_kunit_skb_received(const struct strack_kunit_rx *rx, const void *payload,
					    u32 len);

/* --- sockets --------------------------------------------------------------- */

/**
 * struct strack_kunit_sock - fields of a socket, as C writes them
 */
struct strack_kunit_sock {
	int rcvbuf;
	int sndbuf;
	u32 mark;
	int err;
	long linger;
	int dev;
	u32 uid;
	bool reuse;
	u8 state;
	u8 shutdown;
	u32 backlog;
	u32 readable;
	u32 unsent;
	bool full;
};

struct socket *strack_c_kunit_socket(void);
void strack_c_kunit_sock_write(struct sock *sk, const struct strack_kunit_sock *values);
void strack_c_kunit_sock_read(const struct sock *sk, struct strack_kunit_sock *values);

/* --- counters -------------------------------------------------------------- */

unsigned int strack_c_kunit_count_everywhere(u64 __percpu *counters, size_t slot, u64 n);
size_t strack_c_kunit_snmp(u64 __percpu *counters, char *to, size_t room);

/* --- layouts --------------------------------------------------------------- */

/**
 * struct strack_kunit_layout - where something is, as the C compiler has it
 * @name: "TYPE" or "TYPE.FIELD"
 * @offset: of the field, 0 for a type
 * @size: of the field or the type
 */
struct strack_kunit_layout {
	const char *name;
	size_t offset;
	size_t size;
};

const struct strack_kunit_layout *strack_c_kunit_layouts(size_t *count);

#endif /* _STRACK_KUNIT_HELPERS_H */
