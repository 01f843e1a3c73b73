/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packet sockets: frames of one device with the virtio header in front, so
 * that what is unfinished (checksum, segmentation) can be counted as segments
 * and passed on as it is.
 */
#ifndef SELFTESTS_PACKET_H
#define SELFTESTS_PACKET_H

#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <sys/uio.h>

#include "strack.h"
#include "wire.h"

#define PACKET_MAX	(sizeof(struct virtio_net_hdr) + 66000)

static inline int packet_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

/* Opens @dev in namespace @ns (NULL: this one); stays in that namespace. */
static inline int packet_open(const char *ns, const char *dev, bool see_outgoing)
{
	struct sockaddr_ll sa = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd;

	if (ns && enter_netns(ns))
		return -1;
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (packet_option(fd, SOL_PACKET, PACKET_VNET_HDR, 1) ||
	    packet_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1) ||
	    packet_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20))
		return -1;
	packet_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, 16 << 20);
	if (!see_outgoing)
		packet_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
	sa.sll_ifindex = if_nametoindex(dev);
	if (!sa.sll_ifindex || bind(fd, (void *)&sa, sizeof(sa)))
		return -1;
	return fd;
}

struct packet {
	uint8_t *data;			/* virtio header, then the frame */
	size_t len;
	uint64_t when;			/* real-time clock, ns */
	bool outgoing;
};

/* Next packet into @buffer of PACKET_MAX bytes; false when there is none. */
static inline bool packet_read(int fd, uint8_t *buffer, struct packet *pkt)
{
	union {
		struct cmsghdr align;
		char data[256];
	} control;
	struct iovec iov = { buffer, PACKET_MAX };
	struct sockaddr_ll from;
	struct msghdr msg = {
		.msg_name = &from, .msg_namelen = sizeof(from),
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT);

	if (n < (ssize_t)sizeof(struct virtio_net_hdr))
		return false;
	pkt->data = buffer;
	pkt->len = n;
	pkt->when = 0;
	pkt->outgoing = from.sll_pkttype == PACKET_OUTGOING;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		struct timespec ts;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&ts, CMSG_DATA(c), sizeof(ts));
		pkt->when = ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
	}
	return true;
}

static inline void packet_frame(const struct packet *pkt, struct frame *f, uint16_t port)
{
	frame_parse(f, pkt->data + sizeof(struct virtio_net_hdr),
		    pkt->len - sizeof(struct virtio_net_hdr), port);
}

/* Packets in it once it is segmented. */
static inline unsigned int packet_segments(const struct packet *pkt, const struct frame *f)
{
	struct virtio_net_hdr vnet;

	memcpy(&vnet, pkt->data, sizeof(vnet));
	if (vnet.gso_type == VIRTIO_NET_HDR_GSO_NONE || !vnet.gso_size || !f->payload)
		return 1;
	return (f->payload + vnet.gso_size - 1) / vnet.gso_size;
}

/* Type, flags and sequence number of either protocol. */
struct packet_summary {
	unsigned int type, flags, aux;
	uint32_t psn;
	bool data;
};

static inline struct packet_summary packet_summarise(const struct frame *f)
{
	struct packet_summary s = { };

	if (f->kind == FRAME_TCP) {
		s.flags = f->header[13];
		s.psn = wire_get32(f->header + 4);
		s.data = f->payload > 0;
	} else if (f->kind == FRAME_STRACK && f->header_room >= 16) {
		s.type = f->header[0] & 15;
		s.flags = f->header[AT_FLAGS];
		s.aux = wire_get16(f->header + AT_AUX);
		s.psn = wire_get32(f->header + AT_PSN);
		s.data = s.type == WIRE_DATA && f->payload > WIRE_DATA_SIZE;
	}
	return s;
}

/*
 * One line: time ns, direction, fate, source port, type, flags, PSN, aux, bytes
 * after UDP's or TCP's header, segments.
 */
static inline void packet_log(FILE *out, const struct packet *pkt, const struct frame *f,
			      const char *direction, const char *fate)
{
	struct packet_summary s = packet_summarise(f);

	fprintf(out, "%" PRIu64 " %s %s %u %s %#x %" PRIu32 " %u %u %u\n", pkt->when, direction,
		fate, f->sport, f->kind == FRAME_TCP ? "TCP" : wire_type_name(s.type), s.flags,
		s.psn, s.aux, f->payload, packet_segments(pkt, f));
}

/* Packets that the kernel could not hand over since the last call. */
static inline unsigned int packet_lost(int fd)
{
	struct tpacket_stats stats = { };
	socklen_t len = sizeof(stats);

	getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len);
	return stats.tp_drops;
}

/* UDP port of the module, or the default one. */
static inline uint16_t strack_udp_port(void)
{
	return read_long("/sys/module/strack/parameters/port", STRACK_UDP_PORT);
}

#endif /* SELFTESTS_PACKET_H */
