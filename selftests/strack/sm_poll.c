// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: poll masks in every state, epoll level and edge triggered. */
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/sockios.h>
#include <linux/userfaultfd.h>

#include "sm.h"

#define GONE (POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP)

static void mask_fresh(void)
{
	struct sockaddr_strack sa;
	int fd = sm_socket(0);

	EQ(sm_mask(fd), POLLOUT | POLLHUP);
	sm_place(&sa, SM_LOOP, 0);
	OK(st_bind(fd, &sa));
	EQ(sm_mask(fd), POLLOUT | POLLHUP);
	OK(listen(fd, 1));
	EQ(sm_mask(fd), 0);
}

static void mask_established(void)
{
	int fd[2];

	sm_pair(fd);
	EQ(sm_mask(fd[0]), POLLOUT);
	EQ(sm_mask(fd[1]), POLLOUT);
}

static void mask_data(void)
{
	char byte;
	int fd[2];

	sm_pair(fd);
	OK(send(fd[0], "ab", 2, 0));
	EQ(sm_wait_mask(fd[1], POLLIN | POLLOUT), POLLIN | POLLOUT);
	EQ(recv(fd[1], &byte, 1, 0), 1);
	EQ(sm_mask(fd[1]), POLLIN | POLLOUT);
	EQ(recv(fd[1], &byte, 1, 0), 1);
	EQ(sm_mask(fd[1]), POLLOUT);
}

static void mask_peer_end(void)
{
	int fd[2];

	sm_pair(fd);
	OK(shutdown(fd[0], SHUT_WR));
	EQ(sm_wait_mask(fd[1], POLLIN | POLLOUT | POLLRDHUP), POLLIN | POLLOUT | POLLRDHUP);
	EQ(sm_mask(fd[0]), POLLOUT);
}

static void mask_both_end(void)
{
	int all = POLLIN | POLLOUT | POLLRDHUP | POLLHUP;
	int fd[2];

	sm_pair(fd);
	OK(shutdown(fd[0], SHUT_WR));
	OK(shutdown(fd[1], SHUT_WR));
	EQ(sm_wait_mask(fd[0], all), all);
	EQ(sm_wait_mask(fd[1], all), all);
}

static void mask_own_shutdown(void)
{
	int fd[2];

	sm_pair(fd);
	OK(shutdown(fd[0], SHUT_RD));
	EQ(sm_mask(fd[0]), POLLIN | POLLOUT | POLLRDHUP);
	OK(shutdown(fd[0], SHUT_RDWR));
	EQ(sm_mask(fd[0]), POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
}

static void mask_reset(void)
{
	struct linger linger = { 1, 0 };
	int fd[2];

	sm_pair(fd);
	OK(setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	close(fd[0]);
	EQ(sm_wait_mask(fd[1], GONE), GONE);
}

static void mask_full(void)
{
	int fd[2];

	sm_pair(fd);
	sm_fill(fd[0]);
	EQ(sm_mask(fd[0]), 0);
}

/* Writable means that a good part of the buffer is free, not one byte. */
static void writable_hysteresis(void)
{
	static unsigned char got[4096];
	size_t filled, drained = 0;
	int fd[2], peak, left;

	sm_pair(fd);
	sm_nonblock(fd[0]);
	filled = sm_fill(fd[0]);
	peak = sm_ioctl_int(fd[0], SIOCOUTQ);
	while (!sm_poll(fd[0], POLLOUT, 2) && drained < filled) {
		ssize_t n = recv(fd[1], got, sizeof(got), MSG_DONTWAIT);

		if (n > 0)
			drained += n;
	}
	left = sm_ioctl_int(fd[0], SIOCOUTQ);
	EQ(sm_mask(fd[0]) & POLLOUT, POLLOUT);
	RANGE(left, 0, peak * 3 / 4);
	EQ(send(fd[0], got, sizeof(got), 0), sizeof(got));
}

/* Once a writer was told "writable", it may write without blocking. */
static void writable_wakes_poller(void)
{
	static unsigned char got[65536];
	int fd[2];
	pid_t pid;

	sm_pair(fd);
	sm_fill(fd[0]);
	pid = fork();
	if (!pid) {
		sleep_ms(100);
		while (recv(fd[1], got, sizeof(got), 0) > 0)
			;
		_exit(0);
	}
	EQ(sm_poll(fd[0], POLLOUT, 5000), POLLOUT);
	EQ(send(fd[0], "x", 1, MSG_DONTWAIT), 1);
}

static void poller_is_woken(void)
{
	struct linger linger = { 1, 0 };
	int fd[2];
	pid_t pid;

	sm_pair(fd);
	pid = fork();
	if (!pid) {
		close(fd[1]);
		sleep_ms(80);
		send(fd[0], "x", 1, 0);
		sleep_ms(200);
		shutdown(fd[0], SHUT_WR);
		sleep_ms(200);
		setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
		_exit(0);
	}
	close(fd[0]);
	EQ(sm_poll(fd[1], POLLIN, 5000), POLLIN);
	EQ(sm_poll(fd[1], POLLRDHUP, 5000), POLLRDHUP);
	TRUE(sm_poll(fd[1], 0, 5000) & POLLHUP);
}

static int epoll_of(int fd, unsigned int events)
{
	struct epoll_event ev = { .events = events, .data.fd = fd };
	int ep = NEED(epoll_create1(EPOLL_CLOEXEC));

	NEED(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	return ep;
}

/* Events of the only descriptor, 0 when none came in time. */
static unsigned int epoll_get(int ep, unsigned int ms)
{
	struct epoll_event ev = { };
	int n = OK(epoll_wait(ep, &ev, 1, slow(ms)));

	return n ? ev.events : 0;
}

static void epoll_level(void)
{
	char byte;
	int fd[2], ep;

	sm_pair(fd);
	ep = epoll_of(fd[1], EPOLLIN);
	EQ(epoll_get(ep, 20), 0);
	OK(send(fd[0], "ab", 2, 0));
	EQ(epoll_get(ep, 2000), EPOLLIN);
	EQ(epoll_get(ep, 0), EPOLLIN);
	EQ(recv(fd[1], &byte, 1, 0), 1);
	EQ(epoll_get(ep, 0), EPOLLIN);
	EQ(recv(fd[1], &byte, 1, 0), 1);
	EQ(epoll_get(ep, 0), 0);
}

static void epoll_edge(void)
{
	char got[8];
	int fd[2], ep;

	sm_pair(fd);
	ep = epoll_of(fd[1], EPOLLIN | EPOLLRDHUP | EPOLLET);
	EQ(epoll_get(ep, 20), 0);
	OK(send(fd[0], "ab", 2, 0));
	EQ(epoll_get(ep, 2000), EPOLLIN);
	/* No new edge without new data, although data is left. */
	EQ(epoll_get(ep, 20), 0);
	EQ(recv(fd[1], got, 1, 0), 1);
	EQ(epoll_get(ep, 20), 0);
	OK(send(fd[0], "c", 1, 0));
	EQ(epoll_get(ep, 2000), EPOLLIN);
	EQ(recv(fd[1], got, sizeof(got), 0), 2);
	shutdown(fd[0], SHUT_WR);
	EQ(epoll_get(ep, 2000), EPOLLIN | EPOLLRDHUP);
	EQ(epoll_get(ep, 20), 0);
}

static void epoll_edge_writable(void)
{
	static unsigned char got[65536];
	int fd[2], ep;
	size_t filled, drained = 0;

	sm_pair(fd);
	ep = epoll_of(fd[0], EPOLLOUT | EPOLLET);
	EQ(epoll_get(ep, 0), EPOLLOUT);
	EQ(epoll_get(ep, 0), 0);
	filled = sm_fill(fd[0]);
	epoll_get(ep, 0);
	while (drained < filled)
		drained += NEED(recv(fd[1], got, sizeof(got), 0));
	EQ(epoll_get(ep, 2000), EPOLLOUT);
}

static void epoll_oneshot(void)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLONESHOT };
	int fd[2], ep;

	sm_pair(fd);
	ep = epoll_of(fd[1], EPOLLIN | EPOLLONESHOT);
	OK(send(fd[0], "a", 1, 0));
	EQ(epoll_get(ep, 2000), EPOLLIN);
	EQ(epoll_get(ep, 20), 0);
	OK(epoll_ctl(ep, EPOLL_CTL_MOD, fd[1], &ev));
	EQ(epoll_get(ep, 0), EPOLLIN);
}

static void epoll_hup_unasked(void)
{
	struct linger linger = { 1, 0 };
	int fd[2], ep;

	sm_pair(fd);
	ep = epoll_of(fd[1], 0);
	OK(setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	close(fd[0]);
	TRUE((epoll_get(ep, 2000) & (EPOLLHUP | EPOLLERR)) != 0);
	EQ(sm_wait_mask(fd[1], GONE), GONE);
	EQ(epoll_get(ep, 0), EPOLLHUP | EPOLLERR);
}

static void epoll_connect(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa), fd = sm_socket(SOCK_NONBLOCK), ep, lep;

	lep = epoll_of(listener, EPOLLIN | EPOLLET);
	ERR(st_connect(fd, &sa), EINPROGRESS);
	ep = epoll_of(fd, EPOLLIN | EPOLLOUT | EPOLLET);
	EQ(epoll_get(ep, 2000), EPOLLOUT);
	EQ(epoll_get(ep, 20), 0);
	EQ(epoll_get(lep, 2000), EPOLLIN);
	EQ(epoll_get(lep, 20), 0);
	OK(accept(listener, NULL, NULL));
}

/* An answer is sent for each byte as soon as poll() tells of it: a wake-up that is lost shows. */
static void no_wakeup_is_lost(void)
{
	const int rounds = quick() ? 60 : 300;
	pid_t pid;
	char byte;
	int fd[2];

	sm_pair(fd);
	pid = fork();
	for (int i = 0; i < rounds; i++) {
		if (pid && send(fd[0], "x", 1, 0) != 1)
			break;
		if (sm_poll(fd[!pid], POLLIN, 5000) != POLLIN || recv(fd[!pid], &byte, 1, 0) != 1) {
			TRUE(!"told in time");
			break;
		}
		if (!pid && send(fd[1], "y", 1, 0) != 1)
			break;
	}
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

struct slow_writer {
	int fd;
	void *page;
	ssize_t sent;
};

static void *write_slowly(void *arg)
{
	struct slow_writer *writer = arg;

	writer->sent = send(writer->fd, writer->page, 4096, 0);
	return NULL;
}

/*
 * A writer that sleeps over a page that is not there yet, here until we bring
 * it, has the socket locked. Whoever polls must not wait for that.
 */
static void not_held_up_by_writer(void)
{
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_zeropage zero = { };
	struct uffdio_api api = { .api = UFFD_API };
	struct slow_writer writer;
	pthread_t thread;
	int faults, fd[2];

	faults = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (faults < 0)
		sm_skip("no userfaultfd");
	OK(ioctl(faults, UFFDIO_API, &api));
	sm_pair(fd);
	writer.fd = fd[0];
	writer.page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	TRUE(writer.page != MAP_FAILED);
	range.range.start = (unsigned long)writer.page;
	range.range.len = 4096;
	NEED(ioctl(faults, UFFDIO_REGISTER, &range));
	NEED(pthread_create(&thread, NULL, write_slowly, &writer));
	EQ(sm_poll(faults, POLLIN, 5000), POLLIN);
	EQ(sm_mask(fd[0]), POLLOUT);
	if (!sm.tcp) {
		/* nor do packets, which TCP puts off until then */
		OK(send(fd[1], "x", 1, 0));
		EQ(sm_poll(fd[0], POLLIN, 5000), POLLIN);
	}
	zero.range = range.range;
	OK(ioctl(faults, UFFDIO_ZEROPAGE, &zero));
	EQ(pthread_join(thread, NULL), 0);
	EQ(writer.sent, 4096);
}

static const struct sm_case cases[] = {
	SM_CASE(mask_fresh, SM_BOTH, SM_ONCE),
	SM_CASE(mask_established, SM_BOTH, SM_ONCE),
	SM_CASE(mask_data, SM_BOTH, SM_ONCE),
	SM_CASE(mask_peer_end, SM_BOTH, SM_V4_V6),
	SM_CASE(mask_both_end, SM_BOTH, SM_V4_V6),
	SM_CASE(mask_own_shutdown, SM_BOTH, SM_ONCE),
	SM_CASE(mask_reset, SM_BOTH, SM_ONCE),
	SM_CASE(mask_full, SM_BOTH, SM_ONCE),
	SM_CASE(writable_hysteresis, SM_BOTH, SM_ONCE),
	SM_CASE(writable_wakes_poller, SM_BOTH, SM_ONCE),
	SM_CASE(poller_is_woken, SM_BOTH, SM_ONCE),
	SM_CASE(no_wakeup_is_lost, SM_BOTH, SM_V4_V6),
	SM_CASE(not_held_up_by_writer, SM_BOTH, SM_ONCE),
	SM_CASE(epoll_level, SM_BOTH, SM_ONCE),
	SM_CASE(epoll_edge, SM_BOTH, SM_ONCE),
	SM_CASE(epoll_edge_writable, SM_BOTH, SM_ONCE),
	SM_CASE(epoll_oneshot, SM_BOTH, SM_ONCE),
	SM_CASE(epoll_hup_unasked, SM_BOTH, SM_ONCE),
	SM_CASE(epoll_connect, SM_BOTH, SM_ONCE),
};

SM_GROUP(poll, cases);
