// SPDX-License-Identifier: GPL-2.0
/* handshake: what follows a handshake: order, marks, windows, resets, the end. */
#include "handshake.h"

static void reset_needs_the_tag(void)
{
	uint8_t reset[WIRE_MAX_HEADER];
	struct peer_conn c;
	char byte;
	int fd = connected(&c);

	for (int bit = 0; bit < 32; bit++) {
		wire_common(reset, WIRE_RESET, 0, 2, c.remote_cid, c.remote_tag ^ 1u << bit, 0);
		peer_send(&peer, 0, reset, WIRE_RESET_SIZE);
	}
	CHECK(!peer_sync(&peer, &c, NULL));
	wire_common(reset, WIRE_RESET, 0, 2, c.remote_cid, c.remote_tag, 0);
	peer_send(&peer, 0, reset, WIRE_RESET_SIZE);
	CHECK(recv(fd, &byte, 1, 0) == -1 && errno == ECONNRESET);
	close(fd);
}

static void reflected_reset_is_believed(void)
{
	uint8_t reset[WIRE_MAX_HEADER];
	struct peer_conn c;
	char byte;
	int fd = connected(&c);

	wire_common(reset, WIRE_RESET, WIRE_RESET_REFLECT, 3, c.remote_cid, c.tag, c.expected);
	peer_send(&peer, 0, reset, WIRE_RESET_SIZE);
	CHECK(recv(fd, &byte, 1, 0) == -1 && errno == ECONNRESET);
	close(fd);
}

static void any_order(void)
{
	enum { PACKETS = 40, LEN = 500 };
	long long dups = count("DupReceived");
	uint8_t got[PACKETS * LEN], ack[WIRE_ACK_SIZE];
	struct peer_conn c;
	int fd = connected(&c);

	/* Backwards, each twice. */
	for (int i = PACKETS - 1; i >= 0; i--) {
		for (int copy = 0; copy < 2; copy++)
			CHECK(!peer_send_data(&peer, &c, 0, c.psn + i, (uint64_t)i * LEN, LEN));
		if (i != PACKETS / 2)
			continue;
		/* What the kernel knows half way, and that the reader gets nothing. */
		CHECK(!peer_sync(&peer, &c, ack));
		CHECK(wire_get32(ack + AT_PSN) == c.psn);
		CHECK(wire_get16(ack + AT_OOO) == PACKETS / 2);
		CHECK(wire_get64(ack + AT_BYTES) == PACKETS / 2 * LEN);
		CHECK(recv(fd, got, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	}
	CHECK(recv(fd, got, sizeof(got), MSG_WAITALL) == sizeof(got));
	CHECK(pattern_check(got, sizeof(got), 7, 0) == sizeof(got));
	CHECK(!peer_sync(&peer, &c, ack));
	CHECK(wire_get32(ack + AT_PSN) == c.psn + PACKETS);
	CHECK(wire_get16(ack + AT_OOO) == 0 && wire_get64(ack + AT_BYTES) == sizeof(got));
	CHECK(wire_get16(ack + AT_DUPS) == PACKETS);
	CHECK(count("DupReceived") - dups == PACKETS);
	forget(fd);
}

/* Each bit of the bitmaps is of a packet that was sent, and soon all are told. */
static void sack_is_true(void)
{
	enum { PACKETS = 100 };
	bool told[PACKETS] = { };
	uint8_t data[2048];
	struct peer_conn c;
	int fd = connected(&c), missing = 0;

	/* All but every third one. */
	for (int i = 0; i < PACKETS; i++)
		if (i % 3)
			peer_send_data(&peer, &c, WIRE_DATA_ACK_REQ, c.psn + i, i * 10ULL, 10);
	while (AWAIT(c, ACK, data, 100)) {
		uint64_t bits = wire_get64(data + AT_SACK_BITS);
		uint32_t base = wire_get32(data + AT_SACK_BASE), trigger = wire_get32(data + AT_TRIGGER);

		/* News of credit has no trigger, or that of the PROBE before. */
		if (!wire_get16(data + AT_AUX) || (data[AT_FLAGS] & WIRE_ACK_PROBE))
			trigger = c.psn + 1;
		CHECK(wire_get32(data + AT_PSN) == c.psn);
		CHECK(!bits || (data[AT_FLAGS] & WIRE_ACK_SACK));
		if (trigger - c.psn >= PACKETS || !((trigger - c.psn) % 3)) {
			ktap_diag("  trigger %u, flags %#x, path %u, base %u", trigger - c.psn,
				  data[AT_FLAGS], wire_get16(data + AT_AUX), base - c.psn);
			CHECK(!"trigger was sent");
		}
		for (int bit = 0; bit < 64; bit++) {
			uint32_t i = base + bit - c.psn;

			if (!(bits >> bit & 1))
				continue;
			CHECK(i < PACKETS && i % 3);
			if (i < PACKETS)
				told[i] = true;
		}
	}
	for (int i = 0; i < PACKETS; i++)
		missing += i % 3 && !told[i];
	CHECK(missing == 0);
	forget(fd);
}

/* The ACK that packet @psn triggered. */
static size_t await_trigger(const struct peer_conn *c, uint32_t psn, uint8_t *data, size_t room)
{
	size_t n;

	do {
		n = peer_expect_for(&peer, c->cid, WIRE_ACK, data, room, slow(1000));
	} while (n && (wire_get32(data + AT_TRIGGER) != psn || !wire_get16(data + AT_AUX)));
	return n;
}

static void marks_are_echoed(void)
{
	long long marks = count("CeReceived");
	int ce = 3, ect = 2;
	uint8_t data[2048];
	struct peer_conn c;
	int fd = connected(&c);

	setsockopt(peer.tx[0], IPPROTO_IP, IP_TOS, &ce, sizeof(ce));
	setsockopt(peer.tx[0], IPPROTO_IPV6, IPV6_TCLASS, &ce, sizeof(ce));
	peer_flush(&peer);
	peer_send_data(&peer, &c, WIRE_DATA_RETX, c.psn, 0, 100);
	/* At once, although one packet alone would be acknowledged later. */
	CHECK(await_trigger(&c, c.psn, data, sizeof(data)));
	CHECK(data[AT_FLAGS] & WIRE_ACK_CE);
	CHECK(data[AT_FLAGS] & WIRE_ACK_RETX);
	CHECK(wire_get16(data + AT_AUX) == PEER_BASE_PORT);
	CHECK(count("CeReceived") - marks == 1);
	setsockopt(peer.tx[0], IPPROTO_IP, IP_TOS, &ect, sizeof(ect));
	setsockopt(peer.tx[0], IPPROTO_IPV6, IPV6_TCLASS, &ect, sizeof(ect));
	peer_send_data(&peer, &c, WIRE_DATA_ACK_REQ, c.psn + 1, 100, 100);
	CHECK(await_trigger(&c, c.psn + 1, data, sizeof(data)));
	CHECK(!(data[AT_FLAGS] & (WIRE_ACK_CE | WIRE_ACK_RETX)));
	forget(fd);
}

/* The window closes when nobody reads and opens again, told without being asked. */
static void window_closes_and_opens(void)
{
	static uint8_t sink[1 << 20];
	uint8_t ack[2048];
	int small = 20000, fd, sent = 0;
	struct peer_conn c;

	fd = connected(&c);
	CHECK(!setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)));
	for (; sent < 10000; sent++) {
		if (peer_sync(&peer, &c, ack) || wire_get32(ack + AT_WINDOW) < 1000 ||
		    wire_get32(ack + AT_CREDIT) == c.psn)
			break;
		peer_send_data(&peer, &c, 0, c.psn++, c.offset, 1000);
		c.offset += 1000;
	}
	CHECK(sent >= 10 && sent < 10000);
	/* Sending on regardless is refused, and counted. */
	peer_send_data(&peer, &c, 0, c.psn, c.offset, 1000);
	peer_send_data(&peer, &c, 0, c.psn + 1, c.offset + 1000, 1000);
	CHECK(!peer_sync(&peer, &c, ack));
	CHECK(wire_get64(ack + AT_BYTES) <= c.offset + 1000);
	peer_flush(&peer);
	CHECK(recv(fd, sink, sizeof(sink), MSG_DONTWAIT) >= sent * 1000L);
	CHECK(AWAIT(c, ACK, ack, 1000));
	CHECK(wire_get32(ack + AT_WINDOW) >= 2000 && wire_get32(ack + AT_CREDIT) != c.psn);
	forget(fd);
}

static void end_and_data_after_it(void)
{
	long long after = count("DropAfterFin");
	struct peer_conn c;
	char got[200];
	int fd = connected(&c);

	peer_send_data(&peer, &c, WIRE_DATA_FIN, c.psn, 0, 100);
	CHECK(recv(fd, got, sizeof(got), MSG_WAITALL) == 100);
	peer_send_data(&peer, &c, 0, c.psn + 1, 100, 100);
	CHECK(!peer_sync(&peer, &c, NULL));
	CHECK(count("DropAfterFin") - after == 1);
	CHECK(recv(fd, got, sizeof(got), MSG_DONTWAIT) == 0);
	/* Our direction is open. */
	CHECK(send(fd, "abc", 3, MSG_NOSIGNAL) == 3);
	CHECK(peer_receive(&peer, &c, 3));
	forget(fd);
}

/* An unacknowledged packet comes again, from another port each time. */
static void resends_on_other_paths(void)
{
	uint8_t data[2048];
	struct peer_conn c;
	int fd = connected(&c), copies = 0, same = 0;
	uint16_t last = 0;

	peer_flush(&peer);
	CHECK(send(fd, "again", 5, 0) == 5);
	while (copies < 6 && AWAIT(c, DATA, data, 1000)) {
		CHECK(wire_get16(data + AT_AUX) == peer.sport);
		CHECK(peer.sport >= 49152);
		CHECK(!(data[AT_FLAGS] & WIRE_DATA_RETX) == !copies);
		same += copies && peer.sport == last;
		last = peer.sport;
		copies++;
	}
	CHECK(copies == 6);
	CHECK(same == 0);
	CHECK(!peer_send_ack(&peer, &c));
	forget(fd);
}

const struct wire_case exchange_cases[] = {
	{ "reset with a wrong tag is ignored", reset_needs_the_tag },
	{ "reflected reset is believed", reflected_reset_is_believed },
	{ "packets in any order, and twice", any_order },
	{ "selective acknowledgements are true and complete", sack_is_true },
	{ "marks are echoed at once", marks_are_echoed },
	{ "window closes and opens", window_closes_and_opens },
	{ "end of stream, and data after it", end_and_data_after_it },
	{ "what is not acknowledged comes again on other paths", resends_on_other_paths },
};

const unsigned int exchange_count = ARRAY_SIZE(exchange_cases);
