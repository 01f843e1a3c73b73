// SPDX-License-Identifier: GPL-2.0
/*
 * wirebox [-n NETNS] [-l LOG] DEV_A DEV_B [RULE]...
 *
 * A cable with scissors: passes every frame between two devices, except what
 * a rule says. More rules can be given on standard input, one on a line, while
 * it runs; each is answered with "ok" as soon as it is in force. Ends at the
 * end of the input or on SIGTERM.
 *
 *	drop DIR COUNT [TERM]...	drops the next COUNT matches (0: all)
 *	dup DIR COUNT [TERM]...		passes them twice
 *	clear				forgets all rules
 *	count				prints the matches of each rule so far
 *
 * DIR is ab, ba or both. Terms, all of which must hold:
 *	type=N		STrack packet type (1 DATA, 2 PROBE, 3 ACK, 4 INIT, ...)
 *	flag=M		STrack or TCP flags: one of the bits of M is set
 *	noflag=M	none of the bits of M is set
 *	data		carries payload
 *	sport=N		UDP or TCP source port
 *	psn=N		STrack sequence number
 *
 * Only STrack and TCP packets match; ARP and the like always pass. With -l each
 * such packet is logged, with pass, drop or dup as its fate (see packet_log()).
 */
#include <poll.h>
#include <signal.h>

#include "../lib/packet.h"

#define MAX_RULES	32

enum { AB = 1, BA = 2 };

struct rule {
	bool dup;
	int dirs;
	unsigned int limit, matches;
	int type, flag, noflag, sport;
	bool data, has_psn;
	uint32_t psn;
};

static struct rule rules[MAX_RULES];
static unsigned int rule_count;
static uint16_t udp_port;
static FILE *log_file;
static sig_atomic_t stop;

static void on_term(int signal)
{
	(void)signal;
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

static bool parse_term(struct rule *r, const char *word)
{
	if (sscanf(word, "type=%i", &r->type) == 1 || sscanf(word, "flag=%i", &r->flag) == 1 ||
	    sscanf(word, "noflag=%i", &r->noflag) == 1 || sscanf(word, "sport=%i", &r->sport) == 1)
		return true;
	if (sscanf(word, "psn=%" SCNu32, &r->psn) == 1)
		return r->has_psn = true;
	if (!strcmp(word, "data"))
		return r->data = true;
	return false;
}

static bool parse_rule(char *text)
{
	struct rule r = { };
	char *save, *word = strtok_r(text, " \t\n", &save);

	if (!word)
		return true;
	if (!strcmp(word, "clear")) {
		rule_count = 0;
		return true;
	}
	if (!strcmp(word, "count")) {
		for (unsigned int i = 0; i < rule_count; i++)
			printf("rule %u matched %u\n", i, rules[i].matches);
		return true;
	}
	r.dup = !strcmp(word, "dup");
	if ((!r.dup && strcmp(word, "drop")) || rule_count == MAX_RULES)
		return false;
	word = strtok_r(NULL, " \t\n", &save);
	if (!word)
		return false;
	r.dirs = !strcmp(word, "ab") ? AB : !strcmp(word, "ba") ? BA :
		 !strcmp(word, "both") ? AB | BA : 0;
	word = strtok_r(NULL, " \t\n", &save);
	if (!r.dirs || !word)
		return false;
	r.limit = strtoul(word, NULL, 0);
	while ((word = strtok_r(NULL, " \t\n", &save)))
		if (!parse_term(&r, word))
			return false;
	rules[rule_count++] = r;
	return true;
}

static bool matches(const struct rule *r, const struct frame *f, const struct packet_summary *s, int dir)
{
	return (r->dirs & dir) && (!r->limit || r->matches < r->limit) &&
	       (!r->type || r->type == (int)s->type) &&
	       (!r->flag || (r->flag & s->flags)) && !(r->noflag & s->flags) &&
	       (!r->sport || r->sport == f->sport) && (!r->data || s->data) &&
	       (!r->has_psn || r->psn == s->psn);
}

/* How often the packet is to be passed on. */
static int judge(const struct packet *pkt, int dir)
{
	struct packet_summary s;
	struct frame f;
	int copies = 1;

	packet_frame(pkt, &f, udp_port);
	if (f.kind == FRAME_OTHER)
		return 1;
	s = packet_summarise(&f);
	for (unsigned int i = 0; i < rule_count; i++) {
		if (!matches(&rules[i], &f, &s, dir))
			continue;
		rules[i].matches++;
		copies = rules[i].dup ? 2 : 0;
		break;
	}
	if (log_file)
		packet_log(log_file, pkt, &f, dir == AB ? "ab" : "ba",
			   copies == 1 ? "pass" : copies ? "dup" : "drop");
	return copies;
}

static void forward(int from, int to, int dir)
{
	static uint8_t buffer[PACKET_MAX];
	struct packet pkt;

	for (int budget = 0; budget < 256 && packet_read(from, buffer, &pkt); budget++) {
		for (int copies = judge(&pkt, dir); copies > 0; copies--) {
			if (send(to, pkt.data, pkt.len, 0) < 0 && errno != ENETDOWN)
				fprintf(stderr, "wirebox: send of %zu bytes: %s\n", pkt.len,
					strerror(errno));
		}
	}
}

/* Takes complete lines from standard input; false at its end. */
static bool read_rules(void)
{
	static char buffer[4096];
	static size_t used;
	ssize_t n = read(0, buffer + used, sizeof(buffer) - 1 - used);
	char *line = buffer, *end;

	if (n <= 0)
		return false;
	used += n;
	buffer[used] = 0;
	while ((end = strchr(line, '\n'))) {
		*end = 0;
		puts(parse_rule(line) ? "ok" : "bad rule");
		line = end + 1;
	}
	used -= line - buffer;
	memmove(buffer, line, used);
	return true;
}

static void run(int a, int b)
{
	struct pollfd p[] = {
		{ .fd = a, .events = POLLIN }, { .fd = b, .events = POLLIN },
		{ .fd = 0, .events = POLLIN },
	};

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (poll(p, 3, -1) < 0)
			continue;
		if (p[2].revents && !read_rules())
			return;
		if (p[0].revents)
			forward(a, b, AB);
		if (p[1].revents)
			forward(b, a, BA);
		if (log_file)
			fflush(log_file);
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_term };
	const char *ns = NULL;
	int a, b, o;

	while ((o = getopt(argc, argv, "+n:l:")) != -1) {
		if (o == 'n')
			ns = optarg;
		else if (o == 'l')
			log_file = fopen(optarg, "we");
		else
			return 2;
	}
	if (argc - optind < 2) {
		fputs("usage: wirebox [-n NETNS] [-l LOG] DEV_A DEV_B [RULE]...\n", stderr);
		return 2;
	}
	for (int i = optind + 2; i < argc; i++) {
		if (!parse_rule(argv[i])) {
			fprintf(stderr, "wirebox: bad rule %d\n", i - optind - 1);
			return 2;
		}
	}
	udp_port = strack_udp_port();
	a = packet_open(ns, argv[optind], false);
	b = a < 0 ? -1 : packet_open(NULL, argv[optind + 1], false);
	if (a < 0 || b < 0) {
		fprintf(stderr, "wirebox: cannot open the devices: %s\n", strerror(errno));
		return 1;
	}
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	run(a, b);
	if (packet_lost(a) || packet_lost(b)) {
		fputs("wirebox: the kernel dropped packets on the way in\n", stderr);
		return 1;
	}
	return log_file && fclose(log_file) ? 1 : 0;
}
