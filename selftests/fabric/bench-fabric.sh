#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# bench-fabric.sh - the guest's half of "make bench-fabric": what the transports make
# of a leaf-spine fabric when all is well, when one spine is slow, lossy, late or
# dead, and when many send to one.
#
# Leaves $RESULTS/fabric.jsonl for strack-report. From the environment, besides the
# settings of fabric.sh:
#
#	RESULTS		directory for the results (default $STRACK_OUT, else /tmp)
#	SEEDS		of the fabric's hash functions, from SEED on; everything is
#			measured with each (default 10)
#	TRANSPORTS	which (default: strack stellar tcp dctcp mptcp-4 mptcp-8)
#	CASES		which (default: all that case_* below are called)
#	PEER_CASES	which of these for all but strack (default: all)
#	QUICK=1		2 seeds, without dctcp and mptcp-4, and of the peers only alone,
#			permutation, slow and hole
#	SYSCTLS		settings of net.strack on all hosts, NAME=VALUE...
#	STAND_IN=1	no module: let TCP stand in for AF_STRACK. Tests this script.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/lib/ktap.sh
. "${STRACK_LIB:-$here/../lib}/ktap.sh"
PATH=$here:$PATH # flows, fabric.sh

RESULTS=${RESULTS:-${STRACK_OUT:-/tmp}}
QUICK=${QUICK:-}
SEED=${SEED:-1}
if [ -n "$QUICK" ]; then
	SEEDS=${SEEDS:-2}
	TRANSPORTS=${TRANSPORTS:-strack stellar tcp mptcp-8}
	PEER_CASES=${PEER_CASES:-alone permutation slow hole}
fi
SEEDS=${SEEDS:-10}
TRANSPORTS=${TRANSPORTS:-strack stellar tcp dctcp mptcp-4 mptcp-8}
CASES=${CASES:-alone permutation slow loss-1 loss-3 hole repair late-1 late-2 incast victim}
PEER_CASES=${PEER_CASES:-$CASES}
STAND_IN=${STAND_IN:-}
SYSCTLS=${SYSCTLS:-}
raw=$RESULTS/fabric.jsonl

PERMUTATION="a1:b1 a2:b2 a3:b3 a4:b4"
SIZE=4000000
# The incast outlasts the victim, which has a quarter of the incast's rate for itself.
INCAST="a1:b1 a2:b1 a3:b1 a4:b1 b2:b1 b3:b1 b4:b1"
VICTIM=a1:b2
VICTIM_RATE=100mbit
CUT_MS=100
REPAIR_MS=300
REPAIR_SIZE=8000000

# measure RUN FLOWS-OPTION...: one run of the transport that is in turn. It may fail:
# flows that never finish are a result.
measure()
{
	name=$1
	shift
	# shellcheck disable=SC2086 # a list of options
	flows $options -T "$transport" -e "$seed" -s "$SPINES" -r "$name" -j "$raw" -t 15000 "$@" || :
}

# with_transport: its options, and what it needs of the hosts
with_transport()
{
	case $transport in
	strack | stellar) options="-f strack -F $transport" ;;
	tcp) options="-f tcp -C cubic" ;;
	dctcp) options="-f tcp -C dctcp" ;;
	mptcp-*)
		options="-f mptcp -C cubic"
		fabric.sh subflows "${transport#mptcp-}"
		;;
	*) die_of "no transport '$transport'" ;;
	esac
	[ -z "$STAND_IN" ] || [ "${options#-f strack}" = "$options" ] || options="-f tcp -C cubic"
}

die_of()
{
	echo "bench-fabric.sh: $*" >&2
	exit 1
}

# Who sprays: the others have no notion of what these cases ask for.
sprays()
{
	[ "$transport" = strack ] || [ "$transport" = stellar ]
}

case_alone()
{
	measure alone -n $SIZE a1:b1
}

# shellcheck disable=SC2086 # a list of flows, here and below
case_permutation()
{
	measure permutation -n $SIZE $PERMUTATION
}

# shellcheck disable=SC2086
case_slow()
{
	fabric.sh slow 1 "$SLOW_RATE"
	measure slow -n $SIZE $PERMUTATION
	fabric.sh heal 1
}

# shellcheck disable=SC2086
lossy()
{
	fabric.sh loss 1 "$1"
	measure "loss-$1" -n $SIZE $PERMUTATION
	fabric.sh heal 1
}

case_loss_1()
{
	lossy 1
}

case_loss_3()
{
	lossy 3
}

# shellcheck disable=SC2086
case_hole()
{
	measure hole -n $SIZE -c $CUT_MS -S $PERMUTATION
}

# shellcheck disable=SC2086
case_repair()
{
	sprays || return 0
	measure repair -n $REPAIR_SIZE -c $CUT_MS -m $REPAIR_MS -S $PERMUTATION
}

# The round trip of the idle fabric, ns, as the module measured it for a flow alone.
base_rtt()
{
	sed -n '/"run":"alone"/s/.*"sender":.*"base_rtt_ns":\([0-9]*\).*"receiver".*/\1/p' "$raw" | head -n 1
}

# late FACTOR: spine 1 takes so many base RTTs longer
# shellcheck disable=SC2086
late()
{
	sprays || return 0
	rtt=$(base_rtt)
	[ -n "$rtt" ] || die_of "the case 'alone' has to come first"
	fabric.sh late 1 "$((rtt * $1))ns"
	measure "late-$1" -n $SIZE $PERMUTATION
	fabric.sh heal 1
}

case_late_1()
{
	late 1
}

case_late_2()
{
	late 2
}

# shellcheck disable=SC2086
case_incast()
{
	measure incast -n $SIZE $INCAST
}

# The victim's own link is its bottleneck, alone or not: spines and its sender's link
# have room enough for both.
# shellcheck disable=SC2086
case_victim()
{
	fabric.sh host b2 $VICTIM_RATE
	measure victim-alone -n $SIZE $VICTIM
	measure victim -n $SIZE $VICTIM $INCAST
	fabric.sh host b2 "$HOST_RATE"
}

# prepare_host NAME: TCP without a memory of earlier runs; for AF_STRACK the speed of the
# host's link
prepare_host()
{
	# shellcheck disable=SC2016,SC2086 # expanded inside; a list
	ip netns exec "$1" sh -euc '
		echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save
		[ -d /proc/sys/net/strack ] || exit 0
		for set; do
			echo "${set#*=}" >"/proc/sys/net/strack/${set%%=*}"
		done' - link_mbps="${HOST_RATE%mbit}" $SYSCTLS
}

: >"$raw"
[ -n "$STAND_IN" ] || strack_loaded || load_strack
modprobe -q -a tcp_dctcp || : # may be built in
export HOSTS=4 HOST_RATE="${HOST_RATE:-400mbit}" ALIASES=7
fabric.sh up
# shellcheck source=/dev/null
. /run/fabric.env
SLOW_RATE=$((${RATE%mbit} / 4))mbit
for side in a b; do
	for i in $(seq $HOSTS); do
		prepare_host "$side$i"
	done
done
echo "Fabric is up: $HOSTS hosts per leaf at $HOST_RATE, $SPINES spines at $RATE, MTU $MTU, $DELAY per host"
printf '{"kind":"setup","command":"make bench-fabric","kernel":"%s","seed":%d,"spines":%d,"rate":"%s","host_rate":"%s","mtu":%d,"delay":"%s","stand_in":%s}\n' \
	"$(uname -r)" "$SEED" "$SPINES" "$RATE" "$HOST_RATE" "$MTU" "$DELAY" \
	"$([ -n "$STAND_IN" ] && echo true || echo false)" >>"$raw"
for seed in $(seq "$SEED" $((SEED + SEEDS - 1))); do
	fabric.sh seed "$seed"
	for transport in $TRANSPORTS; do
		with_transport
		cases=$PEER_CASES
		[ "$transport" != strack ] || cases=$CASES
		for what in $cases; do
			"case_$(echo "$what" | tr - _)"
		done
	done
done
fabric.sh down
