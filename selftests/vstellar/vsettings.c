// SPDX-License-Identifier: GPL-2.0
/*
 * vsettings DEVICE [NAME=VALUE...]: changes what is given, or prints a device's
 * settings and counters, one a line.
 *
 * NAME is netns (the path of one, or "none"), address (16 bytes in hexadecimal),
 * first-port, last-port, endpoints, regions, queues, quota (bytes), buffers (bytes),
 * rate (connections a second), zerocopy (off, adaptive, always), or loans (bytes).
 *
 * vsettings --make PREFIX FIRST COUNT: makes devices with numbers from FIRST on, as "vdpa
 * dev add" makes one, without a process for each.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/vdpa.h>
#include <linux/vstellar.h>

#define ROOM	8192

struct request {
	struct nlmsghdr nlh;
	struct genlmsghdr genl;
	char attrs[ROOM];
};

static int fd;

static void fail(const char *what, int err)
{
	fprintf(stderr, "vsettings: %s: %s\n", what, strerror(err));
	exit(1);
}

static void begin(struct request *req, uint16_t family, uint8_t cmd)
{
	memset(req, 0, sizeof(*req));
	req->nlh.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	req->nlh.nlmsg_type = family;
	req->nlh.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	req->genl.cmd = cmd;
	req->genl.version = 1;
}

static void put(struct request *req, uint16_t type, const void *data, size_t len)
{
	struct nlattr *attr = (void *)((char *)req + NLMSG_ALIGN(req->nlh.nlmsg_len));

	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + len;
	memcpy((char *)attr + NLA_HDRLEN, data, len);
	req->nlh.nlmsg_len = NLMSG_ALIGN(req->nlh.nlmsg_len) + NLA_ALIGN(attr->nla_len);
}

/* Calls @answer for each attribute of the reply, if there is one; returns the outcome. */
static int ask(struct request *req, void (*answer)(const struct nlattr *attr))
{
	static char buffer[ROOM];
	struct nlmsghdr *nlh;
	ssize_t n;

	if (send(fd, req, req->nlh.nlmsg_len, 0) < 0)
		return errno;
	for (;;) {
		n = recv(fd, buffer, sizeof(buffer), 0);
		if (n < 0)
			return errno;
		for (nlh = (void *)buffer; NLMSG_OK(nlh, n); nlh = NLMSG_NEXT(nlh, n)) {
			int left = nlh->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
			struct nlattr *attr = (void *)((char *)NLMSG_DATA(nlh) + GENL_HDRLEN);

			if (nlh->nlmsg_type == NLMSG_ERROR)
				return -((struct nlmsgerr *)NLMSG_DATA(nlh))->error;
			while (left >= (int)NLA_HDRLEN) {
				answer(attr);
				left -= NLA_ALIGN(attr->nla_len);
				attr = (void *)((char *)attr + NLA_ALIGN(attr->nla_len));
			}
		}
	}
}

static const char * const zerocopy[] = {
	[VSTELLAR_ZEROCOPY_OFF] = "off",
	[VSTELLAR_ZEROCOPY_ADAPTIVE] = "adaptive",
	[VSTELLAR_ZEROCOPY_ALWAYS] = "always",
};

#define ZEROCOPY_NAMES	(sizeof(zerocopy) / sizeof(zerocopy[0]))

static uint32_t zerocopy_of(const char *name)
{
	for (uint32_t i = 0; i < ZEROCOPY_NAMES; i++)
		if (!strcmp(zerocopy[i], name))
			return i;
	fail(name, EINVAL);
	return 0;
}

static uint16_t family_id;

static void find_id(const struct nlattr *attr)
{
	if (attr->nla_type == CTRL_ATTR_FAMILY_ID)
		memcpy(&family_id, (char *)attr + NLA_HDRLEN, sizeof(family_id));
}

static uint64_t number(const struct nlattr *attr)
{
	uint64_t value = 0;

	memcpy(&value, (char *)attr + NLA_HDRLEN, attr->nla_len - NLA_HDRLEN);
	return value;
}

static void print_stat(const struct nlattr *attr)
{
	static const char * const names[] = {
		[VSTELLAR_A_STATS_PIN_HITS] = "pin-hits",
		[VSTELLAR_A_STATS_PIN_MISSES] = "pin-misses",
		[VSTELLAR_A_STATS_PIN_FAILURES] = "pin-failures",
		[VSTELLAR_A_STATS_EVICTIONS] = "evictions",
		[VSTELLAR_A_STATS_PINNED] = "pinned",
		[VSTELLAR_A_STATS_PINNED_PEAK] = "pinned-peak",
		[VSTELLAR_A_STATS_KICKS] = "kicks",
		[VSTELLAR_A_STATS_LENT] = "lent",
		[VSTELLAR_A_STATS_LENT_TOTAL] = "lent-total",
		[VSTELLAR_A_STATS_LENT_COPIED] = "lent-copied",
		[VSTELLAR_A_STATS_LOANS_REFUSED] = "loans-refused",
	};

	if (attr->nla_type <= VSTELLAR_A_STATS_MAX && names[attr->nla_type])
		printf("%s %" PRIu64 "\n", names[attr->nla_type], number(attr));
}

static void print(const struct nlattr *attr)
{
	static const char * const names[] = {
		[VSTELLAR_A_DEV_NETNS_INODE] = "netns",
		[VSTELLAR_A_DEV_FIRST_PORT] = "first-port",
		[VSTELLAR_A_DEV_LAST_PORT] = "last-port",
		[VSTELLAR_A_DEV_MAX_ENDPOINTS] = "endpoints",
		[VSTELLAR_A_DEV_MAX_MEMORY_REGIONS] = "regions",
		[VSTELLAR_A_DEV_MAX_COMPLETION_QUEUES] = "queues",
		[VSTELLAR_A_DEV_PIN_QUOTA] = "quota",
		[VSTELLAR_A_DEV_BUFFER_QUOTA] = "buffers",
		[VSTELLAR_A_DEV_CONNECTION_RATE] = "rate",
		[VSTELLAR_A_DEV_LOAN_QUOTA] = "loans",
	};
	const uint8_t *bytes = (uint8_t *)attr + NLA_HDRLEN;
	unsigned int type = attr->nla_type & NLA_TYPE_MASK;
	size_t at = 0;

	switch (type) {
	case VSTELLAR_A_DEV_NAME:
		printf("name %s\n", (const char *)bytes);
		return;
	case VSTELLAR_A_DEV_ADDRESS:
		fputs("address ", stdout);
		for (int i = 0; i < 16; i++)
			printf("%02x", bytes[i]);
		putchar('\n');
		return;
	case VSTELLAR_A_DEV_ZEROCOPY:
		if (number(attr) < ZEROCOPY_NAMES)
			printf("zerocopy %s\n", zerocopy[number(attr)]);
		return;
	case VSTELLAR_A_DEV_STATS:
		while (at + NLA_HDRLEN < attr->nla_len) {
			const struct nlattr *stat = (void *)(bytes + at);

			print_stat(stat);
			at += NLA_ALIGN(stat->nla_len);
		}
		return;
	}
	if (type <= VSTELLAR_A_DEV_MAX && names[type])
		printf("%s %" PRIu64 "\n", names[type], number(attr));
}

static void put_setting(struct request *req, char *setting)
{
	char *value = strchr(setting, '=');
	uint8_t address[16];
	uint64_t n;
	uint32_t n32;
	uint16_t n16;

	if (!value)
		fail(setting, EINVAL);
	*value++ = 0;
	n = strtoull(value, NULL, 0);
	n32 = n;
	n16 = n;
	if (!strcmp(setting, "netns")) {
		if (!strcmp(value, "none")) {
			put(req, VSTELLAR_A_DEV_NETNS_NONE, NULL, 0);
			return;
		}
		n32 = open(value, O_RDONLY | O_CLOEXEC);
		if ((int)n32 < 0)
			fail(value, errno);
		put(req, VSTELLAR_A_DEV_NETNS_FD, &n32, sizeof(n32));
	} else if (!strcmp(setting, "address")) {
		for (int i = 0; i < 16; i++)
			if (sscanf(value + 2 * i, "%2hhx", &address[i]) != 1)
				fail(value, EINVAL);
		put(req, VSTELLAR_A_DEV_ADDRESS, address, sizeof(address));
	} else if (!strcmp(setting, "first-port")) {
		put(req, VSTELLAR_A_DEV_FIRST_PORT, &n16, sizeof(n16));
	} else if (!strcmp(setting, "last-port")) {
		put(req, VSTELLAR_A_DEV_LAST_PORT, &n16, sizeof(n16));
	} else if (!strcmp(setting, "endpoints")) {
		put(req, VSTELLAR_A_DEV_MAX_ENDPOINTS, &n32, sizeof(n32));
	} else if (!strcmp(setting, "regions")) {
		put(req, VSTELLAR_A_DEV_MAX_MEMORY_REGIONS, &n32, sizeof(n32));
	} else if (!strcmp(setting, "queues")) {
		put(req, VSTELLAR_A_DEV_MAX_COMPLETION_QUEUES, &n32, sizeof(n32));
	} else if (!strcmp(setting, "quota")) {
		put(req, VSTELLAR_A_DEV_PIN_QUOTA, &n, sizeof(n));
	} else if (!strcmp(setting, "buffers")) {
		put(req, VSTELLAR_A_DEV_BUFFER_QUOTA, &n, sizeof(n));
	} else if (!strcmp(setting, "rate")) {
		put(req, VSTELLAR_A_DEV_CONNECTION_RATE, &n32, sizeof(n32));
	} else if (!strcmp(setting, "zerocopy")) {
		n32 = zerocopy_of(value);
		put(req, VSTELLAR_A_DEV_ZEROCOPY, &n32, sizeof(n32));
	} else if (!strcmp(setting, "loans")) {
		put(req, VSTELLAR_A_DEV_LOAN_QUOTA, &n, sizeof(n));
	} else {
		fail(setting, EINVAL);
	}
}

/* The number of a family of messages. */
static uint16_t find(const char *name)
{
	struct request req;
	int err;

	begin(&req, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	put(&req, CTRL_ATTR_FAMILY_NAME, name, strlen(name) + 1);
	/* the acknowledgement comes after the answer */
	err = ask(&req, find_id);
	if (err || !family_id)
		fail(name, err ? err : ENOENT);
	return family_id;
}

static void make(const char *prefix, unsigned long first, unsigned long count)
{
	static const char mgmtdev[] = "vstellar";
	uint16_t family = find(VDPA_GENL_NAME);
	struct request req;
	char name[64];
	int err;

	for (unsigned long i = first; i < first + count; i++) {
		snprintf(name, sizeof(name), "%s%lu", prefix, i);
		begin(&req, family, VDPA_CMD_DEV_NEW);
		put(&req, VDPA_ATTR_MGMTDEV_DEV_NAME, mgmtdev, sizeof(mgmtdev));
		put(&req, VDPA_ATTR_DEV_NAME, name, strlen(name) + 1);
		err = ask(&req, print);
		if (err)
			fail(name, err);
	}
}

static void settings(char *device, int count, char **list)
{
	uint16_t family = find(VSTELLAR_FAMILY_NAME);
	struct request req;
	int err;

	begin(&req, family, count ? VSTELLAR_CMD_DEV_SET : VSTELLAR_CMD_DEV_GET);
	put(&req, VSTELLAR_A_DEV_NAME, device, strlen(device) + 1);
	for (int i = 0; i < count; i++)
		put_setting(&req, list[i]);
	err = ask(&req, print);
	if (err)
		fail(device, err);
}

int main(int argc, char **argv)
{
	bool makes = argc == 5 && !strcmp(argv[1], "--make");

	if (argc < 2 || (argv[1][0] == '-' && !makes)) {
		fputs("usage: vsettings DEVICE [NAME=VALUE...] | --make PREFIX FIRST COUNT\n", stderr);
		return 2;
	}
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (fd < 0)
		fail("netlink", errno);
	if (makes)
		make(argv[2], strtoul(argv[3], NULL, 0), strtoul(argv[4], NULL, 0));
	else
		settings(argv[1], argc - 2, argv + 2);
	return 0;
}
