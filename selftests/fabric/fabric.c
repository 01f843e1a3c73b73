// SPDX-License-Identifier: GPL-2.0
/*
 * Handles on the fabric; names of namespaces and devices are those of fabric.sh.
 */
#define _GNU_SOURCE
#include <inttypes.h>

#include <linux/netlink.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>

#include "../lib/strack.h"
#include "fabric.h"

/* Index of the action that is a spine's fault switch, as in fabric.sh. */
#define SWITCH_INDEX	1

void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

void into_netns(const char *name)
{
	if (enter_netns(name))
		die(name);
}

/* The file stays bound to the namespace it was opened in. */
static FILE *open_counters(const char *ns)
{
	FILE *dev;

	into_netns(ns);
	dev = fopen("/proc/thread-self/net/dev", "re");
	if (!dev)
		die("/proc/thread-self/net/dev");
	return dev;
}

void fabric_open(struct fabric *fabric, unsigned int spines, const char *sender)
{
	char ns[16];
	unsigned int k;

	fabric->spines = spines;
	if (!spines)
		return;
	fabric->data_dev = open_counters(sender[0] == 'a' ? "la" : "lb");
	fabric->back_dev = open_counters(sender[0] == 'a' ? "lb" : "la");
	for (k = 0; k < spines; k++) {
		snprintf(ns, sizeof(ns), "s%u", k + 1);
		into_netns(ns);
		fabric->netlink[k] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
		if (fabric->netlink[k] < 0)
			die("netlink");
	}
}

static void read_uplinks(FILE *dev, unsigned int spines, uint64_t *bytes)
{
	char line[512];
	unsigned long long sent;
	unsigned int k;

	rewind(dev);
	while (fgets(line, sizeof(line), dev)) {
		/* after the name 8 fields of what was received, then the bytes sent */
		if (sscanf(line, " up%u:%*u%*u%*u%*u%*u%*u%*u%*u%llu", &k, &sent) == 2 &&
		    k >= 1 && k <= spines)
			bytes[k - 1] = sent;
	}
}

void fabric_read(const struct fabric *fabric, struct fabric_bytes *bytes)
{
	memset(bytes, 0, sizeof(*bytes));
	if (!fabric->spines)
		return;
	read_uplinks(fabric->data_dev, fabric->spines, bytes->data);
	read_uplinks(fabric->back_dev, fabric->spines, bytes->back);
}

void fabric_since(struct fabric_bytes *bytes, const struct fabric_bytes *earlier)
{
	unsigned int k;

	for (k = 0; k < FABRIC_MAX_SPINES; k++) {
		bytes->data[k] -= earlier->data[k];
		bytes->back[k] -= earlier->back[k];
	}
}

unsigned int fabric_busiest(const struct fabric *fabric, const struct fabric_bytes *bytes)
{
	unsigned int best = 0, k;

	for (k = 1; k < fabric->spines; k++)
		if (bytes->data[k] > bytes->data[best])
			best = k;
	return best + 1;
}

/* A netlink message under construction, long enough for one small action. */
struct message {
	struct nlmsghdr head;
	char body[252];
};

static struct rtattr *add_attribute(struct message *message, int type, const void *data, size_t len)
{
	struct rtattr *rta = (void *)((char *)message + NLMSG_ALIGN(message->head.nlmsg_len));

	rta->rta_type = type;
	rta->rta_len = RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(rta), data, len);
	message->head.nlmsg_len = NLMSG_ALIGN(message->head.nlmsg_len) + RTA_ALIGN(rta->rta_len);
	return rta;
}

static void end_nest(const struct message *message, struct rtattr *nest)
{
	nest->rta_len = (char *)message + message->head.nlmsg_len - (char *)nest;
}

/* What "tc actions change action pass|drop index 1" sends. */
void fabric_switch(const struct fabric *fabric, unsigned int spine, bool pass)
{
	struct tc_gact gact = {
		.index = SWITCH_INDEX,
		.action = pass ? TC_ACT_OK : TC_ACT_SHOT,
	};
	struct rtattr *table, *entry, *options;
	int fd = fabric->netlink[spine - 1];
	struct message message = {
		.head.nlmsg_len = NLMSG_LENGTH(sizeof(struct tcamsg)),
		.head.nlmsg_type = RTM_NEWACTION,
		.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_REPLACE,
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char quoted[256];
	} answer;

	table = add_attribute(&message, TCA_ACT_TAB, NULL, 0);
	entry = add_attribute(&message, 1, NULL, 0);
	add_attribute(&message, TCA_ACT_KIND, "gact", sizeof("gact"));
	options = add_attribute(&message, TCA_ACT_OPTIONS, NULL, 0);
	add_attribute(&message, TCA_GACT_PARMS, &gact, sizeof(gact));
	end_nest(&message, options);
	end_nest(&message, entry);
	end_nest(&message, table);
	if (send(fd, &message, message.head.nlmsg_len, 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < (ssize_t)NLMSG_LENGTH(sizeof(answer.error)))
		die("fault switch");
	errno = -answer.error.error;
	if (errno)
		die("fault switch");
}

void fabric_print(const struct fabric *fabric, const struct fabric_bytes *bytes, FILE *out)
{
	unsigned int k;

	fputs(",\"spines\":[", out);
	for (k = 0; k < fabric->spines; k++)
		fprintf(out, "%s{\"data\":%" PRIu64 ",\"back\":%" PRIu64 "}", k ? "," : "",
			bytes->data[k], bytes->back[k]);
	fputc(']', out);
}
