#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 600
#
# Every socket call, option and flag, against what TCP does; see sm.h.
# "socket_matrix.sh --tcp" checks the expectations themselves.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"

require_root
require_command socket_matrix ip tc
case " $* " in
*" --tcp "*) ;;
*) require_strack ;;
esac
exec socket_matrix "$@"
