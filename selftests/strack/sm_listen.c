// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: listening and accepting. */
#include <linux/sockios.h>
#include <sys/wait.h>

#include "../lib/memcg.h"
#include "sm.h"

static int accept_flags(int listener, struct sockaddr_strack *sa, int flags)
{
	OK(st_connect(sm_socket(0), sa));
	return OK(accept4(listener, NULL, NULL, flags));
}

static void unbound(void)
{
	struct sockaddr_strack sa, to;
	int fd = sm_socket(0), pair[2];

	OK(listen(fd, 1));
	OK(st_getsockname(fd, &sa));
	TRUE(sa.sst_port != 0);
	sm_place(&to, SM_LOOP, ntohs(sa.sst_port));
	sm_pair_of(fd, &to, pair);
}

static void wrong_states(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa), fd[2];

	OK(listen(listener, 5));
	sm_pair(fd);
	ERR(listen(fd[0], 1), EINVAL);
	ERR(listen(fd[1], 1), EINVAL);
	ERR(accept(fd[0], NULL, NULL), EINVAL);
	ERR(accept(sm_socket(0), NULL, NULL), EINVAL);
}

static void accept4_flags(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(8, &sa), fd;

	fd = accept_flags(listener, &sa, 0);
	EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	fd = accept_flags(listener, &sa, SOCK_NONBLOCK);
	EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	fd = accept_flags(listener, &sa, SOCK_CLOEXEC);
	EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ERR(accept4(listener, NULL, NULL, 1), EINVAL);
}

static void accept_address(void)
{
	struct sockaddr_strack sa, peer, name, local;
	int listener = sm_listener(2, &sa), a = sm_socket(0), b;
	socklen_t len = sizeof(peer);

	OK(st_connect(a, &sa));
	b = OK(accept(listener, (void *)&peer, &len));
	EQ(len, sizeof(peer));
	OK(st_getsockname(a, &name));
	EQ(memcmp(&peer, &name, sizeof(peer)), 0);
	OK(st_getpeername(b, &name));
	EQ(memcmp(&peer, &name, sizeof(peer)), 0);
	OK(st_getpeername(a, &name));
	EQ(memcmp(&sa, &name, sizeof(sa)), 0);
	OK(st_getsockname(b, &local));
	EQ(memcmp(&sa, &local, sizeof(sa)), 0);
}

static void accept_address_truncated(void)
{
	struct sockaddr_strack sa, peer;
	int listener = sm_listener(2, &sa);
	socklen_t len = 2;

	memset(&peer, 0xee, sizeof(peer));
	OK(st_connect(sm_socket(0), &sa));
	OK(accept(listener, (void *)&peer, &len));
	EQ(len, sizeof(peer));
	EQ(peer.sst_family, sm.family);
	EQ(((unsigned char *)&peer)[2], 0xee);
}

static void accept_empty(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa);

	sm_nonblock(listener);
	ERR(accept(listener, NULL, NULL), EAGAIN);
	EQ(sm_mask(listener), 0);
}

static void accept_timeout(void)
{
	struct timeval tv = { 0, 100000 };
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa);
	uint64_t start = now_ns();

	OK(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	ERR(accept(listener, NULL, NULL), EAGAIN);
	RANGE((now_ns() - start) / NSEC_PER_MSEC, at_least(100), slow(1000));
}

static void readable_when_pending(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(4, &sa);

	EQ(sm_mask(listener), 0);
	OK(st_connect(sm_socket(0), &sa));
	OK(st_connect(sm_socket(0), &sa));
	EQ(sm_wait_mask(listener, POLLIN), POLLIN);
	OK(accept(listener, NULL, NULL));
	EQ(sm_wait_mask(listener, POLLIN), POLLIN);
	OK(accept(listener, NULL, NULL));
	EQ(sm_mask(listener), 0);
}

/* One more than the backlog fits, as in TCP; the next one waits and gets in later. */
static void backlog_overflow(void)
{
	enum { BACKLOG = 2, TRIES = 6 };
	struct sockaddr_strack sa;
	int listener = sm_listener(BACKLOG, &sa), fd[TRIES], done = 0;

	for (int i = 0; i < TRIES; i++) {
		fd[i] = sm_socket(SOCK_NONBLOCK);
		ERR(st_connect(fd[i], &sa), EINPROGRESS);
	}
	sleep_ms(slow(300));
	for (int i = 0; i < TRIES; i++)
		if (sm_mask(fd[i]) == POLLOUT)
			done++;
	RANGE(done, BACKLOG, BACKLOG + 1);
	for (int i = 0; i < TRIES; i++) {
		TRUE(sm_poll(listener, POLLIN, 8000) == POLLIN);
		OK(accept(listener, NULL, NULL));
	}
	for (int i = 0; i < TRIES; i++)
		EQ(sm_poll(fd[i], POLLOUT, 2000), POLLOUT);
}

static void backlog_zero(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(0, &sa);

	OK(st_connect(sm_socket(0), &sa));
	OK(accept(listener, NULL, NULL));
}

/* First come, first served, also when the queue is made longer meanwhile. */
static void accept_order(void)
{
	enum { CLIENTS = 40, ALREADY = 3, LONGER = 64 };
	uint16_t port[CLIENTS];
	struct sockaddr_strack sa, name;
	int listener = sm_listener(ALREADY, &sa), fd, next = 0;
	socklen_t len;

	for (int i = 0; i < CLIENTS; i++) {
		fd = sm_socket(0);
		NEED(st_connect(fd, &sa));
		OK(st_getsockname(fd, &name));
		port[i] = name.sst_port;
		if (i == CLIENTS / 2)
			OK(listen(listener, LONGER));
		/* goes round a short queue several times, then fills a long one */
		if (i >= CLIENTS / 2 || i < ALREADY)
			continue;
		len = sizeof(name);
		NEED(accept(listener, (void *)&name, &len));
		EQ(name.sst_port, port[next++]);
	}
	while (next < CLIENTS) {
		len = sizeof(name);
		NEED(accept(listener, (void *)&name, &len));
		EQ(name.sst_port, port[next++]);
	}
}

static void inherited(void)
{
	struct linger linger = { 1, 7 }, got = { };
	struct sockaddr_strack sa;
	socklen_t len = sizeof(got);
	int listener, fd;

	listener = sm_socket(SOCK_NONBLOCK);
	OK(sm_set_int(listener, SOL_SOCKET, SO_RCVBUF, 50000));
	OK(sm_set_int(listener, SOL_SOCKET, SO_SNDBUF, 60000));
	OK(sm_set_int(listener, SOL_SOCKET, SO_KEEPALIVE, 1));
	OK(sm_set_int(listener, SOL_SOCKET, SO_MARK, 77));
	OK(setsockopt(listener, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	sm_place(&sa, SM_LOOP, 0);
	OK(st_bind(listener, &sa));
	OK(listen(listener, 1));
	OK(st_getsockname(listener, &sa));
	OK(st_connect(sm_socket(0), &sa));
	EQ(sm_poll(listener, POLLIN, 2000), POLLIN);
	fd = NEED(accept(listener, NULL, NULL));
	EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_RCVBUF), 100000);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_SNDBUF), 120000);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_MARK), 77);
	OK(getsockopt(fd, SOL_SOCKET, SO_LINGER, &got, &len));
	EQ(got.l_onoff, 1);
	EQ(got.l_linger, 7);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_ACCEPTCONN), 0);
	EQ(sm_get_int(fd, SOL_SOCKET, SO_ERROR), 0);
}

static void closing_resets_pending(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(4, &sa), fd = sm_socket(0);
	char byte;

	OK(st_connect(fd, &sa));
	EQ(sm_poll(listener, POLLIN, 2000), POLLIN);
	close(listener);
	ERR(recv(fd, &byte, 1, 0), ECONNRESET);
	ERR(st_connect(sm_socket(0), &sa), ECONNREFUSED);
}

static void closing_keeps_accepted(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(4, &sa), fd[2];
	char byte = 0;

	sm_pair_of(listener, &sa, fd);
	close(listener);
	OK(send(fd[0], "x", 1, 0));
	EQ(recv(fd[1], &byte, 1, 0), 1);
	EQ(byte, 'x');
}

static void peer_gone_before_accept(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(4, &sa), fd = sm_socket(0), got;
	char text[8] = "";

	OK(st_connect(fd, &sa));
	OK(send(fd, "bye", 3, 0));
	close(fd);
	got = OK(accept(listener, NULL, NULL));
	EQ(sm_recv_all(got, text, sizeof(text)), 3);
	EQ(memcmp(text, "bye", 3), 0);
}

static void data_before_accept(void)
{
	static unsigned char data[30000], got[30000];
	struct sockaddr_strack sa;
	int listener = sm_listener(4, &sa), fd = sm_socket(0), peer;

	sm_pattern_fill(data, sizeof(data), 0);
	OK(st_connect(fd, &sa));
	EQ(sm_send_all(fd, data, sizeof(data)), sizeof(data));
	sleep_ms(20);
	peer = OK(accept(listener, NULL, NULL));
	EQ(sm_recv_all(peer, got, sizeof(got)), sizeof(got));
	TRUE(sm_pattern_check(got, sizeof(got), 0));
}

/* The accepting side may speak first. */
static void server_speaks_first(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(4, &sa), fd[2];
	char text[6] = "";

	sm_pair_of(listener, &sa, fd);
	OK(send(fd[1], "hello", 5, 0));
	EQ(sm_recv_all(fd[0], text, 5), 5);
	EQ(strcmp(text, "hello"), 0);
}

static void shutdown_wakes_accept(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa);
	pid_t pid = fork();

	if (!pid) {
		sleep_ms(100);
		shutdown(listener, SHUT_RD);
		_exit(0);
	}
	ERR(accept(listener, NULL, NULL), EINVAL);
}

static void send_and_recv(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa);
	char byte;

	ERR(send(listener, "x", 1, MSG_NOSIGNAL), EPIPE);
	ERR(recv(listener, &byte, 1, 0), ENOTCONN);
	ERR(st_getpeername(listener, &sa), ENOTCONN);
}

/* Bytes that are charged to the group. */
static long charged(void)
{
	return read_long(MEMCG_GROUP "/memory.current", -1);
}

/* A listener in a group of its own, and this process outside of it. */
static int listener_in_group(int backlog, struct sockaddr_strack *sa)
{
	int listener;

	if (memcg_begin())
		sm_skip("no memory controller");
	NEED(memcg_enter());
	listener = sm_listener(backlog, sa);
	NEED(memcg_leave());
	return listener;
}

/*
 * A connection is made in a kernel thread, but belongs to the listener: that
 * is whose group pays for it, not the client's, and not nobody's.
 */
static void listener_pays(void)
{
	enum { CLIENTS = 32, LEAST = 32768 };
	struct sockaddr_strack sa;
	int listener, fd[CLIENTS];
	long before;

	listener = listener_in_group(CLIENTS, &sa);
	before = charged();
	TRUE(before >= 0);
	for (int i = 0; i < CLIENTS; i++) {
		fd[i] = sm_socket(0);
		NEED(st_connect(fd[i], &sa));
	}
	/* charges are taken in lots, so one more or less does not show */
	RANGE(charged() - before, CLIENTS * LEAST, 1L << 30);
	close(listener);
	OK(memcg_end());
}

/*
 * The same for what clients send: the listener's group pays from the first byte,
 * and has it back when it has been read. What this end sends is on its own account.
 */
static void listener_pays_for_data(void)
{
	enum { CLIENTS = 16, BYTES = 300000, LOT = 1 << 20 };
	static char data[BYTES];
	struct sockaddr_strack sa;
	int listener, fd[CLIENTS];
	long before, full;

	listener = listener_in_group(CLIENTS, &sa);
	for (int i = 0; i < CLIENTS; i++) {
		fd[i] = sm_socket(0);
		NEED(st_connect(fd[i], &sa));
	}
	before = charged();
	for (int i = 0; i < CLIENTS; i++) {
		EQ(send(fd[i], data, BYTES, 0), BYTES);
		EQ(sm_wait_ioctl(fd[i], SIOCOUTQ, 0), 0);
	}
	full = charged();
	RANGE(full - before, (long)CLIENTS * BYTES - LOT, 1L << 30);
	for (int i = 0; i < CLIENTS; i++) {
		int server = accept(listener, NULL, NULL);

		NEED(server);
		EQ(recv(server, data, BYTES, MSG_WAITALL), BYTES);
		close(fd[i]);
		fd[i] = server;
	}
	RANGE(full - charged(), (long)CLIENTS * BYTES - LOT, 1L << 30);
	for (int i = 0; i < CLIENTS; i++)
		close(fd[i]);
	close(listener);
	OK(memcg_end());
}

/* How often the group's processes have been killed. */
static long killed(void)
{
	return memcg_number(MEMCG_GROUP "/memory.events", "oom_kill");
}

/*
 * Strangers decide how many connections are made: when the group has no memory
 * for more, there are no more, and nobody is killed to make room.
 */
static void poor_listener_lives(void)
{
	enum { CLIENTS = 400, LIMIT = 4 << 20 };
	long long before = strack_counter("ListenNoMemory");
	struct sockaddr_strack sa;
	struct pollfd last = { .events = POLLOUT };
	char limit[24];
	int listener;
	pid_t child;

	listener = listener_in_group(CLIENTS, &sa);
	NEED(child = fork());
	if (!child) {
		pause();
		_exit(1);
	}
	snprintf(limit, sizeof(limit), "%d", child);
	NEED(write_text(MEMCG_GROUP "/cgroup.procs", limit));
	snprintf(limit, sizeof(limit), "%ld", charged() + LIMIT);
	NEED(write_text(MEMCG_GROUP "/memory.max", limit));
	for (int i = 0; i < CLIENTS && strack_counter("ListenNoMemory") == before; i++) {
		last.fd = sm_socket(SOCK_NONBLOCK);
		ERR(st_connect(last.fd, &sa), EINPROGRESS);
		while (!poll(&last, 1, 1) && strack_counter("ListenNoMemory") == before)
			;
	}
	TRUE(strack_counter("ListenNoMemory") > before);
	EQ(killed(), 0);
	EQ(waitpid(child, NULL, WNOHANG), 0);

	/* The client repeats itself, and gets in when there is room. */
	NEED(write_text(MEMCG_GROUP "/memory.max", "max"));
	EQ(poll(&last, 1, slow(10000)), 1);
	EQ(sm_get_int(last.fd, SOL_SOCKET, SO_ERROR), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(listener);
	OK(memcg_end());
}

static const struct sm_case cases[] = {
	SM_CASE(unbound, SM_BOTH, SM_V4_V6),
	SM_CASE(wrong_states, SM_BOTH, SM_ONCE),
	SM_CASE(accept4_flags, SM_BOTH, SM_ONCE),
	SM_CASE(accept_address, SM_BOTH, SM_V4_V6),
	SM_CASE(accept_address_truncated, SM_BOTH, SM_ONCE),
	SM_CASE(accept_empty, SM_BOTH, SM_ONCE),
	SM_CASE(accept_timeout, SM_BOTH, SM_ONCE),
	SM_CASE(readable_when_pending, SM_BOTH, SM_ONCE),
	SM_CASE(backlog_overflow, SM_BOTH, SM_V4_V6),
	SM_CASE(backlog_zero, SM_BOTH, SM_ONCE),
	SM_CASE(accept_order, SM_BOTH, SM_ONCE),
	SM_CASE(inherited, SM_BOTH, SM_ONCE),
	SM_CASE(closing_resets_pending, SM_BOTH, SM_V4_V6),
	SM_CASE(closing_keeps_accepted, SM_BOTH, SM_ONCE),
	SM_CASE(peer_gone_before_accept, SM_BOTH, SM_ONCE),
	SM_CASE(data_before_accept, SM_BOTH, SM_V4_V6),
	SM_CASE(server_speaks_first, SM_BOTH, SM_V4_V6),
	SM_CASE(shutdown_wakes_accept, SM_BOTH, SM_ONCE),
	SM_CASE(send_and_recv, SM_BOTH, SM_ONCE),
	SM_CASE(listener_pays, SM_STRACK, SM_ONCE),
	SM_CASE(listener_pays_for_data, SM_STRACK, SM_ONCE),
	SM_CASE(poor_listener_lives, SM_STRACK, SM_ONCE),
};

SM_GROUP(listen, cases);
