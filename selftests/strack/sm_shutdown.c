// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: shutdown() of each direction. */
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <linux/sockios.h>

#include "sm.h"

static void wrong_use(void)
{
	int fd[2];

	ERR(shutdown(sm_socket(0), SHUT_WR), ENOTCONN);
	ERR(shutdown(sm_socket(0), SHUT_RD), ENOTCONN);
	sm_pair(fd);
	ERR(shutdown(fd[0], 3), EINVAL);
	ERR(shutdown(fd[0], -1), EINVAL);
}

static void write_side(void)
{
	char byte = 0;
	int fd[2];

	sm_pair(fd);
	OK(shutdown(fd[0], SHUT_WR));
	EQ(recv(fd[1], &byte, 1, 0), 0);
	EQ(recv(fd[1], &byte, 1, MSG_DONTWAIT), 0);
	/* The other direction is not touched. */
	EQ(send(fd[1], "x", 1, 0), 1);
	EQ(recv(fd[0], &byte, 1, 0), 1);
	EQ(byte, 'x');
	ERR(send(fd[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	OK(shutdown(fd[0], SHUT_WR));
}

/* When both directions have ended there is no peer any more. */
static void both_sides_end_the_name(void)
{
	struct sockaddr_strack sa;
	char byte;
	int fd[2];

	sm_pair(fd);
	OK(shutdown(fd[0], SHUT_WR));
	OK(st_getpeername(fd[0], &sa));
	EQ(recv(fd[1], &byte, 1, 0), 0);
	OK(st_getpeername(fd[1], &sa));
	OK(shutdown(fd[1], SHUT_WR));
	EQ(recv(fd[0], &byte, 1, 0), 0);
	for (int i = 0; i < 2; i++) {
		struct pollfd over = { .fd = fd[i] };

		/* the last acknowledgement may be on its way */
		EQ(poll(&over, 1, slow(2000)), 1);
		TRUE(over.revents & POLLHUP);
		ERR(st_getpeername(fd[i], &sa), ENOTCONN);
	}
}

static void write_side_after_data(void)
{
	char got[8] = "";
	int fd[2];

	sm_pair(fd);
	EQ(send(fd[0], "abc", 3, 0), 3);
	OK(shutdown(fd[0], SHUT_WR));
	EQ(sm_recv_all(fd[1], got, sizeof(got)), 3);
	EQ(memcmp(got, "abc", 3), 0);
}

/* What rsync and ssh do: send everything, shut down, read the answer. */
static void half_close_echo(void)
{
	static unsigned char data[200000], got[200001];
	ssize_t n;
	int fd[2];
	pid_t pid;

	sm_pair(fd);
	sm_pattern_fill(data, sizeof(data), 0);
	pid = fork();
	if (!pid) {
		close(fd[0]);
		n = sm_recv_all(fd[1], got, sizeof(got));
		_exit(n != sizeof(data) || sm_send_all(fd[1], got, n) != n);
	}
	close(fd[1]);
	EQ(sm_send_all(fd[0], data, sizeof(data)), sizeof(data));
	OK(shutdown(fd[0], SHUT_WR));
	EQ(sm_recv_all(fd[0], got, sizeof(got)), sizeof(data));
	TRUE(sm_pattern_check(got, sizeof(data), 0));
}

static void read_side(void)
{
	char got[8] = "";
	int fd[2];

	sm_pair(fd);
	OK(shutdown(fd[0], SHUT_RD));
	EQ(recv(fd[0], got, 1, 0), 0);
	/* Only the local reader is told; the peer notices nothing. */
	EQ(send(fd[1], "abc", 3, 0), 3);
	EQ(sm_wait_ioctl(fd[1], SIOCOUTQ, 0), 0);
	EQ(send(fd[0], "x", 1, 0), 1);
	EQ(recv(fd[1], got, 1, 0), 1);
}

static void read_side_keeps_queued(void)
{
	char got[8] = "";
	int fd[2];

	sm_pair(fd);
	EQ(send(fd[1], "abc", 3, 0), 3);
	EQ(sm_wait_ioctl(fd[0], SIOCINQ, 3), 3);
	OK(shutdown(fd[0], SHUT_RD));
	EQ(recv(fd[0], got, sizeof(got), 0), 3);
	EQ(recv(fd[0], got, sizeof(got), 0), 0);
}

static void read_side_wakes_reader(void)
{
	char byte;
	int fd[2];
	pid_t pid;

	sm_pair(fd);
	pid = fork();
	if (!pid) {
		sleep_ms(100);
		shutdown(fd[0], SHUT_RD);
		_exit(0);
	}
	EQ(recv(fd[0], &byte, 1, 0), 0);
}

static void write_side_wakes_writer(void)
{
	int fd[2], status;
	pid_t pid;

	sm_pair(fd);
	sm_fill(fd[0]);
	pid = fork();
	if (!pid)
		_exit(send(fd[0], "x", 1, MSG_NOSIGNAL) != -1 || errno != EPIPE);
	sleep_ms(100);
	OK(shutdown(fd[0], SHUT_WR));
	waitpid(pid, &status, 0);
	EQ(status, 0);
}

static void both_sides(void)
{
	char byte;
	int fd[2];

	sm_pair(fd);
	OK(shutdown(fd[0], SHUT_RDWR));
	EQ(recv(fd[0], &byte, 1, 0), 0);
	ERR(send(fd[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	EQ(recv(fd[1], &byte, 1, 0), 0);
}

static void both_ends(void)
{
	char byte;
	int fd[2];

	sm_pair(fd);
	OK(shutdown(fd[0], SHUT_WR));
	OK(shutdown(fd[1], SHUT_WR));
	EQ(recv(fd[0], &byte, 1, 0), 0);
	EQ(recv(fd[1], &byte, 1, 0), 0);
	ERR(send(fd[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	ERR(send(fd[1], "x", 1, MSG_NOSIGNAL), EPIPE);
}

/* The peer reads everything although the sender shut down with a full buffer. */
static void write_side_when_full(void)
{
	static unsigned char got[65536];
	size_t filled, total = 0;
	ssize_t n;
	int fd[2];

	sm_pair(fd);
	filled = sm_fill(fd[0]);
	OK(shutdown(fd[0], SHUT_WR));
	while ((n = recv(fd[1], got, sizeof(got), 0)) > 0) {
		if (!sm_pattern_check(got, n, total))
			TRUE(!"content");
		total += n;
	}
	EQ(n, 0);
	EQ(total, filled);
}

static const struct sm_case cases[] = {
	SM_CASE(wrong_use, SM_BOTH, SM_ONCE),
	SM_CASE(write_side, SM_BOTH, SM_V4_V6),
	SM_CASE(both_sides_end_the_name, SM_BOTH, SM_V4_V6),
	SM_CASE(write_side_after_data, SM_BOTH, SM_ONCE),
	SM_CASE(half_close_echo, SM_BOTH, SM_V4_V6),
	SM_CASE(read_side, SM_BOTH, SM_ONCE),
	SM_CASE(read_side_keeps_queued, SM_BOTH, SM_ONCE),
	SM_CASE(read_side_wakes_reader, SM_BOTH, SM_ONCE),
	SM_CASE(write_side_wakes_writer, SM_BOTH, SM_ONCE),
	SM_CASE(both_sides, SM_BOTH, SM_ONCE),
	SM_CASE(both_ends, SM_BOTH, SM_V4_V6),
	SM_CASE(write_side_when_full, SM_BOTH, SM_ONCE),
};

SM_GROUP(shutdown, cases);
