#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# bench-vstellar.sh - the guest's half of "make bench-vstellar": what a virtual device
# costs, beside AF_STRACK without one and beside pinning all memory, in the same boot.
#
# Guests are of two kinds. Programs in a namespace whose sockets are a device's (virtio_vdpa)
# have a guest's driver. And vstellar-guest plays the guest of vhost_vdpa: what it takes
# includes the crossings between a process and the kernel that a guest's kernel has not got.
#
# Leaves $RESULTS/vstellar.jsonl for strack-report. From the environment:
#
#	PART		times (in virtual time), or many: of tens of thousands of devices the memory,
#			which is the same in real time, in which they are made sooner
#	RESULTS		directory for the results (default $STRACK_OUT, else /tmp)
#	BYTES		of a transfer (default 64 MiB)
#	STEADY		of the transfer that the map cache is judged by (default 256 MiB)
#	PINGS		messages there and back (default 2000)
#	ROUNDS		of each, in turn (default 3); guests are started five times as often
#	DEVICES		how many are made and bound in the end (default 1000)
#	UNBOUND		how many are made in the end and not bound (default 65536)

set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/lib/ktap.sh
. "${STRACK_LIB:-$here/../lib}/ktap.sh"
# shellcheck source=selftests/lib/vstellar_lib.sh
. "${STRACK_LIB:-$here/../lib}/vstellar_lib.sh"
PATH=$here:$PATH

PART=${PART:-times}
RESULTS=${RESULTS:-${STRACK_OUT:-/tmp}}
BYTES=${BYTES:-67108864}
STEADY=${STEADY:-268435456}
PINGS=${PINGS:-2000}
ROUNDS=${ROUNDS:-3}
DEVICES=${DEVICES:-1000}
UNBOUND=${UNBOUND:-65536}
raw=$RESULTS/vstellar.jsonl
OWN=00000000000000000000ffff0a090001

# record KIND RUN: the JSON on standard input, as what it is
record() {
	while read -r line; do
		printf '{"kind":"%s","run":"%s",%s\n' "$1" "$2" "${line#\{}"
	done >>"$raw"
}

device() {
	add_device vs0 vhost_vdpa && vsettings vs0 "netns=/run/netns/$H1" "address=$OWN"
}

# peer: who gives back what comes
peer() {
	rm -f /tmp/peer
	in_ns "$H2" vstellar-guest serve 10.9.0.2:7000 >/tmp/peer &
	wait_line /tmp/peer '^ready' 20000
}

# stream RUN COMMAND...: one connection
stream() {
	run=$1
	shift
	peer
	"$@" | record stream "$run"
	wait
}

# program RUN SERVER CLIENT ADDRESS:PORT "OPTIONS OF serve" OPTIONS-OF-send...: one
# connection between programs of two namespaces, and how often vs1 was kicked for it
program() {
	run=$1 server=$2 client=$3 at=$4 how=$5
	shift 5
	rm -f /tmp/peer
	# shellcheck disable=SC2086 # options
	in_ns "$server" vstellar-guest serve "$at" $how >/tmp/peer &
	wait_line /tmp/peer '^ready' 20000
	before=$(attribute vs1 kicks)
	line=$(in_ns "$client" vstellar-guest send "$at" "$@")
	wait
	echo "${line%\}},\"kicks\":$(($(attribute vs1 kicks) - before))}" | record stream "$run"
}

now() {
	date +%s%N
}

# what is there to be had, without what the kernel would only give back if asked
available() {
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^MemAvailable/ { print $2 }' /proc/meminfo
}

# begin: there are no devices, and "base" memory
begin() {
	made=0
	base=$(available)
}

# devices BOUND: that there are "made" of them by now, up from "before", since "start"
devices() {
	elapsed=$(($(now) - start))
	kib=$((base - $(available)))
	printf '{"kind":"devices","bound":%s,"clock":"%s","from":%d,"count":%d,"elapsed_ns":%d,"kib":%d}\n' \
		"$1" "${STRACK_CLOCK:-real}" "$before" "$made" "$elapsed" "$kib" >>"$raw"
	echo "  $made"
}

# bound COUNT: from how many on there are to so many, made and bound to virtio_vdpa by the
# commands that a user has
bound() {
	start=$(now)
	before=$made
	while [ "$made" -lt "$1" ]; do
		made=$((made + 1))
		create "d$made"
		echo virtio_vdpa >"$VDPA/devices/d$made/driver_override"
		echo "d$made" >"$VDPA/drivers_probe"
	done
	devices true
	[ "$(find "$VDPA/drivers/virtio_vdpa/" -name 'd[0-9]*' | wc -l)" -eq "$made" ]
}

# unbound COUNT: the same, but not bound, and by one process
unbound() {
	start=$(now)
	before=$made
	vsettings --make d $((before + 1)) $(($1 - before))
	made=$1
	devices false
}

make_bound() {
	echo "Making $DEVICES devices, bound"
	begin
	for count in $((DEVICES / 10)) $((DEVICES / 3)) "$DEVICES"; do
		bound "$count"
	done
}

measure_times() {
	modprobe -q veth || : # may be built in
	modprobe -q vhost_vdpa max_iotlb_entries=1048576 # a run of pages each, where all is pinned
	load_driver assign=0
	# shellcheck disable=SC3045 # dash has it
	ulimit -l unlimited
	setup_ns H1 H2 G1
	setup_veth "$H1" v1 10.9.0.1/24 "$H2" v2 10.9.0.2/24 9000

	echo "Starting guests of 1 to 16 GiB, memory pinned on first use"
	device
	DEV=$(vhost_of vs0)
	vstellar-guest startup "$DEV" 10.9.0.1 --sizes 1024 --rounds 1 >/dev/null # to warm up
	vstellar-guest startup "$DEV" 10.9.0.1 --rounds $((5 * ROUNDS)) >>"$raw"

	echo "Sending $BYTES bytes each way and both, with rings of 4 MiB, and $PINGS messages of 64 bytes"
	create vs1
	vsettings vs1 "netns=/run/netns/$H1" "address=$OWN" first-port=1
	bind vs1 virtio_vdpa
	give_device vs1 "$G1"
	ring="--plain --chunk 65536 --log2 6"
	for round in $(seq "$ROUNDS"); do
		stream native in_ns "$H1" vstellar-guest send 10.9.0.2:7000 "$BYTES" --plain
		# shellcheck disable=SC2086 # options
		stream device vstellar-guest connect "$DEV" 10.9.0.2:7000 "$BYTES" $ring
		stream native-ping in_ns "$H1" vstellar-guest send 10.9.0.2:7000 "$((64 * PINGS))" --each 64
		stream device-ping vstellar-guest connect "$DEV" 10.9.0.2:7000 "$((64 * PINGS))" --each 64
		program native-one-way "$H2" "$H1" 10.9.0.2:7000 --silent "$BYTES" --silent
		program up "$H2" "$G1" 10.9.0.2:7000 --silent "$BYTES" --silent
		program down "$G1" "$H2" 10.9.0.1:7001 --silent "$BYTES" --silent
		program both "$H2" "$G1" 10.9.0.2:7000 "" "$BYTES" --plain
		program ping "$H2" "$G1" 10.9.0.2:7000 "" "$((64 * PINGS))" --each 64
		echo "  round $round of $ROUNDS"
	done

	echo "Sending $STEADY bytes with the same rings, for the map cache"
	# shellcheck disable=SC2086 # options
	stream steady vstellar-guest connect "$DEV" 10.9.0.2:7000 "$STEADY" $ring
	del_device vs0
	del_device vs1
	unload_driver # what is bound is to have a device's memory, and not that of a driver of it

	make_bound
	echo "Starting guests of 256 MiB to 1 GiB, all memory pinned"
	unload_vstellar # and all devices
	load_vstellar use_va=0
	device
	vstellar-guest startup "$(vhost_of vs0)" 10.9.0.1 --mode pin-all --private --sizes 256,512,1024 \
		--rounds 1 >>"$raw"
}

# In a guest in which nothing else has used memory before.
measure_many() {
	make_bound
	unload_vstellar
	load_vstellar
	echo "Making $UNBOUND devices, not bound"
	begin
	for count in $((UNBOUND / 16)) $((UNBOUND / 4)) "$UNBOUND"; do
		unbound "$count"
	done
	unload_vstellar # and all devices: one by one, each by its name, would take as long again
	load_vstellar
}

: >"$raw"
strack_loaded || load_strack
require_vstellar
case $PART in
times)
	printf '{"kind":"setup","command":"make bench-vstellar","kernel":"%s","seed":0}\n' "$(uname -r)" >>"$raw"
	measure_times
	;;
many) measure_many ;;
esac
