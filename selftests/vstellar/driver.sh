#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 300
#
# The guest's driver comes and goes, with its devices and with the network namespaces
# that they serve; and what cannot be is refused.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/vstellar_lib.sh"

require_strack
require_vstellar
require_driver
require_command vsettings vsocket
TIMES=$(how_often 20 5 3)

virtio_driver() {
	basename "$(readlink "$(virtio_of "$1")/driver")"
}

comes_up() {
	add_device vs0 virtio_vdpa || return 1
	[ "$(virtio_driver vs0)" = virtio_vstellar ] || { virtio_driver vs0; return 1; }
	# HELLO and DB_ATTACH
	[ "$(attribute vs0 commands)" = 2 ] && [ "$(attribute vs0 netns)" = 0 ] ||
		{ attribute vs0 commands; return 1; }
	del_device vs0
}

cycles() {
	for i in $(seq "$TIMES"); do
		add_device vs0 virtio_vdpa && [ "$(virtio_driver vs0)" = virtio_vstellar ] ||
			{ echo "round $i: $(virtio_driver vs0)"; return 1; }
		case $((i % 3)) in
		0) unbind vs0 ;;
		1) basename "$(virtio_of vs0)" >/sys/bus/virtio/drivers/virtio_vstellar/unbind ;;
		esac
		del_device vs0 || return 1
	done
}

reloads() {
	add_device vs0 virtio_vdpa || return 1
	for i in $(seq "$TIMES"); do
		unload_driver || { echo "round $i: not unloaded"; return 1; }
		[ -z "$(virtio_driver vs0)" ] || return 1
		load_driver assign=0 && [ "$(virtio_driver vs0)" = virtio_vstellar ] ||
			{ echo "round $i: $(virtio_driver vs0)"; return 1; }
	done
	del_device vs0
}

by_id() {
	unload_vstellar && load_vstellar virtio_id=20 || return 1
	unload_driver && load_driver assign=0 virtio_id=20 || return 1
	add_device vs0 virtio_vdpa && [ "$(virtio_driver vs0)" = virtio_vstellar ] || return 1
	del_device vs0 || return 1
	unload_driver && load_driver assign=0 || return 1
	# not asked for: nobody's
	add_device vs0 virtio_vdpa && [ -z "$(virtio_driver vs0)" ] || return 1
	del_device vs0 && unload_vstellar && load_vstellar
}

given() {
	add_device vs0 virtio_vdpa && add_device vs1 virtio_vdpa || return 1
	give_device vs0 "$G1" && [ "$(attribute vs0 netns)" = "$(inode_of "$G1")" ] || return 1
	# one device each, and each device one
	! give_device vs1 "$G1" 2>/dev/null || { echo "two devices"; return 1; }
	[ "$(attribute vs1 netns)" = 0 ] || return 1
	give_device vs0 "$G2" && give_device vs1 "$G1" || return 1
	! give_device vs0 "$G1" 2>/dev/null || { echo "two devices"; return 1; }
	[ "$(attribute vs0 netns)" = "$(inode_of "$G2")" ] || return 1
	take_device vs0 && [ "$(attribute vs0 netns)" = 0 ] || return 1
	for bad in -1 4194305 x; do
		! echo "$bad" 2>/dev/null >"$(virtio_of vs0)/netns" || { echo "$bad was taken"; return 1; }
	done
	del_device vs0 && del_device vs1
}

# The device serves the initial namespace if nobody says otherwise.
assigned() {
	unload_driver && load_driver || return 1
	add_device vs0 virtio_vdpa && add_device vs1 virtio_vdpa || return 1
	[ "$(attribute vs0 netns)" = "$(stat -L -c %i /proc/1/ns/net)" ] || return 1
	[ "$(attribute vs1 netns)" = 0 ] || return 1
	del_device vs0 && del_device vs1 && unload_driver && load_driver assign=0
}

namespace_ends() {
	add_device vs0 virtio_vdpa || return 1
	setup_ns G3
	give_device vs0 "$G3" || return 1
	cleanup_ns "$G3"
	busywait 10000 unserved vs0 || { attribute vs0 netns; return 1; }
	give_device vs0 "$G1" && del_device vs0
}

unserved() {
	[ "$(attribute "$1" netns)" = 0 ]
}

# Devices have nothing to do with namespaces that they were not given.
others() {
	add_device vs0 virtio_vdpa && give_device vs0 "$G2" || return 1
	vsocket "$G1" "$G1" 127.0.0.1 || return 1
	del_device vs0
}

setup_ns G1 G2
ktap_print_header
ktap_set_plan 8
ktap_test_result "the driver takes the device, and it answers" comes_up
ktap_test_result "a device comes and goes" cycles
ktap_test_result "the driver comes and goes" reloads
ktap_test_result "a device of another ID" by_id
ktap_test_result "a namespace is given a device, and it is taken away" given
ktap_test_result "the first device is the initial namespace's" assigned
ktap_test_result "a namespace ends, and the device serves another" namespace_ends
ktap_test_result "sockets of other namespaces are the engine's" others
ktap_finished
