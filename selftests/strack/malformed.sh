#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 300
#
# Packets that are wrong in every way there is; see malformed.c.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/net_lib.sh"

require_root
require_strack
require_command malformed
setup_cable 1500
warm_up
# no exec, so that the namespaces are cleaned up
malformed "$H1" "$H2" "$H1_4" "$H2_4"
