// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: signals in blocking calls. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "sm.h"

static atomic_int alarms;

static void on_alarm(int signal)
{
	(void)signal;
	alarms++;
}

static void alarm_in(unsigned int ms, int flags)
{
	struct itimerval timer = { { 0, 0 }, { ms / 1000, ms % 1000 * 1000 } };
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = flags };

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void recv_interrupted(void)
{
	char byte;
	int fd[2];

	sm_pair(fd);
	alarm_in(50, 0);
	ERR(recv(fd[0], &byte, 1, 0), EINTR);
	EQ(alarms, 1);
}

static void recv_restarts(void)
{
	char byte;
	int fd[2];
	pid_t pid;

	sm_pair(fd);
	pid = fork();
	if (!pid) {
		sleep_ms(150);
		send(fd[1], "x", 1, 0);
		_exit(0);
	}
	alarm_in(50, SA_RESTART);
	EQ(recv(fd[0], &byte, 1, 0), 1);
	EQ(alarms, 1);
}

/* With a time-out set, the call is not restarted (signal(7)). */
static void recv_with_timeout_interrupted(void)
{
	struct timeval tv = { 5, 0 };
	char byte;
	int fd[2];

	sm_pair(fd);
	OK(setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	alarm_in(50, SA_RESTART);
	ERR(recv(fd[0], &byte, 1, 0), EINTR);
}

static void waitall_interrupted(void)
{
	char got[8];
	int fd[2];

	sm_pair(fd);
	OK(send(fd[1], "abc", 3, 0));
	alarm_in(50, 0);
	EQ(recv(fd[0], got, 8, MSG_WAITALL), 3);
}

static void send_interrupted(void)
{
	int fd[2];

	sm_pair(fd);
	sm_fill(fd[0]);
	alarm_in(50, 0);
	ERR(send(fd[0], "x", 1, 0), EINTR);
}

static void send_partly_done(void)
{
	static char data[32 << 20];
	ssize_t sent;
	int fd[2];

	sm_pair(fd);
	alarm_in(slow(200), 0);
	sent = OK(send(fd[0], data, sizeof(data), 0));
	RANGE(sent, 1, sizeof(data) - 1);
}

static void accept_interrupted(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa);

	alarm_in(50, 0);
	ERR(accept(listener, NULL, NULL), EINTR);
}

static void accept_restarts(void)
{
	struct sockaddr_strack sa;
	int listener = sm_listener(1, &sa);
	pid_t pid = fork();

	if (!pid) {
		sleep_ms(150);
		st_connect(sm_socket(0), &sa);
		sleep_ms(100);
		_exit(0);
	}
	alarm_in(50, SA_RESTART);
	OK(accept(listener, NULL, NULL));
	EQ(alarms, 1);
}

static void linger_killed(void)
{
	struct linger linger = { 1, 10 };
	uint64_t start;
	int fd[2];

	sm_pair(fd);
	sm_fill(fd[0]);
	OK(setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	alarm_in(50, 0);
	start = now_ns();
	close(fd[0]);
	RANGE((now_ns() - start) / NSEC_PER_MSEC, 0, slow(2000));
}

/* SIGIO for those who still use it. */
static void sigio(void)
{
	struct sigaction act = { .sa_handler = on_alarm };
	int fd[2];

	sigaction(SIGIO, &act, NULL);
	sm_pair(fd);
	OK(fcntl(fd[1], F_SETOWN, getpid()));
	OK(fcntl(fd[1], F_SETFL, fcntl(fd[1], F_GETFL) | O_ASYNC));
	OK(send(fd[0], "x", 1, 0));
	for (int i = 0; i < 100 && !alarms; i++)
		sleep_ms(slow(10));
	TRUE(alarms > 0);
}

static const struct sm_case cases[] = {
	SM_CASE(recv_interrupted, SM_BOTH, SM_ONCE),
	SM_CASE(recv_restarts, SM_BOTH, SM_ONCE),
	SM_CASE(recv_with_timeout_interrupted, SM_BOTH, SM_ONCE),
	SM_CASE(waitall_interrupted, SM_BOTH, SM_ONCE),
	SM_CASE(send_interrupted, SM_BOTH, SM_ONCE),
	SM_CASE(send_partly_done, SM_BOTH, SM_ONCE),
	SM_CASE(accept_interrupted, SM_BOTH, SM_ONCE),
	SM_CASE(accept_restarts, SM_BOTH, SM_ONCE),
	SM_CASE(linger_killed, SM_BOTH, SM_ONCE),
	SM_CASE(sigio, SM_BOTH, SM_ONCE),
};

SM_GROUP(signal, cases);
