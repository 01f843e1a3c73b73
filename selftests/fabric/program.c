// SPDX-License-Identifier: GPL-2.0
/*
 * What the traffic programs have in common.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "../lib/strack.h"
#include "fabric.h"
#include "program.h"

unsigned long number(const char *text, unsigned long least, unsigned long most)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 0);
	if (errno || end == text || *end || value < least || value > most) {
		fprintf(stderr, "%s: %s: not a number from %lu to %lu\n",
			program_invocation_short_name, text, least, most);
		exit(2);
	}
	return value;
}

void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

void fill_pattern(char *bytes, size_t size)
{
	uint64_t state = 0x9e3779b97f4a7c15ULL;
	size_t k;

	for (k = 0; k + sizeof(state) <= size; k += sizeof(state)) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		memcpy(bytes + k, &state, sizeof(state));
	}
}

uint64_t idle_ms(void)
{
	FILE *file = fopen("/proc/stat", "re");
	unsigned long long ticks = 0;

	if (!file || fscanf(file, "cpu %*u %*u %*u %llu", &ticks) != 1)
		die("/proc/stat");
	fclose(file);
	return ticks * 1000 / sysconf(_SC_CLK_TCK);
}
