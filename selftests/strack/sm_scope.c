// SPDX-License-Identifier: GPL-2.0
/* socket_matrix: addresses that are valid on one link only, and those that are not. */
#include <net/if.h>
#include <stdlib.h>

#include "sm.h"

#define LINK_LOCAL	"fe80::5a5a"
#define NO_DEVICE	123456

/* Devices va and vb have the same address, as they may: each is on a link of its own. */
static void both_links(void)
{
	if (access("/proc/net/if_inet6", R_OK))
		sm_skip("no IPv6");
	NEED(system("ip addr replace " LINK_LOCAL "/64 dev va nodad") ? -1 : 0);
	NEED(system("ip addr replace " LINK_LOCAL "/64 dev vb nodad") ? -1 : 0);
}

static void local_on(struct sockaddr_strack *sa, const char *dev, uint16_t port)
{
	st_address(sa, sm.family, LINK_LOCAL, port);
	sa->sst_scope_id = dev ? if_nametoindex(dev) : 0;
}

static int listener_on(const char *dev, struct sockaddr_strack *sa, uint16_t port)
{
	int fd = sm_socket(SOCK_NONBLOCK);

	local_on(sa, dev, port);
	NEED(st_bind(fd, sa));
	NEED(listen(fd, 4));
	NEED(st_getsockname(fd, sa));
	EQ(sa->sst_scope_id, if_nametoindex(dev));
	return fd;
}

static int bound_to(const char *dev)
{
	int fd = sm_socket(0);

	NEED(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, dev, strlen(dev)));
	return fd;
}

static bool is_on(int fd, const char *dev)
{
	char name[IF_NAMESIZE] = "";
	socklen_t len = sizeof(name);

	OK(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &len));
	return !strcmp(name, dev);
}

static void ignored_elsewhere(void)
{
	struct sockaddr_strack sa, name;
	int listener = sm_socket(0), fd = sm_socket(0);

	sm_place(&sa, SM_LOCAL, 0);
	sa.sst_scope_id = NO_DEVICE;
	OK(st_bind(listener, &sa));
	OK(listen(listener, 1));
	OK(st_getsockname(listener, &sa));
	EQ(sa.sst_scope_id, 0);
	TRUE(is_on(listener, ""));
	sa.sst_scope_id = NO_DEVICE;
	OK(st_connect(fd, &sa));
	OK(st_getpeername(fd, &name));
	EQ(name.sst_scope_id, 0);
	OK(st_getsockname(fd, &name));
	EQ(name.sst_scope_id, 0);
	OK(accept(listener, NULL, NULL));
}

/* Two listeners have the address and the port, and each hears those of its own link. */
static void one_address_on_two_links(void)
{
	static const char *const devs[] = { "va", "vb" };
	struct sockaddr_strack sa[2], name;
	int listener[2];

	both_links();
	listener[0] = listener_on("va", &sa[0], 0);
	listener[1] = listener_on("vb", &sa[1], ntohs(sa[0].sst_port));
	for (int i = 0; i < 2; i++) {
		const unsigned int index = if_nametoindex(devs[i]);
		int fd = sm_socket(0), got;

		OK(st_connect(fd, &sa[i]));
		EQ(sm_poll(listener[i], POLLIN, 2000), POLLIN);
		ERR(accept(listener[!i], NULL, NULL), EAGAIN);
		got = NEED(accept(listener[i], NULL, NULL));
		OK(st_getsockname(got, &name));
		EQ(name.sst_scope_id, index);
		OK(st_getpeername(got, &name));
		EQ(name.sst_scope_id, index);
		OK(st_getsockname(fd, &name));
		EQ(name.sst_scope_id, index);
		OK(st_getpeername(fd, &name));
		EQ(name.sst_scope_id, index);
		EQ(send(fd, "x", 1, 0), 1);
		EQ(sm_poll(got, POLLIN, 2000), POLLIN);
	}
}

/* Whoever is bound to the address has the port there only, and stays on the link. */
static void bind_is_to_the_device(void)
{
	struct sockaddr_strack sa, other;
	int fd = sm_socket(0);

	both_links();
	local_on(&sa, "va", 0);
	OK(st_bind(fd, &sa));
	TRUE(is_on(fd, "va"));
	OK(st_getsockname(fd, &sa));
	ERR(st_bind(sm_socket(0), &sa), EADDRINUSE);
	local_on(&other, "vb", ntohs(sa.sst_port));
	OK(st_bind(sm_socket(0), &other));
	/* There is somebody, but not on this link. */
	listener_on("vb", &other, 0);
	ERR(st_connect(fd, &other), EINVAL);
}

static void failed_bind_is_not(void)
{
	struct sockaddr_strack sa;
	int fd = sm_socket(0);

	both_links();
	listener_on("va", &sa, 0);
	ERR(st_bind(fd, &sa), EADDRINUSE);
	TRUE(is_on(fd, ""));
}

static void device_says_which(void)
{
	struct sockaddr_strack sa;
	int fd = bound_to("va");

	both_links();
	local_on(&sa, NULL, 0);
	OK(st_bind(fd, &sa));
	OK(st_getsockname(fd, &sa));
	EQ(sa.sst_scope_id, if_nametoindex("va"));
	listener_on("va", &sa, 0);
	sa.sst_scope_id = 0;
	fd = bound_to("va");
	OK(st_connect(fd, &sa));
	OK(st_getpeername(fd, &sa));
	EQ(sa.sst_scope_id, if_nametoindex("va"));
}

static void connect_contradicts_device(void)
{
	struct sockaddr_strack sa;

	both_links();
	listener_on("va", &sa, 0);
	ERR(st_connect(bound_to("vb"), &sa), EINVAL);
}

static void bind_contradicts_device(void)
{
	struct sockaddr_strack sa;
	int fd = bound_to("vb");

	both_links();
	local_on(&sa, "va", 0);
	ERR(st_bind(fd, &sa), EINVAL);
	TRUE(is_on(fd, "vb"));
}

static const struct sm_case cases[] = {
	SM_CASE(ignored_elsewhere, SM_BOTH, SM_V4_V6),
	SM_CASE(one_address_on_two_links, SM_BOTH, SM_ONCE),
	SM_CASE(bind_is_to_the_device, SM_BOTH, SM_ONCE),
	SM_CASE(failed_bind_is_not, SM_STRACK, SM_ONCE),
	SM_CASE(device_says_which, SM_BOTH, SM_ONCE),
	SM_CASE(connect_contradicts_device, SM_BOTH, SM_ONCE),
	SM_CASE(bind_contradicts_device, SM_STRACK, SM_ONCE),
};

SM_GROUP(scope, cases);
