// SPDX-License-Identifier: GPL-2.0
/*
 * vfull SERVER_NETNS CLIENT_NETNS ADDRESS [COUNT]: connects sockets of a device until it may not
 * pin memory for more: the next ones are refused with ENOBUFS, and all others go on. With COUNT,
 * so many are connected, and none is refused. The server is in one namespace, which has ADDRESS
 * in the network; the clients are in the other, the device's.
 */
#include "../lib/pattern.h"
#include "../lib/strack.h"

/* What no device has memory for that may pin 8 MiB. */
#define MOST	64
#define BYTES	50000
#define ROUNDS	4

static const char *server_ns, *client_ns, *address;
static int family, server;
static struct sockaddr_strack sa;

static int fail(const char *what, size_t n)
{
	printf("# connection %zu: %s: %s\n", n, what, strerrorname_np(errno) ?: "no error");
	return 1;
}

/* A socket of the device's, connected, or -1 */
static int new_client(void)
{
	int fd, err;

	if (enter_netns(client_ns) < 0)
		return -1;
	fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || !st_connect(fd, &sa))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

static int whole(ssize_t (*f)(int fd, void *data, size_t len, int flags), int fd, uint8_t *data)
{
	size_t done = 0;
	ssize_t n;

	while (done < BYTES) {
		n = f(fd, data + done, BYTES - done, 0);
		if (n <= 0)
			return -1;
		done += n;
	}
	return 0;
}

static ssize_t put(int fd, void *data, size_t len, int flags)
{
	return send(fd, data, len, flags);
}

/* Bytes from one end to the other, which are as many and the same. */
static int carry(int from, int to, uint64_t seed)
{
	static uint8_t data[BYTES];

	pattern_fill(data, BYTES, seed, 0);
	if (whole(put, from, data))
		return -1;
	memset(data, 0, BYTES);
	if (whole(recv, to, data))
		return -1;
	errno = EBADMSG;
	return pattern_check(data, BYTES, seed, 0) == BYTES ? 0 : -1;
}

/* All of them, both ways. */
static int exchange(const int (*fd)[2], size_t count)
{
	for (unsigned int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < count; i++) {
			if (carry(fd[i][0], fd[i][1], 2 * i + round))
				return fail("to the server", i);
			if (carry(fd[i][1], fd[i][0], 2 * i + round + 1000))
				return fail("to the client", i);
		}
	}
	return 0;
}

/* A connection, 1 if it cannot be accepted, and -1 if it cannot be made. */
static int connected(int fd[2], size_t n)
{
	fd[0] = new_client();
	if (fd[0] < 0)
		return -1;
	fd[1] = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	return fd[1] < 0 ? fail("accept", n) : 0;
}

static int fd[MOST][2];

static int connect_all(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (connected(fd[i], i))
			return fail("connect", i);
	}
	return exchange(fd, count);
}

static int full(void)
{
	size_t count = 0;
	uint64_t end;
	int err = 0;

	while (count < MOST && !(err = connected(fd[count], count)))
		count++;
	if (err >= 0 || errno != ENOBUFS || count < 4)
		return fail("not refused with ENOBUFS", count);
	printf("# %zu connections\n", count);
	for (size_t i = 0; i < 10; i++) {
		if (new_client() >= 0 || errno != ENOBUFS)
			return fail("not refused again", count + i);
	}
	if (exchange(fd, count))
		return 1;
	/* where one has ended there is memory for another; close() does not wait for that */
	close(fd[1][0]);
	close(fd[1][1]);
	end = now_ns() + slow(10000) * NSEC_PER_MSEC;
	while ((err = connected(fd[1], 1)) < 0 && errno == ENOBUFS && now_ns() < end)
		sleep_ms(10);
	if (err)
		return fail("no room where one was", 1);
	if (new_client() >= 0 || errno != ENOBUFS)
		return fail("room where there is none", count);
	return exchange(fd, count);
}

int main(int argc, char **argv)
{
	size_t count = argc == 5 ? strtoul(argv[4], NULL, 0) : 0;

	if (argc < 4 || argc > 5 || count > MOST) {
		fputs("usage: vfull SERVER_NETNS CLIENT_NETNS ADDRESS [COUNT]\n", stderr);
		return 2;
	}
	server_ns = argv[1];
	client_ns = argv[2];
	address = argv[3];
	family = strack_family();
	alarm(slow(60));
	if (enter_netns(server_ns) < 0)
		return fail(server_ns, 0);
	server = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server < 0 || st_address(&sa, family, address, 0) || st_bind(server, &sa) ||
	    listen(server, MOST) || st_getsockname(server, &sa))
		return fail("listen", 0);
	return count ? connect_all(count) : full();
}
