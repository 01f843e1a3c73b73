#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 600
#
# Ordinary programs in a namespace that has a device: what they may expect of sockets,
# with a device at either end, at both, and at none; bytes in bulk; devices that go.
#
#	g1 -- vs0 -- h1 (v1) ==== (v2) h2 -- vs1 -- g2
#
# The guests g1 and g2 have no network but their device.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/vstellar_lib.sh"

require_strack
require_vstellar
require_driver
require_command vstellar-guest vsettings vsocket vfull bulk talk
MIB=$(how_often 16 4 2)
BYTES=$((MIB << 20))

# device NAME HOST GUEST [SETTING...]
device() {
	local name="$1" host="$2" guest="$3"
	shift 3
	create "$name" && vsettings "$name" "netns=/run/netns/$host" first-port=1 "$@" &&
		bind "$name" virtio_vdpa && give_device "$name" "$guest"
}

move() {
	bulk -t 100 -b "$BYTES" "$@"
}

# A kick is due when the device has had nothing to do for a while, and a machine that stands
# still meanwhile makes such whiles. So these are three tries, of few kicks beside the 52 writes
# in a MiB; load.vt.sh, where nothing stands still, demands one for a MiB at most.
few_kicks() {
	for try in 1 2 3; do
		before=$(attribute vs0 kicks)
		commands=$(attribute vs0 commands)
		move -u -m 20000 -c "$G1" -s "$H2" 10.9.0.2 || return 1
		kicks=$(($(attribute vs0 kicks) - before))
		commands=$(($(attribute vs0 commands) - commands))
		ktap_print_msg "try $try: $kicks kicks, $commands commands for $MIB MiB" >&3
		# connecting and closing are a few, whatever is sent
		[ "$commands" -le 10 ] || { echo "$commands commands"; return 1; }
		[ "$kicks" -gt $((8 * MIB)) ] || return 0
	done
	echo "$kicks kicks for $MIB MiB"
	return 1
}

refused() {
	talk -n "$G1" connect 10.9.0.2 7999 fail=ECONNREFUSED &&
		talk -n "$G1" connect 127.0.0.1 7999 fail=ENETUNREACH
}

# Many, one after the other: nothing of them is left with the device.
many() {
	bulk -t 100 -n "$(how_often 200 50 20)" -b 5000 -c "$G1" -s "$H2" 10.9.0.2 &&
		bulk -t 100 -n "$(how_often 100 30 10)" -b 5000 -c "$H2" -s "$G1" 10.9.0.1
}

# A device that may pin four blocks of 2 MiB, two of which may be rings: which sockets it
# refuses is of no concern to the others, nor to the device.
no_more() {
	del_device vs0 && device vs0 "$H1" "$G1" quota=8388608 || return 1
	vfull "$H2" "$G1" 10.9.0.2 || return 1
	[ "$(setting pinned-peak vs0)" -le 8388608 ] || { setting pinned-peak vs0; return 1; }
	# and it was the same device all the time
	[ "$(attribute vs0 netns)" = "$(inode_of "$G1")" ] || return 1
	del_device vs0 && device vs0 "$H1" "$G1"
}

# What a machine's process might pin, two blocks, does not bind the driver that comes after it.
another_user() {
	del_device vs0 && create vs0 && vsettings vs0 "netns=/run/netns/$H1" first-port=1 &&
		bind vs0 vhost_vdpa || return 1
	chmod 666 "$(vhost_of vs0)"
	(ulimit -l 4096 && vstellar-guest limit "$(vhost_of vs0)" 4096 --user 65534) || return 1
	unbind vs0 && bind vs0 virtio_vdpa && give_device vs0 "$G1" || return 1
	vfull "$H2" "$G1" 10.9.0.2 60 || return 1
	# nor does the driver leave anything to a machine
	unbind vs0 && bind vs0 vhost_vdpa || return 1
	vstellar-guest conformance "$(vhost_of vs0)" 10.9.0.1 --other /dev/null --small /dev/null \
		--only "memory is pinned when it is used" || return 1
	del_device vs0 && device vs0 "$H1" "$G1"
}

# loaded FILE: a server for load, and a client in the guest whose output is FILE
loaded() {
	serve "$H2" 10.9.0.2:7000 || return 1
	start_in_ns "$G1" vstellar-guest send 10.9.0.2:7000 4000000000 >"$1" 2>&1
	client=$!
	await_moving vs0 || { cat "$1" "$TMP/serve"; return 1; }
}

# ends COMMAND...: under load. Neither end of the stream hangs, both fail.
ends() {
	loaded "$TMP/client" || return 1
	"$@" || return 1
	wait_exit "$client" 20000
	[ $? -eq 1 ] || { echo "the client:"; cat "$TMP/client"; return 1; }
	wait_exit "$server" 30000
	[ $? -eq 1 ] || { echo "the server:"; cat "$TMP/serve"; return 1; }
	grep -qE '\(os error (100|32|104)\)' "$TMP/client" || { cat "$TMP/client"; return 1; }
}

driver_unbind() {
	basename "$(virtio_of vs0)" >/sys/bus/virtio/drivers/virtio_vstellar/unbind
}

removed() {
	ends del_device vs0 && device vs0 "$H1" "$G1" || return 1
	ends driver_unbind && del_device vs0 && device vs0 "$H1" "$G1" &&
		move -c "$G1" -s "$H2" 10.9.0.2
}

# Who sleeps when the device goes is woken: in accept() and in recv().
removed_idle() {
	talk -n "$G1" listen 0.0.0.0 7100 eof >"$TMP/accept" 2>&1 &
	listener=$!
	talk -n "$H2" listen 10.9.0.2 7200 pause >"$TMP/peer" 2>&1 &
	peer=$!
	wait_line "$TMP/accept" 'listen ok' && wait_line "$TMP/peer" 'listen ok' || return 1
	talk -n "$G1" connect 10.9.0.2 7200 err=ENETDOWN >"$TMP/recv" 2>&1 &
	reader=$!
	wait_line "$TMP/recv" 'connect ok' || { cat "$TMP/recv"; return 1; }
	del_device vs0 || return 1
	wait_exit "$reader" 10000 || { cat "$TMP/recv"; return 1; }
	wait_exit "$listener" 10000
	[ $? -eq 1 ] && grep -q 'accept ENETDOWN' "$TMP/accept" || { cat "$TMP/accept"; return 1; }
	kill "$peer"
	wait "$peer" 2>/dev/null
	# the namespace's sockets are the engine's again
	vsocket "$G1" "$G1" 127.0.0.1 || return 1
	device vs0 "$H1" "$G1"
}

# Who listens is told, and has nothing of what it was taken away.
removed_listening() {
	vsocket --gone "$G1" >"$TMP/gone" 2>&1 &
	program=$!
	wait_line "$TMP/gone" ready && del_device vs0 || { cat "$TMP/gone"; return 1; }
	wait_exit "$program" 20000 || { cat "$TMP/gone"; return 1; }
	device vs0 "$H1" "$G1"
}

# With a socket open the module stays; with none, it goes.
module_stays() {
	talk -n "$G1" listen 0.0.0.0 7100 eof >"$TMP/accept" 2>&1 &
	listener=$!
	wait_line "$TMP/accept" 'listen ok' || return 1
	! rmmod virtio_vstellar 2>/dev/null || { echo "unloaded"; return 1; }
	kill -KILL "$listener"
	wait "$listener" 2>/dev/null
	unload_driver && load_driver assign=0
}

TMP=$(mktemp -d)
defer rm -rf "$TMP"
exec 3>&1
setup_hosts
setup_ns G1 G2
ip -n "$H1" addr add fd09::1/64 dev v1 nodad
ip -n "$H2" addr add fd09::2/64 dev v2 nodad
device vs0 "$H1" "$G1" && device vs1 "$H2" "$G2" || ktap_exit_fail_msg "no devices"

ktap_print_header
ktap_set_plan 18
ktap_test_result "sockets, no device" vsocket "$H2" "$H1" 10.9.0.2
ktap_test_result "sockets, the client's a device's" vsocket "$H2" "$G1" 10.9.0.2
ktap_test_result "sockets, the server's a device's" vsocket "$G1" "$H2" 10.9.0.1
ktap_test_result "sockets, both devices'" vsocket "$G2" "$G1" 10.9.0.2
ktap_test_result "sockets, both devices', IPv6" vsocket "$G2" "$G1" fd09::2
ktap_test_result "bulk, guest to host, both ways" move -c "$G1" -s "$H2" 10.9.0.2
ktap_test_result "bulk, host to guest, both ways" move -c "$H2" -s "$G1" 10.9.0.1
ktap_test_result "bulk, guest to guest, both ways" move -c "$G1" -s "$G2" 10.9.0.2
ktap_test_result "bulk, one byte for each call" bulk -b 5000 -m 1 -c "$G1" -s "$G2" 10.9.0.2
ktap_test_result "a busy device is not kicked" few_kicks
ktap_test_result "nobody is there" refused
ktap_test_result "many connections" many
ktap_test_result "no memory for more sockets" no_more
ktap_test_result "a device that a machine had before" another_user
ktap_test_result "devices go under load" removed
ktap_test_result "a device goes while programs sleep" removed_idle
ktap_test_result "a device goes while a program listens" removed_listening
ktap_test_result "the module stays while there is a socket" module_stays
ktap_finished
