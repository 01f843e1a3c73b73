#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
#
# One connection really uses all its paths, evenly, and only those: packets
# counted by UDP source port at the sender's device, and at each spine of a
# leaf-spine fabric that hashes ports to spines.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/net_lib.sh"

require_family
require_strack
require_command tap
SPINES=4

# spray PATHS BYTES [OPTION...]: transfer from a1 to b1 while tap counts. Leaves
# $TMP/host (lines of the sender's device), $TMP/up1.. (of each uplink), $TMP/info
spray() {
	local paths="$1" bytes="$2" devs="a1/eth0" k
	shift 2
	for k in $(seq "$SPINES"); do
		devs="$devs la/up$k"
	done
	# shellcheck disable=SC2086 # a list
	start_tap $devs || return 1
	bulk -s b1 -c a1 -u -b "$bytes" -p "$paths" -t 60 "$@" 10.2.1.1 >"$TMP/info"
	STATUS=$?
	stop_tap || return 1
	grep '^a1/eth0 [0-9]' "$TMP/counts" >"$TMP/host"
	for k in $(seq "$SPINES"); do
		grep "^la/up$k [0-9]" "$TMP/counts" >"$TMP/up$k"
	done
	return "$STATUS"
}

# Columns: device, port, skbs, packets, bytes, retransmitted packets.

ports_used() {
	local n base
	n=$(wc -l <"$TMP/host")
	[ "$n" -eq "$1" ] || { echo "$n ports used, expected $1"; return 1; }
	base=$(value base_port "$(grep ^client "$TMP/info")")
	awk -v base="$base" -v n="$1" '
		$2 < base || $2 >= base + n { print "port " $2 " is none of " base " + " n; bad = 1 }
		END { exit bad }' "$TMP/host"
}

# Within a round each path has the same share. Counts differ by the unfinished last
# round, and by the few turns that went to packets without data (INIT, PROBE).
equal_shares() {
	awk -v column="$1" '
		NR == 1 { min = max = $column }
		$column < min { min = $column }
		$column > max { max = $column }
		END {
			if (max - min > 2) { print "from " min " to " max " for each path"; exit 1 }
		}' "$TMP/host"
}

# With trains the unit is the train, and trains grow and shrink with the window.
fair_shares() {
	awk '
		{ sum += $5; n++; bytes[n] = $5 }
		END {
			for (i = 1; i <= n; i++)
				if (bytes[i] < sum / n / 2 || bytes[i] > sum / n * 2) {
					print "path " i ": " bytes[i] " bytes, average " sum / n; bad = 1
				}
			exit bad
		}' "$TMP/host"
}

# The network must not turn a path into two: every port keeps to one spine.
paths_are_stable() {
	cat "$TMP"/up[1-9] | awk '
		{ seen[$2]++ }
		END { for (p in seen) if (seen[p] != 1) { print "port " p " on " seen[p] " spines"; bad = 1 }
			exit bad }'
}

# What the spines carried is what the host sent.
nothing_missing() {
	cat "$TMP/host" "$TMP"/up[1-9] | awk '
		$1 ~ /^a1/ { host += $4; next }
		{ spines += $4 }
		END { if (host != spines) { print host " sent, " spines " on spines"; exit 1 } }'
}

# Hashing throws each of n ports on one of the spines at random: the share of a
# spine is binomial. Four standard deviations are exceeded once in 16000 runs.
spread_is_uniform() {
	cat "$TMP"/up[1-9] | awk -v spines="$SPINES" '
		{ load[$1] += $5; sum += $5; ports++ }
		END {
			want = sum / spines
			limit = 4 * sqrt(ports / spines * (1 - 1 / spines)) / ports * sum
			for (k = 1; k <= spines; k++) {
				x = load["la/up" k]
				printf "spine %d: %d bytes, fair are %d +- %d\n", k, x, want, limit
				if (x < want - limit || x > want + limit) bad = 1
			}
			exit bad
		}'
}

one_spine() {
	local n
	n=$(cat "$TMP"/up[1-9] | awk '{ print $1 }' | sort -u | wc -l)
	[ "$n" -eq 1 ] || { echo "$n spines used by one path"; return 1; }
}

several_spines() {
	local n
	n=$(cat "$TMP"/up[1-9] | awk '{ print $1 }' | sort -u | wc -l)
	[ "$n" -ge 2 ] || { echo "all paths on one spine"; return 1; }
}

# What the socket says about its paths is what was on the wire.
path_bytes_agree() {
	local sent
	sent=$(value sent "$(grep ^client "$TMP/info")")
	awk -v sent="$sent" '
		{ sum += $5 }
		END { if (sum != sent) { print sum " bytes on the wire, the socket says " sent; exit 1 } }' \
		"$TMP/host"
}

# On the average more than two packets go through the stack as one.
trains() {
	awk '{ skbs += $3; packets += $4 }
		END { print packets " packets in " skbs " skbs"; exit !(packets > 2 * skbs) }' "$TMP/host"
}

# The number of paths can be changed on an open connection, down and up.
changed_on_the_way() {
	rm -f "$TMP/h1" "$TMP/h2"
	start_tap a1/eth0 || return 1
	talk -n b1 -t 60 listen 10.2.1.1 7250 recv=6000000 eof close >"$TMP/h2" &
	server=$!
	wait_line "$TMP/h2" listen
	talk -n a1 -p "$1" -t 60 connect 10.2.1.1 7250 send=2000000 drain "paths=$2" send=2000000 drain \
		"paths=$3" send=2000000 drain shut eof close >"$TMP/h1" || { cat "$TMP/h1"; return 1; }
	wait "$server" || { cat "$TMP/h2"; return 1; }
	stop_tap || return 1
	# Of three equal parts the middle one went over the first few paths only.
	awk -v few="$2" -v most="$3" '
		/^a1\/eth0 [0-9]/ { n++; p[n] = $4; sum += $4; port[n] = $2 }
		END {
			for (i = 1; i <= n; i++) if (p[i] > 3 * sum / n) big++
			print n " ports used, " big + 0 " much more than the others"
			exit !(n == most && big == few)
		}' "$TMP/counts"
}

ktap_print_header
ktap_set_plan 36
setup_fabric SPINES=$SPINES OFFLOAD=on

# Every hop of this fabric costs time of the same few CPUs. That must not look
# like congestion or loss here, where only the choice of paths is tested.
for host in a1 b1; do
	ns_sysctl $host net.strack.target_delay_us=$((10000 * SLOW)) \
		net.strack.rto_min_us=$((200000 * SLOW))
done

# One packet at a time, so that a turn is a packet: exact fairness.
ns_sysctl a1 net.strack.burst_max=1
for paths in 1 7 128 256; do
	packets=$((paths * 24))
	[ $packets -ge 400 ] || packets=400
	ktap_test_result "$paths paths: transfer" spray $paths $((packets * 1400))
	# the function ran in a subshell, but its files are here
	ktap_test_result "$paths paths: all used, no other" ports_used $paths
	ktap_test_result "$paths paths: equal shares" equal_shares 4
	ktap_test_result "$paths paths: each keeps to one spine" paths_are_stable
	ktap_test_result "$paths paths: all packets crossed a spine once" nothing_missing
	ktap_test_result "$paths paths: the socket's own numbers agree" path_bytes_agree
	case $paths in
	1) ktap_test_result "1 path: one spine carries all" one_spine ;;
	7) ktap_test_result "7 paths: more than one spine" several_spines ;;
	*) ktap_test_result "$paths paths: spread over spines as by uniform hashing" spread_is_uniform ;;
	esac
done

# With trains, as it is by default. On a slow machine they differ more, so that it takes
# more of them until shares are fair.
ns_sysctl a1 net.strack.burst_max=44
BYTES=$(((24 << 20) * (SLOW > 1 ? 4 : 1)))
ktap_test_result "128 paths, trains: transfer" spray 128 $BYTES -m 1000000
ktap_test_result "128 paths, trains: all used, no other" ports_used 128
ktap_test_result "128 paths, trains: fair shares" fair_shares
ktap_test_result "128 paths, trains: each keeps to one spine" paths_are_stable
ktap_test_result "128 paths, trains: the socket's own numbers agree" path_bytes_agree
ktap_test_result "128 paths, trains: spread over spines" spread_is_uniform
ktap_test_result "128 paths, trains: several packets leave as one" trains
# Long trains are few: not every path would get one.
ns_sysctl a1 net.strack.burst_max=1
ktap_test_result "paths changed on an open connection: 64, 8, 128" changed_on_the_way 64 8 128
ktap_finished
