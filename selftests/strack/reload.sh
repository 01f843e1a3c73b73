#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
#
# The module can be taken out and put back at any time when no socket is open,
# and not when one is. Leaves it loaded as it was found.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/net_lib.sh"

require_root
require_strack
require_command rmmod insmod talk bulk
TIMES=${RELOADS:-$(how_often 50 15 5)}

loaded_again() {
	strack_loaded || load_strack
}

# Sockets that are closed already may need a moment for their peers.
gone() {
	unload_strack 2>/dev/null || {
		rmmod strack
		sed 's/^/sockets, memory: /; /STRACK/!d' /proc/net/protocols
		return 1
	}
	! strack_loaded && [ ! -e /proc/net/strack ] && [ ! -e /proc/sys/net/strack ]
}

# UDP port 0 would be any, where nobody sends to.
no_port() {
	gone || return 1
	! load_strack port=0 || { unload_strack; echo "loaded"; return 1; }
	load_strack
}

idle_cycles() {
	for i in $(seq "$TIMES"); do
		gone || { echo "round $i: not unloaded"; return 1; }
		load_strack || { echo "round $i: not loaded"; return 1; }
		[ -r /proc/net/strack/snmp ] || { echo "round $i: no counters"; return 1; }
	done
}

# The last packets and timers of a connection are still on their way.
busy_cycles() {
	for i in $(seq "$TIMES"); do
		bulk -b $((200000 + i * 1000)) -t 20 127.0.0.1 >"$TMP/out" 2>&1 ||
			{ echo "round $i:"; cat "$TMP/out"; return 1; }
		gone || { echo "round $i: not unloaded"; return 1; }
		load_strack || { echo "round $i: not loaded"; return 1; }
	done
}

# Reset connections, half-open ones, listeners: killed just before.
killed_cycles() {
	for i in $(seq $((TIMES / 5))); do
		rm -f "$TMP/l" "$TMP/c"
		talk listen 127.0.0.1 7500 recv=100000000 pause >"$TMP/l" 2>&1 &
		server=$!
		wait_line "$TMP/l" listen
		talk connect 127.0.0.1 7500 send=100000000 pause >"$TMP/c" 2>&1 &
		client=$!
		wait_line "$TMP/c" "connect ok" || { cat "$TMP/c"; return 1; }
		kill -KILL "$client" "$server"
		wait "$client" "$server" 2>/dev/null
		gone || { echo "round $i: not unloaded"; return 1; }
		load_strack || { echo "round $i: not loaded"; return 1; }
	done
}

# held KIND: with such a socket open, rmmod fails with EBUSY and harms nothing
held() {
	local holder
	rm -f "$TMP/ready" "$TMP/l" "$TMP/c"
	case $1 in
	listening)
		talk listen 127.0.0.1 7501 >"$TMP/l" 2>&1 &
		holder=$!
		wait_line "$TMP/l" listen
		;;
	connected)
		talk listen 127.0.0.1 7501 recv=10 "touch=$TMP/ready" recv=10 >"$TMP/l" 2>&1 &
		holder=$!
		wait_line "$TMP/l" listen
		talk connect 127.0.0.1 7501 send=10 "wait=$TMP/go" send=10 close >"$TMP/c" 2>&1 &
		client=$!
		busywait 5000 test -e "$TMP/ready" || return 1
		;;
	esac
	if rmmod strack 2>"$TMP/rmmod"; then
		echo "unloaded with a $1 socket"
		kill "$holder"
		return 1
	fi
	grep -qi -e 'in use' -e 'busy' -e 'temporarily unavailable' "$TMP/rmmod" || {
		cat "$TMP/rmmod"
		return 1
	}
	if [ "$1" = connected ]; then
		# still works
		: >"$TMP/go"
		wait_exit "$client" 5000 && wait_exit "$holder" 5000 || { cat "$TMP/l" "$TMP/c"; return 1; }
	else
		kill "$holder"
		wait "$holder" 2>/dev/null
	fi
	rm -f "$TMP/go"
	gone && load_strack
}

# A namespace whose carrier was opened holds nothing by itself.
with_namespaces() {
	setup_ns A B
	for ns in "$A" "$B"; do
		bulk -s "$ns" -c "$ns" -b 10000 -t 20 127.0.0.1 >/dev/null || return 1
	done
	gone && load_strack || return 1
	bulk -s "$A" -c "$A" -b 10000 -t 20 127.0.0.1 >/dev/null || return 1
	cleanup_ns "$A" "$B"
}

# parameter NAME VALUE: takes effect, as far as can be seen in sysfs
parameter() {
	gone || return 1
	load_strack "$1=$2" || return 1
	[ "$(cat "/sys/module/strack/parameters/$1")" = "$2" ] || return 1
	bulk -b 10000 -t 20 127.0.0.1
}

refused_family() {
	gone || return 1
	! load_strack family=2 && ! strack_loaded
}

await_unused

ktap_print_header
ktap_set_plan 10
defer loaded_again

ktap_test_result "unloaded and loaded $TIMES times" idle_cycles
ktap_test_result "the same just after traffic" busy_cycles
ktap_test_result "the same just after processes were killed" killed_cycles
ktap_test_result "refused while a socket listens" held listening
ktap_test_result "refused while a socket is connected" held connected
ktap_test_result "not held by namespaces that used it" with_namespaces
ktap_test_result "another family number" parameter family 25
ktap_test_result "another UDP port" parameter port 4794
ktap_test_result "UDP port 0 is refused" no_port
ktap_test_result "a family number in use is refused" refused_family
ktap_finished
