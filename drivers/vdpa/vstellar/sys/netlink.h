/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an administrator decides about a device and asks of it, see
 * Documentation/netlink/specs/vstellar.yaml.
 */
#ifndef _VSTELLAR_NETLINK_H
#define _VSTELLAR_NETLINK_H

#include <linux/types.h>

struct net;

/* what can be set, and is kept until the device goes */
struct vstellar_settings {
	u8 address[16];
	u16 first_port;
	u16 last_port;
	u32 max_endpoints;
	u32 max_memory_regions;
	u32 max_completion_queues;
	u64 pin_quota;
	u64 buffer_quota;
	u32 connection_rate;
	u32 zerocopy; /* enum vstellar_zerocopy */
	u64 loan_quota;
};

/* what it has done since it was made; in bytes, where not counted */
struct vstellar_stats {
	u64 pin_hits;
	u64 pin_misses;
	u64 pin_failures;
	u64 evictions;
	u64 pinned;
	u64 pinned_peak;
	u64 kicks;
	u64 lent;
	u64 lent_total;
	u64 lent_copied;
	u64 loans_refused;
};

int vstellar_netlink_register(void);
void vstellar_netlink_unregister(void);

/* the namespace's number, and the end of a reference to it */
u64 vstellar_c_net_inode(const struct net *net);
void vstellar_c_net_put(struct net *net);

/* --- offered by Rust (sys/settings.rs); process context ---------------------- */

void vstellar_get_settings(void *device, struct vstellar_settings *settings);
/*
 * -EBUSY from a driver's choice of features to the reset, -ENODEV if the device was
 * removed meanwhile, -EINVAL if they contradict each other. If @change_net, @net is
 * the namespace from now on, or NULL; a reference to it is taken over if that
 * succeeds.
 */
int vstellar_set_settings(void *device, const struct vstellar_settings *settings, bool change_net,
			  struct net *net);
/* zero if there is none */
u64 vstellar_get_net_inode(void *device);
void vstellar_get_stats(void *device, struct vstellar_stats *stats);

#endif /* _VSTELLAR_NETLINK_H */
