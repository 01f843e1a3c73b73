// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: closing, lingering, resetting, dying. */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <linux/sockios.h>

#include "sm.h"

#define GONE (POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP)

static void set_linger(int fd, int on, int seconds)
{
	struct linger linger = { on, seconds };

	OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
}

/* What was written before close() arrives, all of it, then the end. */
static void delivers_all(void)
{
	static unsigned char data[300000], got[300001];
	int fd[2];
	pid_t pid;

	sm_pair(fd);
	sm_pattern_fill(data, sizeof(data), 0);
	pid = fork();
	if (!pid) {
		close(fd[1]);
		_exit(sm_send_all(fd[0], data, sizeof(data)) < 0);
	}
	close(fd[0]);
	sleep_ms(50);
	EQ(sm_recv_all(fd[1], got, sizeof(got)), sizeof(data));
	TRUE(sm_pattern_check(got, sizeof(data), 0));
}

static void returns_at_once(void)
{
	uint64_t start;
	int fd[2];

	sm_pair(fd);
	sm_fill(fd[0]);
	start = now_ns();
	OK(close(fd[0]));
	RANGE((now_ns() - start) / NSEC_PER_MSEC, 0, slow(100));
}

static void linger_zero_resets(void)
{
	char byte;
	int fd[2];

	sm_pair(fd);
	set_linger(fd[0], 1, 0);
	close(fd[0]);
	EQ(sm_wait_mask(fd[1], GONE), GONE);
	ERR(recv(fd[1], &byte, 1, 0), ECONNRESET);
	EQ(recv(fd[1], &byte, 1, 0), 0);
	ERR(send(fd[1], "x", 1, MSG_NOSIGNAL), EPIPE);
	EQ(sm_mask(fd[1]), GONE & ~POLLERR);
}

static void linger_zero_so_error(void)
{
	struct sockaddr_strack sa;
	char byte;
	int fd[2];

	sm_pair(fd);
	set_linger(fd[0], 1, 0);
	close(fd[0]);
	EQ(sm_wait_mask(fd[1], GONE), GONE);
	EQ(sm_get_int(fd[1], SOL_SOCKET, SO_ERROR), ECONNRESET);
	EQ(sm_get_int(fd[1], SOL_SOCKET, SO_ERROR), 0);
	EQ(recv(fd[1], &byte, 1, 0), 0);
	ERR(st_getpeername(fd[1], &sa), ENOTCONN);
	ERR(shutdown(fd[1], SHUT_RDWR), ENOTCONN);
}

/* Data that had arrived before the reset can still be read. */
static void reset_keeps_received(void)
{
	char got[8] = "";
	int fd[2];

	sm_pair(fd);
	OK(send(fd[0], "abc", 3, 0));
	EQ(sm_wait_ioctl(fd[0], SIOCOUTQ, 0), 0);
	set_linger(fd[0], 1, 0);
	close(fd[0]);
	EQ(sm_wait_mask(fd[1], GONE), GONE);
	EQ(recv(fd[1], got, sizeof(got), 0), 3);
	ERR(recv(fd[1], got, sizeof(got), 0), ECONNRESET);
	EQ(recv(fd[1], got, sizeof(got), 0), 0);
}

static void linger_zero_wakes_reader(void)
{
	char byte;
	int fd[2];
	pid_t pid;

	sm_pair(fd);
	pid = fork();
	if (!pid) {
		close(fd[1]);
		sleep_ms(100);
		set_linger(fd[0], 1, 0);
		_exit(0);
	}
	close(fd[0]);
	ERR(recv(fd[1], &byte, 1, 0), ECONNRESET);
}

static void unread_data_resets(void)
{
	char byte;
	int fd[2];

	sm_pair(fd);
	OK(send(fd[0], "abc", 3, 0));
	EQ(sm_wait_ioctl(fd[1], SIOCINQ, 3), 3);
	close(fd[1]);
	EQ(sm_wait_mask(fd[0], GONE), GONE);
	ERR(recv(fd[0], &byte, 1, 0), ECONNRESET);
}

static void partly_read_data_resets(void)
{
	char byte;
	int fd[2];

	sm_pair(fd);
	OK(send(fd[0], "abc", 3, 0));
	EQ(recv(fd[1], &byte, 1, 0), 1);
	EQ(sm_wait_ioctl(fd[1], SIOCINQ, 2), 2);
	close(fd[1]);
	ERR(recv(fd[0], &byte, 1, 0), ECONNRESET);
}

static void data_after_close_resets(void)
{
	char byte;
	int fd[2];

	sm_pair(fd);
	close(fd[1]);
	EQ(recv(fd[0], &byte, 1, 0), 0);
	EQ(send(fd[0], "abc", 3, 0), 3);
	EQ(sm_wait_mask(fd[0], GONE), GONE);
	EQ(sm_get_int(fd[0], SOL_SOCKET, SO_ERROR), EPIPE);
}

static void linger_waits(void)
{
	uint64_t start, took;
	int fd[2];

	sm_pair(fd);
	sm_fill(fd[0]);
	set_linger(fd[0], 1, 1);
	start = now_ns();
	close(fd[0]);
	took = (now_ns() - start) / NSEC_PER_MSEC;
	RANGE(took, 950, 1000 + slow(900));
}

static void linger_ends_when_sent(void)
{
	uint64_t start;
	int fd[2];

	sm_pair(fd);
	OK(send(fd[0], "abc", 3, 0));
	set_linger(fd[0], 1, 10);
	/* The peer must end its side too, or FIN_WAIT2 counts as finished. */
	start = now_ns();
	close(fd[0]);
	RANGE((now_ns() - start) / NSEC_PER_MSEC, 0, slow(900));
}

static void both_at_once(void)
{
	long before = sockets_used();

	for (int i = 0; i < 20; i++) {
		int fd[2];

		sm_pair(fd);
		close(fd[i & 1]);
		close(fd[!(i & 1)]);
	}
	for (int i = 0; i < 200 && sockets_used() > before; i++)
		sleep_ms(slow(10));
	EQ(sockets_used(), before);
}

/* Closing with data that nobody reads frees everything in the end. */
static void no_leak_after_abort(void)
{
	const int times = quick() ? 2 : 5;
	long before = sockets_used();

	for (int i = 0; i < times; i++) {
		int fd[2];

		sm_pair(fd);
		sm_fill(fd[0]);
		set_linger(fd[1], 1, 0);
		close(fd[1]);
		close(fd[0]);
	}
	for (int i = 0; i < 200 && sockets_used() > before; i++)
		sleep_ms(slow(10));
	EQ(sockets_used(), before);
}

static void last_of_dup_counts(void)
{
	char byte;
	int fd[2], copy;

	sm_pair(fd);
	copy = OK(dup(fd[0]));
	close(fd[0]);
	sleep_ms(20);
	ERR(recv(fd[1], &byte, 1, MSG_DONTWAIT), EAGAIN);
	EQ(send(copy, "x", 1, 0), 1);
	EQ(recv(fd[1], &byte, 1, 0), 1);
	close(copy);
	EQ(recv(fd[1], &byte, 1, 0), 0);
}

static void fork_shares(void)
{
	char byte = 0;
	int fd[2], status;
	pid_t pid;

	sm_pair(fd);
	pid = fork();
	if (!pid)
		_exit(recv(fd[1], &byte, 1, 0) != 1 || send(fd[1], "b", 1, 0) != 1);
	OK(send(fd[0], "a", 1, 0));
	waitpid(pid, &status, 0);
	EQ(status, 0);
	/* The child's exit did not end the connection. */
	OK(send(fd[0], "c", 1, 0));
	EQ(recv(fd[1], &byte, 1, 0), 1);
	EQ(byte, 'c');
	EQ(recv(fd[0], &byte, 1, 0), 1);
	EQ(byte, 'b');
}

static void killed_process(void)
{
	char byte;
	int fd[2];
	pid_t pid;

	sm_pair(fd);
	pid = fork();
	if (!pid) {
		close(fd[1]);
		pause();
	}
	close(fd[0]);
	sleep_ms(20);
	kill(pid, SIGKILL);
	EQ(recv(fd[1], &byte, 1, 0), 0);
}

static void killed_while_sending(void)
{
	static unsigned char data[65536], got[65536];
	size_t total = 0;
	ssize_t n;
	int fd[2];
	pid_t pid;

	sm_pair(fd);
	pid = fork();
	if (!pid) {
		close(fd[1]);
		for (size_t at = 0;; at += sizeof(data)) {
			sm_pattern_fill(data, sizeof(data), at);
			sm_send_all(fd[0], data, sizeof(data));
		}
	}
	close(fd[0]);
	EQ(sm_poll(fd[1], POLLIN, 5000), POLLIN);
	kill(pid, SIGKILL);
	while ((n = recv(fd[1], got, sizeof(got), 0)) > 0) {
		if (!sm_pattern_check(got, n, total))
			TRUE(!"content");
		total += n;
	}
	EQ(n, 0);
	TRUE(total > 0);
}

/* A blocked reader keeps the socket alive while another thread's close waits. */
static void after_peer_end_still_sends(void)
{
	char got[8] = "";
	int fd[2];

	sm_pair(fd);
	OK(shutdown(fd[1], SHUT_WR));
	EQ(recv(fd[0], got, 1, 0), 0);
	EQ(send(fd[0], "late", 4, 0), 4);
	close(fd[0]);
	EQ(sm_recv_all(fd[1], got, sizeof(got)), 4);
	EQ(memcmp(got, "late", 4), 0);
}

#define MAX_FILE	"/proc/sys/net/strack/max_time_wait"
#define TIME_FILE	"/proc/sys/net/strack/time_wait_ms"

/* Closes @count connections, the ends that connected first. */
static void close_pairs(int count)
{
	char byte;
	int fd[2];

	for (int i = 0; i < count; i++) {
		sm_pair(fd);
		OK(send(fd[0], "x", 1, 0));
		close(fd[0]);
		EQ(recv(fd[1], &byte, 1, 0), 1);
		EQ(recv(fd[1], &byte, 1, 0), 0);
		close(fd[1]);
	}
}

/* Beyond the limit a connection ends without TIME_WAIT, and as well as with it. */
static void time_wait_is_limited(void)
{
	enum { LIMIT = 3, PAIRS = 10 };
	long limit = read_long(MAX_FILE, -1);
	long long before;
	char text[16];

	RANGE(limit, 256, 1 << 30);
	/* until all pairs are closed */
	snprintf(text, sizeof(text), "%u", slow(3000));
	OK(write_text(TIME_FILE, text));
	before = strack_counter("TimeWaitOverflow");
	close_pairs(PAIRS);
	EQ(strack_counter("TimeWaitOverflow"), before);
	OK(write_text(MAX_FILE, "3"));
	before = strack_counter("TimeWaitOverflow");
	close_pairs(PAIRS);
	RANGE(strack_counter("TimeWaitOverflow") - before, PAIRS - LIMIT, 2 * PAIRS);
	snprintf(text, sizeof(text), "%ld", limit);
	OK(write_text(MAX_FILE, text));
	OK(write_text(TIME_FILE, "1000"));
}

#define ORPHANS_FILE	"/proc/sys/net/strack/max_orphans"

/* Beyond the limit close() resets the peer instead of sending the rest behind its back. */
static void orphans_are_limited(void)
{
	long limit = read_long(ORPHANS_FILE, -1);
	char text[16], got[8];
	long long before;
	int fd[2];

	RANGE(limit, 256, 1 << 30);
	before = strack_counter("OrphanOverflow");
	sm_pair(fd);
	OK(send(fd[0], "rest", 4, 0));
	close(fd[0]);
	EQ(sm_recv_all(fd[1], got, sizeof(got)), 4);
	EQ(strack_counter("OrphanOverflow"), before);
	close(fd[1]);

	OK(write_text(ORPHANS_FILE, "0"));
	sm_pair(fd);
	close(fd[0]);
	ERR(recv(fd[1], got, sizeof(got), 0), ECONNRESET);
	EQ(strack_counter("OrphanOverflow"), before + 1);
	close(fd[1]);
	EQ(strack_counter("OrphanOverflow"), before + 1);
	snprintf(text, sizeof(text), "%ld", limit);
	OK(write_text(ORPHANS_FILE, text));
}

static const struct sm_case cases[] = {
	SM_CASE(delivers_all, SM_BOTH, SM_V4_V6),
	SM_CASE(returns_at_once, SM_BOTH, SM_V4_V6),
	SM_CASE(linger_zero_resets, SM_BOTH, SM_V4_V6),
	SM_CASE(linger_zero_so_error, SM_BOTH, SM_ONCE),
	SM_CASE(reset_keeps_received, SM_BOTH, SM_ONCE),
	SM_CASE(linger_zero_wakes_reader, SM_BOTH, SM_ONCE),
	SM_CASE(unread_data_resets, SM_BOTH, SM_V4_V6),
	SM_CASE(partly_read_data_resets, SM_BOTH, SM_ONCE),
	SM_CASE(data_after_close_resets, SM_BOTH, SM_ONCE),
	SM_CASE(linger_waits, SM_BOTH, SM_ONCE),
	SM_CASE(linger_ends_when_sent, SM_BOTH, SM_ONCE),
	SM_CASE(both_at_once, SM_STRACK, SM_V4_V6),
	SM_CASE(no_leak_after_abort, SM_BOTH, SM_V4_V6),
	SM_CASE(last_of_dup_counts, SM_BOTH, SM_ONCE),
	SM_CASE(fork_shares, SM_BOTH, SM_ONCE),
	SM_CASE(killed_process, SM_BOTH, SM_ONCE),
	SM_CASE(killed_while_sending, SM_BOTH, SM_ONCE),
	SM_CASE(after_peer_end_still_sends, SM_BOTH, SM_ONCE),
	SM_CASE(time_wait_is_limited, SM_STRACK, SM_V4_V6),
	SM_CASE(orphans_are_limited, SM_STRACK, SM_V4_V6),
};

SM_GROUP(close, cases);
