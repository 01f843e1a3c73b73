// SPDX-License-Identifier: GPL-2.0
/*
 * socket_matrix: who is woken, counted as voluntary context switches of a
 * thread that sleeps in a call. A wake-up without news costs a program CPU on
 * every packet, and no errno shows it.
 */
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <linux/sockios.h>

#include "sm.h"

#define ROUNDS	50

enum sleeper_kind { IN_RECV, IN_POLL_IN, IN_POLL_OUT, IN_ACCEPT, IN_EPOLL };

struct sleeper {
	pthread_t thread;
	enum sleeper_kind kind;
	int fd;
	pid_t tid;
};

static long switches(pid_t tid)
{
	char path[64], line[128];
	long count = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	file = fopen(path, "re");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1)
			break;
	fclose(file);
	return count;
}

static void sleep_in_epoll(int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET };
	int ep = epoll_create1(0);

	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	epoll_wait(ep, &ev, 1, -1);
}

static void *sleeper_main(void *arg)
{
	struct sleeper *s = arg;
	struct pollfd p = { .fd = s->fd };
	char byte;

	__atomic_store_n(&s->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	switch (s->kind) {
	case IN_RECV:
		recv(s->fd, &byte, 1, MSG_PEEK);
		break;
	case IN_POLL_IN:
	case IN_POLL_OUT:
		p.events = s->kind == IN_POLL_IN ? POLLIN | POLLRDHUP : POLLOUT;
		poll(&p, 1, -1);
		break;
	case IN_ACCEPT:
		accept(s->fd, NULL, NULL);
		break;
	case IN_EPOLL:
		sleep_in_epoll(s->fd);
		break;
	}
	return NULL;
}

/* Starts the thread and waits until it sleeps. */
static long sleeper_start(struct sleeper *s, enum sleeper_kind kind, int fd)
{
	*s = (struct sleeper){ .kind = kind, .fd = fd };
	NEED(-pthread_create(&s->thread, NULL, sleeper_main, s));
	while (!__atomic_load_n(&s->tid, __ATOMIC_ACQUIRE))
		sleep_ms(1);
	sleep_ms(slow(50));
	return switches(s->tid);
}

/* Many exchanges in which @from only gets acknowledgements. */
static void one_way_traffic(int from, int to)
{
	char data[1000] = "", got[1000];

	for (int i = 0; i < ROUNDS; i++) {
		EQ(send(from, data, sizeof(data), 0), sizeof(data));
		EQ(sm_recv_all(to, got, sizeof(got)), sizeof(got));
		EQ(sm_wait_ioctl(from, SIOCOUTQ, 0), 0);
	}
}

static void acks_only(enum sleeper_kind kind)
{
	struct sleeper s;
	long before;
	int fd[2];

	sm_pair(fd);
	before = sleeper_start(&s, kind, fd[0]);
	one_way_traffic(fd[0], fd[1]);
	RANGE(switches(s.tid) - before, 0, 3);
	OK(send(fd[1], "x", 1, 0));
	NEED(-pthread_join(s.thread, NULL));
}

static void acks_wake_no_reader(void)
{
	acks_only(IN_RECV);
}

static void acks_wake_no_poller(void)
{
	acks_only(IN_POLL_IN);
}

static void acks_wake_no_epoll(void)
{
	acks_only(IN_EPOLL);
}

/* Incoming data is no news for someone who waits for room. */
static void data_wakes_no_writer(void)
{
	char data[100] = "", got[100];
	struct sleeper s;
	long before;
	int fd[2];

	sm_pair(fd);
	sm_fill(fd[0]);
	before = sleeper_start(&s, IN_POLL_OUT, fd[0]);
	for (int i = 0; i < ROUNDS; i++) {
		EQ(send(fd[1], data, sizeof(data), 0), sizeof(data));
		EQ(sm_recv_all(fd[0], got, sizeof(got)), sizeof(got));
	}
	RANGE(switches(s.tid) - before, 0, 3);
	shutdown(fd[0], SHUT_RDWR);
	close(fd[1]);
	NEED(-pthread_join(s.thread, NULL));
}

/* Traffic on accepted connections is no news for the listener. */
static void traffic_wakes_no_listener(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(4, &sa), fd[2];
	struct sleeper s;
	long before;

	sm_pair_of(listener, &sa, fd);
	before = sleeper_start(&s, IN_POLL_IN, listener);
	one_way_traffic(fd[0], fd[1]);
	one_way_traffic(fd[1], fd[0]);
	shutdown(fd[0], SHUT_RDWR);
	close(fd[1]);
	sleep_ms(20);
	RANGE(switches(s.tid) - before, 0, 3);
	OK(st_connect(sm_socket(0), &sa));
	NEED(-pthread_join(s.thread, NULL));
}

static void connection_wakes_accept(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(4, &sa);
	struct sleeper s;

	sleeper_start(&s, IN_ACCEPT, listener);
	OK(st_connect(sm_socket(0), &sa));
	NEED(-pthread_join(s.thread, NULL));
}

/* Two threads wait for one connection each; one connection wakes one of them. */
static void accept_wakes_one(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(4, &sa);
	struct sleeper a, b;

	sleeper_start(&a, IN_ACCEPT, listener);
	sleeper_start(&b, IN_ACCEPT, listener);
	OK(st_connect(sm_socket(0), &sa));
	sleep_ms(slow(50));
	/* A thread that got the connection has ended. */
	EQ((switches(a.tid) < 0) + (switches(b.tid) < 0), 1);
	OK(st_connect(sm_socket(0), &sa));
	NEED(-pthread_join(a.thread, NULL));
	NEED(-pthread_join(b.thread, NULL));
}

static void reader_and_writer_together(void)
{
	static unsigned char got[65536];
	struct sleeper reader, writer;
	int fd[2];

	sm_pair(fd);
	sm_fill(fd[0]);
	sleeper_start(&reader, IN_POLL_IN, fd[0]);
	sleeper_start(&writer, IN_POLL_OUT, fd[0]);
	while (recv(fd[1], got, sizeof(got), MSG_DONTWAIT) > 0 || sm_poll(fd[1], POLLIN, 50))
		;
	NEED(-pthread_join(writer.thread, NULL));
	OK(send(fd[1], "x", 1, 0));
	NEED(-pthread_join(reader.thread, NULL));
}

static const struct sm_case cases[] = {
	SM_CASE(acks_wake_no_reader, SM_BOTH, SM_ONCE),
	SM_CASE(acks_wake_no_poller, SM_BOTH, SM_ONCE),
	SM_CASE(acks_wake_no_epoll, SM_BOTH, SM_ONCE),
	SM_CASE(data_wakes_no_writer, SM_BOTH, SM_ONCE),
	SM_CASE(traffic_wakes_no_listener, SM_BOTH, SM_ONCE),
	SM_CASE(connection_wakes_accept, SM_BOTH, SM_ONCE),
	SM_CASE(accept_wakes_one, SM_BOTH, SM_ONCE),
	SM_CASE(reader_and_writer_together, SM_BOTH, SM_ONCE),
};

SM_GROUP(wakeup, cases);
