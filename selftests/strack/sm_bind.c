// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: addresses and ports. */
#include <netinet/in.h>

#include "sm.h"

static bool same_host(const struct sockaddr_strack *a, const struct sockaddr_strack *b)
{
	return !memcmp(a->sst_addr, b->sst_addr, sizeof(a->sst_addr));
}

/* A bound socket, its address with the chosen port in @sa. */
static int bound(enum sm_place place, struct sockaddr_strack *sa)
{
	int fd = sm_socket(0);

	sm_place(sa, place, 0);
	NEED(st_bind(fd, sa));
	NEED(st_getsockname(fd, sa));
	return fd;
}

static void port_zero(void)
{
	struct sockaddr_strack want, got;
	int fd = sm_socket(0);

	sm_place(&want, SM_LOOP, 0);
	OK(st_bind(fd, &want));
	OK(st_getsockname(fd, &got));
	EQ(got.sst_family, sm.family);
	TRUE(got.sst_port != 0);
	TRUE(same_host(&want, &got));
}

static void port_zero_differs(void)
{
	struct sockaddr_strack a, b;

	bound(SM_LOOP, &a);
	bound(SM_LOOP, &b);
	TRUE(a.sst_port != b.sst_port);
}

static void wildcard(void)
{
	struct sockaddr_strack any, got;
	int fd = sm_socket(0);

	sm_place(&any, SM_ANY, 0);
	OK(st_bind(fd, &any));
	OK(st_getsockname(fd, &got));
	TRUE(same_host(&any, &got));
	TRUE(got.sst_port != 0);
}

#define RANGE_FILE	"/proc/sys/net/ipv4/ip_local_port_range"
#define RESERVED_FILE	"/proc/sys/net/ipv4/ip_local_reserved_ports"

/* Any port is one of the range, and none that is reserved, until there is none left. */
static void port_zero_exhausts(void)
{
	enum { FIRST = 20000, LAST = 20099, RESERVED = 20050 };
	bool seen[LAST + 1] = { };
	struct sockaddr_strack sa;
	int fd = -1, last;

	OK(write_text(RANGE_FILE, "20000 20099"));
	OK(write_text(RESERVED_FILE, "20050"));
	for (int i = FIRST; i < LAST; i++) {
		last = fd;
		fd = sm_socket(0);
		sm_place(&sa, SM_LOOP, 0);
		OK(st_bind(fd, &sa));
		OK(st_getsockname(fd, &sa));
		RANGE(ntohs(sa.sst_port), FIRST, LAST);
		TRUE(ntohs(sa.sst_port) != RESERVED);
		TRUE(!seen[ntohs(sa.sst_port) % (LAST + 1)]);
		seen[ntohs(sa.sst_port) % (LAST + 1)] = true;
	}
	sm_place(&sa, SM_LOOP, 0);
	ERR(st_bind(sm_socket(0), &sa), EADDRINUSE);
	/* it is one address that has no port left */
	sm_place(&sa, SM_LOCAL, 0);
	OK(st_bind(sm_socket(0), &sa));
	/* what is reserved is there for who names it */
	sm_place(&sa, SM_LOOP, RESERVED);
	OK(st_bind(sm_socket(0), &sa));
	/* and what is given back is free again */
	OK(st_getsockname(last, &sa));
	close(last);
	sm_place(&sa, SM_LOOP, 0);
	OK(st_bind(sm_socket(0), &sa));
	OK(write_text(RESERVED_FILE, "\n"));
	OK(write_text(RANGE_FILE, "32768 60999"));
}

static void explicit_port(void)
{
	struct sockaddr_strack sa, got;
	int fd = bound(SM_LOOP, &sa);

	close(fd);
	fd = sm_socket(0);
	OK(st_bind(fd, &sa));
	OK(st_getsockname(fd, &got));
	EQ(got.sst_port, sa.sst_port);
}

static void unbound_name(void)
{
	struct sockaddr_strack got;
	int fd = sm_socket(0);

	OK(st_getsockname(fd, &got));
	EQ(got.sst_family, sm.family);
	EQ(got.sst_port, 0);
	ERR(st_getpeername(fd, &got), ENOTCONN);
}

static void in_use(void)
{
	struct sockaddr_strack sa;

	bound(SM_LOOP, &sa);
	ERR(st_bind(sm_socket(0), &sa), EADDRINUSE);
}

static void in_use_by_wildcard(void)
{
	struct sockaddr_strack any, sa;

	bound(SM_ANY, &any);
	sm_place(&sa, SM_LOOP, ntohs(any.sst_port));
	ERR(st_bind(sm_socket(0), &sa), EADDRINUSE);
}

static void in_use_under_wildcard(void)
{
	struct sockaddr_strack any, sa;

	bound(SM_LOOP, &sa);
	sm_place(&any, SM_ANY, ntohs(sa.sst_port));
	ERR(st_bind(sm_socket(0), &any), EADDRINUSE);
}

static void other_address_same_port(void)
{
	struct sockaddr_strack sa, other;

	bound(SM_LOOP, &sa);
	sm_place(&other, SM_LOCAL, ntohs(sa.sst_port));
	OK(st_bind(sm_socket(0), &other));
}

/* Without a listener two holders of SO_REUSEADDR may share an address. */
static void reuseaddr_shares(void)
{
	struct sockaddr_strack sa;
	int a = sm_socket(0), b = sm_socket(0);

	OK(sm_set_int(a, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(sm_set_int(b, SOL_SOCKET, SO_REUSEADDR, 1));
	sm_place(&sa, SM_LOOP, 0);
	OK(st_bind(a, &sa));
	OK(st_getsockname(a, &sa));
	OK(st_bind(b, &sa));
	OK(listen(a, 1));
	ERR(listen(b, 1), EADDRINUSE);
}

/* ... but not the peer as well. */
static void reuseaddr_one_peer_each(void)
{
	struct sockaddr_strack sa, peer, other;
	int a = sm_socket(0), b = sm_socket(0);

	sm_listener(4, &peer);
	sm_listener(4, &other);
	OK(sm_set_int(a, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(sm_set_int(b, SOL_SOCKET, SO_REUSEADDR, 1));
	sm_place(&sa, SM_LOOP, 0);
	OK(st_bind(a, &sa));
	OK(st_getsockname(a, &sa));
	OK(st_bind(b, &sa));
	OK(st_connect(a, &peer));
	ERR(st_connect(b, &peer), EADDRNOTAVAIL);
	OK(st_connect(b, &other));
}

static void reuseaddr_needs_both(void)
{
	struct sockaddr_strack sa;
	int b = sm_socket(0);

	bound(SM_LOOP, &sa);
	OK(sm_set_int(b, SOL_SOCKET, SO_REUSEADDR, 1));
	ERR(st_bind(b, &sa), EADDRINUSE);
}

static void reuseaddr_not_over_listener(void)
{
	struct sockaddr_strack sa;
	int a = sm_socket(0), b = sm_socket(0);

	OK(sm_set_int(a, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(sm_set_int(b, SOL_SOCKET, SO_REUSEADDR, 1));
	sm_place(&sa, SM_LOOP, 0);
	OK(st_bind(a, &sa));
	OK(st_getsockname(a, &sa));
	OK(listen(a, 1));
	ERR(st_bind(b, &sa), EADDRINUSE);
}

/* A server that ended its connections first can be started again at once. */
static void reuseaddr_after_server_close(void)
{
	struct sockaddr_strack sa;
	int listener = sm_socket(0), fd[2];
	char byte;

	OK(sm_set_int(listener, SOL_SOCKET, SO_REUSEADDR, 1));
	sm_place(&sa, SM_LOOP, 0);
	OK(st_bind(listener, &sa));
	OK(listen(listener, 1));
	OK(st_getsockname(listener, &sa));
	sm_pair_of(listener, &sa, fd);
	close(fd[1]);
	EQ(recv(fd[0], &byte, 1, 0), 0);
	close(fd[0]);
	close(listener);
	listener = sm_socket(0);
	OK(sm_set_int(listener, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(st_bind(listener, &sa));
	OK(listen(listener, 1));
	sm_pair_of(listener, &sa, fd);
}

static void foreign(void)
{
	struct sockaddr_strack sa;

	sm_place(&sa, SM_FOREIGN, 0);
	ERR(st_bind(sm_socket(0), &sa), EADDRNOTAVAIL);
}

static void privileged_port(void)
{
	struct sockaddr_strack sa;
	int fd = sm_socket(0);

	sm_drop_privileges();
	sm_place(&sa, SM_LOOP, 1023);
	ERR(st_bind(fd, &sa), EACCES);
	sm_place(&sa, SM_LOOP, 1024);
	OK(st_bind(fd, &sa));
}

static void privileged_port_as_root(void)
{
	struct sockaddr_strack sa;

	sm_place(&sa, SM_LOOP, 1023);
	OK(st_bind(sm_socket(0), &sa));
}

static void twice(void)
{
	struct sockaddr_strack sa;
	int fd = bound(SM_LOOP, &sa);

	sa.sst_port = 0;
	ERR(st_bind(fd, &sa), EINVAL);
}

static void while_listening(void)
{
	struct sockaddr_strack sa;
	int fd = sm_listener(1, &sa);

	sa.sst_port = 0;
	ERR(st_bind(fd, &sa), EINVAL);
}

static void while_connected(void)
{
	struct sockaddr_strack sa;
	int fd[2];

	sm_pair(fd);
	sm_place(&sa, SM_LOOP, 0);
	ERR(st_bind(fd[0], &sa), EINVAL);
	ERR(st_bind(fd[1], &sa), EINVAL);
}

static void wrong_family(void)
{
	struct sockaddr_strack sa;
	int fd = sm_socket(0);

	sm_place(&sa, SM_LOOP, 0);
	sa.sst_family = AF_UNIX;
	ERR(st_bind(fd, &sa), EAFNOSUPPORT);
	sa.sst_family = AF_INET;
	ERR(st_bind(fd, &sa), EAFNOSUPPORT);
	sa.sst_family = AF_UNSPEC;
	ERR(st_bind(fd, &sa), EAFNOSUPPORT);
}

static void address_length(void)
{
	struct sockaddr_storage big = { };
	struct sockaddr_strack sa;
	int fd = sm_socket(0);

	sm_place(&sa, SM_LOOP, 0);
	memcpy(&big, &sa, sizeof(sa));
	ERR(bind(fd, (void *)&big, 0), EINVAL);
	ERR(bind(fd, (void *)&big, 2), EINVAL);
	ERR(bind(fd, (void *)&big, 16), EINVAL);
	ERR(bind(fd, (void *)&big, 23), EINVAL);
	ERR(bind(fd, (void *)&big, sizeof(big) + 1), EINVAL);
	ERR(bind(fd, (void *)&big, -1), EINVAL);
	OK(bind(fd, (void *)&big, sizeof(big)));
}

static void name_is_truncated(void)
{
	struct sockaddr_strack sa, got;
	int fd = bound(SM_LOOP, &sa);
	socklen_t len = 4;

	memset(&got, 0xee, sizeof(got));
	OK(getsockname(fd, (void *)&got, &len));
	EQ(len, sizeof(sa));
	EQ(got.sst_port, sa.sst_port);
	EQ(((unsigned char *)&got)[4], 0xee);
	len = -1;
	ERR(getsockname(fd, (void *)&got, &len), EINVAL);
}

static void mapped_and_v6_apart(void)
{
	struct sockaddr_strack v4, v6;
	int fd = sm_socket(0);

	st_address(&v4, sm.family, "127.0.0.1", 0);
	OK(st_bind(fd, &v4));
	OK(st_getsockname(fd, &v4));
	st_address(&v6, sm.family, "::1", ntohs(v4.sst_port));
	OK(st_bind(sm_socket(0), &v6));
}

static void dual_wildcard_covers_v4(void)
{
	struct sockaddr_strack any, v4;
	int fd = sm_socket(0);

	st_address(&any, sm.family, "::", 0);
	OK(st_bind(fd, &any));
	OK(st_getsockname(fd, &any));
	st_address(&v4, sm.family, "127.0.0.1", ntohs(any.sst_port));
	ERR(st_bind(sm_socket(0), &v4), EADDRINUSE);
}

static void v6only_leaves_v4(void)
{
	struct sockaddr_strack any, v4;
	int fd = sm_socket(0);

	OK(sm_set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1));
	EQ(sm_get_int(fd, IPPROTO_IPV6, IPV6_V6ONLY), 1);
	st_address(&any, sm.family, "::", 0);
	OK(st_bind(fd, &any));
	OK(st_getsockname(fd, &any));
	st_address(&v4, sm.family, "127.0.0.1", ntohs(any.sst_port));
	OK(st_bind(sm_socket(0), &v4));
}

static void v6only_refuses_mapped(void)
{
	struct sockaddr_strack sa;
	int fd = sm_socket(0);

	OK(sm_set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1));
	st_address(&sa, sm.family, "127.0.0.1", 0);
	ERR(st_bind(fd, &sa), EINVAL);
	sa.sst_port = htons(9);
	ERR(st_connect(fd, &sa), ENETUNREACH);
}

static void v6only_late(void)
{
	struct sockaddr_strack sa;
	int fd = bound(SM_ANY, &sa);

	ERR(sm_set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1), EINVAL);
}

/* A dual-stack listener serves both; the peer of an IPv4 client is mapped. */
static void dual_listener(void)
{
	struct sockaddr_strack any, peer, to;
	int listener = sm_socket(0), fd[2];

	st_address(&any, sm.family, "::", 0);
	OK(st_bind(listener, &any));
	OK(listen(listener, 2));
	OK(st_getsockname(listener, &any));
	st_address(&to, sm.family, "127.0.0.1", ntohs(any.sst_port));
	sm_pair_of(listener, &to, fd);
	OK(st_getpeername(fd[1], &peer));
	TRUE(same_host(&peer, &to));
	OK(st_getsockname(fd[1], &peer));
	TRUE(same_host(&peer, &to));
	st_address(&to, sm.family, "::1", ntohs(any.sst_port));
	sm_pair_of(listener, &to, fd);
	OK(st_getpeername(fd[1], &peer));
	TRUE(same_host(&peer, &to));
}

static void socket_arguments(void)
{
	int pair[2];

	ERR(socket(sm.family, SOCK_STREAM, 255), EPROTONOSUPPORT);
	ERR(socket(sm.family, SOCK_DCCP, 0), ESOCKTNOSUPPORT);
	ERR(socket(sm.family, SOCK_STREAM | 0x100, 0), EINVAL);
	ERR(socketpair(sm.family, SOCK_STREAM, 0, pair), EOPNOTSUPP);
}

static void datagram_type_refused(void)
{
	ERR(socket(sm.family, SOCK_DGRAM, 0), ESOCKTNOSUPPORT);
}

static void link_local_needs_scope(void)
{
	struct sockaddr_strack sa;

	st_address(&sa, sm.family, "fe80::1234", 0);
	ERR(st_bind(sm_socket(0), &sa), EINVAL);
}

static const struct sm_case cases[] = {
	SM_CASE(socket_arguments, SM_BOTH, SM_ONCE),
	SM_CASE(datagram_type_refused, SM_STRACK, SM_ONCE),
	SM_CASE(port_zero, SM_BOTH, SM_V4_V6),
	SM_CASE(port_zero_differs, SM_BOTH, SM_V4_V6),
	SM_CASE(port_zero_exhausts, SM_BOTH, SM_V4_V6),
	SM_CASE(wildcard, SM_BOTH, SM_V4_V6),
	SM_CASE(explicit_port, SM_BOTH, SM_V4_V6),
	SM_CASE(unbound_name, SM_BOTH, SM_ONCE),
	SM_CASE(in_use, SM_BOTH, SM_V4_V6),
	SM_CASE(in_use_by_wildcard, SM_BOTH, SM_V4_V6),
	SM_CASE(in_use_under_wildcard, SM_BOTH, SM_V4_V6),
	SM_CASE(other_address_same_port, SM_BOTH, SM_V4_V6),
	SM_CASE(reuseaddr_shares, SM_BOTH, SM_V4_V6),
	SM_CASE(reuseaddr_one_peer_each, SM_BOTH, SM_V4_V6),
	SM_CASE(reuseaddr_needs_both, SM_BOTH, SM_V4_V6),
	SM_CASE(reuseaddr_not_over_listener, SM_BOTH, SM_V4_V6),
	SM_CASE(reuseaddr_after_server_close, SM_BOTH, SM_V4_V6),
	SM_CASE(foreign, SM_BOTH, SM_V4_V6),
	SM_CASE(privileged_port, SM_BOTH, SM_V4_V6),
	SM_CASE(privileged_port_as_root, SM_BOTH, SM_V4_V6),
	SM_CASE(twice, SM_BOTH, SM_V4_V6),
	SM_CASE(while_listening, SM_BOTH, SM_V4_V6),
	SM_CASE(while_connected, SM_BOTH, SM_V4_V6),
	SM_CASE(wrong_family, SM_BOTH, SM_V4_V6),
	SM_CASE(address_length, SM_BOTH, SM_V4_V6),
	SM_CASE(name_is_truncated, SM_BOTH, SM_V4_V6),
	SM_CASE(link_local_needs_scope, SM_BOTH, SM_ONCE),
	SM_CASE(mapped_and_v6_apart, SM_BOTH, SM_ONCE),
	SM_CASE(dual_wildcard_covers_v4, SM_BOTH, SM_ONCE),
	SM_CASE(v6only_leaves_v4, SM_BOTH, SM_ONCE),
	SM_CASE(v6only_refuses_mapped, SM_BOTH, SM_ONCE),
	SM_CASE(v6only_late, SM_BOTH, SM_V4_V6),
	SM_CASE(dual_listener, SM_BOTH, SM_ONCE),
};

SM_GROUP(bind, cases);
