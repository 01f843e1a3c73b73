// SPDX-License-Identifier: GPL-2.0
/*
 * fail_nth [-m FILE] [-l] [GROUP[/CALL]]...
 *
 * Makes the calls of fail_*.c with each of their allocations failing in turn;
 * see fail_nth.h. -l lists them, -m names the module's file for the group
 * "module".
 */
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "fail_nth.h"

/* A call that has more chances than this to fail goes round in a circle. */
#define MAX_CHANCES	2000
/* What a call may take, seconds. */
#define CALL_SECONDS	20

static const struct nth_group *const groups[] = {
	&nth_socket, &nth_data, &nth_option, &nth_system, &nth_module,
};

struct nth_env nth;

static struct {
	unsigned int calls, faults[FAULT_KINDS], failures;
} now, total;

static unsigned int chance;
static int listener = -1;
static struct sockaddr_strack listener_addr;

/* --- what calls are made on ---------------------------------------------- */

void nth_check(const struct nth_try *t, bool good, const char *what, const char *file, int line)
{
	if (good)
		return;
	now.failures++;
	ktap_diag("  chance %u (%s), returned %ld (%s): %s:%d: %s is false", chance,
		  fault_names[t->fault], t->ret, t->ret < 0 ? strerrorname_np(t->err) : "fine",
		  file, line, what);
}

long nth_must(long ret, const char *what, const char *file, int line)
{
	if (ret < 0)
		ktap_bail("after chance %u: %s:%d: %s: %s", chance, file, line, what,
			  strerrorname_np(errno));
	return ret;
}

void nth_loopback(struct sockaddr_strack *sa, uint16_t port)
{
	st_address(sa, nth.family, nth.v6 ? "::1" : "127.0.0.1", port);
}

int nth_socket_new(void)
{
	int fd = MUST(socket(nth.family, SOCK_STREAM | SOCK_CLOEXEC, 0));

	nth_patience(fd);
	return fd;
}

void nth_patience(int fd)
{
	struct timeval limit = { .tv_sec = slow(CALL_SECONDS / 2) };

	MUST(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	MUST(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)));
}

int nth_listen(struct sockaddr_strack *sa)
{
	int fd = nth_socket_new();

	nth_loopback(sa, 0);
	MUST(st_bind(fd, sa));
	MUST(listen(fd, 16));
	MUST(st_getsockname(fd, sa));
	return fd;
}

int nth_listener(struct sockaddr_strack *sa)
{
	if (listener < 0)
		listener = nth_listen(&listener_addr);
	*sa = listener_addr;
	return listener;
}

void nth_listener_close(void)
{
	if (listener >= 0)
		close(listener);
	listener = -1;
}

void nth_pair(int fd[2])
{
	struct sockaddr_strack sa;
	int from = nth_listener(&sa);

	fd[0] = nth_socket_new();
	MUST(st_connect(fd[0], &sa));
	fd[1] = MUST(accept4(from, NULL, NULL, SOCK_CLOEXEC));
	nth_patience(fd[1]);
}

bool nth_ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, slow(CALL_SECONDS / 2) * 1000) == 1 && (p.revents & events);
}

bool nth_quiet(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 0) == 0;
}

bool nth_talk(int a, int b)
{
	char byte = 0;

	return send(a, "a", 1, MSG_NOSIGNAL) == 1 && recv(b, &byte, 1, 0) == 1 && byte == 'a' &&
	       send(b, "b", 1, MSG_NOSIGNAL) == 1 && recv(a, &byte, 1, 0) == 1 && byte == 'b';
}

void nth_loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = MUST(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));

	MUST(ioctl(fd, SIOCSIFFLAGS, &request));
	close(fd);
}

void nth_close(struct nth_try *t, int i)
{
	close(t->fd[i]);
	t->fd[i] = -1;
}

/* --- the calls ----------------------------------------------------------- */

static void on_alarm(int signal)
{
	(void)signal;
}

/* One that does not return is interrupted, and says EINTR, which no call may. */
static void limit_time(void)
{
	struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
}

static bool errno_is_sane(const struct nth_try *t)
{
	const struct nth_call *c = t->call;

	if (t->ret >= 0 || (c->usual && t->err == c->usual))
		return true;
	if (c->flags & NTH_SURE)
		return false;
	switch (t->fault) {
	case FAULT_SLAB:
	case FAULT_PAGE:
		return t->err == ENOMEM || t->err == ENOBUFS || (c->also && t->err == c->also);
	case FAULT_COPY:
		return t->err == EFAULT;
	default:
		return false;
	}
}

void nth_again(struct nth_try *t)
{
	if (t->ret < 0 && t->err != t->call->usual) {
		bool works = t->call->call(t) >= 0 || errno == t->call->usual;

		CHECK(t, works);
	}
}

/* One attempt. False when the call had no such chance. */
static bool attempt(const struct nth_call *c)
{
	struct nth_try t = { .call = c, .fd = { -1, -1, -1, -1 } };

	if (c->prepare)
		c->prepare(&t);
	alarm(slow(CALL_SECONDS));
	if (c->flags & NTH_WORKERS)
		faults_arm_workers(chance);
	else
		faults_arm(chance);
	t.ret = c->call(&t);
	t.err = errno;
	t.fault = c->flags & NTH_WORKERS ? faults_disarm_workers() : faults_disarm();
	alarm(0);
	now.calls++;
	now.faults[t.fault]++;
	CHECK(&t, errno_is_sane(&t));
	if (c->confirm)
		c->confirm(&t);
	else
		nth_again(&t);
	for (unsigned int i = 0; i < ARRAY_SIZE(t.fd); i++)
		if (t.fd[i] >= 0)
			close(t.fd[i]);
	return t.fault != FAULT_NONE;
}

/* Sockets that are closed may have to wait for their peers. */
static bool sockets_go_back_to(long before)
{
	uint64_t deadline = now_ns() + slow(CALL_SECONDS) * NSEC_PER_SEC;

	while (sockets_used() > before) {
		if (now_ns() > deadline) {
			ktap_diag("  %ld sockets are left, there were %ld", sockets_used(), before);
			return false;
		}
		sleep_ms(10);
	}
	return true;
}

static void all_chances(const struct nth_call *c)
{
	unsigned int without = 0;

	/* How many there are depends a little on what lies around: be sure. */
	for (chance = 1; without < 2; chance++) {
		without = attempt(c) ? 0 : without + 1;
		if (now.failures >= 5 || chance == MAX_CHANCES) {
			ktap_diag("  given up at chance %u", chance);
			now.failures++;
			return;
		}
	}
}

static unsigned int injected(const unsigned int faults[FAULT_KINDS])
{
	return faults[FAULT_SLAB] + faults[FAULT_PAGE] + faults[FAULT_COPY] + faults[FAULT_MOVE];
}

static void report(const char *name, unsigned int calls, const unsigned int faults[FAULT_KINDS])
{
	ktap_diag("%s: %u calls, %u faults injected (%u slab, %u page, %u copy, %u move)", name,
		  calls, injected(faults), faults[FAULT_SLAB], faults[FAULT_PAGE],
		  faults[FAULT_COPY], faults[FAULT_MOVE]);
}

static void add_up(void)
{
	total.calls += now.calls;
	for (enum fault_kind kind = FAULT_NONE; kind < FAULT_KINDS; kind++)
		total.faults[kind] += now.faults[kind];
}

static void run_call(const struct nth_group *group, const struct nth_call *c, bool v6)
{
	char name[128];
	long before;

	snprintf(name, sizeof(name), "%s/%s%s", group->name, c->name,
		 !(c->flags & NTH_V6) ? "" : v6 ? " v6" : " v4");
	if ((c->flags & NTH_MODULE) && !faults_know_callers()) {
		ktap_skip(name, "this kernel does not tell callers apart");
		return;
	}
	if (group == &nth_module && !nth.module) {
		ktap_skip(name, "no file to load the module from");
		return;
	}
	memset(&now, 0, sizeof(now));
	if (nth.v6 != v6)
		nth_listener_close();
	nth.v6 = v6;
	if (group == &nth_module)
		nth_listener_close();
	else
		nth_listener(&listener_addr);
	before = sockets_used();
	if (c->flags & NTH_MODULE)
		faults_in_modules(c->spared);
	all_chances(c);
	faults_everywhere();
	if (!sockets_go_back_to(before))
		now.failures++;
	report(name, now.calls, now.faults);
	add_up();
	ktap_result(!now.failures, name);
}

/* --- all of them --------------------------------------------------------- */

enum what { LIST, COUNT, RUN };

static unsigned int for_each(char **names, enum what what)
{
	unsigned int count = 0;

	for (size_t g = 0; g < ARRAY_SIZE(groups); g++) {
		for (unsigned int i = 0; i < groups[g]->count; i++) {
			const struct nth_call *c = &groups[g]->calls[i];

			if (!ktap_selected(groups[g]->name, c->name, names))
				continue;
			if (what == LIST)
				printf("%s/%s\n", groups[g]->name, c->name);
			for (int v6 = 0; what == RUN && v6 <= !!(c->flags & NTH_V6); v6++)
				run_call(groups[g], c, v6);
			count += c->flags & NTH_V6 ? 2 : 1;
		}
	}
	return count;
}

/* What earlier tests left behind may hold the module for a while. */
static long module_users(long most)
{
	uint64_t deadline = now_ns() + slow(60) * NSEC_PER_SEC;
	long users;

	while ((users = read_long("/sys/module/strack/refcnt", -1)) > most && now_ns() < deadline)
		sleep_ms(20);
	return users;
}

int main(int argc, char **argv)
{
	unsigned int planned;
	long users;
	int o;

	while ((o = getopt(argc, argv, "lm:")) != -1) {
		if (o == 'm')
			nth.module = optarg;
		else if (o == 'l')
			return !for_each(argv + argc, LIST);
		else
			return 2;
	}
	nth.family = strack_family();
	faults_init();
	planned = for_each(argv + optind, COUNT);
	if (!planned)
		ktap_bail("no such call");
	ktap_plan(planned + 1);
	users = module_users(0);
	MUST(unshare(CLONE_NEWNET));
	nth_loopback_up();
	limit_time();
	/* a page that is missing would be a chance, too, and not the call's */
	MUST(mlockall(MCL_CURRENT | MCL_FUTURE));
	for_each(argv + optind, RUN);
	nth_listener_close();
	report("total", total.calls, total.faults);
	ktap_result(module_users(users) == users && injected(total.faults) > 0,
		    "nothing holds the module that did not before");
	return ktap_finish();
}
