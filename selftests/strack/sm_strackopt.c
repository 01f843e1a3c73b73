// SPDX-License-Identifier: GPL-2.0
/*
 * socket_matrix: every SOL_STRACK option, set and got, in every state, with
 * wrong lengths and pointers. include/uapi/linux/strack.h is the reference.
 */
#include "sm.h"

enum state { FRESH, BOUND, LISTENING, CONNECTED, ACCEPTED, STATES };

static const char *const state_names[] = { "fresh", "bound", "listening", "connected", "accepted" };

static int socket_in(enum state state)
{
	struct sockaddr_strack sa;
	int fd[2];

	switch (state) {
	case FRESH:
		return sm_socket(0);
	case BOUND:
		fd[0] = sm_socket(0);
		sm_place(&sa, SM_LOOP, 0);
		NEED(st_bind(fd[0], &sa));
		return fd[0];
	case LISTENING:
		return sm_listener(1, &sa);
	default:
		sm_pair(fd);
		return fd[state == ACCEPTED];
	}
}

static int get(int fd, int name, void *value, socklen_t *len)
{
	return getsockopt(fd, SOL_STRACK, name, value, len);
}

static int set(int fd, int name, const void *value, socklen_t len)
{
	return setsockopt(fd, SOL_STRACK, name, value, len);
}

static struct strack_info info_of(int fd)
{
	struct strack_info info = { };
	socklen_t len = sizeof(info);

	OK(get(fd, STRACK_INFO, &info, &len));
	return info;
}

static void check_state(enum state state, long got, long want, const char *what)
{
	char text[96];

	snprintf(text, sizeof(text), "%s, socket %s", what, state_names[state]);
	sm_check_eq(got, want, text, __FILE__, __LINE__);
}

/* Integer options: @low..@high are valid, @bad is not. */
static void integer_option(int name, int low, int high, const int *bad, unsigned int bad_count)
{
	for (enum state state = FRESH; state < STATES; state++) {
		int fd = socket_in(state), value = 0;
		socklen_t len;

		check_state(state, set(fd, name, &low, 4), 0, "set lowest");
		check_state(state, sm_get_int(fd, SOL_STRACK, name), low, "lowest");
		check_state(state, set(fd, name, &high, 4), 0, "set highest");
		check_state(state, sm_get_int(fd, SOL_STRACK, name), high, "highest");
		for (unsigned int i = 0; i < bad_count; i++)
			ERR(set(fd, name, &bad[i], 4), EINVAL);
		for (int short_len = 0; short_len < 4; short_len++)
			ERR(set(fd, name, &low, short_len), EINVAL);
		ERR(set(fd, name, &low, -1), EINVAL);
		ERR(set(fd, name, NULL, 4), EFAULT);
		check_state(state, sm_get_int(fd, SOL_STRACK, name), high, "after errors");
		len = -1;
		ERR(get(fd, name, &value, &len), EINVAL);
		len = 4;
		ERR(get(fd, name, NULL, &len), EFAULT);
		ERR(get(fd, name, &value, NULL), EFAULT);
		len = 100;
		OK(get(fd, name, &value, &len));
		EQ(len, 4);
		len = 2;
		value = 0;
		OK(get(fd, name, &value, &len));
		EQ(len, 2);
		EQ(value, high & 0xffff);
		close(fd);
	}
}

static void path_count(void)
{
	static const int bad[] = { 0, -1, 257, 0x7fffffff };

	EQ(sm_get_int(sm_socket(0), SOL_STRACK, STRACK_PATHS),
	   read_long("/proc/sys/net/strack/paths", -1));
	integer_option(STRACK_PATHS, 1, 256, bad, ARRAY_SIZE(bad));
}

static void rto_min(void)
{
	static const int bad[] = { 0, -1, 60000001 };

	EQ(sm_get_int(sm_socket(0), SOL_STRACK, STRACK_RTO_MIN),
	   read_long("/proc/sys/net/strack/rto_min_us", -1));
	integer_option(STRACK_RTO_MIN, 1, 60000000, bad, ARRAY_SIZE(bad));
}

static void nodelay(void)
{
	EQ(sm_get_int(sm_socket(0), SOL_STRACK, STRACK_NODELAY), 1);
	integer_option(STRACK_NODELAY, 0, 1, NULL, 0);
}

static void nodelay_is_boolean(void)
{
	int fd = sm_socket(0);

	OK(sm_set_int(fd, SOL_STRACK, STRACK_NODELAY, 77));
	EQ(sm_get_int(fd, SOL_STRACK, STRACK_NODELAY), 1);
}

/* A name that is read comes with its zero, and is cut to the room there is. */
static void check_name(int fd, int option, const char *want)
{
	char name[32] = "";
	socklen_t len = sizeof(name);

	OK(get(fd, option, name, &len));
	EQ(len, strlen(want) + 1);
	EQ(strcmp(name, want), 0);
	memset(name, 0, sizeof(name));
	len = 4;
	OK(get(fd, option, name, &len));
	EQ(len, 4);
	EQ(strncmp(name, want, 4), 0);
	EQ(name[4], 0);
}

static void profile(void)
{
	for (enum state state = FRESH; state < STATES; state++) {
		int fd = socket_in(state);
		int want = state <= BOUND ? 0 : -1;

		check_name(fd, STRACK_PROFILE, "stellar");
		check_state(state, set(fd, STRACK_PROFILE, "stellar", 7), want, "set");
		check_state(state, set(fd, STRACK_PROFILE, "stellar", 8), want, "set with zero");
		if (want) {
			ERR(set(fd, STRACK_PROFILE, "stellar", 7), EISCONN);
		} else {
			ERR(set(fd, STRACK_PROFILE, "nosuch", 6), ENOENT);
			ERR(set(fd, STRACK_PROFILE, "stella", 6), ENOENT);
			ERR(set(fd, STRACK_PROFILE, "stellarx", 8), ENOENT);
			ERR(set(fd, STRACK_PROFILE, "", 0), EINVAL);
			ERR(set(fd, STRACK_PROFILE, NULL, 7), EFAULT);
			OK(set(fd, STRACK_PROFILE, "strack", 6));
			check_name(fd, STRACK_PROFILE, "strack");
			/* it brings its policy along, unless that is set */
			check_name(fd, STRACK_PATH_POLICY, "mixed");
			OK(set(fd, STRACK_PATH_POLICY, "reps", 4));
			OK(set(fd, STRACK_PROFILE, "stellar", 7));
			check_name(fd, STRACK_PATH_POLICY, "reps");
		}
		close(fd);
	}
}

static const char *const policies[] = { "single", "round_robin", "oblivious", "bitmap", "reps",
					"mixed", "best_rtt", "dwrr", "mprdma", "per_path" };

static void path_policy(void)
{
	static const char *const bad[] = { "nosuch", "mixe", "mixedx", "Mixed", "default" };

	for (enum state state = FRESH; state < STATES; state++) {
		int fd = socket_in(state);

		check_name(fd, STRACK_PATH_POLICY, "oblivious");
		for (unsigned int i = 0; i < ARRAY_SIZE(policies); i++) {
			size_t len = strlen(policies[i]);

			check_state(state, set(fd, STRACK_PATH_POLICY, policies[i], len), 0, policies[i]);
			check_name(fd, STRACK_PATH_POLICY, policies[i]);
			check_state(state, set(fd, STRACK_PATH_POLICY, policies[i], len + 1), 0, "with zero");
		}
		for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
			ERR(set(fd, STRACK_PATH_POLICY, bad[i], strlen(bad[i])), ENOENT);
		ERR(set(fd, STRACK_PATH_POLICY, "", 0), EINVAL);
		ERR(set(fd, STRACK_PATH_POLICY, NULL, 5), EFAULT);
		check_name(fd, STRACK_PATH_POLICY, "per_path");
		close(fd);
	}
}

static int used_paths(int fd)
{
	__u64 bytes[STRACK_MAX_PATHS];
	socklen_t len = sizeof(bytes);
	int used = 0;

	OK(get(fd, STRACK_PATH_BYTES, bytes, &len));
	for (unsigned int i = 0; i < len / sizeof(bytes[0]); i++)
		used += bytes[i] > 0;
	return used;
}

static void exchange(const int fd[2], int times)
{
	static char data[20000];

	for (int i = 0; i < times; i++) {
		EQ(sm_send_all(fd[0], data, sizeof(data)), sizeof(data));
		EQ(sm_recv_all(fd[1], data, sizeof(data)), sizeof(data));
	}
}

/* It makes a difference at once: data goes on, on other paths. */
static void policy_while_connected(void)
{
	int fd[2], before;

	sm_pair(fd);
	OK(set(fd[0], STRACK_PATH_POLICY, "single", 6));
	/* whatever was sent before took a path of its own */
	before = used_paths(fd[0]);
	exchange(fd, 20);
	RANGE(used_paths(fd[0]), 1, before + 1);
	OK(sm_set_int(fd[0], SOL_STRACK, STRACK_PATHS, 16));
	for (unsigned int i = 0; i < ARRAY_SIZE(policies); i++) {
		OK(set(fd[0], STRACK_PATH_POLICY, policies[i], strlen(policies[i])));
		exchange(fd, 10);
	}
	OK(set(fd[0], STRACK_PATH_POLICY, "round_robin", 11));
	exchange(fd, 20);
	EQ(used_paths(fd[0]), 16);
	OK(sm_set_int(fd[0], SOL_STRACK, STRACK_PATHS, 256));
	exchange(fd, 100);
	TRUE(used_paths(fd[0]) >= 90);
}

static unsigned int states_of(int fd, __u8 *states)
{
	socklen_t len = STRACK_MAX_PATHS;

	OK(get(fd, STRACK_PATH_STATE, states, &len));
	return len;
}

static void path_state(void)
{
	__u8 states[STRACK_MAX_PATHS];
	socklen_t len = sizeof(states);
	int fd[2], base;

	for (enum state state = FRESH; state <= LISTENING; state++) {
		int one = socket_in(state);

		ERR(get(one, STRACK_PATH_STATE, states, &len), ENOTCONN);
		ERR(sm_set_int(one, SOL_STRACK, STRACK_PATH_DENY, 50000), ENOTCONN);
		ERR(sm_set_int(one, SOL_STRACK, STRACK_PATH_ALLOW, 50000), ENOTCONN);
		close(one);
	}
	sm_pair(fd);
	OK(sm_set_int(fd[0], SOL_STRACK, STRACK_PATHS, 3));
	EQ(states_of(fd[0], states), 3);
	EQ(states[0] + states[1] + states[2], 3 * STRACK_PATH_GOOD);
	base = info_of(fd[0]).sti_entropy_base;
	ERR(sm_set_int(fd[0], SOL_STRACK, STRACK_PATH_DENY, base - 1), EINVAL);
	ERR(sm_set_int(fd[0], SOL_STRACK, STRACK_PATH_DENY, base + 3), EINVAL);
	ERR(sm_set_int(fd[0], SOL_STRACK, STRACK_PATH_DENY, -1), EINVAL);
	ERR(sm_set_int(fd[0], SOL_STRACK, STRACK_PATH_DENY, 0x10000 + base), EINVAL);
	OK(sm_set_int(fd[0], SOL_STRACK, STRACK_PATH_DENY, base));
	OK(sm_set_int(fd[0], SOL_STRACK, STRACK_PATH_DENY, base + 1));
	ERR(sm_set_int(fd[0], SOL_STRACK, STRACK_PATH_DENY, base + 2), EBUSY);
	states_of(fd[0], states);
	EQ(states[0], STRACK_PATH_DENIED);
	EQ(states[1], STRACK_PATH_DENIED);
	EQ(states[2], STRACK_PATH_GOOD);
	exchange(fd, 10);
	OK(sm_set_int(fd[0], SOL_STRACK, STRACK_PATH_ALLOW, base + 1));
	states_of(fd[0], states);
	EQ(states[1], STRACK_PATH_GOOD);
	len = 1;
	OK(get(fd[0], STRACK_PATH_STATE, states, &len));
	EQ(len, 1);
	len = sizeof(states);
	ERR(get(fd[0], STRACK_PATH_STATE, NULL, &len), EFAULT);
	ERR(set(fd[0], STRACK_PATH_STATE, states, 1), ENOPROTOOPT);
	ERR(get(fd[0], STRACK_PATH_DENY, states, &len), ENOPROTOOPT);
	ERR(get(fd[0], STRACK_PATH_ALLOW, states, &len), ENOPROTOOPT);
}

/* A path that is denied carries nothing, from the first moment on. */
static void denied_path_is_idle(void)
{
	__u64 bytes[2];
	socklen_t len = sizeof(bytes);
	int fd[2];

	sm_pair(fd);
	OK(sm_set_int(fd[0], SOL_STRACK, STRACK_PATHS, 2));
	OK(sm_set_int(fd[0], SOL_STRACK, STRACK_PATH_DENY, info_of(fd[0]).sti_entropy_base));
	exchange(fd, 20);
	OK(get(fd[0], STRACK_PATH_BYTES, bytes, &len));
	EQ(bytes[0], 0);
	EQ(bytes[1], 20 * 20000);
}

/* Spares of the profile are shown behind the paths. */
static void spares(void)
{
	__u8 states[STRACK_MAX_PATHS];
	struct sockaddr_strack sa;
	unsigned int count;
	int listener, fd[2];

	listener = sm_socket(0);
	OK(set(listener, STRACK_PROFILE, "strack", 6));
	OK(sm_set_int(listener, SOL_STRACK, STRACK_PATHS, 8));
	sm_place(&sa, SM_LOOP, 0);
	OK(st_bind(listener, &sa));
	OK(listen(listener, 1));
	OK(st_getsockname(listener, &sa));
	sm_pair_of(listener, &sa, fd);
	count = states_of(fd[1], states);
	TRUE(count > 8);
	for (unsigned int i = 0; i < count; i++)
		EQ(states[i], i < 8 ? STRACK_PATH_GOOD : STRACK_PATH_SPARE);
}

static void info_sizes(void)
{
	struct strack_info full = { }, part;
	struct {
		struct strack_info info;
		char guard[64];
	} large;
	socklen_t len = sizeof(full);
	int fd = socket_in(CONNECTED);

	OK(get(fd, STRACK_INFO, &full, &len));
	EQ(len, sizeof(full));
	EQ(full.sti_size, sizeof(full));
	EQ(full.sti_version, STRACK_INFO_VERSION);
	/* An older program: gets what it knows, and not a byte more. */
	memset(&part, 0xee, sizeof(part));
	len = 32;
	OK(get(fd, STRACK_INFO, &part, &len));
	EQ(len, 32);
	EQ(memcmp(&part, &full, 32), 0);
	EQ(((unsigned char *)&part)[32], 0xee);
	/* A newer program: is told how much is there. */
	memset(&large, 0xee, sizeof(large));
	len = sizeof(large);
	OK(get(fd, STRACK_INFO, &large, &len));
	EQ(len, sizeof(full));
	EQ((unsigned char)large.guard[0], 0xee);
	for (int short_len = 0; short_len < 8; short_len++) {
		len = short_len;
		ERR(get(fd, STRACK_INFO, &part, &len), EINVAL);
	}
	len = sizeof(full);
	ERR(get(fd, STRACK_INFO, NULL, &len), EFAULT);
	ERR(set(fd, STRACK_INFO, &full, sizeof(full)), ENOPROTOOPT);
}

static void info_states(void)
{
	static const int want[] = { STRACK_CLOSED, STRACK_CLOSED, STRACK_LISTEN,
				    STRACK_ESTABLISHED, STRACK_ESTABLISHED };
	struct sockaddr_strack sa;
	int fd[2];

	for (enum state state = FRESH; state < STATES; state++) {
		int one = socket_in(state);

		check_state(state, info_of(one).sti_state, want[state], "state");
		close(one);
	}
	fd[0] = sm_socket(SOCK_NONBLOCK);
	sm_place(&sa, SM_BLACKHOLE, 9);
	ERR(st_connect(fd[0], &sa), EINPROGRESS);
	EQ(info_of(fd[0]).sti_state, STRACK_CONNECTING);
	sm_pair(fd);
	shutdown(fd[0], SHUT_WR);
	EQ(sm_poll(fd[1], POLLRDHUP, 2000), POLLRDHUP);
	sleep_ms(slow(20));
	EQ(info_of(fd[0]).sti_state, STRACK_FIN_WAIT2);
	EQ(info_of(fd[1]).sti_state, STRACK_CLOSE_WAIT);
	shutdown(fd[1], SHUT_WR);
	EQ(sm_poll(fd[0], POLLRDHUP, 2000) & POLLRDHUP, POLLRDHUP);
	sleep_ms(slow(20));
	EQ(info_of(fd[0]).sti_state, STRACK_TIME_WAIT);
	/* The end that closed last stays for some timeouts, in case its last ACK was lost. */
	TRUE(info_of(fd[1]).sti_state == STRACK_TIME_WAIT ||
	     info_of(fd[1]).sti_state == STRACK_CLOSED);
}

/* After an exchange on a clean network the numbers are exact. */
static void info_numbers(void)
{
	static char data[100000];
	struct strack_info a, b;
	int fd[2];

	sm_pair(fd);
	for (int i = 0; i < 3; i++) {
		EQ(sm_send_all(fd[0], data, sizeof(data)), sizeof(data));
		EQ(sm_recv_all(fd[1], data, sizeof(data)), sizeof(data));
	}
	sleep_ms(slow(50));
	a = info_of(fd[0]);
	b = info_of(fd[1]);
	EQ(a.sti_bytes_sent, 3 * sizeof(data));
	EQ(a.sti_bytes_acked, 3 * sizeof(data));
	EQ(b.sti_bytes_received, 3 * sizeof(data));
	EQ(a.sti_bytes_received, 0);
	EQ(b.sti_bytes_sent, 0);
	EQ(a.sti_packets_sent, b.sti_packets_received);
	EQ(a.sti_packets_sent, a.sti_packets_acked);
	EQ(a.sti_retransmits + a.sti_timeouts + a.sti_spurious + b.sti_duplicates, 0);
	EQ(a.sti_inflight, 0);
	EQ(a.sti_paths, read_long("/proc/sys/net/strack/paths", -1));
	EQ(a.sti_paths_bad, 0);
	TRUE(a.sti_entropy_base >= 49152 && a.sti_entropy_base + a.sti_paths <= 65536);
	TRUE(a.sti_mss >= 1000 && a.sti_cwnd >= a.sti_mss);
	TRUE(a.sti_srtt_ns > 0 && a.sti_base_rtt_ns > 0);
	TRUE(a.sti_base_rtt_ns <= a.sti_srtt_ns);
	TRUE(a.sti_rto_ns >= 250000);
	TRUE(a.sti_credit > 0 && a.sti_snd_window > 0);
}

static void path_bytes(void)
{
	static char data[300000];
	__u64 bytes[STRACK_MAX_PATHS + 1], sum = 0;
	struct strack_info info;
	socklen_t len = sizeof(bytes);
	int fd[2], value = 16;

	sm_pair(fd);
	OK(set(fd[0], STRACK_PATHS, &value, 4));
	memset(bytes, 0, sizeof(bytes));
	EQ(sm_send_all(fd[0], data, 1000), 1000);
	EQ(sm_recv_all(fd[1], data, 1000), 1000);
	for (int i = 0; i < 10; i++) {
		EQ(sm_send_all(fd[0], data, sizeof(data) / 10), sizeof(data) / 10);
		EQ(sm_recv_all(fd[1], data, sizeof(data) / 10), sizeof(data) / 10);
	}
	OK(get(fd[0], STRACK_PATH_BYTES, bytes, &len));
	EQ(len, 16 * sizeof(__u64));
	for (int i = 0; i < 16; i++)
		sum += bytes[i];
	info = info_of(fd[0]);
	EQ(sum, info.sti_bytes_sent);
	len = 4 * sizeof(__u64) + 3;
	OK(get(fd[0], STRACK_PATH_BYTES, bytes, &len));
	EQ(len, 4 * sizeof(__u64));
	ERR(set(fd[0], STRACK_PATH_BYTES, bytes, 8), ENOPROTOOPT);
	ERR(get(fd[0], STRACK_PATH_BYTES, NULL, &len), EFAULT);
}

static void inherited(void)
{
	struct sockaddr_strack sa;
	int listener, fd[2];

	listener = sm_socket(0);
	OK(sm_set_int(listener, SOL_STRACK, STRACK_PATHS, 7));
	OK(sm_set_int(listener, SOL_STRACK, STRACK_RTO_MIN, 12345));
	OK(sm_set_int(listener, SOL_STRACK, STRACK_NODELAY, 0));
	OK(set(listener, STRACK_PATH_POLICY, "bitmap", 6));
	OK(set(listener, STRACK_PROFILE, "strack", 6));
	sm_place(&sa, SM_LOOP, 0);
	OK(st_bind(listener, &sa));
	OK(listen(listener, 1));
	OK(st_getsockname(listener, &sa));
	sm_pair_of(listener, &sa, fd);
	EQ(sm_get_int(fd[1], SOL_STRACK, STRACK_PATHS), 7);
	EQ(sm_get_int(fd[1], SOL_STRACK, STRACK_RTO_MIN), 12345);
	EQ(sm_get_int(fd[1], SOL_STRACK, STRACK_NODELAY), 0);
	EQ(info_of(fd[1]).sti_paths, 7);
	check_name(fd[1], STRACK_PATH_POLICY, "bitmap");
	check_name(fd[1], STRACK_PROFILE, "strack");
	check_name(fd[0], STRACK_PATH_POLICY, "oblivious");
	TRUE(sm_get_int(fd[0], SOL_STRACK, STRACK_PATHS) != 7);
}

static void unknown(void)
{
	socklen_t len = 4;
	int value = 1;

	for (enum state state = FRESH; state < STATES; state++) {
		int fd = socket_in(state);

		ERR(set(fd, 0, &value, 4), ENOPROTOOPT);
		ERR(set(fd, 999, &value, 4), ENOPROTOOPT);
		ERR(set(fd, -1, &value, 4), ENOPROTOOPT);
		ERR(get(fd, 0, &value, &len), ENOPROTOOPT);
		ERR(get(fd, 999, &value, &len), ENOPROTOOPT);
		close(fd);
	}
}

static void sysctl_is_default(void)
{
	int fd[2];

	OK(write_text("/proc/sys/net/strack/paths", "9"));
	OK(write_text("/proc/sys/net/strack/rto_min_us", "777"));
	EQ(sm_get_int(sm_socket(0), SOL_STRACK, STRACK_PATHS), 9);
	EQ(sm_get_int(sm_socket(0), SOL_STRACK, STRACK_RTO_MIN), 777);
	sm_pair(fd);
	EQ(info_of(fd[0]).sti_paths, 9);
	OK(write_text("/proc/sys/net/strack/paths", "128"));
	OK(write_text("/proc/sys/net/strack/rto_min_us", "250"));
	ERR(write_text("/proc/sys/net/strack/paths", "0"), EINVAL);
	ERR(write_text("/proc/sys/net/strack/paths", "257"), EINVAL);
	EQ(read_long("/proc/sys/net/strack/paths", -1), 128);
}

static void sysctl_names(void)
{
	int fd[2];

	OK(write_text("/proc/sys/net/strack/profile", "strack"));
	check_name(sm_socket(0), STRACK_PROFILE, "strack");
	check_name(sm_socket(0), STRACK_PATH_POLICY, "mixed");
	sm_pair(fd);
	for (unsigned int i = 0; i < ARRAY_SIZE(policies); i++) {
		OK(write_text("/proc/sys/net/strack/path_policy", policies[i]));
		check_name(sm_socket(0), STRACK_PATH_POLICY, policies[i]);
	}
	/* a connection keeps what it was made with */
	check_name(fd[0], STRACK_PATH_POLICY, "mixed");
	check_name(fd[1], STRACK_PROFILE, "strack");
	ERR(write_text("/proc/sys/net/strack/path_policy", "nosuch"), EINVAL);
	ERR(write_text("/proc/sys/net/strack/profile", "nosuch"), EINVAL);
	OK(write_text("/proc/sys/net/strack/path_policy", "default"));
	check_name(sm_socket(0), STRACK_PATH_POLICY, "mixed");
	OK(write_text("/proc/sys/net/strack/profile", "stellar"));
	check_name(sm_socket(0), STRACK_PATH_POLICY, "oblivious");
	/* the socket's own profile comes before the namespace's policy */
	OK(write_text("/proc/sys/net/strack/path_policy", "single"));
	fd[0] = sm_socket(0);
	OK(set(fd[0], STRACK_PROFILE, "strack", 6));
	check_name(fd[0], STRACK_PATH_POLICY, "mixed");
	OK(write_text("/proc/sys/net/strack/path_policy", "default"));
}

static const struct sm_case cases[] = {
	SM_CASE(path_count, SM_STRACK, SM_ONCE),
	SM_CASE(rto_min, SM_STRACK, SM_ONCE),
	SM_CASE(nodelay, SM_STRACK, SM_ONCE),
	SM_CASE(nodelay_is_boolean, SM_STRACK, SM_ONCE),
	SM_CASE(profile, SM_STRACK, SM_ONCE),
	SM_CASE(path_policy, SM_STRACK, SM_ONCE),
	SM_CASE(policy_while_connected, SM_STRACK, SM_V4_V6),
	SM_CASE(path_state, SM_STRACK, SM_ONCE),
	SM_CASE(denied_path_is_idle, SM_STRACK, SM_V4_V6),
	SM_CASE(spares, SM_STRACK, SM_ONCE),
	SM_CASE(info_sizes, SM_STRACK, SM_ONCE),
	SM_CASE(info_states, SM_STRACK, SM_V4_V6),
	SM_CASE(info_numbers, SM_STRACK, SM_V4_V6),
	SM_CASE(path_bytes, SM_STRACK, SM_ONCE),
	SM_CASE(inherited, SM_STRACK, SM_ONCE),
	SM_CASE(unknown, SM_STRACK, SM_ONCE),
	SM_CASE(sysctl_is_default, SM_STRACK, SM_ONCE),
	SM_CASE(sysctl_names, SM_STRACK, SM_ONCE),
};

SM_GROUP(strackopt, cases);
