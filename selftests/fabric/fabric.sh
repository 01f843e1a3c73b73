#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A leaf-spine fabric made of network namespaces of one kernel.
#
#	fabric.sh up | down
#	fabric.sh cut N			spine N swallows everything, silently
#	fabric.sh loss N PERCENT	spine N loses packets, both directions
#	fabric.sh slow N RATE		the four link directions of spine N at RATE
#	fabric.sh late N TIME		what goes to leaf lb over spine N takes TIME longer
#	fabric.sh heal N		spine N as it was after "up"; to be done between two faults
#	fabric.sh host HOST RATE	the link from the leaf to HOST at RATE
#	fabric.sh seed N		other hash functions, as if "up" had had SEED=N
#	fabric.sh subflows N		of MPTCP connections from now on; needs N - 1 ALIASES
#	fabric.sh counters		what passed each uplink, one line of JSON
#	fabric.sh env			the settings in force
#
# Hosts a1..aH (10.1.i.1) hang off leaf la, hosts b1..bH (10.2.i.1) off leaf lb:
#
#	ai -- la ==[S equal-cost routes]== s1..sS == lb -- bi
#
# With ALIASES a host has more addresses, from 10.1.i.2 on, which are MPTCP endpoints.
# Device names: a host has eth0; a leaf has dn1..dnH to its hosts and up1..upS
# to the spines; a spine has "a" to la and "b" to lb. xfer.c knows these names.
#
# README.md explains each setting and the traps they are there to avoid.

set -eu

ENV_FILE=/run/fabric.env

# Settings, from the environment; "up" keeps them in $ENV_FILE for later calls.
HOSTS=${HOSTS:-1}		# per leaf
SPINES=${SPINES:-4}
MTU=${MTU:-4200}
RATE=${RATE:-100mbit}		# each direction of a spine link; 0: no limit
HOST_RATE=${HOST_RATE:-0}	# each direction of a host link; 0: no limit
DELAY=${DELAY:-100us}		# one way, where a host sends; 0: none
QUEUE=${QUEUE:-200000}		# bytes a link direction can hold
RED_MIN=${RED_MIN:-30000}	# bytes of average queue: marking starts
RED_MAX=${RED_MAX:-90000}	# bytes: every ECN-capable packet is marked
RED_PROB=${RED_PROB:-0.1}	# marking probability just below RED_MAX
RED_FLAGS=${RED_FLAGS:-ecn nodrop}
ALIASES=${ALIASES:-0}		# more addresses of a host, up to 7
OFFLOAD=${OFFLOAD:-off}		# TSO, GSO, GRO of all devices
SEED=${SEED:-1}			# of the hash; each router gets its own from it
SETTINGS="HOSTS SPINES MTU RATE HOST_RATE DELAY QUEUE RED_MIN RED_MAX RED_PROB
RED_FLAGS ALIASES OFFLOAD SEED"

MODULES="veth sch_tbf sch_red sch_netem sch_ingress cls_matchall act_gact"

# The fault switch: one gact action in each spine's namespace, hooked into the
# ingress of both its devices. "pass" in peace; a fault only changes the action.
SWITCH=1
# Another one is in its place while a spine loses packets: a probability cannot be taken
# back from an action.
LOSSY=2

usage()
{
	sed -n '3,27s/^# \{0,1\}//p' "$0"
	exit 2
}

die()
{
	echo "fabric.sh: $*" >&2
	exit 1
}

# A process costs millions of instructions, so commands are collected per
# namespace and tool and then handed over in batches: $BATCH/<tool>.<namespace>
queue()
{
	printf '%s\n' "$3" >>"$BATCH/$1.$2"
}

# mac KIND A B SIDE
mac()
{
	printf '02:%02x:%02x:%02x:00:%02x' "$1" "$2" "$3" "$4"
}

# The MAC addresses do not depend on the namespaces' order, and neighbours are
# fixed: with ARP a silent black hole would not stay silent.
# end NS DEV ADDRESS/LEN MAC PEER_ADDRESS PEER_MAC
end()
{
	queue ip "$1" "addr add $3 dev $2"
	queue ip "$1" "link set dev $2 up"
	queue ip "$1" "neigh replace $5 lladdr $6 dev $2 nud permanent"
	[ "$OFFLOAD" = on ] ||
		queue sh "$1" "ethtool -K $2 tso off gso off gro off tx-udp-segmentation off"
}

# pair NS_A DEV_A IP_A MAC_A NS_B DEV_B IP_B MAC_B PREFIX_LEN
pair()
{
	queue link all "link add $2 netns $1 address $4 mtu $MTU type veth peer name $6 netns $5 address $8 mtu $MTU"
	end "$1" "$2" "$3/$9" "$4" "$7" "$8"
	end "$5" "$6" "$7/$9" "$8" "$3" "$4"
}

# shape NS DEV RATE [PARENT]: a token bucket of two packets, and under it RED with ECN.
# RED's own "burst" is the least tc takes, so that its average follows closely.
shape()
{
	[ "$3" != 0 ] || return 0
	queue tc "$1" "qdisc replace dev $2 ${4:-root} handle 1: tbf rate $3 burst $((2 * MTU + 100)) limit $QUEUE"
	queue tc "$1" "qdisc replace dev $2 parent 1:1 handle 2: red limit $QUEUE min $RED_MIN max $RED_MAX avpkt $MTU burst $(((2 * RED_MIN + RED_MAX) / (3 * MTU) + 1)) probability $RED_PROB bandwidth $3 $RED_FLAGS"
}

# router NS NUMBER: forward, and choose among equal routes by the packet's
# addresses, protocol and ports (policy 3, fields 0x37) under an own seed.
router()
{
	queue sh "$1" "cd /proc/sys/net/ipv4"
	queue sh "$1" "echo 1 >ip_forward"
	queue sh "$1" "echo 3 >fib_multipath_hash_policy"
	queue sh "$1" "echo 55 >fib_multipath_hash_fields"
	hash_seed "$1" "$2"
}

# hash_seed NS NUMBER: from the fabric's SEED
hash_seed()
{
	queue sh "$1" "echo $((SEED * 7919 + $2 * 104729)) >/proc/sys/net/ipv4/fib_multipath_hash_seed"
}

# host SIDE SIDE_NUMBER INDEX
host()
{
	pair "$1$3" eth0 "10.$2.$3.1" "$(mac "$2" "$3" 0 1)" \
		"l$1" "dn$3" "10.$2.$3.254" "$(mac "$2" "$3" 0 2)" 24
	queue ip "$1$3" "route add default via 10.$2.$3.254"
	for alias in $(seq 2 $((ALIASES + 1))); do
		queue ip "$1$3" "addr add 10.$2.$3.$alias/24 dev eth0"
		queue ip "$1$3" "mptcp endpoint add 10.$2.$3.$alias dev eth0 subflow"
		queue ip "l$1" "neigh replace 10.$2.$3.$alias lladdr $(mac "$2" "$3" 0 1) dev dn$3 nud permanent"
	done
	shape "l$1" "dn$3" "$HOST_RATE"
	if [ "$DELAY" != 0 ]; then
		queue tc "$1$3" "qdisc add dev eth0 root handle 1: netem delay $DELAY limit 20000"
		[ "$HOST_RATE" = 0 ] ||
			queue tc "$1$3" "qdisc add dev eth0 parent 1: handle 2: tbf rate $HOST_RATE burst $((2 * MTU + 100)) limit 4000000"
	fi
}

# uplink SIDE SIDE_NUMBER SPINE
uplink()
{
	pair "l$1" "up$3" "10.1$2.$3.1" "$(mac "1$2" "$3" 1 1)" \
		"s$3" "$1" "10.1$2.$3.2" "$(mac "1$2" "$3" 1 2)" 30
	queue ip "s$3" "route add 10.$2.0.0/16 via 10.1$2.$3.1"
	shape "l$1" "up$3" "$RATE"
	shape "s$3" "$1" "$RATE"
	queue tc "s$3" "qdisc add dev $1 clsact"
}

# hook SPINE INDEX: that action sees whatever reaches the spine
hook()
{
	for end in a b; do
		queue tc "s$1" "filter add dev $end ingress matchall action gact index $2"
	done
}

unhook()
{
	for end in a b; do
		queue tc "s$1" "filter del dev $end ingress"
	done
}

# In the order of their numbers, which their seeds come from.
routers()
{
	echo la lb
	for k in $(seq "$SPINES"); do
		echo "s$k"
	done
}

# Describe the whole fabric as batches.
plan()
{
	number=0
	for ns in $(routers); do
		router "$ns" $((number += 1))
	done
	for side in a b; do
		[ $side = a ] && number=1 || number=2
		[ $side = a ] && other=2 || other=1
		for i in $(seq "$HOSTS"); do
			host $side "$number" "$i"
		done
		hops=
		for k in $(seq "$SPINES"); do
			uplink $side "$number" "$k"
			hops="$hops nexthop via 10.1$number.$k.2 weight 1"
		done
		queue ip "l$side" "route add 10.$other.0.0/16$hops"
	done
	for k in $(seq "$SPINES"); do
		queue tc "s$k" "actions add action pass index $SWITCH"
		hook "$k" $SWITCH
	done
}

namespaces()
{
	routers
	hosts
}

hosts()
{
	for i in $(seq "$HOSTS"); do
		echo "a$i b$i"
	done
}

# Do what was collected per namespace.
hand_over()
{
	for ns in $(namespaces); do
		[ ! -e "$BATCH/sh.$ns" ] || ip netns exec "$ns" sh -e "$BATCH/sh.$ns"
		[ ! -e "$BATCH/ip.$ns" ] || ip -n "$ns" -batch "$BATCH/ip.$ns"
		[ ! -e "$BATCH/tc.$ns" ] || tc -n "$ns" -batch "$BATCH/tc.$ns"
	done
}

up()
{
	[ ! -e $ENV_FILE ] || die "the fabric is up already"
	# shellcheck disable=SC2086 # a list of names
	modprobe -a -q $MODULES || : # a kernel may have some of these built in
	BATCH=$(mktemp -d)
	plan
	for ns in $(namespaces); do
		queue netns all "netns add $ns"
		queue ip "$ns" "link set dev lo up"
		# its housekeeping would show in the counters
		queue sh "$ns" "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6"
	done
	ip -batch "$BATCH/netns.all"
	ip -batch "$BATCH/link.all"
	hand_over
	rm -r "$BATCH"
	keep_settings
}

keep_settings()
{
	for v in $SETTINGS; do
		eval "printf '%s=\"%s\"\n' $v \"\$$v\""
	done >$ENV_FILE
}

down()
{
	for ns in $(namespaces); do
		ip netns del "$ns" 2>/dev/null || :
	done
	rm -f $ENV_FILE
}

spine()
{
	if ! [ "${1:-0}" -ge 1 ] || [ "$1" -gt "$SPINES" ]; then
		die "no such spine: ${1:-}"
	fi
}

cut()
{
	tc -n "s$1" actions change action drop index $SWITCH
}

# begin, commit: what is queued in between is done for an existing fabric
begin()
{
	BATCH=$(mktemp -d)
}

commit()
{
	hand_over
	rm -r "$BATCH"
}

# rates N RATE: all four link directions of spine N. What its queues knew is forgotten.
rates()
{
	for end in "la up$1" "lb up$1" "s$1 a" "s$1 b"; do
		queue tc "${end% *}" "qdisc replace dev ${end#* } root handle 9: pfifo"
		shape "${end% *}" "${end#* }" "$2"
	done
}

slow()
{
	begin
	rates "$1" "$2"
	commit
}

heal()
{
	begin
	queue tc "s$1" "actions change action pass index $SWITCH"
	unhook "$1"
	hook "$1" $SWITCH
	rates "$1" "$RATE"
	commit
}

# late N TIME: a delay before the queue of the link to leaf lb
late()
{
	begin
	queue tc "s$1" "qdisc replace dev b root handle 3: netem delay $2 limit 20000"
	shape "s$1" b "$RATE" "parent 3:"
	commit
}

# downlink HOST RATE
downlink()
{
	[ "$HOST_RATE" != 0 ] || die "the links to hosts have no rate: HOST_RATE"
	begin
	shape "l${1%%[0-9]*}" "dn${1#[ab]}" "$2"
	commit
}

reseed()
{
	SEED=$1
	begin
	number=0
	for ns in $(routers); do
		hash_seed "$ns" $((number += 1))
	done
	commit
	keep_settings
}

subflows()
{
	[ "$1" -le $((ALIASES + 1)) ] || die "$1 subflows need ALIASES"
	begin
	for ns in $(hosts); do
		queue ip "$ns" "mptcp limits set subflows $(($1 - 1)) add_addr_accepted 0"
	done
	commit
}

loss()
{
	# gact drops one packet in N
	n=$(awk "BEGIN { printf \"%d\", 100 / $2 + 0.5 }")
	[ "$n" -ge 2 ] || die "loss takes a percentage of at most 50"
	begin
	queue tc "s$1" "actions replace action pass random netrand drop $n index $LOSSY"
	unhook "$1"
	hook "$1" $LOSSY
	commit
}

# One "ip" and one "tc" per leaf, because every process costs guest time.
counters()
{
	printf '{'
	comma=
	for leaf in la lb; do
		printf '%s"%s":[' "$comma" $leaf
		comma=,
		{
			ip -n $leaf -s link show
			tc -n $leaf -s qdisc show
		} | awk -v spines="$SPINES" '
			/^[0-9]+: / { split($2, name, /[@:]/); dev = name[1] }
			/TX:/ { getline; bytes[dev] = $1; packets[dev] = $2 }
			/^qdisc/ { dev = $5; root = / root / }
			/^ Sent/ && root { dropped[dev] = $7 + 0 }
			/^ *marked/ { marked[dev] = $2 }
			END {
				for (k = 1; k <= spines; k++) {
					dev = "up" k
					printf "%s{\"spine\":%d,\"bytes\":%d,\"packets\":%d,\"dropped\":%d,\"marked\":%d}", \
						(k > 1 ? "," : ""), k, bytes[dev], packets[dev], dropped[dev], marked[dev]
				}
			}'
		printf ']'
	done
	echo '}'
}

command=${1:-}
if [ "$command" != up ] && [ -e $ENV_FILE ]; then
	# shellcheck source=/dev/null
	. $ENV_FILE
fi
case $command in
cut|loss|slow|late|heal)
	spine "${2:-}"
	;;
esac
case $command in
up)	up ;;
down)	down ;;
cut)	cut "$2" ;;
loss)	loss "$2" "${3:?percent}" ;;
slow)	slow "$2" "${3:?rate}" ;;
late)	late "$2" "${3:?time}" ;;
host)	downlink "${2:?host}" "${3:?rate}" ;;
seed)	reseed "${2:?seed}" ;;
subflows) subflows "${2:?number}" ;;
heal)	heal "$2" ;;
counters)	counters ;;
env)	cat $ENV_FILE ;;
*)	usage ;;
esac
