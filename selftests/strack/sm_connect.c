// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: connecting, with and without waiting. */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include <linux/sockios.h>

#include "sm.h"

#define GONE (POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP)

/* A loopback port where nobody listens. */
static void closed_port(struct sockaddr_strack *sa)
{
	int fd = sm_listener(1, sa);

	close(fd);
}

static int to_blackhole(void)
{
	struct sockaddr_strack sa;
	int fd = sm_socket(SOCK_NONBLOCK);

	sm_place(&sa, SM_BLACKHOLE, 9);
	ERR(st_connect(fd, &sa), EINPROGRESS);
	return fd;
}

static void blocking(void)
{
	struct sockaddr_strack sa, name;
	int listener = sm_listener(1, &sa), fd = sm_socket(0);

	OK(st_connect(fd, &sa));
	OK(st_getpeername(fd, &name));
	EQ(memcmp(&name, &sa, sizeof(sa)), 0);
	OK(st_getsockname(fd, &name));
	TRUE(name.sst_port != 0);
	EQ(memcmp(name.sst_addr, sa.sst_addr, 16), 0);
	ERR(st_connect(fd, &sa), EISCONN);
	close(listener);
}

static void bound_source(void)
{
	struct sockaddr_strack sa, from, peer;
	int listener, fd = sm_socket(0), got;

	listener = sm_socket(0);
	sm_place(&sa, SM_ANY, 0);
	OK(st_bind(listener, &sa));
	OK(listen(listener, 1));
	OK(st_getsockname(listener, &sa));
	sm_place(&from, SM_LOCAL, 0);
	OK(st_bind(fd, &from));
	OK(st_getsockname(fd, &from));
	sm_place(&sa, SM_LOOP, ntohs(sa.sst_port));
	OK(st_connect(fd, &sa));
	got = OK(accept(listener, NULL, NULL));
	OK(st_getpeername(got, &peer));
	EQ(memcmp(&peer, &from, sizeof(peer)), 0);
}

static void refused(void)
{
	struct sockaddr_strack sa;
	int fd = sm_socket(0), listener;

	closed_port(&sa);
	ERR(st_connect(fd, &sa), ECONNREFUSED);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_ERROR), 0);
	/* The same socket may try again. */
	ERR(st_connect(fd, &sa), ECONNREFUSED);
	listener = sm_socket(0);
	OK(sm_set_int(listener, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(st_bind(listener, &sa));
	OK(listen(listener, 1));
	OK(st_connect(fd, &sa));
}

static void refused_is_quick(void)
{
	struct sockaddr_strack sa;
	uint64_t start = now_ns();

	closed_port(&sa);
	ERR(st_connect(sm_socket(0), &sa), ECONNREFUSED);
	RANGE((now_ns() - start) / NSEC_PER_MSEC, 0, slow(200));
}

static void nonblocking(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa), fd = sm_socket(SOCK_NONBLOCK);

	ERR(st_connect(fd, &sa), EINPROGRESS);
	EQ(sm_poll(fd, POLLOUT, 2000), POLLOUT);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_ERROR), 0);
	OK(st_connect(fd, &sa));
	ERR(st_connect(fd, &sa), EISCONN);
	OK(accept(listener, NULL, NULL));
}

static void nonblocking_refused(void)
{
	struct sockaddr_strack sa;
	int fd = sm_socket(SOCK_NONBLOCK);

	closed_port(&sa);
	ERR(st_connect(fd, &sa), EINPROGRESS);
	EQ(sm_wait_mask(fd, GONE), GONE);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_ERROR), ECONNREFUSED);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_ERROR), 0);
	EQ(sm_mask(fd), GONE & ~POLLERR);
}

static void nonblocking_refused_again(void)
{
	struct sockaddr_strack sa;
	int fd = sm_socket(SOCK_NONBLOCK);

	closed_port(&sa);
	ERR(st_connect(fd, &sa), EINPROGRESS);
	EQ(sm_wait_mask(fd, GONE), GONE);
	ERR(st_connect(fd, &sa), ECONNREFUSED);
	ERR(st_connect(fd, &sa), EINPROGRESS);
}

static void refused_then_recv(void)
{
	struct sockaddr_strack sa;
	int fd = sm_socket(SOCK_NONBLOCK);
	char byte;

	closed_port(&sa);
	ERR(st_connect(fd, &sa), EINPROGRESS);
	EQ(sm_wait_mask(fd, GONE), GONE);
	ERR(recv(fd, &byte, 1, 0), ECONNREFUSED);
	EQ(recv(fd, &byte, 1, 0), 0);
}

static void pending(void)
{
	struct sockaddr_strack sa;
	int fd = to_blackhole();
	char byte;

	sm_place(&sa, SM_BLACKHOLE, 9);
	ERR(st_connect(fd, &sa), EALREADY);
	EQ(sm_mask(fd), 0);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_ERROR), 0);
	ERR(send(fd, "x", 1, 0), EAGAIN);
	ERR(recv(fd, &byte, 1, 0), EAGAIN);
	ERR(st_getpeername(fd, &sa), ENOTCONN);
	OK(st_getsockname(fd, &sa));
	TRUE(sa.sst_port != 0);
	ERR(listen(fd, 1), EINVAL);
	close(fd);
}

static void pending_close_is_quick(void)
{
	uint64_t start;
	int fd = to_blackhole();

	start = now_ns();
	OK(close(fd));
	RANGE((now_ns() - start) / NSEC_PER_MSEC, 0, slow(200));
}

static void pending_shutdown(void)
{
	int fd = to_blackhole();

	OK(shutdown(fd, SHUT_RDWR));
	TRUE(sm_mask(fd) & POLLHUP);
}

static void timed_out(void)
{
	struct sockaddr_strack sa;
	int fd = sm_socket(0);

	/* Give up soon. */
	NEED(write_text(sm.tcp ? "/proc/sys/net/ipv4/tcp_syn_retries" :
			"/proc/sys/net/strack/retries", sm.tcp ? "1" : "4"));
	sm_place(&sa, SM_BLACKHOLE, 9);
	ERR(st_connect(fd, &sa), ETIMEDOUT);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_ERROR), 0);
	NEED(write_text(sm.tcp ? "/proc/sys/net/ipv4/tcp_syn_retries" :
			"/proc/sys/net/strack/retries", sm.tcp ? "6" : "15"));
}

static void send_timeout(void)
{
	struct timeval tv = { 0, 100000 };
	struct sockaddr_strack sa;
	int fd = sm_socket(0);
	uint64_t start = now_ns();

	OK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)));
	sm_place(&sa, SM_BLACKHOLE, 9);
	ERR(st_connect(fd, &sa), EINPROGRESS);
	RANGE((now_ns() - start) / NSEC_PER_MSEC, at_least(100), slow(900));
	ERR(st_connect(fd, &sa), EALREADY);
}

static void on_alarm(int signal)
{
	(void)signal;
}

static void interrupted(void)
{
	struct itimerval timer = { { 0, 0 }, { 0, 20000 } };
	struct sigaction act = { .sa_handler = on_alarm };
	struct sockaddr_strack sa;
	int fd = sm_socket(0);

	sigaction(SIGALRM, &act, NULL);
	sm_place(&sa, SM_BLACKHOLE, 9);
	setitimer(ITIMER_REAL, &timer, NULL);
	ERR(st_connect(fd, &sa), EINTR);
	sm_nonblock(fd);
	ERR(st_connect(fd, &sa), EALREADY);
}

static void wrong_family(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa), fd = sm_socket(0);

	sa.sst_family = AF_UNIX;
	ERR(st_connect(fd, &sa), EAFNOSUPPORT);
	sa.sst_family = AF_INET;
	ERR(st_connect(fd, &sa), EAFNOSUPPORT);
	close(listener);
}

static void address_length(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa), fd = sm_socket(0);

	ERR(connect(fd, (void *)&sa, 0), EINVAL);
	ERR(connect(fd, (void *)&sa, 1), EINVAL);
	ERR(connect(fd, (void *)&sa, 16), EINVAL);
	ERR(connect(fd, (void *)&sa, 23), EINVAL);
	ERR(connect(fd, (void *)&sa, -1), EINVAL);
	OK(connect(fd, (void *)&sa, sizeof(sa)));
	close(listener);
}

static void wildcard_is_loopback(void)
{
	struct sockaddr_strack sa, name;
	int listener = sm_listener(1, &sa), fd = sm_socket(0);

	sm_place(&name, SM_ANY, ntohs(sa.sst_port));
	OK(st_connect(fd, &name));
	OK(st_getpeername(fd, &name));
	EQ(memcmp(&name, &sa, sizeof(sa)), 0);
	close(listener);
}

static void to_listening_socket(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa);

	ERR(st_connect(listener, &sa), EISCONN);
}

static void port_zero(void)
{
	struct sockaddr_strack sa;

	sm_place(&sa, SM_LOOP, 0);
	ERR(st_connect(sm_socket(0), &sa), ECONNREFUSED);
}

static void no_route(void)
{
	struct sockaddr_strack sa;

	sm_place(&sa, SM_NOROUTE, 9);
	ERR(st_connect(sm_socket(0), &sa), ENETUNREACH);
}

static void multicast(void)
{
	struct sockaddr_strack sa;

	st_address(&sa, sm.family, sm.v6 ? "ff02::1" : "224.0.0.1", 9);
	sa.sst_scope_id = sm.v6 ? 1 : 0;
	ERR(st_connect(sm_socket(0), &sa), ENETUNREACH);
}

/* connect() to AF_UNSPEC ends the connection and frees the socket for a new one. */
static void disconnect(void)
{
	struct sockaddr_strack sa, none = { .sst_family = AF_UNSPEC };
	int listener = sm_listener(2, &sa), fd[2];
	char byte;

	sm_pair_of(listener, &sa, fd);
	OK(st_connect(fd[0], &none));
	ERR(st_getpeername(fd[0], &none), ENOTCONN);
	ERR(recv(fd[1], &byte, 1, 0), ECONNRESET);
	OK(st_connect(fd[0], &sa));
	OK(accept(listener, NULL, NULL));
}

static void many(void)
{
	enum { MANY = 100 };
	const int count = quick() ? MANY / 5 : MANY;
	struct sockaddr_strack sa, name;
	int listener = sm_listener(MANY, &sa), fd[MANY];
	char byte;

	for (int i = 0; i < count; i++) {
		fd[i] = sm_socket(0);
		NEED(st_connect(fd[i], &sa));
		byte = i;
		OK(send(fd[i], &byte, 1, 0));
	}
	for (int i = 0; i < count; i++) {
		int got = NEED(accept(listener, NULL, NULL));

		EQ(recv(got, &byte, 1, 0), 1);
		OK(st_getpeername(got, &sa));
		OK(st_getsockname(fd[(unsigned char)byte], &name));
		EQ(sa.sst_port, name.sst_port);
	}
}

static const struct sm_case cases[] = {
	SM_CASE(blocking, SM_BOTH, SM_V4_V6),
	SM_CASE(bound_source, SM_BOTH, SM_V4_V6),
	SM_CASE(refused, SM_BOTH, SM_V4_V6),
	SM_CASE(refused_is_quick, SM_BOTH, SM_V4_V6),
	SM_CASE(nonblocking, SM_BOTH, SM_V4_V6),
	SM_CASE(nonblocking_refused, SM_BOTH, SM_V4_V6),
	SM_CASE(nonblocking_refused_again, SM_BOTH, SM_ONCE),
	SM_CASE(refused_then_recv, SM_BOTH, SM_ONCE),
	SM_CASE(pending, SM_BOTH, SM_V4_V6),
	SM_CASE(pending_close_is_quick, SM_BOTH, SM_ONCE),
	SM_CASE(pending_shutdown, SM_BOTH, SM_ONCE),
	SM_CASE(timed_out, SM_BOTH, SM_V4_V6),
	SM_CASE(send_timeout, SM_BOTH, SM_ONCE),
	SM_CASE(interrupted, SM_BOTH, SM_ONCE),
	SM_CASE(wrong_family, SM_BOTH, SM_ONCE),
	SM_CASE(address_length, SM_BOTH, SM_ONCE),
	SM_CASE(wildcard_is_loopback, SM_BOTH, SM_V4_V6),
	SM_CASE(to_listening_socket, SM_BOTH, SM_ONCE),
	SM_CASE(port_zero, SM_BOTH, SM_V4_V6),
	SM_CASE(no_route, SM_BOTH, SM_V4_V6),
	SM_CASE(multicast, SM_BOTH, SM_V4_V6),
	SM_CASE(disconnect, SM_BOTH, SM_ONCE),
	SM_CASE(many, SM_BOTH, SM_V4_V6),
};

SM_GROUP(connect, cases);
