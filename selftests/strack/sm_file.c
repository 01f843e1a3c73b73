// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: the socket as a file: splice, sendfile, odd calls. */
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "sm.h"

#define FILE_BYTES 150000

static int pattern_file(void)
{
	static unsigned char data[FILE_BYTES];
	int file = NEED(memfd_create("pattern", MFD_CLOEXEC));

	sm_pattern_fill(data, sizeof(data), 0);
	EQ(write(file, data, sizeof(data)), sizeof(data));
	NEED(lseek(file, 0, SEEK_SET));
	return file;
}

/* Reads everything from @fd in a child and checks it; its pid. */
static pid_t checking_reader(int fd[2], size_t len)
{
	static unsigned char got[FILE_BYTES + 1];
	pid_t pid = fork();

	if (pid) {
		close(fd[1]);
		return pid;
	}
	close(fd[0]);
	EQ(sm_recv_all(fd[1], got, sizeof(got)), len);
	TRUE(sm_pattern_check(got, len, 0));
	_exit(send(fd[1], "y", 1, MSG_NOSIGNAL) != 1);
}

static void expect_answer(int fd)
{
	char byte = 0;

	shutdown(fd, SHUT_WR);
	EQ(recv(fd, &byte, 1, 0), 1);
	EQ(byte, 'y');
}

static void sendfile_whole(void)
{
	int file = pattern_file(), fd[2];
	size_t done = 0;

	sm_pair(fd);
	checking_reader(fd, FILE_BYTES);
	while (done < FILE_BYTES) {
		ssize_t n = NEED(sendfile(fd[0], file, NULL, FILE_BYTES - done));

		if (!n)
			break;
		done += n;
	}
	EQ(done, FILE_BYTES);
	expect_answer(fd[0]);
}

static void sendfile_offset(void)
{
	unsigned char got[1000];
	int file = pattern_file(), fd[2];
	off_t offset = 5000;

	sm_pair(fd);
	EQ(sendfile(fd[0], file, &offset, sizeof(got)), sizeof(got));
	EQ(offset, 6000);
	EQ(sm_recv_all(fd[1], got, sizeof(got)), sizeof(got));
	TRUE(sm_pattern_check(got, sizeof(got), 5000));
	EQ(sendfile(fd[0], file, &offset, 0), 0);
}

/* Pieces of all sizes, the end of one in the page where the next begins. */
static void sendfile_pieces(void)
{
	static const size_t sizes[] = { 1, 511, 512, 513, 4096, 3000, 20000, 65536, 7 };
	int file = pattern_file(), fd[2];
	size_t done = 0;

	sm_pair(fd);
	checking_reader(fd, FILE_BYTES);
	for (int i = 0; done < FILE_BYTES; i++) {
		size_t len = sizes[i % ARRAY_SIZE(sizes)];
		ssize_t n = NEED(sendfile(fd[0], file, NULL, MIN(len, FILE_BYTES - done)));

		if (!n)
			break;
		done += n;
	}
	EQ(done, FILE_BYTES);
	expect_answer(fd[0]);
}

/* A header that waits for more, the file, and a trailer by other calls. */
static void sendfile_between(void)
{
	static unsigned char data[FILE_BYTES];
	size_t from = 100, end = FILE_BYTES - 100;
	int file = pattern_file(), fd[2];
	off_t offset = from;

	sm_pattern_fill(data, sizeof(data), 0);
	sm_pair(fd);
	checking_reader(fd, FILE_BYTES);
	EQ(send(fd[0], data, from, MSG_MORE), from);
	while (offset < (off_t)end)
		NEED(sendfile(fd[0], file, &offset, end - offset));
	EQ(send(fd[0], data + end, 60, MSG_MORE), 60);
	EQ(send(fd[0], data + end + 60, 40, 0), 40);
	expect_answer(fd[0]);
}

/* Only what there is room for is taken, and the file stands behind it. */
static void sendfile_nonblocking(void)
{
	static unsigned char got[FILE_BYTES];
	int file = pattern_file(), fd[2];
	size_t done = 0, read = 0;

	sm_pair(fd);
	sm_nonblock(fd[0]);
	sm_nonblock(fd[1]);
	OK(sm_set_int(fd[0], SOL_SOCKET, SO_SNDBUF, 10000));
	while (read < FILE_BYTES) {
		ssize_t n = sendfile(fd[0], file, NULL, FILE_BYTES - done);

		if (n < 0)
			EQ(errno, EAGAIN);
		else
			done += n;
		EQ(lseek(file, 0, SEEK_CUR), done);
		if (!sm_poll(fd[1], POLLIN, 5000))
			break;
		n = recv(fd[1], got + read, sizeof(got) - read, 0);
		if (n > 0)
			read += n;
	}
	EQ(read, FILE_BYTES);
	TRUE(sm_pattern_check(got, read, 0));
}

/* What is closed with pages of a file still to be sent sends them. */
static void sendfile_then_close(void)
{
	static unsigned char got[FILE_BYTES + 1];
	int file = pattern_file(), fd[2];
	ssize_t done = 0, n;

	sm_pair(fd);
	sm_nonblock(fd[0]);
	while ((n = sendfile(fd[0], file, NULL, FILE_BYTES - done)) > 0)
		done += n;
	TRUE(done > 0);
	close(file);
	close(fd[0]);
	EQ(sm_recv_all(fd[1], got, sizeof(got)), done);
	TRUE(sm_pattern_check(got, done, 0));
}

/* And what is reset with them lets go of them. */
static void sendfile_then_reset(void)
{
	struct linger linger = { 1, 0 };
	static unsigned char got[FILE_BYTES];
	int file = pattern_file(), fd[2];

	sm_pair(fd);
	sm_nonblock(fd[0]);
	while (sendfile(fd[0], file, NULL, FILE_BYTES) > 0)
		lseek(file, 0, SEEK_SET);
	EQ(errno, EAGAIN);
	OK(setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	close(fd[0]);
	/* what has come before may be read first */
	while (recv(fd[1], got, sizeof(got), 0) > 0)
		;
	EQ(errno, ECONNRESET);
}

/* Packets of pages that wait are too large all of a sudden: IP cuts them up. */
static void sendfile_narrower(void)
{
	static unsigned char got[FILE_BYTES];
	int file = pattern_file(), fd[2];
	size_t sent = 0, read = 0;
	ssize_t n;

	sm_pair(fd);
	sm_nonblock(fd[0]);
	/* until the peer has no room either, so that some are still here */
	do {
		while ((n = sendfile(fd[0], file, NULL, FILE_BYTES)) > 0) {
			sent += n;
			lseek(file, sent % FILE_BYTES, SEEK_SET);
		}
	} while (sm_poll(fd[0], POLLOUT, 100));
	EQ(system("ip link set dev lo mtu 1500"), 0);
	OK(fcntl(fd[0], F_SETFL, 0));
	shutdown(fd[0], SHUT_WR);
	while ((n = NEED(recv(fd[1], got, FILE_BYTES - read % FILE_BYTES, 0))) > 0) {
		if (!sm_pattern_check(got, n, read % FILE_BYTES))
			break;
		read += n;
	}
	EQ(read, sent);
	EQ(system("ip link set dev lo mtu 65536"), 0);
}

/* Nothing is lost when the peer goes away: the error comes, and nothing hangs. */
static void sendfile_to_nobody(void)
{
	struct linger linger = { 1, 0 };
	int file = pattern_file(), fd[2];

	signal(SIGPIPE, SIG_IGN);
	sm_pair(fd);
	OK(setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	close(fd[1]);
	TRUE(sm_poll(fd[0], POLLHUP, 5000) & POLLHUP);
	ERR(sendfile(fd[0], file, NULL, FILE_BYTES), ECONNRESET);
	ERR(sendfile(fd[0], file, NULL, FILE_BYTES), EPIPE);
	EQ(lseek(file, 0, SEEK_CUR), 0);
}

static void splice_in(void)
{
	unsigned char data[10000], got[10000];
	int pipe_fd[2], fd[2];
	size_t done = 0;

	sm_pair(fd);
	NEED(pipe(pipe_fd));
	sm_pattern_fill(data, sizeof(data), 0);
	EQ(write(pipe_fd[1], data, sizeof(data)), sizeof(data));
	while (done < sizeof(data))
		done += NEED(splice(pipe_fd[0], NULL, fd[0], NULL, sizeof(data) - done, 0));
	EQ(sm_recv_all(fd[1], got, sizeof(got)), sizeof(got));
	TRUE(sm_pattern_check(got, sizeof(got), 0));
}

static void splice_out(void)
{
	unsigned char data[10000], got[10000];
	int pipe_fd[2], fd[2];
	size_t done = 0;

	sm_pair(fd);
	NEED(pipe(pipe_fd));
	sm_nonblock(fd[1]);
	ERR(splice(fd[1], NULL, pipe_fd[1], NULL, 10, 0), EAGAIN);
	OK(fcntl(fd[1], F_SETFL, 0));
	sm_pattern_fill(data, sizeof(data), 0);
	EQ(sm_send_all(fd[0], data, sizeof(data)), sizeof(data));
	while (done < sizeof(data))
		done += NEED(splice(fd[1], NULL, pipe_fd[1], NULL, sizeof(data) - done, 0));
	EQ(read(pipe_fd[0], got, sizeof(got)), sizeof(got));
	TRUE(sm_pattern_check(got, sizeof(got), 0));
	shutdown(fd[0], SHUT_WR);
	EQ(splice(fd[1], NULL, pipe_fd[1], NULL, 10, 0), 0);
}

static void splice_more_joins(void)
{
	unsigned char data[9000], got[9000];
	int pipe_fd[2], fd[2];

	sm_pair(fd);
	NEED(pipe(pipe_fd));
	sm_pattern_fill(data, sizeof(data), 0);
	for (int i = 0; i < 9; i++) {
		EQ(write(pipe_fd[1], data + i * 1000, 1000), 1000);
		EQ(splice(pipe_fd[0], NULL, fd[0], NULL, 1000, i < 8 ? SPLICE_F_MORE : 0), 1000);
	}
	EQ(sm_recv_all(fd[1], got, sizeof(got)), sizeof(got));
	TRUE(sm_pattern_check(got, sizeof(got), 0));
}

/* The pages of a process, which lie anywhere in theirs. */
static void vmsplice_in(void)
{
	static unsigned char data[FILE_BYTES], got[FILE_BYTES];
	int pipe_fd[2], fd[2];
	size_t done = 0;

	sm_pair(fd);
	NEED(pipe(pipe_fd));
	sm_pattern_fill(data, sizeof(data), 0);
	while (done < sizeof(data)) {
		/* pages in full, and odd parts of some that are no neighbours */
		struct iovec iov[] = {
			{ data + done, MIN(10001, sizeof(data) - done) },
			{ data + done + 10001, MIN(2999, sizeof(data) - done) },
		};
		bool two = done + 13000 <= sizeof(data);
		ssize_t in = NEED(vmsplice(pipe_fd[1], iov, two ? 2 : 1, 0));

		EQ(splice(pipe_fd[0], NULL, fd[0], NULL, in, 0), in);
		EQ(sm_recv_all(fd[1], got + done, in), in);
		done += in;
	}
	TRUE(sm_pattern_check(got, sizeof(got), 0));
}

static void not_seekable(void)
{
	struct stat st;
	char byte;
	int fd[2];

	sm_pair(fd);
	ERR(lseek(fd[0], 0, SEEK_SET), ESPIPE);
	ERR(pread(fd[0], &byte, 1, 0), ESPIPE);
	ERR(pwrite(fd[0], "x", 1, 0), ESPIPE);
	OK(fstat(fd[0], &st));
	TRUE(S_ISSOCK(st.st_mode));
	ERR(ftruncate(fd[0], 0), EINVAL);
}

static void not_mappable(void)
{
	int fd[2];

	sm_pair(fd);
	errno = 0;
	TRUE(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd[0], 0) == MAP_FAILED);
	EQ(errno, ENODEV);
}

static void nonblock_by_ioctl(void)
{
	char byte;
	int fd[2];

	sm_pair(fd);
	OK(fcntl(fd[0], F_SETFL, O_NONBLOCK));
	ERR(read(fd[0], &byte, 1), EAGAIN);
	OK(fcntl(fd[0], F_SETFL, 0));
	EQ(fcntl(fd[0], F_GETFL) & O_NONBLOCK, 0);
}

/* Passing the descriptor to another process keeps the connection alive. */
static void passed_on(void)
{
	union {
		struct cmsghdr align;
		char data[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { "f", 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.data, .msg_controllen = sizeof(control.data),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	char byte = 0;
	int fd[2], un[2], got;

	sm_pair(fd);
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, un));
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd[0], sizeof(int));
	EQ(sendmsg(un[0], &msg, 0), 1);
	close(fd[0]);
	iov.iov_base = &byte;
	EQ(recvmsg(un[1], &msg, 0), 1);
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	EQ(send(got, "p", 1, 0), 1);
	EQ(recv(fd[1], &byte, 1, 0), 1);
	EQ(byte, 'p');
}

static const struct sm_case cases[] = {
	SM_CASE(sendfile_whole, SM_BOTH, SM_V4_V6),
	SM_CASE(sendfile_offset, SM_BOTH, SM_ONCE),
	SM_CASE(sendfile_pieces, SM_BOTH, SM_V4_V6),
	SM_CASE(sendfile_between, SM_BOTH, SM_V4_V6),
	SM_CASE(sendfile_nonblocking, SM_BOTH, SM_ONCE),
	SM_CASE(sendfile_then_close, SM_BOTH, SM_V4_V6),
	SM_CASE(sendfile_then_reset, SM_BOTH, SM_ONCE),
	SM_CASE(sendfile_narrower, SM_BOTH, SM_V4_V6),
	SM_CASE(sendfile_to_nobody, SM_BOTH, SM_ONCE),
	SM_CASE(splice_in, SM_BOTH, SM_ONCE),
	SM_CASE(splice_out, SM_BOTH, SM_ONCE),
	SM_CASE(splice_more_joins, SM_BOTH, SM_ONCE),
	SM_CASE(vmsplice_in, SM_BOTH, SM_ONCE),
	SM_CASE(not_seekable, SM_BOTH, SM_ONCE),
	SM_CASE(not_mappable, SM_STRACK, SM_ONCE),
	SM_CASE(nonblock_by_ioctl, SM_BOTH, SM_ONCE),
	SM_CASE(passed_on, SM_BOTH, SM_ONCE),
};

SM_GROUP(file, cases);
