/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A memory cgroup for a test of who pays: what a process in it makes is charged to it,
 * also when the process has left again.
 */
#ifndef SELFTESTS_MEMCG_H
#define SELFTESTS_MEMCG_H

#include <sys/mount.h>
#include <sys/stat.h>

#include "strack.h"

#define MEMCG_TREE	"/tmp/selftests.cgroup"
#define MEMCG_GROUP	MEMCG_TREE "/group"

/* Makes the group. -1 where there is no memory controller. */
static inline int memcg_begin(void)
{
	mkdir(MEMCG_TREE, 0700);
	if (mount("none", MEMCG_TREE, "cgroup2", 0, NULL))
		return -1;
	if (write_text(MEMCG_TREE "/cgroup.subtree_control", "+memory")) {
		umount2(MEMCG_TREE, MNT_DETACH);
		return -1;
	}
	/* one that was there before may have less and less of what it had */
	rmdir(MEMCG_GROUP);
	return mkdir(MEMCG_GROUP, 0700);
}

static inline int memcg_enter(void)
{
	return write_text(MEMCG_GROUP "/cgroup.procs", "0");
}

static inline int memcg_leave(void)
{
	return write_text(MEMCG_TREE "/cgroup.procs", "0");
}

/* The group remains as long as something of it does. */
static inline int memcg_end(void)
{
	return umount2(MEMCG_TREE, MNT_DETACH);
}

/* The number behind @name in one of the group's files with lines of names and numbers. */
static inline long memcg_number(const char *path, const char *name)
{
	FILE *file = fopen(path, "re");
	long value, found = -1;
	char line[64];

	while (file && found < 0 && fscanf(file, "%63s %ld", line, &value) == 2)
		if (!strcmp(line, name))
			found = value;
	if (file)
		fclose(file);
	return found;
}

#endif /* SELFTESTS_MEMCG_H */
