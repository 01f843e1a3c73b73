// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: SOL_SOCKET options. */
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include <linux/sockios.h>

#include "sm.h"

static long core_limit(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/sys/net/core/%s", name);
	return read_long(path, 212992);
}

static void identity(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa), fd[2];

	sm_pair_of(listener, &sa, fd);
	for (int i = 0; i < 2; i++) {
		EQ(sm_get_int(fd[i], SOL_SOCKET, SO_TYPE), SOCK_STREAM);
		EQ(sm_get_int(fd[i], SOL_SOCKET, SO_DOMAIN), sm.family);
		EQ(sm_get_int(fd[i], SOL_SOCKET, SO_PROTOCOL), sm.tcp ? IPPROTO_TCP : 0);
		EQ(sm_get_int(fd[i], SOL_SOCKET, SO_ACCEPTCONN), 0);
		EQ(sm_get_int(fd[i], SOL_SOCKET, SO_ERROR), 0);
	}
	EQ(sm_get_int(listener, SOL_SOCKET, SO_ACCEPTCONN), 1);
	EQ(sm_get_int(sm_socket(0), SOL_SOCKET, SO_ACCEPTCONN), 0);
}

static void read_only(void)
{
	int fd = sm_socket(0);

	ERR(sm_set_int(fd, SOL_SOCKET, SO_TYPE, 1), ENOPROTOOPT);
	ERR(sm_set_int(fd, SOL_SOCKET, SO_ERROR, 0), ENOPROTOOPT);
	ERR(sm_set_int(fd, SOL_SOCKET, SO_DOMAIN, 1), ENOPROTOOPT);
	ERR(sm_set_int(fd, SOL_SOCKET, SO_ACCEPTCONN, 1), ENOPROTOOPT);
}

/* The kernel doubles what was asked for, up to a limit, and has a floor. */
static void send_buffer(void)
{
	int fd = sm_socket(0);

	TRUE(sm_get_int(fd, SOL_SOCKET, SO_SNDBUF) >= 4096);
	OK(sm_set_int(fd, SOL_SOCKET, SO_SNDBUF, 40000));
	EQ(sm_get_int(fd, SOL_SOCKET, SO_SNDBUF), 80000);
	OK(sm_set_int(fd, SOL_SOCKET, SO_SNDBUF, 0));
	RANGE(sm_get_int(fd, SOL_SOCKET, SO_SNDBUF), 2048, 8192);
	OK(sm_set_int(fd, SOL_SOCKET, SO_SNDBUF, 0x7fffffff));
	EQ(sm_get_int(fd, SOL_SOCKET, SO_SNDBUF), 2 * core_limit("wmem_max"));
	OK(sm_set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, 10000000));
	EQ(sm_get_int(fd, SOL_SOCKET, SO_SNDBUF), 20000000);
}

static void receive_buffer(void)
{
	int fd = sm_socket(0);

	TRUE(sm_get_int(fd, SOL_SOCKET, SO_RCVBUF) >= 2048);
	OK(sm_set_int(fd, SOL_SOCKET, SO_RCVBUF, 40000));
	EQ(sm_get_int(fd, SOL_SOCKET, SO_RCVBUF), 80000);
	OK(sm_set_int(fd, SOL_SOCKET, SO_RCVBUF, 0));
	RANGE(sm_get_int(fd, SOL_SOCKET, SO_RCVBUF), 1024, 8192);
	OK(sm_set_int(fd, SOL_SOCKET, SO_RCVBUF, 0x7fffffff));
	EQ(sm_get_int(fd, SOL_SOCKET, SO_RCVBUF), 2 * core_limit("rmem_max"));
	OK(sm_set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, 10000000));
	EQ(sm_get_int(fd, SOL_SOCKET, SO_RCVBUF), 20000000);
}

/* Rules about users look at the owner of the socket, who may change. */
static void owner_routes(void)
{
	enum { USER = 4242 };
	struct sockaddr_strack sa;
	int fd;

	if (system(sm.v6 ? "ip -6 rule add uidrange 4242-4242 prohibit" :
		   "ip rule add uidrange 4242-4242 prohibit"))
		sm_skip("no policy rules");
	NEED(seteuid(USER));
	fd = sm_socket(SOCK_NONBLOCK);
	NEED(seteuid(0));
	sm_place(&sa, SM_BLACKHOLE, 9);
	ERR(st_connect(fd, &sa), EACCES);
	OK(fchown(fd, 0, -1));
	ERR(st_connect(fd, &sa), EINPROGRESS);
	OK(system(sm.v6 ? "ip -6 rule del uidrange 4242-4242" :
		  "ip rule del uidrange 4242-4242"));
}

#define RMEM_FILE	"/proc/sys/net/strack/rmem_default"
#define WMEM_FILE	"/proc/sys/net/strack/wmem_default"

static void buffers_default(void)
{
	long rmem = read_long(RMEM_FILE, -1), wmem = read_long(WMEM_FILE, -1);
	int fd = sm_socket(0);
	char text[16];

	EQ(sm_get_int(fd, SOL_SOCKET, SO_RCVBUF), rmem);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_SNDBUF), wmem);
	OK(write_text(RMEM_FILE, "123456"));
	OK(write_text(WMEM_FILE, "234567"));
	EQ(sm_get_int(fd, SOL_SOCKET, SO_RCVBUF), rmem);
	fd = sm_socket(0);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_RCVBUF), 123456);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_SNDBUF), 234567);
	ERR(write_text(RMEM_FILE, "1000"), EINVAL);
	ERR(write_text(WMEM_FILE, "-1"), EINVAL);
	snprintf(text, sizeof(text), "%ld", rmem);
	OK(write_text(RMEM_FILE, text));
	snprintf(text, sizeof(text), "%ld", wmem);
	OK(write_text(WMEM_FILE, text));
}

/* Bytes that two buffers of @size hold; set before there is a connection. */
static size_t capacity(int size)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa), fd[2];

	OK(sm_set_int(listener, SOL_SOCKET, SO_RCVBUF, size));
	fd[0] = sm_socket(0);
	OK(sm_set_int(fd[0], SOL_SOCKET, SO_SNDBUF, size));
	NEED(st_connect(fd[0], &sa));
	fd[1] = NEED(accept(listener, NULL, NULL));
	return sm_fill(fd[0]);
}

/* The buffers limit what is under way: a small one holds little. */
static void buffers_limit(void)
{
	size_t small = capacity(20000), large = capacity(200000);

	RANGE(small, 1000, 8 * 20000);
	RANGE(large, 3 * small, 8 * 200000);
}

/* A smaller buffer for new data counts from now on, whatever was promised before. */
static void send_buffer_shrinks(void)
{
	int fd[2];

	sm_pair(fd);
	OK(sm_set_int(fd[0], SOL_SOCKET, SO_SNDBUF, 20000));
	sm_fill(fd[0]);
	RANGE(sm_ioctl_int(fd[0], SIOCOUTQ), 1, 4 * 20000);
}

/* The smallest buffers still move data. */
static void tiny_buffers_work(void)
{
	static unsigned char data[100000], got[100000];
	struct sockaddr_strack sa;
	int listener, fd[2];
	pid_t pid;

	listener = sm_socket(0);
	OK(sm_set_int(listener, SOL_SOCKET, SO_RCVBUF, 1));
	OK(sm_set_int(listener, SOL_SOCKET, SO_SNDBUF, 1));
	sm_place(&sa, SM_LOOP, 0);
	OK(st_bind(listener, &sa));
	OK(listen(listener, 1));
	OK(st_getsockname(listener, &sa));
	sm_pair_of(listener, &sa, fd);
	OK(sm_set_int(fd[0], SOL_SOCKET, SO_SNDBUF, 1));
	sm_pattern_fill(data, sizeof(data), 0);
	pid = fork();
	if (!pid) {
		sm_send_all(fd[0], data, sizeof(data));
		_exit(0);
	}
	EQ(sm_recv_all(fd[1], got, sizeof(got)), sizeof(got));
	TRUE(sm_pattern_check(got, sizeof(got), 0));
}

static void booleans(void)
{
	static const int names[] = { SO_REUSEADDR, SO_KEEPALIVE, SO_BROADCAST, SO_OOBINLINE,
				     SO_DONTROUTE, SO_TIMESTAMP, SO_TIMESTAMPNS, SO_RXQ_OVFL };
	char text[64];
	int fd = sm_socket(0);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(text, sizeof(text), "option %d", names[i]);
		sm_check_eq(sm_get_int(fd, SOL_SOCKET, names[i]), 0, text, __FILE__, __LINE__);
		OK(sm_set_int(fd, SOL_SOCKET, names[i], 1));
		sm_check_eq(sm_get_int(fd, SOL_SOCKET, names[i]), 1, text, __FILE__, __LINE__);
		OK(sm_set_int(fd, SOL_SOCKET, names[i], 0));
		sm_check_eq(sm_get_int(fd, SOL_SOCKET, names[i]), 0, text, __FILE__, __LINE__);
	}
}

static void keepalive_connected(void)
{
	char byte = 0;
	int fd[2];

	sm_pair(fd);
	OK(sm_set_int(fd[0], SOL_SOCKET, SO_KEEPALIVE, 1));
	EQ(sm_get_int(fd[0], SOL_SOCKET, SO_KEEPALIVE), 1);
	OK(send(fd[0], "x", 1, 0));
	EQ(recv(fd[1], &byte, 1, 0), 1);
}

static void priority_and_mark(void)
{
	int fd = sm_socket(0);

	OK(sm_set_int(fd, SOL_SOCKET, SO_PRIORITY, 6));
	EQ(sm_get_int(fd, SOL_SOCKET, SO_PRIORITY), 6);
	OK(sm_set_int(fd, SOL_SOCKET, SO_MARK, 0x1234));
	EQ(sm_get_int(fd, SOL_SOCKET, SO_MARK), 0x1234);
	sm_drop_privileges();
	ERR(sm_set_int(fd, SOL_SOCKET, SO_MARK, 1), EPERM);
	ERR(sm_set_int(fd, SOL_SOCKET, SO_PRIORITY, 7), EPERM);
	ERR(sm_set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, 10000), EPERM);
}

/* It would change what is charged to the socket behind the connection's back. */
static void reserve_memory_refused(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa), fd[2] = { sm_socket(0) };

	NEED(st_connect(fd[0], &sa));
	NEED(fd[1] = accept(listener, NULL, NULL));
	for (int i = 0; i < 2; i++) {
		ERR(sm_set_int(fd[i], SOL_SOCKET, SO_RESERVE_MEM, 1 << 20), EOPNOTSUPP);
		EQ(sm_get_int(fd[i], SOL_SOCKET, SO_RESERVE_MEM), 0);
	}
}

/* The mark chooses the route, as a policy rule shows. */
static void mark_routes(void)
{
	struct sockaddr_strack sa;
	int fd = sm_socket(0);

	if (system(sm.v6 ? "ip -6 rule add fwmark 42 prohibit" : "ip rule add fwmark 42 prohibit"))
		sm_skip("no policy rules");
	sm_place(&sa, SM_BLACKHOLE, 9);
	OK(sm_set_int(fd, SOL_SOCKET, SO_MARK, 42));
	sm_nonblock(fd);
	ERR(st_connect(fd, &sa), EACCES);
	OK(sm_set_int(fd, SOL_SOCKET, SO_MARK, 0));
	ERR(st_connect(fd, &sa), EINPROGRESS);
	OK(system(sm.v6 ? "ip -6 rule del fwmark 42" : "ip rule del fwmark 42"));
}

static void bind_to_device(void)
{
	struct sockaddr_strack sa;
	char name[IFNAMSIZ] = "";
	socklen_t len = sizeof(name);
	int listener = sm_listener(1, &sa), fd = sm_socket(0);

	ERR(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "nosuch0", 8), ENODEV);
	OK(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3));
	OK(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &len));
	EQ(strcmp(name, "lo"), 0);
	EQ(len, 3);
	OK(st_connect(fd, &sa));
	OK(accept(listener, NULL, NULL));
}

/* What is bound to va does not get what comes in through loopback. */
static void bind_to_device_separates(void)
{
	struct sockaddr_strack sa;
	int listener = sm_socket(0);

	OK(setsockopt(listener, SOL_SOCKET, SO_BINDTODEVICE, "va", 3));
	sm_place(&sa, SM_ANY, 0);
	OK(st_bind(listener, &sa));
	OK(listen(listener, 1));
	OK(st_getsockname(listener, &sa));
	sm_place(&sa, SM_LOOP, ntohs(sa.sst_port));
	ERR(st_connect(sm_socket(0), &sa), ECONNREFUSED);
}

static void linger(void)
{
	struct linger set = { 1, 42 }, got = { };
	socklen_t len = sizeof(got);
	int fd = sm_socket(0);

	OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &set, sizeof(set)));
	OK(getsockopt(fd, SOL_SOCKET, SO_LINGER, &got, &len));
	EQ(got.l_onoff, 1);
	EQ(got.l_linger, 42);
	ERR(setsockopt(fd, SOL_SOCKET, SO_LINGER, &set, sizeof(set) - 1), EINVAL);
}

static void timeouts(void)
{
	struct timeval set = { 3, 0 }, bad = { 0, 1000000 }, got = { };
	socklen_t len = sizeof(got);
	int fd = sm_socket(0);

	OK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &set, sizeof(set)));
	OK(getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &got, &len));
	EQ(got.tv_sec, 3);
	ERR(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &bad, sizeof(bad)), EDOM);
	ERR(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &set, 1), EINVAL);
}

static void lengths(void)
{
	socklen_t len;
	char value[8];
	int fd = sm_socket(0), one = 1;

	ERR(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, 3), EINVAL);
	ERR(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, 0), EINVAL);
	ERR(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, -1), EINVAL);
	OK(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, 4));
	len = 1;
	memset(value, 0xee, sizeof(value));
	OK(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, value, &len));
	EQ(len, 1);
	EQ(value[0], 1);
	EQ((unsigned char)value[1], 0xee);
	len = 8;
	OK(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, value, &len));
	EQ(len, 4);
	len = -1;
	ERR(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, value, &len), EINVAL);
}

static void unknown(void)
{
	socklen_t len = 4;
	int fd = sm_socket(0), value;

	ERR(sm_set_int(fd, SOL_SOCKET, 9999, 1), ENOPROTOOPT);
	ERR(getsockopt(fd, SOL_SOCKET, 9999, &value, &len), ENOPROTOOPT);
	ERR(sm_set_int(fd, 9999, 1, 1), ENOPROTOOPT);
	ERR(getsockopt(fd, 9999, 1, &value, &len), ENOPROTOOPT);
}

/* A program for TCP finds out by errno that this is none. */
static void tcp_level_refused(void)
{
	socklen_t len = 4;
	int fd = sm_socket(0), value;

	ERR(sm_set_int(fd, IPPROTO_TCP, 1, 1), ENOPROTOOPT);
	ERR(getsockopt(fd, IPPROTO_TCP, 1, &value, &len), ENOPROTOOPT);
}

static void error_is_taken_once(void)
{
	struct sockaddr_strack sa;
	int fd = sm_socket(SOCK_NONBLOCK), listener = sm_listener(1, &sa);

	close(listener);
	ERR(st_connect(fd, &sa), EINPROGRESS);
	EQ(sm_poll(fd, POLLOUT, 2000) & POLLERR, POLLERR);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_ERROR), ECONNREFUSED);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_ERROR), 0);
}

static const struct sm_case cases[] = {
	SM_CASE(identity, SM_BOTH, SM_ONCE),
	SM_CASE(read_only, SM_BOTH, SM_ONCE),
	SM_CASE(send_buffer, SM_BOTH, SM_ONCE),
	SM_CASE(receive_buffer, SM_BOTH, SM_ONCE),
	SM_CASE(buffers_limit, SM_BOTH, SM_ONCE),
	SM_CASE(send_buffer_shrinks, SM_BOTH, SM_ONCE),
	SM_CASE(tiny_buffers_work, SM_BOTH, SM_V4_V6),
	SM_CASE(booleans, SM_BOTH, SM_ONCE),
	SM_CASE(keepalive_connected, SM_BOTH, SM_ONCE),
	SM_CASE(priority_and_mark, SM_BOTH, SM_ONCE),
	SM_CASE(mark_routes, SM_BOTH, SM_V4_V6),
	SM_CASE(buffers_default, SM_STRACK, SM_ONCE),
	SM_CASE(reserve_memory_refused, SM_STRACK, SM_ONCE),
	SM_CASE(owner_routes, SM_BOTH, SM_V4_V6),
	SM_CASE(bind_to_device, SM_BOTH, SM_V4_V6),
	SM_CASE(bind_to_device_separates, SM_BOTH, SM_V4_V6),
	SM_CASE(linger, SM_BOTH, SM_ONCE),
	SM_CASE(timeouts, SM_BOTH, SM_ONCE),
	SM_CASE(lengths, SM_BOTH, SM_ONCE),
	SM_CASE(unknown, SM_BOTH, SM_ONCE),
	SM_CASE(tcp_level_refused, SM_STRACK, SM_ONCE),
	SM_CASE(error_is_taken_once, SM_BOTH, SM_ONCE),
};

SM_GROUP(sockopt, cases);
