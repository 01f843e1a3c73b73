# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# ktap.sh - what a test script needs: KTAP output, waiting for an event,
# network namespaces, and loading the module. Source it first:
#
#	. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
#
# The names are those of the kernel's own kselftest/ktap_helpers.sh and
# net/lib.sh wherever these have one. dash is enough.
#
# A script announces how many results it will print, prints exactly these, and
# ends with ktap_finished:
#
#	ktap_print_header
#	ktap_set_plan 2
#	ktap_test_result "a peer can connect" connect_once
#	ktap_test_skip "hardware time stamps" "no such device here"
#	ktap_finished
#
# In the head of the script, "# timeout: SECONDS" raises the time it is given
# (default 300). Times are scaled by SLOW (1 on a machine of the usual speed). If
# QUICK is set, a test leaves out repetitions, but nothing that it does only once.

SLOW=${SLOW:-1}
QUICK=${QUICK:-}
STRACK_DIR=${STRACK_DIR:-$(cd "$(dirname "$0")" && pwd)}

KSFT_PASS=0
KSFT_FAIL=1
KSFT_SKIP=4

KTAP_TESTNO=1
KTAP_CNT_PASS=0
KTAP_CNT_FAIL=0
KTAP_CNT_SKIP=0
KSFT_NUM_TESTS=

#
# Output
#

ktap_print_header() {
	echo "TAP version 13"
}

# ktap_print_msg TEXT...: a diagnostic line; each line of it gets its "# "
ktap_print_msg() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

ktap_set_plan() {
	KSFT_NUM_TESTS=$1
	echo "1..$1"
}

__ktap_test() {
	# a '#' in the description would start a directive
	printf '%s %d %s%s\n' "$1" "$KTAP_TESTNO" "$(printf '%s' "$2" | tr '#\n' '/ ')" "${3:+ # $3}"
	KTAP_TESTNO=$((KTAP_TESTNO + 1))
}

ktap_test_pass() {
	__ktap_test "ok" "$1"
	KTAP_CNT_PASS=$((KTAP_CNT_PASS + 1))
}

ktap_test_fail() {
	__ktap_test "not ok" "$1"
	KTAP_CNT_FAIL=$((KTAP_CNT_FAIL + 1))
}

# ktap_test_skip DESCRIPTION [REASON]
ktap_test_skip() {
	__ktap_test "ok" "$1" "SKIP${2:+ $2}"
	KTAP_CNT_SKIP=$((KTAP_CNT_SKIP + 1))
}

# ktap_test_result DESCRIPTION COMMAND...: ok if the command succeeds; what it
# prints is shown as diagnostics if it does not. The command runs in a subshell.
ktap_test_result() {
	local description="$1" out rc=0
	shift
	out=$("$@" 2>&1) || rc=$?
	if [ "$rc" -eq 0 ]; then
		ktap_test_pass "$description"
		return 0
	fi
	ktap_test_fail "$description"
	ktap_print_msg "\"$*\" returned $rc"
	[ -z "$out" ] || ktap_print_msg "$out"
	return 1
}

# ktap_test_measured DESCRIPTION COMMAND...: a result that is about time only
ktap_test_measured() {
	if unmeasured; then
		ktap_test_skip "$1" "time is no measure here"
	else
		ktap_test_result "$@"
	fi
}

# ktap_skip_all REASON: nothing of this script can be run here
ktap_skip_all() {
	echo "1..0 # SKIP $*"
	exit "$KSFT_SKIP"
}

# ktap_exit_fail_msg TEXT: going on makes no sense
ktap_exit_fail_msg() {
	echo "Bail out! $*"
	exit "$KSFT_FAIL"
}

ktap_finished() {
	echo "# Totals: pass:$KTAP_CNT_PASS fail:$KTAP_CNT_FAIL xfail:0 xpass:0 skip:$KTAP_CNT_SKIP error:0"
	if [ $((KTAP_CNT_PASS + KTAP_CNT_FAIL + KTAP_CNT_SKIP)) -ne "${KSFT_NUM_TESTS:--1}" ]; then
		ktap_print_msg "planned ${KSFT_NUM_TESTS:-nothing}, ran $((KTAP_TESTNO - 1))"
		exit "$KSFT_FAIL"
	fi
	[ "$KTAP_CNT_FAIL" -eq 0 ] || exit "$KSFT_FAIL"
	exit "$KSFT_PASS"
}

#
# Clean-up: whatever was deferred runs when the script ends, last one first
#

__DEFERRED=

# defer COMMAND...: every word is quoted, so it runs as it was given
defer() {
	local word line=
	for word in "$@"; do
		case $word in
		*\'*) word=$(printf '%s' "$word" | sed "s/'/'\\\\''/g") ;;
		esac
		line="$line '$word'"
	done
	__DEFERRED="$line >/dev/null 2>&1 || :
$__DEFERRED"
}

__ktap_at_exit() {
	local rc=$?
	trap - EXIT
	eval "$__DEFERRED"
	cleanup_all_ns
	exit "$rc"
}
trap __ktap_at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

#
# Time
#

# unmeasured: is what time something takes, or how often a timer expires, without
# meaning here? It has one in virtual time only. A *.vt.sh on a debug kernel does all that
# it does elsewhere, and what happens is judged, but not when:
#
#	[ "$took_ms" -le 200 ] || unmeasured || { echo "$took_ms ms"; return 1; }
unmeasured() {
	[ "${STRACK_CLOCK:-real}" != virtual ]
}

# timestamp_ms: a monotonic clock, without starting a process
timestamp_ms() {
	local up frac
	read -r up _ < /proc/uptime
	frac=${up#*.}
	echo "${up%.*}${frac}0"
}

__loopy_wait() {
	local pause="$1" limit="$2" start now
	shift 2
	start=$(timestamp_ms)
	while :; do
		"$@" && return 0
		now=$(timestamp_ms)
		[ $((now - start)) -le $((limit * SLOW)) ] || return 1
		sleep "$pause"
	done
}

# busywait TIMEOUT_MS COMMAND...: try the command until it succeeds. Wait for
# the event that matters, never for a time that is usually long enough.
busywait() {
	__loopy_wait 0.01 "$@"
}

# slowwait TIMEOUT_S COMMAND...: the same for what takes long
slowwait() {
	local limit="$1"
	shift
	__loopy_wait 0.1 "$((limit * 1000))" "$@"
}

# wait_line FILE ERE [TIMEOUT_MS]: until a program in the background has said so
wait_line() {
	busywait "${3:-5000}" grep -qsE -e "$2" "$1"
}

__gone() {
	! kill -0 "$1" 2>/dev/null
}

# wait_exit PID [TIMEOUT_MS]: reap a background child, return its exit code;
# 124 (and the child is killed) if it takes too long
wait_exit() {
	if busywait "${2:-5000}" __exited "$1"; then
		wait "$1"
	else
		kill -KILL "$1" 2>/dev/null
		wait "$1" 2>/dev/null
		return 124
	fi
}

# gone, or a zombie that waits to be reaped
__exited() {
	local state
	__gone "$1" && return 0
	state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null)
	[ -z "$state" ] || [ "$state" = Z ]
}

# how_often USUAL SLOW QUICK: the number of repetitions that suits this run
how_often() {
	if [ -n "$QUICK" ]; then
		echo "$3"
	elif [ "$SLOW" -gt 1 ]; then
		echo "$2"
	else
		echo "$1"
	fi
}

#
# Network namespaces
#

NS_LIST=

# setup_ns VARIABLE...: a new namespace for each, its name in the variable
setup_ns() {
	local var name
	for var in "$@"; do
		name="$(echo "$var" | tr '[:upper:]' '[:lower:]')-$(mktemp -u XXXXXX)"
		ip netns add "$name" || ktap_exit_fail_msg "cannot create namespace $name"
		NS_LIST="$NS_LIST $name"
		eval "$var=\$name"
		ip -n "$name" link set dev lo up
	done
}

# cleanup_ns NAME...: end what still runs in there, then delete it
cleanup_ns() {
	local ns
	for ns in "$@"; do
		ip netns pids "$ns" 2>/dev/null | xargs -r kill -KILL 2>/dev/null
		ip netns delete "$ns" 2>/dev/null
	done
	return 0
}

cleanup_all_ns() {
	# shellcheck disable=SC2086 # a list of names
	cleanup_ns $NS_LIST
	NS_LIST=
}

# in_ns NAME COMMAND...
in_ns() {
	ip netns exec "$@"
}

# start_in_ns NS COMMAND...: in the background. $! is the command, to be killed; that of in_ns
# with a & is a shell that waits for it
start_in_ns() {
	ip netns exec "$@" &
}

# ns_sysctl NAME KEY=VALUE...
ns_sysctl() {
	local ns="$1" set
	shift
	for set in "$@"; do
		# shellcheck disable=SC2016 # expanded inside
		ip netns exec "$ns" sh -c 'echo "$2" > "/proc/sys/$1"' - "$(echo "${set%%=*}" | tr . /)" "${set#*=}"
	done
}

# setup_veth NS1 DEV1 ADDRESS1/LEN NS2 DEV2 ADDRESS2/LEN [MTU]: a cable between
# the two, up on return. More addresses: `ip -n NS addr add … nodad`.
setup_veth() {
	local mtu="${7:-1500}"
	ip link add "$2" netns "$1" mtu "$mtu" type veth peer name "$5" netns "$4" mtu "$mtu" || return
	__veth_end "$1" "$2" "$3" && __veth_end "$4" "$5" "$6" &&
		busywait 5000 __carrier "$1" "$2" && busywait 5000 __carrier "$4" "$5"
}

__veth_end() {
	local nodad=
	case $3 in *:*) nodad=nodad ;; esac
	# shellcheck disable=SC2086 # empty or one word
	ip -n "$1" addr add "$3" dev "$2" $nodad && ip -n "$1" link set dev "$2" up
}

__carrier() {
	ip -n "$1" link show dev "$2" | grep -q 'state UP'
}

#
# What the test needs
#

require_root() {
	[ "$(id -u)" -eq 0 ] || ktap_skip_all "must be run as root"
}

# require_command NAME...
require_command() {
	local name
	for name in "$@"; do
		command -v "$name" >/dev/null 2>&1 || ktap_skip_all "no $name here"
	done
}

strack_loaded() {
	[ -d /sys/module/strack ]
}

# In a virtual machine the module's absence is a failure: it was put there to be
# tested. On a machine of the user's it is something the user has yet to do.
require_strack() {
	# shellcheck disable=SC2119 # no parameters here
	strack_loaded || load_strack || {
		[ -z "${STRACK_VM:-}" ] || ktap_exit_fail_msg "strack.ko is not loaded"
		ktap_skip_all "strack is not loaded: modprobe strack"
	}
}

# load_strack [PARAMETER=VALUE...]
# shellcheck disable=SC2120
load_strack() {
	if [ -f "$STRACK_DIR/strack.ko" ]; then
		modprobe -qa udp_tunnel ip6_udp_tunnel
		insmod "$STRACK_DIR/strack.ko" "$@"
	else
		modprobe strack "$@" 2>/dev/null
	fi
}

# unload_strack: what still winds down may hold it for a moment
unload_strack() {
	busywait 10000 rmmod strack 2>/dev/null || rmmod strack
}

# module_unused: nobody has a socket, and no connection still winds down
module_unused() {
	[ "$(cat /sys/module/strack/refcnt)" -eq 0 ]
}

# await_unused: what earlier tests left behind sends its last packets for a while: the
# end of a connection whose peer is gone is repeated net.strack.retries times.
await_unused() {
	slowwait 60 module_unused || ktap_print_msg "module is in use after a minute"
}

# strack_family: the number to give to socket(2)
strack_family() {
	cat /sys/module/strack/parameters/family
}
