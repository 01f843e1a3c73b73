/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations and copies that fail on demand, as the kernel's fault injection
 * has it (Documentation/fault-injection): one chosen call of a system call
 * (fail-nth), or some of them all the time (a rate).
 *
 * All settings are put back when the program exits.
 */
#ifndef SELFTESTS_STRACK_FAULTS_H
#define SELFTESTS_STRACK_FAULTS_H

#include <stdbool.h>

#include "../lib/strack.h"

enum fault_kind {
	FAULT_NONE,
	FAULT_SLAB,		/* kmalloc() and its like */
	FAULT_PAGE,		/* alloc_pages() */
	FAULT_COPY,		/* copy_from_user(), copy_to_user() */
	FAULT_MOVE,		/* no failure: a packet's head is moved to other memory */
	FAULT_KINDS,
};

extern const char *const fault_names[FAULT_KINDS];

/* Leaves the program as skipped on a kernel that cannot do it. */
void faults_init(void);
/* Whether the kernel can tell who called, which the next two need. */
bool faults_know_callers(void);
/*
 * Only what modules do or have done for them fails; nothing below the
 * kernel's function @spared, if one is given.
 */
void faults_in_modules(const char *spared);
void faults_everywhere(void);

/* The @n-th chance to fail that the next system call has is taken. */
void faults_arm(unsigned int n);
/* The same for whatever the kernel's workers do next. */
void faults_arm_workers(unsigned int n);
/* After that call: what failed, FAULT_NONE if it had no @n chances. */
enum fault_kind faults_disarm(void);
enum fault_kind faults_disarm_workers(void);

/* From now on each @slab-th and each @page-th allocation fails... */
void faults_rate(unsigned int slab, unsigned int page);
/* ...in processes that have called this and in their children only... */
void faults_mark_process(bool marked);
void faults_marked_only(bool only);
/* ...until now. The number of those that did. */
unsigned int faults_rate_end(void);

#endif /* SELFTESTS_STRACK_FAULTS_H */
