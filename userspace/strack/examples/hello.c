// SPDX-License-Identifier: GPL-2.0
/* hello ADDRESS PORT: greet a server, print its answer (IPv4: ::ffff:10.0.0.2) */
#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/strack.h>

int main(int argc, char **argv)
{
	FILE *file = fopen(STRACK_FAMILY_FILE, "r");
	struct sockaddr_strack peer = { };
	char answer[64];
	int family, fd;
	ssize_t n;

	if (!file || fscanf(file, "%d", &family) != 1)
		errx(1, "the kernel module strack is not loaded");
	if (argc != 3 || inet_pton(AF_INET6, argv[1], peer.sst_addr) != 1)
		errx(1, "usage: hello IPV6-ADDRESS PORT");
	peer.sst_family = family;
	peer.sst_port = htons(atoi(argv[2]));
	fd = socket(family, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (void *)&peer, sizeof(peer)))
		err(1, "%s", argv[1]);
	if (write(fd, "hello, world\n", 13) != 13 || shutdown(fd, SHUT_WR))
		err(1, "write");
	while ((n = read(fd, answer, sizeof(answer))) > 0)
		fwrite(answer, 1, n, stdout);
	return n < 0;
}
