// SPDX-License-Identifier: GPL-2.0
/*
 * socket_matrix: io_uring, with the bare system calls. Nothing in the family
 * knows about it: it works when non-blocking calls and poll masks are right.
 */
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <linux/io_uring.h>
#include <linux/sockios.h>

#include "sm.h"

#define ENTRIES		8
#define GONE_MASK	(POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP)

struct ring {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array;
	unsigned int *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static void *ring_map(int fd, size_t size, off_t offset)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);

	NEED(p == MAP_FAILED ? -1 : 0);
	return p;
}

static void ring_open(struct ring *r)
{
	struct io_uring_params p = { };
	char *sq, *cq;

	r->fd = syscall(SYS_io_uring_setup, ENTRIES, &p);
	if (r->fd < 0)
		sm_skip("io_uring is off");
	sq = ring_map(r->fd, p.sq_off.array + p.sq_entries * sizeof(unsigned int),
		      IORING_OFF_SQ_RING);
	cq = ring_map(r->fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		      IORING_OFF_CQ_RING);
	r->sqes = ring_map(r->fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	r->sq_tail = (void *)(sq + p.sq_off.tail);
	r->sq_mask = (void *)(sq + p.sq_off.ring_mask);
	r->sq_array = (void *)(sq + p.sq_off.array);
	r->cq_head = (void *)(cq + p.cq_off.head);
	r->cq_tail = (void *)(cq + p.cq_off.tail);
	r->cq_mask = (void *)(cq + p.cq_off.ring_mask);
	r->cqes = (void *)(cq + p.cq_off.cqes);
}

static void ring_submit(struct ring *r, const struct io_uring_sqe *sqe)
{
	unsigned int tail = *r->sq_tail, index = tail & *r->sq_mask;

	r->sqes[index] = *sqe;
	r->sq_array[index] = index;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
	EQ(syscall(SYS_io_uring_enter, r->fd, 1, 0, 0, NULL, 0), 1);
}

/* The next completion. */
static struct io_uring_cqe ring_next(struct ring *r)
{
	unsigned int head = *r->cq_head;
	struct io_uring_cqe cqe = { };

	while (head == __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE)) {
		if (syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0) {
			cqe.res = -errno;
			return cqe;
		}
	}
	cqe = r->cqes[head & *r->cq_mask];
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	return cqe;
}

/* Its result; its user data goes to @user. */
static int ring_wait(struct ring *r, unsigned long *user)
{
	struct io_uring_cqe cqe = ring_next(r);

	if (user)
		*user = cqe.user_data;
	return cqe.res;
}

static bool ring_idle(struct ring *r)
{
	sleep_ms(slow(30));
	syscall(SYS_io_uring_enter, r->fd, 0, 0, IORING_ENTER_GETEVENTS, NULL, 0);
	return *r->cq_head == __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE);
}

static struct io_uring_sqe sqe_of(unsigned int op, int fd, const void *addr, unsigned int len)
{
	struct io_uring_sqe sqe = {
		.opcode = op, .fd = fd, .addr = (unsigned long)addr, .len = len,
		.user_data = op,
	};

	return sqe;
}

static int ring_do(struct ring *r, struct io_uring_sqe sqe)
{
	ring_submit(r, &sqe);
	return ring_wait(r, NULL);
}

static void accept_connect(void)
{
	struct io_uring_sqe accept_sqe, connect_sqe;
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa), fd = sm_socket(0), res[2];
	unsigned long user[2];
	struct ring r;

	ring_open(&r);
	accept_sqe = sqe_of(IORING_OP_ACCEPT, listener, NULL, 0);
	ring_submit(&r, &accept_sqe);
	TRUE(ring_idle(&r));
	connect_sqe = sqe_of(IORING_OP_CONNECT, fd, &sa, 0);
	connect_sqe.off = sizeof(sa);
	ring_submit(&r, &connect_sqe);
	for (int i = 0; i < 2; i++)
		res[i] = ring_wait(&r, &user[i]);
	for (int i = 0; i < 2; i++) {
		if (user[i] == IORING_OP_CONNECT)
			EQ(res[i], 0);
		else
			TRUE(res[i] > 2);
	}
	EQ(sm_mask(fd), POLLOUT);
}

static void accept_address(void)
{
	struct sockaddr_strack sa, peer, name;
	int listener = sm_listener(1, &sa), fd = sm_socket(0);
	socklen_t len = sizeof(peer);
	struct io_uring_sqe sqe;
	struct ring r;

	ring_open(&r);
	OK(st_connect(fd, &sa));
	sqe = sqe_of(IORING_OP_ACCEPT, listener, &peer, 0);
	sqe.addr2 = (unsigned long)&len;
	sqe.accept_flags = SOCK_NONBLOCK;
	fd = (OK(st_getsockname(fd, &name)), ring_do(&r, sqe));
	TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
	EQ(memcmp(&peer, &name, sizeof(name)), 0);
}

static void connect_refused(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa);
	struct io_uring_sqe sqe;
	struct ring r;

	close(listener);
	ring_open(&r);
	sqe = sqe_of(IORING_OP_CONNECT, sm_socket(0), &sa, 0);
	sqe.off = sizeof(sa);
	EQ(ring_do(&r, sqe), -ECONNREFUSED);
}

static void messages(void)
{
	char out[] = "over the ring", in[32] = "";
	struct iovec out_iov[] = { { out, 5 }, { out + 5, 8 } };
	struct iovec in_iov[] = { { in, 7 }, { in + 7, 25 } };
	struct msghdr out_msg = { .msg_iov = out_iov, .msg_iovlen = 2 };
	struct msghdr in_msg = { .msg_iov = in_iov, .msg_iovlen = 2 };
	struct io_uring_sqe sqe;
	struct ring r;
	int fd[2];

	ring_open(&r);
	sm_pair(fd);
	/* Asked for before there is anything to receive. */
	sqe = sqe_of(IORING_OP_RECVMSG, fd[1], &in_msg, 1);
	ring_submit(&r, &sqe);
	TRUE(ring_idle(&r));
	sqe = sqe_of(IORING_OP_SENDMSG, fd[0], &out_msg, 1);
	ring_submit(&r, &sqe);
	for (int i = 0; i < 2; i++)
		EQ(ring_wait(&r, NULL), 13);
	EQ(strcmp(in, out), 0);
}

static void end_and_errors(void)
{
	struct linger linger = { 1, 0 };
	char in[8];
	struct ring r;
	int fd[2];

	ring_open(&r);
	sm_pair(fd);
	shutdown(fd[0], SHUT_WR);
	EQ(ring_do(&r, sqe_of(IORING_OP_RECV, fd[1], in, sizeof(in))), 0);
	sm_pair(fd);
	setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd[0]);
	EQ(ring_do(&r, sqe_of(IORING_OP_RECV, fd[1], in, sizeof(in))), -ECONNRESET);
	EQ(ring_do(&r, sqe_of(IORING_OP_SEND, fd[1], in, sizeof(in))), -EPIPE);
	EQ(ring_do(&r, sqe_of(IORING_OP_RECV, sm_socket(0), in, 1)), -ENOTCONN);
	EQ(ring_do(&r, sqe_of(IORING_OP_SEND, fd[1], (void *)8, 1)), -EPIPE);
	sm_pair(fd);
	EQ(ring_do(&r, sqe_of(IORING_OP_SEND, fd[1], (void *)8, 1)), -EFAULT);
}

static void nonblocking(void)
{
	struct io_uring_sqe sqe;
	char in[8];
	struct ring r;
	int fd[2];

	ring_open(&r);
	sm_pair(fd);
	sqe = sqe_of(IORING_OP_RECV, fd[1], in, sizeof(in));
	sqe.msg_flags = MSG_DONTWAIT;
	EQ(ring_do(&r, sqe), -EAGAIN);
	TRUE(sm_fill(fd[0]) > 0);
	sqe = sqe_of(IORING_OP_SEND, fd[0], in, sizeof(in));
	sqe.msg_flags = MSG_DONTWAIT;
	EQ(ring_do(&r, sqe), -EAGAIN);
}

/* A large send finishes by itself while the peer reads. */
static void large_send(void)
{
	static unsigned char data[1 << 20], got[1 << 20];
	struct io_uring_sqe sqe;
	struct ring r;
	int fd[2];

	ring_open(&r);
	sm_pair(fd);
	OK(sm_set_int(fd[0], SOL_SOCKET, SO_SNDBUF, 20000));
	sm_pattern_fill(data, sizeof(data), 0);
	sqe = sqe_of(IORING_OP_SEND, fd[0], data, sizeof(data));
	sqe.msg_flags = MSG_WAITALL;
	ring_submit(&r, &sqe);
	EQ(sm_recv_all(fd[1], got, sizeof(got)), sizeof(got));
	TRUE(sm_pattern_check(got, sizeof(got), 0));
	EQ(ring_wait(&r, NULL), sizeof(data));
}

static struct io_uring_sqe sqe_zc(int fd, const void *data, unsigned int len)
{
	struct io_uring_sqe sqe = sqe_of(IORING_OP_SEND_ZC, fd, data, len);

	sqe.ioprio = IORING_SEND_ZC_REPORT_USAGE;
	sqe.msg_flags = MSG_WAITALL;
	return sqe;
}

/* The data is sent, and the notification is still to come. */
static void expect_sent(struct ring *r, unsigned int len)
{
	struct io_uring_cqe cqe = ring_next(r);

	EQ(cqe.res, len);
	EQ(cqe.flags & (IORING_CQE_F_MORE | IORING_CQE_F_NOTIF), IORING_CQE_F_MORE);
}

/* Nobody refers to the data any more; the peer is on this host, so it was copied. */
static void expect_notification(struct ring *r)
{
	struct io_uring_cqe cqe = ring_next(r);

	EQ(cqe.flags & (IORING_CQE_F_MORE | IORING_CQE_F_NOTIF), IORING_CQE_F_NOTIF);
	EQ((unsigned int)cqe.res, IORING_NOTIF_USAGE_ZC_COPIED);
}

/* Without copying, of sizes that are worth it and that are not. */
static void send_zc(void)
{
	static const unsigned int sizes[] = { 1, 511, 512, 4097, 100000 };
	static unsigned char data[100000], got[100000];
	struct ring r;
	int fd[2];

	ring_open(&r);
	sm_pair(fd);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		sm_pattern_fill(data, sizes[i], i);
		ring_submit(&r, (struct io_uring_sqe[]){ sqe_zc(fd[0], data, sizes[i]) });
		EQ(sm_recv_all(fd[1], got, sizes[i]), sizes[i]);
		TRUE(sm_pattern_check(got, sizes[i], i));
		expect_sent(&r, sizes[i]);
		expect_notification(&r);
	}
}

/* From a buffer that io_uring knows: its pages are the kernel's already. */
static void send_zc_fixed(void)
{
	static unsigned char data[200000], got[200000];
	struct iovec iov = { data, sizeof(data) };
	struct io_uring_sqe sqe;
	struct ring r;
	int fd[2];

	ring_open(&r);
	sm_pair(fd);
	sm_pattern_fill(data, sizeof(data), 0);
	OK(syscall(SYS_io_uring_register, r.fd, IORING_REGISTER_BUFFERS, &iov, 1));
	sqe = sqe_zc(fd[0], data + 1000, sizeof(data) - 1000);
	sqe.ioprio |= IORING_RECVSEND_FIXED_BUF;
	ring_submit(&r, &sqe);
	EQ(sm_recv_all(fd[1], got, sizeof(got) - 1000), sizeof(got) - 1000);
	TRUE(sm_pattern_check(got, sizeof(got) - 1000, 1000));
	expect_sent(&r, sizeof(data) - 1000);
	expect_notification(&r);
}

/* The notification waits for what the peer has no room for, and then comes. */
static void send_zc_waits(void)
{
	static unsigned char data[3 << 20], got[3 << 20];
	struct sockaddr_strack sa;
	int listener, fd[2];
	struct ring r;

	ring_open(&r);
	listener = sm_listener(1, &sa);
	OK(sm_set_int(listener, SOL_SOCKET, SO_RCVBUF, 20000));
	sm_pair_of(listener, &sa, fd);
	sm_pattern_fill(data, sizeof(data), 0);
	ring_submit(&r, (struct io_uring_sqe[]){ sqe_zc(fd[0], data, sizeof(data)) });
	if (!sm.tcp)
		expect_sent(&r, sizeof(data));
	TRUE(ring_idle(&r));
	EQ(sm_recv_all(fd[1], got, sizeof(got)), sizeof(got));
	TRUE(sm_pattern_check(got, sizeof(got), 0));
	if (sm.tcp)
		expect_sent(&r, sizeof(data));
	expect_notification(&r);
}

/*
 * Packets of several lenders leave together, get lost, and are sent again: all of
 * it arrives, and each lender is told once. Cut small, so that there are many.
 */
static void send_zc_lossy(void)
{
	enum { CALLS = 12, BYTES = 40000 };
	static unsigned char data[CALLS * BYTES], got[CALLS * BYTES];
	int fd[2], status, owed = 0;
	struct io_uring_cqe cqe;
	struct ring r;

	ring_open(&r);
	EQ(system("ip link set dev lo mtu 1500"), 0);
	sm_pair(fd);
	if (!NEED(fork())) {
		bool all = sm_recv_all(fd[1], got, sizeof(got)) == sizeof(got);

		_exit(!all || !sm_pattern_check(got, sizeof(got), 0));
	}
	sm_pattern_fill(data, sizeof(data), 0);
	EQ(system("tc qdisc add dev lo root netem loss 10% limit 10000"), 0);
	for (int i = 0; i < CALLS; i++) {
		ring_submit(&r, (struct io_uring_sqe[]){ sqe_zc(fd[0], data + i * BYTES, BYTES) });
		/* the notifications of earlier ones may come in between */
		while ((cqe = ring_next(&r)).flags & IORING_CQE_F_NOTIF)
			owed--;
		EQ(cqe.res, BYTES);
		owed += !!(cqe.flags & IORING_CQE_F_MORE);
	}
	NEED(wait(&status));
	EQ(status, 0);
	for (; owed > 0; owed--)
		TRUE(ring_next(&r).flags & IORING_CQE_F_NOTIF);
	TRUE(ring_idle(&r));
	EQ(system("tc qdisc del dev lo root"), 0);
	EQ(system("ip link set dev lo mtu 65536"), 0);
}

/* What lies before the end of the memory is sent or not, in order; nothing else is. */
static void send_zc_fault(void)
{
	enum { HALF = 8 * 4096 };
	static const size_t sizes[] = { 1000, 10, 2 * HALF };
	static unsigned char got[HALF];
	struct io_uring_cqe cqe;
	unsigned char *data;
	ssize_t sent = 0;
	struct ring r;
	int fd[2];

	ring_open(&r);
	sm_pair(fd);
	data = mmap(NULL, 2 * HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(data == MAP_FAILED ? -1 : 0);
	sm_pattern_fill(data, HALF, 0);
	OK(munmap(data + HALF, HALF));
	/* large enough to be lent, and not; all of it is missing, or the second half */
	for (int i = 0; i < 3; i++) {
		void *from = i < 2 ? data + HALF : data;

		ring_submit(&r, (struct io_uring_sqe[]){ sqe_zc(fd[0], from, sizes[i]) });
		cqe = ring_next(&r);
		if (cqe.res > 0 && i == 2)
			sent = cqe.res;
		else
			EQ(cqe.res, -EFAULT);
		if (cqe.flags & IORING_CQE_F_MORE)
			TRUE(ring_next(&r).flags & IORING_CQE_F_NOTIF);
	}
	if (!sm.tcp)
		TRUE(sent > 0);
	TRUE(sent < HALF);
	ring_submit(&r, (struct io_uring_sqe[]){ sqe_zc(fd[0], data + sent, HALF - sent) });
	EQ(sm_recv_all(fd[1], got, HALF), HALF);
	TRUE(sm_pattern_check(got, HALF, 0));
	expect_sent(&r, HALF - sent);
	TRUE(ring_next(&r).flags & IORING_CQE_F_NOTIF);
}

/*
 * What is kept of a message counts in SO_SNDBUF, not what is sent of it: of each
 * page a few bytes here.
 */
static void send_zc_sparse(void)
{
	enum { PIECES = 64, PIECE = 200, PAGE = 4096, PACKET = 10 * PAGE };
	struct iovec iov[PIECES];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = PIECES };
	struct sockaddr_strack sa;
	struct pollfd room = { .events = POLLOUT };
	struct io_uring_cqe cqe;
	struct io_uring_sqe sqe;
	int listener, fd[2];
	struct ring r;
	char *data;

	ring_open(&r);
	data = mmap(NULL, PIECES * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	NEED(data == MAP_FAILED ? -1 : 0);
	for (int i = 0; i < PIECES; i++)
		iov[i] = (struct iovec){ data + i * PAGE, PIECE };
	/* packets of not too many pieces, whose receiver soon takes no more */
	EQ(system("ip link set dev lo mtu 1500"), 0);
	listener = sm_listener(1, &sa);
	OK(sm_set_int(listener, SOL_SOCKET, SO_RCVBUF, 20000));
	sm_pair_of(listener, &sa, fd);
	OK(sm_set_int(fd[0], SOL_SOCKET, SO_SNDBUF, 1 << 17));
	sqe = sqe_of(IORING_OP_SENDMSG_ZC, fd[0], &msg, 1);
	sqe.msg_flags = MSG_DONTWAIT;
	room.fd = fd[0];
	do {
		ring_submit(&r, &sqe);
		/* the notifications of earlier ones may come in between */
		do
			cqe = ring_next(&r);
		while (cqe.flags & IORING_CQE_F_NOTIF);
		TRUE(cqe.res > 0 || cqe.res == -EAGAIN);
	} while (cqe.res > 0 || poll(&room, 1, slow(200)) == 1);
	RANGE(sm_ioctl_int(fd[0], SIOCOUTQ) / PIECE * PAGE, PACKET,
	      sm_get_int(fd[0], SOL_SOCKET, SO_SNDBUF) + PACKET);
	EQ(system("ip link set dev lo mtu 65536"), 0);
}

/* However the connection ends, the notification comes. */
static void send_zc_reset(void)
{
	static unsigned char data[1 << 20];
	struct linger linger = { 1, 0 };
	struct io_uring_cqe cqe;
	struct io_uring_sqe sqe;
	int fd[2], owed = 0;
	struct ring r;

	ring_open(&r);
	sm_pair(fd);
	OK(sm_set_int(fd[0], SOL_SOCKET, SO_SNDBUF, 1 << 18));
	sqe = sqe_zc(fd[0], data, sizeof(data));
	sqe.msg_flags = MSG_DONTWAIT;
	do {
		ring_submit(&r, &sqe);
		/* the notifications of earlier ones may come in between */
		while ((cqe = ring_next(&r)).flags & IORING_CQE_F_NOTIF)
			owed--;
		owed += !!(cqe.flags & IORING_CQE_F_MORE);
	} while (cqe.res > 0);
	EQ(cqe.res, -EAGAIN);
	TRUE(owed > 0);
	OK(setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	close(fd[1]);
	for (; owed > 0; owed--)
		TRUE(ring_next(&r).flags & IORING_CQE_F_NOTIF);
	TRUE(ring_idle(&r));
}

static void recv_waitall(void)
{
	struct io_uring_sqe sqe;
	char in[8] = "";
	struct ring r;
	int fd[2];

	ring_open(&r);
	sm_pair(fd);
	sqe = sqe_of(IORING_OP_RECV, fd[1], in, 6);
	sqe.msg_flags = MSG_WAITALL;
	ring_submit(&r, &sqe);
	OK(send(fd[0], "abc", 3, 0));
	TRUE(ring_idle(&r));
	OK(send(fd[0], "def", 3, 0));
	EQ(ring_wait(&r, NULL), 6);
	EQ(memcmp(in, "abcdef", 6), 0);
}

static void poll_add(void)
{
	struct linger linger = { 1, 0 };
	struct io_uring_sqe sqe;
	char byte;
	struct ring r;
	int fd[2];

	ring_open(&r);
	sm_pair(fd);
	sqe = sqe_of(IORING_OP_POLL_ADD, fd[1], NULL, 0);
	sqe.poll32_events = POLLIN;
	ring_submit(&r, &sqe);
	TRUE(ring_idle(&r));
	OK(send(fd[0], "x", 1, 0));
	EQ(ring_wait(&r, NULL), POLLIN);
	EQ(recv(fd[1], &byte, 1, 0), 1);
	sqe.poll32_events = POLLIN | POLLRDHUP;
	ring_submit(&r, &sqe);
	TRUE(ring_idle(&r));
	shutdown(fd[0], SHUT_WR);
	EQ(ring_wait(&r, NULL), POLLIN | POLLRDHUP);
	setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd[0]);
	EQ(sm_wait_mask(fd[1], GONE_MASK), GONE_MASK);
	EQ(ring_do(&r, sqe), POLLIN | POLLRDHUP | POLLHUP | POLLERR);
}

static void cancel(void)
{
	struct io_uring_sqe sqe, stop;
	unsigned long user[2];
	int fd[2], res[2];
	char in[8];
	struct ring r;

	ring_open(&r);
	sm_pair(fd);
	sqe = sqe_of(IORING_OP_RECV, fd[1], in, sizeof(in));
	ring_submit(&r, &sqe);
	TRUE(ring_idle(&r));
	stop = sqe_of(IORING_OP_ASYNC_CANCEL, -1, NULL, 0);
	stop.addr = IORING_OP_RECV;
	ring_submit(&r, &stop);
	for (int i = 0; i < 2; i++)
		res[i] = ring_wait(&r, &user[i]);
	for (int i = 0; i < 2; i++)
		EQ(res[i], user[i] == IORING_OP_RECV ? -ECANCELED : 0);
	/* Nothing was lost. */
	OK(send(fd[0], "x", 1, 0));
	EQ(recv(fd[1], in, sizeof(in), 0), 1);
}

static void shutdown_op(void)
{
	char byte;
	struct ring r;
	int fd[2];

	ring_open(&r);
	sm_pair(fd);
	EQ(ring_do(&r, sqe_of(IORING_OP_SHUTDOWN, fd[0], NULL, SHUT_WR)), 0);
	EQ(recv(fd[1], &byte, 1, 0), 0);
}

static const struct sm_case cases[] = {
	SM_CASE(accept_connect, SM_BOTH, SM_V4_V6),
	SM_CASE(accept_address, SM_BOTH, SM_ONCE),
	SM_CASE(connect_refused, SM_BOTH, SM_ONCE),
	SM_CASE(messages, SM_BOTH, SM_V4_V6),
	SM_CASE(end_and_errors, SM_BOTH, SM_ONCE),
	SM_CASE(nonblocking, SM_BOTH, SM_ONCE),
	SM_CASE(large_send, SM_BOTH, SM_ONCE),
	SM_CASE(send_zc, SM_BOTH, SM_V4_V6),
	SM_CASE(send_zc_fixed, SM_BOTH, SM_V4_V6),
	SM_CASE(send_zc_waits, SM_BOTH, SM_ONCE),
	SM_CASE(send_zc_lossy, SM_BOTH, SM_V4_V6),
	SM_CASE(send_zc_fault, SM_BOTH, SM_ONCE),
	SM_CASE(send_zc_sparse, SM_STRACK, SM_V4_V6),
	SM_CASE(send_zc_reset, SM_BOTH, SM_ONCE),
	SM_CASE(recv_waitall, SM_BOTH, SM_ONCE),
	SM_CASE(poll_add, SM_BOTH, SM_ONCE),
	SM_CASE(cancel, SM_BOTH, SM_ONCE),
	SM_CASE(shutdown_op, SM_BOTH, SM_ONCE),
};

SM_GROUP(uring, cases);
