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

static void print_stats(FILE *out, const char *name, const struct stats *stats)
{
	const struct strack_info *i = &stats->info;

	fprintf(out, ",\"%s\":{\"rto_ns\":%" PRIu64 ",\"srtt_ns\":%" PRIu64
		",\"retransmits\":%" PRIu64, name, stats->rto_ns, stats->srtt_ns,
		stats->retransmits);
	if (opt.strack)
		fprintf(out, ",\"state\":%u,\"mss\":%u,\"paths\":%u,\"paths_bad\":%u,\"retries\":%u"
			",\"cwnd\":%llu,\"inflight\":%llu,\"base_rtt_ns\":%llu,\"rttvar_ns\":%llu"
			",\"packets_sent\":%llu,\"packets_received\":%llu,\"fast_retransmits\":%llu"
			",\"timeouts\":%llu,\"spurious\":%llu,\"ce_marks\":%llu,\"duplicates\":%llu"
			",\"ooo_high_water\":%u",
			i->sti_state, i->sti_mss, i->sti_paths, i->sti_paths_bad, i->sti_retries,
			i->sti_cwnd, i->sti_inflight, i->sti_base_rtt_ns, i->sti_rttvar_ns,
			i->sti_packets_sent, i->sti_packets_received, i->sti_fast_retransmits,
			i->sti_timeouts, i->sti_spurious, i->sti_ce_marks, i->sti_duplicates,
			i->sti_ooo_high_water);
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
	fprintf(out, "{\"kind\":\"transfer\",\"run\":\"%s\",\"family\":\"%s\",\"paths\":%d,\"bytes\":%zu"
		",\"received\":%" PRIu64 ",\"complete\":%s,\"equal\":%s,\"elapsed_ns\":%" PRIu64
		",\"idle_ms\":%" PRId64 ",\"limit_ms\":%u",
		opt.run, opt.strack ? "strack" : "tcp", opt.strack ? opt.paths : 1, opt.bytes, x->got,
		complete ? "true" : "false",
		memcmp(x->payload, x->received, x->got) ? "false" : "true", x->end_ns,
		x->idle_ms, opt.limit_ms);
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
		fprintf(out, ",\"cut\":{\"spine\":%u,\"at_ns\":%" PRIu64 ",\"bytes\":%" PRIu64,
			x->cut.spine, x->cut.at_ns, x->cut.bytes);
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
