/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * AF_STRACK: reliable transport that sprays one connection over many paths.
 *
 * A program opens it like TCP:
 *
 *	socket(family, SOCK_STREAM, 0)
 *
 * where family is the number found in STRACK_FAMILY_FILE. Address family
 * numbers cannot be added by a module, so the module borrows a reserved one
 * (its parameter "family"); the number is never to be compiled into a program.
 *
 * Everything not described here behaves as socket(7) and tcp(7) say.
 */
#ifndef _UAPI_LINUX_STRACK_H
#define _UAPI_LINUX_STRACK_H

#include <linux/types.h>
#include <linux/socket.h>

/* Decimal number of the address family, present while the module is loaded. */
#define STRACK_FAMILY_FILE	"/sys/module/strack/parameters/family"

/* UDP destination port unless the module parameter "port" says otherwise. */
#define STRACK_UDP_PORT		4793

/* Most paths (UDP source ports) that one connection may use. */
#define STRACK_MAX_PATHS	256

/* Room for the name of a profile or path policy, the terminating zero included. */
#define STRACK_PROFILE_MAX	16

/**
 * struct sockaddr_strack - address of an AF_STRACK socket
 * @sst_family: the family number of STRACK_FAMILY_FILE
 * @sst_port: STrack port, network byte order; not a UDP port
 * @sst_flowinfo: as in struct sockaddr_in6; must be zero for now
 * @sst_addr: IPv6 address, or IPv4 address as ::ffff:a.b.c.d; all zero is
 *	the wildcard of both unless the socket is IPV6_V6ONLY
 * @sst_scope_id: interface index of a link-local address, else zero
 *
 * The layout is that of struct sockaddr_in6, so that a program becomes an
 * STrack program by a change of the family constant.
 */
struct sockaddr_strack {
	__kernel_sa_family_t	sst_family;
	__be16			sst_port;
	__be32			sst_flowinfo;
	__u8			sst_addr[16];
	__u32			sst_scope_id;
};

/*
 * Level of the socket options below. 287 is the last one Linux uses
 * (SOL_VSOCK) and 288 is taken by an out-of-tree QUIC; 289 is left free.
 */
#define SOL_STRACK		290

/*
 * Socket options. An unknown one, or a read of a write-only one, gives
 * ENOPROTOOPT. An option shorter than its type gives EINVAL on set. On get the
 * value is cut to the length given, and the length used is written back, as
 * for TCP's integer options.
 */

/*
 * int, 1..STRACK_MAX_PATHS: paths to spray new packets over, also while
 * connected. Accepted sockets inherit it from the listener. Out of range:
 * EINVAL.
 */
#define STRACK_PATHS		1

/*
 * string, as TCP_CONGESTION: name of the profile, "stellar" or "strack".
 * Unknown name: ENOENT. Can be set until connect() or listen(), then EISCONN.
 */
#define STRACK_PROFILE		2

/*
 * __u32, microseconds: the least retransmission timeout, 1 .. 60000000.
 * Inherited by accepted sockets. Out of range: EINVAL.
 */
#define STRACK_RTO_MIN		3

/* struct strack_info, get only. */
#define STRACK_INFO		4

/*
 * int, boolean: send a partial packet although earlier ones are outstanding.
 * On by default, unlike TCP_NODELAY: this transport exists for latency.
 */
#define STRACK_NODELAY		5

/*
 * array of __u64, get only: payload bytes sent so far over each path,
 * retransmissions included; element i is UDP source port entropy_base + i.
 * As many whole elements as fit and as there are paths and spares are
 * returned. ENOTCONN if there never was a connection.
 */
#define STRACK_PATH_BYTES	6

/*
 * string: how the path of the next packet is chosen, also while connected:
 * "single", "round_robin", "oblivious", "bitmap", "reps", "mixed", "best_rtt",
 * "dwrr", "mprdma" or "per_path". Accepted sockets inherit it. Unknown name:
 * ENOENT.
 */
#define STRACK_PATH_POLICY	7

/*
 * array of __u8, get only: enum strack_path_state of each UDP source port,
 * element i is entropy_base + i. Otherwise as STRACK_PATH_BYTES.
 */
#define STRACK_PATH_STATE	8

/*
 * int, set only: a UDP source port of the connection that is not to be used,
 * or may be used again. EINVAL if it has no such port, EBUSY if no path would
 * be left, ENOTCONN if there is no connection.
 */
#define STRACK_PATH_DENY	9
#define STRACK_PATH_ALLOW	10

/**
 * enum strack_path_state - what has become of a UDP source port
 * @STRACK_PATH_GOOD: in use
 * @STRACK_PATH_SKIP: in use, but passed over for some turns after marks or losses
 * @STRACK_PATH_ASSUMED_BAD: withdrawn after losses in a row, and probed
 * @STRACK_PATH_DENIED: not used because of STRACK_PATH_DENY
 * @STRACK_PATH_SPARE: not in use; stands by to take the place of another one
 */
enum strack_path_state {
	STRACK_PATH_GOOD	= 0,
	STRACK_PATH_SKIP	= 1,
	STRACK_PATH_ASSUMED_BAD	= 2,
	STRACK_PATH_DENIED	= 3,
	STRACK_PATH_SPARE	= 4,
};

/**
 * enum strack_state - connection states, numbered as the states of TCP
 * @STRACK_ESTABLISHED: data may flow in both directions
 * @STRACK_CONNECTING: connect() is under way
 * @STRACK_FIN_WAIT1: shut down locally, not yet acknowledged
 * @STRACK_FIN_WAIT2: shut down locally, acknowledged, the peer still sends
 * @STRACK_TIME_WAIT: both directions ended; answers a peer that missed it
 * @STRACK_CLOSED: no connection, or not any more
 * @STRACK_CLOSE_WAIT: the peer ended its direction, ours is open
 * @STRACK_LAST_ACK: the peer ended first, our end is not yet acknowledged
 * @STRACK_LISTEN: accepts connections
 * @STRACK_CLOSING: both ended, ours is not yet acknowledged
 */
enum strack_state {
	STRACK_ESTABLISHED	= 1,
	STRACK_CONNECTING	= 2,
	STRACK_FIN_WAIT1	= 4,
	STRACK_FIN_WAIT2	= 5,
	STRACK_TIME_WAIT	= 6,
	STRACK_CLOSED		= 7,
	STRACK_CLOSE_WAIT	= 8,
	STRACK_LAST_ACK		= 9,
	STRACK_LISTEN		= 10,
	STRACK_CLOSING		= 11,
};

/* strack_info.sti_version */
#define STRACK_INFO_VERSION	1

/**
 * struct strack_info - state and numbers of one connection
 * @sti_size: bytes of this structure as the kernel knows it
 * @sti_version: STRACK_INFO_VERSION of the kernel; it grows when a field
 *	changes its meaning, not when one is added
 * @sti_state: enum strack_state
 * @sti_mss: most payload bytes of one packet
 * @sti_paths: paths in use (STRACK_PATHS)
 * @sti_paths_bad: of these, how many are withdrawn as dead at the moment
 * @sti_entropy_base: UDP source port of the first path
 * @sti_retries: retransmission timeouts in a row without progress
 * @sti_cwnd: congestion window, bytes
 * @sti_inflight: bytes sent and not yet known to have arrived or to be lost
 * @sti_srtt_ns: smoothed round-trip time, 0 before the first sample
 * @sti_rttvar_ns: mean deviation of it
 * @sti_base_rtt_ns: least round-trip time seen (aged slowly)
 * @sti_rto_ns: retransmission timeout in force, back-off included
 * @sti_packets_sent: data packets sent, retransmissions included
 * @sti_bytes_sent: payload bytes of these
 * @sti_packets_received: data packets received, duplicates included
 * @sti_bytes_received: payload bytes received for the first time
 * @sti_packets_acked: packets that the peer has acknowledged
 * @sti_bytes_acked: payload bytes of these
 * @sti_retransmits: packets sent again, for any reason
 * @sti_fast_retransmits: of these, without waiting for a timeout
 * @sti_timeouts: expiries of the retransmission timeout
 * @sti_spurious: packets sent again although the first copy had arrived
 * @sti_ce_marks: packets that the peer reported as marked by the network
 * @sti_duplicates: packets received more than once
 * @sti_ooo_high_water: most packets ever held beyond a gap
 * @sti_credit: packets the peer is willing to take beyond those sent
 * @sti_snd_window: bytes the peer is willing to take beyond those sent
 * @sti_rcv_window: bytes this side is willing to take
 * @sti_target_ns: queueing delay that the congestion window aims at
 * @sti_delay_ns: queueing delay, averaged over about one window
 * @sti_max_cwnd: largest congestion window, bytes
 * @sti_proportional: proportional increase without delay, bytes per round trip
 * @sti_fair: fair increase, bytes per round trip
 * @sti_eta: constant increase, bytes per round trip
 * @sti_scale_a: scaling by bandwidth-delay product, 65536ths
 * @sti_scale_b: scaling by target delay, limits applied, 65536ths
 * @sti_fast: fast increase per acknowledged byte, 65536ths
 * @sti_penalty: how hard the peer asks this side to slow down, 128ths
 * @sti_reorder_ns: age from which a packet that many others have overtaken
 *	is lost
 * @sti_probe_ns: silence after which packets in flight are asked for
 * @sti_reorder_packets: so many packets overtaking one are suspicious
 * @sti_stretch: stretch of these limits and of the timeout by packets that
 *	were late, percent; 100 is none
 * @sti_refused: packets that the peer has seen and could not take
 *
 * getsockopt() copies min(optlen, size known to the kernel) bytes and sets
 * optlen to the number copied; a length below 8 (sti_size and sti_version)
 * gives EINVAL. Fields are only ever added at the end, so older programs run
 * on newer kernels and the reverse: whoever wants a field checks that optlen
 * covers it.
 */
struct strack_info {
	__u32	sti_size;
	__u32	sti_version;
	__u32	sti_state;
	__u32	sti_mss;
	__u32	sti_paths;
	__u32	sti_paths_bad;
	__u32	sti_entropy_base;
	__u32	sti_retries;
	__u64	sti_cwnd;
	__u64	sti_inflight;
	__u64	sti_srtt_ns;
	__u64	sti_rttvar_ns;
	__u64	sti_base_rtt_ns;
	__u64	sti_rto_ns;
	__u64	sti_packets_sent;
	__u64	sti_bytes_sent;
	__u64	sti_packets_received;
	__u64	sti_bytes_received;
	__u64	sti_packets_acked;
	__u64	sti_bytes_acked;
	__u64	sti_retransmits;
	__u64	sti_fast_retransmits;
	__u64	sti_timeouts;
	__u64	sti_spurious;
	__u64	sti_ce_marks;
	__u64	sti_duplicates;
	__u32	sti_ooo_high_water;
	__u32	sti_credit;
	__u32	sti_snd_window;
	__u32	sti_rcv_window;
	__u64	sti_target_ns;
	__u64	sti_delay_ns;
	__u64	sti_max_cwnd;
	__u64	sti_proportional;
	__u64	sti_fair;
	__u64	sti_eta;
	__u32	sti_scale_a;
	__u32	sti_scale_b;
	__u32	sti_fast;
	__u32	sti_penalty;
	__u64	sti_reorder_ns;
	__u64	sti_probe_ns;
	__u32	sti_reorder_packets;
	__u32	sti_stretch;
	__u64	sti_refused;
};

#endif /* _UAPI_LINUX_STRACK_H */
