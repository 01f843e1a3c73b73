#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
#
# What a guest, and the machine that it runs on, can do to a device of vhost_vdpa:
# memory pinned on first use, and with use_va=0 all of it; set-up, right and wrong;
# resets, suspensions, and memory taken away while everything is kicked; death.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/vstellar_lib.sh"

require_vstellar
require_command vguest vsettings
TIMES=$(how_often 20 5 3)

# guest TEST [MIB]: with a device of its own
guest() {
	local rc=0
	add_device vs0 vhost_vdpa || return 1
	vguest "$1" "$(vhost_of vs0)" ${2:+"$2"} || rc=$?
	del_device vs0 || return 1
	return "$rc"
}

# The device may pin two blocks.
quota() {
	local rc=0
	add_device vs0 vhost_vdpa && vsettings vs0 quota=4194304 || return 1
	vguest quota "$(vhost_of vs0)" || rc=$?
	del_device vs0 || return 1
	return "$rc"
}

# Killed with everything mapped and at work; the next one finds a device like new.
killed() {
	add_device vs0 vhost_vdpa || return 1
	for _ in $(seq "$TIMES"); do
		rm -f "$TMP/hold"
		vguest hold "$(vhost_of vs0)" >"$TMP/hold" &
		guest=$!
		wait_line "$TMP/hold" ready 20000 || { kill "$guest"; cat "$TMP/hold"; return 1; }
		kill -KILL "$guest"
		wait "$guest" 2>/dev/null
	done
	vguest config "$(vhost_of vs0)" && vguest hello "$(vhost_of vs0)" && del_device vs0
}

TMP=$(mktemp -d)
defer rm -rf "$TMP"
ktap_print_header
ktap_set_plan 16
ktap_test_result "the configuration can be read" guest config
ktap_test_result "features are negotiated" guest features
ktap_test_result "queues are set up" guest queues
ktap_test_result "memory is mapped by its rights" guest map
ktap_test_result "without memory no address means anything" guest nomap
ktap_test_result "memory is pinned when it is used" guest pinned
ktap_test_result "no more is pinned than the device may" quota
ktap_test_result "no more is pinned than the process may" guest limit
ktap_test_result "commands are answered" guest hello
ktap_test_result "chains that break the rules break the queue" guest chains
ktap_test_result "reset under load" guest reset
ktap_test_result "memory taken away under load" guest unmap
ktap_test_result "suspended and resumed" guest suspend
ktap_test_result "killed at work" killed
unload_vstellar
load_vstellar use_va=0
# all memory counts against this limit now; and vhost_vdpa has one of 2048 runs of pages, so
# that there must not be more pages than that
ulimit -l unlimited
ktap_test_result "commands are answered, all memory pinned" guest hello 4
ktap_test_result "reset under load, all memory pinned" guest reset 4
ktap_finished
