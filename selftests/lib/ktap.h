/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KTAP output for the C programs: a plan, one numbered line for each result,
 * exit status as the kselftest runner wants it. Used by one process only; the
 * children of a program report through their exit status.
 */
#ifndef SELFTESTS_KTAP_H
#define SELFTESTS_KTAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KSFT_PASS	0
#define KSFT_FAIL	1
#define KSFT_SKIP	4

#define KTAP_PRINTF(n)	__attribute__((format(printf, n, n + 1)))

struct ktap_counts {
	unsigned int number;
	unsigned int planned;
	unsigned int failed;
	unsigned int skipped;
};

static struct ktap_counts ktap;

static inline KTAP_PRINTF(1) void ktap_diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("# ", stdout);
	vfprintf(stdout, fmt, ap);
	fputc('\n', stdout);
	fflush(stdout);
	va_end(ap);
}

static inline void ktap_plan(unsigned int planned)
{
	ktap.planned = planned;
	printf("TAP version 13\n1..%u\n", planned);
	fflush(stdout);
}

/* The whole program cannot run here: an empty plan with the reason. */
static inline KTAP_PRINTF(1) void ktap_skip_all(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("TAP version 13\n1..0 # SKIP ", stdout);
	vfprintf(stdout, fmt, ap);
	fputc('\n', stdout);
	va_end(ap);
	exit(KSFT_SKIP);
}

/* The program itself is broken or cannot go on. */
static inline KTAP_PRINTF(1) void ktap_bail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("Bail out! ", stdout);
	vfprintf(stdout, fmt, ap);
	fputc('\n', stdout);
	va_end(ap);
	exit(KSFT_FAIL);
}

static inline void ktap_result(bool ok, const char *name)
{
	ktap.number++;
	if (!ok)
		ktap.failed++;
	printf("%sok %u - %s\n", ok ? "" : "not ", ktap.number, name);
	fflush(stdout);
}

static inline void ktap_skip(const char *name, const char *why)
{
	ktap.number++;
	ktap.skipped++;
	printf("ok %u - %s # SKIP %s\n", ktap.number, name, why);
	fflush(stdout);
}

/* Exit status; also fails when results are missing from the plan. */
static inline int ktap_finish(void)
{
	printf("# Totals: pass:%u fail:%u skip:%u\n",
	       ktap.number - ktap.failed - ktap.skipped, ktap.failed, ktap.skipped);
	fflush(stdout);
	if (ktap.failed || ktap.number != ktap.planned)
		return KSFT_FAIL;
	return ktap.number == ktap.skipped ? KSFT_SKIP : KSFT_PASS;
}

/* Whether a case is among NAMES ("group" or "group/case"); if there are none, all are. */
static inline bool ktap_selected(const char *group, const char *name, char **names)
{
	char full[128];

	if (!*names)
		return true;
	snprintf(full, sizeof(full), "%s/%s", group, name);
	for (; *names; names++)
		if (!strcmp(*names, group) || !strcmp(*names, full))
			return true;
	return false;
}

#endif /* SELFTESTS_KTAP_H */
