#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
#
# Namespaces come and go, with sockets open and packets under way.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/net_lib.sh"

require_family
TIMES=${NAMESPACES:-$(how_often 100 20 5)}

move() {
	# shellcheck disable=SC2086 # TCP is empty or one word
	bulk $TCP -t 30 "$@"
}

# Memory that the kernel does not give back after each namespace would add up.
unreclaimable() {
	awk '/^SUnreclaim/ { print $2 }' /proc/meminfo
}

one_life() {
	local ns
	ns=life-$1
	rm -f "$TMP/l" "$TMP/c"
	ip netns add "$ns" && ip -n "$ns" link set dev lo up || return 1
	move -s "$ns" -c "$ns" -b 50000 127.0.0.1 >/dev/null || return 1
	# shellcheck disable=SC2086
	talk $TCP -n "$ns" listen 127.0.0.1 7400 pause >"$TMP/l" 2>&1 &
	server=$!
	wait_line "$TMP/l" listen || return 1
	# shellcheck disable=SC2086
	talk $TCP -n "$ns" connect 127.0.0.1 7400 send=100000 pause >"$TMP/c" 2>&1 &
	client=$!
	wait_line "$TMP/c" "send=100000" || return 1
	# its name goes first: the sockets keep the namespace until they are gone
	ip netns del "$ns" && kill -KILL "$server" "$client"
	wait "$server" "$client" 2>/dev/null
	return 0
}

many_lives() {
	local before after grown
	for i in $(seq "$(how_often 5 5 2)"); do one_life "w$i" || return 1; done
	sleep 1
	before=$(unreclaimable)
	for i in $(seq "$TIMES"); do
		one_life "$i" || { echo "round $i"; cat "$TMP/l" "$TMP/c"; return 1; }
	done
	# KASAN keeps what was freed for long, so the amount says nothing; but where it is
	# there is kmemleak, which the runner asks.
	[ ! -e /sys/kernel/debug/kmemleak ] || return 0
	__namespaces_gone() { [ "$(unreclaimable)" -lt $((before + TIMES * 40)) ]; }
	# they are taken down in the background
	slowwait 30 __namespaces_gone || {
		after=$(unreclaimable)
		grown=$(((after - before) / TIMES))
		echo "$grown kB of kernel memory stay behind for each namespace"
		return 1
	}
}

many_at_once() {
	local jobs="" bytes
	bytes=$(how_often 300000 300000 50000)
	for i in 1 2 3 4 5 6 7 8; do
		ip netns add "par-$i" && ip -n "par-$i" link set dev lo up || return 1
		move -s "par-$i" -c "par-$i" -b "$bytes" 127.0.0.1 >"$TMP/par$i" 2>&1 &
		jobs="$jobs $!"
	done
	for job in $jobs; do
		wait "$job" || { cat "$TMP"/par*; return 1; }
	done
	for i in 1 2 3 4 5 6 7 8; do
		ip netns del "par-$i"
	done
}

# The peer's namespace is deleted in the middle of a transfer: its end falls
# silent, ours gives up after its retries, and everything is gone then.
deleted_under_traffic() {
	setup_cable 1500
	rm -f "$TMP/l" "$TMP/c"
	if is_tcp; then
		ns_sysctl "$H1" net.ipv4.tcp_retries2=3
	else
		# few, but enough for a slow machine to connect: half a second
		ns_sysctl "$H1" net.strack.retries=8
	fi
	# shellcheck disable=SC2086
	talk $TCP -n "$H2" listen "$H2_4" 7401 recv=1000000000 >"$TMP/l" 2>&1 &
	server=$!
	wait_line "$TMP/l" listen
	# shellcheck disable=SC2086
	talk $TCP -n "$H1" -t 30 connect "$H2_4" 7401 send=1000000000 >"$TMP/c" 2>&1 &
	client=$!
	wait_line "$TMP/c" "connect ok" || { cat "$TMP/c"; return 1; }
	sleep 0.2
	cleanup_ns "$H2"
	wait_exit "$client" 30000
	[ $? -eq 1 ] || { echo "the other end did not notice"; cat "$TMP/c"; return 1; }
	# EPIPE: a reset that came after the end of the stream
	grep -q -e ETIMEDOUT -e EHOSTUNREACH -e ENETUNREACH -e ECONNRESET -e EPIPE "$TMP/c" || {
		cat "$TMP/c"
		return 1
	}
	wait "$server" 2>/dev/null
	wait_sockets "$H1" 0 20 || { echo "$(sockets_in "$H1") sockets left"; return 1; }
	cleanup_ns "$H1"
}

# Only the device goes: packets have no way out, the socket still closes.
device_deleted_under_traffic() {
	setup_cable 1500
	rm -f "$TMP/l" "$TMP/c"
	# shellcheck disable=SC2086
	talk $TCP -n "$H2" listen "$H2_4" 7402 recv=1000000000 >"$TMP/l" 2>&1 &
	server=$!
	wait_line "$TMP/l" listen
	# shellcheck disable=SC2086
	talk $TCP -n "$H1" connect "$H2_4" 7402 send=1000000000 >"$TMP/c" 2>&1 &
	client=$!
	wait_line "$TMP/c" "connect ok" || { cat "$TMP/c"; return 1; }
	sleep 0.2
	ip -n "$H1" link del dev v1
	sleep 0.2
	kill -KILL "$client" "$server"
	wait "$client" "$server" 2>/dev/null
	cleanup_ns "$H1" "$H2"
}

# Counters, settings and ports are each namespace's own.
apart() {
	local n
	setup_ns A B
	ns_sysctl "$A" net.strack.paths=5
	n=$(in_ns "$B" cat /proc/sys/net/strack/paths)
	[ "$n" -eq 128 ] || { echo "paths of the other namespace are $n"; return 1; }
	move -s "$A" -c "$A" -b 10000 127.0.0.1 >"$TMP/out" || return 1
	[ "$(value paths "$(cat "$TMP/out")")" -eq 5 ] || { cat "$TMP/out"; return 1; }
	n=$(in_ns "$B" cat /proc/net/strack/snmp | awk '{ sum += $2 } END { print sum + 0 }')
	[ "$n" -eq 0 ] || { echo "the other namespace counted $n events"; return 1; }
	n=$(counter "$A" PassiveOpens)
	[ "$n" -eq 1 ] || { echo "$n passive opens counted"; return 1; }
}

# What somebody sets in a user namespace must not let him use up the memory of the host.
limited_in_user_ns() {
	local most
	setup_ns C
	most=$(in_ns "$C" cat /proc/sys/net/strack/max_time_wait)
	ns_sysctl "$C" net.strack.time_wait_ms=600000 net.strack.max_orphans=2147483647 \
		net.strack.max_time_wait=2147483647 || return 1
	# shellcheck disable=SC2016 # expanded in there
	unshare -Urn sh -c '
		cd /proc/sys/net/strack || exit 1
		# limit NAME VALUE: that is the most it can be set to
		limit() {
			echo "$2" >"$1" && [ "$(cat "$1")" -eq "$2" ] || exit 1
			(echo $(($2 + 1)) >"$1") 2>/dev/null || return 0
			echo "$1 can be set to $(cat "$1")"
			exit 1
		}
		limit max_orphans "$1"
		limit max_time_wait "$1"
		limit time_wait_ms 60000
	' - "$most"
}

ktap_print_header
ktap_set_plan 6
ktap_test_result "$TIMES namespaces deleted with open sockets" many_lives
ktap_test_result "eight at once" many_at_once
ktap_test_result "deleted under traffic" deleted_under_traffic
ktap_test_result "device deleted under traffic" device_deleted_under_traffic
if is_tcp; then
	ktap_test_skip "settings and counters are apart" "there are none of TCP"
	ktap_test_skip "settings have limits in a user namespace" "there are none of TCP"
else
	ktap_test_result "settings and counters are apart" apart
	ktap_test_result "settings have limits in a user namespace" limited_in_user_ns
fi
ktap_finished
