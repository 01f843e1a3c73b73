/* SPDX-License-Identifier: GPL-2.0 */
/*
 * socket_matrix: the socket calls of AF_STRACK, one small case for each rule.
 *
 * The expected value of a case is what TCP does. "socket_matrix --tcp" runs the
 * same cases over TCP (AF_INET6, the same addresses) to prove it; the few that
 * differ on purpose are marked with the family they are for.
 *
 * Each case runs in a process of its own, in the private network namespace
 * that the program makes at its start (veth pair, addresses, a black hole),
 * and is killed when it takes too long. Cases report failed checks and go on.
 */
#ifndef SELFTESTS_STRACK_SM_H
#define SELFTESTS_STRACK_SM_H

#include <poll.h>
#include <stdbool.h>

#include "../lib/strack.h"

enum sm_only {
	SM_BOTH,		/* the same over TCP */
	SM_STRACK,		/* no counterpart in TCP, or different on purpose */
};

enum sm_rounds {
	SM_V4_V6,		/* once over IPv4, once over IPv6 */
	SM_ONCE,		/* the address makes no difference */
};

struct sm_case {
	const char *name;
	void (*run)(void);
	enum sm_only only;
	enum sm_rounds rounds;
};

#define SM_CASE(fn, only, rounds) { #fn, fn, only, rounds }

struct sm_group {
	const char *name;
	const struct sm_case *cases;
	unsigned int count;
};

#define SM_GROUP(label, table) \
	const struct sm_group sm_group_##label = { #label, table, ARRAY_SIZE(table) }

extern const struct sm_group sm_group_bind, sm_group_scope, sm_group_listen, sm_group_connect,
	sm_group_disconnect,
	sm_group_send, sm_group_recv, sm_group_flags, sm_group_close, sm_group_shutdown, sm_group_poll,
	sm_group_wakeup, sm_group_sockopt, sm_group_strackopt, sm_group_fault, sm_group_signal,
	sm_group_file, sm_group_uring, sm_group_netns;

struct sm_env {
	int family;
	bool tcp;
	bool v6;
};

extern struct sm_env sm;

/* Places a case can talk to; each has an IPv4 and an IPv6 address. */
enum sm_place {
	SM_ANY,
	SM_LOOP,		/* loopback */
	SM_LOCAL,		/* another local address, on device va */
	SM_FOREIGN,		/* nobody's address */
	SM_BLACKHOLE,		/* routed, never answered */
	SM_NOROUTE,
};

/* Checks: say where and why, remember the failure, go on. */
long sm_check_ok(long ret, const char *what, const char *file, int line);
void sm_check_err(long ret, int err, const char *what, const char *file, int line);
void sm_check_eq(long long got, long long want, const char *what, const char *file, int line);
void sm_check_range(long long got, long long low, long long high, const char *what,
		    const char *file, int line);
void sm_check_true(bool good, const char *what, const char *file, int line);
/* As sm_check_ok(), but the case cannot go on without. */
long sm_need_ok(long ret, const char *what, const char *file, int line);
/* The case cannot run here. */
void sm_skip(const char *why);

#define OK(call)	sm_check_ok((long)(call), #call, __FILE__, __LINE__)
#define NEED(call)	sm_need_ok((long)(call), #call, __FILE__, __LINE__)
#define ERR(call, err)	sm_check_err((long)(call), err, #call, __FILE__, __LINE__)
#define EQ(got, want)	sm_check_eq((long long)(got), (long long)(want), #got, __FILE__, __LINE__)
#define RANGE(got, low, high) \
	sm_check_range((long long)(got), low, high, #got, __FILE__, __LINE__)
#define TRUE(cond)	sm_check_true(cond, #cond, __FILE__, __LINE__)

int sm_socket(int flags);
void sm_place(struct sockaddr_strack *sa, enum sm_place place, uint16_t port);
/* A socket listening on loopback; its address in @sa. */
int sm_listener(int backlog, struct sockaddr_strack *sa);
/* A connected pair: [0] connected, [1] was accepted. */
void sm_pair(int fd[2]);
/* The same with the listener given. */
void sm_pair_of(int listener, const struct sockaddr_strack *sa, int fd[2]);

int sm_set_int(int fd, int level, int name, int value);
int sm_get_int(int fd, int level, int name);
void sm_nonblock(int fd);
/* poll() for @events up to @ms (times SLOW); revents, 0 on timeout. */
int sm_poll(int fd, int events, unsigned int ms);
/* What poll() says at once. */
int sm_mask(int fd);
/* Waits up to two seconds until the mask is @mask; returns the last one. */
int sm_wait_mask(int fd, int mask);
/* Waits up to two seconds until @ioctl_nr says @value; returns the last one. */
int sm_wait_ioctl(int fd, unsigned long ioctl_nr, int value);
int sm_ioctl_int(int fd, unsigned long ioctl_nr);
/* Blocking helpers for whole buffers. */
ssize_t sm_send_all(int fd, const void *data, size_t len);
ssize_t sm_recv_all(int fd, void *data, size_t len);
/* Writes into a non-blocking socket until it is full for good; bytes taken. */
size_t sm_fill(int fd);
/* Position-dependent content: byte i of a stream is sm_pattern(i). */
unsigned char sm_pattern(size_t position);
void sm_pattern_fill(unsigned char *data, size_t len, size_t position);
bool sm_pattern_check(const unsigned char *data, size_t len, size_t position);
/* Runs the case's process as nobody, without capabilities. */
void sm_drop_privileges(void);

#endif /* SELFTESTS_STRACK_SM_H */
