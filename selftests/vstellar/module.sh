#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
#
# vstellar.ko comes and goes: with its devices, bound or not, but not while one is at
# work. Its parameters are held against what can be.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/vstellar_lib.sh"

require_vstellar
require_command vstellar-guest
TIMES=$(how_often 20 5 3)

cycles() {
	for i in $(seq "$TIMES"); do
		create a && add_device b virtio_vdpa && add_device c vhost_vdpa || return 1
		unload_vstellar || { echo "round $i: not unloaded"; return 1; }
		[ "$(device_count)" -eq 0 ] || { echo "round $i: devices are left"; return 1; }
		load_vstellar || { echo "round $i: not loaded"; return 1; }
	done
}

at_work() {
	add_device vs0 vhost_vdpa || return 1
	vstellar-guest hold "$(vhost_of vs0)" >"$TMP/hold" &
	guest=$!
	wait_line "$TMP/hold" '^ready' 20000 || { kill "$guest"; cat "$TMP/hold"; return 1; }
	! unload_vstellar 2>/dev/null || { echo "unloaded"; return 1; }
	kill -KILL "$guest"
	wait "$guest" 2>/dev/null
	busywait 5000 unload_vstellar 2>/dev/null || { echo "not unloaded afterwards"; return 1; }
	load_vstellar
}

# with_parameter ID: the ID that a device has
with_id() {
	unload_vstellar && load_vstellar "virtio_id=$1" || return 1
	add_device vs0 virtio_vdpa || return 1
	printf '%d' "$(cat "$(virtio_of vs0)/device")"
}

ids() {
	[ "$(with_id 20)" = 20 ] || return 1
	unload_vstellar || return 1
	for id in 0 64; do
		! load_vstellar "virtio_id=$id" 2>/dev/null || { echo "ID $id was taken"; return 1; }
	done
	load_vstellar
}

TMP=$(mktemp -d)
defer rm -rf "$TMP"
ktap_print_header
ktap_set_plan 3
ktap_test_result "the module goes with its devices, and comes back" cycles
ktap_test_result "the module stays while a device is at work" at_work
ktap_test_result "devices have the ID that was asked for" ids
ktap_finished
