// SPDX-License-Identifier: GPL-2.0
/*
 * The result of a run of flows, for strack-report.
 */
#define _GNU_SOURCE
#include <inttypes.h>

#include "../lib/strack.h"
#include "flows.h"

static void print_flow(const struct transport *transport, const struct flow *flow, FILE *out)
{
	struct stats stats;

	fprintf(out, "{\"from\":\"%s\",\"to\":\"%s\"", flow->from, flow->to);
	print_field(out, "bytes", flow->bytes);
	print_field(out, "received", flow->got);
	print_truth(out, "complete", flow->over && !flow->error);
	print_truth(out, "equal", !flow->different);
	print_field(out, "elapsed_ns", flow->end_ns);
	if (flow->error)
		fprintf(out, ",\"error\":\"%s\"", strerrorname_np(flow->error));
	transport_stats(transport, flow->sender, &stats);
	transport_print(transport, "sender", &stats, out);
	if (flow->receiver >= 0) {
		transport_stats(transport, flow->receiver, &stats);
		transport_print(transport, "receiver", &stats, out);
	}
	fputc('}', out);
}

static void print_cut(const struct options *opt, const struct cut *cut, FILE *out)
{
	fprintf(out, ",\"cut\":{\"spine\":%u", cut->spine);
	print_field(out, "at_ns", cut->at_ns);
	if (cut->mended_ns)
		print_field(out, "mended_ns", cut->mended_ns);
	transport_print(&opt->transport, "sender", &cut->sender, out);
	fputc('}', out);
}

static void print_samples(const struct run *x, FILE *out)
{
	size_t k;

	fputs(",\"samples\":[", out);
	for (k = 0; k < x->sampled; k++) {
		const struct sample *s = &x->samples[k];

		fprintf(out, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", k ? "," : "",
			s->at_ns, s->arrived, s->sent, s->resent);
	}
	fputc(']', out);
}

/* One line for people. */
static void summarise(const struct options *opt, const struct run *x)
{
	unsigned int done = 0, k;
	uint64_t last = 0;

	for (k = 0; k < x->count; k++) {
		const struct flow *flow = &x->flows[k];

		done += flow->over && !flow->error && !flow->different;
		if (flow->end_ns > last)
			last = flow->end_ns;
	}
	printf("  %-8s %-12s seed %-3u %u of %u flows, last byte after %7.1f ms\n", opt->name,
	       opt->run, opt->seed, done, x->count, last / 1e6);
}

void flows_report(const struct options *opt, const struct run *x)
{
	FILE *out = opt->json ? fopen(opt->json, "ae") : stdout;
	unsigned int k;

	if (!out)
		die(opt->json);
	fprintf(out, "{\"kind\":\"flows\",\"run\":\"%s\",\"transport\":\"%s\"", opt->run, opt->name);
	print_field(out, "seed", opt->seed);
	print_field(out, "idle_ms", x->idle_ms);
	print_field(out, "limit_ms", opt->limit_ms);
	fputs(",\"flows\":[", out);
	for (k = 0; k < x->count; k++) {
		if (k)
			fputc(',', out);
		print_flow(&opt->transport, &x->flows[k], out);
	}
	fputc(']', out);
	fabric_print(&x->fabric, &x->moved, out);
	if (x->cut.spine)
		print_cut(opt, &x->cut, out);
	if (x->sampled)
		print_samples(x, out);
	fputs("}\n", out);
	if (fflush(out))
		die("writing the result");
	if (opt->json)
		summarise(opt, x);
}
