/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/vstellar.yaml */
/* YNL-GEN kernel header */
/* To regenerate run: tools/net/ynl/ynl-regen.sh */

#ifndef _LINUX_VSTELLAR_GEN_H
#define _LINUX_VSTELLAR_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/vstellar.h>

int vstellar_nl_dev_get_doit(struct sk_buff *skb, struct genl_info *info);
int vstellar_nl_dev_get_dumpit(struct sk_buff *skb,
			       struct netlink_callback *cb);
int vstellar_nl_dev_set_doit(struct sk_buff *skb, struct genl_info *info);

extern struct genl_family vstellar_nl_family;

#endif /* _LINUX_VSTELLAR_GEN_H */
