// SPDX-License-Identifier: GPL-2.0
/*
 * handshake: what a peer can make the kernel's end keep. Each packet received has
 * to be paid for, by its connection and by all sockets together, whatever peers
 * and programs do next, and all is given back in the end.
 */
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <sys/epoll.h>

#include "handshake.h"

#define LEN	1400			/* payload of a full packet */
#define COPIES	40			/* packets in a train */
#define LIMIT	(4 << 20)		/* bytes that a socket may have by default */
#define PAGE	4096L
#define PAGES(bytes) ((long)((bytes) / PAGE))

#define TIME_WAIT_FILE	"/proc/sys/net/strack/time_wait_ms"
#define REST	(64 << 10)		/* bytes that a connection in TIME_WAIT counts as */

/* The setting of the host, which only the first namespace has. */
#define MEM_FILE	"/proc/sys/net/strack/mem"
static int mem_file = -1;
static char usual_mem[128];
/* Each CPU may keep so many pages to itself that the total does not show, or owe them. */
static long blur;

void hoard_prepare(void)
{
	mem_file = open(MEM_FILE, O_RDWR | O_CLOEXEC);
	if (mem_file < 0 || pread(mem_file, usual_mem, sizeof(usual_mem) - 1, 0) <= 0)
		ktap_bail("%s: %s", MEM_FILE, strerror(errno));
	blur = read_long("/proc/sys/net/core/mem_pcpu_rsv", 0) * sysconf(_SC_NPROCESSORS_CONF);
}

static void set_mem(long low, long pressure, long high)
{
	char text[64];

	snprintf(text, sizeof(text), "%ld %ld %ld", low, pressure, high);
	CHECK(pwrite(mem_file, text, strlen(text), 0) == (ssize_t)strlen(text));
}

static void usual(void)
{
	CHECK(pwrite(mem_file, usual_mem, strlen(usual_mem), 0) > 0);
}

/* Pages that all sockets of the family have together, give or take the blur. */
static long host_pages(void)
{
	FILE *file = fopen("/proc/net/protocols", "re");
	char line[256];
	long pages = -1;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "STRACK %*u %*d %ld", &pages);
	if (file)
		fclose(file);
	CHECK(pages >= 0);
	return pages;
}

/*
 * The same, once it has settled: what a socket had is given back when nobody looks at
 * it any more, some time after close(2).
 */
static long settled_pages(void)
{
	const struct timespec pause = { .tv_nsec = slow(20) * 1000000L };
	long pages = host_pages(), before;
	int same = 0;

	for (int i = 0; i < 100 && same < 5; i++) {
		before = pages;
		nanosleep(&pause, NULL);
		pages = host_pages();
		same = pages == before ? same + 1 : 0;
	}
	return pages;
}

/*
 * Many copies of the stream's @nth packet in one train, and behind them one byte
 * of its @ahead'th if that is not zero. The kernel's end gets it as one skb: little
 * of what that keeps is data.
 */
static int send_train(const struct peer_conn *c, uint32_t nth, uint32_t ahead)
{
	const uint16_t segment = WIRE_DATA_SIZE + LEN;
	char control[CMSG_SPACE(sizeof(segment))] = "";
	static uint8_t train[64 << 10];
	struct iovec iov = { train, (size_t)segment * COPIES };
	struct msghdr msg = {
		.msg_name = &peer.kernel, .msg_namelen = sizeof(peer.kernel),
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_UDP;
	cmsg->cmsg_type = UDP_SEGMENT;
	cmsg->cmsg_len = CMSG_LEN(sizeof(segment));
	memcpy(CMSG_DATA(cmsg), &segment, sizeof(segment));
	for (unsigned int i = 0; i < COPIES; i++) {
		uint8_t *at = train + (size_t)segment * i;

		peer_build_data(c, at, WIRE_DATA, 0, c->psn + nth, (uint64_t)nth * LEN);
		pattern_fill(at + WIRE_DATA_SIZE, LEN, 7, (uint64_t)nth * LEN);
	}
	if (ahead) {
		peer_build_data(c, train + iov.iov_len, WIRE_DATA, 0, c->psn + ahead,
				(uint64_t)ahead * LEN);
		iov.iov_len += WIRE_DATA_SIZE + 1;
	}
	return sendmsg(peer.tx[0], &msg, 0) == (ssize_t)iov.iov_len ? 0 : -1;
}

static uint32_t receive_memory(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(info);

	CHECK(!getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len));
	return info[SK_MEMINFO_RMEM_ALLOC];
}

static bool is_full(int fd)
{
	return receive_memory(fd) >= LIMIT && receive_memory(fd) < LIMIT + LIMIT / 8;
}

/* Sends trains from the second packet on until one is refused; its number. */
static uint32_t fill(const struct peer_conn *c)
{
	enum { MOST = 300 };
	long long room = count("RxNoRoom"), memory = count("RxNoMemory");
	uint32_t nth = 0;

	while (nth < MOST && count("RxNoRoom") == room && count("RxNoMemory") == memory) {
		CHECK(!send_train(c, ++nth, 0));
		CHECK(!peer_sync(&peer, c, NULL));
	}
	CHECK(count("RxNoRoom") - room + count("RxNoMemory") - memory == COPIES);
	return nth;
}

/* Reads @packets, all of the stream that there is. */
static void read_all(int fd, uint32_t packets)
{
	static uint8_t got[LEN * 300];
	const size_t bytes = (size_t)packets * LEN;

	CHECK(bytes <= sizeof(got));
	CHECK(recv(fd, got, bytes, MSG_WAITALL) == (ssize_t)bytes);
	CHECK(pattern_check(got, bytes, 7, 0) == bytes);
	CHECK(receive_memory(fd) == 0);
}

/* The first packet is missing, so nothing can be read; what comes is charged and bounded. */
static void hoarding_is_bounded(void)
{
	long long refused = count("RxNoRoom");
	char got[LEN];
	uint8_t ack[2048];
	struct peer_conn c;
	int fd = connected(&c);
	uint32_t nth = fill(&c);

	/* A limit that the data alone does not reach. */
	CHECK(nth > 20 && nth < PAGES(LIMIT) / 4);
	CHECK(is_full(fd));
	CHECK(count("RxNoRoom") - refused == COPIES);

	/* A copy of what is there is acknowledged: its sender may not know. */
	peer_flush(&peer);
	CHECK(!peer_send_data(&peer, &c, 0, c.psn + 1, LEN, LEN));
	CHECK(AWAIT(c, ACK, ack, 1000) && wire_get32(ack + AT_TRIGGER) == c.psn + 1);
	CHECK(count("RxNoRoom") - refused == COPIES);

	/* What is missing is taken all the same, and all is there. */
	CHECK(!peer_send_data(&peer, &c, 0, c.psn, 0, LEN));
	read_all(fd, nth);
	CHECK(!peer_send_data(&peer, &c, 0, c.psn + nth, (uint64_t)nth * LEN, LEN));
	CHECK(recv(fd, got, LEN, MSG_WAITALL) == LEN);
	CHECK(count("RxNoRoom") - refused == COPIES);
	forget(fd);
}

/*
 * Each train begins with what is read at once, and ends with one byte far ahead
 * that never is. That byte keeps the whole train, so it has to pay for that.
 */
static void remnants_are_charged(void)
{
	enum { TRAINS = 500, AHEAD = 512, MORE = 20 };
	long most = TRAINS;
	struct peer_conn c;
	char got[LEN];
	int fd = connected(&c);

	for (long nth = 0; nth < TRAINS && nth < most + MORE; nth++) {
		long long refused = count("RxNoRoom");

		CHECK(!send_train(&c, nth, AHEAD + nth));
		CHECK(!peer_sync(&peer, &c, NULL));
		/* Whatever the limit, what can be read is taken, but no remnant with it. */
		CHECK(recv(fd, got, LEN, MSG_DONTWAIT) == LEN);
		CHECK(receive_memory(fd) < LIMIT + LIMIT / 8);
		if (most == TRAINS && count("RxNoRoom") != refused)
			most = nth;
		CHECK(count("RxNoRoom") - refused == (nth >= most));
	}
	CHECK(most > 20 && most < TRAINS / 2);
	CHECK(is_full(fd));
	forget(fd);
}

/*
 * Connections that keep more than the CPUs can owe the total. Below zero that is taken
 * for zero, so that no limit is reached; above, what is taken in one piece shows exactly.
 */
#define GROUNDS_MOST	64
static int ground[GROUNDS_MOST], grounds;

/* Pages that all sockets have with them. */
static long lay_ground(void)
{
	long pages = 0;

	while (pages <= blur && grounds < GROUNDS_MOST) {
		struct peer_conn c;

		ground[grounds++] = connected(&c);
		fill(&c);
		pages = settled_pages();
	}
	return pages;
}

static void lift_ground(void)
{
	while (grounds > 0)
		forget(ground[--grounds]);
}

/*
 * Whether epoll finds @fd readable within @ms. It only looks when it is woken, so
 * this tells a wakeup that was forgotten.
 */
static bool woken(int epoll, unsigned int ms)
{
	struct epoll_event event;

	return epoll_wait(epoll, &event, 1, ms) == 1 && (event.events & EPOLLIN);
}

/* A connection whose reader waits for more than will come. */
static int patient(struct peer_conn *c, uint32_t packets, int *epoll)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = connected(c), lowat = 1 << 20;

	CHECK(!setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &lowat, sizeof(lowat)));
	*epoll = epoll_create1(EPOLL_CLOEXEC);
	CHECK(!epoll_ctl(*epoll, EPOLL_CTL_ADD, fd, &event));
	for (uint32_t i = 0; i < packets; i++)
		CHECK(!peer_send_data(&peer, c, 0, c->psn + i, (uint64_t)i * LEN, LEN));
	CHECK(!peer_sync(&peer, c, NULL));
	CHECK(!woken(*epoll, 0));
	return fd;
}

/* What a reader waits for does not come while it keeps the memory for that: it is woken. */
static void short_memory_wakes(void)
{
	long long refused = count("RxNoMemory");
	uint32_t nth = 10;
	struct peer_conn c;
	int epoll, fd = patient(&c, nth, &epoll);

	CHECK(lay_ground() > 0);
	set_mem(0, 0, 0);
	CHECK(!send_train(&c, nth, 0));
	CHECK(woken(epoll, slow(2000)));
	CHECK(count("RxNoMemory") - refused == COPIES);
	/* Not once and for all: a little is had always. */
	read_all(fd, nth);
	for (refused = count("RxNoMemory"); count("RxNoMemory") == refused && nth < 100; nth++) {
		CHECK(!woken(epoll, 0));
		CHECK(!peer_send_data(&peer, &c, 0, c.psn + nth, (uint64_t)nth * LEN, LEN));
		CHECK(!peer_sync(&peer, &c, NULL));
	}
	CHECK(count("RxNoMemory") - refused == 1 && nth > 11);
	CHECK(woken(epoll, slow(2000)));
	usual();
	close(epoll);
	forget(fd);
	lift_ground();
}

/* The same with the socket's own memory, by what cannot be read because one packet is missing. */
static void full_buffer_wakes(void)
{
	long long refused = count("RxNoRoom");
	struct peer_conn c;
	int epoll, fd = patient(&c, 1, &epoll);
	uint32_t nth = 1;

	while (receive_memory(fd) < LIMIT && nth < PAGES(LIMIT)) {
		CHECK(!woken(epoll, 0));
		CHECK(!send_train(&c, ++nth, 0));
		CHECK(!peer_sync(&peer, &c, NULL));
	}
	CHECK(is_full(fd) && count("RxNoRoom") == refused);
	CHECK(woken(epoll, slow(2000)));
	close(epoll);
	forget(fd);
}

/* A connection that has ended still has what was not read, until it is. */
static void unread_stays_charged(void)
{
	enum { PACKETS = 10 };
	uint8_t reset[WIRE_MAX_HEADER];
	struct peer_conn c;
	int fd = connected(&c);
	uint32_t charged;
	char byte;

	for (int i = 0; i < PACKETS; i++)
		CHECK(!peer_send_data(&peer, &c, 0, c.psn + i, (uint64_t)i * LEN, LEN));
	CHECK(!peer_sync(&peer, &c, NULL));
	charged = receive_memory(fd);
	CHECK(charged >= PACKETS * LEN);
	wire_common(reset, WIRE_RESET, 0, 2, c.remote_cid, c.remote_tag, 0);
	peer_send(&peer, 0, reset, WIRE_RESET_SIZE);
	/* For POLLHUP, which is always waited for. */
	CHECK(poll(&(struct pollfd){ .fd = fd }, 1, slow(1000)) == 1);
	CHECK(receive_memory(fd) == charged);
	read_all(fd, PACKETS);
	CHECK(recv(fd, &byte, 1, 0) == -1 && errno == ECONNRESET);
	close(fd);
}

/* Many connections, each within its own limit, have one together. */
static void all_together_are_bounded(void)
{
	enum { CONNS = 64, TRAIN = 32 };
	const long high = PAGES(2 * LIMIT) + blur;
	long long refused = count("RxNoMemory");
	struct peer_conn c[CONNS], d;
	long pages = 0, before = 0;
	int fd[CONNS], more, n = 0;
	uint32_t nth[CONNS];
	char got[LEN];

	set_mem(high, high, high);
	while (n < CONNS && count("RxNoMemory") == refused) {
		before = pages;
		fd[n] = connected(&c[n]);
		nth[n] = fill(&c[n]);
		pages += PAGES(receive_memory(fd[n++]));
	}
	ktap_diag("  %d connections, %ld pages of %ld", n, pages, high);
	CHECK(count("RxNoMemory") - refused == COPIES);
	CHECK(n > 2 && pages > high - blur - TRAIN && pages <= high + blur);
	CHECK(pages - before < PAGES(LIMIT));
	CHECK(host_pages() <= high + blur);

	/* What can be read at once is taken all the same, so nobody waits for ever. */
	more = connected(&d);
	for (int i = 0; i < 3; i++) {
		CHECK(!send_train(&d, i, 0));
		CHECK(recv(more, got, LEN, MSG_WAITALL) == LEN);
		CHECK(receive_memory(more) == 0);
	}
	CHECK(!send_train(&d, 4, 0));
	CHECK(!peer_sync(&peer, &d, NULL));
	CHECK(receive_memory(more) <= PAGE * TRAIN);
	CHECK(!peer_send_data(&peer, c, 0, c[0].psn, 0, LEN));
	read_all(fd[0], nth[0]);

	/* What one has read, or left unread, others may have. */
	forget(fd[1]);
	refused = count("RxNoMemory");
	CHECK(!send_train(&d, 5, 0));
	CHECK(!peer_sync(&peer, &d, NULL));
	CHECK(count("RxNoMemory") == refused);
	CHECK(host_pages() <= high - PAGES(2 * LIMIT) + 2 * blur + TRAIN);
	forget(fd[0]);
	for (int i = 2; i < n; i++)
		forget(fd[i]);
	forget(more);
	CHECK(settled_pages() <= blur);
	usual();
}

/* Connections whose programs have written a lot and gone, while no peer takes any. */
#define ORPHANS_MOST	64
#define ORPHAN_BYTES	(1000 * LEN)
static struct peer_conn orphan[ORPHANS_MOST];

static void make_orphans(int n)
{
	static const uint8_t data[ORPHAN_BYTES];

	for (int i = 0; i < n; i++) {
		int fd = connected(&orphan[i]);

		CHECK(send(fd, data, sizeof(data), MSG_DONTWAIT) == sizeof(data));
		peer_flush(&peer);
		close(fd);
	}
}

static void end_orphans(int n)
{
	uint8_t reset[WIRE_MAX_HEADER];

	for (int i = 0; i < n; i++) {
		wire_common(reset, WIRE_RESET, 0, 2, orphan[i].remote_cid, orphan[i].remote_tag, 0);
		peer_send(&peer, 0, reset, WIRE_RESET_SIZE);
	}
}

/* What is still to be sent when a program closes counts too, or is not sent. */
static void orphans_are_bounded(void)
{
	/* more than the blur hides */
	const int n = blur / PAGES(ORPHAN_BYTES) + 2;
	long long refused = count("OrphanOverflow");
	long pages = lay_ground();
	uint8_t reset[2048];

	CHECK(n <= ORPHANS_MOST);
	make_orphans(n);
	CHECK(host_pages() - pages >= n * PAGES(ORPHAN_BYTES));
	CHECK(count("OrphanOverflow") == refused);
	end_orphans(n);
	CHECK(host_pages() == pages);

	/* When memory runs out, they go at their next timeout. */
	make_orphans(n);
	CHECK(count("OrphanOverflow") == refused);
	set_mem(0, 0, 0);
	CHECK(peer_expect(&peer, WIRE_RESET, reset, sizeof(reset), slow(5000)));
	CHECK(count("OrphanOverflow") > refused);
	usual();
	end_orphans(n);
	CHECK(host_pages() == pages);

	/* Under pressure they go on. */
	refused = count("OrphanOverflow");
	set_mem(0, 0, pages + blur + 2 * n * PAGES(ORPHAN_BYTES));
	make_orphans(n);
	CHECK(count("OrphanOverflow") == refused);
	end_orphans(n);
	CHECK(host_pages() == pages);

	/* Beyond the limit there are no more. */
	set_mem(0, 0, pages);
	make_orphans(n);
	CHECK(peer_expect(&peer, WIRE_RESET, reset, sizeof(reset), slow(5000)));
	CHECK(count("OrphanOverflow") > refused);
	CHECK(host_pages() <= pages);
	usual();
	end_orphans(n);
	CHECK(host_pages() == pages);
	lift_ground();
}

/* Takes and acknowledges what the kernel sends, until that is all and ended. */
static bool receive_to_end(struct peer_conn *c, uint64_t bytes)
{
	uint8_t data[2048];
	bool ended = false;
	size_t n;

	while (!ended || c->received < bytes) {
		n = peer_expect_for(&peer, c->cid, WIRE_DATA, data, sizeof(data), slow(2000));
		if (!n)
			return false;
		peer_note_data(c, data, n);
		peer_send_ack(&peer, c);
		ended |= !!(data[AT_FLAGS] & WIRE_DATA_FIN);
	}
	return c->received == bytes;
}

/* However much others have: who has little left to say when he closes is heard. */
static void last_words_arrive(void)
{
	const long limits[] = { lay_ground() + blur + 1000, 0 };
	long long refused = count("OrphanOverflow");
	uint8_t data[2048];
	size_t n;

	for (int i = 0; i < 2; i++) {
		int fd = connected(&orphan[0]);

		/* under pressure, and beyond the limit */
		set_mem(0, 0, limits[i]);
		CHECK(send(fd, "bye", 3, 0) == 3);
		close(fd);
		/* Nor later, when it comes again. */
		do
			n = AWAIT(orphan[0], DATA, data, 2000);
		while (n && !(data[AT_FLAGS] & WIRE_DATA_RETX));
		CHECK(n);
		CHECK(receive_to_end(&orphan[0], 3));
		end_orphans(1);
		CHECK(count("OrphanOverflow") == refused);
		usual();
	}
	lift_ground();
}

/* Closes a connection of this host with itself, the end that connected first. */
static void close_pair(int server, const struct sockaddr_strack *sa)
{
	int first = socket(sa->sst_family, SOCK_STREAM, 0), second;
	char byte;

	CHECK(!st_connect(first, sa));
	second = accept(server, NULL, NULL);
	close(first);
	CHECK(recv(second, &byte, 1, 0) == 0);
	close(second);
}

/* What waits for late packets only is paid for, and comes after what others need. */
static void time_wait_is_bounded(void)
{
	enum { PAIRS = 4 };
	long long refused = count("TimeWaitOverflow");
	int family = strack_family(), server = socket(family, SOCK_STREAM, 0);
	struct sockaddr_strack sa;
	const struct timespec pause = { .tv_nsec = slow(20) * 1000000L };
	const long pages = lay_ground();
	char text[16];
	long waiting;

	st_address(&sa, family, "127.0.0.1", PORT + 2);
	CHECK(!st_bind(server, &sa) && !listen(server, PAIRS));
	/* Until the last look at them; the ends that close second may be gone sooner. */
	snprintf(text, sizeof(text), "%u", slow(5000));
	CHECK(!write_text(TIME_WAIT_FILE, text));
	for (int i = 0; i < PAIRS; i++)
		close_pair(server, &sa);
	waiting = settled_pages() - pages;
	ktap_diag("  %ld pages for %d connections", waiting, PAIRS);
	CHECK(waiting >= PAIRS * PAGES(REST) && waiting <= 2 * PAIRS * PAGES(REST));
	CHECK(waiting % PAGES(REST) == 0 && count("TimeWaitOverflow") == refused);

	/* Sockets would come under pressure. */
	set_mem(0, pages, pages + blur + 1000);
	close_pair(server, &sa);
	CHECK(count("TimeWaitOverflow") - refused == 2);
	CHECK(host_pages() <= pages + waiting);
	usual();
	for (int i = 0; i < 500 && host_pages() != pages; i++)
		nanosleep(&pause, NULL);
	CHECK(host_pages() == pages);
	CHECK(!write_text(TIME_WAIT_FILE, "1000"));
	close(server);
	lift_ground();
}

const struct wire_case hoard_cases[] = {
	{ "what a peer makes the kernel keep is charged and bounded", hoarding_is_bounded },
	{ "a byte pays for the train that it keeps", remnants_are_charged },
	{ "a reader that waits for more is woken when memory is short", short_memory_wakes },
	{ "a reader that waits for more is woken when its buffer is full", full_buffer_wakes },
	{ "what is unread is paid for after the end", unread_stays_charged },
	{ "all sockets together are bounded", all_together_are_bounded },
	{ "connections without a socket are bounded", orphans_are_bounded },
	{ "a short farewell needs no memory", last_words_arrive },
	{ "connections in TIME_WAIT are bounded", time_wait_is_bounded },
};

const unsigned int hoard_count = ARRAY_SIZE(hoard_cases);
