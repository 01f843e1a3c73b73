/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transports that are compared: how a socket of each is opened, and what it
 * tells about itself.
 */
#ifndef SELFTESTS_TRANSPORT_H
#define SELFTESTS_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <linux/strack.h>

enum transport_kind {
	TRANSPORT_TCP,
	TRANSPORT_MPTCP,
	TRANSPORT_STRACK,
};

/**
 * struct transport - one of them, with its settings
 * @kind: which
 * @congestion: TCP and MPTCP: name of the congestion control, NULL: the usual one
 * @profile: AF_STRACK: STRACK_PROFILE, NULL: as the namespace has it
 * @policy: AF_STRACK: STRACK_PATH_POLICY, NULL: as the profile has it
 * @paths: AF_STRACK: STRACK_PATHS, 0: as the namespace has it
 */
struct transport {
	enum transport_kind kind;
	const char *congestion;
	const char *profile;
	const char *policy;
	int paths;
};

/**
 * struct stats - the numbers of a connection that all transports have
 * @rto_ns: retransmission timeout in force; MPTCP: 0, each subflow has its own
 * @srtt_ns: smoothed round-trip time; likewise
 * @retransmits: packets sent again; MPTCP: data that was given to another subflow
 * @subflows: of MPTCP
 * @info: all that AF_STRACK knows, zero for the others
 */
struct stats {
	uint64_t rto_ns;
	uint64_t srtt_ns;
	uint64_t retransmits;
	unsigned int subflows;
	struct strack_info info;
};

/*
 * The options of getopt() by which a program is told its transport: family (tcp, mptcp or
 * strack), congestion control, profile, number of paths, path policy.
 */
#define TRANSPORT_OPTIONS "f:C:F:p:P:"

/* Takes one of them. False if @option is none, or the family has another name. */
bool transport_option(struct transport *transport, int option, const char *value);

const char *transport_name(const struct transport *transport);

/* An address for the transport's sockets; IPv4 addresses are mapped. False if it is none. */
bool transport_address(const struct transport *transport, struct sockaddr_strack *address,
		       const char *text, uint16_t port);

/* A socket with everything set that has to be set before it is connected, or die. */
int transport_open(const struct transport *transport, int flags);

/* A socket that accepts connections there. */
int transport_listen(const struct transport *transport, const struct sockaddr_strack *address,
		     int flags);

/* The numbers of one end as they are now. */
void transport_stats(const struct transport *transport, int fd, struct stats *stats);

/* The member @name of a JSON object, with a comma before it. */
void transport_print(const struct transport *transport, const char *name,
		     const struct stats *stats, FILE *out);

/* Members of a JSON object, with a comma before them. */
void print_field(FILE *out, const char *name, unsigned long long value);
void print_truth(FILE *out, const char *name, bool value);

#endif /* SELFTESTS_TRANSPORT_H */
