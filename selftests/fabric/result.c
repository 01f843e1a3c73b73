// SPDX-License-Identifier: GPL-2.0
/*
 * The result of a run of xfer, for strack-report.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <netinet/in.h>

#include <linux/tcp.h>

#include "../lib/strack.h"
#include "xfer.h"

void read_stats(int fd, struct stats *stats)
{
	struct tcp_info tcp = { 0 };
	socklen_t len;

	memset(stats, 0, sizeof(*stats));
	if (opt.strack) {
		len = sizeof(stats->info);
		if (getsockopt(fd, SOL_STRACK, STRACK_INFO, &stats->info, &len))
			die("STRACK_INFO");
		stats->rto_ns = stats->info.sti_rto_ns;
		stats->srtt_ns = stats->info.sti_srtt_ns;
		stats->retransmits = stats->info.sti_retransmits;
		return;
	}
	len = sizeof(tcp);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &len))
		die("TCP_INFO");
	stats->rto_ns = tcp.tcpi_rto * 1000ULL;
	stats->srtt_ns = tcp.tcpi_rtt * 1000ULL;
	stats->retransmits = tcp.tcpi_total_retrans;
}

static void field(FILE *out, const char *name, unsigned long long value)
{
	fprintf(out, ",\"%s\":%llu", name, value);
}

static void truth(FILE *out, const char *name, bool value)
{
	fprintf(out, ",\"%s\":%s", name, value ? "true" : "false");
}

static void print_stats(FILE *out, const char *name, const struct stats *stats)
{
	const struct strack_info *i = &stats->info;

	fprintf(out, ",\"%s\":{\"rto_ns\":%" PRIu64, name, stats->rto_ns);
	field(out, "srtt_ns", stats->srtt_ns);
	field(out, "retransmits", stats->retransmits);
	if (opt.strack) {
		field(out, "state", i->sti_state);
		field(out, "mss", i->sti_mss);
		field(out, "paths", i->sti_paths);
		field(out, "paths_bad", i->sti_paths_bad);
		field(out, "retries", i->sti_retries);
		field(out, "cwnd", i->sti_cwnd);
		field(out, "inflight", i->sti_inflight);
		field(out, "base_rtt_ns", i->sti_base_rtt_ns);
		field(out, "rttvar_ns", i->sti_rttvar_ns);
		field(out, "packets_sent", i->sti_packets_sent);
		field(out, "packets_received", i->sti_packets_received);
		field(out, "fast_retransmits", i->sti_fast_retransmits);
		field(out, "timeouts", i->sti_timeouts);
		field(out, "spurious", i->sti_spurious);
		field(out, "ce_marks", i->sti_ce_marks);
		field(out, "duplicates", i->sti_duplicates);
		field(out, "ooo_high_water", i->sti_ooo_high_water);
	}
	fputc('}', out);
}

/* Bytes per path as the sender counts them. */
static void print_paths(const struct transfer *x, FILE *out)
{
	uint64_t bytes[STRACK_MAX_PATHS];
	socklen_t len = sizeof(bytes);
	size_t k;

	if (!opt.strack || getsockopt(x->sender, SOL_STRACK, STRACK_PATH_BYTES, bytes, &len))
		return;
	fputs(",\"path_bytes\":[", out);
	for (k = 0; k < len / sizeof(bytes[0]); k++)
		fprintf(out, "%s%" PRIu64, k ? "," : "", bytes[k]);
	fputc(']', out);
}

void report(const struct transfer *x, bool complete)
{
	FILE *out = opt.json ? fopen(opt.json, "ae") : stdout;
	const char *comma = "";
	struct stats stats;
	size_t k;

	if (!out)
		die(opt.json);
	fprintf(out, "{\"kind\":\"transfer\",\"run\":\"%s\",\"family\":\"%s\"", opt.run,
		opt.strack ? "strack" : "tcp");
	field(out, "paths", opt.strack ? opt.paths : 1);
	field(out, "bytes", opt.bytes);
	field(out, "received", x->got);
	truth(out, "complete", complete);
	truth(out, "equal", !memcmp(x->payload, x->received, x->got));
	field(out, "elapsed_ns", x->end_ns);
	field(out, "idle_ms", x->idle_ms);
	field(out, "limit_ms", opt.limit_ms);
	if (x->error)
		fprintf(out, ",\"error\":\"%s\"", strerrorname_np(x->error));
	if (x->receiver >= 0) {
		read_stats(x->sender, &stats);
		print_stats(out, "sender", &stats);
		read_stats(x->receiver, &stats);
		print_stats(out, "receiver", &stats);
	}
	print_paths(x, out);
	fabric_print(&x->fabric, &x->moved, out);
	if (x->cut.spine) {
		fprintf(out, ",\"cut\":{\"spine\":%u", x->cut.spine);
		field(out, "at_ns", x->cut.at_ns);
		field(out, "bytes", x->cut.bytes);
		print_stats(out, "sender", &x->cut.sender);
		fputc('}', out);
	}
	fprintf(out, ",\"bin_ns\":%llu,\"arrivals\":[", BIN_NS);
	for (k = 0; k < x->bin_count; k++) {
		if (!x->bins[k])
			continue;
		fprintf(out, "%s[%zu,%u]", comma, k, x->bins[k]);
		comma = ",";
	}
	fputs("]}\n", out);
	if (fflush(out))
		die("writing the result");
}

void keep_output(const struct transfer *x)
{
	FILE *out = fopen(opt.output, "we");

	if (!out || fwrite(x->received, 1, x->got, out) != x->got || fclose(out))
		die(opt.output);
}
