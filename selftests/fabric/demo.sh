#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# demo.sh - the guest's half of "make demo": one file over one connection, by
# TCP and by AF_STRACK with 1 and 128 paths, and what a dead spine does to it.
# Over 128 paths it goes several times: each connection is another draw of the hash
# that puts paths on spines.
#
# Shows its progress and leaves $RESULTS/demo.jsonl, which strack-report turns
# into a table, a plot and demo.json. From the environment, besides the settings
# of fabric.sh:
#
#	RESULTS		directory for the results (default $STRACK_OUT, else /tmp)
#	KERNEL_IMAGE	the file to send (default: the guest's own kernel)
#	BYTES		what to send at least; a smaller kernel image is followed by
#			the guest's programs (default 16 MiB)
#	DRAWS		connections over 128 paths (default 5)
#	POLICY		how AF_STRACK chooses paths (default: as the namespace does)
#	STAND_IN=1	no module: let TCP stand in for AF_STRACK. Tests this script.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/lib/ktap.sh
. "${STRACK_LIB:-$here/../lib}/ktap.sh"
PATH=$here:$PATH # xfer

RESULTS=${RESULTS:-${STRACK_OUT:-/tmp}}
BYTES=${BYTES:-16777216}
DRAWS=${DRAWS:-5}
POLICY=${POLICY:-}
STAND_IN=${STAND_IN:-}
raw=$RESULTS/demo.jsonl
payload=/tmp/payload
arrived=/tmp/arrived

say()
{
	printf '%s\n' "$*"
}

sum()
{
	sha256sum "$1" | cut -d' ' -f1
}

find_kernel()
{
	for f in "${KERNEL_IMAGE:-}" "$STRACK_DIR"/vmlinuz* /boot/vmlinuz*; do
		[ -f "$f" ] && echo "$f" && return
	done
	echo "demo.sh: no kernel image here (KERNEL_IMAGE)" >&2
	return 1
}

# A kernel image and, where that is too short, the programs of this guest.
make_payload()
{
	{
		cat "$1"
		if [ "$(wc -c <"$1")" -lt "$BYTES" ]; then
			for f in /bin/* /sbin/* /usr/lib/*/*.so*; do
				[ ! -f "$f" ] || [ -L "$f" ] || cat "$f"
			done | head -c $((BYTES - $(wc -c <"$1")))
		fi
	} >$payload
	if [ "$(wc -c <$payload)" -lt "$BYTES" ]; then
		echo "demo.sh: not $BYTES bytes to send" >&2
		return 1
	fi
}

# transfer NAME tcp|strack PATHS XFER-OPTIONS...
transfer()
{
	name=$1
	family=$2
	paths=$3
	shift 3
	[ -z "$STAND_IN" ] || family=tcp
	[ "$family" = tcp ] || set -- -p "$paths" ${POLICY:+-P "$POLICY"} "$@"
	before=$("$here/fabric.sh" counters)
	xfer -f "$family" -r "$name" -i $payload -o $arrived -s "$SPINES" -j "$raw" "$@" \
		a1 b1 10.2.1.1 || say "  $name got no further"
	printf '{"kind":"queues","run":"%s","before":%s,"after":%s}\n' "$name" "$before" \
		"$("$here/fabric.sh" counters)" >>"$raw"
	printf '{"kind":"hash","run":"%s","sent":"%s","received":"%s"}\n' "$name" "$sent" \
		"$(sum $arrived)" >>"$raw"
	rm $arrived
}

: >"$raw"
kernel=$(find_kernel)
make_payload "$kernel"
sent=$(sum $payload)
say "Sending $(wc -c <$payload) bytes: $kernel and what follows it, SHA-256 $sent"

[ -n "$STAND_IN" ] || strack_loaded || load_strack
"$here/fabric.sh" up
# shellcheck source=/dev/null
. /run/fabric.env
say "Fabric is up: 2 leaves, $SPINES spines, $RATE per link, MTU $MTU, $DELAY per host, hash seed $SEED"
printf '{"kind":"setup","command":"make demo","kernel":"%s","seed":%d,"spines":%d,"rate":"%s","mtu":%d,"delay":"%s","bytes":%d,"stand_in":%s}\n' \
	"$(uname -r)" "$SEED" "$SPINES" "$RATE" "$MTU" "$DELAY" "$(wc -c <$payload)" \
	"$([ -n "$STAND_IN" ] && echo true || echo false)" >>"$raw"

transfer tcp tcp 1
transfer strack-1 strack 1
transfer strack-128 strack 128
draw=2
while [ "$draw" -le "$DRAWS" ]; do
	transfer "strack-128-$draw" strack 128
	draw=$((draw + 1))
done
transfer strack-cut strack 128 -c 0
# the same fault for TCP, which keeps to its path; a silent second is enough
transfer tcp-cut tcp 1 -c 0 -t 2000

"$here/fabric.sh" down
rm $payload
