/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fail_nth: every system call with each of its allocations failing in turn.
 *
 * For n = 1, 2, ... the call is made with its n-th allocation (or copy from or
 * to user space) failing, until it has no n-th one. Each time it either
 * succeeds all the same or says an errno that means what happened; what it was
 * made on is then as if it had not been called, or as it says it is; and the
 * same call works.
 *
 * What is not the caller's to know does not fail the call at all: a packet for
 * which there was no memory is lost, and sent again.
 */
#ifndef SELFTESTS_STRACK_FAIL_NTH_H
#define SELFTESTS_STRACK_FAIL_NTH_H

#include <poll.h>

#include "faults.h"

/* One attempt: a call and what it is made on. */
struct nth_try {
	const struct nth_call *call;
	int fd[4];		/* -1 or open; closed when it is over */
	struct sockaddr_strack sa;
	long ret;		/* of the call, its errno in @err */
	int err;
	enum fault_kind fault;
};

enum nth_flags {
	NTH_V6 = 1,		/* once over IPv4, once over IPv6 */
	NTH_SURE = 2,		/* has no excuse to fail */
	NTH_MODULE = 4,		/* chances are counted below functions of modules only */
	NTH_WORKERS = 8,	/* chances are the kernel's workers', not the caller's */
};

struct nth_call {
	const char *name;
	/* What the call needs; must work. */
	void (*prepare)(struct nth_try *t);
	/* The system call; nothing else may enter the kernel. */
	long (*call)(struct nth_try *t);
	/* What the call has done, and that it works now. NULL: that it works is enough. */
	void (*confirm)(struct nth_try *t);
	unsigned int flags;
	int usual;		/* errno that is no failure */
	int also;		/* errno for want of memory, beside ENOMEM and ENOBUFS */
	const void *arg;
	const char *spared;	/* NTH_MODULE: chances below this function do not count */
};

struct nth_group {
	const char *name;
	const struct nth_call *calls;
	unsigned int count;
};

#define NTH_GROUP(label, table) \
	const struct nth_group nth_##label = { #label, table, ARRAY_SIZE(table) }

extern const struct nth_group nth_socket, nth_data, nth_option, nth_system, nth_module;

/* What goes on. */
extern struct nth_env {
	int family;
	bool v6;
	const char *module;	/* file to load the module from, or NULL */
} nth;

void nth_check(const struct nth_try *t, bool good, const char *what, const char *file, int line);
long nth_must(long ret, const char *what, const char *file, int line);

/* A check of what the call has done. */
#define CHECK(t, cond)	nth_check(t, cond, #cond, __FILE__, __LINE__)
/* What is not under test and has to work. */
#define MUST(call)	nth_must((long)(call), #call, __FILE__, __LINE__)

/* Loopback, IPv4 or IPv6. */
void nth_loopback(struct sockaddr_strack *sa, uint16_t port);
int nth_socket_new(void);
/* A socket listening on loopback; its address in @sa. */
int nth_listen(struct sockaddr_strack *sa);
/* The listener that lives as long as the namespace. */
int nth_listener(struct sockaddr_strack *sa);
void nth_listener_close(void);
/* A connected pair; both ends give up waiting after some seconds. */
void nth_pair(int fd[2]);
void nth_patience(int fd);
/* A byte goes there and one comes back. */
bool nth_talk(int a, int b);
/* poll() for @events within some seconds. */
bool nth_ready(int fd, short events);
/* poll() finds none of @events now. */
bool nth_quiet(int fd, short events);
/* A call that failed works when it is made again. */
void nth_again(struct nth_try *t);
/* Brings loopback up in this process's namespace. */
void nth_loopback_up(void);
/* Closes and forgets t->fd[i]. */
void nth_close(struct nth_try *t, int i);

#endif /* SELFTESTS_STRACK_FAIL_NTH_H */
