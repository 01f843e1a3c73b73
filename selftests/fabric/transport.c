// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets of TCP, MPTCP and AF_STRACK, and their numbers.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <netinet/in.h>

#include <linux/mptcp.h>
#include <linux/tcp.h>

#include "../lib/strack.h"
#include "fabric.h"
#include "program.h"
#include "transport.h"

/*
 * One connection is all that comes. But each subflow of MPTCP begins with a request to the
 * same listener, all at once, and more than fit look like a flood: they would have to
 * answer cookies, and the kernel complains.
 */
#define BACKLOG 16

static const char * const names[] = {
	[TRANSPORT_TCP] = "tcp",
	[TRANSPORT_MPTCP] = "mptcp",
	[TRANSPORT_STRACK] = "strack",
};

static bool take_family(struct transport *transport, const char *name)
{
	size_t k;

	for (k = 0; k < ARRAY_SIZE(names); k++) {
		if (strcmp(name, names[k]))
			continue;
		transport->kind = k;
		return true;
	}
	return false;
}

bool transport_option(struct transport *transport, int option, const char *value)
{
	switch (option) {
	case 'f':
		return take_family(transport, value);
	case 'C':
		transport->congestion = value;
		return true;
	case 'F':
		transport->profile = value;
		return true;
	case 'p':
		transport->paths = number(value, 1, STRACK_MAX_PATHS);
		return true;
	case 'P':
		transport->policy = value;
		return true;
	default:
		return false;
	}
}

const char *transport_name(const struct transport *transport)
{
	return names[transport->kind];
}

static int family(const struct transport *transport)
{
	return transport->kind == TRANSPORT_STRACK ? strack_family_or_none() : AF_INET6;
}

bool transport_address(const struct transport *transport, struct sockaddr_strack *address,
		       const char *text, uint16_t port)
{
	return !st_address(address, family(transport), text, port);
}

static void set(int fd, int level, int option, const char *name, const char *value)
{
	if (value && setsockopt(fd, level, option, value, strlen(value)))
		die(name);
}

int transport_open(const struct transport *transport, int flags)
{
	int protocol = transport->kind == TRANSPORT_MPTCP ? IPPROTO_MPTCP : 0;
	int fd = socket(family(transport), SOCK_STREAM | SOCK_CLOEXEC | flags, protocol);

	if (fd < 0)
		die(transport->kind == TRANSPORT_STRACK ?
		    "socket(AF_STRACK) (is the module loaded?)" : "socket");
	if (transport->kind != TRANSPORT_STRACK) {
		set(fd, IPPROTO_TCP, TCP_CONGESTION, "TCP_CONGESTION", transport->congestion);
		return fd;
	}
	if (transport->paths && setsockopt(fd, SOL_STRACK, STRACK_PATHS, &transport->paths,
					   sizeof(transport->paths)))
		die("STRACK_PATHS");
	set(fd, SOL_STRACK, STRACK_PROFILE, "STRACK_PROFILE", transport->profile);
	set(fd, SOL_STRACK, STRACK_PATH_POLICY, "STRACK_PATH_POLICY", transport->policy);
	return fd;
}

int transport_listen(const struct transport *transport, const struct sockaddr_strack *address,
		     int flags)
{
	int fd = transport_open(transport, flags);
	int one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (st_bind(fd, address))
		die("bind");
	if (listen(fd, BACKLOG))
		die("listen");
	return fd;
}

static void stats_tcp(int fd, struct stats *stats)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		die("TCP_INFO");
	stats->rto_ns = info.tcpi_rto * 1000ULL;
	stats->srtt_ns = info.tcpi_rtt * 1000ULL;
	stats->retransmits = info.tcpi_total_retrans;
}

static void stats_mptcp(int fd, struct stats *stats)
{
	struct mptcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, SOL_MPTCP, MPTCP_INFO, &info, &len))
		die("MPTCP_INFO");
	stats->retransmits = info.mptcpi_retransmits;
	stats->subflows = info.mptcpi_subflows_total;
}

static void stats_strack(int fd, struct stats *stats)
{
	socklen_t len = sizeof(stats->info);

	if (getsockopt(fd, SOL_STRACK, STRACK_INFO, &stats->info, &len))
		die("STRACK_INFO");
	stats->rto_ns = stats->info.sti_rto_ns;
	stats->srtt_ns = stats->info.sti_srtt_ns;
	stats->retransmits = stats->info.sti_retransmits;
}

void transport_stats(const struct transport *transport, int fd, struct stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	switch (transport->kind) {
	case TRANSPORT_TCP:
		stats_tcp(fd, stats);
		break;
	case TRANSPORT_MPTCP:
		stats_mptcp(fd, stats);
		break;
	case TRANSPORT_STRACK:
		stats_strack(fd, stats);
		break;
	}
}

void print_field(FILE *out, const char *name, unsigned long long value)
{
	fprintf(out, ",\"%s\":%llu", name, value);
}

void print_truth(FILE *out, const char *name, bool value)
{
	fprintf(out, ",\"%s\":%s", name, value ? "true" : "false");
}

static void print_strack(const struct strack_info *i, FILE *out)
{
	print_field(out, "state", i->sti_state);
	print_field(out, "mss", i->sti_mss);
	print_field(out, "paths", i->sti_paths);
	print_field(out, "paths_bad", i->sti_paths_bad);
	print_field(out, "retries", i->sti_retries);
	print_field(out, "cwnd", i->sti_cwnd);
	print_field(out, "inflight", i->sti_inflight);
	print_field(out, "base_rtt_ns", i->sti_base_rtt_ns);
	print_field(out, "rttvar_ns", i->sti_rttvar_ns);
	print_field(out, "packets_sent", i->sti_packets_sent);
	print_field(out, "packets_received", i->sti_packets_received);
	print_field(out, "fast_retransmits", i->sti_fast_retransmits);
	print_field(out, "timeouts", i->sti_timeouts);
	print_field(out, "spurious", i->sti_spurious);
	print_field(out, "ce_marks", i->sti_ce_marks);
	print_field(out, "duplicates", i->sti_duplicates);
	print_field(out, "ooo_high_water", i->sti_ooo_high_water);
	print_field(out, "target_ns", i->sti_target_ns);
	print_field(out, "delay_ns", i->sti_delay_ns);
	print_field(out, "max_cwnd", i->sti_max_cwnd);
	print_field(out, "stretch", i->sti_stretch);
	print_field(out, "refused", i->sti_refused);
}

void transport_print(const struct transport *transport, const char *name,
		     const struct stats *stats, FILE *out)
{
	fprintf(out, ",\"%s\":{\"rto_ns\":%" PRIu64, name, stats->rto_ns);
	print_field(out, "srtt_ns", stats->srtt_ns);
	print_field(out, "retransmits", stats->retransmits);
	if (transport->kind == TRANSPORT_MPTCP)
		print_field(out, "subflows", stats->subflows);
	if (transport->kind == TRANSPORT_STRACK)
		print_strack(&stats->info, out);
	fputc('}', out);
}
