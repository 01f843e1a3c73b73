#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 600
#
# The retransmission timeout, measured on the wire in virtual time, where 250 us
# are 250 us: the first retransmission after max(floor, srtt + 4 var), each next
# one after twice the time, another path each time, ETIMEDOUT at the end.
#
# A drop rule at the peer's door makes the network go silent, and a packet socket
# at the sender's device sees what is still sent.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/net_lib.sh"

require_family
require_command tap tc
PORT=7200
RETRIES=6

# silence / heal: what arrives at h2 is lost, or not
silence() {
	tc -n "$H2" filter add dev v2 ingress matchall action drop
}

heal() {
	tc -n "$H2" filter del dev v2 ingress
}

# A quiet exchange, so that the measured round trip has settled, then silence.
# measure RTO_MIN_US: leaves $TMP/wire, $TMP/h1
measure() {
	local mine="" theirs="" rto=""
	PORT=$((PORT + 1))
	rm -f "$TMP/go" "$TMP/ready" "$TMP/h1" "$TMP/h2"
	# the timeout settles after 64 packets, the slowest of 128 round trips counts
	while [ ${#mine} -lt 6000 ]; do
		mine="$mine send=1000 recv=1000"
		theirs="$theirs recv=1000 send=1000"
	done
	is_tcp || rto="-r $1"
	start_tap -l "$TMP/wire" "$H1/v1" || return 1
	# shellcheck disable=SC2086 # lists of words
	{
		talk $TCP -n "$H2" -t 500 listen "$H2_4" $PORT $theirs pause >"$TMP/h2" &
		server=$!
		wait_line "$TMP/h2" listen
		talk $TCP -n "$H1" -t 500 $rto connect "$H2_4" $PORT $mine drain info \
			"touch=$TMP/ready" "wait=$TMP/go" send=1000 err=ETIMEDOUT >"$TMP/h1" &
		client=$!
	}
	busywait 20000 test -e "$TMP/ready" || return 1
	# all acknowledgements have come by now, however late they may be sent
	sleep 0.5
	silence
	: >"$TMP/go"
	wait "$client"
	CLIENT_STATUS=$?
	kill "$server"
	stop_tap
	heal
	return 0
}

# gaps: microseconds between the transmissions of the last packet, one a line,
# each with the source ports before and after
gaps() {
	awk -v tcp="$TCP" '
		$9 >= 1000 && (tcp ? $5 == "TCP" : $5 == "DATA") {
			if ($7 != psn) { n = 0; psn = $7 }
			time[n] = $1; port[n] = $4; n++
		}
		# the clock in ns has more digits than a double: cut the days off
		function us(i) { return substr(time[i], 6) / 1000 }
		END { for (i = 1; i < n; i++) printf "%d %d %d\n", us(i) - us(i - 1), port[i - 1], port[i] }
	' "$TMP/wire"
}

within() {
	[ "$1" -ge "$2" ] && [ "$1" -le "$3" ] || { echo "$4: $1 us, expected $2..$3 us"; return 1; }
}

# first_gap FLOOR_US: within a tenth above max(floor, what the estimator says). The
# gap is taken where packets arrive, and they need some microseconds more or less.
first_gap() {
	local rto
	rto=$(value rto_us "$(cat "$TMP/h1")")
	[ "$rto" -ge "$1" ] || rto=$1
	within "$(gaps | awk 'NR == 1 { print $1 }')" $(($1 * 99 / 100)) $((rto * 110 / 100)) \
		"first retransmission"
}

# On this idle cable the floor decides, not the estimator.
floor_decides() {
	within "$(value rto_us "$(cat "$TMP/h1")")" "$1" $(($1 * 105 / 100)) "timeout in force"
}

doubles() {
	gaps | awk '
		NR > 1 && $1 < 1900000 && ($1 < 1.9 * last || $1 > 2.1 * last) {
			print "after " last " us came " $1 " us"; bad = 1
		}
		{ last = $1; n++ }
		END { if (n < 4) { print "only " n " retransmissions"; bad = 1 }; exit bad }
	'
}

retry_count() {
	local n
	n=$(gaps | wc -l)
	[ "$n" -eq "$RETRIES" ] || { echo "$n retransmissions, expected $RETRIES"; return 1; }
}

# A retransmission never takes the path that lost the packet.
other_path() {
	gaps | awk '$2 == $3 { print "port " $2 " twice in a row"; bad = 1 } END { exit bad }'
}

gives_up() {
	[ "$CLIENT_STATUS" -eq 0 ] || { cat "$TMP/h1"; return 1; }
}

# The error comes one more (doubled) timeout after the last retransmission.
gives_up_in_time() {
	awk -v us="$(gaps | awk '{ last = $1 } END { print 2 * last }')" -v most="$RTO_MAX" '
		$2 ~ /^err=/ { err = substr($1, 6) / 1000 }
		FILENAME ~ /wire/ && $9 >= 1000 { sent = substr($1, 6) / 1000 }
		END {
			late = err - sent
			if (us > most) us = most
			if (late < 0.9 * us || late > 1.1 * us + 2000) {
				printf "%d us after the last one, expected about %d\n", late, us
				exit 1
			}
		}' "$TMP/wire" "$TMP/h1"
}

if is_tcp; then
	FLOORS=200000 RTO_MAX=120000000
else
	FLOORS="250 1000 10000" RTO_MAX=2000000
fi
ktap_print_header
# shellcheck disable=SC2086 # a list
set -- $FLOORS
ktap_set_plan $((8 * $#))
setup_cable 1500
warm_up
tc -n "$H2" qdisc add dev v2 clsact
if is_tcp; then
	# no loss probes, which come before the timeout; give up after a few
	ns_sysctl "$H1" net.ipv4.tcp_early_retrans=0 net.ipv4.tcp_retries2=$RETRIES
	ns_sysctl "$H1" net.ipv4.tcp_timestamps=1
else
	ns_sysctl "$H1" net.strack.retries=$RETRIES
fi

for floor; do
	measure "$floor" || ktap_print_msg "no connection"
	ktap_print_msg "$(value rto_us "$(cat "$TMP/h1")") us in force; gaps in us, ports: $(gaps | tr '\n' ';')"
	ktap_test_result "floor $floor us: connection settled and broke" test -s "$TMP/wire"
	ktap_test_measured "floor $floor us: is what decides on an idle cable" floor_decides "$floor"
	ktap_test_measured "floor $floor us: first retransmission" first_gap "$floor"
	ktap_test_measured "floor $floor us: each next one after twice the time" doubles
	ktap_test_result "floor $floor us: as often as net.strack.retries says" retry_count
	if is_tcp; then
		ktap_test_skip "floor $floor us: another path each time" "TCP has one"
	else
		ktap_test_result "floor $floor us: another path each time" other_path
	fi
	ktap_test_result "floor $floor us: ETIMEDOUT at the end" gives_up
	ktap_test_measured "floor $floor us: not before the last one had its time" gives_up_in_time
done
ktap_finished
