#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 900
#
# Devices that send from their guests' pages: streams are whole, memory is unmapped and
# devices go whatever packets still have, and nothing is on loan in the end.
#
#	vs0 (vhost_vdpa), vs1 (virtio_vdpa) of g1 -- h1 (v1) ==== (v2) h2

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/vstellar_lib.sh"

require_strack
require_vstellar
require_driver
require_command vstellar-guest vsettings vsocket bulk talk
BYTES=$(how_often 8000000 1000000 1000000)

# device ZEROCOPY [NAME=VALUE...]: one for guests of vhost_vdpa
device() {
	local zerocopy="$1"
	shift
	# one that a test before this has left
	! device_exists vs0 || del_device vs0 || return 1
	cable pfifo && add_device vs0 vhost_vdpa && vsettings vs0 "netns=/run/netns/$H1" "zerocopy=$zerocopy" \
		address=00000000000000000000ffff0a090001 "$@" || return 1
	DEV=$(vhost_of vs0)
}

# lent DEVICE
lent() {
	[ "$(setting lent "$1")" -gt 0 ]
}

# Of vs0, nothing is on loan, and nothing pinned.
all_back() {
	busywait 20000 nothing_lent vs0 && [ "$(setting pinned)" = 0 ] || { vsettings vs0; return 1; }
}

# there_and_back BYTES CHUNK OPTION...: a stream, compared, by buffers of so many bytes
there_and_back() {
	local bytes="$1" chunk="$2"
	shift 2
	guest_connects 10.9.0.2:7000 "$bytes" --chunk "$chunk" "$@"
}

# begin: a stream that goes on and on, with bytes on loan; its guest is $guest
begin() {
	serve "$H2" 10.9.0.2:7000 || return 1
	vstellar-guest connect "$DEV" 10.9.0.2:7000 1000000000 --chunk 65536 --zerocopy \
		>"$TMP/out" 2>&1 &
	guest=$!
	busywait 20000 lent vs0 || { cat "$TMP/out" "$TMP/serve"; kill "$server" "$guest"; return 1; }
}

# begin_slowly: the same, by a cable that has packets for a while
begin_slowly() {
	cable netem limit 10000 delay 5ms && begin
}

# stick: the same, and packets stay in the cable's queue
stick() {
	begin_slowly || return 1
	cable netem limit 10000 delay 100s && busywait 20000 queued || { kill_guest; return 1; }
}

# Some of what waits there is payload.
queued() {
	tc -s -n "$H1" qdisc show dev v1 | grep -qE 'backlog [0-9]{2,}(Kb|Mb) |backlog [0-9]{5,}b '
}

# kill_guest: and the other end with it
kill_guest() {
	kill -KILL "$guest"
	wait "$guest" 2>/dev/null
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null
}

# Who asks for it where it is not offered is refused; who does not ask is served.
off() {
	device off || return 1
	[ "$(setting zerocopy)" = off ] && [ "$(setting loans)" = 67108864 ] || { vsettings vs0; return 1; }
	! vsettings vs0 zerocopy=some 2>/dev/null || { echo "zerocopy=some was taken"; return 1; }
	! vstellar-guest connect "$DEV" 10.9.0.2:7000 1 --zerocopy 2>"$TMP/err" &&
		grep -q features "$TMP/err" || { cat "$TMP/err"; return 1; }
	there_and_back 100000 65536 && [ "$(setting lent-total)" = 0 ] && all_back && del_device vs0
}

whole() {
	device always || return 1
	there_and_back "$BYTES" 65536 --zerocopy || return 1
	[ "$(setting lent-total)" -ge "$BYTES" ] || { vsettings vs0; return 1; }
	all_back || return 1
	# the other way round
	before=$(setting lent-total)
	guest_listens "$BYTES" --chunk 65536 --zerocopy || return 1
	[ "$(setting lent-total)" -ge $((before + BYTES)) ] && all_back || { vsettings vs0; return 1; }
	# a driver that does not take part
	before=$(setting lent-total)
	there_and_back 1000000 65536 && [ "$(setting lent-total)" = "$before" ] || { vsettings vs0; return 1; }
	del_device vs0
}

# Entries of a page or two each, in all places of pages.
pieces() {
	device always && there_and_back "$((BYTES / 4))" 5001 --zerocopy --log2 8 &&
		all_back && del_device vs0
}

disturbed() {
	device always || return 1
	cable netem limit 10000 delay 2ms 1ms loss 1% duplicate 1% || return 1
	there_and_back "$((BYTES / 2))" 65536 --zerocopy || { cable pfifo; return 1; }
	cable pfifo
	all_back && del_device vs0
}

# Here the kernel copies whatever is lent, and the device soon does so itself.
adaptive() {
	device adaptive || return 1
	there_and_back "$BYTES" 65536 --zerocopy || return 1
	total=$(setting lent-total)
	copied=$(setting lent-copied)
	ktap_print_msg "of $BYTES bytes $total were lent, and $copied of them copied" >&3
	[ "$total" -gt 0 ] && [ "$copied" -gt 0 ] && [ "$total" -le $((BYTES / 2)) ] ||
		{ vsettings vs0; return 1; }
	# what is not worth it is not even tried
	there_and_back 100000 8192 --zerocopy && [ "$(setting lent-total)" = "$total" ] ||
		{ vsettings vs0; return 1; }
	all_back && del_device vs0
}

# More is not lent than may be, and copied instead.
quota() {
	device always loans=131072 || return 1
	cable netem limit 10000 delay 5ms && there_and_back "$((BYTES / 2))" 65536 --zerocopy || return 1
	[ "$(setting loans-refused)" -gt 0 ] && [ "$(setting lent-total)" -gt 0 ] ||
		{ vsettings vs0; return 1; }
	all_back || return 1
	# too little for a single loan
	vsettings vs0 loans=65535 && before=$(setting lent-total) || return 1
	there_and_back 1000000 65536 --zerocopy && [ "$(setting lent-total)" = "$before" ] ||
		{ vsettings vs0; return 1; }
	del_device vs0
}

# The guest dies while packets are on their way: its memory is unmapped at once.
killed() {
	device always && stick || return 1
	kill_guest
	lent vs0 && [ "$(setting pinned)" = 0 ] || { vsettings vs0; return 1; }
	cable pfifo
	all_back && del_device vs0
}

# The device goes as well; the module cannot before the packets have gone.
removed() {
	device always && stick || return 1
	kill_guest
	lent vs0 || { vsettings vs0; return 1; }
	del_device vs0 || return 1
	! unload_vstellar 2>/dev/null || { echo "unloaded with bytes on loan"; return 1; }
	cable pfifo
	busywait 20000 unload_vstellar 2>/dev/null || { echo "not unloaded"; return 1; }
	# shellcheck disable=SC2119 # no parameters here
	load_vstellar
}

# Memory is unmapped, and devices are reset, with bytes on loan in a queue.
unmapped() {
	device always || return 1
	tc -n "$H1" qdisc replace dev lo root netem limit 10000 delay 20ms || return 1
	vstellar-guest conformance "$DEV" 10.9.0.1 --other /dev/null --small /dev/null --zerocopy \
		--only "while bytes move" >"$TMP/out" 2>&1 || { cat "$TMP/out"; return 1; }
	tc -n "$H1" qdisc del dev lo root
	[ "$(setting lent-total)" -gt 0 ] && all_back && del_device vs0
}

# Nobody answers: the guest is told, and nothing is kept.
silence() {
	device always && falls_silent begin_slowly && all_back && del_device vs0
}

conformance() {
	local rc=0
	device always && for other in vs8 vs9; do
		add_device "$other" vhost_vdpa && vsettings "$other" "netns=/run/netns/$H1" || return 1
	done
	vsettings vs9 endpoints=2 regions=2 queues=2 quota=6291456 rate=5 || return 1
	vstellar-guest conformance "$DEV" 10.9.0.1 --other "$(vhost_of vs8)" --small "$(vhost_of vs9)" \
		--zerocopy >"$TMP/out" 2>&1 || rc=$?
	if [ "$rc" -ne 0 ]; then
		grep -A 3 '^not ok' "$TMP/out"
	else
		ktap_print_msg "$(tail -n 1 "$TMP/out" | tr -d '#')" >&3
	fi
	all_back || rc=1
	del_device vs8 && del_device vs9 && del_device vs0 || return 1
	return "$rc"
}

# guest: the driver of this kernel, in a namespace
guest() {
	create vs1 && vsettings vs1 "netns=/run/netns/$H1" first-port=1 zerocopy=always &&
		bind vs1 virtio_vdpa && give_device vs1 "$G1"
}

move() {
	bulk -t 100 -b "$BYTES" "$@" || return 1
	busywait 20000 nothing_lent vs1 || { vsettings vs1; return 1; }
}

programs() {
	guest && vsocket "$H2" "$G1" 10.9.0.2 && vsocket "$G1" "$H2" 10.9.0.1 || return 1
	move -c "$G1" -s "$H2" 10.9.0.2 && move -c "$H2" -s "$G1" 10.9.0.1 || return 1
	# many that come and go, some with what was not read
	bulk -t 100 -n "$(how_often 100 30 10)" -b 5000 -c "$G1" -s "$H2" 10.9.0.2 || return 1
	[ "$(setting lent-total vs1)" -gt "$BYTES" ] || { vsettings vs1; return 1; }
}

# The driver's device goes under load, with bytes on loan.
driver_loses() {
	cable netem limit 10000 delay 100ms && serve "$H2" 10.9.0.2:7000 || return 1
	start_in_ns "$G1" vstellar-guest send 10.9.0.2:7000 4000000000 >"$TMP/client" 2>&1
	client=$!
	busywait 20000 lent vs1 || { cat "$TMP/client"; kill "$client"; return 1; }
	del_device vs1 || return 1
	wait_exit "$client" 20000
	[ $? -eq 1 ] || { cat "$TMP/client"; return 1; }
	# whose end is on its way to the server
	wait_exit "$server" 30000
	[ $? -eq 1 ] || { cat "$TMP/serve"; return 1; }
	cable pfifo
	guest && move -c "$G1" -s "$H2" 10.9.0.2
}

# Programs reset connections with data on its way, and their memory is used again by others.
driver_aborts() {
	cable netem limit 10000 delay 20ms || return 1
	for try in $(seq "$(how_often 20 5 3)"); do
		talk -n "$H2" listen 10.9.0.2 7200 err=ECONNRESET >"$TMP/peer" 2>&1 &
		peer=$!
		wait_line "$TMP/peer" 'listen ok' || { cat "$TMP/peer"; return 1; }
		talk -n "$G1" connect 10.9.0.2 7200 send=500000 reset >"$TMP/out" ||
			{ echo "try $try:"; cat "$TMP/out"; kill "$peer"; return 1; }
		wait_exit "$peer" 20000 || { echo "try $try:"; cat "$TMP/peer"; return 1; }
	done
	cable pfifo
	move -c "$G1" -s "$H2" 10.9.0.2
}

# disconnects: one connection is undone before anything can be acknowledged; what passes from
# its last byte on until it is, in ms
disconnects() {
	talk -n "$H2" listen 10.9.0.2 7200 err=ECONNRESET >"$TMP/peer" 2>&1 &
	peer=$!
	wait_line "$TMP/peer" 'listen ok' || { cat "$TMP/peer"; return 1; }
	talk -n "$G1" -b 0.0.0.0 connect 10.9.0.2 7200 send=500000 sleep=20 disconnect >"$TMP/out" ||
		{ cat "$TMP/out"; kill "$peer"; return 1; }
	wait_exit "$peer" 20000 || { cat "$TMP/peer"; return 1; }
	awk '$2 ~ /^send=/ { from = $1 }
		$2 == "disconnect" { print int(($1 - from) / 1000000) }' "$TMP/out"
}

# To undo a connection takes as long as packets have its bytes, here 300 ms, and not the second
# that is waited for them at most. The quickest try tells: others may wait for a CPU.
driver_undoes() {
	cable netem limit 10000 delay 300ms || return 1
	before=$(setting lent-total vs1)
	least=1000000
	for try in $(seq "$(how_often 5 3 3)"); do
		took=$(disconnects) || { echo "try $try: $took"; return 1; }
		[ "$took" -ge "$least" ] || least=$took
	done
	cable pfifo
	ktap_print_msg "undone after $least ms" >&3
	[ "$(setting lent-total vs1)" -gt "$before" ] || { vsettings vs1; return 1; }
	[ "$least" -lt 900 ] || { echo "$least ms"; return 1; }
	move -c "$G1" -s "$H2" 10.9.0.2
}

# leaves: connections of G1 are undone, whose packets are stuck in the cable until all of them
# are. Each gives back what it had when the packets are gone.
leaves() {
	local peers='' clients='' rc=0 i commands
	cable netem limit 10000 delay 5ms && rm -f "$TMP/go" "$TMP/undo" || return 1
	for i in 1 2 3 4; do
		talk -n "$H2" listen 10.9.0.2 "730$i" pause >"$TMP/peer$i" 2>&1 &
		peers="$peers $!"
		wait_line "$TMP/peer$i" 'listen ok' || { cat "$TMP/peer$i"; rc=1; }
		talk -n "$G1" connect 10.9.0.2 "730$i" "wait=$TMP/go" send=16384 "wait=$TMP/undo" \
			disconnect >"$TMP/out$i" 2>&1 &
		clients="$clients $!"
		wait_line "$TMP/out$i" 'connect ok' || { cat "$TMP/out$i"; rc=1; }
	done
	cable netem limit 10000 delay 100s && : >"$TMP/go" || rc=1
	busywait 20000 all_lent || { echo "not all is on loan"; vsettings vs1; rc=1; }
	: >"$TMP/undo"
	for i in $clients; do
		wait_exit "$i" 20000 || { cat "$TMP"/out?; rc=1; }
	done
	lent vs1 || { echo "nothing is on loan"; rc=1; }
	commands=$(attribute vs1 commands)
	cable pfifo
	# one command for each that is taken away
	busywait 20000 commanded $((commands + 4)) || { echo "endpoints stay"; vsettings vs1; rc=1; }
	for i in $peers; do
		kill "$i"
		wait "$i" 2>/dev/null
	done
	return "$rc"
}

# What the four have sent.
all_lent() {
	[ "$(setting lent vs1)" = 65536 ]
}

# commanded COUNT: at least
commanded() {
	[ "$(attribute vs1 commands)" -ge "$1" ]
}

# What was given back is used again, and no further memory.
driver_leaves() {
	leaves || return 1
	before=$(setting pinned vs1)
	leaves || return 1
	[ "$(setting pinned vs1)" -le "$before" ] || { echo "$before was pinned"; vsettings vs1; return 1; }
	busywait 20000 nothing_lent vs1
}

TMP=$(mktemp -d)
defer rm -rf "$TMP"
exec 3>&1
setup_hosts
setup_ns G1

ktap_print_header
ktap_set_plan 16
ktap_test_result "nothing is lent unless somebody says so" off
ktap_test_result "streams out of lent memory are whole" whole
ktap_test_result "lent in small pieces" pieces
ktap_test_result "packets are lost, late, doubled and in another order" disturbed
ktap_test_result "what the kernel copies is not lent for long" adaptive
ktap_test_result "no more is on loan than may be" quota
ktap_test_result "a guest is killed with bytes on loan" killed
ktap_test_result "a device is removed with bytes on loan" removed
ktap_test_result "memory is unmapped with bytes on loan" unmapped
ktap_test_result "the peer falls silent" silence
ktap_test_result "commands and checks, with lent memory" conformance
ktap_test_result "programs of a guest's namespace" programs
ktap_test_result "the driver's device goes with bytes on loan" driver_loses
ktap_test_result "connections are reset with bytes on loan" driver_aborts
ktap_test_result "connections are undone with bytes on loan" driver_undoes
ktap_test_result "connections are undone with bytes stuck on loan" driver_leaves
ktap_finished
