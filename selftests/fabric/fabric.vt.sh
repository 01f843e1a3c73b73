#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The fabric is what the measurements take it for: source ports choose the spine,
# the links have the rate they should have, and a cut spine is silent.
# timeout: 300

# shellcheck disable=SC2317 # the tests are called by name
# shellcheck source=selftests/lib/ktap.sh
. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
PATH=$(dirname "$0"):$PATH # fabric.sh, spray

SPINES=4
PORTS=128

# spray OPTIONS...: prints what arrived, and in $tmp/spines the bytes of each spine
shot()
{
	spray -s "$SPINES" "$@" a1 b1 10.2.1.1 >"$tmp/shot"
	grep -o '"data":[0-9]*' "$tmp/shot" | cut -d: -f2 >"$tmp/spines"
}

# value NAME: of the last shot
value()
{
	sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" "$tmp/shot"
}

used_spines()
{
	grep -cv '^0$' "$tmp/spines"
}

one_port_one_spine()
{
	shot -p 1 -n 64 -m 50
	[ "$(value received)" = 64 ] && [ "$(used_spines)" = 1 ]
}

# Each port sends once. The binomial expectation of a share is 0.25 +- 0.04.
ports_spread()
{
	shot -p "$PORTS" -n "$PORTS" -m 100
	[ "$(value received)" = "$PORTS" ] &&
		awk '{ sum += $1; share[NR] = $1 }
			END { for (k in share) if (share[k] / sum < 0.10 || share[k] / sum > 0.40) exit 1 }' "$tmp/spines"
}

same_ports_same_spines()
{
	cp "$tmp/spines" "$tmp/before"
	shot -p "$PORTS" -n "$PORTS" -m 100
	cmp "$tmp/before" "$tmp/spines"
}

# One spine link carries its 100 Mb/s (98.6 of payload) and not more.
one_link_rate()
{
	shot -p 1 -n 512 -m 150
	awk -v rate="$(value mbits)" 'BEGIN { exit !(rate > 95 && rate < 101) }'
}

all_links_rate()
{
	shot -p "$PORTS" -n 4096 -m 600
	awk -v rate="$(value mbits)" 'BEGIN { exit !(rate > 370 && rate < 404) }'
}

# A cut spine gets its share, and none of it arrives; routes and links stay.
cut_is_silent()
{
	ip -n la route >"$tmp/routes"
	fabric.sh cut 2
	shot -p "$PORTS" -n "$PORTS" -m 100
	ip -n la route | cmp - "$tmp/routes" &&
		ip -n la link show dev up2 | grep -q 'state UP' &&
		cmp "$tmp/before" "$tmp/spines" &&
		awk -v got="$(value received)" -v sent="$PORTS" '
			{ sum += $1; if (NR == 2) lost = $1 }
			END { exit !(got == sent - lost * sent / sum) }' "$tmp/spines"
}

heal_mends()
{
	fabric.sh heal 2
	shot -p "$PORTS" -n "$PORTS" -m 100
	[ "$(value received)" = "$PORTS" ]
}

loss_loses_some()
{
	for k in 1 2 3 4; do
		fabric.sh loss "$k" 10
	done
	shot -p "$PORTS" -n 1024 -m 100
	awk -v got="$(value received)" 'BEGIN { exit !(got > 1024 * 0.80 && got < 1024 * 0.98) }'
}

# Loss and cut leave nothing behind.
heal_mends_all()
{
	for k in 1 2 3 4; do
		fabric.sh heal "$k"
	done
	shot -p "$PORTS" -n 1024 -m 100
	[ "$(value received)" = 1024 ] || return 1
	fabric.sh cut 2
	shot -p "$PORTS" -n "$PORTS" -m 100
	[ "$(value received)" -lt "$PORTS" ] || return 1
	fabric.sh heal 2
}

# All queues are empty after some 13 ms; the last packet is as late as its spine.
late_is_late()
{
	fabric.sh late 1 50ms
	shot -p "$PORTS" -n "$PORTS" -m 1000
	fabric.sh heal 1
	awk -v rate="$(value mbits)" 'BEGIN { exit !(rate > 50 && rate < 85) }'
}

seed_moves_ports()
{
	fabric.sh seed 2
	shot -p "$PORTS" -n "$PORTS" -m 100
	! cmp -s "$tmp/before" "$tmp/spines"
}

require_root
require_command ip tc ethtool spray awk
tmp=$(mktemp -d)
defer rm -r "$tmp"
defer fabric.sh down
ktap_print_header
ktap_set_plan 12
ktap_test_result "the fabric comes up" fabric.sh up
ktap_test_result "one source port stays on one spine" one_port_one_spine
ktap_test_result "$PORTS source ports spread over all spines" ports_spread
ktap_test_result "the same ports take the same spines again" same_ports_same_spines
ktap_test_measured "a spine link has the rate it should have" one_link_rate
ktap_test_measured "the spines together have the sum of it" all_links_rate
ktap_test_result "a cut spine is silent, and nothing else changes" cut_is_silent
ktap_test_result "a healed spine passes everything" heal_mends
ktap_test_result "a lossy spine loses about what it should" loss_loses_some
ktap_test_result "healed spines pass everything again, until one is cut" heal_mends_all
ktap_test_measured "a late spine is late" late_is_late
ktap_test_result "another seed puts ports on other spines" seed_moves_ports
ktap_finished
