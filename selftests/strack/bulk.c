// SPDX-License-Identifier: GPL-2.0
/*
 * bulk [OPTION]... ADDRESS: moves bytes both ways over one connection after
 * the other and checks each of them. Both ends are children of this process.
 *
 *	-s NETNS	namespace of the server, which has ADDRESS
 *	-c NETNS	namespace of the client
 *	-b BYTES	each way (default 1 MiB)
 *	-u, -d		client to server only, server to client only
 *	-z		send by splice(), without copying, from the pages of a pipe
 *	-f		send by sendfile(), without copying, from the pages of a file
 *	-n COUNT	connections, one after the other (default 1)
 *	-m MAX		most bytes for one call; sizes are random below (default 65536)
 *	-B BYTES	SO_SNDBUF and SO_RCVBUF of both ends
 *	-p PATHS	STRACK_PATHS
 *	-r SECONDS	leave the connection open and idle for that long at the end
 *	-t SECONDS	for all of it, times SLOW (default 60)
 *	-e SEED		of the random sizes
 *	--tcp		TCP instead
 *
 * Prints a line of numbers for each end of each connection. Exit status: 0 all
 * arrived, 1 not, 3 not in time (with the state of the connection).
 */
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>

#include <linux/sockios.h>

#include "../lib/info.h"
#include "../lib/pattern.h"

#define MAX_CHUNK	(1 << 20)
#define PORT		7001

static struct {
	const char *address, *server_ns, *client_ns;
	uint64_t bytes[2];		/* to the server, to the client */
	unsigned int count, chunk, buffer, paths, idle, seconds, seed;
	bool tcp, splice, sendfile;
	int family;
} opt = { .bytes = { 1 << 20, 1 << 20 }, .count = 1, .chunk = 65536, .seconds = 60, .seed = 1 };

/* One direction at one end. */
struct flow {
	uint64_t seed, done, total;
};

static void die(const char *what)
{
	fprintf(stderr, "bulk: %s: %s\n", what, strerror(errno));
	exit(KSFT_FAIL);
}

/* Sizes of all orders of magnitude are equally likely. */
static size_t random_size(unsigned int *state)
{
	unsigned int bits, size;

	*state = *state * 1103515245 + 12345;
	bits = (*state >> 16) % 21;
	*state = *state * 1103515245 + 12345;
	size = (*state >> 8) & ((1u << bits) - 1);
	return 1 + size % opt.chunk;
}

static void set_options(int fd)
{
	int one = 1, buffer = opt.buffer, paths = opt.paths;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (buffer && (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)) ||
		       setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer))))
		die("buffers");
	if (paths && setsockopt(fd, SOL_STRACK, STRACK_PATHS, &paths, sizeof(paths)))
		die("paths");
}

static void enter(const char *ns)
{
	if (ns && enter_netns(ns))
		die(ns);
}

/* As send() of the next bytes. Each page of a pipe is used once, and left to the packets. */
static ssize_t send_spliced(int fd, const struct flow *f, size_t len)
{
	static uint8_t data[MAX_CHUNK];
	static int ends[2] = { -1, -1 };
	static size_t waiting;
	ssize_t n;

	if (ends[0] < 0 && (pipe2(ends, O_CLOEXEC) || fcntl(ends[1], F_SETPIPE_SZ, MAX_CHUNK) < 0))
		die("pipe");
	if (!waiting) {
		pattern_fill(data, len, f->seed, f->done);
		if (write(ends[1], data, len) != (ssize_t)len)
			die("write to a pipe");
		waiting = len;
	}
	n = splice(ends[0], NULL, fd, NULL, waiting, SPLICE_F_NONBLOCK);
	if (n > 0)
		waiting -= n;
	return n;
}

/* The file has all that is to be sent: the pages of what has left must not change. */
static ssize_t send_from_file(int fd, const struct flow *f, size_t len)
{
	static uint8_t data[MAX_CHUNK];
	static uint64_t seed;
	static int file = -1;
	off_t offset = f->done;

	if (seed != f->seed) {
		if (file >= 0)
			close(file);
		file = memfd_create("bulk", MFD_CLOEXEC);
		for (uint64_t at = 0; at < f->total; at += sizeof(data)) {
			pattern_fill(data, sizeof(data), f->seed, at);
			if (write(file, data, sizeof(data)) != sizeof(data))
				die("write to a file");
		}
		seed = f->seed;
	}
	return sendfile(fd, file, &offset, len);
}

static bool send_some(int fd, struct flow *f, unsigned int *rng)
{
	static uint8_t data[MAX_CHUNK];
	size_t len = random_size(rng);
	ssize_t n;

	if (len > f->total - f->done)
		len = f->total - f->done;
	if (opt.splice) {
		n = send_spliced(fd, f, len);
	} else if (opt.sendfile) {
		n = send_from_file(fd, f, len);
	} else {
		pattern_fill(data, len, f->seed, f->done);
		n = send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0)
		die("send");
	f->done += n;
	if (f->done == f->total && shutdown(fd, SHUT_WR))
		die("shutdown");
	return true;
}

/* False when there is nothing to read now; *end at the end of the stream. */
static bool receive_some(int fd, struct flow *f, unsigned int *rng, bool *end)
{
	static uint8_t data[MAX_CHUNK];
	ssize_t n = recv(fd, data, random_size(rng), MSG_DONTWAIT);
	size_t good;

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n < 0)
		die("recv");
	*end = !n;
	good = pattern_check(data, n, f->seed, f->done);
	if (good < (size_t)n) {
		pattern_explain(data + good, n - good, f->seed, f->done + good);
		exit(KSFT_FAIL);
	}
	f->done += n;
	return n > 0;
}

static int current_fd;
static const char *current_end;
static struct flow *current_out, *current_in;

/* Not in time: say where it stands. Not signal-safe, but nothing follows. */
static void on_alarm(int signal)
{
	(void)signal;
	fprintf(stderr, "bulk: %s late: sent %llu of %llu, received %llu of %llu\n", current_end,
		(unsigned long long)current_out->done, (unsigned long long)current_out->total,
		(unsigned long long)current_in->done, (unsigned long long)current_in->total);
	fprintf(stderr, "bulk: %s ", current_end);
	info_print(stderr, current_fd, opt.tcp);
	fputc('\n', stderr);
	fflush(stderr);
	_exit(3);
}

static void transfer(int fd, struct flow *out, struct flow *in, unsigned int rng)
{
	struct pollfd p = { .fd = fd };
	bool end = false;

	current_fd = fd;
	current_out = out;
	current_in = in;
	/* splice() and sendfile() have no flag for it that the socket sees */
	if (fcntl(fd, F_SETFL, O_NONBLOCK))
		die("fcntl");
	if (!out->total)
		shutdown(fd, SHUT_WR);
	while (out->done < out->total || !end) {
		bool busy = false;

		for (int i = 0; i < 8 && out->done < out->total && send_some(fd, out, &rng); i++)
			busy = true;
		for (int i = 0; i < 8 && !end && receive_some(fd, in, &rng, &end); i++)
			busy = true;
		p.events = (end ? 0 : POLLIN) | (out->done < out->total ? POLLOUT : 0);
		if (!busy && p.events && poll(&p, 1, -1) < 0)
			die("poll");
	}
	if (in->done != in->total) {
		fprintf(stderr, "bulk: %s: stream ended after %llu bytes of %llu\n", current_end,
			(unsigned long long)in->done, (unsigned long long)in->total);
		exit(KSFT_FAIL);
	}
}

static void finish(int fd, unsigned int number, uint64_t start)
{
	unsigned long long ms = (now_ns() - start) / NSEC_PER_MSEC;

	int left = 1;

	/* All is out and known to have arrived, so the numbers are final. */
	while (!ioctl(fd, SIOCOUTQ, &left) && left)
		sleep_ms(1);
	if (opt.idle)
		sleep_ms(opt.idle * 1000);
	printf("%s %u ms=%llu ", current_end, number, ms);
	info_print(stdout, fd, opt.tcp);
	putchar('\n');
	fflush(stdout);
	close(fd);
}

static void run_server(int ready)
{
	struct sockaddr_strack sa;
	int listener;

	current_end = "server";
	enter(opt.server_ns);
	listener = socket(opt.family, SOCK_STREAM, 0);
	if (listener < 0)
		die("socket");
	set_options(listener);
	if (st_address(&sa, opt.family, opt.address, PORT) || st_bind(listener, &sa) ||
	    listen(listener, 8))
		die("listen");
	if (write(ready, "r", 1) != 1)
		die("pipe");
	for (unsigned int i = 0; i < opt.count; i++) {
		struct flow in = { .seed = 2 * i + 1, .total = opt.bytes[0] };
		struct flow out = { .seed = 2 * i + 2, .total = opt.bytes[1] };
		int fd = accept(listener, NULL, NULL);
		uint64_t start = now_ns();

		if (fd < 0)
			die("accept");
		transfer(fd, &out, &in, opt.seed + 77 * i);
		finish(fd, i, start);
	}
	exit(KSFT_PASS);
}

static void run_client(void)
{
	struct sockaddr_strack sa;

	current_end = "client";
	enter(opt.client_ns);
	st_address(&sa, opt.family, opt.address, PORT);
	for (unsigned int i = 0; i < opt.count; i++) {
		struct flow out = { .seed = 2 * i + 1, .total = opt.bytes[0] };
		struct flow in = { .seed = 2 * i + 2, .total = opt.bytes[1] };
		int fd = socket(opt.family, SOCK_STREAM, 0);
		uint64_t start = now_ns();

		current_fd = fd;
		current_out = &out;
		current_in = &in;
		set_options(fd);
		if (st_connect(fd, &sa))
			die("connect");
		transfer(fd, &out, &in, opt.seed + 99 * i + 5);
		finish(fd, i, start);
	}
	exit(KSFT_PASS);
}

static pid_t start(void (*run)(int), void (*run_plain)(void), int arg)
{
	static struct flow none;
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	current_out = &none;
	current_in = &none;
	current_fd = -1;
	signal(SIGALRM, on_alarm);
	alarm(slow(opt.seconds));
	if (run)
		run(arg);
	else
		run_plain();
	exit(KSFT_FAIL);
}

/* Worst exit status of both; one that failed takes the other with it. */
static int wait_both(pid_t a, pid_t b)
{
	int worst = 0, status;
	pid_t pid;

	while ((pid = wait(&status)) > 0) {
		int code = WIFEXITED(status) ? WEXITSTATUS(status) : KSFT_FAIL;

		if (code > worst)
			worst = code;
		if (code && code != 3)
			kill(pid == a ? b : a, SIGTERM);
	}
	return worst;
}

static int parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "tcp", no_argument, NULL, 'T' },
		{ }
	};
	int o, one_way = -1;

	while ((o = getopt_long(argc, argv, "s:c:b:udzfn:m:B:p:r:t:e:", options, NULL)) != -1) {
		switch (o) {
		case 's':
			opt.server_ns = optarg;
			break;
		case 'c':
			opt.client_ns = optarg;
			break;
		case 'b':
			opt.bytes[0] = opt.bytes[1] = strtoull(optarg, NULL, 0);
			break;
		case 'u':
			one_way = 1;
			break;
		case 'd':
			one_way = 0;
			break;
		case 'z':
			opt.splice = true;
			break;
		case 'f':
			opt.sendfile = true;
			break;
		case 'n':
			opt.count = atoi(optarg);
			break;
		case 'm':
			opt.chunk = atoi(optarg);
			break;
		case 'B':
			opt.buffer = atoi(optarg);
			break;
		case 'p':
			opt.paths = atoi(optarg);
			break;
		case 'r':
			opt.idle = atoi(optarg);
			break;
		case 't':
			opt.seconds = atoi(optarg);
			break;
		case 'e':
			opt.seed = atoi(optarg);
			break;
		case 'T':
			opt.tcp = true;
			break;
		default:
			return -1;
		}
	}
	if (one_way >= 0)
		opt.bytes[one_way] = 0;
	opt.address = argv[optind];
	return opt.address && opt.chunk && opt.chunk <= MAX_CHUNK ? 0 : -1;
}

int main(int argc, char **argv)
{
	pid_t server, client;
	int ready[2];
	char byte;

	if (parse(argc, argv)) {
		fputs("usage: bulk [OPTION]... ADDRESS\n", stderr);
		return 2;
	}
	opt.family = opt.tcp ? AF_INET6 : strack_family();
	if (pipe(ready))
		die("pipe");
	server = start(run_server, NULL, ready[1]);
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		return wait_both(server, server);
	client = start(NULL, run_client, 0);
	return wait_both(server, client);
}
