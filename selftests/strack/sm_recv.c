// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: receiving. */
#include <limits.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <linux/sockios.h>

#include "sm.h"

/* A pair whose [1] has @text to read. */
static void pair_with(int fd[2], const char *text)
{
	int len = strlen(text);

	sm_pair(fd);
	NEED(send(fd[0], text, len, 0));
	EQ(sm_wait_ioctl(fd[1], SIOCINQ, len), len);
}

static void not_connected(void)
{
	char byte;
	int fd = sm_socket(0);

	ERR(recv(fd, &byte, 1, 0), ENOTCONN);
	ERR(recv(fd, &byte, 1, MSG_DONTWAIT), ENOTCONN);
	ERR(read(fd, &byte, 1), ENOTCONN);
}

static void empty(void)
{
	char byte;
	int fd[2];

	sm_pair(fd);
	ERR(recv(fd[0], &byte, 1, MSG_DONTWAIT), EAGAIN);
	sm_nonblock(fd[0]);
	ERR(recv(fd[0], &byte, 1, 0), EAGAIN);
	ERR(read(fd[0], &byte, 1), EAGAIN);
	EQ(read(fd[0], &byte, 0), 0);
}

static void partial(void)
{
	char got[16] = "";
	int fd[2];

	pair_with(fd, "abcdef");
	EQ(recv(fd[1], got, 2, 0), 2);
	EQ(memcmp(got, "ab", 2), 0);
	EQ(sm_ioctl_int(fd[1], FIONREAD), 4);
	EQ(recv(fd[1], got, sizeof(got), 0), 4);
	EQ(memcmp(got, "cdef", 4), 0);
	EQ(sm_ioctl_int(fd[1], FIONREAD), 0);
}

/* A stream has no borders: what several sends brought can be read at once. */
static void joined(void)
{
	char got[16] = "";
	int fd[2];

	pair_with(fd, "abc");
	EQ(send(fd[0], "def", 3, 0), 3);
	EQ(sm_wait_ioctl(fd[1], SIOCINQ, 6), 6);
	EQ(recv(fd[1], got, sizeof(got), 0), 6);
	EQ(memcmp(got, "abcdef", 6), 0);
}

static void peek(void)
{
	char got[16] = "";
	int fd[2];

	pair_with(fd, "abcdef");
	EQ(recv(fd[1], got, 3, MSG_PEEK), 3);
	EQ(memcmp(got, "abc", 3), 0);
	EQ(recv(fd[1], got, sizeof(got), MSG_PEEK), 6);
	EQ(memcmp(got, "abcdef", 6), 0);
	EQ(sm_ioctl_int(fd[1], SIOCINQ), 6);
	EQ(recv(fd[1], got, sizeof(got), 0), 6);
	ERR(recv(fd[1], got, 1, MSG_PEEK | MSG_DONTWAIT), EAGAIN);
	shutdown(fd[0], SHUT_WR);
	EQ(recv(fd[1], got, 1, MSG_PEEK), 0);
	EQ(recv(fd[1], got, 1, 0), 0);
}

static void peek_many_packets(void)
{
	static unsigned char data[20000], got[20000];
	int fd[2];

	sm_pair(fd);
	sm_pattern_fill(data, sizeof(data), 0);
	EQ(sm_send_all(fd[0], data, sizeof(data)), sizeof(data));
	EQ(sm_wait_ioctl(fd[1], SIOCINQ, sizeof(data)), sizeof(data));
	EQ(recv(fd[1], got, 7, 0), 7);
	EQ(recv(fd[1], got, sizeof(got), MSG_PEEK), sizeof(got) - 7);
	TRUE(sm_pattern_check(got, sizeof(got) - 7, 7));
	EQ(recv(fd[1], got, sizeof(got), 0), sizeof(got) - 7);
	TRUE(sm_pattern_check(got, sizeof(got) - 7, 7));
}

static void trunc_discards(void)
{
	char got[16] = "________";
	int fd[2];

	pair_with(fd, "abcdef");
	EQ(recv(fd[1], got, 4, MSG_TRUNC), 4);
	EQ(memcmp(got, "____", 4), 0);
	EQ(recv(fd[1], NULL, 1, MSG_TRUNC), 1);
	EQ(recv(fd[1], got, sizeof(got), 0), 1);
	EQ(got[0], 'f');
}

static void waitall(void)
{
	char got[16] = "";
	int fd[2];
	pid_t pid;

	sm_pair(fd);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 10; i++) {
			sleep_ms(10);
			send(fd[0], "0123456789" + i, 1, 0);
		}
		_exit(0);
	}
	EQ(recv(fd[1], got, 10, MSG_WAITALL), 10);
	EQ(memcmp(got, "0123456789", 10), 0);
}

static void waitall_until_end(void)
{
	char got[16] = "";
	int fd[2];

	pair_with(fd, "abc");
	shutdown(fd[0], SHUT_WR);
	EQ(recv(fd[1], got, 10, MSG_WAITALL), 3);
	EQ(recv(fd[1], got, 10, MSG_WAITALL), 0);
}

static void waitall_peek(void)
{
	char got[16] = "";
	int fd[2];
	pid_t pid;

	pair_with(fd, "abc");
	pid = fork();
	if (!pid) {
		sleep_ms(50);
		send(fd[0], "def", 3, 0);
		_exit(0);
	}
	EQ(recv(fd[1], got, 6, MSG_WAITALL | MSG_PEEK), 6);
	EQ(recv(fd[1], got, 6, 0), 6);
	EQ(memcmp(got, "abcdef", 6), 0);
}

static void waitall_nonblocking(void)
{
	char got[16] = "";
	int fd[2];

	pair_with(fd, "abc");
	EQ(recv(fd[1], got, 10, MSG_WAITALL | MSG_DONTWAIT), 3);
}

static void waitall_timeout(void)
{
	struct timeval tv = { 0, 100000 };
	char got[16] = "";
	int fd[2];

	pair_with(fd, "abc");
	OK(setsockopt(fd[1], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	EQ(recv(fd[1], got, 10, MSG_WAITALL), 3);
	ERR(recv(fd[1], got, 10, MSG_WAITALL), EAGAIN);
}

static void receive_timeout(void)
{
	struct timeval tv = { 0, 100000 };
	uint64_t start;
	char byte;
	int fd[2];

	sm_pair(fd);
	OK(setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	start = now_ns();
	ERR(recv(fd[0], &byte, 1, 0), EAGAIN);
	RANGE((now_ns() - start) / NSEC_PER_MSEC, at_least(100), slow(1000));
}

static void scatter(void)
{
	char a[4] = "", b[4] = "", c[8] = "";
	struct iovec iov[] = { { a, 3 }, { NULL, 0 }, { b, 2 }, { c, 8 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = ARRAY_SIZE(iov) };
	int fd[2];

	pair_with(fd, "abcdefgh");
	EQ(recvmsg(fd[1], &msg, MSG_PEEK), 8);
	EQ(strcmp(a, "abc") | strcmp(b, "de") | strcmp(c, "fgh"), 0);
	memset(c, 0, sizeof(c));
	EQ(readv(fd[1], iov, ARRAY_SIZE(iov)), 8);
	EQ(strcmp(a, "abc") | strcmp(b, "de") | strcmp(c, "fgh"), 0);
}

static void message_header(void)
{
	struct sockaddr_strack name;
	char data[8], control[64];
	struct iovec iov = { data, sizeof(data) };
	struct msghdr msg = {
		.msg_name = &name, .msg_namelen = sizeof(name),
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
		.msg_flags = 0x7fff,
	};
	socklen_t len = sizeof(name);
	int fd[2];

	pair_with(fd, "abcdef");
	EQ(recvmsg(fd[1], &msg, MSG_PEEK), 6);
	EQ(msg.msg_namelen, 0);
	EQ(msg.msg_controllen, 0);
	EQ(msg.msg_flags, 0);
	EQ(recvfrom(fd[1], data, 3, 0, (void *)&name, &len), 3);
	EQ(len, 0);
	EQ(recvfrom(fd[1], data, 3, 0, NULL, NULL), 3);
}

static void zero_length(void)
{
	char byte;
	int fd[2];

	sm_pair(fd);
	ERR(recv(fd[1], &byte, 0, MSG_DONTWAIT), EAGAIN);
	EQ(send(fd[0], "x", 1, 0), 1);
	EQ(sm_wait_ioctl(fd[1], SIOCINQ, 1), 1);
	EQ(recv(fd[1], &byte, 0, 0), 0);
	EQ(recv(fd[1], &byte, 1, 0), 1);
	shutdown(fd[0], SHUT_WR);
	EQ(recv(fd[1], &byte, 0, 0), 0);
}

static void huge_length(void)
{
	size_t len = 4UL << 30;
	char *got = mmap(NULL, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int fd[2];

	NEED(got == MAP_FAILED ? -1 : 0);
	pair_with(fd, "abc");
	EQ(recv(fd[1], got, 0x7fffffff, MSG_PEEK), 3);
	/* The system call cuts it to what an int holds. */
	EQ(recv(fd[1], got, len, 0), 3);
	EQ(memcmp(got, "abc", 3), 0);
}

/* A read that faults loses nothing. */
static void fault_loses_nothing(void)
{
	char got[16] = "";
	int fd[2];

	pair_with(fd, "abc");
	ERR(recv(fd[1], NULL, 3, 0), EFAULT);
	ERR(recv(fd[1], (void *)8, 3, MSG_PEEK), EFAULT);
	EQ(recv(fd[1], got, sizeof(got), 0), 3);
	EQ(memcmp(got, "abc", 3), 0);
}

static void low_water(void)
{
	char got[16] = "";
	int fd[2];

	sm_pair(fd);
	OK(sm_set_int(fd[1], SOL_SOCKET, SO_RCVLOWAT, 4));
	EQ(sm_get_int(fd[1], SOL_SOCKET, SO_RCVLOWAT), 4);
	EQ(send(fd[0], "abc", 3, 0), 3);
	EQ(sm_wait_ioctl(fd[1], SIOCINQ, 3), 3);
	EQ(sm_poll(fd[1], POLLIN, 30), 0);
	/* It says when a reader is woken, not how much may be read. */
	EQ(recv(fd[1], got, 1, MSG_DONTWAIT), 1);
	EQ(send(fd[0], "def", 3, 0), 3);
	EQ(sm_poll(fd[1], POLLIN, 2000), POLLIN);
	EQ(recv(fd[1], got, sizeof(got), 0), 5);
}

static void low_water_blocks(void)
{
	char got[16] = "";
	int fd[2];
	pid_t pid;

	sm_pair(fd);
	OK(sm_set_int(fd[1], SOL_SOCKET, SO_RCVLOWAT, 4));
	EQ(send(fd[0], "abc", 3, 0), 3);
	pid = fork();
	if (!pid) {
		sleep_ms(60);
		send(fd[0], "defg", 4, 0);
		_exit(0);
	}
	/* TCP counts what this call has taken already as gone: it may want four more. */
	RANGE(recv(fd[1], got, sizeof(got), 0), 4, 7);
}

static void low_water_at_end(void)
{
	char got[16];
	int fd[2];

	sm_pair(fd);
	OK(sm_set_int(fd[1], SOL_SOCKET, SO_RCVLOWAT, 1000));
	EQ(send(fd[0], "abc", 3, 0), 3);
	shutdown(fd[0], SHUT_WR);
	EQ(sm_poll(fd[1], POLLIN, 2000), POLLIN);
	EQ(recv(fd[1], got, sizeof(got), 0), 3);
	EQ(recv(fd[1], got, sizeof(got), 0), 0);
}

static void inq_values(void)
{
	struct sockaddr_strack sa;
	int fd[2], listener = sm_listener(1, &sa), value;
	char byte;

	ERR(ioctl(listener, SIOCINQ, &value), EINVAL);
	ERR(ioctl(listener, SIOCOUTQ, &value), EINVAL);
	EQ(sm_ioctl_int(sm_socket(0), SIOCINQ), 0);
	EQ(sm_ioctl_int(sm_socket(0), SIOCOUTQ), 0);
	pair_with(fd, "abc");
	shutdown(fd[0], SHUT_WR);
	EQ(sm_wait_mask(fd[1], POLLIN | POLLOUT | POLLRDHUP), POLLIN | POLLOUT | POLLRDHUP);
	EQ(sm_ioctl_int(fd[1], SIOCINQ), 3);
	EQ(recv(fd[1], &byte, 1, 0), 1);
	EQ(sm_ioctl_int(fd[1], SIOCINQ), 2);
	ERR(ioctl(fd[1], 0x54ff, &value), ENOTTY);
}

/*
 * What is waited for never comes if the peer may not send more before something
 * is read. Many small packets use up its credit long before the bytes do.
 */
static void low_water_many_packets(void)
{
	int i, queued, fd[2];

	pair_with(fd, "x");
	OK(sm_set_int(fd[1], SOL_SOCKET, SO_RCVLOWAT, 1 << 18));
	for (i = 0; i < 600; i++) {
		EQ(send(fd[0], "x", 1, 0), 1);
		/* so that the next one is in a packet of its own */
		do {
			NEED(ioctl(fd[0], SIOCOUTQ, &queued));
		} while (queued);
	}
	EQ(sm_poll(fd[1], POLLIN, 5000), POLLIN);
}

static void recvmmsg_two(void)
{
	char a[4], b[4];
	struct iovec iov[2] = { { a, 4 }, { b, 4 } };
	struct mmsghdr vec[2] = {
		{ .msg_hdr = { .msg_iov = &iov[0], .msg_iovlen = 1 } },
		{ .msg_hdr = { .msg_iov = &iov[1], .msg_iovlen = 1 } },
	};
	int fd[2];

	pair_with(fd, "abcdef");
	EQ(recvmmsg(fd[1], vec, 2, MSG_DONTWAIT, NULL), 2);
	EQ(vec[0].msg_len, 4);
	EQ(vec[1].msg_len, 2);
}

static const struct sm_case cases[] = {
	SM_CASE(not_connected, SM_BOTH, SM_ONCE),
	SM_CASE(empty, SM_BOTH, SM_ONCE),
	SM_CASE(partial, SM_BOTH, SM_V4_V6),
	SM_CASE(joined, SM_BOTH, SM_ONCE),
	SM_CASE(peek, SM_BOTH, SM_V4_V6),
	SM_CASE(peek_many_packets, SM_BOTH, SM_V4_V6),
	SM_CASE(trunc_discards, SM_BOTH, SM_V4_V6),
	SM_CASE(waitall, SM_BOTH, SM_V4_V6),
	SM_CASE(waitall_until_end, SM_BOTH, SM_ONCE),
	SM_CASE(waitall_peek, SM_BOTH, SM_ONCE),
	SM_CASE(waitall_nonblocking, SM_BOTH, SM_ONCE),
	SM_CASE(waitall_timeout, SM_BOTH, SM_ONCE),
	SM_CASE(receive_timeout, SM_BOTH, SM_ONCE),
	SM_CASE(scatter, SM_BOTH, SM_V4_V6),
	SM_CASE(message_header, SM_BOTH, SM_V4_V6),
	SM_CASE(zero_length, SM_BOTH, SM_ONCE),
	SM_CASE(huge_length, SM_BOTH, SM_ONCE),
	SM_CASE(fault_loses_nothing, SM_BOTH, SM_ONCE),
	SM_CASE(low_water, SM_BOTH, SM_ONCE),
	SM_CASE(low_water_blocks, SM_BOTH, SM_ONCE),
	SM_CASE(low_water_at_end, SM_BOTH, SM_ONCE),
	SM_CASE(low_water_many_packets, SM_STRACK, SM_ONCE),
	SM_CASE(inq_values, SM_BOTH, SM_V4_V6),
	SM_CASE(recvmmsg_two, SM_BOTH, SM_ONCE),
};

SM_GROUP(recv, cases);
