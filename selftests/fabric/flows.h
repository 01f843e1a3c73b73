/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a run of flows is made of: its options, its course, its result.
 */
#ifndef SELFTESTS_FLOWS_H
#define SELFTESTS_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric.h"
#include "transport.h"

/**
 * struct options - the command line, explained in flows.c
 */
struct options {
	struct transport transport;
	const char *name;
	const char *run;
	const char *json;
	size_t bytes;
	unsigned int seed;
	unsigned int spines;
	unsigned int cut_ms;
	unsigned int cut_spine;
	unsigned int mend_ms;
	unsigned int limit_ms;
	bool sample;
};

/**
 * struct flow - one transfer
 * @from: host that sends
 * @to: host that receives
 * @bytes: how much
 * @address: where the receiver listens
 * @listener: its listening socket
 * @sender: the sender's socket
 * @receiver: the accepted one, -1 before that
 * @sent: bytes given to the sender's socket
 * @got: bytes read
 * @different: something else arrived than was sent
 * @over: nothing more will come
 * @error: why, if it is not the end of the stream
 * @end_ns: when the last byte was read, since the start
 */
struct flow {
	const char *from;
	const char *to;
	size_t bytes;
	struct sockaddr_strack address;
	int listener;
	int sender;
	int receiver;
	size_t sent;
	size_t got;
	bool different;
	bool over;
	int error;
	uint64_t end_ns;
};

/**
 * struct sample - sums over all flows at one moment
 * @at_ns: since the start
 * @arrived: payload bytes that have arrived, for AF_STRACK also those that wait
 *	for others before they can be read
 * @sent: AF_STRACK: data packets sent
 * @resent: packets sent again
 */
struct sample {
	uint64_t at_ns;
	uint64_t arrived;
	uint64_t sent;
	uint64_t resent;
};

/**
 * struct cut - a spine that was cut
 * @spine: its number, 0 while none was
 * @at_ns: when, since the start
 * @mended_ns: until when, 0 if it was to the end
 * @sender: the first flow's numbers just before
 */
struct cut {
	unsigned int spine;
	uint64_t at_ns;
	uint64_t mended_ns;
	struct stats sender;
};

/**
 * struct run - all of it
 * @flows: the transfers
 * @count: number of these
 * @running: of these, how many are not over
 * @payload: what each of them sends, from its beginning
 * @epoll: all that is waited for
 * @timer: expires each millisecond
 * @start_ns: before the first connect()
 * @late: the time is over
 * @idle_ms: time the CPUs had nothing to do, as the kernel counts it (10 ms steps)
 * @samples: taken each millisecond, if at all
 * @sampled: number of these
 * @room: how many there can be
 * @fabric: handles on the fabric
 * @before: its counters before the run
 * @moved: what they have grown by
 * @cut: the cut, if one was asked for
 */
struct run {
	struct flow *flows;
	unsigned int count;
	unsigned int running;
	char *payload;
	int epoll;
	int timer;
	uint64_t start_ns;
	bool late;
	uint64_t idle_ms;
	struct sample *samples;
	size_t sampled;
	size_t room;
	struct fabric fabric;
	struct fabric_bytes before;
	struct fabric_bytes moved;
	struct cut cut;
};

/* Append the run to opt->json (or print it): one JSON object on one line. */
void flows_report(const struct options *opt, const struct run *x);

#endif /* SELFTESTS_FLOWS_H */
