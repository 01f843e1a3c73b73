/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a run of xfer is made of: its options, its course, its result.
 */
#ifndef SELFTESTS_XFER_H
#define SELFTESTS_XFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric.h"
#include "transport.h"

#define BIN_NS		100000ULL	/* resolution of the arrival record */

/**
 * struct options - the command line, explained in xfer.c
 */
struct options {
	struct transport transport;
	const char *input;
	const char *output;
	const char *json;
	const char *run;
	size_t bytes;
	size_t write_size;
	unsigned int spines;
	int cut;			/* spine, 0: the busiest, -1: none */
	unsigned int limit_ms;
	bool sendfile;
	bool quiet;
};

extern struct options opt;

/**
 * struct cut - what was known when a spine was cut
 * @spine: its number, 0 while nothing was cut
 * @at_ns: time since the start
 * @bytes: bytes that had arrived
 * @sender: the sender's numbers just before
 */
struct cut {
	unsigned int spine;
	uint64_t at_ns;
	uint64_t bytes;
	struct stats sender;
};

/**
 * struct transfer - one run
 * @payload: what is sent; like @received shared with the child, and so safe
 *	from copy-on-write faults
 * @file: the same in a file, for sendfile()
 * @received: what arrived
 * @start_ns: written by the child just before connect()
 * @idle_ms: time the CPUs had nothing to do, as the kernel counts it (10 ms steps)
 * @got: bytes received
 * @end_ns: when the last of them was read, since the start
 * @eof: the end of the stream was seen after the last byte
 * @error: why receiving ended early
 * @bins: bytes that arrived in each BIN_NS since the start
 * @bin_count: number of these
 * @fabric: handles on the fabric, if there is one
 * @before: its counters before the run
 * @moved: what they have grown by
 * @cut: the cut, if one was asked for
 * @listener: where the sender connects to
 * @sender: the sender's end, shared with the child
 * @receiver: the accepted end, -1 if there was none
 */
struct transfer {
	char *payload;
	int file;
	char *received;
	volatile uint64_t *start_ns;
	uint64_t idle_ms;
	uint64_t got;
	uint64_t end_ns;
	bool eof;
	int error;
	uint32_t *bins;
	size_t bin_count;
	struct fabric fabric;
	struct fabric_bytes before;
	struct fabric_bytes moved;
	struct cut cut;
	int listener;
	int sender;
	int receiver;
};

/* Append the run to opt.json (or print it): one JSON object on one line. */
void report(const struct transfer *x, bool complete);

/* Write what arrived to opt.output. */
void keep_output(const struct transfer *x);

#endif /* SELFTESTS_XFER_H */
