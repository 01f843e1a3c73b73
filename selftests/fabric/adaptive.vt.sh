#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Profile strack on a fabric with rates: it fills the spines, keeps off the one that is
# slow, waits for the one that is late, and leaves the one that is dead.
# timeout: 300

# shellcheck disable=SC2317 # the tests are called by name
# shellcheck source=selftests/lib/ktap.sh
. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
PATH=$(dirname "$0"):$PATH # fabric.sh, flows

SIZE=2000000
# Payload is 4140 of 4214 bytes: 2 MB over four spines of 100 Mb/s take 40.7 ms.
IDEAL_NS=40715000

# run PROFILE OPTION-OR-FLOW...: one run of flows, in $tmp/run
run()
{
	profile=$1
	shift
	flows -F "$profile" -n "$SIZE" -j "$tmp/run" "$@" >"$tmp/says"
}

fresh()
{
	: >"$tmp/run"
}

# every NAME: all numbers of that name in the run, one a line
every()
{
	grep -o "\"$1\":[0-9]*" "$tmp/run" | cut -d: -f2
}

# most NAME, sum NAME: the largest of them, and what they are together
most()
{
	every "$1" | sort -n | tail -n 1
}

sum()
{
	every "$1" | awk '{ sum += $1 } END { printf "%d", sum }'
}

show()
{
	cat "$tmp/says" "$tmp/run"
	return 1
}

# A start, and what is in the longest queue at the end, cost some milliseconds. Over paths
# taken evenly the busiest spine, which the hash gives a third of them, would take 53 ms.
fills_the_spines()
{
	fresh
	run strack a1:b1 || show || return
	[ "$(most elapsed_ns)" -le $((IDEAL_NS * 100 / 85)) ] || unmeasured || show
}

nothing_twice()
{
	[ "$(sum retransmits)" -eq 0 ] || unmeasured || show
}

# A quarter of the packets at a quarter of the rate would take as long as all of them
# over one spine.
keeps_off_the_slow()
{
	fabric.sh slow 1 25mbit
	fresh
	run stellar a1:b1 a2:b2 || show || return
	stellar=$(most elapsed_ns)
	fresh
	run strack a1:b1 a2:b2 || show || return
	fabric.sh heal 1
	[ $(($(most elapsed_ns) * 4)) -le $((stellar * 3)) ] || unmeasured || {
		echo "profile stellar took $stellar ns"
		show
	}
}

base_rtt()
{
	fresh
	run strack a1:b1:100000 && every base_rtt_ns | sort -n | grep -v '^0$' | head -n 1
}

# What goes over spine 1 takes a round trip longer: nothing is lost for that.
waits_for_the_late()
{
	rtt=$(base_rtt) || return
	fabric.sh late 1 "${rtt}ns"
	fresh
	run strack a1:b1 a2:b2 || show || return
	fabric.sh heal 1
	nothing_twice
}

leaves_the_dead()
{
	fresh
	run strack -c 20 -t $((5000 * SLOW)) a1:b1 a2:b2 || show || return
	[ "$(sum retransmits)" -gt 0 ] || {
		echo "nobody noticed"
		show
	}
}

require_root
require_strack
require_command ip tc ethtool flows awk
tmp=$(mktemp -d)
defer rm -r "$tmp"
defer fabric.sh down
ktap_print_header
ktap_set_plan 6
export HOSTS=2 HOST_RATE=400mbit
ktap_test_result "the fabric comes up" fabric.sh up
for host in a1 a2 b1 b2; do
	ns_sysctl $host net.strack.link_mbps=400
done
ktap_test_result "one connection fills the spines" fills_the_spines
ktap_test_result "and sends nothing twice" nothing_twice
ktap_test_result "a slow spine costs less than with profile stellar" keeps_off_the_slow
ktap_test_result "a spine that is late by a round trip costs no retransmission" waits_for_the_late
ktap_test_result "a dead spine is left" leaves_the_dead
ktap_finished
