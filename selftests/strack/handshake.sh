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
ELSEWHERE=10.9.0.3
ip -n "$H2" addr add "$ELSEWHERE/24" dev v2 || ktap_exit_fail_msg "no second address"
# no exec, so that the namespaces are cleaned up
handshake "$H1" "$H2" "$H1_4" "$H2_4" "$ELSEWHERE"
