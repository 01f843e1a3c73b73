#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 900
#
# Guests that send what no driver would, each to a device of its own, while another device
# carries files: the devices answer or ask for a reset, the files are whole, nothing stays
# pinned, and the kernel has nothing to say (which is for the runner to see).
#
#	FUZZ_COUNT	damaged inputs (default 20000; 2000 if QUICK or SLOW)
#	FUZZ_SEED	of what the first guest sends (default 1); the others have the next ones
#	FUZZ_GUESTS	how many at a time (default 2)

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/vstellar_lib.sh"

require_strack
require_vstellar
require_command vstellar-guest vsettings sha256sum
COUNT=${FUZZ_COUNT:-$(how_often 20000 2000 2000)}
SEED=${FUZZ_SEED:-1}
GUESTS=$(seq "${FUZZ_GUESTS:-2}")
# seconds from one file to the next: they are there to be disturbed, not to disturb
PAUSE=2

# transfer: a file through vs0 to a program that gives it back. The guests leave it little of
# a processor
transfer() {
	# what is said of another file is gone when the program begins
	rm -f "$TMP/serve"
	start_in_ns "$H2" vstellar-guest serve 10.9.0.2:7000 >"$TMP/serve" 2>&1
	server=$!
	if wait_line "$TMP/serve" '^ready' 100000 &&
		vstellar-guest connect "$(vhost_of vs0)" 10.9.0.2:7000 0 --file "$TMP/file" --into "$TMP/back" &&
		wait_exit "$server" 100000; then
		[ "$(sha256sum <"$TMP/back")" = "$SUM" ] || { echo "other bytes came back"; return 1; }
	else
		kill "$server"
		cat "$TMP/serve"
		return 1
	fi
}

# start_guests: their process IDs are in $guests
start_guests() {
	local n each
	each=$((COUNT / $(echo "$GUESTS" | wc -l)))
	guests=
	for n in $GUESTS; do
		vstellar-guest fuzz "$(vhost_of "vs$n")" 10.9.0.1 --count "$each" --seed $((SEED + n - 1)) \
			>"$TMP/fuzz$n" 2>&1 &
		guests="$guests $!"
	done
}

# still_there: forgets those that have ended well; fails if one has not
still_there() {
	local pid left=
	for pid in $guests; do
		if ! __exited "$pid"; then
			left="$left $pid"
		elif ! wait "$pid"; then
			cat "$TMP"/fuzz*
			return 1
		fi
	done
	guests=$left
}

fuzz() {
	start_guests
	transfers=0
	while [ -n "$guests" ]; do
		# shellcheck disable=SC2086 # one word each
		transfer && still_there || { kill $guests; return 1; }
		transfers=$((transfers + 1))
		sleep "$PAUSE"
	done
	# how often, to be told
	echo "$transfers" >"$TMP/transfers"
}

released() {
	for n in 0 $GUESTS; do
		[ "$(setting pinned "vs$n")" = 0 ] || { vsettings "vs$n"; return 1; }
		busywait 20000 nothing_lent "vs$n" || { vsettings "vs$n"; return 1; }
	done
	# of a few inputs there may be none that has the device send from its guest's memory
	[ "$COUNT" -lt 20000 ] || [ "$(setting lent-total vs1)" -gt 0 ] || { vsettings vs1; return 1; }
}

TMP=$(mktemp -d)
defer rm -rf "$TMP"
setup_hosts
# The guests judge whether something takes too long; the connections have minutes.
for ns in "$H1" "$H2"; do
	ns_sysctl "$ns" net.strack.retries=100 || ktap_exit_fail_msg "no retries"
done
for n in 0 $GUESTS; do
	add_device "vs$n" vhost_vdpa && vsettings "vs$n" "netns=/run/netns/$H1" \
		address=00000000000000000000ffff0a090001 || ktap_exit_fail_msg "no device vs$n"
done
# so many connections that none of a guest's own is refused; and every other device sends from its
# guest's memory, if the guest wants that
for n in $GUESTS; do
	vsettings "vs$n" rate=1000000 || ktap_exit_fail_msg "no rate"
	[ $((n % 2)) -eq 0 ] || vsettings "vs$n" zerocopy=always || ktap_exit_fail_msg "no zero copy"
done
head -c 500000 /dev/urandom >"$TMP/file"
SUM=$(sha256sum <"$TMP/file")

ktap_print_header
ktap_set_plan 3
ktap_test_result "$COUNT damaged inputs, seed $SEED, and another device's files are whole" fuzz
for n in $GUESTS; do
	[ ! -s "$TMP/fuzz$n" ] || ktap_print_msg "$(cat "$TMP/fuzz$n")"
done
[ ! -s "$TMP/transfers" ] || ktap_print_msg "$(cat "$TMP/transfers") files of 500000 bytes meanwhile"
ktap_test_result "nothing stays pinned, and nothing on loan" released
ktap_test_result "guests that are killed at any time leave a device like new" \
	vstellar-guest crash "$(vhost_of vs1)" 10.9.0.1 --rounds "$(how_often 20 5 3)" --seed "$SEED"
ktap_finished
