// SPDX-License-Identifier: GPL-2.0
/* fail_nth: options, ioctl, poll, and the files of the module. */
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include "fail_nth.h"

/* --- options ------------------------------------------------------------- */

struct option {
	int level, name;
	const void *value;	/* to set */
	socklen_t len;		/* of what is set or read */
};

static const int one = 1, sixteen = 16, size = 50000;
static const struct timeval second = { 1, 0 };
static const struct linger linger = { 1, 1 };

static void pair(struct nth_try *t)
{
	nth_pair(t->fd);
}

static void fresh(struct nth_try *t)
{
	t->fd[0] = nth_socket_new();
}

static long call_setsockopt(struct nth_try *t)
{
	const struct option *o = t->call->arg;

	return setsockopt(t->fd[0], o->level, o->name, o->value, o->len);
}

static long call_getsockopt(struct nth_try *t)
{
	const struct option *o = t->call->arg;
	static char value[4096];
	socklen_t len = o->len;

	return getsockopt(t->fd[0], o->level, o->name, value, &len);
}

#define SET(make, _level, _name, _value) \
	{ .name = "setsockopt " #_name, .prepare = make, .call = call_setsockopt, \
	  .arg = &(const struct option){ _level, _name, &(_value), sizeof(_value) } }
#define GET(_level, _name, _len) \
	{ .name = "getsockopt " #_name, .prepare = pair, .call = call_getsockopt, \
	  .arg = &(const struct option){ _level, _name, NULL, _len } }

/* --- ioctl, poll --------------------------------------------------------- */

static long call_ioctl(struct nth_try *t)
{
	static int value;

	value = 1;
	return ioctl(t->fd[0], (long)t->call->arg, &value);
}

/* More than the kernel keeps on its stack. */
static struct pollfd polled[300];

static void many_to_poll(struct nth_try *t)
{
	pair(t);
	for (unsigned int i = 0; i < ARRAY_SIZE(polled); i++)
		polled[i] = (struct pollfd){ .fd = t->fd[i % 2], .events = POLLIN | POLLOUT };
}

static long call_poll(struct nth_try *t)
{
	(void)t;
	return poll(polled, ARRAY_SIZE(polled), 0);
}

static void all_writable(struct nth_try *t)
{
	nth_again(t);
	for (unsigned int i = 0; i < ARRAY_SIZE(polled); i++)
		CHECK(t, polled[i].revents == POLLOUT);
}

static void pair_and_epoll(struct nth_try *t)
{
	pair(t);
	t->fd[2] = MUST(epoll_create1(EPOLL_CLOEXEC));
}

static long call_epoll_add(struct nth_try *t)
{
	static struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(t->fd[2], EPOLL_CTL_ADD, t->fd[0], &event);
}

static void epoll_wakes(struct nth_try *t)
{
	struct epoll_event event;

	nth_again(t);
	CHECK(t, epoll_wait(t->fd[2], &event, 1, 0) == 0);
	MUST(send(t->fd[1], "x", 1, 0));
	CHECK(t, epoll_wait(t->fd[2], &event, 1, slow(5000)) == 1);
}

static void epoll_has_one(struct nth_try *t)
{
	pair_and_epoll(t);
	MUST(call_epoll_add(t));
	MUST(send(t->fd[1], "x", 1, 0));
	MUST(nth_ready(t->fd[0], POLLIN) ? 0 : -1);
}

static long call_epoll_wait(struct nth_try *t)
{
	static struct epoll_event event;

	return epoll_wait(t->fd[2], &event, 1, 0);
}

/* --- files --------------------------------------------------------------- */

static char text[16384];

static long call_open_counters(struct nth_try *t)
{
	return t->fd[0] = open(STRACK_SNMP_FILE, O_RDONLY | O_CLOEXEC);
}

static void open_counters(struct nth_try *t)
{
	MUST(call_open_counters(t));
}

static long call_read(struct nth_try *t)
{
	return pread(t->fd[0], text, sizeof(text) - 1, 0);
}

static void all_counters(struct nth_try *t)
{
	nth_again(t);
	CHECK(t, pread(t->fd[0], text, sizeof(text) - 1, 0) > 0 && strstr(text, "RxSkbs"));
}

static void open_setting(struct nth_try *t)
{
	t->fd[0] = MUST(open(t->call->arg, O_RDWR | O_CLOEXEC));
}

static long call_write_paths(struct nth_try *t)
{
	return pwrite(t->fd[0], "64", 2, 0);
}

static long call_write_policy(struct nth_try *t)
{
	return pwrite(t->fd[0], "oblivious", 9, 0);
}

static void has_64_paths(struct nth_try *t)
{
	nth_again(t);
	CHECK(t, read_long(t->call->arg, -1) == 64);
}

static const struct nth_call calls[] = {
	SET(pair, SOL_STRACK, STRACK_PATHS, sixteen),
	SET(fresh, SOL_STRACK, STRACK_PROFILE, "stellar"),
	SET(pair, SOL_STRACK, STRACK_PATH_POLICY, "mixed"),
	SET(pair, SOL_STRACK, STRACK_RTO_MIN, size),
	SET(pair, SOL_STRACK, STRACK_NODELAY, one),
	SET(fresh, SOL_SOCKET, SO_REUSEADDR, one),
	SET(pair, SOL_SOCKET, SO_KEEPALIVE, one),
	SET(pair, SOL_SOCKET, SO_SNDBUF, size),
	SET(pair, SOL_SOCKET, SO_RCVBUF, size),
	SET(pair, SOL_SOCKET, SO_RCVLOWAT, sixteen),
	SET(pair, SOL_SOCKET, SO_RCVTIMEO, second),
	SET(pair, SOL_SOCKET, SO_SNDTIMEO, second),
	SET(pair, SOL_SOCKET, SO_LINGER, linger),
	SET(pair, SOL_SOCKET, SO_MARK, one),
	SET(pair, SOL_SOCKET, SO_PRIORITY, one),
	SET(fresh, SOL_SOCKET, SO_BINDTODEVICE, "lo"),
	GET(SOL_STRACK, STRACK_PATHS, sizeof(int)),
	GET(SOL_STRACK, STRACK_PROFILE, STRACK_PROFILE_MAX),
	GET(SOL_STRACK, STRACK_RTO_MIN, sizeof(int)),
	GET(SOL_STRACK, STRACK_NODELAY, sizeof(int)),
	GET(SOL_STRACK, STRACK_INFO, sizeof(struct strack_info)),
	GET(SOL_STRACK, STRACK_PATH_BYTES, 8 * STRACK_MAX_PATHS),
	GET(SOL_STRACK, STRACK_PATH_POLICY, STRACK_PROFILE_MAX),
	GET(SOL_STRACK, STRACK_PATH_STATE, STRACK_MAX_PATHS),
	GET(SOL_SOCKET, SO_ERROR, sizeof(int)),
	GET(SOL_SOCKET, SO_TYPE, sizeof(int)),
	GET(SOL_SOCKET, SO_SNDBUF, sizeof(int)),
	GET(SOL_SOCKET, SO_RCVTIMEO, sizeof(struct timeval)),
	GET(SOL_SOCKET, SO_LINGER, sizeof(struct linger)),
	{ .name = "ioctl SIOCINQ", .prepare = pair, .call = call_ioctl,
	  .arg = (void *)SIOCINQ },
	{ .name = "ioctl SIOCOUTQ", .prepare = pair, .call = call_ioctl,
	  .arg = (void *)SIOCOUTQ },
	{ .name = "ioctl FIONBIO", .prepare = pair, .call = call_ioctl,
	  .arg = (void *)FIONBIO },
	{ .name = "poll", .prepare = many_to_poll, .call = call_poll,
	  .confirm = all_writable },
	{ .name = "epoll_ctl", .prepare = pair_and_epoll, .call = call_epoll_add,
	  .confirm = epoll_wakes },
	{ .name = "epoll_wait", .prepare = epoll_has_one, .call = call_epoll_wait },
	{ .name = "open of the counters", .call = call_open_counters },
	{ .name = "read of the counters", .prepare = open_counters, .call = call_read,
	  .confirm = all_counters },
	{ .name = "read of a setting", .prepare = open_setting, .call = call_read,
	  .arg = "/proc/sys/net/strack/link_mbps" },
	{ .name = "write of a number", .prepare = open_setting, .call = call_write_paths,
	  .confirm = has_64_paths, .arg = "/proc/sys/net/strack/paths" },
	{ .name = "write of a name", .prepare = open_setting, .call = call_write_policy,
	  .arg = "/proc/sys/net/strack/path_policy" },
};

NTH_GROUP(option, calls);
