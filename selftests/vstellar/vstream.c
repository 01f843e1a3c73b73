// SPDX-License-Identifier: GPL-2.0
/*
 * A stream through a device, as a guest's driver would do it, and its other end as
 * an ordinary program:
 *
 *	vstream serve ADDRESS PORT		gives back what it gets, once
 *	vstream connect DEVICE ADDRESS PORT BYTES
 *	vstream listen DEVICE PORT		the guest serves, once
 *	vstream send ADDRESS PORT BYTES		to such a guest
 *	vstream refused DEVICE ADDRESS PORT	nobody listens there
 *
 * BYTES are sent and received at the same time and compared. A guest prints how many
 * kicks and events it took.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/strack.h>

#include "vguest.h"

#define RAM		(16ul << 20)
#define LOG2		4
#define DEPTH		(1u << LOG2)
#define CHUNK		8192u
#define TIMEOUT		60000

/* Where things are in the guest's memory. */
#define EVENT_BUFFERS	0x20000
#define DOORBELLS	0x30000
#define SQ		0x40000
#define RQ		0x50000
#define CQ		0x60000
#define TX_BUFFERS	0x100000
#define RX_BUFFERS	0x200000

/* Where receive buffers are to entries: in a memory region. */
#define RX_VA		0x7000000000ull

#define CQ_LOG2		(LOG2 + 1)
#define CQ_SLOT		0
#define EP_SLOT		1

static struct guest g;
static uint32_t cq, ep, rx_key;
static uint32_t sq_pi, rq_pi, cq_ci;
static unsigned int kicks, events;

static void fail(const char *what, long code)
{
	fprintf(stderr, "vstream: %s: %ld\n", what, code);
	exit(1);
}

static void must(const char *what, long code, long want)
{
	if (code != want)
		fail(what, code);
}

static uint8_t byte_at(size_t offset)
{
	return offset * 31 + (offset >> 8);
}

/* --- an ordinary program -------------------------------------------------- */

static int family(void)
{
	FILE *f = fopen(STRACK_FAMILY_FILE, "re");
	int number = -1;

	if (!f || fscanf(f, "%d", &number) != 1)
		fail(STRACK_FAMILY_FILE, errno);
	fclose(f);
	return number;
}

static struct sockaddr_strack address(const char *ip, const char *port)
{
	struct sockaddr_strack sst = {
		.sst_family = family(), .sst_port = htons(atoi(port)),
	};
	struct in_addr v4;

	if (inet_pton(AF_INET, ip, &v4) == 1) {
		sst.sst_addr[10] = sst.sst_addr[11] = 0xff;
		memcpy(sst.sst_addr + 12, &v4, sizeof(v4));
	} else if (inet_pton(AF_INET6, ip, sst.sst_addr) != 1) {
		fail(ip, EINVAL);
	}
	return sst;
}

static int serve(const char *ip, const char *port)
{
	struct sockaddr_strack sst = address(ip, port);
	int listener = socket(family(), SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
	static char buffer[65536];
	ssize_t n, done, m;

	if (bind(listener, (void *)&sst, sizeof(sst)) || listen(listener, 1))
		fail("bind", errno);
	puts("ready");
	fflush(stdout);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		fail("accept", errno);
	while ((n = read(fd, buffer, sizeof(buffer))) > 0) {
		for (done = 0; done < n; done += m) {
			m = write(fd, buffer + done, n - done);
			if (m < 0)
				fail("write", errno);
		}
	}
	if (n < 0)
		fail("read", errno);
	close(fd);
	return 0;
}

static int native(const char *ip, const char *port, size_t bytes)
{
	struct sockaddr_strack sst = address(ip, port);
	int fd = socket(family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t sent = 0, received = 0;
	static uint8_t buffer[65536];
	ssize_t n;

	if (connect(fd, (void *)&sst, sizeof(sst)))
		fail("connect", errno);
	while (received < bytes) {
		struct pollfd p = { .fd = fd, .events = POLLIN | (sent < bytes ? POLLOUT : 0) };

		if (poll(&p, 1, TIMEOUT) <= 0)
			fail("nothing more", received);
		if (p.revents & POLLOUT) {
			size_t len = bytes - sent < sizeof(buffer) ? bytes - sent : sizeof(buffer);

			for (size_t i = 0; i < len; i++)
				buffer[i] = byte_at(sent + i);
			n = send(fd, buffer, len, MSG_DONTWAIT | MSG_NOSIGNAL);
			if (n < 0 && errno != EAGAIN)
				fail("send", errno);
			sent += n > 0 ? n : 0;
			if (sent == bytes)
				shutdown(fd, SHUT_WR);
		}
		if (p.revents & POLLIN) {
			n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
			if (n <= 0)
				fail("recv", n < 0 ? errno : 0);
			for (ssize_t i = 0; i < n; i++)
				must("byte", buffer[i], byte_at(received + i));
			received += n;
		}
	}
	must("end", recv(fd, buffer, 1, 0), 0);
	return 0;
}

/* --- a guest -------------------------------------------------------------- */

static struct virtio_vstellar_slot *slot(unsigned int n)
{
	return (void *)(g.ram + DOORBELLS + VIRTIO_VSTELLAR_PAGE_SIZE + n * VIRTIO_VSTELLAR_DB_STRIDE);
}

static void command(const char *what, uint16_t op, uint32_t *handle, const void *payload,
		    size_t len, void *out, size_t room)
{
	must(what, guest_command(&g, op, handle, payload, len, out, room), VIRTIO_VSTELLAR_OK);
}

static void post_event(unsigned int i)
{
	*guest_desc(&g, VIRTIO_VSTELLAR_VQ_EVENT, i) = (struct vring_desc) {
		.addr = htole64(guest_addr(EVENT_BUFFERS + i * sizeof(struct virtio_vstellar_event))),
		.len = htole32(sizeof(struct virtio_vstellar_event)),
		.flags = htole16(VRING_DESC_F_WRITE),
	};
	guest_offer(&g, VIRTIO_VSTELLAR_VQ_EVENT, i);
}

#define EVENT_COUNT	16

/* The next event; its buffer is posted again. */
static struct virtio_vstellar_event next_event(void)
{
	static unsigned int i;
	struct virtio_vstellar_event event;
	int n = guest_wait(&g, VIRTIO_VSTELLAR_VQ_EVENT, TIMEOUT);

	if (n != sizeof(event))
		fail("event", n);
	memcpy(&event, g.ram + EVENT_BUFFERS + i * sizeof(event), sizeof(event));
	post_event(i);
	i = (i + 1) % EVENT_COUNT;
	events++;
	return event;
}

static void create(uint32_t *handle, uint16_t flags)
{
	struct virtio_vstellar_ep_create create = {
		.type = htole16(VIRTIO_VSTELLAR_EP_STREAM), .flags = htole16(flags),
		.db_slot = htole32(VIRTIO_VSTELLAR_NO_SLOT),
	};

	if (!flags) {
		create.send_cq = create.recv_cq = htole32(cq);
		create.sq = htole64(guest_addr(SQ));
		create.rq = htole64(guest_addr(RQ));
		create.sq_log2 = create.rq_log2 = htole16(LOG2);
		create.db_slot = htole32(EP_SLOT);
	}
	*handle = VIRTIO_VSTELLAR_NO_HANDLE;
	command("EP_CREATE", VIRTIO_VSTELLAR_CMD_EP_CREATE, handle, &create, sizeof(create), NULL, 0);
}

static void start(const char *path)
{
	struct virtio_vstellar_db_attach attach = {
		.addr = htole64(GUEST_IOVA + DOORBELLS), .npages = htole32(2),
	};
	struct virtio_vstellar_cq_create create = {
		.ring = htole64(GUEST_IOVA + CQ), .depth_log2 = htole16(CQ_LOG2),
		.flags = htole16(VIRTIO_VSTELLAR_CQ_EVENTS), .db_slot = htole32(CQ_SLOT),
	};
	struct {
		struct virtio_vstellar_mr_reg reg;
		struct virtio_vstellar_seg seg;
	} rx = {
		.reg = {
			.va = htole64(RX_VA), .len = htole64(DEPTH * CHUNK),
			.access = htole32(VIRTIO_VSTELLAR_MR_WRITE), .nseg = htole32(1),
		},
		.seg = {
			.addr = htole64(GUEST_IOVA + RX_BUFFERS), .len = htole64(DEPTH * CHUNK),
		},
	};
	struct virtio_vstellar_db_attach_resp resp;
	struct virtio_vstellar_mr_reg_resp keys;

	must("start", guest_start(&g, path, RAM), 0);
	must("HELLO", guest_hello(&g), VIRTIO_VSTELLAR_OK);
	for (unsigned int i = 0; i < EVENT_COUNT; i++)
		post_event(i);
	guest_kick(&g, VIRTIO_VSTELLAR_VQ_EVENT);
	command("DB_ATTACH", VIRTIO_VSTELLAR_CMD_DB_ATTACH, NULL, &attach, sizeof(attach), &resp,
		sizeof(resp));
	command("CQ_CREATE", VIRTIO_VSTELLAR_CMD_CQ_CREATE, &cq, &create, sizeof(create), NULL, 0);
	command("MR_REG", VIRTIO_VSTELLAR_CMD_MR_REG, NULL, &rx, sizeof(rx), &keys, sizeof(keys));
	rx_key = le32toh(keys.lkey);
}

static bool passed(uint32_t event, uint32_t old, uint32_t new)
{
	return (uint32_t)(new - event - 1) < (uint32_t)(new - old);
}

/* Makes an index of the endpoint's slot known, and kicks if that is wanted. */
static void ring(__le32 *pi, __le32 *evt, uint32_t old, uint32_t new)
{
	__atomic_store_n(pi, htole32(new), __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!passed(le32toh(__atomic_load_n(evt, __ATOMIC_RELAXED)), old, new))
		return;
	__atomic_fetch_or(g.ram + DOORBELLS + EP_SLOT / 8, 1 << EP_SLOT % 8, __ATOMIC_SEQ_CST);
	guest_kick(&g, VIRTIO_VSTELLAR_VQ_KICK);
	kicks++;
}

static void post_receive(void)
{
	struct virtio_vstellar_rqe *rqe = (void *)(g.ram + RQ);
	unsigned int i = rq_pi % DEPTH;

	rqe[i] = (struct virtio_vstellar_rqe) {
		.wr_id = htole64(i),
		.sge = {
			.addr = htole64(RX_VA + i * CHUNK), .len = htole32(CHUNK),
			.lkey = htole32(rx_key),
		},
	};
	rq_pi++;
}

static void post_send(size_t offset, uint32_t len)
{
	struct virtio_vstellar_sqe *sqe = (void *)(g.ram + SQ);
	unsigned int i = sq_pi % DEPTH;
	uint8_t *data = g.ram + TX_BUFFERS + i * CHUNK;

	for (uint32_t n = 0; n < len; n++)
		data[n] = byte_at(offset + n);
	/* in two segments, or the end */
	sqe[i] = (struct virtio_vstellar_sqe) {
		.op = len ? VIRTIO_VSTELLAR_OP_SEND : VIRTIO_VSTELLAR_OP_FIN,
		.flags = VIRTIO_VSTELLAR_SQE_SIGNALED, .nsge = len > 1 ? 2 : len,
		.wr_id = htole64(0x1000 + i), .total_len = htole32(len),
	};
	if (len) {
		sqe[i].sge[0].addr = htole64(guest_addr(TX_BUFFERS + i * CHUNK));
		sqe[i].sge[0].len = htole32(len > 1 ? len / 2 : 1);
	}
	if (len > 1) {
		sqe[i].sge[1].addr = htole64(guest_addr(TX_BUFFERS + i * CHUNK + len / 2));
		sqe[i].sge[1].len = htole32(len - len / 2);
	}
	sq_pi++;
}

/* The next completion, if there is one. */
static bool next_completion(struct virtio_vstellar_cqe *cqe)
{
	struct virtio_vstellar_cqe *at = (void *)(g.ram + CQ);
	bool phase = !(cq_ci >> CQ_LOG2 & 1);

	at += cq_ci % (1 << CQ_LOG2);
	if ((__atomic_load_n(&at->flags, __ATOMIC_ACQUIRE) & VIRTIO_VSTELLAR_CQE_PHASE) != phase)
		return false;
	*cqe = *at;
	cq_ci++;
	__atomic_store_n(&slot(CQ_SLOT)->cq_ci, htole32(cq_ci), __ATOMIC_RELEASE);
	return true;
}

static void completion(struct virtio_vstellar_cqe *cqe)
{
	struct virtio_vstellar_event event;

	while (!next_completion(cqe)) {
		__atomic_store_n(&slot(CQ_SLOT)->cq_arm, htole32(cq_ci), __ATOMIC_SEQ_CST);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (next_completion(cqe))
			return;
		event = next_event();
		if (le16toh(event.type) == VIRTIO_VSTELLAR_EV_EP_STATE &&
		    (le64toh(event.arg) & 0xff) == VIRTIO_VSTELLAR_EP_ERROR)
			fail("endpoint failed", le64toh(event.arg) >> 32);
	}
}

/* Sends @bytes and compares what comes; without, gives back what comes. */
static void exchange(size_t bytes)
{
	size_t sent = 0, received = 0;
	struct virtio_vstellar_cqe cqe;
	uint32_t sending = 0, old;
	bool echo = !bytes, ended = false, fin = false, peer_fin = false;

	old = rq_pi;
	while (rq_pi - old < DEPTH)
		post_receive();
	ring(&slot(EP_SLOT)->rq_pi, &slot(EP_SLOT)->rq_evt, old, rq_pi);
	while (!ended || !peer_fin) {
		size_t ready = echo ? received : bytes;

		old = sq_pi;
		while (sending < DEPTH && sent < ready) {
			uint32_t len = ready - sent < CHUNK ? ready - sent : CHUNK;

			post_send(sent, len);
			sent += len;
			sending++;
		}
		if (!fin && sending < DEPTH && sent == ready && (!echo || peer_fin)) {
			post_send(sent, 0);
			sending++;
			fin = true;
		}
		if (sq_pi != old)
			ring(&slot(EP_SLOT)->sq_pi, &slot(EP_SLOT)->sq_evt, old, sq_pi);
		completion(&cqe);
		must("completion", le16toh(cqe.status), VIRTIO_VSTELLAR_OK);
		if (cqe.op != VIRTIO_VSTELLAR_OP_RECV) {
			sending--;
			ended |= cqe.op == VIRTIO_VSTELLAR_OP_FIN;
			continue;
		}
		for (uint32_t i = 0; i < le32toh(cqe.byte_len); i++)
			must("byte", g.ram[RX_BUFFERS + le64toh(cqe.wr_id) * CHUNK + i],
			     byte_at(received + i));
		received += le32toh(cqe.byte_len);
		peer_fin |= cqe.flags & VIRTIO_VSTELLAR_CQE_FIN;
		if (!peer_fin) {
			post_receive();
			ring(&slot(EP_SLOT)->rq_pi, &slot(EP_SLOT)->rq_evt, rq_pi - 1, rq_pi);
		}
	}
	if (bytes)
		must("received", received, bytes);
	printf("%zu bytes, %u kicks, %u events\n", received, kicks, events);
}

static struct virtio_vstellar_ep_connect whereto(const char *ip, const char *port)
{
	struct sockaddr_strack sst = address(ip, port);
	struct virtio_vstellar_ep_connect connect = {
		.peer = {
			.family = htole16(VIRTIO_VSTELLAR_AF_INET6), .port = htole16(atoi(port)),
		},
	};

	memcpy(connect.peer.addr, sst.sst_addr, sizeof(connect.peer.addr));
	return connect;
}

/* The state that an endpoint has come to. */
static uint64_t await_state(void)
{
	for (;;) {
		struct virtio_vstellar_event event = next_event();

		if (le16toh(event.type) == VIRTIO_VSTELLAR_EV_EP_STATE &&
		    le32toh(event.handle) == ep)
			return le64toh(event.arg);
	}
}

static int guest_connect(const char *path, const char *ip, const char *port, size_t bytes)
{
	struct virtio_vstellar_ep_connect connect = whereto(ip, port);
	struct virtio_vstellar_ep_destroy destroy = {};

	start(path);
	create(&ep, 0);
	command("EP_CONNECT", VIRTIO_VSTELLAR_CMD_EP_CONNECT, &ep, &connect, sizeof(connect), NULL, 0);
	must("connected", await_state(), VIRTIO_VSTELLAR_EP_CONNECTED);
	exchange(bytes);
	command("EP_DESTROY", VIRTIO_VSTELLAR_CMD_EP_DESTROY, &ep, &destroy, sizeof(destroy), NULL, 0);
	guest_close(&g);
	return 0;
}

static int guest_refused(const char *path, const char *ip, const char *port)
{
	struct virtio_vstellar_ep_connect connect = whereto(ip, port);
	uint64_t state;

	start(path);
	create(&ep, 0);
	command("EP_CONNECT", VIRTIO_VSTELLAR_CMD_EP_CONNECT, &ep, &connect, sizeof(connect), NULL, 0);
	state = await_state();
	must("state", state & 0xff, VIRTIO_VSTELLAR_EP_ERROR);
	must("error", state >> 32, VIRTIO_VSTELLAR_CONNREFUSED);
	guest_close(&g);
	return 0;
}

static int guest_listen(const char *path, const char *port)
{
	struct virtio_vstellar_addr local = {
		.family = htole16(VIRTIO_VSTELLAR_AF_INET6), .port = htole16(atoi(port)),
	};
	struct virtio_vstellar_ep_listen listen = { .backlog = htole32(4) };
	struct virtio_vstellar_ep_accept accept;
	struct virtio_vstellar_ep_accept_resp peers;
	uint32_t listener;
	int status;

	start(path);
	create(&listener, VIRTIO_VSTELLAR_EP_LISTENER);
	command("EP_BIND", VIRTIO_VSTELLAR_CMD_EP_BIND, &listener, &local, sizeof(local), &local,
		sizeof(local));
	command("EP_LISTEN", VIRTIO_VSTELLAR_CMD_EP_LISTEN, &listener, &listen, sizeof(listen), NULL,
		0);
	puts("ready");
	fflush(stdout);
	create(&ep, 0);
	accept = (struct virtio_vstellar_ep_accept) { .endpoint = htole32(ep) };
	while ((status = guest_command(&g, VIRTIO_VSTELLAR_CMD_EP_ACCEPT, &listener, &accept,
				       sizeof(accept), &peers, sizeof(peers))) ==
	       VIRTIO_VSTELLAR_AGAIN)
		must("event", le16toh(next_event().type), VIRTIO_VSTELLAR_EV_ACCEPT);
	must("EP_ACCEPT", status, VIRTIO_VSTELLAR_OK);
	exchange(0);
	guest_close(&g);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc == 4 && !strcmp(what, "serve"))
		return serve(argv[2], argv[3]);
	if (argc == 5 && !strcmp(what, "send"))
		return native(argv[2], argv[3], strtoul(argv[4], NULL, 0));
	if (argc == 6 && !strcmp(what, "connect"))
		return guest_connect(argv[2], argv[3], argv[4], strtoul(argv[5], NULL, 0));
	if (argc == 5 && !strcmp(what, "refused"))
		return guest_refused(argv[2], argv[3], argv[4]);
	if (argc == 4 && !strcmp(what, "listen"))
		return guest_listen(argv[2], argv[3]);
	fputs("vstream: see its source\n", stderr);
	return 2;
}
