// SPDX-License-Identifier: GPL-2.0
/*
 * xfer - one transfer between two network namespaces, watched from the inside.
 *
 *	xfer [options] SRC_NS DST_NS DST_ADDRESS
 *
 *	-f tcp|mptcp|strack	family (default strack)
 *	-C NAME		congestion control of TCP and MPTCP
 *	-F PROFILE	profile of AF_STRACK (STRACK_PROFILE)
 *	-p PATHS	paths to spray over (STRACK_PATHS)
 *	-P POLICY	how they are chosen (STRACK_PATH_POLICY)
 *	-i FILE		send this file
 *	-n BYTES	or this many bytes of a pattern
 *	-w BYTES	per write (default 65536)
 *	-z		by sendfile() instead, from a file in memory
 *	-o FILE		keep what arrived
 *	-r NAME		name of the run
 *	-j FILE		append the result as one line of JSON (default: standard output)
 *	-s SPINES	the namespaces are hosts of fabric.sh's fabric: count bytes per spine
 *	-c SPINE	when half the bytes have arrived, cut this spine (0: the busiest);
 *			it is mended when the run is over
 *	-t MSEC		give up so long after the start (default 10000)
 *	-q		no progress lines
 *
 * Both ends live in this program: the child sends, the parent receives. The
 * parent also holds the sender's socket, so that it can read the sender's state
 * at any moment. Time runs from before connect() until the last byte was read.
 * Whatever costs instructions without belonging to the transfer (page faults,
 * comparing, writing files) happens before or after.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/strack.h"
#include "program.h"
#include "xfer.h"

#define PORT		7000
#define READ_SIZE	(256 << 10)
#define PROGRESS_STEPS	10
#define SETTLE_MS	20

struct options opt = {
	.transport.kind = TRANSPORT_STRACK,
	.run = "run",
	.write_size = 65536,
	.cut = -1,
	.limit_ms = 10000,
};

/* Only has to interrupt a system call. */
static void wake_up(int signal)
{
	(void)signal;
}

static void load_payload(struct transfer *x)
{
	struct stat st;
	size_t done;
	ssize_t n;
	int fd;

	if (opt.input) {
		fd = open(opt.input, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st))
			die(opt.input);
		opt.bytes = st.st_size;
		x->payload = shared(opt.bytes);
		for (done = 0; done < opt.bytes; done += n) {
			n = read(fd, x->payload + done, opt.bytes - done);
			if (n <= 0)
				die(opt.input);
		}
		close(fd);
		return;
	}
	x->payload = shared(opt.bytes);
	fill_pattern(x->payload, opt.bytes);
}

/* The payload in a file, whose pages are in memory. */
static void make_file(struct transfer *x)
{
	size_t done;
	ssize_t n;

	x->file = memfd_create("payload", MFD_CLOEXEC);
	if (x->file < 0)
		die("memfd_create");
	for (done = 0; done < opt.bytes; done += n) {
		n = write(x->file, x->payload + done, opt.bytes - done);
		if (n <= 0)
			die("write to a file");
	}
}

static void open_sockets(struct transfer *x, const char *src_ns, const char *dst_ns,
			 const struct sockaddr_strack *dst)
{
	into_netns(dst_ns);
	x->listener = transport_listen(&opt.transport, dst, 0);
	into_netns(src_ns);
	x->sender = transport_open(&opt.transport, 0);
}

static _Noreturn void send_all(const struct transfer *x, const struct sockaddr_strack *dst)
{
	size_t done, size;
	off_t offset = 0;
	ssize_t n;

	/* a shared mapping is not copied by fork(): fetch its pages now */
	madvise(x->payload, opt.bytes, MADV_POPULATE_READ);
	*x->start_ns = now_ns();
	if (st_connect(x->sender, dst))
		die("connect");
	for (done = 0; done < opt.bytes; done += n) {
		size = opt.bytes - done;
		if (size > opt.write_size)
			size = opt.write_size;
		if (opt.sendfile)
			n = sendfile(x->sender, x->file, &offset, size);
		else
			n = send(x->sender, x->payload + done, size, MSG_NOSIGNAL);
		if (n < 0)
			die("send");
	}
	if (shutdown(x->sender, SHUT_WR))
		die("shutdown");
	_exit(0);
}

static uint64_t elapsed(const struct transfer *x)
{
	return *x->start_ns ? now_ns() - *x->start_ns : 0;
}

static bool late(const struct transfer *x)
{
	return elapsed(x) >= opt.limit_ms * NSEC_PER_MSEC;
}

static void cut_now(struct transfer *x)
{
	struct fabric_bytes bytes;
	unsigned int spine = opt.cut;

	if (!spine) {
		fabric_read(&x->fabric, &bytes);
		fabric_since(&bytes, &x->before);
		spine = fabric_busiest(&x->fabric, &bytes);
	}
	transport_stats(&opt.transport, x->sender, &x->cut.sender);
	fabric_switch(&x->fabric, spine, false);
	x->cut.at_ns = elapsed(x);
	x->cut.bytes = x->got;
	x->cut.spine = spine;
}

static void progress(const struct transfer *x, uint64_t now)
{
	char bar[2 * PROGRESS_STEPS + 1];
	uint64_t tenth = x->got * PROGRESS_STEPS / opt.bytes;
	int k;

	if (opt.quiet)
		return;
	for (k = 0; k < 2 * PROGRESS_STEPS; k++)
		bar[k] = k < (int)tenth * 2 ? '#' : '.';
	bar[k] = 0;
	printf("  %-12s [%s] %3" PRIu64 " %%  %5.1f MiB  %7.1f ms  %6.1f Mb/s", opt.run, bar,
	       x->got * 100 / opt.bytes, x->got / 1048576.0, now / 1e6, x->got * 8e3 / now);
	if (x->cut.spine && x->cut.bytes == x->got)
		printf("  spine %u is cut now", x->cut.spine);
	putchar('\n');
}

/* The connection, or false when the child has given up or the time is over. */
static bool accept_sender(struct transfer *x, pid_t child)
{
	siginfo_t info = { 0 };

	for (;;) {
		x->receiver = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC);
		if (x->receiver >= 0)
			return true;
		if (errno != EINTR)
			die("accept");
		waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT);
		if (info.si_pid || late(x))
			return false;
	}
}

/* Number of bytes, 0 at the end of the stream, -1 for an error or too late. */
static ssize_t read_some(struct transfer *x, char *to, size_t size)
{
	ssize_t n;

	do {
		n = read(x->receiver, to, size);
	} while (n < 0 && errno == EINTR && !late(x));
	if (n < 0)
		x->error = late(x) ? ETIME : errno;
	return n;
}

static void receive_all(struct transfer *x)
{
	const uint64_t step = opt.bytes / PROGRESS_STEPS;
	uint64_t next = step, left, now;
	ssize_t n;
	char more;

	while (x->got < opt.bytes) {
		left = opt.bytes - x->got;
		n = read_some(x, x->received + x->got, left < READ_SIZE ? left : READ_SIZE);
		if (n <= 0)
			return;
		now = elapsed(x);
		x->got += n;
		x->end_ns = now;
		if (now / BIN_NS < x->bin_count)
			x->bins[now / BIN_NS] += n;
		if (opt.cut >= 0 && !x->cut.spine && x->got >= opt.bytes / 2)
			cut_now(x);
		if (x->got >= next) {
			progress(x, now);
			next += step;
		}
	}
	x->eof = read_some(x, &more, 1) == 0;
}

static void start_clock(void)
{
	const struct sigaction action = { .sa_handler = wake_up };
	const struct itimerval timer = {
		.it_value = { opt.limit_ms / 1000, opt.limit_ms % 1000 * 1000 },
		/* again and again, in case it came between check and system call */
		.it_interval = { 0, 50000 },
	};

	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGCHLD, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static int transfer(const char *src_ns, const char *dst_ns, const struct sockaddr_strack *dst)
{
	struct transfer x = { .receiver = -1 };
	bool complete;
	int status;
	pid_t child;

	load_payload(&x);
	if (opt.sendfile)
		make_file(&x);
	x.received = shared(opt.bytes);
	x.start_ns = shared(sizeof(*x.start_ns));
	x.bin_count = opt.limit_ms * NSEC_PER_MSEC / BIN_NS;
	x.bins = shared(x.bin_count * sizeof(x.bins[0]));
	fabric_open(&x.fabric, opt.spines, src_ns);
	open_sockets(&x, src_ns, dst_ns, dst);
	fabric_read(&x.fabric, &x.before);
	fflush(stdout);
	x.idle_ms = idle_ms();
	start_clock();
	child = fork();
	if (child < 0)
		die("fork");
	if (!child)
		send_all(&x, dst);
	if (accept_sender(&x, child))
		receive_all(&x);
	x.idle_ms = idle_ms() - x.idle_ms;
	if (!x.eof)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	/* a needless retransmission may still come; it is to be counted */
	sleep_ms(SETTLE_MS);
	fabric_read(&x.fabric, &x.moved);
	fabric_since(&x.moved, &x.before);
	if (x.cut.spine)
		fabric_switch(&x.fabric, x.cut.spine, true);
	complete = x.eof && x.got == opt.bytes && !status;
	report(&x, complete);
	if (opt.output)
		keep_output(&x);
	return complete ? 0 : 1;
}

static _Noreturn void usage(void)
{
	fputs("usage: xfer [-f tcp|mptcp|strack] [-C NAME] [-F PROFILE] [-p PATHS] [-P POLICY] [-i FILE | -n BYTES] [-w BYTES] [-z]\n"
	      "            [-o FILE] [-r NAME] [-j FILE] [-s SPINES [-c SPINE]] [-t MSEC] [-q] SRC_NS DST_NS DST_ADDRESS\n",
	      stderr);
	exit(2);
}

static void parse_options(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, TRANSPORT_OPTIONS "i:n:w:zo:r:j:s:c:t:q")) != -1) {
		switch (o) {
		case 'i':
			opt.input = optarg;
			break;
		case 'n':
			opt.bytes = number(optarg, 1, 1UL << 30);
			break;
		case 'w':
			opt.write_size = number(optarg, 1, 1UL << 30);
			break;
		case 'z':
			opt.sendfile = true;
			break;
		case 'o':
			opt.output = optarg;
			break;
		case 'r':
			opt.run = optarg;
			break;
		case 'j':
			opt.json = optarg;
			break;
		case 's':
			opt.spines = number(optarg, 1, FABRIC_MAX_SPINES);
			break;
		case 'c':
			opt.cut = number(optarg, 0, FABRIC_MAX_SPINES);
			break;
		case 't':
			opt.limit_ms = number(optarg, 1, 600000);
			break;
		case 'q':
			opt.quiet = true;
			break;
		default:
			if (!transport_option(&opt.transport, o, optarg))
				usage();
		}
	}
	if (argc - optind != 3 || !opt.input == !opt.bytes ||
	    opt.cut > (int)opt.spines || (opt.cut >= 0 && !opt.spines))
		usage();
}

int main(int argc, char **argv)
{
	struct sockaddr_strack dst;

	setvbuf(stdout, NULL, _IOLBF, 0);
	parse_options(argc, argv);
	if (!transport_address(&opt.transport, &dst, argv[optind + 2], PORT))
		usage();
	return transfer(argv[optind], argv[optind + 1], &dst);
}
