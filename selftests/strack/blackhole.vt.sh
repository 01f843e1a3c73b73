#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
#
# A spine that swallows everything, while routing still points there: the
# connection goes on over the others, leaves the dead paths alone, and takes
# them back once they work again.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/net_lib.sh"

require_family
require_strack
require_command tap
SPINES=4
MIB=${BULK_MIB:-$((SLOW > 1 ? 8 : 24))}

# packets_on DEV: first transmissions that went there
packets_on() {
	awk -v dev="$1" '$1 == dev && $2 == "total" { print $3 }' "$TMP/counts"
}

# sent_again DEV: retransmissions there
sent_again() {
	awk -v dev="$1" '$1 == dev && $2 != "total" { n += $6 } END { print n + 0 }' "$TMP/counts"
}

move() {
	bulk -s b1 -c a1 -t 60 "$@" 10.2.1.1 >"$TMP/info" 2>"$TMP/err" || {
		cat "$TMP/err" "$TMP/info"
		return 1
	}
}

# The spine dies under an open connection that knows all its paths as good.
dies_on_the_way() {
	talk -n b1 -t 60 listen 10.2.1.1 7300 recv=2000000 recv=$((MIB << 20)) eof close >"$TMP/h2" &
	server=$!
	wait_line "$TMP/h2" listen
	talk -n a1 -t 60 connect 10.2.1.1 7300 send=2000000 drain "wait=$TMP/cut" \
		send=$((MIB << 20)) drain info shut eof close >"$TMP/h1" &
	client=$!
	wait_line "$TMP/h1" "drain ok"
	"$FABRIC" cut 1
	: >"$TMP/cut"
	wait_exit "$client" 60000 || { cat "$TMP/h1"; return 1; }
	wait_exit "$server" 5000 || { cat "$TMP/h2"; return 1; }
	[ "$(value retransmits "$(cat "$TMP/h1")")" -gt 0 ] || {
		echo "nothing was sent again"
		return 1
	}
}

# A connection that starts with a quarter of its paths dead.
starts_with_it_dead() {
	start_tap la/up1 la/up2 la/up3 la/up4 || return 1
	move -u -b $((MIB << 20)) -r 0
	local status=$?
	stop_tap
	return "$status"
}

# Of 24 MiB in 1.4 kB packets a quarter would be 4500: a few for finding out and
# for asking again now and then are fine.
leaves_dead_paths_alone() {
	local dead all
	dead=$(packets_on la/up1)
	all=$(($(packets_on la/up1) + $(packets_on la/up2) + $(packets_on la/up3) + $(packets_on la/up4)))
	[ "$dead" -gt 0 ] || { echo "no packet ever went to the dead spine"; return 1; }
	[ $((dead * 10)) -le "$all" ] || { echo "$dead of $all packets went to the dead spine"; return 1; }
}

# No packet may be sent for ever into the hole. Before its paths are known to be
# dead, another path is on the dead spine too with a chance of one in four; four
# standard deviations above that are not chance any more.
resends_go_elsewhere() {
	local dead others
	dead=$(sent_again la/up1)
	others=$(($(sent_again la/up2) + $(sent_again la/up3) + $(sent_again la/up4)))
	awk -v dead="$dead" -v all=$((dead + others)) 'BEGIN {
		if (!all) { print "nothing was sent again"; exit 1 }
		if (dead > all / 4 + 4 * sqrt(all * 3 / 16)) {
			print dead " of " all " retransmissions went to the dead spine"; exit 1
		}
	}'
}

withdrawals_are_counted() {
	[ "$(counter a1 PathWithdrawn)" -gt 0 ] || { cat /proc/net/strack/snmp; return 1; }
}

# One connection that lives through the cut and the healing.
comes_back() {
	local before after
	rm -f "$TMP"/go* "$TMP"/at* "$TMP/h1" "$TMP/h2"
	talk -n b1 -t 60 listen 10.2.1.1 7301 recv=4000000 "touch=$TMP/at1" recv=4000000 \
		"touch=$TMP/at2" recv=8000000 eof close >"$TMP/h2" &
	server=$!
	wait_line "$TMP/h2" listen
	"$FABRIC" cut 1
	talk -n a1 -t 60 connect 10.2.1.1 7301 send=4000000 "wait=$TMP/go1" send=4000000 \
		"wait=$TMP/go2" info send=8000000 info shut eof close >"$TMP/h1" &
	client=$!
	busywait 30000 test -e "$TMP/at1" || return 1
	: >"$TMP/go1"
	busywait 30000 test -e "$TMP/at2" || return 1
	before=$(counter a1 PathRestored)
	"$FABRIC" heal 1
	# withdrawn paths are asked again at least every 64 ms
	sleep 0.5
	start_tap la/up1 la/up2 la/up3 la/up4
	: >"$TMP/go2"
	wait_exit "$client" 30000 || { cat "$TMP/h1"; return 1; }
	wait_exit "$server" 30000 || { cat "$TMP/h2"; return 1; }
	stop_tap
	after=$(counter a1 PathRestored)
	[ "$after" -gt "$before" ] || { echo "no path was taken back"; return 1; }
	[ "$(packets_on la/up1)" -gt 500 ] || {
		echo "the healed spine got $(packets_on la/up1) packets only"
		cat "$TMP/h1"
		return 1
	}
}

# A cut spine does not touch who has no path there, and both directions recover.
both_directions() {
	"$FABRIC" cut 2
	move -b $((MIB << 18))
	local status=$?
	"$FABRIC" heal 2
	return "$status"
}

# An open connection goes on with the quarter that is left, both ways.
three_of_four() {
	rm -f "$TMP/cut" "$TMP/h1" "$TMP/h2"
	talk -n b1 -t 60 listen 10.2.1.1 7302 recv=500000 send=500000 recv=$((MIB << 16)) \
		send=$((MIB << 16)) eof close >"$TMP/h2" &
	server=$!
	wait_line "$TMP/h2" listen
	talk -n a1 -t 60 connect 10.2.1.1 7302 send=500000 recv=500000 drain "wait=$TMP/cut" \
		send=$((MIB << 16)) recv=$((MIB << 16)) info shut close >"$TMP/h1" &
	client=$!
	wait_line "$TMP/h1" "drain ok"
	for k in 1 2 3; do "$FABRIC" cut "$k"; done
	: >"$TMP/cut"
	wait_exit "$client" 60000
	local status=$?
	for k in 1 2 3; do "$FABRIC" heal "$k"; done
	[ "$status" -eq 0 ] || cat "$TMP/h1" "$TMP/h2"
	wait_exit "$server" 10000 && return "$status"
}

# All of them: the connection survives a second of it and goes on.
all_for_a_moment() {
	local job
	bulk -s b1 -c a1 -u -b $((MIB << 20)) -t 60 10.2.1.1 >"$TMP/info" 2>"$TMP/err" &
	job=$!
	sleep 0.2
	for k in $(seq "$SPINES"); do "$FABRIC" cut "$k"; done
	sleep 1
	for k in $(seq "$SPINES"); do "$FABRIC" heal "$k"; done
	wait "$job" || { cat "$TMP/err"; return 1; }
}

ktap_print_header
ktap_set_plan 9
setup_fabric SPINES=$SPINES OFFLOAD=on

ktap_test_result "spine dies on the way" dies_on_the_way
ktap_test_result "spine is dead from the start" starts_with_it_dead
ktap_test_result "dead paths are left alone" leaves_dead_paths_alone
ktap_test_result "what was lost is sent elsewhere" resends_go_elsewhere
ktap_test_result "withdrawn paths are counted" withdrawals_are_counted
"$FABRIC" heal 1
ktap_test_result "healed spine is used again" comes_back
ktap_test_result "both directions" both_directions
ktap_test_result "three of four spines dead" three_of_four
ktap_test_result "all dead for a second" all_for_a_moment
ktap_finished
