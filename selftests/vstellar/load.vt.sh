#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What a device costs the programs of its guest, beside programs without one, in virtual
# time: bytes in bulk each way, messages there and back, and kicks under load.
#
#	g1 -- vs0 -- h1 (v1) ==== (v2) h2

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/vstellar_lib.sh"

require_strack
require_vstellar
require_driver
require_command vstellar-guest vsettings
MIB=$(how_often 8 4 2)
BYTES=$((MIB << 20))
PINGS=$(how_often 200 100 50)

# run NAME SERVER CLIENT ADDRESS "OPTIONS OF serve" OPTIONS-OF-send...: leaves
# $TMP/NAME.ns, and .kicks of vs0
run() {
	local name="$1" server="$2" client="$3" at="$4" how="$5"
	shift 5
	# shellcheck disable=SC2086 # options
	serve "$server" "$at" $how || return 1
	before=$(attribute vs0 kicks)
	in_ns "$client" vstellar-guest send "$at" "$@" >"$TMP/out" || return 1
	wait_exit "$server" 20000 || { cat "$TMP/serve"; return 1; }
	echo $(($(attribute vs0 kicks) - before)) >"$TMP/$name.kicks"
	sed -n 's/.*"elapsed_ns":\([0-9]*\).*/\1/p' "$TMP/out" >"$TMP/$name.ns"
	[ -s "$TMP/$name.ns" ]
}

ns() {
	cat "$TMP/$1.ns"
}

# goodput NAME NATIVE: at least 0.8 of it
goodput() {
	ktap_print_msg "$1: $(ns "$1") ns with a device, $(ns "$2") without" >&3
	[ $(($(ns "$1") * 4)) -le $(($(ns "$2") * 5)) ] || unmeasured
}

# kicks NAME: one for a MiB at most; connecting and closing are a few, whatever is sent
kicks() {
	[ -s "$TMP/$1.kicks" ] || { echo "nothing was sent"; return 1; }
	ktap_print_msg "$1: $(cat "$TMP/$1.kicks") kicks for $MIB MiB" >&3
	[ "$(cat "$TMP/$1.kicks")" -le $((MIB + 3)) ]
}

up() {
	run native "$H2" "$H1" 10.9.0.2:7000 --silent "$BYTES" --silent &&
		run up "$H2" "$G1" 10.9.0.2:7000 --silent "$BYTES" --silent && goodput up native
}

down() {
	run down "$G1" "$H2" 10.9.0.1:7001 --silent "$BYTES" --silent && goodput down native
}

both() {
	run native-both "$H2" "$H1" 10.9.0.2:7000 "" "$BYTES" --plain &&
		run both "$H2" "$G1" 10.9.0.2:7000 "" "$BYTES" --plain && goodput both native-both
}

ping() {
	run native-ping "$H2" "$H1" 10.9.0.2:7000 "" $((64 * PINGS)) --each 64 &&
		run ping "$H2" "$G1" 10.9.0.2:7000 "" $((64 * PINGS)) --each 64 || return 1
	ktap_print_msg "$PINGS pings: $(ns ping) ns with a device, $(ns native-ping) without" >&3
	[ "$(ns ping)" -le $((2 * $(ns native-ping))) ] || unmeasured
}

TMP=$(mktemp -d)
defer rm -rf "$TMP"
exec 3>&1
setup_hosts
setup_ns G1
create vs0 && vsettings vs0 "netns=/run/netns/$H1" first-port=1 && bind vs0 virtio_vdpa &&
	give_device vs0 "$G1" || ktap_exit_fail_msg "no device"

ktap_print_header
ktap_set_plan 7
ktap_test_result "bulk, guest to host" up
ktap_test_measured "a busy device is not kicked, guest to host" kicks up
ktap_test_result "bulk, host to guest" down
ktap_test_measured "a busy device is not kicked, host to guest" kicks down
ktap_test_result "bulk, both ways" both
ktap_test_measured "a busy device is not kicked, both ways" kicks both
ktap_test_result "messages there and back" ping
ktap_finished
