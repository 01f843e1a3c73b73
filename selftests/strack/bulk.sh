#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 600
#
# Nothing is lost, doubled or mixed up on a network that does all of it.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/net_lib.sh"

require_family
require_command tc

# Bytes each way. What takes a second on hardware takes much longer elsewhere.
MIB=${BULK_MIB:-$(how_often 32 8 4)}
BYTES=$((MIB << 20))
SMALL=$((BYTES / 8))

# netem NS DEV ARGUMENT...: what leaves through the device; nothing: a clean one
netem() {
	local ns="$1" dev="$2"
	shift 2
	tc -n "$ns" qdisc del dev "$dev" root 2>/dev/null
	[ $# -eq 0 ] || tc -n "$ns" qdisc add dev "$dev" root netem limit 100000 "$@"
}

trouble() {
	netem "$H1" v1 "$@" && netem "$H2" v2 "$@"
}

move() {
	# shellcheck disable=SC2086 # TCP is empty or one word
	bulk $TCP -c "$H1" -s "$H2" -t 100 "$@"
}

# retransmits: packets sent again since the counters were last read, both ends
retransmits() {
	local ns name sum=0
	for ns in "$H1" "$H2"; do
		for name in RetransTimeout RetransFast RetransProbe; do
			sum=$((sum + $(counter "$ns" "$name")))
		done
	done
	echo "$sum"
}

# The trouble is real: something had to be sent again.
repaired() {
	local before after
	before=$(is_tcp || retransmits)
	move "$@" || return 1
	is_tcp && return 0
	after=$(retransmits)
	[ $((after - before)) -gt 0 ] || { echo "nothing was sent again"; return 1; }
}

ktap_print_header
ktap_set_plan 15
setup_cable 1500
warm_up

ktap_test_result "clean, IPv4, both ways, $MIB MiB" move -b $BYTES "$H2_4"
ktap_test_result "clean, IPv6, both ways, $MIB MiB" move -b $BYTES "$H2_6"
ktap_test_result "clean, to the server only" move -u -b $BYTES -m 1000000 "$H2_4"
ktap_test_result "clean, to the client only" move -d -b $BYTES -m 1000000 "$H2_4"

trouble loss 1%
ktap_test_result "loss 1 %, IPv4" repaired -b $BYTES "$H2_4"
ktap_test_result "loss 1 %, IPv6" repaired -b $((BYTES / 2)) "$H2_6"
trouble delay 1ms reorder 75% 50%
ktap_test_result "reordering" move -b $((BYTES / 2)) "$H2_4"
trouble duplicate 10%
ktap_test_result "duplicates" move -b $((BYTES / 2)) "$H2_4"
trouble corrupt 1%
ktap_test_result "corruption" repaired -b $((BYTES / 2)) "$H2_4"
trouble delay 500us 400us loss 1% reorder 50% 50% duplicate 2% corrupt 1%
ktap_test_result "all together, IPv4" repaired -b $SMALL "$H2_4"
ktap_test_result "all together, IPv6" repaired -b $SMALL "$H2_6"
ktap_test_result "all together, smallest buffers" repaired -b $((SMALL / 16)) -B 1 "$H2_4"
ktap_test_result "all together, 40 short connections" move -b 20000 -n 40 "$H2_4"
trouble loss 20%
ktap_test_result "loss 20 %" repaired -b $((SMALL / 4)) "$H2_4"

trouble
ktap_test_result "clean again, one byte for each call" move -b 20000 -m 1 "$H2_4"
ktap_finished
