/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every C test needs to know about AF_STRACK: the family number, how to
 * make an address, counters, time. Each test can also run over TCP (AF_INET6
 * with the same addresses), which is how the tests themselves are tested.
 */
#ifndef SELFTESTS_STRACK_H
#define SELFTESTS_STRACK_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/strack.h>

#include "ktap.h"

#define NSEC_PER_SEC	1000000000ULL
#define NSEC_PER_MSEC	1000000ULL
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Number in a small file, or @missing. */
static inline long read_long(const char *path, long missing)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long value = missing;
	ssize_t n;

	if (fd < 0)
		return missing;
	n = read(fd, text, sizeof(text) - 1);
	if (n > 0)
		value = strtol(text, NULL, 0);
	close(fd);
	return value;
}

static inline int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -1 : 0;
}

/* The family number, or -1 while the module is not loaded. */
static inline int strack_family_or_none(void)
{
	return read_long(STRACK_FAMILY_FILE, -1);
}

/* The family number; leaves the program as skipped without the module. */
static inline int strack_family(void)
{
	int family = strack_family_or_none();

	if (family < 0)
		ktap_skip_all("module strack is not loaded");
	return family;
}

/* Address of @text (IPv4 is mapped; NULL is the wildcard), port in host order. */
static inline int st_address(struct sockaddr_strack *sa, int family, const char *text,
				uint16_t port)
{
	struct in_addr v4;

	memset(sa, 0, sizeof(*sa));
	sa->sst_family = family;
	sa->sst_port = htons(port);
	if (!text)
		return 0;
	if (inet_pton(AF_INET6, text, sa->sst_addr) == 1)
		return 0;
	if (inet_pton(AF_INET, text, &v4) != 1)
		return -1;
	memset(sa->sst_addr + 10, 0xff, 2);
	memcpy(sa->sst_addr + 12, &v4, 4);
	return 0;
}

static inline int st_bind(int fd, const struct sockaddr_strack *sa)
{
	return bind(fd, (const void *)sa, sizeof(*sa));
}

static inline int st_connect(int fd, const struct sockaddr_strack *sa)
{
	return connect(fd, (const void *)sa, sizeof(*sa));
}

static inline int st_getsockname(int fd, struct sockaddr_strack *sa)
{
	socklen_t len = sizeof(*sa);

	memset(sa, 0, sizeof(*sa));
	return getsockname(fd, (void *)sa, &len);
}

static inline int st_getpeername(int fd, struct sockaddr_strack *sa)
{
	socklen_t len = sizeof(*sa);

	memset(sa, 0, sizeof(*sa));
	return getpeername(fd, (void *)sa, &len);
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static inline void sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* Every deadline is multiplied by the environment's SLOW (1 if unset). */
static inline unsigned int slow(unsigned int value)
{
	const char *text = getenv("SLOW");
	double factor = text ? atof(text) : 1;

	return factor > 1 ? value * factor : value;
}

/*
 * The least time that a timeout of so many milliseconds takes. The kernel counts it in
 * jiffies, and a CPU that was away for a while counts those late, all at once.
 */
static inline unsigned int at_least(unsigned int ms)
{
	return ms / 2;
}

/* Whether repetitions are to be left out (the environment's QUICK). */
static inline bool quick(void)
{
	const char *text = getenv("QUICK");

	return text && *text;
}

/* Moves the process into a named network namespace (as ip netns does). */
static inline int enter_netns(const char *name)
{
	char path[256];
	int fd, ret;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ret = setns(fd, CLONE_NEWNET);
	close(fd);
	return ret;
}

#define STRACK_SNMP_FILE "/proc/net/strack/snmp"

/* One counter of this process's namespace, or -1 when there is none of the name. */
static inline long long strack_counter(const char *name)
{
	FILE *file = fopen(STRACK_SNMP_FILE, "re");
	long long value, found = -1;
	char word[128];

	if (!file)
		return -1;
	while (found < 0 && fscanf(file, "%127s %lld", word, &value) == 2)
		if (!strcmp(word, name))
			found = value;
	fclose(file);
	return found;
}

/* Sockets alive in this process's namespace, of every family. */
static inline long sockets_used(void)
{
	FILE *file = fopen("/proc/net/sockstat", "re");
	long used = -1;

	if (!file)
		return -1;
	if (fscanf(file, "sockets: used %ld", &used) != 1)
		used = -1;
	fclose(file);
	return used;
}

#endif /* SELFTESTS_STRACK_H */
