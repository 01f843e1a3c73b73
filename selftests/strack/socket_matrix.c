// SPDX-License-Identifier: GPL-2.0
/*
 * socket_matrix [--tcp] [-l] [GROUP[/CASE]]...
 *
 * Runs the cases of sm_*.c; see sm.h. -l lists them.
 */
#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sm.h"
#include "sm_run.h"

#define CASE_SECONDS	15

static const struct sm_group *const groups[] = {
	&sm_group_bind, &sm_group_scope, &sm_group_listen, &sm_group_connect, &sm_group_disconnect,
	&sm_group_send, &sm_group_recv, &sm_group_flags, &sm_group_close,
	&sm_group_shutdown, &sm_group_poll, &sm_group_wakeup, &sm_group_sockopt,
	&sm_group_strackopt, &sm_group_fault, &sm_group_signal, &sm_group_file, &sm_group_uring,
	&sm_group_netns,
};

static bool have_v6;

static void run_or_bail(const char *command)
{
	if (system(command))
		ktap_bail("cannot set up: %s", command);
}

/*
 * Device va has the local address; what is sent to the black hole leaves
 * through it and is dropped by vb, which knows no such address.
 */
static void make_world(void)
{
	if (unshare(CLONE_NEWNET))
		ktap_bail("no network namespace: %s", strerror(errno));
	run_or_bail("ip link set dev lo up");
	run_or_bail("ip link add va type veth peer name vb");
	run_or_bail("ip addr add " SM_LOCAL_V4 "/24 dev va");
	run_or_bail("ip link set dev va up && ip link set dev vb up");
	run_or_bail("ip neigh replace 198.18.0.254 lladdr 02:00:00:00:00:fe dev va nud permanent");
	run_or_bail("ip route add " SM_BLACKHOLE_V4 "/32 via 198.18.0.254 dev va");
	have_v6 = !access("/proc/net/if_inet6", R_OK);
	if (!have_v6)
		return;
	run_or_bail("ip addr add " SM_LOCAL_V6 "/64 dev va nodad");
	run_or_bail("ip neigh replace 2001:db8:1::fe lladdr 02:00:00:00:00:fe dev va nud permanent");
	run_or_bail("ip route add " SM_BLACKHOLE_V6 "/128 via 2001:db8:1::fe dev va");
}

static bool applies(const struct sm_case *c)
{
	return c->only == SM_BOTH || !sm.tcp;
}

/*
 * Whether a case has a round over this version of IP. If it has to be quick, cases
 * have one round each, and take turns in what it goes over.
 */
static bool has_round(const struct sm_case *c, unsigned int number, bool v6)
{
	if (c->rounds == SM_ONCE)
		return !v6;
	return !quick() || v6 == number % 2;
}

static void run_child(const struct sm_case *c)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	c->run();
	exit(sm_failures ? KSFT_FAIL : KSFT_PASS);
}

static int wait_child(pid_t pid, bool *late)
{
	struct pollfd p = { .fd = syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int status;

	*late = poll(&p, 1, slow(CASE_SECONDS) * 1000) == 0;
	kill(-pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(p.fd);
	return status;
}

static void run_case(const struct sm_group *group, const struct sm_case *c, bool v6)
{
	char name[128];
	bool late;
	int status;
	pid_t pid;

	snprintf(name, sizeof(name), "%s/%s%s", group->name, c->name,
		 c->rounds == SM_ONCE ? "" : v6 ? " v6" : " v4");
	if (v6 && !have_v6) {
		ktap_skip(name, "no IPv6");
		return;
	}
	sm.v6 = v6;
	fflush(stdout);
	pid = fork();
	if (!pid)
		run_child(c);
	if (pid < 0)
		ktap_bail("fork: %s", strerror(errno));
	status = wait_child(pid, &late);
	if (late)
		ktap_diag("  killed after %u s", slow(CASE_SECONDS));
	else if (WIFSIGNALED(status))
		ktap_diag("  killed by signal %d", WTERMSIG(status));
	if (!late && WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP)
		ktap_skip(name, "see above");
	else
		ktap_result(!late && status == 0, name);
}

/* Runs the rounds of a case, or only counts them into @total. */
static void each_round(const struct sm_group *group, unsigned int number, unsigned int *total)
{
	const struct sm_case *c = &group->cases[number];

	for (int v6 = 0; v6 < 2; v6++) {
		if (!has_round(c, number, v6))
			continue;
		if (total)
			++*total;
		else
			run_case(group, c, v6);
	}
}

static void for_each(char **names, bool list_only, unsigned int *total)
{
	for (size_t g = 0; g < ARRAY_SIZE(groups); g++) {
		for (unsigned int i = 0; i < groups[g]->count; i++) {
			const struct sm_case *c = &groups[g]->cases[i];

			if (!applies(c) || !ktap_selected(groups[g]->name, c->name, names))
				continue;
			if (list_only)
				printf("%s/%s\n", groups[g]->name, c->name);
			else
				each_round(groups[g], i, total);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "tcp", no_argument, NULL, 't' },
		{ "list", no_argument, NULL, 'l' },
		{ }
	};
	unsigned int total = 0;
	bool list = false;
	int o;

	while ((o = getopt_long(argc, argv, "tl", options, NULL)) != -1) {
		if (o == 't')
			sm.tcp = true;
		else if (o == 'l')
			list = true;
		else
			return 2;
	}
	argv += optind;
	if (list) {
		for_each(argv, true, NULL);
		return 0;
	}
	sm.family = sm.tcp ? AF_INET6 : strack_family();
	make_world();
	for_each(argv, false, &total);
	if (!total)
		ktap_bail("no such case");
	ktap_plan(total);
	for_each(argv, false, NULL);
	return ktap_finish();
}
