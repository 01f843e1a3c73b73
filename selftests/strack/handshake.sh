#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 300
#
# The wire, seen by a peer in user space; see handshake.c.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/net_lib.sh"

require_root
require_strack
require_command handshake
setup_cable 1500
warm_up
# no exec, so that the namespaces are cleaned up
handshake "$H1" "$H2" "$H1_4" "$H2_4"
