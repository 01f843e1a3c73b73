// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: what the cases are built from. */
#include <grp.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include "sm.h"
#include "sm_run.h"

struct sm_env sm;
int sm_failures;

static const char *base_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

static void fail(const char *what, const char *file, int line)
{
	sm_failures++;
	printf("#   %s:%d: %s: ", base_name(file), line, what);
}

static const char *error_name(int err)
{
	const char *name = strerrorname_np(err);

	return name ? name : "no error";
}

long sm_check_ok(long ret, const char *what, const char *file, int line)
{
	int err = errno;

	if (ret < 0) {
		fail(what, file, line);
		printf("failed with %s\n", error_name(err));
	}
	return ret;
}

long sm_need_ok(long ret, const char *what, const char *file, int line)
{
	if (sm_check_ok(ret, what, file, line) < 0)
		exit(KSFT_FAIL);
	return ret;
}

void sm_check_err(long ret, int err, const char *what, const char *file, int line)
{
	int got = errno;

	if (ret < 0 && got == err)
		return;
	fail(what, file, line);
	if (ret < 0)
		printf("expected %s, got %s\n", error_name(err), error_name(got));
	else
		printf("expected %s, got success (%ld)\n", error_name(err), ret);
}

void sm_check_eq(long long got, long long want, const char *what, const char *file, int line)
{
	if (got == want)
		return;
	fail(what, file, line);
	printf("expected %lld (%#llx), got %lld (%#llx)\n", want, want, got, got);
}

void sm_check_range(long long got, long long low, long long high, const char *what,
		    const char *file, int line)
{
	if (got >= low && got <= high)
		return;
	fail(what, file, line);
	printf("expected %lld..%lld, got %lld\n", low, high, got);
}

void sm_check_true(bool good, const char *what, const char *file, int line)
{
	if (good)
		return;
	fail(what, file, line);
	puts("is false");
}

void sm_skip(const char *why)
{
	printf("#   skipped: %s\n", why);
	exit(KSFT_SKIP);
}

int sm_socket(int flags)
{
	int fd = NEED(socket(sm.family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
	int one = 1;

	/* TCP would hold small packets back; this family does not. */
	if (sm.tcp)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static const char *const places_v4[] = {
	[SM_ANY] = "0.0.0.0",
	[SM_LOOP] = "127.0.0.1",
	[SM_LOCAL] = SM_LOCAL_V4,
	[SM_FOREIGN] = "192.0.2.77",
	[SM_BLACKHOLE] = SM_BLACKHOLE_V4,
	[SM_NOROUTE] = "203.0.113.1",
};

static const char *const places_v6[] = {
	[SM_ANY] = "::",
	[SM_LOOP] = "::1",
	[SM_LOCAL] = SM_LOCAL_V6,
	[SM_FOREIGN] = "2001:db8:77::1",
	[SM_BLACKHOLE] = SM_BLACKHOLE_V6,
	[SM_NOROUTE] = "2001:db8:203::1",
};

void sm_place(struct sockaddr_strack *sa, enum sm_place place, uint16_t port)
{
	st_address(sa, sm.family, sm.v6 ? places_v6[place] : places_v4[place], port);
}

int sm_listener(int backlog, struct sockaddr_strack *sa)
{
	int fd = sm_socket(0);

	sm_place(sa, SM_LOOP, 0);
	NEED(st_bind(fd, sa));
	NEED(listen(fd, backlog));
	NEED(st_getsockname(fd, sa));
	return fd;
}

void sm_pair_of(int listener, const struct sockaddr_strack *sa, int fd[2])
{
	int one = 1;

	fd[0] = sm_socket(0);
	NEED(st_connect(fd[0], sa));
	fd[1] = NEED(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	if (sm.tcp)
		setsockopt(fd[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void sm_pair(int fd[2])
{
	struct sockaddr_strack sa;
	int listener = sm_listener(4, &sa);

	sm_pair_of(listener, &sa, fd);
	close(listener);
}

int sm_set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

int sm_get_int(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = 0;

	OK(getsockopt(fd, level, name, &value, &len));
	return value;
}

void sm_nonblock(int fd)
{
	NEED(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
}

int sm_poll(int fd, int events, unsigned int ms)
{
	struct pollfd p = { .fd = fd, .events = events };

	OK(poll(&p, 1, slow(ms)));
	return p.revents;
}

int sm_mask(int fd)
{
	return sm_poll(fd, POLLIN | POLLOUT | POLLPRI | POLLRDHUP, 0);
}

int sm_wait_mask(int fd, int mask)
{
	uint64_t deadline = now_ns() + slow(2) * NSEC_PER_SEC;
	int got;

	while ((got = sm_mask(fd)) != mask && now_ns() < deadline)
		sleep_ms(2);
	return got;
}

int sm_ioctl_int(int fd, unsigned long ioctl_nr)
{
	int value = -1;

	OK(ioctl(fd, ioctl_nr, &value));
	return value;
}

int sm_wait_ioctl(int fd, unsigned long ioctl_nr, int value)
{
	uint64_t deadline = now_ns() + slow(2) * NSEC_PER_SEC;
	int got;

	while ((got = sm_ioctl_int(fd, ioctl_nr)) != value && now_ns() < deadline)
		sleep_ms(2);
	return got;
}

ssize_t sm_send_all(int fd, const void *data, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = send(fd, (const char *)data + done, len - done, MSG_NOSIGNAL);

		if (n < 0)
			return -1;
		done += n;
	}
	return done;
}

ssize_t sm_recv_all(int fd, void *data, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = recv(fd, (char *)data + done, len - done, 0);

		if (n < 0)
			return -1;
		if (!n)
			break;
		done += n;
	}
	return done;
}

size_t sm_fill(int fd)
{
	static unsigned char chunk[16384];
	size_t total = 0;
	int idle = 0;

	/* Full for good: no room any more although the peer's buffer got time to fill. */
	while (idle < 3) {
		ssize_t n;

		sm_pattern_fill(chunk, sizeof(chunk), total);
		n = send(fd, chunk, sizeof(chunk), MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0) {
			total += n;
			idle = 0;
			continue;
		}
		if (errno != EAGAIN) {
			sm_check_eq(errno, EAGAIN, "errno of send on a full socket", __FILE__,
				    __LINE__);
			break;
		}
		if (!sm_poll(fd, POLLOUT, 100))
			idle++;
	}
	return total;
}

unsigned char sm_pattern(size_t position)
{
	uint64_t x = position * 0x9e3779b97f4a7c15ULL;

	return x >> 56;
}

void sm_pattern_fill(unsigned char *data, size_t len, size_t position)
{
	for (size_t i = 0; i < len; i++)
		data[i] = sm_pattern(position + i);
}

bool sm_pattern_check(const unsigned char *data, size_t len, size_t position)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i] != sm_pattern(position + i)) {
			printf("#   byte %zu of the stream is wrong\n", position + i);
			return false;
		}
	}
	return true;
}

void sm_drop_privileges(void)
{
	NEED(setgroups(0, NULL));
	NEED(setresgid(65534, 65534, 65534));
	NEED(setresuid(65534, 65534, 65534));
}
