# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# runner.sh - run test scripts one after the other and say all that the verdict
# needs. The same on the user's own machine and in a guest, where it runs as init.
#
# A test's own output goes through as it is (that is cheaper than a filter, which
# matters where every instruction is time); lines of the runner's start with "@@":
#
#	@@ begin NAME LIMIT	the seconds it may take
#	@@ klog LINE		a line of the kernel's log at warning level or above
#	@@ end NAME CODE S	exit code (124: it took too long), seconds it took
#
# vm/verdict reads this.

SLOW=${SLOW:-1}

# klog_mark TEXT: a line in the kernel's log to find again
klog_mark() {
	echo "<6>strack-selftest: $1" >/dev/kmsg
}

# klog_since TEXT: the lines after it at level 4 (warning) and above. What a
# program wrote to the log carries a facility, in the bits above the level.
klog_since() {
	dmesg -r | awk -v mark="strack-selftest: $1" '
		substr($0, length($0) - length(mark) + 1) == mark { seen = 1; n = 0; next }
		!seen { next }
		/^<[0-9]+>/ { level = substr($0, 2) % 8 }
		level <= 4 { line[n++] = $0 }
		END {
			if (!seen)
				print "@@ klog <4>the kernel log overflowed during this test"
			for (i = 0; i < n; i++)
				print "@@ klog " line[i]
		}'
}

# test_limit FILE: the seconds it may take, from its head
test_limit() {
	local limit
	limit=$(sed -n '1,30s/^# timeout: *\([0-9][0-9]*\)$/\1/p' "$1")
	echo $((${limit:-300} * SLOW))
}

# after_test: what the machine does before the log is looked at; a guest overrides it
after_test() {
	:
}

# run_test FILE
run_test() {
	local name="${1##*/}" mark limit rc=0 start end
	limit=$(test_limit "$1")
	read -r start _ </proc/uptime
	mark="$name $$ $start"
	klog_mark "$mark"
	printf '\n@@ begin %s %s\n' "$name" "$limit"
	timeout -k 5 "$limit" "$1" </dev/null 2>&1 || rc=$?
	[ "$rc" -ne 137 ] || rc=124
	echo
	after_test
	klog_since "$mark"
	read -r end _ </proc/uptime
	echo "@@ end $name $rc $((${end%.*} - ${start%.*}))"
}
