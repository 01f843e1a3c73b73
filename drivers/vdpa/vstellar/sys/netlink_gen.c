// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/vstellar.yaml */
/* YNL-GEN kernel source */
/* To regenerate run: tools/net/ynl/ynl-regen.sh */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink_gen.h"

#include <uapi/linux/vstellar.h>

/* VSTELLAR_CMD_DEV_GET - do */
static const struct nla_policy vstellar_dev_get_nl_policy[VSTELLAR_A_DEV_NAME + 1] = {
	[VSTELLAR_A_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
};

/* VSTELLAR_CMD_DEV_SET - do */
static const struct nla_policy vstellar_dev_set_nl_policy[VSTELLAR_A_DEV_LOAN_QUOTA + 1] = {
	[VSTELLAR_A_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
	[VSTELLAR_A_DEV_NETNS_FD] = { .type = NLA_U32, },
	[VSTELLAR_A_DEV_NETNS_NONE] = { .type = NLA_FLAG, },
	[VSTELLAR_A_DEV_ADDRESS] = NLA_POLICY_EXACT_LEN(16),
	[VSTELLAR_A_DEV_FIRST_PORT] = { .type = NLA_U16, },
	[VSTELLAR_A_DEV_LAST_PORT] = { .type = NLA_U16, },
	[VSTELLAR_A_DEV_MAX_ENDPOINTS] = { .type = NLA_U32, },
	[VSTELLAR_A_DEV_MAX_MEMORY_REGIONS] = { .type = NLA_U32, },
	[VSTELLAR_A_DEV_MAX_COMPLETION_QUEUES] = { .type = NLA_U32, },
	[VSTELLAR_A_DEV_PIN_QUOTA] = { .type = NLA_UINT, },
	[VSTELLAR_A_DEV_BUFFER_QUOTA] = { .type = NLA_UINT, },
	[VSTELLAR_A_DEV_CONNECTION_RATE] = { .type = NLA_U32, },
	[VSTELLAR_A_DEV_ZEROCOPY] = NLA_POLICY_MAX(NLA_U32, 2),
	[VSTELLAR_A_DEV_LOAN_QUOTA] = { .type = NLA_UINT, },
};

/* Ops table for vstellar */
static const struct genl_split_ops vstellar_nl_ops[] = {
	{
		.cmd		= VSTELLAR_CMD_DEV_GET,
		.doit		= vstellar_nl_dev_get_doit,
		.policy		= vstellar_dev_get_nl_policy,
		.maxattr	= VSTELLAR_A_DEV_NAME,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd	= VSTELLAR_CMD_DEV_GET,
		.dumpit	= vstellar_nl_dev_get_dumpit,
		.flags	= GENL_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= VSTELLAR_CMD_DEV_SET,
		.doit		= vstellar_nl_dev_set_doit,
		.policy		= vstellar_dev_set_nl_policy,
		.maxattr	= VSTELLAR_A_DEV_LOAN_QUOTA,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
};

struct genl_family vstellar_nl_family __ro_after_init = {
	.name		= VSTELLAR_FAMILY_NAME,
	.version	= VSTELLAR_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= vstellar_nl_ops,
	.n_split_ops	= ARRAY_SIZE(vstellar_nl_ops),
};
