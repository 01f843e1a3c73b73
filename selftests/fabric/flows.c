// SPDX-License-Identifier: GPL-2.0
/*
 * flows - several transfers over the fabric that begin at the same moment.
 *
 *	flows [options] FROM:TO[:BYTES]...
 *
 *	FROM, TO	hosts of fabric.sh, such as a1 and b1
 *	-f tcp|mptcp|strack	family (default strack)
 *	-C NAME		congestion control of TCP and MPTCP
 *	-F PROFILE	profile of AF_STRACK
 *	-p PATHS	paths to spray over (STRACK_PATHS)
 *	-P POLICY	how they are chosen (STRACK_PATH_POLICY)
 *	-n BYTES	of a flow that does not say (default 4000000)
 *	-s SPINES	of the fabric (default 4)
 *	-r NAME		name of the run
 *	-T NAME		name of the transport in the result (default: the family)
 *	-e SEED		seed of the fabric, only to be told in the result
 *	-c MSEC[:SPINE]	cut this spine so long after the start (0, the default: the one
 *			that has carried most until then)
 *	-m MSEC		mend it so long after the start (default: when the run is over)
 *	-S		look each millisecond how much has arrived
 *	-t MSEC		give up so long after the start (default 10000)
 *	-j FILE		append the result as one line of JSON (default: standard output)
 *
 * All ends live in this one process and never block it: it costs the one virtual CPU
 * less than a process for each, and no flow begins before the others. Each flow sends the
 * same pattern, which is compared as it arrives. The time of a flow runs from before the
 * first connect() of all until its last byte was read.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "../lib/strack.h"
#include "flows.h"
#include "program.h"

#define FIRST_PORT	7100
#define READ_SIZE	(256 << 10)
#define READ_LOW	(16 << 10)
#define WRITE_SIZE	65536
#define SETTLE_MS	20
#define MAX_EVENTS	32

enum role {
	LISTENER,
	SENDER,
	RECEIVER,
	TICK,
};

static struct options opt = {
	.transport.kind = TRANSPORT_STRACK,
	.run = "run",
	.bytes = 4000000,
	.spines = 4,
	.limit_ms = 10000,
};

/* The hosts' addresses are those of fabric.sh. */
static void host_address(const char *host, char *text, size_t size)
{
	snprintf(text, size, "10.%d.%s.1", host[0] == 'a' ? 1 : 2, host + 1);
}

static bool is_host(const char *name)
{
	return (name[0] == 'a' || name[0] == 'b') && name[1] >= '1' && name[1] <= '9';
}

static bool parse_flow(struct flow *flow, char *text)
{
	char *from = strtok(text, ":"), *to = strtok(NULL, ":"), *bytes = strtok(NULL, ":");

	if (!from || !to || !is_host(from) || !is_host(to))
		return false;
	flow->from = from;
	flow->to = to;
	flow->bytes = bytes ? number(bytes, 1, 1UL << 30) : opt.bytes;
	return true;
}

static void watch(const struct run *x, int fd, uint32_t events, enum role role, unsigned int nth)
{
	struct epoll_event event = { .events = events, .data.u64 = (uint64_t)nth << 8 | role };

	if (epoll_ctl(x->epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

static void open_flow(struct run *x, unsigned int nth)
{
	struct flow *flow = &x->flows[nth];
	char address[32];

	host_address(flow->to, address, sizeof(address));
	if (!transport_address(&opt.transport, &flow->address, address, FIRST_PORT + nth))
		die(flow->to);
	flow->receiver = -1;
	into_netns(flow->to);
	flow->listener = transport_listen(&opt.transport, &flow->address, SOCK_NONBLOCK);
	watch(x, flow->listener, EPOLLIN, LISTENER, nth);
	into_netns(flow->from);
	flow->sender = transport_open(&opt.transport, SOCK_NONBLOCK);
}

/* The connection must not live on and disturb what is measured next. */
static void abort_connection(int fd)
{
	const struct linger linger = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

static void over(struct run *x, struct flow *flow, int error)
{
	if (flow->over)
		return;
	flow->over = true;
	flow->error = error;
	x->running--;
}

static void accept_sender(struct run *x, unsigned int nth)
{
	struct flow *flow = &x->flows[nth];
	const int low = READ_LOW;

	flow->receiver = accept4(flow->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (flow->receiver < 0)
		return;
	/* A reader of bulk data need not be woken for every packet: all share one CPU. */
	if (setsockopt(flow->receiver, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low)))
		die("SO_RCVLOWAT");
	epoll_ctl(x->epoll, EPOLL_CTL_DEL, flow->listener, NULL);
	watch(x, flow->receiver, EPOLLIN | EPOLLRDHUP, RECEIVER, nth);
}

static void send_more(struct run *x, struct flow *flow)
{
	size_t size;
	ssize_t n;

	while (flow->sent < flow->bytes) {
		size = flow->bytes - flow->sent;
		if (size > WRITE_SIZE)
			size = WRITE_SIZE;
		n = send(flow->sender, x->payload + flow->sent, size, MSG_NOSIGNAL);
		if (n < 0) {
			if (errno != EAGAIN && errno != ENOTCONN)
				over(x, flow, errno);
			return;
		}
		flow->sent += n;
	}
	epoll_ctl(x->epoll, EPOLL_CTL_DEL, flow->sender, NULL);
	if (shutdown(flow->sender, SHUT_WR))
		over(x, flow, errno);
}

static void receive_more(struct run *x, struct flow *flow)
{
	static char buffer[READ_SIZE];
	ssize_t n;

	do {
		n = read(flow->receiver, buffer, sizeof(buffer));
		if (n < 0) {
			if (errno != EAGAIN)
				over(x, flow, errno);
			return;
		}
		if (!n) {
			epoll_ctl(x->epoll, EPOLL_CTL_DEL, flow->receiver, NULL);
			over(x, flow, flow->got == flow->bytes ? 0 : EPIPE);
			return;
		}
		if (flow->got + n > flow->bytes || memcmp(buffer, x->payload + flow->got, n))
			flow->different = true;
		flow->got += n;
		flow->end_ns = now_ns() - x->start_ns;
	} while (n == sizeof(buffer));
}

/* What has arrived anywhere, and what was sent for it, up to now. */
static void sample(struct run *x)
{
	struct sample *s = &x->samples[x->sampled];
	struct stats stats;
	unsigned int k;

	if (x->sampled == x->room)
		return;
	x->sampled++;
	s->at_ns = now_ns() - x->start_ns;
	for (k = 0; k < x->count; k++) {
		const struct flow *flow = &x->flows[k];

		if (opt.transport.kind == TRANSPORT_STRACK && flow->receiver >= 0) {
			transport_stats(&opt.transport, flow->receiver, &stats);
			s->arrived += stats.info.sti_bytes_received;
		} else {
			s->arrived += flow->got;
		}
		transport_stats(&opt.transport, flow->sender, &stats);
		s->sent += stats.info.sti_packets_sent;
		s->resent += stats.retransmits;
	}
}

static void cut_now(struct run *x)
{
	struct fabric_bytes bytes;

	x->cut.spine = opt.cut_spine;
	if (!x->cut.spine) {
		fabric_read(&x->fabric, &bytes);
		fabric_since(&bytes, &x->before);
		x->cut.spine = fabric_busiest(&x->fabric, &bytes);
	}
	transport_stats(&opt.transport, x->flows[0].sender, &x->cut.sender);
	fabric_switch(&x->fabric, x->cut.spine, false);
	x->cut.at_ns = now_ns() - x->start_ns;
}

static void mend_now(struct run *x)
{
	fabric_switch(&x->fabric, x->cut.spine, true);
	x->cut.mended_ns = now_ns() - x->start_ns;
}

/* Once a millisecond. */
static void tick(struct run *x)
{
	const uint64_t ms = (now_ns() - x->start_ns) / NSEC_PER_MSEC;
	uint64_t expired;

	if (read(x->timer, &expired, sizeof(expired)) != sizeof(expired))
		return;
	if (opt.sample)
		sample(x);
	if (opt.cut_ms && !x->cut.spine && ms >= opt.cut_ms)
		cut_now(x);
	if (opt.mend_ms && x->cut.spine && !x->cut.mended_ns && ms >= opt.mend_ms)
		mend_now(x);
	x->late = ms >= opt.limit_ms;
}

static void handle(struct run *x, const struct epoll_event *event)
{
	const unsigned int nth = event->data.u64 >> 8;

	switch ((enum role)(event->data.u64 & 0xff)) {
	case LISTENER:
		accept_sender(x, nth);
		break;
	case SENDER:
		send_more(x, &x->flows[nth]);
		break;
	case RECEIVER:
		receive_more(x, &x->flows[nth]);
		break;
	case TICK:
		tick(x);
		break;
	}
}

static void start(struct run *x)
{
	const struct itimerspec each_ms = { { 0, NSEC_PER_MSEC }, { 0, NSEC_PER_MSEC } };
	unsigned int k;

	x->start_ns = now_ns();
	timerfd_settime(x->timer, 0, &each_ms, NULL);
	for (k = 0; k < x->count; k++) {
		struct flow *flow = &x->flows[k];

		if (st_connect(flow->sender, &flow->address) && errno != EINPROGRESS)
			die("connect");
		watch(x, flow->sender, EPOLLOUT, SENDER, k);
	}
}

static void wait_for_all(struct run *x)
{
	struct epoll_event events[MAX_EVENTS];
	int count, k;

	x->running = x->count;
	while (x->running && !x->late) {
		count = epoll_wait(x->epoll, events, MAX_EVENTS, -1);
		if (count < 0 && errno != EINTR)
			die("epoll_wait");
		for (k = 0; k < count; k++)
			handle(x, &events[k]);
	}
}

static bool complete(const struct flow *flow)
{
	return flow->over && !flow->error && !flow->different;
}

static int run(struct run *x)
{
	size_t longest = 0;
	bool all = true;
	unsigned int k;

	for (k = 0; k < x->count; k++)
		if (x->flows[k].bytes > longest)
			longest = x->flows[k].bytes;
	x->payload = shared(longest);
	fill_pattern(x->payload, longest);
	x->room = opt.sample ? opt.limit_ms : 0;
	x->samples = shared((x->room + 1) * sizeof(x->samples[0]));
	x->epoll = epoll_create1(EPOLL_CLOEXEC);
	x->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (x->epoll < 0 || x->timer < 0)
		die("epoll or timer");
	watch(x, x->timer, EPOLLIN, TICK, 0);
	fabric_open(&x->fabric, opt.spines, "a1");
	for (k = 0; k < x->count; k++)
		open_flow(x, k);
	fabric_read(&x->fabric, &x->before);
	x->idle_ms = idle_ms();
	start(x);
	wait_for_all(x);
	x->idle_ms = idle_ms() - x->idle_ms;
	/* a needless retransmission may still come; it is to be counted */
	sleep_ms(SETTLE_MS);
	fabric_read(&x->fabric, &x->moved);
	fabric_since(&x->moved, &x->before);
	if (x->cut.spine && !x->cut.mended_ns)
		fabric_switch(&x->fabric, x->cut.spine, true);
	flows_report(&opt, x);
	for (k = 0; k < x->count; k++) {
		if (complete(&x->flows[k]))
			continue;
		all = false;
		abort_connection(x->flows[k].sender);
		if (x->flows[k].receiver >= 0)
			abort_connection(x->flows[k].receiver);
	}
	return all ? 0 : 1;
}

static _Noreturn void usage(void)
{
	fputs("usage: flows [-f tcp|mptcp|strack] [-C NAME] [-F PROFILE] [-p PATHS] [-P POLICY] [-n BYTES]\n"
	      "             [-s SPINES] [-r NAME] [-T NAME] [-e SEED] [-c MSEC[:SPINE] [-m MSEC]] [-S]\n"
	      "             [-t MSEC] [-j FILE] FROM:TO[:BYTES]...\n",
	      stderr);
	exit(2);
}

static void parse_cut(char *text)
{
	char *spine = strchr(text, ':');

	if (spine) {
		*spine++ = 0;
		opt.cut_spine = number(spine, 0, FABRIC_MAX_SPINES);
	}
	opt.cut_ms = number(text, 1, 600000);
}

static void parse_options(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, TRANSPORT_OPTIONS "n:s:r:T:e:c:m:St:j:")) != -1) {
		switch (o) {
		case 'n':
			opt.bytes = number(optarg, 1, 1UL << 30);
			break;
		case 's':
			opt.spines = number(optarg, 1, FABRIC_MAX_SPINES);
			break;
		case 'r':
			opt.run = optarg;
			break;
		case 'T':
			opt.name = optarg;
			break;
		case 'e':
			opt.seed = number(optarg, 0, UINT32_MAX);
			break;
		case 'c':
			parse_cut(optarg);
			break;
		case 'm':
			opt.mend_ms = number(optarg, 1, 600000);
			break;
		case 'S':
			opt.sample = true;
			break;
		case 't':
			opt.limit_ms = number(optarg, 1, 600000);
			break;
		case 'j':
			opt.json = optarg;
			break;
		default:
			if (!transport_option(&opt.transport, o, optarg))
				usage();
		}
	}
	if (!opt.name)
		opt.name = transport_name(&opt.transport);
	if (optind == argc || opt.cut_spine > opt.spines || (opt.mend_ms && opt.mend_ms <= opt.cut_ms))
		usage();
}

int main(int argc, char **argv)
{
	struct run x = { 0 };
	unsigned int k;

	parse_options(argc, argv);
	x.count = argc - optind;
	x.flows = calloc(x.count, sizeof(x.flows[0]));
	if (!x.flows)
		die("memory");
	for (k = 0; k < x.count; k++)
		if (!parse_flow(&x.flows[k], argv[optind + k]))
			usage();
	return run(&x);
}
