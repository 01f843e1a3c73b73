// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: sending. */
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <linux/sockios.h>

#include "sm.h"

static atomic_int pipes;

static void on_pipe(int signal)
{
	(void)signal;
	pipes++;
}

static void not_connected(void)
{
	int fd = sm_socket(0);

	signal(SIGPIPE, on_pipe);
	ERR(send(fd, "x", 1, 0), EPIPE);
	EQ(pipes, 1);
	ERR(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	EQ(pipes, 1);
	ERR(write(fd, "x", 1), EPIPE);
	EQ(pipes, 2);
}

static void after_shutdown(void)
{
	int fd[2];

	signal(SIGPIPE, on_pipe);
	sm_pair(fd);
	OK(shutdown(fd[0], SHUT_WR));
	ERR(send(fd[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	EQ(pipes, 0);
	ERR(send(fd[0], "x", 1, 0), EPIPE);
	EQ(pipes, 1);
	/* That there is nothing to send makes no difference. */
	ERR(send(fd[0], "", 0, MSG_NOSIGNAL), EPIPE);
	EQ(pipes, 1);
	ERR(send(fd[0], "", 0, 0), EPIPE);
	EQ(pipes, 2);
}

/* The first send after the peer went away still works, the following do not. */
static void to_closed_peer(void)
{
	int fd[2];

	signal(SIGPIPE, on_pipe);
	sm_pair(fd);
	close(fd[1]);
	EQ(sm_poll(fd[0], POLLIN, 2000), POLLIN);
	EQ(send(fd[0], "x", 1, 0), 1);
	sleep_ms(slow(50));
	ERR(send(fd[0], "x", 1, 0), EPIPE);
	EQ(pipes, 1);
}

/* An address given to a connected stream socket is ignored. */
static void sendto_connected(void)
{
	struct sockaddr_strack sa;
	char byte = 0;
	int fd[2];

	sm_pair(fd);
	sm_place(&sa, SM_LOOP, 9);
	EQ(sendto(fd[0], "y", 1, 0, (void *)&sa, sizeof(sa)), 1);
	EQ(recv(fd[1], &byte, 1, 0), 1);
	EQ(byte, 'y');
}

static void zero_length(void)
{
	char byte;
	int fd[2];

	sm_pair(fd);
	EQ(send(fd[0], NULL, 0, 0), 0);
	EQ(write(fd[0], "", 0), 0);
	EQ(writev(fd[0], NULL, 0), 0);
	sleep_ms(20);
	ERR(recv(fd[1], &byte, 1, MSG_DONTWAIT), EAGAIN);
	EQ(sm_mask(fd[1]), POLLOUT);
}

static void gather(void)
{
	char got[32] = "";
	struct iovec iov[] = {
		{ "one", 3 }, { "", 0 }, { "two", 3 }, { NULL, 0 }, { "three", 5 },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = ARRAY_SIZE(iov) };
	int fd[2];

	sm_pair(fd);
	EQ(sendmsg(fd[0], &msg, 0), 11);
	EQ(writev(fd[0], iov, ARRAY_SIZE(iov)), 11);
	EQ(sm_recv_all(fd[1], got, 22), 22);
	EQ(strcmp(got, "onetwothreeonetwothree"), 0);
}

static void many_vectors(void)
{
	static struct iovec iov[UIO_MAXIOV + 1];
	static char data[UIO_MAXIOV], got[UIO_MAXIOV];
	struct msghdr msg = { .msg_iov = iov };
	int fd[2];

	sm_pair(fd);
	for (int i = 0; i < UIO_MAXIOV; i++) {
		data[i] = i * 7;
		iov[i] = (struct iovec){ &data[i], 1 };
	}
	iov[UIO_MAXIOV] = iov[0];
	msg.msg_iovlen = UIO_MAXIOV + 1;
	ERR(sendmsg(fd[0], &msg, 0), EMSGSIZE);
	msg.msg_iovlen = UIO_MAXIOV;
	EQ(sendmsg(fd[0], &msg, 0), UIO_MAXIOV);
	EQ(sm_recv_all(fd[1], got, sizeof(got)), sizeof(got));
	EQ(memcmp(got, data, sizeof(got)), 0);
}

/* More than any buffer holds: as much as fits is taken, nothing breaks. */
static void huge_length(void)
{
	size_t len = 256UL << 20;
	void *data = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ssize_t sent, got = 0, n;
	static char sink[65536];
	int fd[2];

	sm_pair(fd);
	TRUE(data != MAP_FAILED);
	sent = OK(send(fd[0], data, len, MSG_DONTWAIT));
	RANGE(sent, 1, len - 1);
	shutdown(fd[0], SHUT_WR);
	while ((n = recv(fd[1], sink, sizeof(sink), 0)) > 0)
		got += n;
	EQ(n, 0);
	EQ(got, sent);
}

static void blocks_until_room(void)
{
	static unsigned char data[1 << 20], got[1 << 20];
	int fd[2];
	pid_t pid;

	sm_pair(fd);
	OK(sm_set_int(fd[0], SOL_SOCKET, SO_SNDBUF, 16384));
	sm_pattern_fill(data, sizeof(data), 0);
	pid = fork();
	if (!pid) {
		sleep_ms(100);
		_exit(sm_recv_all(fd[1], got, sizeof(got)) != sizeof(got) ||
		      !sm_pattern_check(got, sizeof(got), 0));
	}
	/* One call, although the buffer holds a small part only. */
	EQ(send(fd[0], data, sizeof(data), 0), sizeof(data));
	close(fd[0]);
	close(fd[1]);
}

static void full_is_eagain(void)
{
	size_t filled;
	int fd[2], queued;

	sm_pair(fd);
	sm_nonblock(fd[0]);
	filled = sm_fill(fd[0]);
	TRUE(filled > 0);
	ERR(send(fd[0], "x", 1, 0), EAGAIN);
	EQ(sm_mask(fd[0]) & POLLOUT, 0);
	queued = sm_ioctl_int(fd[0], SIOCOUTQ);
	RANGE(queued, 1, filled);
	RANGE(sm_ioctl_int(fd[1], SIOCINQ), 1, filled - 1);
	EQ(queued + sm_ioctl_int(fd[1], SIOCINQ), filled);
}

static void send_timeout(void)
{
	struct timeval tv = { 0, 100000 }, got;
	socklen_t len = sizeof(got);
	uint64_t start;
	int fd[2];

	sm_pair(fd);
	OK(setsockopt(fd[0], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)));
	OK(getsockopt(fd[0], SOL_SOCKET, SO_SNDTIMEO, &got, &len));
	EQ(got.tv_sec * 1000000 + got.tv_usec, 100000);
	sm_fill(fd[0]);
	start = now_ns();
	ERR(send(fd[0], "x", 1, 0), EAGAIN);
	RANGE((now_ns() - start) / NSEC_PER_MSEC, at_least(100), slow(1000));
}

static void outq_drains(void)
{
	static char data[5000];
	int fd[2];

	sm_pair(fd);
	EQ(sm_ioctl_int(fd[0], SIOCOUTQ), 0);
	EQ(sm_send_all(fd[0], data, sizeof(data)), sizeof(data));
	/* Acknowledged although nobody has read it. */
	EQ(sm_wait_ioctl(fd[0], SIOCOUTQ, 0), 0);
	EQ(sm_wait_ioctl(fd[1], SIOCINQ, sizeof(data)), sizeof(data));
}

/* MSG_MORE holds a partial packet back, for a while only. */
static void more_holds(void)
{
	char got[16] = "";
	int fd[2];

	sm_pair(fd);
	EQ(send(fd[0], "ab", 2, MSG_MORE), 2);
	sleep_ms(20);
	ERR(recv(fd[1], got, sizeof(got), MSG_DONTWAIT), EAGAIN);
	EQ(send(fd[0], "cd", 2, 0), 2);
	EQ(sm_recv_all(fd[1], got, 4), 4);
	EQ(memcmp(got, "abcd", 4), 0);
}

static void more_ends_by_time(void)
{
	char got[16] = "";
	int fd[2];

	sm_pair(fd);
	EQ(send(fd[0], "ab", 2, MSG_MORE), 2);
	EQ(sm_poll(fd[1], POLLIN, 1000), POLLIN);
	EQ(recv(fd[1], got, sizeof(got), MSG_DONTWAIT), 2);
}

static void more_ends_by_shutdown(void)
{
	char got[16] = "";
	int fd[2];

	sm_pair(fd);
	EQ(send(fd[0], "ab", 2, MSG_MORE), 2);
	OK(shutdown(fd[0], SHUT_WR));
	EQ(sm_recv_all(fd[1], got, sizeof(got)), 2);
}

static void more_in_a_row(void)
{
	static unsigned char data[20000], got[20000];
	int fd[2];

	sm_pair(fd);
	sm_pattern_fill(data, sizeof(data), 0);
	for (size_t i = 0; i < sizeof(data); i += 100)
		EQ(send(fd[0], data + i, 100, i + 100 < sizeof(data) ? MSG_MORE : 0), 100);
	EQ(sm_recv_all(fd[1], got, sizeof(got)), sizeof(got));
	TRUE(sm_pattern_check(got, sizeof(got), 0));
}

static void sendmmsg_all(void)
{
	char a[] = "alpha", b[] = "beta", got[16] = "";
	struct iovec iov[2] = { { a, 5 }, { b, 4 } };
	struct mmsghdr vec[2] = {
		{ .msg_hdr = { .msg_iov = &iov[0], .msg_iovlen = 1 } },
		{ .msg_hdr = { .msg_iov = &iov[1], .msg_iovlen = 1 } },
	};
	int fd[2];

	sm_pair(fd);
	EQ(sendmmsg(fd[0], vec, 2, 0), 2);
	EQ(vec[0].msg_len, 5);
	EQ(vec[1].msg_len, 4);
	EQ(sm_recv_all(fd[1], got, 9), 9);
	EQ(strcmp(got, "alphabeta"), 0);
}

static void bad_control(void)
{
	union {
		struct cmsghdr align;
		char data[64];
	} control = { };
	struct iovec iov = { "z", 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.data, .msg_controllen = 32,
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int fd[2];

	sm_pair(fd);
	cmsg->cmsg_len = 3;			/* shorter than its own header */
	cmsg->cmsg_level = SOL_SOCKET;
	ERR(sendmsg(fd[0], &msg, 0), EINVAL);
	cmsg->cmsg_len = 1000;			/* longer than the buffer */
	ERR(sendmsg(fd[0], &msg, 0), EINVAL);
	cmsg->cmsg_len = 32;
	cmsg->cmsg_type = 12345;
	ERR(sendmsg(fd[0], &msg, 0), EINVAL);
	cmsg->cmsg_level = 9999;		/* not ours: ignored */
	EQ(sendmsg(fd[0], &msg, 0), 1);
}

static void many_small(void)
{
	static unsigned char data[3000], got[sizeof(data)];
	const size_t len = quick() ? sizeof(data) / 5 : sizeof(data);
	int fd[2];

	sm_pair(fd);
	sm_pattern_fill(data, len, 0);
	for (size_t i = 0; i < len; i++)
		EQ(send(fd[0], data + i, 1, 0), 1);
	EQ(sm_recv_all(fd[1], got, len), len);
	TRUE(sm_pattern_check(got, len, 0));
}

static const struct sm_case cases[] = {
	SM_CASE(not_connected, SM_BOTH, SM_ONCE),
	SM_CASE(after_shutdown, SM_BOTH, SM_ONCE),
	SM_CASE(to_closed_peer, SM_BOTH, SM_V4_V6),
	SM_CASE(sendto_connected, SM_BOTH, SM_ONCE),
	SM_CASE(zero_length, SM_BOTH, SM_ONCE),
	SM_CASE(gather, SM_BOTH, SM_V4_V6),
	SM_CASE(many_vectors, SM_BOTH, SM_ONCE),
	SM_CASE(huge_length, SM_BOTH, SM_ONCE),
	SM_CASE(blocks_until_room, SM_BOTH, SM_V4_V6),
	SM_CASE(full_is_eagain, SM_BOTH, SM_V4_V6),
	SM_CASE(send_timeout, SM_BOTH, SM_ONCE),
	SM_CASE(outq_drains, SM_BOTH, SM_V4_V6),
	SM_CASE(more_holds, SM_BOTH, SM_V4_V6),
	SM_CASE(more_ends_by_time, SM_BOTH, SM_ONCE),
	SM_CASE(more_ends_by_shutdown, SM_BOTH, SM_ONCE),
	SM_CASE(more_in_a_row, SM_BOTH, SM_ONCE),
	SM_CASE(sendmmsg_all, SM_BOTH, SM_ONCE),
	SM_CASE(bad_control, SM_BOTH, SM_ONCE),
	SM_CASE(many_small, SM_BOTH, SM_ONCE),
};

SM_GROUP(send, cases);
