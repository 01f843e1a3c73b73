// SPDX-License-Identifier: GPL-2.0
/*
 * handshake KERNEL_NS PEER_NS KERNEL_ADDRESS PEER_ADDRESS
 *
 * What the kernel's end does on the wire, seen by a peer in user space: the
 * handshake on both sides, answers to strays, resets, order, marks, windows, and
 * what a peer can make it keep.
 */
#include <sys/wait.h>

#include "handshake.h"

#define TRIES_FILE	"/proc/sys/net/strack/retries"
#define FEW_TRIES	5

struct peer peer;
/* The same host by another address. */
static struct peer elsewhere;
static const char *kernel_ns, *peer_ns, *kernel_address, *peer_address;
static int family, listener, usual_tries;
static unsigned int failures;

void wire_check(bool good, const char *what, const char *file, int line)
{
	if (good)
		return;
	failures++;
	ktap_diag("  %s:%d: %s", file, line, what);
}

static void in_kernel_ns(void)
{
	if (enter_netns(kernel_ns))
		ktap_bail("namespace %s", kernel_ns);
}

long long count(const char *name)
{
	return strack_counter(name);
}

/* Whether the listener has a connection to give within @ms. */
static bool pending(unsigned int ms)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	return poll(&p, 1, slow(ms)) == 1;
}

/*
 * What waits for the kernel to give up lets it try less often. The usual number
 * gives the peer here some ten seconds for each answer; this one gives it 63 times
 * the first timeout of 1 ms, and who is merely slow has missed that.
 */
static void few_tries(bool few)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", few ? FEW_TRIES : usual_tries);
	CHECK(!write_text(TRIES_FILE, text));
}

int connected(struct peer_conn *c)
{
	int fd;

	if (peer_connect(&peer, c, PORT)) {
		CHECK(!"handshake");
		return -1;
	}
	CHECK(!peer_sync(&peer, c, NULL));
	fd = accept(listener, NULL, NULL);
	CHECK(fd >= 0);
	return fd;
}

static void stateless_until_cookie(void)
{
	const int flood = quick() ? 200 : 2000;
	long sockets = sockets_used();
	long long opens = count("PassiveOpens");
	long long challenges = count("ChallengeSent");
	uint8_t data[2048];
	int answered = 0;
	size_t n;

	for (int i = 0; i < flood; i++) {
		struct peer_conn c;

		peer_conn_init(&c, PORT);
		peer_send_init(&peer, &c);
		while ((n = peer_recv(&peer, data, sizeof(data), i % 50 ? 0 : 20))) {
			/* Never more bytes out than in. */
			CHECK(n <= WIRE_INIT_SIZE);
			answered += (data[0] & 15) == WIRE_CHALLENGE;
		}
	}
	while ((n = peer_recv(&peer, data, sizeof(data), slow(200))))
		answered += (data[0] & 15) == WIRE_CHALLENGE;
	CHECK(answered == flood);
	CHECK(count("ChallengeSent") - challenges == flood);
	CHECK(count("PassiveOpens") == opens);
	CHECK(sockets_used() == sockets);
	CHECK(!pending(0));
}

/*
 * Closes an accepted socket with a RESET: the end of its stream, which no peer
 * here acknowledges, would be repeated into the tests to come.
 */
void forget(int fd)
{
	struct linger hard = { 1, 0 };

	CHECK(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)));
	close(fd);
}

static void accepts_with_cookie(void)
{
	struct peer_conn c;
	struct sockaddr_strack sa;
	int fd = connected(&c);

	CHECK(c.remote_cid && c.remote_tag);
	CHECK(c.max_payload >= 1200 && c.max_payload <= 1500);
	CHECK(c.credit >= 16 && c.window >= 4096);
	st_getpeername(fd, &sa);
	CHECK(ntohs(sa.sst_port) == c.own_port);
	forget(fd);
}

/* Identifiers and numbers must not be guessable from earlier ones. */
static void numbers_are_random(void)
{
	struct peer_conn a, b;
	int fd[2];

	fd[0] = connected(&a);
	fd[1] = connected(&b);
	CHECK(a.remote_cid != b.remote_cid);
	CHECK(a.remote_tag != b.remote_tag && a.remote_tag - b.remote_tag + 1000 > 2000);
	CHECK(a.expected != b.expected && a.expected - b.expected + 1000 > 2000);
	forget(fd[0]);
	forget(fd[1]);
}

/* A cookie is for one address, port and identifier, not for another attempt. */
static void cookie_is_bound(void)
{
	long long forged = count("DropCookieForged");
	struct peer_conn c, other;
	uint8_t data[2048];

	peer_conn_init(&c, PORT);
	CHECK(!peer_get_cookie(&peer, &c));
	other = c;
	other.cid++;
	peer_send_init(&peer, &other);
	other = c;
	other.tag++;
	peer_send_init(&peer, &other);
	other = c;
	other.own_port++;
	peer_send_init(&peer, &other);
	other = c;
	other.psn++;
	peer_send_init(&peer, &other);
	other = c;
	other.cookie_time++;
	peer_send_init(&peer, &other);
	CHECK(!peer_expect(&peer, WIRE_ACCEPT, data, sizeof(data), slow(100)));
	CHECK(count("DropCookieForged") - forged == 5);
	CHECK(!pending(0));
	/* The right one still works. */
	CHECK(!peer_send_init(&peer, &c));
	CHECK(AWAIT(c, ACCEPT, data, 1000));
	CHECK(pending(1000));
	forget(accept(listener, NULL, NULL));
}

/* Whoever comes back with a cookie that has become too old gets another one, not a connection. */
static void cookie_expires(void)
{
	long long expired = count("DropCookieExpired"), opens = count("PassiveOpens"), challenges;
	uint8_t data[2048], other[2048];
	struct peer_conn c, wrong;
	uint64_t old;

	peer_conn_init(&c, PORT);
	CHECK(!peer_get_cookie(&peer, &c));
	wrong = c;
	wrong.cid++;
	old = c.cookie_time;
	challenges = count("ChallengeSent");
	sleep_ms(10500);
	/* First one that was not even good when it was new. */
	peer_send_init(&peer, &wrong);
	peer_send_init(&peer, &c);
	CHECK(AWAIT(c, CHALLENGE, data, 2000) == WIRE_INIT_SIZE);
	CHECK(wire_get32(data + AT_TAG) == c.tag);
	CHECK(count("DropCookieExpired") - expired == 1);
	CHECK(count("ChallengeSent") - challenges == 1);
	CHECK(!AWAIT(c, ACCEPT, other, 100));
	CHECK(count("PassiveOpens") == opens && !pending(0));
	c.cookie_time = wire_get64(data + AT_COOKIE_TIME);
	c.cookie_mac = wire_get64(data + AT_COOKIE_MAC);
	CHECK(c.cookie_time > old);
	peer_send_init(&peer, &c);
	if (!AWAIT(c, ACCEPT, data, 2000)) {
		CHECK(!"accepted");
		return;
	}
	CHECK(!peer_take_accept(&c, data) && !peer_sync(&peer, &c, NULL));
	forget(accept(listener, NULL, NULL));
}

/* INIT again, because the ACCEPT was lost: the same connection, not another. */
static void repeated_init(void)
{
	long long opens = count("PassiveOpens");
	struct peer_conn c, again;
	uint8_t data[2048];
	int fd;

	peer_conn_init(&c, PORT);
	CHECK(!peer_get_cookie(&peer, &c));
	peer_send_init(&peer, &c);
	CHECK(AWAIT(c, ACCEPT, data, 1000));
	CHECK(!peer_take_accept(&c, data));
	again = c;
	for (int i = 0; i < 3; i++) {
		peer_send_init(&peer, &c);
		CHECK(AWAIT(c, ACCEPT, data, 1000));
		CHECK(!peer_take_accept(&again, data));
		CHECK(again.remote_cid == c.remote_cid && again.expected == c.expected);
	}
	/* Soon, before the kernel gives up a client that says nothing. */
	CHECK(!peer_sync(&peer, &c, NULL));
	CHECK(count("PassiveOpens") - opens == 1);
	fd = accept(listener, NULL, NULL);
	CHECK(!pending(50));
	forget(fd);
}

/* The client never says a word after its INIT: the ACCEPT is repeated, then given up. */
static void silent_client(void)
{
	struct peer_conn c;
	uint8_t data[2048];
	int accepts = 0;

	few_tries(true);
	peer_conn_init(&c, PORT);
	CHECK(!peer_get_cookie(&peer, &c));
	peer_send_init(&peer, &c);
	while (AWAIT(c, ACCEPT, data, 100))
		accepts++;
	few_tries(false);
	CHECK(accepts == 1 + FEW_TRIES);
	forget(accept(listener, NULL, NULL));
}

static void refused_port(void)
{
	struct peer_conn c;
	uint8_t data[2048];

	peer_conn_init(&c, PORT + 1);
	peer_send_init(&peer, &c);
	CHECK(AWAIT(c, RESET, data, 1000) == WIRE_RESET_SIZE);
	CHECK(wire_get16(data + AT_AUX) == 1 && data[AT_FLAGS] == 0);
	CHECK(wire_get32(data + AT_DCID) == c.cid && wire_get32(data + AT_TAG) == c.tag);
}

static void unknown_version(void)
{
	struct peer_conn c;
	uint8_t init[WIRE_MAX_HEADER], data[2048];
	size_t n;

	peer_conn_init(&c, PORT);
	peer_build_init(&c, init);
	init[0] = 9 << 4 | WIRE_INIT;
	peer_send(&peer, 0, init, WIRE_INIT_SIZE);
	n = AWAIT(c, VERSION, data, 1000);
	CHECK(n == WIRE_VERSION_SIZE);
	CHECK(wire_get32(data + AT_DCID) == c.cid && wire_get32(data + AT_TAG) == c.tag);
	CHECK(wire_get16(data + AT_AUX) == 1 && wire_get16(data + 16) == 1);
	/* Not for one that is shorter than the answer, nor for other packets. */
	peer_send(&peer, 0, init, 40);
	init[0] = 9 << 4 | WIRE_DATA;
	peer_send(&peer, 0, init, WIRE_INIT_SIZE);
	init[0] = 9 << 4 | WIRE_VERSION;
	peer_send(&peer, 0, init, WIRE_VERSION_SIZE);
	CHECK(!peer_recv(&peer, data, sizeof(data), slow(100)));
}

static void stray_is_reflected(void)
{
	struct peer_conn c;
	uint8_t data[2048];

	peer_conn_init(&c, PORT);
	c.remote_cid = 0x12345678;
	c.remote_tag = 0x9abcdef0;
	peer_send_data(&peer, &c, 0, 77, 0, 100);
	CHECK(AWAIT(c, RESET, data, 1000) == WIRE_RESET_SIZE);
	CHECK(data[AT_FLAGS] == WIRE_RESET_REFLECT && wire_get16(data + AT_AUX) == 3);
	CHECK(wire_get32(data + AT_DCID) == c.cid);
	CHECK(wire_get32(data + AT_TAG) == c.remote_tag && wire_get32(data + AT_PSN) == 77);
	/* Acknowledgements and resets are not: two such ends would talk for ever. */
	peer_send_ack(&peer, &c);
	wire_common(data, WIRE_RESET, 0, 2, c.remote_cid, c.remote_tag, 0);
	peer_send(&peer, 0, data, WIRE_RESET_SIZE);
	CHECK(!peer_recv(&peer, data, sizeof(data), slow(100)));
}

/* A packet about a connection that is not to be: of @c, but for what @dcid and @tag say. */
static size_t build_stray(const struct peer_conn *c, enum wire_type type, uint32_t dcid, uint32_t tag,
			  uint8_t *out)
{
	struct peer_conn other = *c;

	memset(out, 0, WIRE_MAX_HEADER);
	other.remote_cid = dcid;
	other.remote_tag = tag;
	switch (type) {
	case WIRE_DATA:
	case WIRE_PROBE:
		peer_build_data(&other, out, type, type == WIRE_DATA ? WIRE_DATA_FIN : 0, 99, 0);
		return WIRE_DATA_SIZE;
	case WIRE_ACK:
		peer_build_ack(&other, out);
		return WIRE_ACK_SIZE;
	case WIRE_RESET:
		wire_common(out, type, 0, 2, dcid, tag, 99);
		return WIRE_RESET_SIZE;
	case WIRE_CHALLENGE:
		wire_common(out, type, 0, 0, dcid, tag, 0);
		wire_put64(out + AT_COOKIE_TIME, 99);
		return WIRE_INIT_SIZE;
	default:
		wire_common(out, type, 0, 1, dcid, tag, 99);
		wire_put32(out + AT_SCID, c->cid);
		wire_put32(out + AT_STAG, c->tag);
		wire_put16(out + AT_MAX_PAYLOAD, PEER_PAYLOAD);
		return WIRE_INIT_SIZE;
	}
}

/* Sends it, while @c goes on; the RESET that comes back goes to @answer, if one is to. */
static void try_stray(struct peer *from, const struct peer_conn *c, const uint8_t *packet, size_t len,
		      bool answered, uint8_t *answer)
{
	long long dropped = count("DropNoConnection"), resets = count("ResetSent");
	uint8_t data[2048] = { };

	CHECK(!peer_send(from, 0, packet, len));
	if (answered)
		CHECK(peer_expect(from, WIRE_RESET, data, sizeof(data), slow(2000)) ==
		      WIRE_RESET_SIZE);
	memcpy(answer, data, WIRE_RESET_SIZE);
	CHECK(!peer_sync(&peer, c, NULL));
	CHECK(count("ResetSent") - resets == answered);
	/* Nor do the counters of its host tell somebody more. */
	CHECK(count("DropNoConnection") - dropped == 1);
}

/* Who tries identifiers is told the same by those that exist, and the connection does not notice. */
static void identifiers_are_not_told(void)
{
	static const struct { enum wire_type type; bool answered; } tries[] = {
		{ WIRE_DATA, true }, { WIRE_PROBE, true }, { WIRE_ACCEPT, true },
		{ WIRE_ACK, false }, { WIRE_RESET, false }, { WIRE_CHALLENGE, false },
	};
	struct peer_conn c;
	int fd = connected(&c);

	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		uint8_t packet[WIRE_MAX_HEADER], nobody[WIRE_RESET_SIZE], known[WIRE_RESET_SIZE];
		const bool answered = tries[i].answered;
		size_t len = build_stray(&c, tries[i].type, c.remote_cid ^ 0x8000,
					 c.remote_tag ^ 0x10, packet);

		try_stray(&peer, &c, packet, len, answered, nobody);
		wire_put32(packet + AT_DCID, c.remote_cid);
		try_stray(&peer, &c, packet, len, answered, known);
		CHECK(!memcmp(nobody, known, sizeof(known)));
		/* Both numbers right, but not the address. */
		wire_put32(packet + AT_TAG, c.remote_tag);
		try_stray(&elsewhere, &c, packet, len, answered, known);
	}
	forget(fd);
}

/* The kernel connects to us, in a child, which exits with connect()'s errno. */
static pid_t kernel_connects(uint16_t port)
{
	struct sockaddr_strack sa;
	pid_t pid = fork();
	char byte;
	int fd;

	if (pid)
		return pid;
	fd = socket(family, SOCK_STREAM, 0);
	st_address(&sa, family, peer_address, port);
	if (st_connect(fd, &sa))
		_exit(errno);
	_exit(recv(fd, &byte, 1, 0) == 1 ? 0 : errno);
}

static int exit_of(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void answer_init(const uint8_t *init, enum wire_type type, uint32_t tag_change)
{
	uint8_t out[WIRE_MAX_HEADER];
	uint32_t cid = wire_get32(init + AT_SCID), tag = wire_get32(init + AT_STAG) ^ tag_change;

	wire_common(out, type, 0, type == WIRE_CHALLENGE ? 0 : 1, cid, tag, 0);
	if (type == WIRE_CHALLENGE) {
		wire_put64(out + AT_COOKIE_TIME, 1111);
		wire_put64(out + AT_COOKIE_MAC, 2222);
	} else if (type == WIRE_ACCEPT) {
		wire_put32(out + AT_PSN, 5000);
		wire_put32(out + AT_SCID, 0x1111);
		wire_put32(out + AT_STAG, 0x2222);
		wire_put16(out + AT_MAX_PAYLOAD, PEER_PAYLOAD);
		wire_put32(out + AT_INIT_CREDIT, PEER_CREDIT);
		wire_put32(out + AT_INIT_WINDOW, PEER_WINDOW);
	} else if (type == WIRE_VERSION) {
		wire_put16(out + 16, 7);
	}
	peer_send(&peer, 0, out, type == WIRE_VERSION ? WIRE_VERSION_SIZE :
		  type == WIRE_RESET ? WIRE_RESET_SIZE : WIRE_INIT_SIZE);
}

static void client_role(void)
{
	struct peer_conn c = { .cid = 0x1111, .tag = 0x2222, .psn = 5000 };
	uint8_t init[2048], data[2048];
	uint16_t first;
	pid_t pid;

	peer_flush(&peer);
	pid = kernel_connects(4000);
	CHECK(peer_expect(&peer, WIRE_INIT, init, sizeof(init), slow(2000)) == WIRE_INIT_SIZE);
	CHECK(wire_get64(init + AT_COOKIE_TIME) == 0 && wire_get32(init + AT_DCID) == 0);
	CHECK(wire_get16(init + AT_DST_PORT) == 4000);
	first = peer.sport;
	/* Not answered: it comes again, by another path. */
	CHECK(peer_expect(&peer, WIRE_INIT, init, sizeof(init), slow(2000)));
	CHECK(peer.sport != first);
	/* Answers with a wrong tag, or out of turn, do not count. */
	answer_init(init, WIRE_CHALLENGE, 1);
	answer_init(init, WIRE_ACCEPT, 0);
	answer_init(init, WIRE_RESET, 1);
	answer_init(init, WIRE_VERSION, 1);
	answer_init(init, WIRE_CHALLENGE, 0);
	do {
		CHECK(peer_expect(&peer, WIRE_INIT, data, sizeof(data), slow(2000)));
	} while (!wire_get64(data + AT_COOKIE_TIME) && !failures);
	CHECK(wire_get64(data + AT_COOKIE_TIME) == 1111);
	CHECK(wire_get64(data + AT_COOKIE_MAC) == 2222);
	CHECK(wire_get32(data + AT_SCID) == wire_get32(init + AT_SCID));
	answer_init(init, WIRE_ACCEPT, 1);
	answer_init(init, WIRE_ACCEPT, 0);
	c.remote_cid = wire_get32(init + AT_SCID);
	c.remote_tag = wire_get32(init + AT_STAG);
	CHECK(!peer_sync(&peer, &c, NULL));
	peer_send_data(&peer, &c, 0, 5000, 0, 1);
	CHECK(exit_of(pid) == 0);
}

static void client_is_refused(void)
{
	uint8_t init[2048];
	pid_t pid;

	peer_flush(&peer);
	pid = kernel_connects(4001);
	CHECK(peer_expect(&peer, WIRE_INIT, init, sizeof(init), slow(2000)));
	answer_init(init, WIRE_RESET, 0);
	CHECK(exit_of(pid) == ECONNREFUSED);
}

static void client_version_mismatch(void)
{
	uint8_t init[2048];
	pid_t pid;

	peer_flush(&peer);
	pid = kernel_connects(4002);
	CHECK(peer_expect(&peer, WIRE_INIT, init, sizeof(init), slow(2000)));
	answer_init(init, WIRE_VERSION, 0);
	CHECK(exit_of(pid) == EPROTO);
}

static void client_gives_up(void)
{
	uint8_t init[2048];
	int inits = 0;
	pid_t pid;

	peer_flush(&peer);
	few_tries(true);
	pid = kernel_connects(4003);
	while (peer_expect(&peer, WIRE_INIT, init, sizeof(init), slow(700)))
		inits++;
	few_tries(false);
	CHECK(exit_of(pid) == ETIMEDOUT);
	CHECK(inits == 1 + FEW_TRIES);
}

static const struct wire_case cases[] = {
	{ "a flood of INITs leaves no state", stateless_until_cookie },
	{ "INIT with cookie is accepted", accepts_with_cookie },
	{ "identifiers, tags and first numbers are random", numbers_are_random },
	{ "a cookie is good for its attempt only", cookie_is_bound },
	{ "a cookie expires, and is replaced", cookie_expires },
	{ "INIT repeated: the same connection", repeated_init },
	{ "client silent after INIT", silent_client },
	{ "nobody listens: refused", refused_port },
	{ "unknown version is answered", unknown_version },
	{ "stray data is reflected", stray_is_reflected },
	{ "nobody is told which identifiers exist", identifiers_are_not_told },
	{ "kernel as client", client_role },
	{ "kernel as client: refused", client_is_refused },
	{ "kernel as client: version mismatch", client_version_mismatch },
	{ "kernel as client: gives up", client_gives_up },
};

static void run(const struct wire_case *c, unsigned int n)
{
	for (; n--; c++) {
		failures = 0;
		peer_flush(&peer);
		c->run();
		ktap_result(!failures, c->name);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_strack sa;

	if (argc != 6)
		return 2;
	kernel_ns = argv[1];
	peer_ns = argv[2];
	kernel_address = argv[3];
	peer_address = argv[4];
	family = strack_family();
	ktap_plan(ARRAY_SIZE(cases) + exchange_count + hoard_count);
	hoard_prepare();
	in_kernel_ns();
	usual_tries = read_long(TRIES_FILE, -1);
	listener = socket(family, SOCK_STREAM, 0);
	st_address(&sa, family, kernel_address, PORT);
	if (listener < 0 || st_bind(listener, &sa) || listen(listener, 64))
		ktap_bail("listen: %s", strerror(errno));
	if (enter_netns(peer_ns) || peer_open(&peer, peer_address, kernel_address))
		ktap_bail("peer: %s", strerror(errno));
	if (peer_open(&elsewhere, argv[5], kernel_address))
		ktap_bail("peer at %s: %s", argv[5], strerror(errno));
	in_kernel_ns();
	run(cases, ARRAY_SIZE(cases));
	run(exchange_cases, exchange_count);
	run(hoard_cases, hoard_count);
	return ktap_finish();
}
