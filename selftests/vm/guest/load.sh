#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The first test of every run: strack.ko loads, and says nothing that it need not.
# timeout: 60

STRACK_DIR=/strack
# shellcheck source=selftests/lib/ktap.sh
. "${STRACK_LIB:-$(dirname "$0")/../../lib}/ktap.sh"

ktap_print_header
ktap_set_plan 1
ktap_test_result "strack.ko loads" load_strack
[ -z "${STRACK_GDB:-}" ] || "$STRACK_LIB/gdb.sh"
ktap_finished
