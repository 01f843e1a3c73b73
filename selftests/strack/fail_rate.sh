#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 150
#
# Connections while some allocations fail all the time; see fail_rate.c. Needs a
# kernel with fault injection. Leaves the module loaded as it was found.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"

require_root
require_command fail_rate
require_strack
loaded_again() {
	strack_loaded || load_strack
}
defer loaded_again
fail_rate
