#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 600
#
# Where nothing is lost, nothing is sent again, however the packets overtake each
# other. In virtual time, because a machine that stands still for a while looks
# like loss to any timeout.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/net_lib.sh"

require_root
require_strack
require_command bulk tc
BYTES=$((4 << 20))

# sent_again NS...: packets sent again so far in these namespaces
sent_again() {
	local ns name sum=0
	for ns; do
		for name in RetransTimeout RetransFast RetransProbe; do
			sum=$((sum + $(counter "$ns" "$name")))
		done
	done
	echo "$sum"
}

reasons() {
	local ns
	for ns; do
		in_ns "$ns" grep -E '^(Retrans|Timeouts|Probe|Window|DupReceived|TxPackets)' \
			/proc/net/strack/snmp | grep -v '[[:space:]]0$' | tr -s '[:space:]' ' '
		echo
	done
}

# nothing_twice NS_SERVER NS_CLIENT OPTION...
nothing_twice() {
	local before after server="$1" client="$2"
	shift 2
	before=$(sent_again "$server" "$client")
	bulk -s "$server" -c "$client" -t 100 "$@" >"$TMP/info" || return 1
	after=$(sent_again "$server" "$client")
	[ "$after" -eq "$before" ] || unmeasured || {
		echo "$((after - before)) packets sent again; the last connection:"
		tail -n 2 "$TMP/info"
		reasons "$server" "$client"
		return 1
	}
}

delay() {
	tc -n "$1" qdisc replace dev "$2" root netem limit 100000 delay "$3" "$4"
}

ktap_print_header
ktap_set_plan 11
setup_cable 1500
warm_up
ktap_test_result "cable, one way" nothing_twice "$H2" "$H1" -u -b $BYTES -m 1000000 "$H2_4"
ktap_test_result "cable, both ways" nothing_twice "$H2" "$H1" -b $BYTES "$H2_4"
ktap_test_result "cable, one path" nothing_twice "$H2" "$H1" -p 1 -b $BYTES "$H2_4"
ktap_test_result "cable, IPv6" nothing_twice "$H2" "$H1" -b $BYTES "$H2_6"
ktap_test_result "cable, 30 short connections" nothing_twice "$H2" "$H1" -n 30 -b 30000 "$H2_4"

# Each packet late by another time: most arrive out of order.
delay "$H1" v1 500us 100us
ktap_test_result "jitter of 100 us in 500 us" nothing_twice "$H2" "$H1" -u -b $((BYTES / 2)) "$H2_4"
delay "$H1" v1 1ms 900us
ktap_test_result "jitter of 900 us in 1 ms" nothing_twice "$H2" "$H1" -u -b $((BYTES / 2)) "$H2_4"

setup_fabric SPINES=4 OFFLOAD=on
ktap_test_result "fabric, trains" nothing_twice b1 a1 -u -b $BYTES -m 1000000 10.2.1.1
ktap_test_result "fabric, both ways" nothing_twice b1 a1 -b $BYTES 10.2.1.1
ns_sysctl a1 net.strack.burst_max=1
ktap_test_result "fabric, single packets" nothing_twice b1 a1 -u -b $BYTES -m 1000000 10.2.1.1
ktap_test_result "fabric, single packets, 20 short connections" \
	nothing_twice b1 a1 -n 20 -b 100000 10.2.1.1
ktap_finished
