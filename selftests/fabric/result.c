// SPDX-License-Identifier: GPL-2.0
/*
 * The result of a run of xfer, for strack-report.
 */
#define _GNU_SOURCE
#include <inttypes.h>

#include "../lib/strack.h"
#include "xfer.h"

/* Bytes per path as the sender counts them. */
static void print_paths(const struct transfer *x, FILE *out)
{
	uint64_t bytes[STRACK_MAX_PATHS];
	socklen_t len = sizeof(bytes);
	size_t k;

	if (opt.transport.kind != TRANSPORT_STRACK ||
	    getsockopt(x->sender, SOL_STRACK, STRACK_PATH_BYTES, bytes, &len))
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
		transport_name(&opt.transport));
	print_field(out, "paths", opt.transport.kind == TRANSPORT_STRACK ? opt.transport.paths : 1);
	print_field(out, "bytes", opt.bytes);
	print_field(out, "received", x->got);
	print_truth(out, "complete", complete);
	print_truth(out, "equal", !memcmp(x->payload, x->received, x->got));
	print_field(out, "elapsed_ns", x->end_ns);
	print_field(out, "idle_ms", x->idle_ms);
	print_field(out, "limit_ms", opt.limit_ms);
	if (x->error)
		fprintf(out, ",\"error\":\"%s\"", strerrorname_np(x->error));
	if (x->receiver >= 0) {
		transport_stats(&opt.transport, x->sender, &stats);
		transport_print(&opt.transport, "sender", &stats, out);
		transport_stats(&opt.transport, x->receiver, &stats);
		transport_print(&opt.transport, "receiver", &stats, out);
	}
	print_paths(x, out);
	fabric_print(&x->fabric, &x->moved, out);
	if (x->cut.spine) {
		fprintf(out, ",\"cut\":{\"spine\":%u", x->cut.spine);
		print_field(out, "at_ns", x->cut.at_ns);
		print_field(out, "bytes", x->cut.bytes);
		transport_print(&opt.transport, "sender", &x->cut.sender, out);
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
