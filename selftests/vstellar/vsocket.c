// SPDX-License-Identifier: GPL-2.0
/*
 * vsocket SERVER_NETNS CLIENT_NETNS ADDRESS: what an ordinary program may expect of its
 * sockets, whoever makes them: a server in one namespace, which has ADDRESS in the
 * network, and a client in the other, in one process. KTAP, one line a case.
 *
 * The same cases between two namespaces without a device prove the expectations.
 *
 * vsocket --gone NETNS: what it may expect when the device of its sockets goes. Says
 * "ready" when it is time to take it away.
 */
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <linux/sockios.h>

#include "../lib/memcg.h"
#include "../lib/strack.h"

#define LIMIT_MS	10000

static const char *server_ns, *client_ns, *address;
static int family, failures;

#define TRUE(cond) check(cond, #cond, __LINE__)
/* @call fails with @err. */
#define ERR(call, err) check((call) == -1 && errno == (err), #call " with " #err, __LINE__)

static void check(bool good, const char *what, int line)
{
	int err = errno;

	if (good)
		return;
	failures++;
	printf("#   line %d: not %s (%s)\n", line, what, strerrorname_np(err) ?: "no error");
}

static int need(int ret, const char *what)
{
	if (ret < 0) {
		printf("#   %s: %s\n", what, strerrorname_np(errno));
		exit(KSFT_FAIL);
	}
	return ret;
}

static int new_socket(const char *ns, int flags)
{
	need(enter_netns(ns), ns);
	return need(socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0), "socket");
}

static int listener(struct sockaddr_strack *sa, int backlog)
{
	int fd = new_socket(server_ns, 0);

	need(st_address(sa, family, address, 0), "address");
	need(st_bind(fd, sa), "bind");
	need(listen(fd, backlog), "listen");
	need(st_getsockname(fd, sa), "getsockname");
	return fd;
}

/* [0] connected, [1] accepted. */
static void pair(int fd[2])
{
	struct sockaddr_strack sa;
	int server = listener(&sa, 4);

	fd[0] = new_socket(client_ns, 0);
	need(st_connect(fd[0], &sa), "connect");
	fd[1] = need(accept4(server, NULL, NULL, SOCK_CLOEXEC), "accept");
	close(server);
}

/* What poll() says as soon as it says all of @events, or in the end. */
static int mask(int fd, int events)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP };
	uint64_t end = now_ns() + slow(LIMIT_MS) * NSEC_PER_MSEC;

	do {
		need(poll(&p, 1, 0), "poll");
		if ((p.revents & events) == events)
			break;
		sleep_ms(2);
	} while (now_ns() < end);
	return p.revents;
}

static int wait_for(int fd, int events)
{
	struct pollfd p = { .fd = fd, .events = events };

	need(poll(&p, 1, slow(LIMIT_MS)), "poll");
	return p.revents;
}

static void recv_all(int fd, void *data, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = recv(fd, data + done, len - done, 0);
		if (n <= 0) {
			TRUE(n > 0);
			return;
		}
		done += n;
	}
}

/* --- cases ---------------------------------------------------------------- */

static void names(void)
{
	struct sockaddr_strack sa, own, peer, accepted;
	socklen_t len = sizeof(accepted);
	int server = listener(&sa, 4), fd = new_socket(client_ns, 0), child;

	TRUE(sa.sst_family == family && sa.sst_port);
	ERR(st_getpeername(fd, &peer), ENOTCONN);
	TRUE(!st_getsockname(fd, &own) && !own.sst_port);
	need(st_connect(fd, &sa), "connect");
	child = need(accept(server, (void *)&accepted, &len), "accept");
	TRUE(len == sizeof(accepted));
	TRUE(!st_getsockname(fd, &own) && own.sst_port && !memcmp(&own, &accepted, sizeof(own)));
	TRUE(!st_getpeername(fd, &peer) && !memcmp(&peer, &sa, sizeof(sa)));
	TRUE(!st_getsockname(child, &own) && !memcmp(&own, &sa, sizeof(sa)));
	TRUE(!st_getpeername(child, &peer) && !memcmp(&peer, &accepted, sizeof(peer)));
}

static void wrong_calls(void)
{
	struct sockaddr_strack sa, other;
	int server = listener(&sa, 4), fd = new_socket(server_ns, 0);
	char byte;

	ERR(st_bind(fd, &sa), EADDRINUSE);
	ERR(st_bind(server, &sa), EINVAL);
	ERR(recv(fd, &byte, 1, 0), ENOTCONN);
	ERR(send(fd, &byte, 1, MSG_NOSIGNAL), EPIPE);
	ERR(shutdown(fd, SHUT_WR), ENOTCONN);
	ERR(accept(fd, NULL, NULL), EINVAL);
	ERR(bind(fd, (void *)&sa, 4), EINVAL);
	other = sa;
	other.sst_family = AF_UNIX;
	ERR(st_bind(fd, &other), EAFNOSUPPORT);
	ERR(st_connect(server, &sa), EISCONN);
	st_address(&other, family, "192.0.2.77", 0);
	ERR(st_bind(fd, &other), EADDRNOTAVAIL);
	/* the port is free again as soon as the listener is closed */
	close(server);
	TRUE(!st_bind(fd, &sa));
}

static void refused(void)
{
	struct sockaddr_strack sa, any, own;
	int server = listener(&sa, 4), fd = new_socket(client_ns, 0), again;

	close(server);
	st_address(&any, family, NULL, 0);
	need(st_bind(fd, &any), "bind");
	TRUE(!st_getsockname(fd, &any) && any.sst_port);
	ERR(st_connect(fd, &sa), ECONNREFUSED);
	/* the same socket can try again, and has the port that it was bound to */
	TRUE(!st_getsockname(fd, &own) && own.sst_port == any.sst_port);
	server = new_socket(server_ns, 0);
	need(st_bind(server, &sa), "bind");
	need(listen(server, 4), "listen");
	TRUE(!st_connect(fd, &sa));
	TRUE(!st_getsockname(fd, &own) && own.sst_port == any.sst_port);
	ERR(st_connect(fd, &sa), EISCONN);
	again = need(accept(server, NULL, NULL), "accept");
	close(again);
	TRUE(mask(fd, POLLRDHUP) & POLLIN);
}

static void refused_later(void)
{
	struct sockaddr_strack sa;
	int server = listener(&sa, 4), fd = new_socket(client_ns, SOCK_NONBLOCK), err = 0;
	socklen_t len = sizeof(err);

	close(server);
	ERR(st_connect(fd, &sa), EINPROGRESS);
	TRUE(wait_for(fd, POLLOUT) & POLLERR);
	TRUE(!getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) && err == ECONNREFUSED);
}

static void nonblocking(void)
{
	struct sockaddr_strack sa, own;
	int server = listener(&sa, 4), fd = new_socket(client_ns, SOCK_NONBLOCK), child, err = -1;
	socklen_t len = sizeof(err);
	char byte;

	need(fcntl(server, F_SETFL, O_NONBLOCK), "fcntl");
	ERR(accept(server, NULL, NULL), EAGAIN);
	TRUE(!(mask(server, 0) & POLLIN));
	ERR(st_connect(fd, &sa), EINPROGRESS);
	/* whether or not it is connected by now */
	TRUE(!st_getsockname(fd, &own) && own.sst_port);
	TRUE(wait_for(fd, POLLOUT) == POLLOUT);
	TRUE(!getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) && !err);
	TRUE(wait_for(server, POLLIN) == POLLIN);
	child = need(accept(server, NULL, NULL), "accept");
	ERR(accept(server, NULL, NULL), EAGAIN);
	TRUE(!(mask(server, 0) & POLLIN));
	ERR(recv(fd, &byte, 1, 0), EAGAIN);
	TRUE(send(child, "x", 1, 0) == 1);
	TRUE(wait_for(fd, POLLIN) & POLLIN);
	TRUE(recv(fd, &byte, 1, 0) == 1 && byte == 'x');
	ERR(recv(fd, &byte, 1, MSG_DONTWAIT), EAGAIN);
}

static void many_wait(void)
{
	struct sockaddr_strack sa;
	int server = listener(&sa, 16), fds[8], child;
	char byte;

	for (int i = 0; i < 8; i++) {
		fds[i] = new_socket(client_ns, 0);
		need(st_connect(fds[i], &sa), "connect");
		TRUE(send(fds[i], &(char){ 'a' + i }, 1, 0) == 1);
	}
	for (int i = 0; i < 8; i++) {
		child = need(accept(server, NULL, NULL), "accept");
		TRUE(recv(child, &byte, 1, 0) == 1 && byte == 'a' + i);
		close(child);
		TRUE(recv(fds[i], &byte, 1, 0) == 0);
		close(fds[i]);
	}
}

static void half_closed(void)
{
	char data[100];
	int fd[2];

	pair(fd);
	TRUE(send(fd[0], "hello", 5, 0) == 5);
	TRUE(!shutdown(fd[0], SHUT_WR));
	ERR(send(fd[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	TRUE(mask(fd[1], POLLRDHUP) == (POLLIN | POLLOUT | POLLRDHUP));
	recv_all(fd[1], data, 5);
	TRUE(!memcmp(data, "hello", 5));
	TRUE(recv(fd[1], data, sizeof(data), 0) == 0);
	TRUE(recv(fd[1], data, sizeof(data), 0) == 0);
	/* the other direction goes on */
	TRUE(send(fd[1], "world", 5, 0) == 5);
	recv_all(fd[0], data, 5);
	TRUE(!memcmp(data, "world", 5));
	TRUE(!(mask(fd[1], 0) & POLLHUP));
	close(fd[1]);
	TRUE(recv(fd[0], data, sizeof(data), 0) == 0);
	TRUE(mask(fd[0], POLLHUP) & POLLIN);
}

static void peeking(void)
{
	char data[8] = "";
	int fd[2], left = -1;

	pair(fd);
	TRUE(send(fd[0], "abcdef", 6, 0) == 6);
	TRUE(wait_for(fd[1], POLLIN) & POLLIN);
	TRUE(recv(fd[1], data, 3, MSG_PEEK) == 3 && !memcmp(data, "abc", 3));
	TRUE(recv(fd[1], data, 6, MSG_PEEK | MSG_WAITALL) == 6 && !memcmp(data, "abcdef", 6));
	TRUE(!ioctl(fd[1], SIOCINQ, &left) && left == 6);
	TRUE(recv(fd[1], NULL, 2, MSG_TRUNC) == 2);
	recv_all(fd[1], data, 4);
	TRUE(!memcmp(data, "cdef", 4));
	TRUE(!ioctl(fd[1], SIOCINQ, &left) && !left);
	ERR(recv(fd[1], data, 1, MSG_PEEK | MSG_DONTWAIT), EAGAIN);
}

static void many_small(void)
{
	enum { COUNT = 300 };
	uint8_t data[COUNT];
	int fd[2];

	pair(fd);
	for (int i = 0; i < COUNT; i++)
		TRUE(send(fd[0], &(uint8_t){ i }, 1, 0) == 1);
	TRUE(recv(fd[1], data, COUNT, MSG_WAITALL) == COUNT);
	for (int i = 0; i < COUNT; i++)
		TRUE(data[i] == (uint8_t)i);
}

static void full(void)
{
	static uint8_t data[65536];
	size_t sent = 0, received = 0;
	int fd[2];
	ssize_t n;

	pair(fd);
	memset(data, 0x5a, sizeof(data));
	/* until it has been full for a while */
	for (;;) {
		struct pollfd p = { .fd = fd[0], .events = POLLOUT };
		bool waited = poll(&p, 1, slow(300)) == 0;

		n = send(fd[0], data, sizeof(data), MSG_DONTWAIT);
		TRUE(n > 0 || errno == EAGAIN);
		sent += n > 0 ? n : 0;
		if (failures || (waited && n < 0))
			break;
	}
	/* a reader makes room, and whoever waits for that is woken */
	while (received < sent) {
		n = recv(fd[1], data, sizeof(data), 0);
		TRUE(n > 0);
		if (n <= 0)
			return;
		received += n;
	}
	TRUE(wait_for(fd[0], POLLOUT) == POLLOUT);
	TRUE(received == sent);
}

static void edge_triggered(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET };
	int ep = need(epoll_create1(EPOLL_CLOEXEC), "epoll"), fd[2];
	char byte;

	pair(fd);
	need(epoll_ctl(ep, EPOLL_CTL_ADD, fd[1], &event), "epoll_ctl");
	TRUE(epoll_wait(ep, &event, 1, 0) == 0);
	for (int i = 0; i < 3; i++) {
		TRUE(send(fd[0], "x", 1, 0) == 1);
		TRUE(epoll_wait(ep, &event, 1, slow(LIMIT_MS)) == 1 && event.events == EPOLLIN);
		TRUE(recv(fd[1], &byte, 1, 0) == 1);
	}
	close(fd[0]);
	TRUE(epoll_wait(ep, &event, 1, slow(LIMIT_MS)) == 1);
	TRUE(event.events == (EPOLLIN | EPOLLRDHUP));
}

static volatile sig_atomic_t pipes;

static void on_pipe(int signal)
{
	(void)signal;
	pipes++;
}

static void reset_by_peer(void)
{
	struct linger linger = { 1, 0 };
	char byte;
	int fd[2];

	pair(fd);
	signal(SIGPIPE, on_pipe);
	TRUE(!setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	close(fd[1]);
	TRUE(wait_for(fd[0], POLLIN) & POLLERR);
	ERR(recv(fd[0], &byte, 1, 0), ECONNRESET);
	ERR(send(fd[0], &byte, 1, 0), EPIPE);
	TRUE(pipes == 1);
	ERR(send(fd[0], &byte, 1, MSG_NOSIGNAL), EPIPE);
	TRUE(pipes == 1);
	TRUE(recv(fd[0], &byte, 1, 0) == 0);
	ERR(shutdown(fd[0], SHUT_RDWR), ENOTCONN);
}

static void unread_resets(void)
{
	char byte;
	int fd[2];

	pair(fd);
	TRUE(send(fd[0], "unread", 6, 0) == 6);
	TRUE(wait_for(fd[1], POLLIN) & POLLIN);
	close(fd[1]);
	ERR(recv(fd[0], &byte, 1, 0), ECONNRESET);
}

static void closed_with_data(void)
{
	static uint8_t data[1 << 20];
	pid_t pid;
	int fd[2], status;

	pair(fd);
	memset(data, 0x77, sizeof(data));
	pid = need(fork(), "fork");
	if (!pid) {
		close(fd[1]);
		/* all that was written arrives although nobody waits for it */
		_exit(send(fd[0], data, sizeof(data), 0) != sizeof(data) || close(fd[0]));
	}
	close(fd[0]);
	memset(data, 0, sizeof(data));
	recv_all(fd[1], data, sizeof(data));
	TRUE(data[0] == 0x77 && data[sizeof(data) - 1] == 0x77);
	TRUE(recv(fd[1], data, 1, 0) == 0);
	waitpid(pid, &status, 0);
	TRUE(!status);
}

/* close() waits until all was sent, and not until its time is over. */
static void lingering(void)
{
	struct linger linger = { 1, slow(20) };
	uint64_t end = now_ns() + slow(10000) * NSEC_PER_MSEC;
	char data[5];
	int fd[2];

	/* who sends and who is told so meet at another place each time */
	for (int i = 0; i < 16 && now_ns() < end; i++) {
		pair(fd);
		TRUE(!setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
		TRUE(send(fd[0], "words", 5, 0) == 5);
		close(fd[0]);
		recv_all(fd[1], data, sizeof(data));
		TRUE(recv(fd[1], data, 1, 0) == 0);
		close(fd[1]);
	}
	TRUE(now_ns() < end);
}

static void interrupted_accept(void)
{
	struct timeval soon = { .tv_usec = 50000 };
	struct sockaddr_strack sa;
	int server = listener(&sa, 4);

	TRUE(!setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)));
	ERR(accept(server, NULL, NULL), EAGAIN);
	TRUE(!shutdown(server, SHUT_RD));
	ERR(accept(server, NULL, NULL), EINVAL);
}

static void undone(void)
{
	struct sockaddr_strack sa, none = { .sst_family = AF_UNSPEC };
	int server = listener(&sa, 4), fd = new_socket(client_ns, 0), child;
	char byte;

	need(st_connect(fd, &sa), "connect");
	child = need(accept(server, NULL, NULL), "accept");
	TRUE(!st_connect(fd, &none));
	ERR(recv(child, &byte, 1, 0), ECONNRESET);
	ERR(recv(fd, &byte, 1, 0), ENOTCONN);
	TRUE(!st_connect(fd, &sa));
}

/* Whatever was asked for meanwhile, what remains of an address is what bind() was given. */
static void undone_name(void)
{
	struct sockaddr_strack sa, any, own, none = { .sst_family = AF_UNSPEC };
	int server = listener(&sa, 4), fd = new_socket(client_ns, 0), child;

	st_address(&any, family, NULL, 0);
	need(st_bind(fd, &any), "bind");
	TRUE(!st_getsockname(fd, &any) && any.sst_port);
	need(st_connect(fd, &sa), "connect");
	child = need(accept(server, NULL, NULL), "accept");
	TRUE(!st_getsockname(fd, &own) && own.sst_port == any.sst_port);
	TRUE(memcmp(own.sst_addr, any.sst_addr, sizeof(own.sst_addr)));
	TRUE(!st_connect(fd, &none));
	TRUE(!st_getsockname(fd, &own) && !memcmp(&own, &any, sizeof(own)));
	close(child);
	TRUE(!listen(fd, 4));
	TRUE(!st_getsockname(fd, &own) && !memcmp(&own, &any, sizeof(own)));
}

/* A listener of IPv6 alone: nobody comes to it by IPv4, and by IPv6 everybody does. */
static void v6only(void)
{
	int server = new_socket(server_ns, SOCK_NONBLOCK), fd, one = 1;
	struct sockaddr_strack sa, any;
	char byte;

	TRUE(!setsockopt(server, SOL_IPV6, IPV6_V6ONLY, &one, sizeof(one)));
	st_address(&any, family, NULL, 0);
	need(st_bind(server, &any), "bind");
	need(listen(server, 4), "listen");
	need(st_getsockname(server, &any), "getsockname");
	st_address(&sa, family, address, ntohs(any.sst_port));
	fd = new_socket(client_ns, 0);
	if (strchr(address, ':')) {
		TRUE(!st_connect(fd, &sa));
		TRUE(wait_for(server, POLLIN) == POLLIN);
		TRUE(accept(server, NULL, NULL) >= 0);
		return;
	}
	/* a device's host has accepted it before the guest says no, which may be heard at once */
	if (!st_connect(fd, &sa)) {
		TRUE(wait_for(fd, POLLIN) & POLLERR);
		ERR(recv(fd, &byte, 1, MSG_DONTWAIT), ECONNRESET);
	} else {
		TRUE(errno == ECONNREFUSED || errno == ECONNRESET);
	}
	ERR(accept(server, NULL, NULL), EAGAIN);
	TRUE(!(mask(server, 0) & POLLIN));
}

/* Connections that wait for accept() are paid for by the listener's cgroup. */
static void listener_pays(void)
{
	/* of whom a socket takes more than so much, whoever makes it */
	enum { CLIENTS = 64, LEAST = 1024 };
	uint64_t end = now_ns() + slow(LIMIT_MS) * NSEC_PER_MSEC;
	const char *file = MEMCG_GROUP "/memory.stat";
	struct sockaddr_strack sa;
	long before, charged;
	int server;

	if (memcg_begin())
		exit(KSFT_SKIP);
	need(memcg_enter(), "cgroup");
	server = listener(&sa, CLIENTS);
	need(memcg_leave(), "cgroup");
	before = memcg_number(file, "slab");
	TRUE(before >= 0);
	for (int i = 0; i < CLIENTS; i++)
		need(st_connect(new_socket(client_ns, 0), &sa), "connect");
	/* the kernel adds up what the CPUs have every two seconds */
	do {
		charged = memcg_number(file, "slab") - before;
		sleep_ms(20);
	} while (charged < CLIENTS * LEAST && now_ns() < end);
	TRUE(charged >= CLIENTS * LEAST);
	close(server);
	TRUE(!memcg_end());
}

/* What listens goes on to, with the name that it had, even though nobody comes any more. */
static void gone(void)
{
	struct sockaddr_strack before, after;
	int fd = new_socket(client_ns, 0);

	/* not bound before: the name is listen()'s */
	need(listen(fd, 4), "listen");
	TRUE(!st_getsockname(fd, &before) && before.sst_port);
	ktap_diag("ready");
	TRUE(wait_for(fd, POLLIN) & POLLERR);
	ERR(listen(fd, 8), ENETDOWN);
	TRUE(!st_getsockname(fd, &after) && !memcmp(&before, &after, sizeof(after)));
	ERR(accept(fd, NULL, NULL), ENETDOWN);
	ERR(accept(fd, NULL, NULL), ENETDOWN);
}

struct test {
	const char *name;
	void (*run)(void);
};

static const struct test gone_cases[] = {
	{ "a listener's device goes", gone },
};

static const struct test cases[] = {
	{ "names of both ends", names },
	{ "calls that cannot be", wrong_calls },
	{ "connect(), refused, and again", refused },
	{ "connect() without waiting, refused", refused_later },
	{ "without waiting", nonblocking },
	{ "connections wait for accept()", many_wait },
	{ "one direction ends", half_closed },
	{ "MSG_PEEK, MSG_TRUNC, SIOCINQ", peeking },
	{ "many small writes", many_small },
	{ "full, and room again", full },
	{ "epoll, edge triggered", edge_triggered },
	{ "reset by the peer", reset_by_peer },
	{ "unread data resets", unread_resets },
	{ "closed with data on its way", closed_with_data },
	{ "SO_LINGER", lingering },
	{ "accept() that ends", interrupted_accept },
	{ "connect() undone", undone },
	{ "connect() undone, after getsockname()", undone_name },
	{ "IPV6_V6ONLY", v6only },
	{ "the listener's cgroup pays", listener_pays },
};

static void run(const struct test *test)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = need(fork(), "fork");
	if (!pid) {
		setvbuf(stdout, NULL, _IOLBF, 0);
		alarm(slow(30));
		test->run();
		exit(failures ? KSFT_FAIL : KSFT_PASS);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		ktap_diag("  ended by signal %d", WTERMSIG(status));
	if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP)
		ktap_skip(test->name, "not possible here");
	else
		ktap_result(!status, test->name);
}

static int run_all(const struct test *tests, size_t count)
{
	family = strack_family();
	ktap_plan(count);
	for (size_t i = 0; i < count; i++)
		run(&tests[i]);
	return ktap_finish();
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--gone")) {
		client_ns = argv[2];
		return run_all(gone_cases, ARRAY_SIZE(gone_cases));
	}
	if (argc != 4) {
		fputs("usage: vsocket SERVER_NETNS CLIENT_NETNS ADDRESS | --gone NETNS\n", stderr);
		return 2;
	}
	server_ns = argv[1];
	client_ns = argv[2];
	address = argv[3];
	return run_all(cases, ARRAY_SIZE(cases));
}
