// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: bad pointers, for each argument of each call. */
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <linux/sockios.h>

#include "sm.h"

/* An address that is never mapped, and one in the kernel's half. */
static void *const bad_pointers[] = { (void *)8, (void *)0xffff888000000000 };

static void addresses(void)
{
	struct sockaddr_strack sa;
	int fd = sm_socket(0), listener = sm_listener(4, &sa), pair[2];
	socklen_t len = sizeof(sa);

	sm_pair(pair);
	for (size_t i = 0; i < ARRAY_SIZE(bad_pointers); i++) {
		void *bad = bad_pointers[i];

		ERR(bind(fd, bad, sizeof(sa)), EFAULT);
		ERR(connect(fd, bad, sizeof(sa)), EFAULT);
		ERR(getsockname(fd, bad, &len), EFAULT);
		ERR(getsockname(fd, (void *)&sa, bad), EFAULT);
		ERR(getpeername(pair[0], bad, &len), EFAULT);
		ERR(getpeername(pair[0], (void *)&sa, bad), EFAULT);
		ERR(sendto(pair[0], "x", 1, 0, bad, sizeof(sa)), EFAULT);
	}
	close(listener);
}

static void accept_addresses(void)
{
	struct sockaddr_strack sa, peer;
	int listener = sm_listener(8, &sa);
	socklen_t len = sizeof(peer);

	for (size_t i = 0; i < ARRAY_SIZE(bad_pointers); i++) {
		OK(st_connect(sm_socket(0), &sa));
		ERR(accept(listener, bad_pointers[i], &len), EFAULT);
		OK(st_connect(sm_socket(0), &sa));
		ERR(accept(listener, (void *)&peer, bad_pointers[i]), EFAULT);
	}
	OK(st_connect(sm_socket(0), &sa));
	OK(accept(listener, NULL, bad_pointers[0]));
}

static void data(void)
{
	char got[8];
	int fd[2];

	sm_pair(fd);
	OK(send(fd[0], "abc", 3, 0));
	EQ(sm_wait_ioctl(fd[1], SIOCINQ, 3), 3);
	for (size_t i = 0; i < ARRAY_SIZE(bad_pointers); i++) {
		void *bad = bad_pointers[i];
		struct iovec iov = { bad, 3 };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

		ERR(send(fd[0], bad, 3, 0), EFAULT);
		ERR(write(fd[0], bad, 3), EFAULT);
		ERR(recv(fd[1], bad, 3, 0), EFAULT);
		ERR(read(fd[1], bad, 3), EFAULT);
		ERR(sendmsg(fd[0], &msg, 0), EFAULT);
		ERR(recvmsg(fd[1], &msg, 0), EFAULT);
		ERR(writev(fd[0], &iov, 1), EFAULT);
		ERR(readv(fd[1], &iov, 1), EFAULT);
	}
	EQ(recv(fd[1], got, sizeof(got), 0), 3);
}

static void headers(void)
{
	struct msghdr msg = { .msg_iovlen = 1 };
	struct iovec iov = { "x", 1 };
	int fd[2];

	sm_pair(fd);
	for (size_t i = 0; i < ARRAY_SIZE(bad_pointers); i++) {
		void *bad = bad_pointers[i];

		ERR(sendmsg(fd[0], bad, 0), EFAULT);
		ERR(recvmsg(fd[1], bad, MSG_DONTWAIT), EFAULT);
		msg.msg_iov = bad;
		ERR(sendmsg(fd[0], &msg, 0), EFAULT);
		ERR(recvmsg(fd[1], &msg, MSG_DONTWAIT), EFAULT);
		ERR(writev(fd[0], bad, 1), EFAULT);
		ERR(syscall(SYS_sendmmsg, fd[0], bad, 1, 0), EFAULT);
		ERR(syscall(SYS_recvmmsg, fd[1], bad, 1, MSG_DONTWAIT, NULL), EFAULT);
		msg.msg_iov = &iov;
		msg.msg_control = bad;
		msg.msg_controllen = 32;
		ERR(sendmsg(fd[0], &msg, 0), EFAULT);
		msg.msg_controllen = 0;
		msg.msg_name = bad;
		msg.msg_namelen = 28;
		ERR(sendmsg(fd[0], &msg, 0), EFAULT);
		msg.msg_name = NULL;
	}
}

static void options(void)
{
	static const int names[] = { SO_SNDBUF, SO_RCVBUF, SO_LINGER, SO_ERROR, SO_TYPE,
				     SO_RCVTIMEO, SO_KEEPALIVE };
	int fd = sm_socket(0), value;
	socklen_t len;

	for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
		for (size_t i = 0; i < ARRAY_SIZE(bad_pointers); i++) {
			void *bad = bad_pointers[i];

			len = 16;
			ERR(getsockopt(fd, SOL_SOCKET, names[n], bad, &len), EFAULT);
			ERR(getsockopt(fd, SOL_SOCKET, names[n], &value, bad), EFAULT);
			if (names[n] != SO_ERROR && names[n] != SO_TYPE)
				ERR(setsockopt(fd, SOL_SOCKET, names[n], bad, 16), EFAULT);
		}
	}
}

static void ioctls(void)
{
	static const unsigned long numbers[] = { SIOCINQ, SIOCOUTQ, FIONREAD, FIONBIO };
	int fd[2];

	sm_pair(fd);
	for (size_t n = 0; n < ARRAY_SIZE(numbers); n++)
		for (size_t i = 0; i < ARRAY_SIZE(bad_pointers); i++)
			ERR(ioctl(fd[0], numbers[n], bad_pointers[i]), EFAULT);
}

/* Two pages, the second one not mapped. */
static unsigned char *half_mapped(void)
{
	unsigned char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(pages == MAP_FAILED ? -1 : 0);
	NEED(munmap(pages + 4096, 4096));
	return pages;
}

/*
 * A fault in the middle of a send: a short count or EFAULT, and exactly the
 * bytes that were reported arrive.
 */
static void send_half(void)
{
	unsigned char *pages = half_mapped(), got[8192];
	ssize_t sent;
	int fd[2];

	sm_pair(fd);
	sm_pattern_fill(pages, 4096, 0);
	sent = send(fd[0], pages, 8192, 0);
	if (sent < 0) {
		EQ(errno, EFAULT);
		sent = 0;
	}
	RANGE(sent, 0, 4096);
	OK(send(fd[0], "tail", 4, 0));
	shutdown(fd[0], SHUT_WR);
	EQ(sm_recv_all(fd[1], got, sizeof(got)), sent + 4);
	TRUE(sm_pattern_check(got, sent, 0));
	EQ(memcmp(got + sent, "tail", 4), 0);
}

/* The same for a receive: what was not reported can be read again. */
static void recv_half(void)
{
	unsigned char *pages = half_mapped(), data[8192], got[8192];
	ssize_t first, rest;
	int fd[2];

	sm_pair(fd);
	sm_pattern_fill(data, sizeof(data), 0);
	EQ(sm_send_all(fd[0], data, sizeof(data)), sizeof(data));
	EQ(sm_wait_ioctl(fd[1], SIOCINQ, sizeof(data)), sizeof(data));
	first = recv(fd[1], pages, 8192, 0);
	if (first < 0) {
		EQ(errno, EFAULT);
		first = 0;
	}
	RANGE(first, 0, 4096);
	TRUE(sm_pattern_check(pages, first, 0));
	shutdown(fd[0], SHUT_WR);
	rest = sm_recv_all(fd[1], got, sizeof(got));
	EQ(first + rest, sizeof(data));
	TRUE(sm_pattern_check(got, rest, first));
}

static const struct sm_case cases[] = {
	SM_CASE(addresses, SM_BOTH, SM_ONCE),
	SM_CASE(accept_addresses, SM_BOTH, SM_ONCE),
	SM_CASE(data, SM_BOTH, SM_ONCE),
	SM_CASE(headers, SM_BOTH, SM_ONCE),
	SM_CASE(options, SM_BOTH, SM_ONCE),
	SM_CASE(ioctls, SM_BOTH, SM_ONCE),
	SM_CASE(send_half, SM_BOTH, SM_ONCE),
	SM_CASE(recv_half, SM_BOTH, SM_ONCE),
};

SM_GROUP(fault, cases);
