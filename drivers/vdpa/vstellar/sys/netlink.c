// SPDX-License-Identifier: GPL-2.0
/*
 * Settings and counters of devices, by generic netlink. Nothing is decided here:
 * attributes become a structure for Rust, and the other way round.
 */
#include <linux/nsproxy.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include "netlink.h"
#include "netlink_gen.h"
#include "vdpa.h"

u64 vstellar_c_net_inode(const struct net *net)
{
	return net->ns.inum;
}

void vstellar_c_net_put(struct net *net)
{
	put_net(net);
}

static int vstellar_nl_put_stats(struct sk_buff *skb, void *device)
{
	struct vstellar_stats stats;
	struct nlattr *nest;

	vstellar_get_stats(device, &stats);
	nest = nla_nest_start(skb, VSTELLAR_A_DEV_STATS);
	if (!nest ||
	    nla_put_uint(skb, VSTELLAR_A_STATS_PIN_HITS, stats.pin_hits) ||
	    nla_put_uint(skb, VSTELLAR_A_STATS_PIN_MISSES, stats.pin_misses) ||
	    nla_put_uint(skb, VSTELLAR_A_STATS_PIN_FAILURES, stats.pin_failures) ||
	    nla_put_uint(skb, VSTELLAR_A_STATS_EVICTIONS, stats.evictions) ||
	    nla_put_uint(skb, VSTELLAR_A_STATS_PINNED, stats.pinned) ||
	    nla_put_uint(skb, VSTELLAR_A_STATS_PINNED_PEAK, stats.pinned_peak) ||
	    nla_put_uint(skb, VSTELLAR_A_STATS_KICKS, stats.kicks) ||
	    nla_put_uint(skb, VSTELLAR_A_STATS_LENT, stats.lent) ||
	    nla_put_uint(skb, VSTELLAR_A_STATS_LENT_TOTAL, stats.lent_total) ||
	    nla_put_uint(skb, VSTELLAR_A_STATS_LENT_COPIED, stats.lent_copied) ||
	    nla_put_uint(skb, VSTELLAR_A_STATS_LOANS_REFUSED, stats.loans_refused))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int vstellar_nl_put(struct sk_buff *skb, const struct genl_info *info, const char *name,
			   void *device)
{
	struct vstellar_settings set;
	u64 inode = vstellar_get_net_inode(device);
	void *hdr;

	hdr = genlmsg_iput(skb, info);
	if (!hdr)
		return -EMSGSIZE;
	vstellar_get_settings(device, &set);
	if (nla_put_string(skb, VSTELLAR_A_DEV_NAME, name) ||
	    (inode && nla_put_uint(skb, VSTELLAR_A_DEV_NETNS_INODE, inode)) ||
	    nla_put(skb, VSTELLAR_A_DEV_ADDRESS, sizeof(set.address), set.address) ||
	    nla_put_u16(skb, VSTELLAR_A_DEV_FIRST_PORT, set.first_port) ||
	    nla_put_u16(skb, VSTELLAR_A_DEV_LAST_PORT, set.last_port) ||
	    nla_put_u32(skb, VSTELLAR_A_DEV_MAX_ENDPOINTS, set.max_endpoints) ||
	    nla_put_u32(skb, VSTELLAR_A_DEV_MAX_MEMORY_REGIONS, set.max_memory_regions) ||
	    nla_put_u32(skb, VSTELLAR_A_DEV_MAX_COMPLETION_QUEUES, set.max_completion_queues) ||
	    nla_put_uint(skb, VSTELLAR_A_DEV_PIN_QUOTA, set.pin_quota) ||
	    nla_put_uint(skb, VSTELLAR_A_DEV_BUFFER_QUOTA, set.buffer_quota) ||
	    nla_put_u32(skb, VSTELLAR_A_DEV_CONNECTION_RATE, set.connection_rate) ||
	    nla_put_u32(skb, VSTELLAR_A_DEV_ZEROCOPY, set.zerocopy) ||
	    nla_put_uint(skb, VSTELLAR_A_DEV_LOAN_QUOTA, set.loan_quota) ||
	    vstellar_nl_put_stats(skb, device)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

struct get {
	struct sk_buff *skb;
	const struct genl_info *info;
};

static int vstellar_nl_get_one(const char *name, void *device, void *data)
{
	const struct get *get = data;

	return vstellar_nl_put(get->skb, get->info, name, device);
}

int vstellar_nl_dev_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct get get = { .info = info };
	int err;

	if (GENL_REQ_ATTR_CHECK(info, VSTELLAR_A_DEV_NAME))
		return -EINVAL;
	get.skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!get.skb)
		return -ENOMEM;
	err = vstellar_device_named(nla_data(info->attrs[VSTELLAR_A_DEV_NAME]),
				    vstellar_nl_get_one, &get);
	if (err) {
		nlmsg_free(get.skb);
		return err;
	}
	return genlmsg_reply(get.skb, info);
}

int vstellar_nl_dev_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct get get = { .skb = skb, .info = genl_info_dump(cb) };
	unsigned long next = cb->args[0];
	int err = vstellar_devices_each(&next, vstellar_nl_get_one, &get);

	cb->args[0] = next;
	/* the rest goes into another message */
	return err == -EMSGSIZE && skb->len ? skb->len : err;
}

static int vstellar_nl_set_one(const char *name, void *device, void *data)
{
	struct nlattr **attrs = data;
	struct vstellar_settings set;
	bool change_net = attrs[VSTELLAR_A_DEV_NETNS_NONE];
	struct net *net = NULL;
	int err;

	vstellar_get_settings(device, &set);
	if (attrs[VSTELLAR_A_DEV_ADDRESS])
		nla_memcpy(set.address, attrs[VSTELLAR_A_DEV_ADDRESS], sizeof(set.address));
	if (attrs[VSTELLAR_A_DEV_FIRST_PORT])
		set.first_port = nla_get_u16(attrs[VSTELLAR_A_DEV_FIRST_PORT]);
	if (attrs[VSTELLAR_A_DEV_LAST_PORT])
		set.last_port = nla_get_u16(attrs[VSTELLAR_A_DEV_LAST_PORT]);
	if (attrs[VSTELLAR_A_DEV_MAX_ENDPOINTS])
		set.max_endpoints = nla_get_u32(attrs[VSTELLAR_A_DEV_MAX_ENDPOINTS]);
	if (attrs[VSTELLAR_A_DEV_MAX_MEMORY_REGIONS])
		set.max_memory_regions = nla_get_u32(attrs[VSTELLAR_A_DEV_MAX_MEMORY_REGIONS]);
	if (attrs[VSTELLAR_A_DEV_MAX_COMPLETION_QUEUES])
		set.max_completion_queues =
			nla_get_u32(attrs[VSTELLAR_A_DEV_MAX_COMPLETION_QUEUES]);
	if (attrs[VSTELLAR_A_DEV_PIN_QUOTA])
		set.pin_quota = nla_get_uint(attrs[VSTELLAR_A_DEV_PIN_QUOTA]);
	if (attrs[VSTELLAR_A_DEV_BUFFER_QUOTA])
		set.buffer_quota = nla_get_uint(attrs[VSTELLAR_A_DEV_BUFFER_QUOTA]);
	if (attrs[VSTELLAR_A_DEV_CONNECTION_RATE])
		set.connection_rate = nla_get_u32(attrs[VSTELLAR_A_DEV_CONNECTION_RATE]);
	if (attrs[VSTELLAR_A_DEV_ZEROCOPY])
		set.zerocopy = nla_get_u32(attrs[VSTELLAR_A_DEV_ZEROCOPY]);
	if (attrs[VSTELLAR_A_DEV_LOAN_QUOTA])
		set.loan_quota = nla_get_uint(attrs[VSTELLAR_A_DEV_LOAN_QUOTA]);
	if (attrs[VSTELLAR_A_DEV_NETNS_FD]) {
		if (change_net)
			return -EINVAL;
		net = get_net_ns_by_fd(nla_get_u32(attrs[VSTELLAR_A_DEV_NETNS_FD]));
		if (IS_ERR(net))
			return PTR_ERR(net);
		change_net = true;
	}
	err = vstellar_set_settings(device, &set, change_net, net);
	if (err && net)
		put_net(net);
	return err;
}

int vstellar_nl_dev_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	if (GENL_REQ_ATTR_CHECK(info, VSTELLAR_A_DEV_NAME))
		return -EINVAL;
	return vstellar_device_named(nla_data(info->attrs[VSTELLAR_A_DEV_NAME]),
				     vstellar_nl_set_one, info->attrs);
}

int vstellar_netlink_register(void)
{
	return genl_register_family(&vstellar_nl_family);
}

void vstellar_netlink_unregister(void)
{
	genl_unregister_family(&vstellar_nl_family);
}
