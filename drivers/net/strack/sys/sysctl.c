// SPDX-License-Identifier: GPL-2.0
/*
 * net.strack: what an administrator sets, for each network namespace.
 */
#include <linux/mm.h>
#include <linux/sysctl.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "family.h"
#include "udp.h"

/* In the order of Profile::ALL and PathPolicy::ALL (proto/config.rs). */
static const char * const strack_profiles[] = { "stellar", "strack", NULL };
static const char * const strack_policies[] = {
	"default", "single", "round_robin", "oblivious", "bitmap", "reps", "mixed", "best_rtt", "dwrr", "mprdma",
	"per_path", NULL
};

/* An int that is read and written by name; @extra1 lists the names in order. */
static int strack_proc_name(const struct ctl_table *table, int write, void *buffer,
			    size_t *lenp, loff_t *ppos)
{
	const char * const *names = table->extra1;
	int *value = table->data;
	char name[16] = {};
	const struct ctl_table fake = { .data = name, .maxlen = sizeof(name) };
	int i, err;

	strscpy(name, names[READ_ONCE(*value)], sizeof(name));
	err = proc_dostring(&fake, write, buffer, lenp, ppos);
	if (err || !write)
		return err;
	for (i = 0; names[i]; i++) {
		if (strcmp(names[i], name) == 0) {
			WRITE_ONCE(*value, i);
			return 0;
		}
	}
	return -EINVAL;
}

static const int one = 1, max_paths = 256, max_burst = 44, max_us = 60 * 1000 * 1000, max_probes = 255, max_tries = 254;
static const int max_mbps = 1600 * 1000, min_buf = SOCK_MIN_RCVBUF, max_int = INT_MAX, max_ms = 600 * 1000;
static const int max_own_ms = 60 * 1000;

#define STRACK_INT(_name, _min, _max) {					\
	.procname	= #_name,					\
	.data		= (void *)offsetof(struct strack_sysctl, _name),	\
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= proc_dointvec_minmax,				\
	.extra1		= (void *)(_min),				\
	.extra2		= (void *)(_max),				\
}

/* Copied for each namespace, with .data moved to its struct strack_sysctl. */
static const struct ctl_table strack_table[] = {
	{
		.procname	= "profile",
		.data		= (void *)offsetof(struct strack_sysctl, profile),
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= strack_proc_name,
		.extra1		= (void *)strack_profiles,
	}, {
		.procname	= "path_policy",
		.data		= (void *)offsetof(struct strack_sysctl, path_policy),
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= strack_proc_name,
		.extra1		= (void *)strack_policies,
	},
	STRACK_INT(paths, &one, &max_paths),
	STRACK_INT(burst_max, &one, &max_burst),
	STRACK_INT(rto_min_us, &one, &max_us),
	STRACK_INT(rto_max_us, &one, &max_us),
	STRACK_INT(retries, &one, &max_tries),
	STRACK_INT(link_mbps, &one, &max_mbps),
	STRACK_INT(base_rtt_us, &one, &max_us),
	STRACK_INT(target_delay_us, &one, &max_us),
	STRACK_INT(initial_window, SYSCTL_ZERO, &max_int),
	STRACK_INT(time_wait_ms, SYSCTL_ZERO, &max_ms),
	STRACK_INT(max_orphans, SYSCTL_ZERO, &max_int),
	STRACK_INT(max_time_wait, SYSCTL_ZERO, &max_int),
	STRACK_INT(keepalive_time, &one, &max_ms),
	STRACK_INT(keepalive_intvl, &one, &max_ms),
	STRACK_INT(keepalive_probes, &one, &max_probes),
	STRACK_INT(rmem_default, &min_buf, &max_int),
	STRACK_INT(wmem_default, &min_buf, &max_int),
	{
		.procname	= "port",
		.data		= (void *)offsetof(struct strack_sysctl, port),
		.maxlen		= sizeof(int),
		.mode		= 0444,
		.proc_handler	= proc_dointvec,
	},
};

/* Of the host, not of a namespace: the first one has it. */
static const struct ctl_table strack_mem_entry = {
	.procname	= "mem",
	.data		= strack_sysctl_mem,
	.maxlen		= sizeof(strack_sysctl_mem),
	.mode		= 0644,
	.proc_handler	= proc_doulongvec_minmax,
};

static const struct strack_sysctl strack_defaults = {
	.paths			= 128,
	.burst_max		= 44,
	.rto_min_us		= 250,
	.rto_max_us		= 2 * 1000 * 1000,
	.retries		= 15,
	.link_mbps		= 10 * 1000,
	.base_rtt_us		= 100,
	.target_delay_us	= 100,
	.time_wait_ms		= 1000,
	.keepalive_time		= 7200,
	.keepalive_intvl	= 75,
	.keepalive_probes	= 9,
	.rmem_default		= 4 << 20,
	.wmem_default		= 4 << 20,
};

/* What one connection without a socket keeps, and the part of all memory that they may. */
#define STRACK_REST_BYTES	(64 << 10)
#define STRACK_REST_PART	32
#define STRACK_REST_LEAST	256

static int strack_default_rest(void)
{
	u64 bytes = (u64)totalram_pages() << PAGE_SHIFT;

	return clamp_t(u64, bytes / STRACK_REST_PART / STRACK_REST_BYTES, STRACK_REST_LEAST, INT_MAX);
}

/*
 * Whoever makes a user namespace sets what there is in its network namespaces, but
 * does not administer this host: what has no socket any more is limited there.
 */
static void strack_limit_rest(struct strack_net *sn, struct ctl_table *table, size_t count)
{
	if (sn->net->user_ns == &init_user_ns)
		return;
	for (; count--; table++) {
		if (table->data == &sn->sysctl.time_wait_ms)
			table->extra2 = (void *)&max_own_ms;
		else if (table->data == &sn->sysctl.max_orphans ||
			 table->data == &sn->sysctl.max_time_wait)
			table->extra2 = &sn->most_rest;
	}
}

/* The constants of the protocol, which Rust lists, become settings like the others. */
static void strack_add_params(struct strack_net *sn, struct ctl_table *table,
			      const struct strack_param *params, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		sn->params[i] = params[i].value;
		table[i] = (struct ctl_table) {
			.procname	= params[i].name,
			.data		= &sn->params[i],
			.maxlen		= sizeof(int),
			.mode		= 0644,
			.proc_handler	= proc_dointvec_minmax,
			.extra1		= (void *)&params[i].min,
			.extra2		= (void *)&params[i].max,
		};
	}
}

int strack_sysctl_register(struct strack_net *sn)
{
	const struct strack_param *params;
	const size_t fixed = ARRAY_SIZE(strack_table);
	struct ctl_table *table;
	unsigned int count, entries;
	size_t i;

	params = strack_params(&count);
	sn->sysctl = strack_defaults;
	sn->sysctl.port = strack_c_udp_port();
	sn->most_rest = strack_default_rest();
	sn->sysctl.max_orphans = sn->most_rest;
	sn->sysctl.max_time_wait = sn->most_rest;
	sn->params = kcalloc(count, sizeof(*sn->params), GFP_KERNEL_ACCOUNT);
	entries = fixed + count;
	table = kcalloc(entries + 1, sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!sn->params || !table)
		goto no_memory;
	memcpy(table, strack_table, sizeof(strack_table));
	for (i = 0; i < fixed; i++)
		table[i].data = (void *)&sn->sysctl + (unsigned long)table[i].data;
	strack_limit_rest(sn, table, fixed);
	strack_add_params(sn, table + fixed, params, count);
	if (net_eq(sn->net, &init_net))
		table[entries++] = strack_mem_entry;

	sn->header = register_net_sysctl_sz(sn->net, "net/strack", table, entries);
	if (!sn->header)
		goto no_memory;
	return 0;

no_memory:
	kfree(table);
	kfree(sn->params);
	return -ENOMEM;
}

void strack_sysctl_unregister(struct strack_net *sn)
{
	const struct ctl_table *table = sn->header->ctl_table_arg;

	unregister_net_sysctl_table(sn->header);
	kfree(table);
	kfree(sn->params);
}
