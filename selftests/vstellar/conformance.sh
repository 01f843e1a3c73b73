#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# timeout: 600
#
# Every command and every check of a device, each with what is right and what is wrong:
# vstellar-guest plays a guest of vhost_vdpa, and prints the results itself.

. "${STRACK_LIB:-$(dirname "$0")/../lib}/ktap.sh"
. "${STRACK_LIB:-$(dirname "$0")/../lib}/vstellar_lib.sh"

require_strack
require_vstellar
require_command vstellar-guest vsettings

setup_hosts
for device in vs0 vs1 vs2; do
	add_device "$device" vhost_vdpa && vsettings "$device" "netns=/run/netns/$H1" ||
		ktap_exit_fail_msg "no device $device"
done
vsettings vs0 address=00000000000000000000ffff0a090001 &&
	vsettings vs2 endpoints=2 regions=2 queues=2 quota=6291456 rate=5 ||
	ktap_exit_fail_msg "no settings"
vstellar-guest conformance "$(vhost_of vs0)" 10.9.0.1 --other "$(vhost_of vs1)" --small "$(vhost_of vs2)"
