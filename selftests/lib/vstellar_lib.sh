# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# shellcheck disable=SC2015 # "or give up" is meant
#
# vstellar_lib.sh - what the tests of vstellar.ko share. Source it after ktap.sh.
#
# A device goes to the first bus driver that wants it, unless the bus is told which:
# add_device creates a device for vhost_vdpa, virtio_vdpa, or none, and waits for it.
#
# Where bytes move, a device serves h1, and its guest's peer is in h2 (setup_hosts):
#
#	guest -- vs0 -- h1 (v1) 10.9.0.1 ==== 10.9.0.2 (v2) h2

VDPA=/sys/bus/vdpa

vstellar_loaded() {
	[ -d /sys/module/vstellar ]
}

# load_vstellar [PARAMETER=VALUE...]
# shellcheck disable=SC2120
load_vstellar() {
	if [ -f "$STRACK_DIR/vstellar.ko" ]; then
		insmod "$STRACK_DIR/vstellar.ko" "$@"
	else
		modprobe vstellar "$@"
	fi
}

unload_vstellar() {
	rmmod vstellar
}

# require_vstellar: skips where the kernel has no vDPA; loads the module, and takes it out
# again when the script ends. Devices are not bound by themselves then.
require_vstellar() {
	require_root
	require_command vdpa
	modprobe -qa vdpa vhost_vdpa virtio_vdpa
	if ! [ -d "$VDPA/drivers/vhost_vdpa" ] || ! [ -d "$VDPA/drivers/virtio_vdpa" ]; then
		ktap_skip_all "this kernel has no vDPA"
	fi
	if vstellar_loaded && [ "$(device_count)" -ne 0 ]; then
		ktap_skip_all "there are vstellar devices"
	fi
	# shellcheck disable=SC2119 # no parameters here
	vstellar_loaded || load_vstellar || ktap_exit_fail_msg "vstellar.ko does not load"
	defer unload_vstellar
	defer del_all_devices
	echo 0 >"$VDPA/drivers_autoprobe"
	defer sh -c "echo 1 >$VDPA/drivers_autoprobe"
}

# create NAME [PARAMETER...]
create() {
	local name="$1"
	shift
	vdpa dev add name "$name" mgmtdev vstellar "$@"
}

# bind NAME DRIVER
bind() {
	echo "$2" >"$VDPA/devices/$1/driver_override" && echo "$1" >"$VDPA/drivers_probe" &&
		[ "$(driver_of "$1")" = "$2" ]
}

unbind() {
	echo "$1" >"$VDPA/devices/$1/driver/unbind"
}

driver_of() {
	basename "$(readlink "$VDPA/devices/$1/driver")" 2>/dev/null
}

# add_device NAME [DRIVER]
add_device() {
	create "$1" || return
	[ -z "${2:-}" ] || bind "$1" "$2"
}

del_device() {
	vdpa dev del "$1"
}

device_exists() {
	[ -e "$VDPA/devices/$1" ]
}

# our_devices: those of vstellar's, one a line
our_devices() {
	vdpa dev show | sed -n 's/^\([^:]*\): .*mgmtdev vstellar .*/\1/p'
}

device_count() {
	our_devices | wc -l
}

del_all_devices() {
	our_devices | while read -r device; do
		del_device "$device"
	done
}

# setting NAME [DEVICE]: a setting of the device (vs0 unless said), or a counter
setting() {
	vsettings "${2:-vs0}" | awk -v name="$1" '$1 == name { print $2 }'
}

# nothing_lent DEVICE: no packet refers to its guest's memory
nothing_lent() {
	[ "$(setting lent "$1")" = 0 ]
}

# vhost_of NAME: the file that a virtual machine opens
vhost_of() {
	local path
	for path in "$VDPA/devices/$1"/vhost-vdpa-*; do
		[ -e "/dev/${path##*/}" ] || return 1
		echo "/dev/${path##*/}"
	done
}

# virtio_of NAME: its directory among virtio's devices
virtio_of() {
	local path
	for path in "$VDPA/devices/$1"/virtio*; do
		[ -e "$path/device" ] && echo "$path"
	done
}

#
# The guest's driver, in this kernel
#

driver_loaded() {
	[ -d /sys/module/virtio_vstellar ]
}

# load_driver [PARAMETER=VALUE...]
load_driver() {
	if [ -f "$STRACK_DIR/virtio_vstellar.ko" ]; then
		insmod "$STRACK_DIR/virtio_vstellar.ko" "$@"
	else
		modprobe virtio_vstellar "$@"
	fi
}

# unload_driver: the last socket may be at its end just now
unload_driver() {
	busywait 5000 rmmod virtio_vstellar 2>/dev/null || rmmod virtio_vstellar
}

# require_driver: after require_vstellar. Devices serve no namespace unless they are told to.
require_driver() {
	if driver_loaded; then
		ktap_skip_all "virtio_vstellar is loaded"
	fi
	load_driver assign=0 || ktap_exit_fail_msg "virtio_vstellar.ko does not load"
	defer unload_driver
	defer del_all_devices
}

# attribute NAME ATTRIBUTE: of the driver's device
attribute() {
	cat "$(virtio_of "$1")/$2"
}

# give_device NAME NAMESPACE: the sockets of that namespace are the device's
give_device() {
	# shellcheck disable=SC2016 # expanded inside
	in_ns "$2" sh -c 'echo $$ >"$1"' - "$(virtio_of "$1")/netns"
}

# take_device NAME
take_device() {
	echo 0 >"$(virtio_of "$1")/netns"
}

# inode_of NAMESPACE
inode_of() {
	stat -L -c %i "/run/netns/$1"
}

#
# Streams, between a guest and the network; files of theirs are in the script's $TMP
#

# setup_hosts: the namespaces H1 and H2, and their cable
setup_hosts() {
	setup_ns H1 H2
	setup_veth "$H1" v1 10.9.0.1/24 "$H2" v2 10.9.0.2/24 9000 || ktap_exit_fail_msg "no cable"
}

# cable ARGUMENT...: what becomes of packets on it, both ways
cable() {
	tc -n "$H1" qdisc replace dev v1 root "$@" && tc -n "$H2" qdisc replace dev v2 root "$@"
}

# serve NAMESPACE ADDRESS:PORT [OPTION...]: a program there, $server, that gives back what
# comes; what it says is in $TMP/serve
serve() {
	local ns="$1"
	shift
	# what another one has said is gone when it begins
	rm -f "$TMP/serve"
	start_in_ns "$ns" vstellar-guest serve "$@" >"$TMP/serve" 2>&1
	server=$!
	wait_line "$TMP/serve" '^ready' 20000 || { cat "$TMP/serve"; kill "$server"; return 1; }
}

# guest_connects ADDRESS:PORT BYTES [OPTION...]: the guest of the device $DEV sends them to h2
# and compares what comes back
guest_connects() {
	serve "$H2" "$1" || return 1
	vstellar-guest connect "$DEV" "$@" >"$TMP/out" 2>&1 ||
		{ cat "$TMP/out" "$TMP/serve"; kill "$server"; return 1; }
	wait_exit "$server" 20000 || { cat "$TMP/serve"; return 1; }
}

# guest_listens BYTES [OPTION...]: the same, the guest is the one that gives them back
guest_listens() {
	local bytes="$1"
	shift
	vstellar-guest listen "$DEV" 7100 "$@" >"$TMP/listen" 2>&1 &
	guest=$!
	wait_line "$TMP/listen" '^ready' 20000 || { cat "$TMP/listen"; kill "$guest"; return 1; }
	in_ns "$H2" vstellar-guest send 10.9.0.1:7100 "$bytes" >"$TMP/out" 2>&1 ||
		{ cat "$TMP/out" "$TMP/listen"; kill "$guest"; return 1; }
	wait_exit "$guest" 20000 || { cat "$TMP/listen"; return 1; }
}

# await_moving DEVICE: until some more of its streams has been sent
await_moving() {
	busywait 20000 __moved "$1" "$(setting pin-hits "$1")"
}

__moved() {
	[ "$(setting pin-hits "$1")" -gt $(($2 + 100)) ]
}

# falls_silent COMMAND...: begins a stream between $guest and $server, and then the peer is not
# there any more: the guest is told
falls_silent() {
	local retries code
	# the device gives up sooner than the guest would
	retries=$(in_ns "$H1" cat /proc/sys/net/strack/retries)
	ns_sysctl "$H1" net.strack.retries=8
	"$@" && cable netem loss 100% || return 1
	wait_exit "$guest" 60000
	code=$?
	kill "$server"
	wait "$server" 2>/dev/null
	cable pfifo
	ns_sysctl "$H1" "net.strack.retries=$retries"
	# no answer, or no neighbour any more, which may be noticed first
	[ "$code" -eq 1 ] && grep -qE 'failed with status (11|13)' "$TMP/out" ||
		{ echo "exit code $code"; cat "$TMP/out"; return 1; }
}
