#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 300
#
# The way is narrower than the first cable: routers say so (ICMP "fragmentation
# needed", ICMPv6 "packet too big"), before a transfer and in the middle of one.
#
#	h1 (v1, 1500) -- (r1) router (r2, narrow) -- (v2) h2

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/net_lib.sh"

require_family
require_command tap
A4=10.9.1.1 R14=10.9.1.254 B4=10.9.2.1 R24=10.9.2.254
A6=fd09:1::1 R16=fd09:1::254 B6=fd09:2::1 R26=fd09:2::254
BYTES=$(($(how_often 2048 512 512) << 10))
FULL=$((8 << 20)) # more than fits into the buffers of both ends

setup_router() {
	setup_ns H1 R H2
	setup_veth "$H1" v1 "$A4/24" "$R" r1 "$R14/24" 1500 &&
		setup_veth "$R" r2 "$R24/24" "$H2" v2 "$B4/24" 1500 || return 1
	ip -n "$H1" addr add "$A6/64" dev v1 nodad
	ip -n "$R" addr add "$R16/64" dev r1 nodad
	ip -n "$R" addr add "$R26/64" dev r2 nodad
	ip -n "$H2" addr add "$B6/64" dev v2 nodad
	ip -n "$H1" route add default via "$R14"
	ip -n "$H2" route add default via "$R24"
	ip -n "$H1" -6 route add default via "$R16"
	ip -n "$H2" -6 route add default via "$R26"
	ns_sysctl "$R" net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	# the limit on ICMP errors must not decide the test
	ns_sysctl "$R" net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0
}

# cable MTU: of the second cable, both ends
cable() {
	ip -n "$R" link set dev r2 mtu "$1"
	ip -n "$H2" link set dev v2 mtu "$1"
}

# narrow MTU: the same, and what was learned of it is forgotten
narrow() {
	cable "$1"
	ip -n "$H1" route flush cache
	ip -n "$H1" -6 route flush cache
}

# move ADDRESS MTU [OPTION...]: all arrives, and what leaves the router is
# neither larger than the MTU nor in fragments
move() {
	local address="$1" mtu="$2" status
	shift 2
	start_tap "$R/r2" || return 1
	# shellcheck disable=SC2086 # TCP is empty or one word
	bulk $TCP -c "$H1" -s "$H2" -t 30 "$@" "$address" >"$TMP/info"
	status=$?
	stop_tap || return 1
	[ "$status" -eq 0 ] || return 1
	awk -v mtu="$mtu" '$2 == "total" {
		if ($6 > mtu) { print "a packet of " $6 " bytes on a cable of " mtu; exit 1 }
		if ($5) { print $5 " fragments"; exit 1 }
	}' "$TMP/counts"
}

mss_of_client() {
	value mss "$(grep ^client "$TMP/info")"
}

# fits MTU OVERHEAD: the mss in use leaves room for all headers, and is not
# much smaller than it has to be
fits() {
	local mss want
	mss=$(mss_of_client)
	want=$(($1 - $2))
	[ "$mss" -le "$want" ] && [ "$mss" -ge $((want - 80)) ] || {
		echo "mss $mss, the way has room for $want"
		return 1
	}
}

# The way is as wide as the cable: the mss uses it.
full_width() {
	narrow 1500
	move "$1" 1500 -b "$BYTES" && fits 1500 "$2"
}

narrow_from_the_start() {
	narrow "$3"
	move "$1" "$3" -b "$BYTES" && fits "$3" "$2"
}

# The second transfer knows it already: not one packet is too large.
remembered() {
	local before
	is_tcp || before=$(counter "$H1" IcmpFragNeeded)
	move "$1" "$2" -b "$BYTES" || return 1
	is_tcp && return 0
	[ "$(counter "$H1" IcmpFragNeeded)" -eq "$before" ] || {
		echo "had to be told again"
		return 1
	}
}

# across ADDRESS COMMAND...: one connection sends, the command changes the way, and it
# sends again; leaves its numbers, also those from before
across() {
	local address="$1" server client
	shift
	rm -f "$TMP/h1" "$TMP/h2" "$TMP/changed"
	# shellcheck disable=SC2086
	talk $TCP -n "$H2" listen "$address" 7600 recv=$BYTES recv=$BYTES eof close >"$TMP/h2" &
	server=$!
	wait_line "$TMP/h2" listen
	# shellcheck disable=SC2086
	talk $TCP -n "$H1" connect "$address" 7600 send=$BYTES drain info "wait=$TMP/changed" send=$BYTES drain \
		info shut eof close >"$TMP/h1" &
	client=$!
	wait_line "$TMP/h1" info
	sed -n 's/^.* info/client/p' "$TMP/h1" >"$TMP/before"
	"$@"
	: >"$TMP/changed"
	wait_exit "$client" 60000 && wait_exit "$server" 5000 || { cat "$TMP/h1" "$TMP/h2"; return 1; }
	sed -n 's/^.* info/client/p' "$TMP/h1" | tail -n 1 >"$TMP/info"
}

# The cable shrinks under an open connection, which has to learn it, and is then
# wide again for the next one.
narrowed_on_the_way() {
	narrow 1500
	across "$1" cable "$2" && fits "$2" "$3"
}

# What the router said has expired, or was not true: the connection does not keep to it.
# The peer must not be the one whose cable is narrow, else it says so when it is asked.
widened_on_the_way() {
	narrow 1500
	ip -n "$R" link set dev r2 mtu "$2"
	across "$1" narrow 1500 && fits 1500 "$3" || return 1
	mv "$TMP/before" "$TMP/info"
	fits "$2" "$3"
}

# The same in the middle of a full send buffer: what is queued at the old size
# may be fragmented or made anew, but all must arrive.
narrowed_when_full() {
	narrow 1500
	rm -f "$TMP/h1" "$TMP/h2" "$TMP/narrow"
	# shellcheck disable=SC2086
	talk $TCP -n "$H2" listen "$1" 7601 "wait=$TMP/narrow" recv=$FULL eof close >"$TMP/h2" &
	server=$!
	wait_line "$TMP/h2" listen
	# shellcheck disable=SC2086
	talk $TCP -n "$H1" connect "$1" 7601 send=$FULL shut eof close >"$TMP/h1" &
	client=$!
	wait_line "$TMP/h1" "connect ok"
	# nobody reads, so that the buffers fill up
	sleep 0.5
	cable "$2"
	: >"$TMP/narrow"
	wait_exit "$client" 60000 && wait_exit "$server" 5000 || { cat "$TMP/h1" "$TMP/h2"; return 1; }
}

told_by_icmp() {
	[ "$(counter "$H1" IcmpFragNeeded)" -gt 0 ]
}

# IP, UDP and STrack headers; or IP and TCP with its time stamps
if is_tcp; then
	OVER4=52 OVER6=72
else
	OVER4=$((20 + 8 + 32)) OVER6=$((40 + 8 + 32))
fi

ktap_print_header
ktap_set_plan 14
setup_router || ktap_exit_fail_msg "cannot set up the router"

ktap_test_result "1500 all the way, IPv4" full_width $B4 $OVER4
ktap_test_result "1500 all the way, IPv6" full_width $B6 $OVER6
ktap_test_result "1300 behind the router, IPv4" narrow_from_the_start $B4 $OVER4 1300
ktap_test_result "1300 behind the router, IPv4, next connection" remembered $B4 1300
ktap_test_result "1300 behind the router, IPv6" narrow_from_the_start $B6 $OVER6 1300
ktap_test_result "1300 behind the router, IPv6, next connection" remembered $B6 1300
ktap_test_result "narrowed on the way, IPv4" narrowed_on_the_way $B4 1300 $OVER4
ktap_test_result "narrowed on the way, IPv6" narrowed_on_the_way $B6 1300 $OVER6
ktap_test_result "widened on the way, IPv4" widened_on_the_way $B4 1300 $OVER4
ktap_test_result "widened on the way, IPv6" widened_on_the_way $B6 1300 $OVER6
ktap_test_result "narrowed with full buffers, IPv4" narrowed_when_full $B4 1300
ktap_test_result "narrowed with full buffers, IPv6" narrowed_when_full $B6 1300
ktap_test_result "576 behind the router, IPv4" narrow_from_the_start $B4 $OVER4 576
if is_tcp; then
	ktap_test_skip "ICMP was what told" "no such counter"
else
	ktap_test_result "ICMP was what told" told_by_icmp
fi
ktap_finished
