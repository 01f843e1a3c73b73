// SPDX-License-Identifier: GPL-2.0
/*
 * spray - UDP from many source ports over the fabric, to test the fabric itself.
 *
 *	spray [-p PORTS] [-n PACKETS] [-l BYTES] [-m MBITS] [-s SPINES] SRC_NS DST_NS DST_ADDRESS
 *
 * Sends PACKETS datagrams of BYTES payload at MBITS Mb/s of payload, the source
 * ports taking turns, and prints what arrived, when, and over which spine. There
 * is no recovery and no congestion control: the figures are the fabric's own.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "../lib/strack.h"
#include "fabric.h"
#include "program.h"

#define PORT		7001
#define FIRST_PORT	49152
#define MAX_PORTS	1024
#define SILENCE_MS	100	/* the receiver stops after so long without a packet */

static unsigned int ports = 128;
static unsigned int packets = 4096;
static unsigned int length = 4096;
static unsigned int mbits = 1000;
static unsigned int spines;

static int udp_socket(const char *address, unsigned int port)
{
	struct sockaddr_strack sa;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || st_address(&sa, AF_INET6, address, port) || st_bind(fd, &sa))
		die("UDP socket");
	return fd;
}

static _Noreturn void send_all(const int *fds, const struct sockaddr_strack *dst)
{
	const uint64_t start = now_ns();
	char *payload = calloc(1, length);
	struct timespec ts;
	uint64_t due;
	unsigned int i;

	if (!payload)
		die("memory");
	for (i = 0; i < packets; i++) {
		due = start + i * 8000ULL * length / mbits;
		ts.tv_sec = due / NSEC_PER_SEC;
		ts.tv_nsec = due % NSEC_PER_SEC;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		/* a full queue loses the packet, as on any network */
		sendto(fds[i % ports], payload, length, 0, (const void *)dst, sizeof(*dst));
	}
	_exit(0);
}

static void receive_all(int fd)
{
	const struct timeval silence = { .tv_usec = SILENCE_MS * 1000 };
	uint64_t first = 0, last = 0, got = 0, bytes = 0;
	static char buffer[65536];
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence));
	for (;;) {
		n = recv(fd, buffer, sizeof(buffer), 0);
		if (n < 0)
			break;
		last = now_ns();
		if (!got++)
			first = last;
		else
			bytes += n;	/* the first packet only starts the clock */
	}
	printf("{\"ports\":%u,\"sent\":%u,\"received\":%" PRIu64 ",\"mbits\":%.1f", ports, packets,
	       got, last > first ? bytes * 8e3 / (last - first) : 0);
}

static void run(const char *src_ns, const char *dst_ns, const char *address)
{
	struct sockaddr_strack dst;
	struct fabric_bytes before, moved;
	int fds[MAX_PORTS], sink, big = 16 << 20;
	struct fabric fabric;
	unsigned int i;
	pid_t child;

	if (st_address(&dst, AF_INET6, address, PORT))
		die(address);
	fabric_open(&fabric, spines, src_ns);
	into_netns(dst_ns);
	sink = udp_socket(address, PORT);
	setsockopt(sink, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big));
	into_netns(src_ns);
	for (i = 0; i < ports; i++)
		fds[i] = udp_socket("::ffff:0.0.0.0", FIRST_PORT + i);
	fabric_read(&fabric, &before);
	child = fork();
	if (child < 0)
		die("fork");
	if (!child)
		send_all(fds, &dst);
	receive_all(sink);
	waitpid(child, NULL, 0);
	fabric_read(&fabric, &moved);
	fabric_since(&moved, &before);
	fabric_print(&fabric, &moved, stdout);
	puts("}");
}

int main(int argc, char **argv)
{
	bool wrong = false;
	int o;

	while ((o = getopt(argc, argv, "p:n:l:m:s:")) != -1) {
		switch (o) {
		case 'p':
			ports = number(optarg, 1, MAX_PORTS);
			break;
		case 'n':
			packets = number(optarg, 1, 1000000);
			break;
		case 'l':
			length = number(optarg, 1, 65000);
			break;
		case 'm':
			mbits = number(optarg, 1, 100000);
			break;
		case 's':
			spines = number(optarg, 1, FABRIC_MAX_SPINES);
			break;
		default:
			wrong = true;
		}
	}
	if (wrong || argc - optind != 3) {
		fputs("usage: spray [-p PORTS] [-n PACKETS] [-l BYTES] [-m MBITS] [-s SPINES] SRC_NS DST_NS DST_ADDRESS\n",
		      stderr);
		return 2;
	}
	run(argv[optind], argv[optind + 1], argv[optind + 2]);
	return 0;
}
