// SPDX-License-Identifier: GPL-2.0
/* fail_nth: network namespaces, what the kernel's workers do, and the module itself. */
#include <sys/syscall.h>

#include "fail_nth.h"

/* --- namespaces ---------------------------------------------------------- */

static void know_the_way_back(struct nth_try *t)
{
	t->fd[3] = MUST(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
}

static long call_unshare(struct nth_try *t)
{
	(void)t;
	return unshare(CLONE_NEWNET);
}

static void go_back(struct nth_try *t)
{
	MUST(setns(t->fd[3], CLONE_NEWNET));
}

static void has_all_of_it(struct nth_try *t)
{
	nth_again(t);
	CHECK(t, strack_counter("TxSkbs") == 0);
	CHECK(t, read_long("/proc/sys/net/strack/paths", -1) == 128);
	go_back(t);
}

/* The first listener or client of a namespace opens its UDP sockets. */
static void new_namespace(struct nth_try *t)
{
	know_the_way_back(t);
	MUST(call_unshare(t));
	nth_loopback_up();
	t->fd[0] = nth_socket_new();
}

static long call_listen(struct nth_try *t)
{
	return listen(t->fd[0], 4);
}

static void connects(struct nth_try *t)
{
	nth_again(t);
	MUST(st_getsockname(t->fd[0], &t->sa));
	nth_loopback(&t->sa, ntohs(t->sa.sst_port));
	t->fd[1] = nth_socket_new();
	CHECK(t, st_connect(t->fd[1], &t->sa) == 0);
	go_back(t);
}

/* --- workers ------------------------------------------------------------- */

static void client(struct nth_try *t)
{
	nth_listener(&t->sa);
	t->fd[0] = nth_socket_new();
}

/* A worker of the listener's makes the other end; what it cannot do now it does later. */
static long call_connect(struct nth_try *t)
{
	return st_connect(t->fd[0], &t->sa);
}

static void is_there_once(struct nth_try *t)
{
	int from = nth_listener(&t->sa);

	CHECK(t, nth_ready(from, POLLIN));
	t->fd[1] = MUST(accept4(from, NULL, NULL, SOCK_CLOEXEC));
	nth_patience(t->fd[1]);
	CHECK(t, nth_talk(t->fd[0], t->fd[1]));
	CHECK(t, nth_quiet(from, POLLIN));
}

static const struct nth_call system_calls[] = {
	{ .name = "namespace", .prepare = know_the_way_back, .call = call_unshare,
	  .confirm = has_all_of_it, .flags = NTH_MODULE },
	{ .name = "first listen of a namespace", .prepare = new_namespace, .call = call_listen,
	  .confirm = connects, .also = ENFILE },
	{ .name = "accepting work", .prepare = client, .call = call_connect,
	  .confirm = is_there_once, .flags = NTH_V6 | NTH_SURE | NTH_MODULE | NTH_WORKERS },
};

NTH_GROUP(system, system_calls);

/* --- the module ---------------------------------------------------------- */

static bool loaded(void)
{
	return strack_family_or_none() >= 0;
}

static long unload(void)
{
	return syscall(SYS_delete_module, "strack", O_NONBLOCK);
}

static long load(int fd)
{
	return syscall(SYS_finit_module, fd, "", 0);
}

/* Connections that were closed just before may hold it for a moment. */
static void unload_or_bail(void)
{
	uint64_t deadline = now_ns() + slow(10) * NSEC_PER_SEC;

	while (unload()) {
		if (errno != EAGAIN || now_ns() > deadline)
			ktap_bail("the module does not unload: %s", strerror(errno));
		sleep_ms(5);
	}
}

static void file_of_unloaded(struct nth_try *t)
{
	if (loaded())
		unload_or_bail();
	t->fd[0] = MUST(open(nth.module, O_RDONLY | O_CLOEXEC));
}

static long call_load(struct nth_try *t)
{
	return load(t->fd[0]);
}

static bool works(void)
{
	int fd[2];
	bool good;

	nth_pair(fd);
	good = nth_talk(fd[0], fd[1]);
	close(fd[0]);
	close(fd[1]);
	nth_listener_close();
	return good;
}

static void is_loaded(struct nth_try *t)
{
	CHECK(t, t->ret == 0 || !loaded());
	nth_again(t);
	CHECK(t, works());
}

static void file_of_loaded(struct nth_try *t)
{
	file_of_unloaded(t);
	MUST(load(t->fd[0]));
}

static long call_unload(struct nth_try *t)
{
	(void)t;
	return unload();
}

static void is_unloaded(struct nth_try *t)
{
	CHECK(t, t->ret == 0 || loaded());
	nth_again(t);
	CHECK(t, !loaded());
	MUST(load(t->fd[0]));
	CHECK(t, works());
}

/* What registering the family asks of the slab allocator fails with a stack dump. */
static const struct nth_call module_calls[] = {
	{ .name = "finit_module", .prepare = file_of_unloaded, .call = call_load,
	  .confirm = is_loaded, .flags = NTH_MODULE, .spared = "proto_register" },
	{ .name = "delete_module", .prepare = file_of_loaded, .call = call_unload,
	  .confirm = is_unloaded },
};

NTH_GROUP(module, module_calls);
