/* SPDX-License-Identifier: GPL-2.0 */
/* handshake: shared by its parts. */
#ifndef SELFTESTS_STRACK_HANDSHAKE_H
#define SELFTESTS_STRACK_HANDSHAKE_H

#include "../lib/peer.h"

#define PORT	7700

struct wire_case {
	const char *name;
	void (*run)(void);
};

extern const struct wire_case exchange_cases[];
extern const unsigned int exchange_count;
extern const struct wire_case hoard_cases[];
extern const unsigned int hoard_count;

/* Before the process enters a namespace: what only the first one has. */
void hoard_prepare(void);

extern struct peer peer;

void wire_check(bool good, const char *what, const char *file, int line);
#define CHECK(cond)	wire_check(cond, #cond, __FILE__, __LINE__)

/* Waits for a packet of that type for @c's peer; its length, 0 if none came. */
#define AWAIT(c, type, data, ms) \
	peer_expect_for(&peer, (c).cid, WIRE_##type, data, sizeof(data), slow(ms))

/* A counter of the kernel's end. */
long long count(const char *name);
/* The kernel's socket of a new connection with the peer, @c the peer's side. */
int connected(struct peer_conn *c);
/* Closes such a socket, and nothing of it remains. */
void forget(int fd);

#endif /* SELFTESTS_STRACK_HANDSHAKE_H */
