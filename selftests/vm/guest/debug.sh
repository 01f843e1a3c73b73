# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# debug.sh - what the guest asks a debug kernel after each test, besides its log.
# Reports come out as lines of that log, "@@ klog". The test loop is init, and what
# the test left behind has been ended by then.
#
#	kmemleak	what nothing points to any more. Only after two scans, and when it
#			is five seconds old, is an allocation known to be lost; a report is
#			confirmed by another scan, for it may have been on its way. A scan
#			takes most of a minute, so it is done after the last test that needs
#			the module (the report says which process allocated, and when) and
#			after the module has gone, or when the guest ends for another reason.
#			KMEMLEAK=each does it after each test.
#	ref_tracker	namespaces that are gone for everybody but whoever still counts
#			on them, and who that is. As long as they live they are on a list,
#			so they are no leak of memory.
#	once		warnings that are given only once are given once a test.
#	spent		lockdep ends with its first report, and with KASAN's; kmemleak when it
#			runs out of memory. The other tests need another guest then.
#
# A flavour of the debug kernel that lacks one of these goes without.

DEBUG=/sys/kernel/debug
KMEMLEAK_AGE=6 # seconds, the kernel's own minimum is 5
KMEMLEAK=${KMEMLEAK:-end}
NETNS_TIME=${NETNS_TIME:-90} # seconds: who has lost his peer sends his last packets again

debug_report() {
	sed 's/^/@@ klog <3>/'
}

# fails if kmemleak has given up, as it does when it finds no memory for itself
__kmemleak_scan() {
	sleep "$KMEMLEAK_AGE"
	{ echo scan >$DEBUG/kmemleak && echo scan >$DEBUG/kmemleak; } 2>/dev/null
}

__kmemleak() {
	__kmemleak_scan || {
		DEBUG_SPENT="kmemleak has given up"
		echo "$DEBUG_SPENT" | debug_report
		return
	}
	[ -n "$(head -c 1 $DEBUG/kmemleak)" ] || return
	__kmemleak_scan
	cat $DEBUG/kmemleak >/tmp/kmemleak
	echo clear >$DEBUG/kmemleak
	[ -s /tmp/kmemleak ] || return
	{
		echo "kmemleak: $(grep -c '^unreferenced object' /tmp/kmemleak) new suspected memory leaks"
		cat /tmp/kmemleak
	} | debug_report
}

# holders: the namespaces that are left, but for the first one
__holders() {
	for file in "$DEBUG"/ref_tracker/net_refcnt@*; do
		if [ -e "$file" ] && ! echo "$DEBUG_BASE" | grep -qFw "$file"; then
			echo "$file"
		fi
	done
}

__netns() {
	local deadline holders
	deadline=$(($(cut -d. -f1 /proc/uptime) + NETNS_TIME))
	holders=$(__holders)
	while [ -n "$holders" ] && [ "$(cut -d. -f1 /proc/uptime)" -lt "$deadline" ]; do
		sleep 0.2
		holders=$(__holders)
	done
	for file in $holders; do
		echo "ref_tracker: a network namespace is held $NETNS_TIME s after the test, by"
		cat "$file"
	done | debug_report
	# and is not reported again
	DEBUG_BASE="$DEBUG_BASE $holders"
}

# debug_start: what there is before the first test is not a test's doing
debug_start() {
	DEBUG_BASE=$(ls -d "$DEBUG"/ref_tracker/net_refcnt@* 2>/dev/null)
	DEBUG_SPENT=
	DEBUG_DEAD=$(debug_spent)
}

# debug_after_test LAST: LAST is not empty if kmemleak is to be asked in any case
debug_after_test() {
	[ -z "$DEBUG_DEAD" ] || echo "$DEBUG_DEAD before the first test" | debug_report
	DEBUG_DEAD=
	[ ! -d $DEBUG/ref_tracker ] || __netns
	if [ -e $DEBUG/kmemleak ] && { [ "$KMEMLEAK" = each ] || [ -n "$1" ] || debug_spent >/dev/null; }; then
		__kmemleak
	fi
	echo 1 >$DEBUG/clear_warn_once
}

# debug_spent: has this kernel ceased to look? Says why.
debug_spent() {
	! grep -qs '^ *debug_locks: *0$' /proc/lockdep_stats || DEBUG_SPENT="lockdep has ended with its report"
	[ -n "$DEBUG_SPENT" ] && echo "$DEBUG_SPENT"
}
