// SPDX-License-Identifier: GPL-2.0
/*
 * malformed KERNEL_NS PEER_NS KERNEL_ADDRESS PEER_ADDRESS
 *
 * Every way in which a packet can be wrong: it is dropped, counted under its own
 * reason and nowhere else, and the connection it was aimed at does not notice.
 *
 * A case is a good packet with one or two fields changed. After each, a PROBE is
 * sent and answered, so the packet has been looked at when the counters are read.
 */
#include <sys/wait.h>

#include "../lib/peer.h"

#define PORT	7600

enum base { DATA, PROBE, ACK, INIT, CHALLENGE, ACCEPT, RESET, REFLECT, VERSION, BASES };

static const char *const base_names[] = { "DATA", "PROBE", "ACK", "INIT", "CHALLENGE", "ACCEPT",
					  "RESET", "RESET", "VERSION" };

enum how { NONE, SET, ADD };

struct patch {
	enum how how;
	unsigned int at, bytes;
	uint64_t value;
};

struct wrong {
	const char *what;
	enum base base;
	const char *counter;
	struct patch patch[2];
	int longer;			/* bytes added behind the packet */
};

#define FIELD_SET(at, bytes, value)	{ SET, at, bytes, value }
#define FIELD_ADD(at, bytes, value)	{ ADD, at, bytes, (uint64_t)(value) }

static const struct wrong wrongs[] = {
	{ "version 0", DATA, "WireVersion", { FIELD_SET(0, 1, 0x01) }, 0 },
	{ "version 2", DATA, "WireVersion", { FIELD_SET(0, 1, 0x21) }, 0 },
	{ "version 15", ACK, "WireVersion", { FIELD_SET(0, 1, 0xf3) }, 0 },
	{ "type 0", DATA, "WireType", { FIELD_SET(0, 1, 0x10) }, 0 },
	{ "type 9", DATA, "WireType", { FIELD_SET(0, 1, 0x19) }, 0 },
	{ "type 15", DATA, "WireType", { FIELD_SET(0, 1, 0x1f) }, 0 },

	{ "undefined flag", DATA, "WireFlags", { FIELD_SET(1, 1, 0x10) }, 0 },
	{ "undefined flag", PROBE, "WireFlags", { FIELD_SET(1, 1, 0x80) }, 0 },
	{ "undefined flag", ACK, "WireFlags", { FIELD_SET(1, 1, 0x40) }, 0 },
	{ "undefined flag", INIT, "WireFlags", { FIELD_SET(1, 1, 0x01) }, 0 },
	{ "undefined flag", CHALLENGE, "WireFlags", { FIELD_SET(1, 1, 0x01) }, 0 },
	{ "undefined flag", ACCEPT, "WireFlags", { FIELD_SET(1, 1, 0x40) }, 0 },
	{ "undefined flag", RESET, "WireFlags", { FIELD_SET(1, 1, 0x02) }, 0 },
	{ "undefined flag", VERSION, "WireFlags", { FIELD_SET(1, 1, 0x01) }, 0 },

	{ "identifier zero", DATA, "WireId", { FIELD_SET(AT_DCID, 4, 0) }, 0 },
	{ "identifier zero", PROBE, "WireId", { FIELD_SET(AT_DCID, 4, 0) }, 0 },
	{ "identifier zero", ACK, "WireId", { FIELD_SET(AT_DCID, 4, 0) }, 0 },
	{ "identifier zero", CHALLENGE, "WireId", { FIELD_SET(AT_DCID, 4, 0) }, 0 },
	{ "identifier zero", ACCEPT, "WireId", { FIELD_SET(AT_DCID, 4, 0) }, 0 },
	{ "identifier zero", RESET, "WireId", { FIELD_SET(AT_DCID, 4, 0) }, 0 },
	{ "identifier zero", VERSION, "WireId", { FIELD_SET(AT_DCID, 4, 0) }, 0 },
	{ "identifier not zero", INIT, "WireId", { FIELD_SET(AT_DCID, 4, 1) }, 0 },
	{ "tag not zero", INIT, "WireId", { FIELD_SET(AT_TAG, 4, 1) }, 0 },
	{ "own identifier zero", INIT, "WireId", { FIELD_SET(AT_SCID, 4, 0) }, 0 },
	{ "own identifier zero", ACCEPT, "WireId", { FIELD_SET(AT_SCID, 4, 0) }, 0 },

	{ "reserved field", ACK, "WireReserved", { FIELD_SET(62, 2, 1) }, 0 },
	{ "reserved field", INIT, "WireReserved", { FIELD_SET(30, 2, 1) }, 0 },
	{ "last reserved byte", INIT, "WireReserved", { FIELD_SET(63, 1, 1) }, 0 },
	{ "reserved field", CHALLENGE, "WireReserved", { FIELD_SET(16, 1, 1) }, 0 },
	{ "reserved field", ACCEPT, "WireReserved", { FIELD_SET(56, 1, 1) }, 0 },
	{ "reserved field", RESET, "WireReserved", { FIELD_SET(16, 1, 1) }, 0 },
	{ "reserved field", VERSION, "WireReserved", { FIELD_SET(30, 2, 1) }, 0 },

	{ "payload", PROBE, "WireTrailing", { }, 1 },
	{ "a byte too many", ACK, "WireTrailing", { }, 1 },
	{ "a byte too many", INIT, "WireTrailing", { }, 1 },
	{ "a byte too many", CHALLENGE, "WireTrailing", { }, 1 },
	{ "a byte too many", ACCEPT, "WireTrailing", { }, 1 },
	{ "a byte too many", RESET, "WireTrailing", { }, 1 },
	{ "a byte too many", VERSION, "WireTrailing", { }, 1 },
	{ "nothing in it", DATA, "WireDataEmpty", { }, -100 },

	{ "bitmap without flag", ACK, "WireAckSack", { FIELD_SET(AT_SACK_BITS, 8, 1) }, 0 },
	{ "penalty 128", ACK, "WireAckPenalty", { FIELD_SET(AT_PENALTY, 2, 128) }, 0 },
	{ "largest payload 0", INIT, "WireMaxPayload", { FIELD_SET(AT_MAX_PAYLOAD, 2, 0) }, 0 },
	{ "largest payload 63", INIT, "WireMaxPayload", { FIELD_SET(AT_MAX_PAYLOAD, 2, 63) }, 0 },
	{ "largest payload 0", ACCEPT, "WireMaxPayload", { FIELD_SET(AT_MAX_PAYLOAD, 2, 0) }, 0 },
	{ "code 0", RESET, "WireResetCode", { FIELD_SET(AT_AUX, 2, 0) }, 0 },
	{ "code 7", RESET, "WireResetCode", { FIELD_SET(AT_AUX, 2, 7) }, 0 },
	{ "no version", VERSION, "WireVersionCount", { FIELD_SET(AT_AUX, 2, 0) }, 0 },
	{ "nine versions", VERSION, "WireVersionCount", { FIELD_SET(AT_AUX, 2, 9) }, 0 },

	{ "unknown connection", DATA, "DropNoConnection", { FIELD_ADD(AT_DCID, 4, 1) }, 0 },
	{ "unknown connection", PROBE, "DropNoConnection", { FIELD_ADD(AT_DCID, 4, 1) }, 0 },
	{ "unknown connection", ACK, "DropNoConnection", { FIELD_ADD(AT_DCID, 4, 1) }, 0 },
	{ "unknown connection", RESET, "DropNoConnection", { FIELD_ADD(AT_DCID, 4, 1) }, 0 },
	{ "wrong tag", DATA, "DropNoConnection", { FIELD_ADD(AT_TAG, 4, 1) }, 0 },
	{ "wrong tag", PROBE, "DropNoConnection", { FIELD_ADD(AT_TAG, 4, 1) }, 0 },
	{ "wrong tag", ACK, "DropNoConnection", { FIELD_ADD(AT_TAG, 4, 1) }, 0 },
	{ "wrong tag", RESET, "DropNoConnection", { FIELD_ADD(AT_TAG, 4, 1) }, 0 },
	{ "wrong tag, reflected", REFLECT, "DropNoConnection", { FIELD_ADD(AT_TAG, 4, 1) }, 0 },
	{ "receiver's tag, reflected", RESET, "DropNoConnection",
	  { FIELD_SET(AT_FLAGS, 1, WIRE_RESET_REFLECT) }, 0 },
	{ "sender's identifier", DATA, "DropNoConnection", { FIELD_ADD(AT_SENDER_CID, 4, 1) }, 0 },
	{ "sender's identifier", PROBE, "DropNoConnection", { FIELD_ADD(AT_SENDER_CID, 4, 1) }, 0 },
	{ "for an open connection", CHALLENGE, "DropState", { }, 0 },
	{ "for an open connection", ACCEPT, "DropState", { }, 0 },
	{ "for an open connection", VERSION, "DropState", { FIELD_SET(16, 2, 2) }, 0 },

	{ "beyond the credit", DATA, "DropCredit", { FIELD_ADD(AT_PSN, 4, 100000) }, 0 },
	{ "beyond the window", DATA, "DropWindow",
	  { FIELD_ADD(AT_PSN, 4, 1), FIELD_ADD(AT_OFFSET, 8, 1ULL << 40) }, 0 },
	{ "larger than agreed", DATA, "DropOversize", { }, 1500 },
	{ "offset leaves a gap", DATA, "DropOffset", { FIELD_ADD(AT_OFFSET, 8, 1) }, 0 },
	{ "offset overlaps", DATA, "DropOffset", { FIELD_ADD(AT_OFFSET, 8, -1) }, 0 },

	{ "of what was not sent", ACK, "DropAckUnsent", { FIELD_ADD(AT_PSN, 4, 1) }, 0 },
	{ "trigger was not sent", ACK, "DropAckUnsent", { FIELD_ADD(AT_TRIGGER, 4, 1) }, 0 },
	{ "far too old", ACK, "DropAckOld", { FIELD_ADD(AT_PSN, 4, -100000) }, 0 },
	{ "out of order what was not sent", ACK, "DropAckSack", { FIELD_SET(AT_OOO, 2, 1) }, 0 },
	{ "bitmap of what was not sent", ACK, "DropAckSack",
	  { FIELD_SET(AT_FLAGS, 1, WIRE_ACK_SACK), FIELD_SET(AT_SACK_BITS, 8, 2) }, 0 },
	{ "more bytes than sent", ACK, "DropAckBytes", { FIELD_ADD(AT_BYTES, 8, 1) }, 0 },
	{ "fewer bytes than acknowledged", ACK, "DropAckBytes", { FIELD_ADD(AT_BYTES, 8, -1) }, 0 },
	{ "unbelievable credit", ACK, "DropAckCredit", { FIELD_ADD(AT_CREDIT, 4, 1 << 20) }, 0 },
	{ "unbelievable window", ACK, "DropAckCredit", { FIELD_SET(AT_WINDOW, 4, 0x80000000u) }, 0 },
	{ "echo of a path never used", ACK, "DropAckEcho", { FIELD_SET(AT_AUX, 2, 1) }, 0 },

	{ "made-up cookie", INIT, "DropCookieForged",
	  { FIELD_SET(AT_COOKIE_TIME, 8, 12345), FIELD_SET(AT_COOKIE_MAC, 8, 1) }, 0 },
};

static struct peer peer;
static struct peer_conn conn;
static int kernel_fd;

static size_t build(enum base base, uint8_t *out)
{
	switch (base) {
	case DATA:
		peer_build_data(&conn, out, WIRE_DATA, 0, conn.psn, conn.offset);
		memset(out + WIRE_DATA_SIZE, 'x', 100);
		return WIRE_DATA_SIZE + 100;
	case PROBE:
		peer_build_data(&conn, out, WIRE_PROBE, 0, conn.psn, conn.offset);
		return WIRE_DATA_SIZE;
	case ACK:
		peer_build_ack(&conn, out);
		return WIRE_ACK_SIZE;
	case INIT:
		peer_build_init(&conn, out);
		wire_put64(out + AT_COOKIE_TIME, 0);
		wire_put64(out + AT_COOKIE_MAC, 0);
		return WIRE_INIT_SIZE;
	case CHALLENGE:
		wire_common(out, WIRE_CHALLENGE, 0, 0, conn.remote_cid, conn.remote_tag, 0);
		wire_put64(out + AT_COOKIE_TIME, 99);
		return WIRE_INIT_SIZE;
	case ACCEPT:
		wire_common(out, WIRE_ACCEPT, 0, 1, conn.remote_cid, conn.remote_tag, conn.psn);
		wire_put32(out + AT_SCID, conn.cid + 1);
		wire_put32(out + AT_STAG, conn.tag);
		wire_put16(out + AT_MAX_PAYLOAD, PEER_PAYLOAD);
		return WIRE_INIT_SIZE;
	case RESET:
		wire_common(out, WIRE_RESET, 0, 2, conn.remote_cid, conn.remote_tag, conn.psn);
		return WIRE_RESET_SIZE;
	case REFLECT:
		wire_common(out, WIRE_RESET, WIRE_RESET_REFLECT, 3, conn.remote_cid, conn.tag,
			    conn.expected);
		return WIRE_RESET_SIZE;
	default:
		wire_common(out, WIRE_VERSION, 0, 1, conn.remote_cid, conn.remote_tag, 0);
		wire_put16(out + 16, 1);
		return WIRE_VERSION_SIZE;
	}
}

static void apply(const struct patch *patch, uint8_t *packet)
{
	uint64_t value = patch->value;

	if (patch->how == NONE)
		return;
	if (patch->how == ADD)
		value += wire_get(packet + patch->at, patch->bytes);
	wire_put(packet + patch->at, patch->bytes, value);
}

/* Only @name may have grown of all drop counters, and by @want. */
static bool only_counted(const struct snmp *before, const struct snmp *after, const char *name,
			 long long want)
{
	bool good = true;

	if (snmp_growth(before, after, name) != want) {
		ktap_diag("  %s grew by %lld, expected %lld", name,
			  snmp_growth(before, after, name), want);
		good = false;
	}
	for (unsigned int i = 0; i < after->count; i++) {
		long long growth = after->value[i] - before->value[i];

		if (growth && snmp_is_drop(after->name[i]) && strcmp(after->name[i], name)) {
			ktap_diag("  %s grew by %lld", after->name[i], growth);
			good = false;
		}
	}
	return good;
}

/* The kernel's view of our stream has not moved, and the socket has no news. */
static bool unaffected(const uint8_t *ack, uint64_t bytes)
{
	char byte;

	if (wire_get32(ack + AT_PSN) != conn.psn || wire_get64(ack + AT_BYTES) != bytes) {
		ktap_diag("  the connection moved: next PSN %u, expected %u; %llu bytes",
			  wire_get32(ack + AT_PSN), conn.psn,
			  (unsigned long long)wire_get64(ack + AT_BYTES));
		return false;
	}
	if (recv(kernel_fd, &byte, 1, MSG_DONTWAIT) != -1 || errno != EAGAIN) {
		ktap_diag("  the socket has news: %s", strerror(errno));
		return false;
	}
	return true;
}

static void run_wrong(const struct wrong *w)
{
	static uint8_t packet[4096];
	struct snmp before, after;
	uint8_t ack[WIRE_ACK_SIZE];
	char name[128];
	size_t len;
	bool good;

	snprintf(name, sizeof(name), "%s: %s", base_names[w->base], w->what);
	memset(packet, 'x', sizeof(packet));
	len = build(w->base, packet) + w->longer;
	apply(&w->patch[0], packet);
	apply(&w->patch[1], packet);
	snmp_read(&before);
	if (peer_send(&peer, 1, packet, len) || peer_sync(&peer, &conn, ack)) {
		ktap_diag("  no answer to a PROBE afterwards: %s", strerror(errno));
		ktap_result(false, name);
		return;
	}
	snmp_read(&after);
	good = only_counted(&before, &after, w->counter, 1);
	ktap_result(unaffected(ack, conn.offset) && good, name);
}

/* Every length from nothing to one byte less than the header. */
static void run_truncated(enum base base)
{
	static const unsigned int header[] = { 32, 32, 64, 64, 64, 64, 24, 24, 32 };
	uint8_t packet[4096], ack[WIRE_ACK_SIZE];
	struct snmp before, after;
	bool good = true;
	char name[64];

	snprintf(name, sizeof(name), "%s: cut off at every length", base_names[base]);
	build(base, packet);
	snmp_read(&before);
	for (size_t len = 1; len < 16; len++)
		good &= !peer_send(&peer, len, packet, len);
	good &= !peer_sync(&peer, &conn, ack);
	snmp_read(&after);
	good &= only_counted(&before, &after, "WireTruncated", 15);
	before = after;
	for (size_t len = 16; len < header[base]; len++)
		good &= !peer_send(&peer, len, packet, len);
	good &= !peer_sync(&peer, &conn, ack);
	snmp_read(&after);
	good &= only_counted(&before, &after, "WireHeaderCut", header[base] - 16);
	ktap_result(good && unaffected(ack, conn.offset), name);
}

static void run_empty(void)
{
	struct snmp before, after;
	uint8_t ack[WIRE_ACK_SIZE];
	bool good;

	snmp_read(&before);
	good = !peer_send(&peer, 0, "", 0) && !peer_sync(&peer, &conn, ack);
	snmp_read(&after);
	good &= only_counted(&before, &after, "RxShort", 1);
	ktap_result(good && unaffected(ack, conn.offset), "empty datagram");
}

/*
 * Any bytes at all, without the tag (a guess of 32 bits): whatever they say,
 * each is dropped once, and the connection does not notice.
 */
static void run_noise(void)
{
	enum { PACKETS = 3000 };
	struct snmp before, after;
	uint8_t packet[300], ack[WIRE_ACK_SIZE];
	uint64_t state = 42, drops = 0, inits = 0;
	bool good = true;

	snmp_read(&before);
	for (int i = 0; i < PACKETS; i++) {
		size_t len;

		for (size_t at = 0; at < sizeof(packet); at += 8) {
			uint64_t word = pattern_word(state, at);

			memcpy(packet + at, &word, sizeof(packet) - at < 8 ? 4 : 8);
		}
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		len = 1 + (state >> 33) % sizeof(packet);
		/* Most of them get further than the first check. */
		packet[0] = i % 4 ? WIRE_VERSION_1 << 4 | (state >> 20 & 7) : packet[0];
		if (i % 2)
			packet[AT_FLAGS] = 0;
		if (i % 3)
			wire_put32(packet + AT_DCID, conn.remote_cid);
		if (len >= 64 && (packet[0] & 15) == WIRE_INIT)
			inits++;
		good &= !peer_send(&peer, i, packet, len);
		if (i % 64 == 63)
			good &= !peer_sync(&peer, &conn, ack);
	}
	good &= !peer_sync(&peer, &conn, ack);
	snmp_read(&after);
	for (unsigned int i = 0; i < after.count; i++)
		if (snmp_is_drop(after.name[i]))
			drops += after.value[i] - before.value[i];
	if (drops > PACKETS || drops + inits < PACKETS) {
		ktap_diag("  %llu of %d packets counted as dropped", (unsigned long long)drops,
			  PACKETS);
		good = false;
	}
	ktap_result(good && unaffected(ack, conn.offset), "noise");
}

#define TRACE_DIR	"/sys/kernel/tracing/"

/*
 * Packets that the module has said to be lost since the trace was last emptied: by
 * the tracepoint that drop_monitor and its like listen to.
 */
static unsigned int reported(void)
{
	FILE *file = fopen(TRACE_DIR "trace", "re");
	unsigned int lines = 0;
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		lines += strstr(line, " kfree_skb: ") && strstr(line, "[strack]");
	if (file)
		fclose(file);
	return lines;
}

static bool empty_trace(void)
{
	/* a file that is opened to be cut is cleared */
	int fd = open(TRACE_DIR "trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	return fd >= 0 && !close(fd);
}

/* What is taken, and read or not yet read, is not lost; what nobody takes is, once. */
static void run_reported(void)
{
	enum { ROUNDS = 20, WRONG = 5 };
	static const char name[] = "only what is dropped is reported as dropped";
	const uint64_t want = conn.received + ROUNDS * 5;
	uint8_t packet[WIRE_MAX_HEADER], got[1000];
	bool good;

	if (write_text(TRACE_DIR "events/skb/kfree_skb/enable", "1")) {
		ktap_skip(name, "no tracing");
		return;
	}
	good = empty_trace();
	for (int i = 0; i < ROUNDS; i++) {
		good &= !peer_send_data(&peer, &conn, WIRE_DATA_ACK_REQ, conn.psn, conn.offset,
					sizeof(got));
		good &= recv(kernel_fd, got, sizeof(got), MSG_WAITALL) == sizeof(got);
		conn.psn++;
		conn.offset += sizeof(got);
		good &= send(kernel_fd, "taken", 5, 0) == 5;
	}
	good &= peer_receive(&peer, &conn, want) && !peer_sync(&peer, &conn, NULL);
	if (reported()) {
		ktap_diag("  %u packets that were taken are said to be lost", reported());
		good = false;
	}
	good &= empty_trace();
	for (int i = 0; i < WRONG; i++) {
		wire_common(packet, WIRE_RESET, 0, 2, conn.remote_cid + 1, conn.remote_tag, 0);
		good &= !peer_send(&peer, i, packet, WIRE_RESET_SIZE);
	}
	good &= !peer_sync(&peer, &conn, NULL);
	if (reported() != WRONG) {
		ktap_diag("  %u of %d packets dropped are said to be", reported(), WRONG);
		good = false;
	}
	good &= !write_text(TRACE_DIR "events/skb/kfree_skb/enable", "0");
	ktap_result(good, name);
}

/* After all of it both directions still work. */
static void run_alive(void)
{
	uint8_t got[1200];
	bool good;

	good = !peer_send_data(&peer, &conn, WIRE_DATA_ACK_REQ, conn.psn, conn.offset, 1000);
	good &= recv(kernel_fd, got, 1000, MSG_WAITALL) == 1000;
	good &= pattern_check(got, 1000, 7, conn.offset) == 1000;
	conn.psn++;
	conn.offset += 1000;
	good &= send(kernel_fd, "alive", 5, 0) == 5;
	good &= peer_receive(&peer, &conn, conn.received + 5);
	ktap_result(good, "the connection works as before");
}

static void connect_both(const char *kernel_ns, const char *peer_ns, const char *kernel,
			 const char *local)
{
	struct sockaddr_strack sa;
	int listener;

	if (enter_netns(kernel_ns))
		ktap_bail("namespace %s", kernel_ns);
	/* What is repeated because this side is slow would only be in the way. */
	write_text("/proc/sys/net/strack/rto_min_us", "1000000");
	listener = socket(strack_family(), SOCK_STREAM, 0);
	st_address(&sa, strack_family(), kernel, PORT);
	if (listener < 0 || st_bind(listener, &sa) || listen(listener, 4))
		ktap_bail("listen: %s", strerror(errno));
	if (enter_netns(peer_ns) || peer_open(&peer, local, kernel))
		ktap_bail("peer: %s", strerror(errno));
	if (peer_connect(&peer, &conn, PORT) || peer_sync(&peer, &conn, NULL))
		ktap_bail("no handshake");
	kernel_fd = accept(listener, NULL, NULL);
	if (kernel_fd < 0)
		ktap_bail("accept: %s", strerror(errno));
	if (enter_netns(kernel_ns))
		ktap_bail("namespace %s", kernel_ns);
	/* Something to acknowledge, and done so. */
	for (int i = 0; i < 3; i++) {
		if (send(kernel_fd, "0123456789", 10, 0) != 10)
			ktap_bail("send: %s", strerror(errno));
		if (!peer_receive(&peer, &conn, 10 * (i + 1)))
			ktap_bail("no data from the kernel");
	}
	if (peer_sync(&peer, &conn, NULL))
		ktap_bail("no answer to a PROBE");
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	strack_family();
	ktap_plan(ARRAY_SIZE(wrongs) + BASES + 4);
	connect_both(argv[1], argv[2], argv[3], argv[4]);
	run_empty();
	for (enum base base = 0; base < BASES; base++)
		run_truncated(base);
	for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++)
		run_wrong(&wrongs[i]);
	run_noise();
	run_reported();
	run_alive();
	return ktap_finish();
}
