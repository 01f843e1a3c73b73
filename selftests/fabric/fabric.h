/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a traffic program needs from the fabric that fabric.sh built: enter a
 * namespace, read how many bytes went over each spine, cut a spine. All of it
 * in-process, because a process started in the middle of a transfer costs
 * millions of instructions of the one virtual CPU and would show in the figures.
 */
#ifndef SELFTESTS_FABRIC_H
#define SELFTESTS_FABRIC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define FABRIC_MAX_SPINES	32

/**
 * struct fabric_bytes - bytes that the leaves have sent up to each spine
 * @data: by the sender's leaf, index 0 is spine 1
 * @back: by the receiver's leaf (acknowledgements)
 */
struct fabric_bytes {
	uint64_t data[FABRIC_MAX_SPINES];
	uint64_t back[FABRIC_MAX_SPINES];
};

/**
 * struct fabric - handles on the fabric's namespaces
 * @spines: number of spines, 0 when there is no fabric
 * @data_dev: the device counters of the sender's leaf
 * @back_dev: the device counters of the receiver's leaf
 * @netlink: a route netlink socket in each spine's namespace
 */
struct fabric {
	unsigned int spines;
	FILE *data_dev;
	FILE *back_dev;
	int netlink[FABRIC_MAX_SPINES];
};

/* Print the reason and leave with status 1. */
_Noreturn void die(const char *what);

/* Move the calling thread into a named network namespace, or die. */
void into_netns(const char *name);

/* Open the fabric's handles; @sender names a host, e.g. "a1". Changes the namespace. */
void fabric_open(struct fabric *fabric, unsigned int spines, const char *sender);

void fabric_read(const struct fabric *fabric, struct fabric_bytes *bytes);

/* @bytes -= @earlier */
void fabric_since(struct fabric_bytes *bytes, const struct fabric_bytes *earlier);

/* Number (from 1) of the spine that carried most data. */
unsigned int fabric_busiest(const struct fabric *fabric, const struct fabric_bytes *bytes);

/*
 * Set the fault switch of a spine (numbered from 1). From the return of this
 * call on, everything that reaches it passes or vanishes. Links and routes stay.
 */
void fabric_switch(const struct fabric *fabric, unsigned int spine, bool pass);

/* The member "spines" of a run's JSON object. */
void fabric_print(const struct fabric *fabric, const struct fabric_bytes *bytes, FILE *out);

#endif /* SELFTESTS_FABRIC_H */
