# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# vstellar_lib.sh - what the tests of vstellar.ko share. Source it after ktap.sh.
#
# A device goes to the first bus driver that wants it, unless the bus is told which:
# add_device creates a device for vhost_vdpa, virtio_vdpa, or none, and waits for it.

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
