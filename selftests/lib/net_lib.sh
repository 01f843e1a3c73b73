# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# shellcheck disable=SC2015,SC2016 # "or give up" is meant; awk has a $ of its own
#
# net_lib.sh - what the network tests share. Source it after ktap.sh:
#
#	h1 (v1) ==== a, b (mid) ==== (v2) h2
#
# H1_4/H2_4 and H1_6/H2_6 are the addresses. setup_cable joins the hosts
# directly (no mid); setup_box puts wirebox between them.
#
# With --tcp as its argument a script runs over TCP, to test the script: $TCP
# is "--tcp" then and goes to the programs, is_tcp asks.

H1_4=10.9.0.1
H2_4=10.9.0.2
H1_6=fd09::1
H2_6=fd09::2

TCP=
case " $* " in
*" --tcp "*) TCP=--tcp ;;
esac

is_tcp() {
	[ -n "$TCP" ]
}

# require_family: the module, unless TCP stands in for it
require_family() {
	require_root
	require_command ip talk bulk
	is_tcp || require_strack
}

TMP=$(mktemp -d)
defer rm -rf "$TMP"

__second_family() {
	ip -n "$1" addr add "$3/64" dev "$2" nodad
}

# setup_cable [MTU]
setup_cable() {
	setup_ns H1 H2
	setup_veth "$H1" v1 "$H1_4/24" "$H2" v2 "$H2_4/24" "${1:-1500}" &&
		__second_family "$H1" v1 "$H1_6" && __second_family "$H2" v2 "$H2_6" ||
		ktap_exit_fail_msg "cannot join the hosts"
}

__half() {
	ip link add "$2" netns "$1" mtu "$4" type veth peer name "$3" netns "$MID" mtu "$4" &&
		ip -n "$MID" link set dev "$3" up
}

# setup_box [MTU]
setup_box() {
	local mtu="${1:-1500}"
	setup_ns H1 H2 MID
	ns_sysctl "$MID" net.ipv6.conf.all.disable_ipv6=1
	__half "$H1" v1 a "$mtu" && __half "$H2" v2 b "$mtu" &&
		ip -n "$H1" addr add "$H1_4/24" dev v1 && __second_family "$H1" v1 "$H1_6" &&
		ip -n "$H2" addr add "$H2_4/24" dev v2 && __second_family "$H2" v2 "$H2_6" &&
		ip -n "$H1" link set dev v1 up && ip -n "$H2" link set dev v2 up ||
		ktap_exit_fail_msg "cannot join the hosts"
	BOX_LOG=$TMP/box.log
	mkfifo "$TMP/box.in"
	wirebox -n "$MID" -l "$BOX_LOG" a b <"$TMP/box.in" >"$TMP/box.out" 2>&1 &
	defer kill $!
	exec 9>"$TMP/box.in"
	wait_line "$TMP/box.out" ready || ktap_exit_fail_msg "wirebox: $(cat "$TMP/box.out")"
}

# box RULE: give it to wirebox; in force on return
box() {
	local answers
	answers=$(__box_answers)
	echo "$*" >&9
	busywait 5000 __box_answered "$answers"
}

__box_answers() {
	grep -c -v '^rule' "$TMP/box.out"
}

__box_answered() {
	[ "$(__box_answers)" -gt "$1" ]
}

# box_matches: how often the first rule has matched
box_matches() {
	box count
	sed -n 's/^rule 0 matched //p' "$TMP/box.out" | tail -n 1
}

# neighbours A B: have both resolved, so that a rule meets no ARP
warm_up() {
	in_ns "$H1" ping -c 1 -W 5 "$H2_4" >/dev/null 2>&1
	in_ns "$H1" ping -c 1 -W 5 "$H2_6" >/dev/null 2>&1
	return 0
}

# counter NS NAME: of /proc/net/strack/snmp, 0 where there is none
counter() {
	in_ns "$1" awk -v name="$2" '$1 == name { value = $2 } END { print value + 0 }' \
		/proc/net/strack/snmp
}

# sockets_in NS: sockets that exist in a namespace
sockets_in() {
	in_ns "$1" awk '/^sockets: used/ { print $3 }' /proc/net/sockstat
}

__sockets_are() {
	[ "$(sockets_in "$1")" -le "$2" ]
}

# wait_sockets NS COUNT TIMEOUT_S: until no more than so many are left
wait_sockets() {
	slowwait "$3" __sockets_are "$1" "$2"
}

# value NAME LINE: the number after NAME= in a line of numbers
value() {
	printf '%s\n' "$2" | sed -n "s/.*\\<$1=\\([0-9]*\\).*/\\1/p" | tail -n 1
}

# setup_fabric SETTING=VALUE...: the leaf-spine fabric (see fabric.sh) without
# rates and delays; hosts a1 (10.1.1.1) and b1 (10.2.1.1)
setup_fabric() {
	FABRIC=$STRACK_DIR/fabric.sh
	[ -x "$FABRIC" ] || FABRIC=$STRACK_DIR/../fabric/fabric.sh
	[ -x "$FABRIC" ] || ktap_exit_fail_msg "no fabric.sh"
	require_command ethtool tc
	defer "$FABRIC" down
	env HOSTS=1 RATE=0 DELAY=0 MTU=1500 "$@" "$FABRIC" up ||
		ktap_exit_fail_msg "cannot set up the fabric"
}

# start_tap ARGUMENT...: tap counts from now on
start_tap() {
	rm -f "$TMP/tap.out"
	tap "$@" >"$TMP/counts" 2>"$TMP/tap.out" &
	TAP=$!
	wait_line "$TMP/tap.out" ready || {
		cat "$TMP/tap.out"
		return 1
	}
}

# stop_tap: its counts are in $TMP/counts; fails if it missed packets
stop_tap() {
	kill "$TAP"
	wait "$TAP" || {
		cat "$TMP/tap.out"
		return 1
	}
}
