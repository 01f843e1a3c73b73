// SPDX-License-Identifier: GPL-2.0
/*
 * socket_matrix: connect() to AF_UNSPEC by one thread while others wait for
 * something of the connection. They must learn that there is none any more: a
 * sleeper that is left behind hangs for ever, and one that goes on reading what
 * is gone does so in the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sm.h"

enum call { IN_RECV, IN_SEND, IN_CONNECT };

struct caller {
	pthread_t thread;
	enum call call;
	int fd;
	void *data;
	size_t len;
	pid_t tid;
	ssize_t ret;
	int err;
};

static int disconnect_now(int fd)
{
	struct sockaddr_strack none = { .sst_family = AF_UNSPEC };

	return st_connect(fd, &none);
}

static void *caller_main(void *arg)
{
	struct caller *c = arg;

	__atomic_store_n(&c->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	switch (c->call) {
	case IN_RECV:
		c->ret = recv(c->fd, c->data, c->len, 0);
		break;
	case IN_SEND:
		c->ret = send(c->fd, c->data, c->len, MSG_NOSIGNAL);
		break;
	case IN_CONNECT:
		c->ret = disconnect_now(c->fd);
		break;
	}
	c->err = errno;
	return NULL;
}

static char state_of(pid_t tid)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "re");
	if (!file)
		return '?';
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	fclose(file);
	return state;
}

/* Starts the thread, and waits until it sleeps in its call. */
static void caller_start(struct caller *c)
{
	NEED(-pthread_create(&c->thread, NULL, caller_main, c));
	while (!__atomic_load_n(&c->tid, __ATOMIC_ACQUIRE))
		sleep_ms(1);
	do {
		sleep_ms(slow(20));
	} while (state_of(c->tid) == 'R');
}

static void caller_join(struct caller *c)
{
	NEED(-pthread_join(c->thread, NULL));
}

static void reader(void)
{
	char byte;
	struct caller c = { .call = IN_RECV, .data = &byte, .len = 1 };
	int fd[2];

	sm_pair(fd);
	c.fd = fd[0];
	caller_start(&c);
	OK(disconnect_now(fd[0]));
	caller_join(&c);
	EQ(c.ret, -1);
	EQ(c.err, EPIPE);
}

static void writer(void)
{
	char byte = 0;
	struct caller c = { .call = IN_SEND, .data = &byte, .len = 1 };
	int fd[2], flags;

	sm_pair(fd);
	flags = NEED(fcntl(fd[0], F_GETFL));
	sm_nonblock(fd[0]);
	TRUE(sm_fill(fd[0]) > 0);
	NEED(fcntl(fd[0], F_SETFL, flags));
	c.fd = fd[0];
	caller_start(&c);
	OK(disconnect_now(fd[0]));
	caller_join(&c);
	EQ(c.ret, -1);
	/* TCP remembers that it had to reset the peer. */
	TRUE(c.err == EPIPE || c.err == ECONNRESET);
}

/* A page that nobody has: who touches it waits for fault_end(). */
static void *fault_begin(int *uffd, size_t page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	TRUE(at != MAP_FAILED);
	if (access("/proc/sys/vm/unprivileged_userfaultfd", F_OK))
		sm_skip("no userfaultfd");
	*uffd = NEED(syscall(SYS_userfaultfd, O_CLOEXEC));
	NEED(ioctl(*uffd, UFFDIO_API, &api));
	reg.range.start = (unsigned long)at;
	reg.range.len = page;
	NEED(ioctl(*uffd, UFFDIO_REGISTER, &reg));
	return at;
}

static void fault_end(int uffd, void *at, size_t page)
{
	struct uffdio_zeropage zero = { .range = { (unsigned long)at, page } };

	NEED(ioctl(uffd, UFFDIO_ZEROPAGE, &zero));
}

/*
 * The reader is woken by data and has to wait for the socket's lock: a sender
 * has it, who waits for memory. Before the reader is the one who disconnects.
 */
static void reader_with_data(void)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	char byte;
	struct caller read = { .call = IN_RECV, .data = &byte, .len = 1 };
	struct caller write = { .call = IN_SEND, .len = 1 }, end = { .call = IN_CONNECT };
	int fd[2], uffd;

	sm_pair(fd);
	write.data = fault_begin(&uffd, page);
	read.fd = fd[0];
	write.fd = fd[0];
	end.fd = fd[0];
	caller_start(&read);
	caller_start(&write);
	caller_start(&end);
	OK(send(fd[1], "x", 1, 0));
	sleep_ms(slow(20));
	fault_end(uffd, write.data, page);
	caller_join(&end);
	EQ(end.ret, 0);
	caller_join(&write);
	caller_join(&read);
	/* Whoever had the lock first. */
	TRUE(read.ret == 1 || (read.ret == -1 && read.err == EPIPE));
}

static const struct sm_case cases[] = {
	SM_CASE(reader, SM_BOTH, SM_ONCE),
	SM_CASE(writer, SM_BOTH, SM_ONCE),
	SM_CASE(reader_with_data, SM_BOTH, SM_ONCE),
};

SM_GROUP(disconnect, cases);
