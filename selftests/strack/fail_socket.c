// SPDX-License-Identifier: GPL-2.0
/* fail_nth: a socket from its birth to its end. */
#include <sys/ioctl.h>

#include <linux/sockios.h>

#include "fail_nth.h"

#define PORT		7654

static void fresh(struct nth_try *t)
{
	t->fd[0] = nth_socket_new();
}

/* --- socket, bind, listen ------------------------------------------------ */

static long call_socket(struct nth_try *t)
{
	return t->fd[0] = socket(nth.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static long call_bind(struct nth_try *t)
{
	return st_bind(t->fd[0], &t->sa);
}

static void fresh_any_port(struct nth_try *t)
{
	fresh(t);
	nth_loopback(&t->sa, 0);
}

/* The same each time: a port that were not given back would be in use. */
static void fresh_port(struct nth_try *t)
{
	fresh(t);
	nth_loopback(&t->sa, PORT);
}

static void is_bound(struct nth_try *t)
{
	struct sockaddr_strack sa;

	nth_again(t);
	CHECK(t, st_getsockname(t->fd[0], &sa) == 0);
	CHECK(t, t->sa.sst_port ? sa.sst_port == t->sa.sst_port : sa.sst_port != 0);
}

static long call_listen(struct nth_try *t)
{
	return listen(t->fd[0], 64);
}

static void fresh_bound(struct nth_try *t)
{
	fresh_port(t);
	MUST(st_bind(t->fd[0], &t->sa));
}

static void listens_already(struct nth_try *t)
{
	fresh_bound(t);
	MUST(listen(t->fd[0], 2));
}

/* A client gets through, once. */
static void accepts(struct nth_try *t)
{
	nth_again(t);
	CHECK(t, st_getsockname(t->fd[0], &t->sa) == 0);
	nth_loopback(&t->sa, ntohs(t->sa.sst_port));
	t->fd[1] = nth_socket_new();
	CHECK(t, st_connect(t->fd[1], &t->sa) == 0);
	CHECK(t, nth_ready(t->fd[0], POLLIN));
	t->fd[2] = accept4(t->fd[0], NULL, NULL, SOCK_CLOEXEC);
	CHECK(t, t->fd[2] >= 0 && nth_talk(t->fd[1], t->fd[2]));
	CHECK(t, nth_quiet(t->fd[0], POLLIN));
}

/* --- connect, accept ----------------------------------------------------- */

static void fresh_client(struct nth_try *t)
{
	nth_listener(&t->sa);
	fresh(t);
}

static void fresh_nonblocking(struct nth_try *t)
{
	fresh_client(t);
	MUST(fcntl(t->fd[0], F_SETFL, O_NONBLOCK));
}

static long call_connect(struct nth_try *t)
{
	return st_connect(t->fd[0], &t->sa);
}

/* One connection has come of it, whatever had to be tried again. */
static void is_connected(struct nth_try *t)
{
	int from = nth_listener(&t->sa), error = -1;
	socklen_t len = sizeof(error);

	nth_again(t);
	CHECK(t, nth_ready(t->fd[0], POLLOUT));
	CHECK(t, getsockopt(t->fd[0], SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0);
	MUST(fcntl(t->fd[0], F_SETFL, 0));
	CHECK(t, nth_ready(from, POLLIN));
	t->fd[1] = MUST(accept4(from, NULL, NULL, SOCK_CLOEXEC));
	nth_patience(t->fd[1]);
	CHECK(t, nth_talk(t->fd[0], t->fd[1]));
	CHECK(t, nth_quiet(from, POLLIN));
}

static void client_waits(struct nth_try *t)
{
	fresh_client(t);
	MUST(st_connect(t->fd[0], &t->sa));
	MUST(send(t->fd[0], "x", 1, 0));
	MUST(nth_ready(nth_listener(&t->sa), POLLIN) ? 0 : -1);
}

static long call_accept(struct nth_try *t)
{
	socklen_t len = sizeof(t->sa);

	return t->fd[1] = accept4(nth_listener(&t->sa), (void *)&t->sa, &len, SOCK_CLOEXEC);
}

/*
 * A connection that was not given out for want of memory is still there; one
 * whose address could not be told is lost, as with TCP, and its peer hears of it.
 */
static void is_accepted(struct nth_try *t)
{
	char byte = 0;

	if (t->ret < 0 && t->err == EFAULT) {
		CHECK(t, recv(t->fd[0], &byte, 1, 0) <= 0 && errno != EAGAIN);
		nth_close(t, 0);
		client_waits(t);
	}
	nth_again(t);
	nth_patience(t->fd[1]);
	CHECK(t, recv(t->fd[1], &byte, 1, 0) == 1 && byte == 'x');
	CHECK(t, nth_talk(t->fd[0], t->fd[1]));
	CHECK(t, nth_quiet(nth_listener(&t->sa), POLLIN));
}

/* --- names --------------------------------------------------------------- */

static void pair(struct nth_try *t)
{
	nth_pair(t->fd);
}

static long call_getsockname(struct nth_try *t)
{
	return st_getsockname(t->fd[0], &t->sa);
}

static long call_getpeername(struct nth_try *t)
{
	return st_getpeername(t->fd[0], &t->sa);
}

/* --- shutdown, close ----------------------------------------------------- */

static void pair_with_data(struct nth_try *t)
{
	static const char data[50000];

	pair(t);
	MUST(send(t->fd[0], data, sizeof(data), 0));
}

static long call_shutdown(struct nth_try *t)
{
	return shutdown(t->fd[0], (long)t->call->arg);
}

static long read_to_end(int fd)
{
	static char data[65536];
	long done = 0;
	ssize_t n;

	while ((n = recv(fd, data, sizeof(data), 0)) > 0)
		done += n;
	return n ? -1 : done;
}

static void all_and_then_end(struct nth_try *t)
{
	CHECK(t, read_to_end(t->fd[1]) == 50000);
}

/* Nothing to confirm it by: the socket, its port and its file are gone. */
static long call_close(struct nth_try *t)
{
	int fd = t->fd[0];

	t->fd[0] = -1;
	return close(fd);
}

static void port_is_free(struct nth_try *t)
{
	fresh_port(t);
	CHECK(t, st_bind(t->fd[0], &t->sa) == 0);
}

static void listens_with_client(struct nth_try *t)
{
	listens_already(t);
	t->fd[1] = nth_socket_new();
	MUST(st_connect(t->fd[1], &t->sa));
	MUST(nth_ready(t->fd[0], POLLIN) ? 0 : -1);
}

static void peer_sees_end(struct nth_try *t)
{
	CHECK(t, read_to_end(t->fd[1]) == 0);
}

static void pair_with_unread(struct nth_try *t)
{
	pair(t);
	MUST(send(t->fd[1], "unread", 6, 0));
	MUST(nth_ready(t->fd[0], POLLIN) ? 0 : -1);
}

static void pair_not_lingering(struct nth_try *t)
{
	struct linger linger = { 1, 0 };

	pair_with_data(t);
	MUST(setsockopt(t->fd[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
}

static void pair_lingering(struct nth_try *t)
{
	struct linger linger = { 1, 5 };

	pair_with_data(t);
	MUST(setsockopt(t->fd[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
}

/* A reset is said once. When that is lost, the next thing sent is answered by one. */
static void peer_is_reset(struct nth_try *t)
{
	int error = 0;

	if (send(t->fd[1], "?", 1, MSG_NOSIGNAL) < 0 || read_to_end(t->fd[1]) < 0)
		error = errno;
	CHECK(t, error == ECONNRESET || error == EPIPE);
}

static void client_is_reset(struct nth_try *t)
{
	peer_is_reset(t);
	port_is_free(t);
}

static const struct nth_call calls[] = {
	{ .name = "socket", .call = call_socket, .also = ENFILE },
	{ .name = "bind to any port", .prepare = fresh_any_port, .call = call_bind,
	  .confirm = is_bound, .flags = NTH_V6 },
	{ .name = "bind to a port", .prepare = fresh_port, .call = call_bind,
	  .confirm = is_bound, .flags = NTH_V6 },
	{ .name = "listen", .prepare = fresh_bound, .call = call_listen, .confirm = accepts,
	  .flags = NTH_V6 },
	{ .name = "listen without bind", .prepare = fresh, .call = call_listen,
	  .confirm = accepts },
	{ .name = "listen again", .prepare = listens_already, .call = call_listen,
	  .confirm = accepts },
	{ .name = "connect", .prepare = fresh_client, .call = call_connect,
	  .confirm = is_connected, .flags = NTH_V6 },
	{ .name = "connect without waiting", .prepare = fresh_nonblocking,
	  .call = call_connect, .confirm = is_connected, .flags = NTH_V6,
	  .usual = EINPROGRESS },
	{ .name = "accept4", .prepare = client_waits, .call = call_accept,
	  .confirm = is_accepted, .flags = NTH_V6, .also = ENFILE },
	{ .name = "getsockname", .prepare = pair, .call = call_getsockname },
	{ .name = "getpeername", .prepare = pair, .call = call_getpeername },
	{ .name = "shutdown of writing", .prepare = pair_with_data, .call = call_shutdown,
	  .confirm = all_and_then_end, .flags = NTH_V6 | NTH_SURE, .arg = (void *)SHUT_WR },
	{ .name = "shutdown of both", .prepare = pair_with_data, .call = call_shutdown,
	  .confirm = all_and_then_end, .flags = NTH_SURE, .arg = (void *)SHUT_RDWR },
	{ .name = "close of a bound socket", .prepare = fresh_bound, .call = call_close,
	  .confirm = port_is_free, .flags = NTH_SURE },
	{ .name = "close of a listener", .prepare = listens_already, .call = call_close,
	  .confirm = port_is_free, .flags = NTH_SURE },
	{ .name = "close of a listener with a client", .prepare = listens_with_client,
	  .call = call_close, .confirm = client_is_reset, .flags = NTH_SURE },
	{ .name = "close", .prepare = pair, .call = call_close, .confirm = peer_sees_end,
	  .flags = NTH_V6 | NTH_SURE },
	{ .name = "close after data", .prepare = pair_with_data, .call = call_close,
	  .confirm = all_and_then_end, .flags = NTH_SURE },
	{ .name = "close with unread data", .prepare = pair_with_unread, .call = call_close,
	  .confirm = peer_is_reset, .flags = NTH_SURE },
	{ .name = "close with a reset", .prepare = pair_not_lingering, .call = call_close,
	  .confirm = peer_is_reset, .flags = NTH_SURE },
	{ .name = "close that lingers", .prepare = pair_lingering, .call = call_close,
	  .confirm = all_and_then_end, .flags = NTH_SURE },
};

NTH_GROUP(socket, calls);
