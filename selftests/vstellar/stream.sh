#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
#
# Streams of a guest: to a program of the network and from one, in the namespace that
# was assigned to the device and in no other; settings, and what they forbid.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/vstellar_lib.sh"

require_strack
require_vstellar
require_command vstellar-guest vsettings
BYTES=$(how_often 4000000 300000 300000)

# settings NAME=VALUE...: before a driver is at work
settings() {
	vsettings vs0 "$@"
}

# setting NAME
setting() {
	vsettings vs0 | awk -v name="$1" '$1 == name { print $2 }'
}

defaults() {
	[ -z "$(setting netns)" ] && [ "$(setting endpoints)" = 4096 ] &&
		[ "$(setting first-port)" = 1024 ] && [ "$(setting quota)" = 268435456 ] &&
		[ "$(setting buffers)" = 268435456 ] && [ "$(setting rate)" = 1000 ] ||
		{ vsettings vs0; return 1; }
}

# What contradicts itself, or is not there, or would change under a driver.
wrong() {
	! vsettings vs9 2>/dev/null || { echo "no such device"; return 1; }
	for bad in first-port=0 endpoints=0 quota=4096 queues=70000 "netns=/proc/self/status"; do
		! settings "$bad" 2>/dev/null || { echo "$bad was taken"; return 1; }
	done
	! settings first-port=2000 last-port=1999 2>/dev/null || { echo "ports"; return 1; }
	! settings netns=none "netns=/run/netns/$H1" 2>/dev/null || { echo "two"; return 1; }
	settings first-port=2000 last-port=2999 endpoints=7 || return 1
	[ "$(setting last-port)" = 2999 ] && [ "$(setting endpoints)" = 7 ] || return 1
	settings first-port=1 last-port=65535 endpoints=4096
}

no_namespace() {
	! vstellar-guest refused "$DEV" 10.9.0.2:7000 2>"$TMP/err" &&
		grep -q 'EpCreate was answered with status 13' "$TMP/err" ||
		{ cat "$TMP/err"; return 1; }
}

assigned() {
	settings "netns=/run/netns/$H1" &&
		[ "$(setting netns)" = "$(stat -L -c %i "/run/netns/$H1")" ] ||
		{ vsettings vs0; return 1; }
}

at_work() {
	vstellar-guest hold "$DEV" >"$TMP/hold" &
	guest=$!
	wait_line "$TMP/hold" ready 20000 || { kill "$guest"; return 1; }
	! settings endpoints=5 2>/dev/null || { kill "$guest"; echo "changed"; return 1; }
	kill -KILL "$guest"
	wait "$guest" 2>/dev/null
	busywait 5000 settings endpoints=4096
}

# connect ADDRESS:PORT: there and back
connect() {
	in_ns "$H2" vstellar-guest serve "$1" >"$TMP/serve" 2>&1 &
	server=$!
	wait_line "$TMP/serve" ready 20000 || { cat "$TMP/serve"; kill "$server"; return 1; }
	vstellar-guest connect "$DEV" "$1" "$BYTES" >"$TMP/out" 2>&1 ||
		{ cat "$TMP/out" "$TMP/serve"; kill "$server"; return 1; }
	wait_exit "$server" 20000 || { cat "$TMP/serve"; return 1; }
	ktap_print_msg "$(cat "$TMP/out")"
}

listen() {
	vstellar-guest listen "$DEV" 7100 >"$TMP/listen" 2>&1 &
	guest=$!
	wait_line "$TMP/listen" ready 20000 || { cat "$TMP/listen"; kill "$guest"; return 1; }
	in_ns "$H2" vstellar-guest send 10.9.0.1:7100 "$BYTES" >"$TMP/out" 2>&1 ||
		{ cat "$TMP/out" "$TMP/listen"; kill "$guest"; return 1; }
	wait_exit "$guest" 20000 || { cat "$TMP/listen"; return 1; }
}

# A port that the device may not have.
port_range() {
	settings first-port=8000 || return 1
	! vstellar-guest listen "$DEV" 7100 2>"$TMP/err" &&
		grep -q 'EpBind was answered with status 3' "$TMP/err" ||
		{ cat "$TMP/err"; return 1; }
	settings first-port=1
}

# All of it, and nothing stays pinned; the counters tell.
pinned() {
	[ "$(setting pinned)" = 0 ] && [ "$(setting pinned-peak)" -gt 0 ] &&
		[ "$(setting pin-hits)" -gt "$(setting pin-misses)" ] || { vsettings vs0; return 1; }
	ktap_print_msg "peak $(setting pinned-peak), hits $(setting pin-hits), misses $(setting pin-misses)"
}

# Killed in the middle: the peer hears of it.
killed() {
	in_ns "$H2" vstellar-guest serve 10.9.0.2:7000 >"$TMP/serve" 2>&1 &
	server=$!
	wait_line "$TMP/serve" ready 20000 || { cat "$TMP/serve"; kill "$server"; return 1; }
	vstellar-guest connect "$DEV" 10.9.0.2:7000 1000000000 >"$TMP/out" 2>&1 &
	guest=$!
	busywait 20000 moves || { cat "$TMP/out" "$TMP/serve"; kill "$server" "$guest"; return 1; }
	kill -KILL "$guest"
	wait "$guest" 2>/dev/null
	wait_exit "$server" 30000
	[ $? -eq 1 ] || { cat "$TMP/serve"; return 1; }
	[ "$(setting pinned)" = 0 ]
}

# Some of the stream has been sent.
moves() {
	hits=$(setting pin-hits)
	before=${before:-$hits}
	[ "$hits" -gt $((before + 100)) ]
}

# cable ARGUMENT...: what becomes of packets on it, both ways
cable() {
	tc -n "$H1" qdisc replace dev v1 root "$@" && tc -n "$H2" qdisc replace dev v2 root "$@"
}

disturbed() {
	cable netem limit 10000 delay 2ms 1ms loss 1% duplicate 1% || return 1
	connect 10.9.0.2:7000 || { cable pfifo; return 1; }
	cable pfifo
}

# The peer is there, and then it is not: the guest is told, and nothing of it stays.
silence() {
	# the device gives up sooner than the guest would
	retries=$(in_ns "$H1" cat /proc/sys/net/strack/retries)
	ns_sysctl "$H1" net.strack.retries=8
	in_ns "$H2" vstellar-guest serve 10.9.0.2:7000 >"$TMP/serve" 2>&1 &
	server=$!
	wait_line "$TMP/serve" ready 20000 || { cat "$TMP/serve"; kill "$server"; return 1; }
	vstellar-guest connect "$DEV" 10.9.0.2:7000 1000000000 >"$TMP/out" 2>&1 &
	guest=$!
	busywait 20000 moves || { cat "$TMP/out" "$TMP/serve"; kill "$server" "$guest"; return 1; }
	cable netem loss 100%
	wait_exit "$guest" 60000
	code=$?
	kill "$server"
	wait "$server" 2>/dev/null
	cable pfifo
	ns_sysctl "$H1" "net.strack.retries=$retries"
	# no answer, or no neighbour any more, which may be noticed first
	[ "$code" -eq 1 ] && grep -qE 'failed with status (11|13)' "$TMP/out" ||
		{ echo "exit code $code"; cat "$TMP/out"; return 1; }
	[ "$(setting pinned)" = 0 ]
}

TMP=$(mktemp -d)
defer rm -rf "$TMP"
setup_ns H1 H2
setup_veth "$H1" v1 10.9.0.1/24 "$H2" v2 10.9.0.2/24 9000 || ktap_exit_fail_msg "no cable"
ip -n "$H1" addr add fd09::1/64 dev v1 nodad
ip -n "$H2" addr add fd09::2/64 dev v2 nodad
add_device vs0 vhost_vdpa || ktap_exit_fail_msg "no device"
DEV=$(vhost_of vs0)

ktap_print_header
ktap_set_plan 14
ktap_test_result "a device has settings" defaults
ktap_test_result "settings that cannot be are refused" wrong
ktap_test_result "without a namespace there is no endpoint" no_namespace
ktap_test_result "a namespace is assigned" assigned
ktap_test_result "settings stay while a driver is at work" at_work
ktap_test_result "a guest connects, by IPv4" connect 10.9.0.2:7000
ktap_test_result "a guest connects, by IPv6" connect "[fd09::2]:7000"
ktap_test_result "a guest listens" listen
ktap_test_result "nobody listens there" vstellar-guest refused "$DEV" 10.9.0.2:7999
ktap_test_result "ports that the device may not have are refused" port_range
ktap_test_result "nothing stays pinned" pinned
ktap_test_result "killed while it sends" killed
ktap_test_result "packets are lost, late, doubled and in another order" disturbed
ktap_test_result "the peer falls silent" silence
ktap_finished
