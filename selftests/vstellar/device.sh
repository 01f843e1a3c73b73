#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
#
# Devices are made and removed on demand with iproute2's vdpa, go to either driver of
# the bus, and leave nothing behind; what cannot be is refused; and one does not hold up
# others.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/vstellar_lib.sh"

require_vstellar
require_command taskset vstellar-guest vsettings
MANY=$(how_often 100 30 20)

shown() {
	vdpa mgmtdev show | grep -q '^vstellar:' || return 1
	vdpa -j mgmtdev show vstellar | grep -q '"max_supported_vqs":3' || return 1
	vdpa mgmtdev show vstellar | grep -q 'VERSION_1.*ACCESS_PLATFORM'
}

one() {
	create vs0 || return 1
	vdpa dev show vs0 | grep -q 'mgmtdev vstellar .*max_vqs 3 max_vq_size 256' || return 1
	[ -z "$(driver_of vs0)" ] || { echo "bound to $(driver_of vs0)"; return 1; }
	del_device vs0 && ! device_exists vs0
}

# refused COMMAND...: fails, and leaves no device
refused() {
	! "$@" 2>/dev/null && [ "$(device_count)" -eq "$before" ]
}

# Feature 0x300000020 is VERSION_1, ACCESS_PLATFORM and F_SHADOW_DB.
wrong() {
	before=$(device_count)
	refused del_device vs0 || { echo "deleted what is not there"; return 1; }
	refused create vs0 mac 02:00:00:00:00:01 || { echo "has a MAC address"; return 1; }
	refused create vs0 device_features 0x200000020 || { echo "without VERSION_1"; return 1; }
	refused create vs0 device_features 0x300000000 || { echo "without doorbells"; return 1; }
	refused create vs0 device_features 0x500000020 || { echo "with packed rings"; return 1; }
	refused create "" || { echo "without a name"; return 1; }
	refused create a/b || { echo "with a path for a name"; return 1; }
	refused create .. || { echo "with a directory for a name"; return 1; }
	refused create "$(printf %064d 1)" || { echo "with a name that has no end"; return 1; }
	create "$(printf %063d 1)" && del_device "$(printf %063d 1)" || return 1
	create vs0 device_features 0x300000020 || return 1
	before=$(device_count)
	refused create vs0 || { echo "two of one name"; return 1; }
	del_device vs0
}

many() {
	start=$(timestamp_ms)
	for i in $(seq "$MANY"); do
		create "vs$i" || return 1
	done
	ktap_print_msg "$MANY devices in $(($(timestamp_ms) - start)) ms"
	[ "$(device_count)" -eq "$MANY" ] || { echo "$(device_count) devices"; return 1; }
	for i in $(seq "$MANY"); do
		del_device "vs$i" || return 1
	done
	[ "$(device_count)" -eq 0 ]
}

# many_bound DRIVER
many_bound() {
	for i in $(seq "$MANY"); do
		add_device "vs$i" "$1" || { echo "vs$i: bound to '$(driver_of "vs$i")'"; return 1; }
	done
	# half of them are taken from it first
	for i in $(seq 1 2 "$MANY"); do
		unbind "vs$i" || return 1
	done
	for i in $(seq "$MANY"); do
		del_device "vs$i" || return 1
	done
	[ "$(device_count)" -eq 0 ]
}

to_vhost() {
	add_device vs0 vhost_vdpa && [ -c "$(vhost_of vs0)" ] && del_device vs0
}

# ID 60; no driver yet takes it
to_virtio() {
	add_device vs0 virtio_vdpa || return 1
	[ "$(cat "$(virtio_of vs0)/device")" = 0x003c ] || { cat "$(virtio_of vs0)/device"; return 1; }
	del_device vs0
}

back_and_forth() {
	create vs0 || return 1
	for i in $(seq 10); do
		bind vs0 virtio_vdpa && unbind vs0 && bind vs0 vhost_vdpa && unbind vs0 ||
			{ echo "round $i: $(driver_of vs0)"; return 1; }
	done
	del_device vs0
}

# in_state STATE PID: D sleeps for a lock, Z is done
in_state() {
	local state=
	read -r _ _ state _ 2>/dev/null <"/proc/$2/stat"
	[ "${state:-Z}" = "$1" ]
}

# add_while_asked NUMBER: who asks for vs0 waits for its work; another device is made meanwhile
add_while_asked() {
	local asks rc=1
	taskset 1 vsettings vs0 >/dev/null &
	asks=$!
	until in_state D "$asks" || in_state Z "$asks"; do
		:
	done
	in_state D "$asks" && vsettings vs1 >/dev/null && vsettings --make vs "$1" 1 &&
		in_state D "$asks" && rc=0
	wait "$asks" || rc=2
	return "$rc"
}

# A guest whose commands take long. That is seen while one of them lasts, so it may take
# some tries; if others waited for it, it would never be seen. Who has to wait for a lock
# sleeps if its owner is on the same processor, and would try again and again on another.
beside_a_busy_one() {
	local guest all rc=1
	all=$(cat "$WORKERS")
	add_device vs0 vhost_vdpa && create vs1 && echo 1 >"$WORKERS" || return 1
	vstellar-guest hold "$(vhost_of vs0)" --pin 192 >"$TMP/hold" &
	guest=$!
	if wait_line "$TMP/hold" '^ready' 20000; then
		for i in $(seq 2 40); do
			add_while_asked "$i" && rc=0 && break
		done
		ktap_print_msg "seen at try $((i - 1))"
	fi
	echo "$all" >"$WORKERS"
	kill "$guest"
	wait "$guest" 2>/dev/null
	cat "$TMP/hold"
	our_devices | grep -v '^vs0$' | while read -r device; do
		del_device "$device"
	done
	del_device vs0 || rc=1
	return "$rc"
}

# where the workers are that carry out what a guest wants
WORKERS=/sys/devices/virtual/workqueue/cpumask
TMP=$(mktemp -d)
defer rm -rf "$TMP"
ktap_print_header
ktap_set_plan 10
ktap_test_result "the management device is there" shown
ktap_test_result "a device is made and removed" one
ktap_test_result "what cannot be is refused" wrong
ktap_test_result "$MANY devices are made and removed" many
ktap_test_result "a device goes to vhost_vdpa" to_vhost
ktap_test_result "a device goes to virtio_vdpa, as device 60" to_virtio
ktap_test_result "a device goes from one to the other" back_and_forth
ktap_test_result "$MANY devices of vhost_vdpa" many_bound vhost_vdpa
ktap_test_result "$MANY devices of virtio_vdpa" many_bound virtio_vdpa
ktap_test_result "a device that is busy does not hold up others" beside_a_busy_one
ktap_finished
