#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 300
#
# A connection ends at both ends in bounded time, whichever packet of its end is
# lost, and leaves no socket behind.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/net_lib.sh"

require_family
require_command wirebox
PORT=7100

# Terms of wirebox: the end of a stream, and what acknowledges it.
if is_tcp; then
	FIN="flag=1" ACK="flag=16 noflag=3"
else
	FIN="type=1 flag=4" ACK="type=3"
fi
# Three losses in a row are the first timeout and two doublings of it, on each side.
# TCP's first is 200 ms.
if is_tcp; then SETTLE_MS=3000; else SETTLE_MS=200; fi

# converse RULE...: h1 asks, h2 answers and ends, h1 ends. The rules come into
# force once the data is through. Prints the milliseconds that the end took.
converse() {
	PORT=$((PORT + 1))
	rm -f "$TMP/go" "$TMP/h1" "$TMP/h2"
	box clear
	# shellcheck disable=SC2086 # TCP is empty or one word
	{
		talk $TCP -n "$H2" -t 30 listen "$H2_4" $PORT recv=1000 send=2000 drain \
			"wait=$TMP/go" $SERVER_END >"$TMP/h2" &
		server=$!
		wait_line "$TMP/h2" listen
		talk $TCP -n "$H1" -t 30 connect "$H2_4" $PORT send=1000 recv=2000 drain \
			"touch=$TMP/h1.ready" "wait=$TMP/go" $CLIENT_END >"$TMP/h1" &
		client=$!
	}
	wait_line "$TMP/h1" "h1.ready" && wait_line "$TMP/h2" "drain ok" || return 1
	sleep 0.3
	for rule; do
		box "$rule"
	done
	: >"$TMP/go"
	wait_exit "$client" $((SETTLE_MS * 5)) && wait_exit "$server" $((SETTLE_MS * 5)) || {
		echo "an end did not finish"
		cat "$TMP/h1" "$TMP/h2"
		return 1
	}
	# by the ends' own clocks: from the sign to go to their last step
	TOOK=$(awk '
		{ ms = substr($1, 6) / 1000000 }
		/ wait=/ && (!start || ms < start) { start = ms }
		ms > last { last = ms }
		END { printf "%d", last - start }' "$TMP/h1" "$TMP/h2")
}

# settles RULE...: in time, the rules having matched, with nothing left over
settles() {
	local before1 before2
	before1=$(sockets_in "$H1")
	before2=$(sockets_in "$H2")
	converse "$@" || return 1
	[ $# -eq 0 ] || [ "$(box_matches)" -gt 0 ] || {
		echo "the packet to lose never came"
		return 1
	}
	[ "$TOOK" -le "$SETTLE_MS" ] || unmeasured || {
		echo "took $TOOK ms, allowed are $SETTLE_MS"
		return 1
	}
	wait_sockets "$H1" "$before1" 10 && wait_sockets "$H2" "$before2" 10 || {
		echo "sockets left: $(sockets_in "$H1"), $(sockets_in "$H2"); were $before1, $before2"
		return 1
	}
}

# The pause keeps the server's end and its acknowledgement in packets of their own.
SERVER_END="eof sleep=50 shut close" CLIENT_END="shut eof close"
ktap_print_header
ktap_set_plan 14
setup_box 1500
warm_up

ktap_test_result "nothing lost" settles
ktap_test_result "first FIN lost" settles "drop ab 1 $FIN"
ktap_test_result "second FIN lost" settles "drop ba 1 $FIN"
ktap_test_result "acknowledgement of the first FIN lost" settles "drop ba 1 $ACK"
ktap_test_result "acknowledgement of the second FIN lost" settles "drop ab 1 $ACK"
ktap_test_result "FIN and its acknowledgement lost" settles "drop ab 1 $FIN" "drop ba 1 $ACK"
ktap_test_result "both FINs lost" settles "drop ab 1 $FIN" "drop ba 1 $FIN"
ktap_test_result "first three FINs of each side lost" settles "drop ab 3 $FIN" "drop ba 3 $FIN"
ktap_test_result "FINs doubled" settles "dup both 4 $FIN"

# Both ends at once: neither waits for the other's end.
SERVER_END="shut eof close" CLIENT_END="shut eof close"
ktap_test_result "both at once" settles
ktap_test_result "both at once, FINs lost" settles "drop ab 1 $FIN" "drop ba 1 $FIN"

# One end resets; the other must learn it even if it has nothing to say.
SERVER_END="err=ECONNRESET close" CLIENT_END="reset"
ktap_test_result "reset" settles

# The reset is lost: the next packet of the other end is answered by one.
SERVER_END="sleep=200 send=100 err=ECONNRESET" CLIENT_END="reset"
if is_tcp; then RESET="flag=4"; else RESET="type=7"; fi
ktap_test_result "reset lost" settles "drop ab 1 $RESET"

peer_crashes() {
	local before
	before=$(sockets_in "$H1")
	PORT=$((PORT + 1))
	box clear
	rm -f "$TMP/h1" "$TMP/h2"
	# shellcheck disable=SC2086
	talk $TCP -n "$H2" listen "$H2_4" $PORT recv=1000 pause >"$TMP/h2" &
	server=$!
	wait_line "$TMP/h2" listen
	# shellcheck disable=SC2086
	talk $TCP -n "$H1" connect "$H2_4" $PORT send=1000 drain "touch=$TMP/crash" \
		"wait=$TMP/crashed" send=1000 err=ECONNRESET >"$TMP/h1" &
	client=$!
	busywait 5000 test -e "$TMP/crash" || {
		echo "no connection"
		cat "$TMP/h1" "$TMP/h2"
		return 1
	}
	# Its packets must not get out while it dies: it just falls silent.
	box "drop ba 0"
	kill -KILL "$server"
	wait_sockets "$H2" 0 40 || {
		echo "the crashed end still has $(sockets_in "$H2") sockets"
		return 1
	}
	box clear
	: >"$TMP/crashed"
	wait_exit "$client" 10000 || {
		cat "$TMP/h1"
		return 1
	}
	wait_sockets "$H1" "$before" 10 || {
		echo "$(sockets_in "$H1") sockets left, were $before"
		return 1
	}
}

# After the crash nothing is left that knows the connection: stray data is refused.
if is_tcp; then
	ns_sysctl "$H2" net.ipv4.tcp_orphan_retries=1
else
	# enough for the handshake, where a round trip takes long
	ns_sysctl "$H2" net.strack.retries=$((SLOW > 1 ? 8 : 3))
fi
ktap_test_result "peer crashes and knows nothing any more" peer_crashes
ktap_finished
