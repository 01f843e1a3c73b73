// SPDX-License-Identifier: GPL-2.0
/* fail_nth: bytes in and out. */
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include "../lib/pattern.h"

#include "fail_nth.h"

/* Some packets in some pages, and little enough that no buffer fills. */
#define BYTES		20000
#define SEED		42
/* Some of them, not enough for a full packet. */
#define LENT		1000
/* More than the kernel keeps on its stack. */
#define PIECES		20

static uint8_t data[BYTES], got[BYTES + 1];
static struct iovec iov[PIECES];
static struct msghdr message = { .msg_iov = iov, .msg_iovlen = PIECES };
static char control[2 * CMSG_SPACE(sizeof(int))];

static void pieces_of(uint8_t *buffer)
{
	for (unsigned int i = 0; i < PIECES; i++)
		iov[i] = (struct iovec){ buffer + i * (BYTES / PIECES), BYTES / PIECES };
}

/* --- out ----------------------------------------------------------------- */

static void pair_to_send(struct nth_try *t)
{
	nth_pair(t->fd);
	pattern_fill(data, BYTES, SEED, 0);
	pieces_of(data);
	message.msg_controllen = 0;
}

/* A partial packet waits already, and is filled up. */
static void pair_with_tail(struct nth_try *t)
{
	pair_to_send(t);
	MUST(send(t->fd[0], data, 1, MSG_MORE));
	/* seen from the call, the stream begins after it */
	pattern_fill(data, BYTES, SEED, 1);
}

static void pair_with_control(struct nth_try *t)
{
	struct cmsghdr *cmsg;
	int mark = 0;

	pair_to_send(t);
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	for (cmsg = CMSG_FIRSTHDR(&message); cmsg; cmsg = CMSG_NXTHDR(&message, cmsg)) {
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SO_MARK;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &mark, sizeof(mark));
	}
}

static long call_send(struct nth_try *t)
{
	return send(t->fd[0], data, BYTES, MSG_NOSIGNAL | (long)t->call->arg);
}

static long call_write(struct nth_try *t)
{
	return write(t->fd[0], data, BYTES);
}

static long call_writev(struct nth_try *t)
{
	return writev(t->fd[0], iov, PIECES);
}

static long call_sendmsg(struct nth_try *t)
{
	return sendmsg(t->fd[0], &message, MSG_NOSIGNAL);
}

/* Reads to the end of the stream; what came is @bytes of the pattern from @from on. */
static bool arrives(int fd, size_t from, size_t bytes)
{
	size_t done = 0;
	ssize_t n;

	while ((n = recv(fd, got + done, sizeof(got) - done, 0)) > 0)
		done += n;
	return n == 0 && done == bytes && pattern_check(got, bytes, SEED, from) == bytes;
}

/* What the call says it has taken, and then the rest, arrives, and nothing else. */
static void rest_arrives(struct nth_try *t)
{
	size_t done = t->ret > 0 ? t->ret : 0;
	char first;

	while (done < BYTES) {
		ssize_t n = send(t->fd[0], data + done, BYTES - done, MSG_NOSIGNAL);

		CHECK(t, n > 0);
		if (n <= 0)
			return;
		done += n;
	}
	MUST(shutdown(t->fd[0], SHUT_WR));
	if (t->call->prepare == pair_with_tail) {
		CHECK(t, recv(t->fd[1], &first, 1, 0) == 1);
		CHECK(t, arrives(t->fd[1], 1, BYTES));
	} else {
		CHECK(t, arrives(t->fd[1], 0, BYTES));
	}
}

static void file_of_data(struct nth_try *t)
{
	t->fd[2] = MUST(memfd_create("pattern", MFD_CLOEXEC));
	MUST(write(t->fd[2], data, BYTES) == BYTES ? 0 : -1);
	MUST(lseek(t->fd[2], 0, SEEK_SET));
}

static void pair_and_file(struct nth_try *t)
{
	pair_to_send(t);
	file_of_data(t);
}

/* What was copied is filled up from the file. */
static void pair_with_tail_and_file(struct nth_try *t)
{
	pair_with_tail(t);
	file_of_data(t);
}

static long call_sendfile(struct nth_try *t)
{
	return sendfile(t->fd[0], t->fd[2], NULL, BYTES);
}

static void pair_and_pipe(struct nth_try *t)
{
	pair_to_send(t);
	MUST(pipe2(t->fd + 2, O_CLOEXEC));
	MUST(fcntl(t->fd[3], F_SETPIPE_SZ, 65536));
	MUST(write(t->fd[3], data, BYTES) == BYTES ? 0 : -1);
	nth_close(t, 3);
}

/* A partial packet of the pipe's pages waits already. */
static void pair_with_lent_tail(struct nth_try *t)
{
	pair_and_pipe(t);
	MUST(splice(t->fd[2], NULL, t->fd[0], NULL, LENT, SPLICE_F_MORE) == LENT ? 0 : -1);
}

static long call_splice_out(struct nth_try *t)
{
	return splice(t->fd[2], NULL, t->fd[0], NULL, BYTES, 0);
}

/* The file, or pipe, stands where the call says it has come to. */
static void rest_of_source_arrives(struct nth_try *t)
{
	size_t done = t->ret > 0 ? t->ret : 0;
	size_t from = 0;
	char first;

	if (t->call->prepare == pair_with_lent_tail)
		done += LENT;
	while (done < BYTES) {
		long n = t->call->call(t);

		CHECK(t, n > 0);
		if (n <= 0)
			return;
		done += n;
	}
	MUST(shutdown(t->fd[0], SHUT_WR));
	if (t->call->prepare == pair_with_tail_and_file) {
		CHECK(t, recv(t->fd[1], &first, 1, 0) == 1);
		from = 1;
	}
	CHECK(t, arrives(t->fd[1], from, BYTES));
}

/* --- in ------------------------------------------------------------------ */

static void pair_to_receive(struct nth_try *t)
{
	uint64_t deadline = now_ns() + slow(5) * NSEC_PER_SEC;
	int there = 0;

	pair_to_send(t);
	MUST(send(t->fd[1], data, BYTES, 0) == BYTES ? 0 : -1);
	MUST(shutdown(t->fd[1], SHUT_WR));
	while (MUST(ioctl(t->fd[0], SIOCINQ, &there)) == 0 && there < BYTES &&
	       now_ns() < deadline)
		sleep_ms(1);
	MUST(there == BYTES ? 0 : -1);
	memset(got, 0, sizeof(got));
	pieces_of(got);
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
}

static long call_recv(struct nth_try *t)
{
	return recv(t->fd[0], got, BYTES, (long)t->call->arg);
}

static long call_recvmsg(struct nth_try *t)
{
	return recvmsg(t->fd[0], &message, 0);
}

static long call_readv(struct nth_try *t)
{
	return readv(t->fd[0], iov, PIECES);
}

/* What the call says it has read is right, and what it does not say can be read again. */
static void rest_is_there(struct nth_try *t)
{
	size_t done = t->ret > 0 ? t->ret : 0;

	CHECK(t, pattern_check(got, done, SEED, 0) == done);
	if (t->call->arg == (void *)MSG_PEEK)
		done = 0;
	CHECK(t, arrives(t->fd[0], done, BYTES - done));
}

static void pair_and_empty_pipe(struct nth_try *t)
{
	pair_to_receive(t);
	MUST(pipe2(t->fd + 2, O_CLOEXEC));
	MUST(fcntl(t->fd[3], F_SETPIPE_SZ, 65536));
}

static long call_splice_in(struct nth_try *t)
{
	return splice(t->fd[0], NULL, t->fd[3], NULL, BYTES, 0);
}

static void rest_is_there_after_pipe(struct nth_try *t)
{
	size_t done = t->ret > 0 ? t->ret : 0;

	nth_close(t, 3);
	CHECK(t, read(t->fd[2], got, sizeof(got)) == (ssize_t)done);
	rest_is_there(t);
}

/* --- a window that opens ------------------------------------------------- */

static uint8_t window[1 << 20];
static size_t filled;

/* The sender has filled both small buffers and waits to hear of room. */
static void pair_that_is_full(struct nth_try *t)
{
	int small = 8192, from = nth_listener(&t->sa);
	ssize_t n = 0;

	t->fd[0] = nth_socket_new();
	/* before connect(): a window that has been told is not taken back */
	MUST(setsockopt(t->fd[0], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)));
	MUST(st_connect(t->fd[0], &t->sa));
	t->fd[1] = MUST(accept4(from, NULL, NULL, SOCK_CLOEXEC));
	nth_patience(t->fd[1]);
	MUST(setsockopt(t->fd[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)));
	pattern_fill(window, sizeof(window), SEED, 0);
	for (filled = 0; filled < sizeof(window); filled += n > 0 ? n : 0) {
		struct pollfd p = { .fd = t->fd[1], .events = POLLOUT };

		n = send(t->fd[1], window + filled, 1000, MSG_DONTWAIT);
		if (n < 0 && poll(&p, 1, 50) == 0)
			break;
	}
	MUST(filled < sizeof(window) ? 0 : -1);
}

static long call_recv_all(struct nth_try *t)
{
	return recv(t->fd[0], window, sizeof(window), 0);
}

/* The news of room may be lost; the sender asks for it. */
static void rest_comes(struct nth_try *t)
{
	size_t done = t->ret > 0 ? t->ret : 0;
	ssize_t n;

	MUST(shutdown(t->fd[1], SHUT_WR));
	while ((n = recv(t->fd[0], window + done, sizeof(window) - done, 0)) > 0)
		done += n;
	CHECK(t, n == 0 && done == filled && pattern_check(window, done, SEED, 0) == done);
}

static const struct nth_call calls[] = {
	{ .name = "send", .prepare = pair_to_send, .call = call_send, .confirm = rest_arrives,
	  .flags = NTH_V6 },
	{ .name = "send with more to follow", .prepare = pair_to_send, .call = call_send,
	  .confirm = rest_arrives, .arg = (void *)MSG_MORE },
	{ .name = "send after a partial packet", .prepare = pair_with_tail, .call = call_send,
	  .confirm = rest_arrives },
	{ .name = "write", .prepare = pair_to_send, .call = call_write,
	  .confirm = rest_arrives },
	{ .name = "writev", .prepare = pair_to_send, .call = call_writev,
	  .confirm = rest_arrives },
	{ .name = "sendmsg with control data", .prepare = pair_with_control,
	  .call = call_sendmsg, .confirm = rest_arrives },
	{ .name = "sendfile", .prepare = pair_and_file, .call = call_sendfile,
	  .confirm = rest_of_source_arrives },
	{ .name = "sendfile after a partial packet", .prepare = pair_with_tail_and_file,
	  .call = call_sendfile, .confirm = rest_of_source_arrives },
	{ .name = "splice from a pipe", .prepare = pair_and_pipe, .call = call_splice_out,
	  .confirm = rest_of_source_arrives },
	{ .name = "splice after a partial packet", .prepare = pair_with_lent_tail,
	  .call = call_splice_out, .confirm = rest_of_source_arrives },
	{ .name = "recv", .prepare = pair_to_receive, .call = call_recv,
	  .confirm = rest_is_there, .flags = NTH_V6 },
	{ .name = "recv of a peek", .prepare = pair_to_receive, .call = call_recv,
	  .confirm = rest_is_there, .arg = (void *)MSG_PEEK },
	{ .name = "recvmsg", .prepare = pair_to_receive, .call = call_recvmsg,
	  .confirm = rest_is_there },
	{ .name = "readv", .prepare = pair_to_receive, .call = call_readv,
	  .confirm = rest_is_there },
	{ .name = "recv that makes room", .prepare = pair_that_is_full, .call = call_recv_all,
	  .confirm = rest_comes },
	{ .name = "splice to a pipe", .prepare = pair_and_empty_pipe, .call = call_splice_in,
	  .confirm = rest_is_there_after_pipe },
};

NTH_GROUP(data, calls);
