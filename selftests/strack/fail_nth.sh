#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 400
#
# Every system call, namespaces and the module, with each allocation failing in
# turn; see fail_nth.h. Needs a kernel with fault injection.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"

require_root
require_command fail_nth
require_strack
if [ -f "$STRACK_DIR/strack.ko" ]; then
	set -- -m "$STRACK_DIR/strack.ko" "$@"
fi
exec fail_nth "$@"
