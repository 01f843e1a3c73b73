#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 600
#
# The module's KUnit suites, each test a result here. They are part of strack.ko where
# it was built with CONFIG_STRACK_KUNIT_TEST=y, and run when they are told to.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/net_lib.sh"

require_root
require_strack
SUITES=/sys/kernel/debug/kunit

[ -d $SUITES ] || ktap_skip_all "this kernel has no KUnit"
set -- $SUITES/strack_*
if [ ! -d "$1" ]; then
	[ "${STRACK_VM_KERNEL:-stock}" = stock ] || ktap_exit_fail_msg "strack.ko has no KUnit suites"
	ktap_skip_all "strack.ko was built without CONFIG_STRACK_KUNIT_TEST=y"
fi

# Loopback is where connections in the tests lead to.
ip link set dev lo up

for suite; do
	echo run >"$suite/run"
	cat "$suite/results"
done >"$TMP/results"

# What KUnit says of a suite stands indented below it. The plan is the suites', not the
# number of their results: one may have ended early.
awk '
	/^    1\.\./ { plan += substr($1, 4); next }
	/^    # Subtest: / { suite = $3; next }
	/^    (not )?ok / {
		result = $1 == "not" ? "not ok" : "ok"
		bad += $1 == "not"
		sub(/^ *(not )?ok [0-9]+ /, "")
		lines[++n] = result " " ++ran " " suite ": " $0
		next
	}
	/^ +# .*speed: normal$/ || /^ *KTAP version/ || /^ *(not )?ok / || /^1\.\./ { next }
	NF { sub(/^ *(# )?/, ""); lines[++n] = "# " $0 }

	END {
		print "TAP version 13"
		print "1.." plan + 0
		for (i = 1; i <= n; i++)
			print lines[i]
		exit bad || ran != plan
	}
' "$TMP/results"
