#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
#
# What is sent from the pages of a pipe or a file, without copying, arrives as it
# was: in pieces of all sizes, over wide and narrow cables, with and without the
# devices' help, where packets get lost, and where packets are to have few fragments.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/net_lib.sh"

require_family
require_command tc ethtool

BYTES=$(($(how_often 4096 2048 512) << 10))
FRAGS=/proc/sys/net/core/max_skb_frags

# trouble ARGUMENT...: netem at both ends; nothing: none
trouble() {
	local end
	for end in "$H1 v1" "$H2 v2"; do
		# shellcheck disable=SC2086 # two words
		set -- $end "$@"
		tc -n "$1" qdisc del dev "$2" root 2>/dev/null
		[ $# -eq 2 ] || (
			namespace=$1 device=$2
			shift 2
			tc -n "$namespace" qdisc add dev "$device" root netem limit 100000 "$@"
		) || return 1
		shift 2
	done
}

# cable MTU on|off: as wide, and whether the devices take trains apart
cable() {
	local end
	for end in "$H1 v1" "$H2 v2"; do
		# shellcheck disable=SC2086 # two words
		set -- $end "$1" "$2"
		ip -n "$1" link set dev "$2" mtu "$3"
		ip netns exec "$1" ethtool -K "$2" tso "$4" gso "$4" gro "$4" tx-udp-segmentation "$4"
		shift 2
	done
}

move() {
	# shellcheck disable=SC2086 # TCP is empty or one word
	bulk $TCP -c "$H1" -s "$H2" -t 100 "$@"
}

# sum COUNTER: of both ends
sum() {
	echo $(($(counter "$H1" "$1") + $(counter "$H2" "$1")))
}

lent() {
	is_tcp || sum ZeroCopyBytes
}

# moved ADDRESS OPTION...: and most of it, both ways, without copying
moved() {
	local before
	before=$(lent)
	move "$@" -b "$BYTES" || return 1
	is_tcp || [ $(($(lent) - before)) -gt "$BYTES" ] || {
		echo "only $(($(lent) - before)) of $((2 * BYTES)) bytes were not copied"
		return 1
	}
}

retransmits() {
	local name sum=0
	for name in RetransTimeout RetransFast RetransProbe; do
		sum=$((sum + $(counter "$H1" "$name") + $(counter "$H2" "$name")))
	done
	echo "$sum"
}

# repaired OPTION...: something had to be sent again
repaired() {
	local before
	before=$(is_tcp || retransmits)
	moved "$@" || return 1
	is_tcp || [ "$(retransmits)" -gt "$before" ] || {
		echo "nothing was sent again"
		return 1
	}
}

# trains_end OPTION...: hardly any packet shares an skb with another
trains_end() {
	local packets skbs
	is_tcp && {
		moved "$@"
		return
	}
	packets=$(sum TxPackets)
	skbs=$(sum TxSkbs)
	moved "$@" || return 1
	packets=$(($(sum TxPackets) - packets))
	skbs=$(($(sum TxSkbs) - skbs))
	[ $((packets - skbs)) -le $((packets / 100)) ] || {
		echo "$packets packets in $skbs skbs"
		return 1
	}
}

ktap_print_header
ktap_set_plan 16
setup_cable 1500
warm_up
for mtu in 1500 9000; do
	for help in on off; do
		cable $mtu $help
		ktap_test_result "pipe, MTU $mtu, offloads $help, IPv4" moved -z "$H2_4"
		ktap_test_result "file, MTU $mtu, offloads $help, IPv6" moved -f "$H2_6"
	done
done
cable 1500 on
trouble loss 1%
ktap_test_result "file, loss 1 %" repaired -f "$H2_4"
cable 9000 on
ktap_test_result "pipe, loss 1 %, MTU 9000" repaired -z "$H2_4"
cable 1500 off
ktap_test_result "pipe, loss 1 %, offloads off, IPv6" repaired -z "$H2_6"
cable 1500 on
trouble delay 500us 400us loss 3% reorder 50% 50% duplicate 2% corrupt 1%
BYTES=$((BYTES / 4))
ktap_test_result "file, all together" repaired -f "$H2_4"
ktap_test_result "pipe, all together, smallest buffers" move -z -b $((BYTES / 8)) -B 1 "$H2_4"
BYTES=$((BYTES * 4))
trouble
ktap_test_result "file, small pieces" move -f -b 200000 -m 700 "$H2_4"
# A header and one piece: what lies in two is copied.
frags=$(cat $FRAGS)
defer sh -c "echo $frags >$FRAGS"
echo 2 >$FRAGS
ktap_test_result "pipe, two fragments" trains_end -z "$H2_4"
ktap_test_result "file, two fragments" trains_end -f "$H2_6"
ktap_finished
