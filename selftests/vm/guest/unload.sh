#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The last test of every run: nothing of what the tests did still holds the
# module, so it unloads, and it can be loaded again.
# timeout: 120

STRACK_DIR=/strack
# shellcheck source=selftests/lib/ktap.sh
. "${STRACK_LIB:-$(dirname "$0")/../../lib}/ktap.sh"

ktap_print_header
ktap_set_plan 2
# some test may have unloaded it
strack_loaded || load_strack
await_unused
ktap_test_result "strack.ko unloads after the tests" unload_strack
# shellcheck disable=SC2317 # called below, by name
again() {
	load_strack && unload_strack
}
ktap_test_result "strack.ko loads and unloads again" again
ktap_finished
