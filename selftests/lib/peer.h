/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An STrack end in user space, over plain UDP sockets in a namespace where the
 * module is not used: it sends whatever a test wants sent and shows what the
 * kernel answers. It knows the handshake; the rest is up to the test.
 */
#ifndef SELFTESTS_PEER_H
#define SELFTESTS_PEER_H

#include <netinet/in.h>
#include <poll.h>

#include "packet.h"
#include "pattern.h"

#define PEER_PATHS	4
#define PEER_BASE_PORT	50000
#define PEER_CREDIT	256
#define PEER_WINDOW	262144
#define PEER_PAYLOAD	1400

struct peer {
	int rx, tx[PEER_PATHS];
	struct sockaddr_in6 kernel;	/* UDP address of the kernel's end */
	uint16_t sport;			/* source port of the last packet received */
};

/* One connection; "remote" values are the kernel's. */
struct peer_conn {
	uint32_t cid, tag, psn;		/* ours; psn is the next to send */
	uint32_t remote_cid, remote_tag;
	uint32_t expected;		/* next PSN from the kernel */
	uint64_t offset;		/* of our stream */
	uint64_t received;		/* payload bytes from the kernel, in order */
	uint16_t max_payload;		/* the kernel takes */
	uint32_t credit, window;	/* the kernel gave in the handshake */
	uint64_t cookie_time, cookie_mac;
	uint16_t port;			/* the kernel's STrack port */
	uint16_t own_port;
	/* The last DATA packet received, for an honest echo. */
	uint32_t last_psn, last_time;
	uint16_t last_entropy;
};

static inline void peer_udp_address(struct sockaddr_in6 *sa, const char *text, uint16_t port)
{
	struct sockaddr_strack any;

	st_address(&any, AF_INET6, text, port);
	memcpy(sa, &any, sizeof(*sa));
}

static inline int peer_udp_socket(const char *local, uint16_t port)
{
	struct sockaddr_in6 sa;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	peer_udp_address(&sa, local, port);
	if (fd >= 0 && bind(fd, (void *)&sa, sizeof(sa))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Opens the end at @local, against the kernel at @remote. */
static inline int peer_open(struct peer *p, const char *local, const char *remote)
{
	uint16_t port = strack_udp_port();
	int big = 4 << 20;

	memset(p, 0, sizeof(*p));
	peer_udp_address(&p->kernel, remote, port);
	p->rx = peer_udp_socket(local, port);
	if (p->rx < 0)
		return -1;
	setsockopt(p->rx, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big));
	for (int i = 0; i < PEER_PATHS; i++) {
		p->tx[i] = peer_udp_socket(local, PEER_BASE_PORT + i);
		if (p->tx[i] < 0)
			return -1;
	}
	return 0;
}

static inline int peer_send(struct peer *p, unsigned int path, const void *data, size_t len)
{
	return sendto(p->tx[path % PEER_PATHS], data, len, 0, (void *)&p->kernel,
		      sizeof(p->kernel)) == (ssize_t)len ? 0 : -1;
}

/* Next packet within @ms; its length, 0 when none came. */
static inline size_t peer_recv(struct peer *p, uint8_t *data, size_t room, unsigned int ms)
{
	struct pollfd poll_fd = { .fd = p->rx, .events = POLLIN };
	struct sockaddr_in6 from;
	socklen_t len = sizeof(from);
	ssize_t n;

	if (poll(&poll_fd, 1, ms) <= 0)
		return 0;
	n = recvfrom(p->rx, data, room, MSG_DONTWAIT, (void *)&from, &len);
	if (n <= 0)
		return 0;
	p->sport = ntohs(from.sin6_port);
	return n;
}

/* Waits for a packet of @type and passes over all others; its length, or 0. */
static inline size_t peer_expect(struct peer *p, enum wire_type type, uint8_t *data, size_t room,
				 unsigned int ms)
{
	uint64_t deadline = now_ns() + ms * NSEC_PER_MSEC;

	while (now_ns() < deadline) {
		size_t n = peer_recv(p, data, room, (deadline - now_ns()) / NSEC_PER_MSEC + 1);

		if (n >= 16 && (data[0] & 15) == type)
			return n;
	}
	return 0;
}

/* The same for one connection identifier of ours. */
static inline size_t peer_expect_for(struct peer *p, uint32_t cid, enum wire_type type,
				     uint8_t *data, size_t room, unsigned int ms)
{
	uint64_t deadline = now_ns() + ms * NSEC_PER_MSEC;

	while (now_ns() < deadline) {
		size_t n = peer_expect(p, type, data, room,
				       (deadline - now_ns()) / NSEC_PER_MSEC + 1);

		if (n && wire_get32(data + AT_DCID) == cid)
			return n;
	}
	return 0;
}

/* Throws away what has come in. */
static inline void peer_flush(struct peer *p)
{
	uint8_t data[2048];

	while (peer_recv(p, data, sizeof(data), 0))
		;
}

static inline void peer_conn_init(struct peer_conn *c, uint16_t port)
{
	static uint32_t serial;

	memset(c, 0, sizeof(*c));
	serial++;
	c->cid = 0x10000000u + serial * 7919u + (uint32_t)getpid();
	c->tag = 0xabcd0000u ^ c->cid * 2654435761u;
	c->psn = 0xfffffff0u + serial;		/* soon wraps */
	c->port = port;
	c->own_port = 20000 + serial % 20000;
}

static inline void peer_build_init(const struct peer_conn *c, uint8_t *out)
{
	wire_common(out, WIRE_INIT, 0, 1, 0, 0, c->psn);
	wire_put32(out + AT_SCID, c->cid);
	wire_put32(out + AT_STAG, c->tag);
	wire_put16(out + AT_SRC_PORT, c->own_port);
	wire_put16(out + AT_DST_PORT, c->port);
	wire_put16(out + AT_MAX_PAYLOAD, PEER_PAYLOAD);
	wire_put32(out + AT_INIT_CREDIT, PEER_CREDIT);
	wire_put32(out + AT_INIT_WINDOW, PEER_WINDOW);
	wire_put64(out + AT_COOKIE_TIME, c->cookie_time);
	wire_put64(out + AT_COOKIE_MAC, c->cookie_mac);
}

static inline int peer_send_init(struct peer *p, const struct peer_conn *c)
{
	uint8_t init[WIRE_MAX_HEADER];

	peer_build_init(c, init);
	return peer_send(p, 0, init, WIRE_INIT_SIZE);
}

/* INIT without cookie; takes the cookie from the CHALLENGE. */
static inline int peer_get_cookie(struct peer *p, struct peer_conn *c)
{
	uint8_t data[2048];

	if (peer_send_init(p, c) || !peer_expect_for(p, c->cid, WIRE_CHALLENGE, data, sizeof(data), slow(2000)))
		return -1;
	if (wire_get32(data + AT_DCID) != c->cid || wire_get32(data + AT_TAG) != c->tag)
		return -1;
	c->cookie_time = wire_get64(data + AT_COOKIE_TIME);
	c->cookie_mac = wire_get64(data + AT_COOKIE_MAC);
	return 0;
}

/* Takes the kernel's numbers from its ACCEPT. */
static inline int peer_take_accept(struct peer_conn *c, const uint8_t *data)
{
	if (wire_get32(data + AT_DCID) != c->cid || wire_get32(data + AT_TAG) != c->tag)
		return -1;
	c->remote_cid = wire_get32(data + AT_SCID);
	c->remote_tag = wire_get32(data + AT_STAG);
	c->expected = wire_get32(data + AT_PSN);
	c->max_payload = wire_get16(data + AT_MAX_PAYLOAD);
	c->credit = wire_get32(data + AT_INIT_CREDIT);
	c->window = wire_get32(data + AT_INIT_WINDOW);
	return 0;
}

/* The whole handshake as a client. */
static inline int peer_connect(struct peer *p, struct peer_conn *c, uint16_t port)
{
	uint8_t data[2048];

	peer_conn_init(c, port);
	if (peer_get_cookie(p, c) || peer_send_init(p, c))
		return -1;
	if (!peer_expect_for(p, c->cid, WIRE_ACCEPT, data, sizeof(data), slow(2000)))
		return -1;
	return peer_take_accept(c, data);
}

/* A DATA header; @entropy is what the header claims. */
static inline void peer_build_data(const struct peer_conn *c, uint8_t *out, enum wire_type type,
				   uint8_t flags, uint32_t psn, uint64_t offset)
{
	wire_common(out, type, flags, PEER_BASE_PORT, c->remote_cid, c->remote_tag, psn);
	wire_put64(out + AT_OFFSET, offset);
	wire_put32(out + AT_TX_TIME, (uint32_t)now_ns());
	wire_put32(out + AT_SENDER_CID, c->cid);
}

/* One DATA packet of our stream's pattern (seed 7), anywhere in it. */
static inline int peer_send_data(struct peer *p, const struct peer_conn *c, uint8_t flags,
				 uint32_t psn, uint64_t offset, size_t len)
{
	uint8_t data[WIRE_DATA_SIZE + 4096];

	peer_build_data(c, data, WIRE_DATA, flags, psn, offset);
	pattern_fill(data + WIRE_DATA_SIZE, len, 7, offset);
	return peer_send(p, 0, data, WIRE_DATA_SIZE + len);
}

/* Notes a DATA packet of the kernel's, in order or not. */
static inline void peer_note_data(struct peer_conn *c, const uint8_t *data, size_t len)
{
	c->last_psn = wire_get32(data + AT_PSN);
	c->last_time = wire_get32(data + AT_TX_TIME);
	c->last_entropy = wire_get16(data + AT_AUX);
	if (c->last_psn == c->expected) {
		c->expected++;
		c->received += len - WIRE_DATA_SIZE;
	}
}

/* The ACK that is due for all that was received in order. */
static inline void peer_build_ack(const struct peer_conn *c, uint8_t *out)
{
	wire_common(out, WIRE_ACK, 0, c->last_entropy, c->remote_cid, c->remote_tag, c->expected);
	wire_put32(out + AT_TRIGGER, c->last_psn);
	wire_put32(out + AT_ECHO_TIME, c->last_time);
	wire_put32(out + AT_CREDIT, c->expected + PEER_CREDIT);
	wire_put32(out + AT_SACK_BASE, c->expected);
	wire_put64(out + AT_BYTES, c->received);
	wire_put32(out + AT_WINDOW, PEER_WINDOW);
}

static inline int peer_send_ack(struct peer *p, const struct peer_conn *c)
{
	uint8_t ack[WIRE_MAX_HEADER];

	peer_build_ack(c, ack);
	return peer_send(p, 0, ack, WIRE_ACK_SIZE);
}

/* Takes the kernel's data and acknowledges it, until @bytes have come in all. */
static inline bool peer_receive(struct peer *p, struct peer_conn *c, uint64_t bytes)
{
	uint8_t data[4096];

	while (c->received < bytes) {
		size_t n = peer_expect_for(p, c->cid, WIRE_DATA, data, sizeof(data), slow(2000));

		if (!n)
			return false;
		peer_note_data(c, data, n);
		peer_send_ack(p, c);
	}
	return true;
}

/*
 * Sends a PROBE and waits for its answer: all that was sent before has been
 * looked at then. The answer goes to @ack (may be NULL).
 */
static inline int peer_sync(struct peer *p, const struct peer_conn *c, uint8_t *ack)
{
	uint8_t probe[WIRE_MAX_HEADER], data[2048];
	uint64_t deadline = now_ns() + slow(2000) * NSEC_PER_MSEC;
	uint32_t stamp;

	peer_build_data(c, probe, WIRE_PROBE, 0, c->psn, c->offset);
	stamp = wire_get32(probe + AT_TX_TIME);
	if (peer_send(p, 0, probe, WIRE_DATA_SIZE))
		return -1;
	while (now_ns() < deadline) {
		if (!peer_expect_for(p, c->cid, WIRE_ACK, data, sizeof(data), slow(500)))
			continue;
		if ((data[AT_FLAGS] & WIRE_ACK_PROBE) && wire_get32(data + AT_ECHO_TIME) == stamp) {
			if (ack)
				memcpy(ack, data, WIRE_ACK_SIZE);
			return 0;
		}
	}
	return -1;
}

/* --- the counters of the kernel's end ---------------------------------- */

#define SNMP_MAX	160

struct snmp {
	unsigned int count;
	char name[SNMP_MAX][40];
	long long value[SNMP_MAX];
};

static inline int snmp_read(struct snmp *s)
{
	FILE *file = fopen(STRACK_SNMP_FILE, "re");

	s->count = 0;
	if (!file)
		return -1;
	while (s->count < SNMP_MAX &&
	       fscanf(file, "%39s %lld", s->name[s->count], &s->value[s->count]) == 2)
		s->count++;
	fclose(file);
	return 0;
}

/* Growth of a counter; -1 when there is none of that name. */
static inline long long snmp_growth(const struct snmp *a, const struct snmp *b, const char *name)
{
	for (unsigned int i = 0; i < a->count && i < b->count; i++)
		if (!strcmp(a->name[i], name))
			return b->value[i] - a->value[i];
	return -1;
}

/* Whether it counts packets that were not taken. */
static inline bool snmp_is_drop(const char *name)
{
	return !strncmp(name, "Wire", 4) || !strncmp(name, "Drop", 4) ||
	       !strcmp(name, "RxShort") || !strcmp(name, "RxChecksum") ||
	       !strcmp(name, "RxNoChecksum");
}

#endif /* SELFTESTS_PEER_H */
