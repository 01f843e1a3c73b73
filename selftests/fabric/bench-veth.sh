#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# bench-veth.sh - the guest's half of "make bench-veth": what a byte costs over one
# veth pair, by TCP and by AF_STRACK with 128 paths, in the same boot, written and sent
# from a file. Nothing limits the rate, so in virtual time the time a byte takes is the
# number of instructions that both ends spend on it.
#
# Leaves $RESULTS/veth.jsonl for strack-report. From the environment:
#
#	RESULTS		directory for the results (default $STRACK_OUT, else /tmp)
#	BYTES		of each transfer (default 16 MiB)
#	ROUNDS		transfers of each kind, in turn (default 3)
#	STAND_IN=1	no module: let TCP stand in for AF_STRACK. Tests this script.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/lib/ktap.sh
. "${STRACK_LIB:-$here/../lib}/ktap.sh"
PATH=$here:$PATH # xfer

RESULTS=${RESULTS:-${STRACK_OUT:-/tmp}}
BYTES=${BYTES:-16777216}
ROUNDS=${ROUNDS:-3}
STAND_IN=${STAND_IN:-}
WARM_UP=4194304 # fills caches, routes and slabs before the clock runs
raw=$RESULTS/veth.jsonl

# pair MTU on|off: both ends up, neighbours known
pair()
{
	ip netns add left
	ip netns add right
	ip link add v0 netns left mtu "$1" address 02:00:00:00:00:01 type veth \
		peer name v0 netns right mtu "$1" address 02:00:00:00:00:02
	for end in "left 1 2" "right 2 1"; do
		# shellcheck disable=SC2086 # three words
		set -- $end "$1" "$2" # name, own number, the other's, MTU, offloads
		ip -n "$1" -batch - <<-BATCH
			addr add 10.9.0.$2/24 dev v0
			link set dev v0 up
			neigh replace 10.9.0.$3 lladdr 02:00:00:00:00:0$3 dev v0 nud permanent
		BATCH
		ip netns exec "$1" ethtool -K v0 tso "$5" gso "$5" gro "$5" tx-udp-segmentation "$5"
		shift 3
	done
}

# transfer NAME tcp|strack XFER-OPTIONS...
transfer()
{
	name=$1
	family=$2
	shift 2
	[ -z "$STAND_IN" ] || family=tcp
	[ "$family" = tcp ] || set -- -p 128 "$@"
	xfer -q -f "$family" -w 131072 -r "$name" "$@" left right 10.9.0.2
}

printf '{"kind":"setup","command":"make bench-veth","kernel":"%s","seed":0,"stand_in":%s}\n' \
	"$(uname -r)" "$([ -n "$STAND_IN" ] && echo true || echo false)" >"$raw"
modprobe -q veth || : # may be built in
[ -n "$STAND_IN" ] || strack_loaded || load_strack
echo "Sending $BYTES bytes over one veth pair, $ROUNDS times each"
for mtu in 1500 9000; do
	for offload in on off; do
		pair $mtu $offload
		transfer warm-up tcp -n $WARM_UP -j /dev/null
		transfer warm-up strack -n $WARM_UP -j /dev/null
		for round in $(seq "$ROUNDS"); do
			transfer tcp-$mtu-$offload tcp -n "$BYTES" -j "$raw"
			transfer strack-128-$mtu-$offload strack -n "$BYTES" -j "$raw"
			echo "  MTU $mtu, offloads $offload: round $round of $ROUNDS"
		done
		for round in $(seq "$ROUNDS"); do
			transfer tcp-$mtu-$offload-sendfile tcp -z -n "$BYTES" -j "$raw"
			transfer strack-128-$mtu-$offload-sendfile strack -z -n "$BYTES" -j "$raw"
			echo "  MTU $mtu, offloads $offload, sendfile(): round $round of $ROUNDS"
		done
		ip netns del left
		ip netns del right
	done
done
