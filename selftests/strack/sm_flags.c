// SPDX-License-Identifier: GPL-2.0
/*
 * socket_matrix: every MSG_ bit on its own.
 *
 * TCP ignores the bits it does not know, and programs rely on it (libraries
 * pass MSG_CMSG_CLOEXEC and the like to every socket).
 */
#include <linux/sockios.h>

#include "sm.h"

#define BIT_OOB		0x1
#define BIT_PEEK	0x2
#define BIT_TRUNC	0x20
#define BIT_ERRQUEUE	0x2000
#define BIT_FASTOPEN	0x20000000
#define BIT_COMPAT	0x80000000u

/*
 * Before any family is asked, a kernel that runs 32-bit programs refuses their mark;
 * one that does not has no such bit, and the family sees nothing of it.
 */
static bool compat_bit_refused(void)
{
	struct iovec iov = { "data", 4 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	bool refused;
	int fd[2];

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
	refused = sendmsg(fd[0], &msg, BIT_COMPAT) < 0 && errno == EINVAL;
	close(fd[0]);
	close(fd[1]);
	return refused;
}

/* One call with a single flag on a pair of its own; -errno or the count. */
static int send_with(unsigned int flag)
{
	int fd[2], ret;

	sm_pair(fd);
	ret = send(fd[0], "data", 4, flag | MSG_NOSIGNAL);
	if (ret < 0)
		ret = -errno;
	close(fd[0]);
	close(fd[1]);
	return ret;
}

static int recv_with(unsigned int flag, bool message)
{
	char got[8] = "";
	struct iovec iov = { got, sizeof(got) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fd[2], ret;

	sm_pair(fd);
	NEED(send(fd[0], "data", 4, 0));
	EQ(sm_poll(fd[1], POLLIN, 2000), POLLIN);
	shutdown(fd[0], SHUT_WR);
	ret = message ? recvmsg(fd[1], &msg, flag) : recv(fd[1], got, sizeof(got), flag);
	if (ret < 0)
		ret = -errno;
	else if (!(flag & BIT_TRUNC))
		TRUE(!memcmp(got, "data", 4));
	close(fd[0]);
	close(fd[1]);
	return ret;
}

static void check(const char *call, unsigned int flag, int got, int want)
{
	char what[64];

	snprintf(what, sizeof(what), "%s with MSG_ bit %#x", call, flag);
	sm_check_eq(got, want, what, __FILE__, __LINE__);
}

static void send_bits(void)
{
	for (int bit = 0; bit < 32; bit++) {
		unsigned int flag = 1u << bit;

		/* Urgent data and fast open are features, tested on their own. */
		if (flag == BIT_OOB || flag == BIT_FASTOPEN)
			continue;
		check("send", flag, send_with(flag), 4);
	}
}

static void recv_bits(void)
{
	for (int bit = 0; bit < 32; bit++) {
		unsigned int flag = 1u << bit;

		if (flag == BIT_OOB)
			continue;
		check("recv", flag, recv_with(flag, false), flag == BIT_ERRQUEUE ? -EAGAIN : 4);
	}
}

static void recvmsg_bits(void)
{
	for (int bit = 0; bit < 32; bit++) {
		unsigned int flag = 1u << bit;
		int want = 4;

		if (flag == BIT_OOB)
			continue;
		if (flag == BIT_ERRQUEUE)
			want = -EAGAIN;
		if (flag == BIT_COMPAT && compat_bit_refused())
			want = -EINVAL;
		check("recvmsg", flag, recv_with(flag, true), want);
	}
}

static void sendmsg_compat_bit(void)
{
	struct iovec iov = { "data", 4 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fd[2];

	sm_pair(fd);
	if (compat_bit_refused())
		ERR(sendmsg(fd[0], &msg, BIT_COMPAT), EINVAL);
	else
		EQ(sendmsg(fd[0], &msg, BIT_COMPAT), 4);
	EQ(sendmsg(fd[0], &msg, 0), 4);
}

/* There is no urgent data: refused, not treated as ordinary data. */
static void oob_refused(void)
{
	char byte;
	int fd[2];

	sm_pair(fd);
	ERR(send(fd[0], "!", 1, MSG_OOB), EOPNOTSUPP);
	ERR(recv(fd[1], &byte, 1, MSG_OOB), EOPNOTSUPP);
	ERR(recv(fd[1], &byte, 1, MSG_DONTWAIT), EAGAIN);
	EQ(sm_mask(fd[1]), POLLOUT);
}

static void fastopen_refused(void)
{
	int fd[2];

	sm_pair(fd);
	ERR(send(fd[0], "!", 1, MSG_FASTOPEN), EOPNOTSUPP);
}

static const struct sm_case cases[] = {
	SM_CASE(send_bits, SM_BOTH, SM_ONCE),
	SM_CASE(recv_bits, SM_BOTH, SM_ONCE),
	SM_CASE(recvmsg_bits, SM_BOTH, SM_ONCE),
	SM_CASE(sendmsg_compat_bit, SM_BOTH, SM_ONCE),
	SM_CASE(oob_refused, SM_STRACK, SM_ONCE),
	SM_CASE(fastopen_refused, SM_STRACK, SM_ONCE),
};

SM_GROUP(flags, cases);
