#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 900
#
# A guest that sends what no driver would, while another device carries a stream: the
# device answers or asks for a reset, the stream is whole, nothing stays pinned, and the
# kernel has nothing to say (which is for the runner to see).
#
#	FUZZ_COUNT	damaged inputs (default 20000; 2000 if QUICK or SLOW)
#	FUZZ_SEED	of what they are (default 1)

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/vstellar_lib.sh"

require_strack
require_vstellar
require_command vstellar-guest vsettings sha256sum
# The program's own commands are damaged now and then, too, which it takes for an error.
[ -n "${FUZZ_COUNT:-}" ] || ktap_skip_all "only with FUZZ_COUNT=NUMBER"
COUNT=${FUZZ_COUNT:-$(how_often 20000 2000 2000)}
SEED=${FUZZ_SEED:-1}

setting() {
	vsettings "$1" | awk -v name="$2" '$1 == name { print $2 }'
}

# transfer: a file through vs1 to a program that gives it back
transfer() {
	rm -f "$TMP/serve"
	in_ns "$H2" vstellar-guest serve 10.9.0.2:7000 >"$TMP/serve" 2>&1 &
	server=$!
	wait_line "$TMP/serve" ready 20000 || { cat "$TMP/serve"; return 1; }
	vstellar-guest connect "$(vhost_of vs1)" 10.9.0.2:7000 0 --file "$TMP/file" --into "$TMP/back" ||
		{ kill "$server"; return 1; }
	wait_exit "$server" 60000 || { cat "$TMP/serve"; return 1; }
	[ "$(sha256sum <"$TMP/back")" = "$SUM" ] || { echo "other bytes came back"; return 1; }
}

fuzz() {
	vstellar-guest fuzz "$(vhost_of vs0)" 10.9.0.1 --count "$COUNT" --seed "$SEED" >"$TMP/fuzz" 2>&1 &
	fuzzer=$!
	transfers=0
	while kill -0 "$fuzzer" 2>/dev/null && ! __exited "$fuzzer"; do
		transfer || { kill "$fuzzer"; return 1; }
		transfers=$((transfers + 1))
	done
	wait "$fuzzer" || { cat "$TMP/fuzz"; return 1; }
	# how often, to be told
	echo "$transfers" >"$TMP/transfers"
	[ "$transfers" -gt 0 ] || { echo "no transfer meanwhile"; return 1; }
}

released() {
	[ "$(setting vs0 pinned)" = 0 ] && [ "$(setting vs1 pinned)" = 0 ] ||
		{ vsettings vs0; vsettings vs1; return 1; }
}

TMP=$(mktemp -d)
defer rm -rf "$TMP"
setup_ns H1 H2
setup_veth "$H1" v1 10.9.0.1/24 "$H2" v2 10.9.0.2/24 9000 || ktap_exit_fail_msg "no cable"
for device in vs0 vs1; do
	add_device "$device" vhost_vdpa && vsettings "$device" "netns=/run/netns/$H1" ||
		ktap_exit_fail_msg "no device $device"
done
vsettings vs0 address=00000000000000000000ffff0a090001 || ktap_exit_fail_msg "no address"
head -c 500000 /dev/urandom >"$TMP/file"
SUM=$(sha256sum <"$TMP/file")

ktap_print_header
ktap_set_plan 3
ktap_test_result "$COUNT damaged inputs, seed $SEED, and another device's files are whole" fuzz
[ ! -s "$TMP/fuzz" ] || ktap_print_msg "$(cat "$TMP/fuzz")"
[ ! -s "$TMP/transfers" ] || ktap_print_msg "$(cat "$TMP/transfers") files of 500000 bytes meanwhile"
ktap_test_result "nothing stays pinned" released
ktap_test_result "guests that are killed at any time leave a device like new" \
	vstellar-guest crash "$(vhost_of vs0)" 10.9.0.1 --rounds "$(how_often 20 5 3)" --seed "$SEED"
ktap_finished
