// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: network namespaces are worlds of their own. */
#include <sys/wait.h>

#include "sm.h"

/* Moves this process into a new namespace with loopback up. */
static void new_world(void)
{
	NEED(unshare(CLONE_NEWNET));
	NEED(system("ip link set dev lo up"));
}

static void same_port(void)
{
	struct sockaddr_strack sa, peer;
	int outer = sm_listener(2, &sa), inner, a, b, fd[2];

	new_world();
	inner = sm_socket(0);
	OK(st_bind(inner, &sa));
	OK(listen(inner, 2));
	sm_pair_of(inner, &sa, fd);
	OK(send(fd[0], "i", 1, 0));
	sm_nonblock(outer);
	ERR(accept(outer, NULL, NULL), EAGAIN);
	a = fd[0];
	b = fd[1];
	OK(st_getpeername(b, &peer));
	OK(st_getsockname(a, &sa));
	EQ(memcmp(&sa, &peer, sizeof(sa)), 0);
}

static void not_reachable(void)
{
	struct sockaddr_strack sa;
	int outer = sm_listener(2, &sa);

	new_world();
	ERR(st_connect(sm_socket(0), &sa), ECONNREFUSED);
	sm_nonblock(outer);
	ERR(accept(outer, NULL, NULL), EAGAIN);
}

/* A socket belongs to the namespace it was made in, wherever its user goes. */
static void socket_stays(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(2, &sa), fd = sm_socket(0), got;
	char byte = 0;

	new_world();
	OK(st_connect(fd, &sa));
	got = OK(accept(listener, NULL, NULL));
	OK(send(fd, "s", 1, 0));
	EQ(recv(got, &byte, 1, 0), 1);
	EQ(byte, 's');
}

static void no_loopback(void)
{
	struct sockaddr_strack sa;

	sm_place(&sa, SM_LOOP, 9);
	NEED(unshare(CLONE_NEWNET));
	ERR(st_connect(sm_socket(0), &sa), sm.v6 ? EADDRNOTAVAIL : ENETUNREACH);
}

/* Its last process ends with open sockets: the namespace must still go away. */
static void dies_with_sockets(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct sockaddr_strack sa;
		int fd[2], listener;

		new_world();
		listener = sm_listener(4, &sa);
		sm_pair_of(listener, &sa, fd);
		st_connect(sm_socket(0), &sa);
		sm_fill(fd[0]);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	EQ(status, 0);
}

static void sysctls_are_apart(void)
{
	OK(write_text("/proc/sys/net/strack/paths", "33"));
	new_world();
	EQ(read_long("/proc/sys/net/strack/paths", -1), 128);
	OK(write_text("/proc/sys/net/strack/paths", "44"));
	EQ(sm_get_int(sm_socket(0), SOL_STRACK, STRACK_PATHS), 44);
}

static void sysctl_restored(void)
{
	OK(write_text("/proc/sys/net/strack/paths", "128"));
}

static const struct sm_case cases[] = {
	SM_CASE(same_port, SM_BOTH, SM_V4_V6),
	SM_CASE(not_reachable, SM_BOTH, SM_V4_V6),
	SM_CASE(socket_stays, SM_BOTH, SM_ONCE),
	SM_CASE(no_loopback, SM_BOTH, SM_V4_V6),
	SM_CASE(dies_with_sockets, SM_BOTH, SM_V4_V6),
	SM_CASE(sysctls_are_apart, SM_STRACK, SM_ONCE),
	SM_CASE(sysctl_restored, SM_STRACK, SM_ONCE),
};

SM_GROUP(netns, cases);
