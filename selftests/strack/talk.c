// SPDX-License-Identifier: GPL-2.0
/*
 * talk [OPTION]... listen|connect ADDRESS PORT COMMAND...
 *
 * One end of one connection that does what it is told, step by step.
 *
 *	-n NETNS	work in that namespace
 *	-b ADDRESS	bind before connecting
 *	-p PATHS, -r USEC	STRACK_PATHS, STRACK_RTO_MIN
 *	-k		SO_KEEPALIVE
 *	-t SECONDS	give up then, times SLOW (default 60), exit status 3
 *	--tcp		TCP instead
 *
 *	send=N		sends N bytes		recv=N	wants N bytes, checked
 *	eof		wants the end		err=E	wants recv() to fail with E
 *	drain		until all is acknowledged
 *	shut		shutdown(SHUT_WR)	reset	closes with SO_LINGER 0
 *	close		closes			info	prints the numbers
 *	disconnect	connect(AF_UNSPEC)
 *	paths=N		sets STRACK_PATHS
 *	sleep=MS	sleeps			pause	sleeps until killed
 *	touch=FILE	makes the file		wait=FILE	until it is there
 *
 * Prints "NS COMMAND result" for each, with the real-time clock in ns (the one
 * wirebox logs with). "connect" expects success unless the first command is
 * fail=E. The first step that does not go as told ends it with status 1.
 */
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>

#include <linux/sockios.h>

#include "../lib/info.h"
#include "../lib/pattern.h"

static struct {
	const char *ns, *from;
	int paths, rto_min, family;
	unsigned int seconds;
	bool tcp, keepalive, server;
} opt = { .seconds = 60 };

static int fd = -1;
static uint64_t sent, received;

static uint64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static void say(const char *command, const char *result)
{
	printf("%" PRIu64 " %s %s\n", real_ns(), command, result);
}

static bool fail(const char *command)
{
	say(command, strerrorname_np(errno));
	return false;
}

/* Our stream's seed differs from the peer's, so that an echo is noticed. */
static uint64_t seed_of(bool mine)
{
	return mine == opt.server ? 1001 : 1002;
}

static bool do_send(const char *command, uint64_t bytes)
{
	static uint8_t data[65536];

	while (bytes) {
		size_t len = bytes < sizeof(data) ? bytes : sizeof(data);
		ssize_t n;

		pattern_fill(data, len, seed_of(true), sent);
		n = send(fd, data, len, MSG_NOSIGNAL);
		if (n < 0)
			return fail(command);
		sent += n;
		bytes -= n;
	}
	say(command, "ok");
	return true;
}

static bool do_recv(const char *command, uint64_t bytes)
{
	static uint8_t data[65536];

	while (bytes) {
		size_t len = bytes < sizeof(data) ? bytes : sizeof(data), good;
		ssize_t n = recv(fd, data, len, 0);

		if (n < 0)
			return fail(command);
		if (!n) {
			say(command, "ended");
			return false;
		}
		good = pattern_check(data, n, seed_of(false), received);
		if (good < (size_t)n) {
			pattern_explain(data + good, n - good, seed_of(false), received + good);
			say(command, "wrong");
			return false;
		}
		received += n;
		bytes -= n;
	}
	say(command, "ok");
	return true;
}

static bool do_eof(const char *command)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, 0);

	if (n < 0)
		return fail(command);
	say(command, n ? "data" : "ok");
	return !n;
}

static bool do_error(const char *command, const char *name)
{
	char data[4096];
	ssize_t n;

	while ((n = recv(fd, data, sizeof(data), 0)) > 0)
		;
	if (!n) {
		say(command, "ended");
		return false;
	}
	if (strcmp(strerrorname_np(errno), name))
		return fail(command);
	say(command, "ok");
	return true;
}

static bool do_drain(const char *command)
{
	struct pollfd p = { .fd = fd };
	int left = 1;

	while (left) {
		if (ioctl(fd, SIOCOUTQ, &left))
			return fail(command);
		poll(&p, 1, left ? 2 : 0);
		if (left && (p.revents & (POLLERR | POLLHUP))) {
			say(command, "hangup");
			return false;
		}
	}
	say(command, "ok");
	return true;
}

static bool do_reset(const char *command)
{
	struct linger linger = { 1, 0 };

	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) || close(fd))
		return fail(command);
	say(command, "ok");
	return true;
}

static bool result(const char *command, int ret)
{
	if (ret)
		return fail(command);
	say(command, "ok");
	return true;
}

static bool do_disconnect(const char *command)
{
	struct sockaddr_strack none = { .sst_family = AF_UNSPEC };

	return result(command, st_connect(fd, &none));
}

static bool do_info(void)
{
	printf("%" PRIu64 " info ", real_ns());
	info_print(stdout, fd, opt.tcp);
	putchar('\n');
	return true;
}

static bool do_wait(const char *command, const char *file)
{
	while (access(file, F_OK))
		sleep_ms(1);
	say(command, "ok");
	return true;
}

static bool do_touch(const char *command, const char *file)
{
	int ret = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	if (ret < 0)
		return fail(command);
	close(ret);
	say(command, "ok");
	return true;
}

static bool step(const char *command)
{
	const char *value = strchr(command, '=');
	size_t len = value ? (size_t)(value - command) : strlen(command);

	value = value ? value + 1 : "";
#define IS(name) (len == strlen(name) && !strncmp(command, name, len))
	if (IS("send"))
		return do_send(command, strtoull(value, NULL, 0));
	if (IS("recv"))
		return do_recv(command, strtoull(value, NULL, 0));
	if (IS("eof"))
		return do_eof(command);
	if (IS("err"))
		return do_error(command, value);
	if (IS("drain"))
		return do_drain(command);
	if (IS("shut"))
		return result(command, shutdown(fd, SHUT_WR));
	if (IS("reset"))
		return do_reset(command);
	if (IS("close"))
		return result(command, close(fd));
	if (IS("disconnect"))
		return do_disconnect(command);
	if (IS("info"))
		return do_info();
	if (IS("wait"))
		return do_wait(command, value);
	if (IS("touch"))
		return do_touch(command, value);
	if (IS("paths")) {
		int paths = atoi(value);

		return result(command, setsockopt(fd, SOL_STRACK, STRACK_PATHS, &paths,
						  sizeof(paths)));
	}
	if (IS("pause"))
		return pause();
	if (IS("sleep")) {
		sleep_ms(atoi(value));
		return true;
	}
#undef IS
	say(command, "unknown");
	return false;
}

static int set_options(int sock)
{
	int one = 1;

	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (opt.tcp)
		setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (opt.keepalive && setsockopt(sock, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)))
		return -1;
	if (opt.paths && setsockopt(sock, SOL_STRACK, STRACK_PATHS, &opt.paths, sizeof(int)))
		return -1;
	if (opt.rto_min && setsockopt(sock, SOL_STRACK, STRACK_RTO_MIN, &opt.rto_min, sizeof(int)))
		return -1;
	return 0;
}

static bool open_listen(const struct sockaddr_strack *sa)
{
	int listener = socket(opt.family, SOCK_STREAM, 0);

	if (listener < 0 || set_options(listener) || st_bind(listener, sa) || listen(listener, 4))
		return fail("listen");
	say("listen", "ok");
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		return fail("accept");
	close(listener);
	say("accept", "ok");
	return true;
}

/* @want: name of the errno that connect() is to fail with, or NULL. */
static bool open_connect(const struct sockaddr_strack *sa, const char *want)
{
	struct sockaddr_strack from;
	int ret;

	fd = socket(opt.family, SOCK_STREAM, 0);
	if (fd < 0 || set_options(fd))
		return fail("socket");
	if (opt.from && (st_address(&from, opt.family, opt.from, 0) || st_bind(fd, &from)))
		return fail("bind");
	say("connecting", "");
	ret = st_connect(fd, sa);
	if (!want)
		return result("connect", ret);
	if (!ret || strcmp(strerrorname_np(errno), want)) {
		say("connect", ret ? strerrorname_np(errno) : "connected");
		return false;
	}
	say("connect", want);
	return true;
}

static void on_alarm(int signal)
{
	(void)signal;
	say("late", "");
	if (fd >= 0)
		do_info();
	fflush(stdout);
	_exit(3);
}

static bool parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "tcp", no_argument, NULL, 'T' },
		{ }
	};
	int o;

	while ((o = getopt_long(argc, argv, "+n:b:p:r:kt:", options, NULL)) != -1) {
		switch (o) {
		case 'n':
			opt.ns = optarg;
			break;
		case 'b':
			opt.from = optarg;
			break;
		case 'p':
			opt.paths = atoi(optarg);
			break;
		case 'r':
			opt.rto_min = atoi(optarg);
			break;
		case 'k':
			opt.keepalive = true;
			break;
		case 't':
			opt.seconds = atoi(optarg);
			break;
		case 'T':
			opt.tcp = true;
			break;
		default:
			return false;
		}
	}
	if (argc - optind < 3)
		return false;
	opt.server = !strcmp(argv[optind], "listen");
	return opt.server || !strcmp(argv[optind], "connect");
}

int main(int argc, char **argv)
{
	struct sockaddr_strack sa;
	const char *want = NULL;
	char **command;

	if (!parse(argc, argv)) {
		fputs("usage: talk [OPTION]... listen|connect ADDRESS PORT COMMAND...\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	opt.family = opt.tcp ? AF_INET6 : strack_family();
	if (opt.ns && enter_netns(opt.ns)) {
		fail(opt.ns);
		return KSFT_FAIL;
	}
	signal(SIGALRM, on_alarm);
	alarm(slow(opt.seconds));
	if (st_address(&sa, opt.family, argv[optind + 1], atoi(argv[optind + 2])))
		return 2;
	command = argv + optind + 3;
	if (*command && !strncmp(*command, "fail=", 5))
		want = *command++ + 5;
	if (!(opt.server ? open_listen(&sa) : open_connect(&sa, want)))
		return KSFT_FAIL;
	for (; *command; command++)
		if (!step(*command))
			return KSFT_FAIL;
	return KSFT_PASS;
}
