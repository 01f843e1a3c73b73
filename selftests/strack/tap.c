// SPDX-License-Identifier: GPL-2.0
/*
 * tap [-l LOG] [in:][NETNS/]DEV... : counts STrack DATA packets by UDP source port.
 *
 * Listens until SIGTERM, then prints for each device and
 * source port, first transmissions and retransmissions apart:
 *
 *	DEV SPORT SKBS PACKETS BYTES RETX_PACKETS
 *
 * SKBS are what one hop handled at a time (a train that is segmented later is
 * one), BYTES is payload. Only packets that leave through the device count; "in:"
 * before DEV counts those that come in. At the end one line for each device:
 *
 *	DEV total PACKETS BYTES FRAGMENTS LARGEST_IP
 *
 * With -l every packet, TCP's too, is logged as it passes (see packet_log()).
 */
#include <poll.h>
#include <signal.h>

#include "../lib/packet.h"

#define MAX_DEVS	8
#define PORTS		65536

struct port_count {
	uint64_t skbs, packets, bytes, retx;
};

struct dev {
	const char *name;
	int fd;
	bool incoming;
	struct port_count *ports;
	uint64_t fragments;
	uint32_t largest;
};

static struct dev devs[MAX_DEVS];
static unsigned int dev_count;
static uint16_t udp_port;
static FILE *log_file;
static sig_atomic_t stop;

static void on_term(int signal)
{
	(void)signal;
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

/* Size of the largest IP packet once the train is segmented. */
static uint32_t ip_size(const struct packet *pkt, const struct frame *f)
{
	struct virtio_net_hdr vnet;

	memcpy(&vnet, pkt->data, sizeof(vnet));
	if (vnet.gso_type == VIRTIO_NET_HDR_GSO_NONE || packet_segments(pkt, f) == 1)
		return f->ip_bytes;
	return f->ip_bytes - f->payload + vnet.gso_size;
}

static void count(struct dev *d, const struct packet *pkt)
{
	struct port_count *p;
	unsigned int segments;
	struct frame f;

	if (pkt->outgoing == d->incoming)
		return;
	packet_frame(pkt, &f, udp_port);
	if (f.fragment)
		d->fragments++;
	if (f.kind != FRAME_OTHER && log_file) {
		packet_log(log_file, pkt, &f, d->name, "seen");
		fflush(log_file);
	}
	if (f.kind != FRAME_OTHER && ip_size(pkt, &f) > d->largest)
		d->largest = ip_size(pkt, &f);
	if (f.kind != FRAME_STRACK || f.header_room < WIRE_DATA_SIZE ||
	    (f.header[0] & 15) != WIRE_DATA)
		return;
	p = &d->ports[f.sport];
	segments = packet_segments(pkt, &f);
	if (f.header[AT_FLAGS] & WIRE_DATA_RETX) {
		p->retx += segments;
		return;
	}
	p->skbs++;
	p->packets += segments;
	p->bytes += f.payload - segments * WIRE_DATA_SIZE;
}

static void drain(struct dev *d)
{
	static uint8_t buffer[PACKET_MAX];
	struct packet pkt;

	while (packet_read(d->fd, buffer, &pkt))
		count(d, &pkt);
}

static void report(const struct dev *d)
{
	uint64_t packets = 0, bytes = 0;

	for (unsigned int i = 0; i < PORTS; i++) {
		const struct port_count *p = &d->ports[i];

		packets += p->packets;
		bytes += p->bytes;
		if (p->packets || p->retx)
			printf("%s %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", d->name,
			       i, p->skbs, p->packets, p->bytes, p->retx);
	}
	printf("%s total %" PRIu64 " %" PRIu64 " %" PRIu64 " %u\n", d->name, packets, bytes,
	       d->fragments, d->largest);
}

static int open_dev(struct dev *d, char *text)
{
	char *dev, *slash;

	if (!strncmp(text, "in:", 3)) {
		d->incoming = true;
		text += 3;
	}
	d->name = text;
	dev = strdup(text);
	slash = strchr(dev, '/');
	if (slash)
		*slash = 0;
	d->ports = calloc(PORTS, sizeof(*d->ports));
	d->fd = packet_open(slash ? dev : NULL, slash ? slash + 1 : dev, true);
	return d->ports && d->fd >= 0 ? 0 : -1;
}

static void run(void)
{
	struct pollfd p[MAX_DEVS] = { };

	for (unsigned int i = 0; i < dev_count; i++)
		p[i] = (struct pollfd){ .fd = devs[i].fd, .events = POLLIN };
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (poll(p, dev_count, -1) < 0)
			continue;
		for (unsigned int i = 0; i < dev_count; i++)
			if (p[i].revents)
				drain(&devs[i]);
	}
	for (unsigned int i = 0; i < dev_count; i++)
		drain(&devs[i]);
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_term };
	int lost = 0, o;

	while ((o = getopt(argc, argv, "l:")) != -1) {
		if (o != 'l')
			return 2;
		log_file = fopen(optarg, "we");
		if (!log_file)
			return 1;
	}
	if (optind == argc || argc - optind > MAX_DEVS)
		return 2;
	udp_port = strack_udp_port();
	for (; optind < argc; optind++, dev_count++) {
		if (open_dev(&devs[dev_count], argv[optind])) {
			fprintf(stderr, "tap: %s: %s\n", argv[optind], strerror(errno));
			return 1;
		}
	}
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	fputs("ready\n", stderr);
	run();
	for (unsigned int i = 0; i < dev_count; i++) {
		lost += packet_lost(devs[i].fd);
		report(&devs[i]);
	}
	if (lost)
		fprintf(stderr, "tap: missed %d packets\n", lost);
	return lost ? 1 : 0;
}
