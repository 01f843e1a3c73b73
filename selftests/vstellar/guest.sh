#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
#
# How a guest's memory is pinned: on first use, as its owner's memory, no more of it than
# that may, and nothing after it has died; and with use_va=0 all of it at once.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/vstellar_lib.sh"

require_strack
require_vstellar
require_command vstellar-guest vsettings

# a device in the namespace
device() {
	add_device vs0 vhost_vdpa && vsettings vs0 "netns=/run/netns/$H1" \
		address=00000000000000000000ffff0a090001
}

# The limit of a process that may not do without: two blocks.
limit() {
	local rc=0
	device || return 1
	chmod 666 "$(vhost_of vs0)"
	(ulimit -l 4096 && vstellar-guest limit "$(vhost_of vs0)" 4096 --user 65534) || rc=$?
	del_device vs0 || return 1
	return "$rc"
}

# pinned MODE MIB OPTION...: bytes pinned by guests of that size after their first transfer
pinned() {
	local mode="$1" size="$2" rc=0
	shift 2
	device || return 1
	vstellar-guest startup "$(vhost_of vs0)" 10.9.0.1 --mode "$mode" --sizes "$size" \
		--rounds 3 "$@" >"$TMP/$mode" || rc=$?
	del_device vs0 || return 1
	cat "$TMP/$mode"
	return "$rc"
}

# Two blocks hold all that such a guest uses, of 16 GiB as of 16 MiB.
on_first_use() {
	pinned first-use 16,16384 && [ "$(grep -c '"pinned":4194304' "$TMP/first-use")" -eq 6 ]
}

all_at_once() {
	pinned all 8 --private && [ "$(grep -c '"pinned":8388608' "$TMP/all")" -eq 3 ]
}

# A memory cgroup in the hierarchy of this kernel, mounted here
cgroup() {
	CGROUP="$TMP/cgroup"
	mkdir "$CGROUP" && mount -t cgroup2 none "$CGROUP" || return 1
	defer umount "$CGROUP"
	echo +memory >"$CGROUP/cgroup.subtree_control" && mkdir "$CGROUP/machine" || return 1
	defer rmdir "$CGROUP/machine"
}

# Of the block of 2 MiB that has the rings a machine has touched a small part itself. The
# kernel may be some hundred KiB behind with its sums.
charged() {
	local pid rc=0
	device || return 1
	# shellcheck disable=SC2016 # expanded inside
	sh -c 'echo $$ >"$1/cgroup.procs" && exec vstellar-guest hold "$2"' - "$CGROUP/machine" \
		"$(vhost_of vs0)" >"$TMP/hold" &
	pid=$!
	wait_line "$TMP/hold" '^ready' || rc=1
	awk '$1 == "shmem" { print; exit ($2 < 1500000) }' "$CGROUP/machine/memory.stat" || rc=1
	kill "$pid"
	wait "$pid" 2>/dev/null
	del_device vs0 || return 1
	return "$rc"
}

charged_test() {
	if cgroup 2>/dev/null; then
		ktap_test_result "$@"
	else
		ktap_test_skip "$1" "there are no memory cgroups here"
	fi
}

# A reset, and memory taken away, while all is kicked.
under_load() {
	local rc=0
	device || return 1
	vstellar-guest conformance "$(vhost_of vs0)" 10.9.0.1 --other /dev/null --small /dev/null \
		--private --only "under load" || rc=$?
	del_device vs0 || return 1
	return "$rc"
}

# With use_va=0 each run of pages is mapped by itself that lies together in the machine's
# memory, and what a device uses has to lie in one mapping. Huge pages see to that.
pinned_test() {
	if grep -qs '\[always\]' /sys/kernel/mm/transparent_hugepage/enabled; then
		ktap_test_result "$@"
	else
		ktap_test_skip "$1" "memory is not in huge pages here"
	fi
}

TMP=$(mktemp -d)
defer rm -rf "$TMP"
setup_hosts

ktap_print_header
ktap_set_plan 5
ktap_test_result "no more is pinned than the process may" limit
ktap_test_result "what is used is pinned, whatever the guest's size" on_first_use
charged_test "what is used is charged to the machine" charged
unload_vstellar
load_vstellar use_va=0
ulimit -l unlimited
pinned_test "with use_va=0 all memory is pinned" all_at_once
pinned_test "reset under load, and memory taken away, all memory pinned" under_load
ktap_finished
