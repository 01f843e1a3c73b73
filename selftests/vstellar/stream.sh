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

defaults() {
	[ -z "$(setting netns)" ] && [ "$(setting endpoints)" = 4096 ] &&
		[ "$(setting first-port)" = 1024 ] && [ "$(setting quota)" = 268435456 ] &&
		[ "$(setting buffers)" = 268435456 ] && [ "$(setting rate)" = 1000 ] ||
		{ vsettings vs0; return 1; }
}

# What contradicts itself, or is not there, or would change under a driver.
wrong() {
	! vsettings vs9 2>/dev/null || { echo "no such device"; return 1; }
	for bad in first-port=0 endpoints=0 quota=4096 quota=4194303 quota=8589934593 queues=70000 "netns=/proc/self/status"; do
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

# at_work [OPTION]: of the guest that has the device
at_work() {
	vstellar-guest hold "$DEV" "$@" >"$TMP/hold" &
	guest=$!
	wait_line "$TMP/hold" '^ready' 20000 || { kill "$guest"; return 1; }
	! settings endpoints=5 2>"$TMP/err" || { kill "$guest"; echo "changed"; return 1; }
	grep -qi 'resource busy' "$TMP/err" || { kill "$guest"; cat "$TMP/err"; return 1; }
	kill -KILL "$guest"
	wait "$guest" 2>/dev/null
	busywait 5000 settings endpoints=4096
}

# connect ADDRESS:PORT: there and back
connect() {
	guest_connects "$1" "$BYTES" || return 1
	ktap_print_msg "$(cat "$TMP/out")"
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

# begin: a stream that goes on and on; its guest is $guest
begin() {
	serve "$H2" 10.9.0.2:7000 || return 1
	vstellar-guest connect "$DEV" 10.9.0.2:7000 1000000000 >"$TMP/out" 2>&1 &
	guest=$!
	await_moving vs0 || { cat "$TMP/out" "$TMP/serve"; kill "$server" "$guest"; return 1; }
}

# Killed in the middle: the peer hears of it.
killed() {
	begin || return 1
	kill -KILL "$guest"
	wait "$guest" 2>/dev/null
	wait_exit "$server" 30000
	[ $? -eq 1 ] || { cat "$TMP/serve"; return 1; }
	[ "$(setting pinned)" = 0 ]
}

disturbed() {
	cable netem limit 10000 delay 2ms 1ms loss 1% duplicate 1% || return 1
	connect 10.9.0.2:7000 || { cable pfifo; return 1; }
	cable pfifo
}

# The peer is there, and then it is not: the guest is told, and nothing of it stays.
silence() {
	falls_silent begin || return 1
	[ "$(setting pinned)" = 0 ]
}

TMP=$(mktemp -d)
defer rm -rf "$TMP"
setup_hosts
ip -n "$H1" addr add fd09::1/64 dev v1 nodad
ip -n "$H2" addr add fd09::2/64 dev v2 nodad
add_device vs0 vhost_vdpa || ktap_exit_fail_msg "no device"
DEV=$(vhost_of vs0)

ktap_print_header
ktap_set_plan 15
ktap_test_result "a device has settings" defaults
ktap_test_result "settings that cannot be are refused" wrong
ktap_test_result "without a namespace there is no endpoint" no_namespace
ktap_test_result "a namespace is assigned" assigned
ktap_test_result "settings stay from the choice of features on" at_work --negotiated
ktap_test_result "settings stay while a driver is at work" at_work
ktap_test_result "a guest connects, by IPv4" connect 10.9.0.2:7000
ktap_test_result "a guest connects, by IPv6" connect "[fd09::2]:7000"
ktap_test_result "a guest listens" guest_listens "$BYTES"
ktap_test_result "nobody listens there" vstellar-guest refused "$DEV" 10.9.0.2:7999
ktap_test_result "ports that the device may not have are refused" port_range
ktap_test_result "nothing stays pinned" pinned
ktap_test_result "killed while it sends" killed
ktap_test_result "packets are lost, late, doubled and in another order" disturbed
ktap_test_result "the peer falls silent" silence
ktap_finished
