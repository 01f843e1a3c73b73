#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 1200
#
# A virtual machine has a device: QEMU as it is distributed runs in this guest, which is
# the host here, and runs the stock kernel with the guest's driver. An ordinary program
# in there, which knows nothing of either (socat), exchanges files with one out here.
#
#	inner guest -- vs0 -- h1 (v1) ==== (v2) h2
#
# The inner guest has booted elsewhere and goes on here, see image; the device is plugged
# in. Its shell reads from a pipe, so that all is said here. What is emulated twice is
# slow, starting a program most of all, and each step says how long it took.

. "${STRACK_LIB:-$(dirname "$0")/../../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../../lib}/vstellar_lib.sh"

IMAGE=$STRACK_DIR/nested
[ -x "$IMAGE/qemu/qemu-system-x86_64" ] || ktap_skip_all "there is no QEMU here: make test-nested brings it"
# shellcheck source=selftests/vstellar/nested/machine.sh
. "$IMAGE/machine.sh"

MIB=$(how_often 4 1 1)
# At most this is pinned: two pieces of the sockets' memory, and the blocks in which the
# doorbells, commands, events and three virtqueues may lie, one each.
PINNED_MAX=$((8 * (2 << 20)))
ANSWER_S=240

# What reads an answer, up to its end and no further. (sed and awk would wait for the line
# after it, or until their buffers are full.)
# shellcheck disable=SC2016 # expanded by the shell that runs it
ANSWER='
	while IFS= read -r line; do
		case $line in
		"@@ begin $0") begun=yes ;;
		"@@ end $0 "*) exit "${line##* }" ;;
		*) [ -z "$begun" ] || printf "%s\n" "$line" ;;
		esac
	done
	exit 125'

# inner SECONDS COMMAND: by the shell of the inner guest; its output and its exit code
inner() {
	local tag limit="$1"
	shift
	tag=$(mktemp -u XXXXXX)
	printf 'echo "@@ begin %s"; (%s\n) </dev/null 2>&1; echo "@@ end %s $?"\n' "$tag" "$*" "$tag" >&4
	timeout "$((limit * SLOW))" sh -c "$ANSWER" "$tag" <&6
}

# monitor COMMAND: QEMU's
monitor() {
	echo "$*" >&5
}

stat_of() {
	vsettings vs0 | awk -v name="$1" '$1 == name { print $2 }'
}

# step DESCRIPTION COMMAND: a result, and the seconds that it took
step() {
	local start rc=0
	start=$(timestamp_ms)
	ktap_test_result "$@" || rc=$?
	ktap_print_msg "$((($(timestamp_ms) - start) / 1000)) s"
	return "$rc"
}

goes_on() {
	inner "$ANSWER_S" 'uname -r; cut -d" " -f1 /proc/uptime' >"$TMP/out" ||
		{ cat "$TMP/out" "$TMP/qemu.log"; return 1; }
	ktap_print_msg "$(paste -sd' ' "$TMP/out") s" >&3
}

plug() {
	monitor "device_add vhost-vdpa-device-pci,id=vs0,bus=root,iommu_platform=on,disable-legacy=on,vhostdev=$VHOST"
}

# A device without a driver.
plugged() {
	plug
	# shellcheck disable=SC2016 # expanded in there
	inner "$ANSWER_S" '
		until
			for device in /sys/bus/virtio/devices/*; do read -r id <$device/device; done
			[ $id = 0x0014 ]
		do
			sleep 1
		done' ||
		{ cat "$TMP/monitor.out"; return 1; }
	[ "$(stat_of pinned-peak)" = 0 ] || { vsettings vs0; return 1; }
}

# The driver, and whose sockets are the device's: the initial namespace's.
driver() {
	# shellcheck disable=SC2016 # expanded in there
	inner "$ANSWER_S" '
		insmod /virtio_vstellar.ko virtio_id=20 || exit
		device=$(echo /sys/bus/virtio/drivers/virtio_vstellar/virtio*)
		cat $device/device $device/netns; stat -L -c %i /proc/1/ns/net' >"$TMP/driver"
	# and HELLO is answered by then
	[ "$(sed -n 1p "$TMP/driver")" = 0x0014 ] && [ "$(sed -n 2p "$TMP/driver")" = "$(sed -n 3p "$TMP/driver")" ] ||
		{ cat "$TMP/driver"; return 1; }
}

# address HOST PORT: of a stream socket, as socat has it: family, protocol and the rest of
# struct sockaddr_strack. HOST is the last byte of 10.9.0.0/24, or "any".
address() {
	if [ "$1" = any ]; then
		printf '%s:0:x%04x%048x\n' "$FAMILY" "$2" 0
	else
		printf '%s:0:x%04x%08x%020xffff0a0900%02x%08x\n' "$FAMILY" "$2" 0 0 "$1" 0
	fi
}

# host FROM TO: socat in the host's network, in the background; its log is host.log. (A
# function's shell would keep the result's pipe open: no failure before socat has ended.)
host() {
	ip netns exec "$H2" socat -d -d -u "$@" >"$TMP/host.log" 2>&1 &
	host=$!
}

host_listens() {
	wait_line "$TMP/host.log" 'listening on' || { cat "$TMP/host.log"; return 1; }
}

host_ends() {
	wait_exit "$host" $((ANSWER_S * 1000)) || { cat "$TMP/host.log"; return 1; }
}

# sent HASH: is it that of the file?
sent() {
	[ "$1" = "$(sha256sum <"$TMP/file")" ] || { echo "$1"; sha256sum "$TMP/file"; return 1; }
}

inward() {
	host "OPEN:$TMP/file" "SOCKET-LISTEN:$(address any 7000)" && host_listens || return 1
	inner "$ANSWER_S" "socat -u SOCKET-CONNECT:$(address 2 7000) CREATE:file && sha256sum <file" >"$TMP/out" ||
		{ cat "$TMP/out" "$TMP/host.log"; return 1; }
	host_ends && sent "$(cat "$TMP/out")"
}

outward() {
	host "SOCKET-LISTEN:$(address any 7000)" "CREATE:$TMP/back" && host_listens || return 1
	inner "$ANSWER_S" "socat -u OPEN:file SOCKET-CONNECT:$(address 2 7000)" ||
		{ cat "$TMP/host.log"; return 1; }
	host_ends && sent "$(sha256sum <"$TMP/back")"
}

# The guest listens. Its socat speaks, and ends, into pipes.
accepts() {
	inner "$ANSWER_S" "mkfifo log status
		exec 9<>log
		{ socat -d -d -u SOCKET-LISTEN:$(address any 7100) CREATE:accepted 2>&9; echo \$? >status; } &
		while read -r line && echo \"\$line\" >&2; do
			case \$line in *'listening on'*) exit ;; esac
		done <&9" || return 1
	host "OPEN:$TMP/file" "SOCKET-CONNECT:$(address 1 7100)"
	host_ends || return 1
	# shellcheck disable=SC2016 # expanded in there
	inner "$ANSWER_S" 'read -r code <status; rm log status; sha256sum <accepted; exit $code' >"$TMP/out" &&
		sent "$(cat "$TMP/out")" || { cat "$TMP/out"; return 1; }
}

# Of all the memory that the machine has, and not more of the process than the device says.
pinned() {
	now=$(stat_of pinned)
	vm=$(awk '$1 == "VmPin:" { print $2 }' "/proc/$PID/status")
	ktap_print_msg "pinned: $((now >> 10)) KiB, at most $(($(stat_of pinned-peak) >> 10)) KiB, of $MEMORY MiB" >&3
	[ "$now" -gt 0 ] && [ "$(stat_of pinned-peak)" -le "$PINNED_MAX" ] && [ "$((vm << 10))" -eq "$now" ] ||
		{ echo "VmPin: $vm kB"; vsettings vs0; return 1; }
}

# loaded: the guest sends without end
loaded() {
	host "SOCKET-LISTEN:$(address any 7000)" OPEN:/dev/null && host_listens || return 1
	inner "$ANSWER_S" "mkfifo status
		{ socat -u OPEN:/dev/zero SOCKET-CONNECT:$(address 2 7000) 2>log; echo \$? >status; } &" || return 1
	before=$(stat_of pin-hits)
	slowwait "$ANSWER_S" moves || { cat "$TMP/host.log"; vsettings vs0; return 1; }
}

moves() {
	[ "$(stat_of pin-hits)" -gt $((before + 100)) ]
}

# The peer of a guest that is gone hears of it.
host_fails() {
	wait_exit "$host" $((ANSWER_S * 1000))
	[ $? -eq 1 ] && grep -q 'Connection reset by peer' "$TMP/host.log" || { cat "$TMP/host.log"; return 1; }
}

# The driver is told, and removes what there is; QEMU lets go of the device then.
unplugged() {
	loaded || return 1
	monitor device_del vs0
	slowwait "$ANSWER_S" nothing_left >/dev/null || { nothing_left; cat "$TMP/monitor.out"; return 1; }
	host_fails || return 1
	# shellcheck disable=SC2016 # expanded in there
	inner "$ANSWER_S" 'read -r code <status; rm status; cat log; exit $code' >"$TMP/out"
	[ $? -eq 1 ] && grep -q 'Network is down' "$TMP/out" || { cat "$TMP/out"; return 1; }
}

nothing_left() {
	[ "$(stat_of pinned)" = 0 ] || { vsettings vs0; return 1; }
}

keep_logs() {
	cp "$TMP/console.log" "$STRACK_OUT/inner-console.log"
	cp "$TMP/qemu.log" "$STRACK_OUT/inner-qemu.log"
}

# What was plugged in serves the next program that starts.
plugged_again() {
	host "SOCKET-LISTEN:$(address any 7000)" "CREATE:$TMP/first" && host_listens || return 1
	start=$(timestamp_ms)
	plug
	inner "$ANSWER_S" "
		until
			netns=0
			for device in /sys/bus/virtio/drivers/virtio_vstellar/virtio*; do read -r netns <\$device/netns; done
			[ \$netns != 0 ]
		do
			sleep 1
		done
		echo first | socat -u - SOCKET-CONNECT:$(address 2 7000)" ||
		{ cat "$TMP/monitor.out"; return 1; }
	host_ends || return 1
	ktap_print_msg "from plugging it in to the end of the first stream: $(($(timestamp_ms) - start)) ms" >&3
	[ "$(cat "$TMP/first")" = first ] || { cat "$TMP/first"; return 1; }
}

# The machine hibernates, for which it has no room: all devices have been put to sleep and
# woken up by then. What had a connection has been told, and the namespace has a new device.
# The port of the shell is none of those that live through it, so the guest says by way of
# the device what became of it, and what its kernel has to say, and then sends without end.
slept() {
	loaded || return 1
	# shellcheck disable=SC2016 # expanded in there
	printf '{
		echo shutdown >/sys/power/disk
		echo disk >/sys/power/state
		read -r code <status
		{ echo "$code"; cat log; . /runner.sh; klog_since nested; } >woken
		until socat -u OPEN:woken SOCKET-CONNECT:%s; do sleep 1; done
		until socat -u OPEN:/dev/zero SOCKET-CONNECT:%s; do sleep 1; done
	} </dev/null >/dev/ttyS0 2>&1 &\n' "$(address 2 7200)" "$(address 2 7000)" >&4
	host_fails || return 1
	host "SOCKET-LISTEN:$(address any 7200)" "CREATE:$TMP/woken" && host_listens || return 1
	host_ends || { cat "$TMP/console.log"; return 1; }
	[ "$(head -n 1 "$TMP/woken")" = 1 ] && grep -q 'Network is down' "$TMP/woken" || { cat "$TMP/woken"; return 1; }
	sed -n '/^@@ klog/{/PM: Cannot \(find swap device\|get swap writer\)/!p;}' "$TMP/woken" >"$TMP/klog"
}

killed() {
	host "SOCKET-LISTEN:$(address any 7000)" OPEN:/dev/null && host_listens || return 1
	before=$(stat_of pin-hits)
	slowwait "$ANSWER_S" moves || { cat "$TMP/host.log"; vsettings vs0; return 1; }
	kill -KILL "$PID"
	wait_exit "$PID" 20000
	host_fails && nothing_left && del_device vs0 && ! device_exists vs0
}

device() {
	create vs0 && vsettings vs0 "netns=/run/netns/$H1" address=00000000000000000000ffff0a090001 &&
		bind vs0 vhost_vdpa
}

require_strack
require_command vdpa vsettings socat
(qemu -device help) | grep -q '"vhost-vdpa-device-pci"' ||
	ktap_skip_all "this QEMU has no vhost-vdpa-device-pci"
# QEMU knows no device of the usual ID
modprobe -q vdpa
load_vstellar virtio_id=20
require_vstellar
FAMILY=$(strack_family)
TMP=$(mktemp -d)
defer rm -rf "$TMP"
defer keep_logs
exec 3>&1
setup_ns H1 H2
setup_veth "$H1" v1 10.9.0.1/24 "$H2" v2 10.9.0.2/24 9000 || ktap_exit_fail_msg "no cable"
device || ktap_exit_fail_msg "no device"
VHOST=$(vhost_of vs0)
head -c $((MIB << 20)) /dev/urandom >"$TMP/file"

ktap_print_header
ktap_set_plan 11
start_machine "$TMP" -incoming "file:$IMAGE/state"
defer kill -KILL "$PID"
step "the inner guest goes on" goes_on || ktap_exit_fail_msg "no inner guest"
step "a device is plugged in, and nothing is pinned" plugged || ktap_exit_fail_msg "no device in the inner guest"
step "the driver takes the device" driver || ktap_exit_fail_msg "no driver in the inner guest"
step "a file comes into the guest" inward
step "it goes back out of the guest" outward
step "the guest listens" accepts
step "what is used is pinned, and no more" pinned
step "the device is unplugged while the guest sends" unplugged
step "the device is plugged in again" plugged_again
step "the machine sleeps and wakes up while the guest sends" slept
step "the machine is killed while the guest sends" killed
# what its kernel has said, for the verdict, as the lines of this one's log
cat "$TMP/klog"
ktap_finished
