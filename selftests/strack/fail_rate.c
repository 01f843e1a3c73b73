// SPDX-License-Identifier: GPL-2.0
/*
 * fail_rate: connections while allocations fail all the time.
 *
 * Pairs of processes connect, send, receive and close over and over. First the
 * allocations of these processes fail at a rate, then, at a higher one, all that
 * the module does or has done for it in whatever context, then those of the
 * whole machine. A connection may end with an errno, but not with wrong bytes, and not
 * without a word; when the faults end everything works again, and nothing is
 * left behind.
 */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <net/if.h>
#include <sys/ioctl.h>

#include "../lib/pattern.h"

#include "faults.h"

#define PAIRS		4
#define PORT		7800
#define BYTES		100000
/* How long faults last, and how long one call may wait, seconds. */
#define SECONDS		10
#define PATIENCE	5

/* What became of the ends of connections; written by all processes. */
static struct tally {
	unsigned int whole, failed, wrong, silent;
	unsigned int errnos[256];
	bool over;
} *tally;

enum where { OWN, MODULE, MACHINE };

static const struct mode {
	const char *name;
	enum where where;
	unsigned int slab, page;	/* each so-many-th fails; primes, so that they drift */
} modes[] = {
	{ "the processes' own allocations", OWN, 23, 11 },
	{ "what the module asks for", MODULE, 7, 5 },
	{ "everything", MACHINE, 101, 47 },
};

static int family;
static pid_t children[2 * PAIRS];

static void count(unsigned int *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

static bool over(void)
{
	return __atomic_load_n(&tally->over, __ATOMIC_RELAXED);
}

/* A failed call is counted. Whether it may be made again. */
static bool try_again(int error)
{
	count(&tally->errnos[error & 255]);
	return error == ENOMEM || error == ENOBUFS || error == EINTR;
}

static void patience(int fd)
{
	struct timeval limit = { .tv_sec = slow(PATIENCE) };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/* --- one end ------------------------------------------------------------- */

static bool send_all(int fd, uint64_t seed)
{
	static uint8_t data[30000];
	size_t done = 0;

	while (done < BYTES) {
		size_t len = BYTES - done < sizeof(data) ? BYTES - done : sizeof(data);
		ssize_t n;

		pattern_fill(data, len, seed, done);
		n = send(fd, data, len, MSG_NOSIGNAL);
		if (n > 0)
			done += n;
		else if (!try_again(errno))
			return false;
	}
	return shutdown(fd, SHUT_WR) == 0;
}

/* False with errno 0: what came is not what was sent. */
static bool receive_all(int fd, uint64_t seed)
{
	static uint8_t data[30000];
	size_t done = 0;
	ssize_t n;

	for (;;) {
		n = recv(fd, data, sizeof(data), 0);
		if (n < 0 && try_again(errno))
			continue;
		if (n <= 0)
			break;
		if (pattern_check(data, n, seed, done) != (size_t)n) {
			errno = 0;
			return false;
		}
		done += n;
	}
	if (n == 0 && done != BYTES)
		errno = 0;
	return n == 0 && done == BYTES;
}

/* A connection that failed ends with a reset, so that the other end fails, too. */
static void finish(int fd, bool whole)
{
	struct linger linger = { 1, 0 };

	if (whole)
		count(&tally->whole);
	else if (errno == 0)
		count(&tally->wrong);
	else if (errno == EAGAIN)
		count(&tally->silent);
	else
		count(&tally->failed);
	if (!whole)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

static int connect_to(uint16_t port, bool v6)
{
	struct sockaddr_strack sa;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	patience(fd);
	st_address(&sa, family, v6 ? "::1" : "127.0.0.1", port);
	if (st_connect(fd, &sa) == 0)
		return fd;
	try_again(errno);
	close(fd);
	return -1;
}

/* The port of the client is the seed: bytes of another connection are wrong. */
static bool converse(int fd, bool client)
{
	struct sockaddr_strack sa;
	uint64_t seed;

	if (client ? st_getsockname(fd, &sa) : st_getpeername(fd, &sa))
		return false;
	seed = sa.sst_port * 2;
	if (client)
		return send_all(fd, seed) && receive_all(fd, seed + 1);
	return receive_all(fd, seed) && send_all(fd, seed + 1);
}

static void run_client(unsigned int pair)
{
	while (!over()) {
		int fd = connect_to(PORT + pair, pair % 2);

		if (fd < 0) {
			/* one that fails at once would keep the processor from the others */
			sleep_ms(1);
			continue;
		}
		finish(fd, converse(fd, true));
	}
}

static void run_server(int listener)
{
	while (!over()) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0) {
			if (errno != EAGAIN)
				count(&tally->errnos[errno & 255]);
			continue;
		}
		patience(fd);
		finish(fd, converse(fd, false));
	}
}

static int listen_at(unsigned int pair)
{
	struct timeval often = { .tv_usec = 500000 };
	struct sockaddr_strack sa;
	int one = 1, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	st_address(&sa, family, NULL, PORT + pair);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &often, sizeof(often)) ||
	    st_bind(fd, &sa) || listen(fd, 8))
		ktap_bail("no listener: %s", strerror(errno));
	return fd;
}

/* --- all of them --------------------------------------------------------- */

static pid_t start(unsigned int pair, int listener, bool marked, const int go[2])
{
	pid_t pid = fork();
	char byte;

	if (pid < 0)
		ktap_bail("fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(go[1]);
	/* a page that is missing when memory cannot be had is not under test */
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		_exit(KSFT_FAIL);
	if (marked)
		faults_mark_process(true);
	while (read(go[0], &byte, 1) < 0)
		;
	if (listener >= 0)
		run_server(listener);
	else
		run_client(pair);
	_exit(KSFT_PASS);
}

/* All children end by themselves, in time. */
static bool all_end(void)
{
	uint64_t deadline = now_ns() + slow(4 * PATIENCE) * NSEC_PER_SEC;
	bool good = true;

	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		int status;

		while (waitpid(children[i], &status, WNOHANG) == 0) {
			if (now_ns() > deadline) {
				ktap_diag("the %s of pair %zu does not end",
					  i % 2 ? "client" : "server", i / 2);
				kill(children[i], SIGKILL);
				waitpid(children[i], &status, 0);
				break;
			}
			sleep_ms(10);
		}
		good &= WIFEXITED(status) && WEXITSTATUS(status) == KSFT_PASS;
	}
	return good;
}

static void report(const struct mode *mode, unsigned int faults)
{
	ktap_diag("%s: %u faults injected, %u ends of connections: %u whole, %u failed, %u gave up waiting, %u wrong",
		  mode->name, faults, tally->whole + tally->failed + tally->silent + tally->wrong,
		  tally->whole, tally->failed, tally->silent, tally->wrong);
	for (unsigned int i = 0; i < ARRAY_SIZE(tally->errnos); i++)
		if (tally->errnos[i])
			ktap_diag("  %s %u times", strerrorname_np(i), tally->errnos[i]);
}

/* Errnos that a stream socket has a meaning for. */
static bool errnos_are_sane(void)
{
	static const int sane[] = { ENOMEM, ENOBUFS, ENFILE, ECONNRESET, EPIPE, ETIMEDOUT,
				    ECONNREFUSED, EAGAIN, EINPROGRESS, ECONNABORTED, ENOTCONN,
				    EHOSTUNREACH, ENETUNREACH };
	bool good = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(tally->errnos); i++) {
		bool known = !tally->errnos[i];

		for (size_t k = 0; k < ARRAY_SIZE(sane); k++)
			known |= (int)i == sane[k];
		if (!known) {
			ktap_diag("  %s is no errno for it", strerrorname_np(i));
			good = false;
		}
	}
	return good;
}

static bool sockets_go_back_to(long before)
{
	uint64_t deadline = now_ns() + slow(60) * NSEC_PER_SEC;

	while (sockets_used() > before && now_ns() < deadline)
		sleep_ms(20);
	if (sockets_used() > before)
		ktap_diag("%ld sockets are left, there were %ld", sockets_used(), before);
	return sockets_used() <= before;
}

/* Without faults each of them is whole. */
static bool fresh_one_works(void)
{
	int listener = listen_at(0), fd, status = -1;
	bool good;
	pid_t pid = fork();

	if (!pid) {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			_exit(KSFT_FAIL);
		patience(fd);
		_exit(converse(fd, false) ? KSFT_PASS : KSFT_FAIL);
	}
	fd = connect_to(PORT, false);
	good = fd >= 0 && converse(fd, true);
	close(fd);
	close(listener);
	waitpid(pid, &status, 0);
	return good && status == 0;
}

static void run_mode(const struct mode *mode)
{
	long before = sockets_used();
	unsigned int faults;
	bool good;
	int go[2];

	memset(tally, 0, sizeof(*tally));
	if (pipe2(go, O_CLOEXEC))
		ktap_bail("pipe: %s", strerror(errno));
	for (unsigned int pair = 0; pair < PAIRS; pair++) {
		int listener = listen_at(pair);

		children[2 * pair] = start(pair, listener, mode->where == OWN, go);
		children[2 * pair + 1] = start(pair, -1, mode->where == OWN, go);
		close(listener);
	}
	faults_marked_only(mode->where == OWN);
	if (mode->where == MODULE)
		faults_in_modules(NULL);
	else
		faults_everywhere();
	faults_rate(mode->slab, mode->page);
	close(go[1]);
	sleep_ms(slow(SECONDS) * 1000);
	__atomic_store_n(&tally->over, true, __ATOMIC_RELAXED);
	/* what is under way meets faults to its end */
	sleep_ms(slow(1) * 1000);
	faults = faults_rate_end();
	close(go[0]);
	good = all_end();
	report(mode, faults);
	good &= errnos_are_sane();
	good &= sockets_go_back_to(before);
	good &= tally->whole > 0 && tally->wrong == 0 && faults > 0;
	good &= fresh_one_works();
	ktap_result(good, mode->name);
}

static bool unloads(void)
{
	uint64_t deadline = now_ns() + slow(60) * NSEC_PER_SEC;

	while (syscall(SYS_delete_module, "strack", O_NONBLOCK)) {
		if (now_ns() > deadline) {
			ktap_diag("delete_module: %s", strerror(errno));
			return false;
		}
		sleep_ms(20);
	}
	return true;
}

static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request))
		ktap_bail("lo: %s", strerror(errno));
	close(fd);
}

int main(void)
{
	family = strack_family();
	faults_init();
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (tally == MAP_FAILED || unshare(CLONE_NEWNET) || mlockall(MCL_CURRENT | MCL_FUTURE))
		ktap_bail("cannot set up: %s", strerror(errno));
	loopback_up();
	ktap_plan(ARRAY_SIZE(modes) + 1);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (modes[i].where == MODULE && !faults_know_callers())
			ktap_skip(modes[i].name, "this kernel does not tell callers apart");
		else
			run_mode(&modes[i]);
	}
	ktap_result(unloads(), "the module unloads");
	return ktap_finish();
}
