/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets as they are on the wire: STrack headers (version 1), and Ethernet
 * frames taken apart as far as the tests want to know.
 */
#ifndef SELFTESTS_WIRE_H
#define SELFTESTS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum wire_type {
	WIRE_DATA = 1,
	WIRE_PROBE = 2,
	WIRE_ACK = 3,
	WIRE_INIT = 4,
	WIRE_CHALLENGE = 5,
	WIRE_ACCEPT = 6,
	WIRE_RESET = 7,
	WIRE_VERSION = 8,
};

#define WIRE_VERSION_1		1

#define WIRE_DATA_ACK_REQ	0x01
#define WIRE_DATA_RETX		0x02
#define WIRE_DATA_FIN		0x04
#define WIRE_DATA_PUSH		0x08

#define WIRE_ACK_CE		0x01
#define WIRE_ACK_RETX		0x02
#define WIRE_ACK_PROBE		0x04
#define WIRE_ACK_SACK		0x08
#define WIRE_ACK_DUP		0x10
#define WIRE_ACK_NACK		0x20

#define WIRE_RESET_REFLECT	0x01

#define WIRE_DATA_SIZE		32
#define WIRE_ACK_SIZE		64
#define WIRE_INIT_SIZE		64
#define WIRE_RESET_SIZE		24
#define WIRE_VERSION_SIZE	32
#define WIRE_MAX_HEADER		64

/* Where fields are. All packets: */
#define AT_FLAGS	1
#define AT_AUX		2
#define AT_DCID		4
#define AT_TAG		8
#define AT_PSN		12
/* DATA, PROBE: */
#define AT_OFFSET	16
#define AT_TX_TIME	24
#define AT_SENDER_CID	28
/* ACK: */
#define AT_TRIGGER	16
#define AT_ECHO_TIME	20
#define AT_CREDIT	24
#define AT_SACK_BASE	28
#define AT_SACK_BITS	32
#define AT_BYTES	40
#define AT_OOO		48
#define AT_DUPS		50
#define AT_SERVICE	52
#define AT_WINDOW	56
#define AT_PENALTY	60
/* INIT, CHALLENGE, ACCEPT: */
#define AT_SCID		16
#define AT_STAG		20
#define AT_SRC_PORT	24
#define AT_DST_PORT	26
#define AT_MAX_PAYLOAD	28
#define AT_INIT_CREDIT	32
#define AT_INIT_WINDOW	36
#define AT_COOKIE_TIME	40
#define AT_COOKIE_MAC	48

static inline uint64_t wire_get(const uint8_t *p, unsigned int bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | *p++;
	return value;
}

static inline void wire_put(uint8_t *p, unsigned int bytes, uint64_t value)
{
	while (bytes--) {
		p[bytes] = value;
		value >>= 8;
	}
}

static inline uint16_t wire_get16(const uint8_t *p)
{
	return wire_get(p, 2);
}

static inline uint32_t wire_get32(const uint8_t *p)
{
	return wire_get(p, 4);
}

static inline uint64_t wire_get64(const uint8_t *p)
{
	return wire_get(p, 8);
}

static inline void wire_put16(uint8_t *p, uint16_t value)
{
	wire_put(p, 2, value);
}

static inline void wire_put32(uint8_t *p, uint32_t value)
{
	wire_put(p, 4, value);
}

static inline void wire_put64(uint8_t *p, uint64_t value)
{
	wire_put(p, 8, value);
}

static inline void wire_common(uint8_t *p, enum wire_type type, uint8_t flags, uint16_t aux,
			       uint32_t dcid, uint32_t tag, uint32_t psn)
{
	memset(p, 0, WIRE_MAX_HEADER);
	p[0] = WIRE_VERSION_1 << 4 | type;
	p[AT_FLAGS] = flags;
	wire_put16(p + AT_AUX, aux);
	wire_put32(p + AT_DCID, dcid);
	wire_put32(p + AT_TAG, tag);
	wire_put32(p + AT_PSN, psn);
}

static inline const char *wire_type_name(unsigned int type)
{
	static const char *const names[] = { "?", "DATA", "PROBE", "ACK", "INIT", "CHALLENGE",
					     "ACCEPT", "RESET", "VERSION" };

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : "?";
}

enum frame_kind { FRAME_OTHER, FRAME_STRACK, FRAME_TCP };

/* An IP packet of interest in an Ethernet frame. */
struct frame {
	enum frame_kind kind;
	bool fragment;			/* an IP fragment; only @ip_bytes is valid */
	uint16_t sport, dport;		/* UDP or TCP */
	uint32_t ip_bytes;		/* length of the IP packet */
	const uint8_t *header;		/* STrack or TCP header */
	uint32_t header_room;		/* bytes of it that are here */
	uint32_t payload;		/* bytes after UDP's header, or after TCP's */
	uint32_t src4;			/* last four bytes of the source address */
};

static inline void frame_transport(struct frame *f, unsigned int protocol, const uint8_t *p,
				   const uint8_t *end, uint32_t bytes, uint16_t strack_port)
{
	if (protocol == 17 && end - p >= 8) {
		f->sport = wire_get16(p);
		f->dport = wire_get16(p + 2);
		if (f->dport != strack_port)
			return;
		f->kind = FRAME_STRACK;
		f->header = p + 8;
		f->header_room = end - p - 8;
		f->payload = bytes - 8;
	} else if (protocol == 6 && end - p >= 20) {
		f->kind = FRAME_TCP;
		f->sport = wire_get16(p);
		f->dport = wire_get16(p + 2);
		f->header = p;
		f->header_room = end - p;
		f->payload = bytes - (p[12] >> 4) * 4;
	}
}

/* Takes a frame apart of which @len bytes are at @p. */
static inline void frame_parse(struct frame *f, const uint8_t *p, size_t len, uint16_t strack_port)
{
	const uint8_t *end = p + len, *ip = p + 14;
	unsigned int type, head;

	memset(f, 0, sizeof(*f));
	if (len < 34)
		return;
	type = wire_get16(p + 12);
	if (type == 0x0800) {
		head = (ip[0] & 15) * 4;
		f->ip_bytes = wire_get16(ip + 2);
		f->fragment = (wire_get16(ip + 6) & 0x3fff) != 0;
		f->src4 = wire_get32(ip + 12);
		if (!f->fragment && ip + head <= end)
			frame_transport(f, ip[9], ip + head, end, f->ip_bytes - head, strack_port);
	} else if (type == 0x86dd && len >= 54) {
		f->ip_bytes = 40 + wire_get16(ip + 4);
		f->fragment = ip[6] == 44;
		f->src4 = wire_get32(ip + 20);
		if (!f->fragment)
			frame_transport(f, ip[6], ip + 40, end, f->ip_bytes - 40, strack_port);
	}
}

#endif /* SELFTESTS_WIRE_H */
